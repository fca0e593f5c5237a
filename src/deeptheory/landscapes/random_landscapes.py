"""Random landscapes: how often a critical point has each index, exactly, for random matrices and Gaussian fields.

The Hessian of an isotropic Gaussian field is H = G − xI, G from the Gaussian orthogonal ensemble (variance 1 off the
diagonal, 2 on it) and x normal; among critical points a Hessian counts |det H| times (Kac and Rice). What is needed are
the numbers E[|det(G − xI)|; k eigenvalues of G lie below x], here from Pfaffians, without sampling.

Reference: Rice 1945; Bray and Dean 2007; Adler and Taylor 2007, Random Fields and Geometry.
"""

from functools import lru_cache
from math import factorial
from typing import Annotated, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "PeriodicField",
    "TorusPoints",
    "critical_point_density",
    "critical_point_density_at",
    "goe_index_law",
    "random_field",
    "torus_critical_points",
]

Dimension = Annotated[int, "[1, 24]"]
Levels = float | Float[np.ndarray, "*k"]


def _pfaffian(matrix: Inexact[np.ndarray, "*k n n"]) -> Inexact[np.ndarray, "*k"]:
    """The Pfaffian of skew matrices of even size, by elimination of two rows at a time with the largest pivot."""
    left, value = matrix.copy(), np.ones(matrix.shape[:-2], matrix.dtype)
    while left.shape[-1]:
        place = np.argmax(np.abs(left[..., 0, 1:]), axis=-1)[..., None] + 1
        order = np.broadcast_to(np.arange(left.shape[-1]), (*place.shape[:-1], left.shape[-1])).copy()
        np.put_along_axis(order, place, 1, -1)
        order[..., 1] = place[..., 0]
        left = np.take_along_axis(np.take_along_axis(left, order[..., None], -2), order[..., None, :], -1)
        pivot = left[..., 0, 1]
        value = value * np.where(place[..., 0] == 1, pivot, -pivot)
        first, second = left[..., 0, 2:], left[..., 1, 2:]
        turned = first[..., :, None] * second[..., None, :] / np.where(pivot == 0, 1, pivot)[..., None, None]
        left = left[..., 2:, 2:] + np.swapaxes(turned, -1, -2) - turned
    return value


@lru_cache
def _rule(nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes on [−1, 1] with weights, and the matrix that integrates from −1 up to each node."""
    t, weights = np.polynomial.legendre.leggauss(nodes)
    degrees = np.arange(nodes)
    basis = np.polynomial.legendre.legvander(t, nodes)
    coefficients = (2 * degrees + 1)[:, None] / 2 * basis[:, :-1].T * weights
    below = np.concatenate([np.ones((nodes, 1)), basis[:, :-2]], axis=1)
    primitive = (basis[:, 1:] - below) / (2 * degrees + 1)
    primitive[:, 0] = t + 1
    return t, weights, primitive @ coefficients


def _one_side(dimension: int, levels: np.ndarray, end: float, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Integrals of |s − x|^power h_j(s)e^{−s²/4} between x and the end, and skew double integrals of two of them."""
    t, weights, upto = _rule(96 + 4 * dimension)
    half = (end - levels)[:, None] / 2
    s = levels[:, None] + half * (t + 1)
    scale = np.sqrt([float(factorial(j)) for j in range(dimension)])
    values = np.polynomial.hermite_e.hermevander(s, dimension - 1) / scale
    values = values * (np.exp(-(s**2) / 4) * np.abs(s - levels[:, None]) ** power)[..., None]
    width = np.abs(half)[..., None]
    whole = np.einsum("i,kij->kj", weights, values * width)
    nearer = np.einsum("hi,kij->khj", upto, values * width)
    # sgn(y − x) along the way out from the level; reversed where that way goes down.
    skew = np.einsum("i,kij,kil->kjl", weights, values * width, whole[:, None] - 2 * nearer)
    return whole, skew * np.sign(end - levels)[:, None, None]


def _index_moments(dimension: int, levels: np.ndarray, power: int) -> np.ndarray:
    """E[|det(G − xI)|^power; k eigenvalues below x] for every level x and k = 0, …, N, by de Bruijn's formula."""
    reach = 2 * dimension**0.5 + 16.0
    levels = np.clip(levels, -reach + 1, reach - 1)
    odd = dimension % 2

    def bordered(skew: np.ndarray, column: np.ndarray) -> np.ndarray:
        if not odd:
            return skew
        grown = np.zeros((*skew.shape[:-2], dimension + 1, dimension + 1), skew.dtype)
        grown[..., :-1, :-1], grown[..., :-1, -1], grown[..., -1, :-1] = skew, column, -column
        return grown

    (over, above), (under, below) = (_one_side(dimension, levels, end, power) for end in (reach, -reach))
    across = under[:, :, None] * over[:, None, :]
    across = across - np.swapaxes(across, -1, -2)
    # The generating function of the index at roots of unity; its ends once more alone, where they may be tiny.
    z = np.exp(2j * np.pi * np.arange(dimension + 1) / (dimension + 1))[:, None, None, None]
    parts = bordered(z**2 * below + z * across + above, z[..., 0] * under + over)
    moments = np.fft.fft(_pfaffian(parts), axis=0).real / (dimension + 1)
    moments[0] = np.real(_pfaffian(bordered(above, over)))
    moments[-1] = np.real(_pfaffian(bordered(below, under)))
    (over, above), (under, below) = (_one_side(dimension, np.zeros(1), end, 0) for end in (reach, -reach))
    across = under[:, :, None] * over[:, None, :]
    plain = bordered(below + above + across - np.swapaxes(across, -1, -2), under + over)
    return np.maximum(moments / np.real(_pfaffian(plain)), 0.0).T


def goe_index_law(dimension: Dimension, *, threshold: Levels = 0.0) -> Float[np.ndarray, "*k n"]:
    """The probability that k = 0, …, N eigenvalues of a GOE matrix lie below a threshold, along the last axis.

    The matrix is symmetric with independent normal entries, of variance 1 off the diagonal and 2 on it. At 0 the first
    entry is the probability that a random Hessian is positive definite: 1/2, (2 − √2)/4, 1/4 − √2/2π, …, about
    exp(−N² ln 3/4). Absolute accuracy 1e-12, and relative 1e-6 at both ends of the law. Not the law of the Hessian at
    a critical point of a random function: see `critical_point_density`.

    Reference: Dean and Majumdar 2006; de Bruijn 1955. Handbook Sec. 4.2.1 and 5.1 speak of it without a law.
    """
    levels = np.asarray(threshold, float)
    return _index_moments(dimension, levels.ravel(), 0).reshape(*levels.shape, dimension + 1)


def critical_point_density(dimension: Dimension) -> Float[np.ndarray, "n"]:
    """The mean number per unit volume of critical points of index 0, …, N, for the covariance exp(−‖x − y‖²/2).

    Kac and Rice: (2π)^{−N/2} E[|det H|; index k], H = G − xI with x standard normal. Divided by its sum it holds for
    every isotropic Gaussian field with four derivatives, whatever the covariance: 1/4, 1/2, 1/4 in the plane. The share
    of minima is at most 2^{−N}, and falls like e^{−N + O(N^{1/3})}.

    Reference: Longuet-Higgins 1957; Bardeen, Bond, Kaiser and Szalay 1986; Bray and Dean 2007.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    seen = weights > 1e-40
    moments = _index_moments(dimension, nodes[seen], 1)
    return weights[seen] @ moments / weights.sum() / (2 * np.pi) ** (dimension / 2)


def critical_point_density_at(heights: Levels, *, dimension: Dimension) -> Float[np.ndarray, "*k n"]:
    """The same per unit of height too: how many critical points of each index have a value near u, at heights u.

    For the covariance exp(−‖x − y‖²/2), of which H = G − uI exactly at a point of value u. Low critical points are
    minima, high ones maxima, and saddles are in between; a field with another covariance ties the Hessian less closely
    to the value.

    Reference: Bray and Dean 2007.
    """
    levels = np.asarray(heights, float)
    moments = _index_moments(dimension, levels.ravel(), 1).reshape(*levels.shape, dimension + 1)
    return moments * (np.exp(-(levels**2) / 2) / (2 * np.pi) ** ((dimension + 1) / 2))[..., None]


class PeriodicField(eqx.Module):
    """Σ a_k cos(k·x) + b_k sin(k·x) with wave vectors k in rows; coefficients may have axes of several fields first."""

    waves: Float[Array, "m d"]
    cosines: Float[Array, "*k m"]
    sines: Float[Array, "*k m"]

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "*k"]:
        phase = self.waves @ x
        return self.cosines @ jnp.cos(phase) + self.sines @ jnp.sin(phase)


def random_field(
    key: Key[Array, ""] | UInt32[Array, "2"],
    *,
    dimension: Annotated[int, "[1, 3]"],
    length: Annotated[float, "[3, 100]"],
    draws: Annotated[int, "[1, 1e6]"] = 1,
) -> PeriodicField:
    """Gaussian fields on a torus of side L whose covariance is exp(−‖x − y‖²/2) summed over all periods.

    From L = 6 on the other periods change the derivatives of a point by less than 1e-5 of their variance, and `draws`
    fields are the leading axis of the coefficients; the waves, those with weight above 1e-14, are the same for all.
    """
    most = int(8.1 * length / (2 * np.pi))
    affordable(waves=(draws, (2 * most + 1) ** dimension))
    grid = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    waves = 2 * np.pi / length * grid[np.sum((2 * np.pi / length * grid) ** 2, 1) < 65.0]
    size = np.sqrt((np.sqrt(2 * np.pi) / length) ** dimension * np.exp(-np.sum(waves**2, 1) / 2))
    coefficients = generator(key).standard_normal((2, draws, len(waves))) * size
    return PeriodicField(jnp.asarray(waves), *map(jnp.asarray, coefficients))


class TorusPoints(NamedTuple):
    """Critical points of several fields on a torus: of which field, where, with which value and Hessian spectrum."""

    draw: Int[np.ndarray, "c"]
    position: Float[np.ndarray, "c d"]
    value: Float[np.ndarray, "c"]
    eigenvalues: Float[np.ndarray, "c d"]


def torus_critical_points(
    field: PeriodicField, *, length: float, points: Annotated[int, "[8, 1000]"] = 24
) -> TorusPoints:
    """All critical points of fields on a torus of side L: Newton's method from a grid, where its first step is short.

    `points` is how many the grid has along a side. Steps from starts next to one another lead to one point, which is
    kept once. Where the Hessian is nearly singular points may be missed, fewer on a finer grid: the sum of (−1)^index
    over a field, zero on a torus (Morse), shows how many. In up to three dimensions. Reference: Milnor 1963, Morse
    Theory, Sec. 5, for the sum.
    """
    waves = np.asarray(field.waves)
    dimension, mesh = waves.shape[1], length / points
    cosines, sines = (np.atleast_2d(np.asarray(each)) for each in (field.cosines, field.sines))
    affordable(grid=(len(cosines), points**dimension, dimension**2))
    pairs = (waves[:, :, None] * waves[:, None]).reshape(len(waves), -1)

    def step(slope: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        hessian = hessian.reshape(*hessian.shape[:-1], dimension, dimension)
        return -np.linalg.solve(hessian, slope[..., None])[..., 0]

    grid = mesh * np.stack(np.meshgrid(*[np.arange(points)] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    cos, sin = np.cos(grid @ waves.T), np.sin(grid @ waves.T)
    slope = np.stack([(sines * k) @ cos.T - (cosines * k) @ sin.T for k in waves.T], -1)
    hessian = np.stack([-(cosines * k) @ cos.T - (sines * k) @ sin.T for k in pairs.T], -1)
    draw, start = np.nonzero(np.all(np.abs(step(slope, hessian)) < 0.75 * mesh, axis=-1))
    position = grid[start]

    def at(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The waves at scattered points, and their derivatives by the phase."""
        cos, sin = np.cos(position @ waves.T), np.sin(position @ waves.T)
        return cosines[draw] * cos + sines[draw] * sin, sines[draw] * cos - cosines[draw] * sin

    for _ in range(4):
        even, odd = at(position)
        position = position + np.clip(step(odd @ waves, -even @ pairs), -mesh, mesh)
    even, odd = at(position)
    settled = np.linalg.norm(odd @ waves, axis=1) < 1e-7
    places = np.rint(position / 1e-5).astype(int) % round(length / 1e-5)
    kept = np.flatnonzero(settled)
    kept = kept[np.unique(np.column_stack([draw, places])[kept], axis=0, return_index=True)[1]]
    spectra = np.linalg.eigvalsh((-even @ pairs)[kept].reshape(-1, dimension, dimension))
    return TorusPoints(draw[kept], position[kept] % length, even[kept].sum(1), spectra)


doors(__name__, length="(0, ∞)")
