"""The parabola behind a step, the narrow valley, and preconditioners that round it (lucchi 5.3, 5.4)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.claims.optimization.gradient_descent import descend
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Surface
from deeptheory.optimization.descent import optimal_quadratic_step
from deeptheory.optimization.landscapes import CosineSum, LogisticRidge, Quadratic
from deeptheory.optimization.methods import newton, preconditioned
from deeptheory.optimization.quadratic_models import (
    block_diagonal_part,
    condition_number,
    diagonal_part,
    model_at,
    preconditioned_curvature,
)
from deeptheory.optimization.runs import trajectory


@jax.jit
def steps_and_models(function, point, rate):
    """A step of Newton's method and one of descent from a point; and the steps of three models there."""
    taken = [trajectory(function, each, point, steps=1).position[1] - point for each in (newton(), optax.sgd(rate))]
    eye = jnp.eye(len(point))
    return jnp.stack(taken), jnp.stack(
        [model_at(function, point, curvature=each).step for each in (None, eye / rate, eye)]
    )


@jax.jit
def newton_errors(function, way, distances):
    """How far one Newton step ends from the minimizer, from points at these distances along a way."""
    solution = function.minimizer
    starts = solution + distances[:, None] * way / jnp.linalg.norm(way)
    ends = jax.vmap(lambda x: trajectory(function, newton(), x, steps=1).position[1])(starts)
    return jnp.linalg.norm(ends - solution, axis=1)


@jax.jit
@jax.vmap
def rounded_step(matrix, part, start):
    """Where one step of descent preconditioned by a part of the Hessian ends, on a quadratic."""
    bowl = Quadratic(matrix, jnp.zeros(len(start)))
    return trajectory(bowl, preconditioned(jnp.linalg.inv(part)), start, steps=1).position[1]


@jax.jit
@jax.vmap
def condition_after(matrix, part):
    """The condition number that descent preconditioned by a part of the Hessian sees."""
    return condition_number(preconditioned_curvature(matrix, part))


@claim(
    items={
        "L5.8": (
            "steps that minimize a parabola",
            "error after a Newton step",
            "condition with parts of the Hessian",
            "one step in the rounded valley",
        ),
        "L5.10": ("zig-zag in the valley", "one step in the rounded valley", "condition with parts of the Hessian"),
    },
    says=r"$-B^{-1}\nabla f$ minimizes $f+\nabla f\cdot\Delta+\frac12\Delta^\top B\Delta$: Newton's step for "
    r"$B=\nabla^2f$, $-\eta\nabla f$ for $B=I/\eta$. In a valley of condition $\kappa$ the best fixed step zig-zags, "
    r"$(\pm\frac{\kappa-1}{\kappa+1})^k$; $B=Q$ makes level sets round, one step enough; $B=\mathrm{diag}\,Q$ undoes "
    r"scales: $\frac{1+|r|}{1-|r|}$ is left for correlation $r$.",
    needs="Q and B symmetric positive definite; for Newton's step a start near the minimizer",
    symbols={
        "B": "the matrix in the place of the Hessian",
        r"\Delta": "the move",
        r"\eta": "the step size",
        "Q": "the Hessian of a quadratic",
        r"\kappa": "its condition number",
        "k": "the number of steps",
        "r": "the correlation of two coordinates, $Q_{12}/\\sqrt{Q_{11}Q_{22}}$",
        "f": "the function",
    },
    why=r"A parabola is lowest where its slope $\nabla f+B\Delta$ vanishes. The best fixed step overshoots in the "
    r"steep direction by as much as it falls short in the flat one, so the steep coordinate changes sign each time. "
    r"With $x=B^{-1/2}z$ the Hessian in $z$ is $B^{-1/2}QB^{-1/2}$: the identity if $B=Q$, and with ones on the "
    r"diagonal if $B$ is that of $Q$. Newton's error is what the third derivative adds to the parabola, a square.",
    notice="On the left the path crosses the floor of the valley at every step and moves along it little by little. In "
    "the middle the same function in the coordinates of the preconditioner: level sets are circles and one step ends "
    "in the centre. On the right one step of Newton's method squares a small error, in logistic regression.",
    explore={"condition": (3.0, 10.0, 100.0)},
)
def preconditioners_round_the_valley(
    key,
    *,
    condition: Annotated[float, Interval(ge=1.5, le=1e4)] = 10.0,
    steps: Annotated[int, Interval(ge=2, le=100)] = 12,
):
    random = generator(key)
    # The valley, turned by a random angle; coordinates are read along its floor and across.
    angle = random.uniform(0.3, 1.2)
    frame = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    curvature = frame * [1 / condition, 1.0] @ frame.T
    valley, offset = Quadratic(jnp.asarray(curvature), jnp.zeros(2)), np.array([4.0, 1.0])
    best, _ = optimal_quadratic_step(1 / condition, 1.0)
    path = np.asarray(descend(valley, jnp.asarray(frame @ offset), best, steps=steps).position) @ frame
    slow, time = (condition - 1) / (condition + 1), np.arange(steps + 1)
    zigzag = np.stack([slow**time, (-slow) ** time], 1) * offset

    # Hessians with scales from 1/100 to 100, of correlation r; one of two blocks; all against their parts.
    r, scales = random.uniform(-0.8, 0.8, 6), 10 ** random.uniform(-2, 2, (6, 2))
    pairs = scales[:, :, None] * scales[:, None] * (np.eye(2) + r[:, None, None] * (1 - np.eye(2)))
    half = random.standard_normal((4, 4, 4))
    four = np.asarray(block_diagonal_part(half @ half.transpose(0, 2, 1) + 0.1 * np.eye(4), (2, 2)))
    pairs_eye, four_eye = np.broadcast_to(np.eye(2), pairs.shape), np.broadcast_to(np.eye(4), four.shape)
    seen = [condition_after(pairs, diagonal_part(pairs)), condition_after(four, block_diagonal_part(four, (2, 2)))]
    before = [condition_after(pairs, pairs_eye), condition_after(four, four_eye)]
    starts = random.standard_normal((4, 4))

    wells = CosineSum(jnp.asarray(random.uniform(0.5, 2.0, 3)))
    taken, models = map(np.asarray, steps_and_models(wells, random.uniform(-1, 1, 3), 0.3))
    features, labels = random.standard_normal((40, 3)), np.sign(random.standard_normal(40))
    loss = LogisticRidge(jnp.asarray(features), jnp.asarray(labels), jnp.asarray(0.1))
    distances = 0.2 * 0.5 ** np.arange(5)
    errors = np.asarray(newton_errors(loss, random.standard_normal(3), distances))
    return {
        "steps that minimize a parabola": Identity(
            models[:2], taken, scale=1.0, along={"method": ["Newton", "descent"]}, aside={"identity": models[[0, 2]]}
        ),
        "error after a Newton step": Rate(distances, errors, exponent=2.0, rivals=(1.0, 3.0)),
        "zig-zag in the valley": Identity(
            path,
            zigzag,
            scale=4.0,
            size=steps,
            aside={"frame": frame, "flat": 1 / condition},
        ),
        "condition with parts of the Hessian": Identity(
            np.concatenate(seen),
            np.concatenate([(1 + np.abs(r)) / (1 - np.abs(r)), np.ones(4)]),
            error=1e-9,
            aside={"before": np.concatenate(before)},
        ),
        "one step in the rounded valley": Identity(
            rounded_step(four, block_diagonal_part(four, (2, 2)), starts),
            0.0,
            scale=np.abs(starts).max() * np.max(before[1]),
            aside={"diagonal": rounded_step(four, diagonal_part(four), starts)},
        ),
    }


@preconditioners_round_the_valley.control(
    "the model with curvature I for every step", of="steps that minimize a parabola"
)
def identity_for_every_step(evidence):
    return replace(evidence, left=evidence.aside["identity"])


@preconditioners_round_the_valley.control("a steep coordinate that keeps its sign", of="zig-zag in the valley")
def straight(evidence):
    return replace(evidence, right=np.abs(evidence.right))


@preconditioners_round_the_valley.control("the condition number as it was", of="condition with parts of the Hessian")
def as_before(evidence):
    return replace(evidence, left=evidence.aside["before"])


@preconditioners_round_the_valley.control("the diagonal alone is enough", of="one step in the rounded valley")
def diagonal_is_enough(evidence):
    return replace(evidence, left=evidence.aside["diagonal"])


@preconditioners_round_the_valley.picture
def valley_and_bowl(pieces):
    """Descent in a narrow valley (left), in the coordinates of its preconditioner (middle); Newton's errors (right)."""
    zigzag, newtons = pieces["zig-zag in the valley"], pieces["error after a Newton step"]
    flat = float(zigzag.aside["flat"])
    path = np.asarray(zigzag.left)
    grid, narrow = np.linspace(-5, 5, 61), np.linspace(-2.5, 2.5, 41)
    across, along = np.meshgrid(narrow, grid, indexing="ij")
    floor = np.linspace(-5, 5, 61)
    valley = Surface(
        [Line("descent, best step", *path.T), Dots("descent, best step", *path.T)],
        columns=grid,
        rows=narrow,
        heights=(flat * along**2 + across**2) / 2,
        value="value f",
        x="along the floor",
        y="across",
    )
    # In z = Q^{1/2}x the start has the coordinates √λ x.
    start = path[0] * np.sqrt([flat, 1.0])
    ways = np.stack([start, np.zeros(2)])
    reach = 1.6 * np.abs(start).max()
    square = floor * reach / 5
    bowl = Surface(
        [Line("one step", *ways.T, arrow=True), Dots("one step", *ways.T)],
        columns=square,
        rows=square,
        heights=(square[:, None] ** 2 + square**2) / 2,
        value="f after preconditioning",
        x="first coordinate of z",
        y="second coordinate of z",
    )
    size = np.asarray(newtons.x)
    error = [
        Dots("after one step", size, newtons.y),
        Line("order of the square", size, newtons.y[-1] * (size / size[-1]) ** 2),
        Line("order of the square", size, newtons.y[-1] * size / size[-1], rival="in proportion"),
    ]
    return Row([valley, bowl, Curves(error, x="distance before", y="distance after", log="xy")])
