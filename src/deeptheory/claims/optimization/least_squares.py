"""Least squares by gradient descent and by single examples: what a fixed step does (lucchi 5.8, Problem 2)."""

import functools
import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Positive, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.noise_moments import sgd_distances, sgd_plateau
from deeptheory.optimization.runs import trajectory

SHARES = np.array([0.2, 0.7, 0.99, 1.4, 1.9, 1.99, 2.01, 2.2])
"""steps in units of one over the largest eigenvalue"""


@functools.partial(jax.jit, static_argnames="steps")
def fitted(design, labels, starts, rates, *, steps):
    """Positions of gradient descent on ½‖Xw − y‖² from each start with each rate, and both derivatives."""

    def loss(w):
        return jnp.sum((design @ w - labels) ** 2) / 2

    run = jax.vmap(
        jax.vmap(lambda rate, start: trajectory(loss, optax.sgd(rate), start, steps=steps).position, (None, 0)),
        (0, None),
    )
    return run(rates, starts), jax.vmap(jax.grad(loss))(starts), jax.hessian(loss)(starts[0])


@claim(
    items={"L5.24": ("gradient and Hessian", "distance at every step", "bound attained", "steps that converge")},
    says=r"$\frac12\|Xw-y\|^2$ has gradient $X^\top(Xw-y)$ and Hessian $X^\top X\succeq0$. Gradient descent has "
    r"$\|w_{t+1}-w_*\|\le\|I-\eta X^\top X\|_{\mathrm{op}}^t\|w_1-w_*\|$, attained from an extreme eigenvector, and "
    r"converges for every $\eta<2/\|X^\top X\|_{\mathrm{op}}$, not only below half of it.",
    needs="linearly independent columns, so that the minimizer is unique",
    symbols={
        "X, y": "the data, one row a sample, and the labels",
        "w, w_t": "the weights, and those of descent, counted from $t=1$",
        "w_*": "the minimizer",
        r"\eta": "the step size",
        r"\|\cdot\|_{\mathrm{op}}": "the largest singular value",
        r"\lambda_{\max}": r"the largest eigenvalue of $X^\top X$",
    },
    why=r"With $X^\top(Xw_*-y)=0$ a step is $w-w_*\mapsto(I-\eta X^\top X)(w-w_*)$, so $t$ steps multiply by the "
    r"$t$-th power, whose norm is the power of the norm for a symmetric matrix. That norm is the largest "
    r"$|1-\eta\lambda|$ over the eigenvalues: below one exactly if $0<\eta<2/\lambda_{\max}$. The exercise asks for "
    r"$\eta<1/\lambda_{\max}$, which is enough.",
    notice="On the left, three starts for each step: none is above its line, and the extreme eigenvector is on it. On "
    r"the right, what 400 steps leave of the distance: less than all of it up to $2/\lambda_{\max}$, and beyond more.",
    explore={"columns": (2, 4, 8)},
)
def descent_on_least_squares(
    key, *, rows: Annotated[int, Interval(ge=9, le=200)] = 12, columns: Annotated[int, Interval(ge=2, le=8)] = 4
):
    random = generator(key)
    design, labels = random.standard_normal((rows, columns)), random.standard_normal(rows)
    solution = np.linalg.lstsq(design, labels)[0]
    square = design.T @ design
    values, vectors = np.linalg.eigh(square)
    rates = SHARES / values[-1]
    starts = solution + np.stack([vectors[:, 0], vectors[:, -1], random.standard_normal(columns)])
    steps = 400
    where, gradient, hessian = map(np.asarray, fitted(design, labels, starts, rates, steps=steps))
    distance = np.linalg.norm(where - solution, axis=-1)
    few = np.arange(31)
    norms = np.array([np.linalg.norm(np.eye(columns) - rate * square, 2) for rate in rates])
    bound = norms[:, None, None] ** few * distance[:, :, :1]
    # Of the two extreme eigenvectors the one that is slower at this rate attains the bound.
    slower = distance[:, :2].max(1)
    return {
        "gradient and Hessian": Identity(
            np.concatenate([gradient, hessian]),
            np.concatenate([starts @ square - labels @ design, square]),
            scale=np.abs(square).max() * 10,
            size=rows,
            aside={"rows": rows},
        ),
        "distance at every step": Inequality(
            distance[..., few],
            bound,
            error=1e-12,
            along={"step": SHARES, "start": ["flattest", "steepest", "any"], "time": few},
            aside={"norms": norms},
        ),
        "bound attained": Identity(
            slower[:, few], bound[:, 0], scale=np.maximum(bound[:, 0], 1.0), size=columns * 100, along={"step": SHARES}
        ),
        "steps that converge": Exact(
            slower[:, -1] < 1, SHARES < 2, along={"step": SHARES}, aside={"left": slower[:, -1]}
        ),
    }


@descent_on_least_squares.control("the gradient and Hessian of the mean, divided by n", of="gradient and Hessian")
def of_the_mean(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / evidence.aside["rows"])


@descent_on_least_squares.control("one factor more: the power t + 1", of="distance at every step")
def one_factor_more(evidence):
    return replace(evidence, bound=evidence.bound * evidence.aside["norms"][:, None, None])


@descent_on_least_squares.control("the factor of the steepest direction alone, |1 − ηλ_max|", of="bound attained")
def steepest_alone(evidence):
    share = evidence.along["step"][:, None]
    return replace(evidence, right=np.abs(1 - share) ** np.arange(np.shape(evidence.right)[1]))


@descent_on_least_squares.control("convergence below 1/‖X⊤X‖ only", of="steps that converge")
def half_of_it(evidence):
    return replace(evidence, right=evidence.along["step"] < 1)


@descent_on_least_squares.picture
def distances_and_powers(pieces):
    """Distances from three starts (dots) below their bounds (lines) with two steps (left); after 400 steps (right)."""
    found, end = pieces["distance at every step"], pieces["steps that converge"]
    marks = []
    for place in (0, 3):
        name = f"η = {SHARES[place]:.2g}/λ_max"
        time, bound = np.asarray(found.along["time"]), found.bound[place]
        marks.append(Line(name, time, bound[0]))
        relative = found.quantity[place] / found.quantity[place][:, :1] * bound[0, 0]
        marks += [Dots(name, time[::2], each[::2]) for each in relative]
    left = [
        Dots("seen", end.along["step"], end.aside["left"]),
        Level("2/λ_max", x=2.0),
        Level("ends", x=1.0, rival="at 1/λ_max"),
        Level(y=1.0),
    ]
    return Row(
        [
            Curves(marks, x="steps t", y="distance", log="y", ys=(1e-4, 2)),
            Curves(left, x="step times λ_max", y="distance left", log="y"),
        ]
    )


@jax.jit
def single_steps(features, labels, start, rate, paths):
    """Positions by single examples along each path, and the gradient of every example there; losses (n/2)(x·w − y)²."""
    count = len(labels)

    def loss(w, i):
        return count / 2 * (features[i] @ w - labels[i]) ** 2

    def run(path):
        where = trajectory(loss, optax.sgd(rate), start, steps=len(path), batches=path).position
        return where, jax.vmap(lambda w: jax.vmap(lambda i: jax.grad(loss)(w, i))(jnp.arange(count)))(where)

    return jax.vmap(run)(paths)


distances_after = jax.jit(jax.vmap(sgd_distances, (None, 0, None, None)))


@claim(
    items={
        "L5.25": (
            "distance above the noise of one step",
            "equality along the steepest direction",
            "convergence",
            "two equations in two unknowns",
        )
    },
    says=r"With $\ell_i=\frac n2(x_i^\top w-y_i)^2$ and $\eta\le1/(2\|X^\top X\|_{op})$, SGD has "
    r"$E\|w_{k+1}-w_*\|^2\ge\eta^2E\|\nabla\ell_i(w_k)\|^2$. If $y=Xw_*$ both sides tend to 0 and SGD converges; a "
    r"plateau needs residuals. For $X=I_2$, $\eta=\frac12$ the mean square halves at each step.",
    needs="linearly independent columns; for convergence also ηn max‖x_i‖² < 2",
    symbols={
        r"\ell_i": "the loss of the example drawn, $n$ times its share so that the mean is the whole loss",
        "x_i, y_i": "the inputs and the label of an example",
        r"\eta": "the step size",
        "X, y": "all inputs and labels",
        "w_k, w_*": "the weights after $k$ steps, and the minimizer",
    },
    why=r"The mean square of $w_k-w_*$ loses $2\eta\,E(w_k-w_*)^\top X^\top X(w_k-w_*)$ a step, at most all of itself "
    r"for such $\eta$, and gains $\eta^2E\|\nabla\ell_i(w_k)\|^2$: so at least the gain is left. This says that one "
    r"cannot be nearer than one step's noise. But with $y=Xw_*$ every $\nabla\ell_i(w_*)$ is zero: noise dies with the "
    r"distance, and nothing keeps SGD away.",
    notice="With residuals the mean square comes down to a plateau and stays. With labels that can be fitted it falls "
    "without end, along a straight line, though the lower bound of the exercise holds at each step: the bound falls "
    "too.",
    explore={"residual": (0.1, 0.5, 2.0)},
)
def single_examples_on_least_squares(
    key, *, residual: Positive = 0.5, horizon: Annotated[int, Interval(ge=500, le=20_000)] = 4000
):
    random = generator(key)
    count, steps = 3, 6
    # Equal lengths and three directions about a third of a turn apart: ηn‖x‖² stays below 2.
    turn = 2 * np.pi / 3 * np.arange(count) + random.uniform(-0.3, 0.3, count)
    design = np.stack([np.cos(turn), np.sin(turn)], 1)
    truth = random.standard_normal(2)
    off = np.linalg.svd(design)[0][:, -1]
    labels = np.stack([design @ truth, design @ truth + residual * off])
    values, vectors = np.linalg.eigh(design.T @ design)
    rate, start = 1 / (2 * values[-1]), truth + vectors[:, -1]
    paths = jnp.asarray(list(itertools.product(range(count), repeat=steps)))
    distance, noise = [], []
    for y in labels:
        where, single = map(np.asarray, single_steps(design, y, start, rate, paths))
        distance.append(np.sum((where - truth) ** 2, 2).mean(0)[1:])
        noise.append(rate**2 * np.sum(single[:, :-1] ** 2, 3).mean((0, 2)))
    distance, noise = np.array(distance), np.array(noise)

    root = count**0.5
    long = np.asarray(distances_after(root * design, root * labels, start, np.full(horizon, rate)).iterate)
    plateau = float(jnp.trace(sgd_plateau(root * design, root * labels[1], step_size=rate)))

    both = jnp.asarray(list(itertools.product(range(2), repeat=9)))
    begin, aim = random.standard_normal((2, 2))
    halved, _ = single_steps(np.eye(2), aim, begin, 0.5, both)
    first = np.sum((begin - aim) ** 2)
    return {
        # The first step attains it: what then decides is the rounding of a sum over all paths.
        "distance above the noise of one step": Chain(
            {"E‖w − w*‖² ≥ η²E‖∇ℓ‖²": (noise, distance)}, error=len(paths) * np.finfo(float).eps * distance
        ),
        "equality along the steepest direction": Identity(distance[:, 0], noise[:, 0], size=len(paths)),
        "convergence": Exact(
            long[:, -1] < 1e-9 * long[:, 0],
            np.array([True, False]),
            along={"labels": ["y = Xw*", "with residuals"]},
            aside={"paths": long[:, : horizon // 10], "plateau": plateau},
        ),
        "two equations in two unknowns": Identity(
            np.sum((np.asarray(halved) - aim) ** 2, 2).mean(0),
            first * 0.5 ** np.arange(10),
            size=len(both),
            along={"step": np.arange(10)},
        ),
    }


@single_examples_on_least_squares.control("SGD does not converge to w*, as printed", erratum="L5.25a", of="convergence")
def never_converges(evidence):
    return replace(evidence, right=np.array([False, False]))


@single_examples_on_least_squares.control(
    "twice the noise of one step is a lower bound", of="distance above the noise of one step"
)
def twice_the_noise(evidence):
    noise, distance = evidence.links["E‖w − w*‖² ≥ η²E‖∇ℓ‖²"]
    return replace(evidence, links={"twice": (2 * noise, distance)})


@single_examples_on_least_squares.control("a quarter at each step", of="two equations in two unknowns")
def quarters(evidence):
    return replace(evidence, right=evidence.right * 0.5 ** evidence.along["step"])


@single_examples_on_least_squares.picture
def with_and_without_residuals(pieces):
    """Mean squared distance to the minimizer, step by step, for labels that can be fitted and for others."""
    found = pieces["convergence"].aside
    fitted_path, noisy = found["paths"]
    k = np.arange(len(noisy))
    return Curves(
        [
            Line("y = Xw*", k, fitted_path),
            Line("with residuals", k, noisy),
            Line("", k, noisy, rival="no convergence whatever the labels, as printed"),
            Level("plateau", y=float(found["plateau"])),
        ],
        x="step k",
        y="mean squared distance",
        log="y",
        xs=(0, 40),
        ys=(1e-8, 3),
    )
