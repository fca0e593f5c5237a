"""What sum, mean and maximum keep of a multiset of neighbours: all of it, the proportions, or what occurs at all.

Reference: handbook 3.1; Xu, Hu, Leskovec and Jegelka 2019, How powerful are graph neural networks?
"""

from itertools import combinations_with_replacement
from math import comb

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["kept_by_maximum", "kept_by_mean", "kept_by_sum", "multisets"]


def multisets(colours: int, size: int) -> list[Float[np.ndarray, "count colours"]]:
    """Return all multisets of 1 to `size` colours, each as the rows of unit vectors that its members send."""
    affordable(multisets=(comb(size + colours, colours), size, colours))
    rows = np.eye(colours)
    return [rows[list(each)] for n in range(1, size + 1) for each in combinations_with_replacement(range(colours), n)]


def kept_by_sum(colours: int, size: int) -> int:
    """Count the values that sums take on multisets of 1 to `size` colours: C(size + colours, colours) − 1, all of them.

    True of unit vectors, or of any states that are linearly independent over the whole numbers; numbers 1, 2, 3 are
    not, {1, 3} and {2, 2} have one sum (handbook 3.1).
    """
    return comb(size + colours, colours) - 1


def kept_by_mean(colours: int, size: int) -> int:
    """Count the values that means take: Σ_{d=1}^{size} μ(d) (C(⌊size/d⌋ + colours, colours) − 1), μ that of Möbius.

    Multisets have one mean if they have the same proportions, so that those without a common factor are counted.
    """
    return sum(_moebius(d) * kept_by_sum(colours, size // d) for d in range(1, size + 1))


def kept_by_maximum(colours: int, size: int) -> int:
    """Count the values that maxima of unit vectors take: the sets of 1 to `size` colours, Σ_j C(colours, j)."""
    return sum(comb(colours, j) for j in range(1, min(colours, size) + 1))


def _moebius(number: int) -> int:
    sign, factor = 1, 2
    while number > 1:
        if number % factor == 0:
            number //= factor
            if number % factor == 0:
                return 0
            sign = -sign
        factor += 1
    return sign


doors(__name__, colours="[1, 1000]", size="[1, 1000]")
