"""Gradient flow, and gradient descent as its discretization (lucchi 5.2)."""

import functools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval
from scipy.linalg import expm

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Positive, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Surface
from deeptheory.landscapes.critical_points import distinct_points
from deeptheory.optimization.continuous_time import StepPenalty, gradient_flow
from deeptheory.optimization.landscapes import Quadratic, RippledBowl
from deeptheory.optimization.runs import trajectory


@functools.partial(jax.jit, static_argnames="steps")
def paths_of(function, starts, rates, *, steps):
    """Positions of gradient descent, one run for each start with its rate."""
    run = jax.vmap(lambda start, rate: trajectory(function, optax.sgd(rate), start, steps=steps).position)
    return run(starts, rates)


values_at = jax.jit(lambda function, points: jax.vmap(jax.vmap(function))(points))


@claim(
    items={
        "L5.7": (
            "flow on a quadratic",
            "distance of descent from the flow",
            "distance from the flow with a penalty",
            "values along the flow",
            "ends of the flow",
        ),
        "L5.6": ("distance of descent from the flow", "distance from the flow with a penalty"),
        "H4.4": ("distance of descent from the flow", "distance from the flow with a penalty"),
    },
    says=r"Gradient flow $\dot x=-\nabla f$ is $x^*+e^{-Qt}(x_0-x^*)$ on a quadratic, never rises, and ends in one "
    r"point if $f$ is strictly convex, in several if it is rippled. Descent with step $\eta$ stays at a distance of "
    r"order $\eta$ from it, and of order $\eta^2$ from the flow of $f+\frac\eta4\|\nabla f\|^2$.",
    needs="f smooth, a fixed stretch of time",
    symbols={
        "x_0, x^*": "the start, and the minimizer",
        "f": "the function",
        "Q": "its Hessian, where it is constant",
        "t": "time: steps times $\\eta$",
        r"\eta": "the step size",
    },
    why=r"A step of descent follows the tangent for a time $\eta$ and misses the bend, half of "
    r"$\eta^2\ddot x=\eta^2\nabla^2f\,\nabla f$; in a fixed time there are $1/\eta$ such errors. The bend is half the "
    r"gradient of $\frac12\eta^2\|\nabla f\|^2$, so a flow that also goes down $\frac\eta4\|\nabla f\|^2$ has it "
    r"built in. Along the flow $f$ changes at the rate $-\|\nabla f\|^2$, and rests only where that is zero.",
    notice="All paths in the bowl meet in one point; on the rippled bowl they end in several, some of them next to one "
    "another at the start. On the right, halving the step halves the distance to the flow, and quarters that to the "
    "flow with the penalty.",
    explore={"height": (0.5, 1.5, 3.0)},
)
def descent_follows_the_flow(
    key,
    *,
    height: Positive = 1.5,
    time: Annotated[float, Interval(ge=0.5, le=2.0)] = 1.0,
    halvings: Annotated[int, Interval(ge=3, le=7)] = 5,
):
    random = generator(key)
    basis, _ = np.linalg.qr(random.standard_normal((2, 2)))
    matrix = jnp.asarray(basis * [0.4, 1.0] @ basis.T)
    bowl, ripples = Quadratic(matrix, matrix @ jnp.array([0.5, -0.3])), RippledBowl(matrix, jnp.asarray(height))
    turn = 2 * np.pi * (np.arange(8) + random.uniform()) / 8
    starts = 4 * np.stack([np.cos(turn), np.sin(turn)], 1)
    times = np.append(0.0, np.geomspace(0.01, 30, 80))
    # All starts at once: the flow of the sum of their values.
    flows = [
        np.moveaxis(np.asarray(gradient_flow(lambda x, each=each: jnp.sum(jax.vmap(each)(x)), starts, times)), 1, 0)
        for each in (bowl, ripples)
    ]
    heights = np.stack([values_at(each, flow) for each, flow in zip((bowl, ripples), flows, strict=True)])
    centre = np.asarray(bowl.minimizer)
    powers = np.stack([expm(-np.asarray(matrix) * t) for t in times])
    exact = centre + np.einsum("tij,sj->sti", powers, starts - centre)
    ends = [len(distinct_points(flow[:, -1], tolerance=1e-3)) for flow in flows]

    # Euler's method over a fixed time from one start, with steps halved each time; compared at the times of the first.
    first = 8
    counts = first * 2 ** np.arange(halvings)
    sizes, start = time / counts, starts[0] / 2
    marks = time * np.arange(1, first + 1) / first
    runs = np.asarray(paths_of(ripples, np.tile(start, (halvings, 1)), sizes, steps=int(counts[-1])))
    plain = np.asarray(gradient_flow(ripples, start, marks))
    plain_gap, bent_gap = [], []
    for run, count, size in zip(runs, counts, sizes, strict=True):
        seen = run[: count + 1 : count // first][1:]
        bent = np.asarray(gradient_flow(StepPenalty(ripples, jnp.asarray(size)), start, marks))
        plain_gap.append(np.linalg.norm(seen - plain, axis=1).max())
        bent_gap.append(np.linalg.norm(seen - bent, axis=1).max())
    return {
        "flow on a quadratic": Identity(
            flows[0],
            exact,
            scale=4.0,
            error=1e-8,
            aside={"starts": starts, "centre": centre, "times": times, "matrix": np.asarray(matrix)},
        ),
        "distance of descent from the flow": Rate(sizes, np.array(plain_gap), exponent=1.0, rivals=(0.5, 2.0)),
        "distance from the flow with a penalty": Rate(sizes, np.array(bent_gap), exponent=2.0, rivals=(1.0, 3.0)),
        "values along the flow": Inequality(
            heights[..., 1:] - heights.min(), heights[..., :-1] - heights.min(), error=1e-8, aside={"paths": flows[1]}
        ),
        "ends of the flow": Exact(
            np.array(ends) > 1,
            np.array([False, True]),
            along={"f": ["bowl", "rippled"]},
            aside={"ends": np.array(ends)},
        ),
    }


@descent_follows_the_flow.control("e^{−Qt/2} for e^{−Qt}", of="flow on a quadratic")
def half_as_fast(evidence):
    aside = evidence.aside
    powers = np.stack([expm(-aside["matrix"] * t / 2) for t in aside["times"]])
    return replace(
        evidence, right=aside["centre"] + np.einsum("tij,sj->sti", powers, aside["starts"] - aside["centre"])
    )


@descent_follows_the_flow.control("one end on the rippled bowl too", of="ends of the flow")
def one_end(evidence):
    return replace(evidence, right=np.array([False, False]))


@descent_follows_the_flow.control("values along the flow run backwards", of="values along the flow")
def backwards(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@descent_follows_the_flow.picture
def two_landscapes(pieces, settings):
    """Gradient flow from eight starts in a bowl (left) and on a rippled one (middle); distances of descent (right)."""
    bowl, rippled = pieces["flow on a quadratic"], pieces["values along the flow"].aside["paths"]
    matrix = jnp.asarray(bowl.aside["matrix"])
    grid = np.linspace(-4.5, 4.5, 61)
    points = np.stack(np.meshgrid(grid, grid), -1)
    functions = Quadratic(matrix, matrix @ bowl.aside["centre"]), RippledBowl(matrix, settings["height"])
    panels = []
    for function, paths, name in zip(functions, (bowl.left, rippled), ("convex", "not convex"), strict=True):
        ways = [Line("flow", *np.asarray(path).T) for path in paths]
        last = Dots("ends", *np.asarray(paths)[:, -1].T)
        heights = np.asarray(values_at(function, points))
        panels.append(
            Surface(
                [*ways, last],
                columns=grid,
                rows=grid,
                heights=heights,
                value=f"f, {name}",
                x="first coordinate",
                y="second coordinate",
            )
        )
    first, second = pieces["distance of descent from the flow"], pieces["distance from the flow with a penalty"]
    size = np.asarray(first.x)
    gaps = [
        Dots("to the flow of f", size, first.y),
        Line("order η", size, first.y[-1] * size / size[-1], dashed=True),
        Dots("with the penalty", size, second.y),
        Line("order η²", size, second.y[-1] * (size / size[-1]) ** 2, dashed=True),
    ]
    return Row([*panels, Curves(gaps, x="step η", y="distance", log="xy")])
