"""Kernel ridge regression: the same predictor as ridge on features, as a Gaussian posterior mean, and its norm.

lucchi 13.2.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import bias_variance_of_operator
from deeptheory.generalization.interpolation.smoothers import smoother_bias_variance
from deeptheory.kernels.finite.features import polynomial_features, polynomial_kernel, rbf_kernel
from deeptheory.kernels.regression.classifier import leave_one_out
from deeptheory.kernels.regression.mercer import rkhs_norm_square
from deeptheory.kernels.regression.predictions import ridge_regression
from deeptheory.lab import Identity, Limit, Positive, claim


@claim(
    items={"L13.8": ("features", "least", "norm", "feature norm", "posterior", "left out", "interpolant", "split")},
    says=r"$\frac1n\sum_i(y_i-f(x_i))^2+\lambda\|f\|_{\mathcal H}^2$ is least at $f=\sum_iw_ik(\cdot,x_i)$, "
    r"$w=(K+n\lambda I)^{-1}y$: ridge regression on explicit features, with the same bias and variance, the posterior "
    r"mean for noise of variance $n\lambda$. Its norm is $w^\top Kw$, the length of the feature weights, and for the "
    r"Gaussian kernel $\frac1{2\pi}\int|\hat f|^2/\hat k$; left-out residuals are $w_i/(K+n\lambda)^{-1}_{ii}$; "
    r"as $\lambda\to0$ it interpolates, with an error of order $\lambda$.",
    needs="a positive definite kernel; λ > 0; an invertible kernel matrix for the limit",
)
def kernel_ridge(
    key,
    *,
    points: Annotated[int, Interval(ge=8, le=60)] = 24,
    penalty: Positive = 0.02,
    noise: Positive = 0.25,
    scaled: bool = True,
):
    draw = generator(key)
    x, at = draw.standard_normal((points, 2)), draw.standard_normal((10, 2))
    y = draw.standard_normal(points)
    ridge = points * penalty if scaled else penalty
    everywhere = np.concatenate([x, at])
    whole, lifted = np.asarray(polynomial_kernel(everywhere)), np.asarray(polynomial_features(everywhere))
    kernel, crossed, features, others = (
        whole[:points, :points],
        whole[points:, :points],
        lifted[:points],
        lifted[points:],
    )
    # One solve for the labels and for unit labels, read off at the other places and as dual weights.
    both = ridge_regression(
        kernel, np.column_stack([y, np.eye(points)]), np.concatenate([crossed, np.eye(points)]), ridge=ridge
    )
    fitted, dual, smoother = np.asarray(both)[:10, 0], np.asarray(both)[10:, 0], np.asarray(both)[:10, 1:]
    # The objective in the explicit features, minimised as a stacked least-squares problem.
    stacked = np.concatenate([features / points**0.5, penalty**0.5 * np.eye(features.shape[1])])
    labels = np.append(y / points**0.5, np.zeros(features.shape[1]))
    theta = np.linalg.lstsq(stacked, labels)[0]
    steps = draw.standard_normal((200, points))

    def objective(weights):
        squares = np.array([rkhs_norm_square(kernel, each) for each in weights])
        return np.mean((y - weights @ kernel) ** 2, axis=1) + penalty * squares

    # Around its minimum the objective has no linear term: every step away costs its own quadratic form, never negative.
    moved = steps @ kernel
    rises = np.mean(moved**2, axis=1) + penalty * (moved * steps).sum(1)
    # The mean of noisy labels elsewhere given those here, from the inverse of their joint covariance.
    precision = np.linalg.inv(whole + points * penalty * np.eye(points + 10))
    posterior = -np.linalg.solve(precision[points:, points:], precision[points:, :points] @ y)
    refits = [
        features[i] @ np.linalg.lstsq(np.delete(stacked, i, 0), np.delete(labels, i))[0] for i in range(points)
    ]  # the factor 1/n stays that of all points
    # ‖f‖² on the line, by Fourier: k̂(ω) = s√(2π) exp(−s²ω²/2), and the mean of |Σ wⱼ e^{iωxⱼ}|² over it.
    line, scale = np.linspace(-2, 2, 6) + draw.uniform(-0.2, 0.2, 6), 0.7
    places = np.linspace(-12, 12, 4001)
    gaussian = np.asarray(rbf_kernel(np.concatenate([line, places])[:, None], line[:, None], scale=scale))
    gram, between = gaussian[:6], gaussian[6:][1700:2301:60]
    weights = np.linalg.solve(gram + 0.1 * np.eye(6), draw.standard_normal(6))
    frequencies = np.linspace(-12 / scale, 12 / scale, 4001)
    transform = scale * (2 * np.pi) ** 0.5 * np.exp(-((scale * frequencies) ** 2) / 2)
    waves = np.abs(np.exp(1j * np.outer(frequencies, line)) @ weights) ** 2
    by_fourier = np.trapezoid(transform * waves, frequencies) / (2 * np.pi)
    integral = np.trapezoid((gaussian[6:] @ weights) ** 2, places)
    # Towards the function through six points, at places between them.
    ridges, target = 10.0 ** -np.arange(4.0, 9.0), draw.standard_normal(6)
    through = between @ np.linalg.solve(gram, target)
    errors = [np.linalg.norm(np.asarray(ridge_regression(gram, target, between, ridge=r)) - through) for r in ridges]
    # Bias and variance at the other places, from kernel weights and from feature weights.
    truth = draw.standard_normal(features.shape[1])
    by_kernel = smoother_bias_variance(smoother, features @ truth, others @ truth, noise)
    operator = np.linalg.solve(features.T @ features + ridge * np.eye(features.shape[1]), features.T)
    by_feature = [bias_variance_of_operator(operator, features, truth, np.outer(z, z), noise) for z in others]
    condition = np.linalg.cond(kernel + ridge * np.eye(points))
    shared = dict(condition=condition, size=float(points))
    return {
        "features": Identity(fitted, others @ theta, scale=np.max(np.abs(fitted)), **shared),
        "least": Identity(objective(dual + steps), objective(dual[None]) + rises, **shared),
        "norm": Identity(
            np.array([rkhs_norm_square(gram, weights)]),
            np.array([by_fourier]),
            error=1e-9,
            along={"integral": np.array([integral])},
        ),
        "feature norm": Identity(np.array([rkhs_norm_square(kernel, dual)]), np.array([theta @ theta]), **shared),
        "posterior": Identity(fitted, posterior, scale=np.max(np.abs(fitted)), **shared),
        "left out": Identity(
            np.asarray(leave_one_out(kernel, y, ridge=ridge)),
            np.array(refits),
            scale=np.max(np.abs(y)),
            **shared,
        ),
        "interpolant": Limit(1 / ridges, np.array(errors), order=1.0),
        "split": Identity(
            np.stack([by_kernel.bias, by_kernel.variance]),
            np.array(by_feature, float).T,
            scale=np.max(by_kernel.risk),
            **shared,
        ),
    }


@kernel_ridge.control("the inner product ∫ f g dx, as printed", erratum="L13.8a", of="norm")
def integral_inner_product(evidence):
    return replace(evidence, left=evidence.along["integral"])


kernel_ridge.control("w = (K + λI)⁻¹y, without the number of points", of="least", scaled=False)
kernel_ridge.control("ridge λ on the features, without the number of points", of="features", scaled=False)
