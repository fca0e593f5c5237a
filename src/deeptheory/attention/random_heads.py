"""Heads of random matrices, in four ensembles, for clustering beyond identity matrices.

Reference: jagannath Fig. 14.2.2; Geshkovski, Letrouit, Polyanskiy and Rigollet 2024.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.attention.blocks import Heads
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, among
from deeptheory.foundations.randomness import generator

__all__ = ["pair_energy", "random_head"]

ENSEMBLES = ("ginibre", "wigner", "ginibre tied", "wigner tied")


def random_head(key: Key[Array, ""], dimension: int, ensemble: str) -> Heads:
    """One head of random d × d matrices, of entries of variance 1/d, so that their norms do not grow with d.

    - "ginibre": Q, K and V have independent normal entries.
    - "wigner": QᵀK is symmetric with normal entries (as K, Q being the identity), and V ⪰ 0 is |G| of another such G.
    - "ginibre tied": Q, K as in the first, V = QᵀK.
    - "wigner tied": QᵀK symmetric as in the second, V = QᵀK.

    The figure does not print the scale of the entries; with this one scores ⟨Qx, Ky⟩ are of order 1/√d.
    """
    among(ENSEMBLES, ensemble=ensemble)
    affordable(matrices=(3, dimension, dimension))
    rng = generator(key)

    def ginibre() -> np.ndarray:
        return rng.standard_normal((dimension, dimension)) / np.sqrt(dimension)

    def wigner() -> np.ndarray:
        entries = ginibre()
        return (entries + entries.T) / np.sqrt(2)

    if ensemble == "ginibre":
        query, key_matrix, value = ginibre(), ginibre(), ginibre()
    elif ensemble == "ginibre tied":
        query, key_matrix = ginibre(), ginibre()
        value = query.T @ key_matrix
    else:
        query, key_matrix = np.eye(dimension), wigner()
        value = key_matrix
        if ensemble == "wigner":
            levels, vectors = np.linalg.eigh(wigner())
            value = vectors * np.abs(levels) @ vectors.T
    return Heads(query[None], key_matrix[None], value[None])


def pair_energy(
    tokens: Float[AnyArray, "n d"],
    matrix: Float[AnyArray, "d d"],
    inverse_temperature: float,
) -> Float[Array, ""]:
    """E = (1/2β) Σ_ij e^{β x_iᵀ W x_j}, which tokens climb when V = QᵀK = W is symmetric.

    Then the gradient on the sphere at x_i is Z_i ẋ_i, with the softmax's own sum Z_i: dE/dt = Σ_i Z_i |ẋ_i|² ≥ 0, and
    the tokens come to rest. For W without symmetry it is no such thing. `matrix` is W, `inverse_temperature` β above 0;
    a token a row.
    """
    tokens = jnp.asarray(tokens)
    return jnp.sum(jnp.exp(inverse_temperature * (tokens @ jnp.asarray(matrix) @ tokens.T))) / (2 * inverse_temperature)


doors(__name__, dimension="[1, 1e5]", inverse_temperature="(0, 300]")
