"""Layers that act on all pairs of inputs at once: what selects or joins inputs, and layers made by hand.

The kernels of this library are computed in tiles of pairs, layer after layer inside a tile. At one of these layers the
kernel is put together, changed as a whole, and goes on through the layers after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.kernels.layers.layer import Layer
from deeptheory.kernels.layers.masks import hidden_after, masked
from deeptheory.kernels.limits.kernel import continued_kernel
from deeptheory.neural_tangents.kernel import block_diagonal, dressed

Sides = tuple[Any, Any]


class Whole(Layer):
    """A layer on the kernel between two sets of inputs."""

    def whole(self, kernel: Any) -> Any:
        raise NotImplementedError

    def missing(self, hidden: Any) -> Any:
        """Say which positions are masked after the layer."""
        return hidden


@dataclass(frozen=True)
class Selected(Whole):
    """Some inputs of the batch; on channels, which are infinitely many, a finite network alone can be indexed."""

    batch: Any
    channel: Any

    def init(self, key, shape):
        counts = [
            extent if index == slice(None) else len(range(extent)[index])
            for extent, index in ((shape[0], self.batch), (shape[-1], self.channel))
        ]
        return (counts[0], *shape[1:-1], counts[1]), ()

    def apply(self, parameters, x, *, key=None, **extra):
        return x[self.batch][..., self.channel]

    def missing(self, hidden):
        return hidden[self.batch]

    def whole(self, kernel):
        if self.channel != slice(None):
            raise NotImplementedError("Index cannot select channels, which are infinitely many")
        part = self.batch
        counts = [len(range(shape[0])[part]) for shape in (kernel.shape1, kernel.shape2)]
        pairs = {n: None if (v := getattr(kernel, n)) is None else v[part, part] for n in ("nngp", "ntk")}
        own = {n: None if (v := getattr(kernel, n)) is None else v[part] for n in ("cov1", "cov2")}
        shapes = {f"shape{i + 1}": (counts[i], *kernel.shape1[1:]) for i in (0, 1)}
        return kernel.replace(**pairs, **own, **shapes)


@dataclass(frozen=True)
class Stacked(Whole):
    """Independent Gaussian branches, one after the other along the batch."""

    def init(self, key, shape):
        return (sum(each[0] for each in shape), *shape[0][1:]), ()

    def apply(self, parameters, x, *, key=None, **extra):
        return kernels.FanInConcat(0).apply(parameters, x)

    def missing(self, hidden):
        return jnp.concatenate(hidden)

    def whole(self, kernel):
        if not all(each.is_gaussian for each in kernel):
            raise ValueError("FanInConcat along the batch needs Gaussian branches: end each with a Dense layer")
        if len({each.shape1[1:] for each in kernel}) > 1:
            raise ValueError(f"FanInConcat needs branches of one shape, got {[each.shape1 for each in kernel]}")
        return block_diagonal(list(kernel))


@dataclass(frozen=True, eq=False)
class HandMade(Whole):
    """Three functions as users write them: of parameters, of inputs, and of a `Kernel`."""

    init_fn: Callable[..., Any]
    apply_fn: Callable[..., Any]
    kernel_fn: Callable[..., Any]

    def init(self, key, shape):
        return self.init_fn(key, shape)

    def apply(self, parameters, x, *, key=None, **extra):
        return self.apply_fn(parameters, x, rng=key, **extra)

    def whole(self, kernel):
        return self.kernel_fn(dressed(kernel))


def has_whole(layer: Any) -> bool:
    parts = (*getattr(layer, "layers", ()), *getattr(layer, "branches", ()))
    return isinstance(layer, Whole) or any(map(has_whole, parts))


def through(network: Layer, start: Callable[[Layer], Any], *, pattern: Sides, hidden: Sides) -> Any:
    """Return kernels after a network: `start` computes those of its beginning, which go on layer by layer."""
    wrapped = masked if any(each is not None for each in hidden) else _itself
    if not has_whole(network):
        return start(wrapped(network))
    layers = network.layers if isinstance(network, kernels.Serial) else (network,)
    cut = next(i for i, layer in enumerate(layers) if has_whole(layer))
    before = kernels.Serial(tuple(layers[:cut]))

    def go_on(layer: Layer, kernel: Any, hidden: Sides) -> Any:
        if isinstance(layer, Whole):
            return layer.whole(kernel)
        if isinstance(layer, kernels.Parallel) and has_whole(layer):
            sides = zip(*(each or (None,) * len(layer.branches) for each in hidden), strict=True)
            return tuple(map(go_on, layer.branches, kernel, sides))
        if isinstance(layer, kernels.Serial) and has_whole(layer):
            for part in layer.layers:
                kernel, hidden = go_on(part, kernel, hidden), _hidden(part, hidden)
            return kernel
        return continued_kernel(wrapped(layer), kernel, pattern=pattern, hidden=hidden)

    return go_on(kernels.Serial(tuple(layers[cut:])), start(wrapped(before)), _hidden(before, hidden))


def _itself(layer: Layer) -> Layer:
    return layer


def _hidden(layer: Layer, hidden: Sides) -> Sides:
    first, second = (None if each is None else hidden_after(layer, each) for each in hidden)
    return first, second
