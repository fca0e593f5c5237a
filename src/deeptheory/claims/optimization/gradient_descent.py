"""What one step of gradient descent achieves, and what many do without convexity (arora 2.1, 2.5; lucchi 5.5, 5.6).

The for-all statements are searched over functions of one variable with piecewise constant curvature: the known worst
functions of every class here are of that kind. Curvatures are drawn in units of L, step sizes of 1/L; L moves.
"""

import functools
from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Reals, assume, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.descent import (
    guaranteed_decrease,
    stationarity_bound,
    worst_stationarity,
)
from deeptheory.optimization.landscapes import CosineSum, PiecewiseQuadratic, Quadratic, TanhNetworkLoss
from deeptheory.optimization.runs import trajectory

PIECES = 10
Steps = Annotated[int, Interval(ge=1, le=200)]


def on_the_line(curvatures, start, step, steps):
    """Descend on the function with these curvatures on (−∞, 1], [1, 2], [2, 3], …, flat at 0."""
    function = PiecewiseQuadratic(jnp.arange(1.0, len(curvatures)), curvatures)
    return function, trajectory(function, optax.sgd(step), start[None], steps=steps)


@functools.partial(jax.jit, static_argnames="steps")
def descend(function, start, step, *, steps):
    """A run of gradient descent, compiled once per shape."""
    return trajectory(function, optax.sgd(step), start, steps=steps)


@jax.jit
def curvature_along_steps(function, states):
    """gᵀ∇²f g / ‖g‖² at nine points of every step of a run."""

    def curvature(start, end, share):
        move = end - start
        return move @ jax.jvp(jax.grad(function), (start + share * move,), (move,))[1] / (move @ move)

    shares = jnp.linspace(0, 1, 9)
    per_step = jax.vmap(jax.vmap(curvature, (None, None, 0)), (0, 0, None))
    return per_step(states.position[:-1], states.position[1:], shares)


# One step ------------------------------------------------------------------------------------------------------------


def lost(states, smoothness):
    """What rounding leaves of values that are sums of parts of both signs, of the size of Lx²/2 together."""
    return rounding(jnp.append(states.value, smoothness * jnp.max(states.position**2) / 2))


@claim(
    items={"A2.7": "", "L5.15": ""},
    says=r"A gradient step of size $\eta\le 1/L$ lowers an $L$-smooth function by at least "
    r"$(\eta-\eta^2L/2)\|\nabla f\|^2\ge\frac\eta2\|\nabla f\|^2$, convex or not.",
    needs="curvature between −L and L; η ≤ 1/L; searched with L from 0.2 to 5",
    over=dict(
        curvatures=Reals(-1, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        step=Reals(0.02, 1),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        r"\eta": "the step size",
        "L": "the smoothness of $f$: no curvature of it is larger in size",
        "f": "the function that is lowered",
        r"\nabla f": "its gradient where the step starts",
    },
    why="With curvature at most $L$ the function lies below the parabola that touches it at $x$ and opens with "
    r"curvature $L$. A step of size $\eta$ along the gradient lowers that parabola by exactly "
    r"$(\eta-\eta^2L/2)\|\nabla f\|^2$, and the function at least as much. For $\eta\le1/L$ the second term takes at "
    "most half of the first.",
    notice="On the left, the step ends near the bottom of the parabola, and the function is at or below it there. On "
    "the right, every function and step that was tried lowers its function by at least the guaranteed share; some "
    r"attain it, so that the share of the rival, with $\eta^4$, is too much.",
)
def descent_lemma(curvatures, start, step, smoothness):
    eta = step / smoothness
    _, states = on_the_line(smoothness * curvatures, start, eta, 1)
    square, drop = jnp.sum(states.gradient[0] ** 2), states.value[0] - states.value[1]
    exact = guaranteed_decrease(square, step_size=eta, smoothness=smoothness)
    links = {"half the step": (eta / 2 * square, exact), "the whole decrease": (exact, drop)}
    gain = smoothness * drop / jnp.maximum(square, 1e-30)
    drawn = {"curvatures": curvatures, "start": start, "step": step, "decrease": gain}
    aside = drawn | {"without L": (eta - eta**2 / 2) * square}
    return Chain(links, error=lost(states, smoothness), aside=aside)


descent_lemma.control("steps beyond 1/L", over=dict(step=Reals(1.01, 2)))
descent_lemma.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@descent_lemma.control("(η − η²/2)‖∇f‖², without the L")
def without_smoothness(evidence):
    exact, drop = evidence.links["the whole decrease"]
    return replace(evidence, links={"the rival": (np.reshape(evidence.aside["without L"], np.shape(exact)), drop)})


@descent_lemma.control("η² inside the norm of the second-order term")
def square_inside(evidence):
    step = np.reshape(evidence.aside["step"], np.shape(evidence.error))
    exact, drop = evidence.links["the whole decrease"]
    rival = exact * (step - step**4 / 2) / (step - step**2 / 2)
    return replace(evidence, links={"the rival line": (rival, drop)})


@descent_lemma.picture
def parabola_above(pieces):
    """One step to the bottom of the parabola above a function (left), and the decrease at every step tried (right)."""
    aside = pieces[""].aside
    # Of the first, random functions one with a step of about 1/L that gains somewhat more than guaranteed.
    gains = np.where(np.abs(aside["step"][:256] - 0.8) < 0.15, aside["decrease"][:256], np.inf)
    chosen = int(np.argmin(np.abs(gains - 0.6)))
    curvatures, start, step = (aside[name][chosen] for name in ("curvatures", "start", "step"))
    function = PiecewiseQuadratic(jnp.arange(1.0, len(curvatures)), jnp.asarray(curvatures))
    value, slope = map(float, jax.value_and_grad(lambda x: function(x[None]))(jnp.asarray(start)))
    values = jax.vmap(lambda x: function(x[None]))
    x, ends = start - slope * np.linspace(-1, 2.5, 200), np.array([start, start - step * slope])
    picked = [
        Line("a function", x, values(jnp.asarray(x))),
        Line("the parabola above it", x, value + slope * (x - start) + (x - start) ** 2 / 2, dashed=True),
        Dots("before and after", ends, values(jnp.asarray(ends))),
    ]
    eta = np.linspace(0.01, 1, 100)
    seen = [
        Dots("seen", aside["step"], aside["decrease"]),
        Line("guaranteed", eta, eta - eta**2 / 2),
        Line("η/2", eta, eta / 2, dashed=True),
        Line("guaranteed", eta, eta - eta**4 / 2, rival="η² inside the norm"),
    ]
    return Row(
        [
            Curves(picked, x="point x", y="value f(x), L = 1"),
            Curves(seen, x="step ηL", y="decrease · L / ‖∇f‖²", ys=(0, 2)),
        ]
    )


@claim(
    items={
        "A2.7": ("parabola rises beyond 2/L", "parabola attains the decrease", "cosine wells never rise"),
        "L5.15": ("parabola rises beyond 2/L", "parabola attains the decrease", "a network never rises"),
    },
    says=r"Descent ends exactly at $\eta=2/L$: $\frac L2w^2$ falls by exactly $(\eta-\eta^2L/2)\|\nabla f\|^2$, so "
    r"it falls below and rises above that step; a sum of cosines never rises with $\eta<2/L$; a tanh network falls by "
    r"$(\eta-\eta^2L/2)\|\nabla f\|^2$ at every step, with $L$ the largest curvature along that step.",
    needs="smoothness in closed form, for the network measured along every step; there η ≤ 1/L",
    symbols={
        r"\eta": "the step size",
        "L": "the smoothness: the largest curvature; for the network, the largest along each step",
        "w": "the point where the parabola is evaluated",
        r"\nabla f": "the gradient where the step starts",
    },
    why=r"On $\frac L2w^2$ a step multiplies $w$ by $1-\eta L$, so that the value falls exactly if $|1-\eta L|<1$, "
    r"which is $\eta<2/L$. For any other $L$-smooth function the parabola above it does the same: below $2/L$ it ends "
    "lower than it began. Since only the curvature between the two ends of a step matters, a network needs no "
    "smoothness elsewhere.",
    notice=r"The decrease grows up to $\eta=1/L$, falls back to nothing at $2/L$ and is a rise beyond. At $1/L$ "
    "nothing ends: it is where a step gains most. On the right, runs on a sum of cosines fall at every step: slowly "
    "with short steps, and in the end with steps just below $2/L$ too, where they overshoot each time and hardly gain.",
)
def descent_ends_at_two_over_smoothness(
    key,
    *,
    dimension: Annotated[int, Interval(ge=1, le=100)] = 5,
    steps: Steps = 40,
    edge: Annotated[float, Interval(ge=0.01, le=4.0)] = 2.0,
):
    random = generator(key)
    grid = np.arange(1, 51) / 20  # step sizes in units of 1/L, up to 2.5; one step from w = 1
    parabola, steep = Quadratic(jnp.array([[3.0]]), jnp.zeros(1)), 3.0
    first = np.array([descend(parabola, jnp.ones(1), step / steep, steps=1).value for step in grid])
    lowered = guaranteed_decrease(steep**2, step_size=grid / steep, smoothness=steep)

    wells = CosineSum(jnp.asarray(random.uniform(0.2, 2.0, dimension)))
    sizes = edge * (1 - np.geomspace(1e-3, 0.95, 12)) / float(wells.smoothness)
    starts = random.uniform(-3, 3, (12, dimension))
    values = np.stack(
        [descend(wells, jnp.asarray(x), s, steps=steps).value for x, s in zip(starts, sizes, strict=True)]
    )
    risen = np.diff(values, axis=1) > rounding(values)

    inputs, labels = random.standard_normal((20, 3)), np.sign(random.standard_normal(20))
    loss = TanhNetworkLoss(jnp.asarray(inputs), jnp.asarray(labels), (6,))
    states = descend(loss, loss.initial(key), 0.05, steps=steps)
    largest = curvature_along_steps(loss, states).max(axis=1)
    assume(0.05 * largest.max() <= 1, "the step of the network is below 1/L along all its steps")
    squares = jnp.sum(states.gradient[:-1] ** 2, axis=1)
    least, flatter = (guaranteed_decrease(squares, step_size=0.05, smoothness=share * largest) for share in (1, 1 / 2))
    return {
        "parabola rises beyond 2/L": Exact(first[:, 1] > first[:, 0] * (1 + 1e-12), grid > 2, along={"step": grid}),
        "parabola attains the decrease": Identity(-np.diff(first)[:, 0], lowered, scale=steep, along={"step": grid}),
        "cosine wells never rise": Exact(
            risen, np.zeros_like(risen), aside={"product": sizes * float(wells.smoothness), "values": values}
        ),
        "a network never rises": Inequality(
            least, -jnp.diff(states.value), error=rounding(states.value), aside={"half the curvature": flatter}
        ),
    }


descent_ends_at_two_over_smoothness.control("cosines with steps up to 2.5/L", of="cosine wells never rise", edge=2.5)


@descent_ends_at_two_over_smoothness.control("descent ends at 1/L", of="parabola rises beyond 2/L")
def ends_at_one(evidence):
    return replace(evidence, right=np.asarray(evidence.along["step"]) > 1)


@descent_ends_at_two_over_smoothness.control("η − η²L/4, with half the curvature", of="a network never rises")
def half_the_curvature(evidence):
    return replace(evidence, quantity=evidence.aside["half the curvature"])


@descent_ends_at_two_over_smoothness.picture
def where_descent_ends(pieces):
    """How much one step lowers a parabola, by step (left), and four runs on a sum of cosines, all below 2/L (right)."""
    attained, cosines = pieces["parabola attains the decrease"], pieces["cosine wells never rise"]
    products, values = cosines.aside["product"], cosines.aside["values"]
    fall = [
        Dots("seen", attained.along["step"], attained.left),
        Line("(η − η²L/2)‖∇f‖²", attained.along["step"], attained.right),
        Level(y=0.0),
        Level("2/L", x=2.0),
        Level("ends", x=1.0, rival="at 1/L"),
    ]
    shown = np.argsort(products)[[0, 4, 8, 11]]
    runs = [Line(f"ηL = {products[i]:.4g}", np.arange(values.shape[1]), values[i]) for i in shown]
    return Row([Curves(fall, x="step ηL", y="decrease of f"), Curves(runs, x="step", y="sum of cosines", log="y")])


# Stationary points ---------------------------------------------------------------------------------------------------


@claim(
    items={"A2.22": "", "L5.16": "", "A7.8": ""},
    says=r"Without convexity, for $\eta\le1/L$ the mean of $T$ squared gradient norms, and so the least of them, is at "
    r"most $2(f(x_0)-f(x_T))/(\eta T)$, for every $T$.",
    needs="curvature between −L and L; η ≤ 1/L; searched with L from 0.2 to 5 and every T up to the number of steps",
    over=dict(
        curvatures=Reals(-1, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        step=Reals(0.05, 1),
        smoothness=Reals(0.2, 5, log=True),
    ),
    full=dict(steps=12),
    symbols={
        r"\eta": "the step size",
        "L": "the smoothness: no curvature is larger in size",
        "T": "the number of gradients, one for each step",
        "f": "the function that is lowered, of any shape",
        "x_0, x_T": "where the run starts, and where it is after $T$ steps",
    },
    why=r"Each step lowers $f$ by at least $\frac\eta2\|\nabla f\|^2$. Added up, $T$ of these are at most the whole "
    "descent $f(x_0)-f(x_T)$, so their mean is at most a $T$-th of it; and the least is not above the mean. Nothing "
    "is said about the last gradient, nor about the value reached.",
    notice="Each run gives two dots for every $T$, one above the other: the mean of its squared gradients, and the "
    r"least of them. No mean is above the diagonal and some are on it, parabolas with $\eta=1/L$ among them; the least "
    "is often far below.",
)
def gradients_become_small(curvatures, start, step, smoothness, *, steps: Steps = 4):
    eta, counts = step / smoothness, jnp.arange(1.0, steps + 1)
    _, states = on_the_line(smoothness * curvatures, start, eta, steps)
    squares, value = jnp.sum(states.gradient[:-1] ** 2, axis=1), states.value
    drops = value[0] - value[1:]
    bound, more = (stationarity_bound(drops, step_size=eta, gradients=counts + further) for further in (0, 1))
    means = jnp.cumsum(squares) / counts
    aside = {"one more": more, "least": jax.lax.cummin(squares), "without η": bound * eta}
    return Inequality(means, bound, error=lost(states, smoothness) * 2 / eta, aside=aside)


gradients_become_small.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.5)))
gradients_become_small.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@gradients_become_small.control("2(f(x₀) − f(x_T))/T, without the step size")
def without_the_step(evidence):
    return replace(evidence, bound=np.reshape(evidence.aside["without η"], np.shape(evidence.bound)))


@gradients_become_small.control("T + 1 for T, as if the last point counted")
def last_point_counted(evidence):
    return replace(evidence, bound=np.reshape(evidence.aside["one more"], np.shape(evidence.bound)))


@gradients_become_small.picture
def means_and_bounds(pieces):
    """Mean and least squared gradient of each run against the bound on both: nothing lies above the diagonal."""
    found = pieces[""]
    bound, mean, least = (np.ravel(each) for each in (found.bound, found.quantity, found.aside["least"]))
    ends = np.array([0.01, 1.5 * max(float(bound.max()), 1.0)])
    marks = [
        Dots("the least of them", bound, least),
        Dots("mean of T squared gradients", bound, mean),
        Line("as large as the bound", ends, ends),
    ]
    limits = (0.01, float(ends[1]))
    return Curves(marks, x="bound 2(f(x₀) − f(x_T)) / (ηT)", y="squared gradient", log="xy", xs=limits, ys=limits)


@claim(
    items={},
    says=r"Without convexity, for $\eta\le1/L$ the least of $T$ squared gradient norms is at most "
    r"$4\Delta/((T-1)(4\eta-L\eta^2)+2/L)$ where $\Delta=f(x_0)-f^*$.",
    needs="curvature between −L and L; η ≤ 1/L; searched in one variable, with L from 0.2 to 5 and η from 1/(2L)",
    # With shorter steps a straight line comes so near the bound that the search ends there. The worst functions
    # alternate between both ends of the curvature; fewer generations do not find them, nor do these beyond T = 3.
    over=dict(
        curvatures=Reals(-1, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        step=Reals(0.5, 1),
        smoothness=Reals(0.2, 5, log=True),
    ),
    generations=100,
    full=dict(steps=3),
    symbols={
        r"\eta": "the step size",
        "L": "the smoothness: no curvature is larger in size",
        "T": "the number of gradients looked at",
        r"\Delta": "the gap $f(x_0)-f^*$ between the start and the minimum",
    },
    why="If all of $T$ gradients are at least $g$ long, the function must fall a certain way between each two of "
    "them, and once more from the last to the minimum. Between two points of equal slope it falls least if the slope "
    r"first shrinks as fast as it may and then grows back: still $(\eta-\frac{L\eta^2}4)g^2$, which is more than the "
    r"$\frac\eta2g^2$ of the descent lemma. From the last point to the minimum it falls by at least $g^2/2L$.",
    notice="The search finds functions that come up to the sharp curve but none above it. The usual bound, which the "
    "mean of the squared gradients may attain, is not attained by the least of them. With one gradient more in the "
    "denominator the curve would cut through the dots.",
)
def least_gradient_is_smaller(curvatures, start, step, smoothness, *, steps: Steps = 2):
    eta = step / smoothness
    _, states = on_the_line(smoothness * curvatures, start, eta, steps)
    squares, value = jnp.sum(states.gradient[:-1] ** 2, axis=1), states.value
    # The minimum is at least g²/(2L) below any point; taking it to be just there makes the statement stronger.
    gap, setting = value[0] - value[-2] + squares[-1] / (2 * smoothness), dict(step_size=eta, smoothness=smoothness)
    least, more = (worst_stationarity(gap, **setting, gradients=n) for n in (steps, steps + 1))
    without = 4 * gap / ((steps - 1) * (4 * eta - eta**2) + 2)
    aside = {"one more": more, "without L": without, "scaled gap": smoothness * gap, "step": step}
    return Inequality(squares.min(), least, error=lost(states, smoothness) * 2 / eta, aside=aside)


least_gradient_is_smaller.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.5)))
least_gradient_is_smaller.control("curvature beyond L", over=dict(curvatures=Reals(-1, 2, shape=(PIECES,))))


@least_gradient_is_smaller.control("4Δ/((T − 1)(4η − η²) + 2), without the L")
def least_without_smoothness(evidence):
    return replace(evidence, bound=np.reshape(evidence.aside["without L"], np.shape(evidence.bound)))


@least_gradient_is_smaller.control("T for T − 1 in the denominator")
def one_gradient_more(evidence):
    return replace(evidence, bound=np.reshape(evidence.aside["one more"], np.shape(evidence.bound)))


@least_gradient_is_smaller.picture
def least_by_step(pieces, settings):
    """The least squared gradient of each run, over L times its first gap, below the sharp bound and the usual one."""
    found, eta, count = pieces[""], np.linspace(0.5, 1, 100), settings["steps"]
    step, gap = found.aside["step"], found.aside["scaled gap"]
    setting: dict[str, Any] = dict(step_size=eta, gradients=count)
    marks = [
        Dots("random and searched functions", step, np.ravel(found.quantity) / gap),
        Line("sharp", eta, worst_stationarity(1.0, smoothness=1.0, **setting)),
        Line("usual, 2/(ηT)", eta, stationarity_bound(1.0, **setting)),
        Line(
            "sharp",
            eta,
            worst_stationarity(1.0, step_size=eta, smoothness=1.0, gradients=count + 1),
            rival="T for T − 1",
        ),
    ]
    return Curves(marks, x="step ηL", y="least squared gradient / (L(f(x₀) − f*))")
