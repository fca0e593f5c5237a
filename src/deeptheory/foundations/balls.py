"""The volume of a ball in any dimension.

Reference: Olver, Lozier, Boisvert and Clark, NIST Handbook of Mathematical Functions (2010), Sec. 5.19.
"""

from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.special import gammaln

from deeptheory.foundations.entrances import doors

__all__ = ["ball_volume"]


def ball_volume(dimension: int | Int[np.ndarray, "..."]) -> Any:
    """Return the volume of the unit ball in d dimensions, π^{d/2}/Γ(d/2 + 1): 2, π, 4π/3, …, and 1 for a point.

    Its surface is d times that. Beyond d = 450 or so it is too small for floating point, and 0: take the logarithm of
    the formula there.
    """
    return np.exp(dimension / 2 * np.log(np.pi) - gammaln(dimension / 2 + 1))


doors(__name__, dimension="[0, 1e6]")
