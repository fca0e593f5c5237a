"""How many neurons does f need? A construction is made larger until its error, in the norm asked for, is verified.

Reference: handbook Sec. 1.1.2, which asks the question; the search is ours.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from deeptheory.approximation.errors import certified_error, measured_error
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.approximation.staircases import hinges
from deeptheory.calculus.certified import maximum
from deeptheory.foundations.entrances import doors

__all__ = ["Requirement", "neurons_needed"]


class Requirement(NamedTuple):
    """A network that does what was asked, and what it took.

    `network` was built with `size`, has `units` neurons and the error `error` in `norm`; `verified` says in words how
    that is known; `points` a side were looked at; `tried` are the sizes that were built on the way, with their errors.
    """

    network: Any
    size: int
    units: int
    error: float
    norm: str
    verified: str
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
    lipschitz: float | None = None,
    certain: bool = False,
    points: int = 1025,
    largest: int = 4096,
    boxes: int = 50_000,
) -> Requirement:
    """Return the smallest network of a construction whose error on a box is verified to be at most `error`.

    `how` is the construction, called as how(f, size, low, high): `staircases.staircase`, `sigmoid_staircase` and
    `hinges` of one input, `boxes.box_network` (near in L1 and L2) or `cosines.cosine_network` of several, or one of
    your own that returns something callable with a number of `units`. With numbers `low` and `high` f takes arrays
    of numbers, with arrays points of shape (n, d). From 2 on the size is doubled until the error fits, then halved to
    a size whose predecessor was not verified to fit. An error is never claimed that was not verified: if no size up to
    `largest` fits, that is said with the least error seen. An upper bound on what f needs: other constructions may do
    with fewer.

    There are three ways to verify. Without an option the error is measured on a grid of `points` a side and, where it
    fits, again on one twice as fine; between the points it is not known, so take the grid finer than what f does. With
    `lipschitz`, a ρ with |f(x) − f(y)| ≤ ρ|x − y|, it is bounded between the points too, for thresholds and ReLUs of
    one input (`errors.certified_error`, on points − 1 cells). With `certain=True` the largest |network − f| is enclosed
    by interval arithmetic on up to so many `boxes` (`calculus.certified.maximum`), in sup only: f and the network must
    be made of JAX's functions, or be one of NumPy's elementary ones, and take one point as well as many. Not for more
    than a few inputs or a few hundred units; a size within a thousandth of the error wanted may be passed over.
    """
    if np.ndim(low) != np.ndim(high):
        raise ValueError(f"low and high must both be numbers or both be arrays, got {low} and {high}")
    flat = np.ndim(low) == 0
    ends = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
    if lipschitz is not None and (certain or not flat):
        raise ValueError("lipschitz must stand without certain=True, and with numbers low and high")
    if certain and norm != "sup":
        raise ValueError(f"norm must be sup where the error is to be certain by intervals, got {norm!r}")
    given = _of_jax(f) if certain else f
    target = (lambda x: given(x[..., 0])) if flat else given
    fine = points - 1 if lipschitz is not None else 2 * (points - 1)
    networks, errors = {}, {}

    def fits(size: int) -> bool:
        network = networks[size] = how(f, size, low, high)
        if not hasattr(network, "units"):
            raise TypeError(f"how must return something callable with a number of units, got {network!r:.80}")
        if lipschitz is not None:
            errors[size] = certified_error(network, f, lipschitz, *(float(e[0]) for e in ends), norm=norm, cells=fine)
            return errors[size] <= error
        for side in (points, fine + 1):
            errors[size] = measured_error(network, target, *ends, norm=norm, points=side)
            if errors[size] > error:
                return False
        if certain:
            errors[size] = _enclosed(network, target, *ends, boxes)
        return errors[size] <= error

    with jax.enable_x64(True):
        size = 2
        while not fits(size):
            if size == largest:
                raise ValueError(
                    f"no network up to size {largest} was verified to have an error of at most {error} in {norm}: "
                    f"the least seen is {min(errors.values()):.3g}"
                )
            size = min(2 * size, largest)
        below = size // 2
        while size - below > 1:
            middle = (size + below) // 2
            below, size = (below, middle) if fits(middle) else (middle, size)
    if certain:
        verified = "for certain, by interval arithmetic"
    elif lipschitz is not None:
        verified = f"for certain, if f changes by at most {lipschitz:g} a unit of length"
    else:
        verified = f"on a grid of {fine + 1} points a side, between which it is not known"
    network = networks[size]
    tried = tuple(sorted(errors.items()))
    return Requirement(network, size, network.units, errors[size], norm, verified, fine + 1, tried)


def _of_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of JAX of the same name, for one of NumPy's elementary functions, which cannot be traced."""
    return getattr(jnp, function.__name__) if isinstance(function, np.ufunc) else function


def _enclosed(network: Any, target: Callable[..., Any], low: np.ndarray, high: np.ndarray, boxes: int) -> float:
    """An upper bound on the largest |network − target| on a box."""
    if isinstance(network, ShallowNetwork):
        weights, biases, output = network.weights, network.biases, network.output
        network = ShallowNetwork(weights, biases, output, _of_jax(network.activation))
    try:
        return maximum(lambda x: jnp.abs(network(x) - target(x)), low, high, boxes=boxes).upper
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as reason:
        raise TypeError("f and the network must be functions of JAX for the error to be certain") from reason


doors(
    __name__,
    error="(0, ∞)",
    lipschitz="[0, ∞)",
    points="[2, 10000000]",
    largest="[2, 100000]",
    boxes="[1, 1e6]",
)
