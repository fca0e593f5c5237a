"""Arrays of NumPy and JAX alike: their types, as signatures name them, and which library one belongs to."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, Num, UInt32

__all__ = ["AnyArray", "AnyKey", "HostReals", "Numbers", "RealScalar", "Reals", "Scalar", "namespace", "traced"]

AnyArray = Array | np.ndarray
"""an array of either library"""

AnyKey = Key[Array, ""] | UInt32[Array, "2"]
"""a key of jax.random, typed or raw"""

Scalar = float | int | Num[AnyArray, ""]
"""one number, which may be traced; a whole one stays whole"""

RealScalar = float | int | np.floating | Float[AnyArray, ""]
"""one real number, which may be traced; an array of a whole one becomes real"""

Numbers = float | int | Num[AnyArray, "..."]
"""a number or an array of any shape; whole ones stay whole"""

Reals = float | int | Float[AnyArray, "..."]
"""a real number or an array of any shape; arrays of whole numbers become real"""

HostReals = float | int | Float[np.ndarray, "..."]
"""as `Reals`, for what is computed by NumPy or SciPy: an array of JAX is fetched"""


def namespace(*values: Any) -> Any:
    """Return jax.numpy where one of the values is an array of JAX, traced or not, and NumPy for all others.

    Numbers and lists of Python are NumPy's. Where all values are arrays of one library, `x.__array_namespace__()` says
    the same.
    """
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def traced(*values: Any) -> bool:
    """Return whether one of the values is traced, by `jit`, `vmap` or `grad`: its numbers are not known yet."""
    return any(isinstance(value, Tracer) for value in values)
