"""What a layer is: a finite map and the law its covariances follow when channels grow without bound."""

import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from deeptheory.kernels.limits.block import Block

__all__ = ["Layer"]

Shape = tuple[int, ...]
Scalar = float | int | Array


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

    def approach(self, gap: Any, left: Any, right: Any) -> Any:
        """Return how near inputs can come that are no nearer than `gap`, which is a 1 − |cos θ|; 0 if unknown."""
        return 0.0

    def demand(self, wanted: Demand) -> Demand:
        return wanted


@dataclass(frozen=True)
class Slot:
    """Where an array was taken out of a network."""

    number: int


def parted(network: Layer) -> tuple[Layer, list[Array]]:
    """Take the JAX values out of a network, so that the rest can be a static argument of a compiled function.

    Scales of weights and parameters of activations may be such values; then kernels can be differentiated by them.
    Those of NumPy become Python's, which do not widen the arrays they meet.
    """
    values: list[Array] = []

    def take(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        values.append(value)
        return Slot(len(values) - 1)

    return _replaced(network, _is_scalar, take), values


def joined(network: Layer, values: list[Array]) -> Layer:
    """Put the values back that `parted` took out."""
    return _replaced(network, _is_slot, lambda slot: values[slot.number]) if values else network


def _is_scalar(part: Any) -> bool:
    return isinstance(part, np.generic) or (isinstance(part, jax.Array) and part.ndim == 0)


def _is_slot(part: Any) -> bool:
    return isinstance(part, Slot)


def _replaced(part: Any, chosen: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    """Change the chosen fields of a layer and of the layers in it; where there is none, return the layer itself."""
    if chosen(part):
        return change(part)
    if type(part) is tuple:
        after = tuple(_replaced(each, chosen, change) for each in part)
        return part if all(new is old for new, old in zip(after, part, strict=True)) else after
    if not isinstance(part, Layer) or not is_dataclass(part):
        return part
    names = [each.name for each in fields(part)]
    before = tuple(getattr(part, name) for name in names)
    after = _replaced(before, chosen, change)
    if after is before:
        return part
    other = copy.copy(part)
    for name, value in zip(names, after, strict=True):
        object.__setattr__(other, name, value)
    return other


def known(value: Any, number: int) -> bool:
    """Say whether a hyperparameter is this very number; a traced one never is."""
    return isinstance(value, int | float) and bool(value == number)


def biased(layer: Any) -> bool:
    """Say whether a layer adds random biases."""
    scale = getattr(layer, "b_std", None)
    return scale is not None and not known(scale, 0)


def whole(what: str, value: Any, least: int = 1) -> int:
    """Return a count, refusing what is not a whole number of at least `least`."""
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if count < least:
        raise ValueError(f"{what} must be a whole number of at least {least}, got {value!r}")
    return count


def branched(shape: Any) -> bool:
    """Say whether a shape is that of several arrays."""
    return len(shape) > 0 and isinstance(shape[0], tuple | list)


def check_shape(name: str, shape: Any, positions: int | None = None) -> None:
    """Refuse inputs that are not (batch, positions…, channels)."""
    if branched(shape):
        raise ValueError(f"{name} takes one input, not {len(shape)} branches: put a FanIn layer before it")
    if len(shape) < 2 or (positions is not None and len(shape) != positions + 2):
        wanted = "at least 2" if positions is None else str(positions + 2)
        raise ValueError(
            f"{name} needs inputs of rank {wanted}, (batch, positions…, channels); got shape {tuple(shape)}"
        )


def branch_shapes(name: str, shape: Any) -> list[Shape]:
    """Return the shapes of several arrays, refusing that of one."""
    if not branched(shape):
        raise ValueError(
            f"{name} joins branches, and got one input of shape {tuple(shape)}: put FanOut and parallel before it"
        )
    return [tuple(each) for each in shape]


def one_block(name: str, block: Any) -> Block:
    if not isinstance(block, Block):
        raise ValueError(f"{name} takes one input, not {len(block)} branches: put a FanIn layer before it")
    return block


def scaled(array: Array, scale: Scalar) -> Array:
    return array if known(scale, 1) else array * scale


def normal(key: Any, shape: Shape) -> Array:
    return jax.random.normal(key, shape)
