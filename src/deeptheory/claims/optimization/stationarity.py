"""Stochastic gradient descent without convexity: its best step, what to return, what it costs (lucchi 5.7.1)."""

import itertools
from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.claims.optimization.gradient_descent import descend
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Rate, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen
from deeptheory.optimization.landscapes import PiecewiseQuadratic, Quadratic
from deeptheory.optimization.runs import random_iterate, trajectory
from deeptheory.optimization.stochastic import best_sgd_step_size, minibatches, sgd_step_size, stationarity_steps

OFF = 0.8
"""by how much the two labels of an input miss its prediction at the minimum, zero"""
STEEPEST = 0.5**0.5
"""the largest slope of log(1 + u²/2); its largest curvature is one"""


def robust(u):
    """log(1 + u²/2), a loss that forgives outliers: bounded slope, not convex."""
    return jnp.log1p(u**2 / 2)


def loss_of(x, features, labels):
    """The mean robust loss of a linear predictor."""
    return jnp.mean(robust(features @ x - labels))


@jax.jit
def squares_along(features, labels, start, rates, paths):
    """Squared true gradients along stochastic runs, one for each rate and each path of examples."""

    def run(rate, path):
        states = trajectory(
            lambda x, i: robust(features[i] @ x - labels[i]), optax.sgd(rate), start, steps=len(path), batches=path
        )
        return jnp.sum(jax.vmap(jax.grad(loss_of), (0, None, None))(states.position, features, labels) ** 2, 1)

    return jax.vmap(jax.vmap(run, (None, 0)), (0, None))(rates, paths)


@jax.jit
def returned(features, labels, start, rate, paths, keys):
    """The squared true gradient at an iterate drawn at random, one for each path."""

    def run(path, key):
        states = trajectory(
            lambda x, i: robust(features[i] @ x - labels[i]), optax.sgd(rate), start, steps=len(path), batches=path
        )
        _, x = random_iterate(key, states)
        return jnp.sum(jax.grad(loss_of)(x, features, labels) ** 2)

    return jax.vmap(run)(paths, keys)


@claim(
    items={
        "L5.21": ("one exact step", "mean squared gradient along K", "below the bound"),
        "L5.22": ("an iterate drawn at random", "mean squared gradient along K", "descent on its worst function"),
    },
    says=r"With $\eta=c/\sqrt K$, $c^2=2(f(x_0)-f^*)/(L\sigma^2)$, SGD has $\min_sE\|\nabla f(x_s)\|^2\le\sigma\sqrt{2"
    r"(f(x_0)-f^*)L/K}$, and so has the mean over $s$, which is $E\|\nabla f(x_I)\|^2$ for $I$ uniform. It falls "
    r"like $K^{-1/2}$, full gradients like $1/K$: for $\epsilon$, $1/\epsilon^2$ examples against $n/\epsilon$.",
    needs="f L-smooth with infimum f*; unbiased gradients with E‖∇f_i‖² ≤ σ²; no convexity",
    consistency=("cheaper with many examples",),
    symbols={
        r"\eta": "the step size",
        "K": "the number of steps",
        "f^*": "the infimum of the loss $f$",
        "L": "the smoothness of $f$",
        r"\sigma": "a bound on the stochastic gradients",
        "x_s": "the point after $s$ steps, $s<K$",
        r"\epsilon": "the squared gradient wanted",
        "n": "the number of examples, the cost of a full gradient",
    },
    why=r"A step lowers $f$, in the mean, by at least $\eta E\|\nabla f\|^2-\frac L2\eta^2\sigma^2$. Added up over $K$ "
    r"steps the mean of $E\|\nabla f\|^2$ is at most $(f(x_0)-f^*)/(\eta K)+\frac L2\eta\sigma^2$, and $c/\sqrt K$ "
    r"makes the two terms equal. No one knows which iterate is the best; one drawn at random has the mean. "
    r"Full gradients have no second term and may take the step $1/L$: $1/K$, at $n$ times the price.",
    notice="On the left, robust regression, which is not convex: the mean squared gradient falls with slope minus one "
    "half below its bound; in the middle descent on its worst function, with slope minus one. On the right, "
    r"examples looked at: stochastic gradients need fewer where $n$ is larger than $\sigma^2/\epsilon$.",
)
def sgd_at_its_best_step(
    key,
    *,
    horizons: Annotated[Sizes, MinLen(3)] = (64, 256, 1024, 4096),
    trials: Trials = 192,
    inputs: Annotated[int, Interval(ge=4, le=200)] = 16,
):
    random = generator(key)
    # Each input comes with the labels ±OFF. As OFF² < 2, the mean of its two losses has slope zero at 0 alone.
    directions = random.standard_normal((inputs, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    features, labels = np.repeat(directions, 2, 0), np.tile([OFF, -OFF], inputs)
    start = np.array([3.0, -2.0, 1.0])
    smoothness = float(np.linalg.norm(features, 2)) ** 2 / len(features)
    drop = float(loss_of(start, features, labels)) - np.log1p(OFF**2 / 2)
    setting: dict[str, Any] = dict(smoothness=smoothness, second_moment=STEEPEST**2)
    count = np.array(horizons)
    rates = np.asarray(best_sgd_step_size(drop, steps=count, **setting))
    paths = minibatches(key, examples=len(features), batch=1, steps=horizons[-1], runs=trials)[..., 0]
    runs = [squares_along(features, labels, start, rates[i : i + 1], paths[:, :k]) for i, k in enumerate(horizons)]
    found = np.stack([np.asarray(each)[0, :, :k].mean(1) for each, k in zip(runs, horizons, strict=True)])
    bound = STEEPEST * np.sqrt(2 * drop * smoothness / count)

    # One step, no noise, a parabola: the best step is 1/L and the bound is attained.
    curvatures, places = np.array([0.3, 1.0, 4.0]), np.array([1.0, -2.0, 0.5])
    one: dict[str, Any] = dict(smoothness=curvatures, second_moment=(curvatures * places) ** 2)
    gap = curvatures * places**2 / 2
    single = [
        [
            descend(Quadratic(jnp.array([[c]]), jnp.zeros(1)), jnp.array([x]), eta, steps=1)
            for c, x, eta in zip(curvatures, places, np.asarray(rule(gap, steps=1, **one)), strict=True)
        ]
        for rule in (best_sgd_step_size, sgd_step_size)
    ]
    first = np.array([float(run.gradient[0, 0]) ** 2 for run in single[0]])
    ends, short = np.array([[float(run.position[1, 0]) for run in row] for row in single])

    # One input in one dimension, two labels, eight steps: all 256 paths against iterates drawn at random.
    few, long = 8, 32_768
    line, two, far, eta = np.ones((2, 1)), np.array([OFF, -OFF]), np.array([2.5]), 0.9
    every = np.array(list(itertools.product([0, 1], repeat=few)))
    exact = np.asarray(squares_along(line, two, far, np.array([eta]), every))[0].mean(0)
    drawn = minibatches(jax.random.fold_in(key, 1), examples=2, batch=1, steps=few, runs=long)[..., 0]
    chosen = returned(line, two, far, eta, drawn, jax.random.split(jax.random.fold_in(key, 2), long))

    # Full gradients on the saw whose slope is −1 at every iterate: T gradients, gap as small as it can be.
    steps = np.array([2, 4, 8])
    breaks = -1 - np.arange(2 * steps[-1] - 2, -1, -1) / 2
    bends = np.array([1.0, *[1.0, -1.0] * (steps[-1] - 1), 1.0])
    saw = PiecewiseQuadratic(jnp.asarray(breaks), jnp.asarray(bends))
    states = descend(saw, jnp.asarray(breaks[:1]), 1.0, steps=int(steps[-1]))
    height = np.asarray(states.value)[steps[-1] - steps]

    sizes, wanted = 4.0 ** np.arange(8), 4.0 ** -np.arange(8)
    work = stationarity_steps(wanted[:, None], drop=drop, **setting)
    return {
        "one exact step": Identity(
            np.stack([first, ends]),
            np.stack([np.sqrt(one["second_moment"] * 2 * gap * curvatures), np.zeros(3)]),
            scale=1.0,
            aside={"shorter": np.stack([first, short])},
        ),
        # The way from the start takes 1/η of the K steps, with curvatures of its own: a share of order K^(−1/2).
        "mean squared gradient along K": Rate(
            count, found, exponent=-0.5, rivals=(-1.0, -0.25), resolution=0.125, order=0.5, aside={"bound": bound}
        ),
        "below the bound": Trend(bound[:, None] - found, along={"steps": count}),
        "an iterate drawn at random": Law(
            exact[:-1].mean(),
            np.asarray(chosen)[None],
            exact=True,
            aside={"last": exact[-2], "later": exact[1:].mean()},
        ),
        "descent on its worst function": Rate(steps, 1 / height, exponent=-1.0, rivals=(-0.5, -2.0), order=1.0),
        "cheaper with many examples": Exact(
            np.asarray(work.stochastic < sizes * work.full),
            sizes > STEEPEST**2 / wanted[:, None],
            aside={"square": wanted, "stochastic": np.ravel(work.stochastic), "full": np.ravel(work.full)},
        ),
    }


@sgd_at_its_best_step.control("c² = (f(x₀) − f*)/(Lσ²), without the 2: the end of one step", of="one exact step")
def without_two(evidence):
    return replace(evidence, left=evidence.aside["shorter"])


@sgd_at_its_best_step.control("half the bound, σ√((f(x₀) − f*)L/2K)", of="one exact step")
def half_the_bound(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@sgd_at_its_best_step.control("the gradient of the last iterate", of="an iterate drawn at random")
def last_iterate(evidence):
    return replace(evidence, predicted=evidence.aside["last"])


@sgd_at_its_best_step.control("the mean from x₁ to x_K", of="an iterate drawn at random")
def one_later(evidence):
    return replace(evidence, predicted=evidence.aside["later"])


@sgd_at_its_best_step.picture
def slopes_and_prices(pieces):
    """Squared gradients by number of steps, stochastic (left) and full (middle); examples by accuracy (right)."""
    rate, saw, price = (
        pieces["mean squared gradient along K"],
        pieces["descent on its worst function"],
        pieces["cheaper with many examples"].aside,
    )
    count, bound = np.asarray(rate.x), np.asarray(rate.aside["bound"])
    falls = [
        seen("SGD, robust regression", count, rate.y),
        Line("σ√(2ΔL/K)", count, bound),
        Line("σ√(2ΔL/K)", count, bound[0] * count[0] / count, rival="like 1/K"),
    ]
    square = np.asarray(price["square"])
    work = [Line("stochastic, ∝ 1/ε²", square, price["stochastic"])]
    work += [Line(f"full, n = {n}", square, n * np.asarray(price["full"])) for n in (100, 10_000)]
    descent = [
        Dots("descent on a saw", saw.x, saw.y),
        Line("4/(3T − 1)", saw.x, 4 / (3 * np.asarray(saw.x) - 1)),
    ]
    return Row(
        [
            Curves(falls, x="steps K", y="mean squared gradient", log="xy"),
            Curves(descent, x="full gradients T", y="least squared gradient / LΔ", log="xy"),
            Curves(work, x="squared gradient wanted ε", y="examples looked at", log="xy"),
        ]
    )
