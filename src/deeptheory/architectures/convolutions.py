"""Convolutions of signals: integrals, sums, Toeplitz matrices and Fourier transforms that all say the same.

Reference: lucchi Secs. 10.1.1 and 10.1.3; Oppenheim and Schafer, Discrete-Time Signal Processing (1989).
"""

from collections.abc import Callable
from functools import partial
from math import comb
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "binomial_filter",
    "continuous_convolution",
    "convolution_matrix",
    "convolve",
    "convolve_by_fft",
    "cross_correlate",
    "fourier_transform",
    "frequency_response",
    "integral_operator",
]

Function = Callable[[Float[AnyArray, "..."]], Float[AnyArray, "..."]]


def integral_operator(
    kernel: Callable[..., Inexact[AnyArray, "..."]],
    signal: Function,
    at: Float[AnyArray, " m"],
    *,
    low: float,
    high: float,
    points: int = 400,
) -> Inexact[Array, " m"]:
    """The integral (Tf)(u) = ∫ H(u, t) f(t) dt from `low` to `high`, by the midpoint rule with `points` cells.

    For smooth functions that vanish at both ends the rule converges faster than any power of the spacing; for boxes it
    is exact where their edges lie on edges of cells; else the error is of the order of the spacing times the jumps.
    Both `kernel` (of u and t) and `signal` (of t) take arrays. Reference: lucchi Sec. 10.1.1.
    """
    if not high > low:
        raise ValueError(f"high must exceed low = {low}, got {high}")
    at = jnp.asarray(at)
    affordable(kernel=(len(at), points))
    spacing = (high - low) / points
    t = low + spacing * (jnp.arange(points) + 0.5)
    return jnp.asarray(kernel(at[:, None], t) * signal(t)).sum(-1) * spacing


def fourier_transform(
    signal: Function, frequencies: Float[AnyArray, " m"], *, low: float, high: float, points: int = 400
) -> Complex[Array, " m"]:
    """The Fourier transform (ℱf)(u) = ∫ e^(−2πitu) f(t) dt, an integral operator; frequencies in cycles per unit.

    With this convention e^(−πt²) is its own transform and ∫|f|² = ∫|ℱf|². A frequency above half the number of cells
    per unit length is seen as a lower one. Reference: lucchi Sec. 10.1.1.
    """

    def wave(u: Array, t: Array) -> Array:
        return jnp.exp(-2j * jnp.pi * t * u)

    return integral_operator(wave, signal, frequencies, low=low, high=high, points=points)


def continuous_convolution(
    f: Function, h: Function, at: Float[AnyArray, " m"], *, low: float, high: float, points: int = 400
) -> Float[Array, " m"]:
    """The convolution (f∗h)(u) = ∫ h(u − t) f(t) dt, the integral over an interval outside of which f is zero.

    By the midpoint rule with `points` cells from `low` to `high`; f and h take arrays, `at` are the u. Reference:
    lucchi Sec. 10.1.1.
    """
    return integral_operator(lambda u, t: h(u - t), f, at, low=low, high=high, points=points)


def convolve(
    signal: Float[AnyArray, "*batch n"],
    kernel: Float[AnyArray, " k"],
    *,
    boundary: str = "full",
) -> Float[Array, "*batch m"]:
    """The sum (f∗h)[u] = Σ_t f[t] h[u − t], for every signal along the last axis.

    `boundary` says which u are kept, the first taps being f[0] and h[0]: "full" all n + k − 1 at which supports meet,
    "valid" the n − k + 1 at which the whole kernel lies inside the signal (u from k − 1), "circular" n of them with
    indices modulo n. The cost is n k; for long kernels take `convolve_by_fft`. Reference: lucchi Sec. 10.1.1.
    """
    signal, kernel = _fitting(signal, kernel, boundary)
    if boundary == "circular":
        signal = jnp.concatenate([signal[..., signal.shape[-1] - len(kernel) + 1 :], signal], -1)
    sums = partial(jnp.convolve, mode="full" if boundary == "full" else "valid")
    return jnp.vectorize(sums, signature="(n),(k)->(m)")(signal, kernel)


def convolve_by_fft(
    signal: Float[AnyArray, "*batch n"],
    kernel: Float[AnyArray, " k"],
    *,
    boundary: str = "full",
) -> Float[Array, "*batch m"]:
    """The same sums as `convolve`, by multiplying discrete Fourier transforms: O(N log N) instead of O(N²).

    A product of transforms of length N is the circular convolution of period N. The sum over all integers needs both
    sequences padded with zeros to n + k − 1 entries first; the book leaves that out. Rounding is relative to the
    largest output, so tiny outputs beside large ones are lost. `boundary` as in `convolve`. Reference: lucchi Sec.
    10.1.3.
    """
    signal, kernel = _fitting(signal, kernel, boundary)
    n, k = signal.shape[-1], len(kernel)
    period = n if boundary == "circular" else n + k - 1
    sums = jnp.fft.irfft(jnp.fft.rfft(signal, period) * jnp.fft.rfft(kernel, period), period)
    return sums[..., k - 1 : n] if boundary == "valid" else sums


def cross_correlate(
    kernel: Float[AnyArray, " k"],
    signal: Float[AnyArray, "*batch n"],
    *,
    boundary: str = "full",
) -> Float[Array, "*batch m"]:
    """The sum (h⋆f)[u] = Σ_t h[t] f[u + t]: a convolution with the reversed kernel h̄[t] = h[−t].

    "full" keeps u from −(k − 1), "valid" u from 0 to n − k, "circular" u from 0 to n − 1 modulo n. It does not commute:
    f⋆h is h⋆f reversed. Reference: lucchi Sec. 10.1.1.
    """
    sums = convolve(signal, jnp.flip(jnp.asarray(kernel)), boundary=boundary)
    return jnp.roll(sums, 1 - len(kernel), -1) if boundary == "circular" else sums


def convolution_matrix(
    kernel: Float[AnyArray, " k"], *, length: Annotated[int, "[1, 32768]"], boundary: str = "full"
) -> Float[Array, "m length"]:
    """The Toeplitz matrix T with T f = f∗h for signals of this length: T[i, j] depends on i − j alone.

    Rows are the outputs that `boundary` keeps. A valid one has W[k, j] = h[K + k − j], counted from 1; a circular one
    is circulant, with the discrete Fourier transform of h as eigenvalues. Dense: for looking at and for small sizes.
    References: lucchi Sec. 10.1.1, Problem 10.1.
    """
    kernel = jnp.asarray(kernel)
    affordable(matrix=(length, length + len(kernel)))
    return convolve(jnp.eye(length, dtype=kernel.dtype), kernel, boundary=boundary).T


def binomial_filter(order: Annotated[int, "[1, 1000]"] = 4) -> Float[np.ndarray, " taps"]:
    """The smoothing filter C(order, j)/2^order, j = 0, …, order: [1, 4, 6, 4, 1]/16 for order 4, as the book prints it.

    Centred, it has mean 0, variance order/4 and frequency response cos^order(πf); applied again and again it tends to
    a Gaussian. An even order has a middle tap. Reference: lucchi Sec. 10.1.1 ("Gaussian kernel").
    """
    return np.array([comb(order, j) / 2**order for j in range(order + 1)])


def frequency_response(
    kernel: Float[AnyArray, " k"], frequencies: Float[AnyArray, " m"], *, origin: float = 0.0
) -> Complex[Array, " m"]:
    """What a filter multiplies waves of each frequency with, Σ_t h[t] e^(−2πif(t − origin)); f in cycles per sample.

    `origin` is the tap that counts as time 0: its middle makes the response of a symmetric filter real.
    """
    turns = jnp.asarray(frequencies)[:, None] * (jnp.arange(len(kernel)) - origin)
    return (jnp.asarray(kernel) * jnp.exp(-2j * jnp.pi * turns)).sum(-1)


def _fitting(signal: object, kernel: object, boundary: str) -> tuple[Array, Array]:
    signal, kernel = jnp.asarray(signal), jnp.asarray(kernel)
    if boundary not in ("full", "valid", "circular"):
        raise ValueError(f"boundary must be full, valid or circular, got {boundary!r}")
    if boundary != "full" and len(kernel) > signal.shape[-1]:
        raise ValueError(
            f"a {boundary} convolution needs a kernel no longer than the signal, got {len(kernel)} taps for "
            f"{signal.shape[-1]} entries"
        )
    return signal, kernel


doors(__name__, points="[1, 1000000]")
