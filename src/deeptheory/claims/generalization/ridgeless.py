"""Least squares below and above the interpolation threshold: bias, variance, and double descent."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.generalization.ridgeless import (
    bias_variance_of_estimates,
    bias_variance_of_operator,
    conditional_bias_variance,
    excess_risk,
    gaussian_bias_variance,
    gaussian_prediction_risk,
    gradient_descent_filter,
    limiting_bias_variance,
    ols_variance,
    overparameterized_minimum,
    pseudo_inverse_filter,
    ridge_filter,
    spectral_operator,
)
from deeptheory.lab import Identity, Law, Positive, Sizes, Trials, assume, claim
from deeptheory.randomness import generator
from deeptheory.spectra.marchenko_pastur import draw_entries

FEATURES = ("gaussian", "rademacher")


def unit_noise(samples):
    """2n noise vectors ±√n eᵢ: their mean is zero and their covariance the identity, exactly and without drawing."""
    return samples**0.5 * np.concatenate([np.eye(samples), -np.eye(samples)])


@claim(
    items={"J7.3": ("bias", "variance", "risk")},
    says=r"Given the design, minimum-norm least squares has squared bias $\beta^\top\Pi\beta$, with $\Pi$ the projection on "
    r"the kernel of $X$, and variance $\frac{\sigma^2}n\operatorname{tr}\hat\Sigma^+$; they add up to the mean of "
    r"$\|\hat\beta-\beta\|^2$ over the noise.",
    needs="noise of mean zero and covariance σ²I, independent of the design; isotropic test inputs",
)
def conditional_risk(key, *, noise: Positive = 0.25, designs: Annotated[int, Interval(ge=1, le=1000)] = 8):
    draw = generator(key)
    observed, predicted, condition, mean_bias = [], [], [], []
    for samples, features in ((40, 10), (40, 30), (30, 40), (10, 40)):
        beta = draw.standard_normal(features) / features**0.5
        for _ in range(designs):
            design = draw.standard_normal((samples, features))
            labels = design @ beta + noise**0.5 * unit_noise(samples)
            estimates = np.linalg.lstsq(design, labels.T)[0].T
            errors = ((estimates - beta) ** 2).sum(1).mean(), ((estimates.mean(0) - beta) ** 2).sum()
            found = conditional_bias_variance(design, beta, noise)
            observed.append((errors[1], errors[0] - errors[1], errors[0]))
            predicted.append((found.bias, found.variance, found.risk))
            condition.append(np.linalg.cond(design) ** 2)
            mean_bias.append(beta @ beta * max(0.0, 1 - samples / features))
    observed, predicted = np.asarray(observed).T, np.asarray(predicted).T
    shared = dict(scale=observed[2], condition=np.asarray(condition), size=40.0)
    return {
        name: Identity(*pair, **shared, along={"mean bias": np.asarray(mean_bias)})
        for name, *pair in zip(("bias", "variance", "risk"), observed, predicted, strict=True)
    }


@conditional_risk.control("the bias averaged over directions, r²(1 − n/p), for the one direction at hand", of="bias")
def averaged_bias(evidence):
    return replace(evidence, right=evidence.along["mean bias"])


@claim(
    items={"J7.4": ("variance", "bias", "no bias", "minimum")},
    says=r"As $p/n\to\gamma$, ridgeless least squares on isotropic features has bias 0 and variance "
    r"$\sigma^2\gamma/(1-\gamma)$ for $\gamma<1$, bias $r^2(1-1/\gamma)$ and variance $\sigma^2/(\gamma-1)$ for $\gamma>1$; "
    r"for $r>\sigma$ the risk beyond the threshold is least at $\gamma=r/(r-\sigma)$.",
    needs="independent features of mean zero, variance one and slightly more than four moments; γ away from one",
    full=dict(sizes=(80, 160, 320), gammas=(0.2, 0.5, 0.75, 1.25, 2.0, 4.0), trials=256),
)
def double_descent(
    key,
    *,
    sizes: Sizes = (30, 60, 120),
    gammas: Annotated[tuple[float, ...], Interval(ge=0.05, le=20.0)] = (0.2, 0.5, 1.6, 3.0),
    trials: Trials = 64,
    noise: Positive = 0.25,
    design: Literal["isotropic", "correlated"] = "isotropic",
):
    assume(
        all(n * abs(1 - gamma) >= 15 for n in sizes for gamma in gammas),
        "n |1 − γ| of at least 15: nearer the threshold the risk has tails too heavy for a mean",
    )
    ratios = np.asarray(gammas)
    above = ratios > 1
    limit = limiting_bias_variance(ratios, signal=1.0, noise=noise)
    shape = (len(sizes), len(gammas), len(FEATURES), trials)
    bias, variance = np.empty(shape), np.empty(shape)
    for index in np.ndindex(shape[:3]):
        samples, entries = sizes[index[0]], FEATURES[index[2]]
        features = round(gammas[index[1]] * samples)
        branch = jax.random.fold_in(key, int(np.ravel_multi_index(index, shape[:3])))
        x = draw_entries(branch, (trials, samples, features), entries)
        if design == "correlated":  # neighbours share half of their variance, and each keeps variance one
            x = (x + np.roll(x, 1, axis=2)) / 2**0.5
        # The law is for every β; sixteen directions a design average most of the bias's fluctuation away.
        beta = generator(jax.random.fold_in(branch, 1)).standard_normal((16, 1, features))
        found = conditional_bias_variance(x, beta / np.linalg.norm(beta, axis=-1, keepdims=True), noise)
        # So does the size of the design, whose mean is known: its fluctuation is taken off, to first order.
        excess = (x**2).mean((1, 2)) - 1
        bias[index], variance[index] = found.bias.mean(0), found.variance + float(limit.variance[index[1]]) * excess
    least = scipy.optimize.minimize_scalar(
        lambda gamma: float(limiting_bias_variance(gamma, signal=1.0, noise=0.25).risk), bounds=(1.1, 50), method="bounded"
    )
    shared = dict(sizes=sizes, order=1.0)
    return {
        "variance": Law(
            np.asarray(limit.variance)[:, None], variance, along={"gamma": ratios, "features": np.asarray(FEATURES)}, **shared
        ),
        "bias": Law(
            np.asarray(limit.bias)[above, None],
            bias[:, above],
            along={"gamma": ratios[above], "features": np.asarray(FEATURES)},
            **shared,
        ),
        "no bias": Identity(
            bias[:, ~above], 0.0, scale=1.0, condition=100.0, along={"size": np.asarray(sizes), "gamma": ratios[~above]}
        ),
        "minimum": Identity(np.asarray([least.fun]), overparameterized_minimum(signal=1.0, noise=0.25)[1], error=1e-9),
    }


@double_descent.control("variance γ/(γ−1) below the threshold, as printed", erratum="J7.4", of="variance")
def printed_variance(evidence):
    gamma = evidence.along["gamma"][:, None]
    return replace(evidence, predicted=np.where(gamma < 1, -1, 1) * evidence.predicted)


@double_descent.control("bias r²(1 − 1/γ) also below, as the first display reads", erratum="J7.4", of="no bias")
def bias_everywhere(evidence):
    return replace(evidence, right=(1 - 1 / evidence.along["gamma"])[:, None, None])


double_descent.control("correlated features", of="variance", design="correlated", sizes=(30, 60), trials=32)


@double_descent.figure
def descent_curve(pieces):
    """Bias and variance along γ: the limiting curves, and what the largest designs gave."""
    import altair as alt

    grid = np.geomspace(0.1, 6, 400)
    grid = grid[np.abs(grid - 1) > 0.02]
    noise = pieces["variance"].predicted[0, 0] * abs(1 / pieces["variance"].along["gamma"][0] - 1)
    limit = limiting_bias_variance(grid, signal=1.0, noise=float(noise))
    lines = [
        {"gamma": float(gamma), "value": float(value), "part": part, "side": str(gamma > 1)}
        for part, values in (("bias", limit.bias), ("variance", limit.variance))
        for gamma, value in zip(grid, np.asarray(values), strict=True)
        if value > 0
    ]
    points = [
        {"gamma": float(gamma), "value": float(mean), "part": part, "features": str(features)}
        for part in ("bias", "variance")
        for gamma, row in zip(pieces[part].along["gamma"], pieces[part].observed[-1].mean(-1), strict=True)
        for features, mean in zip(pieces[part].along["features"], row, strict=True)
    ]
    x = alt.X("gamma:Q", title="features per sample γ = p/n").scale(type="log")
    y = alt.Y("value:Q", title="share of the excess risk").scale(type="log", domain=[0.01, 10], clamp=True)
    curves = alt.Chart(alt.Data(values=lines)).mark_line().encode(x, y, color="part:N", detail="side:N")
    seen = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=60)
    return curves + seen.encode(x, y, color="part:N", shape="features:N")


@claim(
    items={"H13.2": "risk"},
    says=r"Minimum-norm least squares on the first $p$ of $D$ Gaussian coordinates has expected squared error "
    r"$(\|\beta_{out}\|^2+\sigma^2)(1+\frac p{n-p-1})$ for $p\le n-2$ and $\|\beta_{in}\|^2(1-\frac np)+"
    r"(\|\beta_{out}\|^2+\sigma^2)(1+\frac n{p-n-1})$ for $p\ge n+2$, at every finite $n$.",
    needs=r"independent standard normal coordinates; $|p-n|\ge2$, or the mean is infinite",
    full=dict(trials=4000, features=(5, 10, 20, 30, 34, 46, 50, 60, 100, 200)),
)
def misspecified_double_descent(
    key,
    *,
    samples: Annotated[int, Interval(ge=10, le=200)] = 40,
    coordinates: Annotated[int, Interval(ge=20, le=2000)] = 200,
    features: Annotated[tuple[int, ...], Interval(ge=1, le=2000)] = (5, 10, 20, 30, 50, 60, 100, 200),
    trials: Trials = 600,
    noise: Positive = 0.09,
):
    assume(max(features) <= coordinates, "no more features than there are coordinates")
    assume(all(abs(p - samples) > 4 for p in features), "|p − n| above 4, where the risk has a finite variance")
    draw = generator(key)
    x = draw.standard_normal((trials, samples, coordinates))
    beta = draw.standard_normal(coordinates)
    beta /= np.linalg.norm(beta)
    risks, exact, without = np.empty((len(features), trials)), [], []
    for i, p in enumerate(features):
        inverse = np.linalg.pinv(x[..., :p])
        # The label noise is integrated out; the unused coordinates stay what they are, part of the labels.
        misses = (inverse @ (x @ beta)[..., None])[..., 0] - beta[:p]
        outside = beta[p:] @ beta[p:]
        risks[i] = (misses**2).sum(1) + noise * (inverse**2).sum((1, 2)) + outside + noise
        inside = beta[:p] @ beta[:p]
        exact.append(gaussian_prediction_risk(samples, p, inside=inside, outside=outside, noise=noise))
        without.append(outside + noise + gaussian_bias_variance(samples, p, signal=inside, noise=noise).risk)
    along = {"features": np.asarray(features)}
    return {"risk": Law(np.asarray(exact), risks, along={**along, "": np.asarray(without)}, exact=True)}
