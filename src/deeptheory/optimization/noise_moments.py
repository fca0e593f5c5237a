"""Stochastic gradient descent on least squares, followed in the mean square without drawing anything.

The loss is the mean of ½(aᵢ·x − yᵢ)² over n examples, one of them, drawn uniformly, at every step. Each step is then an
affine map of where the run is, and second moments move by a linear map: distances are expectations, not estimates. For
the losses (n/2)(aᵢ·x − yᵢ)² of lucchi Problem 5.2, multiply features and labels by √n.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["MeanDistances", "least_squares_solution", "sgd_distances", "sgd_plateau", "variance_reduced_distances"]


class MeanDistances(NamedTuple):
    """E‖x_k − x*‖² at k = 0, 1, …; and E‖x̄_k − x*‖² of the mean x̄_k of x₁, …, x_k (at k = 0 of the start itself)."""

    iterate: Float[Array, "k"]
    average: Float[Array, "k"]


def least_squares_solution(features: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"]) -> Float[Array, " d"]:
    """Return the minimizer of mean ½(aᵢ·x − yᵢ)², the one of least norm where there are several."""
    return jnp.linalg.lstsq(jnp.asarray(features), jnp.asarray(labels))[0]


def sgd_distances(
    features: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    start: Float[AnyArray, " d"],
    step_sizes: Float[AnyArray, " k"],
) -> MeanDistances:
    """Return the mean squared distances from the minimizer of SGD with one example a step, and of its averages.

    x_{k+1} = x_k − η_k a_i(a_i·x_k − y_i), with the steps η₀, η₁, … of `step_sizes`. The averages are those of Polyak
    and Ruppert, x̄_{k+1} = (k x̄_k + x_{k+1})/(k + 1). Exact for any step, also for one at which the run blows up. With
    several minimizers distances are to the one of least norm, which a run approaches only from within the span of the
    features. Cost: n matrices of size 2d + 1 a step.

    Reference: lucchi 5.7.
    """
    a, y, x = (jnp.asarray(each, float) for each in (features, labels, start))
    count, d = a.shape
    affordable(maps=(count, 2 * d + 1, 2 * d + 1))
    solution = least_squares_solution(a, y)
    residuals, squares = y - a @ solution, a[:, :, None] * a[:, None]
    # The state is (x − x*, x̄ − x*, 1); each example is an affine map of the first part.
    first = jnp.concatenate([x - solution, x - solution, jnp.ones(1)])

    def body(moments: Array, now: tuple) -> tuple[Array, Array]:
        rate, k = now
        move = jnp.eye(d) - rate * squares
        push = rate * residuals[:, None, None] * a[:, :, None]
        top = jnp.concatenate([move, jnp.zeros((count, d, d)), push], axis=2)
        old = jnp.concatenate([jnp.zeros((d, d)), k * jnp.eye(d), jnp.zeros((d, 1))], axis=1)
        last = jnp.broadcast_to(jnp.eye(2 * d + 1)[-1:], (count, 1, 2 * d + 1))
        maps = jnp.concatenate([top, (old + top) / (k + 1), last], axis=1)
        return jnp.mean(maps @ moments @ jnp.swapaxes(maps, 1, 2), axis=0), moments

    rates = jnp.asarray(step_sizes, float)
    last, before = jax.lax.scan(body, jnp.outer(first, first), (rates, jnp.arange(len(rates))))
    squared = jnp.diagonal(jnp.concatenate([before, last[None]]), axis1=1, axis2=2)
    return MeanDistances(squared[:, :d].sum(1), squared[:, d : 2 * d].sum(1))


def sgd_plateau(
    features: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], *, step_size: float | Float[Array, ""]
) -> Float[Array, "d d"]:
    """Return lim E(x_k − x*)(x_k − x*)ᵀ under a constant step η: what noise leaves for ever. Its trace is the plateau.

    The solution of C = E(I − ηaaᵀ)C(I − ηaaᵀ) + η²E r²aaᵀ, r the residual at the minimizer; of trace about
    (η/2) tr H⁻¹E r²aaᵀ for small η, H the Hessian, and zero where all residuals are. Refused where second moments do
    not settle: for steps beyond some number that is at least 2/max‖a‖², and where the features do not span.
    """
    a, y = jnp.asarray(features, float), jnp.asarray(labels, float)
    count, d = a.shape
    affordable(equations=(d * d, d * d))
    residuals = y - a @ least_squares_solution(a, y)
    moves = jnp.eye(d) - step_size * a[:, :, None] * a[:, None]
    map_of = jnp.einsum("nij,nkl->ikjl", moves, moves).reshape(d * d, d * d) / count
    if not isinstance(map_of, Tracer) and (growth := float(np.abs(np.linalg.eigvals(map_of)).max())) >= 1:
        raise ValueError(
            f"step_size must be small enough for second moments to settle, got {float(step_size):.6g}, at which they "
            f"are multiplied by {growth:.6g} a step"
        )
    noise = step_size**2 * (a * residuals[:, None] ** 2).T @ a / count
    return jnp.linalg.solve(jnp.eye(d * d) - map_of, noise.ravel()).reshape(d, d)


def variance_reduced_distances(
    features: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    start: Float[AnyArray, " d"],
    *,
    step_size: float | Float[Array, ""],
    every: int,
    steps: int,
) -> Float[Array, "k"]:
    """Return E‖x_k − x*‖², k = 0, …, steps, of gradients corrected at a snapshot s, renewed now and then.

    x_{k+1} = x_k − η(∇f_i(x_k) − ∇f_i(s) + ∇f(s)), s = x_k at k = 0, `every`, 2·`every`, …: the noise vanishes as x and
    s come to the minimizer, so that a constant step has no plateau. Labels enter through the minimizer alone.

    Reference: lucchi 5.7, third remedy; Johnson and Zhang 2013 (SVRG, the last point of a pass as next snapshot).
    """
    a, x = jnp.asarray(features, float), jnp.asarray(start, float)
    count, d = a.shape
    affordable(maps=(count, 2 * d, 2 * d))
    away = x - least_squares_solution(a, jnp.asarray(labels, float))
    squares = a[:, :, None] * a[:, None]
    stay = jnp.broadcast_to(jnp.eye(2 * d)[d:], (count, d, 2 * d))
    move = jnp.concatenate([jnp.eye(d) - step_size * squares, step_size * (squares - squares.mean(0))], axis=2)
    maps = jnp.concatenate([move, stay], axis=1)
    renewed = jnp.tile(jnp.eye(d, 2 * d), (2, 1))

    def body(moments: Array, k: Array) -> tuple[Array, Array]:
        seen = jnp.where(k % every == 0, renewed @ moments @ renewed.T, moments)
        return jnp.mean(maps @ seen @ jnp.swapaxes(maps, 1, 2), axis=0), jnp.trace(moments[:d, :d])

    both = jnp.concatenate([away, away])
    last, before = jax.lax.scan(body, jnp.outer(both, both), jnp.arange(steps))
    return jnp.append(before, jnp.trace(last[:d, :d]))


doors(__name__, step_sizes="[0, ∞)", step_size="[0, ∞)", every="[1, 1e7]", steps="[1, 1e7]")
