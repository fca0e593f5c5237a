"""Critical points of the interaction energy of tokens on the sphere: exact Hessians, indices, spectra.

The energy is E_β = (1/n) Σ_ij (e^{β⟨x_i,x_j⟩} − 1)/β, at β = 0 (1/n) Σ_ij ⟨x_i,x_j⟩. Tokens climb it, so a critical
point is left along eigenvectors of positive eigenvalue; one with such an eigenvalue is a strict saddle.

Reference: jagannath Lemmas 14.2 and 14.3; Geshkovski, Letrouit, Polyanskiy and Rigollet 2024.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = [
    "balanced_spectrum",
    "bipolar_spectrum",
    "bipolar_tokens",
    "energy_hessian",
    "saddle_index",
    "tangent_bases",
]

Tokens = Float[AnyArray, "n d"]


def tangent_bases(tokens: Tokens) -> Float[np.ndarray, "n tangent d"]:
    """An orthonormal basis of the tangent space at every token, one vector a row: d − 1 rows for each."""
    tokens = np.asarray(tokens, float)
    inside(1 - 1e-6, 1 + 1e-6, length_of_the_tokens=np.linalg.norm(tokens, axis=-1))
    dimension = tokens.shape[1]
    # The reflection that takes the token to ∓e₁ takes the other unit vectors to its tangent space.
    axis = tokens + np.where(tokens[:, :1] >= 0, 1.0, -1.0) * np.eye(dimension)[0]
    reflected = np.eye(dimension) - 2 * axis[:, :, None] * axis[:, None, :] / np.sum(axis**2, -1)[:, None, None]
    return reflected[:, 1:]


def energy_hessian(tokens: Tokens, inverse_temperature: Scalar = 0.0) -> Float[np.ndarray, "size size"]:
    """Riemannian Hessian of E_β on the product of n spheres, in the orthonormal `tangent_bases`: n(d − 1) rows.

    With φ(s) = (e^{βs} − 1)/β, for tangent vectors u_i ⟂ x_i,

        D²E[u,u] = (1/n) Σ_ij φ″_ij (⟨u_i,x_j⟩ + ⟨x_i,u_j⟩)² + φ′_ij (2⟨u_i,u_j⟩ − (|u_i|² + |u_j|²)⟨x_i,x_j⟩);

    at β = 0 this is (2/n)(|Σ u_i|² − Σ_i ⟨x_i, Σ_j x_j⟩ |u_i|²). The last term is the curvature of the sphere.
    `inverse_temperature` is β.
    """
    tokens, beta = np.asarray(tokens, float), float(inverse_temperature)
    count, dimension = tokens.shape
    affordable(hessian=(count * (dimension - 1),) * 2)
    bases = tangent_bases(tokens)
    overlaps = tokens @ tokens.T
    first = np.exp(beta * overlaps)
    towards = np.einsum("itd,jd->ijt", bases, tokens)
    blocks = np.einsum("ij,ita,jsa->itjs", first, bases, bases)
    blocks += np.einsum("ij,ijt,jis->itjs", beta * first, towards, towards)
    own = np.einsum("ij,ijt,ijs->its", beta * first, towards, towards)
    own -= np.sum(first * overlaps, axis=1)[:, None, None] * np.eye(dimension - 1)
    each = np.arange(count)
    blocks[each, :, each, :] += own
    return 2 / count * blocks.reshape((count * (dimension - 1),) * 2)


def saddle_index(tokens: Tokens, inverse_temperature: Scalar = 0.0, tolerance: float = 1e-8) -> int:
    """Number of independent directions in which a critical point of E_β is left: positive eigenvalues of the Hessian.

    Zero at a local maximum; a critical point of index one or more is a strict saddle. Eigenvalues count from
    `tolerance` on, in units of e^β; tokens that move faster than that are refused, for the index of a point that is not
    critical depends on the coordinates. `inverse_temperature` is β.
    """
    tokens, beta = np.asarray(tokens, float), float(inverse_temperature)
    hessian = energy_hessian(tokens, beta)
    pull = np.exp(beta * (tokens @ tokens.T)) @ tokens / len(tokens)
    speed = np.max(np.linalg.norm(pull - np.sum(tokens * pull, -1, keepdims=True) * tokens, axis=-1)) / np.exp(beta)
    if speed > tolerance:
        raise ValueError(
            f"tokens must stand still, up to speed {tolerance:.3g}, for an index; one moves at {speed:.3g}"
        )
    return int(np.sum(np.linalg.eigvalsh(hessian) > tolerance * np.exp(beta)))


def bipolar_tokens(north: int, south: int, dimension: int) -> Float[np.ndarray, "n d"]:
    """Tokens at the two ends of one axis: `north` of them at e₁, `south` at −e₁; a critical point of every E_β."""
    affordable(tokens=(north + south, dimension))
    signs = np.repeat([1.0, -1.0], [north, south])
    return signs[:, None] * np.eye(dimension)[0]


def bipolar_spectrum(north: int, south: int, dimension: int) -> Float[np.ndarray, "size"]:
    """All eigenvalues of the Hessian of E_0 at a bipolar configuration, ascending, in closed form.

    With p ≥ q tokens at the ends and n = p + q: each of the d − 1 directions across the axis carries −2(p−q)/n p − 1
    times, 2(p−q)/n q − 1 times, 0 once (the rotation of all) and 2 once, where both ends lean the same way. So the
    index is q(d − 1) for p > q ≥ 1: all tokens of the smaller end may leave, together or apart. `north` and `south` are
    p and q in either order.
    """
    more, fewer = max(north, south), min(north, south)
    affordable(spectrum=(more + fewer, dimension))
    lean = 2 * (more - fewer) / (more + fewer)
    if fewer == 0:
        return np.sort(np.repeat([-lean, 0.0], [(more - 1) * (dimension - 1), dimension - 1]))
    times = np.array([more - 1, fewer - 1, 1, 1]) * (dimension - 1)
    return np.sort(np.repeat([-lean, lean, 0.0, 2.0], times))


def balanced_spectrum(tokens: Tokens) -> Float[np.ndarray, "size"]:
    """All eigenvalues of the Hessian of E_0 where the tokens have mean zero, ascending: those of 2(I − C), then zeros.

    C = (1/n) Σ x_i x_iᵀ. The Hessian is (2/n)|Σ u_i|², a sum of n projections, so its index is d, unless the tokens
    lie on one line and it is d − 1: never a local maximum.
    """
    tokens = np.asarray(tokens, float)
    count, dimension = tokens.shape
    inside(0, 1e-6, length_of_the_mean=np.linalg.norm(tokens.mean(0)))
    across = 2 * (1 - np.linalg.eigvalsh(tokens.T @ tokens / count))
    size = count * (dimension - 1)
    if size < dimension:
        raise ValueError(f"there must be at least d / (d − 1) tokens for d = {dimension}, got {count}")
    return np.sort(np.concatenate([np.zeros(size - dimension), across]))


doors(
    __name__,
    tolerance="(0, 1]",
    inverse_temperature="[0, 300]",
    north="[1, 1e6]",
    south="[0, 1e6]",
    dimension="[2, 1e6]",
)
