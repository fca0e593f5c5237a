"""Composition of layers: in a row, side by side, fanned out and in.

Reference: Novak et al. 2020; Yang 2019, Tensor programs I, for networks of any composition.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, branch_shapes, whole
from deeptheory.kernels.limits.arcs import root
from deeptheory.kernels.limits.block import Block, left_of, right_of, variances
from deeptheory.kernels.limits.close_pairs import mixing_gap

__all__ = [
    "FanInConcat",
    "FanInProd",
    "FanInSum",
    "FanOut",
    "Identity",
    "Parallel",
    "Serial",
    "parallel",
    "repeat",
    "serial",
]


def _keys(key: Any, count: int) -> list:
    return [None] * count if key is None else list(jax.random.split(key, count)) if count else []


def _records(record: Any, count: int) -> tuple:
    """What each of several layers recorded: nothing, in a network in which no layer needs to."""
    return (None,) * count if record is None else record


@dataclass(frozen=True)
class Serial(Layer):
    """`layers` one after the other, the output of each the input of the next."""

    layers: tuple[Layer, ...]

    def init(self, key, shape):
        parameters = []
        for layer, each in zip(self.layers, _keys(key, len(self.layers)), strict=True):
            shape, own = layer.init(each, shape)
            parameters.append(own)
        return shape, tuple(parameters)

    def apply(self, parameters, x, *, key=None, **extra):
        for layer, own, each in zip(self.layers, parameters, _keys(key, len(self.layers)), strict=True):
            x = layer.apply(own, x, key=each, **extra)
        return x

    def follow(self, block):
        records = []
        for layer in self.layers:
            block, record = layer.follow(block)
            records.append(record)
        return block, tuple(records)

    def kernel(self, block, left, right):
        left, right = (_records(each, len(self.layers)) for each in (left, right))
        for layer, one, two in zip(self.layers, left, right, strict=True):
            block = layer.kernel(block, one, two)
        return block

    def approach(self, gap, left, right):
        for layer, one, two in zip(self.layers, left, right, strict=True):
            gap = jnp.minimum(gap, layer.approach(gap, one, two))
        return gap

    def demand(self, wanted):
        for layer in reversed(self.layers):
            wanted = layer.demand(wanted)
        return wanted


def serial(*layers: Layer) -> Serial:
    """Compose layers in a row: serial(Dense(512), Relu(), Dense(1)) is a network with one hidden layer."""
    return Serial(layers)


def repeat(layer: Layer, count: int) -> Serial:
    """Compose a layer, or a block of layers, `count` times in a row, weights drawn anew each time."""
    return Serial((layer,) * whole("the number of repetitions", count, 0))


@dataclass(frozen=True)
class Parallel(Layer):
    """`branches` side by side: branch i acts on input i of a tuple, with weights of its own."""

    branches: tuple[Layer, ...]

    def _matched(self, inputs: Any) -> None:
        one = not isinstance(inputs, tuple | list) or any(isinstance(each, int) for each in inputs)  # or its shape
        if one or len(inputs) != len(self.branches):
            raise ValueError(
                f"a parallel of {len(self.branches)} branches needs as many inputs: put FanOut({len(self.branches)})"
                " before it"
            )

    def init(self, key, shape):
        self._matched(shape)
        keys = _keys(key, len(self.branches))
        pairs = [b.init(k, s) for b, k, s in zip(self.branches, keys, shape, strict=True)]
        return tuple(s for s, _ in pairs), tuple(p for _, p in pairs)

    def apply(self, parameters, x, *, key=None, **extra):
        self._matched(x)
        keys = _keys(key, len(self.branches))
        return tuple(
            b.apply(p, each, key=k, **extra) for b, p, each, k in zip(self.branches, parameters, x, keys, strict=True)
        )

    def follow(self, block):
        self._matched(block)
        pairs = [b.follow(each) for b, each in zip(self.branches, block, strict=True)]
        return tuple(b for b, _ in pairs), tuple(r for _, r in pairs)

    def kernel(self, block, left, right):
        self._matched(block)
        left, right = (_records(each, len(self.branches)) for each in (left, right))
        return tuple(
            b.kernel(each, one, two) for b, each, one, two in zip(self.branches, block, left, right, strict=True)
        )

    def demand(self, wanted):
        return Demand(*map(any, zip(*(branch.demand(wanted) for branch in self.branches), strict=True)))


def parallel(*branches: Layer) -> Parallel:
    """Place branches side by side, between `FanOut` and `FanInSum`, `FanInProd` or `FanInConcat` as a rule."""
    return Parallel(branches)


@dataclass(frozen=True)
class Identity(Layer):
    """Pass the input on as it is: the short cut of a residual block."""

    def apply(self, parameters, x, *, key=None, **extra):
        return x

    def kernel(self, block, left, right):
        return block

    def approach(self, gap, left, right):
        return gap


@dataclass(frozen=True)
class FanOut(Layer):
    """A tuple of `count` copies of the input, one for each branch of `parallel`."""

    count: int

    def __post_init__(self) -> None:
        whole("the number of branches of FanOut", self.count)

    def init(self, key, shape):
        return (tuple(shape),) * self.count, ()

    def apply(self, parameters, x, *, key=None, **extra):
        return (x,) * self.count

    def kernel(self, block, left, right):
        return (block,) * self.count


def _alike(name: str, blocks: Any) -> tuple[Block, ...]:
    if isinstance(blocks, Block) or not len(blocks):
        raise ValueError(f"{name} joins branches: put FanOut and parallel before it")
    if len({(b.spatial, b.full, b.paired) for b in blocks}) > 1:
        raise ValueError(f"{name} needs branches with the same positions, got {[b.spatial for b in blocks]}")
    return tuple(blocks)


def _tangent(block: Block) -> Any:
    return jnp.zeros_like(block.covariance) if block.tangent is None else block.tangent


def _total(blocks: tuple[Block, ...], weights: list[float], left: Any, right: Any, **changes: Any) -> Block:
    weighed = list(zip(weights, blocks, strict=True))
    tangents = [w * _tangent(b) for w, b in weighed if b.tangent is not None]
    total = blocks[0].replace(
        covariance=sum(w * b.covariance for w, b in weighed),
        tangent=sum(tangents) if tangents else None,
        **changes,
    )
    if any(b.deficit is None for b in blocks):
        return total
    ends = (jnp.stack([w * a for w, a in zip(weights, side, strict=True)]) for side in (left, right))
    return total.replace(deficit=sum((w * b.deficit for w, b in weighed), mixing_gap(total, *ends)))


@dataclass(frozen=True)
class FanInSum(Layer):
    """The sum of independent Gaussian branches: covariances add, and so do tangent kernels."""

    def init(self, key, shape):
        shapes = branch_shapes("FanInSum", shape)
        if len(set(shapes)) > 1:
            raise ValueError(f"FanInSum needs branches of one shape, got {shapes}")
        return shapes[0], ()

    def apply(self, parameters, x, *, key=None, **extra):
        return sum(x)

    def record(self, block):
        return tuple(map(variances, _alike("FanInSum", block)))

    def kernel(self, block, left, right):
        blocks = _alike("FanInSum", block)
        gaussian = all(b.gaussian for b in blocks)
        if not gaussian and len(blocks) > 1:
            raise ValueError("FanInSum needs Gaussian branches: end each with a Dense or convolutional layer")
        if len({b.channels for b in blocks}) > 1:
            raise ValueError(f"FanInSum needs branches of equal width, got {[b.channels for b in blocks]}")
        return _total(blocks, [1.0] * len(blocks), left, right, gaussian=gaussian)


@dataclass(frozen=True)
class FanInProd(Layer):
    """The elementwise product of independent branches: covariances multiply."""

    def init(self, key, shape):
        shapes = branch_shapes("FanInProd", shape)
        if len(set(shapes)) > 1:
            raise ValueError(f"FanInProd needs branches of one shape, got {shapes}")
        return shapes[0], ()

    def apply(self, parameters, x, *, key=None, **extra):
        product = x[0]
        for each in x[1:]:
            product = product * each
        return product

    def record(self, block):
        return tuple(map(variances, _alike("FanInProd", block)))

    def kernel(self, block, left, right):
        blocks = _alike("FanInProd", block)
        if len({b.channels for b in blocks}) > 1:
            raise ValueError(f"FanInProd needs branches of equal width, got {[b.channels for b in blocks]}")
        covariance, tangent, deficit = blocks[0].covariance, _tangent(blocks[0]), blocks[0].deficit
        for i, b in enumerate(blocks[1:], 1):
            if deficit is not None and b.deficit is not None:
                # √(aa′ · bb′) − kk′, from the deficits of k and of k′
                deficit = deficit * root(left_of(b, left[i])) * root(right_of(b, right[i])) + covariance * b.deficit
            else:
                deficit = None
            covariance, tangent = covariance * b.covariance, tangent * b.covariance + covariance * _tangent(b)
        return blocks[0].replace(
            covariance=covariance,
            deficit=deficit,
            tangent=tangent if blocks[0].with_tangent else None,
            gaussian=len(blocks) == 1 and blocks[0].gaussian,
        )


@dataclass(frozen=True)
class FanInConcat(Layer):
    """Concatenation of independent branches along channels (covariances average) or along a position axis."""

    axis: int = -1

    def _axis(self, rank: int) -> int:
        if not -rank <= self.axis < rank:
            raise ValueError(f"FanInConcat has no axis {self.axis}: its branches have rank {rank}")
        return self.axis % rank

    def init(self, key, shape):
        shapes = branch_shapes("FanInConcat", shape)
        axis = self._axis(len(shapes[0]))
        if len({(len(s), s[:axis], s[axis + 1 :]) for s in shapes}) > 1:
            raise ValueError(f"FanInConcat along axis {axis} needs branches that are alike elsewhere, got {shapes}")
        joined = (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])
        return joined, ()

    def apply(self, parameters, x, *, key=None, **extra):
        return jnp.concatenate(x, self.axis)

    def record(self, block):
        return tuple(map(variances, block))

    def kernel(self, block, left, right):
        if isinstance(block, Block):
            raise ValueError("FanInConcat joins branches: put FanOut and parallel before it")
        rank = len(block[0].spatial)
        axis = self._axis(rank + 2)
        if axis == 0:
            raise ValueError("FanInConcat along the batch axis mixes inputs and has no kernel here")
        if axis == rank + 1:
            blocks = _alike("FanInConcat", block)
            channels = sum(b.channels for b in blocks)
            shares = [b.channels / channels for b in blocks]
            return _total(blocks, shares, left, right, channels=channels, gaussian=False)
        if not all(b.gaussian for b in block):
            raise ValueError("FanInConcat along positions needs Gaussian branches: end each with a Dense layer")
        return _beside(tuple(block), axis - 1)


def _beside(blocks: tuple[Block, ...], dimension: int) -> Block:
    """Join along a position axis; positions of different branches are independent, so their covariance is 0."""
    extents = [b.spatial[dimension] for b in blocks]
    axes = blocks[0].position_axes[dimension]

    def join(arrays):
        placed = []
        for i, array in enumerate(arrays):
            pads = [(0, 0)] * array.ndim
            for axis in axes[1:]:
                pads[axis] = (sum(extents[:i]), sum(extents[i + 1 :]))
            placed.append(jnp.pad(array, pads))
        return jnp.concatenate(placed, axes[0])

    spatial = list(blocks[0].spatial)
    spatial[dimension] = sum(extents)
    return blocks[0].replace(
        covariance=join([b.covariance for b in blocks]),
        tangent=join([_tangent(b) for b in blocks]) if blocks[0].with_tangent else None,
        spatial=tuple(spatial),
    )


doors(__name__, axis="[-64, 64]", count="[0, 1e5]")
