"""Layers under their neural-tangents 0.6.5 names, arguments and defaults; each is a triple of functions."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from deeptheory import kernels
from deeptheory.doors import doors
from deeptheory.kernels.convolution import Conv as _Conv
from deeptheory.kernels.layer import Scalar
from deeptheory.neural_tangents.triples import Triple, layer_of, only_default, triple

__all__ = [
    "ABRelu",
    "Abs",
    "Aggregate",
    "AvgPool",
    "Conv",
    "ConvLocal",
    "ConvTranspose",
    "Cos",
    "Dense",
    "DotGeneral",
    "Dropout",
    "Elementwise",
    "ElementwiseNumerical",
    "Erf",
    "Exp",
    "ExpNormalized",
    "FanInConcat",
    "FanInProd",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gabor",
    "Gaussian",
    "Gelu",
    "GlobalAvgPool",
    "GlobalSelfAttention",
    "GlobalSumPool",
    "Hermite",
    "Identity",
    "ImageResize",
    "Index",
    "LayerNorm",
    "LeakyRelu",
    "Monomial",
    "Polynomial",
    "Rbf",
    "RectifiedMonomial",
    "Relu",
    "Sigmoid_like",
    "Sign",
    "Sin",
    "Slice",
    "SumPool",
    "parallel",
    "repeat",
    "serial",
]


class _Slice:
    """`Slice[1, :, 2:8]` writes an index as one argument."""

    def __getitem__(self, index: Any) -> Any:
        return index


Slice = _Slice()


def serial(*layers: Any) -> Triple:
    return triple(kernels.serial(*map(layer_of, layers)))


def parallel(*layers: Any) -> Triple:
    return triple(kernels.parallel(*map(layer_of, layers)))


def repeat(layer: Any, n: int) -> Triple:
    return triple(kernels.repeat(layer_of(layer), n))


def Dense(
    out_dim: int,
    W_std: Scalar = 1.0,
    b_std: Scalar | None = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
    parameterization: str = "ntk",
    s: tuple[int, int] = (1, 1),
) -> Triple:
    only_default("Dense", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    return triple(kernels.Dense(out_dim, W_std, b_std, parameterization.lower(), (s[0], s[1])))


def _convolution(kind: type[_Conv]) -> Callable[..., Triple]:
    def layer(
        out_chan: int,
        filter_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        W_std: Scalar = 1.0,
        b_std: Scalar | None = None,
        dimension_numbers: tuple[str, str, str] | None = None,
        parameterization: str = "ntk",
        s: tuple[int, int] = (1, 1),
    ) -> Triple:
        if isinstance(filter_shape, int) or isinstance(strides, int):
            raise ValueError(
                f"{kind.__name__} needs a filter extent and a stride for every position axis, as (3, 3); "
                f"got {filter_shape!r} and {strides!r}"
            )
        usual = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NHWDC", "HWDIO", "NHWDC")}
        only_default(kind.__name__, dimension_numbers=(dimension_numbers, usual.get(len(filter_shape))))
        strides = None if strides is None else tuple(strides)
        made = kind(
            out_chan, tuple(filter_shape), strides, str(padding), W_std, b_std, parameterization.lower(), (s[0], s[1])
        )
        return triple(made)

    layer.__name__ = layer.__qualname__ = kind.__name__
    return layer


Conv = _convolution(kernels.Conv)
ConvLocal = _convolution(kernels.ConvLocal)
ConvTranspose = _convolution(kernels.ConvTranspose)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    normalize_edges: bool = False,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Triple:
    only_default("AvgPool", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    strides = None if strides is None else tuple(strides)
    return triple(kernels.AvgPool(tuple(window_shape), strides, padding, normalize_edges=normalize_edges))


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Triple:
    only_default("SumPool", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    return triple(kernels.SumPool(tuple(window_shape), None if strides is None else tuple(strides), padding))


def GlobalAvgPool(batch_axis: int = 0, channel_axis: int = -1) -> Triple:
    only_default("GlobalAvgPool", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    return triple(kernels.GlobalAvgPool())


def GlobalSumPool(batch_axis: int = 0, channel_axis: int = -1) -> Triple:
    only_default("GlobalSumPool", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    return triple(kernels.GlobalSumPool())


def Flatten(batch_axis: int = 0, batch_axis_out: int = 0) -> Triple:
    only_default("Flatten", batch_axis=(batch_axis, 0), batch_axis_out=(batch_axis_out, 0))
    return triple(kernels.Flatten())


def Identity() -> Triple:
    return triple(kernels.Identity())


def Index(idx: Any, batch_axis: int = 0, channel_axis: int = -1) -> Triple:
    """Positions alone are indexed: the first entry (batch) and, if all axes are given, the last are `:`."""
    only_default("Index", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    index = idx if isinstance(idx, tuple) else (idx,)
    if index[0] is Ellipsis:
        if index[-1] != slice(None):
            raise ValueError("Index cannot select channels, which are infinitely many")
        return triple(kernels.Index((Ellipsis, *index[1:-1])))
    if index[0] != slice(None):
        raise ValueError("Index cannot select inputs of the batch: index the array instead")
    return triple(_AllButChannels(index[1:]))


class _AllButChannels(kernels.Index):
    """An index that may or may not name the channel axis, which is then `:`."""

    def transform(self, x):
        index = self.index
        if len(index) == x.ndim + 1 and Ellipsis not in index:
            if index[-1] != slice(None):
                raise ValueError("Index cannot select channels, which are infinitely many")
            index = index[:-1]
        return self.chosen(x, index)


def ImageResize(
    shape: Sequence[int],
    method: Any,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Triple:
    """`shape` is the whole output's; its batch and channel entries (usually −1) are not read."""
    only_default("ImageResize", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    name = getattr(method, "name", method).lower()  # a string, or a member of jax.image.ResizeMethod
    return triple(kernels.ImageResize(tuple(shape[1:-1]), name, antialias))


def DotGeneral(
    *,
    lhs: Any = None,
    rhs: Any = None,
    dimension_numbers: Any = (((), ()), ((), ())),
    precision: Any = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Triple:
    """Axes of the inputs are counted with the batch, as `lax.dot_general` does; batch and channels stay in place."""
    only_default("DotGeneral", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    if lhs is not None and rhs is not None:
        raise ValueError("DotGeneral takes one constant, lhs or rhs: the other factor is the input")
    if lhs is None and rhs is None:
        return Identity()
    ours = 1 if rhs is None else 0  # which entry of each pair of axes speaks of the inputs
    contracted, batched = ([list(axes) for axes in pair] for pair in dimension_numbers)
    if {0, -1} & {*contracted[ours], *batched[ours]}:
        raise ValueError("DotGeneral acts on positions, not on the batch or the channels: see Aggregate for the batch")
    for axes in (contracted, batched):
        axes[ours] = [_position(axis) for axis in axes[ours]]
    numbers = tuple(tuple(map(tuple, axes)) for axes in (contracted, batched))
    return triple(kernels.Contraction(lhs if rhs is None else rhs, numbers, rhs is None))


def _position(axis: int) -> int:
    """Count an axis among the positions, which stand between the batch and the channels."""
    return axis - 1 if axis > 0 else axis + 1


def identity(pattern: Any) -> Any:
    return pattern


def Aggregate(
    aggregate_axis: int | Sequence[int] | None = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
    to_dense: Callable[[Any], Any] = identity,
    implementation: str = "DENSE",
) -> Triple:
    """SPARSE patterns are lists of edges, as there; they are turned into adjacency matrices."""
    only_default("Aggregate", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    if implementation not in ("DENSE", "SPARSE"):
        raise ValueError(f"the implementation of Aggregate is 'DENSE' or 'SPARSE', got {implementation!r}")
    axes = (aggregate_axis,) if isinstance(aggregate_axis, int) else aggregate_axis
    if axes is not None and {0, -1} & {*axes}:
        raise ValueError("Aggregate acts on positions, not on the batch or the channels")
    axes = None if axes is None else tuple(map(_position, axes))
    listed = implementation == "SPARSE"
    return triple(kernels.Aggregate(axes, listed, None if listed or to_dense is identity else to_dense))


def FanOut(num: int) -> Triple:
    return triple(kernels.FanOut(num))


def FanInSum() -> Triple:
    return triple(kernels.FanInSum())


def FanInProd() -> Triple:
    return triple(kernels.FanInProd())


def FanInConcat(axis: int = -1) -> Triple:
    return triple(kernels.FanInConcat(axis))


def LayerNorm(
    axis: int | Sequence[int] = -1, eps: float = 1e-12, batch_axis: int = 0, channel_axis: int = -1
) -> Triple:
    only_default("LayerNorm", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    return triple(kernels.LayerNorm((axis,) if isinstance(axis, int) else tuple(axis), eps))


def Dropout(rate: Scalar, mode: str = "train") -> Triple:
    """`rate` is the probability to keep a unit."""
    if mode not in ("train", "test"):
        raise ValueError(f"the mode of Dropout is 'train' or 'test', got {mode!r}")
    return triple(kernels.Dropout(rate, mode == "train"))


def GlobalSelfAttention(
    n_chan_out: int,
    n_chan_key: int,
    n_chan_val: int,
    n_heads: int,
    linear_scaling: bool = True,
    W_key_std: Scalar = 1.0,
    W_value_std: Scalar = 1.0,
    W_query_std: Scalar = 1.0,
    W_out_std: Scalar = 1.0,
    b_std: Scalar | None = None,
    attention_mechanism: str = "SOFTMAX",
    pos_emb_type: str = "NONE",
    pos_emb_p_norm: Scalar = 2,
    pos_emb_decay_fn: Callable[[Any], Any] | None = None,
    n_chan_pos_emb: int | None = None,
    W_pos_emb_std: Scalar = 1.0,
    val_pos_emb: bool = False,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Triple:
    only_default("GlobalSelfAttention", batch_axis=(batch_axis, 0), channel_axis=(channel_axis, -1))
    layer = kernels.SelfAttention(
        n_chan_out,
        n_chan_key,
        n_chan_val,
        n_heads,
        linear_scaling,
        W_key_std,
        W_value_std,
        W_query_std,
        W_out_std,
        b_std,
        mechanism=attention_mechanism,
        embedding=pos_emb_type,
        embedding_power=float(pos_emb_p_norm),
        embedding_decay=pos_emb_decay_fn,
        embedding_width=n_chan_pos_emb,
        W_embedding_std=W_pos_emb_std,
        embed_values=val_pos_emb,
    )
    return triple(layer)


def Relu(do_stabilize: bool = False) -> Triple:
    """`do_stabilize` is accepted and not needed: correlations are normalized before they enter an arccosine."""
    return triple(kernels.Relu())


def LeakyRelu(alpha: Scalar, do_stabilize: bool = False) -> Triple:
    return triple(kernels.LeakyRelu(alpha))


def ABRelu(a: Scalar, b: Scalar, do_stabilize: bool = False) -> Triple:
    return triple(kernels.Rectifier(a, b))


def Abs(do_stabilize: bool = False) -> Triple:
    return triple(kernels.Abs())


def Erf(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Triple:
    return triple(kernels.Erf(a, b, c))


def Sigmoid_like() -> Triple:
    return triple(kernels.SigmoidLike())


def Gelu(approximate: bool = False) -> Triple:
    return triple(kernels.Gelu(approximate))


def Sin(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Triple:
    return triple(kernels.Sin(a, b, c))


def Cos(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Triple:
    return triple(kernels.Cos(a, b, c))


def Rbf(gamma: Scalar = 1.0) -> Triple:
    return triple(kernels.Rbf(gamma))


def Sign() -> Triple:
    return triple(kernels.Sign())


def Exp(a: Scalar = 1, b: Scalar = 1) -> Triple:
    return triple(kernels.Exp(a, b))


def ExpNormalized(gamma: Scalar = 1, shift: Scalar = -1, do_clip: bool = False) -> Triple:
    return triple(kernels.ExpNormalized(gamma, shift))


def Gaussian(a: Scalar = 1, b: Scalar = -1) -> Triple:
    return triple(kernels.Gaussian(a, b))


def Gabor() -> Triple:
    return triple(kernels.Gabor())


def Hermite(degree: int) -> Triple:
    """Exact for inputs of any variance; neural-tangents assumes variance 1, where both agree."""
    return triple(kernels.Hermite(degree))


def Monomial(degree: int) -> Triple:
    return triple(kernels.Monomial(degree))


def RectifiedMonomial(degree: int) -> Triple:
    return triple(kernels.RectifiedMonomial(degree))


def Polynomial(coef: Sequence[Scalar]) -> Triple:
    return triple(kernels.Polynomial(tuple(c if isinstance(c, jax.Array) else float(c) for c in coef)))


def Elementwise(
    fn: Callable[[Any], Any] | None = None,
    nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
    d_nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
) -> Triple:
    """Functions of scalars, vectorized here."""
    several = [None if f is None else jnp.vectorize(f) for f in (fn, nngp_fn, d_nngp_fn)]
    return triple(kernels.Elementwise(*several))


def ElementwiseNumerical(fn: Callable[[Any], Any], deg: int, df: Callable[[Any], Any] | None = None) -> Triple:
    slope = None if df is None else jnp.vectorize(df)
    return triple(kernels.Numerical(jnp.vectorize(fn), deg, (), slope))


doors(__name__)
