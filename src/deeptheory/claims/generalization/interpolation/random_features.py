"""Regression on random nonlinear features: the risk of their Gaussian equivalent, with its second descent."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.gaussian_equivalents import (
    gaussian_equivalent,
    random_feature_population,
    random_feature_risk,
)
from deeptheory.generalization.interpolation.ridgeless import limiting_bias_variance
from deeptheory.lab import Exact, Identity, Law, Positive, Sizes, Trend, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen

ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "tanh": lambda z: np.tanh(2 * z),
    "sign": np.sign,
    "linear": lambda z: z,
}
CASES = (
    ("relu", 3.0, 2.0, 0.1),
    ("relu", 0.6, 2.0, 0.1),
    ("tanh", 2.0, 1.0, 0.1),
    ("sign", 1.5, 3.0, 0.3),
    ("linear", 0.5, 2.0, 0.1),
    ("linear", 2.0, 1.0, 0.1),
)
"""Activation, features and samples per input dimension, and ridge."""
RIDGELESS = (("relu", 0.5, 2.0, 0.0), ("relu", 6.0, 2.0, 0.0), ("sign", 4.0, 1.5, 0.0), ("tanh", 1.0, 3.0, 0.0))


def limits(cases, noise, rest=None):
    """The limiting risks of several cases for ‖β‖² = 1; `rest` is another idea of μ⋆ as a function of μ₁ and μ⋆."""
    found = []
    for name, wide, many, ridge in cases:
        known = gaussian_equivalent(ACTIVATIONS[name])
        known = known if rest is None else known._replace(rest=float(rest(known.linear, known.rest)))
        shape = dict(inputs=1.0, features=wide, samples=many)
        found.append(float(random_feature_risk(known, **shape, ridge=ridge, signal=1.0, noise=noise).risk))
    return np.array(found)


def sphere(draw, *shape):
    """Points on the sphere whose squared radius is the dimension."""
    x = draw.standard_normal(shape)
    return x * (shape[-1] ** 0.5 / np.linalg.norm(x, axis=-1, keepdims=True))


def risk_of_a_draw(draw, activation, mean, inputs, features, samples, ridge, noise):
    """The excess risk of one draw on fresh inputs, the mean over the direction of β and over the noise taken."""
    x = sphere(draw, samples + 2 * inputs + 100, inputs)
    phi = activation(x @ sphere(draw, features, inputs).T / inputs**0.5) - mean
    seen, fresh = phi[:samples], phi[samples:]
    if samples < features:
        smoother = np.linalg.solve(seen @ seen.T + samples * ridge * np.eye(samples), seen @ fresh.T).T
    else:
        smoother = np.linalg.solve(seen.T @ seen + samples * ridge * np.eye(features), fresh.T).T @ seen.T
    bias = ((smoother @ x[:samples] - x[samples:]) ** 2).sum() / inputs
    return (bias + noise * (smoother**2).sum()) / len(fresh)


@claim(
    items={
        "H13.3": ("risk with a ridge", "risk without a ridge", "peak at as many features as samples", "second descent")
    },
    says=r"Ridge regression of $y=x^\top\beta+\varepsilon$ on $N$ random features $\phi(Wx)$ has in the limit the risk "
    r"of Gaussian features $\mu_1w^\top x+\mu_\star\xi$, with $\mu_1=\mathbb Ez\phi(z)$ and "
    r"$\mu_\star^2=\mathrm{Var}\,\phi(z)-\mu_1^2$. Without ridge it peaks at $N=n$ and beyond falls below its least "
    r"value before.",
    needs="inputs and rows of W uniform on spheres, the mean of the activation taken off; N away from n without ridge",
    scale="printed: networks on images; here: random features of inputs on a sphere",
    full=dict(sizes=(40, 80, 160), trials=100),
    symbols={
        r"N": "the number of random features",
        r"n": "the number of samples",
        r"\phi(Wx)": "the activation of random weights times the input",
        r"\mu_1": "how much of the activation is linear",
        r"\mu_\star": "the size of the rest, which acts like noise",
        r"\xi": "standard normal noise, independent for every feature and input",
    },
    why=r"In high dimension what is nonlinear in a feature is uncorrelated with the inputs and the other features "
    r"and works like independent noise. Gaussian features have a covariance that random-matrix theory knows, and the "
    r"share of the target that they cannot express is fitted as label noise besides. With as many features as samples "
    r"the smallest eigenvalue goes to zero and noise is amplified without limit; with more features it is spread out.",
    notice=r"Without ridge the risk peaks at as many features as samples; far beyond it is lower than anywhere "
    r"before. A little ridge takes the peak away. Dots are regressions on ReLU features, lines the limits.",
)
def random_feature_regression(key, *, sizes: Sizes = (16, 32, 64), trials: Trials = 64, noise: Positive = 0.25):
    assume(min(sizes) >= 10, "ten inputs or more")
    draw = generator(key)
    known = {name: gaussian_equivalent(activation) for name, activation in ACTIVATIONS.items()}
    risks, plain = np.empty((len(sizes), len(CASES), trials)), np.empty((len(sizes), len(RIDGELESS), trials))
    for i, inputs in enumerate(sizes):
        for store, cases in ((risks, CASES), (plain, RIDGELESS)):
            for j, (name, wide, many, ridge) in enumerate(cases):
                shape = inputs, round(wide * inputs), round(many * inputs)
                for trial in range(trials):
                    store[i, j, trial] = risk_of_a_draw(draw, ACTIVATIONS[name], known[name].mean, *shape, ridge, noise)
    # Shares of ‖β‖² reached and missed by one large set of features, by dense algebra.
    shares, dense = [], []
    for name, wide in (("relu", 0.5), ("sign", 2.0)):
        _, linear, rest = known[name]
        w = sphere(draw, round(400 * wide), 400) / 20
        gram = linear**2 * w @ w.T + rest**2 * np.eye(len(w))
        carried = np.linalg.solve(gram, linear * w)
        dense.append([np.sum(carried**2) / 400, 1 - linear * np.sum(carried * w) / 400])
        shares.append(random_feature_population(linear, rest, wide)[1:])
    # Features for every ten inputs, with twenty samples.
    widths = np.array([2, 5, 10, 15, 19, 20, 21, 30, 60, 200, 600])
    curve = limits([("relu", wide / 10, 2.0, 0.0) for wide in widths], 0.05)
    # Regressions along the same curve with forty inputs and eighty samples.
    tried = np.array([5, 10, 15, 20, 40, 600])
    along_widths = np.array(
        [
            [
                risk_of_a_draw(draw, ACTIVATIONS["relu"], known["relu"].mean, 40, 4 * wide, 80, 0.0, 0.05)
                for _ in range(trials)
            ]
            for wide in tried
        ]
    )
    logs = dict(zip(tried.tolist(), np.log(along_widths), strict=True))
    before = np.min([logs[wide] for wide in (5, 10, 15)], axis=0)
    with_ridge, without = (
        np.asarray([f"{name}, N/d={n:g}, n/d={m:g}" for name, n, m, *_ in each]) for each in (CASES, RIDGELESS)
    )
    shared: dict[str, Any] = dict(sizes=sizes, order=1.0)
    return {
        "risk with a ridge": Law(
            limits(CASES, noise), risks, along={"case": with_ridge}, aside={"noise": noise}, **shared
        ),
        "risk without a ridge": Law(
            limits(RIDGELESS, noise), plain, along={"case": without}, aside={"noise": noise}, **shared
        ),
        # One matrix of side 400: its linear statistics are within a hundredth of their limits.
        "shares by two routes": Identity(np.array(dense), np.array(shares), error=0.01),
        "peak at as many features as samples": Trend(
            np.stack([logs[20] - logs[15], logs[20] - logs[40]]),
            aside={"at the inputs": np.stack([logs[10] - logs[5], logs[10] - logs[20]])},
        ),
        # To a quarter at least.
        "second descent": Trend(
            before - logs[600] - np.log(4),
            aside={"widths": tried, "risks": along_widths, "soon": before - logs[40] - np.log(4)},
        ),
        "peak of the limit": Exact(widths[np.argmax(curve)], 20),
    }


@random_feature_regression.control("linear features, without the noise μ⋆ξ", of="risk with a ridge")
def no_rest(evidence):
    return replace(evidence, predicted=limits(CASES, float(evidence.aside["noise"]), lambda linear, rest: 0.0))


@random_feature_regression.control("μ⋆² the whole variance of the activation", of="risk with a ridge")
def whole_variance(evidence):
    return replace(evidence, predicted=limits(CASES, float(evidence.aside["noise"]), np.hypot))


@random_feature_regression.control("what is missed not fitted as noise", of="risk without a ridge")
def missed_only(evidence):
    found, noise = [], float(evidence.aside["noise"])
    for name, wide, many, _ in RIDGELESS:
        equivalent = gaussian_equivalent(ACTIVATIONS[name])
        parts = random_feature_risk(equivalent, inputs=1.0, features=wide, samples=many, signal=1.0, noise=noise)
        found.append(parts.missed + parts.bias + parts.variance * noise / (noise + parts.missed))
    return replace(evidence, predicted=np.array(found, float))


@random_feature_regression.control("the peak at as many features as inputs", of="peak at as many features as samples")
def peak_at_the_inputs(evidence):
    return replace(evidence, differences=evidence.aside["at the inputs"])


@random_feature_regression.control("with twice as many features as samples already", of="second descent")
def soon_after_the_peak(evidence):
    return replace(evidence, differences=evidence.aside["soon"])


@random_feature_regression.control("minimum-norm regression on the inputs themselves", of="risk without a ridge")
def inputs_alone(evidence):
    noise = float(evidence.aside["noise"])
    rival = [limiting_bias_variance(1 / many, signal=1.0, noise=noise).risk for _, _, many, _ in RIDGELESS]
    return replace(evidence, predicted=np.array(rival, float))


@random_feature_regression.picture
def second_descent(pieces, settings):
    """The limiting risk along the number of ReLU features with two samples an input, without ridge and with; and
    regressions with little noise along the same widths."""
    widths = np.geomspace(0.1, 70, 140)
    marks = []
    for ridge in (0.0, 0.01, 0.1):
        risks = np.asarray(limits([("relu", wide, 2.0, ridge) for wide in widths], settings["noise"]))
        marks.append(Line(f"λ = {ridge:g}", widths / 2, np.where(abs(widths / 2 - 1) > 0.01, risks, np.nan)))
    for piece, cases in (("risk with a ridge", CASES), ("risk without a ridge", RIDGELESS)):
        for (name, wide, many, ridge), risks in zip(cases, pieces[piece].observed[-1], strict=True):
            marks += [seen(f"λ = {ridge:g}", wide / many, risks[None])] if name == "relu" else []
    little = limits([("relu", wide, 2.0, 0.0) for wide in widths], 0.05)
    beside = pieces["second descent"].aside
    calm: list[Any] = [
        Line("limit", widths / 2, np.where(abs(widths / 2 - 1) > 0.01, little, np.nan)),
        Dots("median of regressions", beside["widths"] / 20, np.median(beside["risks"], axis=1)),
        Level("as many as inputs", x=0.5, rival="the peak at N = d"),
    ]
    shared: dict[str, Any] = dict(x="features per sample N/n", y="excess risk", log="xy")
    return Row(
        [
            Curves(marks, title="with noise", ys=(0.2, 10), **shared),
            Curves(calm, title="noise 0.05, no ridge", ys=(0.05, 10), **shared),
        ]
    )
