"""A product of factors explodes where its single weight would converge (arora 13.1)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Level, Line
from deeptheory.normalization.product_models import (
    explosion_rate,
    logistic_minimizer,
    product_descent,
    product_loss,
    slope_by_weight,
)

DEPTHS = (2, 4, 8)


@partial(jax.jit, static_argnames=("depth", "steps"))
def products(starts, margins, rates, *, depth, steps):
    """The products along descent from equal factors, one row for each start and rate."""

    def run(start, rate):
        return jnp.prod(product_descent(jnp.full(depth, start ** (1 / depth)), margins, rate=rate, steps=steps), -1)

    return jax.vmap(run)(starts, rates)


@claim(
    items={
        "A13.1": ("gradient", "minimizer", "where plain descent ends"),
        "A13.2": ("first step at the threshold", "explosion"),
    },
    says=r"In one-dimensional logistic regression a weight $W=w_1\cdots w_k$ of $k$ equal factors, $k$ even, grows "
    r"without bound from $W_0>W^*>0$ as soon as $\eta>2W_0^{2/k-1}/|\hat\ell'(W_0)|$; at that rate the first step "
    r"only changes their signs, and below it $W$ falls.",
    needs="data that no sign separates, with W* > 0; k even; equal factors; W₀ > W*",
    symbols={
        "W": "the weight of the regression",
        "w_i, k": "its factors, and their number: the depth",
        "W_0, W^*": "the product at the start, and the weight of least loss",
        r"\eta": "the learning rate",
        r"\hat\ell'": r"the slope of the logistic loss $\hat\ell(W)=\sum_i\log(1+e^{-Wx_iy_i})$",
    },
    why=r"The gradient with respect to a factor is $\hat\ell'(W)\,W/w_i$, so a step multiplies equal factors by "
    r"$1-\eta\hat\ell'(W)W^{1-2/k}$. Beyond the threshold this is below $-1$: the factors change sign, which an even "
    r"product does not see, and grow. Both $\hat\ell'$ and $W^{1-2/k}$ increase with $W$, so the next step grows "
    "more. A single weight has no such threshold that falls as it grows.",
    notice="A hundredth above the threshold the product climbs from the first step, slowly and then at once; a "
    "hundredth below, the first step falls, the next ones overshoot, and what comes then is luck. The rate that the "
    r"book prints is too small for $W_0<1$: the product falls.",
)
def product_of_factors_explodes(key, *, beyond: Annotated[float, Interval(ge=1.001, le=1.2)] = 1.01):
    random, steps = generator(key), 6
    margins = np.concatenate([random.uniform(0.5, 2, 5), -random.uniform(0.2, 0.6, 4)])
    margins *= logistic_minimizer(margins) / 0.5  # the loss is least at one half
    minimizer = logistic_minimizer(margins)
    starts = np.array([0.6, 0.9, 2.0])
    slopes = np.asarray(slope_by_weight(starts, margins))
    runs, printed = [], []
    for depth in DEPTHS:
        rates = np.asarray(explosion_rate(starts, margins, depth=depth))
        wrong = beyond * (2 / (slopes * starts ** (1 / depth - 1)))[:2]  # the starts below one
        those = np.concatenate([beyond * rates, (2 - beyond) * rates, rates, wrong])
        paths = products(np.concatenate([np.tile(starts, 3), starts[:2]]), margins, those, depth=depth, steps=steps)
        runs.append(np.asarray(paths[:9]).reshape(3, 3, -1))
        printed.append(paths[9:])
    above, below, at = np.concatenate(runs, 1)
    as_printed = np.concatenate(printed)

    factors = jnp.asarray(random.uniform(0.5, 1.5, (8, 5)))
    whole = np.prod(factors, -1, keepdims=True)
    slope = np.asarray(slope_by_weight(whole[:, 0], margins))[:, None]
    balanced = slope * np.abs(whole) ** (1 - 1 / 5)
    two = np.concatenate([np.full(5, 1.5), np.full(2, -1.5)])
    single = products(np.array([3.0]), margins, np.array([0.05]), depth=1, steps=4000)[0, -1]
    return {
        "gradient": Identity(
            jax.vmap(jax.grad(product_loss), (0, None))(factors, margins),
            slope * whole / np.asarray(factors),
            scale=np.abs(margins).sum() * whole / np.asarray(factors),  # the terms of the slope nearly cancel
            aside={"as if equal": np.broadcast_to(balanced, (8, 5))},
        ),
        "minimizer": Identity(logistic_minimizer(two), np.log(5 / 2) / 1.5, condition=8.0),
        "where plain descent ends": Identity(single, minimizer, error=1e-9),
        "first step at the threshold": Identity(
            at[:, 1], at[:, 0], condition=1e3, aside={"above": above, "below": below}
        ),
        "explosion": Inequality(
            np.concatenate([above[:, :3].ravel(), below[:, 1]]),
            np.concatenate([above[:, 1:4].ravel(), below[:, 0]]),
            aside={"above": above, "below": below, "as printed": as_printed, "minimizer": minimizer},
        ),
    }


@product_of_factors_explodes.control("ℓ′(W)·W^(1−1/k), as if the factors were equal", of="gradient")
def as_if_equal(evidence):
    return replace(evidence, right=evidence.aside["as if equal"])


@product_of_factors_explodes.control("any rate above 2/(|ℓ′(W₀)||W₀|^(1/k−1))", erratum="A13.2a", of="explosion")
def printed_rate(evidence):
    path = evidence.aside["as printed"]
    return replace(evidence, quantity=path[:, :3], bound=path[:, 1:4])


@product_of_factors_explodes.control("a threshold one hundredth higher", of="first step at the threshold")
def higher_threshold(evidence):
    return replace(evidence, left=evidence.aside["above"][:, 1])


@product_of_factors_explodes.control("a threshold one hundredth lower", of="first step at the threshold")
def lower_threshold(evidence):
    return replace(evidence, left=evidence.aside["below"][:, 1])


@product_of_factors_explodes.picture
def climb(pieces, settings):
    """The product along descent just above and below the threshold and at the printed rate, for k = 4, W₀ = 0.6."""
    aside = pieces["explosion"].aside
    time = np.arange(aside["above"].shape[1])
    marks = [
        Line("above the threshold", time, aside["above"][3]),
        Line("below the threshold", time, aside["below"][3]),
        Line("the printed rate", time, aside["as printed"][2], rival="as printed in Problem 13.1.1"),
        Level("W*", y=float(aside["minimizer"])),
    ]
    return Curves(marks, x="step", y="product of the factors", log="y", ys=(1e-6, 1e6))
