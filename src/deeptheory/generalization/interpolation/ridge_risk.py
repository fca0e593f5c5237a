"""Risk and norm of ridge regression on both sides of the interpolation threshold, tuned or not.

Labels are y = X β + noise with n rows and p independent standardised columns; `signal` is r² = ‖β‖² and `noise` the
variance s². The estimator minimises ‖y − Xw‖²/n + z‖w‖². Risks are the excess over the noise of a fresh label.

Reference: handbook Sec. 13.1.2; Dobriban and Wager 2018; Hastie, Montanari, Rosset and Tibshirani 2022.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.generalization.interpolation.ridgeless import BiasVariance, gaussian_bias_variance
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

__all__ = [
    "average_ridge_risk",
    "gaussian_norm_square",
    "limiting_ridge_bias_variance",
    "optimal_ridge",
    "optimal_ridge_risk",
]

Numbers = float | np.floating | Float[np.ndarray, "*shape"]


def limiting_ridge_bias_variance(gamma: float, ridge: Numbers, *, signal: float, noise: float) -> BiasVariance:
    """Return the limits of bias and variance as p/n → γ: −r² z² S′ and s² γ (S + z S′), with S(z) = ∫ dμ(λ)/(λ + z).

    μ is the Marchenko–Pastur law; S′ comes from the equation γ z S² + (1 − γ + z) S = 1 that S solves. At z → 0 it is
    the ridgeless double-descent curve. γ is p/n and z the `ridge`. Reference: Dobriban and Wager 2018; Hastie,
    Montanari, Rosset and Tibshirani 2022.
    """
    ridge = np.asarray(ridge, float)
    positive(gamma=gamma, ridge=ridge)
    inside(0, np.inf, signal=signal, noise=noise)
    transform = np.real(marchenko_pastur_stieltjes(-ridge, gamma))
    slope = -(gamma * transform**2 + transform) / (2 * gamma * ridge * transform + 1 - gamma + ridge)
    return BiasVariance(-signal * ridge**2 * slope, noise * gamma * (transform + ridge * slope))


def optimal_ridge(gamma: Numbers, *, signal: float, noise: float) -> Numbers:
    """Return z = γ s²/r², the ridge of least risk: the posterior mean for coefficients drawn from N(0, r²/p).

    γ is p/n. Reference: Dobriban and Wager 2018.
    """
    positive(gamma=gamma, signal=signal)
    inside(0, np.inf, noise=noise)
    return gamma * noise / signal


def optimal_ridge_risk(gamma: Numbers, *, signal: float, noise: float) -> Numbers:
    """Return the limiting risk at the optimal ridge, ½(c + √(c² + 4r²s²)) with c = r²(1 − 1/γ) − s².

    Increasing from 0 to r² along γ at fixed signal, with no peak at γ = 1, where it is finite: √(s⁴ + 4r²s²)/2 − s²/2.
    It is s² γ S(γ s²/r²). handbook 13.1.2 knows only the peak; Dobriban and Wager 2018. `gamma` is γ = p/n.
    """
    positive(gamma=gamma)
    inside(0, np.inf, signal=signal, noise=noise)
    offset = signal * (1 - 1 / np.asarray(gamma)) - noise
    root = np.hypot(offset, 2 * (signal * noise) ** 0.5)
    # Where c is negative its sum with the root cancels: the product of both roots of the equation is −r²s².
    below = np.maximum(root - offset, np.finfo(float).tiny)
    return np.where(offset < 0, 2 * signal * noise / below, (offset + root) / 2)[()]


def average_ridge_risk(
    singular: Float[np.ndarray, "*batch k"], features: int, penalty: float, *, signal: float, noise: float
) -> Float[np.ndarray, "*batch"] | np.floating:
    """Return the risk of min ‖y − Xw‖² + c‖w‖² given the singular values of X, for β uniform over directions.

    (r²/p) Σ (c/(σᵢ² + c))² over all p directions, unseen ones with σ = 0, plus s² Σ (σᵢ/(σᵢ² + c))². At c = p s²/r² it
    is s² tr (XᵀX + c)⁻¹. `penalty` is c, `features` p.
    """
    squares = singular**2
    unseen = features - singular.shape[-1]
    bias = signal / features * (unseen + ((penalty / (squares + penalty)) ** 2).sum(-1))
    return bias + noise * (squares / (squares + penalty) ** 2).sum(-1)


def gaussian_norm_square(samples: int, features: int, *, inside: float, outside: float, noise: float) -> float:
    """Return the mean of ‖w‖² for minimum-norm least squares on p of the Gaussian coordinates.

    ‖β_in‖² min(1, n/p) plus the variance that `gaussian_bias_variance` has for a noise of s² + ‖β_out‖²: what is seen
    of the signal, and the fitted noise. It peaks with the risk at p = n and falls beyond. Reference: Belkin, Hsu
    and Xu 2020 for the model; handbook 13.1.2. `inside` is ‖β_in‖², `outside` ‖β_out‖²; n `samples`, p `features`.
    """
    fitted = gaussian_bias_variance(samples, features, signal=inside, noise=outside + noise)
    return inside - float(fitted.bias) + float(fitted.variance)


doors(
    __name__,
    gamma="(0, ∞)",
    ridge="[0, ∞)",
    signal="[0, ∞)",
    noise="[0, ∞)",
    penalty="[0, ∞)",
    inside="[0, ∞)",
    outside="[0, ∞)",
)
