"""Monomials and polynomials from one smooth activation, by finite differences in the weight (lucchi Thm 19)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import comb, factorial

from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "LivelyPoint",
    "derivatives_at",
    "lively_point",
    "monomial_error_term",
    "monomial_network",
    "polynomial_network",
]

Activation = Callable[..., Any]
ON_CIRCLE = 512
"""points of the circle on which derivatives are read off"""
SHARPEST = 1e-12
"""the least radius to the power of the order: below it a derivative has fewer than three digits"""


def derivatives_at(
    activation: Activation, at: Float[np.ndarray, "*n"], order: int, *, radius: float = 0.8
) -> Float[np.ndarray, "*n k"]:
    """Return σ(b), σ′(b), …, σ^(order)(b) on the last axis, by Cauchy's formula on a circle of the given radius.

    σ^(k)(b) = k!/(2π rᵏ) ∫ σ(b + re^{iθ}) e^{−ikθ} dθ: no cancellation, about 1e-15·k!/rᵏ off. The activation must be
    analytic within the circle and take complex arrays (`np.tanh`, `np.cos`, `np.exp`, `sigmoid`, …; tanh has
    poles at ±iπ/2, the sigmoid at ±iπ). One that is not analytic there is refused: it has negative powers of e^{iθ},
    which an analytic one lacks. So is a circle on which rounding would be all that is left of the last derivative.
    """
    inside(SHARPEST ** (1 / max(order, 1)), 10, radius=radius)
    angles = 2 * np.pi * np.arange(ON_CIRCLE) / ON_CIRCLE
    values = np.asarray(activation(at[..., None] + radius * np.exp(1j * angles)))
    powers = np.fft.fft(values, axis=-1) / ON_CIRCLE
    size = np.abs(powers).max(-1)
    if not np.all(np.abs(powers[..., ON_CIRCLE // 2 :]).max(-1) <= 1e-9 * size):
        raise ValueError(f"activation must be analytic within {radius} of `at`, and has poles or jumps there")
    k = np.arange(order + 1)
    return np.real(powers[..., : order + 1]) * factorial(k) / radius**k


@dataclass(frozen=True)
class LivelyPoint:
    """A point and the derivatives of order 0, 1, … there, none of which vanishes."""

    point: float
    derivatives: Float[np.ndarray, " k"]


def lively_point(
    activation: Activation, order: int, low: float = -2.0, high: float = 2.0, *, points: int = 401, radius: float = 0.8
) -> LivelyPoint:
    """Return the point of a grid where the least of |σ|, |σ′|/1!, …, |σ^(k)|/k! up to k = `order` is largest.

    A smooth activation that is no polynomial has a point where no derivative vanishes (lucchi Lemma 20); the origin
    is none for tanh and the sigmoid. Here only finitely many orders are looked at, and a polynomial of lower degree is
    refused. For `radius` see `derivatives_at`.
    """
    if not low < high:
        raise ValueError(f"low must lie below high, got {low} and {high}")
    where = np.linspace(low, high, points)
    found = derivatives_at(activation, where, order, radius=radius)
    sizes = np.abs(found) / factorial(np.arange(order + 1)) * radius ** np.arange(order + 1)
    least = sizes.min(-1)
    if least.max() <= 1e-12 * sizes.max():
        raise ValueError(
            f"activation has a vanishing derivative of order at most {order} at all points that were tried"
        )
    return LivelyPoint(float(where[least.argmax()]), found[least.argmax()])


def monomial_network(
    power: int, activation: Activation, at: float, step: float, *, centred: bool = False, radius: float = 0.8
) -> ShallowNetwork:
    """Return k + 1 units whose sum is near xᵏ: [hᵏ σ^(k)(b)]⁻¹ Σⱼ (−1)^(k−j) C(k, j) σ(jhx + b) (lucchi Thm 19).

    `power` is k, `at` is b (σ^(k)(b) must not vanish), `step` is h. Off by O(h), with `centred` differences, of weights
    (j − k/2)h, by O(h²): see `monomial_error_term`. Rounding adds about 1e-16/(hᵏ|σ^(k)(b)|), so in double precision
    powers beyond 5 or so are of little use. For `radius` see `derivatives_at`.
    """
    derivative = derivatives_at(activation, np.array(at), power, radius=radius)
    if abs(derivative[power]) <= 1e-12 * np.abs(derivative).max():
        raise ValueError(f"the derivative of order {power} of the activation vanishes at {at}")
    j = np.arange(power + 1.0)
    output = (-1) ** (power - j) * comb(power, j) / (step**power * derivative[power])
    weights = (j - power / 2 if centred else j) * step
    return ShallowNetwork(weights[:, None], np.full(power + 1, float(at)), output, activation)


def monomial_error_term(
    power: int, activation: Activation, at: float, step: float, x: Float[np.ndarray, "*n"], *, centred: bool = False
) -> Float[np.ndarray, "*n"]:
    """Return the leading error of `monomial_network`: (k/2)h x^(k+1) σ^(k+1)(b)/σ^(k)(b), of order h.

    Centred differences leave (k/24)h² x^(k+2) σ^(k+2)(b)/σ^(k)(b). `power` is k, `step` h and `at` b. Reference: lucchi
    Thm 19.
    """
    derivative = derivatives_at(activation, np.array(at), power + 2)
    shares = derivative / derivative[power]
    term = power / 24 * (step * x) ** 2 * shares[-1] if centred else power / 2 * step * x * shares[-2]
    return np.asarray(x**power * term)


def polynomial_network(
    coefficients: Float[np.ndarray, " r"], activation: Activation, at: float, step: float, *, radius: float = 0.8
) -> ShallowNetwork:
    """Return r units σ(jhx + b), j < r, whose sum is near Σₖ αₖ xᵏ with `coefficients` α₀, …, α_{r−1}.

    All powers use the same units, as their differences start at one b with no vanishing derivative (lucchi Lemma 20).
    The error is at most Σ|αₖ| times the errors of the single powers. `step` is h, `at` b; for `radius` see
    `derivatives_at`.
    """
    output, r = np.zeros(len(coefficients)), len(coefficients)
    for power, coefficient in enumerate(coefficients):
        output[: power + 1] += coefficient * monomial_network(power, activation, at, step, radius=radius).output
    return ShallowNetwork(step * np.arange(float(r))[:, None], np.full(r, float(at)), output, activation)


doors(
    __name__,
    order="[0, 40]",
    power="[0, 20]",
    points="[1, 100000]",
    radius="(0, 10]",
    step="(0, 10]",
    at="(-1000, 1000)",
)
