"""Layer normalization and dropout.

Reference: Ba, Kiros and Hinton 2016; Srivastava et al. 2014; for wide networks Novak et al. 2020, and Schoenholz et al.
2017 with dropout.
"""

from dataclasses import dataclass

import jax
import jax.core
import jax.numpy as jnp
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, Scalar, check_shape, one_block
from deeptheory.kernels.limits.block import coincident, left_of, right_of, variances

__all__ = ["Dropout", "LayerNorm"]


@dataclass(frozen=True)
class LayerNorm(Layer):
    """(x − mean)/√(variance + eps) over channels and, if named, positions and inputs; needs Gaussian inputs.

    Over inputs, every set of inputs is normalized by itself.
    """

    axes: tuple[int, ...] = (-1,)
    eps: float = 1e-12

    def over(self, rank: int) -> tuple[int, ...]:
        """Return the axes of an array of this rank over which it is normalized."""
        if not all(-rank <= axis < rank for axis in self.axes):
            raise ValueError(f"LayerNorm over axes {self.axes} met inputs of rank {rank}")
        axes = tuple(sorted({axis % rank for axis in self.axes}))
        if rank - 1 not in axes:
            raise ValueError(
                f"LayerNorm must normalize over channels (axis {rank - 1}) to have a limit, got {self.axes}"
            )
        return axes

    def init(self, key, shape):
        check_shape("LayerNorm", shape)
        self.over(len(shape))
        return shape, ()

    def apply(self, parameters, x, *, key=None, **extra):
        axes = self.over(x.ndim)
        mean, variance = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
        return (x - mean) / jnp.sqrt(self.eps + variance)

    def demand(self, wanted):
        return Demand(wanted.full, True, wanted.full_variances)

    def averaged(self, values: Array) -> Array:
        """Return the mean over what is normalized together of values over (positions…, inputs)."""
        axes = tuple((axis - 1) % values.ndim for axis in self.over(values.ndim + 1)[:-1])
        return jnp.broadcast_to(jnp.mean(values, axes, keepdims=True), values.shape) if axes else values

    def record(self, block):
        return jax.lax.rsqrt(self.eps + self.averaged(variances(one_block("LayerNorm", block))))

    def kernel(self, block, left, right):
        block = one_block("LayerNorm", block)
        if not block.gaussian:
            raise ValueError("LayerNorm needs Gaussian inputs: put a Dense or convolutional layer right before it")
        factor_left, factor_right = left_of(block, left), right_of(block, right)

        def scale(array: Array) -> Array:
            return array * factor_left * factor_right

        return block.map(scale, **block.gaps(scale))


@dataclass(frozen=True)
class Dropout(Layer):
    """Keep every unit with probability `keep` and scale it by 1/keep; nothing happens unless `train`.

    Every pass of an input through the network draws its own mask. The diagonal of a kernel of one set is a pass with
    itself, which grows by 1/keep; every other entry is of two passes, also of two equal inputs, and stays.
    """

    keep: Scalar
    train: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.keep, jax.core.Tracer) and not 0 < self.keep <= 1:
            raise ValueError(f"the probability to keep a unit must lie in (0, 1], got {self.keep}")

    def init(self, key, shape):
        check_shape("Dropout", shape)
        return shape, ()

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
        factor = 1.0 if same is None else jnp.where(same, 1 / self.keep, 1.0)
        return block.map(lambda array: array * factor, gaussian=False)  # variances grow, so a deficit is void


doors(__name__)
