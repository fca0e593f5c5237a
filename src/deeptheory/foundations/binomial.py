"""Exact confidence limits of a probability from counts (Clopper and Pearson 1934)."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaincinv

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = ["clopper_pearson_lower", "clopper_pearson_upper"]


def clopper_pearson_lower(
    successes: int | Int[np.ndarray, "..."], trials: int | Int[np.ndarray, "..."], delta: float
) -> float | Float[np.ndarray, "..."]:
    """One-sided exact lower confidence limit of a probability: it exceeds the truth with chance at most delta."""
    positive(trials=trials)
    inside(0, 1, delta=delta)
    inside(0, trials, successes=successes)
    count = np.asarray(successes)
    return np.where(count > 0, betaincinv(np.maximum(count, 1), trials - count + 1.0, delta), 0.0)[()]


def clopper_pearson_upper(
    successes: int | Int[np.ndarray, "..."], trials: int | Int[np.ndarray, "..."], delta: float
) -> float | Float[np.ndarray, "..."]:
    """One-sided exact upper confidence limit of a probability: it is below the truth with chance at most delta."""
    return 1 - clopper_pearson_lower(trials - successes, trials, delta)


doors(__name__)
