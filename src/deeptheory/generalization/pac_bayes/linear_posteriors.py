"""Linear classifiers drawn around a direction: the Gibbs risk in closed form, and the posterior that bounds it best.

Weights are N(w, s²I) and the prior N(0, I). A point (x, y), y = ±1, is answered wrongly with probability
Φ(−y·w·x/(s‖x‖)), so the risk depends on μ = w/s alone, and s is free to make the divergence small.

Reference: handbook Sec. 11.1.3; Langford and Shawe-Taylor 2002; Germain, Lacasse, Laviolette and Marchand 2009.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from scipy.optimize import minimize

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.generalization.pac_bayes.bounds import maurer_budget, pac_bayes_kl

__all__ = [
    "LinearPosterior",
    "best_linear_posterior",
    "linear_gibbs_risk",
    "scale_free_kl",
    "scale_free_variance",
]


class LinearPosterior(NamedTuple):
    """Direction μ = w/s found, with the empirical Gibbs risk, the divergence and the risk bound there."""

    direction: Float[np.ndarray, " d"]
    risk: float
    divergence: float
    bound: float


@jax.jit
def linear_gibbs_risk(
    direction: Float[AnyArray, " d"], x: Float[AnyArray, "n d"], signs: Float[AnyArray, " n"]
) -> Float[Array, ""]:
    """Mean over the points of Φ(−y·μ·x/‖x‖), the chance that sign(v·x) is wrong for v ~ N(μ, I) (handbook 11.1.3)."""
    x = jnp.asarray(x)
    return jnp.mean(ndtr(-jnp.asarray(signs) * (x @ jnp.asarray(direction)) / jnp.linalg.norm(x, axis=1)))


def scale_free_variance(direction: Float[AnyArray, " d"]) -> Float[Array, ""]:
    """The variance s² = d/(d + |μ|²) at which N(sμ, s²I) is nearest to N(0, I); the classifier does not depend on s."""
    direction = jnp.asarray(direction)
    return len(direction) / (len(direction) + jnp.sum(direction**2))


def scale_free_kl(direction: Float[AnyArray, " d"]) -> Float[Array, ""]:
    """The divergence there: (d/2)·log(1 + |μ|²/d), against |μ|²/2 for posteriors as wide as the prior."""
    direction = jnp.asarray(direction)
    return len(direction) / 2 * jnp.log1p(jnp.sum(direction**2) / len(direction))


def _bound(direction, x, signs, delta, *, samples):
    risk, divergence = linear_gibbs_risk(direction, x, signs), scale_free_kl(direction)
    return pac_bayes_kl(risk, maurer_budget(divergence, samples, delta)), (risk, divergence)


_slope = jax.jit(jax.value_and_grad(_bound, has_aux=True), static_argnames=("samples",))


def best_linear_posterior(
    x: Float[AnyArray, "n d"], signs: Float[AnyArray, " n"], *, delta: float = 0.05
) -> LinearPosterior:
    """Minimise Maurer's bound on the Gibbs risk over the direction μ, quasi-Newton from the mean of y·x/‖x‖.

    The bound holds for all μ at once, so that searching costs nothing; it is not convex, and a local minimum is found.
    x stands in rows, `signs` are ±1. Reference: Germain, Lacasse, Laviolette and Marchand 2009, with their bound
    replaced by Maurer's.
    """
    x, signs = np.asarray(x, float), np.asarray(signs, float)
    start = np.mean(signs[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True), axis=0) * len(x[0])

    def objective(direction):
        (value, _), slope = _slope(direction, x, signs, delta, samples=len(x))
        return float(value), np.asarray(slope)

    found = minimize(objective, start, jac=True, method="L-BFGS-B").x
    (value, (risk, divergence)), _ = _slope(found, x, signs, delta, samples=len(x))
    return LinearPosterior(found, float(risk), float(divergence), float(value))


doors(__name__, delta="(0, 1)")
