"""Networks of one input, built by hand: staircases of thresholds or sigmoids, and hinges along the graph.

Reference: lucchi Thm 14; handbook Sec. 1.1.1.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.errors import sampled
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.activations import relu, sigmoid, threshold
from deeptheory.foundations.entrances import doors

__all__ = ["hinge_error_bound", "hinges", "sigmoid_staircase", "staircase", "staircase_units", "steps_at"]


def staircase(f: Callable[..., Any], units: int, low: float = 0.0, high: float = 1.0) -> ShallowNetwork:
    """Return Σᵢ aᵢ 1[x ≥ bᵢ] with knots bᵢ = low + i·h, i < m, and steps aᵢ = f(bᵢ) − f(bᵢ₋₁), a₀ = f(low).

    With h = (high − low)/m it agrees with f at its knots, so sup|network − f| ≤ ρh for a ρ-Lipschitz f, and no less if
    f is a line of slope ρ (lucchi Thm 14). f takes an array of numbers. `units` is m.
    """
    return steps_at(f, _knots(units, low, high)[:-1])


def steps_at(f: Callable[..., Any], knots: Float[np.ndarray, " m"]) -> ShallowNetwork:
    """Return Σᵢ aᵢ 1[x ≥ bᵢ] for `knots` b₀ < b₁ < …, with a₀ = f(b₀) and aᵢ = f(bᵢ) − f(bᵢ₋₁).

    It is f at the last knot before x, and 0 before the first. lucchi Thm 14 has bᵢ = iε/ρ, which leaves the last step
    shorter than the others unless ρ/ε is a whole number; `staircase` has steps of one length.
    """
    if not np.all(np.diff(knots) > 0):
        raise ValueError(f"knots must increase, got {knots}")
    return ShallowNetwork(np.ones((len(knots), 1)), -knots, np.diff(sampled(f, knots), prepend=0.0), threshold)


def staircase_units(lipschitz: float, error: float, length: float = 1.0) -> int:
    """Return ⌈ρ·length/ε⌉, thresholds that come within ε of every ρ-Lipschitz function on an interval (lucchi Thm 14).

    At least one: it gives the constant. `error` is ε, `lipschitz` ρ.
    """
    return max(1, ceil(lipschitz * length / error))


def sigmoid_staircase(
    f: Callable[..., Any], units: int, low: float = 0.0, high: float = 1.0, *, steepness: float = 50.0
) -> ShallowNetwork:
    """Return f(x₀) + Σⱼ (f(xⱼ) − f(xⱼ₋₁)) σ(k(x − mⱼ)/h), a staircase of sigmoids with its steps between the knots.

    The knots x₀, …, x_{N−1} are h = (high − low)/(N − 1) apart, the steps stand at the middles mⱼ, and the first of
    the N units is the constant 2f(x₀)σ(0). `steepness` is k. For a ρ-Lipschitz f the error is at most
    ρh(½ + 2 Σ_{j≥1} 1/(1 + e^(jk))) ≤ ρh(½ + 2/(e^k − 1)), which ρ|x − mᵢ| has at mᵢ but for steps that are not there:
    in the middle between two knots their values are averaged, and what the other steps lack of 0 or 1 adds up to the
    sum; nearer to a knot the first term falls by more than the others rise (handbook 1.1.1).
    """
    if units < 2:
        raise ValueError(f"units must be at least 2, one for the constant, got {units}")
    knots = _knots(units - 1, low, high)
    values, step = sampled(f, knots), (high - low) / (units - 1)
    weights = np.concatenate([[0.0], np.full(units - 1, steepness / step)])
    biases = np.concatenate([[0.0], -steepness / step * (knots[:-1] + step / 2)])
    return ShallowNetwork(weights[:, None], biases, np.concatenate([[2 * values[0]], np.diff(values)]), sigmoid)


def hinges(f: Callable[..., Any], units: int, low: float = 0.0, high: float = 1.0) -> ShallowNetwork:
    """Return the ReLU network that joins N points of the graph of f by straight lines (handbook 1.1.1).

    f(x₀) + s₀ (x − x₀)₊ + Σⱼ (sⱼ − sⱼ₋₁)(x − xⱼ)₊ with slopes sⱼ between knots that are h = (high − low)/(N − 1)
    apart; the first of the N units is the constant. sup|network − f| ≤ (h²/8) max|f″|, for a ρ-Lipschitz f ≤ ρh/2.
    f takes an array of numbers.
    """
    if units < 2:
        raise ValueError(f"units must be at least 2, one for the constant, got {units}")
    knots = _knots(units - 1, low, high)
    values = sampled(f, knots)
    slopes = np.diff(values) / np.diff(knots)
    weights = np.concatenate([[0.0], np.ones(units - 1)])
    biases = np.concatenate([[1.0], -knots[:-1]])
    return ShallowNetwork(weights[:, None], biases, np.concatenate([values[:1], np.diff(slopes, prepend=0.0)]), relu)


def hinge_error_bound(curvature: float, units: int, length: float = 1.0) -> float:
    """Return (h²/8) max|f″| with h = length/(N − 1): how far N hinges can be from f; attained by parabolas.

    `curvature` is max|f″|, `units` N at least 2. Reference: de Boor, A Practical Guide to Splines (1978), Ch. III.
    """
    if units < 2:
        raise ValueError(f"units must be at least 2, one for the constant, got {units}")
    return (length / (units - 1)) ** 2 * curvature / 8


def _knots(steps: int, low: float, high: float) -> np.ndarray:
    if np.ndim(low) or np.ndim(high):
        raise ValueError(f"low and high must be numbers, as these networks have one input, got {low} and {high}")
    if not low < high:
        raise ValueError(f"low must lie below high, got {low} and {high}")
    return np.linspace(low, high, steps + 1)


doors(
    __name__,
    units="[1, 1000000]",
    steepness="(0, 1e6]",
    lipschitz="[0, ∞)",
    error="(0, ∞)",
    length="(0, ∞)",
    curvature="[0, ∞)",
)
