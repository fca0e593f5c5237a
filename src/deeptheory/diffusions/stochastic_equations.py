"""Itô stochastic differential equations dX = b(X)dt + S(X)dW: paths, generators, and the one that belongs to SGD.

A state is a vector; a drift returns a vector, a diffusion a matrix with one column for each driving Brownian motion.

What is compared here is a scheme with an equation, on increments that both share, so that Euler–Maruyama on given
increments, one short scan, is all it takes and is part of what is studied. Where a path itself is wanted, to a
tolerance, with solvers of higher order or steps that adapt, use diffrax: `drift` and `diffusion` are its ODETerm and
ControlTerm, but for the arguments (t, x, args) that its terms have.

Reference: arora Sec. 12.2; Kloeden and Platen, Numerical Solution of Stochastic Differential Equations (1992).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "ItoEquation",
    "canonical_equation",
    "euler_maruyama",
    "exit_time_from_saddle",
    "generator_of",
    "geometric_errors",
    "gibbs_density",
    "least_squares_moments",
    "time_changed",
]

Vector = Float[Array, " d"]
Function = Callable[[Vector], Float[Array, ""]]
Number = float | np.floating | Float[np.ndarray, "..."]


class ItoEquation(NamedTuple):
    """Drift and diffusion of dX = b(X)dt + S(X)dW."""

    drift: Callable[[Vector], Vector]
    diffusion: Callable[[Vector], Float[Array, "d w"]]


def euler_maruyama(
    equation: ItoEquation,
    start: Float[AnyArray, " d"],
    increments: Float[AnyArray, "steps w"],
    *,
    step: float | Float[Array, ""],
) -> Float[Array, "time d"]:
    """The path X ← X + b(X)h + S(X)ΔW on given Brownian increments (each of variance h), the start first.

    Weak order one, strong order one half where the diffusion depends on the state and one where it does not. Pure: wrap
    it in `jit`, and in `vmap` over starts and increments. Equal increments couple equations and step sizes; those of
    another process (`processes`) drive the equation by jumps. Reference: arora (12.1); Kloeden and Platen 1992.
    """

    def move(x: Vector, increment: Float[Array, " w"]) -> tuple[Vector, Vector]:
        moved = (x + equation.drift(x) * step + equation.diffusion(x) @ increment).astype(x.dtype)
        return moved, moved

    start = jnp.asarray(start, jnp.result_type(float, start))
    needed = (len(start), increments.shape[1])
    if (spread := jax.eval_shape(equation.diffusion, start).shape) != needed:
        raise ValueError(f"the diffusion must give a matrix of shape {needed}, got {spread}")
    return jnp.concatenate([start[None], jax.lax.scan(move, start, jnp.asarray(increments))[1]])


def time_changed(equation: ItoEquation, factor: float | Float[Array, ""]) -> ItoEquation:
    """The equation in the new time τ = t/a: drift a·b, diffusion √a·S (arora Example 12.2.3).

    `factor` is a.
    """
    return ItoEquation(
        lambda x: factor * equation.drift(x), lambda x: jnp.sqrt(jnp.asarray(factor, float)) * equation.diffusion(x)
    )


def generator_of(equation: ItoEquation, function: Function) -> Function:
    """Lh = ⟨∇h, b⟩ + ½ tr(∇²h SSᵀ), the rate at which E h(X_t) changes: the dt part of Itô's lemma.

    arora Def. 12.3.7 prints SᵀS for SSᵀ, which is the same for the symmetric roots of its chapter only.
    """

    def changed(x: Vector) -> Float[Array, ""]:
        spread = equation.diffusion(x)
        bend = jax.hessian(function)(x)
        return jax.grad(function)(x) @ equation.drift(x) + jnp.trace(bend @ spread @ spread.T) / 2

    return changed


def canonical_equation(
    gradients: Callable[[Vector], Float[Array, "m d"]], *, rate: float | Float[Array, ""], batch: int
) -> ItoEquation:
    """The equation dX = −∇f dt + √(η/B) Σ(X)^½ dW that stochastic gradient descent follows to first order in η.

    `gradients` returns the gradient of each of the m examples. No root is computed: with m Brownian motions the
    deviations of the gradients themselves, over √m, have the covariance Σ. Time is steps·η. Only η/B matters, which is
    why batch and rate may be scaled together. Reference: arora (12.4).
    """

    def drift(x: Vector) -> Vector:
        return -gradients(x).mean(0)

    def diffusion(x: Vector) -> Float[Array, "d m"]:
        each = gradients(x)
        return jnp.sqrt(rate / batch / len(each)) * (each - each.mean(0)).T

    return ItoEquation(drift, diffusion)


def least_squares_moments(
    points: Float[np.ndarray, "m d"],
    targets: Float[np.ndarray, " m"],
    start: Float[np.ndarray, " d"],
    *,
    rate: float,
    batch: int,
    time: float = 1.0,
) -> Float[np.ndarray, "d+1 d+1"]:
    """E(x, 1)(x, 1)ᵀ at a time, for the canonical equation of least squares ½(⟨aᵢ, x⟩ − yᵢ)² from a fixed start.

    Residuals are linear in z = (x, 1), so the covariance of the gradients is quadratic and second moments close: with
    rᵢ = (aᵢ, −yᵢ) and G = (1/m)Σ aᵢrᵢᵀ, dM/dt = −GM − MGᵀ + (η/B)((1/m)Σ rᵢᵀMrᵢ aᵢaᵢᵀ − GMGᵀ). Solved by the
    exponential of a matrix of (d + 1)² rows: for few dimensions. `rate` is η, `batch` B; aᵢ are the `points`, yᵢ the
    `targets`.
    """
    from scipy.linalg import expm

    m, d = points.shape
    residual = np.concatenate([points, -targets[:, None]], 1)
    pull = np.concatenate([points.T @ residual / m, np.zeros((1, d + 1))])
    lifted = np.concatenate([points, np.zeros((m, 1))], 1)
    identity = np.eye(d + 1)
    spread = np.einsum("ni,nj,nk,nl->ijkl", lifted, lifted, residual, residual).reshape(2 * ((d + 1) ** 2,)) / m
    generator = -np.kron(pull, identity) - np.kron(identity, pull) + rate / batch * (spread - np.kron(pull, pull))
    first = np.append(start, 1.0)
    return (expm(time * generator) @ np.outer(first, first).ravel()).reshape(d + 1, d + 1)


def gibbs_density(
    loss: Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]],
    points: Float[np.ndarray, " points"],
    *,
    rate: float,
    noise: float,
) -> Float[np.ndarray, " points"]:
    """The stationary density ∝ exp(−2f/(ησ²)) of dX = −f′dt + √η σ dW in one dimension, on a grid that covers it.

    `rate` is η, `noise` σ; normalized by the trapezoidal rule. Reference: Gardiner, Handbook of Stochastic Methods
    (1985).
    """
    exponent = -2 * loss(points) / (rate * noise**2)
    weights = np.exp(exponent - exponent.max())
    return weights / np.trapezoid(weights, points)


def geometric_errors(
    drift: float, volatility: float, steps: Float[np.ndarray, " steps"], *, horizon: float = 1.0, milstein: bool = False
) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, " steps"]]:
    """Exact strong (root mean square) and weak (of the second moment) errors of Euler–Maruyama on dX = μX dt + sX dW.

    From X₀ = 1, per step size, at the horizon. Exact and scheme are products of independent factors a step, whose
    moments and cross moment are known; with `milstein` the factor has ½s²(ΔW² − h) more. Strong orders ½ and 1. `drift`
    is μ, `volatility` s. Reference: Kloeden and Platen 1992.
    """
    h, square = np.asarray(steps, float), volatility**2
    counts = np.rint(horizon / h)
    extra = square**2 * h**2 / 2 if milstein else 0.0
    second = (1 + drift * h) ** 2 + square * h + extra
    cross = np.exp(drift * h) * (1 + drift * h + square * h + extra)
    exact = np.exp((2 * drift + square) * counts * h)
    strong = np.sqrt(np.maximum(exact - 2 * cross**counts + second**counts, 0.0))
    return strong, np.abs(second**counts - exact)


def exit_time_from_saddle(curvature: float, level: float, noise: float | Float[np.ndarray, "..."]) -> Number:
    """The mean time that dX = aX dt + s dW needs from 0 to |X| = R: (2/a)∫₀^{R√a/s} D(u)du, D Dawson's function.

    About (1/2a) ln(aR²/s²) for small noise; with s² = ησ², escape from a saddle takes ln(1/η)/(2a) and a constant.
    `curvature` is a, `level` R, `noise` s. Reference: Gardiner, Handbook of Stochastic Methods (1985), for mean exit
    times.
    """
    ends = level * np.sqrt(curvature) / np.asarray(noise, float)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    # In the logarithm of u beyond one, where Dawson's function falls like 1/(2u).
    near = np.minimum(ends, 1.0)[..., None] * (nodes + 1) / 2
    inner = (special.dawsn(near) * weights).sum(-1) * np.minimum(ends, 1.0) / 2
    spread = np.log(np.maximum(ends, 1.0))[..., None]
    far = np.exp(spread * (nodes + 1) / 2)
    outer = (special.dawsn(far) * far * weights).sum(-1) * spread[..., 0] / 2
    return 2 / curvature * (inner + outer)


doors(
    __name__,
    step="(0, ∞)",
    factor="(0, ∞)",
    rate="(0, ∞)",
    batch="[1, 1e9]",
    noise="(0, ∞)",
    curvature="(0, ∞)",
    level="(0, ∞)",
    steps="(0, ∞)",
    horizon="(0, ∞)",
    time="[0, ∞)",
)
