"""Support vector machines as a convex problem, solved with a certificate (handbook 4.1.2).

Least squares is `Quadratic` of `landscapes`, logistic regression `LogisticRidge`.

Reference: handbook 4.1.2; Cortes and Vapnik 1995.
"""

from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.margin_losses import hinge_loss

__all__ = ["HingeRidge", "SoftMargin", "soft_margin"]

Scalar = Float[Array, ""]


class HingeRidge(eqx.Module):
    """The loss of a soft-margin support vector machine: mean max(0, 1 − y_i x_i·w) + ½α‖w‖², labels y_i = ±1.

    Convex, strongly with α, and not smooth: at a minimizer some margins are exactly one, and zero is a subgradient
    without being the gradient that automatic differentiation returns. No intercept; append a one to the features for
    one that is penalized too.
    """

    features: Float[Array, "n d"]
    labels: Float[Array, "n"]
    ridge: float | Scalar

    def __call__(self, w: Float[Array, "d"]) -> Scalar:
        return jnp.mean(hinge_loss(self.labels * (self.features @ w))) + self.ridge / 2 * w @ w


class SoftMargin(NamedTuple):
    """A support vector machine: its weights, the dual variables 0 ≤ a_i ≤ 1/n, and how far the value can be off."""

    weights: Float[Array, "d"]
    duals: Float[Array, "n"]
    gap: Scalar


def soft_margin(loss: HingeRidge, *, sweeps: Annotated[int, "[1, 1e6]"] = 500) -> SoftMargin:
    """Minimize the loss of a support vector machine by coordinate ascent on its dual.

    max Σa_i − (1/2α)‖Σa_i y_i x_i‖² over 0 ≤ a_i ≤ 1/n, one coordinate after the other, so many sweeps; the weights are
    (1/α)Σa_i y_i x_i. At the optimum αw is that sum with a_i in the subdifferential of the hinge: 1/n below margin one,
    0 above, between at one. Sweeps near it slowly where examples of margin one point almost the same way: in the end
    the a_i between their bounds are solved for at once, which is exact if these are the right ones, and kept if it is
    nearer. `gap` is primal less dual value, never less than what the value is above the minimum. The number of sweeps
    grows as α falls.

    Reference: handbook 4.1.2; Hsieh, Chang, Lin, Keerthi and Sundararajan 2008.
    """
    signed = loss.labels[:, None] * loss.features
    count, most = len(signed), 1 / len(signed)
    squares = jnp.sum(signed**2, 1)

    def coordinate(i: Array, state: tuple) -> tuple:
        duals, weights = state
        free = duals[i] + loss.ridge * (1 - signed[i] @ weights) / jnp.where(squares[i] > 0, squares[i], 1.0)
        value = jnp.where(squares[i] > 0, jnp.clip(free, 0.0, most), most)
        return duals.at[i].set(value), weights + (value - duals[i]) * signed[i] / loss.ridge

    def sweep(_: Array, state: tuple) -> tuple:
        duals, _ = jax.lax.fori_loop(0, count, coordinate, state)
        # The weights anew from the duals: what rounding adds up over a sweep is forgotten.
        return duals, duals @ signed / loss.ridge

    start = jnp.zeros(count, signed.dtype), jnp.zeros(signed.shape[1], signed.dtype)
    duals, weights = jax.lax.fori_loop(0, sweeps, sweep, start)
    free = (duals > 0) & (duals < most)
    inverse = jnp.linalg.pinv(jnp.where(free[:, None], signed, 0))
    moved = loss.ridge * inverse.T @ (inverse @ jnp.where(free, 1 - signed @ weights, 0))
    solved = jnp.clip(duals + jnp.where(free, moved, 0), 0.0, most)

    def certified(duals: Array) -> SoftMargin:
        weights = duals @ signed / loss.ridge
        return SoftMargin(weights, duals, loss(weights) - duals.sum() + loss.ridge / 2 * weights @ weights)

    swept, exact = certified(duals), certified(solved)
    return jax.tree.map(lambda one, other: jnp.where(exact.gap < swept.gap, one, other), exact, swept)


doors(__name__, ridge="(0, ∞)")
