"""Gradient descent on separable data finds the max-margin direction, in logarithmic time (jagannath 4, lucchi 11).

The flow is followed in s = log t to s = 1,000 and further where a data set converges slowly, far beyond any number of
steps: 1/log t is too slow to see otherwise.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.margin_losses import EXPONENTIAL, HALF_QUADRATIC, LOGISTIC
from deeptheory.implicit_bias.margins import normalized_margin
from deeptheory.implicit_bias.separable import (
    gradient_descent_on_margins,
    logarithmic_flow,
    margin_rates,
    max_margin,
    residual_decay,
    residual_limit,
    separable_points,
    stable_step,
)
from deeptheory.lab import Identity, Inequality, Limit, Rate, Reals, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

WIDE = np.array(
    [[1.0, 2.0], [1.0, -1.5], [3.0, 1.0], [2.5, -1.0]]
)  # every mode of the residual decays at least like 1/t
SOLVER = 1e-7
"""Error of the stiff solver at its default tolerance; over 60 random data sets it stayed below 2e-8."""

Datasets = Annotated[int, Interval(ge=1, le=64)]
Points = Annotated[int, Interval(ge=2, le=200)]
Dimension = Annotated[int, Interval(ge=2, le=20)]
LogTime = Annotated[float, Interval(ge=20.0, le=1e5)]


def drawn(key, datasets, count, dimension):
    return [separable_points(k, count=count, dimension=dimension) for k in jax.random.split(key, datasets)]


def settled(points, solution, horizon):
    """The log time by which sixty e-folds of the slowest mode have passed, and at least the horizon."""
    assume(solution.support.any(), "the nearest points have margin 1")
    return max(horizon, 60 / min(residual_decay(points, solution)))


@claim(
    items={"J4.6": ""},
    says=r"For a $\beta$-smooth loss every gradient step below $2/(\beta\,\lambda_{\max}(\frac1n X^\top X))$ "
    r"lowers the loss.",
    # The loss is convex along a step: if the end of a long one is lower, so is the end of every shorter one.
    needs="ℓ convex and β-smooth; first power of the largest eigenvalue; tried with β = 1 and with the logistic loss, "
    "β = ¼",
    over=dict(
        points=Reals(-2, 2, shape=(3, 2)),
        size=Reals(0.01, 10, log=True),
        start=Reals(-50, 50, shape=(2,)),
        fraction=Reals(0.9, 0.999),
    ),
    draws=512,
    generations=80,  # what is left to steps only a little too long is a small corner of the space
    symbols={
        r"\beta": "the smoothness of the loss: the largest slope of its derivative",
        r"\lambda_{\max}": "the largest eigenvalue",
        r"X": "the data, one signed point a row",
        r"n": "the number of points",
    },
    why=r"Along any direction the mean loss bends at most as much as a parabola of curvature "
    r"$\beta\lambda_{\max}(\frac1nX^\top X)$. On that parabola a step of $\eta$ changes the loss by "
    r"$-\eta(1-\eta\beta\lambda_{\max}/2)$ times the squared gradient, which is negative for $\eta$ below 2 over the "
    "curvature; the loss itself lies below it.",
    notice=r"Every dot, a data set with a start and a step of at least nine tenths of the limit, lies below the "
    "diagonal, and some lie close to it.",
)
def stable_step_lowers_the_loss(points, size, start, fraction, *, power: Annotated[int, Interval(ge=1, le=2)] = 1):
    points, start = size * points, start / size
    # As printed the constant is free; 2/β makes both conditions agree at λ = 1, and any other shifts where they do.
    largest = jnp.linalg.eigvalsh(points.T @ points / 3)[-1]

    def one(loss, at, step):
        slope = jnp.exp(loss.log_slope(points @ at)) @ points / 3
        before, after = (loss.value(points @ w).mean() for w in (at, at + step * slope))
        return jnp.stack([before, after, step * slope @ slope])

    # The logistic loss bends most at margin zero: its starts are a hundredth as far out.
    places = ((HALF_QUADRATIC, start), (LOGISTIC, start / 100))
    rows = [one(loss, at, fraction * stable_step(points, loss) / largest ** (power - 1)) for loss, at in places]
    unscaled = [one(loss, at, fraction * 2 / (loss.smoothness**2 * largest)) for loss, at in places]
    before, after, gain = jnp.stack(rows, 1)
    aside = {"square of β": jnp.stack(unscaled, 1)}
    # Measured by what a short step would gain, so that the search does not end where there is nothing left to lower.
    return Inequality(after, before, error=64 * jnp.finfo(before.dtype).eps * before, scale=gain, aside=aside)


stable_step_lowers_the_loss.control("the square of the eigenvalue", power=2)


@stable_step_lowers_the_loss.control("2/(β²λ_max) for the limit")
def square_of_the_smoothness(evidence):
    before, after, gain = np.moveaxis(np.asarray(evidence.aside["square of β"]), 1, 0)
    error = 64 * np.finfo(before.dtype).eps * before
    return replace(evidence, quantity=after, bound=before, scale=gain, error=error)


@stable_step_lowers_the_loss.picture
def before_and_after(pieces):
    """The loss after one step against the loss before it, for drawn data, starts and steps."""
    before, after = np.asarray(pieces[""].bound), np.asarray(pieces[""].quantity)
    kept = (before > 1e-6) & (after > 1e-6)
    ends = np.asarray([before[kept].min(), before[kept].max()])
    marks = [Line("no change", ends, ends, dashed=True), Dots("instances", before[kept], after[kept])]
    return Curves(marks, x="loss before the step", y="loss after the step", log="xy")


@claim(
    items={
        "J4.7": ("error of the direction", "error of the cosine", "error of the margin", "loss times time"),
        "L11.10": ("error of the direction", "loss times time", "constants of the rates"),
        "H12.4": (
            "error of the direction",
            "error of the margin",
            "loss times time",
            "descent follows the flow",
            "slopes and tails of two losses",
            "constants of the rates",
        ),
    },
    says=r"Gradient flow on separable data turns to the max-margin direction: direction and margin approach the "
    r"best like $1/\log t$, with constants that $\rho$ gives, the angle's cosine comes to 1 like $1/\log^2t$, and "
    r"$t\,L(w(t))\to1/\gamma^2$. Descent in fixed steps follows the flow.",
    needs="separable, generic data; exponential tail, −ℓ′(u) ∼ e^(−u)",
    full=dict(datasets=40, steps=1_000_000),
    symbols={
        r"t": "time, of the flow or the step size times the number of steps",
        r"w(t)": "the weights at that time",
        r"L(w)": r"the mean loss of the $n$ points, near $\frac1n\sum e^{-\langle w,\bar x_i\rangle}$ in the end",
        r"\gamma": "the best margin: the largest distance that all points can have from the boundary",
        r"\hat w": r"the max-margin vector, of length $1/\gamma$",
        r"\rho": r"the residual $w-\hat w\log t$",
        r"\bar x_i": "point $i$ times its label",
    },
    why=r"Since $w=\hat w\log t+\rho$ with $\rho$ bounded, the direction of $w$ differs from that of $\hat w$ by the "
    r"part of $\rho$ orthogonal to it, over $|\hat w|\log t$; the margin likewise, and the cosine by half the square. "
    r"The loss is near the sum of $\frac1ne^{-\langle\rho,\bar x_i\rangle}/t$ over the support vectors, the points "
    r"nearest the boundary. Their factors before $1/t$ tend to the dual weights, with which $\hat w$ is made of the "
    r"support vectors, and these sum to $|\hat w|^2=1/\gamma^2$.",
    notice=r"Left, one data set: the margin rises to $\gamma$ along the predicted curve once $\rho$ has settled, past "
    r"that of the mean of the points. Right: while the loss falls like $1/t$, direction and margin improve only like "
    r"$1/\log t$: doubling the accuracy of the boundary takes the square of the time. The lines are not fitted: rates "
    r"and constants are predicted. A rate of $1/\sqrt{\log t}$ would be seen at the second dot. The first dot is at "
    r"the horizon, $\log t=1000$ unless it is moved, or later, when $\rho$ has settled.",
    explore={"horizon": (100.0, 1000.0, 10000.0)},
)
def separable_descent_rates(
    key,
    *,
    datasets: Datasets = 6,
    count: Points = 30,
    dimension: Dimension = 5,
    horizon: LogTime = 1000.0,
    steps: Annotated[int, Interval(ge=1000, le=10_000_000)] = 100_000,
):
    growth = 2.0 ** np.arange(6)
    observed, scaled, shown = [], [], {}
    for points in drawn(key, datasets, count, dimension):
        solution = max_margin(points)
        end = settled(points, solution, horizon)
        times = np.append(0.0, end * growth)
        path, unit = logarithmic_flow(points, times)[1:], solution.vector * solution.margin
        turned = path / np.linalg.norm(path, axis=1, keepdims=True)
        losses = np.mean(np.exp(times[1:, None] - path @ points.T), axis=1)
        errors = [
            np.linalg.norm(turned - unit, axis=1) * end,
            np.sum((turned - unit) ** 2, axis=1) / 2 * end**2,
            (solution.margin - np.min(turned @ points.T, axis=1)) * end,
        ]
        # The duals give the residual along the support vectors; what is orthogonal to them depends on the path.
        residual, rows = path[-1] - times[-1] * solution.vector, points[solution.support]
        free = residual - np.linalg.pinv(rows) @ (rows @ residual)
        rates = margin_rates(points, solution, residual_limit(points, solution) + free)
        observed.append([error / constant for error, constant in zip(errors, rates, strict=False)])
        scaled.append((losses[-1], rates.loss))
        if not shown:
            early = np.geomspace(1, horizon, 40)
            way = logarithmic_flow(points, np.append(0.0, early))[1:]
            shown = {
                "times": early,
                "margins": normalized_margin(points, way),
                "best": solution.margin,
                "constant": rates.margin,
                "mean": normalized_margin(points, points.mean(0)),
            }
    direction, cosine, margin = np.mean(observed, axis=0)
    loss, squared_norm = np.transpose(scaled)
    gaps = np.abs(np.array([direction * growth, cosine * growth**2, margin * growth]) - 1).max(0)
    checkpoints = np.geomspace(100, steps, 6).astype(int)
    stepped = gradient_descent_on_margins(WIDE, checkpoints, step=0.5)
    # The slope of each loss by differentiation, and at margin 40 in units of the exponential.
    losses, margins = (EXPONENTIAL, LOGISTIC), jnp.linspace(-3.0, 40.0, 100)
    slopes = np.stack([-jax.jit(jax.vmap(jax.grad(each.value)))(margins) for each in losses])
    tails = np.append(np.stack([jnp.exp(each.log_slope(margins)) for each in losses]), np.full((2, 1), np.exp(-40)), 1)
    flowed = logarithmic_flow(WIDE, np.log(np.append(1.0, 1 + 0.5 * checkpoints)), loss=LOGISTIC)[1:]
    return {
        "error of the direction": Rate(growth, direction, exponent=-1.0, rivals=(-0.5, -2.0)),
        "error of the cosine": Rate(growth, cosine, exponent=-2.0, rivals=(-1.0,)),
        "error of the margin": Rate(growth, margin, exponent=-1.0, rivals=(-0.5, -2.0), aside=shown),
        "loss times time": Identity(loss, squared_norm, error=SOLVER * squared_norm),
        "constants of the rates": Limit(growth, gaps, order=1.0),
        "slopes and tails of two losses": Identity(np.append(slopes, slopes[:, -1:], axis=1), tails, condition=40.0),
        "descent follows the flow": Limit(0.5 * checkpoints, np.linalg.norm(stepped - flowed, axis=1), order=1.0),
    }


@separable_descent_rates.picture
def slow_rates(pieces):
    """One data set's margin against log t, and errors of direction, margin and cosine over predicted constants."""
    marks, grid = [], np.geomspace(1, 32, 40)
    shown = {"direction and margin, 1/log t": (("direction", "margin"), 1), "cosine, 1/log² t": (("cosine",), 2)}
    for name, (errors, power) in shown.items():
        found = [pieces[f"error of the {each}"] for each in errors]
        marks += [Line(name, grid, grid**-power), *(Dots(name, piece.x, piece.y) for piece in found)]
    marks.append(Line("", grid, grid**-0.5, rival="1/√log t"))
    seen = pieces["error of the margin"].aside
    times, best, constant = (np.asarray(seen[name]) for name in ("times", "best", "constant"))
    slower = (times * times[-1]) ** 0.5  # right at the last time
    rise = [
        Level("largest margin γ", y=float(best)),
        Level("margin of the mean of the points", y=float(seen["mean"])),
        Line("γ less the predicted constant over log t", times, best - constant / times),
        Line("", times, best - constant / slower, rival="1/√log t"),
        Dots("margin of the flow", times, seen["margins"]),
    ]
    return Row(
        [
            Curves(rise, x="logarithm of the time t", y="normalized margin", log="x", ys=(0, 1.15 * float(best))),
            Curves(
                marks,
                x="logarithm of the time t, over its first value",
                y="error over its predicted constant",
                log="xy",
            ),
        ]
    )


@separable_descent_rates.control("t L(w) → 1/γ instead of 1/γ²", of="loss times time")
def loss_of_the_margin(evidence):
    return replace(evidence, right=np.sqrt(evidence.right))
