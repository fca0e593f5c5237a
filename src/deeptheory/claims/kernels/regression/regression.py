"""Kernels, their features, and regression with them: interpolation of least norm without ever forming a feature.

arora 3.2, lucchi 7.1, jagannath 8.3, handbook 6.4.
"""

from dataclasses import replace
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.linalg import null_space
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.growth import linearly_separable
from deeptheory.implicit_bias.least_squares import nearest_solution, unseen_projection
from deeptheory.kernels.finite.features import (
    laplace_kernel,
    polynomial_features,
    polynomial_kernel,
    quadratic_features,
    rbf_kernel,
    train_features,
)
from deeptheory.kernels.limits.series import gaussian_series, laplace_series, series_kernel, tensor_features
from deeptheory.kernels.regression.mercer import brownian_kernel, minimum_norm_square, rkhs_norm_square
from deeptheory.kernels.regression.predictions import diagonalize, interpolation, predicted, ridge_regression
from deeptheory.lab import Count, Exact, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

Dimension = Annotated[int, Interval(ge=2, le=12)]
Points = Annotated[int, Interval(ge=10, le=500)]
Draws = Annotated[int, Interval(ge=1, le=100)]


def sphere(draw, count, dimension):
    """Points on the unit sphere."""
    points = draw.standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def scattered(draw, count):
    """Increasing points of (0, 1), irregular but not too close together."""
    return (np.arange(count) + draw.uniform(0.3, 0.9, count)) / count


@claim(
    items={
        "A3.7": ("polynomial", "count"),
        "A3.6": ("polynomial", "positive", "rank"),
        "L7.1": ("squared product", "Gaussian", "positive", "rank"),
        "J8.5": "positive",
    },
    says=r"$(1+x\cdot y)^q$ is the inner product of the $\binom{d+q}q$ monomials of degree at most $q$, each times the "
    r"root of its multinomial coefficient (28 for $q=2$, $d=6$), and $(x\cdot y)^2$ in the plane that of "
    r"$(x_1^2,x_2^2,\sqrt2x_1x_2)$; Gram matrices of these, of $e^{-\|x-y\|^2/2}$ and of $e^{-\|x-y\|}$ have no "
    r"negative eigenvalue, and the rank of the first two is the number of features.",
    needs="more points than features, in general position, for the rank",
)
def kernels_are_inner_products(
    key, *, dimension: Dimension = 6, points: Points = 50, power: Annotated[float, Interval(ge=1, le=8)] = 2.0
):
    draw = generator(key)
    x, other, plane = (draw.standard_normal((points, size)) for size in (dimension, dimension, 2))
    products = x @ other.T
    left, right = (np.asarray(polynomial_features(each)) for each in (x, other))
    cubes = np.asarray(polynomial_features(x[:, :2], degree=3))
    lifted = np.asarray(quadratic_features(plane))
    grams = {
        "polynomial": np.asarray(polynomial_kernel(x)),
        "quadratic": lifted @ lifted.T,
        "Gaussian": np.asarray(rbf_kernel(plane)) if power == 2 else np.exp(-(cdist(plane, plane) ** power)),
        "Laplace": np.asarray(laplace_kernel(x)),
    }
    least = np.array([np.linalg.eigvalsh(gram)[0] for gram in grams.values()])
    size = np.array([np.trace(gram) for gram in grams.values()])
    return {
        "polynomial": Identity(
            np.stack([left @ right.T, np.asarray(polynomial_kernel(x, other))]),
            np.broadcast_to((1 + products) ** 2, (2, points, points)),
            scale=np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1),
            along={"as": np.array(["features", "kernel"]), "x": x, "other": other},
        ),
        "Gaussian": Identity(np.asarray(rbf_kernel(plane)), np.exp(-(cdist(plane, plane) ** 2) / 2), scale=1.0),
        "cubic": Identity(
            cubes @ cubes.T, (1 + x[:, :2] @ x[:, :2].T) ** 3, scale=np.sum(cubes**2, 1)[:, None] ** 0.5 * np.max(cubes)
        ),
        "squared product": Identity(
            lifted @ lifted.T,
            (plane @ plane.T) ** 2,
            scale=np.linalg.norm(lifted, axis=1)[:, None] * np.linalg.norm(lifted, axis=1),
        ),
        "count": Exact(
            np.array([left.shape[1], cubes.shape[1], lifted.shape[1]]),
            np.array([(dimension + 1) * (dimension + 2) // 2, comb(5, 3), 3]),
        ),
        "rank": Exact(
            np.array([np.linalg.matrix_rank(grams["polynomial"]), np.linalg.matrix_rank(grams["quadratic"])]),
            np.array([min(comb(dimension + 2, 2), points), 3]),
        ),
        "positive": Inequality(-least, 0.0, error=1e-13 * size, along={"kernel": np.array(list(grams))}),
    }


@kernels_are_inner_products.control("features without the factors √2", of="polynomial")
def without_roots(evidence):
    x, other = evidence.along["x"], evidence.along["other"]
    products = x @ other.T
    return replace(evidence, left=1 + products + (products**2 + x**2 @ (other**2).T) / 2)


kernels_are_inner_products.control("exp(−‖x − y‖⁴): any decreasing function of the distance", of="positive", power=4.0)


@claim(
    items={
        "A3.8": (
            "distance",
            "Gaussian",
            "Laplace",
            "coefficients",
            "nonnegative",
            "decay",
            "truncated",
            "features",
            "positive",
        )
    },
    consistency=("Gaussian", "Laplace"),
    says=r"On unit vectors $\exp(-\|x-y\|^2)=e^{-2}\sum_k\frac{2^k}{k!}(x\cdot y)^k$ and $\exp(-\|x-y\|)="
    r"\exp(-\sqrt{2-2x\cdot y})$ are power series with positive coefficients, hence inner products of tensor powers; "
    r"the second has coefficients of order $k^{-3/2}/\sqrt{2\pi}$, and its truncation errs by order $k^{-1/2}$.",
    needs="unit vectors",
)
def kernels_of_unit_vectors(
    key,
    *,
    dimension: Annotated[int, Interval(ge=2, le=4)] = 3,
    points: Annotated[int, Interval(ge=5, le=200)] = 40,
    sign: Literal["minus", "plus"] = "minus",
):
    draw = generator(key)
    x = sphere(draw, points, dimension)
    distances = cdist(x, x)
    products = x @ x.T
    away = np.triu_indices(points, 1)
    # Taylor coefficients once more, by Cauchy's integral over a circle of radius 0.9.
    circle = 0.9 * np.exp(2j * np.pi * np.arange(2048) / 2048)
    around = [np.exp(2 * circle - 2), np.exp(-np.sqrt(2 - 2 * circle))]
    cauchy = np.real(np.fft.fft(around, axis=1))[:, :60] / 2048
    series = np.array([gaussian_series(60), laplace_series(60)])
    long = laplace_series(2**16)
    orders = 2 ** np.arange(10, 16)
    left_over = np.array([1 - long[:order].sum() for order in orders])
    short = np.array([gaussian_series(6), laplace_series(6)])
    features = [np.asarray(tensor_features(coefficients, x)) for coefficients in short]
    powers = products[None] ** np.arange(6)[:, None, None]
    kernel = np.asarray(laplace_kernel(x)) if sign == "minus" else np.exp(distances)
    # Far from t = 1 two thousand terms of the Laplace series are the whole of it.
    apart = np.abs(products) < 0.98
    return {
        "distance": Identity(
            distances[away] ** 2, 2 - 2 * products[away], scale=4.0, along={"product": products[away]}
        ),
        "Gaussian": Identity(
            series_kernel(gaussian_series(25), products), np.asarray(rbf_kernel(x, scale=0.5**0.5)), scale=1.0
        ),
        "Laplace": Identity(
            series_kernel(long[:2000], products[apart]), np.asarray(laplace_kernel(x))[apart], scale=1.0
        ),
        "coefficients": Identity(series * 0.9 ** np.arange(60), cauchy, scale=1.0),
        "nonnegative": Inequality(-series, 0.0),
        "decay": Identity(
            long[orders] * orders**1.5, 1 / np.sqrt(2 * np.pi), error=1.0 / orders, along={"order": orders}
        ),
        "truncated": Rate(orders, left_over, exponent=-0.5, rivals=(-1.0, -1.5)),
        "features": Identity(
            np.array([each @ each.T for each in features]), np.einsum("sk,kij->sij", short, powers), scale=1.0
        ),
        "positive": Inequality(
            -np.linalg.eigvalsh(kernel)[:1], 0.0, error=1e-13 * points, along={"kernel": np.array(["Laplace"])}
        ),
    }


kernels_of_unit_vectors.control("exp(+‖x − y‖)", of="positive", sign="plus")


@kernels_of_unit_vectors.control("the radicand 1 − 2x·y", of="distance")
def printed_radicand(evidence):
    return replace(evidence, right=1 - 2 * evidence.along["product"])


@kernels_of_unit_vectors.control("a constant 1/√π in the decay", of="decay")
def other_constant(evidence):
    return replace(evidence, right=1 / np.sqrt(np.pi))


@claim(
    items={"L7.2": ("plane", "lifted", "circle")},
    says=r"Two concentric rings are separated by no line in the plane, and by a plane after the lift "
    r"$(x_1^2,x_2^2,\sqrt2x_1x_2)$, one whose boundary is a circle $x_1^2+x_2^2=c$; a linear program decides both.",
    needs="rings that do not overlap, the outer one all around",
    symbols={"x_1,x_2": "the coordinates of a point", "c": "the square of a radius between the rings"},
    why=r"A line that parts two sets parts their convex hulls, and the inner ring lies in the hull of the outer one. "
    r"After the lift "
    r"$x_1^2+x_2^2$ is a linear function of the new coordinates, so a circle between the rings has become a plane.",
    notice=r"Left no line has the rings on different sides. Right, in the first two coordinates of the lift, the rings "
    r"are two strips along parallel lines, "
    r"with a straight line between them.",
)
def rings_separate_when_lifted(
    key,
    *,
    points: Points = 100,
    draws: Draws = 8,
    width: Annotated[float, Interval(ge=0.01, le=2.0)] = 0.1,
    lift: Literal["quadratic", "product"] = "quadratic",
):
    draw = generator(key)
    said, enclosed = np.empty((2, draws), bool), np.empty(draws, bool)
    inside, outside = np.empty((2, draws))
    inner = np.arange(points) < points // 2
    labels = np.where(inner, 1.0, -1.0)
    for index in range(draws):
        angle = draw.uniform(0, 2 * np.pi, points)
        radius = np.where(inner, 1.0, 2.0) + draw.uniform(-width, width, points)
        x = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        lifted = np.asarray(quadratic_features(x)) if lift == "quadratic" else np.column_stack([x, x.prod(1)])
        said[:, index] = linearly_separable(x, labels), linearly_separable(lifted, labels)
        # A point of one class in a triangle of the other: then no line can part them.
        enclosed[index] = np.any(Delaunay(x[~inner]).find_simplex(x[inner]) >= 0)
        height = lifted @ (1, 1, 0)
        inside[index], outside[index] = height[inner].max(), height[~inner].min()
    along = {"draw": np.arange(draws)}
    return {
        "plane": Exact(said[0], ~enclosed, along=along),
        "lifted": Exact(said[1], np.ones(draws, bool), along=along),
        "circle": Inequality(
            inside, outside, along=along, aside={"points": x, "lifted": lifted[:, :2], "inner": inner}
        ),
    }


@rings_separate_when_lifted.picture
def before_and_after(pieces):
    """Two rings in the plane, and where the lift puts them; the line is the circle halfway between them."""
    circle = pieces["circle"]
    inner, level = circle.aside["inner"], (circle.quantity[-1] + circle.bound[-1]) / 2
    angle, size = np.linspace(0, 2 * np.pi, 100), np.sqrt(level)
    dots = [
        [Dots(name, places[chosen, 0], places[chosen, 1]) for name, chosen in (("inner", inner), ("outer", ~inner))]
        for places in (circle.aside["points"], circle.aside["lifted"])
    ]
    border = Line("border", size * np.cos(angle), size * np.sin(angle)), Line("border", [0, level], [level, 0])
    return Row(
        [
            Plane([*dots[0], border[0]], x="x₁", y="x₂"),
            Plane([*dots[1], border[1]], x="x₁²", y="x₂²"),
        ]
    )


rings_separate_when_lifted.control("rings that overlap", of="lifted", width=0.8)
rings_separate_when_lifted.control("the lift (x₁, x₂, x₁x₂)", of="lifted", lift="product")


@rings_separate_when_lifted.control("separable as they are", of="plane")
def without_lift(evidence):
    return replace(evidence, right=~evidence.right)


@claim(
    items={
        "A3.9": ("features", "interpolates", "broken line"),
        "L7.4": ("features", "interpolates", "broken line"),
        "L7.3": ("representer", "regularized", "projection", "norm"),
    },
    says=r"$K_x^\top K^{-1}y$ passes through the data and equals $\phi(x)^\top\Phi^+y$, least squares of least norm in "
    r"the features (for the kernel $\min(x,x')$: the broken line through the data); projecting any minimizer of "
    r"$\|\Phi\theta-y\|^2$ on the span of the $\phi(x_i)$ keeps its fit, never lengthens it, and gives this function; "
    r"$K_x^\top(K+\rho)^{-1}y$ is the ridge solution.",
    needs="K invertible (so p ≥ n)",
    full=dict(draws=16),
    symbols={
        "K,K_x": "the kernel between the data, and between them and another point $x$",
        r"\phi,\Phi": r"the features of a point, and those of all data as rows",
        r"\theta": "the weights of the features",
        r"\rho": "a ridge",
    },
    why=r"Every $\theta$ splits into a part in the span of the data's features and one orthogonal to it. The latter "
    r"does nothing on the data and only makes "
    r"$\theta$ longer, so the shortest minimizer, and every regularized one, is a combination of the features of the "
    r"data. Its coefficients solve a system in "
    r"which features appear in inner products alone: that is the kernel.",
    notice=r"For the kernel $\min(x,x')$ the shortest function through the data is the broken line that joins them, "
    r"from the origin on, where all functions of this "
    r"space vanish.",
)
def kernel_regression_is_least_norm(
    key, *, draws: Draws = 3, minimizer: Literal["projected", "arbitrary"] = "projected"
):
    draw = generator(key)
    observed = {name: [] for name in ("features", "interpolates", "representer", "regularized", "projection")}
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
                "features": (np.append(found, predicted(basis, interpolation(), y, cross)), np.tile(far @ least, 2)),
                "interpolates": (np.asarray(ridge_regression(kernel, y, kernel, ridge=0.0)), y),
                "representer": (far @ function, found),
                "regularized": (np.asarray(ridge_regression(kernel, y, cross, ridge=0.3)), far @ ridged),
                "projection": (features @ projected, y),
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
            scale=np.max(np.abs(np.concatenate(expected["features"]))),
            condition=worst,
            size=60,
        )
        for name in observed
    }
    return pieces | {
        "norm": Identity(np.array(lengths), np.array(parts), condition=worst),
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
        x="x",
        y="value",
    )


kernel_regression_is_least_norm.control(
    "a minimizer of the unregularized loss that is not the shortest", of="representer", minimizer="arbitrary"
)


@kernel_regression_is_least_norm.control("the broken line is not drawn from the origin", of="broken line")
def flat_before_the_first(evidence):
    return replace(evidence, right=evidence.along["without the origin"])


@claim(
    items={
        "A3.11": ("norm", "interpolants", "larger", "energy", "features"),
        "H6.7": ("start", "descent", "larger", "vanishing"),
    },
    consistency=("norm",),
    says=r"Of all functions through the data $h=\sum_i\alpha_iK(\cdot,x_i)$, $\alpha=G^{-1}y$, has the least norm, "
    r"$\|h\|^2=y^\top G^{-1}y$: any other has $\|g\|^2=\|h\|^2+\|g-h\|^2$. From a start $f_0$ kernel descent ends at "
    r"the "
    r"interpolant with $\|f_\infty-f_0\|^2=r^\top\Theta^{-1}r$, $r=y-f_0(X)$, the least of all.",
    needs="an invertible Gram matrix of the data",
    symbols={
        "h": "the interpolant made of the data's kernels, $g$ any other, also with further centres",
        r"\alpha": "its weights",
        "G": "the kernel matrix of the data",
        r"f_0,f_\infty": "the function before and after descent; $f_k(X)=y-(I-\\eta\\Theta)^kr$ on the way",
        r"\Theta": "the kernel that trains, on the data",
    },
    why=r"$g-h$ vanishes at the data, so by the reproducing property it is orthogonal to every $K(\cdot,x_i)$ and "
    r"hence to $h$: Pythagoras. Descent moves "
    r"only in the span of the data's kernels, so $f_\infty-f_0$ is such an $h$ for the residual $r$. For $\min(x,x')$ "
    r"the norm is $\int h'^2$, for "
    r"features that of their weights.",
    notice=r"Each dot is another interpolant. Its squared norm is that of $h$ and its squared distance from $h$ "
    r"together, so all lie on one line "
    r"of slope one above the least norm.",
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
        "norm": Identity(
            np.array([rkhs_norm_square(data, dual)]),
            np.array([least]),
            condition=condition,
            along={"of the weights": np.array([dual @ dual])},
        ),
        # The interpolants nearest to random weights, each a different one.
        "interpolants": Identity(
            weights, nearest, scale=np.max(np.abs(weights), 1)[:, None], condition=condition, size=points + others
        ),
        "larger": Identity(
            norms,
            least + excess,
            scale=norms + excess,
            condition=condition,
            size=points + others,
            aside={"least": np.array(least), "distance": excess},
        ),
        "energy": Identity(
            np.array(energies), np.sum(slopes**2 * np.diff(x, prepend=0)), condition=np.linalg.cond(brownian)
        ),
        "features": Identity(
            np.array([np.sum(np.linalg.lstsq(features, y)[0] ** 2)]),
            np.array([minimum_norm_square(kernel, y)]),
            condition=np.linalg.cond(kernel),
        ),
        "start": Identity(
            np.array([moved]),
            np.array([minimum_norm_square(kernel, residual)]),
            condition=np.linalg.cond(kernel),
            size=40,
            along={"without the start": np.array([minimum_norm_square(kernel, y)])},
        ),
        "descent": Identity(y - features @ early, left, scale=np.max(np.abs(residual)), size=40),
        "vanishing": Identity(
            np.sum((final[:, None] + aside - theta[:, None]) ** 2, 0),
            moved + np.sum(aside**2, 0),
            condition=np.linalg.cond(kernel),
            size=40,
        ),
    }


@least_norm_interpolant.control("yᵀΘ⁻¹y, the start forgotten", of="start")
def start_forgotten(evidence):
    return replace(evidence, right=evidence.along["without the start"])


@least_norm_interpolant.control("αᵀα, the norm of the weights", of="norm")
def norm_of_weights(evidence):
    return replace(evidence, right=evidence.along["of the weights"])


@least_norm_interpolant.picture
def pythagoras(pieces):
    """Squared norms of other interpolants, less the least, against their squared distances from the shortest one."""
    larger = pieces["larger"]
    distance, least = larger.aside["distance"], float(larger.aside["least"])
    ends = np.array([distance.min(), distance.max()])
    return Curves(
        [Line("‖g − h‖²", ends, ends), Dots("interpolants", distance, larger.left - least)],
        x="squared distance from h",
        y="squared norm less the least",
        log="xy",
    )


@least_norm_interpolant.control("norms that add up without their squares", of="larger")
def without_squares(evidence):
    least, distance = evidence.aside["least"], evidence.aside["distance"]
    return replace(evidence, right=(np.sqrt(least) + np.sqrt(distance)) ** 2)
