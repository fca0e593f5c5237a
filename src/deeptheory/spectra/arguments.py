"""What the laws of this room take for a number: scalars, lists, whole numbers, NumPy and JAX arrays alike.

Reference: Harris et al. 2020, Array programming with NumPy, for types of numbers and how they combine.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["Numbers", "complexes", "floating"]

Numbers = float | int | complex | np.number | Sequence | Num[AnyArray, "..."]


def floating(x: Numbers) -> AnyArray:
    """Return an array of floating-point numbers: a JAX array stays one, everything else becomes NumPy's."""
    x = x if isinstance(x, Array) else np.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)


def complexes(z: Numbers) -> AnyArray:
    """Return an array of complex numbers: a JAX array stays one, everything else becomes NumPy's."""
    return (z if isinstance(z, Array) else np.asarray(z)).astype(complex)


doors(__name__)
