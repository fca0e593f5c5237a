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

FEATURES = ("gaussian", "rademacher", "uniform")


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
    items={"J7.4": ("risk", "minimum")},
    says=r"As $p/n\to\gamma$, ridgeless least squares on isotropic features has bias 0 and variance "
    r"$\sigma^2\gamma/(1-\gamma)$ for $\gamma<1$, bias $r^2(1-1/\gamma)$ and variance $\sigma^2/(\gamma-1)$ for $\gamma>1$; "
    r"for $r>\sigma$ the risk beyond the threshold is least at $\gamma=r/(r-\sigma)$.",
    needs="independent features of mean zero, variance one and slightly more than four moments; γ away from one",
    full=dict(sizes=(80, 160, 320), gammas=(0.2, 0.5, 0.75, 1.25, 2.0, 4.0), trials=256),
)
def double_descent(
    key,
    *,
    sizes: Sizes = (40, 60, 120),
    gammas: Annotated[tuple[float, ...], Interval(ge=0.05, le=20.0)] = (0.2, 0.5, 2.0, 4.0),
    trials: Trials = 96,
    noise: Positive = 0.25,
    design: Literal["isotropic", "correlated"] = "isotropic",
):
    assume(
        all(n * abs(1 - gamma) >= 15 for n in sizes for gamma in gammas),
        "n |1 − γ| of at least 15: nearer the threshold the risk has tails too heavy for a mean",
    )
    risks = np.empty((len(sizes), len(gammas), len(FEATURES), trials))
    for i, j, k in np.ndindex(risks.shape[:3]):
        samples, features = sizes[i], round(gammas[j] * sizes[i])
        branch = jax.random.fold_in(key, int(np.ravel_multi_index((i, j, k), risks.shape[:3])))
        x = draw_entries(branch, (trials, samples, features), FEATURES[k])
        if design == "correlated":  # neighbours share half of their variance, each keeps variance one
            x = (x + np.roll(x, 1, axis=2)) / 2**0.5
        beta = generator(jax.random.fold_in(branch, 1)).standard_normal(features)
        risks[i, j, k] = conditional_bias_variance(x, beta / np.linalg.norm(beta), noise).risk
    limit = limiting_bias_variance(np.asarray(gammas), signal=1.0, noise=noise)
    found = scipy.optimize.minimize_scalar(
        lambda gamma: float(limiting_bias_variance(gamma, signal=1.0, noise=0.25).risk), bounds=(1.1, 50), method="bounded"
    )
    return {
        "risk": Law(
            np.asarray(limit.risk)[:, None],
            risks,
            along={"gamma": np.asarray(gammas), "features": np.asarray(FEATURES)},
            sizes=sizes,
            order=1.0,
        ),
        "minimum": Identity(np.asarray([found.fun]), overparameterized_minimum(signal=1.0, noise=0.25)[1], error=1e-9),
    }
