"""How close stochastic gradient descent stays to its diffusion on quadratic losses, in exact moments, no sampling.

A stochastic gradient that is affine in x (a random quadratic loss) closes the equations of all moments, for the
iteration and for the diffusion alike. Weak errors then carry no statistical noise and show their order plainly.

Reference: arora Sec. 12.3; Li, Tai and E 2019.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "LinearOracle",
    "NoiseLaw",
    "diffusion_moments",
    "diffusion_transition",
    "gaussian_noise",
    "hybrid_moments",
    "linear_oracle",
    "sgd_moments",
    "sgd_transition",
    "three_losses",
    "two_point_noise",
    "weak_error",
]


MOST_STEPS = 1_000_000
"""whose moments, up to sixty each, are half a gigabyte"""


class NoiseLaw(NamedTuple):
    """A law on finitely many real values, of mean 0 and variance 1."""

    values: Float[np.ndarray, " outcomes"]
    probabilities: Float[np.ndarray, " outcomes"]


def two_point_noise(skewness: float) -> NoiseLaw:
    """Return the law on two values with mean 0, variance 1 and the given third moment (any real number).

    With probability (1 ∓ s/√(s² + 4))/2 the values (s ± √(s² + 4))/2, s the `skewness`.
    """
    root = np.sqrt(1 + skewness**2 / 4)
    values = np.array([skewness / 2 + root, skewness / 2 - root])
    return NoiseLaw(values, np.abs(values[::-1]) / np.abs(values).sum())


def gaussian_noise(degree: int) -> NoiseLaw:
    """Return Gauss–Hermite nodes: a finite law whose moments up to the given degree are those of N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(degree // 2 + 1)
    return NoiseLaw(nodes, weights / weights.sum())


class LinearOracle(NamedTuple):
    """The stochastic gradient slopeᵢ·x − shiftᵢ, drawn with probability pᵢ."""

    slopes: Float[np.ndarray, " outcomes"]
    shifts: Float[np.ndarray, " outcomes"]
    probabilities: Float[np.ndarray, " outcomes"]

    def mean(self) -> tuple[float, float]:
        """Return slope and shift of the expected gradient."""
        return float(self.probabilities @ self.slopes), float(self.probabilities @ self.shifts)

    def variance(self) -> Float[np.ndarray, "3"]:
        """Return the gradient's variance as a polynomial in x, constant coefficient first."""
        slope, shift = self.mean()
        a, b, p = self.slopes - slope, self.shifts - shift, self.probabilities
        return np.array([p @ b**2, -2 * (p @ (a * b)), p @ a**2])

    def amplified(self, scale: float) -> "LinearOracle":
        """Multiply the noise, and not the expected gradient, by a factor: the scale σ of arora Def. 12.1.2."""
        slope, shift = self.mean()
        slopes, shifts = slope + scale * (self.slopes - slope), shift + scale * (self.shifts - shift)
        return LinearOracle(slopes, shifts, self.probabilities)


def three_losses() -> LinearOracle:
    """Return the oracle of f₁ = (x−3)², f₂ = (x+3)², f₃ = x²+9, drawn uniformly: arora Problem 12.2.4."""
    return LinearOracle(np.full(3, 2.0), np.array([6.0, -6.0, 0.0]), np.full(3, 1 / 3))


def linear_oracle(slope: float, noise: NoiseLaw, *, additive: float = 1.0, multiplicative: float = 0.0) -> LinearOracle:
    """Return the oracle slope·x + (additive + multiplicative·x)·z; with both, least squares on random features.

    z is drawn from `noise`.
    """
    return LinearOracle(slope + multiplicative * noise.values, -additive * noise.values, noise.probabilities)


def sgd_moments(
    oracle: LinearOracle, step: float, steps: int, *, degree: int, start: float
) -> Float[np.ndarray, "time powers"]:
    """Return E x_kᵖ for k = 0…steps and p = 0…degree of the iteration x_{k+1} = x_k − η g(x_k), exactly.

    A step is affine in x, so E x′ᵖ = Σⱼ C(p, j) E[(1−ηa)ʲ (ηb)^(p−j)] E xʲ: one triangular matrix, applied k times. On
    the three losses E x_k² = (1−2η)^(2k) x₀² + 6η/(1−η) · (1 − (1−2η)^(2k)). `step` is η, `start` x₀. Reference: arora
    Problem 12.2.4.
    """
    return _iterate(sgd_transition(oracle, step, degree=degree), steps, start)


def sgd_transition(oracle: LinearOracle, step: float, *, degree: int) -> Float[np.ndarray, "powers powers"]:
    """The matrix that takes the moments E xᵖ, p = 0…degree, of one iterate to those of the next.

    `step` is η; the moments are a column, p = 0 first.
    """
    multipliers, shifts = 1 - step * oracle.slopes, step * oracle.shifts
    transition = np.zeros((degree + 1, degree + 1))
    for row in range(degree + 1):
        for column in range(row + 1):
            mixed = oracle.probabilities @ (multipliers**column * shifts ** (row - column))
            transition[row, column] = comb(row, column) * mixed
    return transition


def diffusion_moments(
    oracle: LinearOracle, step: float, steps: int, *, degree: int, start: float
) -> Float[np.ndarray, "time powers"]:
    """Return E X_tᵖ at t = 0, η, …, η·steps for the canonical equation dX = −∇f(X) dt + √η Σ(X)^½ dW, exactly.

    The generator −(ax − b)∂ + ½ηΣ(x)∂² does not raise the degree of a polynomial, so the moments solve a linear
    triangular equation; its exponential over one step is applied k times. On the three losses, an Ornstein–Uhlenbeck
    process, E X_t² = e^(−4t) x₀² + 6η(1 − e^(−4t)). `step` is η, `start` X₀. Reference: arora (12.4).
    """
    return _iterate(diffusion_transition(oracle, step, degree=degree), steps, start)


def diffusion_transition(
    oracle: LinearOracle, step: float, *, degree: int, time: float | None = None
) -> Float[np.ndarray, "powers powers"]:
    """The matrix that moves the moments of the canonical equation of step η on by a time, η itself unless given.

    The moments are a column, p = 0 first. Reference: arora (12.4).
    """
    from scipy.linalg import expm

    slope, shift = oracle.mean()
    variance = step * oracle.variance()
    generator = np.zeros((degree + 1, degree + 1))
    for power in range(1, degree + 1):
        generator[power, power - 1 : power + 1] += power * np.array([shift, -slope])
        if power > 1:
            generator[power, power - 2 : power + 1] += power * (power - 1) / 2 * variance
    return expm((step if time is None else time) * generator)


def hybrid_moments(
    oracle: LinearOracle, step: float, steps: int, *, degree: int, start: float
) -> Float[np.ndarray, "switch powers"]:
    """Moments at step k of hybrids that iterate up to step j and then diffuse, for j = 0…k.

    The first row is the diffusion, the last the iteration. Their differences, neighbour by neighbour, are the one-step
    errors into which the weak error decomposes: arora Problem 12.3.6. Arguments as in `sgd_moments`.
    """
    iterated = sgd_moments(oracle, step, steps, degree=degree, start=start)
    onward = diffusion_transition(oracle, step, degree=degree)
    rows, power = [], np.eye(degree + 1)
    for moments in iterated[::-1]:
        rows.append(power @ moments)
        power = power @ onward
    return np.array(rows[::-1])


def _iterate(transition, steps, start):
    # By doubling: all moments so far, moved on by as many steps, so that the work is in a few matrix products.
    moments, power = float(start) ** np.arange(len(transition))[None], transition
    while len(moments) <= steps:
        moments, power = np.concatenate([moments, moments @ power.T]), power @ power
    return moments[: steps + 1]


def weak_error(
    oracle: LinearOracle,
    step: float,
    polynomial: Float[np.ndarray, " coefficients"],
    *,
    horizon: float = 1.0,
    start: float = 2.0,
    diffusion: LinearOracle | None = None,
) -> float:
    """Return max over kη ≤ horizon of |E g(x_k) − E g(X_kη)| for a polynomial g, constant coefficient first.

    `diffusion` gives the equation another oracle than the iteration has, to see what a wrong covariance does. `step` is
    η, `start` the x₀ of both. References: arora Def. 12.3.2, Def. 12.3.3, Thm 12.3.4.
    """
    if not 0 < step <= horizon:
        raise ValueError(f"step must lie in (0, {horizon}], the horizon, got {step}")
    if horizon / step > MOST_STEPS:
        raise ValueError(f"the horizon may have at most {MOST_STEPS:,} steps, got {horizon} in steps of {step}")
    steps, degree = int(horizon / step * (1 + 1e-12)), len(polynomial) - 1
    discrete = sgd_moments(oracle, step, steps, degree=degree, start=start)
    continuous = diffusion_moments(diffusion or oracle, step, steps, degree=degree, start=start)
    return float(np.abs((discrete - continuous) @ polynomial).max())


doors(__name__, steps=f"[0, {MOST_STEPS}]", degree="[0, 60]")
