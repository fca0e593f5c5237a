"""Regression on random nonlinear features: the risk of their Gaussian equivalent, with its second descent."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.random_feature_risk import (
    gaussian_equivalent,
    random_feature_population,
    random_feature_risk,
)
from deeptheory.generalization.interpolation.ridgeless import limiting_bias_variance
from deeptheory.lab import Exact, Identity, Inequality, Law, Positive, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Line, seen

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
    items={"H13.3": ("ridgeless", "peak", "second descent")},
    says=r"Ridge regression of $y=x^\top\beta+\varepsilon$ on $N$ random features $\phi(Wx)$ has in the limit "
    r"$N/d,\,n/d\to$ constants the risk of the equivalent Gaussian features $\mu_1w^\top x+\mu_\star\xi$, with "
    r"$\mu_1=\mathbb Ez\phi(z)$ and $\mu_\star^2=\mathbb E\phi^2-(\mathbb E\phi)^2-\mu_1^2$: they have the population "
    r"$\mu_1^2s+\mu_\star^2$, $s$ of the Marchenko–Pastur law of ratio $N/d$, and the share "
    r"$1-\frac Nd\mathbb E\frac{\mu_1^2s}{\mu_1^2s+\mu_\star^2}$ of $\|\beta\|^2$ is missed, and fitted as noise "
    r"besides. Without ridge it is largest at $N=n$ and beyond falls below its least value before.",
    needs="inputs and rows of W uniform on spheres, the mean of the activation taken off; N away from n without ridge",
    scale="printed: networks on images; here: random features of inputs on a sphere",
    full=dict(sizes=(40, 80, 160), trials=100),
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
    with_ridge, without = (
        np.asarray([f"{name}, N/d={n:g}, n/d={m:g}" for name, n, m, *_ in each]) for each in (CASES, RIDGELESS)
    )
    shared: dict[str, Any] = dict(sizes=sizes, order=1.0)
    return {
        "risk": Law(limits(CASES, noise), risks, along={"case": with_ridge}, **shared),
        "ridgeless": Law(limits(RIDGELESS, noise), plain, along={"case": without}, **shared),
        # One matrix of side 400: its linear statistics are within a hundredth of their limits.
        "shares": Identity(np.array(dense), np.array(shares), error=0.01),
        "peak": Exact(widths[np.argmax(curve)], 20),
        "second descent": Inequality(curve[-1], np.min(curve[widths < 20])),
    }


@random_feature_regression.control("linear features, without the noise μ⋆ξ", of="risk")
def no_rest(evidence):
    return replace(evidence, predicted=limits(CASES, 0.25, lambda linear, rest: 0.0))


@random_feature_regression.control("μ⋆² the whole variance of the activation", of="risk")
def whole_variance(evidence):
    return replace(evidence, predicted=limits(CASES, 0.25, np.hypot))


@random_feature_regression.control("what is missed not fitted as noise", of="ridgeless")
def missed_only(evidence):
    found = []
    for name, wide, many, _ in RIDGELESS:
        equivalent = gaussian_equivalent(ACTIVATIONS[name])
        parts = random_feature_risk(equivalent, inputs=1.0, features=wide, samples=many, signal=1.0, noise=0.25)
        found.append(parts.missed + parts.bias + parts.variance * 0.25 / (0.25 + parts.missed))
    return replace(evidence, predicted=np.array(found, float))


@random_feature_regression.control("the peak at as many features as inputs", of="peak")
def peak_at_the_inputs(evidence):
    return replace(evidence, right=10)


@random_feature_regression.control("minimum-norm regression on the inputs themselves", of="ridgeless")
def inputs_alone(evidence):
    rival = [limiting_bias_variance(1 / many, signal=1.0, noise=0.25).risk for _, _, many, _ in RIDGELESS]
    return replace(evidence, predicted=np.array(rival, float))


@random_feature_regression.picture
def second_descent(pieces):
    """The limiting risk along the number of ReLU features with two samples an input, without ridge and with."""
    widths = np.geomspace(0.1, 30, 120)
    marks = []
    for ridge in (0.0, 0.01, 0.1):
        risks = np.asarray(limits([("relu", wide, 2.0, ridge) for wide in widths], 0.25))
        marks.append(Line(f"λ = {ridge:g}", widths / 2, np.where(abs(widths / 2 - 1) > 0.01, risks, np.nan)))
    for piece, cases in (("risk", CASES), ("ridgeless", RIDGELESS)):
        for (name, wide, many, ridge), risks in zip(cases, pieces[piece].observed[-1], strict=True):
            marks += [seen(f"λ = {ridge:g}", wide / many, risks[None])] if name == "relu" else []
    return Curves(marks, x="features per sample N/n", y="excess risk", log="xy", ys=(0.2, 10))
