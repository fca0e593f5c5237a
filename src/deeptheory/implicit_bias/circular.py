"""Linear networks of full-width circular convolutions, and the norm of Fourier coefficients that they prefer.

Every layer but the last sends h to hᵢ′ = d^(−1/2) Σₖ wₖ h_(i+k), indices modulo d; the last takes an inner product.
With the unitary Fourier transform F the network is the linear predictor β whose Fβ is the product of the layers' Fw.
"""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.implicit_bias.separable import max_margin

__all__ = ["FourierMargin", "circular_predictor", "fourier_norm", "largest_fourier_margin"]

GAP = 1e-6
"""between the two bounds of a largest margin, as a share of it, beyond which it counts as not found"""


def circular_predictor(layers: Float[AnyArray, "depth d"]) -> Float[AnyArray, " d"]:
    """Return β with ⟨β, x⟩ the network's output at x: the circular convolution of its layers over d^((depth−1)/2).

    Homogeneous of the degree of its depth. Traceable. Reference: arora 8.1.2, after Gunasekar, Lee, Soudry and Srebro
    (2018).
    """
    xp = layers.__array_namespace__()
    return xp.fft.ifft(xp.prod(xp.fft.fft(layers, norm="ortho"), axis=0), norm="ortho").real


def fourier_norm(
    predictor: Float[AnyArray, "*batch d"], *, power: Annotated[float, "(0, 100]"] = 1.0
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return (Σₖ |(Fβ)ₖ|^p)^(1/p) with the unitary transform F; for `power` 2 this is |β|, below 1 not a norm.

    The least squared size of all layers of a circular network of depth L that make β is L·‖Fβ‖_p^p with p = 2/L.
    Reference: Gunasekar, Lee, Soudry and Srebro 2018; arora 8.1.2.
    """
    xp = predictor.__array_namespace__()
    return (abs(xp.fft.fft(predictor, norm="ortho")) ** power).sum(-1) ** (1 / power)


class FourierMargin(NamedTuple):
    """The largest margin of a β with ‖Fβ‖₁ = 1, such a β, and weights p whose ‖F X̄ᵀp‖∞ shows there is no larger one."""

    margin: float
    vector: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, " n"]


def largest_fourier_margin(signed_points: Float[AnyArray, "n d"]) -> FourierMargin:
    """Find the largest minᵢ ⟨β, x̄ᵢ⟩ over ‖Fβ‖₁ ≤ 1: what a circular network of depth 2 is trained to.

    By duality it is the least ‖F X̄ᵀp‖∞ over convex weights p, a smooth problem in n + 1 unknowns; β has the multipliers
    of its constraints as moduli. The two bounds meet to 1e-6 or an error says so. For few points: n up to a
    hundred. Points that are not separable are refused. Reference: arora 8.1.2.
    """
    from scipy.optimize import minimize

    points = np.asarray(signed_points, np.float64)
    begin = max_margin(points)  # refuses points that are not separable
    count, width = points.shape
    size = np.abs(points).max()
    seen = np.fft.fft(points / size, norm="ortho")[:, : width // 2 + 1]  # the others are conjugate to these
    forms = np.einsum("ik,jk->kij", seen, seen.conj()).real
    weights = begin.duals / begin.duals.sum()
    level = np.abs(weights @ seen).max()

    solved = minimize(
        lambda z: z[-1],
        np.append(weights, level),
        jac=lambda z: np.append(np.zeros(count), 1.0),
        method="SLSQP",
        bounds=[(0, 1)] * count + [(0, None)],
        constraints=[
            {"type": "eq", "fun": lambda z: z[:-1].sum() - 1, "jac": lambda z: np.append(np.ones(count), 0.0)},
            {
                "type": "ineq",
                "fun": lambda z: z[-1] ** 2 - z[:-1] @ forms @ z[:-1],
                "jac": lambda z: np.hstack([-2 * forms @ z[:-1], np.full((len(forms), 1), 2 * z[-1])]),
            },
        ],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    weights = np.maximum(solved.x[:-1], 0.0)
    weights /= weights.sum()
    pulled = weights @ seen
    bound = size * np.abs(pulled).max()
    vector = _primal(pulled, seen, weights, width)
    vector /= fourier_norm(vector)
    margin = float((points @ vector).min())
    if not bound - margin <= GAP * bound:
        raise ArithmeticError(f"the largest margin was only found to lie between {margin:.6g} and {bound:.6g}")
    return FourierMargin(margin, vector, weights)


def _primal(pulled: np.ndarray, seen: np.ndarray, weights: np.ndarray, width: int) -> np.ndarray:
    """Return β whose transform has the phases of the dual's largest entries, and margin 1 at points of some weight."""
    from scipy.optimize import nnls

    moduli = np.abs(pulled)
    largest = moduli >= (1 - 1e-5) * moduli.max()
    margins = 2 * np.real(seen.conj() * pulled)[:, largest]
    support = weights > 1e-7
    # A point outside the support may have a larger margin, by a slack that costs nothing.
    slack = np.eye(len(weights))[:, ~support]
    found, _ = nnls(np.hstack([margins, -slack]), np.ones(len(weights)))
    spectrum = np.zeros(len(moduli), complex)
    spectrum[largest] = found[: largest.sum()] * pulled[largest]
    alone = [0, width // 2] if width % 2 == 0 else [0]
    spectrum[alone] *= 2  # those that are their own conjugates occur once
    return np.fft.irfft(spectrum, width, norm="ortho")


doors(__name__)
