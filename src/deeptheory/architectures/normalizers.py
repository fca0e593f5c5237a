"""Batch and layer normalization as layers: with a learned gain and shift, and statistics kept for later.

Reference: lucchi Sec. 10.3; Ioffe and Szegedy 2015; Ba, Kiros and Hinton 2016.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.normalization.normalizers import batch_norm, layer_norm

__all__ = ["BatchNorm", "LayerNorm", "batch_statistics", "init_batch_norm", "init_layer_norm", "running_statistics"]

Statistics = tuple[Float[AnyArray, " h"], Float[AnyArray, " h"]]


def batch_statistics(z: Float[AnyArray, "*n h"]) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
    """Mean and variance (divided by |I|, not |I| − 1) of every feature over all axes but the last."""
    z = jnp.asarray(z)
    axes = tuple(range(z.ndim - 1))
    return z.mean(axes), z.var(axes)


def running_statistics(
    old: Statistics, z: Float[AnyArray, "*n h"], *, share: float = 0.1
) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
    """Kept statistics moved towards those of a batch, (1 − share) old + share new: for use without a batch later.

    `share` is the weight of the new batch, `momentum` in PyTorch, one minus it in Keras.
    """
    mean, variance = batch_statistics(z)
    return (1 - share) * jnp.asarray(old[0]) + share * mean, (1 - share) * jnp.asarray(old[1]) + share * variance


class BatchNorm(eqx.Module):
    """ẑ = α(z − μ)/σ + β for every feature, with μ and σ² = δ + (1/|I|)Σ(z − μ)² over the batch.

    The batch is all axes but the last. Before α and β it has mean 0 and variance v/(v + δ) where v was its variance,
    a little below 1. Every output depends on the whole batch; give `statistics` (mean, variance) to use kept ones
    instead, which makes it an affine map. Not for batches of one. Reference: lucchi Sec. 10.3.1.
    """

    gain: Float[AnyArray, " _h"]
    shift: Float[AnyArray, " _h"]
    epsilon: float = eqx.field(static=True, default=1e-5)

    def __call__(self, z: Float[AnyArray, "*n h"], statistics: Statistics | None = None) -> Float[Array, "*n h"]:
        z = jnp.asarray(z)
        if statistics is not None:
            mean, variance = statistics
            unit = (z - jnp.asarray(mean)) / jnp.sqrt(jnp.asarray(variance) + self.epsilon)
            return jnp.asarray(self.gain) * unit + jnp.asarray(self.shift)
        flat = batch_norm(z.reshape(-1, z.shape[-1]), epsilon=self.epsilon)
        return jnp.asarray(self.gain) * flat.reshape(z.shape) + jnp.asarray(self.shift)


class LayerNorm(eqx.Module):
    """ẑ = α(z − μ)/σ + β for every example, with μ and σ² = δ + variance over its own features: no batch enters.

    Reference: lucchi Sec. 10.3.2.
    """

    gain: Float[AnyArray, " _h"]
    shift: Float[AnyArray, " _h"]
    epsilon: float = eqx.field(static=True, default=1e-5)

    def __call__(self, z: Float[AnyArray, "*n h"]) -> Float[Array, "*n h"]:
        return jnp.asarray(self.gain) * layer_norm(z, epsilon=self.epsilon) + jnp.asarray(self.shift)


def init_batch_norm(features: int, *, epsilon: float = 1e-5) -> BatchNorm:
    """Gains one and shifts zero: the normalized values themselves.

    `epsilon` is δ, added to the variance.
    """
    return BatchNorm(jnp.ones(features), jnp.zeros(features), epsilon)


def init_layer_norm(features: int, *, epsilon: float = 1e-5) -> LayerNorm:
    """Gains one and shifts zero: the normalized values themselves.

    `epsilon` is δ, added to the variance.
    """
    return LayerNorm(jnp.ones(features), jnp.zeros(features), epsilon)


doors(__name__, features="[1, 1000000]", epsilon="[0, ∞)", share="[0, 1]")
