"""Which library an array belongs to, for functions that serve NumPy and JAX alike."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["namespace"]


def namespace(*values: Any) -> Any:
    """Return jax.numpy where one of the values is an array of JAX, traced or not, and NumPy for all others.

    Numbers and lists of Python are NumPy's. Where all values are arrays of one library, `x.__array_namespace__()` says
    the same.
    """
    return jnp if any(isinstance(value, jax.Array) for value in values) else np
