"""Hessian and second moment of the gradient of softmax regression, block by block: on test data and in expectation.

Block (b, c) belongs to the parameters of classes b and c, and is a mean of weights times YYᵀ:
(1_{bc}π_b − π_bπ_c) for the Hessian, (π_b − y_b)(π_c − y_c) for the gradient's second moment (the G-matrix).

Reference: jagannath Sec. 13.1.1; Ben Arous, Gheissari, Huang and Jagannath 2023.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from deeptheory.alignment.softmax_mixtures import SoftmaxQuadrature, softmax_quadrature
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "block_fluctuation",
    "gradient_weights",
    "hessian_weights",
    "population_hessian",
    "population_second_moment",
    "softmax_hessian",
    "softmax_second_moment",
    "weighted_second_moment",
]

Point = Float[np.ndarray, "k d"]
Inputs = Float[np.ndarray, "m d"]
Labels = Int[np.ndarray, " m"]
Shares = Float[np.ndarray, " k"]
Blocks = Float[np.ndarray, "k k d d"]


def weighted_second_moment(inputs: Inputs, weights: Float[np.ndarray, "m *blocks"]) -> Float[np.ndarray, "*blocks d d"]:
    """Return (1/m)Σᵢ wᵢ YᵢYᵢᵀ over m inputs Yᵢ in rows, one d × d matrix for every weight that an input has."""
    size, kept = inputs.shape[1], weights.shape[1:]
    affordable(matrices=(*kept, size, size))
    flat = weights.reshape(len(inputs), -1)
    found = [(inputs * flat[:, one, None]).T @ inputs for one in range(flat.shape[1])]
    return np.reshape(found, (*kept, size, size)) / len(inputs)


def _bends(chances: np.ndarray) -> np.ndarray:
    return chances[..., None] * (np.eye(chances.shape[-1]) - chances[..., None, :])


def hessian_weights(parameters: Point, inputs: Inputs) -> Float[np.ndarray, "m k k"]:
    """Return 1_{bc}π_b − π_bπ_c at every input; they sum to zero over c, and labels do not enter."""
    return _bends(softmax(inputs @ parameters.T, axis=-1))


def gradient_weights(parameters: Point, inputs: Inputs, labels: Labels) -> Float[np.ndarray, "m k k"]:
    """Return (π_b − y_b)(π_c − y_c) at every input with its label, a class number; they sum to zero over c."""
    if labels.max() >= len(parameters):
        raise ValueError(f"labels must be below the number of classes, {len(parameters)}, got {labels.max()}")
    residual = softmax(inputs @ parameters.T, axis=-1) - np.eye(len(parameters))[labels]
    return residual[:, :, None] * residual[:, None, :]


def softmax_hessian(parameters: Point, inputs: Inputs) -> Blocks:
    """Return the test Hessian (1/M)Σ∇²L in blocks (b, c). The notes print it as ∇R̂.

    All k² blocks of d × d; for some of them give columns of `hessian_weights` to `weighted_second_moment`, for products
    without matrices use `curvature.hessian`. Reference: jagannath Sec. 13.1.1.
    """
    return weighted_second_moment(inputs, hessian_weights(parameters, inputs))


def softmax_second_moment(parameters: Point, inputs: Inputs, labels: Labels) -> Blocks:
    """Return the test G-matrix (1/M)Σ∇L∇Lᵀ in blocks (b, c): not centred, labels as they are.

    It has the Hessian's mean where labels are drawn from the model's own chances, the Fisher identity.
    Reference: jagannath Sec. 13.1.1.
    """
    return weighted_second_moment(inputs, gradient_weights(parameters, inputs, labels))


def _expected(seen: SoftmaxQuadrature, weights: np.ndarray, precision: float) -> np.ndarray:
    """E f YYᵀ for weights f (class, point, b, c): within the frame by quadrature, beside it by independence."""
    weights = weights * seen.rule[..., None, None]
    # An input is its coordinates in the frame, and beside it the mean of its class: few numbers, whatever d is.
    own = np.broadcast_to(np.eye(len(seen.outside))[:, None], (*seen.rule.shape, len(seen.outside)))
    coordinates, axes = np.concatenate([seen.inside, own], axis=-1), np.concatenate([seen.frame, seen.outside])
    heavier = (weights[..., None] * coordinates[:, :, None, None]).reshape(-1, weights[0, 0].size, len(axes))
    moments = np.einsum("nfi,nj->fij", heavier, coordinates.reshape(-1, len(axes)), optimize=True)
    bulk = (np.eye(axes.shape[1]) - seen.frame.T @ seen.frame) / precision
    total = weights.sum((0, 1))
    return (axes.T @ moments @ axes).reshape(*total.shape, *bulk.shape) + total[..., None, None] * bulk


def population_hessian(
    parameters: Point, means: Point, *, precision: float, weights: Shares | None = None, nodes: int = 12
) -> Blocks:
    """Return the expected Hessian in blocks (b, c), exactly but for a quadrature in at most k − 1 variables.

    A matrix of rank at most 2k − 1 plus a multiple E(1_{bc}π_b − π_bπ_c)/λ of a projection: outliers and a bulk.
    `means` has the μ_a in rows, `precision` is λ, `weights` are the p_a, equal unless given. The penalty's βI is left
    out. Reference: jagannath Sec. 13.2 (Lemmas 3.1, 3.2).
    """
    seen = softmax_quadrature(parameters, means, precision=precision, weights=weights, nodes=nodes)
    return _expected(seen, _bends(seen.chances), precision)


def population_second_moment(
    parameters: Point, means: Point, *, precision: float, weights: Shares | None = None, nodes: int = 12
) -> Blocks:
    """Return the expected G-matrix in blocks (b, c); arguments as for `population_hessian`.

    Reference: jagannath Sec. 13.2 (Lemma 3.3).
    """
    seen = softmax_quadrature(parameters, means, precision=precision, weights=weights, nodes=nodes)
    residual = seen.chances - np.eye(len(means))[:, None]
    return _expected(seen, residual[..., None] * residual[..., None, :], precision)


def block_fluctuation(
    parameters: Point, means: Point, *, precision: float, weights: Shares | None = None, nodes: int = 12
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, "k k"]]:
    """Return E‖f YYᵀ − E f YYᵀ‖² in Frobenius norm for one test input: of the Hessian's blocks, and of the G-matrix's.

    A test matrix of M̃ inputs has 1/M̃ of it: of order d²/λ² + d/λ for means of length one, so M̃ ≫ d makes the error
    in operator norm small, and it falls like (d/M̃)^½. Arguments as for `population_hessian`, λ finite. `precision` is
    λ. Reference: jagannath Sec. 13.2 (Section 6 of the paper it sums up).
    """
    settings = {"precision": precision, "weights": weights, "nodes": nodes}
    seen = softmax_quadrature(parameters, means, **settings)
    residual = seen.chances - np.eye(len(means))[:, None]
    within, free = (seen.inside**2).sum(-1), parameters.shape[1] - len(seen.frame)
    # Beside the frame ‖Y‖² is a noncentral chi-square over λ, independent of the chances.
    square = (seen.outside**2).sum(-1)
    mean, variance = square + free / precision, 2 * free / precision**2 + 4 * square / precision
    fourth = (within + mean[:, None]) ** 2 + variance[:, None]
    found = []
    for each, expected in (
        (_bends(seen.chances), population_hessian(parameters, means, **settings)),
        (residual[..., None] * residual[..., None, :], population_second_moment(parameters, means, **settings)),
    ):
        found.append(np.einsum("an,anbc->bc", seen.rule * fourth, each**2) - (expected**2).sum((-2, -1)))
    return found[0], found[1]


doors(__name__, labels="[0, ∞)", precision="(0, ∞]", infinite=("precision",), nodes="[1, 200]")
