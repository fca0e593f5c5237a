"""Maurey's lemma: the exact error of a mean of draws, its bounds, draws without chance, and signed measures."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.approximation.maurey import (
    greedy_draws,
    jordan_decomposition,
    maurey_bounds,
    maurey_error,
    sampled_errors,
    signed_maurey_error,
    signed_vectors,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, seen

Draws = Annotated[tuple[int, ...], Interval(ge=1, le=1000), MinLen(2)]


def over_all_sequences(vectors, law, samples):
    """The mean squared error over all sequences of draws, each with its probability."""
    mean, total = law @ vectors, 0.0
    for each in product(range(len(law)), repeat=samples):
        total += np.prod(law[list(each)]) * np.sum((mean - vectors[list(each)].mean(0)) ** 2)
    return total


def centred_cross(dimension):
    """The vectors ±e_i, equally likely: of mean zero and one length, where both bounds are attained."""
    return np.concatenate([np.eye(dimension), -np.eye(dimension)]), np.full(2 * dimension, 0.5 / dimension)


@claim(
    items={
        "L4.6": ("bound by the mean square", "bound by the longest", "draws without chance"),
        "L4.20": ("error over all sequences", "mean error of random draws"),
    },
    says=r"If $X=EV$ and $V_1,\dots,V_k$ are independent copies, $E\|X-\frac1k\sum "
    r"V_i\|^2=\frac1kE\|V-X\|^2\le\frac1kE\|V\|^2\le\frac1k\sup\|U\|^2$, and some $U_1,\dots,U_k$ do no worse: greedy "
    "choices find them.",
    needs="independent draws",
    full=dict(trials=40_000),
    symbols={
        "V": "a random vector of a Hilbert space",
        "X": "its mean",
        "k": "the number of draws",
        "U": "a vector that $V$ may be",
    },
    why="The errors $V_i-X$ are independent and of mean zero, so the squares of their lengths add and the cross "
    r"terms vanish: $k$ of them divided by $k$ leave $1/k$ of one. $E\|V-X\|^2=E\|V\|^2-\|X\|^2$ gives the bounds. "
    "Choose one vector after the other, each time the one that leaves the sum nearest to its aim: a random choice "
    r"adds $E\|V-X\|^2$ on average, the best one no more.",
    notice="Random draws follow the exact line $1/k$. The greedy choices lie below it for every $k$, and far below "
    "for large ones: they mend what earlier choices missed. The bound is above by the squared "
    "length of the mean over $k$.",
)
def maurey_sampling(key, *, draws: Draws = (1, 3, 10, 100), trials: Trials = 6000):
    rng, keys = generator(key), jax.random.split(key, len(draws))
    vectors, law = rng.standard_normal((50, 20)) + 0.5, rng.dirichlet(np.ones(50))
    small = [(rng.standard_normal((4, 3)), rng.dirichlet(np.ones(4))) for _ in range(3)]
    lengths = np.arange(1, 5)
    families = {
        "scattered": (vectors, law),
        "cross": centred_cross(5),
        "shifted cross": (centred_cross(5)[0] + 0.3, law[:10] / law[:10].sum()),
    }
    many = np.array([1, 2, 4, 8, 16, 32, 64])
    exact, bounds, greedy = [], [], []
    for each, weights in families.values():
        exact.append([maurey_error(each, weights, k) for k in many.tolist()])
        bounds.append([maurey_bounds(each, weights, k) for k in many.tolist()])
        chosen = each[greedy_draws(each, weights, int(many[-1]))]
        means = np.cumsum(chosen, axis=0)[many - 1] / many[:, None]
        greedy.append(np.sum((weights @ each - means) ** 2, axis=1))
    bounds = np.array(bounds)
    along = {"vectors": list(families), "draws": many}
    return {
        "error over all sequences": Identity(
            np.array([[over_all_sequences(*each, k) for k in lengths.tolist()] for each in small]),
            np.array([[maurey_error(*each, k) for k in lengths.tolist()] for each in small]),
            size=256.0,
            condition=10.0,
            along={"example": [1, 2, 3], "draws": lengths},
        ),
        "mean error of random draws": Law(
            np.array([maurey_error(vectors, law, k) for k in draws]),
            np.stack([sampled_errors(one, vectors, law, k, trials=trials) for one, k in zip(keys, draws, strict=True)]),
            along={"draws": np.array(draws)},
            exact=True,
            aside={"greedy": greedy[0], "many": many, "bound": bounds[0, :, 0]},
        ),
        "bound by the mean square": Inequality(np.array(exact), bounds[..., 0], along=along),
        "bound by the longest": Inequality(bounds[..., 0], bounds[..., 1], along=along),
        "draws without chance": Inequality(np.array(greedy), np.array(exact), along=along, error=1e-12),
    }


@maurey_sampling.control("1/(k + 1) for 1/k", of="error over all sequences")
def one_draw_more(evidence):
    k = evidence.along["draws"]
    return replace(evidence, right=evidence.right * k / (k + 1))


@maurey_sampling.control("E‖V‖² for E‖V − X‖² in the equality", of="mean error of random draws")
def mean_not_taken_off(evidence):
    bound, many = evidence.aside["bound"], evidence.aside["many"]
    return replace(evidence, predicted=bound[0] * many[0] / evidence.along["draws"])


@maurey_sampling.control("1/(k + 1) for 1/k in the bound", of="bound by the mean square")
def smaller_bound(evidence):
    k = evidence.along["draws"]
    return replace(evidence, bound=evidence.bound * k / (k + 1))


@maurey_sampling.control("one per cent below the longest", of="bound by the longest")
def shorter(evidence):
    return replace(evidence, bound=0.99 * evidence.bound)


@maurey_sampling.control("draws that do better than k + 1 random ones", of="draws without chance")
def better_than_they_are(evidence):
    k = evidence.along["draws"]
    return replace(evidence, bound=evidence.bound * k / (k + 1))


@maurey_sampling.picture
def drawn_and_chosen(pieces):
    """Squared error by the number of draws: random ones with their exact line, the bound, and greedy choices."""
    found = pieces["mean error of random draws"]
    k, many = found.along["draws"], found.aside["many"]
    return Curves(
        [
            Line("exact mean", k, found.predicted),
            seen("random draws", k, found.observed),
            Line("bound E‖V‖²/k", many, found.aside["bound"], dashed=True),
            Dots("greedy choices", many, found.aside["greedy"]),
        ],
        x="draws k",
        y="squared error",
        log="xy",
    )


CELLS = 64


def sine_of_thresholds():
    """The sine as Σ weights_i 1[x ≥ b_i]: features on the grid of cell edges, weights, and the law of points.

    The weights are the rises of the sine over cells, thresholds lie in their middles, and points at the edges, the two
    outer ones with half the weight: sums over these are the integrals themselves.
    """
    edges = np.arange(CELLS + 1) / CELLS
    thresholds = (edges[1:] + edges[:-1]) / 2
    measure = np.full(CELLS + 1, 1 / CELLS)
    measure[[0, -1]] /= 2
    return (edges >= thresholds[:, None]).astype(float), np.diff(np.sin(2 * np.pi * edges)), measure, edges


@claim(
    items={
        "L4.7": (
            "mean of the drawn functions",
            "mass of the weights",
            "error over all sequences",
            "error of the sine",
            "mean error of random draws",
            "bound by mass and longest",
        )
    },
    says=r"A signed measure $\mu=\mu_+-\mu_-$ is sampled by drawing a sign $s$ with probability "
    r"$\|\mu_s\|_1/\|\mu\|_1$, then $\omega$ from $\mu_s$: $s\|\mu\|_1g(\cdot,\omega)$ has mean $\int g\,d\mu$, and "
    r"$k$ draws miss it by at most $\|\mu\|_1^2\sup\|g\|^2/k$ in mean square. For $\sin2\pi x$ of thresholds "
    r"$\|\mu\|_1=4$ and that error is exactly $7.5/k$.",
    needs="a nonzero measure of finite mass",
    full=dict(trials=40_000),
    symbols={
        r"\mu_+,\mu_-": "the positive and the negative part of the weights, on different places",
        r"\|\mu\|_1": "the total mass, both parts added",
        "s": "a random sign",
        r"g(\cdot,\omega)": r"a unit with parameters $\omega$, a function of the input",
        "k": "the number of draws",
    },
    why="Signs go into the functions and sizes into the probabilities; dividing by the mass makes them sum to one, "
    "and multiplying the functions by it undoes that. Then Maurey's lemma applies. For the sine the weights are its "
    r"derivative $2\pi\cos2\pi b$: it rises by 2 and falls by 2 in all. A unit at $b$ has squared norm $1-b$, one "
    r"half on average, so $E\|V\|^2=4^2/2=8$, less $\|\sin\|^2=\frac12$.",
    notice="Steps of height $4/k$ up and down, at places where the sine is steep, up where it rises: their sum "
    "follows the sine. With all signs taken positive, it would climb to 4.",
)
def signed_measures_are_sampled(key, *, draws: Draws = (5, 40), trials: Trials = 24_000):
    rng, keys = generator(key), jax.random.split(key, len(draws) + 1)
    features, weights, measure, edges = sine_of_thresholds()
    weighed = features * np.sqrt(measure)
    vectors, law = signed_vectors(weighed, weights)
    positive, negative, mass = jordan_decomposition(weights)
    small = [(rng.standard_normal((4, 3)), rng.standard_normal(4), rng.dirichlet(np.ones(3))) for _ in range(3)]
    for _, signed, _ in small:
        signed[:2] = np.abs(signed[0]), -np.abs(signed[1])  # both signs are there
    lengths = np.arange(1, 4)

    def enumerated(units, signed, points, samples):
        # The sampler as it is described: sign first, then the unit.
        total, plus, minus = np.abs(signed).sum(), np.maximum(signed, 0), np.maximum(-signed, 0)
        chances = np.concatenate([plus.sum() / total * plus / plus.sum(), minus.sum() / total * minus / minus.sum()])
        drawn = np.concatenate([total * units, -total * units]) * np.sqrt(points)
        return over_all_sequences(drawn[chances > 0], chances[chances > 0], samples)

    # Units of one length whose signed sum vanishes: the bound is attained.
    tight = (np.sign(rng.standard_normal((1, 4))) * np.ones((4, 1)), np.array([1.0, -1.0, 0.5, -0.5]))
    bounds = np.array([signed_maurey_error(u, w, 2, measure=p) for u, w, p in small] + [signed_maurey_error(*tight, 2)])
    bounds = np.concatenate([bounds, [signed_maurey_error(features, weights, 2, measure=measure)]])
    picked = rng.choice(CELLS, draws[-1], p=law)
    return {
        "mean of the drawn functions": Identity(
            law @ (vectors / np.sqrt(measure)),
            np.sin(2 * np.pi * edges),
            scale=mass,
            size=float(CELLS),
            aside={
                "all positive": np.abs(weights) @ features,
                "drawn": mass / draws[-1] * np.cumsum(np.bincount(picked, np.sign(weights)[picked], CELLS)),
                "edges": edges,
            },
        ),
        "mass of the weights": Identity(
            np.array([mass, positive.sum(), negative.sum()]), np.array([4.0, 2.0, 2.0]), size=float(CELLS)
        ),
        "error over all sequences": Identity(
            np.array([[enumerated(u, w, p, k) for k in lengths.tolist()] for u, w, p in small]),
            np.array([[signed_maurey_error(u, w, k, measure=p)[0] for k in lengths.tolist()] for u, w, p in small]),
            size=512.0,
            condition=10.0,
            along={"example": [1, 2, 3], "draws": lengths},
        ),
        "error of the sine": Identity(
            np.array([signed_maurey_error(features, weights, k, measure=measure)[0] for k in draws]),
            7.5 / np.array(draws),
            size=float(CELLS),
            condition=10.0,
            along={"draws": np.array(draws)},
        ),
        "mean error of random draws": Law(
            7.5 / np.array(draws),
            np.stack(
                [sampled_errors(one, vectors, law, k, trials=trials) for one, k in zip(keys, draws, strict=False)]
            ),
            along={"draws": np.array(draws)},
            exact=True,
            resolution=0.1,  # errors of few steps vary by more than their mean; the equality itself is checked above
        ),
        "bound by mass and longest": Inequality(
            bounds[:, 0],
            bounds[:, 1],
            along={"measure": ["random"] * 3 + ["balanced", "sine"]},
            aside={"mass": np.array([*(np.abs(w).sum() for _, w, _ in small), 3.0, mass])},
        ),
    }


@signed_measures_are_sampled.control("plus between the two parts", of="mean of the drawn functions")
def added(evidence):
    return replace(evidence, left=evidence.aside["all positive"])


@signed_measures_are_sampled.control("the mass of the positive part alone", of="mass of the weights")
def half_the_mass(evidence):
    return replace(evidence, left=evidence.left - np.array([evidence.left[2], 0, 0]))


@signed_measures_are_sampled.control("8/k, the square of the sine not taken off", of="error of the sine")
def second_moment(evidence):
    return replace(evidence, right=8 / evidence.along["draws"])


@signed_measures_are_sampled.control("one draw more than there are", of="mean error of random draws")
def luckier(evidence):
    return replace(evidence, predicted=7.5 / (evidence.along["draws"] + 1))


@signed_measures_are_sampled.control("1/(k + 1) for 1/k", of="error over all sequences")
def another_draw(evidence):
    k = evidence.along["draws"]
    return replace(evidence, right=evidence.right * k / (k + 1))


@signed_measures_are_sampled.control("‖μ‖₁ for its square", of="bound by mass and longest")
def mass_once(evidence):
    return replace(evidence, bound=evidence.bound / evidence.aside["mass"])


@signed_measures_are_sampled.picture
def sine_from_steps(pieces):
    """The sine, a network of as many drawn steps as the largest number of draws, and what all signs positive give."""
    told = pieces["mean of the drawn functions"].aside
    x = told["edges"]
    return Curves(
        [
            Line("sin 2πx", x, np.sin(2 * np.pi * x)),
            Line("drawn steps", x[1:], told["drawn"]),
            Line("", x, told["all positive"], rival="plus between the two parts"),
        ],
        x="input x",
        y="value",
    )
