"""How stochastic gradient descent scatters around its mean: covariances, which are made of the noise.

At a fixed batch the noise moves expectations by order η only, as much as the length of the steps does, so that they do
not tell a right covariance from a wrong one. The covariance of a run is itself of order η and all noise: in units of
itself it differs from that of the diffusion by order η, and by order one from that of any other noise.

Reference: arora 12.3 for the diffusion; Mandt, Hoffman and Blei 2017 for its stationary covariance.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import flow

__all__ = ["descent_ends", "descent_moments", "isotropic_moments", "limiting_scatter"]

Vector = Float[Array, " d"]


def _pull_and_noise(
    points: Float[np.ndarray, "m d"], targets: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "d+1 d+1"], Float[np.ndarray, "e e"]]:
    """G, with Gz the mean gradient at z = (x, 1), and the matrix that takes E zzᵀ to the gradients' mean covariance."""
    count = len(points)
    residual = np.concatenate([points, -targets[:, None]], 1)
    lifted = np.concatenate([points, np.zeros((count, 1))], 1)
    pull = lifted.T @ residual / count
    each = [np.kron(one, one) for one in np.einsum("ni,nj->nij", lifted, residual)]
    return pull, np.mean(each, axis=0) - np.kron(pull, pull)


def descent_moments(
    points: Float[np.ndarray, "m d"],
    targets: Float[np.ndarray, " m"],
    start: Float[np.ndarray, " d"],
    *,
    rate: float,
    batch: int,
    steps: int,
) -> Float[np.ndarray, "d+1 d+1"]:
    """E(x, 1)(x, 1)ᵀ after so many steps of stochastic gradient descent on least squares ½(⟨aᵢ, x⟩ − yᵢ)², exactly.

    With rᵢ = (aᵢ, −yᵢ) and G = (1/m)Σ aᵢrᵢᵀ a step takes M to (1 − ηG)M(1 − ηG)ᵀ + (η²/B)((1/m)Σ rᵢᵀMrᵢ aᵢaᵢᵀ − GMGᵀ).
    `least_squares_moments` has the same of the diffusion.

    Args:
        points, targets: aᵢ and yᵢ, an example a row.
        start: x at the beginning.
        rate, batch: η and B, the examples a step, drawn with replacement.

    For few dimensions: the matrix that is raised to a power has (d + 1)² rows.
    """
    pull, noise = _pull_and_noise(points, targets)
    kept = np.eye(len(pull)) - rate * pull
    step = np.kron(kept, kept) + rate**2 / batch * noise
    first = np.append(start, 1.0)
    return (np.linalg.matrix_power(step, steps) @ np.outer(first, first).ravel()).reshape(pull.shape)


def isotropic_moments(
    points: Float[np.ndarray, "m d"],
    targets: Float[np.ndarray, " m"],
    start: Float[np.ndarray, " d"],
    *,
    rate: float,
    batch: int,
    time: float = 1.0,
) -> Float[np.ndarray, "d+1 d+1"]:
    """E(x, 1)(x, 1)ᵀ of dX = −∇f dt + √(ηtrΣ(X)/(Bd)) dW on least squares: noise as strong as descent's, evenly spread.

    A model often made of stochastic gradient descent, and a wrong one: not for predictions, but to see what the shape
    of the noise does. Arguments are those of `least_squares_moments`, which has the right one.
    """
    from scipy.linalg import expm

    pull, noise = _pull_and_noise(points, targets)
    identity, size = np.eye(len(pull)), len(start)
    evenly = np.diag(np.append(np.ones(size), 0.0)).ravel()
    spread = rate / batch * np.outer(evenly, evenly @ noise) / size
    generator = spread - np.kron(pull, identity) - np.kron(identity, pull)
    first = np.append(start, 1.0)
    return (expm(time * generator) @ np.outer(first, first).ravel()).reshape(pull.shape)


def limiting_scatter(
    gradients: Callable[[Vector], Float[Array, "m d"]],
    start: Float[AnyArray, " d"],
    *,
    time: float = 1.0,
    covariance: Callable[[Vector], Float[Array, "d d"]] | None = None,
    substeps: int = 256,
) -> Float[np.ndarray, "d d"]:
    """The limit S of B·Cov(x)/η as η → 0 at a fixed time: dS/dt = Σ − HS − SH along gradient flow from the start.

    H is the Hessian of the mean loss and Σ the covariance of the gradients of single examples, both where the flow is.
    It is the limit for descent and for its diffusion alike: noise is carried on by the flow's own derivative.

    Args:
        gradients: x → the gradient of each of the m examples.
        start: where runs begin, all at one point.
        time: when the scatter is read: the sum of all rates.
        covariance: x → another Σ, to see what a wrong one would do.
        substeps: Runge–Kutta steps; double them to see their error.

    Not near a saddle or after times so long that S outgrows B/η: then runs leave the flow.
    Reference: Kurtz 1971; arora (12.4) at small η.
    """

    def own(x: Vector) -> Float[Array, "d d"]:
        beside = gradients(x) - gradients(x).mean(0)
        return beside.T @ beside / len(beside)

    mean, spread = (lambda x: gradients(x).mean(0)), covariance or own
    bend = jax.jacfwd(mean)

    def velocity(_: Array, state: tuple[Vector, Array]) -> tuple[Vector, Array]:
        x, scatter = state
        pulled = bend(x) @ scatter
        return -mean(x), spread(x) - pulled - pulled.T

    begin = jnp.asarray(start, jnp.result_type(float, start))
    _, found = flow(velocity, (begin, jnp.zeros((len(begin),) * 2)), jnp.array([time]), substeps=substeps)
    return np.asarray(found[0])


@partial(jax.jit, static_argnames=("gradients", "batch", "runs"))
def _ended(key, start, rate, steps, *, gradients, batch, runs):
    def step(count: Array, x: Array) -> Array:
        each = jax.vmap(gradients)(x)
        chosen = jax.random.randint(jax.random.fold_in(key, count), (runs, batch), 0, each.shape[1])
        return x - rate * jnp.take_along_axis(each, chosen[..., None], axis=1).mean(1)

    return jax.lax.fori_loop(0, steps, step, jnp.broadcast_to(start, (runs, len(start))))


def descent_ends(
    key: Key[Array, ""],
    gradients: Callable[[Vector], Float[Array, "m d"]],
    start: Float[AnyArray, " d"],
    *,
    rate: float,
    batch: int,
    steps: int,
    runs: int,
) -> Float[np.ndarray, "runs d"]:
    """Where independent runs of stochastic gradient descent from one start are after so many steps.

    Args:
        gradients: x → the gradient of each of the m examples; all are computed, of few examples.
        rate, batch: η, and the number of examples a step, drawn with replacement.
    """
    start = jnp.asarray(start, jnp.result_type(float, start))
    return np.asarray(_ended(key, start, rate, steps, gradients=gradients, batch=batch, runs=runs))


doors(
    __name__,
    rate="(0, ∞)",
    batch="[1, 1e4]",
    steps="[0, 1e6]",
    time="[0, ∞)",
    runs="[1, 1e7]",
    substeps="[1, 1e5]",
)
