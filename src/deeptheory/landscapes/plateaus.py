"""How long gradient flow waits at the degenerate saddle of a deep linear network.

Reference: lucchi 6.1.2; Saxe, McClelland and Ganguli 2014.
"""

from typing import Annotated

import numpy as np
from scipy.integrate import quad

from deeptheory.foundations.entrances import doors

__all__ = ["plateau_time"]


def plateau_time(size: float, signal: float, *, depth: Annotated[int, "[1, 50]"], share: float = 0.5) -> float:
    """The time in which ½(s − w_L⋯w₁)² is learnt to a share of s from weights that all start at one size ε > 0.

    ∫ dw / (w^{L−1}(s − w^L)) from ε to (share·s)^{1/L}: for small ε about ln(1/ε)/s with two factors and
    ε^{−(L−2)}/((L−2)s) with more. `signal` is s, `depth` is L. A linear network that starts balanced and aligned with
    the singular vectors of its target does this in each of them.
    """
    end = (share * signal) ** (1 / depth)
    if not size < end:
        raise ValueError(f"size must lie below (share·signal)^(1/depth) = {end:.3g}, got {size}")
    # In log w the integrand has no pole at small w.
    return quad(lambda u: np.exp((2 - depth) * u) / (signal - np.exp(depth * u)), np.log(size), np.log(end), epsabs=0)[
        0
    ]


doors(__name__, size="(0, ∞)", signal="(0, ∞)", share="(0, 1)")
