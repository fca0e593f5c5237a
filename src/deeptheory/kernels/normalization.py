"""Layer normalization and dropout."""

from dataclasses import dataclass

import jax
import jax.core
import jax.numpy as jnp

from deeptheory.doors import doors
from deeptheory.kernels.block import coincident, left_of, right_of, variances
from deeptheory.kernels.layer import Demand, Layer, Scalar, one_block


@dataclass(frozen=True)
class LayerNorm(Layer):
    """(x − mean)/√(variance + eps) over channels and, if named, position axes; needs Gaussian inputs."""

    axes: tuple[int, ...] = (-1,)
    eps: float = 1e-12

    def _axes(self, rank: int) -> tuple[int, ...]:
        axes = tuple(sorted({axis % rank for axis in self.axes}))
        if rank - 1 not in axes:
            raise ValueError(
                f"LayerNorm must normalize over channels (axis {rank - 1}) to have a limit, got {self.axes}"
            )
        if 0 in axes:
            raise ValueError("LayerNorm over the batch axis mixes inputs and has no kernel here")
        return axes

    def apply(self, parameters, x, *, key=None, **extra):
        axes = self._axes(x.ndim)
        mean, variance = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
        return (x - mean) / jnp.sqrt(self.eps + variance)

    def demand(self, wanted):
        return Demand(wanted.full, True, wanted.full_variances)

    def record(self, block):
        own = variances(one_block("LayerNorm", block))
        positions = tuple(axis - 1 for axis in self._axes(len(block.spatial) + 2)[:-1])
        averaged = jnp.mean(own, positions, keepdims=True) if positions else own
        return jnp.broadcast_to(jax.lax.rsqrt(self.eps + averaged), own.shape)

    def kernel(self, block, left, right):
        block = one_block("LayerNorm", block)
        if not block.gaussian:
            raise ValueError("LayerNorm needs Gaussian inputs: put a Dense or convolutional layer right before it")
        factor_left, factor_right = left_of(block, left), right_of(block, right)
        return block.map(lambda array: array * factor_left * factor_right)


@dataclass(frozen=True)
class Dropout(Layer):
    """Keep every unit with probability `keep` and scale it by 1/keep; nothing happens unless `train`.

    Kernels are those of one shared draw: an input's covariance with itself grows by 1/keep, others stay.
    """

    keep: Scalar
    train: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.keep, jax.core.Tracer) and not 0 < self.keep <= 1:
            raise ValueError(f"the probability to keep a unit must lie in (0, 1], got {self.keep}")

    def apply(self, parameters, x, *, key=None, **extra):
        if not self.train:
            return x
        if key is None:
            raise ValueError("Dropout in training draws at random: pass a key to apply")
        return jnp.where(jax.random.bernoulli(key, self.keep, x.shape), x / self.keep, 0)

    def kernel(self, block, left, right):
        if not self.train:
            return block
        block = one_block("Dropout", block)
        if block.is_input:
            raise ValueError("Dropout cannot be the first layer: inputs have no infinite width")
        same = coincident(block)
        if same is None:
            return block.replace(gaussian=False)
        factor = jnp.where(same, 1 / self.keep, 1.0).astype(block.covariance.dtype)
        return block.map(lambda array: array * factor, gaussian=False)


doors(__name__)
