"""Losses of the margin: what an answer costs by how right it is. NumPy or JAX alike.

The margin m = y·h(x) of a point is its output times its label ±1: right answers are positive. What the theorems on
separable data ask of a loss is looked at by `deeptheory.implicit_bias.assumptions`.

Reference: arora Ch. 1; Bartlett, Jordan and McAuliffe 2006.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.activations import relu, sigmoid
from deeptheory.foundations.arrays import AnyArray, namespace
from deeptheory.foundations.entrances import doors

__all__ = [
    "EXPONENTIAL",
    "HALF_QUADRATIC",
    "LOGISTIC",
    "MarginLoss",
    "hinge_loss",
    "label_probability",
    "logistic_derivative",
    "logistic_loss",
    "polynomial_tail",
    "ramp_loss",
    "sigmoid_loss",
    "zero_one_loss",
]

Margins = float | Float[AnyArray, "..."]


def zero_one_loss(margin: Margins) -> Margins:
    """1 where the margin is not positive, else 0."""
    return namespace(margin).where(margin > 0, 0.0, 1.0)


def hinge_loss(margin: Margins) -> Margins:
    """max(0, 1 − m), the loss of support vector machines: convex, not smooth at 1.

    Reference: Cortes and Vapnik 1995.
    """
    return namespace(margin).maximum(0.0, 1.0 - margin)


def ramp_loss(margin: Margins) -> Margins:
    """min(1, max(0, 1 − m)): bounded, and never below the zero-one loss."""
    return namespace(margin).clip(1.0 - margin, 0.0, 1.0)


def logistic_loss(margin: Margins) -> Margins:
    """Logistic loss ln(1 + e^(−m)), without overflow; decreasing and convex. Reference: arora Ch. 1."""
    return namespace(margin).logaddexp(0.0, -margin)


def logistic_derivative(margin: Margins) -> Margins:
    """Derivative of the logistic loss in the margin: −1/(1 + e^m)."""
    return -sigmoid(-margin)


def label_probability(margin: Margins) -> Margins:
    """1/(1 + e^(−m)), the chance that a logistic model is right: it grows with the margin, so it is no loss."""
    return sigmoid(margin)


def sigmoid_loss(margin: Margins) -> Margins:
    """1/(1 + e^m), the chance of the wrong label: a bounded decreasing loss."""
    return sigmoid(-margin)


class MarginLoss(NamedTuple):
    """A decreasing loss of the margin: its value, log(−ℓ′) and the smoothness constant β = sup ℓ″."""

    value: Callable[[Any], Any]
    log_slope: Callable[[Any], Any]
    smoothness: float


EXPONENTIAL = MarginLoss(
    value=lambda m: namespace(m).exp(-m),
    log_slope=lambda m: -m,
    smoothness=np.inf,
)
LOGISTIC = MarginLoss(value=logistic_loss, log_slope=lambda m: -logistic_loss(-m), smoothness=0.25)
# Exponential for correct answers, quadratic for wrong ones: smooth, decreasing and exponential-tailed as the theorem
# asks, but unlike the logistic loss its gradient grows with the error, so steps that are too long blow up.
HALF_QUADRATIC = MarginLoss(
    value=lambda m: namespace(m).exp(-relu(m)) + relu(-m) + relu(-m) ** 2 / 2,
    log_slope=lambda m: namespace(m).log1p(relu(-m)) - relu(m),
    smoothness=1.0,
)


def polynomial_tail(power: float) -> MarginLoss:
    """Return the loss (1+m)^(−p)/p for m ≥ 0, continued by its tangent below: the tail the theorem excludes.

    `power` is p.
    """
    if power <= 0:
        raise ValueError(f"power must be positive, got {power}")
    return MarginLoss(
        value=lambda m: (1 + relu(m)) ** (-power) / power + relu(-m),
        log_slope=lambda m: -(power + 1) * namespace(m).log1p(relu(m)),
        smoothness=power + 1,
    )


doors(__name__, power="(0, ∞)")
