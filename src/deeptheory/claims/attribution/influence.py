"""Influence of a training point: the derivative of retraining, without retraining."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from deeptheory.attribution.influence import influences, removal_effects
from deeptheory.attribution.leave_one_out import leave_one_out_weights, retrained, ridge_weights
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line

COUNT, TESTS, RIDGE, STEP = 24, 4, 0.1, 1e-3


def logistic(weights, data):
    inputs, labels = data
    return logistic_loss(labels * (inputs @ weights))


def losses_at(weights, data):
    """Logistic losses of many weights (rows) at test points."""
    inputs, labels = data
    return logistic_loss(labels * (np.asarray(weights) @ inputs.T))


@claim(
    items={
        "A10.1": "shift of least squares without a point",
        "A10.2": "derivative in the weight of a point",
        "A10.3": "derivative in the weight of a point",
    },
    says=r"Where training point $x$ weighs $1/n+\epsilon$, the loss at $z$ moves at the rate $I(x,z)=-\nabla\ell(z)^T"
    r"H^{-1}\nabla\ell(x)$; removing $x$ from least squares moves the weights by $-(X^TX)^{-1}x\,e/(1-h)$, which is "
    r"$1/(1-h)$ times what influence says.",
    needs="a minimum with positive definite Hessian: logistic loss with a ridge, least squares of full rank",
    symbols={
        "x, z": "a training point and a test point",
        "n": "the number of training points",
        r"\epsilon": "the weight added",
        r"\ell": "the loss of a point at the trained parameters",
        "H": "the Hessian of the objective that was minimized, a mean over the points",
        "X, e": "the matrix of inputs; the residual at $x$",
        "h": "the leverage of $x$",
    },
    why=r"At the minimum the slope of the objective is zero; adding $\epsilon\nabla\ell(x)$ moves the zero by "
    r"$-\epsilon H^{-1}\nabla\ell(x)$, and the loss at $z$ follows its gradient. Removal is $\epsilon=-1/n$, a finite "
    "step: the Hessian then lacks the point too, and in least squares that is exactly the factor $1/(1-h)$, near one "
    "when there are many points.",
    notice="Influence predicts what retraining without each point does to the test losses. Points lie near the "
    "diagonal, a little steeper than it: removal does somewhat more than the derivative says.",
)
def influence_is_the_derivative_of_retraining(key):
    draw = generator(key)
    x, direction = draw.standard_normal((COUNT, 3)), draw.standard_normal(3)
    data = x, np.sign(x @ direction + draw.logistic(size=COUNT))
    test = draw.standard_normal((TESTS, 3)), np.sign(draw.standard_normal(TESTS))
    equal = np.full((1, COUNT), 1 / COUNT)
    start = retrained(logistic, jnp.zeros(3), data, np.tile(equal, (5 * COUNT, 1)), ridge=RIDGE).parameters[0]  # pyright: ignore[reportArgumentType]
    # Symmetric differences with steps h and 2h, of which the error of order h² is taken out.
    moves = STEP / COUNT * np.kron(np.array([1.0, -1.0, 2.0, -2.0])[:, None], np.eye(COUNT))
    rows = np.concatenate([equal + moves, leave_one_out_weights(COUNT)])
    ends = losses_at(retrained(logistic, start, data, rows, ridge=RIDGE).parameters, test)  # pyright: ignore[reportArgumentType]
    one, back, two, far = ends[: 4 * COUNT].reshape(4, COUNT, TESTS)  # pyright: ignore[reportIndexIssue]
    slopes = (8 * (one - back) - (two - far)) / (12 * STEP / COUNT)
    found = influences(logistic, start, data, test, damping=RIDGE)  # pyright: ignore[reportArgumentType]
    # The rival leaves the point out of the Hessian: I/(1 − h/n) with h the point's own curvature in its metric.
    inputs = data[0]
    weights = np.asarray(start)
    chance = 1 / (1 + np.exp(-inputs @ weights))
    bend = chance * (1 - chance)
    hessian = (inputs.T * bend) @ inputs / COUNT + RIDGE * np.eye(3)
    own = bend * np.sum(inputs * np.linalg.solve(hessian, inputs.T).T, 1) / COUNT
    removed = ends[4 * COUNT :] - losses_at(weights[None], test)  # pyright: ignore[reportIndexIssue]
    y = x @ direction + draw.standard_normal(COUNT)
    fit = ridge_weights(x, y, ridge=0.0)
    shifts = np.stack([np.linalg.lstsq(np.delete(x, i, 0), np.delete(y, i), rcond=None)[0] for i in range(COUNT)]) - fit
    pulls = np.linalg.solve(x.T @ x, x.T).T
    leverage = np.sum(x * pulls, 1)
    linear = -pulls * (y - x @ fit)[:, None]
    values = np.asarray(found.values).T
    size = np.abs(values).max()
    return {
        # Differences lose ten digits of sixteen to the step, conjugate gradients stop at 1e-8.
        "derivative in the weight of a point": Identity(
            slopes,
            values,
            scale=size,
            error=1e-7 * size,
            along={"x": np.arange(COUNT), "z": np.arange(TESTS)},
            aside={"own": own, "removed": removed, "predicted": np.asarray(removal_effects(found)).T},
        ),
        "shift of least squares without a point": Identity(
            shifts,
            linear / (1 - leverage)[:, None],
            scale=np.abs(fit).max(),
            condition=10.0,
            size=COUNT,
            aside={"linear": linear},
        ),
    }


@influence_is_the_derivative_of_retraining.control(
    "the Hessian of the other points", of="derivative in the weight of a point"
)
def other_points(evidence):
    own = np.asarray(evidence.aside["own"])[:, None]
    return replace(evidence, right=evidence.right / (1 - own))


@influence_is_the_derivative_of_retraining.control(
    "influence without the leverage", of="shift of least squares without a point"
)
def first_order(evidence):
    return replace(evidence, right=evidence.aside["linear"])


@influence_is_the_derivative_of_retraining.picture
def predicted_and_retrained(pieces):
    """Change of test losses when each training point is left out: predicted by influence and after retraining."""
    piece = pieces["derivative in the weight of a point"]
    predicted, removed = (np.asarray(piece.aside[name]).ravel() for name in ("predicted", "removed"))
    ends = np.array([predicted.min(), predicted.max()])
    marks = [Dots("left out and retrained", predicted, removed), Line("as predicted", ends, ends)]
    return Curves(marks, x="predicted change of the test loss, −I/n", y="change after retraining")
