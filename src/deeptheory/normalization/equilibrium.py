"""The size of the weights at which weight decay and the gradients of a scale-invariant loss balance.

‖w‖² shrinks by (1 − ηλ)² and grows by η²G²/‖w‖² a step, where G is the size of the stochastic gradient at the unit
vector: a recursion of one number, whatever the loss.

`rate` is η, `decay` λ, `gradient_square` G².

Reference: arora 13.4; van Laarhoven 2017; Li, Lyu and Arora 2020.
"""

import jax.numpy as jnp

from deeptheory.foundations.arrays import Reals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["effective_rate", "equilibrium_norm", "norm_step", "relaxation_factor"]


def norm_step(square: Reals, gradient_square: Reals, *, rate: Reals, decay: Reals) -> Reals:
    """‖w‖² after one step, from ‖w‖² and the squared gradient G² at w/‖w‖: (1 − ηλ)²‖w‖² + η²G²/‖w‖².

    Exact, since the gradient of a scale-invariant loss is orthogonal to w (arora Sec. 13.4).
    """
    return (1 - rate * decay) ** 2 * square + rate**2 * gradient_square / square


def equilibrium_norm(gradient_square: Reals, *, rate: Reals, decay: Reals) -> Reals:
    """The norm that such steps settle at: ‖w‖⁴ = ηG²/(λ(2 − ηλ)), about ηG²/(2λ).

    `gradient_square` is the mean of G² once settled. Where G² varies from step to step this is right to first order
    in ηλ times the relative variance of G²; where it depends on w it is an equation, not yet a solution. Needs ηλ < 2.
    """
    inside(0, 2, "()", **{"rate · decay": rate * decay})
    return (rate * gradient_square / (decay * (2 - rate * decay))) ** 0.25


def effective_rate(gradient_square: Reals, *, rate: Reals, decay: Reals) -> Reals:
    """The rate η/‖w‖² at which the direction moves once settled: √(ηλ(2 − ηλ))/G. Only the product ηλ matters."""
    return rate / equilibrium_norm(gradient_square, rate=rate, decay=decay) ** 2


def relaxation_factor(*, rate: Reals, decay: Reals) -> Reals:
    """By what a small distance of ‖w‖² from equilibrium is multiplied in a step: 2(1 − ηλ)² − 1, about 1 − 4ηλ."""
    return 2 * (1 - rate * jnp.asarray(decay)) ** 2 - 1


doors(__name__, rate="(0, ∞)", decay="(0, ∞)", square="(0, ∞)", gradient_square="[0, ∞)")
