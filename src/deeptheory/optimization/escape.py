"""How a run leaves a saddle: the region where it is stuck, how thin it is, and how long leaving takes (arora 7.3).

Near a saddle with lowest eigenvalue −γ the coordinate along its eigenvector grows by 1 + ηγ a step. A run started at
random is stuck only if that coordinate begins very small, in a slab around the stable manifold.

`growth` is ηγ and `step_size` η; `radius` is R of a way, r of a ball.
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import Numbers
from deeptheory.foundations.entrances import doors

__all__ = [
    "CoupledRuns",
    "coupled_runs",
    "escape_time",
    "kick_escape_time",
    "kicked_variance",
    "leaving_times",
    "slab_share",
    "stuck_share",
    "stuck_width",
    "thin_slab_bound",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]


def leaving_times(
    function: Function,
    starts: Float[Array, "k d"],
    *,
    step_size: float | Float[Array, ""],
    radius: float | Float[Array, ""],
    steps: Annotated[int, "[1, 1e6]"],
) -> Int[Array, "k"]:
    """Return the first time at which gradient descent from each start is farther from it than `radius`.

    `steps` + 1 if it never is within so many steps: then the start belongs to the stuck region.

    Reference: arora 7.3.2.
    """
    gradient = jax.grad(function)

    def one(start: Float[Array, "d"]) -> Int[Array, ""]:
        def body(state: tuple, time: Array) -> tuple[tuple, None]:
            position, left = state
            position = position - step_size * gradient(position)
            out = jnp.linalg.norm(position - start) > radius
            return (position, jnp.where(out, jnp.minimum(left, time), left)), None

        (_, left), _ = jax.lax.scan(body, (start, jnp.array(steps + 1)), jnp.arange(1, steps + 1))
        return left

    return jax.vmap(one)(starts)


def stuck_width(radius: Numbers, *, growth: Numbers, steps: Numbers) -> Numbers:
    """Return the full width 2R/((1 + ηγ)^T − 1) of the stuck region of a quadratic saddle, along its way down.

    A start nearer than half of it to the stable manifold moves less than `radius` R in T = `steps` steps, if its
    stable part does not move. `growth` is ηγ. It halves every ln 2/ln(1 + ηγ) steps.

    Reference: arora 7.3.2.
    """
    return 2 * radius / jnp.expm1(steps * jnp.log1p(growth))


def escape_time(distance: Numbers, *, radius: Numbers, growth: Numbers) -> Numbers:
    """Return ln(1 + R/|x₁|)/ln(1 + ηγ): how long a coordinate at `distance` x₁ takes to move by R. Not rounded."""
    return jnp.log1p(radius / jnp.abs(jnp.asarray(distance))) / jnp.log1p(growth)


def kicked_variance(steps: Numbers, *, growth: Numbers, kick: Numbers) -> Numbers:
    """Return the variance κ²((1 + g)^{2t} − 1)/((1 + g)² − 1) of y_t, y_{t+1} = (1 + g)y_t + κξ_t from y₀ = 0.

    The coordinate along the way down of noisy gradient descent at a saddle: `growth` g is ηγ, `kick` κ the standard
    deviation of what a step's noise adds, ηs for gradient noise s; ξ_t are independent with variance 1.

    Reference: handbook Sec. 5.3.1.
    """
    rate = jnp.log1p(growth)
    return jnp.asarray(kick) ** 2 * jnp.expm1(2 * steps * rate) / jnp.expm1(2 * rate)


def kick_escape_time(radius: Numbers, *, growth: Numbers, kick: Numbers) -> Numbers:
    """Return the mean number of steps until |y_t| of `kicked_variance` exceeds R, for Gaussian kicks far below R.

    [ln(R/σ) + (γ_E + ln 2)/2]/ln(1 + g) + ½ with σ² = κ²/((1 + g)² − 1): in the end y_t = (1 + g)^t σZ with Z standard
    normal, E ln|Z| = −(γ_E + ln 2)/2 with Euler's γ_E, and whole steps cost half a step on average, if 1/ln(1 + g) is
    more than a few. The logarithm of the noise is all that counts: a hundredth of it costs ln 100/ln(1 + g) steps.

    Reference: handbook Sec. 5.3.1.
    """
    rate = jnp.log1p(growth)
    size = jnp.asarray(kick) / jnp.sqrt(jnp.expm1(2 * rate))
    return (jnp.log(radius / size) + (np.euler_gamma + np.log(2)) / 2) / rate + 0.5


def slab_share(width: Numbers, *, radius: Numbers, dimension: Numbers) -> Numbers:
    """Return the share of a ball that lies within half a `width` of a plane through its centre.

    I_{(w/2r)²}(1/2, (d + 1)/2), an incomplete beta function: the square of a coordinate of a uniform point has a beta
    law.
    """
    ratio = jnp.minimum(jnp.asarray(width) / (2 * jnp.asarray(radius)), 1.0)
    return jax.scipy.special.betainc(0.5, (jnp.asarray(dimension, float) + 1) / 2, ratio**2)


def thin_slab_bound(width: Numbers, *, radius: Numbers, dimension: Numbers) -> tuple[Numbers, Numbers]:
    """Return two bounds on the share of a ball of any part whose width in one direction is at most `width`.

    (w/r√π) Γ(d/2 + 1)/Γ(d/2 + 1/2), the width times the largest slice, and the larger (w/r)√(d/π). The first is reached
    by thin slabs; the second is too large by √2 in high dimension, where (w/r)√(d/2π) is the limit.

    Reference: arora 7.3.2.
    """
    half = jnp.asarray(dimension, float) / 2
    few = jnp.minimum(half, 1000)
    # Logarithms of factorials lose in their difference what they have grown by; far out the series has all digits.
    series = half + 1 / 4 + 1 / (32 * half) - 1 / (128 * half**2) - 5 / (2048 * half**3)
    exact = jnp.exp(jax.lax.lgamma(few + 1) - jax.lax.lgamma(few + 0.5))
    ratio = jnp.where(half < 1000, exact, jnp.sqrt(series))
    return width / radius * ratio / jnp.pi**0.5, width / radius * jnp.sqrt(2 * half / jnp.pi)


def stuck_share(*, ball: float, radius: float, gain: float, dimension: Annotated[int, "[2, 10000]"]) -> float:
    """Return the share of a ball around a quadratic saddle from which the run stays within `radius` of its start.

    For unit curvature in the other directions and η = 1, which takes their coordinates y to 0 at once, a run has moved
    by (g²x₁² + ‖y‖²)^{1/2} with `gain` g = (1 + γ)^T − 1. The share of the ball of radius `ball` where this is at most
    `radius`, by integrating over x₁ the share of the slice at x₁.
    """
    from scipy import integrate, special

    def slice_share(x: float) -> float:
        room, whole = radius**2 - (gain * x) ** 2, ball**2 - x**2
        inside = 1.0 if room >= whole else max(room / whole, 0.0) ** ((dimension - 1) / 2)
        return inside * (1 - (x / ball) ** 2) ** ((dimension - 1) / 2)

    end = min(ball, radius / gain)
    corner = (max(radius**2 - ball**2, 0.0) / max(gain**2 - 1, 1e-300)) ** 0.5
    total = integrate.quad(slice_share, 0, end, points=[min(corner, end)], limit=200, epsabs=1e-13, epsrel=1e-11)[0]
    return float(total * 2 / (ball * special.beta(0.5, (dimension + 1) / 2)))


class CoupledRuns(NamedTuple):
    """Two runs of gradient descent, x and x′, and their difference split as in arora Lemma 7.3.3.

    first, second: the points of both runs. quadratic: p(t) = (I − ηH)^t x̂₀. rest: q(t), what the change of the Hessian
    adds, so that x_t − x′_t = p(t) − q(t). change: ‖Δ_t‖, how far the mean Hessian between the two is from H.
    """

    first: Float[Array, "k d"]
    second: Float[Array, "k d"]
    quadratic: Float[Array, "k d"]
    rest: Float[Array, "k d"]
    change: Float[Array, "k"]


def coupled_runs(
    function: Function,
    saddle: Float[Array, "d"],
    first: Float[Array, "d"],
    second: Float[Array, "d"],
    *,
    step_size: float | Float[Array, ""],
    steps: Annotated[int, "[1, 1e5]"],
) -> CoupledRuns:
    """Run gradient descent from two starts near a saddle and split their difference into p(t) − q(t).

    q(t + 1) = ηΣ_{τ≤t}(I − ηH)^{t−τ}Δ_τx̂_τ with H = ∇²f at the saddle and Δ_τ = ∫₀¹[∇²f(x′_τ + θx̂_τ) − H]dθ, by eight
    Gauss points: exact for functions of degree up to 17, nearly so for smooth ones.

    Reference: arora Lemma 7.3.3.
    """
    kind = jnp.result_type(saddle, first, second, step_size)
    saddle, first, second = (each.astype(kind) for each in (saddle, first, second))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    shares, weights = jnp.asarray((nodes + 1) / 2, kind), jnp.asarray(weights / 2, kind)
    gradient, hessian = jax.grad(function), jax.hessian(function)
    base = hessian(saddle)
    grow = jnp.eye(len(saddle), dtype=kind) - step_size * base

    def body(state: tuple, _: None) -> tuple[tuple, CoupledRuns]:
        one, other, quadratic, rest = state
        between = jax.vmap(lambda share: hessian(other + share * (one - other)))(shares)
        change = jnp.tensordot(weights, between, 1) - base
        seen = CoupledRuns(one, other, quadratic, rest, jnp.linalg.norm(change, 2))
        rest = grow @ rest + step_size * change @ (one - other)
        moved = (one - step_size * gradient(one), other - step_size * gradient(other))
        return (*moved, grow @ quadratic, rest), seen

    start = (first, second, first - second, jnp.zeros_like(first))
    return jax.lax.scan(body, start, length=steps + 1)[1]


doors(
    __name__,
    radius="(0, ∞)",
    width="[0, ∞)",
    growth="(0, ∞)",
    kick="(0, ∞)",
    step_size="(0, ∞)",
    ball="(0, ∞)",
    gain="(0, ∞)",
    dimension="[1, ∞)",
    steps="[0, ∞)",
    infinite=("distance",),
)
