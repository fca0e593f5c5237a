"""Regression by linear smoothers: predictions S y whose weights depend on the inputs alone, and the errors they make.

Polynomials fitted by least squares, averages over neighbours and kernel averages are all of this form, so one
decomposition into noise, bias and variance serves them all. `noise` is the variance of a label.

Reference: jagannath Ch. 5 Sec. 1; Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), Ch. 7.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.generalization.interpolation.polynomials import legendre_features
from deeptheory.generalization.interpolation.ridgeless import BiasVariance

__all__ = ["optimism", "polynomial_smoother", "smoother_bias_variance", "training_error"]


def smoother_bias_variance(
    weights: Float[AnyArray, "*batch m n"],
    truth: Float[AnyArray, "*batch n"],
    target: Float[AnyArray, "*batch m"],
    noise: float,
) -> BiasVariance:
    """Return squared bias and variance of a smoother at each of m places, over the noise of the labels.

    (f(x) − Σᵢ wᵢ(x) f(Xᵢ))² and s² Σᵢ wᵢ(x)², the inputs held fixed. A fresh label there is missed by s² more on
    average. For k neighbours the variance is s²/k. jagannath Example 5.1, handbook 13.1.
    """
    mean = (weights @ truth[..., None])[..., 0]
    return BiasVariance((target - mean) ** 2, noise * (weights**2).sum(-1))


def training_error(
    smoother: Float[AnyArray, "*batch n n"], truth: Float[AnyArray, "*batch n"], noise: float
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return the mean squared residual on the labels a smoother was fitted to, ‖(I − S)f‖²/n + s²‖I − S‖²/n.

    The mean over the noise, with S the `smoother`, f the `truth` and s² = `noise`; ‖I − S‖ is Frobenius'.
    """
    count = smoother.shape[-1]
    left = np.eye(count) - smoother
    return (((left @ truth[..., None])[..., 0] ** 2).sum(-1) + noise * (left**2).sum((-1, -2))) / count


def optimism(smoother: Float[AnyArray, "*batch n n"], noise: float) -> Float[AnyArray, "*batch"] | np.floating:
    """Return by how much fresh labels at the same inputs are missed more than the old ones, 2 s² tr S/n.

    For least squares in p features tr S = p, for k neighbours n/k, for an interpolant n: then all of 2s². Reference:
    Hastie, Tibshirani and Friedman 2009, Sec. 7.4.
    """
    return 2 * noise * np.trace(smoother, axis1=-2, axis2=-1) / smoother.shape[-1]


def polynomial_smoother(
    points: Float[np.ndarray, " n"], queries: Float[np.ndarray, " m"], *, degree: int
) -> Float[np.ndarray, "m n"]:
    """Return the weights of least squares in polynomials of a degree, for inputs in [0, 1]."""
    if degree + 1 > len(set(points.tolist())):
        raise ValueError(f"a polynomial of degree {degree} needs {degree + 1} different points, not {len(points)}")
    return legendre_features(queries, degree) @ np.linalg.pinv(legendre_features(points, degree))


doors(__name__, degree="[0, 1000]", noise="[0, ∞)")
