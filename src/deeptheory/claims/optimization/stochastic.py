"""Stochastic gradient descent: its gradients, how fast it comes to a stationary point, its batches (arora 2.2, 2.5.3).

Where noise has two values and runs are short, all its paths are run and expectations are exact.
"""

import functools
import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.diffusions.gradient_noise import batch_covariance
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, Sizes, Trend, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.optimization.landscapes import CosineSum, Quadratic
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.stochastic import (
    batch_stationarity_bound,
    batch_steps,
    minibatches,
    sgd_stationarity_bound,
    sgd_step_size,
)


@jax.jit
def fit(x, y, starts, rate, batches):
    """Positions of least squares by stochastic gradient descent, from each start with its batches of indices."""

    def loss(w, batch):
        return jnp.mean((x[batch] @ w - y[batch]) ** 2) / 2

    def run(start, chosen):
        return trajectory(loss, optax.sgd(rate), start, steps=len(chosen), batches=chosen).position

    return jax.vmap(run, (None, 0))(starts, batches)


@claim(
    items={
        "A2.9": ("mean of the gradient", "covariance of the gradient", "distance from gradient descent"),
        "A2.24": "covariance of the gradient",
        "L5.18": ("mean of the gradient", "distance from gradient descent"),
        "L5.19": "covariance of the gradient",
        "H4.9": ("mean of the gradient", "covariance of the gradient"),
    },
    says=r"The gradient $g_S$ of $B$ examples drawn with replacement has mean $\nabla f$ and covariance $\Sigma/B$; "
    r"without replacement, $\frac{n-B}{n-1}$ of that. With smaller steps the path comes to that of gradient descent: "
    r"the mean squared distance at a fixed time $\eta t$ is of order $\eta$.",
    needs="examples drawn uniformly; least squares",
    symbols={
        "g_S": "the stochastic gradient: the mean over the batch $S$",
        "B": "the number of examples in a batch",
        "f": "the mean loss over all examples",
        r"\Sigma": "the covariance of the gradients of single examples",
        "n": "the number of examples",
        r"\eta": "the step size",
        "t": "the number of steps",
    },
    why=r"Each example is drawn as often as any other, so the mean is right; independent draws have variances that add "
    r"up, and the mean of $B$ has $1/B$ of one. Draws without replacement repel each other, and a whole pass has no "
    r"noise left. In a fixed time there are $1/\eta$ steps, each with noise of variance $\eta^2$: together $\eta$.",
    notice="On the left, the total variance of all possible batches of each size lies on the two curves: a hyperbola "
    "with replacement, and without a faster fall, which would end in nothing at a whole pass. On the right, the "
    "squared distance from the path of gradient descent falls in proportion to the step.",
)
def minibatch_gradients_are_unbiased(
    key,
    *,
    examples: Annotated[int, Interval(ge=3, le=6)] = 5,
    rates: Annotated[Sizes, MinLen(3)] = (50, 100, 200),
    trials: Trials = 2048,
):
    random = generator(key)
    x, y, w = (random.standard_normal(shape) for shape in ((examples, 2), examples, 2))
    gradients = (x @ w - y)[:, None] * x
    every = np.arange(examples)[:, None, None]  # one step of size 1 with one example, for each of them
    single = w - np.asarray(fit(x, y, jnp.asarray(w), 1.0, jnp.asarray(every)))[:, 1]
    sizes = np.arange(1, min(examples, 4) + 1)
    means, spreads, predicted = [], [], []
    for size, replacement in itertools.product(sizes.tolist(), (True, False)):
        kind = itertools.product if replacement else itertools.permutations
        drawn = kind(range(examples), **{"repeat" if replacement else "r": size})
        found = np.array([single[list(batch)].mean(0) for batch in drawn])
        means.append(np.mean(found, axis=0))
        spreads.append(np.cov(np.asarray(found).T, bias=True))
        predicted.append(batch_covariance(gradients, size, replacement=replacement))
    along = {"batch": np.repeat(sizes, 2), "row": [0, 1], "column": [0, 1]}
    scale = np.abs(gradients).max() ** 2

    # A fixed time 2: as many steps as `rates` says make a unit of it.
    away = []
    for inverse in rates:
        batches = minibatches(key, examples=examples, batch=1, steps=2 * inverse, runs=trials)
        whole = np.tile(np.arange(examples), (1, 2 * inverse, 1))
        noisy = fit(x, y, jnp.asarray(w), 1 / inverse / 4, jnp.asarray(batches))[:, -1]
        plain = fit(x, y, jnp.asarray(w), 1 / inverse / 4, jnp.asarray(whole))[:, -1]
        away.append(np.sum((noisy - plain) ** 2, -1))
    return {
        "mean of the gradient": Identity(
            means, gradients.mean(0), scale=scale**0.5, size=examples**4, aside={"examples": examples}
        ),
        "covariance of the gradient": Identity(spreads, predicted, scale=scale, size=examples**4, along=along),
        "distance from gradient descent": Rate(1 / np.array(rates), away, exponent=1.0, rivals=(0.5, 2.0)),
    }


@minibatch_gradients_are_unbiased.control("the sum over all examples divided by n − 1", of="mean of the gradient")
def one_example_fewer(evidence):
    n = evidence.aside["examples"]
    return replace(evidence, right=evidence.right * n / (n - 1))


@minibatch_gradients_are_unbiased.control("B + 1 for B", of="covariance of the gradient")
def off_by_one(evidence):
    batch = np.asarray(evidence.along["batch"])[:, None, None]
    return replace(evidence, right=np.asarray(evidence.right) * batch / (batch + 1))


@minibatch_gradients_are_unbiased.picture
def variances_and_distances(pieces):
    """The total variance of batch gradients by size (left), and distances to gradient descent by step (right)."""
    spread, path = pieces["covariance of the gradient"], pieces["distance from gradient descent"]
    batch = np.asarray(spread.along["batch"])[::2]
    left, right = (np.trace(np.asarray(side), axis1=1, axis2=2) for side in (spread.left, spread.right))
    marks = []
    for place, name in enumerate(("with replacement", "without")):
        marks += [Line(name, batch, right[place::2]), Dots(name, batch, left[place::2])]
    rate, middle = np.asarray(path.x), np.mean(path.y, axis=1)
    fall = [
        seen("seen", rate, path.y),
        Line("in proportion to the step", rate, middle[-1] * rate / rate[-1]),
        Line("in proportion to the step", rate, middle[-1] * np.sqrt(rate / rate[-1]), rival="to its root"),
    ]
    return Row(
        [
            Curves(marks, x="batch B", y="total variance"),
            Curves(fall, x="four times the step η", y="squared distance from gradient descent", log="xy"),
        ]
    )


@functools.partial(jax.jit, static_argnames="steps")
def wander(function, starts, rate, noise, *, steps):
    """Values and squared gradients along runs whose gradients carry additive noise, one run for each row of noise."""

    def run(start, pushes):
        states = trajectory(lambda x, push: function(x) + push @ x, optax.sgd(rate), start, steps=steps, batches=pushes)
        return jax.vmap(function)(states.position), jnp.sum(jax.vmap(jax.grad(function))(states.position) ** 2, 1)

    return jax.vmap(run)(starts, noise)


@claim(
    items={"A2.23": ("bound attained by a parabola", "decrease of a step", "fall along the horizon")},
    says=r"SGD with step $\eta$ has $E[\frac1T\sum_t\|\nabla_t\|^2]\le\frac M{\eta T}+\frac{\eta\beta\sigma^2}2$, with "
    r"equality on $\frac\beta2x^2$ when $M$ and $\sigma^2$ are those of the run. With $\eta=\sqrt{M/(\beta\sigma^2T)}$ "
    r"that is $\frac32\sqrt{M\beta\sigma^2/T}$, and on a sum of cosines the mean does fall like $T^{-1/2}$.",
    needs="f β-smooth, f(w₁) − E f(w_{T+1}) ≤ M, unbiased gradients with E‖∇̂‖² ≤ σ²",
    symbols={
        r"\eta": "the step size",
        "T": "the number of steps",
        r"\nabla_t": "the true gradient at step $t$",
        "M": "how much the loss can fall",
        r"\beta": "the smoothness",
        r"\sigma^2": "a bound on the mean square of the stochastic gradients, not on their variance",
    },
    why=r"A step with a noisy gradient loses, in the mean, $\eta\|\nabla_t\|^2$ to first order and gains at most "
    r"$\frac\beta2\eta^2E\|\hat\nabla_t\|^2$ to second, the parabola above the function; on a parabola exactly. Added "
    r"up over the steps the losses are at most $M$. Long steps suffer from the noise and short ones do not get far: "
    r"the best is of order $T^{-1/2}$, and then both terms are.",
    notice="On the left, all paths of a two-valued noise on a parabola: the mean square is exactly what the two terms "
    "say, with the variance in the place of the second moment too little. On the right, sums of cosines with the step "
    r"of the theorem fall like $T^{-1/2}$ below the bound, as printed and with the factor $\frac32$.",
)
def sgd_comes_to_a_stationary_point(
    key,
    *,
    curvature: Annotated[float, Interval(ge=0.1, le=10.0)] = 2.0,
    noise: Annotated[float, Interval(ge=0.1, le=10.0)] = 0.7,
    horizons: Annotated[Sizes, MinLen(3)] = (256, 1024, 4096),
    trials: Trials = 256,
):
    random = generator(key)
    # Every path of ten signs, so that means are expectations.
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))[..., None] * noise
    bowl, starts = Quadratic(curvature * jnp.eye(1), jnp.zeros(1)), jnp.ones((1024, 1))
    rates = np.array([0.1, 0.5, 1.0, 1.6]) / curvature
    runs = [wander(bowl, starts, rate, jnp.asarray(signs), steps=10) for rate in rates]
    values, squares = (np.stack(each) for each in zip(*runs, strict=True))
    squares = squares[..., :-1]
    mean, steps = squares.mean((1, 2)), 10
    drop = (values[..., 0] - values[..., -1]).mean(1)
    setting = dict(step_size=rates, smoothness=curvature, steps=steps)
    bound = sgd_stationarity_bound(drop, second_moment=mean + noise**2, **setting)
    variance_only = sgd_stationarity_bound(drop, second_moment=noise**2, **setting)
    # One step at a time, for the line of the proof: E h_{t+1} − E h_t.
    fell = np.diff(values.mean(1), axis=1)
    line = -rates[:, None] * squares.mean(1) + curvature / 2 * rates[:, None] ** 2 * (squares.mean(1) + noise**2)

    weights = np.array([0.5, 1.0, 2.0])
    wells, most, moment = CosineSum(jnp.asarray(weights)), 2 * weights.sum(), np.sum(weights**2) + 9.0
    found, proved = [], []
    for horizon in horizons:
        rate = sgd_step_size(most, smoothness=2.0, second_moment=moment, steps=horizon)
        starts = random.uniform(-np.pi, np.pi, (trials, 3))
        pushes = random.choice([-1.0, 1.0], (trials, horizon, 3)) * 3**0.5
        _, square = wander(wells, jnp.asarray(starts), rate, jnp.asarray(pushes), steps=horizon)
        found.append(np.asarray(square)[:, :-1].mean(1))
        proved.append(1.5 * (most * 2.0 * moment / horizon) ** 0.5)
    return {
        "bound attained by a parabola": Identity(
            mean, bound, size=1024, along={"step": rates * curvature}, aside={"variance": variance_only}
        ),
        "decrease of a step": Identity(
            fell, line, scale=values.max(), size=1024, aside={"step": rates, "square": squares.mean(1)}
        ),
        "fall along the horizon": Rate(
            np.array(horizons), found, exponent=-0.5, rivals=(-1.0,), aside={"bound": proved}
        ),
        "below the bound": Trend(np.array(proved)[:, None] - np.array(found), along={"steps": np.array(horizons)}),
    }


@sgd_comes_to_a_stationary_point.control(
    "the variance in the place of the second moment", of="bound attained by a parabola"
)
def variance_alone(evidence):
    return replace(evidence, right=evidence.aside["variance"])


@sgd_comes_to_a_stationary_point.control("η² without the half: βη²E‖∇̂‖²", of="decrease of a step")
def whole_square(evidence):
    step, square = np.asarray(evidence.aside["step"])[:, None], evidence.aside["square"]
    return replace(evidence, right=2 * evidence.right + step * square)


@sgd_comes_to_a_stationary_point.picture
def paths_and_rates(pieces):
    """Mean squared gradients on a parabola by step (left), and of sums of cosines by number of steps (right)."""
    parabola, wells = pieces["bound attained by a parabola"], pieces["fall along the horizon"]
    step, horizon = parabola.along["step"], np.asarray(wells.x)
    left = [
        Line("predicted", step, parabola.right),
        Dots("all 1024 paths", step, parabola.left),
        Line("predicted", step, parabola.aside["variance"], rival="with the variance"),
    ]
    bound = np.asarray(wells.aside["bound"])
    right = [
        Line("bound, factor 3/2", horizon, bound),
        Line("bound as printed, factor 2", horizon, bound * 4 / 3, dashed=True),
        seen("sum of cosines", horizon, wells.y),
        Line("bound, factor 3/2", horizon, bound[0] * horizon[0] / horizon, rival="like 1/T"),
    ]
    return Row(
        [
            Curves(left, x="step ηβ", y="mean squared gradient"),
            Curves(right, x="number of steps T", y="mean squared gradient", log="xy"),
        ]
    )


@claim(
    items={"A2.24": ("bound attained by a parabola", "steps needed", "accuracy reached")},
    says=r"With batches of $B$ and $\eta\le1/\beta$ the mean of $E\|\nabla_t\|^2$ is at most $\frac{2M}{\eta T}+"
    r"\frac{\eta\beta\gamma^2}B$, attained by $\frac\beta2x^2$ at $\eta=1/\beta$. It is $\epsilon^2$ after "
    r"$8M\beta\gamma^2/(B\epsilon^4)$ steps for $B\le2\gamma^2/\epsilon^2$, then after "
    r"$2M\beta/(\epsilon^2-\gamma^2/B)$.",
    needs="f β-smooth and able to fall by M; one example's gradient has variance at most γ²; the best η",
    symbols={
        "B": "the number of examples in a batch",
        r"\eta": "the step size",
        r"\beta": "the smoothness",
        r"\nabla_t": "the true gradient at step $t$",
        "M": "how much the loss can fall",
        "T": "the number of steps",
        r"\gamma^2": "the variance of the gradient of one example",
        r"\epsilon": "the size of gradient wanted",
    },
    why=r"A batch of $B$ divides the variance by $B$. While noise decides, the best step is in proportion to $B$ and "
    r"the number of steps to $1/B$: twice the batch, half the steps, the same number of examples. The step cannot "
    r"exceed $1/\beta$; from there on larger batches only make each step more exact, and the number of steps comes "
    r"down to the $2M\beta/\epsilon^2$ of full gradients.",
    notice="The guaranteed number of steps first falls with slope minus one and then levels off, at half of what it is "
    r"at the corner, the batch $2\gamma^2/\epsilon^2$. The dots are the steps that runs on a sum of cosines with the "
    "prescribed step really took: far fewer, but with the same corner.",
)
def larger_batches_save_steps_up_to_a_point(
    key,
    *,
    curvature: Annotated[float, Interval(ge=0.1, le=10.0)] = 2.0,
    accuracy: Annotated[float, Interval(ge=0.1, le=1.0)] = 0.3,
    batches: Annotated[Sizes, MinLen(3)] = (32, 64, 128, 256, 1024),
    trials: Trials = 64,
):
    # Two examples, ½β(x ∓ s)²: every choice of batches in three steps, so that means are expectations.
    spread, reach = 0.8, 1.3
    centres, found, predicted = jnp.array([-spread, spread]), [], []
    few = (1, 2, 4)
    for batch in few:
        chosen = np.array(list(itertools.product([0, 1], repeat=3 * batch))).reshape(-1, 3, batch)

        def loss(x, picked):
            return curvature / 2 * jnp.mean((x[0] - centres[picked]) ** 2)

        run = jax.jit(
            jax.vmap(
                lambda picked, loss=loss: (
                    trajectory(loss, optax.sgd(1 / curvature), jnp.array([reach]), steps=3, batches=picked).position
                )
            )
        )
        x = np.asarray(run(jnp.asarray(chosen)))[..., 0]
        found.append(np.mean((curvature * x[:, :-1]) ** 2))
        fall = float(np.mean(curvature / 2 * (x[:, 0] ** 2 - x[:, -1] ** 2)))
        noise = dict(smoothness=curvature, variance=(curvature * spread) ** 2, batch=batch)
        predicted.append(batch_stationarity_bound(fall, step_size=1 / curvature, steps=3, **noise))

    weights, variance = np.array([0.5, 1.0, 2.0]), 9.0
    setting = dict(drop=2 * weights.sum(), smoothness=2.0, variance=variance)
    sizes = np.array(batches)
    steps, rates = map(np.asarray, batch_steps(accuracy, batch=sizes, **setting))
    # The best over a fine grid of steps, without the formula.
    grid = np.geomspace(1e-5, 1.0, 40_001)[:, None] / 2.0
    room = accuracy**2 - grid * 2.0 * variance / sizes
    needed = np.where(room > 0, 2 * setting["drop"] / (grid * np.where(room > 0, room, 1.0)), np.inf)
    least, best = needed.min(0), grid[needed.argmin(0), 0]

    horizon = int(np.ceil(steps.max()))
    assume(horizon <= 5000, "no batch needs more than 5000 steps")
    random, wells = generator(key), CosineSum(jnp.asarray(weights))
    starts, reached, means = random.uniform(-np.pi, np.pi, (trials, 3)), [], []
    for batch, rate, enough in zip(batches, rates, np.ceil(steps).astype(int), strict=True):
        pushes = random.standard_normal((trials, horizon, 3)) * (variance / 3 / batch) ** 0.5
        _, squares = wander(wells, jnp.asarray(starts), rate, jnp.asarray(pushes), steps=horizon)
        average = np.cumsum(np.asarray(squares)[:, :-1], 1) / np.arange(1, horizon + 1)
        reached.append(np.argmax(average.mean(0) <= accuracy**2) + 1)
        means.append(average[:, enough - 1])
    return {
        "bound attained by a parabola": Identity(
            found,
            predicted,
            size=4096,
            along={"batch": np.array(few)},
            aside={"noise": (curvature * spread) ** 2 / np.array(few)},
        ),
        "steps needed": Identity(
            least, steps, error=1e-6 * steps, along={"batch": sizes}, aside={"reached": np.array(reached)}
        ),
        "step size that needs fewest": Identity(best, rates, error=3e-4 * rates, along={"batch": sizes}),
        "accuracy reached": Trend(accuracy**2 - np.array(means), along={"batch": sizes}),
    }


@larger_batches_save_steps_up_to_a_point.control(
    "B² for B: noise that falls twice as fast", of="bound attained by a parabola"
)
def squared_batch(evidence):
    batch = evidence.along["batch"]
    noise = evidence.aside["noise"]
    return replace(evidence, right=np.asarray(evidence.right) - noise + noise / batch)


@larger_batches_save_steps_up_to_a_point.control("fewer steps with every larger batch, 8Mβγ²/(Bε⁴)", of="steps needed")
def no_corner(evidence):
    batch = evidence.along["batch"]
    return replace(evidence, right=evidence.right[0] * batch[0] / batch)


@larger_batches_save_steps_up_to_a_point.picture
def a_corner(pieces, settings):
    """Steps guaranteed to suffice, and steps that runs took, by batch size."""
    steps = pieces["steps needed"]
    batch, variance, accuracy = steps.along["batch"], 9.0, settings["accuracy"]
    fine = np.geomspace(batch[0], batch[-1], 200)
    setting = dict(drop=7.0, smoothness=2.0, variance=variance)
    return Curves(
        [
            Line("guaranteed", fine, batch_steps(accuracy, batch=fine, **setting)[0]),
            Dots("the best on a grid of steps", batch, steps.left),
            Dots("taken by runs", batch, steps.aside["reached"]),
            Line("guaranteed", fine, steps.right[0] * batch[0] / fine, rival="8Mβγ²/(Bε⁴) for ever"),
            Level("2γ²/ε²", x=2 * variance / accuracy**2),
        ],
        x="batch B",
        y="steps",
        log="xy",
    )
