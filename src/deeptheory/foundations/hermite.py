"""Hermite polynomials: the basis of functions of a standard normal.

Reference: jagannath Sec. 11.2.3; Szegő, Orthogonal Polynomials (1939).
"""

from collections.abc import Callable
from functools import lru_cache
from math import factorial, sqrt

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = ["Link", "gaussian_panels", "hermite_coefficients", "hermite_link"]

Link = Callable[[Array], Array]


@lru_cache
def hermite_link(degree: int) -> Link:
    """Return the Hermite polynomial of this degree, normalised to E h(z)² = 1, as a function JAX can differentiate."""
    if degree < 0:
        raise ValueError(f"degree must be at least 0, got {degree}")
    coefficients = np.polynomial.hermite_e.herme2poly([0.0] * degree + [1.0]) / sqrt(factorial(degree))

    def link(x: Array) -> Array:
        value = jnp.zeros_like(x)
        for coefficient in reversed(coefficients.tolist()):
            value = value * x + coefficient
        return value

    return link


@lru_cache
def gaussian_panels(reach: float = 12.0, nodes: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a rule for E f(z), z standard normal, that f may have a kink at the origin for.

    Two Gauss–Legendre panels that meet at 0, where activations have their kinks; Gauss–Hermite would need thousands.
    `reach` is where they end, `nodes` how many each has.
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    x, w = (x + 1) * reach / 2, w * reach / 2
    points = np.concatenate([-x[::-1], x])
    return points, np.concatenate([w[::-1], w]) * np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi)


def hermite_coefficients(link: Link, degree: int) -> Float[np.ndarray, " powers"]:
    """Return u_k = E f(z) h_k(z) for k = 0…degree, z standard normal and h_k the normalised Hermite polynomials.

    Exact to rounding for smooth functions and for kinks at the origin. Reference: jagannath Sec. 11.2.3.
    """
    points, weights = gaussian_panels()
    values = np.broadcast_to(np.asarray(link(jnp.asarray(points))), points.shape)
    basis = np.polynomial.hermite_e.hermevander(points, degree) / [sqrt(factorial(k)) for k in range(degree + 1)]
    return (values * weights) @ basis


doors(__name__, degree="[0, 100]", nodes="[1, 1000]")
