"""How the noise of gradients on the sphere scales with the dimension: what the sample complexity of SGD rests on."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.dynamics.online import Loss
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric

__all__ = ["NoiseMoments", "noise_moments", "spherical_gradient"]


class NoiseMoments(NamedTuple):
    """E⟨∇H, θ⟩² and E‖∇H‖^p/N^(p/2): both must stay bounded in the dimension for Assumption A."""

    along: Float[Array, ""]
    whole: Float[Array, ""]


def spherical_gradient(loss: Loss, x: Float[AnyArray, " n"], sample: Any) -> Float[Array, " n"]:
    """Return ∇L = DL − ⟨DL, x⟩x, the gradient along the unit sphere. Reference: jagannath Rem. 11.2."""
    numeric(sample=sample)
    x = jnp.asarray(x)
    slope = jax.grad(loss)(x, sample)
    return slope - (slope @ x) * x


def noise_moments(
    loss: Loss,
    x: Float[AnyArray, " n"],
    samples: Any,
    *,
    direction: Float[AnyArray, " n"],
    power: float = 5.0,
) -> NoiseMoments:
    """Return the two moments that Assumption A bounds, at one unit vector, as means over samples.

    `loss(x, sample)` is the loss of a sample, `samples` a pytree with one slice a sample, `direction` the hidden θ and
    `power` is 4 + ε. H = L − Φ is the noise of the loss, its gradient taken along the sphere. Look at them along
    growing dimensions and at the worst of several points (`vmap`). Reference: jagannath Def. 11.5.
    """
    batched(samples=samples)
    x = jnp.asarray(x)
    slopes = jax.vmap(lambda sample: spherical_gradient(loss, x, sample))(samples)
    noise = slopes - slopes.mean(0)
    lengths = jnp.sum(noise**2, axis=1) / len(x)
    return NoiseMoments(jnp.mean((noise @ jnp.asarray(direction)) ** 2), jnp.mean(lengths ** (power / 2)))


doors(__name__, power="(4, 100]")
