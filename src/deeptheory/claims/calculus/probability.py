"""Finite probability spaces, expectations by densities and by tails, moments of Gaussians (lucchi 1.5)."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy import stats
from scipy.integrate import quad

from deeptheory.calculus.expectations import (
    affine_gaussian,
    expectation_by_density,
    expectation_by_tail,
    gaussian_expectation,
)
from deeptheory.calculus.probability_spaces import (
    atoms,
    event_probability,
    is_measurable,
    is_sigma_algebra,
    push_forward,
    sigma_algebra,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Graph, Line, Plane

POINTS = (1, 2, 3, 4)


def families():
    """All families of events of four outcomes that hold the empty set, the whole, and complements."""
    whole = frozenset(POINTS)
    pairs = [(frozenset(e), whole - frozenset(e)) for k in (1, 2) for e in combinations(POINTS, k) if k == 1 or 1 in e]
    chosen = chain.from_iterable(combinations(pairs, k) for k in range(len(pairs) + 1))
    return [frozenset((frozenset(), whole, *chain.from_iterable(each))) for each in chosen]


def partitions(items):
    """All ways to cut a list into parts."""
    if not items:
        return [[]]
    first, rest = items[0], partitions(items[1:])
    return [
        p
        for parts in rest
        for p in ([[first], *parts], *([*parts[:i], [first, *q], *parts[i + 1 :]] for i, q in enumerate(parts)))
    ]


def words(sets):
    """Families of events as sorted words, so that they can be compared."""
    return np.array(sorted("|".join(sorted("".join(map(str, sorted(e))) for e in each)) for each in sets))


@claim(
    items={
        "L1.14": (
            "all σ-algebras on four outcomes",
            "probabilities add up",
            "the sum of two dice",
            "what can be measured",
        ),
        "L1.21": "probabilities add up",
    },
    says=r"On a finite set σ-algebras are the unions of the parts of a partition: 15 on four outcomes. $X$ is a random "
    r"variable if and only if it is constant on every atom: the sum of two dice is one for the power set, not for "
    r"$\{\emptyset,\Omega\}$.",
    needs="four outcomes, all of whose families of events are enumerated; two fair dice in rationals",
    symbols={
        r"\sigma\text{-algebra}": "a family of events with ∅, complements and unions",
        r"X": "a function of the outcome",
        r"\text{atom}": "a smallest event that is not empty",
        r"\Omega": "the set of all outcomes",
    },
    why="Complements and unions give intersections, so the smallest event around an outcome is the intersection of "
    "all events that hold it. Two such events are equal or disjoint, since otherwise one could be made smaller. They "
    "are a partition, and every event is the union of those of its outcomes.",
    notice="The eight events of three outcomes with their probabilities, ordered by inclusion: a measure sends this "
    "cube to the interval from 0 to 1. The atoms are just above the empty set.",
)
def finite_probability_spaces(key, *, trials: Trials = 30):
    rng = generator(key)
    by_axioms = [each for each in families() if is_sigma_algebra(POINTS, each)]
    whole = frozenset(POINTS)
    disjoint = [f for f in families() if all(a | b in f for a, b in combinations(f, 2) if not a & b)]
    weights = rng.integers(1, 9, (trials, 4))
    masses = [{p: Fraction(int(w), int(row.sum())) for p, w in zip(POINTS, row, strict=True)} for row in weights]
    one, other = {1, 2}, {2, 3}
    dice = dict.fromkeys(product(range(1, 7), repeat=2), Fraction(1, 36))
    law = push_forward(dice, sum)
    values = rng.integers(0, 2, (trials, 4))
    algebras = [by_axioms[i] for i in rng.integers(0, len(by_axioms), trials)]
    parts = [atoms(POINTS, each) for each in algebras]
    return {
        "all σ-algebras on four outcomes": Exact(
            words(by_axioms),
            words(sigma_algebra(POINTS, each) for each in partitions(list(POINTS))),
            aside={"disjoint": words(disjoint)},
        ),
        "probabilities add up": Exact(
            np.array(
                [event_probability(m, one) + event_probability(m, other) - event_probability(m, {2}) for m in masses]
            ),
            np.array([event_probability(m, one | other) for m in masses]),
            aside={"overlap": np.array([event_probability(m, {2}) for m in masses])},
        ),
        "the sum of two dice": Exact(
            np.array([law[total] for total in range(2, 13)]),
            np.array([Fraction(6 - abs(total - 7), 36) for total in range(2, 13)]),
            aside={"unordered": np.array([Fraction(min(t // 2, 6) - max(1, t - 6) + 1, 21) for t in range(2, 13)])},
        ),
        "what can be measured": Exact(
            np.array(
                [is_measurable(lambda w, v=v: v[w - 1], POINTS, f) for v, f in zip(values, algebras, strict=True)]
            ),
            np.array(
                [all(len({v[w - 1] for w in part}) == 1 for part in p) for v, p in zip(values, parts, strict=True)]
            ),
            aside={"any": np.array([frozenset(w for w in POINTS if v[w - 1]) <= whole for v in values])},
        ),
    }


@finite_probability_spaces.control("unions of disjoint events only", of="all σ-algebras on four outcomes")
def disjoint_unions(evidence):
    return replace(evidence, left=evidence.aside["disjoint"])


@finite_probability_spaces.control("the overlap counted twice", of="probabilities add up")
def counted_twice(evidence):
    return replace(evidence, left=evidence.left + evidence.aside["overlap"])


@finite_probability_spaces.control("unordered pairs of eyes equally likely", of="the sum of two dice")
def unordered(evidence):
    return replace(evidence, right=evidence.aside["unordered"])


@finite_probability_spaces.control("every function can be measured", of="what can be measured")
def every_function(evidence):
    return replace(evidence, right=evidence.aside["any"])


@finite_probability_spaces.picture
def cube_of_events(pieces):
    """The eight events of three outcomes a, b, c of probabilities 1/2, 1/3, 1/6, ordered by inclusion."""
    masses = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6)}
    events = [frozenset(each) for k in range(4) for each in combinations("abc", k)]
    chances = [event_probability(masses, each) for each in events]
    aside = {"": 0, "a": -1, "b": 0, "c": 1, "ab": -1, "ac": 0, "bc": 1, "abc": 0}
    places = [(aside["".join(sorted(each))], len(each)) for each in events]
    edges = [(i, j) for i, a in enumerate(events) for j, b in enumerate(events) if a < b and len(b) == len(a) + 1]
    labels = [f"{''.join(sorted(each)) or '∅'}: {chance}" for each, chance in zip(events, chances, strict=True)]
    kinds = ["atom" if len(each) == 1 else "other event" for each in events]
    return Graph(places, edges, kinds=kinds, labels=labels)


LAWS = {
    "exponential": (stats.expon(scale=0.4), 0.4),
    "gamma": (stats.gamma(2.5, scale=0.7), 1.75),
    "half normal": (stats.halfnorm(), np.sqrt(2 / np.pi)),
    "uniform": (stats.uniform(1.0, 2.0), 2.0),
}


@claim(
    items={"L1.15": ("expectation by density", "expectation by tail", "whole numbers")},
    says=r"$\mathbb E X=\int xf(x)\,dx$, and for $X\ge0$ also $\mathbb E X=\int_0^\infty\Pr(X\ge t)\,dt$, for whole "
    r"numbers $\sum_{t\ge1}\Pr(X\ge t)$.",
    needs="the exponential, gamma, half-normal and uniform laws, with means known in closed form; geometric laws",
    symbols={
        r"f": "the density of $X$, the derivative of its distribution function",
        r"\Pr(X\ge t)": "the tail",
        r"\mathbb E": "expectation",
    },
    why=r"A number $X\ge0$ is the length of the interval from 0 to $X$, $\int_0^\infty[X\ge t]\,dt$; take expectations "
    r"inside the integral. The mean is the area below the tail. For whole numbers the tail is a staircase, and the sum "
    r"starts at 1, since $[X\ge t]$ counts $t=1,\dots,X$.",
    notice="Tails of the four laws: the areas below the curves are the means. That of the uniform law on [1, 3] is 1 "
    "up to $t=1$, which contributes 1 to its mean 2.",
)
def tail_formula(*, terms: Annotated[int, Interval(ge=200, le=2000)] = 400):
    means = np.array([mean for _, mean in LAWS.values()])
    rates = np.array([0.2, 0.5, 0.8])
    tails = np.array([(1 - p) ** np.arange(terms) for p in rates])  # Pr(X ≥ t), t = 1, 2, …
    names = np.array(list(LAWS))
    ends = np.array([np.inf, np.inf, np.inf, 3.0])
    starts = np.array([0.0, 0.0, 0.0, 1.0])
    rows = list(zip((law for law, _ in LAWS.values()), starts, ends, strict=True))
    squares = [expectation_by_density(law.pdf, a, b, lambda x: x * x) for law, a, b in rows]
    return {
        "expectation by density": Identity(
            np.array([expectation_by_density(law.pdf, a, b) for law, a, b in rows]),
            means,
            error=1e-8,
            along={"law": names},
            aside={"roots": np.sqrt(squares)},
        ),
        "expectation by tail": Identity(
            np.array([expectation_by_tail(law.sf, 3.0 if b == 3 else np.inf) for law, _, b in rows]),
            means,
            error=1e-8,
            along={"law": names},
            aside={
                "below": np.array([expectation_by_tail(law.sf, 3.0 if b == 3 else np.inf) - a for law, a, b in rows])
            },
        ),
        "whole numbers": Identity(tails.sum(1), 1 / rates, size=terms, error=1e-30, along={"p": rates}),
    }


@tail_formula.control("the root of the mean square", of="expectation by density")
def root_mean_square(evidence):
    return replace(evidence, left=evidence.aside["roots"])


@tail_formula.control("the tail integrated from the least value on", of="expectation by tail")
def from_the_least(evidence):
    return replace(evidence, left=evidence.aside["below"])


@tail_formula.control("Pr(X > t) in place of Pr(X ≥ t)", of="whole numbers")
def strictly_above(evidence):
    return replace(evidence, left=np.asarray(evidence.left) - 1)


@tail_formula.picture
def areas_below_tails(pieces):
    """Tails of four laws over t; the area below each is its mean."""
    t = np.linspace(0, 4, 161)
    marks = [Line(f"{name}, mean {mean:.3g}", t, law.sf(t)) for name, (law, mean) in LAWS.items()]
    return Curves(marks, x="threshold t", y="probability Pr(X ≥ t)")


@claim(
    items={"L1.20": ("moments of one variable", "moments of a Gaussian", "affine images")},
    says=r"$X\sim\mathcal N(\mu,\Sigma)$, by its density, has mean $\mu$ and covariance $\Sigma$; $AX+b$ is normal "
    r"with mean $A\mu+b$ and covariance $A\Sigma A^\top$.",
    needs="one and two variables; moments of the density by quadrature, on a grid in two variables",
    symbols={
        r"\mu,\ \Sigma": "mean and covariance; of one variable $\\Sigma=\\sigma^2$, which the book writes as "
        r"$\sigma$ once",
        r"A,\ b": "a matrix and a vector",
    },
    why=r"Shift by the mean and turn to the eigenvectors of $\Sigma$: the density is then a product of one-dimensional "
    r"ones, whose moments are integrals by parts. Expectations of linear and quadratic functions go through affine "
    r"maps by linearity alone; that the image is again normal is seen from its characteristic function, or from every "
    r"projection being normal.",
    notice="Level sets of the density before and after the map: ellipses go to ellipses, with the mean to its image.",
)
def gaussian_moments_and_maps(key, *, trials: Trials = 12):
    rng = generator(key)
    means, roots = rng.normal(size=(trials, 2)), rng.normal(size=(trials, 2, 2)) + 1.5 * np.eye(2)
    covariances = roots @ np.swapaxes(roots, 1, 2) + 0.3 * np.eye(2)
    matrices, shifts = rng.normal(size=(trials, 2, 2)), rng.normal(size=(trials, 2))
    by_density = [density_moments(m, c) for m, c in zip(means, covariances, strict=True)]
    rows = list(zip(means, covariances, matrices, shifts, strict=True))
    laws = [affine_gaussian(*row) for row in rows]
    # The characteristic function of the image in two directions each, of such length that it is of order one.
    seen, told, wrong = [], [], []
    for (mean, covariance, matrix, shift), law in zip(rows, laws, strict=True):
        for direction in ([1.0, -0.5], [0.4, 1.0]):
            wave = np.array(direction) / np.sqrt(np.trace(law.covariance))

            def parts(x, a=matrix, b=shift, w=wave):
                return np.stack([np.cos((x @ a.T + b) @ w), np.sin((x @ a.T + b) @ w)], -1)

            turned = np.array([np.cos(law.mean @ wave), np.sin(law.mean @ wave)])
            seen.append(gaussian_expectation(parts, mean, covariance, nodes=40))
            told.append(turned * np.exp(-wave @ law.covariance @ wave / 2))
            wrong.append(turned * np.exp(-wave @ matrix @ covariance @ matrix @ wave / 2))
    variances = covariances[:, 0, 0]
    single = [line_moments(m, v) for m, v in zip(means[:, 0], variances, strict=True)]
    flat = np.concatenate([means, covariances.reshape(trials, 4)], 1)
    return {
        "moments of one variable": Identity(
            np.array(single),
            np.stack([np.ones(trials), means[:, 0], variances], 1),
            scale=1 + variances[:, None],
            error=1e-9,
            along={"trial": np.arange(trials), "moment": ["whole", "mean", "variance"]},
            aside={"deviations": np.sqrt(variances)},
        ),
        "moments of a Gaussian": Identity(
            np.array(by_density),
            flat,
            scale=1 + np.abs(flat),
            error=1e-9,
            aside={"deviations": np.concatenate([means, np.sign(flat[:, 2:]) * np.sqrt(np.abs(flat[:, 2:]))], 1)},
        ),
        "affine images": Identity(
            np.array(seen), np.array(told), scale=1.0, error=1e-10, aside={"untransposed": np.array(wrong)}
        ),
    }


def line_moments(mean, variance):
    """The integrals of 1, x and (x − μ)² under the printed density of one variable, by adaptive quadrature."""
    reach = mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance)

    def density(x):
        return np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    powers = (lambda x: 1.0, lambda x: x, lambda x: (x - mean) ** 2)
    return [quad(lambda x, g=g: g(x) * density(x), *reach, epsabs=1e-12)[0] for g in powers]


def density_moments(mean, covariance):
    """Mean and covariance by adding up x f(x) and (x − μ)(x − μ)ᵀ f(x), with the printed density, on a fine grid.

    The trapezoidal rule on a whole line converges faster than any power for such a function.
    """
    least, largest = np.sqrt(np.linalg.eigvalsh(covariance))
    axis = np.arange(-9 * largest, 9 * largest, least / 2)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2) + mean
    inverse, cell = np.linalg.inv(covariance), (axis[1] - axis[0]) ** 2
    apart = x - mean
    density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", apart, inverse, apart)) / (
        2 * np.pi * np.sqrt(np.linalg.det(covariance))
    )
    centre = (x * density[:, None]).sum(0) * cell
    spread = np.einsum("n,ni,nj->ij", density, x - centre, x - centre) * cell
    return np.concatenate([centre, spread.ravel()])


@gaussian_moments_and_maps.control("N(μ, σ) has the variance σ", of="moments of one variable")
def variance_for_deviation(evidence):
    right = np.array(evidence.right)
    right[:, 2] = evidence.aside["deviations"]
    return replace(evidence, right=right)


@gaussian_moments_and_maps.control("Σ holds standard deviations", of="moments of a Gaussian")
def deviations(evidence):
    return replace(evidence, right=evidence.aside["deviations"])


@gaussian_moments_and_maps.control("covariance AΣA, without the transpose", of="affine images")
def untransposed(evidence):
    return replace(evidence, right=evidence.aside["untransposed"])


@gaussian_moments_and_maps.picture
def ellipses_to_ellipses(pieces):
    """Level sets of a normal density at one and two standard deviations, and of its affine image."""
    mean, covariance = np.array([0.5, 0.0]), np.array([[1.0, 0.6], [0.6, 0.8]])
    matrix, shift = np.array([[0.5, -1.0], [1.0, 0.4]]), np.array([2.5, 1.5])
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    marks = []
    for name, law in {"X": (mean, covariance), "AX + b": affine_gaussian(mean, covariance, matrix, shift)}.items():
        root = np.linalg.cholesky(law[1])
        marks += [Line(name, *(law[0][:, None] + r * root @ circle)) for r in (1, 2)] + [
            Dots(f"mean of {name}", [law[0][0]], [law[0][1]])
        ]
    return Plane(marks, x="first coordinate", y="second coordinate")
