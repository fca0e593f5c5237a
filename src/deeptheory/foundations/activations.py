"""Activations for NumPy and JAX alike; with their slopes they are in the table of `deeptheory.networks.activations`.

Reference: lucchi Secs. 2.4.2, 2.4.3 and 2.7.1; handbook Sec. 1.1.1.
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Num
from scipy.special import expit

from deeptheory.foundations.arrays import namespace
from deeptheory.foundations.entrances import doors

__all__ = ["relu", "sigmoid", "threshold"]

Numbers = float | Float[Array | np.ndarray, "..."]


def relu(z: Numbers) -> Any:
    """Return max(z, 0); its slope in JAX is 0 at the kink."""
    return namespace(z).where(z > 0, z, 0.0)


def threshold(z: Numbers) -> Any:
    """Return 1 where z ≥ 0 and 0 elsewhere (lucchi 3.2)."""
    return namespace(z).where(z >= 0, 1.0, 0.0)


def sigmoid(z: float | Num[Array | np.ndarray, "..."]) -> Any:
    """Return the logistic function 1/(1 + e^(−z)), without overflow; for complex arrays too."""
    if np.iscomplexobj(z):
        return (1 + namespace(z).tanh(z / 2)) / 2
    return jax.nn.sigmoid(z) if isinstance(z, jax.Array) else expit(z)


doors(__name__)
