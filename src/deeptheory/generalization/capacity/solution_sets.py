"""Zero loss with more parameters than data: the solutions are not points but a manifold of dimension k − n.

Reference: arora Example 5.2.2; Cooper 2018.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.networks.mlp import MLP

__all__ = ["interpolate", "network_answers", "null_space", "weight_count"]

Residuals = Callable[[Float[AnyArray, " k"]], Float[Array, " n"]]


def weight_count(widths: Sequence[int]) -> int:
    """Number of weights of a fully connected network without biases: Σ n_l·n_{l+1}.

    `widths` are n₀, n₁, …, from the input to the output.
    """
    return sum(a * b for a, b in pairwise(widths))


def network_answers(
    weights: Float[AnyArray, " k"], x: Float[AnyArray, "n d"], widths: Sequence[int]
) -> Float[Array, " n"]:
    """Answers of a bias-free tanh network whose weights are one flat vector, layer after layer; one output.

    `widths` as in `weight_count`; x has one input a row.
    """
    layers, start = [], 0
    for inputs, outputs in pairwise(widths):
        layers.append(jnp.reshape(weights[start : start + inputs * outputs], (outputs, inputs)))
        start += inputs * outputs
    biases = tuple(jnp.zeros(outputs) for outputs in widths[1:])
    return MLP(tuple(layers), biases, jnp.tanh, input_scale=widths[0] ** -0.5)(x)[:, 0]


def interpolate(
    residuals: Residuals, jacobian: Callable, start: Float[AnyArray, " k"], *, steps: int = 60
) -> Float[np.ndarray, " k"]:
    """A zero of the residuals near `start`, by Gauss–Newton steps of least norm, halved until the residual falls.

    Needs a Jacobian of full row rank on the way. Returns the last point; the caller checks how small its residual is.
    """
    point = np.asarray(start, float)
    value = np.asarray(residuals(point))
    for _ in range(steps):
        step = np.linalg.lstsq(np.asarray(jacobian(point)), value)[0]
        for halving in range(30):
            moved = point - step / 2**halving
            there = np.asarray(residuals(moved))
            if np.linalg.norm(there) < np.linalg.norm(value):
                break
        else:
            return point
        point, value = moved, there
    return point


def null_space(jacobian: Float[AnyArray, "n k"], *, tolerance: float = 1e-9) -> Float[np.ndarray, "m k"]:
    """Orthonormal directions in which no answer changes to first order: rows, as many as k less the rank."""
    _, singular, rows = np.linalg.svd(np.asarray(jacobian))
    rank = int(np.sum(singular > tolerance * singular[0]))
    return rows[rank:]


doors(__name__, steps="[1, 1e5]", tolerance="[0, ∞)")
