"""Rates under the Polyak–Łojasiewicz inequality, with which convexity is not needed (lucchi 5.6).

The for-all statement is searched over functions of one variable with piecewise constant curvature, as in
`gradient_descent`: curvatures are drawn in units of L, step sizes in units of 1/L, and L moves.
"""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.optimization.gradient_descent import Steps, on_the_line
from deeptheory.lab import Chain, Identity, Inequality, Rate, Reals, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.optimization.descent import polyak_lojasiewicz_factor
from deeptheory.optimization.landscapes import PiecewiseQuadratic


@claim(
    items={"L5.17": ""},
    says=r"If $\frac12\|\nabla f\|^2\ge\mu(f-f^*)$ and $f$ is $L$-smooth, each gradient step multiplies $f-f^*$ by "
    r"at most $1-2\mu(\eta-\eta^2L/2)$: by $1-\mu/L$ at $\eta=1/L$, and by $1-\frac34\mu/L$ at $\eta=1/(2L)$.",
    needs="the Polyak–Łojasiewicz inequality with μ on the whole line; 0 < η < 2/L; no convexity; searched with L "
    "from 0.2 to 5",
    over=dict(
        curvatures=Reals(-1, 1, shape=(4,)),
        start=Reals(0.1, 6),
        step=Reals(0.05, 1.95),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        r"\mu": r"the Polyak–Łojasiewicz constant: $\frac12\|\nabla f\|^2\ge\mu(f-f^*)$ everywhere",
        "f^*": "the minimum of $f$",
        "L": "the smoothness: no curvature is larger in size",
        r"\eta": "the step size",
    },
    why=r"The descent lemma says that a step gains at least $(\eta-\eta^2L/2)\|\nabla f\|^2$. The inequality says "
    r"that the squared gradient is at least $2\mu$ times what is left to gain. So each step takes a fixed share of "
    "the gap, convex or not: it is only needed that the slope is nowhere small high above the minimum.",
    notice="The function on the left bends down in between and is not convex, yet it has no flat place above its "
    "minimum, and the steps go through. On the right its gap with steps of $1/(2L)$ stays below the bound with "
    r"$1-\frac34\mu/L$. The printed factor $1-\mu/L$ belongs to steps of $1/L$; with half of that a parabola, where "
    r"$\mu=L$, keeps a quarter of its gap where nothing is left to it.",
    explore={"steps": (3, 5, 10)},
)
def polyak_lojasiewicz_rate(
    curvatures,
    start,
    step,
    smoothness,
    *,
    steps: Steps = 5,
    constant: Literal["everywhere", "at the minimum"] = "everywhere",
):
    bends, eta = smoothness * curvatures, step / smoothness
    function, states = on_the_line(bends, start, eta, steps)
    mu = function.polyak_lojasiewicz if constant == "everywhere" else bends[0]
    shrink = polyak_lojasiewicz_factor(step_size=eta, smoothness=smoothness, constant=mu)
    half = 0.5 / smoothness
    _, halved = on_the_line(bends, start, half, steps)
    gap, slower = (jnp.where(mu > 0, run.value, 0.0) for run in (states, halved))
    # What a step takes, not what it leaves: as μ falls to zero all is left, and a search would find every bound tight.
    # Where the inequality fails its constant is 0 and the statement is empty; there it counts as slack.
    fall, slow_fall = (jnp.where(mu > 0, -jnp.diff(each), 1.0) for each in (gap, slower))
    k = jnp.arange(1, steps + 1)
    aside = {
        "fall with half the step": slow_fall,
        "printed fall": mu / smoothness * slower[:-1],
        "without L": 2 * mu * (eta - eta**2 / 2) * gap[:-1],
        "gap with half the step": slower[1:],
        "printed": (1 - mu / smoothness) ** k * slower[0],
        "proved": polyak_lojasiewicz_factor(step_size=half, smoothness=smoothness, constant=mu) ** k * slower[0],
        "curvatures": bends,
        "constant": mu / smoothness,
        "positions": halved.position[:, 0],
    }
    return Inequality((1 - shrink) * gap[:-1], fall, error=rounding(gap[:-1]), aside=aside)


@polyak_lojasiewicz_rate.control("step 1/(2L) with the factor 1 − μ/L, as printed", erratum="L5.17a")
def printed_factor(evidence):
    return replace(evidence, quantity=evidence.aside["printed fall"], bound=evidence.aside["fall with half the step"])


@polyak_lojasiewicz_rate.control("1 − 2μ(η − η²/2), without the L")
def factor_without_smoothness(evidence):
    return replace(evidence, quantity=evidence.aside["without L"])


polyak_lojasiewicz_rate.control(
    "a convex function with curvature μ at its minimum",
    over=dict(curvatures=Reals(0, 1, shape=(4,))),
    constant="at the minimum",
)


@polyak_lojasiewicz_rate.picture
def without_convexity(pieces):
    """Steps of 1/(2L) down a function that is not convex (left), and its gap below the proved bound (right)."""
    aside = pieces[""].aside
    gap, printed, proved = (aside[name] for name in ("gap with half the step", "printed", "proved"))
    # Among the functions that bend down somewhere, the one that is slowest for its constant.
    bent = (
        (aside["curvatures"].min(1) < -0.1 * np.abs(aside["curvatures"]).max(1))
        & (aside["positions"][:, 0] > 2)
        & (aside["constant"] > 0.02)
    )
    chosen = int(np.argmax(np.where(bent, (gap / np.maximum(printed, 1e-12)).max(1), -1.0)))
    curvatures, path = jnp.asarray(aside["curvatures"][chosen]), aside["positions"][chosen]
    function = PiecewiseQuadratic(jnp.arange(1.0, len(curvatures)), curvatures)
    values = jax.vmap(lambda x: function(x[None]))
    x, k = np.linspace(-1, max(path.max(), 1) + 0.5, 200), np.arange(1, gap.shape[1] + 1)
    shape = [
        Line("the function", x, values(jnp.asarray(x))),
        Dots("steps of 1/(2L)", path, values(jnp.asarray(path))),
    ]
    fall = [
        Dots("seen", k, gap[chosen]),
        Line("(1 − 3μ/4L)^k", k, proved[chosen]),
        Line("(1 − μ/L)^k", k, printed[chosen], rival="as printed"),
    ]
    return Row([Curves(shape, x="point x", y="value f(x)"), Curves(fall, x="step k", y="gap f(x_k) − f*", log="y")])


@claim(
    items={"L5.17": ("strongly convex functions", "a convex function without a rate", "ratio of the fourth power")},
    says=r"A function with curvature at least $\mu$ satisfies $\frac12|f'|^2\ge\mu(f-f^*)$, with equality for "
    r"$\frac\mu2x^2$. Convexity alone gives no such $\mu$: for $x^4$ the ratio $\frac12|f'|^2/(f-f^*)$ is $8x^2$.",
    needs="smooth functions of one variable with a minimum",
    symbols={
        r"\mu": "the least curvature",
        "f^*": "the minimum of $f$",
        "f'": "the slope",
        "x": "the distance from the minimum",
    },
    why=r"With curvature at least $\mu$ the slope at distance $x$ from the minimum is at least $\mu x$ and grows at "
    r"least in step with the gap; for the parabola $\frac12(\mu x)^2$ is exactly $\mu\cdot\frac\mu2x^2$. A convex "
    "function may be so flat at its minimum that the gap falls more slowly than the squared slope: for $x^4$ they are "
    "$x^4$ and $8x^6$.",
    notice=r"Two of the ratios never fall below $\mu$. The ratio of $x^4$ falls towards zero with the distance: "
    "whatever constant is proposed, it fails close enough to the minimum. So the inequality is weaker than strong "
    "convexity, and neither weaker nor stronger than convexity.",
)
def convexity_is_not_enough(*, curvature: Annotated[float, Interval(ge=0.01, le=100)] = 0.7):
    x = np.geomspace(0.01, 2, 9)

    def ratio(function):
        slope = np.asarray(jax.vmap(jax.grad(function))(x))
        return slope**2 / 2 / np.asarray(function(x))  # both minima are 0

    return {
        "strongly convex functions": Chain(
            {
                "attained": (ratio(lambda x: curvature / 2 * x**2), curvature),
                "and not missed": (curvature, ratio(lambda x: curvature / 2 * x**2 + x**4)),
            },
            along={"x": x},
        ),
        "a convex function without a rate": Rate(x, ratio(lambda x: x**4), exponent=2.0, rivals=(1.0,)),
        "ratio of the fourth power": Identity(ratio(lambda x: x**4), 8 * x**2, condition=10.0, along={"x": x}),
    }


@convexity_is_not_enough.control(
    "some μ for every convex function, as printed", erratum="L5.17b", of="a convex function without a rate"
)
def some_constant(evidence):
    return replace(evidence, exponent=0.0)


@convexity_is_not_enough.control("a ratio of 6x²", of="ratio of the fourth power")
def three_quarters(evidence):
    return replace(evidence, right=0.75 * evidence.right)


@convexity_is_not_enough.control("twice the curvature", of="strongly convex functions")
def twice(evidence):
    attained, curvature = evidence.links["attained"]
    return replace(evidence, links={"not missed": (2 * curvature, attained)})


@convexity_is_not_enough.picture
def ratios(pieces):
    """Half the squared slope over the gap, by the distance from the minimum, for three convex functions."""
    convex, strong = pieces["a convex function without a rate"], pieces["strongly convex functions"]
    marks = [
        Line("μx²/2 + x⁴", strong.along["x"], strong.links["and not missed"][1]),
        Line("μx²/2", strong.along["x"], strong.links["attained"][0]),
        Line("x⁴", convex.x, convex.y),
    ]
    return Curves(marks, x="distance from the minimum", y="half the squared slope over the gap", log="xy")
