"""Functions of functions: how errors of the parts add up in g_L ∘ … ∘ g_1, and a square by depth.

Reference: handbook Sec. 1.2.2; Yarotsky 2017 for the square.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.entrances import doors
from deeptheory.networks.tent import sawtooth

__all__ = ["composed", "composition_error_bound", "square_by_tents"]


def composed(parts: Sequence[Callable[..., Any]], x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Return g_L(… g_2(g_1(x))) for functions or networks of one input, the first first (handbook 1.2.2).

    A network of one hidden layer per part is a deep network: as many hidden layers, and the sum of their units.
    """
    for part in parts:
        x = np.asarray(part(x[..., None]) if isinstance(part, ShallowNetwork) else part(x), float)
    return x


def composition_error_bound(errors: Float[np.ndarray, " layers"], lipschitz: Float[np.ndarray, " layers"]) -> float:
    """Return Σᵢ εᵢ ∏_{j>i} Lⱼ, which bounds the error of a composition by those of its parts, the first first.

    εᵢ bounds |ĝᵢ − gᵢ| wherever the approximated parts before lead, Lⱼ is the Lipschitz constant of the exact gⱼ on
    what lies between. The error of the last part counts once, that of the first is passed through all others; L₁ does
    not enter. Attained by lines of slopes Lⱼ with constant shifts.
    """
    total = 0.0
    for error, slope in zip(errors, lipschitz, strict=True):
        total = slope * total + error
    return float(total)


def square_by_tents(iterates: int, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return x − Σ_{s≤n} Δˢ(x)/4ˢ, which misses x² on [0, 1] by exactly 4^(−n−1) at the worst: depth against width.

    Δˢ is the tent map iterated s times, a network of 3 ReLUs a layer that hands x and the sum on; it joins 2ⁿ + 1
    points of the parabola by lines, for which one hidden layer takes as many units. Yarotsky, "Error bounds for
    approximations with deep ReLU networks", 2017.
    """
    if np.any((x < 0) | (x > 1)):
        raise ValueError(f"x must lie in [0, 1], got {x[(x < 0) | (x > 1)].flat[0]}")
    return x - sum(sawtooth(s, x) / 4.0**s for s in range(1, iterates + 1))


doors(__name__, iterates="[1, 25]", errors="[0, ∞)", lipschitz="[0, ∞)")
