"""Functions to descend on whose smoothness, convexity and minimum are known in closed form.

Reference: arora Ch. 2 and 7; lucchi Ch. 5; Nesterov 2004, Introductory Lectures on Convex Optimization.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator

__all__ = [
    "CosineSum",
    "CubicSaddle",
    "Huber",
    "LogisticRidge",
    "PiecewiseQuadratic",
    "Quadratic",
    "QuarticSaddle",
    "RippledBowl",
    "SigmoidRegression",
    "SineBowl",
    "TanhNetworkLoss",
    "chain_quadratic",
    "polyak_lojasiewicz_constant",
]

Scalar = Float[Array, ""]


class Quadratic(eqx.Module):
    """A quadratic form with a linear term, f(x) = ½ xᵀQx − qᵀx, with Q symmetric.

    Smoothness max|λ(Q)|; strongly convex with λ_min(Q) where that is positive.
    """

    matrix: Float[Array, "d d"]
    linear: Float[Array, "d"]

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        return x @ (0.5 * self.matrix @ x - self.linear)

    @property
    def smoothness(self) -> Scalar:
        return jnp.abs(jnp.linalg.eigvalsh(self.matrix)).max()

    @property
    def strong_convexity(self) -> Scalar:
        return jnp.linalg.eigvalsh(self.matrix)[0]

    @property
    def minimizer(self) -> Float[Array, "d"]:
        return jnp.linalg.solve(self.matrix, self.linear)


def chain_quadratic(dimension: int, *, smoothness: float = 1.0) -> Quadratic:
    """Nesterov's chain of springs, convex and slow for every first-order method.

    f(x) = (L/4) [½ (x₁² + Σ (x_i − x_{i+1})² + x_d²) − x₁]; its curvature lies in (0, L) and its minimizer is
    x_i = 1 − i/(d+1). `dimension` is d and `smoothness` L. Reference: Nesterov 2004, Introductory Lectures on Convex
    Optimization, Sec. 2.1.2.
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    second_difference = 2 * jnp.eye(dimension) - jnp.eye(dimension, k=1) - jnp.eye(dimension, k=-1)
    return Quadratic(smoothness / 4 * second_difference, smoothness / 4 * jnp.eye(dimension)[0])


class CosineSum(eqx.Module):
    """A sum of cosine wells, f(x) = Σ λ_i (1 − cos x_i) with λ_i > 0: bounded, not convex.

    Smoothness max λ; minimum 0; values in [0, 2 Σ λ_i].
    """

    weights: Float[Array, "d"]

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        # 2 sin²(x/2) is 1 − cos x without its cancellation near a minimum.
        return 2 * self.weights @ jnp.sin(x / 2) ** 2

    @property
    def smoothness(self) -> Scalar:
        return self.weights.max()

    @property
    def range(self) -> Scalar:
        return 2 * self.weights.sum()


class RippledBowl(eqx.Module):
    """A quadratic in two variables with a ripple on it, ½xᵀAx + h cos 2x₁ cos x₂: minima of several heights.

    Smoothness at most λ_max(A) + 5h.
    """

    matrix: Float[Array, "2 2"]
    height: float | Scalar = 3.0

    def __call__(self, x: Float[Array, "2"]) -> Scalar:
        return x @ self.matrix @ x / 2 + self.height * jnp.cos(2 * x[0]) * jnp.cos(x[1])


class Huber(eqx.Module):
    """A parabola continued by a cone: ½L‖x‖² up to ‖x‖ = δ, Lδ‖x‖ − ½Lδ² beyond. Convex, minimum 0 at 0.

    With δ = R/(2kηL + 1) it is the worst smooth convex function for k gradient steps from distance R (Drori and
    Teboulle 2014). It satisfies no Polyak–Łojasiewicz inequality: far out the slope is constant.
    """

    smoothness: float | Scalar
    threshold: float | Scalar

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        square = x @ x
        inside = square <= self.threshold**2
        distance = jnp.sqrt(jnp.where(inside, 1.0, square))
        cone = self.threshold * distance - self.threshold**2 / 2
        return self.smoothness * jnp.where(inside, square / 2, cone)


class PiecewiseQuadratic(eqx.Module):
    """A function of one variable whose curvature is c_j between consecutive breakpoints, flat at the origin.

    f(x) = ∫₀ˣ (x − s) c(s) ds. With enough pieces it comes as near as one likes to any function with curvature
    between two bounds, so a search over `curvatures` is a search over a whole smoothness class on the line.
    """

    breakpoints: Float[Array, "m"]
    curvatures: Float[Array, "m+1"]

    def __call__(self, x: Float[Array, "1"]) -> Scalar:
        edge = jnp.full(1, jnp.inf, self.breakpoints.dtype)
        low, high = jnp.concatenate([-edge, self.breakpoints]), jnp.concatenate([self.breakpoints, edge])
        start, end = jnp.clip(0.0, low, high), jnp.clip(x[0], low, high)
        # (x−s)²/2 taken between the ends as a product: no cancellation of squares.
        return self.curvatures @ ((end - start) * (x[0] - (start + end) / 2))

    @property
    def smoothness(self) -> Scalar:
        return jnp.abs(self.curvatures).max()

    @property
    def strong_convexity(self) -> Scalar:
        return self.curvatures.min()

    @property
    def minimum(self) -> Scalar:
        """The infimum over the line: the least value at a breakpoint, 0, or the vertex of a piece; it may be −∞."""
        edge = jnp.full(1, jnp.inf, self.breakpoints.dtype)
        low, high = jnp.concatenate([-edge, self.breakpoints]), jnp.concatenate([self.breakpoints, edge])
        inside = jnp.clip(0.0, low, high)
        values, slopes = jax.vmap(lambda x: jax.value_and_grad(self)(x[None]))(inside)
        bent = self.curvatures > 0
        vertex = jnp.clip(inside - slopes[:, 0] / jnp.where(bent, self.curvatures, 1.0), low, high)
        least = jnp.minimum(values, jax.vmap(lambda x: self(x[None]))(jnp.where(bent, vertex, inside))).min()
        outward = jnp.stack([-slopes[0, 0], slopes[-1, 0]])
        ends = self.curvatures[jnp.array([0, -1])]
        falls = jnp.any((ends < 0) | ((ends == 0) & (outward < 0)))
        return jnp.where(falls, -jnp.inf, least)

    @property
    def polyak_lojasiewicz(self) -> Scalar:
        """The largest μ with ½f'² ≥ μ (f − f(0)) everywhere; 0 if there is none, or if 0 is not the minimizer.

        On a piece of constant curvature 2fc − f'² is constant, so f'²/(2f) is monotone there: its infimum is reached
        at a breakpoint, or in the limit at 0 or at infinity, where it is the curvature.
        """
        values, slopes = jax.vmap(lambda b: jax.value_and_grad(self)(b[None]))(self.breakpoints)
        away = self.breakpoints != 0
        uphill = slopes[:, 0] * self.breakpoints > 0
        ratio = jnp.where(away & uphill, slopes[:, 0] ** 2 / jnp.where(values > 0, 2 * values, 1.0), 0.0)
        sides = [jnp.searchsorted(self.breakpoints, 0.0, side=side) for side in ("left", "right")]
        limits = self.curvatures[jnp.array([0, -1, *sides])]
        return jnp.maximum(jnp.concatenate([jnp.where(away, ratio, jnp.inf), limits]).min(), 0.0)


class SineBowl(eqx.Module):
    """The sum over coordinates of x² + 3 sin² x: not convex, yet every stationary point is the minimum 0.

    Curvature 2 + 6 cos 2x, so the smoothness is 8; Polyak–Łojasiewicz with μ = 1/32 (Karimi, Nutini and Schmidt
    2016); the largest possible μ is 0.175530…, attained at x = 2.2017 (lucchi Def. 21).
    """

    smoothness: float = 8.0
    polyak_lojasiewicz: float = 0.17553

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        return jnp.sum(x**2 + 3 * jnp.sin(x) ** 2)


class LogisticRidge(eqx.Module):
    """Mean logistic loss with ridge, f(w) = mean log(1 + exp(−y_i x_i·w)) + ½ α‖w‖², labels y_i = ±1.

    Smoothness λ_max(XᵀX)/(4n) + α; strongly convex with α. `ridge` is α; features xᵢ are rows. Reference: handbook
    4.1.2.
    """

    features: Float[Array, "n d"]
    labels: Float[Array, "n"]
    ridge: float | Scalar

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        return jnp.mean(logistic_loss(self.labels * (self.features @ w))) + self.ridge / 2 * w @ w

    @property
    def smoothness(self) -> Scalar:
        return jnp.linalg.norm(self.features, 2) ** 2 / (4 * len(self.features)) + self.ridge

    @property
    def strong_convexity(self) -> float | Scalar:
        return self.ridge

    @property
    def minimizer(self) -> Float[Array, "d"]:
        """Thirty steps of Newton's method, with the derivatives written out: they compile faster than jax.hessian."""
        root = len(self.features) ** 0.5
        signed = self.labels[:, None] * self.features / root

        def newton(_: Any, w: Float[Array, "d"]) -> Float[Array, "d"]:
            wrong = jax.nn.sigmoid(-root * (signed @ w))
            gradient = self.ridge * w - signed.T @ wrong / root
            hessian = signed.T @ ((wrong * (1 - wrong))[:, None] * signed) + self.ridge * jnp.eye(len(w))
            return w - jnp.linalg.solve(hessian, gradient)

        return jax.lax.fori_loop(0, 30, newton, jnp.zeros(self.features.shape[1], self.features.dtype))


class SigmoidRegression(eqx.Module):
    """Squared loss of one sigmoid neuron, f(w) = mean ½ (σ(x_i·w) − y_i)² with y_i in [0, 1]: smooth, not convex.

    Smoothness at most (1/16 + 1/(6√3)) λ_max(XᵀX)/n, from |σ'| ≤ 1/4 and |σ''| ≤ 1/(6√3).
    """

    features: Float[Array, "n d"]
    labels: Float[Array, "n"]

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        return jnp.mean((jax.nn.sigmoid(self.features @ w) - self.labels) ** 2) / 2

    @property
    def smoothness(self) -> Scalar:
        curvature = 1 / 16 + 1 / (6 * 3**0.5)
        return curvature * jnp.linalg.norm(self.features, 2) ** 2 / len(self.features)


class TanhNetworkLoss(eqx.Module):
    """Mean squared loss ½(h(x_i) − y_i)² of a fully connected tanh network as a function of its flat parameters.

    `hidden` lists the hidden widths; layers carry no bias. No global smoothness constant exists.
    """

    inputs: Float[Array, "n d"]
    labels: Float[Array, "n"]
    hidden: tuple[int, ...] = eqx.field(static=True)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        widths = (self.inputs.shape[1], *self.hidden, 1)
        return list(pairwise(widths))

    def initial(self, key: Key[Array, ""] | UInt32[Array, "2"]) -> Float[Array, "p"]:
        """Draw parameters with variance 1/fan-in."""
        random = generator(key)
        layers = [random.standard_normal(shape).ravel() / shape[0] ** 0.5 for shape in self.shapes]
        return jnp.asarray(np.concatenate(layers), self.inputs.dtype)

    def __call__(self, parameters: Float[Array, "p"]) -> Scalar:
        activation, used = self.inputs, 0
        for index, (rows, columns) in enumerate(self.shapes):
            weight = parameters[used : used + rows * columns].reshape(rows, columns)
            used += rows * columns
            activation = (jnp.tanh(activation) if index else activation) @ weight
        return jnp.mean((activation[:, 0] - self.labels) ** 2) / 2


class CubicSaddle(eqx.Module):
    """A strict saddle at 0 with exactly ρ-Lipschitz Hessian: −½γx₁² + (ρ/6)|x₁|³ + ½ Σ_{k≥2} x_k².

    Smoothness 1 while |x₁| ≤ (1 + γ)/ρ, for γ ≤ 1. Minima at x₁ = ±2γ/ρ with value −(2/3) γ³/ρ², which is
    −(2/3) √(ε³/ρ) when γ = √(ρε). `descent` is γ, `hessian_lipschitz` ρ. Reference: arora 7.3.
    """

    descent: float | Scalar
    hessian_lipschitz: float | Scalar

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        cubic = self.hessian_lipschitz / 6 * jnp.abs(x[0]) ** 3
        return -self.descent / 2 * x[0] ** 2 + cubic + x[1:] @ x[1:] / 2

    @property
    def minimum(self) -> float | Scalar:
        return -2 / 3 * self.descent**3 / self.hessian_lipschitz**2


class QuarticSaddle(eqx.Module):
    """A strict saddle at 0 between two wells: ½ (−γx₁² + Σ_{k≥2} x_k²) + ¼‖x‖⁴.

    Minima at x₁ = ±√γ with value −γ²/4. On the ball of radius R the smoothness is at most 1 + 3R² and the Hessian
    is 6R-Lipschitz. `descent` is γ. Reference: arora 7.2.
    """

    descent: float | Scalar

    def __call__(self, x: Float[Array, "d"]) -> Scalar:
        return (x[1:] @ x[1:] - self.descent * x[0] ** 2) / 2 + (x @ x) ** 2 / 4

    @property
    def minimum(self) -> float | Scalar:
        return -(self.descent**2) / 4


def polyak_lojasiewicz_constant(
    function: Callable, points: Float[Array, "k d"], *, minimum: float | Scalar = 0.0
) -> Scalar:
    """The largest μ for which ½‖∇f(x)‖² ≥ μ (f(x) − f*) at all the given points.

    An upper estimate of the constant of f (lucchi Def. 21). Points already at the minimum say nothing and are skipped.
    """
    values, gradients = jax.vmap(jax.value_and_grad(function))(points)
    gap = values - minimum
    ratio = jnp.sum(gradients**2, axis=1) / jnp.where(gap > 0, 2 * gap, 1.0)
    return jnp.where(gap > 0, ratio, jnp.inf).min()


doors(
    __name__,
    dimension="[1, 1e4]",
    smoothness="(0, ∞)",
    threshold="(0, ∞)",
    hessian_lipschitz="[0, ∞)",
    ridge="[0, ∞)",
)
