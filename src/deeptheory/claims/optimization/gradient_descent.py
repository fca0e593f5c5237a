"""How fast gradient descent is: the descent lemma and the rates that follow from it (arora 2.1, 2.5; lucchi 5.4–5.6).

The for-all statements are searched over functions of one variable with piecewise constant curvature: the known worst
functions of every class here are of that kind. The smoothness constant is 1, so step sizes are in units of 1/L.
"""

import functools
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Rate, Reals, assume, claim, rounding
from deeptheory.optimization.gradient_descent import (
    convex_gap_bound,
    gradient_descent,
    guaranteed_decrease,
    optimal_quadratic_step,
    polyak_lojasiewicz_factor,
    quadratic_losses,
    stationarity_bound,
    trajectory,
    worst_contraction,
    worst_convex_gap,
    worst_stationarity,
)
from deeptheory.optimization.landscapes import CosineSum, PiecewiseQuadratic, Quadratic, TanhNetworkLoss

PIECES = 10
Steps = Annotated[int, Interval(ge=1, le=200)]


def on_the_line(curvatures, start, step, steps):
    """Descend on the function with these curvatures on (−∞, 1], [1, 2], [2, 3], …, flat at 0."""
    function = PiecewiseQuadratic(jnp.arange(1.0, len(curvatures)), curvatures)
    return function, trajectory(gradient_descent(function, step_size=step), start[None], steps=steps)


@functools.partial(jax.jit, static_argnames="steps")
def descend(function, start, step, *, steps):
    """A run of gradient descent, compiled once per shape."""
    return trajectory(gradient_descent(function, step_size=step), start, steps=steps)


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


@claim(
    items={"A2.7": "", "L5.15": ""},
    says=r"A gradient step of size $\eta\le 1/L$ lowers an $L$-smooth function by at least "
    r"$(\eta-\eta^2L/2)\|\nabla f\|^2\ge\frac\eta2\|\nabla f\|^2$, convex or not.",
    needs="curvature between −L and L; η ≤ 1/L",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.02, 1)),
)
def descent_lemma(curvatures, start, step):
    _, states = on_the_line(curvatures, start, step, 1)
    square, drop = jnp.sum(states.gradient[0] ** 2), states.value[0] - states.value[1]
    exact = guaranteed_decrease(square, step_size=step, smoothness=1.0)
    links = {"half the step": (step / 2 * square, exact), "the whole decrease": (exact, drop)}
    return Chain(links, error=rounding(states.value))


descent_lemma.control("steps beyond 1/L", over=dict(step=Reals(1.01, 2)))
descent_lemma.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@descent_lemma.control("η² inside the norm of the second-order term")
def printed_line(evidence, instance):
    step = np.reshape(instance["step"], np.shape(evidence.error))
    exact, drop = evidence.links["the whole decrease"]
    printed = exact * (step - step**4 / 2) / (step - step**2 / 2)
    return replace(evidence, links={"the printed line": (printed, drop)})


@claim(
    items={"A2.7": ("parabola", "attained", "cosines"), "L5.15": ("parabola", "attained", "network")},
    says=r"Descent ends exactly at $\eta=2/L$: $\frac L2w^2$ falls by exactly $(\eta-\eta^2L/2)\|\nabla f\|^2$, so "
    r"it falls below and rises above that step; a sum of cosines never rises with $\eta<2/L$; a tanh network falls by "
    r"$(\eta-\eta^2L/2)\|\nabla f\|^2$ at every step, with $L$ the largest curvature along that step.",
    needs="smoothness in closed form, for the network measured along every step; there η ≤ 1/L",
)
def descent_ends_at_two_over_smoothness(
    key,
    *,
    dimension: Annotated[int, Interval(ge=1, le=100)] = 5,
    steps: Steps = 40,
    edge: Annotated[float, Interval(ge=0.01, le=4.0)] = 2.0,
):
    random = generator(key)
    grid = [Fraction(j, 20) for j in range(1, 51)]  # step sizes in units of 1/L, up to 2.5; one step from w = 1
    rises = [(1 - step * 1) ** 2 > 1 for step in grid]
    parabola, steep = Quadratic(jnp.array([[3.0]]), jnp.zeros(1)), 3.0
    first = [descend(parabola, jnp.ones(1), float(step) / steep, steps=1).value for step in grid]
    lowered = guaranteed_decrease(steep**2, step_size=np.array(grid, float) / steep, smoothness=steep)

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
    least = guaranteed_decrease(jnp.sum(states.gradient[:-1] ** 2, axis=1), step_size=0.05, smoothness=largest)
    return {
        "parabola": Exact(rises, [step > 2 for step in grid], along={"step": [float(step) for step in grid]}),
        "attained": Identity(-np.diff(first)[:, 0], lowered, scale=steep),
        "cosines": Exact(risen, np.zeros_like(risen)),
        "network": Inequality(least, -jnp.diff(states.value), error=rounding(states.value)),
    }


descent_ends_at_two_over_smoothness.control("cosines with steps up to 2.5/L", of="cosines", edge=2.5)


@descent_ends_at_two_over_smoothness.control("descent ends at 1/L", of="parabola")
def ends_at_one(evidence):
    return replace(evidence, right=np.asarray(evidence.along["step"]) > 1)


# Stationary points ---------------------------------------------------------------------------------------------------


@claim(
    items={"A2.22": "", "L5.16": ""},
    says=r"Without convexity, for $\eta\le1/L$ the mean of $T$ squared gradient norms, and so the least of them, is at "
    r"most $2(f(x_0)-f(x_T))/(\eta T)$.",
    needs="curvature between −L and L; η ≤ 1/L",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.05, 1)),
    full=dict(steps=12),
)
def gradients_become_small(curvatures, start, step, *, steps: Steps = 4):
    _, states = on_the_line(curvatures, start, step, steps)
    squares, value = jnp.sum(states.gradient[:-1] ** 2, axis=1), states.value
    bound = stationarity_bound(value[0] - value[-1], step_size=step, gradients=steps)
    return Inequality(squares.mean(), bound, error=rounding(value) * 2 / step)


gradients_become_small.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.5)))
gradients_become_small.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@claim(
    items={"A2.22": "", "L5.16": ""},
    says=r"Without convexity, for $\eta\le1/L$ the least of $T$ squared gradient norms is at most "
    r"$4\Delta/((T-1)(4\eta-L\eta^2)+2/L)$ where $\Delta=f(x_0)-f^*$.",
    needs="curvature between −L and L; η ≤ 1/L",
    # With shorter steps a straight line comes so near the bound that the search ends there. The worst functions
    # alternate between both ends of the curvature; fewer generations do not find them, nor do these beyond T = 3.
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.5, 1)),
    generations=100,
    full=dict(steps=3),
)
def least_gradient_is_smaller(curvatures, start, step, *, steps: Steps = 2):
    _, states = on_the_line(curvatures, start, step, steps)
    squares, value = jnp.sum(states.gradient[:-1] ** 2, axis=1), states.value
    # The minimum is at least g²/(2L) below any point; taking it to be just there makes the statement stronger.
    gap = value[0] - value[-2] + squares[-1] / 2
    least = worst_stationarity(gap, step_size=step, smoothness=1.0, gradients=steps)
    return Inequality(squares.min(), least, error=rounding(value) * 2 / step)


least_gradient_is_smaller.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.5)))
least_gradient_is_smaller.control("curvature beyond L", over=dict(curvatures=Reals(-1, 2, shape=(PIECES,))))


# Rates ---------------------------------------------------------------------------------------------------------------


@claim(
    items={"L5.9": ("curve", "decrease", "best step", "rate", "bound")},
    says=r"On a quadratic every mode shrinks by $(1-\eta\lambda)^2$ per step, so it falls exactly for "
    r"$0<\eta<2/\lambda$; the best step is $\eta^*=2/(\lambda_{\max}+\lambda_{\min})$ with factor "
    r"$((\kappa-1)/(\kappa+1))^2\le(1-1/\kappa)^2$.",
    needs="positive definite matrix with condition number κ",
)
def quadratic_modes(
    key,
    *,
    dimension: Annotated[int, Interval(ge=2, le=200)] = 20,
    condition: Annotated[float, Interval(ge=1.1, le=1e4)] = 100.0,
    steps: Steps = 100,
):
    random = generator(key)
    spectrum, offsets = np.geomspace(1 / condition, 1, dimension), random.standard_normal(dimension)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    matrix = basis * spectrum @ basis.T
    function = Quadratic(jnp.asarray(matrix), jnp.zeros(dimension))
    best, rate = optimal_quadratic_step(1 / condition, 1.0)
    sizes = (0.3, 1.0, float(best), 1.9)
    run = np.stack([descend(function, jnp.asarray(basis @ offsets), size, steps=steps).value for size in sizes])
    modes = jnp.asarray(spectrum), jnp.asarray(offsets)
    predicted = np.stack([quadratic_losses(*modes, step_size=size, steps=steps) for size in sizes])

    # One step from every eigenvector shows the factor of its mode; the largest decides.
    grid = best * np.linspace(0.05, 1.95, 77)  # the best step is its middle, number 38
    moved = basis - grid[:, None, None] * (matrix @ basis)
    factors = np.sum(moved * (matrix @ moved), axis=1) / np.sum(basis * (matrix @ basis), axis=0)
    worst, relative = factors.max(axis=1), grid[:, None] * spectrum
    clear = np.abs(relative - 2) > 1e-6
    safe = (1 - 1 / condition) ** 2
    return {
        "curve": Identity(run, predicted, scale=run[:, :1], size=dimension * steps, along={"step": sizes}),
        "decrease": Exact((factors < 1)[clear], relative[clear] < 2, along={"product": relative[clear]}),
        "best step": Exact(worst.argmin(), 38, along={"grid": grid}),
        "rate": Identity(worst.min(), rate, condition=condition, size=dimension),
        "bound": Chain({"below (1 − 1/κ)²": (worst.min(), safe), "below one": (safe, 1.0)}),
    }


@quadratic_modes.control("decrease only for η < 1/λ, as printed", erratum="L5.9a", of="decrease")
def printed_condition(evidence):
    return replace(evidence, right=evidence.along["product"] < 1)


@quadratic_modes.control("best step within η ≤ 1/λ_max", of="best step")
def printed_range(evidence):
    return replace(evidence, right=int(np.flatnonzero(evidence.along["grid"] <= 1)[-1]))


@quadratic_modes.control("(1 − κ)² is below one", of="bound")
def printed_bound(evidence):
    left, correct = evidence.links["below (1 − 1/κ)²"]
    printed = (1 - 1 / (1 - np.sqrt(correct))) ** 2
    return replace(evidence, links={"below (1 − κ)²": (left, printed), "below one": (printed, 1.0)})


@claim(
    items={"L5.13": ""},
    says=r"On a $\mu$-strongly convex $L$-smooth function each step multiplies the distance to the minimizer by at "
    r"most $\max(|1-\eta\mu|,|1-\eta L|)$, so for $\eta\le1/L$: $\|x_k-x^*\|^2\le(1-\eta\mu)^k\|x_0-x^*\|^2$ and "
    r"$f(x_k)-f^*\le\frac L2(1-\eta\mu)^k\|x_0-x^*\|^2$.",
    needs="curvature between μ and L; η ≤ 1/L",
    over=dict(
        convexity=Reals(0.02, 0.9), excess=Reals(0, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.02, 1)
    ),
    explore={"curved": ("everywhere", "on average"), "steps": (3, 6, 12)},
)
def strongly_convex_contraction(
    convexity, excess, start, step, *, steps: Steps = 6, curved: Literal["everywhere", "on average"] = "everywhere"
):
    floor = convexity if curved == "everywhere" else 0.0
    _, states = on_the_line(floor + (1 - floor) * excess, start, step, steps)
    if curved == "on average":
        convexity = jnp.minimum(convexity, excess.mean())
    distance, k = jnp.sum(states.position**2, axis=1), jnp.arange(steps + 1)
    sharp = worst_contraction(step_size=step, smoothness=1.0, strong_convexity=convexity) ** (2 * k) * distance[0]
    linear = (1 - step * convexity) ** k * distance[0]
    return Chain(
        {
            "sharp contraction": (distance, sharp),
            "linear rate": (sharp, linear),
            "value by distance": (states.value, distance / 2),
            "value": (states.value, linear / 2),
        }
    )


strongly_convex_contraction.control("steps beyond 1/L", over=dict(step=Reals(1.01, 2.2)))
strongly_convex_contraction.control("strongly convex only on average", curved="on average")


@claim(
    items={"L5.14": ""},
    says=r"On a convex $L$-smooth function with $\eta\le1/L$ the gap after $k$ steps is at most "
    r"$\|x_0-x^*\|^2/(2\eta k)$, which bounds even the mean gap of these steps, and at most "
    r"$L\|x_0-x^*\|^2/(4k\eta L+2)$.",
    needs="curvature between 0 and L; a minimizer; η ≤ 1/L",
    over=dict(curvatures=Reals(0, 1, shape=(PIECES,)), start=Reals(0.5, 12), step=Reals(0.05, 1)),
)
def convex_gap(curvatures, start, step, *, steps: Steps = 5):
    _, states = on_the_line(curvatures, start, step, steps)
    k = jnp.arange(1, steps + 1)
    worst = worst_convex_gap(start**2, step_size=step, smoothness=1.0, steps=k)
    printed = convex_gap_bound(start**2, step_size=step, steps=k)
    mean = jnp.cumsum(states.value[1:]) / k
    return Chain({"worst": (states.value[1:], worst), "printed": (worst, printed), "mean": (mean, printed)})


convex_gap.control("not convex", over=dict(curvatures=Reals(-1, 1, shape=(PIECES,))))
convex_gap.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.2)))


@claim(
    items={"L5.17": ""},
    says=r"If $\frac12\|\nabla f\|^2\ge\mu(f-f^*)$ and $f$ is $L$-smooth, each gradient step multiplies $f-f^*$ by "
    r"at most $1-2\mu(\eta-\eta^2L/2)$: by $1-\mu/L$ at $\eta=1/L$, and by $1-\frac34\mu/L$ at $\eta=1/(2L)$.",
    needs="the Polyak–Łojasiewicz inequality with μ on the whole line; 0 < η < 2/L; no convexity",
    over=dict(curvatures=Reals(-1, 1, shape=(4,)), start=Reals(0.1, 6)),
    explore={"step": (0.25, 0.5, 1.0, 1.5, 1.9)},
)
def polyak_lojasiewicz_rate(
    curvatures,
    start,
    *,
    step: Annotated[float, Interval(ge=0.01, le=1.99)] = 1.0,
    steps: Steps = 5,
    factor: Literal["proved", "as printed"] = "proved",
    constant: Literal["everywhere", "at the minimum"] = "everywhere",
):
    function, states = on_the_line(curvatures, start, step, steps)
    mu = function.polyak_lojasiewicz if constant == "everywhere" else curvatures[0]
    shrink = polyak_lojasiewicz_factor(step_size=step, smoothness=1.0, constant=mu) if factor == "proved" else 1 - mu
    # Where the inequality fails its constant is 0 and the statement is empty; the search goes where it is not.
    gap = jnp.where(mu > 0, states.value, 0.0)
    return Inequality(gap[1:], shrink ** jnp.arange(1, steps + 1) * gap[0], error=rounding(gap))


polyak_lojasiewicz_rate.control(
    "step 1/(2L) with the factor 1 − μ/L, as printed", erratum="L5.17a", step=0.5, factor="as printed"
)
polyak_lojasiewicz_rate.control(
    "a convex function with curvature μ at its minimum",
    over=dict(curvatures=Reals(0, 1, shape=(4,))),
    constant="at the minimum",
)


@claim(
    items={"L5.17": ("strongly convex", "convex")},
    says=r"A function with curvature at least $\mu$ satisfies $\frac12|f'|^2\ge\mu(f-f^*)$, with equality for "
    r"$\frac\mu2x^2$. Convexity alone gives no such $\mu$: for $x^4$ the ratio $\frac12|f'|^2/(f-f^*)$ is $8x^2$.",
    needs="smooth functions of one variable with a minimum",
)
def convexity_is_not_enough(*, curvature: Annotated[float, Interval(ge=0.01, le=100)] = 0.7):
    x = np.array([0.01, 0.1, 0.5, 1.0, 2.0])

    def ratio(function):
        slope = np.asarray(jax.vmap(jax.grad(function))(x))
        return slope**2 / 2 / np.asarray(function(x))  # both minima are 0

    return {
        "strongly convex": Chain(
            {
                "attained": (ratio(lambda x: curvature / 2 * x**2), curvature),
                "and not missed": (curvature, ratio(lambda x: curvature / 2 * x**2 + x**4)),
            }
        ),
        "convex": Rate(x, ratio(lambda x: x**4), exponent=2.0),
    }


@convexity_is_not_enough.control("some μ for every convex function, as printed", erratum="L5.17b", of="convex")
def some_constant(evidence):
    return replace(evidence, exponent=0.0)


@convexity_is_not_enough.control("twice the curvature", of="strongly convex")
def twice(evidence):
    attained, curvature = evidence.links["attained"]
    return replace(evidence, links={"not missed": (2 * curvature, attained)})
