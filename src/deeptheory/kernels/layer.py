"""What a layer is: a finite map and the law its covariances follow when channels grow without bound."""

from typing import Any, NamedTuple

import jax
from jaxtyping import Array

from deeptheory.kernels.block import Block

Shape = tuple[int, ...]


class Demand(NamedTuple):
    """What later layers must know: covariances between positions of a pair, and of every input with itself."""

    full: bool
    variances: bool
    full_variances: bool


class Layer:
    """One description, two widths.

    Inputs of a layer have shape (batch, positions…, channels), or several such arrays after a fan-out. A layer is a
    frozen dataclass with

    - `init(key, shape) → (shape, parameters)` and `apply(parameters, x, key=None)`: the finite network (`extra`
      reaches every layer, as a graph does that comes with the inputs);
    - `kernel(block, left, right) → block`: how covariances move through it at infinite width. `left` and `right` are
      what `record` kept of the inputs at both ends (an activation keeps their variances), so that all pairs can be
      computed in tiles while every input's own chain is followed once;
    - `demand(wanted)`: what must be known before the layer so that `wanted` is known after it.
    """

    def init(self, key: Any, shape: Any) -> tuple[Any, Any]:
        return shape, ()

    def apply(self, parameters: Any, x: Any, *, key: Any = None, **extra: Any) -> Any:
        raise NotImplementedError

    def record(self, block: Any) -> Any:
        return None

    def kernel(self, block: Any, left: Any, right: Any) -> Any:
        raise ValueError(f"{type(self).__name__} has no known infinite-width kernel; estimate it by Monte Carlo")

    def follow(self, block: Any) -> tuple[Any, Any]:
        """Move a paired block and return it with the record of this layer."""
        record = self.record(block)
        return self.kernel(block, record, record), record

    def demand(self, wanted: Demand) -> Demand:
        return wanted


def check_shape(name: str, shape: Shape, positions: int | None = None) -> None:
    """Refuse inputs that are not (batch, positions…, channels)."""
    if len(shape) < 2 or (positions is not None and len(shape) != positions + 2):
        wanted = "at least 2" if positions is None else str(positions + 2)
        raise ValueError(
            f"{name} needs inputs of rank {wanted}, (batch, positions…, channels); got shape {tuple(shape)}"
        )


def one_block(name: str, block: Any) -> Block:
    if not isinstance(block, Block):
        raise ValueError(f"{name} takes one input, not {len(block)} branches: put a FanIn layer before it")
    return block


def scaled(array: Array, scale: float) -> Array:
    return array if scale == 1 else array * scale


def normal(key: Any, shape: Shape) -> Array:
    return jax.random.normal(key, shape)
