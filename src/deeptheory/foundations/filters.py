"""Estimators that act on the singular values of a design: filters, and the matrices they make. NumPy or JAX alike.

Reference: arora (3.7); lucchi Sec. 13.2; Engl, Hanke and Neubauer, Regularization of Inverse Problems (1996), Ch. 4.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors

__all__ = [
    "gradient_descent_filter",
    "nonzero",
    "pseudo_inverse",
    "pseudo_inverse_filter",
    "ridge_filter",
    "spectral_operator",
]

Filter = Callable[[AnyArray], AnyArray]


def nonzero(
    matrix: Float[AnyArray, "*batch n p"], singular: Float[AnyArray, "*batch k"], cutoff: float | None = None
) -> Bool[AnyArray, "*batch k"]:
    """Say which singular values are above `cutoff` times the largest; max(n, p) · eps, the usual rank, by default."""
    relative = max(matrix.shape[-2:]) * float(np.finfo(matrix.dtype).eps) if cutoff is None else cutoff
    return singular > relative * singular[..., :1]


def pseudo_inverse_filter(singular: Float[AnyArray, "*values"]) -> Float[AnyArray, "*values"]:
    """Invert the singular values that are not zero: least squares, and of its solutions the one of minimum norm."""
    return 1 / singular


def ridge_filter(penalty: Scalar) -> Filter:
    """Return the filter σ/(σ² + c) of ridge regression min ‖y − Xw‖² + c‖w‖².

    c is the `penalty`; with the mean ‖y − Xw‖²/n in place of the sum it is n times as large.
    """
    return lambda singular: singular / (singular**2 + penalty)


def gradient_descent_filter(rate: Scalar, steps: int) -> Filter:
    """Return the filter (1 − (1 − η σ²)ᵗ)/σ of t steps of gradient descent from zero on ½‖y − Xw‖².

    η is the `rate`, below 2/σ² for every σ lest it diverge, and t the number of `steps`. Reference: Yao,
    Rosasco and Caponnetto 2007.
    """

    def learnt(singular: Any) -> Any:
        xp = singular.__array_namespace__()
        pace = rate * singular**2
        # Where little is learnt, 1 − (1 − ησ²)ᵗ would lose its digits.
        slow = -xp.expm1(steps * xp.log1p(-xp.minimum(pace, 0.5 + 0 * pace)))
        return xp.where(pace < 0.5, slow, 1 - (1 - pace) ** steps) / singular

    return learnt


def spectral_operator(
    design: Float[AnyArray, "*batch n p"], filter: Filter, *, cutoff: float | None = None
) -> Float[AnyArray, "*batch p n"]:
    """Return the matrix that takes labels to weights for an estimator that acts on singular values, V f(σ) Uᵀ.

    What the data do not show is not learnt: f counts as 0 where σ does, below `cutoff` times the largest one; the
    default max(n, p) · eps is the usual numerical rank.
    """
    xp = design.__array_namespace__()
    rotation, singular, reflection = xp.linalg.svd(design, full_matrices=False)
    kept = nonzero(design, singular, cutoff)
    values = xp.where(kept, filter(xp.where(kept, singular, 1)), 0)
    return xp.swapaxes(reflection, -1, -2) * values[..., None, :] @ xp.swapaxes(rotation, -1, -2)


def pseudo_inverse(
    matrix: Float[AnyArray, "*batch n p"], *, cutoff: float | None = None
) -> Float[AnyArray, "*batch p n"]:
    """Return the Moore–Penrose inverse M⁺ = Σ σᵢ⁻¹ vᵢuᵢᵀ, the sum over the singular values that are not zero.

    Zero as `spectral_operator` means it, `cutoff` too. NumPy in, NumPy out; JAX likewise. arora (3.7), jagannath
    Def. 7.2.
    """
    return spectral_operator(matrix, pseudo_inverse_filter, cutoff=cutoff)


doors(__name__, penalty="[0, ∞)", rate="(0, ∞)", cutoff="[0, ∞)")
