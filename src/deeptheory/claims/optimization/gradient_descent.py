"""How fast gradient descent is: the descent lemma and the rates that follow from it (arora 2.1, 2.5; lucchi 5.4–5.6).

The for-all statements are searched over functions of one variable with piecewise constant curvature: the known worst
functions of every class here are of that kind. The smoothness constant is 1, so step sizes are in units of 1/L.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.lab import Chain, Exact, Identity, Inequality, Reals, assume, claim
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
from deeptheory.optimization.landscapes import (
    CosineSum,
    Huber,
    LogisticRidge,
    PiecewiseQuadratic,
    Quadratic,
    SigmoidRegression,
    SineBowl,
    TanhNetworkLoss,
    chain_quadratic,
)
from deeptheory.randomness import generator

PIECES = 10
Steps = Annotated[int, Interval(ge=1, le=200)]
Fraction_of_edge = Annotated[float, Interval(ge=0.01, le=4.0)]


def on_the_line(curvatures, start, step, steps):
    """Descend on the function with these curvatures on (−∞, 1], [1, 2], …, [9, ∞), flat at 0."""
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), curvatures)
    return function, trajectory(gradient_descent(function, step_size=step), start[None], steps=steps)


def rounding(values):
    """What is lost when values of this size are subtracted."""
    return 64 * jnp.finfo(values.dtype).eps * jnp.abs(values).max()


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


@descent_lemma.control("the proof's second line as printed, with η² inside the norm", erratum="A2.7")
def printed_line(evidence, instance):
    step = np.reshape(instance["step"], np.shape(evidence.error))
    exact, drop = evidence.links["the whole decrease"]
    printed = exact * (step - step**4 / 2) / (step - step**2 / 2)
    return replace(evidence, links={"the printed line": (printed, drop)})


@claim(
    items={"A2.7": ("parabola", "cosines"), "L5.15": ("parabola", "network")},
    says=r"Descent ends exactly at $\eta=2/L$: on $\frac L2w^2$ the loss falls below it and rises above it; a sum of "
    r"cosines falls at every step with $\eta<2/L$; a tanh network falls by $\frac\eta2\|\nabla f\|^2$ at every step "
    r"whose segment has curvature below $1/\eta$.",
    needs="smoothness constants known in closed form, for the network measured along every segment",
)
def descent_ends_at_two_over_smoothness(
    key, *, dimension: Annotated[int, Interval(ge=1, le=100)] = 5, steps: Steps = 40, edge: Fraction_of_edge = 2.0
):
    random = generator(key)
    grid = [Fraction(j, 20) for j in range(1, 51)]  # step sizes in units of 1/L, up to 2.5
    rises = [(1 - step) ** 2 > 1 for step in grid]

    weights = jnp.asarray(random.uniform(0.2, 2.0, dimension))
    sizes = edge * (1 - jnp.asarray(np.geomspace(1e-3, 0.95, 12))) / weights.max()
    starts = jnp.asarray(random.uniform(-3, 3, (12, dimension)))
    wells = CosineSum(weights)
    values = jax.jit(jax.vmap(lambda x, s: trajectory(gradient_descent(wells, step_size=s), x, steps=steps)))(
        starts, sizes
    )
    drops = values.value[:, :-1] - values.value[:, 1:]

    inputs, labels = jnp.asarray(random.standard_normal((20, 3))), jnp.asarray(np.sign(random.standard_normal(20)))
    loss = TanhNetworkLoss(inputs, labels, (6,))

    @jax.jit
    def network(start):
        def curvature(point):
            return jnp.abs(jnp.linalg.eigvalsh(jax.hessian(loss)(point))).max()

        step = 1 / (4 * curvature(start))
        states = trajectory(gradient_descent(loss, step_size=step), start, steps=steps)
        along = states.position[:-1, None] + jnp.linspace(0, 1, 5)[:, None] * jnp.diff(states.position, axis=0)[:, None]
        return states, step, jax.vmap(jax.vmap(curvature))(along).max()

    states, step, largest = network(loss.initial(key))
    assume(step * largest <= 1, "the step stays below one over the curvature met on the way")
    squares = jnp.sum(states.gradient[:-1] ** 2, axis=1)
    return {
        "parabola": Exact(rises, [step > 2 for step in grid], along={"step": [float(step) for step in grid]}),
        "cosines": Inequality(0.0, drops, error=rounding(values.value)),
        "network": Inequality(step / 2 * squares, -jnp.diff(states.value), error=rounding(states.value)),
    }


descent_ends_at_two_over_smoothness.control("cosines with steps up to 2.5/L", of="cosines", edge=2.5)


@descent_ends_at_two_over_smoothness.control("descent ends at 1/L", of="parabola")
def ends_at_one(evidence):
    return replace(evidence, right=np.asarray(evidence.along["step"]) > 1)


# Stationary points ---------------------------------------------------------------------------------------------------


@claim(
    items={"A2.22": "", "L5.16": ""},
    says=r"Without convexity, for $\eta\le1/L$ the least of $T$ squared gradient norms is at most their mean, which is at "
    r"most $2(f(x_0)-f(x_T))/(\eta T)$; the least is even at most $4\Delta/((T-1)(4\eta-L\eta^2)+2/L)$ where $\Delta$ is "
    r"the drop to the minimum.",
    needs="curvature between −L and L; η ≤ 1/L",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.05, 1)),
    full=dict(steps=12),
)
def gradients_become_small(curvatures, start, step, *, steps: Steps = 4):
    _, states = on_the_line(curvatures, start, step, steps)
    squares, value = jnp.sum(states.gradient[:-1] ** 2, axis=1), states.value
    # The minimum is at least g²/(2L) below any point; taking it to be just there makes the second statement stronger.
    gap = value[0] - value[-2] + squares[-1] / 2
    links = {
        "least below mean": (squares.min(), squares.mean()),
        "mean": (squares.mean(), stationarity_bound(value[0] - value[-1], step_size=step, gradients=steps)),
        "least": (squares.min(), worst_stationarity(gap, step_size=step, smoothness=1.0, gradients=steps)),
    }
    return Chain(links, error=rounding(value) * 2 / step)


gradients_become_small.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.5)))
gradients_become_small.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


# Rates ---------------------------------------------------------------------------------------------------------------


@claim(
    items={"L5.9": ("curve", "decrease", "best step", "rate", "bound")},
    says=r"On a quadratic every mode shrinks by $(1-\eta\lambda)^2$ per step, so the loss falls exactly for $0<\eta<2/\lambda$; "
    r"the best step is $\eta^*=2/(\lambda_{\max}+\lambda_{\min})$ with factor $((\kappa-1)/(\kappa+1))^2\le(1-1/\kappa)^2$.",
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
    spectrum = np.geomspace(1 / condition, 1, dimension)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    offsets = random.standard_normal(dimension)
    function = Quadratic(jnp.asarray(basis * spectrum @ basis.T), jnp.zeros(dimension))
    best, rate = optimal_quadratic_step(1 / condition, 1.0)
    sizes = jnp.array([0.3, 1.0, best, 1.9])

    @jax.jit
    def observe(start, sizes, grid):
        run = jax.vmap(lambda s: trajectory(gradient_descent(function, step_size=s), start, steps=steps).value)(sizes)
        # One step from every eigenvector shows the factor of its mode; the largest decides.
        modes = jnp.asarray(basis.T)
        moved = modes - grid[:, None, None] * jax.vmap(jax.grad(function))(modes)
        factors = jax.vmap(jax.vmap(function))(moved) / jax.vmap(function)(modes)
        return run, factors

    grid = best * np.linspace(0.05, 1.95, 77)  # the best step is its middle
    run, factors = observe(jnp.asarray(basis @ offsets), sizes, jnp.asarray(grid))
    predicted = jax.vmap(
        lambda s: quadratic_losses(jnp.asarray(spectrum), jnp.asarray(offsets), step_size=s, steps=steps)
    )
    worst = np.asarray(factors.max(axis=1))
    relative = grid[:, None] * spectrum  # in units of 1/λ
    clear = np.abs(relative - 2) > 1e-6
    return {
        "curve": Identity(run, predicted(sizes), scale=run[:, :1], size=dimension * steps, along={"step": sizes}),
        "decrease": Exact((np.asarray(factors) < 1)[clear], relative[clear] < 2, along={"product": relative[clear]}),
        "best step": Exact(worst.argmin(), 38, along={"grid": grid}),
        "rate": Identity(worst.min(), rate, condition=condition, size=dimension),
        "bound": Chain(
            {"below (1 − 1/κ)²": (worst.min(), (1 - 1 / condition) ** 2), "below one": ((1 - 1 / condition) ** 2, 1.0)}
        ),
    }


@quadratic_modes.control("decrease only for η < 1/λ, as printed", erratum="L5.9", of="decrease")
def printed_condition(evidence):
    return replace(evidence, right=evidence.along["product"] < 1)


@quadratic_modes.control("best step within η ≤ 1/λ_max, as the printed condition wants", erratum="L5.9", of="best step")
def printed_range(evidence):
    return replace(evidence, right=int(np.flatnonzero(evidence.along["grid"] <= 1)[-1]))


@quadratic_modes.control("the printed (1 − κ)² promises convergence", erratum="L5.9", of="bound")
def printed_bound(evidence):
    left, correct = evidence.links["below (1 − 1/κ)²"]
    printed = (1 - 1 / (1 - np.sqrt(correct))) ** 2
    return replace(evidence, links={"below (1 − κ)²": (left, printed), "below one": (printed, 1.0)})


@claim(
    items={"L5.13": ""},
    says=r"On a $\mu$-strongly convex $L$-smooth function each step shrinks the distance to the minimizer by at least "
    r"$\max(|1-\eta\mu|,|1-\eta L|)$, so for $\eta\le1/L$: $\|x_k-x^*\|^2\le(1-\eta\mu)^k\|x_0-x^*\|^2$ and "
    r"$f(x_k)-f^*\le\frac L2(1-\eta\mu)^k\|x_0-x^*\|^2$.",
    needs="curvature between μ and L; η ≤ 1/L",
    over=dict(
        convexity=Reals(0.02, 0.9), excess=Reals(0, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.02, 1)
    ),
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
    r"$\|x_0-x^*\|^2/(2\eta k)$, and the worst function has exactly $L\|x_0-x^*\|^2/(4k\eta L+2)$.",
    needs="curvature between 0 and L; a minimizer; η ≤ 1/L",
    over=dict(curvatures=Reals(0, 1, shape=(PIECES,)), start=Reals(0.5, 12), step=Reals(0.05, 1)),
)
def convex_gap(curvatures, start, step, *, steps: Steps = 5):
    _, states = on_the_line(curvatures, start, step, steps)
    k = jnp.arange(1, steps + 1)
    worst = worst_convex_gap(start**2, step_size=step, smoothness=1.0, steps=k)
    return Chain(
        {"worst": (states.value[1:], worst), "printed": (worst, convex_gap_bound(start**2, step_size=step, steps=k))}
    )


convex_gap.control("not convex", over=dict(curvatures=Reals(-1, 1, shape=(PIECES,))))
convex_gap.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.2)))


@claim(
    items={"L5.17": ""},
    says=r"If $\frac12\|\nabla f\|^2\ge\mu(f-f^*)$ and $f$ is $L$-smooth, each gradient step multiplies $f-f^*$ by at most "
    r"$1-2\mu(\eta-\eta^2L/2)$: by $1-\mu/L$ at $\eta=1/L$, and by $1-\frac34\mu/L$ at $\eta=1/(2L)$.",
    needs="the Polyak–Łojasiewicz inequality with μ on the whole line; 0 < η < 2/L; no convexity",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 12)),
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
    # Where the inequality fails its constant is 0 and the statement is empty; the search goes where it is not.
    holds = function.polyak_lojasiewicz
    mu = holds if constant == "everywhere" else jnp.where(holds > 0, curvatures[0], 0.0)
    shrink = polyak_lojasiewicz_factor(step_size=step, smoothness=1.0, constant=mu) if factor == "proved" else 1 - mu
    gap = jnp.where(holds > 0, states.value, 0.0)
    return Inequality(gap[1:], shrink ** jnp.arange(1, steps + 1) * gap[0], error=rounding(gap))


polyak_lojasiewicz_rate.control(
    "step 1/(2L) with the factor 1 − μ/L, as printed", erratum="L5.17", step=0.5, factor="as printed"
)
polyak_lojasiewicz_rate.control("the curvature at the minimum decides", constant="at the minimum")


# On problems one meets -----------------------------------------------------------------------------------------------


@claim(
    items={
        "L5.13": "logistic",
        "L5.14": ("chain", "huber"),
        "L5.16": "sigmoid",
        "L5.17": ("bowl", "wide"),
        "A2.22": "cosines",
    },
    says="The rates hold at every step on problems one meets: ridge-regularized logistic regression (linear), a chain of springs "
    "and the Huber function (sublinear), a sigmoid neuron and cosine wells (stationarity), the bowl x² + 3 sin² x and "
    "least squares with more unknowns than equations (linear without strong convexity).",
    needs="step 1/L with the smoothness constant of each problem",
)
def rates_on_regression(
    key,
    *,
    samples: Annotated[int, Interval(ge=5, le=1000)] = 40,
    dimension: Annotated[int, Interval(ge=2, le=100)] = 10,
    steps: Steps = 100,
    stretch: Annotated[float, Interval(ge=0.1, le=4.0)] = 1.0,
):
    random = generator(key)
    features = jnp.asarray(random.standard_normal((samples, dimension)))
    labels = jnp.asarray(np.sign(random.standard_normal(samples)))
    start = jnp.asarray(random.standard_normal(dimension))
    k = np.arange(1, steps + 1)

    @jax.jit
    def descend(function, start):
        step = stretch / function.smoothness
        return trajectory(gradient_descent(function, step_size=step), start, steps=steps), step

    logistic = LogisticRidge(features, labels, 0.1)
    found, best = descend(logistic, start)[0], jax.jit(lambda f: f.minimizer)(logistic)
    distance = np.sum((np.asarray(found.position) - best) ** 2, axis=1)
    contraction = float(1 - 0.1 / logistic.smoothness)
    evidence = {"logistic": Inequality(distance[1:], contraction**k * distance[0], error=1e-24)}

    spring = chain_quadratic(dimension)
    states, step = descend(spring, jnp.zeros(dimension))
    square, lowest = jnp.sum(spring.minimizer**2), spring(spring.minimizer)
    bound = worst_convex_gap(square, step_size=step / stretch, smoothness=spring.smoothness, steps=k)
    evidence["chain"] = Inequality(states.value[1:] - lowest, bound, error=rounding(states.value))

    # The worst threshold for exactly `steps` steps from distance 1.
    states, step = descend(Huber(jnp.array(1.0), jnp.array(1 / (2 * steps + 1))), start / jnp.linalg.norm(start))
    evidence["huber"] = Inequality(states.value[1:], worst_convex_gap(1.0, step_size=1.0, smoothness=1.0, steps=k))

    sigmoid = SigmoidRegression(features, (labels + 1) / 2)
    cosines = CosineSum(jnp.asarray(random.uniform(0.2, 2, dimension)))
    for name, function in {"sigmoid": sigmoid, "cosines": cosines}.items():
        states, step = descend(function, 3 * start)
        squares = np.sum(np.asarray(states.gradient[:-1]) ** 2, axis=1)
        mean = np.cumsum(squares) / k
        smoothness = float(function.smoothness)
        drop = stationarity_bound(np.asarray(states.value[0] - states.value[1:]), step_size=1 / smoothness, gradients=k)
        highest = cosines.range if name == "cosines" else states.value[0]
        links = {
            "least": (np.minimum.accumulate(squares), mean),
            "mean": (mean, drop),
            "range": (drop, stationarity_bound(highest, step_size=1 / smoothness, gradients=k)),
        }
        evidence[name] = Chain(links, error=rounding(states.value))

    bowl, states = SineBowl(), None
    states, _ = descend(bowl, 5 * start)
    evidence["bowl"] = Inequality(states.value[1:], (1 - bowl.polyak_lojasiewicz / 8) ** k * states.value[0])
    design = random.standard_normal((dimension // 2, dimension))
    spectrum = np.linalg.eigvalsh(design @ design.T)
    states, _ = descend(Quadratic(jnp.asarray(design.T @ design), jnp.zeros(dimension)), start)
    linear = (1 - spectrum[0] / spectrum[-1]) ** k * states.value[0]
    evidence["wide"] = Inequality(states.value[1:], linear, error=rounding(states.value))
    return evidence


rates_on_regression.control("step 2.5/L", stretch=2.5)
