"""Training as a flow on the empirical risk: how fast it falls, where the Hessian points down, which limit applies.

jagannath 8.1.

`target` is v, the weights that made the labels.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "Regime",
    "RiskRate",
    "autoencoder_saddle",
    "negative_directions",
    "neuron_movement_exponent",
    "phase_retrieval_hessian",
    "phase_retrieval_risk",
    "risk_rate",
    "training_regimes",
]

Scalar = Float[AnyArray, ""] | np.floating
Risk = Callable[[Float[Array, " p"]], Float[Array, ""]]


class RiskRate(NamedTuple):
    """The risk at some points, its rate of change along gradient flow there, and the Hessian's eigenvalues."""

    risk: Float[Array, " k"]
    rate: Float[Array, " k"]
    spectrum: Float[Array, "k p"]


def risk_rate(risk: Risk, points: Float[AnyArray, "k p"]) -> RiskRate:
    """Return R, dR/dt = −‖∇R‖² along θ̇ = −∇R, and the spectrum of ∇²R at points of a path (jagannath 8.1).

    Uses the dense Hessian: for up to a few hundred parameters.
    """
    points = jnp.asarray(points)
    values, slopes = jax.vmap(jax.value_and_grad(risk))(points)
    return RiskRate(
        values, -jnp.sum(slopes**2, 1), jax.vmap(lambda p: jnp.linalg.eigvalsh(jax.hessian(risk)(p)))(points)
    )


def negative_directions(
    spectrum: Float[AnyArray, "*k p"], *, cutoff: float = 1e-10
) -> Int[AnyArray, "*k"] | np.integer:
    """Return how many eigenvalues are negative, beyond `cutoff` times the largest modulus."""
    floor = cutoff * abs(spectrum).max(axis=-1, keepdims=True)
    return (spectrum < -floor).sum(axis=-1)


def autoencoder_saddle(covariance: Float[AnyArray, "d k"], *, hidden: int) -> Float[np.ndarray, " p"]:
    """Return the Hessian's eigenvalues at the origin of a network x ↦ Vσ(Wx), σ(0) = 0, σ′(0) = 1, squared loss ½‖·‖².

    The risk is there −tr(V W E[xyᵀ]) to second order, so they are ±s for every singular value s of E[xyᵀ], each
    `hidden` times, and zeros: with outputs that span the inputs, as many negative directions as inputs for each
    hidden unit.
    """
    if hidden < 1:
        raise ValueError(f"hidden must be at least 1, got {hidden}")
    singular = np.linalg.svd(np.asarray(covariance, float), compute_uv=False)
    zeros = np.zeros(sum(np.shape(covariance)) - 2 * len(singular))
    values = np.concatenate([singular, -singular, zeros])
    return np.sort(np.tile(values, hidden))


def phase_retrieval_risk(weights: Float[AnyArray, " d"], target: Float[AnyArray, " d"]) -> Scalar:
    """Return ¼E((w·x)² − (v·x)²)² for standard normal inputs: ¼(3‖w‖⁴ + 3‖v‖⁴ − 2‖w‖²‖v‖² − 4(w·v)²)."""
    own, true, overlap = weights @ weights, target @ target, weights @ target
    return (3 * own**2 + 3 * true**2 - 2 * own * true - 4 * overlap**2) / 4


def phase_retrieval_hessian(weights: Float[AnyArray, " d"], target: Float[AnyArray, " d"]) -> Float[AnyArray, "d d"]:
    """Return the Hessian of that risk: (3‖w‖² − ‖v‖²)I + 6wwᵀ − 2vvᵀ.

    For ‖w‖ < ‖v‖/√3 the d − 2 directions orthogonal to both are negative, so a small start has of the order of d
    negative directions, and d at the origin (jagannath 8.1).
    """
    identity = weights.__array_namespace__().eye(weights.shape[0], dtype=weights.dtype)
    isotropic = (3 * weights @ weights - target @ target) * identity
    return isotropic + 6 * weights[:, None] * weights - 2 * target[:, None] * target


class Regime(NamedTuple):
    """A description of training: its name, whether it applies, and what must grow for it to become exact."""

    name: str
    applies: bool
    grows: str


def neuron_movement_exponent(scaling: float) -> float:
    """Return a − 1, where m^{a−1} is how far one of m neurons moves while the outputs of m^{−a}Σ move by order one.

    The gradient of a neuron carries m^{−a}, and all m together move the output by m · m^{−2a} per unit of time: time
    must run m^{2a−1} times as long.
    """
    if not 0 <= scaling <= 1:
        raise ValueError(f"scaling must be from 0 to 1, got {scaling}")
    return scaling - 1.0


def training_regimes(*, width: int, inputs: int, samples: int, scaling: float) -> tuple[Regime, ...]:
    """Say which descriptions of training suit f = m^{−a} Σ_j a_jσ(w_j·x), m neurons, a = `scaling` (jagannath 8.1.1).

    For a < 1 a neuron moves less the wider the network (`neuron_movement_exponent`), which stays near its start
    (tangent kernel; the books take a = ½); at a = 1 neurons move by order one (mean field). Limits in the
    dimension follow few numbers while inputs and samples grow together; bounds on samples hold for any width. `applies`
    takes ten for large.
    """
    if min(width, inputs, samples) < 1:
        raise ValueError(f"width, inputs and samples must be at least 1, got {width}, {inputs} and {samples}")
    lazy = neuron_movement_exponent(scaling) < 0
    return (
        Regime("tangent kernel", lazy and width >= 10 * samples, "width, at fixed samples"),
        Regime("mean field", not lazy and width >= 10, "width, at a = 1"),
        Regime("high-dimensional dynamics", inputs >= 10 and samples >= inputs, "inputs and samples together"),
        Regime("sample complexity", samples >= 10, "samples"),
    )


doors(__name__, cutoff="[0, ∞)")
