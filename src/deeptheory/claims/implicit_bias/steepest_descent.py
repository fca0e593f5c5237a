"""Steepest descent in a norm finds the largest margin of that norm, and proves it on the way (arora 8.3.2)."""

from dataclasses import replace
from itertools import count as counting
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.margins import largest_margin, normalized_margin
from deeptheory.implicit_bias.separable import separable_points
from deeptheory.implicit_bias.steepest import data_width, margin_certificate, margin_descent, steepest_step
from deeptheory.lab import Bounded, Chain, Identity, Inequality, Limit, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

NORMS = (1.0, 2.0, 3.0, np.inf)
NAMES = {1.0: "ℓ1", 2.0: "ℓ2", 3.0: "ℓ3", np.inf: "ℓ∞"}
DUAL = {1.0: np.inf, 2.0: 2.0, 3.0: 1.5, np.inf: 1.0}
PROGRAMME = 1e-9
"""What a linear programme may be off, relative to its margin."""

Points = Annotated[int, Interval(ge=5, le=100)]
Dimension = Annotated[int, Interval(ge=2, le=20)]
Steps = Annotated[int, Interval(ge=2_000, le=1_000_000)]


def wide_apart(key, count, dimension):
    """Signed points whose distance from a random plane is at least 1: a margin that thousands of steps can reach."""
    random = generator(key)
    noise, direction = random.standard_normal((count, dimension)), random.standard_normal(dimension)
    direction /= np.linalg.norm(direction)
    return noise + (1 - np.min(noise @ direction)) * direction


def well_borne(key, count, dimension):
    """Such points that each bears a good share of a largest margin or nothing, whatever the norm.

    A direction settles at the rate of the smallest share: with one of a thousandth it takes a thousand times as long.
    """

    def borne(points):
        shares = (largest_margin(points, norm=norm).weights for norm in NORMS)
        return all(each[each > PROGRAMME].min() > 0.15 / dimension for each in shares)

    drawn = (wide_apart(jax.random.fold_in(key, draw), count, dimension) for draw in counting(2))
    return next(filter(borne, drawn))


def exponential_loss(points, w):
    return jnp.sum(jnp.exp(-points @ w))


@claim(
    items={
        "A8.27": ("margin along the run", "what the certificate leaves open", "direction of the largest margin"),
        "A8.30": ("margin along the run", "what the certificate leaves open"),
    },
    says=r"Steepest descent in any norm on separable data, with $\eta_t\le\min\{\eta_+,1/(B^2L(w_t))\}$, comes to the "
    r"largest margin $\gamma$ of its norm, in direction to the one $w$ that has it, and from some step on "
    r"$\frac{\sum_u(\eta_u\gamma_u^2/L(w_u)-\eta_u^2B^2\gamma_u^2/2)-\log L(w_0)}{\|w_0\|+\sum_u\eta_u\gamma_u}\le"
    r"\min_i\frac{\langle w_t,\bar x_i\rangle}{\|w_t\|}\le\gamma$.",
    needs="separable data; exponential loss; steps within the bound; a numerator that is positive; for the direction "
    "one w of largest margin. Data are drawn until each point bears 0.15/dimension of a largest margin or nothing",
    full=dict(steps=200_000),
    symbols={
        r"\eta_t": "the step size at step $t$",
        r"\eta_+": "any number, the largest step ever made",
        r"L": r"the loss $\sum_ie^{-\langle w,\bar x_i\rangle}$ at the weights $w$",
        r"B": r"the largest dual norm of a point",
        r"\gamma": r"the largest margin, $\max_{\|w\|\le1}\min_i\langle w,\bar x_i\rangle$",
        r"\gamma_u": r"the dual norm of the gradient at step $u$",
        r"\bar x_i": "point $i$ times its label",
    },
    why=r"A step lowers the logarithm of the loss by $\eta_u\gamma_u^2/L$, less what curvature takes back, and "
    r"lengthens the weights by at most $\eta_u\gamma_u$. The loss bounds the worst point from both sides, so the first "
    r"sum is a margin and the second a norm. Since $\gamma_u\ge\gamma L(w_u)$, the quotient of the two comes to "
    r"$\gamma$ as soon as curvature takes back less and less, as it does with shorter and shorter steps in units of "
    r"$1/(B^2L)$.",
    notice="Four norms, each run towards the largest margin of its own. The certificate, computed from losses and "
    "gradients alone, lies below the margin all along, and pushes it against the largest possible one from below.",
    explore={"dimension": (2, 5, 10)},
)
def steepest_descent_finds_its_margin(key, *, count: Points = 20, dimension: Dimension = 5, steps: Steps = 20_000):
    points = well_borne(key, count, dimension)
    # Short beside the weights at the end in every norm: in ℓ1 what the start puts beside the limit stays for good.
    start = generator(jax.random.fold_in(key, 1)).standard_normal(dimension) / (4 * dimension)
    shares = 1 / np.sqrt(1 + np.arange(steps))
    kept = np.unique(np.geomspace(20, steps, 60).astype(int)) - 1
    late = np.geomspace(steps / 64, steps, 7).astype(int) - 1
    found: dict[str, list] = {}
    turned, aims = [], []
    for norm in NORMS:
        # A step of e^700 is never asked for: the run is one with bounded steps as far as it goes.
        run = margin_descent(points, shares, norm=norm, largest_step=np.exp(700.0), start=start)
        width, path = data_width(points, norm=norm), np.asarray(run.weights[1:])
        bound = margin_certificate(run, width=width, start_norm=float(np.linalg.norm(start, norm)))
        moved = np.asarray(run.relative_steps * run.domination)
        best, other = largest_margin(points, norm=norm), largest_margin(points, norm=DUAL[norm])
        seen = {
            "proved": bound.margin,
            "lowered": -np.asarray(run.log_losses[1:]),
            "least": (path @ points.T).min(1),
            "length": np.linalg.norm(path, norm, axis=1),
            "longest": bound.length,
            "curvature": np.cumsum((moved * width) ** 2 / 2),
            "certificate": bound.normalized,
            "margin": normalized_margin(points, path, norm=norm),
            "best": np.full(steps, best.margin),
            "other": np.full(steps, other.margin),
        }
        for name, values in seen.items():
            found.setdefault(name, []).append(np.asarray(values))
        turned.append(directions(points, start, steps, norm))
        aims.append(best.vector)
    every = {name: np.array(values) for name, values in found.items()}
    early = {name: values[:, kept] for name, values in every.items()}
    positive = early["proved"] > 0  # before, dividing by a bound of the norm proves nothing
    links = {
        "certificate of the margin, −log of the loss": (early["proved"], early["lowered"]),
        "−log of the loss, least ⟨w, x⟩": (early["lowered"], early["least"]),
        "norm, certificate of the norm": (early["length"], early["longest"]),
        "certificate, margin": (early["certificate"][positive], early["margin"][positive]),
        "margin, largest margin": (early["margin"], early["best"]),
    }
    # The margin itself, between this bound and the largest one, need not rise at every step.
    proved = every["certificate"][:, late]
    left = np.max(1 - proved / every["best"][:, late], axis=0)
    # The farthest of each stretch of steps: in ℓ∞ all coordinates move at once and swing about where they belong.
    stretches = np.geomspace(steps / 64, steps, 8).astype(int) - 1
    since, ends = stretches[:-1], stretches[1:]
    off = np.maximum.reduceat(np.linalg.norm(np.array(turned) - np.array(aims)[:, None], axis=2).max(0), since)
    euclidean = aims[NORMS.index(2.0)]
    beside = np.linalg.norm(turned[NORMS.index(1.0)] - euclidean / np.abs(euclidean).sum(), axis=1)[ends]
    return {
        "margin along the run": Chain(
            links, error=PROGRAMME * np.abs(early["least"]).max(), aside=early | {"step": kept}
        ),
        "what the certificate leaves open": Limit(
            late + 1.0, left, order=0.5, aside={"certificate": proved, "other": every["other"][:, late]}
        ),
        "direction of the largest margin": Limit(since + 1.0, off, order=0.5, aside={"euclidean": beside}),
    }


def directions(points, start, steps, norm):
    """Weights over their norm, by longer steps: a direction settles when slow modes of the residual have died out.

    Shares t^(−1/4) lengthen the weights like t^(3/4), to which what is left of the residual is compared.
    """
    run = margin_descent(points, (1.0 + np.arange(steps)) ** -0.25, norm=norm, largest_step=np.exp(700.0), start=start)
    path = np.asarray(run.weights[1:])
    return path / np.linalg.norm(path, norm, axis=1, keepdims=True)


@steepest_descent_finds_its_margin.control("the largest margin of the dual norm", of="what the certificate leaves open")
def of_the_dual_norm(evidence):
    # Over the larger of the two, as for the largest margin itself: a quotient that grows past 1 would hide its limit.
    proved, other = evidence.aside["certificate"], evidence.aside["other"]
    return replace(evidence, y=np.max(np.abs(proved - other) / np.maximum(proved, other), axis=0))


@steepest_descent_finds_its_margin.control(
    "the Euclidean direction in the norm 1 too", of="direction of the largest margin"
)
def euclidean_direction(evidence):
    return replace(evidence, y=evidence.aside["euclidean"])


@steepest_descent_finds_its_margin.control("without what curvature takes back", of="margin along the run")
def without_curvature(evidence):
    name = "certificate of the margin, −log of the loss"
    proved, lowered = evidence.links[name]
    return replace(evidence, links={**evidence.links, name: (proved + evidence.aside["curvature"], lowered)})


@steepest_descent_finds_its_margin.picture
def four_limits(pieces):
    """Normalized margin along steepest descent in four norms, its certificate (dashed), and the largest margins."""
    seen, marks = pieces["margin along the run"].aside, []
    steps = np.asarray(seen["step"]) + 1.0
    for i, norm in enumerate(NORMS):
        best = seen["best"][i, 0]
        marks += [
            Line(NAMES[norm], steps, seen["margin"][i] / best),
            Line(NAMES[norm], steps, seen["certificate"][i] / best, dashed=True),
        ]
    marks.append(Level("largest margin of its norm", y=1.0))
    return Curves(marks, x="steps", y="margin, over the largest one", log="x", ys=(0, 1.1))


@claim(
    items={"A8.28": ("gradient and loss", "where it is attained")},
    says=r"On separable data $\|\nabla L(w)\|_\star\ge\gamma L(w)$ for every $w$ and every norm, $\gamma$ its largest "
    r"margin; equality where the shares of the points in the loss are weights that prove $\gamma$ largest.",
    needs="separable data; exponential loss",
    symbols={
        r"L(w)": r"the loss $\sum_ie^{-\langle w,\bar x_i\rangle}$",
        r"\|\cdot\|_\star": "the dual of the norm",
        r"\gamma": r"the largest margin, $\max_{\|w\|\le1}\min_i\langle w,\bar x_i\rangle$",
        r"\bar x_i": "point $i$ times its label",
    },
    why=r"The gradient is $-L\sum_ip_i\bar x_i$ with the shares $p$ of the points in the loss. A separator $u$ of norm "
    r"1 and margin $\gamma$ has $\langle u,\sum p_i\bar x_i\rangle\ge\gamma$, whatever the weights, and the dual norm "
    "is at least that. The best weights make both sides meet: that is the duality of the margin problem.",
    notice="Every dot lies above the line, however random the weights; those where shares are dual weights lie on it "
    "in all norms.",
)
def gradient_dominates_the_loss(
    key,
    *,
    count: Points = 12,
    dimension: Dimension = 5,
    vectors: Annotated[int, Interval(ge=10, le=2000)] = 200,
):
    random = generator(jax.random.fold_in(key, 1))
    points = wide_apart(key, count, dimension)
    spread = random.standard_normal((vectors, dimension)) * random.uniform(0.1, 6.0, (vectors, 1))
    everywhere = spread + random.uniform(0, 5, (vectors, 1)) * largest_margin(points).vector
    # As many points as dimensions: all margins can be chosen, and so all shares of the loss.
    few = separable_points(jax.random.fold_in(key, 2), count=dimension, dimension=dimension)
    slope = jax.jit(jax.vmap(lambda w, x: jax.grad(exponential_loss, argnums=1)(x, w), in_axes=(0, None)))
    ratio, bound, met, least, undual = [], [], [], [], []
    for norm in NORMS:
        best, exact = largest_margin(points, norm=norm), largest_margin(few, norm=norm)
        losses = np.exp(-everywhere @ points.T).sum(1)
        ratio.append(np.linalg.norm(slope(everywhere, points), DUAL[norm], axis=1) / losses)
        bound.append(np.full(vectors, best.margin))
        chosen = np.linalg.solve(few, -np.log(np.maximum(exact.weights, 1e-20)))
        sizes = np.array([0.5, 1.0, 2.0]) * np.exp(-few @ chosen).sum()
        # A shift of all margins alike scales the loss and leaves the shares.
        shifted = chosen + np.outer(np.log([2.0, 1.0, 0.5]), np.linalg.solve(few, np.ones(dimension)))
        met.append(np.linalg.norm(slope(shifted, few), DUAL[norm], axis=1))
        undual.append(np.linalg.norm(slope(shifted, few), norm, axis=1))
        least.append(exact.margin * sizes)
    met, least, bound = np.array(met), np.array(least), np.array(bound)
    every = np.hstack([bound, least]), np.hstack([ratio, met])
    return {
        "gradient and loss": Inequality(*every, error=PROGRAMME, along={"norm": [NAMES[norm] for norm in NORMS]}),
        "where it is attained": Identity(met, least, error=1e-8 * least, aside={"in the norm": np.array(undual)}),
    }


@gradient_dominates_the_loss.control("the margin divided by 0.99", of="gradient and loss")
def slightly_larger(evidence):
    return replace(evidence, quantity=evidence.quantity / 0.99)


@gradient_dominates_the_loss.control("for the norm in place of its dual", of="where it is attained")
def of_other_norm(evidence):
    return replace(evidence, left=evidence.aside["in the norm"])


@gradient_dominates_the_loss.picture
def dots_above_the_line(pieces):
    """Dual norm of the gradient against the margin times the loss: over the loss at random weights, and as it is."""
    found = pieces["gradient and loss"]
    marks = []
    for i, norm in enumerate(NORMS):
        marks.append(Dots(NAMES[norm], found.quantity[i], found.bound[i]))
    met = pieces["where it is attained"]
    ends = np.array([0.3, 2.0]) * np.array([np.min(found.quantity), np.max(found.quantity)])
    marks += [Line("equality", ends, ends), Dots("dual weights", np.ravel(met.right), np.ravel(met.left))]
    return Curves(marks, x="largest margin times the loss", y="dual norm of the gradient", log="xy")


@claim(
    items={
        "A8.29": ("loss and sums of gradients", "sum of the squared gradients", "fall of the loss"),
        "A8.30": "curvature of the loss",
    },
    says=r"With a constant step $\eta\le1/(B^2L(w_0))$ steepest descent has falling losses, "
    r"$\sum_t\|\nabla L\|_\star^2<\infty$ but $\sum_t\|\nabla L\|_\star=\infty$, and $L\to0$, like $1/t$: at most "
    r"$1/(1/L_0+\frac12\eta\gamma^2t)$. The reason is $v^\top\nabla^2L\,v\le B^2L\|v\|^2$.",
    needs="separable data; exponential loss",
    full=dict(steps=200_000),
    symbols={
        r"\eta": "the step size",
        r"B": "the largest dual norm of a point",
        r"L": "the exponential loss, $L_0$ at the start $w_0$",
        r"\gamma": "the largest margin of the norm",
        r"v": "any vector",
    },
    why=r"Within $1/(B^2L)$ curvature takes back at most half of what the slope promises, so each step lowers the loss "
    r"by $\frac\eta2\|\nabla L\|_\star^2$: the squares sum to at most $2L_0/\eta$. The gradient is at least $\gamma "
    r"L$, so $1/L$ grows by at least $\frac12\eta\gamma^2$ a step. And since the loss can only vanish if the weights "
    "grow without end, the gradients themselves have no finite sum.",
    notice="The sum of the squares levels off early. The sum of the gradients goes on like the logarithm of the number "
    "of steps, in every norm.",
)
def steepest_descent_sums(key, *, count: Points = 20, dimension: Dimension = 5, steps: Steps = 20_000):
    points = wide_apart(key, count, dimension)
    random = generator(jax.random.fold_in(key, 1))
    start, ends = random.standard_normal(dimension) / 4, (steps / 2.0 ** np.arange(6, -1, -1)).astype(int)
    links, squares, sums, losses, curved = [], [], [], [], []
    twice = jax.jit(jax.vmap(lambda w, v: jax.jvp(jax.grad(lambda u: exponential_loss(points, u)), (w,), (v,))[1] @ v))
    for norm in NORMS:
        width, gamma = float(data_width(points, norm=norm)), largest_margin(points, norm=norm).margin
        step = 1 / (width**2 * float(exponential_loss(points, start)))
        run = margin_descent(points, np.ones(steps), norm=norm, largest_step=step, start=start)
        loss, gradient = np.exp(run.log_losses), np.asarray(run.domination) * np.exp(run.log_losses[:-1])
        squared, total = np.cumsum(gradient**2), np.cumsum(gradient)
        time = 1.0 + np.arange(steps)
        grown = (-np.log(loss[1:]) / width - np.linalg.norm(start, norm)) / step
        links.append(
            [
                (loss[1:], loss[:-1] - step * gradient**2 / 2),
                (loss[1:], 1 / (1 / loss[0] + step * gamma**2 * time / 2)),
                (squared, np.full(steps, 2 * loss[0] / step)),
                (grown, total),
            ]
        )
        squares.append(squared[ends - 1] / squared[-1])
        sums.append(total[ends - 1] / total[-1])
        losses.append(loss[ends] / loss[-1])
        w, v = random.standard_normal((2, 100, dimension))
        v[:dimension], w[:dimension] = np.eye(dimension), 0.0
        # One point far behind the others makes up the loss alone, and v along its steepest step meets the bound.
        longest = points[np.argmax(np.linalg.norm(points, DUAL[norm], axis=1))]
        steepest = np.asarray(steepest_step(longest, norm=norm))
        w[-1], v[-1] = -40 * longest / (longest @ longest), steepest
        size = np.exp(-w @ points.T).sum(1) * np.linalg.norm(v, norm, axis=1) ** 2
        curved.append(np.asarray(twice(w, v)) / size / width**2)
    names = (
        "the loss falls by half the promised amount",
        "the loss stays below its bound",
        "squares of gradients below twice the first loss over the step",
        "growth of the weights below the sum of gradients",
    )
    sides = [[np.array(side)[:, ::16] for side in zip(*pair, strict=True)] for pair in zip(*links, strict=True)]
    pairs = {name: (less, more) for name, (less, more) in zip(names, sides, strict=True)}
    aside = {"sums": np.mean(sums, axis=0)}
    return {
        "loss and sums of gradients": Chain(pairs, error=1e-12),
        "sum of the squared gradients": Bounded(ends, np.mean(squares, axis=0), aside=aside),
        "fall of the loss": Rate(ends, np.mean(losses, axis=0), exponent=-1.0, rivals=(-0.5, -2.0)),
        "curvature of the loss": Inequality(
            np.array(curved), np.ones_like(curved), error=1e-12, along={"norm": [NAMES[norm] for norm in NORMS]}
        ),
    }


@steepest_descent_sums.control("the gradients themselves have a finite sum", of="sum of the squared gradients")
def plain_sum(evidence):
    return replace(evidence, y=evidence.aside["sums"])


@steepest_descent_sums.control("half the curvature", of="curvature of the loss")
def half_the_curvature(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@steepest_descent_sums.picture
def two_sums(pieces):
    """Partial sums of the gradient's dual norm and of its square, over their last values, means over the norms."""
    found = pieces["sum of the squared gradients"]
    marks = [Line("squares", found.x, found.y), Line("gradients", found.x, found.aside["sums"])]
    return Curves(marks, x="steps", y="sum so far, over the last one", log="x", ys=(0, 1.1))
