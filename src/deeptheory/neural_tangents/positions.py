"""Layers without weights under their neural-tangents 0.6.5 names, arguments and defaults.

`batch_axis` and `channel_axis` say where inputs have their examples and channels. A function without words of its own
shows those of the layer of its name in `deeptheory.kernels`. Reference: `neural_tangents.stax` of Novak et al. 2020,
Neural Tangents: fast and easy infinite neural networks in Python; Novak et al. 2019 for pooling, Ba, Kiros and Hinton
2016 for normalization.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jax import lax

from deeptheory import kernels
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.kernels.layers.layer import Layer
from deeptheory.kernels.layers.positions import check_index
from deeptheory.neural_tangents.layouts import Axes, Placed, keeping
from deeptheory.neural_tangents.triples import named
from deeptheory.neural_tangents.wholes import Selected

__all__ = [
    "Aggregate",
    "AvgPool",
    "DotGeneral",
    "Flatten",
    "GlobalAvgPool",
    "GlobalSumPool",
    "ImageResize",
    "Index",
    "LayerNorm",
    "Slice",
    "SumPool",
]

Precision = str | lax.Precision | tuple[str | lax.Precision, str | lax.Precision] | None


def _known(precision: Precision) -> None:
    for each in precision if isinstance(precision, tuple) else [precision]:
        try:
            lax.Precision(each)
        except ValueError:
            raise ValueError(f"precision must be a member of lax.Precision or its word, got {each!r:.60}") from None


@named
def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    normalize_edges: bool = False,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Layer:
    """Means over windows of positions, K ← mean over both windows of K.

    `window_shape` and `strides` have one extent for every position axis (strides of 1 if None); `padding` is "VALID",
    "SAME" or "CIRCULAR". With "SAME", `normalize_edges` divides by the part of a window that lies inside.
    """
    strides = None if strides is None else tuple(strides)
    made = kernels.AvgPool(tuple(window_shape), strides, padding, normalize_edges=normalize_edges)
    return keeping("AvgPool", batch_axis, channel_axis, made)


@named
def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Layer:
    made = kernels.SumPool(tuple(window_shape), None if strides is None else tuple(strides), padding)
    return keeping("SumPool", batch_axis, channel_axis, made)


def _without_positions(name: str, batch: int, channel: int, layer: Layer) -> Layer:
    """Return a layer after which batch and channels alone are left, in the order they had."""
    if (batch, channel) == (0, -1):
        return layer

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        return layer, Axes(0, 1) if axes.batch < axes.channel else Axes(1, 0)

    return Placed(name, batch, channel, make)


@named
def GlobalAvgPool(batch_axis: int = 0, channel_axis: int = -1) -> Layer:
    return _without_positions("GlobalAvgPool", batch_axis, channel_axis, kernels.GlobalAvgPool())


@named
def GlobalSumPool(batch_axis: int = 0, channel_axis: int = -1) -> Layer:
    return _without_positions("GlobalSumPool", batch_axis, channel_axis, kernels.GlobalSumPool())


@named
def Flatten(batch_axis: int = 0, batch_axis_out: int = 0) -> Layer:
    if batch_axis_out not in (-2, -1, 0, 1):
        raise ValueError(f"batch_axis_out of Flatten is 0 or 1, got {batch_axis_out!r}")
    if batch_axis == 0 and batch_axis_out % 2 == 0:
        return kernels.Flatten()
    after = Axes(batch_axis_out % 2, 1 - batch_axis_out % 2)
    return Placed("Flatten", batch_axis, None, lambda rank, axes: (kernels.Flatten(), after))


@named
def LayerNorm(axis: int | Sequence[int] = -1, eps: float = 1e-12, batch_axis: int = 0, channel_axis: int = -1) -> Layer:
    own = (axis,) if isinstance(axis, int) else tuple(axis)
    if (batch_axis, channel_axis) == (0, -1):
        return kernels.LayerNorm(own, eps)

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        return kernels.LayerNorm(tuple(axes.order(rank).index(each % rank) for each in own), eps), axes

    return Placed("LayerNorm", batch_axis, channel_axis, make)


def identity(pattern: Any) -> Any:
    return pattern


@named
def Aggregate(
    aggregate_axis: int | Sequence[int] | None = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
    to_dense: Callable[[Any], Any] = identity,
    implementation: str = "DENSE",
) -> Layer:
    """Sums over the neighbours in a graph that comes with every input, `pattern` in calls of its functions.

    `aggregate_axis` are the axes of inputs that the graph connects, all positions if None. DENSE patterns, after
    `to_dense`, are edge weights (inputs, tail…, head…); SPARSE ones are lists of edges, as there, and are turned into
    adjacency matrices. Without a pattern it is the identity. Reference: Du et al. 2019, Graph neural tangent kernel.
    """
    if implementation not in ("DENSE", "SPARSE"):
        raise ValueError(f"the implementation of Aggregate is 'DENSE' or 'SPARSE', got {implementation!r}")
    own = (aggregate_axis,) if isinstance(aggregate_axis, int) else aggregate_axis
    listed = implementation == "SPARSE"
    decode = None if listed or to_dense is identity else to_dense

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        places = None
        if own is not None:
            if {each % rank for each in own} & {*axes}:
                raise ValueError("Aggregate acts on positions, not on the batch or the channels")
            places = tuple(axes.positions(rank).index(each % rank) for each in own)
        return kernels.Aggregate(places, listed, decode, optional=True), axes

    return Placed("Aggregate", batch_axis, channel_axis, make)


class _Slice:
    """`Slice[1, :, 2:8]` writes an index as one argument."""

    def __getitem__(self, index: Any) -> Any:
        return index


Slice = _Slice()


@named
def Index(idx: Any, batch_axis: int = 0, channel_axis: int = -1) -> Layer:
    """Part of the inputs, `x[idx]`; `idx` may be written `Slice[1, :, 2:8]`.

    Positions by integers and slices, inputs by slices; channels, in finite networks alone, by slices.
    """
    given = idx if isinstance(idx, tuple) else (idx,)
    check_index("idx", tuple(each for each in given if each is not Ellipsis))

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        dots = given.index(Ellipsis) if Ellipsis in given else len(given)
        rest = given[dots + 1 :]
        whole = (*given[:dots], *[slice(None)] * (rank - dots - len(rest)), *rest)
        if len(whole) != rank:
            raise ValueError(f"Index of {len(given)} entries met inputs of rank {rank}")
        if any(not isinstance(whole[axis], slice) for axis in axes):
            raise NotImplementedError("Index by an integer would remove the axis of the batch or of channels")
        gone = [axis for axis, each in enumerate(whole) if not isinstance(each, slice)]
        after = Axes(*(axis - sum(each < axis for each in gone) for axis in axes))
        places = kernels.Index(tuple(whole[axis] for axis in axes.positions(rank)))
        chosen = Selected(whole[axes.batch], whole[axes.channel])
        layers = [] if chosen == Selected(slice(None), slice(None)) else [chosen]
        return kernels.Serial((*layers, *([places] if set(map(str, places.index)) - {str(slice(None))} else []))), after

    return Placed("Index", batch_axis, channel_axis, make)


@named
def ImageResize(
    shape: Sequence[int],
    method: Any,
    antialias: bool = True,
    precision: Precision = lax.Precision.HIGHEST,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Layer:
    """Interpolation to other extents, as `jax.image.resize`, whose `method` and `antialias` are meant.

    `shape` is the whole output's, −1 where an extent is kept, as those of batch and channels are. `precision` is
    without effect: the full one of the inputs' type is used.
    """
    _known(precision)
    method = getattr(method, "name", method)  # a string, or a member of jax.image.ResizeMethod
    if not isinstance(method, str):
        raise TypeError(f"method must be a word or a member of jax.image.ResizeMethod, got {method!r:.60}")
    name = kernels.ImageResize((), method.lower(), antialias).method

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        if len(shape) != rank or any(shape[axis] != -1 for axis in axes):
            raise ValueError(
                f"ImageResize to {tuple(shape)} met inputs of rank {rank} with the batch on axis {axes.batch} and "
                f"channels on axis {axes.channel}, which are kept: their entries are -1"
            )
        extents = tuple(shape[axis] for axis in axes.positions(rank))
        resized = kernels.ImageResize(extents, name, antialias)
        return kernels.Identity() if set(extents) <= {-1} else resized, axes

    return Placed("ImageResize", batch_axis, channel_axis, make)


@named
def DotGeneral(
    *,
    lhs: Any = None,
    rhs: Any = None,
    dimension_numbers: Any = (((), ()), ((), ())),
    precision: Precision = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Layer:
    """`lax.dot_general` of the inputs with a constant, `lhs` or `rhs`, which acts on positions.

    Axes of the inputs are counted with batch and channels, which go where `lax.dot_general` puts them.
    `precision` is without effect: the full one of the inputs' type is used.
    """
    _known(precision)
    if lhs is not None and rhs is not None:
        raise ValueError("DotGeneral takes one constant, lhs or rhs: the other factor is the input")
    if lhs is None and rhs is None:
        return kernels.Identity()
    ours = 1 if rhs is None else 0  # which entry of each pair of axes speaks of the inputs
    constant = lhs if rhs is None else rhs
    numeric(**{"lhs" if rhs is None else "rhs": constant})

    def make(rank: int, axes: Axes) -> tuple[Layer, Axes]:
        contracted, batched = ([list(own) for own in pair] for pair in dimension_numbers)
        used = {axis % rank for axis in (*contracted[ours], *batched[ours])}
        if used & {*axes}:
            raise ValueError("DotGeneral acts on positions, not on the batch or the channels")
        for own in (contracted, batched):
            own[ours] = [axes.positions(rank).index(axis % rank) for axis in own[ours]]
        numbers = tuple(tuple(map(tuple, own)) for own in (contracted, batched))
        free = [axis for axis in range(rank) if axis not in used]
        others = getattr(constant, "ndim", 0) - len(contracted[ours]) - len(batched[ours])
        first = len(batched[ours]) + (others if rhs is None else 0)
        after = Axes(*(first + free.index(axis) for axis in axes))
        return kernels.Contraction(constant, numbers, rhs is None), after

    return Placed("DotGeneral", batch_axis, channel_axis, make)


doors(
    __name__,
    empty=("window_shape", "strides"),
    batch_axis="[-64, 64]",
    batch_axis_out="[-2, 1]",
    channel_axis="[-64, 64]",
    axis="[-64, 64]",
    aggregate_axis="[-64, 64]",
    shape="[-1, ∞)",
    eps="[0, ∞)",
)
