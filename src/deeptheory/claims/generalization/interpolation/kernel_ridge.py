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
from deeptheory.lab.pictures import Curves, Dots, Line


@claim(
    items={
        "L13.8": (
            "kernel and features agree",
            "the minimum is a minimum",
            "norm by Fourier transform",
            "norm by features",
            "least value at the stated weights",
            "Gaussian posterior mean",
            "each point left out",
            "no ridge in the limit",
            "bias and variance",
        )
    },
    says=r"$\frac1n\sum_i(y_i-f(x_i))^2+\lambda\|f\|_{\mathcal H}^2$ is least at $f=\sum_iw_ik(\cdot,x_i)$, "
    r"$w=(K+n\lambda I)^{-1}y$: ridge regression on features, a posterior mean, and an interpolant as $\lambda\to0$. "
    r"The norm is $w^\top Kw$; with $\int f^2$ in its place another $w$ is better.",
    needs="a positive definite kernel; λ > 0; an invertible kernel matrix for the limit",
    symbols={
        r"k,\ K": "the kernel, and the matrix of its values at the $n$ points",
        r"\mathcal H": r"the space of functions in which $\langle f,k(\cdot,x)\rangle=f(x)$",
        r"\lambda": "the weight of the penalty",
        r"w": "one weight for each point",
    },
    why=r"What is orthogonal to all $k(\cdot,x_i)$ vanishes at the points and only costs norm, so the minimiser is a "
    r"combination of them, with squared norm $w^\top Kw$. Setting the derivative in $w$ to zero gives "
    r"$K\,((K+n\lambda I)w-y)=0$. With $\int f^2$ the middle matrix is another one and this step fails.",
    notice=r"The stated function and the one that is least for the printed objective are different "
    r"curves, for their size the more so the larger $\lambda$. As $\lambda\to0$ the first goes through the points.",
    explore={"penalty": (0.01, 0.02, 0.1, 0.5, 2.0)},
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
    # Finitely many features, as the book asks: eight bumps. Both norms are quadratic forms in their coefficients.
    bumps = np.asarray(
        rbf_kernel(np.concatenate([line, places])[:, None], np.linspace(-2.8, 2.8, 8)[:, None], scale=0.5)
    )
    here, overlaps = bumps[:6], np.trapezoid(bumps[6:, :, None] * bumps[6:, None], places, axis=0)
    finite = here @ here.T
    stated = np.linalg.solve(finite + 6 * penalty * np.eye(6), target)

    def at_and_least(squares):
        """mean (y − Kw)² + λ wᵀSw at the stated weights and at its minimum, by stacked least squares; and where."""
        rows = np.concatenate([finite / 6**0.5, penalty**0.5 * np.linalg.cholesky(squares).T])
        sought = np.append(target / 6**0.5, np.zeros(6))
        best = np.linalg.lstsq(rows, sought)[0]
        return [np.sum((rows @ each - sought) ** 2) for each in (stated, best)], best

    (reached, minimum), (printed, least_weights) = at_and_least(finite)[0], at_and_least(here @ overlaps @ here.T)
    curves = bumps[6:] @ here.T @ np.stack([stated, least_weights], axis=1)
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
        "kernel and features agree": Identity(fitted, others @ theta, scale=np.max(np.abs(fitted)), **shared),
        "the minimum is a minimum": Identity(objective(dual + steps), objective(dual[None]) + rises, **shared),
        "norm by Fourier transform": Identity(
            np.array([rkhs_norm_square(gram, weights)]),
            np.array([by_fourier]),
            error=1e-9,
            along={"integral": np.array([integral])},
        ),
        "least value at the stated weights": Identity(
            reached,
            minimum,
            condition=np.linalg.cond(finite),
            aside={
                "printed": np.array(printed),
                "points": np.stack([line, target]),
                "curves": np.stack([places, *curves.T])[:, 1400:2601:10],
            },
        ),
        "norm by features": Identity(np.array([rkhs_norm_square(kernel, dual)]), np.array([theta @ theta]), **shared),
        "Gaussian posterior mean": Identity(fitted, posterior, scale=np.max(np.abs(fitted)), **shared),
        "each point left out": Identity(
            np.asarray(leave_one_out(kernel, y, ridge=ridge)),
            np.array(refits),
            scale=np.max(np.abs(y)),
            **shared,
        ),
        "no ridge in the limit": Limit(1 / ridges, np.array(errors), order=1.0),
        "bias and variance": Identity(
            np.stack([by_kernel.bias, by_kernel.variance]),
            np.array(by_feature, float).T,
            scale=np.max(by_kernel.risk),
            **shared,
        ),
    }


@kernel_ridge.control(
    "the objective with the printed ∫ f² dx is least there", erratum="L13.8a", of="least value at the stated weights"
)
def printed_objective(evidence):
    at, least = evidence.aside["printed"]
    return replace(evidence, left=at, right=least)


@kernel_ridge.control("the inner product ∫ f g dx", of="norm by Fourier transform")
def integral_inner_product(evidence):
    return replace(evidence, left=evidence.along["integral"])


@kernel_ridge.control("an error of order λ²", of="no ridge in the limit")
def second_order(evidence):
    return replace(evidence, order=2.0)


kernel_ridge.control("w = (K + λI)⁻¹y, without the number of points", of="the minimum is a minimum", scaled=False)
kernel_ridge.control(
    "ridge λ on the features, without the number of points", of="kernel and features agree", scaled=False
)


@kernel_ridge.picture
def two_penalties(pieces):
    """Six points, kernel ridge regression with eight bumps for features, and what is least with ∫ f² for the norm."""
    minimum = pieces["least value at the stated weights"]
    at, stated, other = minimum.aside["curves"]
    return Curves(
        [
            Line("least with the norm of the kernel's space", at, stated),
            Dots("points", *minimum.aside["points"]),
            Line("least with ∫ f²", at, other, rival="the printed inner product"),
        ],
        x="input x",
        y="value f(x)",
    )
