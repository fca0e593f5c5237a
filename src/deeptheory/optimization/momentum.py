"""Momentum: the heavy ball on quadratics in closed form, the oscillator it becomes, and Nesterov's guarantee.

`step_size` is η, `momentum` β, `smoothness` L, `distance_square` ‖x₀ − x*‖² (R²), `eigenvalues` those λ of the Hessian;
`stiffness` is k and `damping` a of the oscillator.
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Numbers
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "accelerated_gap_bound",
    "constant_slope_way",
    "damped_oscillator",
    "heavy_ball_factor",
    "heavy_ball_offsets",
    "nesterov_potential",
    "optimal_heavy_ball",
    "worst_accelerated_gap",
]


def heavy_ball_factor(eigenvalues: Numbers, *, step_size: Numbers, momentum: Numbers) -> Numbers:
    """Return the factor by which the heavy ball shrinks an eigen-coordinate per step in the long run.

    The larger modulus of the roots of z² − (1 + β − ηλ)z + β: √β where the coordinate oscillates, |1 + β − ηλ| ≤ 2√β,
    and (|1 + β − ηλ| + √((1 + β − ηλ)² − 4β))/2 where it does not. Below one exactly for 0 < ηλ < 2(1 + β) and β < 1.
    Before the long run a coordinate can be larger by a factor of the number of steps, at a double root.

    Reference: arora 2.3; Polyak 1964.
    """
    middle = jnp.abs(1 + momentum - step_size * jnp.asarray(eigenvalues))
    double = 2 * jnp.sqrt(jnp.asarray(momentum, float))
    # The root of middle² − 4β in two factors, which cannot overflow.
    split = jnp.sqrt(jnp.maximum(middle - double, 0.0)) * jnp.sqrt(middle + double)
    return jnp.where(split > 0, (middle + split) / 2, jnp.sqrt(momentum))


def optimal_heavy_ball(smallest: float, largest: float) -> tuple[float, float]:
    """Return the step and momentum with which the heavy ball is fastest on quadratics of curvature in [μ, L].

    η = 4/(√L + √μ)² and β = ((√κ − 1)/(√κ + 1))², κ = L/μ; every coordinate then shrinks by √β a step, so that about
    √κ/2 steps buy a factor e where gradient descent takes κ/2. Not for other functions: see `accelerated`.

    Reference: Polyak 1964.
    """
    root = (largest**0.5, smallest**0.5)
    return 4 / sum(root) ** 2, ((root[0] - root[1]) / sum(root)) ** 2


def heavy_ball_offsets(
    eigenvalues: Float[AnyArray, "d"],
    offsets: Float[AnyArray, "d"],
    *,
    step_size: float,
    momentum: Annotated[float, "(0, 1]"],
    steps: Annotated[int, "[0, 1e6]"],
) -> Float[np.ndarray, "k d"]:
    """Return the coordinates of x_k − x* in the eigenbasis, k = 0, …, steps, of the heavy ball started at rest.

    β^{k/2}(U_k(c_i) − √β U_{k−1}(c_i)) z_i with c_i = (1 + β − ηλ_i)/(2√β) and Chebyshev polynomials U of the second
    kind: waves where |c_i| < 1. `eigenvalues` λ are the Hessian's, `offsets` z the coordinates of x₀ − x*, and
    x_{−1} = x₀. For β = 0 see `quadratic_offsets`. `step_size` is η, `momentum` β. Reference: Polyak 1964; Goh 2017,
    Why momentum really works.
    """
    affordable(offsets=(steps + 1, len(eigenvalues)))
    time, root = np.arange(steps + 1)[:, None], momentum**0.5
    middle = (1 + momentum - step_size * np.asarray(eigenvalues)) / (2 * root)
    before = np.where(time > 0, _damped_chebyshev(time - 1, middle, root), 0.0)
    return (_damped_chebyshev(time, middle, root) - momentum * before) * np.asarray(offsets)


def _damped_chebyshev(order: np.ndarray, at: np.ndarray, root: float) -> np.ndarray:
    """r^k U_k(c): r^k sin((k + 1)θ)/sin θ where c = cos θ, and where |c| = cosh φ exceeds one r^k e^{kφ} times
    (1 − e^{−2(k + 1)φ})/(1 − e^{−2φ}), with the sign of c^k."""
    angle, growth = np.arccos(np.clip(at, -1, 1)), np.arccosh(np.maximum(np.abs(at), 1))
    wave, fall = np.sin(angle), -np.expm1(-2 * growth)
    waves = root**order * np.where(wave > 0, np.sin((order + 1) * angle) / np.where(wave > 0, wave, 1), order + 1)
    rises = np.exp(order * (np.log(root) + growth)) * -np.expm1(-2 * (order + 1) * growth) / np.where(fall > 0, fall, 1)
    return np.where(
        np.abs(at) < 1, waves, np.where(fall > 0, rises, root**order * (order + 1)) * np.copysign(1, at) ** order
    )


def constant_slope_way(
    time: Numbers, *, slope: Numbers, step_size: Numbers, momentum: Annotated[float, "[0, 1)"]
) -> Numbers:
    """Return how far the heavy ball has gone after t steps on a plane of slope g, from rest.

    (ηg/(1 − β))(t − β(1 − β^t)/(1 − β)): in the end 1/(1 − β) times as fast as gradient descent, ten times for
    β = 0.9. The velocity is v ← βv + ηg, and the point moves by −v.

    Reference: handbook Sec. 4.2.2.
    """
    late = 1 - momentum
    return step_size * slope / late * (time - momentum * (1 - momentum ** np.asarray(time)) / late)


def damped_oscillator(times: Numbers, *, stiffness: Numbers, damping: Numbers) -> Numbers:
    """Return the solution of ẅ + aẇ + kw = 0 that starts at rest at 1.

    e^{−at/2}(cos ωt + (a/2ω) sin ωt), ω² = k − a²/4, with hyperbolic functions where ω² is negative. With k = bλ it is
    the limit of the heavy ball on ½λw² with β = 1 − ah and η = bh², at t = h·(number of steps), as h → 0.

    Reference: arora 2.3.
    """
    root, half = jnp.sqrt(jnp.asarray(stiffness, float)), jnp.asarray(damping, float) / 2
    omega = jnp.sqrt(jnp.abs(root - half)) * jnp.sqrt(root + half)
    safe = jnp.where(omega > 0, omega, 1.0)
    decay = jnp.exp(-damping * times / 2)
    waves = jnp.cos(omega * times) + damping / 2 * jnp.sin(omega * times) / safe
    # Two decaying exponentials rather than cosh and sinh, which overflow long before their product with the decay.
    # The exponent of the slow one, ω − a/2, as −k/(ω + a/2): nothing cancels where the damping is strong.
    sum_of_rates = jnp.where(omega + half > 0, omega + half, 1.0)
    slow, fast = jnp.exp(-root / sum_of_rates * root * times), jnp.exp(-(omega + half) * times)
    creeps = (slow + fast) / 2 + half / safe * (slow - fast) / 2
    return jnp.where(omega == 0, decay * (1 + damping * times / 2), jnp.where(root > half, decay * waves, creeps))


def accelerated_gap_bound(distance_square: Numbers, *, step_size: Numbers, steps: Numbers) -> Numbers:
    """The textbook bound on f(x_k) − f* of Nesterov's method on a convex function: 2‖x₀ − x*‖²/(η(k + 1)²).

    For η ≤ 1/L and the momentum t/(t + 3), at the points x of the gradient steps (Su, Boyd and Candès 2016).
    """
    return 2 * distance_square / (step_size * (steps + 1) ** 2)


def worst_accelerated_gap(distance_square: Numbers, *, smoothness: Numbers, steps: Numbers) -> Numbers:
    """The largest f(x_k) − f* of Nesterov's method with η = 1/L over convex L-smooth f: 2LR²/(k² + 5k + 6).

    Attained by the `Huber` function with threshold 4R/(k² + 5k + 6), which the points x travel along at a speed that
    grows with time; that nothing is worse is known by performance estimation (Taylor, Hendrickx and Glineur 2017).
    """
    return 2 * smoothness * distance_square / (steps**2 + 5 * steps + 6)


def nesterov_potential(
    ahead: Float[Array, "k d"],
    points: Float[Array, "k d"],
    values: Float[Array, "k"],
    *,
    step_size: Numbers,
    minimizer: Float[Array, "d"],
    minimum: Numbers = 0.0,
) -> Float[Array, "k"]:
    """Return (k + 1)²η(f(x_k) − f*) + 2‖z_k − x*‖², z_k = ((k + 2)y_k − kx_k)/2, of a run of `accelerated`.

    It never rises on a convex L-smooth function with η ≤ 1/L and the growing momentum, which is why the method is fast:
    a promise to `audit` is (Φ_{k+1}, Φ_k). Of a run, `ahead` y_k are its positions, `points` x_k its `memory.point`,
    and `values` f(x_k), not the values at the look-ahead points that the run has.

    Reference: Su, Boyd and Candès 2016.
    """
    time = jnp.arange(len(values))
    anchor = ((time + 2)[:, None] * ahead - time[:, None] * points) / 2
    return (time + 1) ** 2 * step_size * (values - minimum) + 2 * jnp.sum((anchor - minimizer) ** 2, 1)


doors(
    __name__,
    step_size="(0, ∞)",
    momentum="[0, 1]",
    smallest="(0, ∞)",
    largest="(0, ∞)",
    stiffness="[0, ∞)",
    damping="[0, ∞)",
    times="[0, ∞)",
    time="[0, ∞)",
    smoothness="(0, ∞)",
    distance_square="[0, ∞)",
    steps="[0, ∞)",
)
