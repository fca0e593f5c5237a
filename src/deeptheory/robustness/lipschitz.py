"""Lipschitz constants of ReLU networks from both sides and exactly, and the radius that they certify.

A network is a list of pairs (matrix out × in, bias). Distances are Euclidean. For bounds on any function, without
enumeration, see `deeptheory.calculus.certified`.

`layers` is that list, `lipschitz` is L.

Reference: handbook 2.3; Virmaux and Scaman 2018.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linprog

from deeptheory.calculus.operator_norms import operator_norm
from deeptheory.foundations.activations import relu
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.robustness.sign_patterns import affine_regions

__all__ = [
    "Piece",
    "binary_certificate",
    "exact_lipschitz",
    "linear_pieces",
    "local_jacobians",
    "margin_certificate",
    "relu_outputs",
    "sampled_lipschitz",
    "spectral_product",
]

Layers = Sequence[tuple[Float[np.ndarray, "_out _in"], Float[np.ndarray, " _out"]]]


class Piece(NamedTuple):
    """A region on which a network is affine: which units are awake, its slope there, and a point inside."""

    awake: tuple[tuple[bool, ...], ...]
    jacobian: Float[np.ndarray, "k d"]
    inside: Float[np.ndarray, " d"]


def relu_outputs(
    layers: Sequence[tuple[Float[AnyArray, "_out _in"], Float[AnyArray, " _out"]]], x: Float[AnyArray, "*n d"]
) -> Any:
    """Return the network's outputs: ReLU after every layer but the last. NumPy or JAX alike."""
    for matrix, bias in layers[:-1]:
        x = relu(x @ matrix.T + bias)
    return x @ layers[-1][0].T + layers[-1][1]


def local_jacobians(layers: Layers, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k d"]:
    """Return the slopes of the affine pieces in which the points lie; at a kink a unit counts as silent."""
    jacobian = np.broadcast_to(np.eye(x.shape[1]), (len(x), x.shape[1], x.shape[1]))
    for matrix, bias in layers[:-1]:
        before = x @ matrix.T + bias
        jacobian = (before > 0)[..., None] * (matrix @ jacobian)
        x = np.maximum(before, 0)
    return layers[-1][0] @ jacobian


def spectral_product(layers: Layers) -> float:
    """∏‖Aᵢ‖₂, an upper bound on the Lipschitz constant; biases do not matter. Reference: handbook 2.3, 8.3.1."""
    return float(np.prod([operator_norm(np.asarray(matrix, float)).upper for matrix, _ in layers]))


def sampled_lipschitz(layers: Layers, x: Float[np.ndarray, "n d"]) -> float:
    """The largest slope at some points, a lower bound on the Lipschitz constant."""
    return float(np.max(np.linalg.norm(local_jacobians(layers, x), 2, axis=(1, 2))))


def linear_pieces(layers: Layers, *, reach: float = 1e3, most: int = 20_000) -> list[Piece]:
    """Return every affine piece of a small network on the cube |xᵢ| ≤ reach.

    Units are split one after the other; a side is kept if a linear programme finds a ball of radius 1e-9·reach in it.
    The number of pieces grows like (units)^dimension: `most` of them are allowed. Reference: handbook 2.3.
    """
    positive(reach=reach)
    dimension = layers[0][0].shape[1]
    found: list[Piece] = []

    def wide(normals: np.ndarray, limits: np.ndarray, own: bool) -> bool:
        return bool(_centre(normals, limits, reach)[-1] > 1e-9 * reach)

    for part in affine_regions(layers, np.zeros(dimension), wide):
        if len(found) >= most:
            raise ValueError(f"the network has more than most = {most} affine pieces")
        found.append(Piece(part.awake, part.slopes, _centre(part.normals, part.limits, reach)[:-1]))
    return found


def exact_lipschitz(layers: Layers, *, reach: float = 1e3, most: int = 20_000) -> float:
    """The Lipschitz constant on the cube |xᵢ| ≤ reach: the largest norm of a slope over all affine pieces.

    Slow: a linear programme for each unit of each piece. For networks of a few inputs and some dozen units.
    Reference: handbook 2.3.
    """
    return max(float(np.linalg.norm(piece.jacobian, 2)) for piece in linear_pieces(layers, reach=reach, most=most))


def binary_certificate(value: Float[np.ndarray, "*n"], lipschitz: float) -> Float[np.ndarray, "*n"]:
    """|f(x)|/L: no shorter move changes the sign of f. Reference: handbook 2.3."""
    return np.asarray(np.abs(value) / lipschitz)


def margin_certificate(
    outputs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], lipschitz: float
) -> Float[np.ndarray, " n"]:
    """(f_y − max_{j≠y} f_j)/(√2·L): no shorter move changes the answer; 0 where it is wrong already.

    L is that of the vector of all outputs: a difference of two of them has at most √2·L. Reference: handbook 2.3.
    """
    inside(0, outputs.shape[1] - 1, labels=labels)
    rows = np.arange(len(outputs))
    others = outputs.copy()
    others[rows, labels] = -np.inf
    return np.maximum(outputs[rows, labels] - others.max(1), 0) / (np.sqrt(2) * lipschitz)


def _centre(normals: np.ndarray, limits: np.ndarray, reach: float) -> np.ndarray:
    """Centre and radius of the largest ball in the cube with normals·x ≥ limits; radius −1 where there is none."""
    dimension = normals.shape[1]
    lengths = np.linalg.norm(normals, axis=1)
    keep = lengths > 0
    if np.any(~keep & (limits > 0)):
        return np.append(np.zeros(dimension), -1.0)
    if not np.any(keep):
        return np.append(np.zeros(dimension), reach)
    table = np.column_stack([-normals[keep] / lengths[keep, None], np.ones(int(keep.sum()))])
    # In units of reach/1000, because the programme's tolerances are absolute; beyond `far` a row never or always binds.
    unit, far = reach / 1e3, 1e3 * (dimension + 2)
    answer = linprog(
        np.append(np.zeros(dimension), -1.0),
        A_ub=table,
        b_ub=np.clip(-limits[keep] / lengths[keep] / unit, -far, far),
        bounds=[(-1e3, 1e3)] * dimension + [(0, 1e3)],
        method="highs",
    )
    return unit * answer.x if answer.status == 0 else np.append(np.zeros(dimension), -1.0)


doors(__name__, lipschitz="(0, ∞)", reach="(0, ∞)", most="[1, 1e6]")
