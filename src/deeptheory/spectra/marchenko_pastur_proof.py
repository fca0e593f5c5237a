"""The proof of the Marchenko–Pastur law on one matrix: what every step replaces, by how much, and what bounds it.

1 + zS_N = tr(RW)/N = mean over k of f(qₖ) with qₖ = ⟨Xₖ, R⁽ᵏ⁾Xₖ⟩/N and f(s) = s/(1 + s/α); then qₖ is replaced by the
trace s⁽ᵏ⁾ = tr R⁽ᵏ⁾/N, that by S_N, and S_N solves the self-consistency equation up to what was lost. α = M/N.
jagannath Sec. 6.3.

`fourth` is κ, the fourth moment of the entries, `transform` S_N and `limit` S.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from deeptheory.foundations.entrances import doors
from deeptheory.spectra.resolvents import quadratic_form_variance, resolvent
from deeptheory.spectra.stieltjes import marchenko_pastur_equation, marchenko_pastur_stieltjes

__all__ = ["ProofSteps", "proof_steps", "quadratic_form_bound", "replacement_slope", "stability_factor"]


class ProofSteps(NamedTuple):
    """What the steps of the proof compute on one matrix, at one z."""

    transform: np.complexfloating
    trace: np.complexfloating
    """tr(RW)/N, which the first step equates with 1 + zS_N."""
    samplewise: np.complexfloating
    """The mean of f(qₖ), which Sherman–Morrison equates with tr(RW)/N."""
    forms: Complex[np.ndarray, " m"]
    """qₖ, one for each sample."""
    traces: Complex[np.ndarray, " m"]
    """s⁽ᵏ⁾, the transform without sample k: what the trace lemma puts for qₖ."""
    variances: Float[np.ndarray, " m"]
    """The mean of |qₖ − s⁽ᵏ⁾|² over sample k, by the trace lemma, for entries of the given fourth moment."""
    residual: np.complexfloating
    """1 + zS_N − f(S_N), the defect of the self-consistency equation."""
    error: np.complexfloating
    """S_N minus the Marchenko–Pastur transform of the ratio N/M."""


def proof_steps(x: Float[np.ndarray, "n m"], z: complex, *, fourth: float = 3.0) -> ProofSteps:
    """Run the proof on data whose columns are samples; every sample is really left out and the rest inverted anew."""
    dimension, samples = x.shape
    alpha = samples / dimension
    covariance = x @ x.T / samples
    whole = resolvent(covariance, z)
    transform = np.trace(whole) / dimension
    without = resolvent(covariance - np.einsum("ik,jk->kij", x, x) / samples, z)
    forms = (x.T * (without @ x.T[..., None])[..., 0]).sum(1) / dimension
    traces = np.trace(without, axis1=1, axis2=2) / dimension
    spread = quadratic_form_variance(np.real(without), fourth) + quadratic_form_variance(np.imag(without), fourth)
    return ProofSteps(
        transform=transform,
        trace=np.trace(whole @ covariance) / dimension,
        samplewise=(forms / (1 + forms / alpha)).mean(),
        forms=forms,
        traces=traces,
        variances=spread / dimension**2,
        residual=marchenko_pastur_equation(transform, z, 1 / alpha),
        error=transform - marchenko_pastur_stieltjes(z, 1 / alpha)[()],
    )


def quadratic_form_bound(dimension: int, z: complex, fourth: float) -> float:
    """Bound the mean of |qₖ − s⁽ᵏ⁾| by √(max(2, κ − 1)/N)/|Im z|. jagannath Lemma 6.18 with ‖R‖ ≤ 1/|Im z|."""
    _off_the_axis(z)
    return (max(2.0, fourth - 1) / dimension) ** 0.5 / abs(z.imag)


def replacement_slope(z: complex) -> float:
    """Bound |f(s) − f(t)|/|s − t| by (|z|/Im z)² for f(s) = s/(1 + s/α) at transforms of measures on the half line.

    There Im(zs) ≥ 0, so |z||1 + s/α| ≥ Im(z + zs/α) ≥ Im z, and f(s) − f(t) = (s − t)/((1 + s/α)(1 + t/α)). The same
    holds for the quadratic forms, which are transforms of measures too.
    """
    _off_the_axis(z)
    return (abs(z) / z.imag) ** 2


def _off_the_axis(z: complex) -> None:
    if not z.imag:
        raise ValueError(f"z must lie off the real axis, got {z}")


def stability_factor(transform: complex, limit: complex, z: complex, alpha: float) -> complex:
    """Return what the defect of the equation is to be multiplied by to give S_N − S, exactly.

    1/(z − 1/((1 + S_N/α)(1 + S/α))): the difference of the two equations, divided by S_N − S.
    """
    return 1 / (z - 1 / ((1 + transform / alpha) * (1 + limit / alpha)))


doors(__name__, dimension="[1, ∞)", alpha="(0, ∞)", fourth="[1, ∞)")
