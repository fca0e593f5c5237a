"""In what sense a Gaussian in d dimensions is a ball of radius β√d: its length and its coordinates, not its law.

Reference: arora 18.2; Vershynin 2018, High-Dimensional Probability, ch. 3.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import betainc, betaln, gammaln
from scipy.stats import chi2

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["ball_marginal_cdf", "ball_marginal_total_variation", "ball_total_variation", "gaussian_length_moments"]

HIGH, HIGHEST = 2000, 10**6
"""Dimensions from which on series in 1/d have more digits than differences of logarithms, and their first term."""


def gaussian_length_moments(dimension: int) -> tuple[float, float]:
    """Mean and standard deviation of ‖z‖/√d for z ~ N(0, I_d); they tend to 1 and to 1/√(2d).

    E‖z‖ = √2·Γ((d+1)/2)/Γ(d/2) and E‖z‖² = d. Reference: arora 18.2.
    """
    inside(1, np.inf, dimension=dimension)
    half = dimension / 2
    if dimension >= HIGH:
        variance = (1 / 4 - 1 / (32 * half) - 1 / (128 * half**2)) / half
        return float(np.sqrt(1 - variance)), float(np.sqrt(variance))
    mean = np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half)
    return float(mean), float(np.sqrt((1 - mean) * (1 + mean)))


def ball_total_variation(dimension: int) -> float:
    """Total variation between N(0, I_d) and the uniform law on the ball of radius √d; it tends to 1, not to 0.

    Both depend on the length alone and the Gaussian density decreases, so it drops under the ball's constant density at
    one radius r* and the distance is the ball's mass minus the Gaussian's on r* < r < √d.
    """
    inside(1, np.inf, dimension=dimension)
    half = dimension / 2
    if dimension >= HIGH:
        inner = np.log(np.pi * dimension) + 1 / (3 * dimension)  # d − r*²
    else:
        inner = dimension * (1 - np.log(half)) + 2 * gammaln(half + 1)
    crossing = np.clip(dimension - inner, 0, dimension)  # r*²
    ball = -np.expm1(half * np.log1p(-inner / dimension)) if crossing > 0 else 1.0
    return float(ball - (chi2.cdf(dimension, dimension) - chi2.cdf(crossing, dimension)))


def ball_marginal_cdf(t: Float[np.ndarray, "..."], dimension: int) -> Float[np.ndarray, "..."]:
    """Distribution function of one coordinate of the uniform law on the ball of radius √d.

    t²/d is a Beta(½, (d + 1)/2) variable, with a sign.
    """
    inside(1, np.inf, dimension=dimension)
    share = np.clip(t * t / dimension, 0.0, 1.0)  # t²/d is a Beta(1/2, (d+1)/2) variable
    return 0.5 + 0.5 * np.sign(t) * betainc(0.5, (dimension + 1) / 2, share)


def ball_marginal_total_variation(dimension: int, *, points: int = 40001) -> float:
    """Total variation between one coordinate of N(0, I_d) and of the uniform ball of radius √d; it falls like 1/d."""
    inside(1, np.inf, dimension=dimension)
    if dimension > HIGHEST:
        # The densities differ by the factor 1 + (1/4 + t²/2 − t⁴/4)/d, and terms in 1/d².
        t = np.linspace(-12, 12, points)
        gauss = np.exp(-t * t / 2) / np.sqrt(2 * np.pi)
        return float(0.5 * np.trapezoid(np.abs(1 / 4 + t**2 / 2 - t**4 / 4) * gauss, t) / dimension)
    radius = np.sqrt(dimension)
    # A sine substitution removes the square-root edge of the ball's density in low dimension.
    angle = np.linspace(-np.pi / 2, np.pi / 2, points)
    t = radius * np.sin(angle)
    log_constant = -np.log(radius) - betaln(0.5, (dimension + 1) / 2)
    ball = np.exp(log_constant) * np.cos(angle) ** (dimension - 1)
    gauss = np.exp(-t * t / 2) / np.sqrt(2 * np.pi)
    within = np.trapezoid(np.abs(ball - gauss) * radius * np.cos(angle), angle)
    return float(0.5 * (within + chi2.sf(dimension, 1)))


doors(__name__, points="[2, 1e7]")
