"""The empirical spectral measure of a matrix, 1/N at each eigenvalue: shares, linear statistics, and how far from I.

`ratio` is dimension over samples.

Reference: jagannath Def. 6.3 and Def. 6.4.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, RealScalar
from deeptheory.foundations.entrances import doors

__all__ = [
    "covariance_error",
    "covariance_error_limit",
    "empirical_cdf",
    "escaping_mass",
    "linear_statistic",
    "sample_covariance_eigenvalues",
]


def sample_covariance_eigenvalues(x: Float[np.ndarray, "*batch n m"]) -> Float[np.ndarray, "*batch n"]:
    """Return the eigenvalues of XXᵀ/M, upwards, for data whose M columns are the samples.

    The smaller of the two Gram matrices is diagonalised and the zeros that it lacks are put in front.
    """
    dimension, samples = x.shape[-2:]
    transposed = np.swapaxes(x, -1, -2)
    gram = x @ transposed if dimension <= samples else transposed @ x
    values = np.linalg.eigvalsh(gram / samples)
    missing = [(0, 0)] * (values.ndim - 1) + [(max(0, dimension - samples), 0)]
    return np.pad(values, missing)


def empirical_cdf(values: Float[np.ndarray, "*batch n"], x: Float[np.ndarray, " k"]) -> Float[np.ndarray, "*batch k"]:
    """Return the share of eigenvalues up to each x. jagannath Def. 6.4."""
    return (values[..., None] <= x).mean(-2)


def linear_statistic(values: Float[AnyArray, "*batch n"], function: Callable[[Any], Any]) -> Any:
    """Return ∫ f dμ_N, the mean of f over the eigenvalues, which is tr f(W)/N. jagannath Def. 6.4, Rem. 6.10."""
    return function(values).mean(-1)


def covariance_error(values: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch"] | np.floating:
    """Return ‖W − I‖ from the eigenvalues of a sample covariance W, all of them, zeros included. jagannath Ex. 6.1."""
    return abs(values - 1).max(-1)


def covariance_error_limit(ratio: RealScalar) -> Any:
    """Return the limit a + 2√a of ‖W − I‖ for isotropic samples, a dimension over samples: the upper edge less one.

    The upper edge is always the farther one from 1. Not zero for a > 0: jagannath Ex. 6.2, where the value is ours.
    """
    if not ratio > 0:
        raise ValueError(f"ratio must be positive, not {ratio}")
    return ratio + 2 * ratio**0.5


def escaping_mass(distance: RealScalar, share: RealScalar) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2"]]:
    """Return points and weights of (1 − p)δ₀ + p δ_n, whose vague limit as n grows is (1 − p)δ₀, not a probability.

    jagannath Def. 6.19: vague convergence does not see mass that escapes, weak convergence does.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie in [0, 1], not {share}")
    return np.asarray([0.0, float(distance)]), np.asarray([1.0 - share, float(share)])


doors(__name__, infinite=("x",))
