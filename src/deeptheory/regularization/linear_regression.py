"""Linear regression with a penalty: dropout of coordinates, of one shared mask, and the lasso."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from deeptheory.foundations.entrances import doors
from deeptheory.regularization.masks import dropout_strength

__all__ = ["dropout_regression", "lasso", "lasso_gap", "shared_mask_regression", "soft_threshold"]

AnyArray = Array | np.ndarray
Scalar = float | int | Num[AnyArray, ""]


def dropout_regression(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], rate: Scalar
) -> Float[Array, " d"]:
    """Return the least-squares weights under dropout of the inputs' coordinates, each by a mask of its own.

    They solve (XᵀX + λ diag(XᵀX)) u = Xᵀy: a ridge in units of each coordinate's size. Unlike rescaling it shrinks
    correlated directions less. Needs a rate above zero, or a design of full column rank, and no column of zeros.
    arora Prop. 11.2.1 with k = 1; Sec. 11.4 prints the solution of `shared_mask_regression`.
    """
    gram = jnp.asarray(design).T @ jnp.asarray(design)
    return jnp.linalg.solve(gram + dropout_strength(rate) * jnp.diag(jnp.diag(gram)), design.T @ labels)


def shared_mask_regression(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], rate: Scalar
) -> Float[Array, " d"]:
    """Return the least-squares weights if all coordinates are dropped together: (1 + λ) XᵀX u = Xᵀy.

    The weights of least squares over 1 + λ, the solution of least norm where there are several. arora Sec. 11.4.
    """
    return jnp.linalg.pinv(jnp.asarray(design)) @ labels / (1 + dropout_strength(rate))


def soft_threshold(values: Float[AnyArray, "*shape"], threshold: Scalar) -> Float[Array, "*shape"]:
    """Return sign(v) max(|v| − t, 0), the minimiser of ½(w − v)² + t|w|."""
    return jnp.sign(values) * jnp.maximum(jnp.abs(values) - threshold, 0)


def lasso(
    design: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    penalty: Scalar,
    *,
    sweeps: Annotated[int, "[1, 1e6]"] = 1000,
) -> Float[Array, " d"]:
    """Minimise (1/n)‖y − Xw‖² + λ‖w‖₁ by cyclic coordinate descent; `penalty` is λ.

    Every sweep sets each weight to its best value given the others, a soft threshold; `lasso_gap` says how far from the
    optimum the result may be. No column of the design may be zero. For ‖w‖² in place of ‖w‖₁ see `ridge_path`. lucchi
    Ch. 11.
    """
    count = len(labels)
    design = jnp.asarray(design)
    squares = jnp.sum(design**2, axis=0)

    def coordinate(place: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        weights, residual = state
        column = design[:, place]
        best = soft_threshold(column @ residual + squares[place] * weights[place], count * penalty / 2) / squares[place]
        return weights.at[place].set(best), residual + column * (weights[place] - best)

    def sweep(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        return jax.lax.fori_loop(0, design.shape[1], coordinate, state)

    start = (jnp.zeros(design.shape[1], design.dtype), jnp.asarray(labels, design.dtype))
    return jax.lax.fori_loop(0, sweeps, sweep, start)[0]


def lasso_gap(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], penalty: Scalar, weights: Float[AnyArray, " d"]
) -> Float[Array, ""]:
    """Return the duality gap of (1/n)‖y − Xw‖² + λ‖w‖₁ at w: never below its distance from the least value.

    The dual point is the residual, scaled until no column has an inner product above nλ/2 with it.
    """
    count = len(labels)
    residual = labels - jnp.asarray(design) @ weights
    steepest = jnp.max(jnp.abs(design.T @ residual))
    dual = residual * jnp.minimum(1, count * penalty / 2 / jnp.maximum(steepest, jnp.finfo(residual.dtype).tiny))
    primal = residual @ residual / count + penalty * jnp.sum(jnp.abs(weights))
    return jnp.asarray(primal) - (2 * dual @ labels - dual @ dual) / count


doors(__name__, penalty="(0, ∞)", threshold="[0, ∞)")
