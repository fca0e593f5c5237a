"""Sharp and flat minima: what SGD stays in, and why sharpness alone says little (handbook 4.2.1 and 5.4)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.curvature.edge_of_stability import sharpness
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.landscapes.critical_points import sphere_extremes
from deeptheory.optimization.stochastic import escape_exponent, mean_square_factor, minibatches

SHARP, FLAT = 8.0, 1.0
"""mean curvatures of the two wells"""


def run(theta, factors, rate):
    """Where SGD on min{½a(θ + 1)², ½b(θ − 1)²} times the mean factor of a batch ends: examples share both minima."""
    for factor in factors:
        left = SHARP * (theta + 1) ** 2 < FLAT * (theta - 1) ** 2
        theta = theta - rate * factor * np.where(left, SHARP * (theta + 1), FLAT * (theta - 1))
    return theta


@claim(
    items={
        "H5.9": ("growth in the long run", "growth of the mean square", "the well it ends in"),
        "H4.9": "growth of the mean square",
    },
    says=r"In a well that examples with losses $\frac12h_i\theta^2$ share, SGD has $E\theta_{t+1}^2=[(1-\eta\bar h)^2+"
    r"\frac{\eta^2v}B]E\theta_t^2$ and $\frac1t\ln|\theta_t|\to E\ln|1-\eta h_S|$. If that is positive it leaves, even "
    r"with $\eta<2/\bar h$; with a flat well beside the sharp one every run ends in the flat one.",
    needs="batches of B drawn with replacement; both wells fit all examples",
    symbols={
        "h_i": "the curvature of the loss of an example",
        r"\theta": "the distance from the minimum",
        r"\eta": "the step size",
        r"\bar h, v": "mean and variance of the curvatures",
        "B": "the number of examples in a batch",
        "h_S": "the mean curvature of a batch",
        "t": "the number of steps",
    },
    why=r"A step multiplies $\theta$ by $1-\eta h_S$. Its mean square is that of the mean plus the variance; its "
    r"logarithm adds up along the run, so the law of large numbers decides where a run goes. Of single examples the "
    r"steep ones throw a run out farther than the others bring it back, from shorter steps on than gradient descent "
    r"bears. A flat well has all factors near one, and keeps whom it catches.",
    notice="Left, the rate at which a run in the sharp well grows, by the step, for batches of three sizes: single "
    "examples leave from 1.3 on, long before the 2 of gradient descent, larger batches from 2.2 on. Right, the "
    "share of runs that end in the flat well, all started in the sharp one.",
    explore={"spread": (0.3, 0.6, 0.8)},
)
def sgd_leaves_sharp_wells(
    key,
    *,
    spread: Annotated[float, Interval(ge=0.1, le=0.9)] = 0.8,
    steps: Annotated[int, Interval(ge=400, le=10_000)] = 600,
    trials: Trials = 800,
):
    factors, batches = np.array([1 - spread, 1 + spread]), np.array([1, 4, 12])
    rates = np.array([0.5, 0.9, 1.4, 1.8, 2.4]) / SHARP
    exponents = np.array(
        [[escape_exponent(SHARP * factors, step_size=r, batch=int(b)) for r in rates] for b in batches]
    )
    squares = np.array(
        [[mean_square_factor(SHARP * factors, step_size=r, batch=int(b)) for r in rates] for b in batches]
    )
    seen, first, ends = [], [], []
    for place, batch in enumerate(batches.tolist()):
        drawn = minibatches(jax.random.fold_in(key, place), examples=2, batch=batch, steps=steps, runs=trials)
        chosen = factors[drawn].mean(-1).T
        factor = 1 - rates[:, None, None] * SHARP * chosen
        seen.append(np.mean(np.log(np.abs(factor)), axis=1))
        first.append(np.mean(factor**2, axis=1))
        start = -1 + 1e-3 * np.ones((len(rates), trials))
        with np.errstate(over="ignore"):
            ends.append(run(start, chosen[:, None], rates[:, None]) > 0)
    inside = np.sum(ends, axis=2)
    # Where the rate of growth is near zero no number of steps decides.
    decided = np.abs(exponents) > 0.05
    along = {"batch": batches, "step": rates}
    return {
        "growth in the long run": Law(
            exponents,
            np.array(seen),
            exact=True,
            along=along,
            scale=0.3,  # rates near zero decide, so what counts is the absolute error
            resolution=0.1,
            aside={"of the mean": np.log(np.abs(1 - rates * SHARP))},
        ),
        "growth of the mean square": Law(
            squares, np.array(first), exact=True, along=along, aside={"least": squares - (1 - rates * SHARP) ** 2}
        ),
        "the well it ends in": Exact(
            np.where(decided, inside, 0),
            np.where(decided & (exponents > 0), trials, 0),
            along=along,
            aside={"share": inside / trials, "descent": np.where(decided & (rates * SHARP > 2), trials, 0)},
        ),
    }


@sgd_leaves_sharp_wells.control("the growth of gradient descent, ln|1 − ηh̄|", of="growth in the long run")
def without_noise(evidence):
    return replace(evidence, predicted=np.broadcast_to(evidence.aside["of the mean"], np.shape(evidence.predicted)))


@sgd_leaves_sharp_wells.control("B + 1 for B", of="growth of the mean square")
def larger_batch(evidence):
    batch = np.asarray(evidence.along["batch"])[:, None]
    return replace(evidence, predicted=evidence.predicted - np.asarray(evidence.aside["least"]) / (batch + 1))


@sgd_leaves_sharp_wells.control("it leaves if and only if η > 2/h̄, as gradient descent", of="the well it ends in")
def edge_of_descent(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["descent"]))


@sgd_leaves_sharp_wells.picture
def edges_and_ends(pieces, settings):
    """The growth rate in the sharp well by step and batch (left), and the share of runs in the flat one (right)."""
    growth, ends = pieces["growth in the long run"], pieces["the well it ends in"]
    rates, batches = np.asarray(growth.along["step"]), np.asarray(growth.along["batch"])
    factors = SHARP * np.array([1 - settings["spread"], 1 + settings["spread"]])
    grid = np.linspace(0.05, 2.6, 200) / SHARP
    left, right = [], []
    for place, batch in enumerate(batches.tolist()):
        name = f"batches of {batch}"
        curve = [escape_exponent(factors, step_size=float(r), batch=batch) for r in grid]
        left += [
            Line(name, grid * SHARP, np.maximum(curve, -2)),
            Dots(name, rates * SHARP, np.mean(growth.observed[place], -1)),
        ]
        right.append(Line(name, rates * SHARP, np.asarray(ends.aside["share"])[place]))
    return Row(
        [
            Curves(
                [*left, Level("no growth", y=0.0)], x="step times curvature", y="growth of ln|θ| a step", ys=(-2, 1)
            ),
            Curves(right, x="step times curvature", y="share that ends in the flat well"),
        ]
    )


def product_loss(weights):
    """½(w₁w₂ − 1)²: the simplest loss of a network of two layers, without change along w₁w₂ = 1."""
    return (weights[0] * weights[1] - 1) ** 2 / 2


def two_layers(weights, inputs):
    """Outputs of a ReLU network of two inputs and three hidden units, from flat weights."""
    return jax.nn.relu(inputs @ weights[:6].reshape(2, 3)) @ weights[6:]


@jax.jit
def measured(scales, angles, weights, inputs, labels, start):
    """Sharpness and worst rise at (a, 1/a); outputs and Hessians of a network with layers scaled by a and 1/a."""
    circle = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)

    def at(a):
        point = jnp.stack([a, 1 / a])
        scaled = jnp.concatenate([a * weights[:6], weights[6:] / a])
        top = sharpness(product_loss, point, start, iterations=2)[0]
        loss = lambda w: jnp.mean((two_layers(w, inputs) - labels) ** 2) / 2  # noqa: E731
        rise = sphere_extremes(product_loss, point, jnp.array([1e-4]) / (a + 1 / a), circle)[1][0]
        return top, rise * (a + 1 / a) ** 2, two_layers(scaled, inputs), jax.hessian(loss)(scaled)

    return jax.vmap(at)(scales)


@claim(
    items={
        "H4.8": ("largest curvature", "worst rise", "same function", "blocks of the Hessian"),
        "H4.6": "largest curvature",
    },
    says=r"The sharpness $\lambda$ of a minimum is its largest curvature; within a small radius $r$ the loss rises by "
    r"at most $\frac12\lambda r^2$. For $\frac12(w_1w_2-1)^2$ at $(a,\frac1a)$ it is $a^2+a^{-2}$: layers scaled by "
    r"$a$ and $\frac1a$ change no output of a network, and make a minimum as sharp as one likes.",
    needs="a > 0; activations with σ(az) = aσ(z), such as ReLU",
    symbols={
        r"\lambda": "the largest eigenvalue of the Hessian",
        "r": "the radius of the ball",
        "a": "by how much the first layer is scaled",
        "w_1, w_2": "the two weights",
    },
    why=r"Second derivatives by weights of the first layer carry $a^{-2}$, by those of the second $a^2$, and mixed "
    r"ones none, as each derivative undoes the scaling of its weight once. So the same function, with the same error "
    r"on any data, has a sharp and a flat description. That flat minima generalize better can be said only of a "
    r"measure that scaling leaves alone, or of minima found by one method from one scale.",
    notice="Along the hyperbola of minima the sharpness has its least value 2 in the middle and grows without bound to "
    "both sides, while the function stays the same. Counting only the trace of one layer would miss one side.",
    explore={"largest": (2.0, 4.0, 10.0)},
)
def sharpness_depends_on_the_scale(key, *, largest: Annotated[float, Interval(ge=1.5, le=20.0)] = 4.0):
    random = generator(key)
    scales = np.geomspace(1 / largest, largest, 9)
    angles = np.linspace(0, np.pi, 20_001)
    weights, inputs, labels = (random.standard_normal(shape) for shape in (9, (12, 2), 12))
    given = [jnp.asarray(each) for each in (scales, angles, weights, inputs, labels, np.array([1.0, 0.3]))]
    top, rise, outputs, hessians = map(np.asarray, measured(*given))
    middle, factor = hessians[len(scales) // 2], np.stack([np.where(np.arange(9) < 6, 1 / a, a) for a in scales])
    expected = factor[:, :, None] * middle * factor[:, None]
    # The residual's own curvature, mean residual times second derivative of the output, is in the mixed block alone.
    return {
        "largest curvature": Identity(top, scales**2 + scales**-2, along={"scale": scales}, condition=1e3),
        "worst rise": Identity(
            rise, (scales**2 + scales**-2) / 2 * 1e-8, error=1e-3 * 1e-8 * scales.max() ** 2, along={"scale": scales}
        ),
        "same function": Identity(
            outputs, np.broadcast_to(outputs[len(scales) // 2], outputs.shape), scale=10.0, size=9
        ),
        "blocks of the Hessian": Identity(
            hessians, expected, scale=np.abs(expected).max(), size=100, aside={"middle": middle}
        ),
    }


@sharpness_depends_on_the_scale.control("the sharpness is (a + 1/a)²", of="largest curvature")
def square_of_the_sum(evidence):
    return replace(evidence, right=evidence.right + 2)


@sharpness_depends_on_the_scale.control("a rise by λr²", of="worst rise")
def without_the_half(evidence):
    return replace(evidence, right=2 * evidence.right)


@sharpness_depends_on_the_scale.control("the same function has the same Hessian", of="blocks of the Hessian")
def same_hessian(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.aside["middle"], np.shape(evidence.left)))


@sharpness_depends_on_the_scale.picture
def along_the_hyperbola(pieces):
    """The largest curvature at the minimum (a, 1/a), by a."""
    top = pieces["largest curvature"]
    scales = np.asarray(top.along["scale"])
    grid = np.geomspace(scales[0], scales[-1], 100)
    return Curves(
        [Dots("by Lanczos", scales, top.left), Line("a² + 1/a²", grid, grid**2 + grid**-2), Level("least", y=2.0)],
        x="scale a of the first layer",
        y="sharpness",
        log="xy",
    )
