"""Lazy training: gradient flow that fits the data before its parameters, or its tangent kernel, have moved.

The risk is R(θ) = ‖y − f(θ)‖²/2n for a model f: ℝᵖ → ℝⁿ, its outputs on the n training inputs; D f is their Jacobian.

`jacobian` is D f(θ₀), n × p, and `residual` y − f(θ₀).
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed
from deeptheory.kernels.regression.predictions import diagonalize, flow

__all__ = [
    "LazyCertificate",
    "SharpLazyBounds",
    "gradient_flow",
    "lazy_certificate",
    "least_squares_form",
    "linearized_path",
    "sharp_lazy_bounds",
]

Model = Callable[[Array], Array]


# The flow and its linearization ---------------------------------------------------------------------------------------


def gradient_flow(
    model: Model,
    start: Float[AnyArray, " p"],
    y: Float[AnyArray, " n"],
    times: Float[np.ndarray, " time"],
    *,
    tolerance: float = 1e-12,
) -> Float[np.ndarray, "time p"]:
    """Return the parameters along θ̇ = −∇R(θ) = D f(θ)ᵀ(y − f(θ))/n at increasing times (jagannath 9.1).

    `model` maps parameters to the outputs on all training inputs. An explicit method of order eight on the host: for
    times of a few hundred n/s_max(D f)² at most.
    """
    start, y = np.asarray(start, float), jnp.asarray(y)
    if (met := jax.eval_shape(model, start).shape) != y.shape:
        raise ValueError(f"model must return outputs of the shape {y.shape} that y has, got {met}")

    def risk(theta: Array) -> Array:
        return jnp.mean((model(theta) - y) ** 2) / 2

    slope = jax.jit(jax.grad(risk))

    def velocity(_: float, theta: np.ndarray) -> np.ndarray:
        return -np.asarray(slope(theta), float)

    return followed(velocity, 0.0, start, times, method="DOP853", tolerance=tolerance)


def linearized_path(
    jacobian: Float[AnyArray, "n p"],
    residual: Float[AnyArray, " n"],
    times: Float[AnyArray, " time"],
) -> Float[Array, "time p"]:
    """Return θ̄_t − θ₀ = Jᵀ g_t(JJᵀ)(y − f(θ₀)) along the flow of the linearized risk, J = D f(θ₀) (jagannath 9.1).

    At t = ∞ this is J⁺(y − f(θ₀)): of all parameters that fit the linearized model, the nearest to θ₀.
    """
    jacobian = jnp.asarray(jacobian)
    basis = diagonalize(jacobian @ jacobian.T)
    count = jacobian.shape[0]
    return jnp.stack([jacobian.T @ basis.transform(flow(t / count), residual) for t in jnp.asarray(times)])


def least_squares_form(
    jacobian: Float[AnyArray, "n p"],
    outputs: Float[AnyArray, " n"],
    start: Float[AnyArray, " p"],
    y: Float[AnyArray, " n"],
) -> tuple[Float[Array, "n p"], Float[Array, " n"]]:
    """Return X̃ = D f(θ₀) and ỹ = y − f(θ₀) + D f(θ₀)θ₀, for which the linearized risk is ‖ỹ − X̃θ‖²/2n.

    jagannath 9.1 prints a minus before the last term.
    """
    jacobian = jnp.asarray(jacobian)
    return jacobian, jnp.asarray(y) - outputs + jacobian @ jnp.asarray(start)


# What the lazy-training theorem promises ------------------------------------------------------------------------------


class LazyCertificate(NamedTuple):
    """The hypothesis and the bounds of the lazy-training theorem for one model and one start.

    `margin` is 4L‖y − f(θ₀)‖/s_min², to be below 1; then for all times R(θ_t) ≤ R(θ₀)e^{−rate·t},
    ‖θ_t − θ₀‖ ≤ `travel` < `radius`, and ‖θ_t − θ̄_t‖ ≤ `deviation`.
    """

    margin: float
    rate: float
    travel: float
    radius: float
    deviation: float

    @property
    def applies(self) -> bool:
        return self.margin < 1


def lazy_certificate(
    jacobian: Float[AnyArray, "n p"], residual: Float[AnyArray, " n"], *, lipschitz: float
) -> LazyCertificate:
    """Return what jagannath Thm 9.1 promises from D f(θ₀), y − f(θ₀) and a Lipschitz constant L of D f.

    With E = ‖y − f(θ₀)‖ and s, S the extreme singular values of D f(θ₀): rate s²/2n, travel 2E/s, radius s/2L and
    deviation min{3E/s, 28 L S² E²/s⁵}. The book states the deviation up to constants; these are ours. The first is
    the triangle inequality, ‖θ_t − θ₀‖ ≤ 2E/s and ‖θ̄_t − θ₀‖ ≤ E/s. For the second, ‖K_t − K₀‖ ≤ 5LES/s inside the
    ball, so r = f(θ_t) − f̄(θ̄_t) obeys d‖r‖/dt ≤ −(s²/4n)‖r‖ + (5LE²S/sn)e^{−s²t/n}; integrating once gives r, and
    once more 8LE²/s³ + 20LE²S²/s⁵ for the parameters. L must bound D f in the operator norm on the ball of `radius`.
    """
    values = np.linalg.svd(np.asarray(jacobian, float), compute_uv=False)
    count, distance = len(residual), float(np.linalg.norm(residual))
    if len(values) < count or values[-1] <= values[0] * np.finfo(float).eps * count:
        raise ValueError("the Jacobian must have full row rank: fewer parameters than data, or data that coincide")
    small, large = float(values[-1]), float(values[0])
    return LazyCertificate(
        margin=4 * lipschitz * distance / small**2,
        rate=small**2 / (2 * count),
        travel=2 * distance / small,
        radius=small / (2 * lipschitz) if lipschitz else float("inf"),
        deviation=min(3 * distance / small, 28 * lipschitz * large**2 * distance**2 / small**5),
    )


class SharpLazyBounds(NamedTuple):
    """The rate of the risk and the distance travelled that no model with these constants can miss."""

    rate: float
    travel: float


def sharp_lazy_bounds(*, smallest: float, lipschitz: float, distance: float, count: int) -> SharpLazyBounds:
    """Return rate 2s²q²/n and travel (s/L)(1 − q), q = √(1 − 2LE/s²): the best constants under L E < s²/2.

    Along the flow d‖y − f‖ ≤ −(s − Lδ)dδ, where δ is the length of the path, so sδ − Lδ²/2 ≤ E. The model
    f(θ) = sθ − Lθ²/2 of one parameter attains both, and cannot reach y beyond E = s²/2L, so the condition is sharp
    as well. For L E < s²/4, the condition of jagannath Thm 9.1, rate ≥ s²/n and travel ≤ (4 − 2√2)E/s. `smallest` is s,
    `lipschitz` L, `distance` E and `count` n.
    """
    share = 1 - 2 * lipschitz * distance / smallest**2
    if share <= 0:
        raise ValueError(f"2LE/s² must be below 1, got {1 - share:.6g}")
    root = sqrt(share)
    travel = 2 * distance / (smallest * (1 + root))  # (s/L)(1 − q) without the cancellation
    return SharpLazyBounds(rate=2 * smallest**2 * share / count, travel=travel)


doors(__name__, infinite=("times",), lipschitz="[0, ∞)", tolerance="(0, ∞)")
