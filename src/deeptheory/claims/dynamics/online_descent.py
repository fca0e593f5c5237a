"""Online gradient descent in a fixed dimension: on average down the population loss, in the limit along its flow.

jagannath 11.1, 12.1.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.dynamics.online import exit_probability, interpolated, online_descent, online_step
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Limit, Positive, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Row, seen

END = 1.5


def squared_error(x, sample):
    """Half the squared error of a linear prediction."""
    inputs, answer = sample
    return (answer - inputs @ x) ** 2 / 2


@jax.jit
def first_steps(x, samples, step):
    return jax.vmap(lambda sample: (online_step(squared_error, x, sample, step) - x) / step)(samples)


@partial(jax.jit, static_argnames="points")
def paths(start, samples, step, points):
    """Interpolated paths at even times, one a row of samples."""
    times = np.linspace(0, END, points)

    def one(sample):
        _, path = online_descent(squared_error, start, sample, step=step)
        return interpolated(path, times, step=step)[:, 0]

    return jax.vmap(one)(samples)


@claim(
    items={
        "J11.1": "mean step",
        "J11.2": ("distance from the flow", "spread around the flow", "rate of large deviations"),
    },
    says=r"A step of online gradient descent is on average $-\delta\nabla\Phi$. As $\delta\to0$ in a fixed dimension "
    r"its interpolated path comes to the solution of $\dot x=-\nabla\Phi(x)$, at a distance of order $\sqrt\delta$, "
    r"and $-\delta\log P(\sup_t|X_t-\bar x_t|>\epsilon)\to I(\epsilon)$.",
    needs="independent samples; least squares with Gaussian inputs, for I a quadratic loss with Gaussian noise",
    full=dict(sizes=(16, 64, 256, 1024)),
    symbols={
        r"\delta": "the length of a step, which counts as time",
        r"\Phi": "the population loss",
        r"X_t": "the iterates, interpolated linearly",
        r"\bar x_t": "the solution of the differential equation",
        r"\epsilon": "a distance",
        r"I": "the rate function",
    },
    why=r"Each sample is fresh, so given the past a step has the mean of a gradient step on $\Phi$. In a time $T$ "
    r"there are $T/\delta$ steps with independent errors of size $\delta$: together $\sqrt{T\delta}$. Around it "
    r"the path is nearly a Gaussian process of variance $\delta$ times a constant, whose chance of an excursion to "
    r"$\epsilon$ is $e^{-I/\delta}$; for the quadratic loss $I=\epsilon^2/(1-e^{-2T})$.",
    notice="Paths gather around the solution as the steps become shorter. In fixed dimension that is all: what high "
    "dimension adds are terms that do not vanish with the step.",
)
def online_descent_follows_the_flow(
    key,
    *,
    sizes: Annotated[Sizes, Interval(ge=4, le=4096), MinLen(3)] = (16, 64, 256),
    trials: Trials = 8192,
    noise: Positive = 0.7,
):
    draw = generator(key)
    scales, truth, x = np.array([1.0, 0.5, 2.0]), np.array([0.4, -1.0, 0.8]), np.array([1.0, 0.3, -0.2])
    inputs = scales * draw.standard_normal((16 * trials, 3))
    answers = inputs @ truth + noise * draw.standard_normal(16 * trials)
    moved = np.asarray(first_steps(x, (inputs, answers), 0.1)).T

    # One dimension, truth 0: the solution is x₀e^(−t), and the variance of a gradient at x is 2x² + σ².
    begin, points = np.array([1.2]), 33
    grid = np.linspace(0, END, points)
    solution, gaps, ends, shown = begin[0] * np.exp(-grid), [], [], []
    for size in sizes:
        steps = int(np.ceil(END * size))
        data = draw.standard_normal((trials, steps, 1)), noise * draw.standard_normal((trials, steps))
        found = np.asarray(paths(begin, data, 1 / size, points))
        gaps.append(np.abs(found - solution).max(1))
        ends.append(size * (found[:, -1] - solution[-1]) ** 2)
        shown.append(found[:6])
    decay = np.exp(-2 * END)
    spread = 2 * begin[0] ** 2 * END * decay + noise**2 * (1 - decay) / 2
    deltas = np.array([8, 16, 32, 64])
    away, spans = np.array([1.0, 1.0, 0.7]), np.array([1.0, 0.5, 1.0])  # ε and T
    chances = [
        [exit_probability(step=1 / d, radius=e, time=t, nodes=160 + 4 * d) for d in deltas.tolist()]
        for e, t in zip(away.tolist(), spans.tolist(), strict=True)
    ]
    cost = -np.log(np.array(chances)) / deltas
    allowed = (away**2 / (1 - np.exp(-2 * spans)))[:, None]
    return {
        "mean step": Law(
            -(scales**2) * (x - truth),
            moved,
            exact=True,
            scale=float(np.linalg.norm(scales**2 * (x - truth))),  # the length of the gradient
            aside={"gap": x - truth},
        ),
        "distance from the flow": Rate(
            np.array(sizes, float),
            np.array(gaps),
            exponent=-0.5,
            rivals=(0.0, -1.0),
            aside={"paths": np.array(shown), "solution": solution, "times": grid},
        ),
        "spread around the flow": Law(
            spread, np.array(ends), sizes=sizes, order=1.0, resolution=0.15, aside={"noise": noise}
        ),
        "rate of large deviations": Limit(
            deltas.astype(float),
            np.abs(cost - allowed).max(0),  # the farthest of three pairs of ε and T
            order=0.5,
            aside={"cost": cost, "ε": away, "T": spans},
        ),
    }


@online_descent_follows_the_flow.control("the gradient of ‖x − w‖²/2, whatever the inputs", of="mean step")
def unscaled(evidence):
    return replace(evidence, predicted=-np.asarray(evidence.aside["gap"]))


@online_descent_follows_the_flow.control("half the exponent: 1 − e^(−T) in I", of="rate of large deviations")
def slower_rate(evidence):
    slower = evidence.aside["ε"] ** 2 / (1 - np.exp(-evidence.aside["T"]))
    return replace(evidence, y=np.abs(evidence.aside["cost"] - slower[:, None]).max(0))


@online_descent_follows_the_flow.control("ε for ε² in I", of="rate of large deviations")
def first_power(evidence):
    linear = evidence.aside["ε"] / (1 - np.exp(-2 * evidence.aside["T"]))
    return replace(evidence, y=np.abs(evidence.aside["cost"] - linear[:, None]).max(0))


@online_descent_follows_the_flow.control("the spread of the noise of the answers alone", of="spread around the flow")
def answers_alone(evidence):
    return replace(evidence, predicted=float(evidence.aside["noise"]) ** 2 * (1 - np.exp(-2 * END)) / 2)


@online_descent_follows_the_flow.picture
def paths_around_the_solution(pieces):
    """Paths for longer and shorter steps around the solution (left); their largest distance from it (right)."""
    found = pieces["distance from the flow"]
    times, solution = np.asarray(found.aside["times"]), np.asarray(found.aside["solution"])
    marks = [Line("flow", times, solution)]
    for size, some in zip(np.asarray(found.x), np.asarray(found.aside["paths"]), strict=True):
        marks += [Line(f"δ = 1/{size:.0f}", times, path, thin=True) for path in some]
    grid = np.geomspace(min(found.x), max(found.x), 40)
    last = np.asarray(found.y)[-1].mean()
    right = [seen("seen", found.x, found.y), Line("√δ", grid, last * np.sqrt(max(found.x) / grid))]
    return Row(
        [
            Curves(marks, x="time", y="position x"),
            Curves(right, x="inverse step size 1/δ", y="largest distance from the flow", log="xy"),
        ]
    )
