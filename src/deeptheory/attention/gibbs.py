"""Gibbs measures on finitely many states: what inverse temperature does to them, and attention as one of them.

p_β(s) = π(s) e^{−βE(s)} / Z(β) with a prior π, uniform unless given. In quasi-Bayesian words −E is a log-likelihood,
states are parameters, and β = 1 is Bayes' rule (jagannath, chapter 14, Table 1). A row of an attention matrix is the
Gibbs measure of the energies −⟨Qx_i, Kx_j⟩ over j.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors

__all__ = ["gibbs_entropy", "gibbs_measure", "log_partition", "mean_energy"]

Energies = Float[AnyArray, "*batch states"]


def _exponents(energies: Energies, inverse_temperature: Scalar, log_prior: Energies | None) -> Array:
    energies = jnp.asarray(energies)
    prior = -jnp.log(energies.shape[-1]) if log_prior is None else jax.nn.log_softmax(jnp.asarray(log_prior), axis=-1)
    return prior - inverse_temperature * energies


def gibbs_measure(
    energies: Energies, inverse_temperature: Scalar, log_prior: Energies | None = None
) -> Float[Array, "*batch states"]:
    """Probability of each state, π e^{−βE}/Z: the prior at β = 0, the states of least energy as β → ∞.

    `log_prior` need not be normalized. States lie along the last axis.
    """
    return jax.nn.softmax(_exponents(energies, inverse_temperature, log_prior), axis=-1)


def log_partition(
    energies: Energies, inverse_temperature: Scalar, log_prior: Energies | None = None
) -> Float[Array, "*batch"]:
    """log Z(β) = log Σ_s π(s) e^{−βE(s)}, the evidence when β = 1; zero at β = 0, since the prior is normalized.

    It generates the cumulants of the energy: d log Z/dβ = −⟨E⟩ and d² log Z/dβ² = Var E.
    """
    return jax.nn.logsumexp(_exponents(energies, inverse_temperature, log_prior), axis=-1)


def mean_energy(
    energies: Energies, inverse_temperature: Scalar, log_prior: Energies | None = None
) -> Float[Array, "*batch"]:
    """⟨E⟩ = Σ_s p_β(s) E(s), which falls as β grows, at the speed Var E."""
    return jnp.sum(gibbs_measure(energies, inverse_temperature, log_prior) * energies, axis=-1)


def gibbs_entropy(energies: Energies, inverse_temperature: Scalar) -> Float[Array, "*batch"]:
    """Shannon entropy −Σ p_β log p_β of the measure with uniform prior: log of the number of states at β = 0.

    S = log(states) + log Z + β⟨E⟩, hence dS/dβ = −β Var E: it falls as β grows.
    """
    return (
        jnp.log(jnp.asarray(energies).shape[-1])
        + log_partition(energies, inverse_temperature)
        + inverse_temperature * mean_energy(energies, inverse_temperature)
    )


doors(__name__, infinite=("log_prior",))
