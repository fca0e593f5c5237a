"""What training points are worth: utilities as functions of who is trained on, and the price of a neighbour.

Reference: arora Sec. 10.2; Ghorbani and Zou 2019; Jia et al. 2019.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["nearest_neighbour_shapley", "nearest_neighbour_utility", "ridge_utility"]

Utility = Callable[[Bool[AnyArray, "subsets n"]], Float[Array, " subsets"]]


def ridge_utility(
    inputs: Float[AnyArray, "n d"],
    targets: Float[AnyArray, " n"],
    test_inputs: Float[AnyArray, "m d"],
    test_targets: Float[AnyArray, " m"],
    *,
    ridge: float,
) -> Utility:
    """Return masks ↦ −(mean squared test error) of ridge regression trained on the points of the mask.

    The minimizer of Σ_{i∈S}(x_i·w − y_i)² + ρ‖w‖²; nobody trains 0. All masks are one compiled call: their Gram
    matrices are a single matrix product of masks with the n outer products, then one batched Cholesky solve. Give as
    many masks a call as memory allows, d² numbers each. `ridge` is ρ. Reference: Ghorbani and Zou 2019.
    """
    x, y, u, v = (jnp.asarray(each) for each in (inputs, targets, test_inputs, test_targets))
    outer = jnp.concatenate([(x[:, :, None] * x[:, None, :]).reshape(len(x), -1), x * y[:, None]], 1)
    # The test error is a quadratic form of the weights, whatever the number of test points.
    form = u.T @ u / len(v), u.T @ v / len(v), v @ v / len(v)
    return lambda masks: _ridge_scores(jnp.asarray(masks), outer, form, jnp.asarray(ridge, x.dtype))


@jax.jit
def _ridge_scores(masks: Array, outer: Array, form: tuple[Array, Array, Array], ridge: Array) -> Array:
    second, first, rest = form
    width = len(first)
    sums = masks.astype(outer.dtype) @ outer
    gram = sums[:, : width * width].reshape(-1, width, width) + ridge * jnp.eye(width, dtype=outer.dtype)
    factor = jnp.linalg.cholesky(gram)
    weights = jax.scipy.linalg.cho_solve((factor, True), sums[:, width * width :, None])[..., 0]
    return 2 * weights @ first - jnp.sum((weights @ second) * weights, 1) - rest


def _ordered(
    inputs: AnyArray, labels: AnyArray, test_inputs: AnyArray, test_labels: AnyArray
) -> tuple[np.ndarray, np.ndarray]:
    """Training points by distance from each test point (rows), and whether each has the test point's label."""
    inputs, test_inputs = np.asarray(inputs, float), np.asarray(test_inputs, float)
    squares = ((test_inputs[:, None] - inputs) ** 2).sum(-1)
    order = np.argsort(squares, axis=1, kind="stable")
    return order, np.asarray(labels)[order] == np.asarray(test_labels)[:, None]


def nearest_neighbour_utility(
    inputs: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    test_inputs: Float[AnyArray, "m d"],
    test_labels: Int[AnyArray, " m"],
    *,
    neighbours: int,
) -> Callable[[Bool[np.ndarray, "subsets n"]], Float[np.ndarray, " subsets"]]:
    """Return masks ↦ mean over test points of (right labels among the K nearest trained points)/K.

    Who has fewer than K points is wrong about the missing ones, so that U(∅) = 0. Reference: Jia et al. 2019.
    """
    order, right = _ordered(inputs, labels, test_inputs, test_labels)

    def utility(masks: np.ndarray) -> np.ndarray:
        near = np.asarray(masks)[:, order]  # subsets × tests × rank
        counted = near & (np.cumsum(near, axis=2) <= neighbours)
        return (counted & right).sum(2).mean(1) / neighbours

    return utility


def nearest_neighbour_shapley(
    inputs: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    test_inputs: Float[AnyArray, "m d"],
    test_labels: Int[AnyArray, " m"],
    *,
    neighbours: int,
) -> Float[np.ndarray, " n"]:
    """Return the Shapley values of all training points of the K-nearest-neighbour utility, in n log n a test point.

    From the farthest point inward, s_(n) = right_(n)·min(K, n)/(nK) and
    s_(j) = s_(j+1) + (right_(j) − right_(j+1))/K · min(K, j)/j. Reference: Jia et al. 2019, Thm 1 (there without the
    case n < K).
    """
    order, right = _ordered(inputs, labels, test_inputs, test_labels)
    count = right.shape[1]
    rank = np.arange(1, count + 1)
    share = np.minimum(neighbours, rank) / rank / neighbours
    steps = (right.astype(float) - np.append(right[:, 1:], np.zeros((len(right), 1)), axis=1)) * share
    ranked = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    values = np.zeros((len(right), count))
    np.put_along_axis(values, order, ranked, axis=1)
    return values.mean(0)


doors(__name__, ridge="(0, ∞)", neighbours="[1, ∞)")
