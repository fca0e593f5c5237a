"""Variational bounds on a likelihood: evidence lower bounds of tables and of linear-Gaussian models, with their gaps.

A bound needs a law q of the hidden variable; what it loses is exactly KL(q ‖ posterior).

`joint` has a row p(x, ·) for each x; `mean` is φ, `deviation` s, `noise` ε, `precision` P.

Reference: arora 14.3 and 14.4; Kingma and Welling 2014; Blei, Kucukelbir and McAuliffe 2017.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "GradientEstimates",
    "LinearGaussian",
    "best_isotropic_encoder",
    "gaussian_gradient_estimates",
    "isotropic_bound",
    "isotropic_gap",
    "linear_evidence",
    "linear_posterior",
    "mean_field_ascent",
    "square_estimator_moments",
    "table_bound",
    "table_evidence",
    "table_posterior",
]

Number = float | np.floating | Float[np.ndarray, "..."]


def table_evidence(joint: Float[np.ndarray, "*b hidden"]) -> Number:
    """log p(x) = log Σ_h p(x, h), for rows p(x, ·) of a joint table."""
    inside(0, 1, "[]", joint=joint)
    with np.errstate(divide="ignore"):
        return np.log(joint.sum(-1))


def table_posterior(joint: Float[np.ndarray, "*b hidden"]) -> Float[np.ndarray, "*b hidden"]:
    """p(h | x) for every row p(x, ·): the q at which the bound is attained."""
    inside(0, 1, "[]", joint=joint)
    inside(0, np.inf, "(]", **{"the sum of a row of joint": joint.sum(-1)})
    return joint / joint.sum(-1, keepdims=True)


def table_bound(joint: Float[np.ndarray, "*b hidden"], law: Float[np.ndarray, "*b hidden"]) -> Number:
    """The evidence lower bound E_q[log p(x, h)] + H[q], for rows p(x, ·) and laws q of h (arora Lemma 14.3.1).

    It is −∞ where q gives mass to an h that cannot be; 0 log 0 = 0.
    """
    inside(0, 1, "[]", joint=joint, law=law)
    inside(1 - 1e-9, 1 + 1e-9, "[]", **{"the sum of law": law.sum(-1)})
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(law > 0, law * (np.log(joint) - np.log(law)), 0.0)
    return terms.sum(-1)


class LinearGaussian(NamedTuple):
    """The decoder x = Wz + σ·noise with prior z ~ N(0, I): probabilistic principal components."""

    loadings: Float[np.ndarray, "n d"]
    noise: float


def linear_evidence(model: LinearGaussian, points: Float[np.ndarray, "m n"]) -> Float[np.ndarray, " m"]:
    """log p(x) = log N(x; 0, WWᵀ + σ²I), by the d × d posterior precision: O(nd²) and no n × n matrix.

    Reference: Tipping and Bishop 1999.
    """
    n, _ = model.loadings.shape
    means, precision = linear_posterior(model, points)
    fitted = ((points - means @ model.loadings.T) ** 2).sum(1) / model.noise**2 + (means**2).sum(1)
    logs = np.linalg.slogdet(precision)[1] + 2 * n * np.log(model.noise)
    return -0.5 * (fitted + logs + n * np.log(2 * np.pi))


def linear_posterior(
    model: LinearGaussian, points: Float[np.ndarray, "m n"]
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "d d"]]:
    """Means of p(z | x) and its precision I + WᵀW/σ², the same for every x. Reference: Tipping and Bishop 1999."""
    inside(0, np.inf, "()", noise=model.noise)
    loadings = model.loadings
    precision = np.eye(loadings.shape[1]) + loadings.T @ loadings / model.noise**2
    return np.linalg.solve(precision, loadings.T @ points.T / model.noise**2).T, precision


def isotropic_bound(
    model: LinearGaussian, points: Float[np.ndarray, "m n"], means: Float[np.ndarray, "m d"], variance: Number
) -> Float[np.ndarray, " m"]:
    """The evidence lower bound of the encoder N(mean, vI), exactly: what arora (14.11) estimates from samples."""
    inside(0, np.inf, "()", noise=model.noise, variance=variance)
    n, d = model.loadings.shape
    residual = ((points - means @ model.loadings.T) ** 2).sum(1) + variance * (model.loadings**2).sum()
    reconstruction = -0.5 * (residual / model.noise**2 + n * np.log(2 * np.pi * model.noise**2))
    return reconstruction - 0.5 * ((means**2).sum(1) + d * (variance - 1 - np.log(variance)))


def best_isotropic_encoder(
    model: LinearGaussian, points: Float[np.ndarray, "m n"]
) -> tuple[Float[np.ndarray, "m d"], float]:
    """The isotropic Gaussian encoder with the largest bound: the posterior's mean, and variance d/tr P."""
    means, precision = linear_posterior(model, points)
    return means, len(precision) / float(np.trace(precision))


def isotropic_gap(model: LinearGaussian) -> float:
    """What the best isotropic encoder loses: (d/2) log(arithmetic over geometric mean of the eigenvalues of P).

    P = I + WᵀW/σ² is the posterior's precision. The gap is the same for every x, and zero if and only if WᵀW ∝ I.
    """
    inside(0, np.inf, "()", noise=model.noise)
    eigenvalues = 1 + np.linalg.svd(model.loadings, compute_uv=False) ** 2 / model.noise**2
    d = model.loadings.shape[1]
    eigenvalues = np.concatenate([eigenvalues, np.ones(d - len(eigenvalues))])
    return 0.5 * float(d * np.log(eigenvalues.mean()) - np.log(eigenvalues).sum())


def mean_field_ascent(
    mean: Float[np.ndarray, " d"], precision: Float[np.ndarray, "d d"], *, sweeps: int = 100
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, " sweeps"]]:
    """The best product of Gaussians for N(mean, P⁻¹), one coordinate after another, from N(0, I).

    Returns means, variances 1/P_ii (below the true ones unless P is diagonal) and KL(q ‖ p) after each sweep, which
    never rises. Reference: Bishop 2006, Pattern Recognition and Machine Learning, 10.1.
    """
    inside(0, np.inf, "()", **{"the least eigenvalue of precision": float(np.linalg.eigvalsh(precision)[0])})
    d, centre, variances = len(mean), np.zeros(len(mean)), np.ones(len(mean))
    trace, logdet = np.empty(sweeps), np.linalg.slogdet(precision)[1]
    for sweep in range(sweeps):
        for i in range(d):
            others = precision[i] @ (centre - mean) - precision[i, i] * (centre[i] - mean[i])
            centre[i] = mean[i] - others / precision[i, i]
            variances[i] = 1 / precision[i, i]
        away = centre - mean
        inner = np.diag(precision) @ variances + away @ precision @ away
        trace[sweep] = 0.5 * (inner - d - logdet - np.log(variances).sum())
    return centre, variances, trace


class GradientEstimates(NamedTuple):
    """Estimates of ∂/∂φ and ∂/∂s of E f(φ + sε), one for each noise: first axis (φ, s)."""

    reparametrized: Float[np.ndarray, "2 n"]
    score: Float[np.ndarray, "2 n"]


def gaussian_gradient_estimates(
    function: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray], np.ndarray],
    mean: float,
    deviation: float,
    noise: Float[np.ndarray, " n"],
) -> GradientEstimates:
    """Estimates of the gradient of E f(z), z ~ N(φ, s²), through the sample and through the density.

    Reparametrized: z = φ + sε gives f′(z)·(1, ε). Score: f(z)·∇log N(z; φ, s²) = f(z)·(ε, ε² − 1)/s, which needs no
    slope and has the larger variance as a rule. Both are unbiased. With samples held fixed nothing depends on φ, and
    the gradient of the sampled mean is zero: the reason for either (arora Sec. 14.4.1).
    """
    inside(0, np.inf, "()", deviation=deviation)
    z = mean + deviation * noise
    value, rise = np.asarray(function(z), float), np.asarray(slope(z), float)
    return GradientEstimates(
        np.stack([rise, rise * noise]), np.stack([value * noise, value * (noise**2 - 1)]) / deviation
    )


def square_estimator_moments(mean: Number, deviation: Number) -> dict[str, Number]:
    """For f(z) = z²: the gradient 2φ of E f in φ and the variance of both estimators of it, in closed form.

    Reparametrized 4s²; score φ⁴/s² + 14φ² + 15s².

    `mean` is φ and `deviation` is s of z ~ N(φ, s²). Reference: arora 14.4.1; the score estimator is that of Williams
    1992.
    """
    inside(0, np.inf, "()", deviation=deviation)
    return {
        "gradient": 2 * mean,
        "reparametrized": 4 * deviation**2,
        "score": mean**4 / deviation**2 + 14 * mean**2 + 15 * deviation**2,
    }


doors(__name__, symmetric=("precision",), sweeps="[1, 1e6]")
