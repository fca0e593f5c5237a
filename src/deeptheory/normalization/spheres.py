"""Scale-invariant functions whose smoothness on the unit sphere is known, and what that number bounds.

ρ is the largest spectral norm of the Hessian on the unit sphere. Because the Hessian takes w to −∇L(w) it bounds the
gradient too, and more sharply than by the length of a great circle: where the gradient has grown to u·ρ the curvature
is at most (1 − u²)ρ, so along a geodesic from a minimum the gradient is at most ρ·tanh of the distance.

`smoothness` is ρ; of a step with weight decay `rate` is η and `decay` λ; `slope` and `curvature` are h′ and h″ of a
function of an angle.

Reference: arora 13.4.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "CircleWaves",
    "RayleighQuotient",
    "SteepestCircle",
    "circle_smoothness",
    "decayed_decrease",
    "gap_bound",
    "gradient_bound",
    "orthogonal_step_bound",
    "sharp_decayed_decrease",
    "sharp_gap_bound",
    "sharp_gradient_bound",
    "sphere_smoothness",
]

Scalar = Float[Array, ""]


class RayleighQuotient(eqx.Module):
    """L(w) = wᵀAw/‖w‖², whose smoothness on the sphere is 2(λ_max − λ_min), met at the extreme eigenvectors.

    Only the symmetric part of A matters. The gradient at a unit vector is 2(Aw − Lw), of norm at most λ_max − λ_min,
    which is also the range of L.
    """

    matrix: Float[AnyArray, "d d"]

    def __call__(self, w: Float[Array, " d"]) -> Scalar:
        return w @ self.matrix @ w / (w @ w)

    @property
    def smoothness(self) -> Scalar:
        eigenvalues = jnp.linalg.eigvalsh((self.matrix + jnp.asarray(self.matrix).T) / 2)
        return 2 * (eigenvalues[-1] - eigenvalues[0])


class CircleWaves(eqx.Module):
    """L(w) = Σₘ aₘ cos mθ + bₘ sin mθ, m = 1, 2, …, of the angle θ of w in the plane."""

    cosines: Float[AnyArray, " m"]
    sines: Float[AnyArray, " m"]

    def __call__(self, w: Float[Array, "2"]) -> Scalar:
        phase = jnp.arctan2(w[1], w[0]) * jnp.arange(1, len(self.cosines) + 1)
        return jnp.cos(phase) @ self.cosines + jnp.sin(phase) @ self.sines

    def slope_and_curvature(self, angle: Reals) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """h′ and h″ of h(θ) = L(cos θ, sin θ)."""
        m = jnp.arange(1, len(self.cosines) + 1)
        phase = jnp.asarray(angle)[..., None] * m
        slope = jnp.cos(phase) @ (m * self.sines) - jnp.sin(phase) @ (m * self.cosines)
        return slope, -jnp.cos(phase) @ (m**2 * self.cosines) - jnp.sin(phase) @ (m**2 * self.sines)


class SteepestCircle(eqx.Module):
    """The function of an angle that rises fastest for its smoothness ρ: h(θ) = ρ log cosh θ up to |θ| = π/2, then back.

    h(π − θ) = 2ρ log cosh(π/2) − h(θ). Its Hessian has norm ρ all over the circle; gradient and range attain
    `sharp_gradient_bound` and `sharp_gap_bound`. Twice differentiable but at |θ| = π/2.
    """

    smoothness: float | Scalar = 1.0

    def __call__(self, w: Float[Array, "2"]) -> Scalar:
        angle = jnp.abs(jnp.arctan2(w[1], w[0]))
        near = jnp.minimum(angle, jnp.pi - angle)
        rise = jnp.log(jnp.cosh(near))
        return self.smoothness * jnp.where(angle <= jnp.pi / 2, rise, 2 * jnp.log(jnp.cosh(jnp.pi / 2)) - rise)


def circle_smoothness(slope: Reals, curvature: Reals) -> Float[Array, "..."]:
    """The norm of the Hessian [[0, −h′], [−h′, h″]] of L = h(θ) at a unit vector: (|h″| + √(h″² + 4h′²))/2.

    For h = −cos θ its maximum over the circle is 2/√3, not the 1 of h″ alone.
    """
    return (jnp.abs(curvature) + jnp.sqrt(curvature**2 + 4 * slope**2)) / 2


def sphere_smoothness(
    function: Callable[[Float[Array, " d"]], Scalar],
    starts: Float[AnyArray, "n d"],
    *,
    steps: int = 200,
    rate: float = 0.1,
) -> Scalar:
    """A lower bound on ρ = max_{‖w‖=1} ‖∇²L(w)‖ (arora Def. 13.4.1), by ascent on the sphere from given starts.

    Every start, taken to the sphere, is pushed along the gradient of log‖∇²L‖ and back, with steps that shrink to
    nothing; the best value met is returned. Exact where the ascent finds the global maximum, which no local search
    can promise. The full Hessian is formed: of a network with more than some hundred parameters take a part.
    """

    def size(w: Float[Array, " d"]) -> Scalar:
        return jnp.abs(jnp.linalg.eigvalsh(jax.hessian(function)(w))).max()

    def ascend(w: Float[Array, " d"], shrink: Scalar) -> tuple[Float[Array, " d"], Scalar]:
        value, slope = jax.value_and_grad(size)(w)
        # At an extreme eigenvalue that is double the derivative is not defined: stay.
        slope = jnp.nan_to_num(slope / value)
        moved = w + rate * shrink * (slope - (slope @ w) * w)
        return (moved / jnp.linalg.norm(moved)).astype(w.dtype), value

    first = jnp.asarray(starts) / jnp.linalg.norm(starts, axis=1, keepdims=True)
    shrinking = jnp.linspace(1.0, 0.0, steps)
    return jax.vmap(lambda w: jax.lax.scan(ascend, w, shrinking)[1])(first).max()


def gradient_bound(smoothness: Reals) -> Reals:
    """‖∇L(w)‖ ≤ πρ for unit w: a gradient of zero at a minimum, at most ρ more a unit of a way of length at most π.

    Reference: arora Lemma 13.4.3, part 1. Never attained: see `sharp_gradient_bound`, 3.4 times smaller.
    """
    return jnp.pi * smoothness


def sharp_gradient_bound(smoothness: Reals) -> Reals:
    """The best bound on the gradient of unit vectors, ‖∇L(w)‖ ≤ ρ tanh(π/2) ≈ 0.917ρ; `SteepestCircle` attains it.

    Sharper than the πρ of arora Lemma 13.4.3, for the reason the module gives. `smoothness` is ρ.
    """
    return smoothness * jnp.tanh(jnp.pi / 2)


def gap_bound(smoothness: Reals) -> Reals:
    """L(w) − min L ≤ π²ρ/2, the integral of ρ·distance up to π (arora Lemma 13.4.3, part 2). Never attained."""
    return jnp.pi**2 * smoothness / 2


def sharp_gap_bound(smoothness: Reals) -> Reals:
    """The best bound on L(w) − min L, 2ρ log cosh(π/2) ≈ 1.839ρ: the slope must come back to zero at the maximum too.

    Sharper than the π²ρ/2 of arora Lemma 13.4.3. `smoothness` is ρ.
    """
    return 2 * smoothness * jnp.log(jnp.cosh(jnp.pi / 2))


def orthogonal_step_bound(inner: Reals, smoothness: Reals, step_square: Reals, square: Reals) -> Reals:
    """L(x + v) − L(x) ≤ ⟨v, ∇L(x)⟩ + ρ‖v‖²/(2‖x‖²) for orthogonal x, v (arora Lemma 13.4.5).

    `inner` is ⟨v, ∇L(x)⟩, `step_square` ‖v‖², `square` ‖x‖². Of small steps some attain it to first order. A step that
    is not orthogonal may pass near the origin, where no such bound holds.
    """
    return inner + smoothness * step_square / (2 * square)


def decayed_decrease(gradient_square: Reals, square: Reals, *, rate: Reals, smoothness: Reals) -> Reals:
    """What a step of descent with weight decay lowers L by at least: η(1 − 2ρη/‖w‖²)‖∇L(w)‖², for ηλ ≤ ½.

    `gradient_square` is at w itself, not at w/‖w‖; `square` is ‖w‖². Reference: arora Thm 13.4.6.
    """
    return rate * (1 - 2 * smoothness * rate / square) * gradient_square


def sharp_decayed_decrease(
    gradient_square: Reals, square: Reals, *, rate: Reals, decay: Reals, smoothness: Reals
) -> Reals:
    """What a step with weight decay gains at least: η‖∇L‖²[1/(1 − ηλ) − ρη/(2(1 − ηλ)²‖w‖²)], for any ηλ < 1.

    The bound of arora Thm 13.4.6 before it is simplified; near a minimum with curvature ρ it is attained to first
    order. `gradient_square` is ‖∇L(w)‖² at w itself, `square` is ‖w‖².
    """
    inside(0, 1, "[)", **{"rate · decay": rate * decay})
    kept = 1 - rate * decay
    return rate * gradient_square * (1 / kept - smoothness * rate / (2 * kept**2 * square))


doors(
    __name__,
    smoothness="[0, ∞)",
    steps="[1, 1e6]",
    rate="(0, ∞)",
    decay="[0, ∞)",
    square="(0, ∞)",
    step_square="[0, ∞)",
    gradient_square="[0, ∞)",
)
