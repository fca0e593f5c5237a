"""What momentum gains, what it becomes with small steps, and where only Nesterov's form is safe (arora 2.3)."""

import functools
from dataclasses import replace
from math import log
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Rate, Sizes, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.optimization.landscapes import CosineSum, Huber, PiecewiseQuadratic, Quadratic, chain_quadratic
from deeptheory.optimization.methods import accelerated
from deeptheory.optimization.momentum import (
    accelerated_gap_bound,
    damped_oscillator,
    heavy_ball_offsets,
    nesterov_potential,
    optimal_heavy_ball,
    worst_accelerated_gap,
)
from deeptheory.optimization.runs import trajectory


@functools.partial(jax.jit, static_argnames="steps")
def roll(function, start, step, momentum, *, steps):
    """The positions of the heavy ball, compiled once per shape."""
    return trajectory(function, optax.sgd(step, momentum), start, steps=steps).position


@functools.partial(jax.jit, static_argnames="steps")
def hurry(function, start, step, *, steps):
    """A run of Nesterov's method with growing momentum, and the values at the points of its gradient steps."""
    run = trajectory(function, accelerated(step), start, steps=steps)
    return run, jax.vmap(function)(run.memory.point)


@claim(
    items={
        "A2.11": ("path along each eigenvector", "steps along the condition number", "steps needed"),
        "A2.13": "form with a velocity",
        "H4.10": ("path along each eigenvector", "form with a velocity"),
    },
    says=r"The heavy ball with $\eta=4/(\sqrt L+\sqrt\mu)^2$, $\beta=(\frac{\sqrt\kappa-1}{\sqrt\kappa+1})^2$ shrinks "
    r"every coordinate of a quadratic by $\sqrt\beta$ a step in the long run, waves apart: about $\frac{\sqrt\kappa}2"
    r"\ln\frac1\varepsilon$ steps. Its form with a velocity $u_t=-\nabla f(w_t)+\beta u_{t-1}$ is the same method.",
    needs="a quadratic with curvature in [μ, L]; the ball starts at rest, w₋₁ = w₀",
    symbols={
        r"\eta": "the step size",
        r"\beta": "the momentum: the share of the last move that is made again",
        r"\mu, L": "the least and the largest curvature",
        r"\kappa": r"the condition number, $L/\mu$",
        r"\varepsilon": "the share of the first distance to the minimizer that is left",
        "u_t": r"the velocity after $t$ steps; $w_{t+1}=w_t+\eta u_t$",
        "w_t": "the point after $t$ steps",
        "f": "the function",
    },
    why=r"Along an eigenvector the new coordinate is $(1+\beta-\eta\lambda)$ times the present one less $\beta$ times "
    r"the one before: a recursion of two terms, whose two roots have the product $\beta$. While they are complex both "
    r"have modulus $\sqrt\beta$, whatever $\lambda$: that is the gain. The best $\eta$ and $\beta$ make the roots of "
    r"the flattest and of the steepest coordinate just coincide.",
    notice=r"On the left, the coordinates along eigenvectors swing and fall at one rate. The steepest first swings out "
    r"to several times its start, since its two roots coincide: what is fast in the long run can begin badly. On the "
    r"right, the steps needed lie on lines of slope one half, where gradient descent needs as many as $\kappa$.",
    explore={"accuracy": (1e-2, 1e-4, 1e-6)},
)
def heavy_ball_needs_the_root_of_the_condition_number(
    key,
    *,
    conditions: Annotated[Sizes, MinLen(3)] = (100, 300, 1000, 3000, 10000),
    dimension: Annotated[int, Interval(ge=2, le=50)] = 6,
    accuracy: Annotated[float, Interval(ge=1e-8, le=0.1)] = 1e-4,
):
    random, kappa = generator(key), np.array(conditions)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    start, most = random.standard_normal(dimension), int(2 * kappa[-1] ** 0.5 * log(1 / accuracy))

    def setting(condition):
        spectrum = 3.0 * np.geomspace(1 / condition, 1, dimension)
        return spectrum, *optimal_heavy_ball(spectrum[0], spectrum[-1])

    shown = 60
    spectrum, step, beta = setting(conditions[0])
    bowl = Quadratic(jnp.asarray(basis * spectrum @ basis.T), jnp.zeros(dimension))
    seen = np.asarray(roll(bowl, jnp.asarray(basis @ start), step, beta, steps=most))[: shown + 1] @ basis
    path = heavy_ball_offsets(spectrum, start, step_size=step, momentum=beta, steps=shown)

    # The form with three points, and the form in which the velocity averages gradients instead of adding them.
    three, averaged, pace, before = [basis @ start], [basis @ start], 0.0, basis @ start
    for _ in range(shown):
        now = three[-1]
        three.append(now - step * bowl.matrix @ now + beta * (now - before))
        pace = -(1 - beta) * bowl.matrix @ averaged[-1] + beta * pace
        averaged.append(averaged[-1] + step * pace)
        before = now

    def count(first):
        """Steps after which the distance stays below `accuracy` times the first, for each condition number."""
        found = []
        for condition in conditions:
            values, rate, share = setting(condition)
            matrix = jnp.asarray(basis * values @ basis.T)
            run = roll(Quadratic(matrix, jnp.zeros(dimension)), jnp.asarray(basis @ first), rate, share, steps=most)
            far = np.linalg.norm(run, axis=1) > accuracy * np.linalg.norm(first)
            found.append(np.flatnonzero(far)[-1] + 1)
        return np.array(found)

    flattest, steepest = count(np.eye(dimension)[0]), count(np.eye(dimension)[-1])
    # At both ends of the spectrum the roots coincide: coordinates √βᵗ(1 + (1 ∓ √β)t) times their start, by hand.
    needed, time = [], np.arange(most + 1)
    for sign in (-1, 1):
        roots = [setting(condition)[2] ** 0.5 for condition in conditions]
        needed.append(
            [np.flatnonzero(root**time * (1 + (1 + sign * root) * time) > accuracy)[-1] + 1 for root in roots]
        )
    return {
        "path along each eigenvector": Identity(
            seen,
            path,
            scale=np.abs(start),
            size=dimension * shown,
            condition=10.0,  # roots that nearly coincide
            along={"step": np.arange(shown + 1), "eigenvalue": spectrum},
            aside={"factor": beta**0.5},
        ),
        "form with a velocity": Identity(
            seen,
            np.array(three) @ basis,
            scale=np.abs(start).max(),
            size=dimension * shown,
            condition=10.0,
            aside={"averaged": np.array(averaged) @ basis},
        ),
        "steps along the condition number": Rate(kappa, flattest, exponent=0.5, rivals=(1.0,)),
        "steps needed": Exact(
            np.array([flattest, steepest]),
            np.array(needed),
            along={"start": ["flattest", "steepest"], "condition": kappa},
            aside={"other": count(start), "accuracy": accuracy},
        ),
    }


@heavy_ball_needs_the_root_of_the_condition_number.control(
    "the momentum √β in the place of β", of="path along each eigenvector"
)
def root_of_the_momentum(evidence):
    spectrum, start = evidence.along["eigenvalue"], evidence.right[0]
    step, beta = optimal_heavy_ball(spectrum[0], spectrum[-1])
    steps = len(evidence.right) - 1
    return replace(evidence, right=heavy_ball_offsets(spectrum, start, step_size=step, momentum=beta**0.5, steps=steps))


@heavy_ball_needs_the_root_of_the_condition_number.control(
    "a velocity that averages: (1 − β)∇f", of="form with a velocity"
)
def averaging_velocity(evidence):
    return replace(evidence, right=evidence.aside["averaged"])


@heavy_ball_needs_the_root_of_the_condition_number.control("one simple root: ln ε / ln √β steps", of="steps needed")
def simple_root(evidence):
    kappa = np.asarray(evidence.along["condition"], float)
    factor = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
    return replace(
        evidence, right=np.tile(np.ceil(np.log(evidence.aside["accuracy"]) / np.log(factor)), (2, 1)).astype(int)
    )


@heavy_ball_needs_the_root_of_the_condition_number.picture
def waves_and_counts(pieces):
    """Coordinates along eigenvectors under one envelope (left), and steps needed by condition number (right)."""
    path, count = pieces["path along each eigenvector"], pieces["steps needed"]
    time, kappa = path.along["step"], count.along["condition"]
    spectrum, root = path.along["eigenvalue"], float(path.aside["factor"])
    marks = []
    for place in (0, len(spectrum) // 2, len(spectrum) - 1):
        name, first = f"λ = {spectrum[place] / spectrum[-1]:.2g} L", path.right[0, place]
        marks += [Line(name, time, path.right[:, place] / first), Dots(name, time[::3], path.left[::3, place] / first)]
    marks.append(Line("√βᵗ(1 + (1 + √β)t)", time, root**time * (1 + (1 + root) * time), dashed=True))
    counts = [
        Line("predicted", kappa, count.right[0]),
        Line("predicted", kappa, count.right[1]),
        Dots("along the flattest", kappa, count.left[0]),
        Dots("along the steepest", kappa, count.left[1]),
        Dots("a random start", kappa, count.aside["other"]),
        Line("predicted", kappa, count.right[0][0] * kappa / kappa[0], rival="growth like κ, as gradient descent"),
    ]
    return Row(
        [
            Curves(marks, x="step t", y="coordinate, share of the first"),
            Curves(counts, x="condition number κ", y="steps needed", log="xy"),
        ]
    )


@claim(
    items={"A2.12": ("bowl", "creeping", "wells")},
    says=r"With $\beta=1-ah$ and $\eta=bh^2$ the heavy ball is a discretization of $\ddot w+a\dot w+b\nabla f(w)=0$ "
    r"with time step $h$: over a fixed time the distance between the two is of order $h$.",
    needs="a smooth function; the ball and the oscillator start at rest from one point",
    symbols={
        r"\beta": "the momentum",
        "a": "the friction",
        "h": "the time that one step takes",
        r"\eta": "the step size",
        "b": "the strength of the force",
        "w": "the point that moves",
        "f": "the function",
    },
    why=r"Write the step as $(w_{t+1}-2w_t+w_{t-1})/h^2+a(w_t-w_{t-1})/h+b\nabla f(w_t)=0$. The first quotient is the "
    r"acceleration up to order $h^2$, the second the speed up to order $h$, because it looks back: so the whole is off "
    r"by order $h$, and over a fixed time the errors of $1/h$ steps of size $h^2$ add up to order $h$.",
    notice="The ball, in its shortest steps here, swings through the minimum as the oscillator does. With the "
    "friction doubled it would be another oscillator, and no step would be small enough. In a bowl too shallow for "
    "its friction it creeps down without a swing.",
    explore={"friction": (0.2, 0.5, 2.0)},
)
def heavy_ball_becomes_an_oscillator(
    key,
    *,
    friction: Annotated[float, Interval(ge=0.05, le=3.0)] = 0.5,
    force: Annotated[float, Interval(ge=0.2, le=5.0)] = 1.5,
    inverse_steps: Annotated[Sizes, MinLen(3)] = (40, 80, 160, 320),
    horizon: Annotated[int, Interval(ge=1, le=20)] = 10,
):
    from scipy.integrate import solve_ivp

    random = generator(key)
    curvature, start = np.array([1.0, 2.5]), random.choice([-1, 1], 2) * random.uniform(0.5, 1.5, 2)
    finest, shown = inverse_steps[-1], np.linspace(0, horizon, 20 * horizon + 1)

    # Half of the curvature at which friction is critical, or less: no waves, the coordinates creep.
    shallow = curvature / curvature.max() * friction**2 / (8 * force)

    @jax.jit
    def swing(times, curvature):
        return damped_oscillator(times[:, None], stiffness=force * curvature, damping=friction) * start

    def field(_, state):
        return np.r_[state[2:], -friction * state[2:] - force * curvature * np.sin(state[:2])]

    solved = solve_ivp(field, (0, horizon), np.r_[start, 0, 0], dense_output=True, rtol=1e-10, atol=1e-12).sol
    pieces = {}
    for name, function, truth in (
        ("bowl", Quadratic(jnp.diag(jnp.asarray(curvature)), jnp.zeros(2)), lambda times: swing(times, curvature)),
        ("creeping", Quadratic(jnp.diag(jnp.asarray(shallow)), jnp.zeros(2)), lambda times: swing(times, shallow)),
        ("wells", CosineSum(jnp.asarray(curvature)), lambda times: solved(times)[:2].T),
    ):

        def ball(inverse, share, function=function):
            h = 1 / inverse
            setting = (force * h**2, 1 - share * friction * h)
            return np.asarray(roll(function, jnp.asarray(start), *setting, steps=horizon * finest))

        def gap(inverse, share, ball=ball, truth=truth):
            times = np.minimum(np.arange(horizon * finest + 1) / inverse, horizon)  # one shape for all steps
            return np.abs(ball(inverse, share) - np.asarray(truth(times)))[: horizon * inverse + 1].max()

        drawn = {"path": ball(finest, 1.0)[:: finest // 20], "solution": np.asarray(truth(shown)), "times": shown}
        pieces[name] = Rate(
            1 / np.array(inverse_steps),
            [gap(inverse, 1.0) for inverse in inverse_steps],
            exponent=1.0,
            rivals=(0.5, 2.0),
            aside=drawn | {"doubled": [gap(inverse, 2.0) for inverse in inverse_steps]},
        )
    return pieces


@heavy_ball_becomes_an_oscillator.control("twice the friction, β = 1 − 2ah, in the bowl", of="bowl")
def twice_the_friction(evidence):
    return replace(evidence, y=evidence.aside["doubled"])


@heavy_ball_becomes_an_oscillator.control("twice the friction, β = 1 − 2ah, in a shallow bowl", of="creeping")
def creeping_with_twice_the_friction(evidence):
    return replace(evidence, y=evidence.aside["doubled"])


@heavy_ball_becomes_an_oscillator.control("twice the friction, β = 1 − 2ah, in the wells", of="wells")
def doubled_friction(evidence):
    return replace(evidence, y=evidence.aside["doubled"])


@heavy_ball_becomes_an_oscillator.picture
def swings(pieces):
    """A coordinate of the oscillator and of the heavy ball over time: in a bowl, in a shallow one, between wells."""
    panels = []
    for name, title in {"bowl": "in a bowl", "creeping": "in a shallow bowl", "wells": "in a well"}.items():
        aside = pieces[name].aside
        times = aside["times"]
        panels.append(
            Curves(
                [
                    Line("oscillator", times, aside["solution"][:, 1]),
                    Dots("heavy ball", times[::4], aside["path"][: len(times) : 4, 1]),
                ],
                x="time",
                y="coordinate",
                title=title,
            )
        )
    return Row(panels)


@claim(
    items={"A2.14": ("look-ahead", "gap on rounded cones", "gaps of cones and springs", "potential from step to step")},
    says=r"Nesterov's method takes the gradient ahead, at $w_t+\beta(w_t-w_{t-1})$. With $\beta_t=t/(t+3)$ and "
    r"$\eta=1/L$ a convex function has $f(w_k)-f^*\le2LR^2/(k^2+5k+6)$, attained by rounded cones. The heavy ball, "
    r"tuned for the curvatures of a strongly convex function, can cycle for ever.",
    needs="f convex and L-smooth; the minimum at distance R from the start",
    symbols={
        "w_t": "the point after $t$ gradient steps",
        r"\beta": "the momentum",
        r"\eta": "the step size",
        "L": "the smoothness, the largest curvature",
        "f^*": "the least value",
        "R": "the distance of the start from the minimizer",
        "k": "the number of steps",
    },
    why=r"A sum of the gap, weighted by $(k+1)^2$, and of a squared distance never rises: what a step may lose in one "
    r"it gains in the other, and this needs the gradient where the momentum will have carried the point. So the gap is "
    r"of order $1/k^2$. On a cone, where the slope is constant, the points speed up like $k$ and have come about "
    r"$k^2/8$ steps far; the cone whose tip they do not quite reach attains the bound.",
    notice="On the left, one cone for each $k$ lies on the bound; the textbook's is larger, and gradient descent far "
    "above for large $k$. On the right, the heavy ball, tuned for curvatures from 1 to 25, ends in a cycle of three "
    "points on a function that has just these curvatures, while Nesterov's method comes to the minimum.",
)
def nesterov_is_safe_where_the_heavy_ball_cycles(
    key,
    *,
    smoothness: Annotated[float, Interval(ge=0.1, le=10.0)] = 3.0,
    steps: Annotated[int, Interval(ge=2, le=40)] = 20,
    dimension: Annotated[int, Interval(ge=10, le=400)] = 100,
):
    k, reach = np.arange(1, steps + 1), 2.0
    cones = [Huber(jnp.asarray(smoothness), jnp.asarray(4 * reach / (n**2 + 5 * n + 6))) for n in k]
    gaps = np.array([hurry(cone, jnp.array([reach]), 1 / smoothness, steps=steps)[1][1:] for cone in cones])

    # The method written with a velocity, at a constant momentum: the gradient at w_t + β(w_t − w_{t−1}).
    random = generator(key)
    weights, beta, rate = random.uniform(0.5, 2, 3), 0.8, 0.3
    before = now = random.uniform(-1.5, 1.5, 3)
    written, pushed, push, velocity = [now], [now], np.zeros(3), np.zeros(3)
    wells, method = CosineSum(jnp.asarray(weights)), accelerated(rate, momentum=beta)
    constant = jax.jit(lambda start: trajectory(wells, method, start, steps=steps).memory.point)(jnp.asarray(now))
    for _ in range(steps):
        velocity = -weights * np.sin(now + beta * (now - before)) + beta * velocity
        before, now = now, now + rate * velocity
        written.append(now)
        push = -weights * np.sin(pushed[-1]) + beta * push
        pushed.append(pushed[-1] + rate * push)

    chain = chain_quadratic(dimension, smoothness=smoothness)
    best = np.linalg.solve(chain.matrix, chain.linear)
    run, values = hurry(chain, jnp.zeros(dimension), 1 / smoothness, steps=4 * steps)
    setting = dict(step_size=1 / smoothness, minimizer=jnp.asarray(best), minimum=float(chain(jnp.asarray(best))))
    potential = np.asarray(
        jax.jit(functools.partial(nesterov_potential, **setting))(run.position, run.memory.point, values)
    )
    gap, time = np.asarray(values)[1:] - setting["minimum"], np.arange(1, 4 * steps + 1)
    # Every cone after every number of steps, and a chain of coordinates: each with its squared distance R².
    squares = np.concatenate([np.full(gaps.size, reach**2), np.full(len(time), best @ best)])
    counts = np.concatenate([np.tile(k, steps), time])
    bound, later = (worst_accelerated_gap(squares, smoothness=smoothness, steps=each) for each in (counts, counts + 1))

    bent = PiecewiseQuadratic(jnp.array([1.0, 2.0]), jnp.array([25.0, 1.0, 25.0]))
    rate, share = optimal_heavy_ball(1.0, 25.0)
    ball = np.asarray(roll(bent, jnp.array([3.3]), rate, share, steps=120))[:, 0]
    safe, _ = hurry(bent, jnp.array([3.3]), 1 / 25, steps=120)
    return {
        "look-ahead": Identity(constant, written, scale=2.0, size=steps, aside={"pushed": np.array(pushed)}),
        "gap on rounded cones": Identity(
            np.diag(gaps),
            worst_accelerated_gap(reach**2, smoothness=smoothness, steps=k),
            size=steps,
            along={"steps": k},
            aside={"textbook": accelerated_gap_bound(reach**2, step_size=1 / smoothness, steps=k)},
        ),
        "gaps of cones and springs": Inequality(
            np.concatenate([gaps.ravel(), gap]), bound, error=rounding(np.asarray(values)), aside={"later": later}
        ),
        "potential from step to step": Inequality(
            potential[1:], potential[:-1], error=time**2 * rounding(np.asarray(values)) / smoothness
        ),
        "the heavy ball cycles": Identity(
            ball[-6:-3], ball[-3:], scale=1.0, error=1e-9, aside={"ball": ball, "nesterov": safe.memory.point[:, 0]}
        ),
        "Nesterov's method leaves the cycle": Inequality(
            np.abs(safe.memory.point[-3:, 0]).max(), np.abs(ball[-3:]).min(), aside={"cycle": ball[-3:]}
        ),
    }


@nesterov_is_safe_where_the_heavy_ball_cycles.control(
    "the gradient where the point is: the heavy ball", of="look-ahead"
)
def without_looking_ahead(evidence):
    return replace(evidence, right=evidence.aside["pushed"])


@nesterov_is_safe_where_the_heavy_ball_cycles.control(
    "the textbook bound 2LR²/(k + 1)² is attained", of="gap on rounded cones"
)
def textbook_gap(evidence):
    return replace(evidence, right=evidence.aside["textbook"])


@nesterov_is_safe_where_the_heavy_ball_cycles.control(
    "the bound one step ahead, with k + 1 for k", of="gaps of cones and springs"
)
def one_step_ahead(evidence):
    return replace(evidence, bound=evidence.aside["later"])


@nesterov_is_safe_where_the_heavy_ball_cycles.picture
def cones_and_cycles(pieces, settings):
    """The gap of rounded cones after k steps (left), and two methods on a function of curvature 1 and 25 (right)."""
    gap, aside = pieces["gap on rounded cones"], pieces["the heavy ball cycles"].aside
    k = gap.along["steps"]
    fine, time = np.linspace(1, k[-1], 100), np.arange(len(aside["ball"]))
    reach, smoothness = 2.0, settings["smoothness"]
    left = [
        Line("attained", fine, worst_accelerated_gap(reach**2, smoothness=smoothness, steps=fine)),
        Dots("rounded cones", k, gap.left),
        Line("attained", k, gap.aside["textbook"], rival="the textbook bound"),
        Line("gradient descent at worst", fine, smoothness * reach**2 / (4 * fine + 2), dashed=True),
    ]
    right = [
        Line("heavy ball", time[:40], aside["ball"][:40]),
        Dots("heavy ball", time[:40], aside["ball"][:40]),
        Line("Nesterov", time[:40], aside["nesterov"][:40]),
    ]
    return Row([Curves(left, x="steps k", y="gap f(w_k) − f*", log="xy"), Curves(right, x="step", y="point")])
