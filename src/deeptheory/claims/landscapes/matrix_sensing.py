"""The landscape of a matrix seen through measurements, beside that of the matrix itself (after arora 6.4.2)."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Law, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, Surface
from deeptheory.landscapes.factorization import factorization_critical_points
from deeptheory.landscapes.matrix_sensing import (
    SensingLoss,
    isometry_defect,
    sensed_shift,
    spurious_curvature,
    spurious_form,
)

TARGET = jnp.diag(jnp.array([1.0, 0.0]))
"""e₁e₁ᵀ, whose factors are ±e₁"""


@jax.jit
def descend(forms, starts):
    """Where gradient descent ends, from each start under each form, and the loss there."""

    def run(form, start):
        loss = SensingLoss(form, TARGET)
        end = jax.lax.fori_loop(0, 400, lambda _, x: x - 0.2 * jax.grad(loss)(x), start)
        return loss(end)

    return jax.vmap(lambda form: jax.vmap(lambda start: run(form, start))(starts))(forms)


@jax.jit
def at_the_spurious_point(forms):
    """Gradient and Hessian at (0, 1/√2)."""
    point = jnp.array([0.0, 0.5**0.5])
    losses = lambda form: SensingLoss(form, TARGET)  # noqa: E731
    return jax.vmap(lambda form: (jax.grad(losses(form))(point), jax.hessian(losses(form))(point)))(forms)


@jax.jit
def way_by_quadrature(point, matrix):
    """m times the mean squared Newton step from a critical point: one measurement's gradient, by exact quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)  # exact up to the fifth power, and gradients are squares
    size = len(matrix) * (len(matrix) + 1) // 2
    drawn = jnp.stack(jnp.meshgrid(*[nodes] * size, indexing="ij"), -1).reshape(-1, size)
    share = jnp.prod(jnp.stack(jnp.meshgrid(*[weights / weights.sum()] * size, indexing="ij"), -1), -1).ravel()
    gradients = jax.vmap(lambda a: jax.grad(SensingLoss(jnp.outer(a, a), matrix))(point))(drawn)
    steps = jnp.linalg.solve(jax.hessian(SensingLoss(jnp.eye(size), matrix))(point), gradients.T)
    return share @ jnp.sum(steps**2, axis=0)


@jax.jit
def moved(forms, points, matrix):
    """Critical points after five steps of Newton's method from those of the population, and the Hessians there."""

    def settle(form, point):
        loss = SensingLoss(form, matrix)
        step: Any = lambda _, x: x - jnp.linalg.solve(jax.hessian(loss)(x), jax.grad(loss)(x))  # noqa: E731
        end = jax.lax.fori_loop(0, 5, step, point)
        return end, jax.hessian(loss)(end)

    return jax.vmap(lambda form: jax.vmap(lambda point: settle(form, point))(points))(forms)


@claim(
    items={},
    says=r"If measurements keep the lengths of symmetric matrices up to a defect $\delta<\frac12$, descent on "
    r"$\frac1{4m}\sum_i\langle A_i,xx^\top-zz^\top\rangle^2$ finds $\pm z$; beyond $\frac12$ there are spurious "
    r"minima. With $m$ Gaussian $A_i$ saddles and minima keep their index, and move by $\sqrt{c/m}$, with $c$ known.",
    needs="one column; the first half in the plane, where the defect can be computed",
    symbols={
        "A_i": "the measurements: symmetric matrices",
        "m": "how many there are",
        "x, z": "the factor sought, and the true one",
        r"\delta": r"the least number with which all $\frac1m\sum_i\langle A_i,S\rangle^2$ are within "
        r"$(1\pm\delta)\|S\|^2$",
        "c": "a number for each critical point: $m$ times its mean squared way, in the limit",
    },
    why="All that the measurements do is in one quadratic form, which is nearly the identity when there are many. A "
    "saddle has a way down of definite curvature, which a small change of the form does not undo; the worst form of "
    r"a given defect can be written down, and at $\frac12$ it has bent the way down flat. A critical point moves by "
    "one Newton step, whose gradient is a mean over the measurements.",
    notice="Left, the loss in the plane under the worst form of defect 0.7: beside the true minima on the horizontal "
    "axis there are two more on the vertical one. Middle, the curvature there passes zero at one half. Right, the "
    "squared way of a saddle and of the minimum, times the number of measurements, comes to its limit.",
    explore={"defect": (0.45, 0.6, 0.8)},
)
def sensed_landscapes_are_kind_up_to_a_half(
    key,
    *,
    defect: Annotated[float, Interval(ge=0.45, le=0.95)] = 0.48,
    measurements: Annotated[Sizes, MinLen(3)] = (400, 800, 1600),
    trials: Trials = 2500,
):
    random = generator(key)
    # The worst form, and forms whose eigenvalues are at the ends or in between, in random bases.
    bases = np.linalg.qr(random.standard_normal((60, 3, 3)))[0]
    values = 1 + defect * np.where(
        random.uniform(size=(60, 3)) < 0.5, random.choice([-1, 1], (60, 3)), random.uniform(-1, 1, (60, 3))
    )
    forms = np.concatenate([spurious_form(defect)[None], np.einsum("kia,ka,kja->kij", bases, values, bases)])
    angles = np.linspace(0, np.pi, 17)[:-1] + 0.01
    starts = 0.75 * np.stack([np.cos(angles), np.sin(angles)], 1)
    losses = np.asarray(descend(jnp.asarray(forms), jnp.asarray(starts)))

    defects = np.array([0.46, 0.5, 0.6, 0.8])
    worst = np.stack([spurious_form(float(each)) for each in defects])
    slopes, hessians = map(np.asarray, at_the_spurious_point(jnp.asarray(worst)))

    matrix = np.diag([2.0, 1.0, 0.0])
    points = [each for each in factorization_critical_points(matrix) if each.chosen]
    places = np.stack([each.factor[:, 0] for each in points])
    squares, kept = [], []
    for count in measurements:
        # A Wishart matrix by its triangular factor (Bartlett), without the measurements themselves.
        lower = np.tril(random.standard_normal((trials, 6, 6)), -1)
        lower[:, np.arange(6), np.arange(6)] = np.sqrt(random.chisquare(count - np.arange(6), (trials, 6)))
        wishart = lower @ np.swapaxes(lower, 1, 2) / count
        ends, bends = map(np.asarray, moved(jnp.asarray(wishart), jnp.asarray(places), jnp.asarray(matrix)))
        squares.append(count * np.sum((ends - places) ** 2, -1).T)
        kept.append((np.linalg.eigvalsh(bends) < 0).sum(-1))
    index = [each.index for each in points]
    limits = np.array([sensed_shift(place, matrix) for place in places])
    averaged = np.array([way_by_quadrature(jnp.asarray(place), jnp.asarray(matrix)) for place in places])
    # With ½‖x‖²I alone for the covariance ½(‖x‖²I + xxᵀ) of Ax.
    hessians_there = [(x @ x) * np.eye(3) + 2 * np.outer(x, x) - matrix for x in places]
    rounder = [
        np.sum((np.outer(x, x) - matrix) ** 2) * (x @ x) / 2 * np.sum(np.linalg.inv(bent) ** 2)
        for x, bent in zip(places, hessians_there, strict=True)
    ]
    return {
        "no spurious minimum": Exact(np.sum(losses > 1e-6, axis=1), np.zeros(len(forms), int)),
        "the edge at one half": Identity(
            np.column_stack(
                [isometry_defect(worst), np.linalg.norm(slopes, axis=1), hessians[:, 0, 0], hessians[:, 0, 1]]
            ),
            np.column_stack([defects, 0 * defects, [spurious_curvature(float(each)) for each in defects], 0 * defects]),
            scale=1.0,
            condition=100.0,
            aside={"defects": defects},
        ),
        # f(0, t) bends by the form's second entry there, which is at least 1 − δ.
        "bent up along the other axis": Inequality(1 - defects, hessians[:, 1, 1], along={"defect": defects}),
        "limit of the way, by quadrature": Identity(
            averaged, limits, condition=100.0, along={"index": index}, aside={"rounder": np.array(rounder)}
        ),
        "way of critical points": Law(
            limits,
            np.array(squares),
            sizes=np.array(measurements),
            order=1,
            along={"index": index},
            resolution=0.25,  # squares, and a line through three sizes; the number itself is known by quadrature
        ),
        "index kept": Exact(np.array(kept[-1]), np.broadcast_to(index, np.shape(kept[-1]))),
    }


sensed_landscapes_are_kind_up_to_a_half.control("a defect of 0.7", of="no spurious minimum", defect=0.7)


@sensed_landscapes_are_kind_up_to_a_half.control("an edge where δ = 0.46", of="the edge at one half")
def earlier_edge(evidence):
    right = np.array(evidence.right)
    right[:, 2] -= right[0, 2]
    return replace(evidence, right=right)


@sensed_landscapes_are_kind_up_to_a_half.control(
    "Ax of covariance ‖x‖²I + xxᵀ, not half of it", of="way of critical points"
)
def without_the_half(evidence):
    return replace(evidence, predicted=2 * np.asarray(evidence.predicted))


@sensed_landscapes_are_kind_up_to_a_half.control(
    "Ax of covariance ½‖x‖²I, as far along x as across", of="limit of the way, by quadrature"
)
def as_far_along(evidence):
    return replace(evidence, right=evidence.aside["rounder"])


@sensed_landscapes_are_kind_up_to_a_half.control("the index of the other critical point", of="index kept")
def exchanged(evidence):
    return replace(evidence, right=np.asarray(evidence.right)[:, ::-1])


@sensed_landscapes_are_kind_up_to_a_half.picture
def worst_and_many(pieces):
    """The loss under the worst form (left), its curvature at the spurious point (middle), ways by measurements "
    "(right)."""
    way = pieces["way of critical points"]
    grid = np.linspace(-1.3, 1.3, 53)
    loss = SensingLoss(jnp.asarray(spurious_form(0.7)), TARGET)
    heights = jax.vmap(jax.vmap(loss))(jnp.stack(jnp.meshgrid(jnp.asarray(grid), jnp.asarray(grid)), -1))
    marks = [
        Dots("true", np.array([-1.0, 1.0]), np.zeros(2)),
        Dots("spurious", np.zeros(2), np.array([-1.0, 1.0]) / 2**0.5),
    ]
    defects = np.linspace(0.45, 0.95, 60)
    curvature = [spurious_curvature(float(each)) for each in defects]
    sizes, ways = np.asarray(way.sizes), []
    for place, index in enumerate(np.asarray(way.along["index"]).tolist()):
        name = f"index {index}"
        ways += [
            Dots(name, sizes, np.mean(np.asarray(way.observed)[:, place], -1)),
            Line(name, sizes, np.full(len(sizes), np.asarray(way.predicted)[place])),
        ]
    surface = Surface(
        marks,
        columns=grid,
        rows=grid,
        heights=np.log10(np.asarray(heights) + 1e-3),
        value="logarithm of the loss",
        x="first coordinate x₁",
        y="second coordinate x₂",
    )
    return Row(
        [
            surface,
            Curves(
                [Line("curvature", defects, curvature), Level("zero", y=0.0), Level("½", x=0.5)],
                x="defect δ",
                y="curvature",
            ),
            Curves(ways, x="measurements m", y="m times squared way", log="x"),
        ]
    )
