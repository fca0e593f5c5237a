"""Functions that attain the rates of gradient descent, and problems on which one meets them (arora 2, lucchi 5)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.optimization.gradient_descent import Steps, descend
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Stack
from deeptheory.optimization.descent import (
    convex_gap_bound,
    polyak_lojasiewicz_factor,
    stationarity_bound,
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
    chain_quadratic,
    polyak_lojasiewicz_constant,
)


@jax.jit
def minimizer_of(function):
    """Where a landscape is lowest, compiled once per kind and shape."""
    return function.minimizer


@jax.jit
def hessians(function, points):
    """The Hessian at each of the points, compiled once per kind and shape."""
    return jax.vmap(lambda point: jax.hessian(function)(point))(points)


@claim(
    items={
        "A2.22": ("mean squared gradient", "least squared gradient"),
        "L5.16": ("mean squared gradient", "least squared gradient"),
        "L5.13": "distance from the minimizer",
        "L5.14": ("gap of a convex function", "mean gap of a convex function"),
        "L5.17": "factor of a Polyak–Łojasiewicz function",
    },
    says=r"Each rate is attained by a function of one variable: the mean of $T$ squared gradients by $\frac L2x^2$, "
    r"the least of them by a saw, the distance $\max(|1-\eta\mu|,|1-\eta L|)^k$ by a parabola, the gap $LR^2/(4k\eta "
    r"L+2)$ by a rounded cone; the mean gap to $(1-1/k)^2$ of $R^2/(2\eta k)$.",
    needs="η ≤ 1/L, and η = 1/L for the mean square and the mean gap; for the gaps, start at distance R",
    symbols={
        "T": "the number of gradients",
        "L": "the smoothness, the largest curvature",
        r"\eta": "the step size",
        r"\mu": "the least curvature, where the function is strongly convex; for a parabola also its "
        "Polyak–Łojasiewicz constant",
        "k": "the number of steps",
        "R": "the distance of the start from the minimizer",
    },
    why="A proof of a rate says what the worst function must do at every step. For the least gradient: keep the slope "
    "at each iterate as it was and fall as little as possible in between, by a slope that shrinks and recovers, a "
    "saw. For the gap of a convex function: keep the slope constant, a cone, and be smooth only at the tip, which $k$ "
    "steps do not reach; the steeper the cone the more each step gains, the flatter the less there was to lose. A "
    "quadratic shows the rest.",
    notice="On the left every iterate sees the slope $-1$, though the slope goes up by half as much as a step allows "
    "and back in between; then a parabola leads to the minimum. On the right, for each $k$ another cone lies exactly "
    r"on the sharp bound, for short steps and for $\eta=1/L$; the textbook bound is about twice as large, and no "
    "function reaches it.",
)
def worst_functions_attain_the_rates(
    *,
    smoothness: Annotated[float, Interval(ge=0.1, le=10.0)] = 3.0,
    steps: Annotated[int, Interval(ge=1, le=10)] = 6,  # iterates sit on kinks: rounding grows geometrically
    bend: Annotated[float, Interval(ge=0.1, le=1.0)] = 1.0,
):
    sizes, k, reach = np.array([0.2, 0.5, 0.9, 1.0]) / smoothness, np.arange(1, steps + 1), 2.0

    # The slope falls and recovers within each step: every iterate sees slope −1. Then a parabola to the minimum.
    gaps = []
    for size in sizes:
        breaks = -1 / smoothness - size * np.arange(2 * steps, -1, -1) / 2
        curvatures = smoothness * np.array([1.0, *[bend, -bend] * steps, 1.0])
        saw = PiecewiseQuadratic(jnp.asarray(breaks), jnp.asarray(curvatures))
        gaps.append(descend(saw, jnp.asarray(breaks[:1]), size, steps=steps).value[-2::-1])
    count = np.arange(2, steps + 2)  # the last so many iterates are a run of their own
    least = worst_stationarity(np.array(gaps), step_size=sizes[:, None], smoothness=smoothness, gradients=count)

    def cone(threshold, size):
        rounded = Huber(jnp.asarray(smoothness), jnp.asarray(bend * threshold))
        return np.asarray(descend(rounded, jnp.array([reach]), size, steps=steps).value)

    gap = [[cone(reach / (2 * n * size * smoothness + 1), size)[n] for n in k] for size in sizes]
    mean = np.array([cone(reach / n, sizes[-1])[1 : n + 1].mean() for n in k])
    textbook = convex_gap_bound(reach**2, step_size=sizes[-1], steps=k)

    flat = 0.3 * smoothness
    bowl = Quadratic(jnp.diag(jnp.array([flat, smoothness])), jnp.zeros(2))
    runs = [[descend(bowl, axis, size, steps=steps) for size in sizes] for axis in jnp.eye(2)]
    distance = np.array([[jnp.abs(run.position).sum(1) for run in row] for row in runs]).max(0)
    factor, setting = [run.value[1] / run.value[0] for run in runs[1]], dict(step_size=sizes, smoothness=smoothness)
    contraction = np.asarray(worst_contraction(**setting, strong_convexity=flat))[:, None] ** np.arange(steps + 1)
    last = runs[1][-1]  # the step 1/L
    drop = stationarity_bound(last.value[0] - last.value[1:], step_size=sizes[-1], gradients=k)
    slower = np.sqrt(1 - sizes * flat)[:, None] ** np.arange(steps + 1)
    along = {"step": sizes * smoothness, "steps": k}
    return {
        "mean squared gradient": Identity(np.cumsum(last.gradient[:-1, 1] ** 2) / k, drop, along={"gradients": k}),
        "least squared gradient": Identity(least, 1.0, size=steps, aside={"saw": breaks, "curvatures": curvatures}),
        "distance from the minimizer": Identity(distance, contraction, scale=1.0, aside={"textbook": slower}),
        "gap of a convex function": Identity(
            gap, worst_convex_gap(reach**2, step_size=sizes[:, None], smoothness=smoothness, steps=k), along=along
        ),
        "mean gap of a convex function": Identity(
            mean, (1 - 1 / k) ** 2 * textbook, scale=textbook, aside={"textbook": textbook}
        ),
        "factor of a Polyak–Łojasiewicz function": Identity(
            factor, polyak_lojasiewicz_factor(**setting, constant=smoothness), scale=1.0
        ),
    }


worst_functions_attain_the_rates.control("a saw that bends a tenth less", of="least squared gradient", bend=0.9)
worst_functions_attain_the_rates.control("a cone rounded off a tenth earlier", of="gap of a convex function", bend=0.9)


@worst_functions_attain_the_rates.control(
    "the rate 1 − μ(η − η²L/2) of half the decrease", of="factor of a Polyak–Łojasiewicz function"
)
def half_the_decrease(evidence):
    return replace(evidence, right=(1 + evidence.right) / 2)


@worst_functions_attain_the_rates.control("the textbook factor √(1 − ημ) is attained", of="distance from the minimizer")
def textbook_factor(evidence):
    return replace(evidence, right=evidence.aside["textbook"])


@worst_functions_attain_the_rates.control("T + 1 for T gradients", of="mean squared gradient")
def one_gradient_more(evidence):
    count = evidence.along["gradients"]
    return replace(evidence, right=evidence.right * count / (count + 1))


@worst_functions_attain_the_rates.control(
    "the textbook bound of the mean gap is attained", of="mean gap of a convex function"
)
def textbook_mean(evidence):
    return replace(evidence, right=evidence.aside["textbook"])


@worst_functions_attain_the_rates.picture
def worst_of_their_kind(pieces, settings):
    """The saw whose slope is the same at every iterate (left), and the gap of rounded cones after k steps (right)."""
    aside, gap = pieces["least squared gradient"].aside, pieces["gap of a convex function"]
    breaks, k = aside["saw"], gap.along["steps"]
    saw = PiecewiseQuadratic(jnp.asarray(breaks), jnp.asarray(aside["curvatures"]))
    x = np.linspace(breaks[0] - 0.1, 0.1, 400)
    slope = jax.vmap(jax.grad(lambda point: saw(point[None])))
    shape = [
        Line("slope of the saw", x, slope(jnp.asarray(x))),
        Dots("at the iterates", breaks[::2], slope(jnp.asarray(breaks[::2]))),
    ]
    fine = np.linspace(1, k[-1], 60)
    fall = []
    for place in (0, 3):
        size = gap.along["step"][place] / settings["smoothness"]
        bound = worst_convex_gap(4.0, step_size=size, smoothness=settings["smoothness"], steps=fine)
        name = f"ηL = {gap.along['step'][place]:g}"
        fall += [Line(name, fine, bound), Dots(name, k, gap.left[place])]
    fall.append(Line("textbook, ηL = 1", fine, convex_gap_bound(4.0, step_size=1 / settings["smoothness"], steps=fine)))
    return Row([Curves(shape, x="point x", y="slope"), Curves(fall, x="steps k", y="gap f(x_k) − f*", log="y")])


@claim(
    items={
        "L5.13": ("ridge regression", "logistic regression", "constants of the problems"),
        "L5.14": "chain of springs",
        "L5.16": ("sigmoid neuron", "curvature of a neuron"),
        "L5.17": ("x² + 3 sin²x", "more unknowns than equations", "constants of the problems"),
        "A2.22": ("cosine wells", "constants of the problems"),
    },
    says=r"With steps $1/L$ the rates hold at every step on problems one meets: $(1-\mu/L)^k$ in ridge and logistic "
    r"regression, for $x^2+3\sin^2x$ and wide least squares; $L\|\theta_0-\theta_*\|^2/2k$ for a chain of springs; "
    r"$2L(f_0-f_k)/k$ for cosines and a sigmoid neuron.",
    needs="L the smoothness constant of each problem, α the ridge of the logistic one",
    symbols={
        r"L": (
            r"the smoothness of each problem: 8 for $x^2+3\sin^2x$, for logistic regression "
            r"$\alpha+\lambda_{\max}(X^\top X)/4n$, for a sigmoid neuron at most "
            r"$(\frac1{16}+\frac1{6\sqrt3})\lambda_{\max}(X^\top X)/n$"
        ),
        r"\mu": (
            r"the least curvature, $\alpha$ for logistic regression with ridge $\alpha$; the Polyak–Łojasiewicz "
            r"constant where the problem is not strongly convex, 0.17553 for $x^2+3\sin^2x$ and the least eigenvalue "
            r"of $XX^\top$ for wide least squares"
        ),
        r"k": "the number of steps",
        r"\theta_0, \theta_*": "the start, and the minimizer",
        r"f_0, f_k": r"the values at the start and after $k$ steps",
        r"\text{gap}": "the value less the least value",
    },
    why="Each problem needs only its constants: then theorems bound the squared distance where it is strongly convex, "
    "the gap where it is convex or obeys the Polyak–Łojasiewicz inequality, and the mean squared gradient in any case. "
    "A quadratic has its constants in its spectrum. The logistic loss has second derivative at most a quarter, and far "
    "out none at all, so only the ridge keeps it strongly convex. A neuron's curvature is its slope squared and its "
    "residual times its second derivative, each of them bounded. Least squares with more unknowns than equations is "
    "flat in some directions, but its slope is never small high above the minimum, which is all that the "
    "Polyak–Łojasiewicz inequality asks.",
    notice="No curve of what is seen crosses the promise. Ridge regression and wide least squares start in their "
    "slowest direction and fall exactly twice as steeply as promised on the logarithmic axis; logistic regression and "
    "the bowl are faster than their worst curvature. The chain of springs is fast in the end because it is finite, "
    "and slow for as many steps as it has springs and more.",
)
def rates_on_regression(
    key,
    *,
    samples: Annotated[int, Interval(ge=5, le=1000)] = 40,
    dimension: Annotated[int, Interval(ge=2, le=100)] = 10,
    steps: Steps = 200,
    stretch: Annotated[float, Interval(ge=0.1, le=4.0)] = 1.0,
):
    random, k = generator(key), np.arange(1, steps + 1)
    features, labels = random.standard_normal((samples, dimension)), np.sign(random.standard_normal(samples))
    design, start = features[: dimension // 2], jnp.asarray(random.standard_normal(dimension))
    data, nothing = (jnp.asarray(features), jnp.asarray(labels)), jnp.zeros(dimension)
    covariance = features.T @ features / samples + 0.1 * np.eye(dimension)
    problems = {
        "ridge regression": Quadratic(jnp.asarray(covariance), jnp.asarray(features.T @ labels / samples)),
        "logistic regression": LogisticRidge(*data, 0.1),
        "chain of springs": chain_quadratic(dimension),
        "sigmoid neuron": SigmoidRegression(data[0], (data[1] + 1) / 2),
        "cosine wells": CosineSum(jnp.asarray(random.uniform(0.2, 2, dimension))),
        "x² + 3 sin²x": SineBowl(),
        "more unknowns than equations": Quadratic(jnp.asarray(design.T @ design), nothing),
    }
    smoothness = {name: float(function.smoothness) for name, function in problems.items()}
    starts = {name: 3 * start for name in problems} | {"chain of springs": nothing}
    # Quadratics start in their slowest direction, where the bounds have least slack.
    starts["ridge regression"] = problems["ridge regression"].minimizer + np.linalg.eigh(covariance).eigenvectors[:, 0]
    starts["more unknowns than equations"] = jnp.asarray(np.linalg.svd(design).Vh[len(design) - 1])
    runs = {
        name: descend(function, starts[name], stretch / smoothness[name], steps=steps)
        for name, function in problems.items()
    }

    evidence = {}
    for name in ("ridge regression", "logistic regression"):
        best = minimizer_of(problems[name])
        distance = np.sum(np.asarray(runs[name].position - best) ** 2, axis=1)
        factor = float(1 - problems[name].strong_convexity / smoothness[name])
        # The minimizer is known to rounding times the condition number, and so are distances to it.
        error = rounding(best) ** 2 / (1 - factor) ** 2
        twice = max(2 * factor - 1, 0) ** k * distance[0]
        evidence[name] = Inequality(distance[1:], factor**k * distance[0], error=error, aside={"twice": twice})
    spring, value = problems["chain of springs"], runs["chain of springs"].value
    square = jnp.sum(spring.minimizer**2)
    bound = convex_gap_bound(square, step_size=1 / smoothness["chain of springs"], steps=k)
    evidence["chain of springs"] = Inequality(value[1:] - spring(spring.minimizer), bound, error=rounding(value))
    for name, allowed in {
        "sigmoid neuron": runs["sigmoid neuron"].value[0],
        "cosine wells": problems["cosine wells"].range,
    }.items():
        squares, value = np.sum(np.asarray(runs[name].gradient[:-1]) ** 2, axis=1), np.asarray(runs[name].value)
        mean, setting = np.cumsum(squares) / k, dict(step_size=1 / smoothness[name], gradients=k)
        drop = stationarity_bound(value[0] - value[1:], **setting)
        links = {
            "least": (np.minimum.accumulate(squares), mean),
            "drop": (mean, drop),
            "range": (drop, stationarity_bound(allowed, **setting)),
        }
        evidence[name] = Chain(links, error=2 * smoothness[name] * rounding(value))
    constants = {
        "x² + 3 sin²x": problems["x² + 3 sin²x"].polyak_lojasiewicz,
        "more unknowns than equations": np.linalg.eigvalsh(design @ design.T)[0],
    }
    for name, constant in constants.items():
        factor, value = 1 - constant / smoothness[name], runs[name].value
        twice = max(2 * factor - 1, 0) ** k * value[0]
        evidence[name] = Inequality(value[1:], factor**k * value[0], error=rounding(value), aside={"twice": twice})
    logistic, cosines, bowl = (problems[name] for name in ("logistic regression", "cosine wells", "x² + 3 sin²x"))
    # Far out every sigmoid is saturated and the ridge alone is left; on the line the bowl's constants show on a grid.
    line, far = jnp.linspace(-5, 5, 10_001)[:, None], 1e9 * start
    spectrum = np.linalg.eigvalsh(hessians(logistic, jnp.stack([nothing, far])))
    measured = {
        "logistic smoothness": (spectrum[0, -1], smoothness["logistic regression"], 0.0),
        "logistic convexity": (spectrum[1, 0], logistic.strong_convexity, 0.0),
        "cosine range": (cosines(np.pi + nothing), cosines.range, 0.0),
        "bowl smoothness": (hessians(bowl, line).max(), smoothness["x² + 3 sin²x"], 0.0),
        # Stated to five decimals, which the grid resolves.
        "bowl Polyak–Łojasiewicz": (jax.jit(polyak_lojasiewicz_constant)(bowl, line), bowl.polyak_lojasiewicz, 5e-6),
    }
    left, right, error = np.array(list(measured.values()), float).T
    evidence["constants of the problems"] = Identity(
        left, right, error=error, size=samples, along={"constant": list(measured)}
    )
    neuron = SigmoidRegression(jnp.ones((1, 1)), jnp.zeros(1))
    evidence["curvature of a neuron"] = Inequality(np.abs(hessians(neuron, line)), float(neuron.smoothness))
    return evidence


rates_on_regression.control("step 2.5/L", of="chain of springs", stretch=2.5)


@rates_on_regression.control("1 − 2μ/L for 1 − μ/L on ridge regression", of="ridge regression")
@rates_on_regression.control(
    "1 − 2μ/L for 1 − μ/L with more unknowns than equations", of="more unknowns than equations"
)
def twice_the_rate(evidence):
    return replace(evidence, bound=evidence.aside["twice"])


@rates_on_regression.control(
    "half of it for the cosine wells, as if steps lost nothing to curvature", of="cosine wells"
)
@rates_on_regression.control("half of it for the neuron, as if steps lost nothing to curvature", of="sigmoid neuron")
def nothing_lost(evidence):
    mean, drop = evidence.links["drop"]
    return replace(evidence, links={"half the drop": (mean, drop / 2)})


@rates_on_regression.control("the logistic smoothness without its quarter", of="constants of the problems")
def no_quarter(evidence):
    quarter = np.where(np.array(evidence.along["constant"]) == "logistic smoothness", 4.0, 1.0)
    return replace(evidence, right=evidence.right * quarter)


@rates_on_regression.picture
def six_problems(pieces):
    """What each problem promises and what is seen on it, step by step, with steps of 1/L."""
    quantities = {
        "ridge regression": "squared distance",
        "logistic regression": "squared distance",
        "chain of springs": "gap",
        "more unknowns than equations": "gap",
        "x² + 3 sin²x": "gap",
        "cosine wells": "mean squared gradient",
    }
    shown = []
    for name, quantity in quantities.items():
        found = pieces[name]
        seen, bound = found.links["drop"] if name == "cosine wells" else (found.quantity, found.bound)
        k, clear = np.arange(1, len(seen) + 1), np.asarray(seen) > 1e-14 * np.max(seen)
        marks = [Line("seen", k[clear], np.asarray(seen)[clear]), Line("promised", k, bound)]
        low, high = float(np.min(np.asarray(seen)[clear])), 2 * float(np.max(bound))
        shown.append(Curves(marks, x="step", y=quantity, title=name, log="y", ys=(max(low, 1e-10 * high), high)))
    return Stack([Row(shown[place : place + 2]) for place in (0, 2, 4)])
