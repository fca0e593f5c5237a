"""Least squares without a penalty, below and above the interpolation threshold: exact risks and their limits.

Labels are y = X β + noise with n rows and p columns. The estimator is the minimum-norm least-squares solution X⁺y.
A risk here is the excess over the noise of a fresh label unless its name says prediction. `signal` is r² = ‖β‖² and
`noise` is the variance s².

Reference: jagannath Ch. 7; lucchi Sec. 13.2; Hastie, Montanari, Rosset and Tibshirani 2022.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from deeptheory.foundations import guards as ranges
from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.filters import nonzero

__all__ = [
    "BiasVariance",
    "bias_variance_of_estimates",
    "bias_variance_of_operator",
    "conditional_bias_variance",
    "excess_risk",
    "gaussian_bias_variance",
    "gaussian_prediction_risk",
    "limiting_bias_variance",
    "ols_variance",
    "overparameterized_minimum",
]


class BiasVariance(NamedTuple):
    """Squared bias and variance of an estimator; their sum is its excess risk."""

    bias: Scalar | np.floating
    variance: Scalar | np.floating

    @property
    def risk(self) -> Any:
        """Return the sum of the two."""
        return self.bias + self.variance


def excess_risk(
    estimate: Float[AnyArray, "*batch p"], target: Float[AnyArray, " p"], covariance: Float[AnyArray, "p p"]
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return the risk above the noise of a linear predictor, (w − w*)ᵀ Σ (w − w*). lucchi Thm 80."""
    error = estimate - target
    return ((error @ covariance) * error).sum(-1)


def bias_variance_of_estimates(
    estimates: Float[AnyArray, "trials p"], target: Float[AnyArray, " p"], covariance: Float[AnyArray, "p p"]
) -> BiasVariance:
    """Split the mean excess risk of a sample of estimates, ‖w̄ − w*‖²_Σ + mean ‖w − w̄‖²_Σ with w̄ the sample's mean.

    On the sample the sum is the mean excess risk identically, as it is in expectation. lucchi Thm 80.
    """
    centre = estimates.mean(0)
    return BiasVariance(excess_risk(centre, target, covariance), excess_risk(estimates, centre, covariance).mean())


def bias_variance_of_operator(
    operator: Float[AnyArray, "*batch p n"],
    design: Float[AnyArray, "*batch n p"],
    target: Float[AnyArray, " p"],
    covariance: Float[AnyArray, "p p"],
    noise: Scalar,
) -> BiasVariance:
    """Return bias and variance of a linear estimator w = H y over the noise alone, the design held fixed.

    ‖(HX − I) w*‖²_Σ and s² tr(Σ H Hᵀ). lucchi Thm 80.
    """
    mean = (operator @ (design @ target)[..., None])[..., 0]
    variance = noise * ((covariance @ operator) * operator).sum((-1, -2))
    return BiasVariance(excess_risk(mean, target, covariance), variance)


def conditional_bias_variance(
    design: Float[AnyArray, "*batch n p"],
    coefficients: Float[AnyArray, " p"] | Float[AnyArray, "rows p"],
    noise: Scalar,
) -> BiasVariance:
    """Return bias and variance of the minimum-norm estimator given the design, for isotropic test inputs.

    B = βᵀ Π β with Π the projection on the kernel of X, and V = s² Σ 1/σᵢ² over the nonzero singular values, which is
    (s²/n) tr Σ̂⁺. Several rows of coefficients give the bias a last axis, one entry a row. NumPy in, NumPy out; JAX
    likewise. jagannath Lemma 7.3.
    """
    xp = design.__array_namespace__()
    _, singular, reflection = xp.linalg.svd(design, full_matrices=False)
    kept = nonzero(design, singular)
    inverse = xp.where(kept, 1 / xp.where(kept, singular, 1), 0)
    # The residual of the projection, not r² minus a square: below the threshold the bias is zero and must come out so.
    columns = coefficients[:, None] if coefficients.ndim == 1 else coefficients.T
    seen = xp.where(kept[..., None], reflection @ columns, 0)
    bias = ((columns - xp.swapaxes(reflection, -1, -2) @ seen) ** 2).sum(-2)
    return BiasVariance(bias[..., 0] if coefficients.ndim == 1 else bias, noise * (inverse**2).sum(-1))


def ols_variance(
    design: Float[AnyArray, "*batch n p"], covariance: Float[AnyArray, "*#batch p p"], noise: Scalar
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return the variance of ordinary least squares given the design, s² tr(Σ (XᵀX)⁻¹); needs rank p ≤ n.

    lucchi Thm 81. With Σ = XᵀX/n, a fixed design, it is s² p/n.
    """
    xp = design.__array_namespace__()
    samples, features = design.shape[-2:]
    if features > samples:
        raise ValueError(f"ordinary least squares needs at most as many columns as rows, not {features} > {samples}")
    gram = xp.swapaxes(design, -1, -2) @ design
    return noise * xp.linalg.trace(xp.linalg.solve(gram, xp.broadcast_to(covariance, gram.shape)))


def gaussian_bias_variance(samples: int, features: int, *, signal: Scalar = 1.0, noise: Scalar = 1.0) -> BiasVariance:
    """Return the exact mean of bias and variance over designs with independent standard normal entries.

    p ≤ n−2: 0 and s² p/(n−p−1); p ≥ n+2: r²(1−n/p) and s² n/(p−n−1), from the mean of an inverse Wishart matrix; the
    mean variance is infinite for |p−n| ≤ 1. For p ≤ n−2 it is the same for rows and test inputs N(0, Σ), any Σ.
    lucchi Thm 81, handbook 13.1.1.
    """
    ranges.positive(samples=samples, features=features)
    ranges.inside(0, np.inf, signal=signal, noise=noise)
    bias = signal * max(0.0, 1 - samples / features)
    gap = abs(features - samples) - 1
    return BiasVariance(bias, noise * min(samples, features) / gap if gap > 0 else (np.inf if noise > 0 else 0.0))


def gaussian_prediction_risk(samples: int, features: int, *, inside: Scalar, outside: Scalar, noise: Scalar) -> Scalar:
    """Return the exact mean squared error on a fresh label when only p of the Gaussian coordinates are used.

    `inside` and `outside` are ‖β‖² on the used and the unused coordinates; the unused ones act as more noise,
    s² + ‖β_out‖² in all. Belkin, Hsu and Xu 2020; handbook 13.1.1.
    """
    ranges.inside(0, np.inf, inside=inside, outside=outside, noise=noise)
    effective = outside + noise
    return effective + gaussian_bias_variance(samples, features, signal=inside, noise=effective).risk


def limiting_bias_variance(gamma: Float[AnyArray, "*shape"] | Scalar, *, signal: Scalar, noise: Scalar) -> BiasVariance:
    """Return the double-descent curve: bias and variance as n and p grow with p/n = γ.

    γ < 1: 0 and s² γ/(1−γ); γ > 1: r²(1−1/γ) and s²/(γ−1); infinite variance at γ = 1. Isotropic features with
    independent entries and slightly more than four moments. jagannath Thm 7.4, which for γ < 1 prints γ/(γ−1), a
    negative variance.
    """
    gamma = jnp.asarray(gamma, dtype=jnp.result_type(float))
    ranges.positive(gamma=gamma)
    ranges.inside(0, np.inf, signal=signal, noise=noise)
    # Without noise there is no variance, at γ = 1 either.
    variance = jnp.where(noise == 0, 0.0, noise * jnp.minimum(gamma, 1.0) / jnp.abs(1 - gamma))
    return BiasVariance(signal * jnp.maximum(0.0, 1 - 1 / gamma), variance)


def overparameterized_minimum(*, signal: Scalar, noise: Scalar) -> tuple[Scalar, Scalar]:
    """Return where the limiting risk is least above the threshold, and its value there.

    γ = r/(r−s) with r² − (r−s)² for r > s; otherwise the curve falls all the way to the null risk r² and γ is infinite.
    γ is p/n, r² the `signal`, s² the `noise`. Reference: Hastie, Montanari, Rosset and Tibshirani 2022, Sec. 3.
    """
    ranges.inside(0, np.inf, signal=signal, noise=noise)
    amplitude, deviation = signal**0.5, noise**0.5
    if amplitude <= deviation:
        return np.inf, signal
    return amplitude / (amplitude - deviation), signal - (amplitude - deviation) ** 2


doors(__name__, symmetric=("covariance",), signal="[0, ∞)", noise="[0, ∞)")
