"""Functions of functions: how errors of the parts add up in g_L ∘ … ∘ g_1, and networks stacked the same way."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.entrances import doors

__all__ = ["composed", "composition_error_bound"]


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


doors(__name__, errors="[0, ∞)", lipschitz="[0, ∞)")
