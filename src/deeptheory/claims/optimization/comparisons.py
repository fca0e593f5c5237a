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
    """How far a run is from the minimum at 0, by one of the methods."""
    chosen = {
        "gradient descent": optax.sgd(step),
        "heavy ball": optax.sgd(step, momentum),
        "Nesterov": optax.sgd(step, momentum, nesterov=True),
        "AdaGrad": optax.adagrad(step, initial_accumulator_value=0.0, eps=0.0),
        "Newton": newton(),
    }[method]
    return jnp.linalg.norm(trajectory(function, chosen, start, steps=steps).position, axis=1)


def steps_down(far):
    """The steps after which a run stays within a thousandth of its first distance."""
    return int(np.flatnonzero(far > 1e-3 * far[0])[-1]) + 1


def adagrad_by_hand(step, steps):
    """AdaGrad on x²/2 from 1: a gradient that is λ times as large is divided by a root that is λ times as large."""
    x, total, path = 1.0, 0.0, [1.0]
    for _ in range(steps):
        total += x**2
        x -= step * x / total**0.5
        path.append(x)
    return np.abs(path)


@claim(
    items={
        "A2.29": (
            "gradient descent",
            "steps of gradient descent",
            "heavy ball",
            "Nesterov",
            "AdaGrad along the axes",
            "Newton",
            "order",
        ),
        "H4.12": ("gradient descent", "heavy ball"),
    },
    says=r"On a quadratic of condition number $\kappa$ gradient descent takes a number of steps of order $\kappa$, the "
    r"heavy ball and Nesterov's method of order $\sqrt\kappa$, Newton's method one, and AdaGrad as many whatever "
    r"$\kappa$ if the curvatures differ along the axes.",
    needs="a quadratic; the distance is to fall by a factor of a thousand; gradient descent and the heavy ball at "
    "their best steps, Nesterov's method at 1/L",
    symbols={r"\kappa": "the condition number, largest over least curvature"},
    why="A step of gradient descent is as long as the steepest direction allows, and the flattest gets $1/\\kappa$ of "
    "what it needs. Momentum adds up what points the same way and makes it $1/\\sqrt\\kappa$. Newton's method measures "
    "every direction by its own curvature, and pays with the Hessian. AdaGrad divides the gradient of a coordinate by "
    "the root of the sum of its squares: a factor on both cancels, but only of coordinates, not of other directions.",
    notice="Lines of slope one and one half, and level ones. At a condition number of a thousand that is 3,281 steps "
    "of gradient descent, 192 of the heavy ball, 262 of Nesterov's method, one of Newton's, and 13 of AdaGrad; with "
    "the axes turned AdaGrad needs more with every condition number, far beyond a thousand at the last.",
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
    counts: dict[str, list[int]] = {name: [] for name in ("gradient descent", "heavy ball", "Nesterov", "Newton")}
    along_axes, turned, closed, shorter = [], [], [], []
    time = np.arange(5 * conditions[-1] + 1)
    for condition in conditions:
        values = np.geomspace(1 / condition, 1, dimension)
        bowl = Quadratic(jnp.asarray(basis * values @ basis.T), jnp.zeros(dimension))
        shrink = 1 - values[0] ** 0.5
        best = {
            "gradient descent": (2 / (1 + values[0]), 0.0, 5 * conditions[-1]),
            "heavy ball": (*optimal_heavy_ball(values[0], 1.0), 400),
            "Nesterov": (1.0, shrink / (2 - shrink), 800),
            "Newton": (1.0, 0.0, 3),
        }
        for method, (step, momentum, steps) in best.items():
            counts[method].append(
                steps_down(np.asarray(distances(bowl, start, step, momentum, method=method, steps=steps)))
            )
        upright = Quadratic(jnp.diag(jnp.asarray(values)), jnp.zeros(dimension))
        for runs, each, begin in ((along_axes, upright, jnp.ones(dimension)), (turned, bowl, start)):
            runs.append(
                steps_down(np.asarray(distances(each, begin, 0.5, 0.0, method="AdaGrad", steps=5 * conditions[-1])))
            )
        # The distance in closed form, at the best step and at 1/L.
        for found, step in ((closed, 2 / (1 + values[0])), (shorter, 1.0)):
            found.append(steps_down(np.linalg.norm(np.abs(1 - step * values) ** time[:, None], axis=1)))
    descent, ball, ahead, one = (np.array(each) for each in counts.values())
    along = {"condition": kappa}
    return {
        "gradient descent": Rate(kappa, descent, exponent=1.0, rivals=(0.5,)),
        "steps of gradient descent": Exact(
            descent, np.array(closed), along=along, aside={"step 1/L": np.array(shorter)}
        ),
        "heavy ball": Rate(kappa, ball, exponent=0.5, rivals=(1.0, 0.0)),
        "Nesterov": Rate(kappa, ahead, exponent=0.5, rivals=(1.0, 0.0)),
        "AdaGrad along the axes": Exact(
            np.array(along_axes),
            np.full(len(kappa), steps_down(adagrad_by_hand(0.5, 100))),
            along=along,
            aside={"turned": np.array(turned)},
        ),
        "Newton": Exact(one, np.ones(len(kappa), int), along=along),
        "order": Chain(
            {
                "Newton before the ball": (one, ball),
                "the ball before Nesterov": (ball, ahead),
                "Nesterov before descent": (ahead, descent),
            },
            along=along,
        ),
    }


@methods_on_an_ill_conditioned_bowl.control("two steps of Newton's method", of="Newton")
def two_steps(evidence):
    return replace(evidence, right=evidence.right + 1)


@methods_on_an_ill_conditioned_bowl.control("step 1/L for 2/(L + μ)", of="steps of gradient descent")
def shorter_step(evidence):
    return replace(evidence, right=evidence.aside["step 1/L"])


@methods_on_an_ill_conditioned_bowl.control("whatever the axes", of="AdaGrad along the axes")
def turned_axes(evidence):
    return replace(evidence, left=evidence.aside["turned"])


@methods_on_an_ill_conditioned_bowl.control("Nesterov's method before the heavy ball", of="order")
def other_order(evidence):
    ball, ahead = evidence.links["the ball before Nesterov"]
    return replace(evidence, links={"Nesterov before the ball": (ahead, ball)})


@methods_on_an_ill_conditioned_bowl.picture
def lines_of_steps(pieces):
    """Steps to a thousandth of the distance, by condition number."""
    newton_steps, level = pieces["Newton"], pieces["AdaGrad along the axes"]
    kappa = np.asarray(newton_steps.along["condition"], float)
    marks = [
        Dots("Newton", kappa, newton_steps.left),
        Dots("AdaGrad along the axes", kappa, level.left),
        Line("AdaGrad along the axes", kappa, level.right),
        Line("AdaGrad along the axes", kappa, level.aside["turned"], rival="axes turned"),
    ]
    for name, power in (("gradient descent", 1.0), ("heavy ball", 0.5), ("Nesterov", 0.5)):
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
