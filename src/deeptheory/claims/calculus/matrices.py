"""Spans, traces and orders of matrices (lucchi 1.1, 1.4)."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from deeptheory.calculus.matrices import (
    characteristic_polynomial,
    loewner_order,
    spectrum,
    subspaces,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane, Row, Stack, Table


def determinant(rows):
    """The determinant of a matrix of whole numbers, by expansion along the first row."""
    if len(rows) == 1:
        return int(rows[0][0])
    return sum((-1) ** j * int(rows[0][j]) * determinant(np.delete(rows[1:], j, 1)) for j in range(len(rows)))


def largest_minor(a):
    """The rank by definition: the size of the largest square part with a determinant that is not zero."""
    return max(
        (k for k in range(1, min(a.shape) + 1) for rows in combinations(range(a.shape[0]), k)
         for columns in combinations(range(a.shape[1]), k) if determinant(a[np.ix_(rows, columns)])),
        default=0,
    )  # fmt: skip


def without_negative_minors(a):
    """Whether all principal minors are at least zero, which for symmetric matrices is positive semidefinite."""
    every = (list(each) for k in range(1, len(a) + 1) for each in combinations(range(len(a)), k))
    return all(determinant(a[np.ix_(each, each)]) >= 0 for each in every)


def traces(matrices):
    """The trace of each of several matrices."""
    return np.trace(matrices, axis1=1, axis2=2)


def cross(one, other):
    """Twice the area between two vectors of the plane, with its sign."""
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


def corners(one, other):
    """The corners of the parallelogram of two vectors, in turn."""
    return np.array([0 * one, one, one + other, other])


def within(points, one, other):
    """Whether points are in this parallelogram: the triangles that they make with its sides then add up to its area."""
    around = corners(one, other)
    areas = np.abs(cross(np.roll(around, -1, 0) - around, points[:, None] - around)).sum(1)
    return areas == 2 * np.abs(cross(one, other))


def with_eigenvalues(rng, values):
    """A matrix of whole numbers with the given eigenvalues, and no more eigenvectors than it must have."""
    lower = np.tril(rng.integers(-2, 3, (len(values),) * 2), -1) + np.eye(len(values), dtype=int)
    triangle = np.diag(values) + np.triu(rng.integers(-2, 3, (len(values),) * 2), 1)
    return lower @ triangle @ np.round(np.linalg.inv(lower)).astype(int)


@claim(
    items={
        "L1.1": "dimension of a span",
        "L1.11": ("traces", "number of distinct eigenvalues"),
        "L1.12": "which matrix is larger",
        "L1.21": "combinations of two vectors",
    },
    says=r"$c_1v_1+c_2v_2$ with $0\le c_i\le1$ is a parallelogram. The rank is the size of the largest minor that is "
    r"not zero. $\mathrm{tr}\,AB=\mathrm{tr}\,BA$ and $\mathrm{tr}\,A=\sum\lambda_i$. Distinct eigenvalues are the "
    r"distinct roots of $\det(A-\lambda I)$. $A\succeq B$ if and only if no principal minor of $A-B$ is negative.",
    needs="matrices of small whole numbers, where all of this is decided exactly",
    symbols={
        r"v_i,\ c_i": "two vectors of the plane that are not parallel, and their coefficients",
        r"\mathrm{tr}": "the sum of the diagonal",
        r"\lambda_i": "eigenvalues, as often as they are roots of the characteristic polynomial",
        r"A\succeq B": r"$u^\top(A-B)u\ge0$ for all $u$, the Loewner order of symmetric matrices",
        r"\text{minor}": "the determinant of a square part; principal if its rows and columns have the same numbers",
    },
    why=r"Both traces of products are $\sum_{ij}A_{ij}B_{ji}$. The second coefficient of the characteristic "
    r"polynomial is minus the trace, and also minus the sum of its roots. A root may be multiple, so there can be "
    r"fewer distinct eigenvalues than rows; how many has nothing to do with the multiplicity of any one. The order "
    r"asks for all directions at once, so comparing eigenvalues one by one is not enough: the eigenvectors may differ.",
    notice=r"Left: combinations of two vectors; those with coefficients from 0 to 1 are in the parallelogram. "
    r"Right: ellipses $u^\top A^{-1}u=1$ of three matrices: the larger contains the smaller. Two of them cross, and "
    r"neither of those is larger, though the eigenvalues of one are larger one by one.",
)
def spans_traces_and_orders(key, *, trials: Trials = 40):
    rng = generator(key)
    flat = [rng.integers(-2, 3, (4, r)) @ rng.integers(-1, 2, (r, 4)) for r in rng.integers(1, 4, trials)]
    parallel = [len({tuple(c / c[np.flatnonzero(c)[0]]) for c in a.T if c.any()}) for a in flat]
    left, right = rng.integers(-4, 5, (trials, 3, 5)), rng.integers(-4, 5, (trials, 5, 3))
    squares = left @ right
    a, b, c = rng.integers(-4, 5, (3, trials, 4, 4))
    roots = rng.integers(-2, 3, (trials, 4))
    found = [spectrum(with_eigenvalues(rng, each).astype(float)) for each in roots]
    ones, others = ([(s + s.T).astype(float) for s in rng.integers(-2, 3, (trials, 3, 3))] for _ in range(2))
    # Lowered, left and raised, so that every relation occurs; one matrix is compared with itself.
    raised = [others[0], *(a + 4 * np.eye(3) * (i % 5 - 2) for i, a in enumerate(ones[1:]))]
    compared = [pair for a, b in zip(raised, others, strict=True) for pair in ((a, b), (b, a))]
    larger = [without_negative_minors(a - b) for a, b in compared]
    sorted_ = [bool((np.linalg.eigvalsh(a) >= np.linalg.eigvalsh(b) - 1e-9).all()) for a, b in compared]
    relations = [loewner_order(a, b).relation for a, b in zip(raised, others, strict=True)]
    sums = [-int(characteristic_polynomial(a.astype(float))[1]) for a in squares]
    pairs = rng.integers(-4, 5, (trials, 2, 2))
    pairs[cross(pairs[:, 0], pairs[:, 1]) == 0] = [[3, 1], [1, 2]]  # in place of parallel ones
    quarters = np.array(list(product(range(-2, 7), repeat=2)))
    return {
        "combinations of two vectors": Exact(
            np.array([within(quarters @ pair, *(4 * pair)) for pair in pairs]),
            np.array([((quarters >= 0) & (quarters <= 4)).all(1)] * len(pairs)),
            aside={"pairs": pairs, "quarters": quarters},
        ),
        "dimension of a span": Exact(
            np.array([subspaces(a.astype(float)).rank for a in flat]),
            np.array([largest_minor(a) for a in flat]),
            aside={"directions": np.array(parallel)},
        ),
        "traces": Exact(
            np.stack([traces(squares), sums, traces(a @ b @ c)]),
            np.stack([traces(right @ left), traces(right @ left), traces(b @ c @ a)]),
            along={"of": ["AB", "eigenvalues of AB", "ABC"], "matrix": np.arange(trials)},
            aside={"exchanged": traces(a @ c @ b)},
        ),
        "number of distinct eigenvalues": Exact(
            np.array([len(each.values) for each in found]),
            np.array([len(set(each)) for each in roots]),
            aside={"multiplicity": np.array([each.algebraic[0] for each in found])},
        ),
        "which matrix is larger": Exact(
            np.array([[each in ("≽", "="), each in ("≼", "=")] for each in relations]),
            np.reshape(larger, (-1, 2)),
            along={"pair": np.arange(trials), "relation": ["≽", "≼"]},
            aside={"one by one": np.reshape(sorted_, (-1, 2))},
        ),
    }


@spans_traces_and_orders.control("coefficients that add up to at most 1", of="combinations of two vectors")
def triangle(evidence):
    return replace(evidence, right=evidence.right & (evidence.aside["quarters"].sum(1) <= 4))


@spans_traces_and_orders.control("as many dimensions as the vectors have directions", of="dimension of a span")
def directions(evidence):
    return replace(evidence, right=np.minimum(evidence.aside["directions"], 4))


@spans_traces_and_orders.control("three factors in any order, not only in turn", of="traces")
def exchanged(evidence):
    return replace(evidence, right=np.stack([*evidence.right[:2], evidence.aside["exchanged"]]))


@spans_traces_and_orders.control(
    "as many distinct eigenvalues as the multiplicity of λ as a root, as printed",
    erratum="L1.11a",
    of="number of distinct eigenvalues",
)
def multiplicity(evidence):
    return replace(evidence, right=evidence.aside["multiplicity"])


@spans_traces_and_orders.control("larger if its eigenvalues are, one by one", of="which matrix is larger")
def one_by_one(evidence):
    return replace(evidence, right=evidence.aside["one by one"])


@spans_traces_and_orders.picture
def parallelogram_and_ellipses(pieces):
    """Combinations of two vectors (left); ellipses of three matrices, one around two that cross (right)."""
    piece = pieces["combinations of two vectors"]
    pairs = piece.aside["pairs"]
    areas = np.abs(cross(pairs[:, 0], pairs[:, 1]))
    # Of the run the largest parallelogram that is no rectangle, with combinations that are off its sides.
    best = int(np.argmax(areas * (np.einsum("ni,ni->n", pairs[:, 0], pairs[:, 1]) != 0)))
    first, second = pairs[best]
    shown = (piece.aside["quarters"] % 2 == 1).all(1)
    points, inside = (piece.aside["quarters"] @ pairs[best] / 4)[shown], piece.left[best][shown]
    span = Plane(
        [*(Line(name, [0, v[0]], [0, v[1]], arrow=True) for name, v in (("v₁", first), ("v₂", second))),
         Line("0 ≤ cᵢ ≤ 1", *corners(first, second)[1:].T), Dots("0 ≤ cᵢ ≤ 1", *points[inside].T),
         Dots("other c", *points[~inside].T), Dots("c = (½, 1)", *(first / 2 + second)[:, None])],
        x="first coordinate", y="second coordinate",
    )  # fmt: skip
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    matrices = {f"diag({a:g}, {b:g})": np.diag([a, b]) for a, b in ((4.0, 4.0), (3.0, 1.0), (0.8, 2.5))}
    marks = [Line(name, *(np.sqrt(np.diag(a))[:, None] * circle)) for name, a in matrices.items()]
    names = list(matrices)
    compared = [
        (one, other, loewner_order(matrices[one], matrices[other]).relation) for one, other in combinations(names, 2)
    ]
    table = Table({"A": [c[0] for c in compared], "relation": [c[2] for c in compared], "B": [c[1] for c in compared]})
    return Stack([Row([span, Plane(marks, x="first coordinate", y="second coordinate")]), table])
