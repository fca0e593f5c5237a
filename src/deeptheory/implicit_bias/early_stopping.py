"""Early stopping as a penalty: what share of each direction a number of gradient steps, or a ridge, has learnt.

For a loss with Hessian H about its minimizer w*, both act on the eigenvectors of H one by one: along eigenvalue h
the weights are a share of those of w*. NumPy or JAX alike.

`step_size` is η, `steps` k, `curvatures` are the h.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.filters import ridge_filter

__all__ = ["largest_gap", "largest_risk_ratio", "matching_penalty", "ridge_share", "stopped_share"]

Numbers = Float[AnyArray, "..."]


def stopped_share(curvatures: Numbers, *, step_size: float, steps: int) -> Numbers:
    """Return 1 − (1 − ηh)ᵏ, the share learnt after k gradient steps from 0. lucchi Ch. 11, Problem 2(c)."""
    return 1 - (1 - step_size * curvatures) ** steps


def ridge_share(curvatures: Numbers, *, penalty: float) -> Numbers:
    """Return h/(h + c), the share left by the penalty (c/2)‖w‖² beside ½(w − w*)ᵀH(w − w*).

    For the penalty λ‖w‖², which lucchi (11.31) prints, c = 2λ. For least squares ‖Xw − y‖² + c‖w‖² it is the factor
    σ²/(σ² + c) of each singular value, h = σ²; with (λ/2)‖w‖², as lucchi (11.28) prints, c = λ/2.
    """
    singular = curvatures.__array_namespace__().sqrt(curvatures)
    return singular * ridge_filter(penalty)(singular)


def matching_penalty(*, step_size: float, steps: int) -> float:
    """Return c = 1/(ηk), whose ridge learns as much as k gradient steps where both have learnt little.

    With it the two shares never differ by more than `largest_gap`, whatever the curvature, up to terms of order ηh.
    lucchi Ch. 11, Problem 2(e).
    """
    return 1 / (step_size * steps)


def largest_gap() -> tuple[float, float]:
    """Return the s = ηkh at which early stopping and its ridge differ most, and by how much: 2.5129 and 0.2036.

    The gap is 1/(1 + s) − e^(−s); its derivative vanishes where (1 + s)² = eˢ, s = −1 − 2W₋₁(−e^(−1/2)/2). Reference:
    Goodfellow, Bengio and Courville 2016, Deep Learning, 7.8, for the likeness; Ali, Kolter and Tibshirani 2019.
    """
    from scipy.special import lambertw

    at = float(-1 - 2 * np.real(lambertw(-np.exp(-0.5) / 2, -1)))
    return at, float(1 / (1 + at) - np.exp(-at))


def largest_risk_ratio() -> tuple[float, float]:
    """Return the s = ηkh at which stopping early costs most beside the best ridge, and the ratio: 3.2136 and 1.2147.

    For weights of independent entries of one variance ρ², and noise σ² on n labels, the ridge c = σ²/(nρ²) has the
    least mean squared error, ρ²/(1 + s) along the curvature h = sc. Stopping with 1/(ηk) = c has
    ρ²(e^(−2s) + (1 − e^(−s))²/s), for short steps. So its error is at most this ratio of the least, whatever the
    curvatures, and that of the best stopping time is between them. For one fixed vector of weights no such bound
    holds. Ali, Kolter and Tibshirani 2019, Thm 3.
    """
    from scipy.optimize import OptimizeResult, minimize_scalar

    found: OptimizeResult = minimize_scalar(  # pyright: ignore[reportAssignmentType]
        lambda s: -(1 + s) * (np.exp(-2 * s) + (1 - np.exp(-s)) ** 2 / s), bounds=(0.1, 10), options={"xatol": 1e-10}
    )
    return float(found.x), float(-found.fun)


doors(__name__, curvatures="[0, ∞)", step_size="(0, ∞)", steps="[1, ∞)", penalty="(0, ∞)")
