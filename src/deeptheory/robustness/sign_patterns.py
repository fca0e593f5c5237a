"""The patterns of awake and silent units of a ReLU network, one after the other, and the region where each occurs."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

__all__ = ["Region", "affine_regions"]

Layers = Sequence[tuple[Float[np.ndarray, "_out _in"], Float[np.ndarray, " _out"]]]


class Region(NamedTuple):
    """Where normals·δ ≥ limits these units are awake, and the outputs are slopes·δ + offsets."""

    awake: tuple[tuple[bool, ...], ...]
    slopes: Float[np.ndarray, "k d"]
    offsets: Float[np.ndarray, " k"]
    normals: Float[np.ndarray, "m d"]
    limits: Float[np.ndarray, " m"]


def affine_regions(
    layers: Layers,
    point: Float[np.ndarray, " d"],
    kept: Callable[[Float[np.ndarray, "m d"], Float[np.ndarray, " m"], bool], bool],
) -> Iterator[Region]:
    """Yield the regions on which a ReLU network is affine in the move δ from a point, that of the point first.

    `layers` are weights (m × n) and biases of f = W_L·relu(… relu(W₁x + b₁) …) + b_L. Units are fixed one after the
    other, on the side of the point first. A side is entered if `kept(normals, limits, own)` says so, where `own` tells
    whether it is the side of the point; it may say no to what is empty or farther than a search has come by then, and a
    branch that is left out is left out with all below it. Without it there are 2^units patterns, most of them empty.
    """

    def split(depth, slopes, offsets, awake, fixed, normals, limits):
        """Values of this layer before the ReLU are slopes·δ + offsets; `fixed` are the signs of its first units."""
        unit = len(fixed)
        if depth == len(layers) - 1:
            yield Region(awake, slopes, offsets, normals, limits)
        elif unit == len(offsets):
            (matrix, bias), on = layers[depth + 1], np.array(fixed, float)
            after = matrix @ (on[:, None] * slopes), matrix @ (on * offsets) + bias
            yield from split(depth + 1, *after, (*awake, fixed), (), normals, limits)
        else:
            own = bool(offsets[unit] >= 0)
            for side in (own, not own):
                sign = 1.0 if side else -1.0
                rows, ends = np.vstack([normals, sign * slopes[unit]]), np.append(limits, -sign * offsets[unit])
                if kept(rows, ends, side == own):
                    yield from split(depth, slopes, offsets, awake, (*fixed, side), rows, ends)

    matrix, bias = (np.asarray(each, float) for each in layers[0])
    return split(0, matrix, matrix @ point + bias, (), (), np.zeros((0, len(point))), np.zeros(0))
