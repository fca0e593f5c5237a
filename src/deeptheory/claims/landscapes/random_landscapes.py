"""Saddles and minima of random landscapes: how many of each kind, and at which height (handbook 4.2.1, 5.1)."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Law, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.critical_points import inertia
from deeptheory.landscapes.random_landscapes import (
    critical_point_density,
    critical_point_density_at,
    goe_index_law,
    random_field,
    torus_critical_points,
)

EDGES = np.array([-5.0, -1.0, 0.0, 1.0])
"""ends of the ranges of height in which minima and saddles are counted; below the first there are none"""


@claim(
    items={"H4.7": ("index of random matrices", "kinds in the plane", "minima below saddles", "at most 2^-N")},
    says=r"A random symmetric matrix of size $1,2,3$ is positive definite with probability $\frac12$, "
    r"$\frac{2-\sqrt2}4$, $\frac14-\frac{\sqrt2}{2\pi}$. A share of at most $2^{-N}$ of the critical points of an "
    r"isotropic Gaussian field are minima, a quarter in the plane; yet low down nearly all are.",
    needs="entries of the matrix normal, with twice the variance on the diagonal; heights are those of the field with "
    "covariance exp(−‖x − y‖²/2)",
    symbols={"N": "the dimension"},
    why="Eigenvalues of a random matrix repel each other, so that all on one side is rarer than $N$ coins that fall "
    r"alike, and falls like $e^{-N^2\ln3/4}$. At a critical point of a field the Hessian is such a matrix less a "
    "multiple of the identity, counted as often as its determinant says: a shift of all eigenvalues costs only the "
    r"exponential of $-N$. Where the value is low the shift is there already.",
    notice="Left, the share of minima among critical points by dimension: on $2^{-N}$ up to the plane, below it from "
    "there on, but far above what a random matrix without a shift would have. Right, critical points of random fields "
    "in the plane by their height: minima at the bottom, saddles in the middle, maxima on top. Whether saddles are the "
    "obstacle depends on how low one is.",
)
def saddles_outnumber_minima(
    key,
    *,
    matrices: Annotated[int, Interval(ge=10_000, le=10_000_000)] = 1_500_000,
    trials: Trials = 400,
    length: Annotated[float, Interval(ge=6.0, le=8.0)] = 6.0,
):
    random = generator(key)
    # The index is the number of changes of sign along the leading minors (Jacobi): no eigenvalues are computed.
    a, b, c = random.standard_normal((3, matrices)) * 2**0.5
    d, e, f = random.standard_normal((3, matrices))
    minors = np.stack(
        [np.ones(matrices), a, a * b - d**2, a * (b * c - f**2) - d * (d * c - e * f) + e * (d * f - b * e)]
    )
    signs = np.cumsum(minors[1:] * minors[:-1] < 0, axis=0)
    counts = [np.bincount(each, minlength=size + 2) for size, each in enumerate(signs)]
    predicted = [goe_index_law(size) for size in (1, 2, 3)]

    fields = random_field(key, dimension=2, length=length, draws=trials)
    found = torus_critical_points(fields, length=length, points=round(32 * length / 6))
    kind = inertia(found.eigenvalues)[:, 0]
    kinds = np.stack([np.bincount(found.draw[kind == k], minlength=trials) for k in range(3)])
    bins = np.digitize(found.value, EDGES) - 1
    low = np.array(
        [
            [np.bincount(found.draw[(kind == k) & (bins == bin)], minlength=trials) for k in (0, 1)]
            for bin in range(len(EDGES) - 1)
        ]
    )
    by_height = [
        length**2 * np.trapezoid(critical_point_density_at(grid, dimension=2), grid, axis=0)
        for grid in (np.linspace(*ends, 201) for ends in pairwise(EDGES))
    ]
    dimensions = np.arange(1, 11)
    shares = [critical_point_density(int(n)) for n in dimensions]
    return {
        "index of random matrices": Share(
            np.concatenate(counts),
            matrices,
            np.concatenate(predicted),
            along={"matrix and index": [f"{n}, {k}" for n in (1, 2, 3) for k in range(n + 1)]},
        ),
        "kinds in the plane": Law(
            length**2 * critical_point_density(2),
            kinds,
            exact=True,
            along={"index": np.arange(3)},
            resolution=0.15,  # 400 fields have five thousand critical points
            aside={"value": found.value, "kind": kind, "trials": trials, "length": length},
        ),
        "minima below saddles": Law(
            np.array(by_height)[:, :2],
            low,
            exact=True,
            along={"height up to": EDGES[1:], "index": np.arange(2)},
            scale=np.sum(by_height, axis=1)[:, None],
            resolution=0.2,
        ),
        "at most 2^-N": Inequality(
            np.array([each[0] / each.sum() for each in shares]),
            0.5**dimensions,
            error=1e-9,
            along={"dimension": dimensions},
            aside={"without a shift": np.array([goe_index_law(int(n))[0] for n in dimensions])},
        ),
    }


@saddles_outnumber_minima.control("eigenvalues fall on either side independently", of="index of random matrices")
def coins(evidence):
    from scipy.stats import binom

    return replace(evidence, predicted=np.concatenate([binom.pmf(np.arange(n + 1), n, 0.5) for n in (1, 2, 3)]))


@saddles_outnumber_minima.control("Hessians counted once, not as often as their determinant", of="kinds in the plane")
def not_weighted(evidence):
    # H = G − xI with x standard normal: its index has the law of G's eigenvalues below x, averaged.
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    once = weights @ goe_index_law(2, threshold=nodes) / weights.sum()
    return replace(evidence, predicted=np.sum(evidence.predicted) * once)


@saddles_outnumber_minima.control("the mix of kinds is the same at every height", of="minima below saddles")
def same_at_every_height(evidence):
    return replace(evidence, predicted=np.asarray(evidence.scale) * np.array([0.25, 0.5]))


@saddles_outnumber_minima.control("a share of at most e^−N", of="at most 2^-N")
def exponential(evidence):
    return replace(evidence, bound=np.exp(-np.asarray(evidence.along["dimension"], float)))


@saddles_outnumber_minima.picture
def by_dimension_and_height(pieces):
    """Shares of minima by dimension (left), and critical points per field and unit of height in the plane (right)."""
    bound, plane = pieces["at most 2^-N"], pieces["kinds in the plane"]
    n, aside = np.asarray(bound.along["dimension"]), plane.aside
    left = [
        Dots("Gaussian field", n, bound.quantity),
        Line("2^−N", n, bound.bound),
        Line("random matrix without a shift", n, bound.aside["without a shift"]),
    ]
    grid, edges = np.linspace(-4, 4, 161), np.linspace(-4, 4, 17)
    curves = aside["length"] ** 2 * critical_point_density_at(grid, dimension=2)
    right = []
    for k, name in enumerate(("minima", "saddles", "maxima")):
        heights = np.histogram(np.asarray(aside["value"])[np.asarray(aside["kind"]) == k], edges)[0]
        density = heights / (aside["trials"] * np.diff(edges))
        right += [Line(name, grid, curves[:, k]), Dots(name, (edges[1:] + edges[:-1]) / 2, density)]
    return Row(
        [
            Curves(left, x="dimension N", y="share of minima", log="y", ys=(1e-6, 1)),
            Curves(right, x="height", y="critical points per field and height"),
        ]
    )
