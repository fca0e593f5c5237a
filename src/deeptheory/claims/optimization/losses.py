"""Losses and what they bound; convex models, and descent on them (lucchi Ch. 5, handbook 4.1)."""

import functools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval
from scipy.optimize import minimize
from scipy.special import rel_entr

from deeptheory.foundations.entropies import entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.convexity import chord_gap
from deeptheory.optimization.convex_models import HingeRidge, soft_margin
from deeptheory.optimization.landscapes import LogisticRidge, TanhNetworkLoss
from deeptheory.optimization.losses import class_error, cross_entropy, log_loss, risk_on, squared_loss
from deeptheory.optimization.runs import trajectory


@jax.jit
def all_losses(guesses, targets, labels):
    """Every loss of each guess: cross-entropy and entropy of the targets; zero-one, log and squared loss of labels."""
    ones = jax.nn.one_hot(labels, guesses.shape[1])
    hard = class_error(guesses, labels), log_loss(guesses, labels), squared_loss(guesses, ones)
    return cross_entropy(guesses, targets), entropy(targets), *hard


@claim(
    items={"L5.1": ("gap of the cross-entropy", "Gibbs' inequality", "zero-one loss below its surrogates")},
    says=r"For probability vectors $-\sum_jy_j\log\nu_j\ge-\sum_jy_j\log y_j$, and the difference is "
    r"$\sum_jy_j\log(y_j/\nu_j)$. The zero-one loss is at most $\log_2(1/\nu_y)$ and at most "
    r"$4\cdot\frac12\|e_y-\nu\|^2$, with equality where two classes share all.",
    needs="y and ν probability vectors; a tie counts as an error",
    symbols={
        "y": "the target: a probability vector, or a class",
        r"\nu": "the prediction, a probability vector",
        "e_y": "the vector with a one at class $y$",
    },
    why=r"$\log u\le u-1$ gives $\sum_jy_j\log(\nu_j/y_j)\le\sum_j\nu_j-\sum_jy_j$, which is zero for probability "
    r"vectors, and positive if $\sum_jy_j<1$: then the inequality can fail. An error means that another class has at "
    r"least $\nu_y$, so $\nu_y\le\frac12$: the log-loss is at least $\log2$, the squared distance least when two "
    r"classes have one half each.",
    notice=r"For two classes both surrogates touch the corner of the zero-one loss at $\nu_y=\frac12$ and lie above. "
    r"The log-loss in nats cuts the corner: it must be measured in bits.",
)
def losses_and_their_bounds(key, *, guesses: Annotated[int, Interval(ge=50, le=20_000)] = 500):
    random = generator(key)
    nu, y = random.dirichlet(np.full(4, 0.7), guesses), random.dirichlet(np.full(4, 0.7), guesses)
    labels = random.integers(4, size=guesses)
    same = guesses // 5
    nu[:same] = y[:same]
    # Two classes that share all, the label among them.
    nu[same : 2 * same] = 0.0
    rows = np.arange(same, 2 * same)
    nu[rows, labels[rows]] = nu[rows, (labels[rows] + 1) % 4] = 0.5
    y[rows] = nu[rows]
    crossed, least, wrong, logarithm, square = map(np.asarray, all_losses(nu, y, labels))
    kept = np.isfinite(logarithm)
    below = np.asarray(all_losses(nu, y / 2, labels))[:2]
    edge = np.linspace(0.02, 0.98, 97)
    two = all_losses(np.stack([edge, 1 - edge], 1), np.stack([edge, 1 - edge], 1), np.zeros(97, int))
    return {
        "gap of the cross-entropy": Identity(
            crossed - least, rel_entr(y, nu).sum(1), scale=1 + crossed, aside={"other way": rel_entr(nu, y).sum(1)}
        ),
        "Gibbs' inequality": Inequality(least, crossed, aside={"of sum one half": np.array(below)}),
        "zero-one loss below its surrogates": Chain(
            {
                "bits of the log-loss": (wrong[kept], logarithm[kept] / np.log(2)),
                "four times the squared loss": (wrong, 4 * square),
            },
            aside={"nats": logarithm[kept], "edge": edge, "two": np.stack(two[2:])},
        ),
    }


@losses_and_their_bounds.control("the divergence the other way round", of="gap of the cross-entropy")
def other_way(evidence):
    other = np.asarray(evidence.aside["other way"])
    return replace(evidence, right=np.where(np.isfinite(other), other, 1e6))


@losses_and_their_bounds.control("targets that add up to one half", of="Gibbs' inequality")
def of_sum_one_half(evidence):
    crossed, least = evidence.aside["of sum one half"]
    return replace(evidence, quantity=least, bound=crossed)


@losses_and_their_bounds.control("the log-loss in nats", of="zero-one loss below its surrogates")
def in_nats(evidence):
    wrong, _ = evidence.links["bits of the log-loss"]
    return replace(evidence, links={"nats": (wrong, evidence.aside["nats"])})


@losses_and_their_bounds.control("three times the squared loss", of="zero-one loss below its surrogates")
def three_times(evidence):
    wrong, four = evidence.links["four times the squared loss"]
    return replace(evidence, links={"three times": (wrong, 3 / 4 * four)})


@losses_and_their_bounds.picture
def losses_of_two_classes(pieces):
    """The losses of two classes by the probability of the right one."""
    aside = pieces["zero-one loss below its surrogates"].aside
    edge, (wrong, logarithm, square) = aside["edge"], aside["two"]
    return Curves(
        [
            Line("zero-one", edge, wrong),
            Line("log-loss in bits", edge, logarithm / np.log(2)),
            Line("4 × squared loss", edge, 4 * square),
            Line("log-loss in bits", edge, logarithm, rival="in nats"),
        ],
        x="probability of the right class",
        y="loss",
        ys=(0, 4),
    )


# Convex models -------------------------------------------------------------------------------------------------------


@jax.jit
def chords(function, first, second, shares):
    """Gaps of chords, and the mixed values above them."""
    gaps = jax.vmap(lambda w, v, a: chord_gap(function, w, v, a))(first, second, shares)
    return gaps, shares * jax.vmap(function)(first) + (1 - shares) * jax.vmap(function)(second)


@functools.partial(jax.jit, static_argnames="steps")
def ends(function, starts, rate, *, steps=3000):
    """Values along gradient descent from each start."""
    return jax.vmap(lambda w: trajectory(function, optax.sgd(rate), w, steps=steps).value)(starts)


margins_of = jax.jit(lambda loss: (soft_margin(loss), jax.grad(loss)(soft_margin(loss).weights)))
linear = jax.tree_util.Partial(lambda w, x: w @ x)


@claim(
    items={
        "H4.5": ("chords of three models", "ends of descent", "duality of the support vector machine"),
        "H4.2": "chords of three models",
        "H4.3": ("ends of descent", "zero among the subgradients"),
        "H4.4": "ends of descent",
        "H4.1": ("ends of descent", "duality of the support vector machine"),
    },
    says=r"The risks $\frac1n\sum_i\mathcal L(w^\top x_i,y_i)$ of least squares, logistic regression and a support "
    r"vector machine lie below all their chords. On the first two descent $w\leftarrow w-\eta\nabla L$ ends at one "
    r"value from every start; at the minimum $0$ is the gradient or, for the hinge, a subgradient.",
    needs="a minimizer exists (a ridge, or data that are not separable); for descent η below two over the largest "
    "curvature",
    symbols={
        r"\mathcal L": "the loss of a prediction",
        "w": "the weights",
        "x_i, y_i": "inputs and label of an example, $n$ in all",
        r"\eta, L": "the step size, and the risk",
    },
    why="A convex loss of a linear prediction is convex in the weights, and so is a mean of such. A point without "
    "slope has a level tangent, below which a convex function never falls; so every local minimum is global. Where the "
    "hinge bends, slopes from both sides are allowed, and some mixture of them vanishes. On separable data without a "
    "ridge logistic regression has no minimizer: it falls for ever, and the weights grow without bound.",
    notice="Descent from six far-apart starts meets at one value, for least squares and logistic regression. For a "
    "small network on the same data it ends at several: the risk is the same mean, but the prediction is not linear. "
    "On the right, each example's dual variable is a slope of the hinge at its margin, anything between at the bend.",
)
def descent_solves_convex_models(
    key, *, samples: Annotated[int, Interval(ge=10, le=200)] = 30, pairs: Annotated[int, Interval(ge=50, le=5000)] = 300
):
    random = generator(key)
    features = random.standard_normal((samples, 3))
    labels = np.sign(features @ [1.0, -0.5, 0.3] + random.standard_normal(samples))
    x, y = jnp.asarray(features), jnp.asarray(labels)
    squares = jax.tree_util.Partial(lambda data, w: risk_on(linear, squared_loss, *data)(w), (x, y))
    logistic, hinge = LogisticRidge(x, y, jnp.asarray(0.02)), HingeRidge(x, y, jnp.asarray(0.05))
    network = TanhNetworkLoss(x, y, (2,))
    first, second = 2 * random.standard_normal((2, pairs, 8))
    shares = random.uniform(0.05, 0.95, pairs)
    found = [chords(each, first[:, :3], second[:, :3], shares) for each in (squares, logistic, hinge)]
    bent = chords(network, first, second, shares)

    starts = 3 * random.standard_normal((6, 8))
    curved = np.linalg.norm(features, 2) ** 2 / samples
    runs = [np.asarray(ends(each, starts[:, :3], 1.5 / curved)) for each in (squares, logistic)]
    small = np.asarray(ends(network, starts, 0.1))
    # Other routes to the same minima: normal equations, and a quasi-Newton method on the sum written out.
    solved = np.linalg.solve(features.T @ features, features.T @ labels)
    least = np.mean((features @ solved - labels) ** 2) / 2

    def total(w):
        return np.mean(np.logaddexp(0, -labels * (features @ w))) + 0.01 * w @ w

    lowest = np.array([least, minimize(total, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).fun])
    machine, slope = jax.tree.map(np.asarray, margins_of(hinge))
    signed = labels[:, None] * features
    dual = machine.duals.sum() - np.sum((machine.duals @ signed) ** 2) / (2 * 0.05)
    primal = np.mean(np.maximum(0, 1 - signed @ machine.weights)) + 0.025 * machine.weights @ machine.weights
    # n times a dual variable must be a slope of the hinge there: 1 below margin one, 0 above, anything between at it.
    margins, slopes = signed @ machine.weights, samples * machine.duals
    off = slopes - np.clip(slopes + 1 - margins, 0, 1)
    shown = np.unique(np.geomspace(1, 3000, 60).astype(int))
    return {
        "chords of three models": Inequality(
            np.stack([mixed - gap for gap, mixed in found]),
            np.stack([mixed for _, mixed in found]),
            along={"model": ["least squares", "logistic", "hinge"]},
            aside={"network": np.stack([bent[1] - bent[0], bent[1]])},
        ),
        "ends of descent": Identity(
            np.stack([run[:, -1] for run in runs]),
            lowest[:, None],
            error=1e-10,
            aside={"network": small[:, -1], "paths": np.stack([*runs, small])[..., shown], "times": shown},
        ),
        # Half of the ridge: 0.05/2; primal and dual meet at the optimum alone.
        "duality of the support vector machine": Identity(
            primal,
            dual,
            scale=1.0,
            error=1e-9,
            aside={"without ridge": np.mean(np.maximum(0, 1 - signed @ machine.weights))},
        ),
        "zero among the subgradients": Identity(
            np.append(0.05 * machine.weights - machine.duals @ signed, off),
            0.0,
            scale=1.0,
            error=1e-9,
            aside={"gradient": slope, "duals": slopes, "margins": margins},
        ),
    }


@descent_solves_convex_models.control("chords of a network of two neurons", of="chords of three models")
def network_chords(evidence):
    below, mixed = evidence.aside["network"]
    return replace(evidence, quantity=below, bound=mixed)


@descent_solves_convex_models.control("one value at the ends on a network", of="ends of descent")
def network_ends(evidence):
    found = np.asarray(evidence.aside["network"])
    return replace(evidence, left=found, right=found.min())


@descent_solves_convex_models.control("hinges alone, without the ridge", of="duality of the support vector machine")
def without_ridge(evidence):
    return replace(evidence, left=evidence.aside["without ridge"])


@descent_solves_convex_models.control(
    "the gradient of automatic differentiation vanishes", of="zero among the subgradients"
)
def gradient_vanishes(evidence):
    return replace(evidence, left=evidence.aside["gradient"])


@descent_solves_convex_models.picture
def one_value_or_several(pieces):
    """Gradient descent from six starts: two convex risks (left, middle), and a network of two neurons (right)."""
    aside = pieces["ends of descent"].aside
    names = ("least squares", "logistic regression", "two neurons")
    subgradient = pieces["zero among the subgradients"].aside
    panels = [
        Curves([Line(name, aside["times"], run) for run in runs], x="step", y="risk", log="x", ys=(0, 3))
        for name, runs in zip(names, aside["paths"], strict=True)
    ]
    slopes = Dots("examples", subgradient["margins"], subgradient["duals"])
    corner = Line("slopes of the hinge", [-2, 1, 1, 3], [1, 1, 0, 0])
    return Row([*panels, Curves([corner, slopes], x="margin", y="n × dual variable", xs=(-2, 3))])
