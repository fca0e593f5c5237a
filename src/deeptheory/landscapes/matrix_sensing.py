"""Matrix sensing: a symmetric matrix M = ZZᵀ seen through linear measurements, and the landscape of its factor.

All that measurements ⟨A_i, S⟩ do is in one quadratic form on symmetric matrices, (1/m)Σ⟨A_i, S⟩². Where it is near ‖S‖²
the landscape is near that of `factorization`, the population; how near it must be is known for one column.

Reference: arora 11.1; Bhojanapalli, Neyshabur and Srebro 2016; Ge, Jin and Zheng 2017; Zhang, Sojoudi and Lavaei 2019.
"""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "SensingLoss",
    "coordinates_of",
    "isometry_defect",
    "sensed_shift",
    "sensing_form",
    "spurious_curvature",
    "spurious_form",
]


def coordinates_of(matrix: Float[AnyArray, "*k d d"]) -> Float[Array, "*k q"]:
    """The d(d + 1)/2 coordinates of a symmetric matrix in an orthonormal basis: the diagonal, √2 times above it."""
    matrix = jnp.asarray(matrix)
    rows, columns = np.triu_indices(matrix.shape[-1], 1)
    diagonal = jnp.diagonal(matrix, axis1=-2, axis2=-1)
    return jnp.concatenate([diagonal, 2**0.5 * matrix[..., rows, columns]], axis=-1)


def sensing_form(operators: Float[AnyArray, "m d d"]) -> Float[Array, "q q"]:
    """The matrix Q of the form (1/m)Σ_i⟨A_i, S⟩² in the coordinates of `coordinates_of`, for symmetric A_i.

    For symmetric Gaussian A_i with variance 1 on the diagonal and ½ beside it their coordinates are independent and
    standard normal: Q is a Wishart matrix over m, and its mean is the identity.
    """
    seen = coordinates_of(operators)
    return seen.T @ seen / len(seen)


def isometry_defect(form: Float[AnyArray, "*k q q"]) -> float | Float[np.ndarray, "*k"]:
    """The least δ with (1 − δ)‖S‖² ≤ (1/m)Σ⟨A_i, S⟩² ≤ (1 + δ)‖S‖² for all symmetric S: max|λ(Q) − 1|.

    The restricted isometry constant for matrices of rank up to d; for those of lower rank it is an upper bound, which
    needs m ≥ d(d + 1)/2 measurements to be below one. The constant of rank 2r, which theorems ask for, cannot be
    computed in general; in the plane and with one column it is this one.
    """
    return np.abs(np.linalg.eigvalsh(np.asarray(form, float)) - 1).max(-1)


class SensingLoss(eqx.Module):
    """f(X) = (1/4m)Σ_i⟨A_i, XXᵀ − M⟩² as a function of the flat factor X of d rows, from the form of the A_i.

    With the identity for the form it is `FactorizationLoss`. With one column, M of rank one and a defect below ½ every
    second-order stationary point is a global minimum (Zhang, Sojoudi and Lavaei 2019); at ½ that ends.
    """

    form: Float[Array, "q q"]
    matrix: Float[Array, "d d"]

    def __call__(self, factor: Float[Array, "p"]) -> Float[Array, ""]:
        x = factor.reshape(len(self.matrix), -1)
        error = coordinates_of(x @ x.T - self.matrix)
        return error @ self.form @ error / 4


def spurious_form(defect: Annotated[float, "[0.45, 1)"]) -> Float[np.ndarray, "3 3"]:
    """The form of defect δ in the plane under which (0, 1/√2) comes nearest to being a minimum for M = e₁e₁ᵀ.

    There the gradient vanishes, and the curvature along e₁ is `spurious_curvature`: from δ = ½ on it is not negative,
    and a spurious second-order stationary point of value above zero stands beside the minima ±e₁. It has the rows
    (p + c²/4q, c/2, 0), (c/2, c, 0), (0, 0, 1 + δ) with p = 1 − δ, c = p + q, and q the larger root of
    (5/4)q² − (2 − (5/2)p)q + p²/4.

    Reference: after Zhang, Josz, Sojoudi and Lavaei 2018, who have δ = ½.
    """
    rest, gap = _gap(defect)
    corner = rest + gap
    upper = [[rest + corner**2 / (4 * gap), corner / 2], [corner / 2, corner]]
    form = np.zeros((3, 3))
    form[:2, :2], form[2, 2] = upper, 1 + defect
    return form


def _gap(defect: float) -> tuple[float, float]:
    rest = 1 - defect
    middle = 2 - 2.5 * rest
    return rest, (middle + np.sqrt(middle**2 - 1.25 * rest**2)) / 2.5


def spurious_curvature(defect: Annotated[float, "[0.45, 1)"]) -> float:
    """The curvature ½(1 + δ) − (5/4)p − p²/4q along e₁ at (0, 1/√2) under `spurious_form`; zero at δ = ½.

    `defect` is δ, and p and q are those of that form. Reference: after Zhang, Josz, Sojoudi and Lavaei 2018.
    """
    rest, gap = _gap(defect)
    return float((1 + defect) / 2 - 1.25 * rest - rest**2 / (4 * gap))


def sensed_shift(point: Float[AnyArray, "d"], matrix: Float[AnyArray, "d d"]) -> float:
    """The limit of m·E‖x_m − x‖² for a critical point x of ¼‖M − xxᵀ‖² that moves to x_m with m Gaussian measurements.

    ‖E‖² tr(H⁻¹CH⁻¹) with E = xxᵀ − M, H = ‖x‖²I + 2xxᵀ − M the Hessian and C = ½(‖x‖²I + xxᵀ) the covariance of Ax:
    the step of Newton's method from x, whose gradient is a mean over the measurements. Where the fit is perfect, E = 0,
    nothing moves. For one column, and H invertible. Reference: van der Vaart 1998, Asymptotic Statistics, ch. 5, for
    estimators that are zeros of a mean.
    """
    x, target = np.asarray(point), np.asarray(matrix)
    one = np.eye(len(x))
    error = np.outer(x, x) - target
    hessian = (x @ x) * one + 2 * np.outer(x, x) - target
    spread = ((x @ x) * one + np.outer(x, x)) / 2
    step = np.linalg.solve(hessian, spread)
    return float((error**2).sum() * np.trace(np.linalg.solve(hessian, step.T)))


doors(__name__)
