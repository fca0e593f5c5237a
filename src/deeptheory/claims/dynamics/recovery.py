"""From the equator to the hidden direction: start, noise, drift and growth of the overlap.

jagannath 11.3 to 11.5.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen
from scipy import stats
from scipy.integrate import solve_ivp

from deeptheory.dynamics.noise_scaling import noise_moments, spherical_gradient
from deeptheory.dynamics.recurrences import bihari_lasalle_bound, gronwall_bound, growth_recursion
from deeptheory.dynamics.single_index import overlap_velocity, teacher_student_series
from deeptheory.dynamics.sphere import overlap_cdf, overlap_chain
from deeptheory.foundations.hermite import hermite_link
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import (
    Distribution,
    Identity,
    Inequality,
    Integers,
    Law,
    Limit,
    Rate,
    Reals,
    Sizes,
    Trials,
    claim,
)
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row, seen

LINEAR, SQUARE, CUBIC = (hermite_link(degree) for degree in (1, 2, 3))
Three = Annotated[Sizes, MinLen(3)]


@claim(
    items={"J11.9": ("law of the overlap", "distance from the normal law")},
    says=r"The overlap $m$ of a uniform point on the sphere in $N$ dimensions has density proportional to "
    r"$(1-m^2)^{(N-3)/2}$, and $\sqrt N\,m$ is standard normal in the limit, at a distance of order $1/N$.",
    needs="a fixed direction",
    symbols={
        r"m": "the overlap: the coordinate of the point along a fixed direction",
        r"N": "the dimension",
    },
    why=r"The points of one overlap form a sphere of one dimension less and of radius $\sqrt{1-m^2}$; its surface, and "
    r"the slope of the sphere there, give the density. With $m=u/\sqrt N$ it is $(1-u^2/N)^{(N-3)/2}$, which tends to "
    r"$e^{-u^2/2}$.",
    notice="In high dimension nearly all of the sphere is its equator: a random start has an overlap of order "
    r"$1/\sqrt N$ with any direction, a hidden one included.",
    explore={"dimension": (3, 5, 12, 100)},
)
def starts_lie_on_the_equator(key, *, dimension: Annotated[int, Interval(ge=3, le=1000)] = 5, trials: Trials = 60_000):
    overlap = unit_vectors(generator(key), trials, dimension)[:, 0]
    sizes, grid = np.array([8, 16, 32, 64]), np.linspace(-3, 3, 601)
    gaps = [np.abs(overlap_cdf(np.clip(grid / n**0.5, -1, 1), int(n)) - stats.norm.cdf(grid)).max() for n in sizes]
    return {
        "law of the overlap": Distribution(
            overlap_cdf(overlap, dimension), aside={"overlap": overlap, "dimension": dimension}
        ),
        "distance from the normal law": Rate(sizes.astype(float), np.array(gaps), exponent=-1.0, rivals=(-0.5, -2.0)),
    }


@starts_lie_on_the_equator.control("exponent (N − 2)/2: one dimension more", of="law of the overlap")
def one_dimension_more(evidence):
    return replace(evidence, ranks=overlap_cdf(evidence.aside["overlap"], int(evidence.aside["dimension"]) + 1))


@starts_lie_on_the_equator.picture
def equator(pieces, settings):
    """Overlaps of uniform points, times √N, under their density and the normal one."""
    size = settings["dimension"]
    overlap = np.asarray(pieces["law of the overlap"].aside["overlap"]) * size**0.5
    grid = np.linspace(-min(size**0.5, 4), min(size**0.5, 4), 201)
    inner = np.clip(grid / size**0.5, -0.999, 0.999)
    density = stats.beta.pdf((1 + inner) / 2, (size - 1) / 2, (size - 1) / 2) / (2 * size**0.5)
    marks = [Line("density", grid, density), Line("normal limit", grid, stats.norm.pdf(grid), dashed=True)]
    return Histogram(marks, samples=overlap[:20_000], x="√N times the overlap", y="density")


def components(x, y):
    """Online principal components."""
    return -((x @ y) ** 2)


def mixture(x, y):
    """Likelihood of a mixture of two Gaussians, with h = ½."""
    return -jnp.logaddexp(x @ y + 0.5, -(x @ y) - 0.5)


def single_index(x, y):
    """Squared error of a student with the teacher's link; the hidden direction is the first axis."""
    return (jnp.tanh(y @ x) - jnp.tanh(y[0])) ** 2


PROBLEMS = {"principal components": components, "mixture": mixture, "single index": single_index}


@jax.jit
def moments_of(x, samples):
    """Both moments for every problem and every batch of its samples."""

    def of(loss, some):
        return jax.vmap(lambda y: noise_moments(loss, x, y, direction=jnp.eye(1, len(x))[0]))(some)

    return [of(loss, some) for loss, some in zip(PROBLEMS.values(), samples, strict=True)]


@claim(
    items={"J11.11": ("mixture, along", "mixture, whole", "single index, along", "single index, whole")},
    says=r"For principal components, mixtures and single-index models $E\langle\nabla H,\theta\rangle^2\le C$ and "
    r"$E\|\nabla H\|^{4+\epsilon}\le CN^{(4+\epsilon)/2}$ with a constant that does not depend on $N$.",
    needs="gradients along the sphere, at unit vectors; here ε = 1 and overlap 0.3",
    full=dict(sizes=(16, 64, 256), trials=128),
    symbols={
        r"\nabla H": "the noise of a gradient on the sphere",
        r"\theta": "the hidden direction",
        r"C": "a constant",
        r"\epsilon": "any positive number",
        r"N": "the dimension",
    },
    why=r"In all three problems the gradient is a number of order one times the sample. A sample has components of "
    r"order one and the length $\sqrt N$.",
    notice="Both moments, the second divided by its power of the dimension, are level: the noise is spread evenly over "
    "the directions. A loss that is multiplied by a power of the dimension would not be.",
)
def gradient_noise_is_spread_evenly(
    key, *, sizes: Annotated[Three, Interval(ge=8, le=2048)] = (8, 32, 128), trials: Trials = 32
):
    draw, found = generator(key), []
    for size in sizes:
        x = np.zeros(size)
        x[:2] = 0.3, 0.91**0.5
        count = 2**17 // size  # the fifth power of a normal variable has a long tail, in every dimension
        samples = draw.standard_normal((len(PROBLEMS), trials, count, size))
        samples[0, ..., 0] *= 2.5**0.5  # variance 1 + λ with λ = 3/2
        samples[1, ..., 0] += np.where(draw.random((trials, count)) < 1 / (1 + np.exp(-1.0)), 1.0, -1.0)
        found.append(np.array(moments_of(x, samples)))
    found, numbers = np.array(found), np.array(sizes, float)
    # Moments that stay bounded do not see what is a gradient along the sphere; by the chain rule, on tanh.
    y = samples[2, 0, :20]
    seen = np.tanh(y @ x)
    slopes = (2 * (seen - np.tanh(y[:, 0])) * (1 - seen**2))[:, None] * (y - (y @ x)[:, None] * x)
    along_the_sphere = [spherical_gradient(single_index, x, each) for each in y]
    return {"gradient along the sphere": Identity(along_the_sphere, slopes, scale=1.0, condition=100.0)} | {
        f"{problem}, {name}": Limit(numbers, found[:, row, which], order=0.0)  # bounded: no growth
        for row, problem in enumerate(PROBLEMS)
        for which, name in enumerate(("along", "whole"))
    }


@gradient_noise_is_spread_evenly.control("the loss times √N", of="mixture, along")
def longer_along(evidence):
    return replace(evidence, y=np.asarray(evidence.y) * np.asarray(evidence.x)[:, None])


@gradient_noise_is_spread_evenly.control("the loss times √N, whole gradient", of="single index, whole")
def longer_as_a_whole(evidence):
    return replace(evidence, y=np.asarray(evidence.y) * np.asarray(evidence.x)[:, None] ** 2.5)


@gradient_noise_is_spread_evenly.picture
def moments_by_dimension(pieces):
    """The two moments of the noise by dimension: along the hidden direction (left), of the whole gradient (right)."""
    panels = []
    for name, y in (("along", "E⟨∇H, θ⟩²"), ("whole", "E‖∇H‖⁵ over √N⁵")):
        marks = [seen(title.split(",")[0], piece.x, piece.y) for title, piece in pieces.items() if title.endswith(name)]
        panels.append(Curves(marks, x="dimension N", y=y, log="xy"))
    return Row(panels)


@claim(
    items={
        "J11.17": (
            "drift near the equator",
            "variance of the martingale",
            "largest noise",
            "mean path of the overlap",
            "step at which renormalising wins",
        )
    },
    says=r"The overlap gains on average $\frac\delta Na_km^{k-1}$ a sample near the equator, and fluctuates by a "
    r"martingale with $\sup_{t\le T}|M_t|\lesssim\frac\delta N\sqrt T$. With the cost of renormalising it follows "
    r"$\frac{dm}{ds}=-\delta(1-m^2)\phi'(m)-\frac{\delta^2}2m\,E[c^2]$, $s=t/N$.",
    needs="spherical online gradient descent, Gaussian inputs, steps δ of order one",
    symbols={
        r"\delta": "the step; a sample moves the iterate by $\\delta/N$ times the gradient",
        r"N": "the dimension",
        r"a_k": r"$2k$ times the square of the $k$-th Hermite coefficient",
        r"m": "the overlap",
        r"k": "the information exponent",
        r"M_t": "the sum of the noise along the hidden direction",
        r"T": "a number of samples",
        r"\phi": "the population loss",
        r"c": "the derivative of the loss of a sample in the field",
    },
    why=r"The population loss falls like $-\frac{a_k}km^k$, and its gradient along the sphere is $-a_km^{k-1}$. Noise "
    r"of independent samples adds up like a random walk (Doob). A step also lengthens the iterate by a factor "
    r"$1+\frac12(\delta c/N)^2N$; putting it back on the sphere takes that share from the overlap, in every step, so "
    r"that it is felt at the same time scale as the drift when $\delta$ is of order one.",
    notice="The drift alone, gradient flow on the population loss, runs far ahead of what is seen. With the cost of "
    r"renormalising the curve meets the dots. From $\delta=\frac16$ on renormalising would take more than the drift "
    "brings, at any overlap.",
    full=dict(sizes=(200, 800, 3200)),
)
def drift_noise_and_renormalisation(
    key, *, sizes: Annotated[Three, Interval(ge=50, le=20_000)] = (100, 200, 400), trials: Trials = 2048
):
    keys = jax.random.split(key, 3)
    near = np.array([0.2, 0.1, 0.05, 0.025])
    links = {"exponent 1": (lambda x: jnp.maximum(x, 0), 1), "exponent 2": (jnp.cos, 2), "exponent 3": (CUBIC, 3)}
    drifts = []
    for link, k in links.values():
        coefficient = -k * teacher_student_series(link)[k]
        forward, backward = (overlap_velocity(link, near, step=step, nodes=160) for step in (1.0, -1.0))
        drifts.append(np.abs((forward - backward) / 2 / (coefficient * near ** (k - 1)) - 1))

    # Noise at the equator for the cosine: E c²w² with c = −2(cos a − cos w) sin a.
    size, step, walks = 400, 0.01, np.array([25, 100, 400])
    x, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    slope = -2 * (np.cos(x)[:, None] - np.cos(x)) * np.sin(x)[:, None]
    square = w @ (slope**2 * x**2) @ w
    runs = [
        overlap_chain(
            k, jnp.cos, dimension=size, step=step, start=0.0, replicas=6 * trials, max_steps=int(t), stop=False
        )
        for k, t in zip(jax.random.split(keys[0], 3), walks, strict=True)
    ]

    clock, speed, begin = np.array([2.0, 7.0]), 0.1, 0.3
    paths = [
        [
            overlap_chain(
                each, SQUARE, dimension=n, step=speed, start=begin, replicas=trials, max_steps=int(s * n), stop=False
            ).overlap
            for each, s in zip(jax.random.split(k, len(clock)), clock, strict=True)
        ]
        for k, n in zip(jax.random.split(keys[1], len(sizes)), sizes, strict=True)
    ]
    grid = np.linspace(0, clock[-1], 46)

    def parts(link, m, step):
        """What the equation says of drift and of renormalising: odd and even in the step."""
        forward, backward = (overlap_velocity(link, m, step=sign * step, nodes=16) for sign in (1, -1))
        return (forward - backward) / 2, (forward + backward) / 2

    def flow(velocity):
        return solve_ivp(lambda s, m: velocity(m), (0, clock[-1]), [begin], t_eval=grid, rtol=1e-8).y[0]

    whole = flow(lambda m: sum(parts(SQUARE, m, speed)))
    bare = flow(lambda m: parts(SQUARE, m, speed)[0])
    overlaps = np.array([0.1, 0.5, 0.9])
    balance = [drift / -cost for drift, cost in (parts(link, overlaps, 1.0) for link in (SQUARE, jnp.square))]
    return {
        "drift near the equator": Limit(1 / near, np.array(drifts).max(0), order=1.0),
        "variance of the martingale": Law(
            (step / size) ** 2 * walks * square,
            np.array([run.overlap**2 for run in runs]),
            exact=True,
            resolution=0.12,
            along={"samples": walks},
        ),
        "largest noise": Rate(
            walks.astype(float), np.array([run.peak for run in runs]), exponent=0.5, rivals=(0.0, 1.0), order=0.5
        ),
        "mean path of the overlap": Law(
            np.interp(clock, grid, whole),
            np.array(paths),
            sizes=sizes,
            order=1.0,
            along={"time": clock},
            aside={"bare": np.interp(clock, grid, bare), "curves": np.stack([grid, whole, bare])},
        ),
        # Both parts go with m(1 − m²): for (x² − 1)/√2 the drift is 4δ and E c² is 48 of it, for x² 8δ and 192.
        "step at which renormalising wins": Identity(
            np.stack(balance),
            np.array([[1 / 6], [1 / 12]]),
            condition=100.0,
            along={"link": ("second Hermite polynomial", "x²"), "overlap": overlaps},
        ),
    }


@drift_noise_and_renormalisation.control("the drift alone", of="mean path of the overlap")
def drift_alone(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["bare"]))


@drift_noise_and_renormalisation.control(
    "noise that adds up without cancelling: T² for T", of="variance of the martingale"
)
def one_sample(evidence):
    walks = np.asarray(evidence.along["samples"], float)
    return replace(evidence, predicted=np.asarray(evidence.predicted)[0] * (walks / walks[0]) ** 2)


@drift_noise_and_renormalisation.control("the cost is δ²mE[c²], not half of it", of="step at which renormalising wins")
def twice_the_cost(evidence):
    return replace(evidence, right=evidence.right / 2)


@drift_noise_and_renormalisation.picture
def with_and_without(pieces):
    """Overlap over time for the second Hermite polynomial: chains in the largest dimension, and both equations."""
    found = pieces["mean path of the overlap"]
    grid, whole, bare = np.asarray(found.aside["curves"])
    return Curves(
        [
            Line("limit", grid, whole),
            Line("limit", grid, bare, rival="drift alone"),
            seen("chains", np.asarray(found.along["time"]), np.asarray(found.observed)[-1]),
        ],
        x="samples over dimension",
        y="overlap m",
    )


@claim(
    items={"J11.18": ""},
    says=r"If $m_t\ge a+b\sum_{j<t}m_j^{k-1}$, $k\ge3$, then $m_t\ge a(1-(k-2)cba^{k-2}t)^{-1/(k-2)}$ as long as "
    r"$m_t\le\eta$, with $c=(1+b\eta^{k-2})^{-(k-1)}$. For $k=2$ it is $m_t\ge a(1+b)^t$.",
    needs="a, b > 0; for k = 2 the sequence with equality attains the bound",
    over=dict(
        order=Integers(2, 6),
        a=Reals(1e-2, 0.5, log=True),
        b=Reals(1e-3, 0.05, log=True),
        t=Integers(1, 40),
    ),
    symbols={
        r"m_t": "the sequence, an overlap that grows by its own power",
        r"a": "a bound on its start",
        r"b": "the rate of growth",
        r"k": "the information exponent",
        r"\eta": "a level the sequence has not passed",
        r"c": "what discrete steps lose against the differential equation",
    },
    why=r"The least sequence grows by exactly $bm^{k-1}$ a step. The solution of $\dot m=bm^{k-1}$ grows faster, as "
    r"its velocity rises within the step, but by no more than the factor $1/c$: from $m$ to $m+bm^{k-1}$ the velocity "
    r"changes by $(1+bm^{k-2})^{k-1}$. So the sequence is above the solution with $cb$ for $b$.",
    notice=r"The sequence lies between its bound and the solution of the differential equation, which for $k=3$ is the "
    r"printed bound. From $1/\sqrt N$ it stays small for about $N^{(k-2)/2}/b$ steps, and then rises at once.",
)
def growth_by_a_power(order, a, b, t):
    sequence = growth_recursion(a, b, order=order, steps=t, most=40)
    third = jnp.maximum(order, 3)
    power = bihari_lasalle_bound(a, b, order=third, steps=t, cap=sequence)
    left = 1 - b * a ** (third - 2) * t
    printed = a / jnp.where(left > 0, jnp.maximum(left, 1e-300), jnp.inf) ** (1 / (third - 2))
    linear = gronwall_bound(a, b, steps=t)
    return Inequality(
        jnp.where(order == 2, linear, power),
        sequence,
        aside={"printed": jnp.where(order == 2, linear, jnp.where(left > 0, printed, 0.0))},
    )


@growth_by_a_power.control("a/(1 − ba^(k−2)t)^(1/(k−2)) for k ≥ 3, as printed", erratum="J11.18a")
def as_printed(evidence):
    return replace(evidence, quantity=evidence.aside["printed"])


@growth_by_a_power.picture
def sequence_and_bounds(pieces):
    """A sequence of exponent 3 from 0.4 at rate 0.15, the bound below it, and the solution of its equation above it."""
    a, b, steps = 0.4, 0.15, np.arange(14)
    sequence = np.asarray(growth_recursion(a, np.full(len(steps), b), order=3, steps=steps, most=int(steps[-1])))
    bound = np.asarray(bihari_lasalle_bound(a, b, order=3, steps=steps, cap=sequence))
    marks = [
        Dots("sequence", steps, sequence),
        Line("bound", steps, bound),
        Line("bound", steps, a / (1 - a * b * steps), rival="as printed"),
    ]
    return Curves(marks, x="steps t", y="overlap m")
