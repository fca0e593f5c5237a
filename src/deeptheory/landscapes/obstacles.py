"""The obstacles to descent in their simplest form: a spurious minimum, a saddle, a flat region.

Reference: arora 6.1 and Fig. 6.1; handbook 4.2.1.
"""

from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import expi

from deeptheory.foundations.entrances import doors

__all__ = ["QuarticForm", "TiltedWell", "Well", "flow_time_in_well", "tilted_well_critical_points"]

Scalar = Float[Array, ""]


class QuarticForm(eqx.Module):
    """½wᵀQw + a cubic + a quartic form, given by their coefficients: critical at 0, where Q is the Hessian."""

    matrix: Float[Array, "d d"]
    cubic: Float[Array, "d d d"]
    quartic: Float[Array, "d d d d"]

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        third, fourth = self.cubic @ w @ w @ w, self.quartic @ w @ w @ w @ w
        return w @ self.matrix @ w / 2 + third + fourth


class TiltedWell(eqx.Module):
    """¼(w² − 1)² + ¼·t·w per coordinate: a global minimum below −1, for small tilt t > 0 a spurious one below 1."""

    tilt: float | Scalar

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        return jnp.sum((w**2 - 1) ** 2 + self.tilt * w) / 4


def tilted_well_critical_points(tilt: Annotated[float, "[0, 1.5]"]) -> Float[np.ndarray, "3"]:
    """The critical points of `TiltedWell` in order: the global minimum, the hill, the spurious minimum.

    The roots of w³ − w + t/4, by Viète's cosines; there are three while t ≤ 8/√27 ≈ 1.54.
    """
    angle = np.arccos(-(27**0.5) / 8 * tilt)
    return 2 / 3**0.5 * np.cos((angle + 2 * np.pi * np.array([1, 2, 0])) / 3)


class Well(eqx.Module):
    """1 − exp(−‖w‖²/2): one critical point, the minimum 0, in a plain whose gradient vanishes far out."""

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        return -jnp.expm1(-w @ w / 2)


def flow_time_in_well(
    start: float | Float[np.ndarray, "*k"], end: float | Float[np.ndarray, "*k"]
) -> float | Float[np.ndarray, "*k"]:
    """How long gradient flow on `Well` takes from distance w₀ = `start` to w₁ = `end` < w₀ from its minimum.

    ½[Ei(w₀²/2) − Ei(w₁²/2)], from dt = −e^{w²/2} dw/w: exponential in the square of the distance. Ei is the exponential
    integral: Abramowitz and Stegun 1964, ch. 5.
    """

    def integral(w: Any) -> Any:
        small = np.euler_gamma + 2 * np.log(w) - np.log(2.0)  # of Ei(w²/2), whose argument a tiny w would make zero
        return np.where(np.less(w, 1e-9), small, expi(np.maximum(np.square(w) / 2, 1e-300)))

    return (integral(start) - integral(end))[()] / 2


doors(__name__, start="(0, 35]", end="(0, 35]")
