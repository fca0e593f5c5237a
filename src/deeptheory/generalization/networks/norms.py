"""Norms, margins and Lipschitz constants of bias-free ReLU networks, given by their weight matrices (out × in).

Reference: arora Secs. 5.5 and 5.5.2; handbook Secs. 8.2 and 8.3.
"""

from collections.abc import Sequence
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "absorbed_biases",
    "frobenius_norm",
    "lipschitz_bound",
    "margin_loss",
    "margins",
    "normalized_margins",
    "path_norm",
    "relu_network",
    "row_group_norm",
    "spectral_norm",
    "stable_rank",
]

Matrix = Float[AnyArray, "_out _in"]
Layers = Sequence[Matrix]


def relu_network(layers: Layers, inputs: Float[AnyArray, "n d"]) -> Float[Array, "n k"]:
    """A_L·relu(A_{L−1}·…·relu(A₁x)), a row for each input; a layer times c > 0 gives the output times c."""
    hidden = jnp.asarray(inputs)
    for layer in layers[:-1]:
        hidden = jax.nn.relu(hidden @ jnp.asarray(layer).T)
    return hidden @ jnp.asarray(layers[-1]).T


def absorbed_biases(
    layers: Layers, biases: Sequence[Float[AnyArray, " _out"] | None]
) -> list[Float[np.ndarray, "_out _in"]]:
    """Layers without biases that give the same outputs on inputs with a last entry 1: [[A, b], [0, 1]], last [A, b].

    ReLU commutes with positive numbers, so that hidden layer i may carry any sᵢ > 0 in place of 1: it is then
    [[A, b/sᵢ₋₁], [0, sᵢ/sᵢ₋₁]]. The logarithm of ∏‖·‖_F² is convex in the log sᵢ, and they are chosen to make it small,
    one after the other: u = sᵢ² minimises (α/u + 1)(γu + κ) at √(ακ/γ). Two layers cost ‖[A₁, b₁]‖·‖A₂‖ + ‖b₂‖.
    """
    matrices = [np.asarray(layer, float) for layer in layers]
    if all(bias is None for bias in biases):
        return matrices
    columns = [np.zeros(len(m)) if b is None else np.asarray(b, float) for m, b in zip(matrices, biases, strict=True)]
    weights, shifts = ([float(np.sum(each**2)) for each in part] for part in (matrices, columns))
    carried = np.ones(len(matrices) + 1)  # u₀ of the inputs first; of the outputs, where nothing is carried, last
    for place in list(range(1, len(matrices))) * 50:
        here = weights[place - 1] * carried[place - 1] + shifts[place - 1]
        after = shifts[place] if place == len(matrices) - 1 else shifts[place] / carried[place + 1] + 1
        slope = weights[place] / carried[place + 1]
        # Without a bias behind it the best is nothing at all, which costs as much as a bit of it.
        carried[place] = max(np.sqrt(here * after / slope), 1e-9 * here)
    constants = np.sqrt(carried)
    absorbed = []
    for place, (matrix, column) in enumerate(zip(matrices, columns, strict=True)):
        rows = np.column_stack([matrix, column / constants[place]])
        carry = np.append(np.zeros(matrix.shape[1]), constants[place + 1] / constants[place])
        absorbed.append(rows if place == len(matrices) - 1 else np.vstack([rows, carry]))
    return absorbed


def spectral_norm(matrix: Matrix) -> float:
    """Largest singular value, from the smaller of the two Gram matrices."""
    rows = np.asarray(matrix, float)
    gram = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))


def frobenius_norm(matrix: Matrix) -> float:
    """Root of the sum of squared entries."""
    return float(np.linalg.norm(np.asarray(matrix)))


def row_group_norm(matrix: Matrix) -> float:
    """‖Aᵀ‖₂,₁: the sum over the rows of A, one for each output unit, of their Euclidean norms.

    Reference: Bartlett, Foster and Telgarsky 2017.
    """
    return float(np.sum(np.linalg.norm(np.asarray(matrix), axis=1)))


def stable_rank(matrix: Matrix) -> float:
    """‖A‖_F²/‖A‖₂², between 1 and the rank, and continuous where A is not zero. Reference: arora 5.5.2."""
    largest = spectral_norm(matrix)
    if largest == 0:
        raise ValueError("a matrix of zeros has no stable rank")
    return (frobenius_norm(matrix) / largest) ** 2


def path_norm(layers: Layers) -> float:
    """Root of the sum over all paths from an input to an output of the squared product of their weights.

    Invariant under rescaling of single hidden units: incoming weights times c, outgoing divided by c. Reference:
    Neyshabur, Tomioka and Srebro 2015.
    """
    flow = np.ones(np.shape(layers[0])[1])
    for layer in layers:
        flow = np.asarray(layer) ** 2 @ flow
    return float(np.sqrt(np.sum(flow)))


def lipschitz_bound(layers: Layers) -> float:
    """∏‖Aᵢ‖₂ ≥ ‖f(x) − f(x′)‖/‖x − x′‖; attained by aligned layers of rank one with entries ≥ 0.

    Reference: arora 5.5.2, handbook 8.3.1.
    """
    return prod(spectral_norm(layer) for layer in layers)


def margins(outputs: Float[AnyArray, "n k"], labels: Int[AnyArray, " n"]) -> Float[np.ndarray, " n"]:
    """f(x)[y] − max_{j≠y} f(x)[j]: positive where the prediction is right. Reference: arora 5.5, handbook 8.2."""
    outputs, rows = np.asarray(outputs, float), np.arange(len(np.asarray(labels)))
    own = outputs[rows, np.asarray(labels)]
    others = outputs.copy()
    others[rows, np.asarray(labels)] = -np.inf
    return own - others.max(axis=1)


def margin_loss(values: Float[np.ndarray, " n"], margin: float = 0.0) -> float:
    """Share of the examples whose margin is at most γ; at γ = 0 the training error, ties counted as errors.

    `values` are those of `margins`. Reference: arora Sec. 5.5; handbook Sec. 8.2.
    """
    return float(np.mean(np.asarray(values) <= margin))


def normalized_margins(
    layers: Layers, inputs: Float[AnyArray, "n d"], labels: Int[AnyArray, " n"]
) -> Float[np.ndarray, " n"]:
    """Margins divided by ∏‖Aᵢ‖₂: unchanged when layers are multiplied by positive numbers; handbook 8.3.2."""
    return margins(relu_network(layers, inputs), labels) / lipschitz_bound(layers)


doors(__name__)
