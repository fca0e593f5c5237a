"""Kernel regression: interpolation of least norm without ever forming a feature.

arora 3.2, lucchi 7.1, jagannath 8.3, handbook 6.4.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.linalg import null_space

from deeptheory.claims.kernels.regression.inner_products import Draws
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.least_squares import nearest_solution, unseen_projection
from deeptheory.kernels.finite.features import (
    polynomial_features,
    rbf_kernel,
    train_features,
)
from deeptheory.kernels.regression.mercer import brownian_kernel, minimum_norm_square, rkhs_norm_square
from deeptheory.kernels.regression.predictions import diagonalize, interpolation, predicted, ridge_regression
from deeptheory.lab import Count, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line


def scattered(draw, count):
    """Increasing points of (0, 1), irregular but not too close together."""
    return (np.arange(count) + draw.uniform(0.3, 0.9, count)) / count


@claim(
    items={
        "A3.9": ("kernel and features agree", "values at the data", "broken line"),
        "L7.4": ("kernel and features agree", "values at the data", "broken line"),
        "L7.3": (
            "any minimizer, projected",
            "ridge regression",
            "projection keeps the fit",
            "projection never lengthens",
        ),
    },
    says=r"$K_x^\top K^{-1}y$ passes through the data and equals $\phi(x)^\top\Phi^+y$, least squares of least norm "
    r"in the features; $K_x^\top(K+\rho)^{-1}y$ is the ridge solution. Projecting any minimizer of "
    r"$\|\Phi\theta-y\|^2$ on the span of the $\phi(x_i)$ keeps its fit and never lengthens it.",
    needs="K invertible (so p ≥ n)",
    full=dict(draws=16),
    symbols={
        "K,K_x": "the kernel between the data, and between them and another point $x$",
        r"\phi,\Phi": r"the features of a point, and those of all data as rows",
        r"\theta": "the weights of the features",
        r"\rho": "a ridge",
    },
    why=r"Every $\theta$ splits into a part in the span of the data's features and one orthogonal to it. The latter "
    r"does nothing on the data and only makes $\theta$ longer, so the shortest minimizer, and every regularized one, "
    "is a combination of the features of the data. Its coefficients solve a system in which features appear in inner "
    "products alone: that is the kernel.",
    notice=r"For the kernel $\min(x,x')$ the shortest function through the data is the broken line that joins them, "
    "from the origin on, where all functions of this space vanish.",
)
def kernel_regression_is_least_norm(
    key, *, draws: Draws = 3, minimizer: Literal["projected", "arbitrary"] = "projected"
):
    draw = generator(key)
    observed = {
        name: []
        for name in (
            "kernel and features agree",
            "values at the data",
            "any minimizer, projected",
            "ridge regression",
            "projection keeps the fit",
        )
    }
    expected = {name: [] for name in observed}
    lengths, parts = [], []
    worst = 1.0
    for _ in range(draws):
        # Twenty points and twenty others: 28 features of (1 + x·y)² in six dimensions, and 60 drawn ones.
        for every in (np.asarray(polynomial_features(draw.standard_normal((40, 6)))), draw.standard_normal((40, 60))):
            features, far, y = every[:20], every[20:], draw.standard_normal(20)
            kernel, cross = features @ features.T, far @ features.T
            worst = max(worst, np.linalg.cond(kernel))
            least = np.linalg.lstsq(features, y)[0]
            found = np.asarray(ridge_regression(kernel, y, cross, ridge=0.0))
            other = least + null_space(features) @ draw.standard_normal(features.shape[1] - 20)
            projected = other - unseen_projection(features) @ other
            function = projected if minimizer == "projected" else other
            ridged = np.linalg.solve(features.T @ features + 0.3 * np.eye(features.shape[1]), features.T @ y)
            basis = diagonalize(kernel)
            pairs = {
                "kernel and features agree": (
                    np.append(found, predicted(basis, interpolation(), y, cross)),
                    np.tile(far @ least, 2),
                ),
                "values at the data": (np.asarray(ridge_regression(kernel, y, kernel, ridge=0.0)), y),
                "any minimizer, projected": (far @ function, found),
                "ridge regression": (np.asarray(ridge_regression(kernel, y, cross, ridge=0.3)), far @ ridged),
                "projection keeps the fit": (features @ projected, y),
            }
            for name, (one, two) in pairs.items():
                observed[name].append(one)
                expected[name].append(two)
            lengths.append(other @ other)
            parts.append(least @ least + (other - projected) @ (other - projected))
    x = scattered(draw, 20)
    y_line, far = draw.standard_normal(20), np.linspace(0, 1, 20)
    nodes, at = x[:, None], far[:, None]
    between = ridge_regression(brownian_kernel(nodes), y_line, brownian_kernel(at, nodes), ridge=0.0)
    pieces = {
        name: Identity(
            np.concatenate(observed[name]),
            np.concatenate(expected[name]),
            scale=np.max(np.abs(np.concatenate(expected["kernel and features agree"]))),
            condition=worst,
            size=60,
        )
        for name in observed
    }
    return pieces | {
        "projection never lengthens": Identity(np.array(lengths), np.array(parts), condition=worst),
        "broken line": Identity(
            np.asarray(between),
            np.interp(far, np.append(0, x), np.append(0, y_line)),
            scale=np.max(np.abs(y_line)),
            condition=np.linalg.cond(brownian_kernel(nodes)),
            along={"at": far, "without the origin": np.interp(far, x, y_line)},
            aside={"x": x, "y": y_line},
        ),
    }


@kernel_regression_is_least_norm.picture
def broken_line(pieces):
    """Kernel regression with min(x, x′) through the data, at points between them, and the broken line."""
    line = pieces["broken line"]
    x, y = line.aside["x"], line.aside["y"]
    return Curves(
        [
            Line("broken line", np.append(0, x), np.append(0, y)),
            Dots("data", x, y),
            Dots("kernel regression", line.along["at"], line.left),
            Line("broken line", [0, x[0]], [y[0], y[0]], rival="not drawn from the origin"),
        ],
        x="input x",
        y="value",
    )


kernel_regression_is_least_norm.control(
    "a minimizer of the unregularized loss that is not the shortest",
    of="any minimizer, projected",
    minimizer="arbitrary",
)


@kernel_regression_is_least_norm.control("the broken line is not drawn from the origin", of="broken line")
def flat_before_the_first(evidence):
    return replace(evidence, right=evidence.along["without the origin"])


@claim(
    items={
        "A3.11": (
            "least norm",
            "other interpolants, projected",
            "norms of other interpolants",
            "integral of the squared slope",
            "least norm by features",
        ),
        "H6.7": (
            "distance from a start",
            "residual of descent",
            "norms of other interpolants",
            "interpolants farther from the start",
        ),
    },
    consistency=("least norm",),
    says=r"Of all functions through the data $h=\sum_i\alpha_iK(\cdot,x_i)$, $\alpha=G^{-1}y$, has the least norm, "
    r"$\|h\|^2=y^\top G^{-1}y$: any other has $\|g\|^2=\|h\|^2+\|g-h\|^2$. From a start $f_0$ kernel descent ends at "
    r"the interpolant with $\|f_\infty-f_0\|^2=r^\top\Theta^{-1}r$, $r=y-f_0(X)$, the least of all.",
    needs="an invertible Gram matrix of the data",
    symbols={
        "h": "the interpolant made of the data's kernels, $g$ any other, also with further centres",
        r"\alpha": "its weights",
        "G": "the kernel matrix of the data",
        r"f_0,f_\infty": "the function before and after descent; $f_k(X)=y-(I-\\eta\\Theta)^kr$ on the way",
        r"\Theta": "the kernel that trains, on the data",
    },
    why=r"$g-h$ vanishes at the data, so by the reproducing property it is orthogonal to every $K(\cdot,x_i)$ and "
    r"hence to $h$: Pythagoras. Descent moves only in the span of the data's kernels, so $f_\infty-f_0$ is such an $h$ "
    r"for the residual $r$. For $\min(x,x')$ the norm is $\int h'^2$, for features that of their weights.",
    notice="Each dot is another interpolant. Its squared norm is that of $h$ and its squared distance from $h$ "
    "together, so all lie on one line of slope one above the least norm.",
)
def least_norm_interpolant(
    key,
    *,
    points: Annotated[int, Interval(ge=3, le=30)] = 10,
    others: Annotated[int, Interval(ge=1, le=30)] = 12,
    draws: Count = 200,
):
    draw = generator(key)
    centres = draw.standard_normal((points + others, 3))
    gram = np.asarray(rbf_kernel(centres, scale=0.7))
    data, y = gram[:points, :points], draw.standard_normal(points)
    dual = np.linalg.solve(data, y)
    least = float(minimum_norm_square(data, y))
    # Interpolants with weights on all centres, near random ones; their distance from h in the same norm.
    started = draw.standard_normal((draws, points + others)) * np.exp(draw.uniform(-6, 1, (draws, 1)))
    weights = np.array([nearest_solution(gram[:points], y, start) for start in started])
    difference = weights - np.append(dual, np.zeros(others))
    norms = np.array([rkhs_norm_square(gram, each) for each in weights])
    excess = np.array([rkhs_norm_square(gram, each) for each in difference])
    condition = np.linalg.cond(gram)
    # ∫h′² of the broken line through the data, the norm that belongs to min(x, x′).
    x = scattered(draw, points)
    slopes = np.diff(y, prepend=0) / np.diff(x, prepend=0)
    brownian = brownian_kernel(x[:, None])
    weights_of_line = np.linalg.solve(brownian, y)
    energies = [minimum_norm_square(brownian, y), rkhs_norm_square(brownian, weights_of_line)]
    # A model of 40 features, trained by gradient descent from a random start until nothing moves.
    features, theta = draw.standard_normal((points, 40)), draw.standard_normal(40)
    kernel = features @ features.T
    step = 1 / np.linalg.eigvalsh(kernel)[-1]
    enough = max(3000, int(40 * np.linalg.cond(kernel)))
    early, final = (np.asarray(train_features(features, y, theta, step_size=step, steps=k)) for k in (20, enough))
    residual = y - features @ theta
    left = np.linalg.matrix_power(np.eye(points) - step * kernel, 20) @ residual
    nearest = started + np.linalg.lstsq(gram[:points], (y - started @ gram[:points].T).T)[0].T
    aside = null_space(features) @ draw.standard_normal((40 - points, draws))
    moved = np.sum((final - theta) ** 2)
    return {
        "least norm": Identity(
            np.array([rkhs_norm_square(data, dual)]),
            np.array([least]),
            condition=condition,
            along={"of the weights": np.array([dual @ dual])},
        ),
        # The interpolants nearest to random weights, each a different one.
        "other interpolants, projected": Identity(
            weights, nearest, scale=np.max(np.abs(weights), 1)[:, None], condition=condition, size=points + others
        ),
        "norms of other interpolants": Identity(
            norms,
            least + excess,
            scale=norms + excess,
            condition=condition,
            size=points + others,
            aside={"least": np.array(least), "distance": excess},
        ),
        "integral of the squared slope": Identity(
            np.array(energies), np.sum(slopes**2 * np.diff(x, prepend=0)), condition=np.linalg.cond(brownian)
        ),
        "least norm by features": Identity(
            np.array([np.sum(np.linalg.lstsq(features, y)[0] ** 2)]),
            np.array([minimum_norm_square(kernel, y)]),
            condition=np.linalg.cond(kernel),
        ),
        "distance from a start": Identity(
            np.array([moved]),
            np.array([minimum_norm_square(kernel, residual)]),
            condition=np.linalg.cond(kernel),
            size=40,
            along={"without the start": np.array([minimum_norm_square(kernel, y)])},
        ),
        "residual of descent": Identity(y - features @ early, left, scale=np.max(np.abs(residual)), size=40),
        "interpolants farther from the start": Identity(
            np.sum((final[:, None] + aside - theta[:, None]) ** 2, 0),
            moved + np.sum(aside**2, 0),
            condition=np.linalg.cond(kernel),
            size=40,
        ),
    }


@least_norm_interpolant.control("yᵀΘ⁻¹y, the start forgotten", of="distance from a start")
def start_forgotten(evidence):
    return replace(evidence, right=evidence.along["without the start"])


@least_norm_interpolant.control("αᵀα, the norm of the weights", of="least norm")
def norm_of_weights(evidence):
    return replace(evidence, right=evidence.along["of the weights"])


@least_norm_interpolant.picture
def pythagoras(pieces):
    """Squared norms of other interpolants, less the least, against their squared distances from the shortest one."""
    larger = pieces["norms of other interpolants"]
    distance, least = larger.aside["distance"], float(larger.aside["least"])
    ends = np.array([distance.min(), distance.max()])
    return Curves(
        [Line("‖g − h‖²", ends, ends), Dots("interpolants", distance, larger.left - least)],
        x="squared distance from h",
        y="squared norm less the least",
        log="xy",
    )


@least_norm_interpolant.control("norms that add up without their squares", of="norms of other interpolants")
def without_squares(evidence):
    least, distance = evidence.aside["least"], evidence.aside["distance"]
    return replace(evidence, right=(np.sqrt(least) + np.sqrt(distance)) ** 2)
