"""Linear networks of any depth, squared loss: gradients, normal equations, the critical points of two matrices.

Weights are listed from the input on: (W₁, …, W_L), the map being W_L⋯W₁. Data are columns: X is d₀ × n, Y is d_L × n.
The loss is ½‖Y − W_L⋯W₁X‖²; where a book leaves out the half, values double.

Reference: lucchi 6.1; Baldi and Hornik 1989; Kawaguchi 2016.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import combinations, pairwise
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "BottleneckPoint",
    "LinearNetworkLoss",
    "best_first_matrix",
    "best_second_matrix",
    "bottleneck_critical_points",
    "bottleneck_index",
    "deep_critical_point",
    "end_to_end",
    "layer_gradients",
    "least_squares_map",
    "projected_least_squares",
]

Matrix = Float[AnyArray, "_ _"]
Inputs = Float[AnyArray, "inputs n"]
Outputs = Float[AnyArray, "outputs n"]
Last = Float[AnyArray, "outputs _"]
First = Float[AnyArray, "_ inputs"]


def end_to_end(weights: Sequence[Matrix]) -> Matrix:
    """The product W_L⋯W₁ of weights listed from the input on."""
    for before, after in pairwise(weights):
        if before.shape[0] != after.shape[1]:
            raise ValueError(f"weights must fit each other, got {after.shape} after {before.shape}")
    return reduce(lambda product, weight: weight @ product, weights)


class LinearNetworkLoss(eqx.Module):
    """½‖Y − W_L⋯W₁X‖² as a function of the flat weights; `widths` are (d₀, …, d_L)."""

    inputs: Float[Array, "inputs n"]
    labels: Float[Array, "outputs n"]
    widths: tuple[int, ...] = eqx.field(static=True)

    def weights(self, flat: Float[Array, "p"]) -> list[Float[Array, "_ _"]]:
        """The matrices in a flat vector, from the input on."""
        found, used = [], 0
        for fan_in, fan_out in pairwise(self.widths):
            found.append(flat[used : used + fan_in * fan_out].reshape(fan_out, fan_in))
            used += fan_in * fan_out
        return found

    def __call__(self, flat: Float[Array, "p"]) -> Float[Array, ""]:
        return jnp.sum((self.labels - end_to_end(self.weights(flat)) @ self.inputs) ** 2) / 2


def layer_gradients(weights: Sequence[Matrix], inputs: Inputs, labels: Outputs) -> list[Matrix]:
    """The gradient of ½‖Y − W_L⋯W₁X‖² in each matrix: (W_L⋯W_{k+1})ᵀ (W_L⋯W₁X − Y) (W_{k−1}⋯W₁X)ᵀ.

    With two matrices A = W₂ and B = W₁: −Aᵀ(Σ_yx − ABΣ_xx) and −(Σ_yx − ABΣ_xx)Bᵀ (lucchi eqs. 6.13, 6.14, 6.36).
    """
    if (needed := (len(labels), len(inputs))) != (whole := end_to_end(weights).shape):
        raise ValueError(f"the product of the weights must be a matrix of shape {needed}, got {whole}")
    forward = [inputs]
    for weight in weights:
        forward.append(weight @ forward[-1])
    backward, found = forward[-1] - labels, []
    for weight, signal in zip(reversed(weights), reversed(forward[:-1]), strict=True):
        found.append(backward @ signal.T)
        backward = weight.T @ backward
    return found[::-1]


def least_squares_map(inputs: Inputs, labels: Outputs) -> Float[np.ndarray, "outputs inputs"]:
    """Σ_yx Σ_xx⁻¹, the slope of ordinary least squares of Y on X; the inputs must span their space."""
    x, y = np.asarray(inputs), np.asarray(labels)
    return np.linalg.solve(x @ x.T, x @ y.T).T


def deep_critical_point(
    inputs: Inputs, labels: Outputs, kept: tuple[int, ...], *, widths: tuple[int, ...]
) -> list[Float[np.ndarray, "_ _"]]:
    """Weights of a deep linear network at a critical point that keeps some eigenvectors of Σ_yx Σ_xx⁻¹ Σ_xy.

    W₁ = (U_IᵀΣ_yxΣ_xx⁻¹; 0), then identities as far as they go, at last W_L = (U_I, 0), with the eigenvectors U_I
    counted from the largest eigenvalue; `widths` are (d₀, …, d_L). The rank of the matrices in between is that of the
    narrowest hidden layer; keep fewer eigenvectors than it has units, and it is a saddle.
    """
    if len(widths) < 3 or (widths[0], widths[-1]) != (len(inputs), len(labels)):
        ends = f"{len(inputs)} at the input and {len(labels)} at the output"
        raise ValueError(f"widths must have a hidden layer, {ends}, got {tuple(widths)}")
    if len(kept) > min(widths):
        raise ValueError(f"kept must have at most {min(widths)} entries, the least width, got {len(kept)}")
    slope = least_squares_map(inputs, labels)
    sigma = slope @ np.asarray(inputs) @ np.asarray(labels).T
    vectors = np.linalg.eigh((sigma + sigma.T) / 2)[1][:, ::-1][:, list(kept)]
    first, last = np.zeros((widths[1], widths[0])), np.zeros((widths[-1], widths[-2]))
    first[: len(kept)], last[:, : len(kept)] = vectors.T @ slope, vectors
    return [first, *(np.eye(after, before) for before, after in pairwise(widths[1:-1])), last]


def best_first_matrix(second: Last, inputs: Inputs, labels: Outputs) -> Matrix:
    """The B of least norm that minimizes ‖Y − ABX‖² for given A = `second`: AᵀABΣ_xx = AᵀΣ_yx (lucchi Thm 42)."""
    return np.linalg.pinv(np.asarray(second)) @ least_squares_map(inputs, labels)


def best_second_matrix(first: First, inputs: Inputs, labels: Outputs) -> Matrix:
    """The A of least norm that minimizes ‖Y − ABX‖² for given B = `first`: ABΣ_xxBᵀ = Σ_yxBᵀ (lucchi Thm 43)."""
    hidden = np.asarray(first) @ np.asarray(inputs)
    return np.asarray(labels) @ np.linalg.pinv(hidden)


def projected_least_squares(
    later: Last, inputs: Inputs, labels: Outputs, *, tolerance: float = 1e-12
) -> Float[np.ndarray, "outputs inputs"]:
    """P_C Σ_yx Σ_xx⁻¹, the map at any critical point whose matrices after the first have the product C = `later`.

    P_C projects on the columns of C, whatever its rank (lucchi Thm 44 and eq. 6.25; Baldi and Hornik 1989, Kawaguchi
    2016). With a C of full column rank P_C = C(CᵀC)⁻¹Cᵀ. Singular values of C up to `tolerance` count as zero: of a
    point that a search has found they are known to its accuracy only.
    """
    vectors, values, _ = np.linalg.svd(np.asarray(later), full_matrices=False)
    span = vectors[:, values > tolerance]
    return span @ span.T @ least_squares_map(inputs, labels)


class BottleneckPoint(NamedTuple):
    """A critical point of two matrices: which eigenvectors of Σ it keeps, its loss ½‖Y − ABX‖², and its Morse index."""

    first: Float[np.ndarray, "p inputs"]
    second: Float[np.ndarray, "outputs p"]
    kept: tuple[int, ...]
    value: float
    index: int


def bottleneck_index(eigenvalues: Float[np.ndarray, "d"], kept: tuple[int, ...], *, width: int, inputs: int) -> int:
    """How many directions lead down from the critical point that keeps some eigenvectors of Σ_yx Σ_xx⁻¹ Σ_xy.

    One for each pair of a kept eigenvalue and a larger one that is left; and for each idle hidden unit (`width` less
    those kept) one for each positive eigenvalue that is left. Zero only if the largest are kept. `inputs` is the
    input dimension, to which the positive eigenvalues cannot be more.

    In a network of more matrices the number is the same, with the narrowest hidden layer for `width`, wherever
    W_{L−1}⋯W₂ has the rank of that layer (as at `deep_critical_point`): cut there, the two halves reach all pairs of
    matrices near their own when W₁ and W_L move. Where the rank is lost, as at zero, negative directions may hide in
    higher derivatives than the second, and no such count is known.
    """
    left = [value for place, value in enumerate(eigenvalues) if place not in kept]
    positive = sum(value > 1e-12 * np.max(eigenvalues) for value in left)
    if positive + len(kept) > inputs:
        raise ValueError(f"eigenvalues must have at most {inputs} positive entries, as many as inputs")
    exchanges = sum(other > eigenvalues[place] for place in kept for other in left)
    return int(exchanges + (width - len(kept)) * positive)


def bottleneck_critical_points(
    inputs: Inputs, labels: Outputs, *, width: int
) -> tuple[Float[np.ndarray, "d"], list[BottleneckPoint]]:
    """The eigenvalues of Σ = Σ_yx Σ_xx⁻¹ Σ_xy from the largest, and all critical points of ½‖Y − ABX‖² by those kept.

    For every set I of at most `width` eigenvectors U_I of Σ with positive eigenvalue: A = (U_I, 0), B =
    (U_IᵀΣ_yxΣ_xx⁻¹; 0), up to (A, B) ↦ (AC, C⁻¹B); where hidden units are idle, one of them may also point anywhere
    that the rest of the gradient does not reach, and the representative here has zeros. Loss ½(tr Σ_yy − Σ_{i∈I}λ_i).
    Needs distinct eigenvalues for "all" (lucchi Thm 45; Baldi and Hornik 1989). `width` is the hidden width.
    """
    x, y = np.asarray(inputs), np.asarray(labels)
    slope = least_squares_map(x, y)
    sigma = slope @ x @ y.T
    values, vectors = np.linalg.eigh((sigma + sigma.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    usable = [place for place, value in enumerate(values) if value > 1e-12 * values[0]]
    found = []
    for count in range(min(width, len(usable)) + 1):
        for kept in combinations(usable, count):
            second = np.zeros((len(y), width))
            second[:, :count] = vectors[:, list(kept)]
            loss = (np.sum(y**2) - values[list(kept)].sum()) / 2
            index = bottleneck_index(values, kept, width=width, inputs=len(x))
            found.append(BottleneckPoint(second.T @ slope, second, kept, float(loss), index))
    return values, found


doors(__name__, width="[1, 100]", tolerance="[0, ∞)")
