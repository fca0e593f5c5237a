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

ATOMS = np.array([[1.0, 0.5], [-0.6, 1.0], [0.3, -1.0]])
"""Three examples (x, y), equally likely."""


def ridge(sample, strength=0.2):
    """Minimiser of the mean of (wx − y)²/2 + strength·w²/2, one weight."""
    x, y = sample.T
    return np.array([np.mean(x * y) / (np.mean(x * x) + strength)])


def squared(w, atoms):
    return (w[0] * atoms[:, 0] - atoms[:, 1]) ** 2 / 2


@claim(
    items={
        "H10.1": ("mean", "regularized", "linear", "rate"),
        "H10.2": ("ghost", "below"),
        "H10.6": ("on average", "attained"),
    },
    says=r"Over all samples of a small law, $\mathbb E[R-R_S]$ equals the mean change of the loss at an example when "
    r"it is replaced, hence lies below the uniform stability; the mean of numbers in [−1, 1] moves by 2/n; "
    r"regularised logistic regression by at most $2L/\lambda n$, like 1/n. For smooth non-negative losses "
    r"$\mathbb E[R-R_S]\le\frac Lg\mathbb ER_S+\frac{L+g}2\mathbb E\|A(S^{(i)})-A(S)\|^2$, attained.",
    needs="the algorithm has no randomness of its own; independent examples",
)
def replacing_one_example(key):
    found = {n: ghost_gaps(ridge, squared, ATOMS, n) for n in (2, 3, 4)}
    gaps, changes = (np.array([f[name] for f in found.values()]) for name in ("gap", "change"))
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
    return {
        "ghost": Identity(gaps, changes),
        "below": Inequality(np.abs(gaps), np.array([f["stability"] for f in found.values()])),
        "mean": Identity(
            np.array([abs(np.mean([1.0] + [0.3] * k) - np.mean([-1.0] + [0.3] * k)) for k in (1, 4, 9)]),
            2 / np.array([2, 5, 10]),
        ),
        "regularized": Inequality(moves, regularized_stability(1.0, lam, sizes)),
        # Losses ±2w: the minimiser of mean + (λ/2)w² is −mean/λ, and one sign turned moves it by 4/λn.
        "linear": Identity(
            np.array([abs(np.mean([2.0] * n) - np.mean([-2.0] + [2.0] * (n - 1))) / lam for n in sizes]),
            regularized_stability(2.0, lam, sizes),
        ),
        "rate": Rate(sizes.astype(float), moves, exponent=-1.0, rivals=(-0.5, -2.0)),
        "on average": Inequality(f["gap"], on_average_bound(f["training"], f["moved"], smoothness, g)),
        "attained": Identity(step**2 - w**2, on_average_bound(w**2, (step - w) ** 2, 2.0, g)),
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


@replacing_one_example.control("half of the smoothness", of="attained")
def half_smoothness(evidence):
    w, g = 0.7, np.geomspace(0.05, 50, 30)
    return replace(evidence, right=on_average_bound(w**2, (2 * w / g) ** 2, 1.0, g))


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
    items={"H10.3": ("attained", "strongly convex", "logistic")},
    says=r"Coupled SGD on convex L-Lipschitz losses drifts apart by $\frac{2L}n\sum\eta_t$ in mean, exactly so for "
    r"linear losses; strong convexity stops the drift at $2L/\gamma n$; on logistic losses it stays below.",
    needs="steps at most 2 over the smoothness, and 1 over it for strong convexity; indices drawn uniformly and shared",
    full=dict(trials=40_000),
)
def convex_sgd(key, *, trials: Trials = 16_384, loss: Literal["linear", "not convex"] = "linear"):
    draw, n, T, eta = generator(key), 20, 40, 0.1
    data = np.zeros((n, 1))
    other = data.copy()
    data[0], other[0] = 1.0, -1.0
    indices, steps = draw.integers(0, n, (trials, T)), np.full(T, eta)
    ends = [coupled[name](np.zeros(1), data, other, indices, steps) for name in (loss, "strongly convex")]
    settled = strongly_convex_sgd_stability(1.0, 0.5, n) * (1 - (1 - 0.5 * eta) ** T)  # contracting by 1 − ηγ a step
    distances = [np.abs(np.asarray(a - b))[:, 0] for a, b in ends]
    x = draw.standard_normal((200, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    swapped = np.vstack([-x[:1], x[1:]])
    order = draw.integers(0, 200, (200, 400))
    a, b = logistic_runs(np.zeros(5), x, swapped, order, np.ones(400))
    return {
        "attained": Law(convex_sgd_stability(1.0, steps, n), distances[0], exact=True),
        "strongly convex": Law(settled, distances[1], exact=True),
        "logistic": Inequality(
            np.mean(np.linalg.norm(np.asarray(a - b), axis=1)), convex_sgd_stability(1.0, np.ones(400), 200)
        ),
    }


logistic_runs = jax.jit(lambda s, a, b, i, e: coupled_sgd(lambda w, z: -z * jax.nn.sigmoid(-w @ z), s, a, b, i, e))

convex_sgd.control("a loss that is not convex", of="attained", loss="not convex")


@convex_sgd.control("without the factor two", of="attained")
def without_two(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / 2)


@claim(
    items={
        "H10.5": ("growth", "coupled", "bounded", "every draw", "reached", "never drawn", "decaying"),
        "H10.6": ("logits", "slope"),
    },
    says=r"Without convexity bounded gradients let coupled runs drift apart like $\eta T^2/n$, not $T/n$: on "
    r"$-(\sqrt{1+w^2}-1)+zw$ they run away from each other once the replaced example is drawn. A loss at most M "
    r"differs by at most $M(1-(1-1/n)^T)$ in mean, attained: only runs that draw the example differ. With steps c/t "
    r"and smooth losses in [0, 1] the drift is at most of order $T^{\beta c/(\beta c+1)}/n$. Cross-entropy is "
    r"Lipschitz in the logits with constant $\sqrt2$.",
    needs="indices drawn uniformly and shared; η = 1/10",
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
        "growth": Rate(times.astype(float), sums, exponent=2.0, rivals=(1.0, 1.5)),
        "coupled": Chain(
            {
                "lower": (0.9 * escape_distances(eta, T).sum() / n * (drawn * n / T), mean),
                "upper": (mean, 2 * eta * T**2 / n),
            }
        ),
        "bounded": Inequality(np.mean(np.abs(losses[0] - losses[1])), bounded_loss_stability(1.0, T, n)),
        "every draw": Identity(
            [np.mean([0 in drawn for drawn in product(range(n), repeat=t)]) for t, n in FEW_DRAWS],
            [bounded_loss_stability(1.0, t, n) for t, n in FEW_DRAWS],
        ),
        "reached": Share(np.sum(differ), len(differ), bounded_loss_stability(1.0, T, few), resolution=0.1),
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


@nonconvex_sgd.control("T/n, each draw of the example counted anew", of="reached")
def each_draw(evidence):
    return replace(evidence, predicted=100 / 200)


@nonconvex_sgd.control("cross-entropy not Lipschitz, in the logits either", of="slope")
def not_lipschitz(evidence):
    return replace(evidence, exponent=1.0)


@claim(
    items={"H10.4": ("gap", "stops", "ridge")},
    says=r"Gradient descent on noisy least squares with more features than samples: the gap between risk and training "
    r"error grows with the number of steps, the risk first falls and then rises, and the best stopping time does "
    r"nearly as well as the best ridge, near $\lambda=1/\eta T$.",
    needs="exact risks for the drawn features, averaged over signal and noise by hand",
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
        "gap": Inequality(gap[:-1], gap[1:]),
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


@claim(
    items={"H10.7": ("rate", "fitted")},
    says="A wide network trained to zero training error on two samples that differ in one example changes its outputs "
    "elsewhere like 1/n at a fixed number of epochs: interpolation and stability go together here.",
    scale="printed: interpolating deep networks, no sizes; here: two-layer ReLU networks of width 200, 16 to 128 "
    "points on a circle, full-batch gradient descent",
)
def interpolating_yet_stable(key, *, sizes: Sizes = (16, 32, 64, 128), trials: Trials = 24):
    draw, width, changes, errors = generator(key), 200, [], []
    first, second = draw.standard_normal((trials, width, 3)), draw.choice([-1.0, 1.0], (trials, width)) / np.sqrt(width)
    probe = _circle(np.linspace(0, 2 * np.pi, 50, endpoint=False))
    for n in sizes:
        # Evenly spaced but turned at random: what is left to chance is the network, not where the points fell.
        angles = 2 * np.pi * (np.arange(n) + draw.random((trials, 1))) / n
        labels = np.sign(np.sin(angles + 0.1))
        swapped, flipped = labels.copy(), draw.integers(0, n, trials)
        swapped[np.arange(trials), flipped] *= 1 - 2 * 0.5  # the replaced example says nothing: label 0
        x = _circle(angles)
        one, fit = trained_outputs(first, second, x, labels, probe)
        two, _ = trained_outputs(first, second, x, swapped, probe)
        changes.append(np.sqrt(np.mean(np.square(one - two), axis=1)))
        errors.append(int(np.sum(np.sign(fit) != labels)))
    return {
        "rate": Rate(np.array(sizes, float), np.array(changes), exponent=-1.0, rivals=(0.0, -2.0)),
        "fitted": Exact(np.array(errors), np.zeros(len(sizes), int), along={"n": np.array(sizes)}),
    }


def _circle(angles):
    return np.stack([np.cos(angles), np.sin(angles), np.full_like(angles, 0.3)], axis=-1)


@jax.jit
def trained_outputs(first, second, inputs, labels, probe):
    """Outputs on the probe and on the sample after 300 epochs of gradient descent on the first layer; all networks."""

    def one(w, a, x, y):
        def output(w, z):
            return jax.nn.relu(z @ w.T) @ a

        def step(w, _):
            return w - 2.0 * jax.grad(lambda w: jnp.mean((output(w, x) - y) ** 2) / 2)(w), None

        w, _ = jax.lax.scan(step, w, None, length=300)
        return output(w, probe), output(w, x)

    return jax.vmap(one)(first, second, inputs, labels)


@interpolating_yet_stable.control("no dependence on n", of="rate")
def independent_of_n(evidence):
    return replace(evidence, exponent=0.0)
