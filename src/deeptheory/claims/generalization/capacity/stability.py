"""Stability: replacing one example, on runs that share their randomness (handbook 10)."""

from dataclasses import replace
from itertools import product
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import gradient_descent_filter, ridge_filter
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.stability import (
    bounded_loss_stability,
    convex_sgd_stability,
    coupled_sgd,
    escape_distances,
    ghost_gaps,
    nonconvex_sgd_stability,
    on_average_bound,
    regularized_stability,
    strongly_convex_sgd_stability,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Rate, Share, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, seen

ATOMS = np.array([[1.0, 0.5], [-0.6, 1.0], [0.3, -1.0]])
"""Three examples (x, y), equally likely."""


def ridge(sample, strength=0.2):
    """Minimiser of the mean of (wx − y)²/2 + strength·w²/2, one weight."""
    x, y = sample.T
    return np.array([np.mean(x * y) / (np.mean(x * x) + strength)])


def squared(w, atoms):
    return (w[0] * atoms[:, 0] - atoms[:, 1]) ** 2 / 2


def remembered(sample):
    """A memory of sixteen atoms: 1 for those in the sample."""
    return np.isin(np.arange(16), sample[:, 0]).astype(float)


def forgotten(memory, atoms):
    return 1 - memory[atoms[:, 0].astype(int)]


@claim(
    items={
        "H10.1": ("mean", "linear", "rate"),
        "H10.2": ("ghost", "below"),
        "H10.6": ("on average", "attained"),
    },
    says=r"$\mathbb E[R-R_S]$ is the mean change of the loss at an example when it is replaced, hence at most the "
    r"uniform stability $\beta$; minimisers of convex $L$-Lipschitz losses plus $\frac\lambda2\|w\|^2$ move by at "
    r"most $2L/\lambda n$. For $G$-smooth losses $\mathbb E[R-R_S]\le\frac Gg\mathbb ER_S+\frac{G+g}2\mathbb "
    r"E\|A(S^{(i)})-A(S)\|^2$.",
    needs="the algorithm has no randomness of its own; independent examples; losses that are not negative at the last",
    symbols={
        r"R,\ R_S": "the mean loss of what was learned, on the population and on its sample",
        r"\beta": "uniform stability: the most by which any loss changes when any one example is replaced",
        r"L": "the Lipschitz constant of the losses",
        r"\lambda": "the strength of the penalty",
        r"n": "the size of the sample",
        r"G,\ g": "the smoothness of the losses, and any positive number",
        r"A(S),\ A(S^{(i)})": "what is learned from the sample, and from the sample with its $i$-th example replaced",
    },
    why=r"A fresh example and the $i$-th of the sample may exchange names: the test loss at the one is in mean the "
    r"loss at the other after it has been replaced. So the gap is a mean of changes, none larger than $\beta$. The "
    r"penalty makes the objective bend by $\lambda$, while one of $n$ examples can tilt it by $2L/n$ at most: its "
    r"bottom moves by the ratio of the two.",
    notice=r"Linear losses move the minimiser by exactly $2L/\lambda n$. Logistic regression moves by less, because "
    r"its losses bend as well, but also like $1/n$: ten times the data, a tenth of the influence of each example.",
)
def replacing_one_example(key):
    found = {n: ghost_gaps(ridge, squared, ATOMS, n) for n in (2, 3, 4)}
    # A memory errs only on what it has not seen: each example matters as much as it can.
    memory = ghost_gaps(remembered, forgotten, np.arange(16.0)[:, None], 2)
    gaps, changes, worst = (
        np.array([each[name] for each in (*found.values(), memory)]) for name in ("gap", "change", "stability")
    )
    draw, sizes, lam = generator(key), np.array([20, 40, 80, 160, 320]), 0.1
    x = draw.standard_normal((321, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    signed = x * np.sign(x[:, :1] + 0.3 * draw.standard_normal((321, 1)))
    fits = {n: _logistic(signed[:n], lam) for n in sizes.tolist()}
    moves = np.array(
        [np.mean([np.linalg.norm(fits[n] - _logistic(_swapped(signed, n, i), lam)) for i in range(20)]) for n in fits]
    )
    g = np.geomspace(0.05, 50, 30)
    f, w = found[3], 0.7
    smoothness = np.max(ATOMS[:, 0] ** 2)
    step = w * (1 + 2.0 / g)  # f = w², smoothness 2: one step along its gradient over g
    few = np.array([2, 5, 10])
    return {
        "ghost": Identity(gaps, changes),
        "below": Inequality(np.abs(gaps), worst),
        "mean": Identity(
            np.array([abs(np.mean([1.0] + [0.3] * k) - np.mean([-1.0] + [0.3] * k)) for k in few - 1]),
            2 / few,
            along={"n": few},
        ),
        "regularized": Inequality(moves, regularized_stability(1.0, lam, sizes)),
        # Losses ±2w: the minimiser of mean + (λ/2)w² is −mean/λ, and one sign turned moves it by 4/λn.
        "linear": Identity(
            np.array([abs(np.mean([2.0] * n) - np.mean([-2.0] + [2.0] * (n - 1))) / lam for n in sizes]),
            regularized_stability(2.0, lam, sizes),
            along={"n": sizes},
        ),
        "rate": Rate(sizes.astype(float), moves, exponent=-1.0, rivals=(-0.5, -2.0)),
        "on average": Inequality(
            f["gap"],
            on_average_bound(f["training"], f["moved"], smoothness, g),
            aside={"training": smoothness / g * f["training"]},
        ),
        "attained": Identity(
            step**2 - w**2, on_average_bound(w**2, (step - w) ** 2, 2.0, g), aside={"w": w, "step": step, "g": g}
        ),
    }


def _swapped(signed, n, place):
    """The first n examples with one of them replaced by its opposite."""
    return np.where(np.arange(n)[:, None] == place, -1, 1) * signed[:n]


def _logistic(signed, lam):
    """Minimiser of the mean of log(1 + e^{−w·z}) + (λ/2)‖w‖² by Newton steps."""
    w = np.zeros(signed.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(signed @ w))
        slope = -signed.T @ p / len(signed) + lam * w
        curvature = (signed * (p * (1 - p))[:, None]).T @ signed / len(signed) + lam * np.eye(len(w))
        w = w - np.linalg.solve(curvature, slope)
    return w


@replacing_one_example.control("the change the other way round", of="ghost")
def other_way_round(evidence):
    return replace(evidence, right=-np.asarray(evidence.right))


@replacing_one_example.control("half of the uniform stability", of="below")
def half_the_stability(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@replacing_one_example.control("n − 1 examples in place of n", of="mean")
def one_example_less(evidence):
    return replace(evidence, right=2 / (evidence.along["n"] - 1))


@replacing_one_example.control("L/λn, without the factor two", of="linear")
def once_the_constant(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@replacing_one_example.control("the change of the parameters alone, without the training loss", of="on average")
def without_training_loss(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) - evidence.aside["training"])


@replacing_one_example.control("half of the smoothness", of="attained")
def half_smoothness(evidence):
    w, step, g = (evidence.aside[name] for name in ("w", "step", "g"))
    return replace(evidence, right=on_average_bound(float(w) ** 2, (step - w) ** 2, 1.0, g))


@replacing_one_example.picture
def influence_of_one_example(pieces):
    """How far a penalized minimiser moves when one of n examples is replaced: linear losses, logistic regression."""
    linear, logistic, bound = pieces["linear"], pieces["rate"], pieces["regularized"].bound
    return Curves(
        [
            Line("bound, L = 2", linear.along["n"], linear.right),
            Dots("linear losses, L = 2", linear.along["n"], linear.left),
            Line("bound, L = 1", logistic.x, bound),
            Dots("logistic regression, L = 1", logistic.x, logistic.y),
        ],
        x="examples n", y="distance of the two minimisers", log="xy",
    )  # fmt: skip


def _linear(w, z):
    return z * jnp.ones_like(w)


def _bowl(w, z):
    return 0.5 * w - z


def _valley(w, z):
    return -w / jnp.sqrt(1 + w * w) + z


FEW_DRAWS = ((2, 2), (3, 4), (2, 5))
"""Steps and examples of which all draws are written down."""
GRADIENTS = {"linear": _linear, "strongly convex": _bowl, "not convex": _valley}
coupled = {name: jax.jit(lambda s, a, b, i, e, g=g: coupled_sgd(g, s, a, b, i, e)) for name, g in GRADIENTS.items()}


@claim(
    items={"H10.3": ("attained", "strongly convex")},
    says=r"SGD on convex $L$-Lipschitz losses changes them by at most $\frac{2L^2}n\sum\eta_t$ in mean when one "
    r"example is replaced, exactly so for linear losses; curvature $\gamma$ stops the drift at $2L^2/\gamma n$.",
    needs="steps at most 2 over the smoothness, and 1 over it for strong convexity; indices drawn uniformly and shared",
    full=dict(trials=40_000),
    symbols={
        r"L": "the Lipschitz constant of the losses",
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
def convex_sgd(key, *, trials: Trials = 16_384, loss: Literal["linear", "not convex"] = "linear"):
    draw, n, T, eta, lipschitz, curvature = generator(key), 20, 40, 0.1, 1.5, 0.5
    data = np.zeros((n, 1))
    other = data.copy()
    data[0], other[0] = lipschitz, -lipschitz
    indices, steps = draw.integers(0, n, (trials, T)), np.full(T, eta)
    ends = [coupled[name](np.zeros(1), data, other, indices, steps) for name in (loss, "strongly convex")]
    limit = strongly_convex_sgd_stability(lipschitz, curvature, n)
    times = np.arange(1, T + 1)
    settling = limit * (1 - (1 - curvature * eta) ** times)  # contracting by 1 − ηγ a step
    # The slope of both losses in w changes by 2L with the example: L times the distance is the change of a linear one.
    changes = [lipschitz * np.abs(np.asarray(a - b))[:, 0] for a, b in ends]
    x = draw.standard_normal((200, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    swapped = np.vstack([-x[:1], x[1:]])
    order = draw.integers(0, 200, (200, 400))
    a, b = logistic_runs(np.zeros(5), x, swapped, order, np.ones(400))
    return {
        "attained": Law(
            convex_sgd_stability(lipschitz, steps, n),
            changes[0],
            exact=True,
            aside={"times": times, "drift": [convex_sgd_stability(lipschitz, steps[:t], n) for t in times]},
        ),
        "strongly convex": Law(settling[-1], changes[1], exact=True, aside={"limit": limit, "settling": settling}),
        "logistic": Inequality(
            np.mean(np.linalg.norm(np.asarray(a - b), axis=1)), convex_sgd_stability(1.0, np.ones(400), 200)
        ),
    }


logistic_runs = jax.jit(lambda s, a, b, i, e: coupled_sgd(lambda w, z: -z * jax.nn.sigmoid(-w @ z), s, a, b, i, e))

convex_sgd.control("a loss that is not convex", of="attained", loss="not convex")


@convex_sgd.control("without the factor two", of="attained")
def without_two(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / 2)


@convex_sgd.control("the limit for many steps, after these few", of="strongly convex")
def already_settled(evidence):
    return replace(evidence, predicted=evidence.aside["limit"])


@convex_sgd.picture
def drift(pieces):
    """Mean change of the loss along SGD when one example is replaced: predicted at every step, observed at the last."""
    linear, bent = pieces["attained"], pieces["strongly convex"]
    times = linear.aside["times"]
    return Curves(
        [
            Line("linear losses", times, linear.aside["drift"]),
            Line("strongly convex losses", times, bent.aside["settling"]),
            seen("observed, linear", times[-1:], np.asarray(linear.observed)[None]),
            seen("observed, strongly convex", times[-1:], np.asarray(bent.observed)[None]),
            Level("2L²/γn", y=float(bent.aside["limit"])),
        ],
        x="steps", y="mean change of the loss",
    )  # fmt: skip


@claim(
    items={
        "H10.5": ("growth", "coupled", "every draw", "reached", "never drawn"),
        "H10.6": ("logits", "slope"),
    },
    says=r"Bounded gradients alone let coupled runs of SGD drift apart like $\eta T^2/n$, not $T/n$, as on "
    r"$-(\sqrt{1+w^2}-1)+zw$. A loss in $[0,M]$ differs by at most $M(1-(1-1/n)^T)\le MT/n$ in mean, attained. "
    r"Cross-entropy is Lipschitz in the logits with constant $\sqrt2$.",
    needs="indices drawn uniformly and shared; η = 1/10",
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
    notice=r"After a first stretch the mean distance takes the slope 2 in doubly logarithmic axes; a line of order "
    r"$T/n$ drawn through its first point is left behind.",
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
        "growth": Rate(times.astype(float), sums, exponent=2.0, rivals=(1.5,), aside={"samples": n}),
        "coupled": Chain(
            {
                "lower": (0.9 * escape_distances(eta, T).sum() / n * (drawn * n / T), mean),
                "upper": (mean, 2 * eta * T**2 / n),
            },
            # Slopes are at most 2; over L the bound on losses is one on distances.
            aside={"convex": convex_sgd_stability(2.0, np.full(T, eta), n) / 2, "mean": mean, "steps": T},
        ),
        "bounded": Inequality(np.mean(np.abs(losses[0] - losses[1])), bounded_loss_stability(1.0, T, n)),
        "every draw": Identity(
            [np.mean([0 in drawn for drawn in product(range(n), repeat=t)]) for t, n in FEW_DRAWS],
            [bounded_loss_stability(1.0, t, n) for t, n in FEW_DRAWS],
        ),
        "reached": Share(
            np.sum(differ),
            len(differ),
            bounded_loss_stability(1.0, T, few),
            resolution=0.1,
            aside={"counted anew": T / few},
        ),
        "never drawn": Exact(
            np.concatenate([losses[0] != losses[1], differ])[~np.concatenate([shared == 0, often == 0]).any(axis=1)],
            np.zeros(int(np.sum(~np.concatenate([shared == 0, often == 0]).any(axis=1))), bool),
        ),
        "decaying": Inequality(np.mean(np.abs(losses[0] - losses[1])), nonconvex_sgd_stability(0.5, 0.5, 0.5, T, n)),
        "logits": Inequality(slopes, np.sqrt(2)),
        "slope": Rate(scales, steep, exponent=0.0, rivals=(1.0,)),
    }


def _softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


decaying_runs = jax.jit(lambda s, a, b, i, e: coupled_sgd(lambda w, z: 0.5 * jnp.sin(w - np.pi / 2) * z, s, a, b, i, e))


@nonconvex_sgd.control("of order T/n, as printed", erratum="H10.5a", of="growth")
def proportional(evidence):
    return replace(evidence, exponent=1.0)


@nonconvex_sgd.control("no farther than convex losses, 2LΣη/n", of="coupled")
def as_if_convex(evidence):
    return replace(evidence, links={"convex": (evidence.aside["mean"], evidence.aside["convex"])})


@nonconvex_sgd.control("T/n, each draw of the example counted anew", of="reached")
def each_draw(evidence):
    return replace(evidence, predicted=evidence.aside["counted anew"])


@nonconvex_sgd.control("cross-entropy not Lipschitz, in the logits either", of="slope")
def not_lipschitz(evidence):
    return replace(evidence, exponent=1.0)


@nonconvex_sgd.control("the constant 1, the most that one logit can do", of="logits")
def one_logit(evidence):
    return replace(evidence, bound=1.0)


@nonconvex_sgd.picture
def runs_that_part(pieces):
    """Mean distance of two coupled runs with one example replaced, along the number of steps; the loss has a ridge."""
    growth, drawn = pieces["growth"], pieces["coupled"].aside
    times, distances = np.asarray(growth.x), np.asarray(growth.y) / growth.aside["samples"]
    return Curves(
        [
            Line("first draw summed over", times, distances),
            Dots("coupled runs", [drawn["steps"]], [drawn["mean"]]),
            Line("order", times, distances[0] * times / times[0], rival="of order T/n, as printed in Sec. 10.3.1"),
        ],
        x="steps T", y="mean distance of the two runs", log="xy",
    )  # fmt: skip


@claim(
    items={"H10.4": ("gap", "stops", "ridge")},
    says=r"Gradient descent on noisy least squares with more features than samples: the gap between risk and training "
    r"error grows with the number of steps, the risk first falls and then rises, and the best stopping time does "
    r"nearly as well as the best ridge, near $\lambda=1/\eta T$.",
    needs="exact risks for the drawn features, averaged over signal and noise by hand",
    symbols={
        r"\lambda": "the penalty of ridge regression",
        r"\eta": "the step size",
        r"T": "the number of steps",
    },
    why=r"After $T$ steps gradient descent has learned a direction of singular value $s$ up to the factor $(1-\eta "
    r"s^2)^T$, ridge up to $\lambda/(s^2+\lambda)$: both leave out what lies below $s^2\approx1/\eta T$ or $\lambda$. "
    r"Strong directions are learned first and carry mostly signal; weak ones come last, and there the noise is "
    r"divided by a small number. Stopping keeps the first and leaves the last.",
    notice=r"The training error only falls. The risk falls with it, turns, and rises as the noise is fitted; ridge, "
    r"drawn at the time $1/\lambda$, has its valley at nearly the same place and depth.",
    explore={"noise": (0.2, 0.5, 1.0, 2.0)},
)
def early_stopping(key, *, noise: Annotated[float, Interval(ge=0, le=10)] = 1.0, clock: Literal["ηT", "(ηT)²"] = "ηT"):
    draw, n, p = generator(key), 40, 60
    singular = np.linalg.svd(draw.standard_normal((n, p)), compute_uv=False)
    rate = 0.02 / singular[0] ** 2  # small: the first step is then nearly the null predictor
    steps = np.unique(np.geomspace(1, 20_000, 60).astype(int))
    risks = np.array([_filtered_risks(singular, gradient_descent_filter(rate, int(t)), p, noise) for t in steps])
    penalties = 1 / (rate * np.geomspace(1, 20_000, 200))
    ridges = np.array([_filtered_risks(singular, ridge_filter(c), p, noise)[0] for c in penalties])
    elapsed = (rate * steps[int(np.argmin(risks[:, 0]))]) ** (1 if clock == "ηT" else 2)
    best, training = int(np.argmin(risks[:, 0])), risks[:, 1]
    gap = risks[:, 0] + noise**2 - training
    return {
        "gap": Inequality(
            gap[:-1],
            gap[1:],
            aside={
                "time": rate * steps,
                "risk": risks[:, 0],
                "training": training,
                "ridge time": 1 / penalties,
                "ridge": ridges,
            },
        ),
        "stops": Chain({"falls": (risks[best, 0], 0.8 * risks[0, 0]), "rises": (1.2 * risks[best, 0], risks[-1, 0])}),
        "ridge": Chain(
            {
                "nearly as good": (risks[best, 0], 1.05 * ridges.min()),
                "never better": (ridges.min(), risks[best, 0]),
                "same place": (abs(np.log(penalties[int(np.argmin(ridges))] * elapsed)), np.log(3.0)),
            }
        ),
    }


def _filtered_risks(singular, spectral_filter, p, noise):
    """Excess risk and training error of an estimator that filters singular values, signal of unit norm, averaged."""
    weights, n = spectral_filter(singular), len(singular)
    missed = 1 - weights * singular
    bias = (np.sum(missed**2) + p - n) / p
    return bias + noise**2 * np.sum(weights**2), np.sum(missed**2 * (singular**2 / p + noise**2)) / n


early_stopping.control("without noise", of="stops", noise=0.0)


early_stopping.control("a penalty of 1/(ηT)²", of="ridge", clock="(ηT)²")


@early_stopping.control("the risk too grows with every step", of="gap")
def risk_grows(evidence):
    risk = evidence.aside["risk"]
    return replace(evidence, quantity=risk[:-1], bound=risk[1:])


@early_stopping.picture
def valley(pieces):
    """Excess risk and training error of gradient descent along ηT, and the excess risk of ridge at 1/λ."""
    aside = pieces["gap"].aside
    return Curves(
        [
            Line("risk, gradient descent", aside["time"], aside["risk"]),
            Line("training error, gradient descent", aside["time"], aside["training"]),
            Line("risk, ridge", aside["ridge time"], aside["ridge"], dashed=True),
        ],
        x="time ηT, or 1/λ", y="error", log="x", ys=(0, 2 * float(np.max(aside["risk"][0]))),
    )  # fmt: skip


@claim(
    items={"H10.7": ("rate", "fitted")},
    says="A wide network trained to zero training error on two samples that differ in one example changes its outputs "
    "elsewhere like 1/n at a fixed number of epochs: interpolation and stability go together here.",
    scale="printed: interpolating deep networks, no sizes; here: two-layer ReLU networks of width 200, 32 to 128 "
    "points on two arcs of a circle, full-batch gradient descent from a network that starts at zero",
    symbols={r"n": "the number of examples"},
    why=r"A wide network in training is nearly a kernel method: one of $n$ labels enters its outputs through the "
    r"inverse of a kernel matrix whose large eigenvalues are of order $n$. A smooth kernel spreads the influence of "
    r"one point over the few directions it learns in the given time, and there the point's share is $1/n$. That all "
    r"labels are fitted does not make single ones important.",
    notice=r"Every network fits all labels; yet the change of its outputs when one label is erased falls like $1/n$.",
)
def interpolating_yet_stable(key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 24):
    draw, width, changes, errors = generator(key), 200, [], []
    first, second = draw.standard_normal((trials, width, 3)), draw.choice([-1.0, 1.0], (trials, width)) / np.sqrt(width)
    probe = _circle(np.linspace(0, 2 * np.pi, 50, endpoint=False))
    for n in sizes:
        # Two classes on two arcs, evenly spaced and turned at random: what is left to chance is the network, not where
        # the points fell. There are more of them than frequencies that 80 epochs learn; fewer would each add one.
        half = n // 2
        angles = np.concatenate([_arc(half), np.pi + _arc(n - half)]) + 2 * np.pi * draw.random((trials, 1))
        labels = np.tile(np.where(np.arange(n) < half, 1.0, -1.0), (trials, 1))
        swapped = labels.copy()
        swapped[:, half // 2] = 0.0  # the replaced example, in the middle of its class, says nothing
        x = _circle(angles)
        one, fit = trained_outputs(first, second, x, labels, probe)
        two, _ = trained_outputs(first, second, x, swapped, probe)
        changes.append(np.sqrt(np.mean(np.square(one - two), axis=1)))
        errors.append(int(np.sum(np.sign(fit) != labels)))
    return {
        "rate": Rate(np.array(sizes, float), np.array(changes), exponent=-1.0, resolution=0.1, rivals=(-0.5, -1.5)),
        "fitted": Exact(np.array(errors), np.zeros(len(sizes), int), along={"n": np.array(sizes)}),
    }


def _arc(count):
    """Angles in the upper half, 0.3 away from its ends."""
    return 0.3 + (np.pi - 0.6) * (np.arange(count) + 0.5) / count


def _circle(angles):
    return np.stack([np.cos(angles), np.sin(angles), np.full_like(angles, 0.3)], axis=-1)


@jax.jit
def trained_outputs(first, second, inputs, labels, probe):
    """Outputs on the probe and on the sample after 80 epochs of gradient descent on the first layer; all networks."""

    def one(start, a, x, y):
        def output(v, z):  # what training adds: the network starts at zero
            return (jax.nn.relu(z @ v.T) - jax.nn.relu(z @ start.T)) @ a

        def step(w, _):
            return w - 2.0 * jax.grad(lambda w: jnp.mean((output(w, x) - y) ** 2) / 2)(w), None

        w, _ = jax.lax.scan(step, start, None, length=80)
        return output(w, probe), output(w, x)

    return jax.vmap(one)(first, second, inputs, labels)


@interpolating_yet_stable.control("no dependence on n", of="rate")
def independent_of_n(evidence):
    return replace(evidence, exponent=0.0)


@interpolating_yet_stable.picture
def influence_of_one_label(pieces):
    """Change of a trained network's outputs when one of n labels is erased, with the line 1/n through the largest n."""
    sizes, changes = np.asarray(pieces["rate"].x), np.asarray(pieces["rate"].y)
    return Curves(
        [Line("1/n", sizes, changes[-1].mean() * sizes[-1] / sizes), seen("observed", sizes, changes)],
        x="examples n", y="change of the outputs (root mean square)", log="xy",
    )  # fmt: skip
