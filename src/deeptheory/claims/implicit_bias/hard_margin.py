"""What gradient descent on separable data comes to: the hard-margin separator, and a validation loss without bound."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.margin_losses import EXPONENTIAL, HALF_QUADRATIC, LOGISTIC, logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.assumptions import loss_assumptions
from deeptheory.implicit_bias.margins import loss_shares
from deeptheory.implicit_bias.separable import logarithmic_flow, max_margin, separable_points
from deeptheory.implicit_bias.steepest import margin_descent
from deeptheory.lab import Bounded, Chain, Identity, Limit, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

LOSSES = {"logistic": LOGISTIC, "exponential": EXPONENTIAL, "half quadratic": HALF_QUADRATIC}
SOLVER = 1e-7
"""Error of the stiff solver at its default tolerance."""
TRIANGLE = np.array([[1.0, 2.0], [1.0, -1.5], [2.0, 0.3], [3.5, 0.0]])
"""Two support vectors, and two points beyond the margin: at 2 and 3.5 times its width."""

Points = Annotated[int, Interval(ge=5, le=200)]
Dimension = Annotated[int, Interval(ge=2, le=20)]


@claim(
    items={
        "A8.25": ("direction along the flow", "direction by other steps"),
        "A8.26": ("shares of the support vectors", "shares of the other points"),
    },
    says=r"Gradient descent on separable data turns to the hard-margin vector $\hat w$, from any start, by any steps "
    r"that send the loss to zero. Support vectors end with shares $\alpha_i/\sum_j\alpha_j$ of the gradient; a point "
    "of margin $m$ keeps one like $t^{-(m-1)}$.",
    needs="almost all separable data: every support vector has a positive dual weight; exponential loss",
    symbols={
        r"\hat w": r"the shortest vector with $\langle\hat w,\bar x_i\rangle\ge1$ for all signed points $\bar x_i$",
        r"\alpha_i": r"the dual weights, with $\hat w=\sum_i\alpha_i\bar x_i$",
        r"m": r"the margin $\langle\hat w,\bar x_i\rangle$ of a point, 1 for support vectors",
        r"t": "the time of the flow",
    },
    why=r"A point's share of the loss is $e^{-\langle w,\bar x_i\rangle}$ over the sum of all. With "
    r"$w\approx\hat w\log t$ that is $t^{-m}$ over about $t^{-1}$: only the points of least margin stay. What the flow "
    r"adds up is then a positive combination of support vectors, and its own direction, which is the condition that "
    r"marks $\hat w$; the shares must be its dual weights.",
    notice="Shares of the four points of one data set. Two come to their dual weights, dashed; the others fall along "
    "straight lines whose slopes are one less their margins.",
)
def descent_turns_to_the_hard_margin(key, *, count: Points = 20, dimension: Dimension = 5):
    growth = 10.0 ** np.arange(3, 8)
    random, errors, found, duals = generator(jax.random.fold_in(key, 1)), [], [], []
    for each in jax.random.split(key, 3):
        points = separable_points(each, count=count, dimension=dimension)
        solution = max_margin(points)
        for start in (np.zeros(dimension), random.normal(0, 3, dimension)):
            path = logarithmic_flow(points, np.append(0.0, growth), start=start)[1:]
            turned = path / np.linalg.norm(path, axis=1, keepdims=True)
            errors.append(np.linalg.norm(turned - solution.vector * solution.margin, axis=1) * growth[0])
            found.append(loss_shares(points, path[-1])[solution.support])
            duals.append((solution.duals / solution.duals.sum())[solution.support])
    # Steps in proportion to 1/(L √t), and steps that are constant, on data with a wide margin.
    best, steps = max_margin(TRIANGLE), np.geomspace(2_000, 64_000, 6).astype(int)
    shares = 1 / np.sqrt(1 + np.arange(steps[-1]))
    run = margin_descent(TRIANGLE, shares, start=np.array([-1.0, 2.0]))
    weights = np.asarray(run.weights)[steps]
    unit = best.vector * best.margin
    turned = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    stepped, middle = np.linalg.norm(turned - unit, axis=1), TRIANGLE[:2].sum(0)
    apart = turned - middle / np.linalg.norm(middle)
    times = np.append(0.0, np.linspace(6, 16, 11))
    mine = loss_shares(TRIANGLE, logarithmic_flow(TRIANGLE, times, tolerance=1e-12)[1:])
    outside = {margin: mine[:, i] for i, margin in zip((2, 3), (TRIANGLE @ best.vector)[2:], strict=True)}
    aside = {"times": times[1:], "shares": mine, "duals": best.duals / best.duals.sum()}
    pooled = np.concatenate(duals)
    return {
        "direction along the flow": Rate(
            growth, np.max(errors, axis=0), exponent=-1.0, resolution=0.1, rivals=(-0.5, -2.0), aside=aside
        ),
        "direction by other steps": Limit(steps, stepped, order=0.5, aside={"mean": np.linalg.norm(apart, axis=1)}),
        "shares of the support vectors": Identity(
            np.concatenate(found), pooled, error=100 * SOLVER, scale=1.0,
            aside={"equal": np.concatenate([np.full(len(each), 1 / len(each)) for each in duals])},
        ),
        "shares of the other points": Identity(
            np.array([(np.log(share[-1]) - np.log(share[-2])) / (times[-1] - times[-2]) for share in outside.values()]),
            1 - np.array(list(outside)),
            error=1e-3,
        ),
    }  # fmt: skip


@descent_turns_to_the_hard_margin.control("the middle of the support vectors", of="direction by other steps")
def middle_of_the_support(evidence):
    return replace(evidence, y=evidence.aside["mean"])


@descent_turns_to_the_hard_margin.control("equal shares of all support vectors", of="shares of the support vectors")
def equal_shares(evidence):
    return replace(evidence, right=evidence.aside["equal"])


@descent_turns_to_the_hard_margin.control("shares that fall like t to the minus m", of="shares of the other points")
def whole_margin(evidence):
    return replace(evidence, right=np.asarray(evidence.right) - 1)


@descent_turns_to_the_hard_margin.picture
def shares_of_the_loss(pieces):
    """Each point's share of the loss against time: two support vectors and two points beyond the margin."""
    seen, marks = pieces["direction along the flow"].aside, []
    time = np.exp(seen["times"])
    for i, name in enumerate(("one support vector", "the other", "margin 2", "margin 3.5")):
        marks.append(Line(name, time, seen["shares"][:, i]))
    for i in (0, 1):
        marks.append(Line("dual weights", time, np.full_like(time, seen["duals"][i]), dashed=True))
    return Curves(marks, x="time t", y="share of the loss", log="xy")


@claim(
    items={"L11.11": ("slope of the validation loss", "validation loss and its bound")},
    says=r"If the max-margin vector misclassifies validation points, the validation loss grows without end, "
    r"$L_{\rm val}(w(t))\ge-\langle\hat w,x_k\rangle\log t-\langle\rho(t),x_k\rangle$ for each of them: in the end by "
    r"$\sum_k|\langle\hat w,x_k\rangle|$ per unit of $\log t$, while their number settles.",
    needs="separable training data; logistic loss; some validation point misclassified by ŵ",
    symbols={
        r"L_{\rm val}": "the logistic loss, summed over the validation points",
        r"w(t)": r"the weights, $\hat w\log t+\rho(t)$ with $\rho$ bounded",
        r"\hat w": "the max-margin vector of the training points",
        r"x_k": r"a validation point, times its label, with $\langle\hat w,x_k\rangle<0$",
    },
    why=r"The direction of $w$ settles while its length grows like $\log t$. A validation point on the wrong side of "
    "the limit is pushed deeper into it at that rate, and the logistic loss is nearly linear there. Points on the "
    "right side cost less and less. So the loss on validation data can grow for ever while training goes as it should.",
    notice="The training loss falls and the number of validation errors falls to where it stays, while the validation "
    "loss, after a first fall, climbs along a straight line in the logarithm of the time.",
)
def validation_loss_must_grow(
    key,
    *,
    count: Points = 30,
    dimension: Dimension = 5,
    held_out: Annotated[int, Interval(ge=20, le=2000)] = 200,
    flipped: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.1,
):
    random = generator(jax.random.fold_in(key, 1))
    points = separable_points(key, count=count, dimension=dimension)
    solution = max_margin(points)
    fresh = random.standard_normal((held_out, dimension))
    fresh *= np.sign(fresh @ solution.vector)[:, None]  # what the limit gets right, before some labels are flipped
    fresh[: max(2, int(flipped * held_out))] *= -1
    times = np.concatenate([[0.0], np.geomspace(2, 1000, 40), [1e4, 2e4]])
    path = logarithmic_flow(points, times, loss=LOGISTIC)[1:]
    outputs, log_times = path @ fresh.T, times[1:]
    losses = logistic_loss(outputs).sum(1)  # pyright: ignore[reportAttributeAccessIssue]
    wrong = fresh @ solution.vector < 0
    residual = path - np.outer(log_times, solution.vector)
    bound = -log_times[:, None] * (fresh[wrong] @ solution.vector) - residual @ fresh[wrong].T
    depths = -(fresh[wrong] @ solution.vector)
    train = logistic_loss(path @ points.T).mean(1)  # pyright: ignore[reportAttributeAccessIssue]
    aside = {"times": log_times, "loss": losses, "errors": (outputs < 0).sum(1), "train": train, "depths": depths}
    slope = (losses[-1] - losses[-2]) / (log_times[-1] - log_times[-2])
    return {
        "slope of the validation loss": Identity(slope, depths.sum(), error=SOLVER * depths.sum(), aside=aside),
        "validation loss and its bound": Chain(
            {
                "every misclassified point alone": (bound.max(1), losses),
                "their positive parts together": (np.maximum(bound, 0).sum(1), losses),
            },
            error=1e-9 * losses.max(),
            aside={"growth": log_times[:, None] * depths},
        ),
    }


@validation_loss_must_grow.control("the slope of the worst point alone", of="slope of the validation loss")
def worst_point(evidence):
    return replace(evidence, right=np.max(evidence.aside["depths"]))


@validation_loss_must_grow.control("the residual left out", of="validation loss and its bound")
def without_residual(evidence):
    name = "their positive parts together"
    return replace(evidence, links={**evidence.links, name: (evidence.aside["growth"].sum(1), evidence.links[name][1])})


@validation_loss_must_grow.picture
def loss_against_error(pieces):
    """Validation loss, and validation errors and training loss over their first values, by the logarithm of time."""
    seen = pieces["slope of the validation loss"].aside
    kept = np.asarray(seen["times"]) <= 40
    time, losses, errors = (np.asarray(seen[name])[kept] for name in ("times", "loss", "errors"))
    train = np.asarray(seen["train"])[kept]
    return Row(
        [
            Curves([Line("validation loss", time, losses)], x="logarithm of the time t", y="validation loss"),
            Curves(
                [
                    Line("validation errors", time, errors / errors[0]),
                    Line("training loss", time, train / train[0]),
                ],
                x="logarithm of the time t",
                y="over its first value",
                log="y",
            ),
        ]
    )


@claim(
    items={"L11.5": ("smoothness found and known", "largest curvature", "two sides of the tail", "rate of the tail")},
    says=r"The logistic loss is positive, decreasing to zero, $\frac14$-smooth, and has an exponential tail, "
    r"$(1-e^{-u})e^{-u}\le-\ell'(u)\le(1+e^{-u})e^{-u}$. The exponential loss has the tail, with $a=c=1$ too, but is "
    r"smooth on half-lines only.",
    needs="u > 0 in the bounds of the tail",
    symbols={
        r"\ell(u)": "the loss at margin $u$",
        r"a,c": r"rate and scale of a tail: $-\ell'(u)\approx ce^{-au}$",
    },
    why=r"The slope of the logistic loss is $-1/(1+e^u)$, which is $-e^{-u}$ up to a factor between $1-e^{-u}$ and 1, "
    r"and never steeper to differentiate than $\frac14$. The exponential loss has second derivative $e^{-u}$, without "
    "bound to the left. The theorem survives, because descent never goes back to larger losses.",
    notice="Largest curvature between $-R$ and $R$ as $R$ grows: constant for the logistic loss, exploding for the "
    "exponential one.",
)
def losses_with_an_exponential_tail(*, loss: Literal["logistic", "half quadratic", "exponential"] = "logistic"):
    reaches = np.array([10.0, 14.0, 20.0, 28.0, 40.0])
    second = jax.vmap(jax.grad(jax.grad(LOSSES[loss].value)))
    curved = np.array([np.abs(second(jnp.linspace(-r, r, 2001))).max() for r in reaches])
    other = np.array([np.abs(jnp.exp(jnp.linspace(r, -r, 2001))).max() for r in reaches])
    found = loss_assumptions(LOSSES[loss].value)
    margins = np.linspace(0.1, 12, 200)
    slope, tail = 1 / (1 + np.exp(margins)), np.exp(-margins)
    steps = np.exp(np.asarray(LOGISTIC.log_slope(margins)))
    known = {"logistic": 0.25, "half quadratic": 1.0, "exponential": np.inf}[loss]
    return {
        "smoothness found and known": Identity(found.smoothness, known, error=1e-4),
        "largest curvature": Bounded(reaches, curved, aside={"exponential": other}),
        "two sides of the tail": Chain(
            {
                "lower side": ((1 - np.exp(-margins)) * tail, steps),
                "upper side": (steps, (1 + np.exp(-margins)) * tail),
                "as the derivative is": (np.abs(steps - slope), 1e-12 * slope),
            },
            aside={"quadratic": (1 - np.exp(-2 * margins)) * tail},
        ),
        "rate of the tail": Identity(np.array([found.rate, found.scale]), 1.0, error=1e-6),
    }


losses_with_an_exponential_tail.control(
    "the exponential loss is β-smooth, as printed", of="largest curvature", erratum="L11.5a", loss="exponential"
)


@losses_with_an_exponential_tail.control("a correction of e^(−2u) below", of="two sides of the tail")
def smaller_correction(evidence):
    _, steps = evidence.links["lower side"]
    return replace(evidence, links={**evidence.links, "lower side": (evidence.aside["quadratic"], steps)})


@losses_with_an_exponential_tail.picture
def curvature_by_reach(pieces):
    """Largest second derivative of the loss over margins from −R to R, for the loss at hand and the exponential."""
    found = pieces["largest curvature"]
    marks = [
        Line("loss of the claim", found.x, found.y),
        Line("exponential loss", found.x, found.aside["exponential"]),
        Dots("exponential loss", found.x, found.aside["exponential"]),
    ]
    return Curves(marks, x="largest margin R that is looked at", y="largest curvature", log="y")
