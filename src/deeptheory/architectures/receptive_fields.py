"""What an output sees of the input, how many weights sharing saves, and tests of equivariance to the last digit.

Reference: lucchi Secs. 10.1.1 and 10.1.3; Davis, Circulant Matrices (1979).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from deeptheory.architectures.feature_maps import output_size
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "ParameterCounts",
    "parameter_counts",
    "receptive_field_sizes",
    "seen_inputs",
    "shift_average",
    "shift_equivariance_defect",
    "shift_invariance_defect",
]

Network = Callable[..., Float[Array, "..."]]
Images = Float[AnyArray, "*batch rows columns channels"]


def receptive_field_sizes(windows: Sequence[int], strides: Sequence[int] | None = None) -> Int[np.ndarray, " layers"]:
    """How many inputs, along one axis, an output of each layer sees: r_l = r_{l−1} + (F_l − 1) ∏_{k<l} s_k, r_0 = 1.

    Convolutions and poolings count alike, the first one first. Strides are 1 unless given. At the border of an image
    less is seen. `windows` are the F_l, `strides` the s_l. Reference: lucchi Sec. 10.1.3 ("deeper layers cover larger
    regions").
    """
    strides = [1] * len(windows) if strides is None else strides
    if len(strides) != len(windows):
        raise ValueError(f"strides must be one for each of the {len(windows)} windows, got {len(strides)}")
    jumps = np.cumprod([1, *strides[:-1]])
    return 1 + np.cumsum((np.asarray(windows) - 1) * jumps)


def seen_inputs(
    network: Network, image: Float[AnyArray, "rows columns channels"], place: tuple[int, int]
) -> Bool[np.ndarray, "rows columns"]:
    """Which places of the input have a gradient in the output at `place`: the receptive field as it is.

    The network maps an image to a feature map. A place that is seen but has no slope at this image (behind a ReLU that
    is off, a maximum that is taken elsewhere) is missed: take an image, or weights, for which that does not happen.
    """
    slopes = jax.jit(jax.jacrev(lambda x: network(x)[place].ravel()))(jnp.asarray(image))
    return np.asarray(jnp.any(slopes != 0, (0, -1)))


class ParameterCounts(NamedTuple):
    """Weights, without biases, of three layers with the same inputs and outputs."""

    shared: int
    """one filter for all places: a convolution"""
    local: int
    """a filter of its own at every place"""
    dense: int
    """every output sees every input"""


def parameter_counts(
    *, rows: int, columns: int, channels: int, filters: int, window: int, stride: int = 1, padding: int = 0
) -> ParameterCounts:
    """What locality and weight sharing save: weights of a convolution, of local filters, and of a dense layer.

    F²·C·M, then H′W′ times as many, then (H W C)(H′W′M). In one dimension, with D entries and K taps, the last is D(D −
    K + 1) against K (lucchi Problem 10.1). Images are H × W = `rows` × `columns` with C `channels`, the filters M of
    side F = `window`; feature maps are H′ × W′ by `output_size` with `stride` and `padding`. Reference: lucchi Sec.
    10.1.3.
    """
    sizes = {"window": window, "stride": stride, "padding": padding}
    places = output_size(rows, **sizes) * output_size(columns, **sizes)
    shared = window**2 * channels * filters
    return ParameterCounts(shared, places * shared, rows * columns * channels * places * filters)


def shift_equivariance_defect(network: Network, images: Images, shift: tuple[int, int], *, stride: int = 1) -> float:
    """How far shifting and the network are from commuting: max |f(S^(stride·shift) x) − S^shift f(x)|.

    Shifts go around (circular), by `shift` places of the output and `stride` times as many of the input, downwards and
    to the right. Zero, or rounding, for convolutions with circular boundary of that stride; zeros at the border break
    it, and so does a shift of the input that is no multiple of the stride.
    """
    before = network(_rolled(images, (shift[0] * stride, shift[1] * stride)))
    return float(jnp.abs(before - _rolled(network(jnp.asarray(images)), shift)).max())


def shift_invariance_defect(network: Network, images: Images, shift: tuple[int, int]) -> float:
    """How much a circular shift of the images changes what a network says of them: max |f(S x) − f(x)|."""
    return float(jnp.abs(network(_rolled(images, shift)) - network(jnp.asarray(images))).max())


def shift_average(matrix: Float[AnyArray, "n n"]) -> Float[Array, "n n"]:
    """The mean of S⁻ᵏ M Sᵏ over all n circular shifts: the nearest matrix that commutes with shifts.

    It is circulant, with the means of the wrapped diagonals of M: linear and shift-equivariant means convolution.
    """
    matrix = jnp.asarray(matrix)
    n = len(matrix)
    diagonals = jnp.stack([jnp.diagonal(jnp.roll(matrix, -k, 0)).mean() for k in range(n)])
    return diagonals[(jnp.arange(n)[:, None] - jnp.arange(n)) % n]


def _rolled(images: Any, shift: tuple[int, int]) -> Array:
    return jnp.roll(jnp.asarray(images), shift, (-3, -2))


doors(
    __name__,
    windows="[1, 65536]",
    strides="[1, 65536]",
    rows="[1, 65536]",
    columns="[1, 65536]",
    channels="[1, 65536]",
    filters="[1, 65536]",
    window="[1, 65536]",
    stride="[1, 65536]",
    padding="[0, 65536]",
    shift="[-65536, 65536]",
    place="[-65536, 65536]",
)
