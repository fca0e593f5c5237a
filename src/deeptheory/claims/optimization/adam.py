"""Adam: the update written out, what it does not see, and the race across a plateau (handbook 4.2.2)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.optimization.landscapes import Quadratic
from deeptheory.optimization.momentum import constant_slope_way
from deeptheory.optimization.runs import trajectory

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8
"""the usual decays of both moments, and what is added to the root of the second"""


@jax.jit
def roll(matrix, start, rate):
    """Positions of Adam on a quadratic."""
    return trajectory(Quadratic(matrix, jnp.zeros(len(start))), optax.adam(rate), start, steps=60).position


@jax.jit
def cross(slopes, rate, time):
    """Positions of gradient descent, the heavy ball and Adam on planes, over time."""

    def run(slope):
        plane = lambda w: slope * w  # noqa: E731
        methods = (optax.sgd(rate), optax.sgd(rate, FIRST), optax.adam(rate, eps=0.0))
        return jnp.stack([trajectory(plane, each, jnp.zeros(()), steps=len(time) - 1).position for each in methods])

    return jax.vmap(run)(slopes)


def written_out(matrix, start, rate, *, corrected=True):
    """Adam on ½wᵀAw by its definition: decaying means of the gradient and of its square, each divided by 1 − βᵗ."""
    path, mean, square = [start], np.zeros_like(start), np.zeros_like(start)
    for time in range(1, 61):
        gradient = matrix @ path[-1]
        mean = FIRST * mean + (1 - FIRST) * gradient
        square = SECOND * square + (1 - SECOND) * gradient**2
        shares = (1 - FIRST**time, 1 - SECOND**time) if corrected else (1.0, 1.0)
        path.append(path[-1] - rate * (mean / shares[0]) / (np.sqrt(square / shares[1]) + SMALL))
    return np.array(path)


@claim(
    items={
        "H4.11": ("update", "first step", "same path on a steeper loss", "another path in another basis"),
        "H4.12": ("way on a plane", "steps by slope"),
        "H4.10": "way on a plane",
    },
    says=r"Adam's first step is $-\eta\,\mathrm{sign}\,\nabla f$, and its path on $cf$ is that on $f$, but not that in "
    r"turned coordinates. On a plain of slope $g$, $t$ steps go $\eta gt$ by gradient descent, $\frac{\eta g}{1-\beta}"
    r"(t-\beta\frac{1-\beta^t}{1-\beta})$ by the heavy ball, and $\eta t$ by Adam, however small $g$ is.",
    needs="β₁ = 0.9, β₂ = 0.999; ε small beside the gradients",
    symbols={
        r"\eta": "the step size",
        "f": "the loss",
        "c": "a positive factor",
        "g": "the slope",
        "t": "the number of steps",
        r"\beta": "the momentum",
    },
    why=r"Adam divides a mean of gradients by the root of a mean of their squares, coordinate by coordinate: a factor "
    r"cancels, a rotation does not. For a constant gradient the quotient is its sign, so a plain is crossed at speed "
    r"$\eta$. The heavy ball's velocity is a geometric sum, up to $\frac1{1-\beta}$ times that of gradient descent: "
    r"ten times as fast, but on a plain ten times as flat just as slow.",
    notice="Left, the way made on a plain: the heavy ball needs some ten steps to gather speed. Right, the steps "
    "needed to go one unit, by slope: inversely proportional to it for gradient descent and for the heavy ball, which "
    "is ten times faster at every slope; for Adam always the same number.",
    explore={"rate": (0.01, 0.05, 0.1)},
)
def adam_does_not_see_the_size_of_the_slope(
    key,
    *,
    rate: Annotated[float, Interval(ge=0.005, le=0.2)] = 0.05,
    factor: Annotated[float, Interval(ge=2.0, le=1e4)] = 100.0,
):
    random = generator(key)
    turn = np.linalg.qr(random.standard_normal((4, 4)))[0]
    matrix, start = np.diag([30.0, 5.0, 1.0, 0.2]), random.choice([-1, 1], 4) * random.uniform(1, 2, 4)
    plain = np.asarray(roll(jnp.asarray(matrix), jnp.asarray(start), rate))
    steep = np.asarray(roll(jnp.asarray(factor * matrix), jnp.asarray(start), rate))
    turned = np.asarray(roll(jnp.asarray(turn @ matrix @ turn.T), jnp.asarray(turn @ start), rate)) @ turn
    slopes, time = np.geomspace(1e-3, 1.0, 7), np.arange(201)
    ways = -np.asarray(cross(jnp.asarray(slopes), rate, jnp.asarray(time)))
    speed = np.stack([rate * slopes, rate * slopes / (1 - FIRST)])
    predicted = np.stack(
        [
            rate * slopes[:, None] * time,
            constant_slope_way(time, slope=slopes[:, None], step_size=rate, momentum=FIRST),
            np.broadcast_to(rate * time, (len(slopes), len(time))),
        ],
        axis=1,
    )
    apart = np.abs(turned - plain).max() / np.abs(plain).max()
    return {
        "update": Identity(
            plain,
            written_out(matrix, start, rate),
            scale=2.0,
            size=60,
            condition=1e3,
            aside={"not corrected": written_out(matrix, start, rate, corrected=False)},
        ),
        "first step": Identity(
            plain[1] - plain[0], -rate * np.sign(start), error=1e-7 * rate, aside={"gradient": matrix @ start}
        ),
        "same path on a steeper loss": Identity(steep, plain, scale=2.0, error=1e-5, aside={"turned": turned}),
        "another path in another basis": Exact(np.array(apart > 1e-2), np.array(True)),
        "way on a plane": Identity(
            ways,
            predicted,
            scale=rate * np.maximum(time, 1),
            condition=1e3,
            size=200,
            along={"slope": slopes, "method": [0, 1, 2], "step": time},
        ),
        "steps by slope": Rate(
            slopes,
            100 / (ways[:, 1, 200] - ways[:, 1, 100]),
            exponent=-1.0,
            rivals=(-0.5,),
            aside={"speed": speed, "rate": rate},
        ),
    }


@adam_does_not_see_the_size_of_the_slope.control("without the correction by 1 − βᵗ", of="update")
def not_corrected(evidence):
    return replace(evidence, right=evidence.aside["not corrected"])


@adam_does_not_see_the_size_of_the_slope.control("a first step along the gradient, of length η", of="first step")
def along_the_gradient(evidence):
    gradient = np.asarray(evidence.aside["gradient"])
    step = np.linalg.norm(evidence.right) / len(gradient) ** 0.5
    return replace(evidence, right=-step * gradient / np.linalg.norm(gradient))


@adam_does_not_see_the_size_of_the_slope.control("rotations do not matter either", of="same path on a steeper loss")
def rotation_too(evidence):
    return replace(evidence, left=evidence.aside["turned"])


@adam_does_not_see_the_size_of_the_slope.control("the heavy ball at its full speed from the start", of="way on a plane")
def full_speed(evidence):
    right = np.array(evidence.right)
    right[:, 1] = 10 * right[:, 0]
    return replace(evidence, right=right)


@adam_does_not_see_the_size_of_the_slope.picture
def ways_and_races(pieces):
    """The way on a plain of slope 1/10 (left); steps to go one unit by slope (right)."""
    way, race = pieces["way on a plane"], pieces["steps by slope"]
    slopes, time = np.asarray(way.along["slope"]), np.asarray(way.along["step"])
    names, middle = ("gradient descent", "heavy ball", "Adam"), 4
    left = []
    for place, name in enumerate(names):
        left += [Line(name, time, way.right[middle, place]), Dots(name, time[::20], way.left[middle, place, ::20])]
    speed, rate = np.asarray(race.aside["speed"]), race.aside["rate"]
    right = [
        Line("gradient descent", slopes, 1 / speed[0]),
        Line("heavy ball", slopes, 1 / speed[1]),
        Dots("heavy ball", slopes, race.y),
        Line("Adam", slopes, np.full(len(slopes), 1 / rate)),
    ]
    return Row([Curves(left, x="step", y="way"), Curves(right, x="slope g", y="steps to go one unit", log="xy")])
