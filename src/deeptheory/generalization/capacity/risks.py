"""What learning is about: the risk on the distribution, on the sample, their gap, and who minimises which.

Losses of the margin are in `deeptheory.foundations.margin_losses`.

Reference: arora Ch. 1.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import gammaln, xlogy

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.filters import ridge_filter, spectral_operator
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import excess_risk

__all__ = [
    "LinearProblem",
    "all_counts",
    "empirical_minimizers",
    "empirical_risks",
    "generalization_gaps",
    "multinomial_chances",
    "ridge_path",
]


class LinearProblem(NamedTuple):
    """Linear regression with Gaussian inputs: y = ⟨w*, x⟩ + N(0, σ²), x ~ N(0, I). Reference: arora Ch. 1."""

    target: Float[AnyArray, " d"]
    noise: float

    def draw(
        self, key: Key[Array, ""], *shape: int
    ) -> tuple[Float[np.ndarray, "*shape d"], Float[np.ndarray, "*shape"]]:
        """Independent inputs and labels; the last entry of `shape` is the size of one sample."""
        rng = generator(key)
        x = rng.standard_normal((*shape, len(self.target)))
        return x, x @ np.asarray(self.target) + self.noise**0.5 * rng.standard_normal(shape)

    def risk(self, weights: Float[AnyArray, " d"]) -> Float[AnyArray, ""] | np.floating:
        """Expected squared loss ‖w − w*‖² + σ² (`noise` is σ²)."""
        return self.noise + excess_risk(weights, self.target, np.eye(len(self.target)))

    def sample_risk(
        self, weights: Float[AnyArray, " d"], x: Float[AnyArray, "*batch n d"], y: Float[AnyArray, "*batch n"]
    ) -> Float[AnyArray, "*batch"] | np.floating:
        """Mean squared loss on a sample."""
        return ((x @ weights - y) ** 2).mean(-1)


def ridge_path(
    x: Float[AnyArray, "n d"], y: Float[AnyArray, " n"], penalties: Float[AnyArray, " p"]
) -> Float[AnyArray, "p d"]:
    """Minimisers of (1/n)‖y − Xw‖² + λ‖w‖² for each λ > 0 of `penalties`."""
    if np.any(np.asarray(penalties) <= 0):
        raise ValueError(f"penalties must be positive, got {penalties}")
    return np.stack([np.asarray(spectral_operator(x, ridge_filter(len(y) * float(p))) @ y) for p in penalties])


# Finite classes on finite sets: a hypothesis is its row of losses, a sample the counts of its points. -----------------


def all_counts(points: int, samples: int) -> Int[np.ndarray, "all points"]:
    """All ways in which `samples` draws fall on `points` points.

    C(points + samples − 1, samples) rows, one a way; the count of the first point rises slowest.
    """
    affordable(counts=(points, comb(points + samples - 1, samples)))
    if points == 1:
        return np.asarray([[samples]])
    return np.concatenate(
        [np.insert(all_counts(points - 1, samples - first), 0, first, axis=1) for first in range(samples + 1)]
    )


def multinomial_chances(
    counts: Int[np.ndarray, "*all points"], law: Float[AnyArray, " points"]
) -> Float[np.ndarray, "*all"]:
    """Probability of each vector of counts under independent draws from the law.

    n!/∏cᵢ! · ∏pᵢ^cᵢ for counts c on the last axis and the law p.
    """
    n = counts.sum(-1)
    return np.exp(gammaln(n + 1) - gammaln(counts + 1).sum(-1) + xlogy(counts, np.asarray(law)).sum(-1))


def empirical_risks(
    losses: Float[AnyArray, "h points"], counts: Int[AnyArray, "*all points"]
) -> Float[AnyArray, "*all h"]:
    """L̂(h), the mean loss on each sample.

    `losses` has a row a hypothesis and a column a point, `counts` how often a sample has each point.
    """
    return counts @ losses.T / counts.sum(-1)[..., None]


def generalization_gaps(
    losses: Float[AnyArray, "h points"], law: Float[AnyArray, " points"], counts: Int[AnyArray, "*all points"]
) -> Float[AnyArray, "*all h"]:
    """L(h) − L̂(h), how much worse each hypothesis is on the distribution than on the sample.

    Arguments as in `empirical_risks`, and the `law` of a point.
    """
    return losses @ law - empirical_risks(losses, counts)


def empirical_minimizers(
    losses: Float[AnyArray, "h points"], counts: Int[AnyArray, "*all points"]
) -> Int[AnyArray, "*all"]:
    """The hypothesis of least empirical risk on each sample, the first of several.

    Arguments as in `empirical_risks`.
    """
    return empirical_risks(losses, counts).argmin(-1)


doors(__name__, points="[1, 1000]", samples="[1, 1000]", penalties="[0, ∞)")
