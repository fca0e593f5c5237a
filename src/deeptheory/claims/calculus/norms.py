"""Norms of matrices as operators, and the inequality of Cauchy and Schwarz (lucchi 1.2)."""

from dataclasses import replace
from itertools import product

import numpy as np

from deeptheory.calculus.operator_norms import cauchy_schwarz, operator_norm, vector_norm
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

EXPONENTS = np.array([1.0, 1.25, 1.5, 2.0, 3.0, 5.0, np.inf])
CORNERS = (1.0, 2.0, np.inf)


def largest_stretches(a):
    """The suprema for p = 1, 2, ∞ by other means: corners of the two balls, and an eigenvalue of AᵀA."""
    columns = a.shape[1]
    single, signs = np.eye(columns), np.array(list(product((-1.0, 1.0), repeat=columns)))
    return [
        max(np.abs(a @ x).sum() for x in single),
        np.sqrt(np.linalg.eigvalsh(a.T @ a)[-1]),
        max(np.abs(a @ x).max() for x in signs),
    ]


@claim(
    items={
        "L1.2": ("norms in closed form", "no direction is stretched more"),
        "L1.17": ("norms in closed form", "the triangle inequality"),
    },
    says=r"The operator norm $\|A\|_p=\sup\|Ax\|_p/\|x\|_p$ is the largest column sum for $p=1$, $\sigma_1(A)=\sqrt{"
    r"\lambda_1(A^\top A)}$ for $p=2$, the largest row sum for $p=\infty$; it is a norm. In between it lies below "
    r"$\|A\|_1^{1/p}\|A\|_\infty^{1-1/p}$.",
    needs="real matrices with 5 rows and 3 columns; suprema at p = 1 and ∞ over the corners of the balls",
    symbols={
        r"A": "a matrix, an operator between spaces with the $p$-norm",
        r"\|x\|_p": r"$(\sum|x_i|^p)^{1/p}$, the largest $|x_i|$ for $p=\infty$",
        r"\sigma_1,\ \lambda_1": "the largest singular value, and the largest eigenvalue",
    },
    why=r"$\|Ax\|$ is convex in $x$, so on a ball it is largest at a corner. That of $p=1$ has the corners $\pm e_j$, "
    r"which pick columns; that of $p=\infty$ the vectors of signs, which add up a row without cancelling. The ball of "
    r"$p=2$ has no corners, and $\|Ax\|^2=x^\top A^\top Ax$ is largest at the top eigenvector. The logarithm of the "
    r"norm is convex in $1/p$ (Riesz and Thorin), so it lies below the chord between its ends.",
    notice=r"Left: what the norm is for $p=2$, the farthest point of the image of the circle. Right: norms of one "
    r"matrix over $1/p$. They are known at the three exponents 1, 2, ∞; the bounds in between nearly meet.",
)
def operator_norms(key, *, trials: Trials = 12):
    rng = generator(key)
    matrices, others, directions = (
        rng.normal(size=(trials, 5, 3)),
        rng.normal(size=(trials, 5, 3)),
        rng.normal(size=(100, 3)),
    )
    norms = np.array([[operator_norm(a, p).lower for p in CORNERS] for a in matrices])
    bounds = np.array([[operator_norm(a, p)[:2] for p in EXPONENTS] for a in matrices])
    met = np.array(
        [[np.max(vector_norm(directions @ a.T, p) / vector_norm(directions, p)) for p in EXPONENTS] for a in matrices]
    )
    # Beside others, multiples of the matrices themselves, which attain the triangle inequality.
    added = np.stack([others, rng.uniform(0.5, 2, (trials, 1, 1)) * matrices])
    beside, sums = (
        np.array([[[operator_norm(b, p).lower for p in CORNERS] for b in row] for row in each])
        for each in (added, matrices + added)
    )
    suprema = np.array([largest_stretches(a) for a in matrices])
    chord = suprema[:, :1] ** (1 / EXPONENTS) * suprema[:, 2:] ** (1 - 1 / EXPONENTS)
    along = {"matrix": np.arange(trials), "p": np.array(["1", "2", "∞"])}
    return {
        "norms in closed form": Identity(
            norms,
            suprema,
            size=15,
            condition=10.0,  # the root of an eigenvalue of AᵀA
            along=along,
        ),
        "no direction is stretched more": Inequality(
            np.stack([np.maximum(met, bounds[..., 0]).T, bounds[..., 1].T], axis=1),
            np.stack([bounds[..., 1].T, chord.T], axis=1),
            along={
                "p": np.array([f"{p:g}" for p in EXPONENTS]),
                "smaller": np.array(["stretch found", "upper bound"]),
                "matrix": np.arange(trials),
            },
            aside={"columns": norms[:, 0], "rows": norms[:, 2], "inverse": 1 / EXPONENTS, "matrix": matrices[0]},
        ),
        "the triangle inequality": Inequality(sums, norms + beside, aside={"norms": norms, "beside": beside}),
    }


@operator_norms.control("rows for p = 1 and columns for p = ∞", of="norms in closed form")
def exchanged(evidence):
    return replace(evidence, left=np.asarray(evidence.left)[:, ::-1])


@operator_norms.control("the exponents 1/p and 1 − 1/p exchanged", of="no direction is stretched more")
def wrong_chord(evidence):
    columns, rows, inverse = (evidence.aside[each] for each in ("columns", "rows", "inverse"))
    wrong = columns ** (1 - inverse[:, None]) * rows ** inverse[:, None]
    return replace(evidence, bound=np.stack([wrong, wrong], axis=1))


@operator_norms.control("norms add up like lengths at a right angle", of="the triangle inequality")
def pythagoras(evidence):
    return replace(evidence, bound=np.hypot(evidence.aside["norms"], evidence.aside["beside"]))


@operator_norms.picture
def image_of_a_circle(pieces):
    """The unit circle and its image under a 2 × 2 matrix (left), and bounds of operator norms over 1/p (right)."""
    piece = pieces["no direction is stretched more"]
    a, inverse = piece.aside["matrix"], piece.aside["inverse"]
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    image, found = a[:2, :2] @ circle, operator_norm(a[:2, :2])
    far = a[:2, :2] @ found.direction
    chord = piece.aside["columns"][0] ** inverse * piece.aside["rows"][0] ** (1 - inverse)
    wrong = piece.aside["columns"][0] ** (1 - inverse) * piece.aside["rows"][0] ** inverse
    plane = Plane(
        [
            Line("unit circle", *circle),
            Line("its image", *image),
            Line("largest stretch", [0, far[0]], [0, far[1]], arrow=True),
        ],
        x="first coordinate",
        y="second coordinate",
        title="p = 2",
    )
    curves = Curves(
        [
            Line("chord between p = 1 and ∞", inverse, chord),
            Line("upper bound", inverse, piece.bound[:, 0, 0]),
            Dots("attained", inverse, piece.quantity[:, 0, 0]),
            Line("", inverse, wrong, rival="exponents exchanged"),
        ],
        x="inverse exponent 1/p",
        y="operator norm",
    )
    return Row([plane, curves])


@claim(
    items={"L1.3": ("the slack", "when both sides are equal")},
    says=r"$\|x\|^2\|y\|^2-\langle x,y\rangle^2=\sum_{i<j}(x_iy_j-x_jy_i)^2\ge0$, and it is zero exactly if one of the "
    r"vectors is a multiple of the other.",
    needs="all pairs of vectors with three whole entries between −2 and 2, exactly",
    symbols={
        r"x,\ y": "two vectors",
        r"\langle x,y\rangle": r"their inner product $\sum x_iy_i$",
        r"\|x\|^2": r"$\langle x,x\rangle$",
    },
    why=r"$\|x-zy\|^2$ is a parabola in $z$ that is never negative, so its discriminant $4\langle x,y\rangle^2-4\|x\|^2"
    r"\|y\|^2$ is not positive. Multiplied out, what is missing is a sum of squares (Lagrange), one for each pair of "
    r"coordinates. It vanishes only if all the $2\times2$ determinants do, which means that the vectors are parallel.",
    notice="Both sides over all pairs: dots lie on or below the diagonal, and those on it are the parallel pairs. For "
    r"$y=0$ both sides are zero whatever $x$ is, though $x=cy$ only for $x=0$: the sentence needs $y\neq0$, or to name "
    "both directions.",
)
def cauchy_schwarz_equality():
    vectors = np.array(list(product(range(-2, 3), repeat=3)))
    x, y = vectors[:, None].repeat(125, 1), vectors[None].repeat(125, 0)
    found = cauchy_schwarz(x.astype(float), y.astype(float))
    crosses = np.cross(x, y)
    zero, nothing = ~crosses.any(-1), ~y.any(-1)
    return {
        "the slack": Exact(
            (found.bound - found.square).astype(int),
            (crosses**2).sum(-1),
            aside={"square": found.square, "bound": found.bound},
        ),
        "when both sides are equal": Exact(
            found.bound == found.square, zero, aside={"multiple of y": zero & (~nothing | ~x.any(-1))}
        ),
    }


@cauchy_schwarz_equality.control("each pair of coordinates counted twice", of="the slack")
def twice(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))


@cauchy_schwarz_equality.control("equal only for x = c·y, though y be zero", of="when both sides are equal")
def multiple_of_y(evidence):
    return replace(evidence, right=evidence.aside["multiple of y"])


@cauchy_schwarz_equality.picture
def both_sides(pieces):
    """The square of the inner product against the product of squared lengths, over all pairs of vectors."""
    piece = pieces["the slack"]
    pairs, counts = np.unique(
        np.stack([piece.aside["bound"].ravel(), piece.aside["square"].ravel()]), axis=1, return_counts=True
    )
    words = [f"{count} pairs" for count in counts]
    return Curves(
        [Line("equality: parallel vectors", [0, 144], [0, 144]), Dots("pairs of vectors", *pairs, words=words)],
        x="product of squared lengths ‖x‖²‖y‖²",
        y="squared inner product ⟨x, y⟩²",
    )
