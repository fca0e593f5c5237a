"""Random numbers: threefry keys for everything JAX draws, one Philox generator per key for data of any size.

Reference: Salmon, Moraes, Dror and Shaw 2011 for both generators.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["generator", "unit_vectors"]


def generator(key: Key[Array, ""] | UInt32[Array, "2"]) -> np.random.Generator:
    """Return the NumPy generator that belongs to a JAX key.

    A threefry normal compiles for a second or two at every new shape; NumPy draws cost nothing to set up. The
    stream is Philox, counter based, seeded with the 64 bits of the key, so equal keys give equal data on any machine.
    """
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    words = np.asarray(jax.random.key_data(key) if typed else key, np.uint32)
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([int(word) for word in words.ravel()])))


def unit_vectors(draw: np.random.Generator, count: int, dimension: int) -> Float[np.ndarray, "count dimension"]:
    """Return points drawn evenly from the unit sphere, one a row.

    A normal vector over its length. Reference: Muller 1959.
    """
    affordable(vectors=(count, dimension))
    x = draw.standard_normal((count, dimension))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


doors(__name__, count="[1, ∞)", dimension="[1, ∞)")
