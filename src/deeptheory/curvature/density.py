"""How the eigenvalues of a curvature are spread, its trace, its diagonal: estimates from random vectors, with errors.

One random unit vector sees the spectrum through the squares of its components; Lanczos turns what it sees into a Gauss
quadrature of as many nodes as steps, exact for polynomials of degree below twice that. Several vectors tell how far to
trust it: all errors here are standard errors over the vectors.

Reference: Golub and Welsch 1969; Ubaru, Chen and Saad 2017 for sums over eigenvalues.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.curvature.operators import Curvature, finite_products
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.krylov import jacobi_coefficients
from deeptheory.foundations.randomness import generator

__all__ = [
    "Estimate",
    "SpectralDensity",
    "diagonal",
    "spectral_density",
    "spectral_quadratures",
    "spectral_sum",
    "trace",
]


class Estimate(NamedTuple):
    """A value and its standard error."""

    value: Float[np.ndarray, "..."]
    error: Float[np.ndarray, "..."]


class SpectralDensity(NamedTuple):
    """A smoothed density of eigenvalues on points, its standard error, and the quadratures it was made from.

    `nodes` and `weights` have a row a random vector; the weights of a row sum to one. `width` is the standard
    deviation of the bell that stands for each node.
    """

    points: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]
    error: Float[np.ndarray, " points"]
    nodes: Float[np.ndarray, "probes steps"]
    weights: Float[np.ndarray, "probes steps"]
    width: float


@eqx.filter_jit
def _coefficients(curvature: Curvature, starts: Float[Array, "probes rows"], steps: int) -> tuple[Array, Array]:
    product = curvature.prepared()
    return jax.lax.map(lambda start: jacobi_coefficients(product, start, steps), starts)


def spectral_quadratures(
    curvature: Curvature, starts: Float[AnyArray, "probes rows"], *, steps: int
) -> tuple[Float[np.ndarray, "probes steps"], Float[np.ndarray, "probes steps"]]:
    """Nodes θ and weights w of Gauss quadrature for what vectors see of a spectrum: Σ w f(θ) ≈ vᵀf(A)v / vᵀv.

    Exact for polynomials f of degree 2·steps − 1. An eigenvalue may show as several nodes that share its weight. Where
    nothing is left to go on with before all steps are made, some nodes have weight zero.

    Args:
        curvature: the matrix, or a block of one (`blocks`).
        starts: vectors, one a row, of any length but zero, with a number for each row of the matrix.
        steps: nodes, and products, for each; memory does not grow with them.

    Reference: Golub and Welsch 1969.
    """
    starts = jnp.asarray(starts, curvature.parameters.dtype)
    if starts.shape[1] != curvature.size:
        raise ValueError(f"starts must have {curvature.size} numbers a row, got {starts.shape[1]}")
    if not bool(jnp.any(starts != 0, axis=1).all()):
        raise ValueError("starts must have no row of zeros")
    found = _coefficients(curvature, starts, steps)
    alphas, betas = (finite_products(each).copy() for each in found)
    alphas[:, 1:] = np.where(betas[:, :-1] > 0, alphas[:, 1:], alphas[:, :1])  # out of reach: any value will do
    at = np.arange(steps)
    matrices = np.zeros((len(alphas), steps, steps))
    matrices[:, at, at], matrices[:, at[1:], at[:-1]] = alphas, betas[:, :-1]
    nodes, vectors = np.linalg.eigh(matrices)
    return nodes, vectors[:, 0] ** 2


def spectral_density(
    curvature: Curvature,
    key: Key[Array, ""],
    *,
    probes: int = 8,
    steps: int = 64,
    points: int = 512,
    width: float | None = None,
) -> SpectralDensity:
    """The density of eigenvalues of a curvature, by Lanczos quadrature from random vectors.

    Args:
        probes: random vectors; errors fall like 1/√(probes·p).
        steps: products for each; eigenvalues closer than a few per cent of the spectrum's length / steps are one.
        points: where the density is evaluated, evenly from below the smallest node to above the largest.
        width: standard deviation of the bell around each node; a hundredth of the spectrum's length unless said.

    Reference: Golub and Welsch 1969; Ghorbani, Krishnan and Xiao 2019 for networks.
    """
    starts = generator(key).standard_normal((probes, curvature.size))
    nodes, weights = spectral_quadratures(curvature, starts, steps=steps)
    low, high = nodes[weights > 0].min(), nodes[weights > 0].max()
    broad = width or max(0.01 * (high - low), 1e-12 * (max(abs(low), abs(high)) or 1.0))
    at = np.linspace(low - 4 * broad, high + 4 * broad, points)
    # One vector at a time: bells of all of them on fine points would fill the memory.
    each = np.stack(
        [
            own @ np.exp(-0.5 * ((at - own_nodes[:, None]) / broad) ** 2)
            for own, own_nodes in zip(weights, nodes, strict=True)
        ]
    )
    each /= np.sqrt(2 * np.pi) * broad
    return SpectralDensity(at, each.mean(0), _standard_error(each), nodes, weights, float(broad))


def _standard_error(each: np.ndarray) -> np.ndarray:
    if len(each) == 1:
        return np.full(each.shape[1:], np.inf)
    unit = np.abs(each).max() or 1.0  # squares of very large or small numbers are not floating-point numbers
    return np.asarray(unit * (each / unit).std(0, ddof=1) / np.sqrt(len(each)))


def spectral_sum(density: SpectralDensity, function: Callable[[np.ndarray], Any], size: int) -> Estimate:
    """Σ f(λ) over all eigenvalues of a matrix with `size` rows, from the quadratures of its density.

    With f = 1{λ > c} the number of eigenvalues above c, with |λ|, log or λ² what these sums mean. Reference: Ubaru,
    Chen and Saad 2017.
    """
    each = size * np.sum(density.weights * np.asarray(function(density.nodes), float), axis=1)
    return Estimate(np.asarray(each.mean()), _standard_error(each))


@eqx.filter_jit
def _products(curvature: Curvature, signs: Float[Array, "probes rows"]) -> Array:
    product = curvature.prepared()
    return jax.lax.map(lambda z: z * product(z), signs)


def diagonal(curvature: Curvature, key: Key[Array, ""], *, probes: int = 32) -> Estimate:
    """The diagonal of a curvature, as the mean of z·Az over random signs z; errors fall like 1/√probes.

    Unbiased; the variance of entry i is Σ_{j≠i} A_ij². Reference: Bekas, Kokiopoulou and Saad 2007.
    """
    each = finite_products(_products(curvature, _signs(curvature, key, probes)))
    return Estimate(each.mean(0), _standard_error(each))


def trace(curvature: Curvature, key: Key[Array, ""], *, probes: int = 32) -> Estimate:
    """The trace of a curvature, as the mean of zᵀAz over random signs z (Hutchinson 1990); variance 2Σ_{i≠j}A_ij².

    `probes` is the number of z.
    """
    each = finite_products(_products(curvature, _signs(curvature, key, probes))).sum(1)
    return Estimate(np.asarray(each.mean()), _standard_error(each))


def _signs(curvature: Curvature, key: Key[Array, ""], probes: int) -> Array:
    signs = 2 * generator(key).integers(0, 2, (probes, curvature.size)) - 1
    return jnp.asarray(signs, curvature.parameters.dtype)


doors(__name__, probes="[1, 1e4]", steps="[1, 1e5]", points="[2, 1e5]", width="(0, ∞)", size="[1, ∞)")
