"""Kernels of unit vectors as power series in their inner product, and the features that such a series gives.

A function Σ c_k (x·x′)ᵏ with c_k ≥ 0 is a kernel in every dimension: (x·x′)ᵏ is the inner product of the k-fold tensor
powers of x and x′ (Schoenberg 1942 has the converse).

`coefficients` are c₀, c₁, …, and `terms` how many of them are computed.
"""

from collections.abc import Callable
from math import exp, factorial, sqrt
from typing import Annotated

import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.hermite import hermite_coefficients

__all__ = ["gaussian_series", "hermite_series", "laplace_series", "series_kernel", "tensor_features"]

Coefficients = Float[np.ndarray, " k"]


def gaussian_series(terms: Annotated[int, "[1, 171]"]) -> Coefficients:
    """Return the first Taylor coefficients e⁻² 2ᵏ/k! of exp(−‖x − x′‖²) = exp(−2 + 2t) in t = x·x′, for unit vectors.

    arora Problem 3.2.2b.
    """
    return np.array([exp(-2) * 2.0**k / factorial(k) for k in range(_count(terms))])


def laplace_series(terms: int) -> Coefficients:
    """Return the first Taylor coefficients of exp(−‖x − x′‖) = exp(−√(2 − 2t)) in t = x·x′, for unit vectors.

    The function solves (2 − 2t)h″ = h′ + h, so 2(k+2)(k+1)c_{k+2} = c_k + (k+1)(2k+1)c_{k+1} from c₀ = e^{−√2} and
    c₁ = c₀/√2: all positive, and of order k^{−3/2}/√(2π), from the square root at t = 1. arora Problem 3.2.2c, which
    prints a plus sign and the radicand 1 − 2t.
    """
    series = [exp(-sqrt(2)), exp(-sqrt(2)) / sqrt(2)]
    for k in range(_count(terms) - 2):
        series.append((series[k] + (k + 1) * (2 * k + 1) * series[k + 1]) / (2 * (k + 2) * (k + 1)))
    return np.array(series[:terms])


def hermite_series(activation: Callable[[Array], Array], terms: Annotated[int, "[1, 101]"]) -> Coefficients:
    """Return u_k², the Taylor coefficients in x·x′ of the kernel E φ(w·x)φ(w·x′) of unit vectors, w ~ N(0, I).

    u_k = E φ(z)h_k(z) are the coefficients of the activation in normalised Hermite polynomials, which two normals of
    correlation ρ make orthogonal with E h_k(z)h_k(z′) = ρᵏ. jagannath 8.3.1.
    """
    return hermite_coefficients(activation, _count(terms) - 1) ** 2


def series_kernel(
    coefficients: Float[AnyArray, " k"], products: Float[AnyArray, "*shape"]
) -> Float[AnyArray, "*shape"]:
    """Return Σ c_k tᵏ at the inner products t. NumPy in, NumPy out; JAX likewise."""
    return products.__array_namespace__().polyval(coefficients[::-1], products)


def tensor_features(coefficients: Float[AnyArray, " k"], x: Float[AnyArray, "n d"]) -> Float[AnyArray, "n p"]:
    """Return the features √c_k x^{⊗k}, side by side, whose inner products are Σ c_k (x·x′)ᵏ; Σ dᵏ of them.

    Finitely many terms: a truncated kernel. The whole series is the infinite-dimensional map of arora Problem 3.2.2.
    """
    if np.min(coefficients) < 0:
        raise ValueError(f"coefficients must not be negative, got {np.min(coefficients)}")
    affordable(features=(x.shape[0], sum(x.shape[1] ** k for k in range(len(coefficients)))))
    xp = x.__array_namespace__()
    power, parts = xp.ones_like(x[:, :1]), []
    for coefficient in coefficients:
        parts.append(coefficient**0.5 * power)
        power = (power[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)
    return xp.concatenate(parts, axis=1)


def _count(terms: int) -> int:
    if terms < 1:
        raise ValueError(f"terms must be at least 1, got {terms}")
    return terms


doors(__name__, terms="[1, 1e6]")
