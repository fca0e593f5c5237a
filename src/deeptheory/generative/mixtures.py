"""Mixtures of Gaussians: density, hidden component, draws, fits by expectation–maximization and by Pearson's moments.

The model draws a component h with probability ρ_h and then x ~ N(μ_h, Σ_h); only x is seen. Data are one point a row.

Reference: arora 14.1 to 14.3; Pearson 1894; Dempster, Laird and Rubin 1977.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, symmetric

__all__ = [
    "GaussianMixture",
    "component_log_densities",
    "crabs",
    "decoded",
    "encoded",
    "expectation_maximization",
    "gaussian_mixture",
    "line_mixture_cdf",
    "log_density",
    "pearson_mixture",
    "responsibilities",
    "sample_mixture",
]

Points = Float[np.ndarray, "n d"]


class GaussianMixture(NamedTuple):
    """Probabilities, means and covariances of the components; `gaussian_mixture` makes one that is a density."""

    weights: Float[np.ndarray, " k"]
    means: Float[np.ndarray, "k d"]
    covariances: Float[np.ndarray, "k d d"]


def gaussian_mixture(
    weights: Float[np.ndarray, " k"], means: Float[np.ndarray, "k d"], covariances: Float[np.ndarray, "k d d"]
) -> GaussianMixture:
    """The mixture Σ ρ_h N(μ_h, Σ_h), refused if it is no density: weights off 1, or a covariance that is singular."""
    inside(0, 1, "[]", weights=weights)
    inside(1 - 1e-9, 1 + 1e-9, "[]", **{"the sum of weights": float(weights.sum())})
    symmetric(covariances=covariances)
    inside(0, np.inf, "()", **{"the least eigenvalue of covariances": float(np.linalg.eigvalsh(covariances).min())})
    return GaussianMixture(weights, means, covariances)


def component_log_densities(mixture: GaussianMixture, points: Points) -> Float[np.ndarray, "n k"]:
    """log ρ_h + log N(x; μ_h, Σ_h): the logarithm of the joint density p(h, x), −∞ for a component without weight."""
    columns = []
    for mean, covariance in zip(mixture.means, mixture.covariances, strict=True):
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, (points - mean).T)
        columns.append(-0.5 * (white**2).sum(0) - np.log(np.diag(root)).sum())
    with np.errstate(divide="ignore"):
        return np.stack(columns, 1) + np.log(mixture.weights) - 0.5 * points.shape[1] * np.log(2 * np.pi)


def log_density(mixture: GaussianMixture, points: Points) -> Float[np.ndarray, " n"]:
    """log p(x) = log Σ_h p(h, x), the hidden component summed out."""
    return np.asarray(logsumexp(component_log_densities(mixture, points), 1))


def responsibilities(mixture: GaussianMixture, points: Points) -> Float[np.ndarray, "n k"]:
    """p(h | x): how likely each component is to have drawn each point; rows sum to one."""
    joint = component_log_densities(mixture, points)
    return np.exp(joint - logsumexp(joint, 1, keepdims=True))


def encoded(draw: np.random.Generator, mixture: GaussianMixture, points: Points) -> Int[np.ndarray, " n"]:
    """The representation of each point: a component drawn from p(h | x)."""
    reached = responsibilities(mixture, points).cumsum(1)
    return np.minimum((draw.random((len(points), 1)) > reached).sum(1), len(mixture.weights) - 1)


def decoded(
    draw: np.random.Generator, mixture: GaussianMixture, components: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "n d"]:
    """A point drawn from p(x | h) for each component h. Encoding and decoding keeps the law, not the point."""
    inside(0, len(mixture.weights) - 1, "[]", components=components)
    roots = np.linalg.cholesky(mixture.covariances)[components]
    noise = draw.standard_normal((len(components), mixture.means.shape[1], 1))
    return mixture.means[components] + (roots @ noise)[..., 0]


def sample_mixture(draw: np.random.Generator, mixture: GaussianMixture, samples: int) -> Float[np.ndarray, "samples d"]:
    """Independent draws of x, the component forgotten."""
    affordable(samples=(samples, mixture.means.shape[1] ** 2))
    return decoded(draw, mixture, draw.choice(len(mixture.weights), samples, p=mixture.weights))


def line_mixture_cdf(mixture: GaussianMixture, at: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The distribution function of a mixture on the line."""
    inside(1, 1, "[]", **{"the dimension of the mixture": mixture.means.shape[1]})
    return ndtr((at[:, None] - mixture.means[:, 0]) / np.sqrt(mixture.covariances[:, 0, 0])) @ mixture.weights


def expectation_maximization(
    start: GaussianMixture, points: Points, *, steps: int = 100, floor: float = 1e-9
) -> tuple[GaussianMixture, Float[np.ndarray, " steps"]]:
    """Fit a mixture by alternating p(h | x) with the best weights, means and covariances for it.

    Returns the fit and the mean log likelihood before each step, which never falls. Likelihood has no maximum (a
    component may sit on one point and shrink), so `floor` is added to the diagonal of every covariance, relative to the
    variance of the data; what is found is a local maximum near `start`.
    """
    mixture, trace = start, np.empty(steps)
    least = floor * points.var(0).mean() * np.eye(points.shape[1])
    for step in range(steps):
        joint = component_log_densities(mixture, points)
        total = np.asarray(logsumexp(joint, 1, keepdims=True))
        trace[step] = total.mean()
        share = np.exp(joint - total)
        mass = np.maximum(share.sum(0), np.finfo(float).tiny)
        means = share.T @ points / mass[:, None]
        away = points[:, None] - means
        covariances = np.einsum("nk,nki,nkj->kij", share, away, away) / mass[:, None, None] + least
        mixture = GaussianMixture(mass / mass.sum(), means, covariances)
    return mixture, trace


def pearson_mixture(points: Float[np.ndarray, " n"]) -> GaussianMixture:
    """The mixture of two Gaussians on the line with the first five moments of the data, nearest in the sixth.

    Centred component means m₁, m₂ have sum s and product −v. Writing their variances as α + βm_h makes all moments
    polynomials: M₂ gives α, M₃ gives β, M₄ is quadratic in s, and M₅ is one equation in 0 < v < M₂. Pearson (1894)
    eliminated further, to a polynomial of degree nine. Data without such a mixture, of two means, are refused; moments
    of high order are noisy, so for a fit prefer `expectation_maximization` started here.
    """
    if len(points) < 6:
        raise ValueError(f"points must be at least 6 numbers for five moments and a check, got {len(points)}")
    points = points.astype(float)  # differences of high moments need all digits
    mean, spread = points.mean(), points.std()
    inside(0, np.inf, "()", **{"the spread of points": spread})
    moments = np.array([(((points - mean) / spread) ** order).mean() for order in range(7)])

    def solved(v: float, sign: int) -> tuple[float, float, float]:
        """s, β and the defect of the fifth moment."""
        alpha = 1 - v
        constant = moments[3] ** 2 / (3 * v) + v**2 + 6 * alpha * v + 3 * alpha**2 - moments[4]
        square = 4 * moments[3] ** 2 + 6 * v * constant
        root = np.sqrt(square) if square >= 0 else np.nan  # no such mixture with this spread of the means
        s = (2 * moments[3] + sign * root) / (2 * v)
        beta = (moments[3] / v - s) / 3
        fourth = s**2 * v + v**2
        fifth = s * fourth + v * s * v + 10 * alpha * v * s + 10 * beta * fourth
        return s, beta, fifth + 15 * (2 * alpha * beta * v + beta**2 * v * s) - moments[5]

    found: list[tuple[float, GaussianMixture]] = []
    grid = np.linspace(0.002, 0.999, 1000)
    for sign in (-1, 1):
        defects = np.array([solved(v, sign)[2] for v in grid])
        for i in np.flatnonzero(defects[1:] * defects[:-1] <= 0):
            root: Any = brentq(lambda v: solved(v, sign)[2], grid[i], grid[i + 1], xtol=1e-15)  # noqa: B023
            v = float(root)
            s, beta, _ = solved(v, sign)
            apart = np.sqrt(s**2 + 4 * v)
            centres = (s + np.array([-apart, apart])) / 2
            variances = 1 - v + beta * centres
            if variances.min() > 0:
                weights = np.array([centres[1], -centres[0]]) / apart
                terms = centres**6 + 15 * centres**4 * variances + 45 * centres**2 * variances**2 + 15 * variances**3
                scaled = (weights, mean + spread * centres[:, None], spread**2 * variances[:, None, None])
                found.append((abs(float(weights @ terms) - moments[6]), GaussianMixture(*scaled)))
    if not found:
        raise ValueError("no mixture of two Gaussians has the first five moments of these points")
    return min(found, key=lambda each: each[0])[1]


def crabs() -> Float[np.ndarray, "1000"]:
    """Forehead breadth over body length of Weldon's thousand crabs from the Bay of Naples, as middles of 29 classes.

    Some tables give the upper ends of the classes in place of their middles: half a class, 0.002, that moves all alike.
    Reference: K. Pearson, Contributions to the mathematical theory of evolution, Phil. Trans. R. Soc. A 185 (1894).
    """
    counts = "1 3 5 2 7 10 13 19 20 25 40 31 60 62 54 74 84 86 96 85 75 47 43 24 19 9 5 0 1"
    return np.repeat(0.5835 + 0.004 * np.arange(29), [int(count) for count in counts.split()])


doors(__name__, steps="[1, 1e5]", floor="[0, 1)", samples="[1, ∞)")
