"""Performance curves: which share of skills, or of tuples of skills, has how large a share of its edges in error.

A curve C(k, θ) takes the share α of skills that is given up to the largest share βθ of edges in error that the others
can have on average. It is plotted over 1 − α. Reference: arora Def. 15.9.2, Lemmas 15.9.3 and 15.9.4.

`alpha` is α, `theta` θ.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors
from deeptheory.skills.competence import mistaken_share
from deeptheory.skills.emergence import first_moment_concentration

__all__ = ["feasible_exclusions", "performance_curve", "tuple_performance_curve"]

Shares = float | Float[np.ndarray, "..."]


def performance_curve(alpha: Shares, theta: Shares, k: int | Int[np.ndarray, "..."]) -> Shares:
    """Share min(1, βθ) of edges in error that all but a share α of the skills can have, with θ of the pieces in error.

    β is the least one that the emergence theorem allows (`first_moment_concentration`); where it allows none below 1/α
    the trivial 1/α stands, so that the curve falls with k and grows with θ everywhere. Competence is at least one minus
    this. Holds for a number of pieces much larger than of skills. Reference: arora Def. 15.9.2 and Fig. 15.2.
    """
    concentration = np.minimum(first_moment_concentration(alpha, theta, k), 1 / np.asarray(alpha, float))
    return np.minimum(theta * concentration, 1.0)[()]


def tuple_performance_curve(
    alpha: Shares, loss: Annotated[Shares, "(0, 0.5)"], k: int | Int[np.ndarray, "..."], *, size: int = 1
) -> Shares:
    """The curve C(k, 2k′δ) of tuples of `size` = k′ skills, for a model with average cloze loss δ = `loss` a piece.

    k′ pieces together have loss k′δ, and at most 2k′δ of them are mistaken; their skills are k tuples. A share of 1 or
    more guarantees nothing and the curve is 1. So loss δ/k′ gives for k′-tuples what δ gives for skills. Reference:
    arora Lemma 15.9.4 and Problem 15.9.5.
    """
    alpha, theta, k = np.broadcast_arrays(np.asarray(alpha, float), mistaken_share(size * np.asarray(loss)), k)
    said = theta < 1
    return np.where(said, performance_curve(alpha, np.where(said, theta, 0.5), k), 1.0)[()]


def feasible_exclusions(
    theta: Annotated[float, "(0, 1)"], k: int, *, grid: Annotated[int, "[10, 1000000]"] = 2000
) -> tuple[float, float] | None:
    """The least and greatest share α for which the theorem says something, βθ < 1 with β < 1/α; None if it never does.

    Found on an even grid of (0, 1), so to within 1/`grid`. Reference: arora (15.16).
    """
    alpha = (np.arange(grid) + 0.5) / grid
    allowed = alpha[theta * np.asarray(first_moment_concentration(alpha, theta, k)) < 1]
    return (float(allowed[0]), float(allowed[-1])) if len(allowed) else None


doors(__name__, alpha="(0, 1)", theta="(0, 1)", k="[1, ∞)", size="[1, 1e6]")
