"""Dropout in matrix sensing: the penalty that it adds to the loss, and how descent without it chooses."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.lab import Identity, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.regularization.masks import dropout_strength
from deeptheory.regularization.sensing import dropout_objective, dropout_regularizer, sensing_loss


@claim(
    items={"A11.5": ""},
    says=r"Dropping columns at rate $p$ adds exactly $\frac{p}{1-p}\sum_j\frac1n\sum_i(u_j^\top A_iv_j)^2$ to the "
    "squared loss of matrix sensing, for all factors, measurements and labels.",
    needs=r"kept columns are scaled by $1/(1-p)$; a column of U and of V is dropped together; $0\le p<1$",
    over=dict(
        left=Reals(-2, 2, shape=(4, 5)),
        right=Reals(-2, 2, shape=(3, 5)),
        measurements=Reals(-2, 2, shape=(7, 4, 3)),
        labels=Reals(-5, 5, shape=(7,)),
        rate=Reals(0.0, 0.95),
    ),
    draws=128,
    generations=6,
    symbols={
        r"p": "the dropout rate",
        r"u_j,v_j": "the columns of the two factors; column $j$ of both is dropped together",
        r"A_i": "the measurements",
        r"n": "their number",
    },
    why=r"A mask that keeps a column with probability $1-p$ and then scales it by $1/(1-p)$ has mean one and variance "
    "$p/(1-p)$. So the prediction is right on average, and its mean squared error is the squared error of the mean "
    "plus its variance. The columns are dropped independently: their variances add, each $p/(1-p)$ times the squared "
    r"contribution $(u_j^\top A_iv_j)^2$.",
    notice=r"The objective averaged over all masks, one by one, lies on the diagonal against loss plus penalty, over "
    "several orders of magnitude.",
)
def dropout_is_a_penalty(left, right, measurements, labels, rate):
    enumerated = dropout_objective(left, right, measurements, labels, rate)
    loss = sensing_loss(left, right, measurements, labels)
    penalty = dropout_strength(rate) * dropout_regularizer(left, right, measurements)
    # Rounding is that of the numbers before they cancel, at the largest mask.
    size = sensing_loss(abs(left), abs(right), abs(measurements), -abs(labels)) / (1 - rate) ** 2
    return Identity(enumerated, loss + penalty, scale=size)


@jax.jit
@jax.vmap
def objective_with_unscaled_mask(left, right, measurements, labels, rate):
    """What the objective would be if the mask had the variance of an indicator."""
    penalty = rate * (1 - rate) * dropout_regularizer(left, right, measurements)
    return sensing_loss(left, right, measurements, labels) + penalty


@dropout_is_a_penalty.control("p(1−p), the variance of a mask that is not rescaled")
def unscaled_mask(evidence, instances):
    return replace(evidence, right=np.asarray(objective_with_unscaled_mask(**instances)))


@dropout_is_a_penalty.picture
def masks_against_penalty(pieces):
    """The mean over all masks against loss plus penalty, one dot for each drawn problem; equal on the line."""
    masks, formula = np.asarray(pieces[""].left), np.asarray(pieces[""].right)
    ends = np.asarray([masks.min(), masks.max()])
    marks = [Line("equal", ends, ends, dashed=True), Dots("problems", formula, masks)]
    return Curves(marks, x="loss plus penalty", y="loss averaged over all masks", log="xy")
