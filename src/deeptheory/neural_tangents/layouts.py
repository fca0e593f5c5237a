"""Batch and channels on any axis: networks as users write them become networks over (batch, positions…, channels).

A layer whose axes are not the usual ones, or are counted from either end, is `Placed`. Before a network is used, at
the door, `settled` follows the axes through it once, refuses layers that do not fit together, and returns the plain
layers and where their outputs have batch and channels; inputs and outputs are transposed, nothing in between.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.kernels.layers.activations import Activation
from deeptheory.kernels.layers.layer import Layer
from deeptheory.neural_tangents.wholes import Stacked

NEUTRAL = (Activation, kernels.Identity, kernels.Dropout)
"""Layers that act on every entry alike, wherever batch and channels are."""
FAN_IN = (kernels.FanInSum, kernels.FanInProd, kernels.FanInConcat)


class Axes(NamedTuple):
    """Where batch and channels are, counted from the front."""

    batch: int
    channel: int

    def positions(self, rank: int) -> tuple[int, ...]:
        return tuple(axis for axis in range(rank) if axis not in self)

    def order(self, rank: int) -> tuple[int, ...]:
        """Return the axes as (batch, positions…, channels)."""
        return (self.batch, *self.positions(rank), self.channel)

    def inward(self, x: Any) -> Any:
        return jnp.transpose(x, self.order(x.ndim)) if self != usual(x.ndim) else jnp.asarray(x)

    def outward(self, x: Any) -> Any:
        order = self.order(x.ndim)
        return jnp.transpose(x, [order.index(axis) for axis in range(x.ndim)]) if self != usual(x.ndim) else x

    def shape_inward(self, shape: tuple) -> tuple:
        return tuple(shape[axis] for axis in self.order(len(shape)))

    def shape_outward(self, shape: tuple) -> tuple:
        order = self.order(len(shape))
        return tuple(shape[order.index(axis)] for axis in range(len(shape)))


def usual(rank: int) -> Axes:
    return Axes(0, rank - 1)


def counted(name: str, batch: int, channel: int, rank: int) -> Axes:
    """Return axes counted from the front, refusing those that an array of this rank does not have."""
    if rank < 2 or not all(-rank <= axis < rank for axis in (batch, channel)) or (batch - channel) % rank == 0:
        raise ValueError(
            f"{name} has batch and channels on two axes of its inputs, got batch_axis={batch} and "
            f"channel_axis={channel} for inputs of rank {rank}"
        )
    return Axes(batch % rank, channel % rank)


@dataclass(frozen=True, eq=False)
class Placed(Layer):
    """A layer that says where its inputs have batch and channels: `make(rank, axes)` returns it and those after it.

    `channel` is None for a layer that takes channels wherever they are.
    """

    name: str
    batch: int
    channel: int | None
    make: Callable[[int, Axes], tuple[Layer, Axes]]

    def axes(self, rank: int) -> Axes:
        if self.channel is not None:
            return counted(self.name, self.batch, self.channel, rank)
        batch = counted(self.name, self.batch, self.batch + 1, rank).batch
        return Axes(batch, rank - 1 if batch < rank - 1 else rank - 2)


def keeping(name: str, batch: int, channel: int, layer: Layer) -> Layer:
    """Return a layer that leaves batch and channels where they are."""
    return layer if (batch, channel) == (0, -1) else Placed(name, batch, channel, lambda rank, axes: (layer, axes))


def entrance(layer: Layer, shape: Any) -> Any:
    """Return where the inputs of a network have batch and channels: what its first layer with a say says."""
    if _several(shape):
        first = layer.layers[0] if isinstance(layer, kernels.Serial) and layer.layers else layer
        branches = first.branches if isinstance(first, kernels.Parallel) else [kernels.Identity()] * len(shape)
        return tuple(entrance(branch, each) for branch, each in zip(branches, shape, strict=False))
    return _said(layer, len(shape)) or usual(len(shape))


def _said(layer: Any, rank: int) -> Axes | None:
    if isinstance(layer, Placed):
        return layer.axes(rank)
    if isinstance(layer, kernels.Serial | kernels.Parallel):
        parts = layer.layers if isinstance(layer, kernels.Serial) else layer.branches
        return next((found for part in parts if (found := _said(part, rank)) is not None), None)
    return None if isinstance(layer, (*NEUTRAL, *FAN_IN, kernels.FanOut)) else usual(rank)


def settled(layer: Layer, shape: Any, axes: Any) -> tuple[Layer, Any, Any]:
    """Return a network without placed layers, its output shape, (batch, positions…, channels), and the output's axes.

    `shape` is that of its inputs, transposed already, `axes` says where their batch and channels were.
    """
    if isinstance(layer, kernels.Serial):
        layers = []
        for part in layer.layers:
            part, shape, axes = settled(part, shape, axes)
            layers.append(part)
        return kernels.Serial(tuple(layers)), shape, axes
    if isinstance(layer, kernels.Parallel):
        if not _several(shape) or len(shape) != len(layer.branches):
            return layer, shape, axes  # which says so when it is used
        found = [settled(*each) for each in zip(layer.branches, shape, axes, strict=True)]
        branches, shapes, after = zip(*found, strict=True)
        return kernels.Parallel(branches), shapes, after
    if isinstance(layer, kernels.FanOut):
        return layer, (shape,) * layer.count, (axes,) * layer.count
    if isinstance(layer, FAN_IN):
        return _joined(layer, shape, axes)
    if isinstance(layer, NEUTRAL):
        return layer, shape, axes
    rank = len(shape)
    if isinstance(layer, kernels.Flatten) and axes.batch == 0:
        return layer, shape_after(layer, shape), Axes(0, 1)
    if isinstance(layer, Placed):
        wanted = layer.axes(rank)
        if axes.batch != wanted.batch or (layer.channel is not None and axes != wanted):
            _refuse(layer.name, wanted, axes)
        layer, after = layer.make(rank, axes)
        return layer, shape_after(layer, shape), after
    if axes != usual(rank):
        _refuse(type(layer).__name__, usual(rank), axes)
    after = shape_after(layer, shape)
    return layer, after, usual(len(after))


def _joined(layer: Any, shapes: Any, axes: Any) -> tuple[Layer, Any, Any]:
    if not _several(shapes):
        return layer, shapes, axes  # which says so when it is used
    if len(set(axes)) > 1:
        raise ValueError(f"branches have batch and channels on different axes: {', '.join(map(str, axes))}")
    own = axes[0]
    if isinstance(layer, kernels.FanInConcat) and -len(shapes[0]) <= layer.axis < len(shapes[0]):
        axis = own.order(len(shapes[0])).index(layer.axis % len(shapes[0]))
        layer = kernels.FanInConcat(axis) if axis else Stacked()
    return layer, shape_after(layer, shapes), own


def _refuse(name: str, wanted: Axes, axes: Axes) -> None:
    raise ValueError(
        f"{name} has batch and channels on axes {wanted.batch} and {wanted.channel}, but what comes to it has them on "
        f"{axes.batch} and {axes.channel}"
    )


def shape_after(layer: Layer, shape: Any) -> Any:
    found: list[Any] = []
    jax.eval_shape(lambda key: found.append(layer.init(key, shape)[0]), jax.random.key(0))  # no weight is drawn
    return found[0]


def _several(shape: Any) -> bool:
    return bool(shape) and isinstance(shape[0], tuple | list)


def each(function: Callable[..., Any], tree: Any, axes: Any) -> Any:
    """Apply to the axes of every array, or shape, and to itself."""
    if isinstance(axes, Axes):
        return function(axes, tree)
    return tuple(each(function, *pair) for pair in zip(tree, axes, strict=True))
