"""Layers with weights under their neural-tangents 0.6.5 names, arguments and defaults.

`out_dim` and `out_chan` are the `width` and `filter_shape` is the `window` of the layers of `deeptheory.kernels`, whose
words are shown; `batch_axis` and `channel_axis` say where inputs have their examples and channels. `dimension_numbers`
names the axes of inputs, filters and outputs by letters, as ("NHWC", "HWIO", "NHWC"). Reference: `neural_tangents.stax`
of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in Python; the papers are in
`kernels.layers`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.convolution import Conv as _Conv
from deeptheory.kernels.layers.layer import Layer, Scalar
from deeptheory.neural_tangents.layouts import Axes, Placed, keeping
from deeptheory.neural_tangents.triples import Triple, named

__all__ = ["Conv", "ConvLocal", "ConvTranspose", "Dense", "GlobalSelfAttention"]


@named
def Dense(
    out_dim: int,
    W_std: Scalar = 1.0,
    b_std: Scalar | None = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
    parameterization: str = "ntk",
    s: tuple[int, int] = (1, 1),
) -> Layer:
    made = kernels.Dense(out_dim, W_std, b_std, parameterization.lower(), (s[0], s[1]))
    return keeping("Dense", batch_axis, channel_axis, made)


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
    ) -> Layer:
        window, steps = tuple(filter_shape), None if strides is None else tuple(strides)
        rest = (str(padding), W_std, b_std, parameterization.lower(), (s[0], s[1]))
        if dimension_numbers is None:
            return kind(out_chan, window, steps, *rest)
        before, filters, after = dimension_numbers
        letters, own, ends = (
            [c for c in spec if c not in taken]
            for spec, taken in ((before, "NC"), (filters or "", "IO"), (after, "NC"))
        )
        if len(window) != len(own) or not sorted(letters) == sorted(own) == sorted(ends):
            raise ValueError(
                f"dimension_numbers of {kind.__name__} name N and C, I and O, N and C, and {len(window)} positions "
                f"by one letter each, got {dimension_numbers!r}"
            )
        # Positions come in the order of the inputs' letters, windows in that of the filters'.
        order = [own.index(letter) for letter in letters]
        window, steps = tuple(window[i] for i in order), steps and tuple(steps[i] for i in order)
        made = kind(out_chan, window, steps, *rest)
        made = made if ends == letters else kernels.Serial((made, Reordered(tuple(map(letters.index, ends)))))
        axes = Axes(after.index("N"), after.index("C"))
        return Placed(kind.__name__, before.index("N"), before.index("C"), lambda rank, found: (made, axes))

    layer.__name__ = layer.__qualname__ = kind.__name__
    return named(layer)


@dataclass(frozen=True)
class Reordered(Layer):
    """The position axes in another order."""

    order: tuple[int, ...]

    def init(self, key, shape):
        return (shape[0], *(shape[1 + axis] for axis in self.order), shape[-1]), ()

    def apply(self, parameters, x, *, key=None, **extra):
        return jnp.transpose(x, (0, *(1 + axis for axis in self.order), x.ndim - 1))

    def missing(self, hidden: Any) -> Any:
        return jnp.transpose(hidden, (0, *(1 + axis for axis in self.order)))

    def kernel(self, block, left, right):
        sides = zip(*(block.position_axes[axis] for axis in self.order), strict=True)
        axes = [axis for side in sides for axis in side]
        rest = range(len(axes), block.covariance.ndim)
        spatial = tuple(block.spatial[axis] for axis in self.order)
        return block.map(lambda array: jnp.transpose(array, (*axes, *rest)), spatial=spatial)


Conv = _convolution(kernels.Conv)
ConvLocal = _convolution(kernels.ConvLocal)
ConvTranspose = _convolution(kernels.ConvTranspose)


@named
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
) -> Layer:
    """Multi-head attention over all positions, concat_h[ζ(Q_h K_hᵀ) V_h] W_out + b (Hron et al. 2020).

    `n_chan_out`, `n_chan_key`, `n_chan_val` are the widths of outputs, of keys and queries, and of values, `n_heads`
    their number. `linear_scaling` divides QKᵀ by the key width and lets queries share the keys' weights; without it QKᵀ
    is divided by the root, and only `attention_mechanism` "IDENTITY" has a kernel ("SOFTMAX", "ABS", "RELU" are the
    others). `W_…_std`, `b_std` scale weights and biases. `pos_emb_type` "SUM" or "CONCAT" shows keys and queries (and
    values if `val_pos_emb`) a random embedding of positions of width `n_chan_pos_emb`, scale `W_pos_emb_std` and
    covariance `pos_emb_decay_fn`(Σ|i − j|^`pos_emb_p_norm`).
    """
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
        embedding_power=pos_emb_p_norm,
        embedding_decay=pos_emb_decay_fn,
        embedding_width=n_chan_pos_emb,
        W_embedding_std=W_pos_emb_std,
        embed_values=val_pos_emb,
    )
    return keeping("GlobalSelfAttention", batch_axis, channel_axis, layer)


doors(__name__, empty=("filter_shape", "strides"), batch_axis="[-64, 64]", channel_axis="[-64, 64]")
