"""Confidence intervals: means, binomial proportions, straight lines. All are two-sided at a stated level."""

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

__all__ = ["Line", "binomial", "coefficients", "line", "mean", "quantile"]


def mean(samples: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard error and half-width of the t-interval over the last axis."""
    trials = samples.shape[-1]
    error = samples.std(-1, ddof=1) / np.sqrt(trials)
    return samples.mean(-1), error, quantile(level, trials - 1) * error


def quantile(level: float, freedom: int) -> float:
    """How many standard errors make a half-width, where the error was estimated with so many degrees of freedom."""
    return float(stats.t.isf(level / 2, max(freedom, 1)))


def binomial(count: int | np.ndarray, trials: int | np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact (Clopper–Pearson) limits for a probability."""
    count, trials = np.broadcast_arrays(np.asarray(count, float), np.asarray(trials, float))
    with np.errstate(invalid="ignore"):
        low = np.where(count > 0, special.betaincinv(np.maximum(count, 1), trials - count + 1, level / 2), 0.0)
        high = np.where(
            count < trials, special.betaincinv(count + 1, np.maximum(trials - count, 1), 1 - level / 2), 1.0
        )
    return low, high


@dataclass(frozen=True)
class Line:
    """A weighted straight-line fit y = intercept + slope x, with half-widths and the probability of its misfit."""

    intercept: np.ndarray
    slope: np.ndarray
    intercept_width: np.ndarray
    slope_width: np.ndarray
    misfit: np.ndarray


def line(x: np.ndarray, y: np.ndarray, error: np.ndarray, *, level: float, freedom: int) -> Line:
    """Fit y (along the first axis, with known standard errors) by a straight line in x.

    `freedom` is how many degrees of freedom the errors were estimated with; `misfit` is the p-value of the
    residuals, which says whether a straight line is a fair description at all.
    """
    x = np.reshape(x, (-1,) + (1,) * (y.ndim - 1)).astype(float)
    weight = 1.0 / np.maximum(error, 1e-300) ** 2
    total = weight.sum(0)
    centre = (weight * x).sum(0) / total
    spread = (weight * (x - centre) ** 2).sum(0)
    slope = (weight * (x - centre) * y).sum(0) / spread
    intercept = (weight * y).sum(0) / total - slope * centre
    errors = quantile(level, freedom)
    residual = (weight * (y - intercept - slope * x) ** 2).sum(0)
    points = len(x) - 2
    misfit = stats.f.sf(residual / points, points, max(freedom, 1)) if points > 0 else np.ones_like(residual)
    return Line(
        intercept,
        slope,
        errors * np.sqrt(1 / total + centre**2 / spread),
        errors * np.sqrt(1 / spread),
        np.asarray(misfit),
    )


def coefficients(
    columns: np.ndarray, y: np.ndarray, error: np.ndarray, *, level: float, freedom: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares of y (with known standard errors) on columns: the coefficients and their half-widths."""
    scaled, target = columns / error[:, None], y / error
    covariance = np.linalg.inv(scaled.T @ scaled)
    return covariance @ (scaled.T @ target), quantile(level, freedom) * np.sqrt(np.diag(covariance))
