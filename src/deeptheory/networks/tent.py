"""The tent map and its iterates: few nodes in depth, exponentially many pieces, far from every shallow network.

`iterates` is n of Δⁿ.

Reference: lucchi 4.2.1 and Thm 30; handbook 1.2.2; Telgarsky 2016, Benefits of depth in neural networks.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, Shaped

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.randomness import generator
from deeptheory.networks.pieces import (
    Layer,
    PiecewiseAffine,
    Rational,
    layers_from_arrays,
    network_function,
    shallow_layers,
)

__all__ = [
    "fit_sawtooth",
    "follow_sawtooth",
    "sawtooth",
    "sawtooth_distance_bound",
    "sharper_sawtooth_distance_bound",
    "tent_layers",
]


def sawtooth(iterates: int, x: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
    """Return the n-th iterate of the tent map on [0,1] in closed form, Δⁿ(x) = 1 − |1 − 2·frac(2ⁿ⁻¹x)|.

    For floats, or exactly for an array of Fractions.
    """
    if x.dtype.kind == "c":
        raise TypeError("x must be made of real numbers or fractions, got complex ones")
    return 1 - np.abs(1 - 2 * ((2 ** (iterates - 1) * x) % 1))


def tent_layers(iterates: int, *, units: int = 3, merged: bool = True) -> list[Layer]:
    """Return a network that computes the tent map iterated, Δ∘…∘Δ, with Δ(x) = 2x on [0,½] and 2−2x on [½,1].

    Δ = 2r(x) − 4r(x−½) + 2r(x−1) with three units vanishes outside [0,1]; the third unit may be left out when only
    [0,1] matters (`units=2`, handbook 1.2.2). Unmerged, each Δ is a ReLU layer and a linear layer of one node, which
    is how 3n nodes and 2n layers are counted (lucchi Thm 30); merged, neighbouring affine maps are multiplied and the
    network has n hidden layers and one linear output.
    """
    if iterates < 1:
        raise ValueError(f"iterates must be at least 1, got {iterates}")
    if units not in (2, 3):
        raise ValueError(f"units must be 2 or 3, got {units}")
    half = Fraction(1, 2)
    out, shifts = (2, -4, 2)[:units], (0, -half, -1)[:units]
    first = Layer(((1,),) * units, shifts)
    last = Layer((out,), (0,), rectified=False)
    inner = Layer((out,) * units, shifts)
    return [first, *[inner] * (iterates - 1), last] if merged else [first, last] * iterates


def sawtooth_distance_bound(iterates: int, pieces: Rational) -> Fraction:
    """Return a lower bound on ∫₀¹|Δⁿ − g| for every continuous g with at most p affine pieces (lucchi Thm 30).

    The line ½ cuts 2ⁿ − 1 whole triangles of area 2^(−n−2) out of Δⁿ, alternately above and below. A g with p pieces
    crosses the line at most p times, so at least ½(2ⁿ − 1 − 2p) triangles lie wholly on the other side of it:
    the distance is at least ½(2ⁿ − 1 − 2p)·2^(−n−2), or zero.
    """
    if iterates < 1 or pieces < 1:
        raise ValueError(f"need iterates ≥ 1 and pieces ≥ 1, got iterates={iterates} and pieces={pieces}")
    return max(Fraction(0), (2**iterates - 1 - 2 * Fraction(pieces)) / 2 ** (iterates + 3))  # pyright: ignore[reportCallIssue, reportArgumentType]


def sharper_sawtooth_distance_bound(iterates: int, pieces: Rational) -> Fraction:
    """Return ½(2ⁿ − 2 − p)·2^(−n−2), or zero: the same lower bound with the triangles counted to the end.

    A crossing inside a triangle spoils it but leaves the next one wrong, a crossing between two triangles spoils none;
    either way p crossings save g at most p/2 of the (2ⁿ − 2)/2 triangles that a constant gets wrong. Unlike the
    count in `sawtooth_distance_bound`, this one proves 1/32 for L = 1 too (n = 3, two nodes, three pieces: 3/64).
    """
    if iterates < 1 or pieces < 1:
        raise ValueError(f"need iterates ≥ 1 and pieces ≥ 1, got iterates={iterates} and pieces={pieces}")
    return max(Fraction(0), (2**iterates - 2 - Fraction(pieces)) / 2 ** (iterates + 3))  # pyright: ignore[reportCallIssue, reportArgumentType]


def follow_sawtooth(iterates: int, units: int) -> list[Layer]:
    """Return the one-hidden-layer network that follows Δⁿ on its first pieces and then stays at ½.

    With N units it follows N − 3/2 of the 2ⁿ pieces and misses the rest by ¼ on average: a plain upper bound
    ¼(1 − (N − 3/2)/2ⁿ) on the distance that N units can reach.
    """
    inside(1, 20, iterates=iterates)
    if not 2 <= units <= 2**iterates:
        raise ValueError(f"units must lie between 2 and {2**iterates}, got {units}")
    f = network_function(tent_layers(iterates))
    step = Fraction(1, 2**iterates)
    knots = [*(step * j for j in range(units - 1)), step * (units - Fraction(3, 2))]
    return shallow_layers(PiecewiseAffine.joined(knots, [*f.pieces[:units], (Fraction(0), Fraction(1, 2))]), 0, 1)


def fit_sawtooth(
    key: Key[Array, ""],
    iterates: int,
    widths: Sequence[int],
    *,
    starts: int = 64,
    steps: int = 400,
    learning_rate: float = 0.02,
    cells: int = 8,
) -> list[Layer]:
    """Return the ReLU network of the given hidden widths that came nearest to Δⁿ in mean absolute error.

    Adam from many random starts at once, on the midpoints of `cells` cells per piece of Δⁿ; an attack on the lower
    bound, not a proof of the minimum. Hinges of the first layer start uniformly in [0,1], the output at ½.
    """
    rng = generator(key)
    inside(1, 20, iterates=iterates)
    points = (np.arange(cells * 2**iterates) + 0.5) / (cells * 2**iterates)
    sizes = (1, *widths, 1)
    weights = [rng.standard_normal((starts, m, n)) * np.sqrt(2 / n) for n, m in pairwise(sizes)]
    biases = [0.5 * rng.standard_normal((starts, m)) for m in sizes[1:]]
    weights[0] *= 4
    weights[-1] *= 0.1
    biases[0] = -weights[0][:, :, 0] * rng.uniform(size=biases[0].shape)
    biases[-1] = np.full((starts, 1), 0.5)
    parameters, losses = _adam_on_absolute_error(
        (weights, biases), points, sawtooth(iterates, points), jnp.asarray(learning_rate), steps=steps
    )
    best = int(np.argmin(losses))
    return layers_from_arrays([w[best] for w in parameters[0]], [b[best] for b in parameters[1]])


@partial(jax.jit, static_argnames="steps")
def _adam_on_absolute_error(parameters, points, targets, learning_rate, *, steps):
    def error(parameters):
        weights, biases = parameters
        hidden = points[None, :]
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            hidden = jax.nn.relu(w @ hidden + b[:, None])
        return jnp.mean(jnp.abs(weights[-1] @ hidden + biases[-1][:, None] - targets))

    evaluate = jax.vmap(jax.value_and_grad(error))

    def step(state, t):
        parameters, mean, square, best, least = state
        losses, gradient = evaluate(parameters)
        better = losses < least
        best = jax.tree.map(
            lambda old, new: jnp.where(better.reshape((-1,) + (1,) * (new.ndim - 1)), new, old), best, parameters
        )
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
        rate = learning_rate * (1 - t / steps) * jnp.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
        parameters = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-9), parameters, mean, square)
        return (parameters, mean, square, best, jnp.minimum(losses, least)), None

    parameters = jax.tree.map(jnp.asarray, parameters)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    least = jnp.full(parameters[0][0].shape[0], jnp.inf)
    (_, _, _, best, least), _ = jax.lax.scan(step, (parameters, zeros, zeros, parameters, least), jnp.arange(steps))
    return best, least


doors(__name__, starts="[1, 1e5]", steps="[0, 1e6]", cells="[1, 1000]", units="[1, 1000]", iterates="[0, 1000]")
