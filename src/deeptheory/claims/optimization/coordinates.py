"""Gradient descent does not know its coordinates, and blows up in one of them (arora 2.4, Fig 2.1)."""

import functools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, Surface
from deeptheory.optimization.landscapes import CosineSum, Quadratic, RippledBowl
from deeptheory.optimization.runs import trajectory


@functools.partial(jax.jit, static_argnames=("steps", "diagonal"))
def rotated_run(function, basis, start, step, *, steps, diagonal=False):
    """The positions of a run on f(Ux), by gradient descent or by AdaGrad with its diagonal."""
    method = optax.adagrad(step) if diagonal else optax.sgd(step)
    return trajectory(lambda x: function(basis @ x), method, start, steps=steps).position


@claim(
    items={
        "A2.15": ("coordinates along the steps", "coordinates that blow up"),
        "A2.17": ("rotated bowl", "rotated wells"),
    },
    says=r"On $\frac12\sum_i\lambda_iw_i^2$ each coordinate is multiplied by $1-\eta\lambda_i$ at every step, and "
    r"blows up exactly if $\eta>2/\lambda_i$. Gradient descent on $f(Ux)$ from $U^\top w_0$ is that on $f$ from $w_0$, "
    r"seen through $U$, whatever $f$: so a quadratic may be taken diagonal.",
    needs="λ > 0; U orthogonal",
    symbols={
        r"\lambda_i": "the curvature along coordinate $i$",
        "w_i": "a coordinate",
        r"\eta": "the step size",
        "U": "a rotation",
        "w_0": "the start",
        "f, x": "any differentiable function, and the point in turned coordinates",
    },
    why=r"The gradient of $f(Ux)$ is $U^\top\nabla f(Ux)$, so each step of the one, multiplied by $U$, is the step of "
    r"the other. Along an eigenvector only its own curvature counts: a step longer than twice $1/\lambda_i$ overshoots "
    r"by more than it had. Methods that treat coordinates one by one, as AdaGrad's diagonal does, are not blind to "
    r"rotations.",
    notice=r"Each coordinate after forty steps, over the step size: gone around $1/\lambda_i$, back to its start at "
    r"$2/\lambda_i$, and beyond that it explodes, though flatter coordinates are fine. The lines are the powers of "
    r"$|1-\eta\lambda_i|$.",
)
def gradient_descent_does_not_know_its_coordinates(
    key, *, dimension: Annotated[int, Interval(ge=2, le=20)] = 3, steps: Annotated[int, Interval(ge=5, le=200)] = 40
):
    random = generator(key)
    values = np.sort(random.uniform(0.2, 3.0, dimension))
    start = random.uniform(0.5, 1.5, dimension)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    plain, still = jnp.eye(dimension), jnp.asarray(start)
    bowl, wells = Quadratic(jnp.diag(jnp.asarray(values)), jnp.zeros(dimension)), CosineSum(jnp.asarray(values))
    rates = np.concatenate([np.array([0.3, 0.7, 0.99, 1.01, 1.2]) * 2 / value for value in values])
    runs = np.array([rotated_run(bowl, plain, still, rate, steps=steps) for rate in rates])
    powers = (1 - rates[:, None, None] * values) ** np.arange(steps + 1)[:, None] * start
    grows = np.abs(runs[:, -1]) > np.abs(runs[:, 0])
    turned, rate = jnp.asarray(basis.T @ start), 0.5 / values[-1]
    pairs = {}
    for name, function in (("bowl", bowl), ("wells", wells)):
        seen = np.asarray(rotated_run(function, jnp.asarray(basis), turned, rate, steps=steps)) @ basis.T
        other = (
            np.asarray(rotated_run(function, jnp.asarray(basis), turned, rate, steps=steps, diagonal=True)) @ basis.T
        )
        straight = np.asarray(rotated_run(function, plain, still, rate, steps=steps))
        unturned = np.asarray(rotated_run(function, plain, still, rate, steps=steps, diagonal=True))
        pairs[f"rotated {name}"] = Identity(
            seen, straight, scale=2.0, size=steps, aside={"adagrad": np.stack([other, unturned])}
        )
    return {
        "coordinates along the steps": Identity(
            runs,
            powers,
            scale=np.maximum(np.abs(powers), np.abs(start)),
            size=steps,
            aside={"rates": rates, "values": values},
        ),
        "coordinates that blow up": Exact(grows, rates[:, None] > 2 / values, aside={"rates": rates, "values": values}),
        **pairs,
    }


@gradient_descent_does_not_know_its_coordinates.control("blow-up from 1/λ on", of="coordinates that blow up")
def half_as_early(evidence):
    rates, values = evidence.aside["rates"], evidence.aside["values"]
    return replace(evidence, right=rates[:, None] > 1 / values)


@gradient_descent_does_not_know_its_coordinates.control("AdaGrad's diagonal, in a rotated bowl", of="rotated bowl")
def adagrad_in_the_bowl(evidence):
    other, straight = evidence.aside["adagrad"]
    return replace(evidence, left=other, right=straight)


@gradient_descent_does_not_know_its_coordinates.control("AdaGrad's diagonal, in rotated wells", of="rotated wells")
def adagrad_in_the_wells(evidence):
    other, straight = evidence.aside["adagrad"]
    return replace(evidence, left=other, right=straight)


@gradient_descent_does_not_know_its_coordinates.picture
def explosions(pieces, settings):
    """The coordinates after the last step, over the step size, with their powers."""
    found = pieces["coordinates along the steps"]
    rates, values = found.aside["rates"], found.aside["values"]
    fine, marks = np.linspace(0.01, rates.max(), 300), []
    for i, value in enumerate(values):
        name, start = f"λ = {value:.2g}", abs(found.right[0, 0, i])
        marks += [
            Line(name, fine, np.abs(1 - fine * value) ** settings["steps"] * start),
            Dots(name, rates, np.abs(found.left[:, -1, i])),
            Level(f"2/{value:.2g}", x=2 / value),
        ]
    return Curves(marks, x="step η", y="coordinate after the last step", log="y", ys=(1e-12, 1e12))


@functools.partial(jax.jit, static_argnames="steps")
def many_runs(function, starts, step, *, steps):
    """Runs of gradient descent from many starts."""
    return jax.vmap(lambda start: trajectory(function, optax.sgd(step), start, steps=steps).position)(starts)


@jax.jit
def steepness(function, points):
    """The length of the gradient at each point."""
    return jax.vmap(lambda x: jnp.linalg.norm(jax.grad(function)(x)))(points)


@claim(
    items={"A0.1": ("gradient at the end", "ends on a convex function", "heights of the ends")},
    says=r"Gradient descent ends where $\nabla f=0$: on a strictly convex function of two variables at one and the "
    r"same point from every start, on a nonconvex one, here a rippled bowl, at several of different height.",
    needs="a minimum; steps below 2/L, and enough of them",
    symbols={r"\nabla f": "the gradient of the function"},
    why="Every step lowers the function unless the gradient is zero, so the gradients must become small. A strictly "
    "convex function has one stationary point, its minimum. On other functions where a run ends depends on where it "
    "begins.",
    notice="On the left a bowl, and all paths meet. On the right the same bowl with a ripple: neighbouring starts "
    "part, and end in valleys of different depth.",
)
def descent_ends_at_a_stationary_point(key, *, starts: Annotated[int, Interval(ge=6, le=200)] = 24):
    random = generator(key)
    matrix = jnp.array([[1.0, 0.3], [0.3, 0.5]])
    functions = {"convex": Quadratic(matrix, jnp.zeros(2)), "nonconvex": RippledBowl(matrix)}
    begin = jnp.asarray(random.uniform(-4, 4, (starts, 2)))
    lengths, early, groups, paths, heights = [], [], {}, {}, {}
    for name, function in functions.items():
        runs = many_runs(function, begin, 0.1, steps=1500)
        ends = np.asarray(runs)[:, -1]
        lengths.append(np.asarray(steepness(function, runs[:, -1])))
        early.append(np.asarray(steepness(function, runs[:, 50])))
        groups[name] = len(np.unique(np.round(ends, 4), axis=0))
        heights[name] = np.asarray(jax.vmap(function)(jnp.asarray(ends)))
        paths[name] = np.asarray(runs)[:8, :200:2]
    spread = np.ptp(heights["nonconvex"])
    return {
        "gradient at the end": Inequality(
            np.array(lengths), 1e-6, along={"function": list(functions)}, aside=paths | {"early": early}
        ),
        "ends on a convex function": Exact(groups["convex"], 1, aside={"nonconvex": groups["nonconvex"]}),
        "heights of the ends": Inequality(0.1, spread, aside={"heights": heights["nonconvex"]}),
    }


@descent_ends_at_a_stationary_point.control("as many ends as on the other function", of="ends on a convex function")
def as_many(evidence):
    return replace(evidence, right=evidence.aside["nonconvex"])


@descent_ends_at_a_stationary_point.control("the gradients after fifty steps", of="gradient at the end")
def too_early(evidence):
    return replace(evidence, quantity=evidence.aside["early"])


@descent_ends_at_a_stationary_point.picture
def surfaces(pieces):
    """Eight paths of gradient descent on a bowl (left) and on a bowl with a ripple (right)."""
    matrix, grid = jnp.array([[1.0, 0.3], [0.3, 0.5]]), np.linspace(-4, 4, 61)
    panels = []
    for name, function in (
        ("convex", Quadratic(matrix, jnp.zeros(2))),
        ("nonconvex", RippledBowl(matrix)),
    ):
        heights = jax.vmap(jax.vmap(function))(jnp.stack(jnp.meshgrid(jnp.asarray(grid), jnp.asarray(grid)), -1))
        marks = [Line("gradient descent", *path.T, arrow=True) for path in pieces["gradient at the end"].aside[name]]
        panels.append(
            Surface(
                marks,
                columns=grid,
                rows=grid,
                heights=np.asarray(heights),
                value="loss",
                x="weight w₁",
                y="weight w₂",
                title=name,
            )
        )
    return Row(panels)
