"""Units φ(x·θ): activations with slopes, ridge functions, and all derivatives of the sigmoid as polynomials in it.

σ(z) = 1/(1 + e⁻ᶻ) has σ′ = σ(1 − σ) = σ(z)σ(−z), so every derivative is a polynomial in σ; tanh z = 2σ(2z) − 1, and the
inverse of σ is log t/(1 − t). For Gaussian means of activations see `deeptheory.kernels`.

Reference: lucchi 2.4.1 to 2.4.3.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.activations import relu, sigmoid, threshold
from deeptheory.foundations.entrances import doors

__all__ = ["ACTIVATIONS", "RidgeSlopes", "ridge", "ridge_slopes", "sigmoid_derivative", "sigmoid_polynomial"]

Numbers = Float[np.ndarray, "*shape"]


def _none(z: np.ndarray) -> np.ndarray:
    return np.zeros_like(z)


ACTIVATIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "threshold": (threshold, _none),
    "sign": (np.sign, _none),
    "sigmoid": (sigmoid, lambda z: sigmoid(z) * sigmoid(-z)),
    "tanh": (np.tanh, lambda z: 4 * sigmoid(2 * z) * sigmoid(-2 * z)),
    "relu": (relu, lambda z: np.where(z > 0, 1.0, 0.0)),
    "softplus": (lambda z: np.logaddexp(0.0, z), sigmoid),
    "sine": (np.sin, np.cos),
}
"""activation and slope; that of a threshold is zero wherever it exists, which leaves nothing to descend on"""


def sigmoid_polynomial(order: int) -> Float[np.ndarray, " degree"]:
    """Return the coefficients, constant first, of the polynomial P_k with σ⁽ᵏ⁾ = P_k(σ).

    P₀ = s and P_{k+1}(s) = P_k′(s) s(1 − s). They are whole numbers, exact in floating point up to order 18.
    Reference: lucchi 2.4.3.
    """
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([0.0, 1.0, -1.0])
    return polynomial.coef


def sigmoid_derivative(z: Numbers, *, order: int) -> Numbers:
    """Return σ⁽ᵏ⁾(z). Terms of alternating sign cancel: about one digit is lost for each order above three.

    `order` is k ≥ 0; the polynomial in σ has Stirling numbers of the second kind in its coefficients. Reference: Minai
    and Williams 1993, On the derivatives of the sigmoid.
    """
    # P_k(1 − s) = ±P_k(s): the smaller of σ(z) and σ(−z) keeps the tails.
    value = np.polynomial.polynomial.polyval(sigmoid(-np.abs(z)), sigmoid_polynomial(order))
    if order == 0:
        return sigmoid(z)
    return np.where((z > 0) & (order % 2 == 0), -value, value)


class RidgeSlopes(NamedTuple):
    """Gradients of φ(x·θ): by the input φ′(x·θ)θ, and by the weights φ′(x·θ)x."""

    by_input: Float[np.ndarray, "*k d"]
    by_weights: Float[np.ndarray, "*k d"]


def ridge(
    x: Float[np.ndarray, "*k d"], weights: Float[np.ndarray, " d"], *, activation: str
) -> Float[np.ndarray, "*k"]:
    """Return φ(x·θ): constant on hyperplanes orthogonal to the weights θ.

    Args:
        x: inputs, one or many.
        weights: θ.
        activation: φ, a name in `ACTIVATIONS`; the threshold is 1 at 0.

    Reference: lucchi 2.4.1.
    """
    return np.asarray(ACTIVATIONS[_known(activation)][0](x @ weights))


def ridge_slopes(x: Float[np.ndarray, "*k d"], weights: Float[np.ndarray, " d"], *, activation: str) -> RidgeSlopes:
    """Return the two gradients of `ridge`: along the weights for the input, along the input for the weights.

    φ′(x·θ)θ and φ′(x·θ)x for the ridge function φ(x·θ) with θ = `weights`. Reference: lucchi 2.4.1.
    """
    slope = np.asarray(ACTIVATIONS[_known(activation)][1](x @ weights))[..., None]
    return RidgeSlopes(slope * weights, slope * x)


def _known(activation: str) -> str:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    return activation


doors(__name__, order="[0, 20]")
