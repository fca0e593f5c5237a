"""Kernel averages of responses; with a kernel that is infinite at zero they pass through every data point.

jagannath Ch. 5, after Belkin, Rakhlin and Tsybakov 2019. `noise` is the variance of a label, `exponent` the a of
K(u) = ‖u‖⁻ᵃ 1(‖u‖ ≤ 1), `smoothness` the β of the Hölder condition.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Num
from scipy.spatial.distance import cdist, pdist

from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.entrances import doors
from deeptheory.generalization.interpolation.ridgeless import BiasVariance

__all__ = [
    "averaging_weights",
    "box_kernel",
    "holder_seminorm",
    "kernel_square_integral",
    "limiting_pointwise_risk",
    "log_void_probability",
    "minimax_bandwidth",
    "nadaraya_watson_weights",
    "second_moment_bound",
    "singular_kernel",
    "slope_at_data",
]

Kernel = Callable[[np.ndarray], np.ndarray]
Numbers = float | int | np.number | Num[np.ndarray, "*shape"]


def singular_kernel(exponent: float) -> Kernel:
    """Return K(u) = u⁻ᵃ for 0 ≤ u ≤ 1 and 0 beyond, infinite at zero, as a function of the length u."""
    if not exponent > 0:
        raise ValueError(f"exponent must be positive, not {exponent}")

    def kernel(length: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.where(length <= 1, np.asarray(length, float) ** -exponent, 0.0)

    return kernel


def box_kernel(length: Float[np.ndarray, "..."]) -> np.ndarray:
    """Return 1(u ≤ 1): the mean over all points within the bandwidth, finite at zero."""
    return (np.asarray(length) <= 1).astype(float)


def averaging_weights(values: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch n"]:
    """Normalise kernel values to weights of sum one; an infinite value takes all, and no value at all leaves zeros."""
    infinite = np.isinf(values)
    values = np.where(infinite.any(-1, keepdims=True), infinite, values)
    total = values.sum(-1, keepdims=True)
    return values / np.where(total > 0, total, 1)


def nadaraya_watson_weights(
    points: Float[np.ndarray, "n d"], queries: Float[np.ndarray, "m d"], *, kernel: Kernel, bandwidth: float
) -> Float[np.ndarray, "m n"]:
    """Return the weights K((x − Xᵢ)/h)/Σⱼ K((x − Xⱼ)/h); zero where no point is near. jagannath Ch. 5 Sec. 2.

    With a singular kernel the prediction at a data point is its response, for every bandwidth.
    """
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be positive, not {bandwidth}")
    return averaging_weights(kernel(cdist(queries, points) / bandwidth))


def slope_at_data(
    points: Float[np.ndarray, "n d"], responses: Float[np.ndarray, " n"], *, exponent: float, bandwidth: float
) -> Float[np.ndarray, " n"]:
    """Return lim (f_n(x) − Yᵢ)/‖x − Xᵢ‖ᵃ as x → Xᵢ: the singular average is continuous there, and no smoother.

    h⁻ᵃ Σ_{j≠i} (Yⱼ − Yᵢ) K((Xⱼ − Xᵢ)/h). `bandwidth` is h.
    """
    values = singular_kernel(exponent)(cdist(points, points) / bandwidth)
    np.fill_diagonal(values, 0.0)
    return (values @ responses - values.sum(1) * responses) / bandwidth**exponent


def holder_seminorm(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], *, smoothness: float) -> float:
    """Return the largest |f(x) − f(y)|/‖x − y‖^β over a sample: at most the seminorm. jagannath Def. 5.2."""
    if not 0 < smoothness <= 1:
        raise ValueError(f"smoothness must be in (0, 1], not {smoothness}")
    return float(np.max(pdist(values[:, None]) / pdist(points) ** smoothness))


def minimax_bandwidth(samples: Numbers, dimension: int, smoothness: float) -> Numbers:
    """Return h = n^{−1/(d + 2β)}, for which squared bias h^{2β} and variance 1/(n hᵈ) fall alike. jagannath Thm 5.3."""
    return samples ** (-1 / (dimension + 2 * smoothness))


def log_void_probability(mass: Numbers, samples: int) -> Numbers:
    """Return the logarithm of (1 − p̄)ⁿ, the chance that no sample falls into a ball of mass p̄; at most −n p̄."""
    return samples * np.log1p(-mass)


def kernel_square_integral(dimension: int, exponent: float) -> float:
    """Return ∫_{‖u‖≤1} ‖u‖^{−2a} du = d v/(d − 2a), the area d v of the sphere times ∫₀¹ r^{d−1−2a} dr; needs a < d/2.

    jagannath Ch. 5 prints the bound without the area.
    """
    if not exponent < dimension / 2:
        raise ValueError(f"the integral diverges unless exponent < {dimension / 2:g}, not {exponent}")
    return dimension * ball_volume(dimension) / (dimension - 2 * exponent)


def second_moment_bound(
    samples: int, dimension: int, exponent: float, *, bandwidth: float, mass: float, highest: float
) -> float:
    """Return 4 hᵈ p_max ∫K²/(n p̄)², which bounds E[w₁²] where at least n p̄/2 samples are within h.

    `highest` is p_max and `mass` is p̄. Term (B) in the proof of jagannath Thm 5.3, of order 1/(n² hᵈ). `bandwidth` is
    h.
    """
    integral = kernel_square_integral(dimension, exponent)
    return 4 * bandwidth**dimension * highest * integral / (samples * mass) ** 2


def limiting_pointwise_risk(
    dimension: int, exponent: float, smoothness: float, *, density: float, noise: float
) -> BiasVariance:
    """Return the limits of n^{2β/(2β+d)} times squared bias and variance at 0, for f(x) = f(0) + ‖x‖^β.

    ((d − a)/(d − a + β))² and s²(d − a)²/((d − 2a) d v p(0)), v the volume of the unit ball, for the bandwidth
    n^{−1/(d+2β)}, a density continuous at 0 and a < d/2: sums over the points in the ball become integrals. It turns
    the rate of jagannath Thm 5.3 into an equality.
    """
    if not density > 0:
        raise ValueError(f"density must be positive, not {density}")
    rest = dimension - exponent
    scaled = kernel_square_integral(dimension, exponent) / (dimension * ball_volume(dimension)) ** 2
    return BiasVariance((rest / (rest + smoothness)) ** 2, noise * rest**2 * scaled / density)


doors(
    __name__,
    bandwidth="(0, ∞)",
    smoothness="(0, ∞)",
    noise="[0, ∞)",
    density="(0, ∞)",
    samples="[1, ∞)",
    dimension="[1, 1000]",
)
