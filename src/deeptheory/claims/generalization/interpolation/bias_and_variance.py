"""Excess risk of linear predictors: bias and variance of any estimator, and the variance of least squares."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.claims.generalization.interpolation.local_averages import unit_noise
from deeptheory.foundations.filters import (
    gradient_descent_filter,
    pseudo_inverse_filter,
    ridge_filter,
    spectral_operator,
)
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import (
    bias_variance_of_estimates,
    bias_variance_of_operator,
    excess_risk,
    gaussian_bias_variance,
    ols_variance,
)
from deeptheory.lab import Identity, Law, Positive, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Table, seen


def penalized(design, labels):
    """The minimiser of ‖y − Xw‖² + 5‖w‖², from its normal equations."""
    return np.linalg.solve(design.T @ design + 5.0 * np.eye(design.shape[1]), design.T @ labels)


def descended(design, labels):
    """Forty gradient steps of size 0.002 on ½‖y − Xw‖², from zero."""
    weights = np.zeros((design.shape[1], labels.shape[1]))
    for _ in range(40):
        weights -= 0.002 * design.T @ (design @ weights - labels)
    return weights


ESTIMATORS = {
    "least squares": ((30, 8), pseudo_inverse_filter, lambda design, labels: np.linalg.lstsq(design, labels)[0]),
    "minimum norm": ((6, 8), pseudo_inverse_filter, lambda design, labels: np.linalg.lstsq(design, labels)[0]),
    "ridge": ((30, 8), ridge_filter(5.0), penalized),
    "gradient descent": ((30, 8), gradient_descent_filter(0.002, 40), descended),
}
"""The shape of a design, the estimator as a filter of its singular values, and the same estimator as it is defined."""


@claim(
    items={"L13.3": ("risk in three parts", "risk on a sample", "loss on fresh labels", "estimators by two routes")},
    says=r"The risk of a linear predictor is $\sigma^2+\|w-w_*\|_\Sigma^2$; for a random $w$ the excess splits into "
    r"squared bias $\|\mathbb Ew-w_*\|_\Sigma^2$ and variance $\mathbb E\|w-\mathbb Ew\|_\Sigma^2$, for least "
    r"squares, ridge, minimum norm and early stopped gradient descent alike.",
    needs=r"labels $w_*\cdot\phi$ plus noise of mean zero that is independent of $\phi$",
    full=dict(trials=1_000_000),
    symbols={
        r"\text{risk}": r"the mean of (label − $w\cdot\phi$)² over fresh points; the excess is what exceeds $\sigma^2$",
        r"w,\ w_*": "the estimate, random through the noise of its samples, and the true coefficients",
        r"\phi": "the features of a point",
        r"\sigma^2": "the variance of the noise, 0.5 here",
        r"\|v\|_\Sigma^2": r"$v^\top\Sigma v$: the mean of $(v\cdot\phi)^2$ over features of covariance $\Sigma$",
    },
    why=r"A fresh label differs from the prediction by its noise and by $(w-w_*)\cdot\phi$, which are uncorrelated, so "
    r"their mean squares add up. For a random $w$, write $w-w_*$ as what it is on average and the rest: the cross term "
    r"has mean zero.",
    notice=r"The four estimators trade the two parts differently: least squares has no bias (what is printed is "
    r"rounding), ridge and early stopping buy less variance with some. The minimum norm, on six samples of eight "
    r"features, has bias too and a variance far above all. For every one the two add up to the excess risk.",
)
def excess_risk_splits(key, *, trials: Trials = 100_000, noise: Positive = 0.5):
    draw = generator(key)
    root = draw.standard_normal((8, 8)) / 8**0.5
    covariance, target = root @ root.T, draw.standard_normal(8)
    exact, sampled, losses, risks = np.empty((2, 4, 3)), np.empty((2, 4)), np.empty((4, trials)), np.empty(4)
    fresh = draw.standard_normal((trials, 8)) @ root.T
    labels = fresh @ target + noise**0.5 * draw.standard_normal(trials)
    estimators = np.empty((2, 4, 8))
    for i, ((samples, features), filter, solve) in enumerate(ESTIMATORS.values()):
        design = draw.standard_normal((samples, features)) @ root.T
        operator = spectral_operator(design, filter)
        answers = design @ target + noise**0.5 * unit_noise(samples)
        known = answers @ operator.T
        estimators[:, i] = known[0], solve(design, answers[:1].T)[:, 0]
        parts = bias_variance_of_estimates(known, target, covariance)
        exact[0, i] = *parts, excess_risk(known, target, covariance).mean()
        found = bias_variance_of_operator(operator, design, target, covariance, noise)
        exact[1, i] = *found, found.risk
        drawn = (design @ target + noise**0.5 * draw.standard_normal((200, samples))) @ operator.T
        sampled[0, i] = excess_risk(drawn, target, covariance).mean()
        sampled[1, i] = bias_variance_of_estimates(drawn, target, covariance).risk
        losses[i] = (fresh @ drawn[0] - labels) ** 2
        risks[i] = noise + excess_risk(drawn[0], target, covariance)
    along = {"estimator": np.asarray(list(ESTIMATORS))}
    parts = np.asarray(["bias", "variance", "excess"])
    size = np.linalg.norm(estimators[0], axis=1)[:, None]
    # Designs are 30×8 or 6×8, and rounding in their inverses is what their condition numbers, some tens, allow.
    shared = dict(condition=1e4, size=60.0)
    return {
        "risk in three parts": Identity(*exact, scale=exact[0, :, 2:], along={**along, "part": parts}, **shared),
        "risk on a sample": Identity(*sampled, along=along, **shared),
        "loss on fresh labels": Law(risks, losses, along=along, exact=True, aside={"noise": noise}),
        "estimators by two routes": Identity(*estimators, scale=size, along=along, **shared),
    }


@excess_risk_splits.control("no noise in the labels that are predicted", of="loss on fresh labels")
def noiseless_labels(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"])


@excess_risk_splits.picture
def two_parts(pieces):
    """Squared bias, variance and their sum beside the excess risk averaged over noise, for four estimators."""
    exact = pieces["risk in three parts"]
    excess, (bias, variance, _) = exact.left[:, 2], exact.right.T
    return Table(
        {
            "estimator": [str(name) for name in exact.along["estimator"]],
            "squared bias": bias,
            "variance": variance,
            "sum of both": bias + variance,
            "excess risk, averaged": excess,
        },
        prediction="sum of both",
        observation="excess risk, averaged",
    )


@excess_risk_splits.control("the variance alone", of="risk in three parts")
def variance_alone(evidence):
    bias, variance, _ = evidence.right.T
    return replace(evidence, right=np.stack([bias, variance, variance], axis=1))


@claim(
    items={"L13.4": ("variance by two routes", "variance at the training inputs", "variance at fresh inputs")},
    says=r"Ordinary least squares has no bias and variance $\frac{\sigma^2}n\mathbb "
    r"E\operatorname{tr}(\Sigma\bar\Sigma^{-1})$: $\sigma^2p/n$ for a fixed design, $\sigma^2p/(n-p-1)$ for Gaussian "
    "rows of any covariance.",
    needs=r"an invertible $\bar\Sigma$, so $p\le n$; a finite mean needs $p\le n-2$ for Gaussian rows",
    full=dict(trials=6000),
    symbols={
        r"\sigma^2": "the variance of the noise, 0.5 here",
        r"\Sigma,\ \bar\Sigma": "the covariance of the features, and that of the sample",
        r"p,\ n": "the numbers of features and of samples; $n=100$ in the picture",
    },
    why=r"The estimate is the truth plus the pseudo-inverse times the noise, so it is right on average and its error "
    r"has covariance $\frac{\sigma^2}n\bar\Sigma^{-1}$. For a fixed design test and training covariance agree and the "
    r"trace is $p$. For Gaussian rows $\Sigma$ drops out, and the mean of an inverse Wishart matrix is $n/(n-p-1)$ "
    r"times the identity.",
    notice=r"The cost of estimating grows slowly at first, as $\sigma^2p/n$, and without limit as $p$ comes close to "
    r"$n$. The limit $\gamma/(1-\gamma)$ is too small by a tenth at $p=90$, where the one in $n-p-1$ counts.",
)
def least_squares_variance(
    key,
    *,
    trials: Trials = 1200,
    features: Annotated[tuple[int, ...], Interval(ge=1, le=94)] = (10, 30, 50, 70, 90),
    samples: Annotated[int, Interval(ge=32, le=1000)] = 40,
    noise: Positive = 0.5,
    design: Literal["tall", "wide"] = "tall",
):
    draw = generator(key)
    samples = samples if design == "tall" else 20
    root = draw.standard_normal((30, 30)) / 30**0.5 + np.eye(30)
    covariance, target = root @ root.T, draw.standard_normal(30)
    designs = draw.standard_normal((8, samples, 30)) @ root.T
    inverses = np.linalg.pinv(designs)
    formula = noise * np.trace(covariance @ inverses @ np.swapaxes(inverses, 1, 2), axis1=1, axis2=2)
    labels = (designs @ target)[:, None] + noise**0.5 * unit_noise(samples)
    estimates = np.stack([np.linalg.lstsq(x, y.T)[0].T for x, y in zip(designs, labels, strict=True)])
    total = excess_risk(estimates, target, covariance).mean(1)
    variances = np.empty((len(features), trials))
    for i, p in enumerate(features):
        # The value does not depend on Σ, so each p gets rows whose coordinates differ a hundredfold in variance.
        scales = np.geomspace(1, 100, p)
        rows = draw.standard_normal((trials, 100, p)) * scales**0.5
        variances[i] = ols_variance(rows, np.diag(scales), noise)
    tall = draw.standard_normal((8, 40, 30))
    fixed = ols_variance(tall, np.swapaxes(tall, 1, 2) @ tall / 40, noise)
    condition = np.linalg.cond(designs) ** 2 * np.linalg.cond(covariance)
    exact = [gaussian_bias_variance(100, p, noise=noise).variance for p in features]
    return {
        "variance by two routes": Identity(total, formula, condition=condition, size=40.0),
        "variance at the training inputs": Identity(
            fixed, noise * 30 / 40, condition=np.linalg.cond(tall) ** 2, size=40.0
        ),
        "variance at fresh inputs": Law(
            np.asarray(exact), variances, along={"features": np.asarray(features)}, exact=True
        ),
    }


@least_squares_variance.control("the limit γ/(1−γ) at finite n", of="variance at fresh inputs")
def limit_at_finite_size(evidence):
    features = evidence.along["features"]
    return replace(evidence, predicted=evidence.predicted * (99 - features) / (100 - features))


@least_squares_variance.picture
def variance_along_features(pieces, settings):
    """Excess risk of least squares against the number of features, 100 Gaussian samples: exact, limit, observed."""
    gaussian, noise = pieces["variance at fresh inputs"], settings["noise"]
    p = np.arange(2, 95)
    return Curves(
        [
            Line("Gaussian rows", p, noise * p / (99 - p)),
            Line("fixed design", p, noise * p / 100),
            seen("observed, Gaussian rows", gaussian.along["features"], gaussian.observed),
            Line("σ²γ/(1 − γ)", p, noise * p / (100 - p), rival="the limit at finite n"),
        ],
        x="features p, with 100 samples",
        y="excess risk",
        log="y",
    )


least_squares_variance.control(
    "no bias with more features than samples", of="variance by two routes", design="wide", trials=8
)
