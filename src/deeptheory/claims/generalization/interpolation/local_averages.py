"""Local averages: the U-curve of bias and variance, and averages of neighbours (jagannath Ch. 5, handbook 13.1)."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.nadaraya_watson import nadaraya_watson_weights
from deeptheory.generalization.interpolation.nearest_neighbours import neighbour_weights
from deeptheory.generalization.interpolation.ridgeless import gaussian_bias_variance, ols_variance
from deeptheory.generalization.interpolation.smoothers import (
    optimism,
    polynomial_smoother,
    smoother_bias_variance,
    training_error,
)
from deeptheory.lab import Chain, Identity, Law, Positive, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen

DEGREES = tuple(range(12))


def unit_noise(samples):
    """2n noise vectors ±√n eᵢ: their mean is zero and their covariance the identity, exactly and without drawing."""
    return samples**0.5 * np.concatenate([np.eye(samples), -np.eye(samples)])


def wave(x):
    """The function to be learned in the examples on [0, 1]."""
    return np.sin(7 * x) + x


@claim(
    items={
        "J5.1": (
            "error on fresh labels",
            "error on old labels",
            "old and fresh labels of averages",
            "fresh labels that were drawn",
            "bias falls, variance rises",
            "averages of neighbours",
        ),
        "H13.1": (
            "error on fresh labels",
            "error on old labels",
            "old and fresh labels of averages",
            "fresh labels that were drawn",
            "bias falls, variance rises",
            "fresh Gaussian features",
        ),
    },
    says=r"The expected error on a fresh label is noise plus squared bias plus variance. At the training inputs a "
    r"polynomial with $p$ coefficients has variance $\sigma^2p/n$ and a bias that falls: a U-shaped curve. Old labels "
    r"are missed by $2\sigma^2\operatorname{tr}S/n$ less than fresh ones.",
    needs="noise of mean zero and variance σ², independent across labels",
    symbols={
        r"p": "the number of coefficients, one more than the degree",
        r"n": "the number of training inputs, 30 here",
        r"\sigma^2": "the variance of the noise",
        r"S": (
            r"the matrix that takes the labels of the sample to the predictions there; its trace is $p$ for least "
            r"squares"
        ),
    },
    why=r"The label's own noise, the miss of the average prediction and the prediction's fluctuation are uncorrelated, "
    r"so their squares add. A projection on $p$ functions keeps $p$ of $n$ directions of the noise. The fit has seen "
    r"the old labels: their noise and that of the predictions are correlated, which makes the training error too small "
    r"by $2\sigma^2\operatorname{tr}S/n$; for weighted averages of neighbours alike. Gaussian features at fresh inputs "
    r"cost $\sigma^2p/(n-p-1)$ instead.",
    notice=r"Bias falls and variance rises with the degree: their sum has its least value in the middle. The training "
    r"error falls all the way and says nothing about it.",
    explore={"noise": (0.05, 0.25, 0.6), "points": (20, 30, 60)},
    full=dict(trials=20_000),
)
def bias_variance_curve(
    key,
    *,
    points: Annotated[int, Interval(ge=20, le=400)] = 30,
    noise: Annotated[float, Interval(ge=0.01, le=0.6)] = 0.25,
    trials: Trials = 4000,
):
    draw = generator(key)
    x, at = np.sort(draw.uniform(size=points)), draw.uniform(size=25)
    truth, target = wave(x), wave(at)
    labels = truth + noise**0.5 * unit_noise(points)
    errors, split, own, residual = (np.empty((len(DEGREES), *shape)) for shape in ((25,), (25,), (2,), ()))
    predicted, curve = np.empty(len(DEGREES)), np.empty((2, len(DEGREES)))
    new = truth + noise**0.5 * draw.standard_normal((trials, points))
    fresh = truth + noise**0.5 * draw.standard_normal((trials, points))
    misses = np.empty((len(DEGREES), trials))
    for i, degree in enumerate(DEGREES):
        fitted = np.polynomial.Chebyshev.fit  # another basis and another solver than the room's
        answers = np.array([fitted(x, each, degree, domain=[0, 1])(at) for each in labels])
        errors[i] = ((answers - target) ** 2).mean(0)
        split[i] = smoother_bias_variance(polynomial_smoother(x, at, degree=degree), truth, target, noise).risk
        hat = polynomial_smoother(x, x, degree=degree)
        found = smoother_bias_variance(hat, truth, truth, noise)
        curve[:, i] = np.mean(found.bias), np.mean(found.variance)
        residual[i] = np.mean((labels - labels @ hat.T) ** 2)
        own[i] = training_error(hat, truth, noise), noise + np.mean(found.risk) - optimism(hat, noise)
        misses[i] = np.mean((fresh - new @ hat.T) ** 2, axis=1)
        predicted[i] = noise + np.mean(found.risk)
    # Neighbours at the inputs themselves: k = 1 interpolates, k = n is flat.
    counts = np.arange(1, points + 1)
    near = [neighbour_weights(x[:, None], x[:, None], neighbours=int(k)) for k in counts]
    parts = np.array([[np.mean(p) for p in smoother_bias_variance(each, truth, truth, noise)] for each in near])
    by_labels = [np.mean((labels @ each.T - truth) ** 2) for each in near]
    # Bell-shaped weights: unlike projections and plain averages they have ‖S‖² ≠ tr S.
    averages = [
        nadaraya_watson_weights(x[:, None], x[:, None], kernel=lambda u: np.exp(-(u**2)), bandwidth=h)
        for h in (0.02, 0.1, 0.5)
    ]
    old, new_labels = ([np.mean((answer - labels @ each.T) ** 2) for each in averages] for answer in (labels, truth))
    stated = [(training_error(each, truth, noise), optimism(each, noise)) for each in averages]
    designs = draw.standard_normal((trials, 20, 8))
    # Random points leave gaps, and the largest condition number of the fits grows with the degree.
    shared: dict[str, Any] = dict(condition=1e6, size=float(points))
    along, coefficients = {"degree": np.array(DEGREES)}, 1 + np.array(DEGREES)
    best = np.min(curve.sum(0))
    return {
        "error on fresh labels": Identity(
            errors, split, scale=np.max(np.abs(errors), 1, keepdims=True), along=along, **shared
        ),
        "error on old labels": Identity(
            np.stack([residual, residual], 1),
            own,
            along=along,
            aside={"optimism": noise * coefficients / points},
            **shared,
        ),
        "old and fresh labels of averages": Identity(
            np.transpose([old, noise + np.array(new_labels) - old]), np.array(stated), scale=1.0, size=float(points)
        ),
        "fresh labels that were drawn": Law(
            predicted, misses, along=along, exact=True, aside={"noise": noise, "parts": curve}
        ),
        "bias falls, variance rises": Chain(
            {
                "bias falls": (curve[0, 1:], curve[0, :-1] + 1e-12),
                "variance is σ²p/n": (curve[1], noise * coefficients / points + 1e-12),
                "and no less": (noise * coefficients / points - 1e-12, curve[1]),
                "too simple": (best, curve.sum(0)[0] / 2),
                "too rich": (best, curve.sum(0)[-1] / 1.2),
            },
            aside={"one fewer": noise * (coefficients - 1) / points},
        ),
        "averages of neighbours": Identity(
            np.stack([by_labels, parts[:, 1]]),
            np.stack([parts.sum(1), noise / counts]),
            scale=np.max(by_labels),
            size=float(points),
        ),
        "fresh Gaussian features": Law(
            np.array(gaussian_bias_variance(20, 8, noise=noise).variance),
            np.asarray(ols_variance(designs, np.eye(8), noise)),
            exact=True,
            aside={"fixed design": noise * 8 / 20},
        ),
    }


@bias_variance_curve.control("the noise of the fresh label forgotten", of="fresh labels that were drawn")
def without_noise(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"])


@bias_variance_curve.control(
    "σ²p/n, the variance at the training inputs, for fresh Gaussian features", of="fresh Gaussian features"
)
def fixed_design_variance(evidence):
    return replace(evidence, predicted=np.array(evidence.aside["fixed design"]))


@bias_variance_curve.control("training error lower by σ²p/n only", of="error on old labels")
def half_the_optimism(evidence):
    return replace(evidence, right=evidence.right + evidence.aside["optimism"][:, None] * np.array([0, 1]))


@bias_variance_curve.control(
    "as many coefficients as the degree, one fewer than there are", of="bias falls, variance rises"
)
def one_coefficient_fewer(evidence):
    variance = evidence.links["variance is σ²p/n"][0]
    return replace(evidence, links={"variance is σ²k/n": (variance, evidence.aside["one fewer"])})


@bias_variance_curve.picture
def u_curve(pieces):
    """Squared bias, variance, training error and error on fresh labels against the degree; dots are means of draws."""
    fresh, training = pieces["fresh labels that were drawn"], pieces["error on old labels"]
    degree, (bias, variance) = fresh.along["degree"], np.asarray(fresh.aside["parts"])
    return Curves(
        [
            Line("squared bias", degree, bias),
            Line("variance", degree, variance),
            Line("error on fresh labels", degree, fresh.predicted),
            seen("error on fresh labels", degree, fresh.observed),
            Line("training error", degree, np.asarray(training.left)[:, 0], dashed=True),
        ],
        x="degree of the polynomial",
        y="squared error at the training inputs",
        ys=(0, 1.2 * float(np.max(fresh.predicted))),
    )


@claim(
    items={
        "J5.2": (
            "bias and variance",
            "fresh labels that were drawn",
            "one neighbour fits all labels",
            "risk of one neighbour",
        )
    },
    says=r"Given the inputs, the average of the $k$ nearest responses misses a fresh label by $\sigma^2+(f(x_0)-\frac1k"
    r"\sum_\ell f(x_{(\ell)}))^2+\frac{\sigma^2}k$; with $k=1$ it interpolates and has variance $\sigma^2$, "
    r"$2\sigma^2$ and a bias in all.",
    needs="responses of independent noise with mean zero; no ties among distances",
    symbols={
        r"k": "the number of neighbours that are averaged",
        r"\sigma^2": "the variance of the noise",
        r"f,\ x_0": "the function to be learned, and the place where a label is predicted",
        r"x_{(\ell)}": r"the $\ell$-th nearest of the 200 inputs",
    },
    why=r"The average of the responses is the average of the values $f(x_{(\ell)})$, which need not be $f(x_0)$, and "
    r"an average of $k$ independent noises. The fresh label has its own noise. The three are uncorrelated, so that "
    r"their squares add.",
    notice=r"One neighbour costs twice the noise and hardly a bias; all neighbours cost hardly a variance, and the "
    r"bias of a constant. The dots are means over drawn labels.",
    full=dict(trials=100_000),
)
def neighbour_average_splits(
    key, *, trials: Trials = 30_000, noise: Positive = 0.25, averaged: Literal["responses", "values"] = "responses"
):
    draw = generator(key)
    counts = np.array([1, 2, 5, 20, 200])
    x, at = draw.uniform(size=(200, 2)), draw.uniform(0.1, 0.9, (1, 2))
    truth, target = wave(x.sum(1)), wave(at.sum(1))
    nearest = np.argsort(((x - at) ** 2).sum(1))

    def fits(labels):
        """Running means of the responses from the nearest point outwards."""
        return (np.cumsum(labels[..., nearest], -1) / np.arange(1, 201))[..., counts - 1]

    spread = noise**0.5 if averaged == "responses" else 0.0
    exact = fits(truth + spread * unit_noise(200))
    drawn = fits(truth + spread * draw.standard_normal((trials, 200)))
    # A fresh label above and below the target by its deviation: the mean over its noise.
    misses = np.mean([(target + sign * noise**0.5 - drawn) ** 2 for sign in (-1, 1)], axis=0)
    weights = [neighbour_weights(x, at, neighbours=int(k)) for k in counts]
    found = [smoother_bias_variance(each, truth, target, noise) for each in weights]
    bias, variance = (np.array([float(np.asarray(each[part])[0]) for each in found]) for part in (0, 1))
    inside = neighbour_weights(x, x, neighbours=1) @ (labels := truth + spread * draw.standard_normal(200))
    along = {"neighbours": counts}
    return {
        "bias and variance": Identity(
            np.stack([(exact.mean(0) - target) ** 2, exact.var(0)]),
            np.stack([bias, variance]),
            scale=np.max(exact**2),
            size=200.0,
            along={"part": np.array(["bias", "variance"]), **along},
        ),
        "fresh labels that were drawn": Law(
            noise + bias + variance, misses.T, along=along, exact=True, aside={"noise": noise, "bias": bias}
        ),
        "one neighbour fits all labels": Identity(inside, labels),
        "risk of one neighbour": Identity(
            ((exact[:, 0] - target) ** 2).mean() + noise, 2 * noise + bias[0], size=200.0
        ),
    }


neighbour_average_splits.control(
    "the average of the values f(x₍ₗ₎)", of="bias and variance", averaged="values", trials=8
)


@neighbour_average_splits.control("variance σ²/k², that of a sum of k shares", of="fresh labels that were drawn")
def squared_count(evidence):
    k, noise = evidence.along["neighbours"], evidence.aside["noise"]
    return replace(evidence, predicted=evidence.predicted - noise / k + noise / k**2)


@neighbour_average_splits.picture
def from_one_to_all(pieces):
    """Error on a fresh label against the number of neighbours, and the bias and variance it is made of."""
    law = pieces["fresh labels that were drawn"]
    k, bias, noise = law.along["neighbours"], np.asarray(law.aside["bias"]), float(law.aside["noise"])
    return Curves(
        [
            Line("error on a fresh label", k, law.predicted),
            seen("error on a fresh label", k, law.observed),
            Line("squared bias", k, bias),
            Line("variance σ²/k", k, noise / k),
            Line("variance σ²/k²", k, noise / k**2, rival="as of a sum of k shares"),
        ],
        x="neighbours k",
        y="squared error",
        log="x",
    )
