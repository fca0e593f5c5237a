"""The Fourier transform with 2π in the exponent: on grids, its gradient and convolution rules, and closed forms.

f̂(ω) = ∫ e^(−2πi ω·x) f(x) dx, so that the inverse has no factor in front. A function is given by its values on the even
grid `centred_grid` along every axis, its transform on the dual grid, the centred one of spacing 1/(count·spacing).

Reference: lucchi Sec. 4.1; Bracewell, The Fourier Transform and Its Applications (1965), for the closed forms.
"""

import numpy as np
from jaxtyping import Complex, Float, Num
from scipy.signal import fftconvolve

from deeptheory.foundations.entrances import doors

__all__ = [
    "box_transform",
    "centred_grid",
    "convolution",
    "exponential_transform",
    "fourier_transform",
    "gaussian_transform",
    "inverse_fourier_transform",
    "tent_transform",
    "transform_of_gradient",
]

Frequency = float | Float[np.ndarray, "*shape"]


def centred_grid(count: int, spacing: float) -> Float[np.ndarray, " count"]:
    """Return the points (j − ⌊count/2⌋)·spacing, j = 0, …, count − 1; zero is one of them."""
    return (np.arange(count) - count // 2) * spacing


def fourier_transform(values: Num[np.ndarray, "*shape"], spacing: float) -> Complex[np.ndarray, "*shape"]:
    """Return f̂ on the dual grid from the values of f on the centred grid, over all axes.

    The integral is the trapezoidal sum, taken by the fast transform. For smooth f that is small at the edge of the grid
    and whose transform is small beyond the frequency 1/(2·spacing), its error is of the size of those two; a jump of f
    or a slow decay leaves an error that falls only like the spacing; closed forms are better. Reference: lucchi 4.1.
    """
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(values))) * spacing**values.ndim


def inverse_fourier_transform(transform: Num[np.ndarray, "*shape"], spacing: float) -> Complex[np.ndarray, "*shape"]:
    """Return f(x) = ∫ e^(2πi ω·x) f̂(ω) dω on the centred grid of this spacing, from f̂ on the dual grid (lucchi 4.1).

    The exact inverse of `fourier_transform`, whatever the values; of real functions the imaginary part is rounding.
    """
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(transform))) / spacing**transform.ndim


def transform_of_gradient(transform: Num[np.ndarray, "*shape"], spacing: float) -> Complex[np.ndarray, "d *shape"]:
    """Return 2πi ω f̂(ω), the transform of the gradient of f: one array for each axis (lucchi 4.1).

    `spacing` is that of the grid of f. On an axis of even length the outermost frequency stands for both of its signs,
    where the rule cannot hold; f̂ has to be small there.
    """
    axes = np.meshgrid(*(centred_grid(count, 1 / (count * spacing)) for count in transform.shape), indexing="ij")
    return 2j * np.pi * np.stack(axes) * transform


def convolution(
    one: Float[np.ndarray, "*shape"], other: Float[np.ndarray, "*shape"], spacing: float
) -> Float[np.ndarray, "*shape"]:
    """Return ∫ g(τ) h(x − τ) dτ on the centred grid that g and h are given on (lucchi Thm 25).

    Beyond the grid both count as zero: nothing wraps around. Where they do not vanish there, neither does the error.
    """
    full = fftconvolve(one, other) * spacing**one.ndim
    return full[tuple(slice(count // 2, count // 2 + count) for count in one.shape)]


def gaussian_transform(frequency: Frequency, scale: float) -> Frequency:
    """Return exp(−2π²σ²‖ω‖²), the transform of the density of N(0, σ²I) at frequencies of length `frequency`.

    In any dimension. That of the bump exp(−‖x‖²/2σ²) is (2πσ²)^(d/2) times as large. `scale` is σ. Reference: lucchi
    Ch. 4 Problem 1.
    """
    return np.exp(-2 * (np.pi * scale * frequency) ** 2)


def box_transform(frequency: Frequency, width: float) -> Frequency:
    """Return sin(2πaω)/(πω), the transform of the indicator of [−a, a], a = `width`; it is 2a at zero."""
    return 2 * width * np.sinc(2 * width * frequency)


def tent_transform(frequency: Frequency, width: float) -> Frequency:
    """Return sin²(πaω)/(π²aω²), the transform of the tent max(1 − |x|/a, 0), a = `width`."""
    return width * np.sinc(width * frequency) ** 2


def exponential_transform(frequency: Frequency, width: float) -> Frequency:
    """Return 2a/(1 + 4π²a²ω²), the transform of exp(−|x|/a) on the line, a = `width`."""
    return 2 * width / (1 + (2 * np.pi * width * frequency) ** 2)


doors(__name__, count="[1, 1e8]", spacing="[1e-9, 1e9]", scale="[1e-9, 1e9]", width="[1e-9, 1e9]")
