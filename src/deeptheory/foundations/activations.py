"""Activations for NumPy and JAX alike, and the slope of any; `deeptheory.networks.activations` has a table of more.

Reference: lucchi Secs. 2.4.2, 2.4.3 and 2.7.1; handbook Sec. 1.1.1.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Num
from scipy.special import expit

from deeptheory.foundations.arrays import AnyArray, Reals, namespace
from deeptheory.foundations.entrances import doors

__all__ = ["relu", "sigmoid", "slope_of", "threshold"]


def relu(z: Reals) -> Any:
    """Return max(z, 0); its slope in JAX is 0 at the kink."""
    return namespace(z).where(z > 0, z, 0.0)


def threshold(z: Reals) -> Any:
    """Return 1 where z ≥ 0 and 0 elsewhere (lucchi 3.2)."""
    return namespace(z).where(z >= 0, 1.0, 0.0)


def sigmoid(z: float | Num[AnyArray, "..."]) -> Any:
    """Return the logistic function 1/(1 + e^(−z)), without overflow; for complex arrays too."""
    if np.iscomplexobj(z):
        return (1 + namespace(z).tanh(z / 2)) / 2
    return jax.nn.sigmoid(z) if isinstance(z, jax.Array) else expit(z)


def slope_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the derivative of a function of JAX that acts on each entry by itself, for all entries at once.

    One product with a vector of ones: where entries meet, as in a softmax, that is the sum of a row of the Jacobian.
    """
    return lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),))[1]


doors(__name__)
