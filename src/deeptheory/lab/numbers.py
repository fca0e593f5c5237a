"""What several claims do to numbers before they hand them to evidence."""

from typing import Any

import jax.numpy as jnp
import numpy as np

__all__ = ["parts", "rounding"]


def parts(values: Any) -> np.ndarray:
    """Real and imaginary parts, on a last axis."""
    return np.stack([np.real(values), np.imag(values)], axis=-1)


def rounding(values: Any, axis: int | None = None) -> Any:
    """What is lost when values of this size are subtracted; with an axis, for each row along it."""
    return 64 * jnp.finfo(values.dtype).eps * jnp.abs(values).max(axis, keepdims=axis is not None)
