"""Dropout in linear regression is a ridge in the units of each coordinate, and not a rescaling."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import jax.numpy as jnp
import numpy as np

from deeptheory.lab import Identity, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.regularization.linear_regression import dropout_regression, shared_mask_regression
from deeptheory.regularization.masks import mean_over_masks


@claim(
    items={"A11.38": "", "L11.17": ""},
    says=r"Least squares with dropout of the inputs' coordinates has the weights that solve "
    r"$(X^\top X+\lambda\operatorname{diag}(X^\top X))u=X^\top y$. They are those of least squares over $1+\lambda$ "
    "only if the coordinates are uncorrelated, or all are dropped together.",
    needs=r"$\lambda=p/(1-p)$; a mask for each coordinate of each example",
    over=dict(design=Reals(-2, 2, shape=(3, 2)), labels=Reals(-2, 2, shape=(3,)), rate=Reals(0.05, 0.9)),
    draws=256,
    generations=6,
    symbols={
        "X": "the design, a row for each example",
        "y": "the labels",
        "u": "the weights",
        r"\lambda": "the strength of dropout at rate $p$",
    },
    why=r"On average over masks the squared error is that without dropout plus "
    r"$\lambda\sum_ju_j^2\frac1n\sum_ix_{ij}^2$: the noise of different coordinates is independent, so no products of "
    r"them appear. That is a ridge whose penalty grows with the size of a coordinate. With one mask for all of them "
    r"the noise would be that of $u^\top x$ as a whole, $\lambda u^\top\hat Cu$, and only scale would be lost.",
    notice="Each dot is a weight found by averaging the normal equations over all masks, on the line of the formula. "
    "The printed rescaling of least squares misses it, on both sides.",
)
def dropout_is_a_standardized_ridge(design, labels, rate):
    # The normal equations of the averaged squared error, mask by mask.
    gram = mean_over_masks(lambda mask: (design * mask).T @ (design * mask), 2, rate)
    slope = mean_over_masks(lambda mask: (design * mask).T @ labels, 2, rate)
    found = jnp.linalg.solve(gram, slope)
    values = jnp.linalg.eigvalsh(gram)
    size = jnp.linalg.norm(slope) / jnp.maximum(values[0], 1e-12)
    aside = {"printed": shared_mask_regression(design, labels, rate)}
    return Identity(
        found, dropout_regression(design, labels, rate), scale=size, condition=values[1] / values[0], aside=aside
    )


@dropout_is_a_standardized_ridge.control("(1+λ)XᵀXu = Xᵀy, as printed", erratum="A11.38a")
def as_printed(evidence):
    return replace(evidence, right=evidence.aside["printed"])


@dropout_is_a_standardized_ridge.verify
def in_rationals(design, labels, rate):
    """The printed equations at the weights that the averaged normal equations have, both in rationals."""
    rows, values, p = [[Fraction(x) for x in row] for row in design], [Fraction(y) for y in labels], Fraction(rate)
    gram = [[Fraction(0)] * 2 for _ in range(2)]
    for mask in product((Fraction(0), 1 / (1 - p)), repeat=2):
        chance = p ** mask.count(Fraction(0)) * (1 - p) ** (2 - mask.count(Fraction(0)))
        for row in rows:
            for a, b in product(range(2), repeat=2):
                gram[a][b] += chance * mask[a] * row[a] * mask[b] * row[b]
    slope = [sum(row[a] * y for row, y in zip(rows, values, strict=True)) for a in range(2)]
    determinant = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0]
    weights = [
        (gram[1][1] * slope[0] - gram[0][1] * slope[1]) / determinant,
        (gram[0][0] * slope[1] - gram[1][0] * slope[0]) / determinant,
    ]
    plain = [[sum(row[a] * row[b] for row in rows) for b in range(2)] for a in range(2)]
    left = [sum(plain[a][b] * weights[b] for b in range(2)) / (1 - p) - slope[a] for a in range(2)]
    return max(map(abs, left)), Fraction(0), "the printed equations at the optimum of the mean over masks, in rationals"


@dropout_is_a_standardized_ridge.picture
def weights_of_dropout(pieces):
    """The optimal weights averaged over masks, against the formula and against the printed rescaling."""
    (piece,) = pieces.values()
    formula, seen, printed = (
        np.ravel(np.asarray(each))[:400] for each in (piece.right, piece.left, piece.aside["printed"])
    )
    ends = np.asarray([-1.5, 1.5])
    marks = [
        Line("equal", ends, ends, dashed=True),
        Dots("problems", formula, seen),
        Dots("problems", printed, seen, rival="as printed in Sec. 11.4"),
    ]
    return Curves(marks, x="weight by the formula", y="weight by averaging over masks", xs=(-1.5, 1.5), ys=(-1.5, 1.5))
