"""Saliency: what each coordinate of one input has to do with the answer, by gradients and as a game of features.

Reference: arora Sec. 10.4.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["feature_game", "gradient_saliency", "gradient_times_input", "integrated_gradients", "smooth_gradient"]

Model = Callable[[Float[AnyArray, "batch d"]], Float[AnyArray, " batch"]]
Input = Float[AnyArray, " d"]


@eqx.filter_jit
def _slope(model: Model, points: Array) -> Array:
    """Gradients at many points in one sweep: the answers of a batch do not depend on each other."""
    return jax.grad(lambda x: jnp.sum(model(x)))(points)


def gradient_saliency(model: Model, x: Input) -> Float[Array, " d"]:
    """Return ∇f(x), the slope of the answer in every coordinate.

    model: (batch of inputs in rows) → one number each, the logit of the class that is asked about. A saturated answer
    has no slope, whatever it is owed to. Reference: Simonyan, Vedaldi and Zisserman 2014.
    """
    return _slope(model, jnp.asarray(x)[None])[0]


def gradient_times_input(model: Model, x: Input, baseline: Input) -> Float[Array, " d"]:
    """Return (x − b)·∇f(x) by coordinates: exact where the model is linear between the baseline b and x.

    Else the parts do not add up to f(x) − f(b): take `integrated_gradients`. Reference: Shrikumar, Greenside and
    Kundaje 2017.
    """
    return (jnp.asarray(x) - jnp.asarray(baseline)) * gradient_saliency(model, x)


def smooth_gradient(
    key: Key[Array, ""], model: Model, x: Input, *, noise: float, samples: int = 64
) -> Float[Array, " d"]:
    """Return the mean of ∇f(x + noise·g) over Gaussian g: the slope of the smoothed answer, not of the answer.

    `noise` is the standard deviation of each coordinate. Reference: Smilkov et al. 2017.
    """
    affordable(points=(samples, np.size(x)))
    x = jnp.asarray(x)
    return _slope(model, x + noise * jax.random.normal(key, (samples, x.size), x.dtype)).mean(0)


def integrated_gradients(model: Model, x: Input, baseline: Input, *, points: int = 32) -> Float[Array, " d"]:
    """Return (x_i − b_i)·∫₀¹ ∂_i f(b + t(x − b)) dt, which add up to f(x) − f(b).

    The integral is by Gauss and Legendre's rule, exact for polynomials of degree up to 2·points along the segment; a
    ReLU network has kinks there, and the sum then says how well the rule did. It is the value of Aumann and Shapley,
    in general not that of Shapley. Reference: Sundararajan, Taly and Yan 2017.
    """
    affordable(points=(points, np.size(x)))
    x, baseline = jnp.asarray(x), jnp.asarray(baseline)
    nodes, weights = np.polynomial.legendre.leggauss(points)
    along = baseline + jnp.asarray((nodes[:, None] + 1) / 2) * (x - baseline)
    return (x - baseline) * (jnp.asarray(weights / 2) @ _slope(model, along))


def feature_game(
    model: Model, x: Input, baseline: Input, *, groups: Int[AnyArray, " d"] | None = None
) -> Callable[[Bool[AnyArray, "subsets players"]], Float[AnyArray, " subsets"]]:
    """Return the game U(S) = f(x with the coordinates outside S set to the baseline) as a function of masks.

    `groups` numbers the player, from 0, that each coordinate belongs to, such as the patches of an image; each
    coordinate is a player of its own unless given. Inputs are put together in NumPy, so any model will do. Values then
    come from `shapley.shapley_values(game_table(game, n))`, or by sampling, and add up to f(x) − f(b).

    Reference: arora Secs 10.2 and 10.4.
    """
    x, baseline = np.asarray(x), np.asarray(baseline)
    owner = np.arange(x.size) if groups is None else np.asarray(groups)
    if owner.min() < 0:
        raise ValueError(f"groups must number players from 0, got {owner.min()}")

    def game(masks: AnyArray) -> AnyArray:
        return model(np.where(np.asarray(masks)[:, owner], x, baseline))

    return game


doors(__name__, noise="[0, ∞)", samples="[1, 1e6]", points="[1, 1000]")
