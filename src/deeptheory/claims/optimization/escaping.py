"""What a saddle costs perturbed gradient descent, in time and in units (arora 7.1, 7.2, Lemma 7.3.1)."""

import functools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen
from scipy.special import digamma

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Exact, Identity, Inequality, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.landscapes.critical_points import is_second_order_stationary
from deeptheory.optimization.escape import thin_slab_bound
from deeptheory.optimization.landscapes import CubicSaddle, QuarticSaddle
from deeptheory.optimization.runs import gradient_squares, trajectory
from deeptheory.optimization.saddle import perturbed_gradient_descent, uniform_ball

STEP = 0.5
"""half of what smoothness 1 allows, so that stable directions take some steps to settle"""


@functools.partial(jax.jit, static_argnames="steps")
def roll_down(saddle, starts, *, steps):
    """Values, squared gradients and first coordinates of plain runs."""

    def run(start):
        states = trajectory(saddle, optax.sgd(STEP), start, steps=steps)
        return states.value, gradient_squares(states), states.position[:, 0]

    return jax.vmap(run)(starts)


@jax.jit
def shaken(saddle, starts, draws, tolerance):
    """Squared gradients and first coordinates of perturbed runs that shake once."""
    method = perturbed_gradient_descent(step_size=STEP, radius=tolerance, tolerance=tolerance, patience=draws.shape[1])

    def run(start, pushes):
        states = trajectory(saddle, method, start, steps=draws.shape[1], draws=pushes)
        return gradient_squares(states), states.position[:, 0]

    return jax.vmap(run)(starts, draws)


@claim(
    items={
        "A7.7": ("failures to end well", "time at the saddle"),
        "A7.9": ("decrease where the gradient is large", "failures to fall"),
        "A7.10": ("failures to fall", "rise by the perturbation", "time along the tolerance"),
        "A7.15": "value at the bottom",
    },
    says=r"A step with $\|\nabla f\|>\epsilon$ lowers $f$ by $(\eta-\frac\ell2\eta^2)\epsilon^2$ or more. At the "
    r"saddle of $-\frac\gamma2x_1^2+\frac\rho6|x_1|^3+\frac12|y|^2$, $\gamma=\sqrt{\rho\epsilon}$, a perturbed run "
    r"falls by $\frac13\sqrt{\epsilon^3/\rho}$ within $T=\ln(2\gamma/\rho\eta\omega)/\ln(1+\frac{\eta\gamma}2)$ steps, "
    r"up to probability $\delta$.",
    needs="η ≤ 1/ℓ; perturbed from a ball of radius r = ε; ω is the width of a slab with share δ of that ball",
    full=dict(trials=512),
    symbols={
        r"\epsilon": "the gradient size that counts as small",
        r"\ell": "the smoothness, 1 here",
        r"\gamma": "minus the lowest curvature at the saddle",
        r"\rho": "the Lipschitz constant of the Hessian",
        "x_1, y": "the coordinate along the way down, and all others",
        r"\eta": "the step size",
        r"\omega": r"the width of a slab with share $\delta$ of the ball of perturbations",
        r"\delta": "the probability with which it may take longer",
        "f": "the loss",
    },
    why=r"With a large gradient the descent lemma pays at once. At the saddle a perturbation is outside a slab of "
    r"width $\eta\omega$ with probability $1-\delta$. Up to $x_1=\gamma/\rho$ the force is at least half of what it is "
    r"on the quadratic, so $x_1$ grows by $1+\eta\gamma/2$ a step or faster, and there $f$ has fallen by half of all "
    r"it can. The time is $\ell/\sqrt{\rho\epsilon}$ up to a logarithm, and the fall $\sqrt{\epsilon^3/\rho}$ is "
    r"$\epsilon^2/\ell$ for each of these steps.",
    notice=r"With loss and time in their units $\sqrt{\epsilon^3/\rho}$ and $1/\sqrt{\rho\epsilon}$ the runs at every "
    r"$\epsilon$ look alike: a wait that depends on where the perturbation landed, the fall, and the bottom at "
    r"$-\frac23$. On the right, the time to fall halfway is of order $\epsilon^{-1/2}$ up to a logarithm, not of order "
    r"$\epsilon^{-1}$.",
)
def a_saddle_costs_a_logarithm(
    key,
    *,
    inverse_tolerances: Annotated[Sizes, MinLen(3)] = (100, 300, 1000),
    hessian_lipschitz: Annotated[float, Interval(ge=0.2, le=5.0)] = 2.0,
    dimension: Annotated[int, Interval(ge=2, le=200)] = 10,
    chance: Annotated[float, Interval(ge=0.01, le=0.2)] = 0.05,
    patience: Annotated[float, Interval(ge=0.05, le=2.0)] = 1.0,
    trials: Trials = 256,
):
    random, rho, tolerances = generator(key), hessian_lipschitz, [1 / inverse for inverse in inverse_tolerances]
    failures, missed, rises, allowed, drops, extra, halfway, paths, bottoms = [], [], [], [], [], [], [], [], []
    share = float(thin_slab_bound(1.0, radius=1.0, dimension=dimension)[0])

    def time_at(tolerance):
        """The steps that suffice at the saddle, up to the probability `chance`."""
        gamma, width = (rho * tolerance) ** 0.5, STEP * chance * tolerance / share
        return int(np.ceil(np.log(2 * gamma / (rho * width)) / np.log1p(STEP * gamma / 2)))

    longest = time_at(tolerances[-1])
    for place, tolerance in enumerate(tolerances):
        gamma, unit, enough = (rho * tolerance) ** 0.5, (tolerance**3 / rho) ** 0.5, time_at(tolerance)
        saddle = CubicSaddle(jnp.asarray(gamma), jnp.asarray(rho))
        draws = uniform_ball(jax.random.fold_in(key, place), (trials, dimension))
        # The point that is perturbed has a small gradient, in a stable direction.
        centre = np.zeros(dimension)
        centre[1] = 0.9 * tolerance
        starts = centre + STEP * tolerance * draws
        value, _, first = map(np.asarray, roll_down(saddle, jnp.asarray(starts), steps=2 * longest))
        base = float(saddle(jnp.asarray(centre)))
        failures.append(int(np.sum(value[:, min(int(patience * enough), 2 * longest)] - base > -unit / 3)))
        rises.append(value[:, 0] - base)
        size = tolerance * STEP * tolerance + (STEP * tolerance) ** 2 / 2
        allowed.append(np.full(trials, size))
        bottoms.append(value[np.abs(first[:, -1]) > 1.999 * gamma / rho, -1] / unit)
        reached = np.argmax(value - base <= -unit / 3, axis=1)
        # A step grows by log(1 + ηγ), not by ηγ: a share of the time that vanishes with the tolerance. The mean of the
        # logarithm of how far there is to go has that of u₁² in the ball in it, ψ(½) − ψ(d/2 + 1).
        lag = np.log1p(STEP * gamma) / (STEP * gamma)
        way = np.log(gamma / (rho * STEP * tolerance)) - (digamma(0.5) - digamma(dimension / 2 + 1)) / 2
        halfway.append(lag * reached / way)
        pace = max(2 * enough // 150, 1)
        paths.append((value[:6, : 2 * enough : pace] / unit, np.arange(0, 2 * enough, pace) * gamma))

        # The whole method, from far away on the stable manifold, at a saddle just below the tolerance.
        below = CubicSaddle(jnp.asarray(1.01 * gamma), jnp.asarray(rho))
        far = random.standard_normal((trials, dimension))
        far[:, 0] = 0.0
        pushes = uniform_ball(jax.random.fold_in(key, place + 9), (trials, longest + 60, dimension))
        squares, first = map(np.asarray, shaken(below, jnp.asarray(far), jnp.asarray(pushes), tolerance))
        flat = squares <= tolerance**2
        second = flat & (rho * np.abs(first) - 1.01 * gamma >= -gamma)
        missed.append(int(np.sum(~second.any(1))))
        reach = second.any(1)
        extra.append((np.argmax(second, 1) - np.argmax(flat, 1))[reach] / (enough + 1))
        plain, gradients, _ = map(np.asarray, roll_down(below, jnp.asarray(far), steps=60))
        large = gradients[:, :-1] > tolerance**2
        fall = (STEP - STEP**2 / 2) * tolerance**2
        drops.append((plain[:, :-1] - plain[:, 1:])[large] / fall)
    tolerance = np.array(tolerances)
    return {
        "decrease where the gradient is large": Inequality(1.0, np.concatenate(drops), error=1e-9),
        "failures to fall": Chance(np.array(failures), trials, chance, along={"tolerance": tolerance}),
        "rise by the perturbation": Inequality(np.array(rises), np.array(allowed), along={"tolerance": tolerance}),
        "time along the tolerance": Rate(tolerance, np.array(halfway), exponent=-0.5, rivals=(-1.0,)),
        "value at the bottom": Identity(
            np.concatenate(bottoms),
            -2 / 3,
            error=1e-5,
            aside={f"{name} {i}": pair[k] for i, pair in enumerate(paths) for k, name in enumerate(("path", "time"))},
        ),
        "failures to end well": Chance(np.array(missed), trials, chance, along={"tolerance": tolerance}),
        "time at the saddle": Inequality(np.concatenate(extra), 1.0),
    }


a_saddle_costs_a_logarithm.control("a quarter of the time", of="failures to fall", patience=0.25)


@a_saddle_costs_a_logarithm.control("twice the fall: (2η − ℓη²)ε²", of="decrease where the gradient is large")
def without_the_half(evidence):
    return replace(evidence, quantity=2 * evidence.quantity)


@a_saddle_costs_a_logarithm.control("half the rise: εηr/2 + ℓη²r²/4", of="rise by the perturbation")
def half_the_rise(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@a_saddle_costs_a_logarithm.control("the bottom at −1/2", of="value at the bottom")
def other_bottom(evidence):
    return replace(evidence, right=-0.5)


@a_saddle_costs_a_logarithm.control("a tenth of the time at the saddle", of="time at the saddle")
def a_tenth(evidence):
    return replace(evidence, bound=0.1)


@a_saddle_costs_a_logarithm.picture
def falls_in_units(pieces):
    """Loss over time in their own units, six runs for each tolerance (left), and the time to fall halfway (right)."""
    aside, units = pieces["value at the bottom"].aside, pieces["time along the tolerance"]
    marks = [
        Line(f"ε = {tolerance:g}", aside[f"time {i}"], path[: len(aside[f"time {i}"])])
        for i, tolerance in enumerate(np.asarray(units.x))
        for path in aside[f"path {i}"]
    ]
    x, y = np.asarray(units.x), np.mean(units.y, axis=1)
    times = [
        seen("seen, over the logarithm", x, units.y),
        Line("like ε^(−1/2)", x, y[0] * np.sqrt(x[0] / x)),
        Line("like ε^(−1/2)", x, y[0] * x[0] / x, rival="like 1/ε"),
    ]
    return Row(
        [
            Curves([*marks, Level("−2/3", y=-2 / 3)], x="time · √(ρε)", y="loss / √(ε³/ρ)"),
            Curves(times, x="tolerance ε", y="steps to fall halfway", log="xy"),
        ]
    )


@functools.partial(jax.jit, static_argnames=("steps", "patience"))
def follow(scale, stretch, start, draws, step, tolerance, *, patience, steps):
    """A perturbed run on a·f(bx)."""
    base = QuarticSaddle(0.5)
    method = perturbed_gradient_descent(step_size=step, radius=tolerance, tolerance=tolerance, patience=patience)
    return trajectory(lambda x: scale * base(stretch * x), method, start, steps=steps, draws=draws).position


@jax.jit
def labels(scale, stretch, points, tolerance, hessian_lipschitz):
    """Which points are second-order stationary for a·f(bx)."""
    base, setting = QuarticSaddle(0.5), dict(slope=tolerance, curvature=jnp.sqrt(hessian_lipschitz * tolerance))
    return jax.vmap(lambda x: is_second_order_stationary(lambda z: scale * base(stretch * z), x, **setting))(points)


@claim(
    items={"A7.3": ("paths of both functions", "stationary for both"), "H5.6": "stationary for both"},
    says=r"For $g(x)=af(bx)$ the constants become $\ell\to ab^2\ell$, $\rho\to ab^3\rho$, $\epsilon\to ab\epsilon$. "
    r"With them perturbed gradient descent on $g$ is that on $f$ seen through a lens, $b\,x_t(g)=x_t(f)$, and a point "
    r"is an $\epsilon$-second-order stationary point of one exactly when it is of the other.",
    needs="η = 1/ℓ, r in proportion to ε, and the same draws",
    symbols={
        "f, g": "a function, and the same in other units",
        "a, b": "how much the values and the space are stretched",
        r"\ell": "the Lipschitz constant of the gradient",
        r"\rho": "the Lipschitz constant of the Hessian",
        r"\epsilon": "the accuracy",
        "x_t": "the point after $t$ steps",
    },
    why=r"Each derivative brings one factor $b$. So $\sqrt{\rho\epsilon}$ is multiplied by $ab^2$, as second "
    r"derivatives are: the threshold for the Hessian has the unit of a Hessian. A threshold $-\epsilon$ for the "
    r"Hessian, or $-\sqrt\epsilon$, has not, and the label would depend on the units in which one happens to measure.",
    notice="The two runs, one of them drawn after stretching, lie on each other, perturbations included. With a "
    r"threshold $-\epsilon$ for the Hessian the labels would not agree.",
    explore={"stretch": (0.2, 3.0, 10.0)},
)
def stationarity_has_the_right_units(
    key,
    *,
    scale: Annotated[float, Interval(ge=0.01, le=100.0)] = 7.0,
    stretch: Annotated[float, Interval(ge=0.05, le=20.0)] = 3.0,
    steps: Annotated[int, Interval(ge=20, le=2000)] = 120,
):
    start, draws = np.array([0.0, 0.4, -0.3]), uniform_ball(key, (steps, 3))
    tolerance, rho, step = 0.02, 0.3, 0.25

    def run(a, b, accuracy):
        setting = dict(patience=12, steps=steps)
        given = (jnp.asarray(start / b), jnp.asarray(draws), step / (a * b**2), accuracy)
        return np.asarray(follow(a, b, *given, **setting))

    plain = run(1.0, 1.0, tolerance)
    other = run(scale, stretch, scale * stretch * tolerance)
    # Labels on a line down from the saddle, with thresholds −√(ρε), and −ε, which is what ρ = ε would mean.
    line, accuracy = np.linspace(0, 0.8, 161)[:, None] * np.eye(3)[0], 0.2

    def label(a, b, lipschitz):
        return np.asarray(labels(a, b, jnp.asarray(line / b), a * b * accuracy, lipschitz))

    return {
        "paths of both functions": Identity(
            stretch * other, plain, scale=1.0, size=steps, condition=100.0, aside={"unscaled": other}
        ),
        "stationary for both": Exact(
            label(scale, stretch, scale * stretch**3 * rho),
            label(1.0, 1.0, rho),
            aside={"crude": np.stack([label(1.0, 1.0, accuracy), label(scale, stretch, scale * stretch * accuracy)])},
        ),
    }


@stationarity_has_the_right_units.control("without stretching back", of="paths of both functions")
def not_stretched(evidence):
    return replace(evidence, left=evidence.aside["unscaled"])


@stationarity_has_the_right_units.control("a threshold −ε for the Hessian", of="stationary for both")
def crude_threshold(evidence):
    one, other = evidence.aside["crude"]
    return replace(evidence, left=other, right=one)


@stationarity_has_the_right_units.picture
def two_runs(pieces):
    """The escaping coordinate of both runs over time, the second one stretched."""
    path = pieces["paths of both functions"]
    time = np.arange(len(path.right))
    return Curves(
        [Line("on f", time, path.right[:, 0]), Dots("on a f(bx), times b", time[::3], path.left[::3, 0])],
        x="step",
        y="coordinate along the way down",
    )
