"""Dropout in matrix sensing: the penalty that it adds to the loss, and how descent without it chooses."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.nuclear import nuclear_certificate
from deeptheory.lab import Identity, Inequality, Law, Limit, Reals, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.regularization.masks import dropout_strength
from deeptheory.regularization.sensing import (
    dropout_objective,
    dropout_regularizer,
    expected_dropout_regularizer,
    nearest_interpolator,
    regularizer_variance,
    sensing_gradients,
    sensing_loss,
)


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


@jax.jit
def penalties(left, right, measurements):
    """The empirical penalty for each batch of measurements."""
    return jax.vmap(dropout_regularizer, (None, None, 0))(left, right, measurements)


@jax.jit
@jax.vmap
def moments(left, right):
    """Mean and variance of the penalty of one Gaussian measurement by Gauss–Hermite quadrature, exact to degree five.

    Three nodes for each of the entries, all combinations.
    """
    count = left.shape[0] * right.shape[0]
    nodes = jnp.stack(jnp.meshgrid(*[jnp.sqrt(3.0) * jnp.array([-1.0, 0.0, 1.0])] * count), -1).reshape(-1, count)
    chances = jnp.prod(jnp.where(nodes == 0, 2 / 3, 1 / 6), axis=1)
    values = jax.vmap(lambda entries: dropout_regularizer(left, right, entries.reshape(1, left.shape[0], -1)))(nodes)
    return chances @ values, chances @ values**2 - (chances @ values) ** 2


predictions = jax.jit(
    jax.vmap(lambda left, right: (expected_dropout_regularizer(left, right), regularizer_variance(left, right)))
)


@claim(
    items={
        "A11.7": ("mean by quadrature", "mean of the penalty"),
        "A11.6": ("variance by quadrature", "mean of the penalty"),
    },
    says=r"Over $n$ Gaussian measurements the dropout penalty $\hat R=\sum_j\frac1n\sum_i(u_j^\top A_iv_j)^2$ has the "
    r"mean $R=\sum_j\|u_j\|^2\|v_j\|^2$ and the variance $\frac2n\sum_{jk}(u_j^\top u_k)^2(v_j^\top v_k)^2$, so that "
    r"it is within about $n^{-1/2}$ of its mean.",
    needs="measurements with independent standard normal entries",
    symbols={
        "A_i": "the measurements",
        "n": "their number",
        "u_j,v_j": "the columns of the two factors",
        "R": "the penalty that dropout adds on average, over its strength",
    },
    why=r"The numbers $u_j^\top Av_j$ are jointly normal with covariances $(u_j^\top u_k)(v_j^\top v_k)$. The mean of "
    "a sum of squares is the sum of the variances, and its variance is twice the sum of all squared covariances, also "
    "those between different columns.",
    notice="The penalty scatters about one value, and the scatter halves with four times as many measurements. "
    "Without the covariances between columns the band would be too narrow.",
    full=dict(trials=4000),
)
def penalty_concentrates(key, *, sizes: Sizes = (4, 16, 64), trials: Trials = 1200):
    draw = generator(key)
    left, right = draw.standard_normal((8, 3, 4)), draw.standard_normal((8, 2, 4))
    means, variances = map(np.asarray, predictions(left, right))
    by_hand = map(np.asarray, moments(left, right))
    observed = [penalties(left[0], right[0], draw.standard_normal((trials, size, 3, 2))) for size in sizes]
    alone = 2 * np.sum((left**2).sum(1) ** 2 * (right**2).sum(1) ** 2, axis=1)
    crossed = np.sum((left @ np.swapaxes(right, 1, 2)) ** 2, axis=(1, 2))
    return {
        "mean by quadrature": Identity(next(by_hand), means, size=729, aside={"crossed": crossed}),
        "variance by quadrature": Identity(next(by_hand), variances, size=729, condition=10.0, aside={"alone": alone}),
        # The least size scatters most: about 0.6 of the mean in one draw, 2 % of it in the mean of a thousand.
        "mean of the penalty": Law(
            np.full(len(sizes), means[0]),
            np.asarray(observed),
            exact=True,
            resolution=0.25,
            along={"measurements": np.asarray(sizes)},
            aside={
                "crossed": crossed[0],
                "variance": variances[0],
                "alone": alone[0],
                "drawn": np.asarray(observed)[:, :200],
            },
        ),
    }


@penalty_concentrates.control("‖UVᵀ‖², outputs of the columns added before squaring", of="mean by quadrature")
def added_first(evidence):
    return replace(evidence, right=evidence.aside["crossed"])


@penalty_concentrates.control("without the covariances between columns", of="variance by quadrature")
def columns_alone(evidence):
    return replace(evidence, right=evidence.aside["alone"])


@penalty_concentrates.picture
def scatter(pieces):
    """Penalties of single samples against the number of measurements, with the predicted mean and two deviations."""
    piece = pieces["mean of the penalty"]
    many, mean = np.asarray(piece.along["measurements"], float), float(np.asarray(piece.predicted)[0])
    dense = np.geomspace(many[0], many[-1], 50)
    band, narrow = (2 * np.sqrt(piece.aside[name] / dense) for name in ("variance", "alone"))
    drawn = np.asarray(piece.aside["drawn"])
    marks = [
        Dots("samples", np.repeat(many, drawn.shape[1]), drawn.ravel()),
        Line("mean and two deviations", dense, np.full(50, mean), low=mean - band, high=mean + band),
        Line("upper end", dense, mean + narrow, rival="without covariances between columns"),
    ]
    return Curves(marks, x="number of measurements n", y="penalty", log="x")


LARGE = 0.5
"""Weights that are not small: their product is of the size of the target."""


@partial(jax.jit, static_argnames="steps")
def trained(starts, measurements, labels, *, step=0.01, steps=10_000):
    """Where gradient descent on the factors ends, for each start; the product and the loss."""

    def run(start):
        size = measurements.shape[1]

        def body(_, factors):
            slopes = sensing_gradients(factors[:size], factors[size:], measurements, labels)
            return factors - step * jnp.concatenate(slopes)

        end = jax.lax.fori_loop(0, steps, body, start)
        return end[:size] @ end[size:].T, sensing_loss(end[:size], end[size:], measurements, labels)

    return jax.vmap(run)(starts)


@claim(
    items={
        "A11.3": (
            "distance from the target",
            "distance with narrower factors",
            "distance with wider factors",
            "excess of the nuclear norm",
            "certificate of the least norm",
        )
    },
    says=r"Gradient descent on $\frac1n\sum_i(y_i-\langle UV^\top,A_i\rangle)^2$ from weights of size $\varepsilon$ "
    r"ends, as $\varepsilon\to0$, at the interpolator of least nuclear norm, here the target of rank one. From large "
    "weights it fits as well and ends elsewhere, as does the interpolator of least Frobenius norm.",
    needs="Gaussian measurements, so many that the target has the least nuclear norm; factors of any width, "
    "here half, once and twice that of the matrix",
    symbols={
        "U,V": "the factors, in the picture as wide as the matrix",
        "A_i": "the $n$ measurements, fewer than the entries of the matrix",
        "y_i": "the measured values",
        r"\varepsilon": "the size of the weights at the start",
    },
    why="From small weights the singular values of the product grow in proportion to themselves, the fastest first, so "
    "descent first finds a matrix of low rank that fits, and then stops. A target has the least nuclear norm among all "
    "that fit if some combination of the measurements equals its singular directions on its tangent space and is "
    "smaller than one off it; such a certificate is computed here.",
    notice="The smaller the weights at the start, the smaller the distance from the target; weights that are not small "
    "end farther away than the interpolator of least Frobenius norm. All runs fit all measurements.",
    explore={"measured": (80, 85, 90)},
    full=dict(scales=(1e-1, 1e-2, 1e-3, 1e-4)),
)
def small_weights_find_low_nuclear_norm(
    key,
    *,
    scales: Annotated[tuple[float, ...], Interval(ge=1e-5, le=0.2), MinLen(3)] = (0.1, 0.02, 0.004),
    measured: Annotated[int, Interval(ge=75, le=95)] = 85,
):
    draw = generator(key)
    size = 10
    first, second = (each / np.linalg.norm(each) for each in draw.standard_normal((2, size)))
    target = np.outer(first, second)
    starts = np.asarray([LARGE, *scales])[:, None, None] * draw.standard_normal((2 * size, size))
    measurements = draw.standard_normal((measured, size, size))
    # One draw in some hundreds has no certificate of this simple kind, though it may have another.
    while (proof := nuclear_certificate(target, measurements)).beside > 0.95:
        measurements = draw.standard_normal((measured, size, size))
    fewer = nuclear_certificate(target, measurements[:22]).beside
    labels = np.einsum("iab,ab->i", measurements, target)
    products, losses = map(np.asarray, trained(starts, measurements, labels))
    flat = np.asarray(nearest_interpolator(measurements, labels, np.zeros((size, size))))
    distances = np.linalg.norm(products - target, axis=(1, 2))
    excesses = np.linalg.norm(products, "nuc", axis=(1, 2)) - 1
    others = [
        trained(np.asarray(scales)[:, None, None] * draw.standard_normal((2 * size, width)), measurements, labels)
        for width in (size // 2, 2 * size)
    ]
    narrower, wider = (np.linalg.norm(np.asarray(each) - target, axis=(1, 2)) for each, _ in others)
    inverse = 1 / np.asarray(scales)
    return {
        "distance from the target": Limit(
            inverse,
            distances[1:],
            order=0.5,
            aside={"large": distances[0], "flat": float(np.linalg.norm(flat - target))},
        ),
        "distance with narrower factors": Limit(inverse, narrower, order=0.5),
        "distance with wider factors": Limit(
            inverse, wider, order=0.5, aside={"flat": float(np.linalg.norm(flat - target))}
        ),
        "excess of the nuclear norm": Limit(
            inverse, excesses[1:], order=0.5, aside={"flat": float(np.linalg.norm(flat, "nuc")) - 1}
        ),
        # The labels have a mean square of one.
        "all runs fit": Inequality(np.concatenate([losses, *(np.asarray(each) for _, each in others)]), 1e-3),
        "certificate of the least norm": Inequality(np.array([proof.beside]), 1.0, aside={"fewer": np.array([fewer])}),
        "certificate on the tangent space": Identity(np.array([proof.off]), 0.0, scale=1.0, condition=1e3),
    }


@small_weights_find_low_nuclear_norm.control("the interpolator of least Frobenius norm", of="distance from the target")
def least_squares(evidence):
    return replace(evidence, y=np.full(len(evidence.y), evidence.aside["flat"]))


@small_weights_find_low_nuclear_norm.control(
    "with wider factors the interpolator of least Frobenius norm", of="distance with wider factors"
)
def room_for_others(evidence):
    return replace(evidence, y=np.full(len(evidence.y), evidence.aside["flat"]))


@small_weights_find_low_nuclear_norm.control("the nuclear norm of least squares", of="excess of the nuclear norm")
def least_squares_norm(evidence):
    return replace(evidence, y=np.full(len(evidence.y), evidence.aside["flat"]))


@small_weights_find_low_nuclear_norm.control("made of twenty-two measurements", of="certificate of the least norm")
def twenty_two(evidence):
    return replace(evidence, quantity=evidence.aside["fewer"])


@small_weights_find_low_nuclear_norm.picture
def recovery(pieces):
    """The distance of where descent ends from the target, against the size of the weights at the start."""
    piece = pieces["distance from the target"]
    sizes = np.asarray([LARGE, *(1 / np.asarray(piece.x))])
    marks = [
        Dots("descent", sizes, np.asarray([piece.aside["large"], *piece.y])),
        Line("proportional to the weights", sizes[1:], piece.y[-1] * sizes[1:] / sizes[-1], dashed=True),
        Level("interpolator of least Frobenius norm", y=piece.aside["flat"]),
    ]
    return Curves(marks, x="size of the weights at the start", y="distance from the target", log="xy")
