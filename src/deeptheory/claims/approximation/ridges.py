"""From one dimension to many by ridges, and why units need an offset (lucchi Sec. 3.4)."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.approximation.errors import grid_points, measured_error
from deeptheory.approximation.monomials import monomial_network
from deeptheory.approximation.ridges import as_powers_of_forms, lifted, polynomial_ridge_network, ridge_sum
from deeptheory.approximation.shallow import fit_output
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Line, Row, Surface

MONOMIALS = ((1, 1), (2, 1), (2, 2), (3, 1), (1, 1, 1), (2, 1, 1))


def ripple(x):
    """An even function: it is the same at x and at −x."""
    return np.cos(x @ np.arange(2.0, x.shape[-1] + 2))


def fitted(rng, dimension, units, offset):
    """The largest error of tanh units fitted to the ripple on a grid, with offsets or without."""
    x = grid_points(-np.ones(dimension), np.ones(dimension), {1: 201, 2: 31}[dimension])
    weights, biases = 2 * rng.normal(size=(units, dimension)), 2 * rng.normal(size=units)
    return np.abs(fit_output(weights, biases * offset, np.tanh, x, ripple(x))(x) - ripple(x)).max()


@claim(
    items={
        "L3.12": (
            "monomials as powers of forms",
            "errors of profiles add up",
            "squares attain the sum",
            "error of a polynomial as a network",
            "error with offsets",
        )
    },
    says=r"Every polynomial is a sum of ridges $g_k(\theta_k\cdot x)$. With networks of one input within $\epsilon_k$ "
    r"of the profiles $g_k$, the sum is a network within $\sum_k\epsilon_k$. Units $\sigma(\theta\cdot x+b)$ come near "
    r"every continuous function; without offsets $b$ and with odd $\sigma$ only near odd ones.",
    needs="profiles are approximated where θ·x lives; polynomials, squares and ripples stand for continuous functions",
    symbols={
        r"\theta_k": "the direction along which a ridge varies",
        "g_k": "its profile, a function of one number",
        r"\epsilon_k": "the error of a network for that profile",
        r"\sigma": "the activation",
        "b": "the offset of a unit",
    },
    why=r"Products are differences of squares, $xy=\frac14((x+y)^2-(x-y)^2)$, and so on for more factors: polynomials "
    r"are sums of ridges, and polynomials come near everything. A unit $\sigma(az+b)$ with $z=\theta\cdot x$ is a unit "
    r"of $d$ inputs with weights $a\theta$ and the same offset. Errors of profiles may all be largest at one point, so "
    r"that they add. Without an offset $\tanh(\theta\cdot x)$ changes its sign with $x$, and so do all sums.",
    notice=r"Left, the saddle $xy$ as a network of six tanh units, three along each diagonal. Right, a cosine of one "
    "input and the best that forty units of tanh can do: with offsets no difference is seen, without them the fit is "
    "zero, the only odd function near an even one.",
)
def dimension_lifting(key, *, units: Annotated[int, Interval(ge=40, le=120)] = 60):
    rng = generator(key)
    forms = {each: as_powers_of_forms(each) for each in MONOMIALS}
    lattices = {n: np.array(list(product((-2, -1, 0, 1, 3), repeat=n))) for n in (2, 3)}
    sums, products = [], []
    for exponents, found in forms.items():
        x, scale = lattices[len(exponents)], int(np.rint(1 / np.abs(found.weights).min()))
        powers = np.rint(x @ found.directions.T).astype(np.int64) ** found.power
        sums.append(powers @ np.rint(found.weights * scale).astype(np.int64))
        products.append(scale * np.prod(x ** np.array(exponents), 1))
    square = monomial_network(2, np.tanh, 0.5, 0.05)
    alone = np.abs(square(np.linspace(-1, 1, 401)[:, None]) - np.linspace(-1, 1, 401) ** 2).max()
    dimensions = np.array([1, 2, 3, 4])
    squares = np.array(
        [
            np.abs(lifted(np.eye(d), [square] * d)(corners(d)) - (corners(d) ** 2).sum(-1)).max()
            for d in dimensions.tolist()
        ]
    )
    directions = rng.normal(size=(4, 2))
    directions /= np.abs(directions).sum(1, keepdims=True)  # so that θ·x stays within [−1, 1]
    x = grid_points(-np.ones(2), np.ones(2), 41)
    parts = [monomial_network(p, np.tanh, 0.5, 0.05, centred=True) for p in (1, 2, 3, 2)]
    exact = ridge_sum(directions, [lambda z, p=p: z**p for p in (1, 2, 3, 2)], x)
    z = np.linspace(-1, 1, 401)
    single = np.array([np.abs(part(z[:, None]) - z**p).max() for part, p in zip(parts, (1, 2, 3, 2), strict=True)])
    # One direction twice, with the same profile: both errors are largest at the same place.
    twice = lifted(np.array([[1.0, 0.0]] * 2), [parts[1]] * 2)
    gaps = [np.abs(lifted(directions, parts)(x) - exact).max(), np.abs(twice(x) - 2 * x[:, 0] ** 2).max()]
    terms = [((1, 1), 1.0), ((2, 1), -0.5), ((1, 0), 0.3)]
    built = polynomial_ridge_network(terms, np.tanh, 0.5, 0.01)
    gap = measured_error(built, saddle, -np.ones(2), np.ones(2), points=41)
    return {
        "monomials as powers of forms": Exact(np.concatenate(sums), np.concatenate(products)),
        # Third differences divide rounding by the cube of their step.
        "errors of profiles add up": Inequality(
            np.array(gaps),
            np.array([single.sum(), 2 * single[1]]),
            error=64 * np.finfo(float).eps / 0.05**3,
            along={"directions": ["drawn", "one, twice"]},
            aside={"in squares": np.array([np.sqrt((single**2).sum()), np.sqrt(2) * single[1]])},
        ),
        "squares attain the sum": Identity(
            squares, dimensions * alone, scale=1.0, error=1e-9, along={"dimension": dimensions}
        ),
        "error of a polynomial as a network": Inequality(gap, 0.01, aside={"coarse": _coarse(terms)}),
        "error with offsets": Inequality(
            np.array([fitted(rng, 1, units, 1.0), fitted(rng, 2, 4 * units, 1.0)]),
            0.05,
            along={"dimension": np.array([1, 2])},
            aside={"without": np.array([fitted(rng, 1, units, 0.0), fitted(rng, 2, 4 * units, 0.0)])},
        ),
    }


def corners(dimension):
    return grid_points(-np.ones(dimension), np.ones(dimension), 3)


def saddle(x):
    return x[..., 0] * x[..., 1] - 0.5 * x[..., 0] ** 2 * x[..., 1] + 0.3 * x[..., 0]


def _coarse(terms):
    """The same network with a step so large that the differences no longer follow the derivatives."""
    return measured_error(
        polynomial_ridge_network(terms, np.tanh, 0.5, 0.3), saddle, -np.ones(2), np.ones(2), points=41
    )


@dimension_lifting.control("xy = ((x + y)² − (x − y)²)/2 and its like", of="monomials as powers of forms")
def half_for_a_quarter(evidence):
    return replace(evidence, left=2 * evidence.left)


@dimension_lifting.control("they add in squares, as if independent", of="errors of profiles add up")
def as_if_independent(evidence):
    return replace(evidence, bound=evidence.aside["in squares"])


@dimension_lifting.control("errors of orthogonal ridges add in squares", of="squares attain the sum")
def in_squares(evidence):
    d = evidence.along["dimension"]
    return replace(evidence, right=evidence.right / np.sqrt(d))


@dimension_lifting.control("a step thirty times as large", of="error of a polynomial as a network")
def coarse_step(evidence):
    return replace(evidence, quantity=evidence.aside["coarse"])


@dimension_lifting.control("units without an offset", of="error with offsets")
def no_offset(evidence):
    return replace(evidence, quantity=evidence.aside["without"])


@dimension_lifting.picture
def saddle_and_cosine(pieces):
    """The saddle as a network of tanh units (left), and a cosine fitted with offsets and without (right)."""
    along, z = np.linspace(-1, 1, 41), np.linspace(-1, 1, 201)
    network = polynomial_ridge_network([((1, 1), 1.0)], np.tanh, 0.5, 0.05)
    heights = network(np.stack(np.meshgrid(along, along), -1))
    rng, wave = np.random.default_rng(0), np.cos(3 * z)
    weights, biases = 2 * rng.normal(size=(40, 1)), 2 * rng.normal(size=40)
    fits = [fit_output(weights, biases * each, np.tanh, z[:, None], wave)(z[:, None]) for each in (1.0, 0.0)]
    right = [
        Line("cos 3x", z, wave),
        Line("40 units with offsets", z, fits[0], dashed=True),
        Line("", z, fits[1], rival="40 units without offsets"),
    ]
    return Row(
        [
            Surface((), columns=along, rows=along, heights=heights, value="network", x="input x", y="input y"),
            Curves(right, x="input x", y="value"),
        ]
    )
