"""Counting hypotheses: Occam's razor where they can be written down, and networks, whose solutions are not points."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

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

VARIABLES = 4


@claim(
    items={"A5.36": ("reading", "code", "share", "total", "joint")},
    says=r"Decision lists on four bits, answering by the first rule that applies, have a prefix-free code with Kraft "
    r"sum $1-2^{-r-1}$ up to $r$ rules (a word less its last bit beside the others would spoil it); with "
    r"probability $1-\delta$ no list has a gap above $\sqrt{(\mathrm{bits}\ln2+\ln(1/\delta))/(2m)}$, each spending "
    r"at most $\delta2^{-\mathrm{bits}}$ (exact binomial tails; labels from a list with noise, and pure noise).",
    needs="the code is fixed before the sample; losses in [0, 1]",
    full=dict(trials=20_000),
)
def occam_bound_for_decision_lists(
    key,
    *,
    trials: Trials = 2000,
    delta: Annotated[float, Interval(ge=0.01, le=0.5)] = 0.2,
    price: Literal["bits", "none"] = "bits",
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
    bound = np.asarray(occam_bound(bits if price == "bits" else 0 * bits, samples, delta))
    failures, spent = [], []
    truth = answers[draw.integers(len(lists))]
    for noise in (0.1, 0.5):
        risks = np.where(answers != truth, 1 - noise, noise).mean(1)
        # L − L̂ ≥ bound where at most m(L − bound) of m losses are one: an upper tail of the zeros.
        spent.append(np.exp(log_binomial_tail(np.full(len(lists), samples), 1 - risks, samples * (1 - risks + bound))))
        points = draw.integers(16, size=(trials, samples))
        labels = truth[points] ^ (draw.random((trials, samples)) < noise)
        # Errors at each input: as many labels as differ from the list's answer there.
        ones = np.zeros((2, trials, 16))
        np.add.at(ones, (labels.astype(int), np.arange(trials)[:, None], points), 1.0)
        wrong = (ones[1] @ (1 - answers.T) + ones[0] @ answers.T) / samples
        failures.append(np.sum(np.any(risks - wrong > bound, axis=1)))
    single = [
        np.exp(float(log_hoeffding(m * float(occam_bound(b, m, d)), np.ones(m))))
        for b, m, d in ((3, 40, 0.1), (20, 500, 0.01))
    ]
    return {
        "reading": Exact(answers, np.asarray(read)),
        "code": Exact(
            [
                *map(str, kraft),
                str(prefix_free(words)),
                str([decode(word, VARIABLES) for word in words] == lists),
                str(prefix_free([*words, words[-1][:-1]])),
            ],
            ["1/2", "3/4", "7/8", "True", "True", "False"],
        ),
        "share": Identity(single, [0.1 / 2**3, 0.01 / 2**20], condition=64.0),
        "total": Chain(
            {
                "each list spends its share": (np.stack(spent), delta * 2.0**-bits),
                "together at most δ": (np.stack(spent).sum(1), np.full(2, delta)),
            }
        ),
        "joint": Chance(np.asarray(failures), trials, delta),
    }


occam_bound_for_decision_lists.control(
    "the bound of a single hypothesis for the best of many", of="joint", price="none"
)


@occam_bound_for_decision_lists.control("a code that does not say where a list ends", of="code")
def endless(evidence):
    bare = ["".join(f"{literal:03b}{answer}" for literal, answer in rules) for rules, _ in decision_lists(VARIABLES, 2)]
    sums = [kraft_sum([word + "0" for word in bare if len(word) <= 4 * rules]) for rules in range(3)]
    return replace(evidence, left=[*map(str, sums), str(prefix_free(bare)), *evidence.left[4:]])


# Compiled once for each shape: the control runs on the same ones.
def misfits(weights, x, y, widths):
    """Answers less labels."""
    return network_answers(weights, x, widths) - y


residuals_of = jax.jit(misfits, static_argnums=3)
slopes_of = jax.jit(jax.jacrev(misfits), static_argnums=3)
curvature_of = jax.jit(jax.hessian(lambda *at: jnp.mean(misfits(*at) ** 2)), static_argnums=3)


@claim(
    items={"A5.37": ("rank", "null directions", "zero directions", "Hessian", "along the set")},
    says=r"At zero squared loss a tanh network with $k$ weights and $n<k$ data has a Jacobian of rank $n$ with $k-n$ "
    r"null directions, the Hessian is $\frac2nJ^\top J$ with $k-n$ zero eigenvalues, and one can walk along the null "
    "directions, returning to zero loss after each step, away from the start: the solutions are not points.",
    needs="an interpolating solution; points in general position",
    full=dict(width=32, inputs=8, samples=50),
)
def solutions_are_not_points(
    key,
    *,
    width: Annotated[int, Interval(ge=4, le=64)] = 8,
    inputs: Annotated[int, Interval(ge=2, le=16)] = 4,
    samples: Annotated[int, Interval(ge=3, le=60)] = 15,
    at: Literal["solution", "start"] = "solution",
):
    draw = generator(key)
    widths = (inputs, width, width, 1)
    x, y = draw.standard_normal((samples, inputs)), draw.standard_normal(samples) / 2
    problem = (x, y, widths)
    residuals, jacobian = (partial(lambda of, weights: of(weights, *problem), of) for of in (residuals_of, slopes_of))
    start = draw.standard_normal(weight_count(widths))
    solution = interpolate(residuals, jacobian, start) if at == "solution" else start
    slopes, curvature = np.asarray(jacobian(solution)), np.asarray(curvature_of(solution, *problem))
    eigenvalues = np.linalg.eigvalsh(curvature)
    largest = eigenvalues[-1]
    flat = null_space(slopes)
    point, errors = solution, []
    for _ in range(4):
        free = null_space(jacobian(point))
        step = free.T @ draw.standard_normal(len(free))
        point = interpolate(residuals, jacobian, point + 0.5 * step / np.linalg.norm(step))
        errors.append(float(np.max(np.abs(residuals(point)))))
    count = weight_count(widths)
    return {
        "rank": Exact([np.linalg.matrix_rank(slopes), len(flat)], [samples, count - samples]),
        "null directions": Identity(slopes @ flat.T, 0.0, scale=np.linalg.norm(slopes, 2), size=count),
        "zero directions": Exact(int(np.sum(np.abs(eigenvalues) < 1e-8 * largest)), count - samples),
        "Hessian": Identity(curvature, 2 / samples * slopes.T @ slopes, scale=largest, condition=100.0, size=count),
        "along the set": Chain(
            {
                "still zero loss": (np.asarray([np.max(np.abs(residuals(solution))), *errors]), np.full(5, 1e-9)),
                "away from the start": (0.3, np.linalg.norm(point - solution)),
            }
        ),
    }


solutions_are_not_points.control("at a point that does not interpolate", of="zero directions", at="start")
