"""Likelihood as a measure of fit, and what it does not see: gaps on held-out data, isotropic fits, spikes, atoms.

Log likelihoods are averages over the points, in nats. Points are one a row.

Reference: arora 14.2 and 14.4.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, ndtri

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.generative.mixtures import GaussianMixture, line_mixture_cdf

__all__ = [
    "GaussianFit",
    "atoms_mixture",
    "bits_per_dimension",
    "expected_fit_divergence",
    "expected_likelihood_gap",
    "gaussian_fit",
    "gaussian_log_likelihood",
    "isotropic_fit",
    "kolmogorov_distance_to_normal",
    "spiked_mixture",
]

Points = Float[np.ndarray, "n d"]


class GaussianFit(NamedTuple):
    """Mean and covariance of a Gaussian."""

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]


def gaussian_fit(points: Points) -> GaussianFit:
    """The Gaussian of highest likelihood: mean, and covariance with 1/n; needs more points than dimensions."""
    inside(points.shape[1] + 1, np.inf, "[)", **{"the number of points": len(points)})
    return GaussianFit(points.mean(0), np.cov(points.T, bias=True).reshape(points.shape[1], -1))


def isotropic_fit(points: Points) -> GaussianFit:
    """The N(μ, σ²I) of highest likelihood: σ² = Σ‖x_i − μ‖²/(md), the average variance per coordinate.

    arora Example 14.2.1 prints the sum over the points without the 1/d.
    """
    mean, d = points.mean(0), points.shape[1]
    return GaussianFit(mean, np.eye(d) * ((points - mean) ** 2).mean())


def gaussian_log_likelihood(fit: GaussianFit, points: Points) -> float:
    """The average log density of the points (arora 14.2 over |S|)."""
    root = np.linalg.cholesky(fit.covariance)
    white = np.linalg.solve(root, (points - fit.mean).T)
    return float(
        -0.5 * (white**2).sum(0).mean() - np.log(np.diag(root)).sum() - 0.5 * points.shape[1] * np.log(2 * np.pi)
    )


def bits_per_dimension(log_likelihood: float, dimension: int) -> float:
    """The negative average log likelihood in bits, over the dimension."""
    return -log_likelihood / (dimension * np.log(2))


def expected_likelihood_gap(samples: int, dimension: int) -> float:
    """Mean of the training less the held-out log likelihood of `gaussian_fit`: p/(n − d − 2), p = d(d+3)/2 parameters.

    Exact for Gaussian data with any mean and covariance, by the mean of an inverse Wishart matrix; Akaike's p/n is its
    limit. It is infinite for n ≤ d + 2. Reference: Akaike 1974; the mean of an inverse Wishart matrix in Muirhead 1982,
    Aspects of Multivariate Statistical Theory.
    """
    inside(dimension + 3, np.inf, "[)", samples=samples)
    return dimension * (dimension + 3) / 2 / (samples - dimension - 2)


def expected_fit_divergence(samples: int, dimension: int) -> float:
    """Mean of KL(P‖Q) for `gaussian_fit` Q to n draws of a Gaussian P, exact; n times it tends to p/2, p = d(d+3)/2.

    Reference: arora Thm 14.2.2; Muirhead 1982, Aspects of Multivariate Statistical Theory.
    """
    inside(dimension + 3, np.inf, "[)", samples=samples)
    logs = digamma((samples - 1 - np.arange(dimension)) / 2).sum() + dimension * np.log(2 / samples)
    return 0.5 * float(dimension * (dimension + 3) / (samples - dimension - 2) + logs)


def spiked_mixture(centre: Float[np.ndarray, " d"], width: float, *, share: float = 0.5) -> GaussianMixture:
    """A standard Gaussian with a share of its mass in a spike N(c, w²I): its likelihood at c grows like w^(−d)."""
    inside(0, 1, "()", share=share)
    d = len(centre)
    covariances = np.stack([np.eye(d), width**2 * np.eye(d)])
    return GaussianMixture(np.array([1 - share, share]), np.stack([np.zeros(d), centre]), covariances)


def atoms_mixture(count: int, width: float) -> GaussianMixture:
    """K Gaussians of one small width at the quantiles (i − ½)/K of N(0, 1): steps for its distribution function.

    As the width vanishes the distance of the distribution functions tends to 1/(2K), the least that K steps allow,
    while the likelihood of fresh points falls without bound (arora Sec. 14.4).
    """
    means = ndtri((np.arange(count) + 0.5) / count)[:, None]
    return GaussianMixture(np.full(count, 1 / count), means, np.full((count, 1, 1), width**2))


def kolmogorov_distance_to_normal(mixture: GaussianMixture, *, resolution: int = 2000) -> float:
    """The largest difference of the distribution functions of a mixture on the line and of N(0, 1).

    Searched among `resolution` quantiles of the normal law and of every component, so a lower bound that is sharp for
    smooth components.
    """
    ranks = (np.arange(resolution) + 0.5) / resolution
    normal = ndtri(ranks)
    few = np.concatenate([normal[:: max(1, resolution // 100)], [-8.0, 8.0]])
    near = mixture.means + np.sqrt(mixture.covariances[:, 0]) * few
    at = np.concatenate([normal, near.ravel()])
    return float(np.abs(line_mixture_cdf(mixture, at) - line_mixture_cdf(_NORMAL, at)).max())


_NORMAL = GaussianMixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)))

doors(
    __name__, dimension="[1, 1e4]", samples="[1, 1e15]", width="(0, 1e6]", count="[1, 10000]", resolution="[100, 1e6]"
)
