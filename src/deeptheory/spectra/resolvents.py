"""Resolvents of symmetric matrices: functional calculus, rank-one changes, quadratic forms, concentration.

For a sample covariance W = XXᵀ/M the M columns of X are the samples and N is their dimension.

`height` is Im z > 0; a change of rank one adds `factor` times vvᵀ, v the `vector`; `centre` and `radius` are those of a
circle in the plane of z.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Complex, Float, Num

from deeptheory.foundations.arrays import AnyArray, RealScalar
from deeptheory.foundations.entrances import doors

__all__ = [
    "azuma_tail",
    "contour_function",
    "contour_weight",
    "leave_one_out_transforms",
    "quadratic_form_variance",
    "rank_one_solve",
    "rank_one_trace_change",
    "resolvent",
    "spectral_function",
    "transform_variance_bound",
]


def resolvent(matrix: Float[AnyArray, "*batch n n"], z: complex) -> Complex[AnyArray, "*batch n n"]:
    """Return (A − z)⁻¹. jagannath Def. 6.7."""
    xp = matrix.__array_namespace__()
    return xp.linalg.inv(matrix - z * xp.eye(matrix.shape[-1]))


def spectral_function(
    matrix: Float[AnyArray, "*batch n n"], function: Callable[[Any], Any]
) -> Num[AnyArray, "*batch n n"]:
    """Return f(A) = Σ f(λᵢ) vᵢ vᵢᵀ of a symmetric matrix. jagannath Rem. 6.10."""
    xp = matrix.__array_namespace__()
    values, vectors = xp.linalg.eigh(matrix)
    return vectors * function(values)[..., None, :] @ xp.swapaxes(vectors, -1, -2)


def contour_function(
    matrix: Float[AnyArray, "n n"],
    function: Callable[[Any], Any],
    centre: RealScalar,
    radius: RealScalar,
    *,
    nodes: int = 64,
) -> Complex[AnyArray, "n n"]:
    """Return (1/2πi) ∮ f(z)(z − A)⁻¹ dz over a circle, by the trapezoid rule.

    f analytic inside gives f(A) on the eigenvectors whose eigenvalues are enclosed and zero on the others; f = 1 is the
    projection on them. It converges geometrically in the number of nodes: see `contour_weight`. jagannath Thm 6.9,
    whose (A − z) has the wrong sign.
    """
    if nodes < 1 or not radius > 0:
        raise ValueError(f"nodes and radius must be positive, not {nodes} and {radius}")
    turns = np.exp(2j * math.pi * (np.arange(nodes) + 0.5) / nodes)
    places = centre + radius * turns
    inverses = np.linalg.inv(places[:, None, None] * np.eye(matrix.shape[0]) - matrix)
    return np.einsum("k,kij->ij", function(places) * radius * turns / nodes, inverses)


def contour_weight(
    value: Float[AnyArray, "*shape"], centre: RealScalar, radius: RealScalar, *, nodes: int
) -> Float[AnyArray, "*shape"] | np.floating:
    """Return what the trapezoid rule makes of an eigenvalue under f = 1: 1/(1 + uⁿ) with u = (λ − c)/r.

    One inside the circle and zero outside, up to |u|ⁿ or |u|⁻ⁿ. The nodes are the n-th roots of −1. `centre` is c,
    `radius` r and `nodes` n. Reference: jagannath Thm 6.9; Trefethen and Weideman 2014, The exponentially convergent
    trapezoidal rule.
    """
    return 1 / (1 + ((value - centre) / radius) ** nodes)


def rank_one_solve(
    matrix: Num[AnyArray, "*batch n n"], vector: Num[AnyArray, "*batch n"], factor: Any
) -> Num[AnyArray, "*batch n"]:
    """Return (A + t v vᵀ)⁻¹ v = A⁻¹v/(1 + t vᵀA⁻¹v). Sherman–Morrison; jagannath Thm 6.15 prints vᵀAv."""
    xp = matrix.__array_namespace__()
    solved = xp.linalg.solve(matrix, vector[..., None])[..., 0]
    return solved / (1 + factor * (vector * solved).sum(-1))[..., None]


def rank_one_trace_change(
    matrix: Float[AnyArray, "*batch n n"], vector: Float[AnyArray, "*batch n"], factor: Any, z: complex
) -> Complex[AnyArray, "*batch"] | np.complexfloating:
    """Return tr (A + c v vᵀ − z)⁻¹ − tr (A − z)⁻¹ = −c vᵀR²v/(1 + c vᵀRv), at most 1/|Im z| in modulus.

    The bound is attained by the number A = Re z − Im z raised to Re z + Im z. jagannath Lemma 6.16.
    """
    xp = matrix.__array_namespace__()
    shifted = matrix - z * xp.eye(matrix.shape[-1])
    once = xp.linalg.solve(shifted, vector[..., None].astype(complex))[..., 0]
    return -factor * (once * once).sum(-1) / (1 + factor * (vector * once).sum(-1))


def leave_one_out_transforms(x: Float[np.ndarray, "n m"], z: complex) -> Complex[np.ndarray, " m"]:
    """Return tr (W − XₖXₖᵀ/M − z)⁻¹/N for every sample k, from the one resolvent of W = XXᵀ/M.

    Each is within 1/(N|Im z|) of the whole; jagannath Lemma 6.16 prints 1/(M|Im z|).
    """
    dimension, samples = x.shape
    inverse = resolvent(x @ x.T / samples, z)
    once = inverse @ x
    form, square = (x * once).sum(0) / samples, (once * once).sum(0) / samples
    return (np.trace(inverse) + square / (1 - form)) / dimension


def quadratic_form_variance(matrix: Float[AnyArray, "*batch n n"], fourth: RealScalar) -> Any:
    """Return the variance of ⟨X, AX⟩ for independent entries of mean 0, variance 1, third moment any, fourth κ.

    Σ_{i≠j} (Aᵢⱼ² + AᵢⱼAⱼᵢ) + (κ − 1) Σ Aᵢᵢ², at most N max(2, κ − 1)‖A‖². jagannath Lemma 6.18, whose proof has
    Σ Aᵢⱼ² for the first sum.
    """
    xp = matrix.__array_namespace__()
    diagonal = (xp.linalg.diagonal(matrix) ** 2).sum(-1)
    return (matrix**2 + matrix * xp.swapaxes(matrix, -1, -2)).sum((-1, -2)) + (fourth - 3) * diagonal


def azuma_tail(distance: Any, dimension: Any, samples: Any, height: Any) -> Any:
    """Bound P(|S_N − E S_N| > t) by 4 exp(−N² v² t²/(16 M)) at Im z = v, for independent samples.

    Azuma's inequality with M martingale differences of at most 2/(Nv), for the real and the imaginary part at t/√2. The
    constants are ours. jagannath Lemma 6.16, whose exponent has 1/v where v² belongs.
    """
    return 4 * np.exp(-((dimension * height * distance) ** 2) / (16 * samples))


def transform_variance_bound(dimension: Any, samples: Any, height: Any) -> Any:
    """Bound E|S_N − E S_N|² by M/(N v)², the sum of the squares of the martingale differences. jagannath Lemma 6.16."""
    return samples / (dimension * height) ** 2


doors(
    __name__,
    nodes="[1, 1e5]",
    radius="(0, ∞)",
    height="(0, ∞)",
    samples="(0, ∞)",
    dimension="(0, ∞)",
    distance="[0, ∞)",
    fourth="[1, ∞)",
)
