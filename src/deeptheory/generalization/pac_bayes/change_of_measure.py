"""Changing from a posterior to a prior: relative entropies in closed form and the inequality of Donsker and Varadhan.

Laws on a finite set are vectors of probabilities, with the relative entropy `finite_kl` of
`deeptheory.foundations.entropies`; Gaussians are means with covariances or logarithms of variances.

Reference: lucchi (9.1), (9.2) and Lemma 68; handbook Sec. 11.1.3; arora (5.9).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import finite_kl
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "change_of_measure_gap",
    "diagonal_gaussian_kl",
    "flat_minimum_variances",
    "gaussian_kl",
    "gibbs_posterior",
    "isotropic_gaussian_kl",
]

Numbers = float | int | np.number | Num[AnyArray, "..."]


@jax.jit
def gaussian_kl(
    mean: Float[AnyArray, " k"],
    covariance: Float[AnyArray, "k k"],
    prior_mean: Float[AnyArray, " k"],
    prior_covariance: Float[AnyArray, "k k"],
) -> Float[Array, ""]:
    """Relative entropy ½[tr Σ_P⁻¹Σ_Q + (m_Q−m_P)ᵀΣ_P⁻¹(m_Q−m_P) − k + log det Σ_P/det Σ_Q] of two Gaussians.

    Reference: lucchi (9.2), handbook 11.1.3.
    """
    mean, covariance, prior_mean, prior_covariance = map(jnp.asarray, (mean, covariance, prior_mean, prior_covariance))
    root, prior_root = jnp.linalg.cholesky(covariance), jnp.linalg.cholesky(prior_covariance)
    ratio = jnp.linalg.solve(prior_root, root)
    shift = jnp.linalg.solve(prior_root, mean - prior_mean)
    log_ratio = jnp.sum(jnp.log(jnp.diag(prior_root))) - jnp.sum(jnp.log(jnp.diag(root)))
    return 0.5 * (jnp.sum(ratio**2) + jnp.sum(shift**2) - len(mean)) + log_ratio


@jax.jit
def diagonal_gaussian_kl(
    mean: Numbers, log_variance: Numbers, prior_mean: Numbers, prior_log_variance: Numbers
) -> Float[Array, ""]:
    """Relative entropy of two products of Gaussians, summed over all coordinates; variances enter as logarithms.

    ½ Σ [e^(v−w) − 1 − (v−w) + (m−n)²·e^(−w)], which for prior N(θ₀, λI) is ½[Σσᵢ/λ + |θ−θ₀|²/λ − p + p·log λ − Σ log
    σᵢ]. m and v are `mean` and `log_variance`, n and w those of the prior. Reference: lucchi §9.2, step 3.
    """
    ratio = jnp.asarray(log_variance) - prior_log_variance
    shift = (jnp.asarray(mean) - prior_mean) ** 2 * jnp.exp(-jnp.asarray(prior_log_variance))
    return 0.5 * jnp.sum(jnp.expm1(ratio) - ratio + shift)


def isotropic_gaussian_kl(distance: Numbers, variance: Numbers) -> Numbers:
    """Relative entropy |m_Q − m_P|²/(2σ²) of two Gaussians of the same variance σ² in every direction.

    `distance` is |m_Q − m_P|. Reference: lucchi §9.2, step 3.
    """
    return jnp.asarray(distance) ** 2 / (2 * jnp.asarray(variance))


@jax.jit
def gibbs_posterior(prior: Float[AnyArray, "*b k"], score: Float[AnyArray, "*b k"]) -> Float[Array, "*b k"]:
    """The law Q ∝ P·e^score: the one that makes the change of measure an equality.

    With score −λ·n·R_S it minimises λ·n·E_Q R_S + KL(Q‖P), Catoni's linear bound. Reference: lucchi Lemma 68.
    """
    weighted = jnp.log(jnp.asarray(prior)) + score
    return jnp.exp(weighted - logsumexp(weighted, axis=-1, keepdims=True))


@jax.jit
def change_of_measure_gap(
    posterior: Float[AnyArray, "*b k"],
    prior: Float[AnyArray, "*b k"],
    score: Float[AnyArray, "*b k"],
) -> Numbers:
    """KL(Q‖P) + log E_P e^φ − E_Q φ, never negative; it is KL(Q‖G) with G the Gibbs posterior of φ.

    Reference: Donsker and Varadhan; lucchi Lemma 68, arora (5.9) with φ = (m/2)Δ².
    """
    log_moment = logsumexp(jnp.asarray(score), b=jnp.asarray(prior), axis=-1)
    return finite_kl(jnp.asarray(posterior), prior) + log_moment - jnp.sum(jnp.asarray(posterior) * score, axis=-1)


def flat_minimum_variances(curvatures: Numbers, prior_variance: float, weight: float) -> Numbers:
    """Best posterior variances around a quadratic minimum: σᵢ = 1/(1/λ + weight·hᵢ).

    They minimise weight·½Σ hᵢσᵢ + ½Σ[σᵢ/λ − log σᵢ]: a direction is left as uncertain as the prior unless it is curved.
    `curvatures` are the hᵢ, `prior_variance` is λ. Reference: lucchi §9.2, wide minima.
    """
    positive(prior_variance=prior_variance)
    inside(0, np.inf, weight=weight)
    return 1 / (1 / prior_variance + weight * jnp.asarray(curvatures))


doors(
    __name__, variance="(0, ∞)", prior_variance="(0, ∞)", weight="[0, ∞)", symmetric=("covariance", "prior_covariance")
)
