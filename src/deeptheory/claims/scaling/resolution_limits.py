"""Models whose loss is a power of their size by arithmetic: pieces that grow finer, features that grow in number."""

from dataclasses import replace

import numpy as np
from scipy.fft import dct

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Row, power_law
from deeptheory.scaling.memorization import fact_chances, memorization_law
from deeptheory.scaling.resolution import grid_error, grid_interpolant

ALPHAS, FEATURES, POINTS = np.array([1.0, 1.5, 2.0]), 2 ** np.arange(2, 7), 2**13
CELLS, FEW = 2 ** np.arange(3, 9), (2, 5)
PIECES = {d: f"loss of linear pieces in {word}" for d, word in enumerate(("a line", "the plane", "space"), 1)}
TAILS = {alpha: f"loss of truncated features, α = {alpha:g}" for alpha in ALPHAS}


def unlearnt(targets):
    """Mean squared errors of the best combinations of the first so many cosines, by least squares on the points."""
    places = (np.arange(POINTS) + 0.5) / POINTS
    cosines, left = np.cos(np.pi * places[:, None] * np.arange(1, FEATURES[-1] + 1)), []
    for count in FEATURES:
        some = cosines[:, :count]
        fitted = some @ np.linalg.solve(some.T @ some, some.T @ targets.T)
        left.append(np.mean((targets.T - fitted) ** 2, axis=0))
    return np.array(left).T


@claim(
    items={"H13.8": ("squared error of a grid", *PIECES.values(), *TAILS.values(), "what features leave over")},
    says=r"Linear pieces with $N$ knots on a grid fit a quadratic in $d$ dimensions with mean squared error like "
    r"$N^{-4/d}$. Of a target whose coefficients have squares $\propto k^{-(1+\alpha)}$ the first $N$ features leave "
    r"the tail $\sum_{k>N}k^{-(1+\alpha)}$, like $N^{-\alpha}$.",
    needs="a full curvature matrix; cosine features, least squares on 8,192 points",
    full=dict(trials=100_000),
    symbols={
        "N": "the number of parameters: knots, or features",
        "d": "the dimension of the inputs",
        "k": "the rank of a feature",
        r"\alpha": "how fast the target's coefficients fall",
    },
    why=r"A linear piece of width $h$ misses a curved function by $h^2$, whose square is $h^4$, and $N$ knots have "
    r"$h=N^{-1/d}$. A feature that is not there leaves its share of the target's variance, and the shares beyond rank "
    r"$N$ add up like $\int_N^\infty k^{-(1+\alpha)}dk$. In both cases the exponent belongs to the task: the dimension "
    "of its inputs, the spectrum of its target.",
    notice="Left: more dimensions, flatter lines. The error itself, not squared, would fall half as fast. Right: the "
    "tails fall with their own exponents; one more is how the squared coefficients fall.",
)
def resolution_sets_the_exponent(key, *, trials: Trials = 20_000):
    draw = generator(key)
    exact, observed, turned, losses = np.empty((2, 3)), np.empty((2, 3, trials)), np.empty((2, 3)), {}
    for d in PIECES:
        # Eigenvalues of both signs and sizes, and none of the eigenvectors along an axis.
        curvature = np.eye(d) * (-1.0) ** np.arange(d) + 0.5 * draw.standard_normal((d, d))
        curvature = curvature + curvature.T

        def quadratic(x, curvature=curvature):
            return np.einsum("ni,ij,nj->n", x, curvature, x) / 2

        for i, cells in enumerate(FEW):
            points = draw.random((trials, d))
            observed[i, d - 1] = (grid_interpolant(quadratic, points, cells) - quadratic(points)) ** 2
            exact[i, d - 1] = grid_error(curvature, cells)
            mirror = np.diag([-1.0] + [1.0] * (d - 1))
            turned[i, d - 1] = grid_error(mirror @ curvature @ mirror, cells)
        losses[d] = np.array([grid_error(curvature, int(cells)) for cells in CELLS])
    shares = np.array([fact_chances(alpha, POINTS - 1) for alpha in ALPHAS])
    # The sum of coefficients times cosines at the midpoints, where the cosines are orthogonal with squares of mean ½.
    signs = draw.choice([-1.0, 1.0], shares.shape)
    targets = dct(np.pad(signs * np.sqrt(2 * shares), ((0, 0), (1, 0))) / 2, type=3)
    left = unlearnt(targets)
    tails = np.array([[each[count:].sum() for count in FEATURES] for each in shares])
    along = {"cells": np.array(FEW), "dimension": np.array(list(PIECES))}
    return {
        "squared error of a grid": Law(
            exact, observed, exact=True, along=along, resolution=0.1, aside={"turned": turned}
        ),
        **{
            name: Rate((CELLS + 1.0) ** d, losses[d], exponent=-4 / d, rivals=(-2 / d,), order=1 / d)
            for d, name in PIECES.items()
        },
        **{
            name: Rate(FEATURES, row, exponent=-alpha, rivals=(-1 - alpha, -alpha / (1 + alpha)), order=1.0)
            for (alpha, name), row in zip(TAILS.items(), left, strict=True)
        },
        "what features leave over": Identity(
            left, tails, size=POINTS, scale=1.0, along={"alpha": ALPHAS, "features": FEATURES},
            aside={"smooth": np.array([memorization_law(a).coefficients[0] * FEATURES**-a for a in ALPHAS])},
        ),
    }  # fmt: skip


@resolution_sets_the_exponent.control("cubes cut along another diagonal", of="squared error of a grid")
def other_diagonal(evidence):
    return replace(evidence, predicted=evidence.aside["turned"])


@resolution_sets_the_exponent.control("the tail as an integral, exactly", of="what features leave over")
def integral(evidence):
    return replace(evidence, right=evidence.aside["smooth"])


@resolution_sets_the_exponent.picture
def two_laws(pieces):
    """Losses by the number of parameters: of linear pieces in one to three dimensions, of truncated features."""
    left, right = [], []
    for d, name in PIECES.items():
        left += power_law(f"{d} dimensions" if d > 1 else "1 dimension", pieces[name], rivals={-2 / d: "N^(−2/d)"})
    for alpha, name in TAILS.items():
        right += power_law(f"α = {alpha:g}", pieces[name], rivals={-1 - alpha: "N^(−1−α)"})
    return Row(
        [
            Curves(left, x="number of knots N", y="mean squared error", log="xy"),
            Curves(right, x="number of features N", y="mean squared error", log="xy"),
        ]
    )
