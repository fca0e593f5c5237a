"""Methods side by side: steps needed, and gradients paid for (arora 2.2 to 2.5)."""

import functools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.claims.optimization.descent_examples import minimizer_of
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Rate, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.optimization.landscapes import LogisticRidge, Quadratic
from deeptheory.optimization.methods import newton
from deeptheory.optimization.momentum import optimal_heavy_ball
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.stochastic import minibatches


@functools.partial(jax.jit, static_argnames=("method", "steps"))
def distances(function, start, step, momentum, *, method, steps):
    """How far a run is from the minimum at 0, by gradient descent, the heavy ball or Newton's method."""
    chosen = {"gradient descent": optax.sgd(step), "heavy ball": optax.sgd(step, momentum), "Newton": newton()}[method]
    return jnp.linalg.norm(trajectory(function, chosen, start, steps=steps).position, axis=1)


@claim(
    items={"A2.29": ("gradient descent", "heavy ball", "Newton", "order"), "H4.12": ("gradient descent", "heavy ball")},
    says=r"On a quadratic with condition number $\kappa$, each method at its best step, gradient descent takes a "
    r"number of steps of order $\kappa$, the heavy ball of order $\sqrt\kappa$, Newton's method one.",
    needs="a quadratic; the distance is to fall by a factor of a thousand",
    symbols={r"\kappa": "the condition number, largest over least curvature"},
    why="A step of gradient descent is as long as the steepest direction allows, and the flattest gets $1/\\kappa$ of "
    "what it needs. Momentum adds up what points the same way and makes it $1/\\sqrt\\kappa$. Newton's method measures "
    "every direction by its own curvature, and pays with the Hessian.",
    notice="Three lines: slope one, slope one half, and level. At a condition number of a thousand that is thousands "
    "of steps, a hundred, and one.",
)
def methods_on_an_ill_conditioned_bowl(
    key,
    *,
    conditions: Annotated[Sizes, MinLen(3)] = (30, 100, 300, 1000),
    dimension: Annotated[int, Interval(ge=2, le=30)] = 4,
):
    random = generator(key)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    start, kappa = jnp.asarray(basis @ np.ones(dimension)), np.array(conditions)
    counts: dict[str, list[int]] = {"gradient descent": [], "heavy ball": [], "Newton": []}
    for condition in conditions:
        values = np.geomspace(1 / condition, 1, dimension)
        bowl = Quadratic(jnp.asarray(basis * values @ basis.T), jnp.zeros(dimension))
        best = {
            "gradient descent": (2 / (1 + values[0]), 0.0, 5 * conditions[-1]),
            "heavy ball": (*optimal_heavy_ball(values[0], 1.0), 400),
            "Newton": (1.0, 0.0, 3),
        }
        for method, (step, momentum, steps) in best.items():
            far = np.asarray(distances(bowl, start, step, momentum, method=method, steps=steps))
            counts[method].append(int(np.flatnonzero(far > 1e-3 * far[0])[-1]) + 1)
    descent, ball, one = (np.array(each) for each in counts.values())
    along = {"condition": kappa}
    return {
        "gradient descent": Rate(kappa, descent, exponent=1.0, rivals=(0.5,)),
        "heavy ball": Rate(kappa, ball, exponent=0.5, rivals=(1.0, 0.0)),
        "Newton": Exact(one, np.ones(len(kappa), int), along=along),
        "order": Chain(
            {"Newton before the ball": (one, ball), "the ball before descent": (ball, descent)}, along=along
        ),
    }


@methods_on_an_ill_conditioned_bowl.control("two steps of Newton's method", of="Newton")
def two_steps(evidence):
    return replace(evidence, right=evidence.right + 1)


@methods_on_an_ill_conditioned_bowl.control("descent before the ball", of="order")
def other_order(evidence):
    ball, descent = evidence.links["the ball before descent"]
    return replace(evidence, links={"descent before the ball": (descent, ball)})


@methods_on_an_ill_conditioned_bowl.picture
def three_lines(pieces):
    """Steps to a thousandth of the distance, by condition number."""
    newton_steps = pieces["Newton"]
    marks = [Dots("Newton", newton_steps.along["condition"], newton_steps.left)]
    for name, power in (("gradient descent", 1.0), ("heavy ball", 0.5)):
        x, y = np.asarray(pieces[name].x, float), np.asarray(pieces[name].y)
        marks += [Dots(name, x, y), Line(name, x, y[-1] * (x / x[-1]) ** power)]
    return Curves(marks, x="condition number κ", y="steps", log="xy")


@functools.partial(jax.jit, static_argnames="steps")
def logistic_gaps(loss, rate, chosen, least, *, steps):
    """How far above the least loss runs of SGD are, each with its batches, and a run of gradient descent."""

    def batch_loss(w, batch):
        return LogisticRidge(loss.features[batch], loss.labels[batch], loss.ridge)(w)

    def run(picked):
        path = trajectory(batch_loss, optax.sgd(rate), jnp.zeros(loss.features.shape[1]), steps=steps, batches=picked)
        return jax.vmap(loss)(path.position) - least

    exact = trajectory(loss, optax.sgd(1 / loss.smoothness), jnp.zeros(loss.features.shape[1]), steps=steps)
    return jax.vmap(run)(chosen), exact.value - least


@claim(
    items={"A2.10": ("for the same gradients", "for the same steps")},
    says=r"To come within $\frac1{10}$ of the way to the least logistic loss, stochastic gradient descent with batches "
    r"of $B$ of $n$ examples needs less than half of the gradients of single examples that gradient descent needs, but "
    r"more steps.",
    needs="logistic regression with many alike examples; gradient descent with step 1/L, SGD with a fixed step near it",
    symbols={"B": "the examples in a batch, ten here", "n": "all examples, a thousand here"},
    why="When examples resemble each other a batch tells almost what all of them tell, at a fraction of the price. Its "
    "noise matters only near the minimum. Counted in steps the noise can only cost.",
    notice="Against the number of gradients of examples, SGD is down long before gradient descent has made its second "
    "step. It ends in a band whose height is set by its step.",
)
def sgd_is_cheaper_not_faster(
    key,
    *,
    examples: Annotated[int, Interval(ge=100, le=5000)] = 1000,
    batch: Annotated[int, Interval(ge=1, le=64)] = 10,
    trials: Trials = 64,
):
    random = generator(key)
    features = random.standard_normal((examples, 8))
    labels = np.where(features @ np.ones(8) + random.standard_normal(examples) > 0, 1.0, -1.0)
    loss = LogisticRidge(jnp.asarray(features), jnp.asarray(labels), jnp.asarray(0.05))
    steps = 60
    chosen = minibatches(key, examples=examples, batch=batch, steps=steps, runs=trials)
    least = float(loss(minimizer_of(loss)))
    noisy, plain = map(np.asarray, logistic_gaps(loss, 0.8 / loss.smoothness, jnp.asarray(chosen), least, steps=steps))
    goal = plain[0] / 10

    def first(gaps):
        return np.argmax(gaps <= goal, axis=-1)

    reached, exact = np.maximum(first(noisy), 1), int(first(plain))
    missing = np.where(np.any(noisy <= goal, axis=1), reached, steps)
    paid = np.log(exact * examples) - np.log(missing * batch)
    aside = {"noisy": noisy[:6], "plain": plain, "batch": batch, "examples": examples, "goal": goal, "paid": paid}
    return {
        "for the same gradients": Trend(paid - np.log(2), aside=aside),
        "for the same steps": Trend(
            missing - exact + 0.0, aside={"steps": missing, "exact": exact, "ratio": examples / batch}
        ),
    }


@sgd_is_cheaper_not_faster.control("cheaper by n/B, as if its steps were as good", of="for the same gradients")
def as_good_steps(evidence):
    aside = evidence.aside
    return replace(evidence, differences=aside["paid"] - np.log(aside["examples"] / aside["batch"]))


@sgd_is_cheaper_not_faster.control("n/B times the steps, as if only gradients counted", of="for the same steps")
def as_many_gradients(evidence):
    aside = evidence.aside
    return replace(evidence, differences=aside["steps"] - aside["exact"] * aside["ratio"])


@sgd_is_cheaper_not_faster.picture
def down_for_less(pieces):
    """The loss above its least, against the number of gradients of examples paid for."""
    aside = pieces["for the same gradients"].aside
    time = np.arange(1, len(aside["plain"]))
    marks = [Line("SGD", time * int(aside["batch"]), gap[1:]) for gap in aside["noisy"]]
    marks.append(Line("gradient descent", time * int(aside["examples"]), aside["plain"][1:]))
    return Curves(
        [*marks, Level("a tenth", y=float(aside["goal"]))],
        x="gradients of single examples",
        y="loss above the least",
        log="xy",
    )
