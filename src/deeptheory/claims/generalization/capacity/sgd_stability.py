"""Stability of SGD: two runs on samples that differ in one example and share every draw (handbook 10)."""

from dataclasses import replace
from itertools import product
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.stability import (
    bounded_loss_stability,
    convex_sgd_stability,
    coupled_sgd,
    escape_distances,
    nonconvex_sgd_stability,
    strongly_convex_sgd_stability,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Rate, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, seen

BENT = 0.4
"""the curvature of the strongly convex losses: not 1/2, whose inverse square is twice its inverse"""


def _linear(w, z):
    return z * jnp.ones_like(w)


def _bowl(w, z):
    return BENT * w - z


def _valley(w, z):
    return -w / jnp.sqrt(1 + w * w) + z


FEW_DRAWS = ((1.0, 2, 2), (2.5, 3, 4), (4.0, 2, 5))
"""Largest loss, steps and examples, of which all draws are written down."""
GRADIENTS = {"linear": _linear, "strongly convex": _bowl, "not convex": _valley}
coupled = {name: jax.jit(lambda s, a, b, i, e, g=g: coupled_sgd(g, s, a, b, i, e)) for name, g in GRADIENTS.items()}


@claim(
    items={"H10.3": ("linear losses attain the bound", "strongly convex losses")},
    says=r"SGD on convex $L$-Lipschitz losses changes them by at most $\frac{2L^2}n\sum\eta_t$ in mean when one "
    r"example is replaced, exactly so for linear losses; curvature $\gamma$ stops the drift at $2L^2/\gamma n$.",
    needs="steps at most 2 over the smoothness, and 1 over it for strong convexity; indices drawn uniformly and shared",
    full=dict(trials=40_000),
    symbols={
        r"L": "the Lipschitz constant of the losses; of strongly convex ones half of what slopes of examples differ by",
        r"n": "the number of examples",
        r"\eta_t": "the step size at time $t$",
        r"\gamma": "the least curvature of strongly convex losses",
    },
    why=r"A gradient step on a convex smooth loss brings two points no farther apart, so two runs that draw the same "
    r"examples separate only at the steps that draw the replaced one: by $2L\eta_t$ at most, with probability $1/n$. "
    r"Another factor $L$ turns distance into loss. Strong convexity contracts by $1-\eta\gamma$ at every step, and the "
    r"sum becomes a geometric series.",
    notice=r"The linear losses drift apart in proportion to the number of steps; with curvature the drift levels off. "
    r"At equal settings the dots at the last step lie on the two curves.",
)
def convex_sgd(key, *, trials: Trials = 24_576, loss: Literal["linear", "not convex"] = "linear"):
    draw, T, eta = generator(key), 40, 0.1
    times = np.arange(1, T + 1)
    constant, falling = np.full(T, eta), 2 * eta / np.sqrt(times)

    def changed(name, lipschitz, n, steps):
        """By how much a linear loss of slope L changes, L times the distance, where slopes ±L are exchanged."""
        data = np.zeros((n, 1))
        data[0] = lipschitz
        a, b = coupled[name](np.zeros(1), data, -data, draw.integers(0, n, (trials, T)), steps)
        return lipschitz * np.abs(np.asarray(a - b))[:, 0]

    cells = ((1.5, 20, constant), (0.7, 9, falling))
    limit = strongly_convex_sgd_stability(1.5, BENT, 20)
    settling = limit * (1 - (1 - BENT * eta) ** times)  # contracting by 1 − ηγ a step
    x = draw.standard_normal((200, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    swapped = np.vstack([-x[:1], x[1:]])
    order = draw.integers(0, 200, (200, 400))
    a, b = logistic_runs(np.zeros(5), x, swapped, order, np.ones(400))
    return {
        "linear losses attain the bound": Law(
            np.array([convex_sgd_stability(lipschitz, steps, n) for lipschitz, n, steps in cells]),
            np.array([changed(loss, lipschitz, n, steps) for lipschitz, n, steps in cells]),
            exact=True,
            along={"steps": ["constant", "falling"]},
            aside={"times": times, "drift": [convex_sgd_stability(1.5, constant[:t], 20) for t in times]},
        ),
        "strongly convex losses": Law(
            settling[-1],
            changed("strongly convex", 1.5, 20, constant),
            exact=True,
            aside={"limit": limit, "settling": settling},
        ),
        "logistic regression": Inequality(
            np.mean(np.linalg.norm(np.asarray(a - b), axis=1)), convex_sgd_stability(1.0, np.ones(400), 200)
        ),
    }


logistic_runs = jax.jit(lambda s, a, b, i, e: coupled_sgd(lambda w, z: -z * jax.nn.sigmoid(-w @ z), s, a, b, i, e))

convex_sgd.control("a loss that is not convex", of="linear losses attain the bound", loss="not convex")


@convex_sgd.control("without the factor two", of="linear losses attain the bound")
def without_two(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / 2)


@convex_sgd.control("the limit for many steps, after these few", of="strongly convex losses")
def already_settled(evidence):
    return replace(evidence, predicted=evidence.aside["limit"])


@convex_sgd.picture
def drift(pieces):
    """Mean change of the loss along SGD when one example is replaced: predicted at every step, observed at the last."""
    linear, bent = pieces["linear losses attain the bound"], pieces["strongly convex losses"]
    times = linear.aside["times"]
    return Curves(
        [
            Line("linear losses", times, linear.aside["drift"]),
            Line("strongly convex losses", times, bent.aside["settling"]),
            seen("observed, linear", times[-1:], np.asarray(linear.observed)[:1]),
            seen("observed, strongly convex", times[-1:], np.asarray(bent.observed)[None]),
            Level("2L²/γn", y=float(bent.aside["limit"])),
        ],
        x="steps", y="mean change of the loss",
    )  # fmt: skip


@claim(
    items={
        "H10.5": (
            "sum of the distances",
            "distance of two runs",
            "all draws enumerated",
            "bound for bounded losses reached",
            "runs that never draw the example",
        ),
        "H10.6": ("slopes of the cross-entropy", "slope along the scale of the weights"),
    },
    says=r"Bounded gradients alone let coupled runs of SGD drift apart like $\eta T^2/n$, not $T/n$, as on "
    r"$-(\sqrt{1+w^2}-1)+zw$. A loss in $[0,M]$ differs by at most $M(1-(1-1/n)^T)\le MT/n$ in mean, attained. "
    r"Cross-entropy is Lipschitz in the logits with constant $\sqrt2$.",
    needs="indices drawn uniformly and shared; η = 1/10; T well below n for the order of the drift",
    symbols={
        r"\eta": "the step size",
        r"T": "the number of steps",
        r"n": "the number of examples",
        r"w,\ z": "the one parameter, and an example",
        r"M": "the largest value of the loss",
    },
    why=r"Until the replaced example is drawn the two runs are one. Then they lie on either side of a ridge, and each "
    r"runs down its side at a speed that tends to $\eta$: their distance grows with the steps that are left. The first "
    r"draw comes at each of $T$ steps with probability near $1/n$, and the sum over all is of order $\eta T^2/n$. A "
    r"bounded loss cannot follow: it differs by at most $M$, and only in runs that drew the example at all.",
    notice=r"After a first stretch the line, $\frac1n$ times the sum over the time of the first draw, takes the slope "
    r"2 in doubly logarithmic axes; one of order $T/n$ through its first point is left behind. It is the mean distance "
    r"as long as $T$ is small against $n=400$, and beyond only its first order.",
)
def nonconvex_sgd(key, *, trials: Trials = 2048):
    eta, times = 0.1, 25 * 2 ** np.arange(8)
    sums = np.array([escape_distances(eta, int(t)).sum() for t in times])
    draw, n, T = generator(key), 400, 100
    data, other = np.zeros((n, 1)), np.zeros((n, 1))
    data[0], other[0] = 1.0, -1.0
    indices = draw.integers(0, n, (trials, T))
    # The example is drawn in one run of four; that it is drawn first at a uniform time is integrated out by hand.
    first = draw.integers(0, T, trials)
    indices[np.arange(T) <= first[:, None]] = 1
    indices[np.arange(trials), first] = 0
    a, b = coupled["not convex"](np.zeros(1), data, other, indices, np.full(T, eta))
    drawn = -np.expm1(T * np.log1p(-1 / n))
    mean = np.mean(np.abs(np.asarray(a - b))) * drawn
    # sin²-shaped loss in [0, 1] with steps c/t: slope and curvature at most 1/2.
    shared = draw.integers(0, n, (trials, T))
    decay = decaying_runs(np.zeros(1), data, other, shared, 0.5 / np.arange(1, T + 1))
    losses = [np.sin(np.asarray(w)[:, 0] / 2 - np.pi / 4) ** 2 for w in decay]
    # A linear loss pushes runs that draw the example to opposite sides: the loss 1{w < 0} is then all the difference.
    few = 200
    often = draw.integers(0, few, (16 * trials, T))
    sides = [
        np.asarray(w)[:, 0] < 0 for w in coupled["linear"](np.zeros(1), data[:few], other[:few], often, np.ones(T))
    ]
    differ = sides[0] != sides[1]
    logits = draw.standard_normal((2000, 5)) * np.geomspace(1e-2, 1e3, 2000)[:, None]
    slopes = np.linalg.norm(
        np.exp(logits - logits.max(1, keepdims=True))
        / np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True)
        - np.eye(5)[0],
        axis=1,
    )
    scales = np.array([1e1, 1e2, 1e3, 1e4])
    steep = np.array([np.linalg.norm(_softmax(np.array([-s, s])) - np.array([1.0, 0.0])) for s in scales])
    return {
        "sum of the distances": Rate(times.astype(float), sums, exponent=2.0, rivals=(1.5,), aside={"samples": n}),
        "distance of two runs": Chain(
            {
                "lower": (0.9 * escape_distances(eta, T).sum() / n * (drawn * n / T), mean),
                "upper": (mean, 2 * eta * T**2 / n),
            },
            # Slopes are at most 2; over L the bound on losses is one on distances.
            aside={"convex": convex_sgd_stability(2.0, np.full(T, eta), n) / 2, "mean": mean, "steps": T},
        ),
        "bounded losses": Inequality(np.mean(np.abs(losses[0] - losses[1])), bounded_loss_stability(1.0, T, n)),
        "all draws enumerated": Identity(
            [np.mean([most * (0 in drawn) for drawn in product(range(n), repeat=t)]) for most, t, n in FEW_DRAWS],
            [bounded_loss_stability(*few) for few in FEW_DRAWS],
        ),
        "bound for bounded losses reached": Share(
            np.sum(differ),
            len(differ),
            bounded_loss_stability(1.0, T, few),
            resolution=0.1,
            aside={"counted anew": T / few},
        ),
        "runs that never draw the example": Exact(
            np.concatenate([losses[0] != losses[1], differ])[~np.concatenate([shared == 0, often == 0]).any(axis=1)],
            np.zeros(int(np.sum(~np.concatenate([shared == 0, often == 0]).any(axis=1))), bool),
        ),
        "decaying steps": Inequality(
            np.mean(np.abs(losses[0] - losses[1])), nonconvex_sgd_stability(0.5, 0.5, 0.5, T, n)
        ),
        "slopes of the cross-entropy": Inequality(slopes, np.sqrt(2)),
        "slope along the scale of the weights": Rate(scales, steep, exponent=0.0, rivals=(1.0,)),
    }


def _softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


decaying_runs = jax.jit(lambda s, a, b, i, e: coupled_sgd(lambda w, z: 0.5 * jnp.sin(w - np.pi / 2) * z, s, a, b, i, e))


@nonconvex_sgd.control("of order T/n, with bounded gradients alone", of="sum of the distances")
def proportional(evidence):
    return replace(evidence, exponent=1.0)


@nonconvex_sgd.control("no farther than convex losses, 2LΣη/n", of="distance of two runs")
def as_if_convex(evidence):
    return replace(evidence, links={"convex": (evidence.aside["mean"], evidence.aside["convex"])})


@nonconvex_sgd.control("T/n, each draw of the example counted anew", of="bound for bounded losses reached")
def each_draw(evidence):
    return replace(evidence, predicted=evidence.aside["counted anew"])


@nonconvex_sgd.control("cross-entropy not Lipschitz, in the logits either", of="slope along the scale of the weights")
def not_lipschitz(evidence):
    return replace(evidence, exponent=1.0)


@nonconvex_sgd.control("the constant 1, the most that one logit can do", of="slopes of the cross-entropy")
def one_logit(evidence):
    return replace(evidence, bound=1.0)


@nonconvex_sgd.picture
def runs_that_part(pieces):
    """Mean distance of two coupled runs with one example replaced, to first order in T/n, along the steps T."""
    growth, drawn = pieces["sum of the distances"], pieces["distance of two runs"].aside
    times, distances = np.asarray(growth.x), np.asarray(growth.y) / growth.aside["samples"]
    return Curves(
        [
            Line("first draw summed over", times, distances),
            Dots("coupled runs", [drawn["steps"]], [drawn["mean"]]),
            Line("order", times, distances[0] * times / times[0], rival="of order T/n, as printed in Sec. 10.3.1"),
        ],
        x="steps T", y="mean distance of the two runs", log="xy",
    )  # fmt: skip
