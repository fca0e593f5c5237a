"""Stochastic differential equations: their schemes, their clocks, their equilibria, and the one of SGD (arora 12.2)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.stochastic_equations import (
    ItoEquation,
    canonical_equation,
    euler_maruyama,
    exit_time_from_saddle,
    geometric_errors,
    gibbs_density,
    least_squares_moments,
    time_changed,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Identity, Law, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Row, seen

PULL, KICK = 1.3, 0.9
GROWTH = (0.3, 0.4)


def pulled(x):
    """The Ornstein–Uhlenbeck drift."""
    return -PULL * x


def kicked(x):
    """Its constant diffusion."""
    return jnp.full((1, 1), KICK)


def geometric(x):
    """A diffusion in proportion to the state."""
    return GROWTH[1] * x[:, None]


@partial(jax.jit, static_argnames=("which", "steps"))
def ends(increments, horizon, factor, *, which, steps):
    """The last points of Euler–Maruyama, on sums of given increments of variance 1/(number)."""
    merged = increments.reshape(len(increments), steps, -1).sum(2)
    equation = ItoEquation(lambda x: GROWTH[0] * x, geometric) if which == "geometric" else ItoEquation(pulled, kicked)
    equation, step = time_changed(equation, factor), horizon / factor / steps

    def one(row):
        return euler_maruyama(equation, jnp.ones(1), row[:, None] * jnp.sqrt(horizon / factor), step=step)[-1, 0]

    return jax.vmap(one)(merged)


@claim(
    items={
        "A12.9": (
            "strong order of Euler–Maruyama",
            "strong order of Milstein",
            "weak order of Euler–Maruyama",
            "errors by simulation",
            "error of Milstein by simulation",
        ),
        "A12.10": "change of clock",
    },
    says=r"Euler–Maruyama $X\leftarrow X+\mu h+S\,\Delta W$ has strong order $\frac12$ where the noise depends on "
    r"the state and weak order 1; Milstein's correction makes the strong order 1. In the time $\tau=t/a$ the "
    r"equation becomes $dx=a\mu\,d\tau+\sqrt a\,S\,dW_\tau$.",
    needs="a geometric Brownian motion for the orders, an Ornstein–Uhlenbeck process for the clock",
    symbols={
        r"\mu,S": "drift and diffusion",
        "h": "the step",
        r"\Delta W": "the increment of Brownian motion over a step",
        r"t,\tau,a": "old and new time, and their ratio",
        "X,x": "the approximation, and the solution in the new time",
    },
    why=r"Within a step the noise moves the state by $\sqrt h$ and so changes its own coefficient; the scheme "
    r"ignores that, at the cost of a random error of size $h$ a step, which adds up like a random walk to $\sqrt h$. "
    r"In means it cancels. A unit of the new time holds $a$ of the old, so that drift and variance are $a$ times "
    r"larger in it, hence the root.",
    notice="The strong error falls with half the slope of the others. On the right, the process in two clocks ends "
    "with the same second moment; with $a$ for its root it would not.",
)
def schemes_and_clocks(key, *, trials: Annotated[int, Interval(ge=1000, le=400_000)] = 80000):
    random, steps = generator(key), 0.5 / 2.0 ** np.arange(5, 11)
    (strong, weak), (milstein, _) = geometric_errors(*GROWTH, steps), geometric_errors(*GROWTH, steps, milstein=True)
    increments = random.standard_normal((trials, 32)) / np.sqrt(32)
    coarse = np.asarray(ends(increments, 1.0, 1.0, which="geometric", steps=32))
    exact = np.exp(GROWTH[0] - GROWTH[1] ** 2 / 2 + GROWTH[1] * increments.sum(1))
    # The root of the mean square of trials is not a mean: squares are compared.
    predicted = geometric_errors(*GROWTH, np.array([1 / 32]))[0] ** 2
    # Milstein's scheme written out; its errors scatter more, so it gets three times as many paths.
    pushes = random.standard_normal((3 * trials, 32)) / np.sqrt(32)
    truth = np.exp(GROWTH[0] - GROWTH[1] ** 2 / 2 + GROWTH[1] * pushes.sum(1))
    plain, bent = 1 + GROWTH[0] / 32 + GROWTH[1] * pushes, GROWTH[1] ** 2 * (pushes**2 - 1 / 32)
    corrected, overdone = ((np.prod(plain + share * bent, axis=1) - truth) ** 2 for share in (0.5, 1.0))
    horizon, factor, sizes = 0.8, 2.5, np.array([8, 16, 32])
    clocked = np.array(
        [np.asarray(ends(increments, horizon, factor, which="pulled", steps=int(n))) ** 2 for n in sizes]
    )
    decay = np.exp(-2 * PULL * horizon)
    settled = KICK**2 / (2 * PULL)
    return {
        "strong order of Euler–Maruyama": Rate(steps, strong, exponent=0.5, rivals=(1.0,)),
        "strong order of Milstein": Rate(steps, milstein, exponent=1.0, rivals=(0.5,)),
        "weak order of Euler–Maruyama": Rate(steps, weak, exponent=1.0, rivals=(0.5, 2.0)),
        "errors by simulation": Law(
            np.append(predicted, (1 + GROWTH[0] / 32) ** 32),
            np.stack([(coarse - exact) ** 2, coarse]),
            exact=True,
            resolution=0.1,  # squared errors of a geometric motion have heavy tails
        ),
        "error of Milstein by simulation": Law(
            geometric_errors(*GROWTH, np.array([1 / 32]), milstein=True)[0][0] ** 2,
            corrected,
            exact=True,
            resolution=0.1,
            aside={"overdone": overdone[:trials]},
        ),
        "change of clock": Law(
            decay + settled * (1 - decay),
            clocked,
            sizes=sizes,
            order=1.0,
            aside={"a": decay + factor * settled * (1 - decay), "sizes": sizes},
        ),
    }


@schemes_and_clocks.control("the term left out is S²(ΔW² − h), without a half", of="errors by simulation")
def without_half(evidence):
    return replace(evidence, predicted=evidence.predicted * np.array([4.0, 1.0]))


@schemes_and_clocks.control("Milstein's correction without its half", of="error of Milstein by simulation")
def overdone(evidence):
    return replace(evidence, observed=evidence.aside["overdone"])


@schemes_and_clocks.control("a for √a in front of the noise", of="change of clock")
def a_for_its_root(evidence):
    return replace(evidence, predicted=evidence.aside["a"])


@schemes_and_clocks.picture
def orders(pieces):
    """Exact errors of the schemes by step (left); the second moment in the other clock, by number of steps (right)."""
    errors = {"strong": "strong order of Euler–Maruyama", "Milstein": "strong order of Milstein"}
    errors["weak"] = "weak order of Euler–Maruyama"
    marks = [Dots(name, pieces[piece].x, pieces[piece].y) for name, piece in errors.items()]
    strong, weak, clock = (
        pieces["strong order of Euler–Maruyama"],
        pieces["weak order of Euler–Maruyama"],
        pieces["change of clock"],
    )
    marks += [
        Line("∝ √h", strong.x, strong.y[-1] * (strong.x / strong.x[-1]) ** 0.5),
        Line("∝ h", weak.x, weak.y[-1] * weak.x / weak.x[-1]),
    ]
    right = [
        seen("in the new clock", clock.aside["sizes"], clock.observed),
        Level("in the old clock", y=float(clock.predicted)),
        Level("", y=float(clock.aside["a"]), rival="a in place of √a"),
    ]
    return Row(
        [
            Curves(marks, x="step h", y="error", log="xy"),
            Curves(right, x="steps", y="second moment at the end", log="x"),
        ]
    )


def well(x):
    """A double well with minima at −1 and 1."""
    return (x**2 - 1) ** 2 / 4


@partial(jax.jit, static_argnames="steps")
def regression_ends(increments, points, targets, rate, batch, start, *, steps):
    """Last points, at time one, of the canonical equation of least squares on given increments."""

    def gradients(x):
        return (points @ x - targets)[:, None] * points

    merged = increments.reshape(len(increments), steps, -1, increments.shape[-1]).sum(2)
    equation = canonical_equation(gradients, rate=rate, batch=batch)
    return jax.vmap(lambda row: euler_maruyama(equation, start, row, step=1 / steps)[-1])(merged)


@claim(
    items={
        "A12.11": ("law at equilibrium", "variance in a quadratic well"),
        "A12.12": ("second moments of least squares", "only the ratio of rate and batch"),
        "A12.32": "time to leave a saddle",
    },
    says=r"$dX=-f'dt+\sqrt\eta\sigma\,dW$ settles at the density $\propto e^{-2f/\eta\sigma^2}$ and leaves a saddle "
    r"of curvature $-a$ after about $\frac1{2a}\ln\frac1\eta$. The canonical equation $dX=-\nabla "
    r"f\,dt+\sqrt{\eta/B}\,\Sigma^{1/2}dW$ of least squares has second moments that solve a linear equation, and "
    r"depends on $\eta/B$ alone.",
    needs="noise independent of the state for the Gibbs law and the saddle",
    symbols={
        "X": "the solution of the stochastic equation",
        "f": "the loss",
        r"\eta,B": "learning rate and batch size",
        r"\sigma,\Sigma": "the scale of the noise, and the covariance of the gradient of one example",
        "W": "Brownian motion",
        "a": "how strongly the saddle repels",
    },
    why=r"In equilibrium the current $-f'p-\frac12\eta\sigma^2p'$ vanishes, which the Gibbs density solves. Near a "
    r"saddle the noise, of size $\sqrt\eta\sigma$, is amplified like $e^{at}$ until it reaches order one. For least "
    r"squares the covariance of the gradients is quadratic in the parameters, so that second moments close.",
    notice="The histogram of many independent runs under the Gibbs density; half the exponent would be too wide. The "
    "time to leave the saddle grows by the same amount at each halving of the rate.",
    explore={"temperature": (0.3, 0.5, 1.0)},
)
def equilibria_and_escapes(
    key,
    *,
    temperature: Annotated[float, Interval(ge=0.2, le=2.0)] = 0.5,
    trials: Annotated[int, Interval(ge=2000, le=400_000)] = 26000,
):
    random, step = generator(key), 0.01
    # ησ² is the temperature. Started from a fair coin between the wells, since the law itself is even.
    x = np.sign(random.standard_normal(trials))
    for _ in range(800):
        x = x - step * (x**3 - x) + np.sqrt(temperature * step) * random.standard_normal(trials)
    grid = np.linspace(-4, 4, 4001)
    density, wide = (gibbs_density(well, grid, rate=rate, noise=1.0) for rate in (temperature, 2 * temperature))
    below, wider = (np.append(0.0, np.cumsum((p[1:] + p[:-1]) / 2) * (grid[1] - grid[0])) for p in (density, wide))
    gaussian = gibbs_density(lambda y: 1.7 * y**2 / 2, grid, rate=temperature, noise=0.8)

    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [-0.6, 0.8]])
    targets, start = np.array([1.5, -1.0, 0.5, 0.3]), np.array([0.5, -0.5])
    corner, rate = ([0, 0, 1], [0, 1, 1]), 1.6
    wanted = least_squares_moments(points, targets, start, rate=rate, batch=2)[corner]
    quiet = least_squares_moments(points, targets, start, rate=rate, batch=4)[corner]
    sizes = np.array([8, 16, 64])
    increments = random.standard_normal((trials, 64, 4)) / 8
    data = (increments, points, targets)
    found = [np.asarray(regression_ends(*data, rate, 2, start, steps=int(n))) for n in sizes]
    twice = np.asarray(regression_ends(*data, 2 * rate, 4, start, steps=64))
    second = np.array([[path[:, 0] ** 2, path[:, 0] * path[:, 1], path[:, 1] ** 2] for path in found])

    noises, curvatures = 0.3 / 4.0 ** np.arange(6), np.array([0.5, 1.5, 4.0])
    times = np.array([exit_time_from_saddle(a, 1.0, noises) for a in curvatures])
    return {
        "law at equilibrium": Distribution(
            np.interp(x, grid, below), aside={"samples": x[:4000], "wider": np.interp(x, grid, wider)}
        ),
        "variance in a quadratic well": Identity(
            np.trapezoid(grid**2 * gaussian, grid), temperature * 0.64 / (2 * 1.7), error=1e-9
        ),
        "second moments of least squares": Law(
            wanted,
            second,
            sizes=sizes,
            order=1.0,
            scale=np.abs(wanted).max(),
            aside={
                "half the noise": quiet,
                "squared rate": least_squares_moments(points, targets, start, rate=rate**2, batch=2)[corner],
            },
        ),
        "only the ratio of rate and batch": Identity(twice, found[-1], scale=1.0, condition=100.0),
        "time to leave a saddle": Identity(
            times[:, -1] - times[:, -2],
            np.log(16) / (2 * curvatures),
            error=1e-4,
            aside={"rates": noises**2, "times": times, "curvature": curvatures},
        ),
    }


@equilibria_and_escapes.control("e^(−f/ησ²), half the exponent", of="law at equilibrium")
def half_the_exponent(evidence):
    return replace(evidence, ranks=evidence.aside["wider"])


@equilibria_and_escapes.control("half the noise", of="second moments of least squares")
def half_the_noise(evidence):
    return replace(evidence, predicted=evidence.aside["half the noise"])


@equilibria_and_escapes.control("η² for η", of="second moments of least squares")
def squared_rate(evidence):
    return replace(evidence, predicted=evidence.aside["squared rate"])


@equilibria_and_escapes.control("(1/a) ln(1/η)", of="time to leave a saddle")
def twice_the_logarithm(evidence):
    return replace(evidence, right=2 * evidence.right)


@equilibria_and_escapes.picture
def wells_and_saddles(pieces, settings):
    """Independent runs in a double well under the Gibbs density (left); mean times to leave a saddle (right)."""
    grid = np.linspace(-2.5, 2.5, 200)
    left = [
        Line("Gibbs", grid, gibbs_density(well, grid, rate=settings["temperature"], noise=1.0)),
        Line(
            "wider",
            grid,
            gibbs_density(well, grid, rate=2 * settings["temperature"], noise=1.0),
            rival="half the exponent",
        ),
    ]
    escape = pieces["time to leave a saddle"]
    rates = escape.aside["rates"]
    right = []
    for a, times in zip(escape.aside["curvature"], escape.aside["times"], strict=True):
        right += [Dots(f"a = {a:g}", rates, times)]
        right += [Line(f"a = {a:g}", rates, times[-1] + np.log(rates[-1] / rates) / (2 * a))]
    return Row(
        [
            Histogram(left, samples=pieces["law at equilibrium"].aside["samples"], x="position", y="density"),
            Curves(right, x="noise ησ²", y="mean time to leave", log="x"),
        ]
    )
