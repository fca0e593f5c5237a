"""Retraining without each point: in closed form for ridge regression, by Newton's method otherwise.

Reference: arora Sec. 10.1; Cook and Weisberg 1982; Allen 1974 for the residuals.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, batched, numeric

__all__ = [
    "Retrained",
    "leave_one_out_residuals",
    "leave_one_out_ridge",
    "leave_one_out_weights",
    "retrained",
    "ridge_weights",
]

Losses = Callable[[Any, Any], Float[Array, " examples"]]


class Retrained(NamedTuple):
    """Flat parameters after training with each row of weights, and the length of the objective's gradient there."""

    parameters: Float[Array, "runs p"]
    slopes: Float[Array, " runs"]


def ridge_weights(
    inputs: Float[AnyArray, "n d"], targets: Float[AnyArray, " n"], *, ridge: float
) -> Float[np.ndarray, " d"]:
    """The minimizer of ‖Xw − y‖² + ρ‖w‖²; with ρ = 0 the one of least norm.

    `ridge` is ρ; the penalty is not divided by n.
    """
    inputs, targets = np.asarray(inputs, float), np.asarray(targets, float)
    left, singular, right = np.linalg.svd(inputs, full_matrices=False)
    return right.T @ (_filtered(singular, ridge) * (left.T @ targets))


def _filtered(singular: np.ndarray, ridge: float) -> np.ndarray:
    kept = singular > singular.max() * max(singular.size, 1) * np.finfo(float).eps
    return np.where(kept, singular, 0) / np.where(kept, singular**2 + ridge, 1)


def leave_one_out_ridge(
    inputs: Float[AnyArray, "n d"], targets: Float[AnyArray, " n"], *, ridge: float
) -> Float[np.ndarray, "n d"]:
    """Return the ridge weights without each point, w_{−i} = w − (XᵀX + ρ)⁻¹x_i e_i/(1 − h_i), in rows.

    e_i is the residual and h_i = x_iᵀ(XᵀX + ρ)⁻¹x_i the leverage of the full fit; ρ is not divided by n, so it is the
    same for n − 1 points. One factorization for all n. With ρ = 0 the columns must be independent, and no point may be
    the only one to see a direction (h_i = 1). Reference: arora Sec. 10.1; Cook and Weisberg 1982.
    """
    inputs, targets = np.asarray(inputs, float), np.asarray(targets, float)
    weights = ridge_weights(inputs, targets, ridge=ridge)
    pulls, leverage = _pulls(inputs, ridge)
    return weights - pulls * ((targets - inputs @ weights) / (1 - leverage))[:, None]


def leave_one_out_residuals(
    inputs: Float[AnyArray, "n d"], targets: Float[AnyArray, " n"], *, ridge: float
) -> Float[np.ndarray, " n"]:
    """Return y_i − x_i·w_{−i} = e_i/(1 − h_i), the errors on each point of the fit that has not seen it.

    e = y − Xw, h_i = x_i·(XᵀX + ρ)⁻¹x_i. Their mean square is Allen's PRESS over n (Allen 1974).
    """
    inputs, targets = np.asarray(inputs, float), np.asarray(targets, float)
    leverage = _pulls(inputs, ridge)[1]
    return (targets - inputs @ ridge_weights(inputs, targets, ridge=ridge)) / (1 - leverage)


def _pulls(inputs: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """(XᵀX + ρ)⁻¹x_i in rows, and the leverages."""
    gram = inputs.T @ inputs + ridge * np.eye(inputs.shape[1])
    if np.linalg.matrix_rank(gram, hermitian=True) < len(gram):
        raise ValueError(f"ridge must be positive where the columns of inputs depend on each other, got {ridge}")
    pulls = np.linalg.solve(gram, inputs.T).T
    leverage = np.sum(inputs * pulls, 1)
    if np.any(leverage > 1 - 1e-12):
        raise ValueError("inputs must determine the fit without any one point, and one of them has leverage 1")
    return pulls, leverage


def leave_one_out_weights(examples: int) -> Float[np.ndarray, "runs n"]:
    """Weights 1/n of all points but one, which weighs nothing: a row for each point left out.

    The others keep 1/n and do not get 1/(n − 1), so that ridges and dampings mean the same with and without the point.
    `examples` is n.
    """
    affordable(weights=(examples, examples))
    return (1 - np.eye(examples)) / examples


def retrained(
    losses: Losses,
    parameters: Any,
    data: Any,
    weights: Float[AnyArray, "runs n"],
    *,
    ridge: float = 0.0,
    spring: float = 0.0,
    steps: int = 50,
) -> Retrained:
    """Minimize Σ_i w_i ℓ(x_i, θ) + ½ρ‖θ‖² by Newton's method from `parameters`, once for every row of weights.

    Args:
        losses: (parameters, batch) → the loss of every example; convex, or near a minimum: Newton's step is halved
            where it would not shrink the gradient.
        weights: 1/n each for the training that led to `parameters`; a zero leaves a point out, 1/n + ε weighs it more.
        ridge: ρ.
        spring: adds ½s‖θ − θ₀‖² − (θ − θ₀)·g₀ with θ₀ the start and g₀ the slope there of the mean loss with ridge, so
            that θ₀ is stationary at equal weights whatever it is, and a minimum where H + s is positive definite.

    All runs are one compiled call, warm-started; a step costs p³, so for some hundred parameters. `slopes` tells
    whether a run arrived. Reference: arora Sec. 10.1.
    """
    batched(data=data)
    weights, data = jnp.asarray(weights), jax.tree.map(jnp.asarray, data)
    count = jax.tree.leaves(data)[0].shape[0]
    if weights.shape[1] != count:
        raise ValueError(f"weights must have one column for each of {count} examples, got {weights.shape[1]}")
    moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
    numeric(parameters=moving)
    if not jax.tree.leaves(moving):
        raise ValueError("parameters must hold at least one floating-point array, and hold none")
    return _retrained(losses, moving, fixed, data, weights, *map(jnp.asarray, (ridge, spring, steps)))


@eqx.filter_jit
def _retrained(
    losses: Losses, moving: Any, fixed: Any, data: Any, weights: Array, ridge: Array, spring: Array, steps: Array
) -> Retrained:
    start, unravel = ravel_pytree(moving)

    def objective(flat: Array, weight: Array) -> Array:
        return weight @ losses(eqx.combine(unravel(flat), fixed), data) + ridge / 2 * flat @ flat

    resting = jax.grad(objective)(start, jnp.full(weights.shape[1], 1 / weights.shape[1], weights.dtype))

    def held(flat: Array, weight: Array) -> Array:
        moved = flat - start
        return objective(flat, weight) + jnp.where(spring > 0, spring / 2 * moved @ moved - moved @ resting, 0.0)

    slope = jax.grad(held)
    bend = jax.jacfwd(slope)

    def one(weight: Array) -> tuple[Array, Array]:
        def step(_: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            flat, here, share = state
            trial = flat - share * jnp.linalg.solve(bend(flat, weight), here)
            there = slope(trial, weight)
            better = jnp.linalg.norm(there) < jnp.linalg.norm(here)
            move = lambda new, old: jnp.where(better, new, old)  # noqa: E731
            return move(trial, flat), move(there, here), jnp.where(better, jnp.minimum(2 * share, 1), share / 2)

        flat, rest, _ = jax.lax.fori_loop(0, steps, step, (start, slope(start, weight), jnp.ones((), start.dtype)))
        return flat, jnp.linalg.norm(rest)

    return Retrained(*jax.vmap(one)(weights))


doors(__name__, ridge="[0, ∞)", spring="[0, ∞)", steps="[1, 10000]", examples="[1, 30000]")
