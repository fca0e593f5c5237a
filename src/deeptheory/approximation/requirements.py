"""How many neurons does f need? A construction is made larger until its error, measured in the norm asked for, fits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.errors import measured_error
from deeptheory.approximation.staircases import hinges
from deeptheory.foundations.entrances import doors

__all__ = ["Requirement", "neurons_needed"]


class Requirement(NamedTuple):
    """A network that does what was asked, and what it took.

    `network` was built with `size`, has `units` neurons and the error `error`, measured in `norm` on `points` points a
    side; `tried` are the sizes that were built on the way, with their errors.
    """

    network: Any
    size: int
    units: int
    error: float
    norm: str
    points: int
    tried: tuple[tuple[int, float], ...]


def neurons_needed(
    f: Callable[..., Any],
    error: float,
    *,
    how: Callable[..., Any] = hinges,
    low: float | Float[np.ndarray, " d"] = 0.0,
    high: float | Float[np.ndarray, " d"] = 1.0,
    norm: str = "sup",
    points: int = 1025,
    largest: int = 4096,
) -> Requirement:
    """Return the smallest network of a construction whose error on a box is measured to be at most `error`.

    `how` is the construction, called as how(f, size, low, high): `staircases.staircase`, `sigmoid_staircase` and
    `hinges` of one input, `boxes.box_network` (near in L1 and L2) or `cosines.cosine_network` of several, or one of
    your own that returns something callable with a number of `units`. With numbers `low` and `high` f takes arrays
    of numbers, with arrays points of shape (n, d). The size is doubled until the error fits, then halved to a size
    whose predecessor does not fit. An error is never claimed that was not measured: if no size up to `largest` fits,
    that is said with the least error seen. The measurement is on a grid of `points` a side, so take it finer than the
    network; between the points see `errors.certified_sup_error`. An upper bound on what f needs: other
    constructions may do with fewer.
    """
    if np.ndim(low) != np.ndim(high):
        raise ValueError(f"low and high must both be numbers or both be arrays, got {low} and {high}")
    flat = np.ndim(low) == 0
    ends = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
    networks, errors = {}, {}

    def fits(size: int) -> bool:
        networks[size] = how(f, size, low, high)
        target = (lambda x: f(x[..., 0])) if flat else f
        errors[size] = measured_error(networks[size], target, *ends, norm=norm, points=points)
        return errors[size] <= error

    size = 2
    while not fits(size):
        if size == largest:
            raise ValueError(
                f"no network up to size {largest} has an error of at most {error} in {norm}: the least measured is "
                f"{min(errors.values()):.3g}"
            )
        size = min(2 * size, largest)
    below = size // 2
    while size - below > 1:
        middle = (size + below) // 2
        below, size = (below, middle) if fits(middle) else (middle, size)
    network = networks[size]
    return Requirement(network, size, network.units, errors[size], norm, points, tuple(sorted(errors.items())))


doors(__name__, error="(0, ∞)", points="[2, 10000000]", largest="[2, 100000]")
