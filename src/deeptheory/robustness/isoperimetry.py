"""Isoperimetry: how much a set must grow when its points may move, and what that says about fitting noise smoothly.

Half-spaces grow least under a Gaussian law, by `smoothing.smoothed_probability_bound`: a region of probability p
keeps at most Φ(Φ⁻¹(p) − ε/s) if every point must stay in it after any move of length ε.

Reference: handbook 2.2; Borell 1975; Sudakov and Tsirelson 1974; Bubeck and Sellke 2021.
"""

from math import log

import numpy as np
from jaxtyping import Float
from scipy.special import betainc

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "cap_measure",
    "isoperimetric_quotient",
    "law_of_robustness",
    "log_lipschitz_tail",
    "log_noise_fitting_chance",
    "regular_polygon_quotient",
]

Numbers = float | int | np.number | Float[np.ndarray, "..."]


def isoperimetric_quotient(vertices: Float[np.ndarray, "*batch m 2"]) -> Float[np.ndarray, "*batch"]:
    """4πA/P² of polygons that do not cross themselves, vertices in order: 1 for the disc, less for all else.

    Reference: handbook 2.2.
    """
    if vertices.shape[-2] < 3:
        raise ValueError(f"vertices must be at least three, got {vertices.shape[-2]}")
    after = np.roll(vertices, -1, axis=-2)
    area = np.abs(np.sum(vertices[..., 0] * after[..., 1] - vertices[..., 1] * after[..., 0], -1)) / 2
    perimeter = np.sum(np.linalg.norm(after - vertices, axis=-1), -1)
    positive(perimeter=perimeter)
    return np.asarray(4 * np.pi * area / perimeter**2)


def regular_polygon_quotient(sides: int) -> float:
    """π/(m·tan(π/m)), the largest quotient of any polygon with m sides; it tends to 1 like 1 − π²/(3m²)."""
    return float(np.pi / sides / np.tan(np.pi / sides))


def cap_measure(height: Float[np.ndarray, "*n"], dimension: int) -> Float[np.ndarray, "*n"]:
    """Share of the unit sphere of R^d whose first coordinate is at least t, −1 ≤ t ≤ 1.

    ½ I_{1−t²}((d − 1)/2, ½) for t ≥ 0, with the regularized incomplete beta function I. Reference: Li 2011, Concise
    formulas for the area and volume of a hyperspherical cap.
    """
    inside(-1, 1, height=height)
    upper = betainc((dimension - 1) / 2, 0.5, 1 - height**2) / 2
    return np.where(height >= 0, upper, 1 - upper)


def log_lipschitz_tail(deviation: Numbers, *, lipschitz: Numbers, dimension: Numbers, constant: float = 1.0) -> Numbers:
    """ln of 2·exp(−d·t²/(2cL²)), the bound on P(|g − E g| ≥ t) that c-isoperimetry promises L-Lipschitz functions.

    c = 1 for N(0, I/d) and for the unit sphere of R^d: `constant` is c. Reference: handbook 2.2; Bubeck and Sellke,
    A universal law of robustness via isoperimetry (2021), Def. 1.1.
    """
    inside(0, np.inf, deviation=deviation)
    positive(lipschitz=lipschitz, dimension=dimension, constant=constant)
    return log(2) - dimension * deviation**2 / (2 * constant * lipschitz**2)


def log_noise_fitting_chance(
    samples: Numbers, dimension: Numbers, *, log_class: Numbers, epsilon: Numbers, lipschitz: Numbers
) -> Numbers:
    """ln of a bound on the chance that a class of functions fits n random signs with mean squared error 1 − ε or less.

    The class has N functions with values in [−1, 1], all L-Lipschitz; `log_class` is ln N. Inputs are N(0, I/d), labels
    independent fair signs. A good fit needs mean(y·f) ≥ ε/2; of this ε/4 must come from |mean y| (Hoeffding), or from
    mean y·(f − E f), whose terms are sub-Gaussian of proxy L²/d: 2·exp(−nε²/32) + N·exp(−ndε²/(32L²)).
    Reference: the argument of Bubeck and Sellke (2021), Thm 2, with the constants of this case.
    """
    positive(samples=samples, dimension=dimension, epsilon=epsilon, lipschitz=lipschitz)
    mean = log(2) - samples * epsilon**2 / 32
    return np.logaddexp(mean, log_class - samples * dimension * epsilon**2 / (32 * lipschitz**2))


def law_of_robustness(
    samples: Numbers, dimension: Numbers, *, log_class: Numbers, epsilon: Numbers, delta: float
) -> Numbers:
    """Least Lipschitz constant of a fit of noise: ε·√(nd/(32·(ln N + ln(2/δ)))), with probability 1 − δ.

    A network of p parameters of b bits each is one of N = 2^(bp): smooth fits need about n·d parameters. Signs,
    inputs and class as in `log_noise_fitting_chance`; needs n ≥ 32·ln(4/δ)/ε². The general theorem allows any labels
    with noise and any c-isoperimetric mixture, with larger constants. handbook 2.2; Bubeck and Sellke (2021).
    """
    positive(samples=samples, dimension=dimension, epsilon=epsilon)
    inside(0, 1, "()", delta=delta)
    inside(0, np.inf, log_class=log_class)
    least = 32 * log(4 / delta) / np.min(np.asarray(epsilon)) ** 2
    if np.any(np.asarray(samples) < least):
        raise ValueError(f"samples must be at least 32·ln(4/δ)/ε² = {least:.0f}, got {np.min(samples):g}")
    return epsilon * np.sqrt(samples * dimension / (32 * (log_class + log(2 / delta))))


doors(__name__, sides="[3, ∞)", dimension="[2, ∞)", epsilon="(0, 1]")
