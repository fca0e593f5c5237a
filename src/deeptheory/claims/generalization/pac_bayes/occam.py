"""Counting hypotheses: Occam's razor where they can be written down, and networks, whose solutions are not points."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import log_binomial_tail, log_hoeffding
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.solution_sets import interpolate, network_answers, null_space, weight_count
from deeptheory.generalization.pac_bayes.description_length import (
    decision_lists,
    decode,
    encode,
    kraft_sum,
    occam_bound,
    prefix_free,
)
from deeptheory.lab import Chain, Chance, Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

VARIABLES = 4


@claim(
    items={
        "A5.36": (
            "lists read by hand",
            "code is prefix-free",
            "bound as written",
            "share of one list",
            "shares add up",
            "failures for any list",
        )
    },
    says=r"Decision lists on four bits have a prefix-free code; with probability $1-\delta$ over $m$ examples no list "
    r"has a risk above its training error by more than $\sqrt{(\mathrm{bits}\ln2+\ln(1/\delta))/(2m)}$.",
    needs="the code is fixed before the sample; losses in [0, 1]",
    symbols={
        r"\delta": "the probability with which some list may exceed its bound",
        r"m": "the number of examples, 60 here",
        r"\mathrm{bits}": "the length of the word that describes a list: 2, 7 or 12 with none, one or two rules",
    },
    why=r"A list answers by the first rule that applies. No word of a prefix-free code begins another, so their "
    r"$2^{-\mathrm{bits}}$ add up to at most 1 (here $1-2^{-r-1}$ up to $r$ rules), and $\delta$ can be shared out: "
    r"each list may fail with probability $\delta2^{-\mathrm{bits}}$, which Hoeffding's inequality makes the root.",
    notice=r"Long lists are many, and the best of them flatters itself more; the price of their bits stays above that. "
    r"The bound of a single hypothesis, without that price, is exceeded.",
    full=dict(trials=20_000),
)
def occam_bound_for_decision_lists(
    key, *, trials: Trials = 2000, delta: Annotated[float, Interval(ge=0.01, le=0.5)] = 0.2
):
    draw = generator(key)
    lists = decision_lists(VARIABLES, 2)
    words = [encode(rules, VARIABLES) for rules in lists]
    kraft = [kraft_sum([word for word in words if len(word) <= 2 + 5 * rules]) for rules in range(3)]
    bits = np.asarray([len(word) for word in words])
    inputs = (np.arange(16)[:, None] >> np.arange(3, -1, -1)) & 1
    answers = np.stack([rules(inputs) for rules in lists])
    read = [
        [
            next((answer for literal, answer in rules if x[literal // 2] == 1 - literal % 2), default)
            for x in inputs.tolist()
        ]
        for rules, default in lists
    ]
    samples = 60
    bound, free, half = (np.asarray(occam_bound(paid, samples, delta)) for paid in (bits, 0 * bits, bits / 2))
    lengths = np.unique(bits)
    failures, unpaid, spent, halved, largest = ([] for _ in range(5))
    truth = answers[draw.integers(len(lists))]
    for noise in (0.1, 0.5):
        risks = np.where(answers != truth, 1 - noise, noise).mean(1)
        # L − L̂ ≥ bound where at most m(L − bound) of m losses are one: an upper tail of the zeros.
        for store, allowed in ((spent, bound), (halved, half)):
            at_least = samples * (1 - risks + allowed)
            store.append(np.exp(log_binomial_tail(np.full(len(lists), samples), 1 - risks, at_least)))
        points = draw.integers(16, size=(trials, samples))
        labels = truth[points] ^ (draw.random((trials, samples)) < noise)
        # Errors at each input: as many labels as differ from the list's answer there.
        ones = np.zeros((2, trials, 16))
        np.add.at(ones, (labels.astype(int), np.arange(trials)[:, None], points), 1.0)
        gaps = risks - (ones[1] @ (1 - answers.T) + ones[0] @ answers.T) / samples
        failures.append(np.sum(np.any(gaps > bound, axis=1)))
        unpaid.append(np.sum(np.any(gaps > free, axis=1)))
        largest.append([np.quantile(gaps[:, bits == length].max(1), 1 - delta) for length in lengths])
    single = [
        np.exp(float(log_hoeffding(m * float(occam_bound(b, m, d)), np.ones(m))))
        for b, m, d in ((3, 40, 0.1), (20, 500, 0.01))
    ]
    written = np.sqrt((bits * np.log(2) + np.log(1 / delta)) / (2 * samples))
    return {
        "lists read by hand": Exact(answers, np.asarray(read)),
        "code is prefix-free": Exact(
            [
                *map(str, kraft),
                str(prefix_free(words)),
                str([decode(word, VARIABLES) for word in words] == lists),
                str(prefix_free([*words, words[-1][:-1]])),
            ],
            ["1/2", "3/4", "7/8", "True", "True", "False"],
        ),
        "bound as written": Identity(
            bound,
            written,
            aside={"in bits": np.sqrt((bits + np.log(1 / delta)) / (2 * samples)), "lengths": lengths},
        ),
        "share of one list": Identity(single, [0.1 / 2**3, 0.01 / 2**20], condition=64.0),
        # Hoeffding's inequality is loose for coins that are not fair: a list spends at most a seventh of its share.
        "shares add up": Chain(
            {
                "each list spends its share": (np.stack(spent), delta * 2.0**-bits),
                "together at most δ": (np.stack(spent).sum(1), np.full(2, delta)),
            },
            aside={"half paid": np.stack(halved)},
        ),
        "failures for any list": Chance(
            np.asarray(failures),
            trials,
            delta,
            aside={"unpaid": np.asarray(unpaid), "largest": np.asarray(largest), "m": samples},
        ),
    }


@occam_bound_for_decision_lists.control(
    "the bound of a single hypothesis for the best of many", of="failures for any list"
)
def nothing_paid(evidence):
    return replace(evidence, failures=evidence.aside["unpaid"])


@occam_bound_for_decision_lists.control("half of the bits paid for", of="shares add up")
def half_paid(evidence):
    shares = evidence.links["each list spends its share"][1]
    return replace(evidence, links={"each list spends its share": (evidence.aside["half paid"], shares)})


@occam_bound_for_decision_lists.control("bits without their ln 2", of="bound as written")
def base_two(evidence):
    return replace(evidence, right=evidence.aside["in bits"])


@occam_bound_for_decision_lists.control("a code that does not say where a list ends", of="code is prefix-free")
def endless(evidence):
    bare = ["".join(f"{literal:03b}{answer}" for literal, answer in rules) for rules, _ in decision_lists(VARIABLES, 2)]
    sums = [kraft_sum([word + "0" for word in bare if len(word) <= 4 * rules]) for rules in range(3)]
    return replace(evidence, left=[*map(str, sums), str(prefix_free(bare)), *evidence.left[4:]])


@occam_bound_for_decision_lists.picture
def price_of_a_description(pieces, settings):
    """What the best-looking list of each length hides, in all but a share δ of the samples, and the bound on it."""
    largest, lengths = (
        np.asarray(pieces["failures for any list"].aside["largest"]),
        pieces["bound as written"].aside["lengths"],
    )
    grid = np.arange(0, np.max(lengths) + 3)
    same = int(pieces["failures for any list"].aside["m"]), settings["delta"]
    return Curves(
        [
            Line("Occam bound", grid, occam_bound(grid, *same)),
            Line("bits not paid for", grid, occam_bound(0 * grid, *same), rival="the bound of one hypothesis"),
            Dots("a list with noise", lengths, largest[0]),
            Dots("pure noise", lengths, largest[1]),
        ],
        x="bits of the description",
        y="risk − training error",
        ys=(0, 0.5),
    )


# Compiled once for each shape: the control runs on the same ones.
def misfits(weights, x, y, widths):
    """Answers less labels."""
    return network_answers(weights, x, widths) - y


residuals_of = jax.jit(misfits, static_argnums=3)
slopes_of = jax.jit(jax.jacrev(misfits), static_argnums=3)
curvature_of = jax.jit(jax.hessian(lambda *at: jnp.mean(misfits(*at) ** 2)), static_argnums=3)


@claim(
    items={
        "A5.37": (
            "rank of the Jacobian",
            "directions that change no answer",
            "zero eigenvalues of the Hessian",
            "Hessian at a solution",
            "walk along the solutions",
        )
    },
    says=r"At zero squared loss a tanh network with $k$ weights and $n<k$ data has a Jacobian $J$ of rank $n$, and "
    r"its Hessian $\frac2nJ^\top J$ has $k-n$ zero eigenvalues. One can walk away along these directions, at zero "
    r"loss after each step: the solutions are not points.",
    needs="an interpolating solution; points in general position",
    symbols={
        r"k": "the number of weights, 104 here",
        r"n": "the number of data, 15 here",
        r"J": "the derivatives of the $n$ answers by the $k$ weights",
    },
    why=r"The Hessian of a mean of squared residuals is $\frac2nJ^\top J$ and a sum of residuals times their own "
    r"Hessians, which vanishes where all residuals do. $J$ has $n$ rows, so at least $k-n$ directions change no answer "
    r"to first order; with full rank the equations “all answers right” define a smooth set of dimension $k-n$ around "
    r"every solution. It is curved: a straight step along it leaves zero loss to second order, and is brought back.",
    notice=r"Left: at a solution all but $n$ eigenvalues of the Hessian are zero to rounding; at the random start, "
    r"where the residuals are not zero, none is. Right: four steps along the set of solutions, at zero loss after each "
    r"return; without the returns the answers drift off.",
    explore={"samples": (5, 15, 30)},
    full=dict(width=32, inputs=8, samples=50),
)
def solutions_are_not_points(
    key,
    *,
    width: Annotated[int, Interval(ge=4, le=64)] = 8,
    inputs: Annotated[int, Interval(ge=2, le=16)] = 4,
    samples: Annotated[int, Interval(ge=3, le=60)] = 15,
):
    draw = generator(key)
    widths = (inputs, width, width, 1)
    x, y = draw.standard_normal((samples, inputs)), draw.standard_normal(samples) / 2
    problem = (x, y, widths)
    residuals, jacobian = (partial(lambda of, weights: of(weights, *problem), of) for of in (residuals_of, slopes_of))
    start = draw.standard_normal(weight_count(widths))
    solution = interpolate(residuals, jacobian, start)
    slopes, curvature = np.asarray(jacobian(solution)), np.asarray(curvature_of(solution, *problem))
    eigenvalues, before = (np.linalg.eigvalsh(each) for each in (curvature, np.asarray(curvature_of(start, *problem))))
    largest = eigenvalues[-1]
    flat = null_space(slopes)
    point, walked, errors, astray = solution, [], [], []
    for _ in range(4):
        free = null_space(jacobian(point))
        step = free.T @ draw.standard_normal(len(free))
        there = point + 0.5 * step / np.linalg.norm(step)
        point = interpolate(residuals, jacobian, there)
        walked.append(float(np.linalg.norm(point - solution)))
        astray.append(float(np.max(np.abs(residuals(there)))))
        errors.append(float(np.max(np.abs(residuals(point)))))
    count = weight_count(widths)
    return {
        "rank of the Jacobian": Exact([np.linalg.matrix_rank(slopes), len(flat)], [samples, count - samples]),
        "directions that change no answer": Identity(slopes @ flat.T, 0.0, scale=np.linalg.norm(slopes, 2), size=count),
        "zero eigenvalues of the Hessian": Exact(
            int(np.sum(np.abs(eigenvalues) < 1e-8 * largest)),
            count - samples,
            aside={
                "at the start": int(np.sum(np.abs(before) < 1e-8 * np.max(np.abs(before)))),
                "eigenvalues": eigenvalues,
                "before": before,
            },
        ),
        "Hessian at a solution": Identity(
            curvature,
            2 / samples * slopes.T @ slopes,
            scale=largest,
            condition=100.0,
            size=count,
            aside={"samples": samples},
        ),
        "walk along the solutions": Chain(
            {
                "still zero loss": (np.asarray([np.max(np.abs(residuals(solution))), *errors]), np.full(5, 1e-9)),
                "away from the start": (0.3, walked[-1]),
            },
            aside={"walked": np.asarray(walked), "astray": np.asarray(astray)},
        ),
    }


@solutions_are_not_points.control("at a point that does not interpolate", of="zero eigenvalues of the Hessian")
def at_the_start(evidence):
    return replace(evidence, left=int(evidence.aside["at the start"]))


@solutions_are_not_points.control("n − 1 for n in the mean of squares", of="Hessian at a solution")
def one_datum_less(evidence):
    n = int(evidence.aside["samples"])
    return replace(evidence, right=np.asarray(evidence.right) * n / (n - 1))


@solutions_are_not_points.control("straight on, without returning", of="walk along the solutions")
def without_returning(evidence):
    return replace(evidence, links={"still zero loss": (evidence.aside["astray"], np.full(4, 1e-9))})


@solutions_are_not_points.picture
def flat_directions(pieces):
    """Sizes of the Hessian's eigenvalues at a solution and at the random start; and the largest residual along a walk
    through solutions, before and after returning to zero loss."""
    zero, walk = pieces["zero eigenvalues of the Hessian"].aside, pieces["walk along the solutions"]
    at, before = (np.sort(np.abs(np.asarray(zero[name])))[::-1] for name in ("eigenvalues", "before"))
    places = np.arange(1, len(at) + 1)
    returned = np.asarray(walk.links["still zero loss"][0])[1:]
    return Row(
        [
            Curves(
                [
                    Dots("at the start", places, before),
                    Dots("at a solution", places, np.maximum(at, 1e-18)),
                    Level("n", x=float(int(pieces["Hessian at a solution"].aside["samples"]) + 0.5)),
                ],
                x="place in descending order",
                y="size of an eigenvalue of the Hessian",
                log="y",
                ys=(1e-18, 1e2),
            ),
            Curves(
                [
                    Dots("straight on", walk.aside["walked"], walk.aside["astray"]),
                    Dots("returned to zero loss", walk.aside["walked"], np.maximum(returned, 1e-18)),
                ],
                x="distance from the first solution",
                y="largest residual",
                log="y",
                ys=(1e-18, 1e2),
            ),
        ]
    )
