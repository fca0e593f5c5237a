"""Gradient descent on separable data finds the max-margin direction, in logarithmic time (jagannath 4, lucchi 11).

The flow is followed in s = log t to s = 1,000 and further where a data set converges slowly, far beyond any number of
steps: 1/log t is too slow to see otherwise.
"""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.margin_losses import EXPONENTIAL, HALF_QUADRATIC, LOGISTIC, polynomial_tail
from deeptheory.implicit_bias.separable import (
    gradient_descent_on_margins,
    logarithmic_flow,
    margin_rates,
    max_margin,
    residual_decay,
    residual_forces,
    residual_limit,
    separable_points,
    stable_step,
)
from deeptheory.lab import Bounded, Chain, Identity, Inequality, Limit, Rate, Reals, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line

LOSSES = {"exponential": EXPONENTIAL, "logistic": LOGISTIC, "polynomial": polynomial_tail(2.0)}
TOY = np.array([[1.5, 0.5], [0.5, 1.5], [2.0, 2.0], [3.0, 1.0], [1.0, 3.0], [2.5, 2.0]])
WIDE = np.array(
    [[1.0, 2.0], [1.0, -1.5], [3.0, 1.0], [2.5, -1.0]]
)  # every mode of the residual decays at least like 1/t
NEAR = np.array([[1.0, 2.0], [1.0, -1.5], [1.3, 0.4]])  # here a point of margin 1.3 decides
DEGENERATE = np.array([[1.0, 0.0], [1.0, 1.0], [3.0, 1.0]])  # the second point has margin 1 and dual weight 0
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


def approach(points, **prediction):
    """How the residual comes to its limit along the support vectors, over nine e-folds of the predicted rate."""
    solution = max_margin(points)
    times = np.append(0.0, np.linspace(7, 16, 7) / min(residual_decay(points, solution)))
    # The error falls to e^(−16), below what the usual tolerance leaves.
    path = logarithmic_flow(points, times, start=np.linspace(0, 1, points.shape[1]), tolerance=1e-12)
    error = path - np.outer(times, solution.vector) - residual_limit(points, solution)
    return Rate(np.exp(times[1:]), np.linalg.norm(error[1:] @ points[solution.support].T, axis=1), **prediction)


@claim(
    items={
        "J4.6": "length of the residual",
        "L11.8": ("length of the residual", "growth of the weights", "start does not matter"),
    },
    says=r"On almost all separable data the gradient flow of an exponential-tailed loss is "
    r"$w(t)=\hat w\log t+\rho(t)$ with $\hat w$ the max-margin vector and $\rho$ bounded, from any start.",
    needs="linearly separable; every support vector has a positive dual weight; exponential tail",
    full=dict(datasets=40),
    symbols={
        r"w(t)": "the weights at time $t$ of the gradient flow",
        r"\hat w": r"the max-margin vector: the shortest with $\langle\hat w,\bar x_i\rangle\ge1$ for all $i$, where "
        r"$\bar x_i$ is point $i$ times its label",
        r"\rho(t)": "the residual, what is left when the growth is taken off",
    },
    why=r"Once all points are on the right side the loss is a sum of $e^{-\langle w,\bar x_i\rangle}$, and only the "
    "points of least margin still count. So the gradient is a combination of support vectors with positive weights, "
    r"which is how the max-margin vector is built too. With $w=\hat w\log t+\rho$ their terms are "
    r"$e^{-\langle\rho,\bar x_i\rangle}/t$, just what is needed to make $\hat w\log t$ grow: the rest settles.",
    notice=r"The weights grow in proportion to $\log t$ while the residual stays where it is. Time runs to "
    "$e^{1000}$, far beyond any number of steps.",
    explore={"data": ("generic", "degenerate"), "dimension": (2, 5, 10)},
)
def separable_residual_is_bounded(
    key,
    *,
    datasets: Datasets = 6,
    count: Points = 30,
    dimension: Dimension = 5,
    horizon: LogTime = 1000.0,
    loss: Literal["logistic", "exponential", "polynomial"] = "logistic",
    data: Literal["generic", "degenerate"] = "generic",
):
    sets = drawn(key, datasets, count, dimension) if data == "generic" else [DEGENERATE]
    halvings = 2.0 ** -np.arange(6, -1, -1)
    random, sizes, lengths, slopes, norms, apart = generator(jax.random.fold_in(key, 1)), [], [], [], [], []
    for points in sets:
        solution = max_margin(points)
        end = settled(points, solution, horizon) if data == "generic" and loss != "polynomial" else horizon
        times = np.append(0.0, end * halvings)
        starts = np.zeros(points.shape[1]), random.normal(0, 3, points.shape[1])
        one, other = (logarithmic_flow(points, times, start=start, loss=LOSSES[loss])[1:] for start in starts)
        residual = one - np.outer(times[1:], solution.vector)
        sizes.append(np.linalg.norm(residual, axis=1))
        lengths.append(np.linalg.norm(one, axis=1))
        along = one @ solution.vector * solution.margin**2
        slopes.append((along[-1] - along[-2]) / (times[-1] - times[-2]))
        norms.append(1 / solution.margin)
        apart.append((other[-1] - one[-1]) @ points[solution.support].T)
    return {
        # Six decimals: the rest is noise of the solver, whose differences mean nothing.
        "length of the residual": Bounded(
            horizon * halvings, np.round(np.mean(sizes, axis=0), 6), aside={"lengths": np.mean(lengths, axis=0)}
        ),
        "growth of the weights": Identity(np.array(slopes), 1.0, error=SOLVER, aside={"lengths": np.asarray(norms)}),
        "start does not matter": Identity(np.concatenate(apart), 0.0, scale=1.0, error=SOLVER),
    }


separable_residual_is_bounded.control(
    "a support vector of dual weight 0", of="length of the residual", data="degenerate"
)
separable_residual_is_bounded.control(
    "a polynomial tail", of="length of the residual", loss="polynomial", horizon=40.0, datasets=1
)


@separable_residual_is_bounded.control("a slope of 1/γ, the margin taken for its square", of="growth of the weights")
def margin_for_its_square(evidence):
    return replace(evidence, right=evidence.aside["lengths"])


@separable_residual_is_bounded.picture
def growth_and_residual(pieces):
    """Length of the weights and of the residual w − ŵ log t against log t, means over data sets."""
    found = pieces["length of the residual"]
    marks = [
        Line("weights", found.x, found.aside["lengths"]),
        Dots("weights", found.x, found.aside["lengths"]),
        Line("residual", found.x, found.y),
        Dots("residual", found.x, found.y),
    ]
    return Curves(marks, x="logarithm of the time t", y="length of the vector", log="xy")


@claim(
    items={"J4.6": ""},
    says=r"For a $\beta$-smooth loss every gradient step below $2/(\beta\,\lambda_{\max}(\frac1n X^\top X))$ "
    r"lowers the loss.",
    # The loss is convex along a step: if the end of a long one is lower, so is the end of every shorter one.
    needs="ℓ convex and β-smooth; first power of the largest eigenvalue",
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
    step = fraction * stable_step(points, HALF_QUADRATIC)
    if power == 2:
        step /= jnp.linalg.eigvalsh(points.T @ points / 3)[-1]
    slope = jnp.exp(HALF_QUADRATIC.log_slope(points @ start)) @ points / 3
    before, after = (HALF_QUADRATIC.value(points @ w).mean() for w in (start, start + step * slope))
    # Measured by what a short step would gain, so that the search does not end where there is nothing left to lower.
    return Inequality(after, before, error=64 * jnp.finfo(before.dtype).eps * before, scale=step * slope @ slope)


stable_step_lowers_the_loss.control("the square of the eigenvalue", power=2)


@stable_step_lowers_the_loss.picture
def before_and_after(pieces):
    """The loss after one step against the loss before it, for drawn data, starts and steps."""
    before, after = np.asarray(pieces[""].bound), np.asarray(pieces[""].quantity)
    kept = (before > 1e-6) & (after > 1e-6)
    ends = np.asarray([before[kept].min(), before[kept].max()])
    marks = [Line("no change", ends, ends, dashed=True), Dots("instances", before[kept], after[kept])]
    return Curves(marks, x="loss before the step", y="loss after the step", log="xy")


def largest_pushes():
    """d(½|r|²)/ds of the exact equation of motion, at the residual for which a point beyond the margin pushes most.

    One support vector e₁ and one point (ψ, height): r is orthogonal to the first and has ⟨r, x⟩ = 1 with the second.
    The velocity is written out from the flow itself, not from the split of the proof.
    """
    pushed, bound, slacks = [], [], []
    for psi, height, s in ((1.3, 0.7, 2.0), (2.0, -1.5, 1.0), (1.1, 3.0, 6.0), (4.0, 0.5, 0.3)):
        points = np.array([[1.0, 0.0], [psi, height]])
        limit = np.array([np.log(0.5), 0.0])  # weight · exp(−⟨w̃, e₁⟩) = α = 1, with weight 1/2
        residual = np.array([0.0, 1 / height])
        w = np.array([s, 0.0]) + limit + residual
        velocity = np.exp(s) * 0.5 * np.exp(-points @ w) @ points - np.array([1.0, 0.0])
        pushed.append(residual @ velocity)
        bound.append(np.exp(-(psi - 1) * s) * 0.5 * np.exp(-points[1] @ limit))
        slacks.append((psi - 1) * s)
    return np.array(pushed), np.array(bound), np.array(slacks)


@claim(
    items={
        "J4.8": "limit of the residual",
        "J4.9": ("links of the proof", "largest push of one point"),
        "L11.9": ("limit of the residual", "approach by curvature", "approach by slack", "links of the proof"),
    },
    says=r"Along the support vectors the residual has the limit $\tilde w$ with "
    r"$e^{-\langle\tilde w,\bar x_i\rangle}=n\alpha_i$, $\alpha$ the dual weights, and approaches it like "
    r"$t^{-\kappa}$, $\kappa$ the smaller of the least eigenvalue of $\sum\alpha_i\bar x_i\bar x_i^\top$ on their span "
    r"and the slack $\theta-1$ of the next point.",
    needs="mean exponential loss; linearly independent support vectors",
    full=dict(datasets=40),
    symbols={
        r"\tilde w": "the limit of the residual along the support vectors",
        r"\bar x_i": "a point times its label",
        r"n": "the number of points",
        r"\alpha_i": r"the dual weights: the max-margin vector is $\hat w=\sum_i\alpha_i\bar x_i$",
        r"\kappa": "the rate at which the residual comes to its limit",
        r"\theta": "the least margin among the points that are not support vectors, in units where those have 1",
    },
    why=r"In the time $s=\log t$ the residual obeys $\dot\rho=\frac1n\sum_ie^{-\langle\rho,\bar x_i\rangle}\bar "
    r"x_i-\hat w$ over the support vectors, up to terms $e^{-(\theta-1)s}$ of the other points. It rests where the "
    "weights of the points are the dual weights. Linearised there, its modes decay with the eigenvalues of "
    r"$\sum_i\alpha_i\bar x_i\bar x_i^\top$; the slower of these and of the disturbance decides.",
    notice=r"Two data sets on straight lines whose slopes are known beforehand: one held back by the curvature, at "
    r"$t^{-1/4}$, the other by a point just beyond the margin, at $t^{-0.3}$.",
)
def residual_limit_follows_from_the_duals(
    key,
    *,
    datasets: Datasets = 6,
    count: Points = 30,
    dimension: Dimension = 5,
    horizon: LogTime = 1000.0,
):
    early, ratios, sizes, links = np.linspace(0.5, 6, 12), [], [], []
    for points in [*drawn(key, datasets, count, dimension), TOY]:
        solution = max_margin(points)
        support, limit = solution.support, residual_limit(points, solution)
        times = np.concatenate([[0.0], early, [settled(points, solution, horizon)]])
        error = logarithmic_flow(points, times) - np.outer(times, solution.vector) - limit
        ratios.append(np.exp(-(error[-1] + limit) @ points[support].T) / solution.duals[support])
        sizes.append(np.full(support.sum(), float(len(points))))
        forces, half = residual_forces(points, solution, early, error[1:-1]), np.sum(error[1:-1] ** 2, axis=1) / 2
        # ∫ of the bound from one time to the next; beyond e⁵⁰ it says nothing and is cut off.
        slack = residual_decay(points, solution)[1]
        grown = forces.log_bound[:-1] + np.log(-np.expm1(-slack * np.diff(early)) / slack)
        links.append([forces.support, forces.share, half[1:], half[:-1] + np.exp(np.minimum(grown, 50.0))])
    shrink, share, after, allowed = (np.concatenate(part) for part in zip(*links, strict=True))
    pushed, bound, slacks = largest_pushes()
    sizes = np.concatenate(sizes)
    return {
        "limit of the residual": Identity(np.concatenate(ratios), sizes, error=SOLVER * sizes),
        "approach by curvature": approach(TOY, exponent=-0.25, resolution=0.05, rivals=(-1.0, -0.5)),
        "approach by slack": approach(NEAR, exponent=-0.3, resolution=0.05, rivals=(-1.0, -1.3)),
        "links of the proof": Chain(
            {
                "support vectors shrink the residual": (shrink, 0 * shrink),
                "the others push by at most their bound": (share, np.ones_like(share)),
                "so the residual grows by at most an integral": (after, allowed),
            },
            error=SOLVER,
        ),
        # One point beyond the margin can push by 1/e of the bound, where ⟨r, x⟩ = 1, and by no more.
        "largest push of one point": Identity(pushed * np.e, bound, error=1e-9 * bound, aside={"slack": slacks}),
    }


@residual_limit_follows_from_the_duals.picture
def approaches(pieces):
    """Distance of the residual to its limit along the support vectors, against time, for two data sets."""
    marks = []
    for name, exponent in (("curvature", -0.25), ("slack", -0.3)):
        piece = pieces[f"approach by {name}"]
        time, error = np.asarray(piece.x), np.asarray(piece.y)
        label = f"{name} decides: t^({exponent:g})"
        marks += [Dots(label, time, error), Line(label, time, error[0] * (time / time[0]) ** exponent)]
    return Curves(marks, x="time t", y="distance to the limit", log="xy")


@residual_limit_follows_from_the_duals.control("a push of a quarter of the bound at most", of="links of the proof")
def quarter_of_the_bound(evidence):
    name = "the others push by at most their bound"
    share, whole = evidence.links[name]
    return replace(evidence, links={**evidence.links, name: (share, whole / 4)})


@residual_limit_follows_from_the_duals.control(
    "a push that falls with the square root of time", of="largest push of one point"
)
def half_the_slack(evidence):
    return replace(evidence, right=evidence.right * np.exp(evidence.aside["slack"] / 2))


@residual_limit_follows_from_the_duals.control("the sample size left out", of="limit of the residual")
def without_sample_size(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@residual_limit_follows_from_the_duals.control("a step size of 0.1 in the flow", of="limit of the residual")
def with_step_size(evidence):
    return replace(evidence, right=evidence.right / 0.1)


@claim(
    items={
        "J4.7": ("error of the direction", "error of the cosine", "error of the margin", "loss times time"),
        "L11.10": ("error of the direction", "loss times time", "constants of the rates"),
        "H12.4": (
            "error of the direction",
            "error of the margin",
            "loss times time",
            "descent follows the flow",
            "losses with other tails",
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
    notice=r"While the loss falls like $1/t$, direction and margin improve only like $1/\log t$: doubling the "
    "accuracy of the boundary takes the square of the time. The lines are not fitted: rates and constants are "
    r"predicted. A rate of $1/\sqrt{\log t}$ would be seen at the second dot. "
    r"The first dot is at $\log t=1000$ or later, when $\rho$ has settled.",
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
    observed, scaled = [], []
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
        "error of the margin": Rate(growth, margin, exponent=-1.0, rivals=(-0.5, -2.0)),
        "loss times time": Identity(loss, squared_norm, error=SOLVER * squared_norm),
        "constants of the rates": Limit(growth, gaps, order=1.0),
        "losses with other tails": Identity(np.append(slopes, slopes[:, -1:], axis=1), tails, condition=40.0),
        "descent follows the flow": Limit(0.5 * checkpoints, np.linalg.norm(stepped - flowed, axis=1), order=1.0),
    }


@separable_descent_rates.picture
def slow_rates(pieces):
    """Errors of direction, margin and cosine in units of their predicted constants, against log t."""
    marks, grid = [], np.geomspace(1, 32, 40)
    shown = {"direction and margin, 1/log t": (("direction", "margin"), 1), "cosine, 1/log² t": (("cosine",), 2)}
    for name, (errors, power) in shown.items():
        found = [pieces[f"error of the {each}"] for each in errors]
        marks += [Line(name, grid, grid**-power), *(Dots(name, piece.x, piece.y) for piece in found)]
    marks.append(Line("", grid, grid**-0.5, rival="1/√log t"))
    return Curves(
        marks, x="logarithm of the time t, over its first value", y="error over its predicted constant", log="xy"
    )


@separable_descent_rates.control("t L(w) → 1/γ instead of 1/γ²", of="loss times time")
def loss_of_the_margin(evidence):
    return replace(evidence, right=np.sqrt(evidence.right))
