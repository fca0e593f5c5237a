"""Where gradient descent is stuck near a saddle: a thin slab, seen in pictures and measured (arora 7.3.2)."""

import functools
from dataclasses import replace
from itertools import product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen
from jaxtyping import Array
from scipy import special

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Rate, Share, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Plane, Row
from deeptheory.optimization.escape import (
    coupled_runs,
    escape_time,
    leaving_times,
    slab_share,
    stuck_share,
    stuck_width,
    thin_slab_bound,
)
from deeptheory.optimization.landscapes import CubicSaddle, Quadratic, QuarticSaddle
from deeptheory.optimization.saddle import uniform_ball


@functools.partial(jax.jit, static_argnames=("steps", "dimension"))
def times_at_saddle(
    descent: float, starts: Array, radius: float, *, steps: int, dimension: int, rate: float = 1.0
) -> Array:
    """When runs with η = `rate` leave the ball of a radius around their start, at a saddle with one way down."""
    curvature = jnp.ones(dimension).at[0].set(-descent)
    saddle = Quadratic(jnp.diag(curvature), jnp.zeros(dimension))
    return leaving_times(saddle, starts, step_size=rate, radius=radius, steps=steps)


@functools.partial(jax.jit, static_argnames="steps")
def bent_times(descent: float, starts: Array, radius: float, *, steps: int) -> Array:
    """The same with a term that bends the stable manifold."""
    bent = lambda x: -descent / 2 * (x[0] - x[1] ** 2) ** 2 + x[1] ** 2 / 2  # noqa: E731
    return leaving_times(bent, starts, step_size=1.0, radius=radius, steps=steps)


@claim(
    items={
        "A7.12": ("stuck points in the plane", "stuck points in space", "width of the slab", "share of the ball"),
        "A7.13": ("bounds on the share", "both bounds written out"),
        "A7.17": ("stuck points in the plane", "stuck points in space"),
    },
    says=r"At a quadratic saddle with $\lambda_{\min}=-\gamma$ a run is stuck for $T$ steps exactly in a slab of width "
    r"about $2R/((1+\eta\gamma)^T-1)$. A part of a ball of radius $r$ with width $\omega$ has at most the share "
    r"$\frac\omega{r\sqrt\pi}\Gamma(\frac d2+1)/\Gamma(\frac d2+\frac12)\le\frac\omega r\sqrt{d/\pi}$.",
    needs="the other curvatures are 1; stuck means never farther than R from the start; looked at with η = 1, "
    "R = 1.2 and with η = 0.7, R = 0.83, the share of the ball with the first",
    symbols={
        r"\lambda_{\min}, -\gamma": "the lowest curvature at the saddle",
        "T": "the number of steps",
        "R": "how far a run may go and still count as stuck",
        r"\eta": "the step size",
        "r": "the radius of the ball from which a perturbation is drawn",
        r"\omega": "the width of the part, in one direction",
        r"\Gamma": "the gamma function",
        "d": "the dimension",
    },
    why=r"Along the way down the distance from the stable manifold grows by $1+\eta\gamma$ a step, so a run is out "
    r"after $T$ steps unless it begins within $R/((1+\eta\gamma)^T-1)$ of it. The largest slice of a ball across a "
    r"direction is the one through the centre, so a part of width $\omega$ has at most $\omega$ times the volume of "
    r"that slice.",
    notice="On the left, the ball of perturbations with the points from which a run stays: a narrow band, here around "
    "a curved manifold, and thinner with more steps. On the right, the share of a thin slab: the gamma functions give "
    r"it exactly; $\sqrt{d/\pi}$ is above, and $\sqrt{d/2\pi}$, the limit for many dimensions, below.",
    explore={"steps": (10, 20, 40)},
)
def stuck_region_is_a_thin_slab(
    key,
    *,
    descent: Annotated[float, Interval(ge=0.02, le=1.0)] = 0.1,
    steps: Annotated[int, Interval(ge=5, le=60)] = 20,
    trials: Trials = 160_000,
):
    ball, radius = 1.0, 1.2
    gain, settings = (1 + descent) ** steps - 1, ((1.0, radius), (0.7, 0.83))
    grid = np.linspace(-1, 1, 61)
    flat = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    flat = flat[np.linalg.norm(flat, axis=1) <= ball]
    few = np.linspace(-1, 1, 17)
    solid = np.stack(np.meshgrid(few, few, few), -1).reshape(-1, 3)
    solid = solid[np.linalg.norm(solid, axis=1) <= ball]

    def inside(points):
        """By hand: (1 + ηγ)^T − 1 times x₁ is gone along the way down, 1 − (1 − η)^T times y along the others."""
        first, others = points[:, 0] ** 2, np.sum(points[:, 1:] ** 2, 1)
        squares = [
            ((1 + rate * descent) ** steps - 1) ** 2 * first + (1 - (1 - rate) ** steps) ** 2 * others
            for rate, _ in settings
        ]
        return np.array(squares) <= np.array([[end**2] for _, end in settings])

    def stuck(points, rate=1.0, end=radius):
        setting = dict(steps=steps, dimension=points.shape[1], rate=rate)
        return np.asarray(times_at_saddle(descent, jnp.asarray(points), end, **setting)) > steps

    bent = np.asarray(bent_times(descent, jnp.asarray(flat), radius, steps=steps)) > steps
    dimensions = np.array([2, 8])
    counts = [int(stuck(uniform_ball(key, (trials, d))).sum()) for d in dimensions.tolist()]
    shares = [stuck_share(ball=ball, radius=radius, gain=gain, dimension=d) for d in dimensions.tolist()]

    many, widths = np.array([1, 2, 3, 5, 10, 30, 100, 1000]), np.array([1e-3, 1e-2, 0.1, 0.5])
    # The width is ω/r times the radius r, so that the share does not change along the second axis.
    balls = np.array([0.2, 1.0, 3.0])
    slabs, each = widths[:, None] * balls, many[:, None, None]
    sharp, simple = map(np.asarray, thin_slab_bound(slabs, radius=balls, dimension=each))
    exact = np.asarray(slab_share(slabs, radius=balls, dimension=each))
    half = float(stuck_width(radius, growth=descent, steps=steps)) / 2
    # A run has left after T steps if it begins a hundredth beyond half of the width, and not a hundredth before it.
    beside, stays = {"half of the width": [], "without the one": []}, np.array([0.99, 1.01, -0.99, -1.01])
    for (rate, end), down, time in product(settings, (descent, 0.35), (3, steps)):
        growth = rate * down
        for name, edge in (
            ("half of the width", float(stuck_width(end, growth=growth, steps=time)) / 2),
            ("without the one", end / (1 + growth) ** time),
        ):
            line = jnp.asarray(stays[:, None] * edge * np.eye(2)[0])
            left = np.asarray(times_at_saddle(down, line, end, steps=steps, dimension=2, rate=rate))
            beside[name].append(left > time)
    gammas = special.gammaln(many / 2 + 1) - special.gammaln(many / 2 + 0.5)
    written = [np.exp(gammas) / np.pi**0.5, np.sqrt(many / np.pi)]
    return {
        "stuck points in the plane": Exact(
            np.array([stuck(flat, *each) for each in settings]),
            inside(flat),
            along={"step": [rate for rate, _ in settings]},
            aside={"points": flat, "bent": bent, "half": half},
        ),
        "stuck points in space": Exact(
            np.array([stuck(solid, *each) for each in settings]),
            inside(solid),
            along={"step": [rate for rate, _ in settings]},
            aside={"points": solid},
        ),
        "width of the slab": Exact(
            np.array(beside["half of the width"]),
            np.broadcast_to(np.abs(stays) < 1, (8, 4)),
            aside={"without the one": np.array(beside["without the one"])},
        ),
        "share of the ball": Share(np.array(counts), trials, np.array(shares), along={"dimension": dimensions}),
        "bounds on the share": Chain(
            {"the largest slice": (exact, sharp), "√(d/π)": (sharp, simple)},
            along={"dimension": many, "width": widths, "radius": balls},
            aside={"without r": np.broadcast_to(slabs * (each / np.pi) ** 0.5, exact.shape)},
        ),
        # Logarithms of factorials up to thousands lose three digits in their difference.
        "both bounds written out": Identity(
            np.stack([sharp, simple]),
            np.array(written)[:, :, None, None] * slabs / balls,
            condition=1000.0,
            along={"bound": ["the largest slice", "√(d/π)"], "dimension": many, "width": widths, "radius": balls},
        ),
    }


@stuck_region_is_a_thin_slab.control("the slab of η = 1 for every η", of="stuck points in the plane")
def whatever_the_step(evidence):
    return replace(evidence, right=np.asarray(evidence.right)[[0, 0]])


@stuck_region_is_a_thin_slab.control("2R/(1 + ηγ)^T, without the one", of="width of the slab")
def without_the_one(evidence):
    return replace(evidence, left=evidence.aside["without the one"])


@stuck_region_is_a_thin_slab.control("ω√(d/π), without the radius", of="bounds on the share")
def without_the_radius(evidence):
    exact, _ = evidence.links["the largest slice"]
    return replace(evidence, links={"ω√(d/π)": (exact, evidence.aside["without r"])})


@stuck_region_is_a_thin_slab.control("a slab narrower by a factor 1.1", of="stuck points in the plane")
def a_step_more(evidence):
    points, half = evidence.aside["points"], evidence.aside["half"]
    closer = np.abs(points[:, 0]) <= half / 1.1
    return replace(evidence, right=np.asarray(evidence.right) & closer)


@stuck_region_is_a_thin_slab.control("all of the ball within R is stuck", of="stuck points in space")
def everything_stuck(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@stuck_region_is_a_thin_slab.control("√(d/2π), the limit, in every dimension", of="bounds on the share")
def limit_in_every_dimension(evidence):
    sharp, simple = evidence.links["√(d/π)"]
    return replace(evidence, links={"√(d/2π)": (sharp, simple / 2**0.5)})


@stuck_region_is_a_thin_slab.control("Γ(d/2 + 1/2)/Γ(d/2), half an index less", of="bounds on the share")
def half_an_index_less(evidence):
    exact, sharp = evidence.links["the largest slice"]
    d = np.asarray(evidence.along["dimension"])[:, None, None]
    less = 2 * special.gammaln(d / 2 + 0.5) - special.gammaln(d / 2) - special.gammaln(d / 2 + 1)
    return replace(evidence, links={"the largest slice": (exact, sharp * np.exp(less))})


@stuck_region_is_a_thin_slab.picture
def bands_and_slices(pieces):
    """Starts from which runs stay near a saddle whose stable manifold is bent (left); shares of thin slabs (right)."""
    band, volume = pieces["stuck points in the plane"], pieces["bounds on the share"]
    points, bent = band.aside["points"], np.asarray(band.aside["bent"], bool)
    turn = np.linspace(0, 2 * np.pi, 200)
    half = float(band.aside["half"])
    left = Plane(
        [
            Line("perturbation ball", np.cos(turn), np.sin(turn)),
            Dots("stuck", *points[bent].T),
            Level("without the bend", x=-half),
            Level("without the bend", x=half),
        ],
        x="way down",
        y="stable direction",
    )
    d, width = volume.along["dimension"], volume.along["width"][0]
    exact, sharp = (each[..., 1] for each in volume.links["the largest slice"])  # r = 1
    simple = volume.links["√(d/π)"][1][..., 1]
    right = Curves(
        [
            Line("by gamma functions", d, sharp[:, 0] / width),
            Dots("thin slab", d, exact[:, 0] / width),
            Line("√(d/π)", d, simple[:, 0] / width, dashed=True),
            Line("by gamma functions", d, simple[:, 0] / width / 2**0.5, rival="√(d/2π)"),
        ],
        x="dimension",
        y="share over ω/r",
        log="xy",
    )
    return Row([left, right])


@claim(
    items={"A7.16": ("share that has left", "median time along the dimension")},
    says=r"From a uniform point of a ball around a quadratic saddle a run has left by time $t$ with the probability "
    r"that $|x_1|>R/((1+\eta\gamma)^t-1)$. The median of $(1+\eta\gamma)^{\text{time}}$ grows like $\sqrt d$: each "
    r"doubling of the dimension costs $\frac12\ln2/\ln(1+\eta\gamma)$ steps.",
    needs="one way down, the other curvatures 1 and η at most 1; R large beside the radius of the ball",
    symbols={
        "t": "a number of steps",
        "x_1": "the first coordinate of the start, along the way down",
        "R": "how far a run must go to have left",
        r"\eta": "the step size",
        r"\gamma": "how fast the way goes down: minus the lowest curvature",
        "d": "the dimension",
    },
    why=r"In $d$ dimensions one coordinate of a point of the unit ball is of size $1/\sqrt d$, and it is all that "
    r"counts. It has to grow to size $R$, at a fixed rate: that takes the logarithm of $R\sqrt d$. So a thousand times "
    r"as many dimensions cost only $\frac12\ln1000$ over the rate.",
    notice="Curves of one shape, moved to the right by the same number of steps for every factor of ten in "
    "dimension. Were the needed time to grow with $d$ itself in the logarithm, the moves would be twice as far.",
    explore={"descent": (0.1, 0.2, 0.4)},
)
def escape_time_grows_with_the_logarithm_of_dimension(
    key,
    *,
    descent: Annotated[float, Interval(ge=0.02, le=1.0)] = 0.2,
    rate: Annotated[float, Interval(ge=0.1, le=1.0)] = 0.5,
    dimensions: Annotated[Sizes, MinLen(3)] = (10, 100, 1000),
    trials: Trials = 100_000,
):
    from scipy import special

    random, radius, growth = generator(key), 10.0, rate * descent
    horizon = int(np.ceil(np.log(50 * radius * dimensions[-1] ** 0.5) / np.log1p(growth)))
    counts, predicted, medians, curves = [], [], [], []
    for d in dimensions:
        # A point of the ball by its first coordinate and the length of the others, which all shrink alike.
        first, others = random.standard_normal(trials), random.chisquare(d - 1, trials) ** 0.5
        length = random.uniform(size=trials) ** (1 / d) / np.hypot(first, others)
        pair = np.stack([first * length, others * length], 1)
        runs = dict(steps=horizon, dimension=2, rate=rate)
        left = np.asarray(times_at_saddle(descent, jnp.asarray(pair), radius, **runs))
        quantiles = special.betaincinv(0.5, (d + 1) / 2, np.array([0.7, 0.5, 0.3])) ** 0.5
        times = np.ceil(escape_time(quantiles, radius=radius, growth=growth)).astype(int)
        counts.append([int(np.sum(left <= t)) for t in times])
        width = np.asarray(stuck_width(radius, growth=growth, steps=times))
        predicted.append(1 - np.asarray(slab_share(width, radius=1.0, dimension=d)))
        medians.append((1 + growth) ** np.median(left))
        curves.append(np.mean(left[:, None] <= np.arange(horizon + 1), 0))
    return {
        "share that has left": Share(
            np.array(counts),
            trials,
            np.array(predicted),
            along={"dimension": np.array(dimensions), "share that has left": [0.3, 0.5, 0.7]},
            aside={"curves": np.array(curves), "radius": radius},
        ),
        "median time along the dimension": Rate(np.array(dimensions), medians, exponent=0.5, rivals=(1.0, 0.0)),
    }


@escape_time_grows_with_the_logarithm_of_dimension.control(
    "a coordinate of the sphere, not of the ball", of="share that has left"
)
def on_the_sphere(evidence):
    from scipy import special

    d = np.asarray(evidence.along["dimension"])[:, None]
    square = special.betaincinv(0.5, (d + 1) / 2, 1 - np.asarray(evidence.predicted))
    return replace(evidence, predicted=1 - special.betainc(0.5, (d - 1) / 2, square))


@escape_time_grows_with_the_logarithm_of_dimension.picture
def shifted_curves(pieces, settings):
    """The share of runs that have left, over time, for each dimension; lines are predicted."""
    found = pieces["share that has left"]
    curves, radius, marks = found.aside["curves"], float(found.aside["radius"]), []
    time = np.arange(1, curves.shape[1])
    growth = settings["rate"] * settings["descent"]
    width = np.asarray(stuck_width(radius, growth=growth, steps=time))
    for d, curve in zip(found.along["dimension"], curves, strict=True):
        name = f"d = {d}"
        marks += [
            Line(name, time, 1 - np.asarray(slab_share(width, radius=1.0, dimension=int(d)))),
            Dots(name, time[::4], curve[1::4]),
        ]
    return Curves([*marks, Level("half have left", y=0.5)], x="steps", y="share of runs that have left")


@functools.partial(jax.jit, static_argnames="steps")
def pairs(function, first, second, step, *, steps):
    """Coupled runs for many pairs of starts, around a saddle at the origin."""
    return jax.vmap(
        lambda one, other: coupled_runs(function, jnp.zeros_like(one), one, other, step_size=step, steps=steps)
    )(first, second)


def lemma(runs, radius, step, rho, growth):
    """What the lemma compares while both runs are within a radius: ‖Δ‖ and ρ times the distance; ‖q‖, its bound and the
    bound of a single step; and when the first of two runs leaves."""
    p, q = (np.linalg.norm(each, axis=-1) for each in (runs.quadratic, runs.rest))
    far = np.maximum(*(np.linalg.norm(each, axis=-1) for each in (runs.first, runs.second)))
    time = np.arange(far.shape[1])
    left = np.array([np.argmax(each > radius) if np.any(each > radius) else len(time) + 8 for each in far])
    inside = time < left[:, None]  # both have been within S up to and with this time
    before = np.concatenate([inside[:, :1], inside[:, :-1]], 1)  # q(t) depends on earlier points only
    once = 2 * step * rho * radius / growth * p
    change = np.stack([np.asarray(runs.change)[inside], rho * far[inside]])
    return change, np.stack([q[before], (time * once)[before], once[before]]), left


@claim(
    items={
        "A7.14": (
            "difference in two parts",
            "growth of the first part",
            "change of the Hessian",
            "second part against the first",
            "time until one leaves",
        )
    },
    says=r"Two runs near a saddle that differ by $\eta\omega e_1$ have $\hat x_t=p(t)-q(t)$ with $\|p(t)\|="
    r"(1+\eta\gamma)^t\eta\omega$, and $\|q(t)\|\le\frac12\|p(t)\|$ while both are within $S$ of it and "
    r"$t\le\frac{1+\eta\gamma}{4\eta\rho S}$. So one is outside once $(1+\eta\gamma)^t>4S/(\eta\omega)$.",
    needs="ρ-Lipschitz Hessian within S of the saddle; e₁ its lowest eigenvector; the times fit, as they do for "
    "small S",
    symbols={
        r"\eta": "the step size",
        r"\omega": r"how far apart the runs begin, over $\eta$",
        "e_1": "the lowest eigenvector at the saddle",
        r"\hat x_t": "the difference of the runs after $t$ steps",
        "p(t), q(t)": "the difference on the quadratic approximation, and what the change of the Hessian takes from it",
        r"\gamma": "minus the lowest eigenvalue at the saddle",
        "S": "a radius around the saddle",
        r"\rho": "the Lipschitz constant of the Hessian",
    },
    why=r"The difference is multiplied by $I-\eta H$ at every step, up to $\eta\Delta_t\hat x_t$, where $\Delta_t$ is "
    r"the change of the Hessian, at most $\rho S$ near the saddle. If $q$ was at most half of $p$ so far, the $t$ "
    r"errors of size $2\eta\rho S$ each add up to at most $2\eta\rho St/(1+\eta\gamma)$ of $p(t)$: no more than half "
    r"if $S$ is small. Two points within $S$ are at most $2S$ apart, so a difference that grows has to push one of "
    r"them out.",
    notice="The differences rise on a line, as on the quadratic, long after the runs began to bend; the remainder $q$ "
    "stays below half of it until they are far out. Where both runs are still inside, the remainder is far below its "
    "bound.",
)
def coupled_runs_push_each_other_out(
    key,
    *,
    descent: Annotated[float, Interval(ge=0.05, le=0.5)] = 0.1,
    radius: Annotated[float, Interval(ge=0.005, le=0.1)] = 0.02,
    dimension: Annotated[int, Interval(ge=2, le=20)] = 4,
    trials: Trials = 64,
):
    saddle = QuarticSaddle(descent)
    # On the ball of radius S: smoothness 1 + 3S², Hessian 6S-Lipschitz.
    step, rho = 1 / (1 + 3 * radius**2), 6 * radius
    growth = 1 + step * descent
    random = generator(key)
    apart = radius * np.exp(random.uniform(-4, -2, trials))
    first = uniform_ball(key, (trials, dimension), radius=radius / 4)
    # Every other pair begins on both sides of the saddle, alike: such pairs are within S the longest, until 2S apart.
    first[::2, 0] = apart[::2] / 2
    second = first.copy()
    second[:, 0] -= apart
    needed = np.log(4 * radius / apart) / np.log(growth)
    longest = growth / (4 * step * rho * radius)
    assume(bool(np.all(np.ceil(needed) <= longest)), "the times fit: the radius is small for the curvature")
    steps = int(np.ceil(needed.max())) + 1
    runs = jax.tree.map(np.asarray, pairs(saddle, jnp.asarray(first), jnp.asarray(second), step, steps=steps))
    time = np.arange(steps + 1)
    p, q = np.linalg.norm(runs.quadratic, axis=-1), np.linalg.norm(runs.rest, axis=-1)
    change, remainder, left = lemma(runs, radius, step, rho, growth)
    # Along the axis of a cubic the Hessian changes as fast as ρ allows: two runs close together see nearly all of it.
    axis = np.eye(dimension)[0]
    start = random.uniform(radius / 2, radius, trials)[:, None] * axis
    beside = start - 0.05 * radius * random.uniform(size=(trials, 1)) * axis
    straight = pairs(CubicSaddle(descent, rho), jnp.asarray(start), jnp.asarray(beside), step, steps=6)
    steepest, bent, _ = lemma(straight, radius, step, rho, growth)
    change, remainder = np.hstack([change, steepest]), np.hstack([remainder, bent])
    return {
        "difference in two parts": Identity(
            runs.first - runs.second, runs.quadratic - runs.rest, scale=p[..., None], size=steps
        ),
        "growth of the first part": Identity(
            p, growth**time * apart[:, None], size=steps, along={"pair": np.arange(trials), "step": time}
        ),
        "change of the Hessian": Inequality(*change),
        "second part against the first": Inequality(*remainder[:2], error=1e-15, aside={"one": remainder[2]}),
        "time until one leaves": Inequality(
            left,
            np.ceil(needed),
            aside={"p": p[:4], "q": q[:4], "left": left[:4], "S": np.ceil(needed - np.log(4) / np.log(growth))},
        ),
    }


@coupled_runs_push_each_other_out.control("p grows like 1 + t ηγ, not like a power", of="growth of the first part")
def linear_growth(evidence):
    time = evidence.along["step"]
    rate = evidence.right[0, 1] / evidence.right[0, 0] - 1
    return replace(evidence, right=evidence.right[:, :1] * (1 + rate * time))


@coupled_runs_push_each_other_out.control("ρ/2, as for a mean that begins at the saddle", of="change of the Hessian")
def from_the_saddle(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@coupled_runs_push_each_other_out.control("the error of one step, not of t", of="second part against the first")
def one_step(evidence):
    return replace(evidence, bound=evidence.aside["one"])


@coupled_runs_push_each_other_out.control("once the difference on the quadratic exceeds S", of="time until one leaves")
def a_radius_apart(evidence):
    return replace(evidence, bound=evidence.aside["S"])


@coupled_runs_push_each_other_out.picture
def differences(pieces):
    """The quadratic part of the difference and the remainder over time, for four pairs of runs."""
    aside, marks = pieces["time until one leaves"].aside, []
    for p, q, end in zip(aside["p"], aside["q"], aside["left"], strict=True):
        time = np.arange(min(int(end) + 1, len(p)))
        marks += [Line("‖p‖", time, p[: len(time)]), Line("‖q‖", time[2:], q[2 : len(time)], dashed=True)]
    return Curves(marks, x="step, until one run is outside", y="size", log="y", ys=(1e-10, 1.0))
