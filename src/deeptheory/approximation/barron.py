"""The Barron constant C_f = ∫‖ω‖|f̂(ω)|dω: closed forms, quadrature, values on a grid, and where it is infinite.

With f̂(ω) = ∫ e^(−2πi ω·x) f(x) dx as in `transforms`. Barron's own constant, with angular frequencies, and lucchi's
complexity ∫‖(∇f)^‖ are both 2πC_f. No constant here is an error: what a network misses is measured on the network.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.integrate import IntegrationWarning, quad
from scipy.special import gammaln, sici

from deeptheory.approximation.transforms import centred_grid, fourier_transform
from deeptheory.foundations.entrances import doors

__all__ = [
    "barron_constant",
    "bump_barron_constant",
    "cosine_barron_constant",
    "gaussian_barron_bound",
    "gaussian_barron_constant",
    "grid_barron_constant",
    "tent_barron_constant",
]


def barron_constant(magnitude: Callable[[float], Any], dimension: int, *, cutoff: float = np.inf) -> float:
    """Return C_f of a function of d variables whose transform has the modulus `magnitude`(‖ω‖), by quadrature.

    C_f = S_d ∫₀^cutoff ρ^d |f̂|(ρ) dρ with S_d = 2π^(d/2)/Γ(d/2), the area of the unit sphere. With a finite cutoff it
    is the part of frequencies up to there. An integral that does not settle is refused: C_f is infinite (a kink, a
    jump), or the transform oscillates too much for a quadrature of 400 intervals; a finite cutoff shows which.
    Reference: lucchi 4.1.
    """
    area = 2 * np.exp(dimension / 2 * np.log(np.pi) - gammaln(dimension / 2))
    # Cut at powers of ten: the nodes of one long interval would step over all that the transform has.
    decades = {"points": 10.0 ** np.arange(-6, np.log10(cutoff))} if 1 < cutoff < np.inf else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)
        total, error = quad(
            lambda rho: rho**dimension * np.abs(float(magnitude(rho))),
            0,
            cutoff,
            limit=400,
            epsabs=0,
            epsrel=1e-9,
            **decades,
        )
    if not np.isfinite(total) or error > 1e-6 * total:
        raise ValueError(
            f"the integral of ‖ω‖·magnitude does not settle: {total:.4g} with an error of {error:.2g} up to frequency "
            f"{cutoff:g}, so that the constant is infinite or out of reach"
        )
    return float(area * total)


def grid_barron_constant(values: Float[np.ndarray, "*shape"], spacing: float) -> float:
    """Return C_f of the function with these values on the centred grid of this spacing along every axis.

    Σ‖ω‖|f̂(ω)|·Δω over the dual grid: good to the digits of `fourier_transform`, which wants f small at the edge and
    smooth. It is finite always; that a constant is infinite shows only as growth when the grid is refined.
    """
    steps = [1 / (count * spacing) for count in values.shape]
    axes = np.meshgrid(
        *(centred_grid(count, step) for count, step in zip(values.shape, steps, strict=True)), indexing="ij"
    )
    length = np.sqrt(sum(axis**2 for axis in axes))
    return float(np.sum(length * np.abs(fourier_transform(values, spacing))) * np.prod(steps))


def bump_barron_constant(dimension: int, scale: float) -> float:
    """Return C_f of the bump exp(−‖x‖²/2σ²) in d dimensions, wherever its centre is.

    Its transform is the density of N(0, I/(4π²σ²)), so C_f is the mean length √2 Γ((d+1)/2)/Γ(d/2)/(2πσ), nearly
    √d/(2πσ): a bump of fixed scale becomes harder with the dimension, slowly.
    """
    return float(np.exp(gammaln((dimension + 1) / 2) - gammaln(dimension / 2)) / (np.sqrt(2) * np.pi * scale))


def gaussian_barron_constant(dimension: int, scale: float) -> float:
    """Return C_f of the density of N(0, σ²I) in d dimensions: (2πσ²)^(−d/2) times that of the bump of height one.

    It vanishes with growing d if σ² > 1/(2π), and explodes if not. `scale` is σ, `dimension` d. Reference: lucchi Ch. 4
    Problem 1.
    """
    return float(bump_barron_constant(dimension, scale) * (2 * np.pi * scale**2) ** (-dimension / 2))


def gaussian_barron_bound(dimension: int, scale: float) -> float:
    """Return √(d/(4π²σ²))·(2πσ²)^(−d/2), the bound on `gaussian_barron_constant` by Cauchy and Schwarz.

    Too large by a factor that tends to 1 like 1 + 1/(4d). `scale` is σ, `dimension` d. Reference: lucchi Ch. 4 Problem
    1.
    """
    return float(np.sqrt(dimension) / (2 * np.pi * scale) * (2 * np.pi * scale**2) ** (-dimension / 2))


def cosine_barron_constant(amplitudes: Float[np.ndarray, " m"], frequencies: Float[np.ndarray, "m d"]) -> float:
    """Return Σ|a_j|‖w_j‖, the constant of Σ a_j cos(2π(w_j·x + θ_j)) whatever the phases, for w_j different up to sign.

    The transform is a measure at ±w_j, and C_f the integral of ‖ω‖ against its modulus. Of terms with equal or opposite
    frequencies it is only an upper bound.
    """
    return float(np.sum(np.abs(amplitudes) * np.linalg.norm(frequencies, axis=1)))


def tent_barron_constant(cutoff: float, width: float = 1.0) -> float:
    """Return the constant of the tent max(1 − |x|/a, 0), a = `width`, from frequencies |ω| ≤ cutoff alone.

    It is Cin(2πaW)/(π²a) with Cin(z) = ∫₀^z (1 − cos t)/t dt, and so grows like log(W)/(π²a): a kink has no finite
    Barron constant, though three ReLUs make the tent. Reference: lucchi Remark 4.
    """
    z = 2 * np.pi * width * cutoff
    # Cin = γ + log z − Ci(z) cancels for small z, where its series z²/4 is exact to rounding.
    cin = z * z / 4 if z < 1e-3 else np.euler_gamma + np.log(z) - sici(z)[1]
    return float(cin / (np.pi**2 * width))


doors(
    __name__,
    infinite=("cutoff",),
    dimension="[1, 1e6]",
    scale="[1e-6, 1e6]",
    width="[1e-6, 1e6]",
    spacing="[1e-9, 1e9]",
    cutoff="(0, ∞]",
)
