"""Covers of the parameter ball, parameter-Lipschitz losses, and the bound the two give together (arora 5.2)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "best_cover_deviation",
    "cover_deviation",
    "cover_size",
    "greedy_cover",
    "interval_cover_size",
    "log_normed_class_failure",
    "loss_change",
    "normed_class_deviation",
    "squared_loss_lipschitz",
    "two_layer_gradient_norm",
]


def greedy_cover(points: Float[np.ndarray, "n k"], radius: float) -> Float[np.ndarray, "m k"]:
    """Take the point farthest from those taken until all lie within `radius`: a cover, and pairwise more than it apart.

    Reference: arora Lemma 5.2.6.
    """
    positive(radius=radius)
    chosen, distance = [0], np.linalg.norm(points - points[0], axis=1)
    while distance.max() > radius:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return points[chosen]


def cover_size(radius: float, dimension: int) -> float:
    """(1 + 2/ρ)^k: no more points of the unit ball are pairwise ρ or more apart, and a greedy cover has fewer.

    The balls of radius ρ/2 around them are disjoint and lie in the ball of radius 1 + ρ/2. Attained for k = 1 when 2/ρ
    is whole; the points of a greedy cover are more than ρ apart. Reference: arora Lemma 5.2.6, which prints
    ((2+ρ)/(2ρ))^k.
    """
    positive(radius=radius)
    inside(1, np.inf, dimension=dimension)
    return (1 + 2 / radius) ** dimension


def interval_cover_size(radius: float) -> int:
    """The smallest number of intervals of half-length ρ that cover [−1, 1]: ⌈1/ρ⌉.

    `radius` is ρ.
    """
    positive(radius=radius)
    return int(np.ceil(1 / radius - 1e-12))


def cover_deviation(lipschitz: float, radius: float, dimension: int, samples: int, delta: float) -> float:
    """γ + √((k·log(1 + 4/ρ) + log(1/δ))/2m) with γ = Cρ, for losses in [0, 1] that are C-Lipschitz in k parameters.

    Balls of radius ρ/2 cut the unit ball into at most (1 + 4/ρ)^k cells of diameter ρ. Of a cell take the pointwise
    smallest loss: every member's test loss is at most γ above it and its training loss nowhere below, so γ enters once,
    beside Hoeffding's bound for so many functions. Reference: arora Thm 5.2.7.
    """
    positive(radius=radius)
    inside(0, np.inf, lipschitz=lipschitz)
    inside(1, np.inf, dimension=dimension, samples=samples)
    inside(0, 1, "(]", delta=delta)
    capacity = dimension * np.log1p(4 / radius) + np.log(1 / delta)
    return lipschitz * radius + np.sqrt(capacity / (2 * samples))


def normed_class_deviation(change: float, radius: float, dimension: int, samples: int) -> float:
    """γ + 2√(k·log(2/ρ)/m): what R − R_S stays below for all hypotheses of the unit ball of ℝᵏ, with high probability.

    Losses lie in [0, 1], and those of hypotheses within ρ ≤ 1 of each other differ by at most γ = `change` on every
    point. It fails with a probability of at most exp(`log_normed_class_failure`). `radius` is ρ, `dimension` k and
    `samples` m. Reference: arora Thm 5.2.7.
    """
    inside(0, 1, "(]", radius=radius)
    inside(0, np.inf, change=change)
    inside(1, np.inf, dimension=dimension, samples=samples)
    return change + 2 * np.sqrt(dimension * np.log(2 / radius) / samples)


def log_normed_class_failure(radius: float, dimension: int) -> float:
    """k·log((1 + 4/ρ)(ρ/2)⁸) ≤ k·log(5/256): how often `normed_class_deviation` may fail, by the union over cells.

    `radius` is ρ, `dimension` k.
    """
    inside(0, 1, "(]", radius=radius)
    inside(1, np.inf, dimension=dimension)
    return dimension * (np.log1p(4 / radius) + 8 * np.log(radius / 2))


def best_cover_deviation(lipschitz: float, dimension: int, samples: int, delta: float) -> tuple[float, float]:
    """The radius ρ ≤ 1 that makes `cover_deviation` smallest, and that smallest value."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_radius: cover_deviation(lipschitz, np.exp(log_radius), dimension, samples, delta),
        bounds=(np.log(1e-9), 0.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(np.exp(found.x)), float(found.fun)  # pyright: ignore[reportAttributeAccessIssue]


def squared_loss_lipschitz(x: Float[AnyArray, " k"], y: float) -> float:
    """How fast (w·x − y)² can change with w in the unit ball: 2(‖x‖ + |y|)‖x‖, reached at w = −sign(y)·x/‖x‖.

    Over all of ℝᵏ there is no such constant. Reference: arora Prob. 5.2.3.
    """
    size = float(np.linalg.norm(x))
    return 2 * (size + abs(y)) * size


def two_layer_gradient_norm(
    first: Float[AnyArray, "h k"],
    second: Float[AnyArray, " h"],
    x: Float[AnyArray, " k"],
    y: float,
) -> float:
    """Norm of the gradient of (f − y)² for f = Σ aⱼ·relu(wⱼ·x), in all parameters, without automatic differentiation.

    2|f − y|·√(Σⱼ relu(wⱼ·x)² + ‖x‖²·Σⱼ aⱼ²·1{wⱼ·x > 0}). Reference: arora Prob. 5.2.4.
    """
    hidden = np.asarray(first) @ np.asarray(x)
    active = hidden > 0
    slopes = np.sum(hidden[active] ** 2) + np.sum(np.asarray(x) ** 2) * np.sum(np.asarray(second)[active] ** 2)
    return float(2 * abs(np.asarray(second)[active] @ hidden[active] - y) * np.sqrt(slopes))


def loss_change(
    loss: Callable[[Array], Array], at: Float[AnyArray, " k"], radius: float, *, steps: int = 50
) -> Float[Array, ""]:
    """Largest |loss(w) − loss(at)| found within `radius` of `at`, by projected ascent from both signs of the gradient.

    The local γ of arora 5.2: γ/ρ is a lower estimate of the Lipschitz constant there.
    """
    start = jnp.asarray(at)

    def ascend(sign):
        def step(w, _):
            slope = sign * jax.grad(loss)(w)
            w = w + radius / 5 * slope / jnp.maximum(jnp.linalg.norm(slope), 1e-300)
            offset = w - start
            return start + offset * jnp.minimum(1.0, radius / jnp.maximum(jnp.linalg.norm(offset), 1e-300)), None

        return jnp.abs(loss(jax.lax.scan(step, start, None, length=steps)[0]) - loss(start))

    return jnp.maximum(ascend(1.0), ascend(-1.0))


doors(__name__, steps="[1, 1e5]", radius="(0, ∞)")
