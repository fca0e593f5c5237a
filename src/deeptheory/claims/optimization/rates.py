"""How fast gradient descent is on quadratic, strongly convex and convex functions (lucchi 5.4–5.5).

The for-all statements are searched over functions of one variable with piecewise constant curvature, as in
`gradient_descent`: curvatures are drawn in units of L, step sizes in units of 1/L, and L moves.
"""

from dataclasses import replace
from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.optimization.gradient_descent import PIECES, Steps, descend, on_the_line
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.descent import (
    convex_gap_bound,
    optimal_quadratic_step,
    quadratic_losses,
    worst_contraction,
    worst_convex_gap,
)
from deeptheory.optimization.landscapes import Quadratic


@claim(
    items={
        "L5.9": (
            "loss along the steps",
            "steps that converge",
            "the best step",
            "rate of the best step",
            "bound on the best rate",
        )
    },
    says=r"On a quadratic every mode shrinks by $(1-\eta\lambda)^2$ per step, so it falls exactly for "
    r"$0<\eta<2/\lambda$; the best step is $\eta^*=2/(\lambda_{\max}+\lambda_{\min})$ with factor "
    r"$((\kappa-1)/(\kappa+1))^2\le(1-1/\kappa)^2$.",
    needs="positive definite matrix with condition number κ",
    symbols={
        r"\eta": "the step size",
        r"\lambda": r"the curvature along one eigenvector, between $\lambda_{\min}$ and $\lambda_{\max}$",
        r"\eta^*": "the step with the best factor for the worst mode",
        r"\kappa": r"the condition number $\lambda_{\max}/\lambda_{\min}$",
    },
    why=r"In the eigenbasis the coordinates do not see each other: each is multiplied by $1-\eta\lambda$ a step, and "
    r"its share of the value by the square of that. It shrinks if $|1-\eta\lambda|<1$. The slowest mode decides; as "
    r"$\eta$ grows the flat ones get faster and the steep ones start to overshoot, and the two are equally slow, "
    r"$1-\eta\lambda_{\min}=\eta\lambda_{\max}-1$, at the best step.",
    notice=r"The two factors cross at the best step, just below $2/\lambda_{\max}$ and far beyond $1/\lambda_{\max}$, "
    "where the steepest mode is gone in one step and still shrinks on either side. On the right, dots are runs and "
    "lines the sum over modes. The best step is so for the worst start: in this run a smaller one is ahead, since "
    "only its flattest modes are slow, by next to nothing.",
    explore={"condition": (4.0, 20.0, 100.0)},
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
    powers = (1 - np.array(sizes)[:, None, None] * spectrum) ** np.arange(steps + 1)[:, None]
    once = powers @ (spectrum * offsets**2) / 2

    # One step from every eigenvector shows the factor of its mode; the largest decides.
    grid = best * np.linspace(0.05, 1.95, 77)  # the best step is its middle, number 38
    moved = basis - grid[:, None, None] * (matrix @ basis)
    factors = np.sum(moved * (matrix @ moved), axis=1) / np.sum(basis * (matrix @ basis), axis=0)
    worst, relative = factors.max(axis=1), grid[:, None] * spectrum
    clear = np.abs(relative - 2) > 1e-6
    safe = (1 - 1 / condition) ** 2
    return {
        "loss along the steps": Identity(
            run,
            predicted,
            scale=run[:, :1],
            size=dimension * steps,
            along={"step": sizes},
            aside={"half the exponent": once},
        ),
        "steps that converge": Exact((factors < 1)[clear], relative[clear] < 2, along={"product": relative[clear]}),
        "the best step": Exact(worst.argmin(), 38, along={"grid": grid}),
        "rate of the best step": Identity(worst.min(), rate, condition=condition, size=dimension),
        "bound on the best rate": Chain({"below (1 − 1/κ)²": (worst.min(), safe), "below one": (safe, 1.0)}),
    }


@quadratic_modes.control("decrease only for η < 1/λ: sufficient, read as necessary", of="steps that converge")
def half_of_the_range(evidence):
    return replace(evidence, right=evidence.along["product"] < 1)


@quadratic_modes.control("best step within η ≤ 1/λ_max", of="the best step")
def printed_range(evidence):
    return replace(evidence, right=int(np.flatnonzero(evidence.along["grid"] <= 1)[-1]))


@quadratic_modes.control("(1 − κ)² is below one", of="bound on the best rate")
def condition_for_its_inverse(evidence):
    left, correct = evidence.links["below (1 − 1/κ)²"]
    rival = (1 - 1 / (1 - np.sqrt(correct))) ** 2
    return replace(evidence, links={"below (1 − κ)²": (left, rival), "below one": (rival, 1.0)})


@quadratic_modes.control("a mode shrinks by 1 − ηλ a step, its value too", of="loss along the steps")
def once_a_step(evidence):
    return replace(evidence, right=evidence.aside["half the exponent"])


@quadratic_modes.picture
def modes_and_steps(pieces, settings):
    """The factor of the flattest and of the steepest mode by step (left), and runs with four steps (right)."""
    curve, flat = pieces["loss along the steps"], 1 / settings["condition"]
    eta = np.linspace(0, 2.2, 200)
    best, rate = optimal_quadratic_step(flat, 1.0)
    factors = [
        Line("flattest mode, λ_min", eta, (1 - eta * flat) ** 2),
        Line("steepest mode, λ_max", eta, (1 - eta) ** 2),
        Dots("best step", [float(best)], [float(rate)]),
        Level("2/λ_max", x=2.0),
        Level("1/λ_max", x=1.0, rival="read as necessary"),
    ]
    steps = np.arange(curve.right.shape[1])
    runs = [
        each
        for size, seen, stated in zip(curve.along["step"], curve.left, curve.right, strict=True)
        for each in (Line(f"η = {size:.3g}", steps, stated), Dots(f"η = {size:.3g}", steps[::10], seen[::10]))
    ]
    return Row(
        [
            Curves(factors, x="step ηλ_max", y="factor of f per step", ys=(0, 1.2)),
            Curves(runs, x="step", y="gap f − f*", log="y"),
        ]
    )


@claim(
    items={"L5.13": ""},
    says=r"On a $\mu$-strongly convex $L$-smooth function each step multiplies the distance to the minimizer by at "
    r"most $\max(|1-\eta\mu|,|1-\eta L|)$, so for $\eta\le1/L$: $\|x_k-x^*\|^2\le(1-\eta\mu)^k\|x_0-x^*\|^2$ and "
    r"$f(x_k)-f^*\le\frac L2(1-\eta\mu)^k\|x_0-x^*\|^2$.",
    needs="curvature between μ and L; η ≤ 1/L; searched with L from 0.2 to 5",
    over=dict(
        convexity=Reals(0.02, 0.9),
        excess=Reals(0, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        step=Reals(0.02, 1),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        r"\mu": "the least curvature of the function",
        "L": "the largest",
        r"\eta": "the step size",
        "x_k, x^*": "the point after $k$ steps, and the minimizer",
        "k": "the number of steps",
        "f, f^*": "the function and its minimum",
    },
    why="Between $x_k$ and $x^*$ the gradient is an average curvature times the distance, and the step multiplies the "
    r"distance by one minus $\eta$ times it: at worst by $\max(|1-\eta\mu|,|1-\eta L|)$. For $\eta\le1/L$ the first "
    r"is the larger, and $(1-\eta\mu)^2\le1-\eta\mu$ gives the textbook rate. Smoothness turns a bound on the "
    "distance into one on the value.",
    notice="The sharp bound falls twice as fast as the textbook's on the logarithmic axis, because the textbook gives "
    r"the factor of the distance to its square. No run is above the sharp bound. The rival $1-2\eta\mu$, the square "
    r"without its last term, is near it for small $\eta\mu$ and far too low for large.",
    explore={"curved": ("everywhere", "on average"), "steps": (3, 6, 12)},
)
def strongly_convex_contraction(
    convexity,
    excess,
    start,
    step,
    smoothness,
    *,
    steps: Steps = 6,
    curved: Literal["everywhere", "on average"] = "everywhere",
):
    floor, eta = convexity if curved == "everywhere" else 0.0, step / smoothness
    _, states = on_the_line(smoothness * (floor + (1 - floor) * excess), start, eta, steps)
    if curved == "on average":
        convexity = jnp.minimum(convexity, excess.mean())
    # From the first step on: before it all bounds are attained, and a search would find every function as bad.
    distance, k, first = jnp.sum(states.position[1:] ** 2, axis=1), jnp.arange(1, steps + 1), start**2
    mu = smoothness * convexity
    sharp = worst_contraction(step_size=eta, smoothness=smoothness, strong_convexity=mu) ** (2 * k) * first
    linear = (1 - eta * mu) ** k * first
    twice = jnp.maximum(1 - 2 * eta * mu, 0) ** k * first
    return Chain(
        {
            "sharp contraction": (distance, sharp),
            "linear rate": (sharp, linear),
            "value by distance": (states.value[1:], smoothness * distance / 2),
            "value": (states.value[1:], smoothness * linear / 2),
        },
        aside={
            "twice the rate": twice,
            "step": step,
            "convexity": convexity,
            "first": first,
            "without L": linear / 2,
        },
    )


strongly_convex_contraction.control("steps beyond 1/L", over=dict(step=Reals(1.01, 2.2)))
strongly_convex_contraction.control("strongly convex only on average", curved="on average")


@strongly_convex_contraction.control("½(1 − ημ)^k‖x₀ − x*‖² for the value, without the L")
def value_without_smoothness(evidence):
    value, _ = evidence.links["value"]
    return replace(evidence, links={"value": (value, evidence.aside["without L"])})


@strongly_convex_contraction.control("1 − 2ημ for the square of 1 − ημ")
def square_forgotten(evidence):
    distance, _ = evidence.links["sharp contraction"]
    return replace(evidence, links={"twice the rate": (distance, evidence.aside["twice the rate"])})


@strongly_convex_contraction.picture
def distances(pieces):
    """Squared distances to the minimizer of two functions, step by step, below the sharp and the textbook bound."""
    found = pieces[""]
    (distance, sharp), (_, linear) = found.links["sharp contraction"], found.links["linear rate"]
    product, shown = found.aside["step"] * found.aside["convexity"], []
    for wanted in (0.2, 0.5):
        # Of all functions with about this ημ the one that is slowest for its bound.
        slow = np.where(np.abs(product - wanted) < 0.1, distance[:, -1] / sharp[:, -1], -1.0)
        place, k = int(np.argmax(slow)), np.arange(1, distance.shape[1] + 1)
        first = found.aside["first"][place]
        marks = [
            Dots("seen", k, distance[place] / first),
            Line("sharp", k, sharp[place] / first),
            Line("(1 − ημ)^k", k, linear[place] / first),
            Line("sharp", k, found.aside["twice the rate"][place] / first, rival="1 − 2ημ"),
        ]
        title = f"ημ = {product[place]:.2g}"
        shown.append(
            Curves(
                marks, x="step k", y="squared distance, as a share of the first", log="y", ys=(1e-4, 1.0), title=title
            )
        )
    return Row(shown)


@claim(
    items={"L5.14": ""},
    says=r"On a convex $L$-smooth function with $\eta\le1/L$ the gap after $k$ steps is at most "
    r"$\|x_0-x^*\|^2/(2\eta k)$, which bounds even the mean gap of these steps, and at most "
    r"$L\|x_0-x^*\|^2/(4k\eta L+2)$.",
    needs="curvature between 0 and L; a minimizer; η ≤ 1/L; searched with L from 0.2 to 5",
    over=dict(
        curvatures=Reals(0, 1, shape=(PIECES,)),
        start=Reals(0.5, 12),
        step=Reals(0.05, 1),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        "L": "the smoothness: the largest curvature",
        r"\eta": "the step size",
        "k": "the number of steps",
        "x_0, x^*": "the start, and a minimizer",
    },
    why=r"For $\eta\le1/L$ convexity makes each step bring the point nearer to $x^*$ by at least $2\eta$ times the "
    r"gap it reaches, in squared distance. Added up, the gaps of $k$ steps are at most $\|x_0-x^*\|^2/2\eta$, and the "
    "last, which is the least, at most their mean. That the last is about half of that needs the exact worst case: a "
    "cone with a rounded tip, on whose slope all $k$ steps are equally long.",
    notice="All functions and steps meet on one axis. The last points lie below the sharp curve, which tends to one "
    "half: the textbook bound is twice too large for them. The mean gap goes above the sharp curve and stays below "
    "the textbook's, which it proves.",
)
def convex_gap(curvatures, start, step, smoothness, *, steps: Steps = 5):
    k, eta = jnp.arange(1, steps + 1), step / smoothness
    _, states = on_the_line(smoothness * curvatures, start, eta, steps)
    worst, fewer = (worst_convex_gap(start**2, step_size=eta, smoothness=smoothness, steps=n) for n in (k, k + 1))
    printed = convex_gap_bound(start**2, step_size=eta, steps=k)
    mean = jnp.cumsum(states.value[1:]) / k
    without = start**2 / (4 * k * eta + 2)
    aside = {"one step more": fewer, "without L": without, "without η": printed * eta, "step": step}
    return Chain(
        {"worst": (states.value[1:], worst), "printed": (worst, printed), "mean": (mean, printed)}, aside=aside
    )


convex_gap.control("not convex", over=dict(curvatures=Reals(-1, 1, shape=(PIECES,))))
convex_gap.control("steps beyond 1/L", over=dict(step=Reals(1.05, 2.2)))


@convex_gap.control("‖x₀ − x*‖²/(4kη + 2), without the L")
def gap_without_smoothness(evidence):
    gap, _ = evidence.links["worst"]
    return replace(evidence, links={"worst": (gap, evidence.aside["without L"])})


@convex_gap.control("‖x₀ − x*‖²/(2k) for the mean gap, without the step size")
def mean_without_the_step(evidence):
    mean, _ = evidence.links["mean"]
    return replace(evidence, links={"mean": (mean, evidence.aside["without η"])})


@convex_gap.control("k + 1 for k in the sharp bound")
def one_step_more(evidence):
    gap, _ = evidence.links["worst"]
    return replace(evidence, links={"worst": (gap, evidence.aside["one step more"])})


@convex_gap.control("the sharp bound holds for the mean gap too")
def mean_below_the_sharp(evidence):
    mean, _ = evidence.links["mean"]
    return replace(evidence, links={"mean": (mean, evidence.links["worst"][1])})


@convex_gap.picture
def gaps(pieces):
    """Gaps after k steps, of the last point and in the mean, as shares of the textbook bound, for all functions."""
    found = pieces[""]
    (gap, _), (mean, printed) = found.links["worst"], found.links["mean"]
    product = found.aside["step"][:, None] * np.arange(1, gap.shape[1] + 1)
    p = np.geomspace(0.05, product.max(), 100)
    marks = [
        Dots("mean gap of k points", product.ravel(), (mean / printed).ravel()),
        Dots("gap of the last point", product.ravel(), (gap / printed).ravel()),
        Line("sharp for the last point", p, p / (2 * p + 1)),
        Level("textbook", y=1.0),
    ]
    return Curves(marks, x="k steps of size ηL: the product kηL", y="share of ‖x₀ − x*‖²/(2ηk)", log="x", ys=(0, 1.2))
