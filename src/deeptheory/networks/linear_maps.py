"""Linear and affine layers: the test of superposition, the matrix of a map, and deep linear networks as one layer.

Reference: lucchi 2.2.1 and 2.2.2.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["affine_parts", "collapsed", "is_affine", "is_linear", "superposition_defect"]

Map = Callable[[Any], Any]
Vector = Float[np.ndarray, " n"]


def superposition_defect(function: Map, x: Vector, y: Vector, *, alpha: float, beta: float) -> Float[np.ndarray, " m"]:
    """Return f(αx + βy) − αf(x) − βf(y): zero for all α, β, x, y exactly if f is linear.

    For f(x) = Ax + c it is (1 − α − β)c, so it vanishes on α + β = 1 for affine maps, and there for no others that are
    continuous. (The footnote of lucchi 2.2.1 asks of an affine map that it be one constant b for all α and β; α = 1,
    β = 0 makes that constant zero.)

    Args:
        function: f, from n numbers to m.
    """
    return np.asarray(function(alpha * x + beta * y) - alpha * function(x) - beta * function(y))


def affine_parts(function: Map, *, inputs: int) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, " m"]]:
    """Return the matrix and the offset of an affine map from its values at zero and at the unit vectors.

    The columns of A are f(eᵢ) − f(0) and the offset is f(0). For a map that is not affine, which `is_affine` tells,
    they say nothing. Reference: lucchi 2.2.2, whose A for maps from n to m numbers is printed n × m.
    """
    offset = np.asarray(function(np.zeros(inputs)), float)
    return np.stack([function(unit) - offset for unit in np.eye(inputs)], axis=-1), offset


def is_affine(function: Map, *, inputs: int, trials: int = 20) -> bool:
    """Say whether f(αx + (1−α)y) = αf(x) + (1−α)f(y) at random points, to rounding.

    No is certain; yes is a test passed: a map that is affine where the points fall and bends elsewhere passes it. The
    points are standard normal times ten powers of size from a thousandth to a thousand.
    """
    return _superposed(function, inputs, trials, lambda alpha, rng: 1 - alpha)


def is_linear(function: Map, *, inputs: int, trials: int = 20) -> bool:
    """Say whether f(αx + βy) = αf(x) + βf(y) at random points, to rounding: `is_affine`, and f(0) = 0."""
    return _superposed(function, inputs, trials, lambda alpha, rng: rng.standard_normal())


def _superposed(function: Map, inputs: int, trials: int, other: Callable[[float, Any], float]) -> bool:
    rng = generator(jax.random.key(0))
    for size in np.geomspace(1e-3, 1e3, trials):
        x, y = size * rng.standard_normal((2, inputs))
        alpha = rng.standard_normal()
        beta = other(alpha, rng)
        defect = superposition_defect(function, x, y, alpha=alpha, beta=beta)
        parts = [function(alpha * x + beta * y), alpha * function(x), beta * function(y)]
        if np.max(np.abs(defect)) > 1e-10 * np.max(np.abs(parts)):
            return False
    return True


def collapsed(layers: Sequence[Float[np.ndarray, "_ _"]]) -> Float[np.ndarray, "m n"]:
    """Return the one matrix that a deep linear network computes: x ↦ W_L ⋯ W₁ x, layers in the order they act.

    Depth adds nothing to what linear layers can express; its rank is at most the least width on the way.
    Reference: lucchi Theorem 11.
    """
    product = np.asarray(layers[0])
    for layer in layers[1:]:
        if np.shape(layer)[1] != len(product):
            raise ValueError(
                f"a layer must take what the one before gives, {len(product)} numbers, got {np.shape(layer)}"
            )
        product = layer @ product
    return product


doors(__name__, inputs="[1, 10000]", trials="[1, 10000]")
