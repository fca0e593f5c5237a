"""Kernels as inner products of features, on unit vectors, and what lifting separates."""

from dataclasses import replace
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.growth import linearly_separable
from deeptheory.kernels.finite.features import (
    laplace_kernel,
    polynomial_features,
    polynomial_kernel,
    quadratic_features,
    rbf_kernel,
)
from deeptheory.kernels.limits.series import gaussian_series, laplace_series, series_kernel, tensor_features
from deeptheory.lab import Exact, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

Dimension = Annotated[int, Interval(ge=2, le=12)]
Points = Annotated[int, Interval(ge=10, le=500)]
Draws = Annotated[int, Interval(ge=1, le=100)]


def sphere(draw, count, dimension):
    """Points on the unit sphere."""
    points = draw.standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@claim(
    items={
        "A3.7": ("quadratic kernel", "number of features"),
        "A3.6": ("quadratic kernel", "eigenvalues are not negative", "rank of the Gram matrix"),
        "L7.1": (
            "squared product in the plane",
            "Gaussian kernel",
            "eigenvalues are not negative",
            "rank of the Gram matrix",
        ),
        "J8.5": "eigenvalues are not negative",
    },
    says=r"$(1+x\cdot y)^q$ is the inner product of the $\binom{d+q}q$ monomials of degree at most $q$, each times "
    r"the root of its multinomial coefficient. Gram matrices of such kernels, of $e^{-\|x-y\|^2/2}$ and of "
    r"$e^{-\|x-y\|}$ have no negative eigenvalue.",
    needs="at least as many points as features, in general position, for the rank",
    symbols={
        r"x,y": r"two inputs of $d$ coordinates",
        r"q": "the degree",
        r"\text{Gram matrix}": "the kernel between all pairs of some points",
    },
    why=r"Multiply the power out: every product of coordinates appears in both arguments, as often as its multinomial "
    r"coefficient says; 28 features for $q=2$, $d=6$, and for $(x\cdot y)^2$ in the plane $x_1^2$, $x_2^2$ and "
    r"$\sqrt2\,x_1x_2$. A matrix of inner products has no negative eigenvalue, and its rank is the number of features "
    r"if there are as many points in general position. The Gaussian and the exponential of the distance are averages "
    r"of waves, inner products with infinitely many features; an arbitrary decreasing function of the distance is not.",
    notice=r"For every pair of points the product of the features is the kernel. Without the factors $\sqrt2$ mixed "
    r"and linear terms count half, and pairs scatter off the line.",
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
        "quadratic kernel": Identity(
            np.stack([left @ right.T, np.asarray(polynomial_kernel(x, other))]),
            np.broadcast_to((1 + products) ** 2, (2, points, points)),
            scale=np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1),
            along={"as": np.array(["features", "kernel"]), "x": x, "other": other},
        ),
        "Gaussian kernel": Identity(np.asarray(rbf_kernel(plane)), np.exp(-(cdist(plane, plane) ** 2) / 2), scale=1.0),
        "cubic kernel": Identity(
            cubes @ cubes.T, (1 + x[:, :2] @ x[:, :2].T) ** 3, scale=np.sum(cubes**2, 1)[:, None] ** 0.5 * np.max(cubes)
        ),
        "squared product in the plane": Identity(
            lifted @ lifted.T,
            (plane @ plane.T) ** 2,
            scale=np.linalg.norm(lifted, axis=1)[:, None] * np.linalg.norm(lifted, axis=1),
        ),
        "number of features": Exact(
            np.array([left.shape[1], cubes.shape[1], lifted.shape[1]]),
            np.array([(dimension + 1) * (dimension + 2) // 2, comb(5, 3), 3]),
        ),
        "rank of the Gram matrix": Exact(
            np.array([np.linalg.matrix_rank(grams["polynomial"]), np.linalg.matrix_rank(grams["quadratic"])]),
            np.array([min(comb(dimension + 2, 2), points), 3]),
        ),
        "eigenvalues are not negative": Inequality(
            -least, 0.0, error=1e-13 * size, along={"kernel": np.array(list(grams))}
        ),
    }


@kernels_are_inner_products.control("features without the factors √2", of="quadratic kernel")
def without_roots(evidence):
    x, other = evidence.along["x"], evidence.along["other"]
    products = x @ other.T
    return replace(evidence, left=1 + products + (products**2 + x**2 @ (other**2).T) / 2)


@kernels_are_inner_products.picture
def features_and_kernel(pieces):
    """Products of monomial features against the kernel (1 + x·y)², for pairs of points."""
    found = pieces["quadratic kernel"]
    kernel, product, without = (
        np.ravel(np.asarray(each)[0][:12, :12]) for each in (found.right, found.left, [without_roots(found).left])
    )
    ends = np.asarray([0.0, 40.0])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("with √2", kernel, product),
            Dots("", kernel, without, rival="without the factors √2"),
        ],
        x="kernel (1 + x·y)²",
        y="product of the features",
        xs=(0, 40),
        ys=(0, 40),
    )


kernels_are_inner_products.control(
    "exp(−‖x − y‖⁴): any decreasing function of the distance", of="eigenvalues are not negative", power=4.0
)


@claim(
    items={
        "A3.8": (
            "distance and inner product",
            "series of the Gaussian kernel",
            "series of the Laplace kernel",
            "coefficients by Cauchy's formula",
            "coefficients are not negative",
            "decay of the coefficients",
            "what a truncated series leaves",
            "features of the series",
            "eigenvalues are not negative",
        )
    },
    consistency=("series of the Gaussian kernel", "series of the Laplace kernel"),
    says=r"On unit vectors $\exp(-\|x-y\|^2)=e^{-2}\sum_k\frac{2^k}{k!}(x\cdot y)^k$ and $\exp(-\|x-y\|)="
    r"\exp(-\sqrt{2-2x\cdot y})$ are power series with positive coefficients, hence inner products of tensor powers; "
    r"the second has coefficients of order $k^{-3/2}/\sqrt{2\pi}$, and its truncation errs by order $k^{-1/2}$.",
    needs="unit vectors",
    symbols={
        r"x,y": r"unit vectors, so that $\|x-y\|^2=2-2x\cdot y$",
        r"k": "the power of the inner product",
    },
    why=r"On the sphere a function of the distance is a function of the inner product. The Gaussian is an exponential "
    r"of it, and $-\sqrt{2-2\rho}$ has a series with positive coefficients but for its constant, which the "
    r"exponential keeps positive. $(x\cdot y)^k$ is the inner product of the $k$-th tensor powers, so the series are "
    r"inner products of features. The root makes the coefficients fall slowly, like $k^{-3/2}$, and what is left like "
    r"$k^{-1/2}$.",
    notice=r"All coefficients are positive. Those of the Gaussian kernel vanish faster than any power, those of the "
    r"exponential of the distance settle on $k^{-3/2}/\sqrt{2\pi}$.",
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
        "distance and inner product": Identity(
            distances[away] ** 2, 2 - 2 * products[away], scale=4.0, along={"product": products[away]}
        ),
        "series of the Gaussian kernel": Identity(
            series_kernel(gaussian_series(25), products), np.asarray(rbf_kernel(x, scale=0.5**0.5)), scale=1.0
        ),
        "series of the Laplace kernel": Identity(
            series_kernel(long[:2000], products[apart]), np.asarray(laplace_kernel(x))[apart], scale=1.0
        ),
        "coefficients by Cauchy's formula": Identity(series * 0.9 ** np.arange(60), cauchy, scale=1.0),
        "coefficients are not negative": Inequality(-series, 0.0),
        "decay of the coefficients": Identity(
            long[orders] * orders**1.5, 1 / np.sqrt(2 * np.pi), error=1.0 / orders, along={"order": orders}
        ),
        "what a truncated series leaves": Rate(orders, left_over, exponent=-0.5, rivals=(-1.0, -1.5)),
        "features of the series": Identity(
            np.array([each @ each.T for each in features]), np.einsum("sk,kij->sij", short, powers), scale=1.0
        ),
        "eigenvalues are not negative": Inequality(
            -np.linalg.eigvalsh(kernel)[:1], 0.0, error=1e-13 * points, along={"kernel": np.array(["Laplace"])}
        ),
    }


@kernels_of_unit_vectors.picture
def coefficients_of_two_kernels(pieces):
    """Coefficients of two kernels in powers of the inner product, from their series and by Cauchy's formula."""
    found, k = pieces["coefficients by Cauchy's formula"], np.arange(1, 60)
    marks = []
    for name, series, cauchy in zip(("exp(−‖x − y‖²)", "exp(−‖x − y‖)"), found.left, found.right, strict=True):
        marks += [Line(name, k, series[1:] / 0.9**k), Dots(name, k[::3], (cauchy[1:] / 0.9**k)[::3])]
    marks += [
        Line("k^(−3/2)/√(2π)", k, k**-1.5 / np.sqrt(2 * np.pi)),
        Line("", k, k**-1.5 / np.sqrt(np.pi), rival="k^(−3/2)/√π"),
    ]
    return Curves(marks, x="power k", y="coefficient", log="xy", ys=(1e-4, 1))


kernels_of_unit_vectors.control("exp(+‖x − y‖)", of="eigenvalues are not negative", sign="plus")


@kernels_of_unit_vectors.control("the radicand 1 − 2x·y", of="distance and inner product")
def printed_radicand(evidence):
    return replace(evidence, right=1 - 2 * evidence.along["product"])


@kernels_of_unit_vectors.control("a constant 1/√π in the decay", of="decay of the coefficients")
def other_constant(evidence):
    return replace(evidence, right=1 / np.sqrt(np.pi))


@claim(
    items={"L7.2": ("separable in the plane", "separable when lifted", "a circle separates")},
    says=r"Two concentric rings are separated by no line in the plane, and by a plane after the lift "
    r"$(x_1^2,x_2^2,\sqrt2x_1x_2)$, one whose boundary is a circle $x_1^2+x_2^2=c$; a linear program decides both.",
    needs="rings that do not overlap, the outer one all around",
    symbols={"x_1,x_2": "the coordinates of a point", "c": "the square of a radius between the rings"},
    why="A line that parts two sets parts their convex hulls, and the inner ring lies in the hull of the outer one. "
    "After the lift $x_1^2+x_2^2$ is a linear function of the new coordinates, so a circle between the rings has "
    "become a plane.",
    notice=r"Left, no line has the rings on different sides. Right, in the first two coordinates of the lift, the "
    r"rings are two strips along parallel lines, with a straight line between them.",
)
def rings_separate_when_lifted(
    key,
    *,
    points: Annotated[int, Interval(ge=20, le=500)] = 100,
    draws: Draws = 8,
    width: Annotated[float, Interval(ge=0.01, le=2.0)] = 0.1,
    around: Annotated[float, Interval(ge=0.05, le=1)] = 1.0,
    lift: Literal["quadratic", "product"] = "quadratic",
):
    draw = generator(key)
    said, enclosed = np.empty((2, draws), bool), np.empty(draws, bool)
    inside, outside = np.empty((2, draws))
    inner = np.arange(points) < points // 2
    labels = np.where(inner, 1.0, -1.0)
    for index in range(draws):
        # No gap of a ring is wider than two even steps, so that with twenty points the outer one is all around.
        turn = np.concatenate([np.arange(each) / each for each in (inner.sum(), (~inner).sum())])
        turn += draw.uniform(0, 2 / points, points)
        angle = 2 * np.pi * turn * np.where(inner, 1.0, around)
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
        "separable in the plane": Exact(
            np.stack([said[0], ~enclosed]), np.zeros((2, draws), bool), along={"by": ["program", "hull"], **along}
        ),
        "separable when lifted": Exact(said[1], np.ones(draws, bool), along=along),
        "a circle separates": Inequality(
            inside, outside, along=along, aside={"points": x, "lifted": lifted[:, :2], "inner": inner}
        ),
    }


@rings_separate_when_lifted.picture
def before_and_after(pieces):
    """Two rings in the plane, and where the lift puts them; the line is the circle halfway between them."""
    circle = pieces["a circle separates"]
    inner, level = circle.aside["inner"], (circle.quantity[-1] + circle.bound[-1]) / 2
    angle, size = np.linspace(0, 2 * np.pi, 100), np.sqrt(level)
    dots = [
        [Dots(name, places[chosen, 0], places[chosen, 1]) for name, chosen in (("inner", inner), ("outer", ~inner))]
        for places in (circle.aside["points"], circle.aside["lifted"])
    ]
    border = Line("border", size * np.cos(angle), size * np.sin(angle)), Line("border", [0, level], [level, 0])
    return Row(
        [
            Plane([*dots[0], border[0]], x="first coordinate x₁", y="second coordinate x₂"),
            Plane([*dots[1], border[1]], x="first feature x₁²", y="second feature x₂²"),
        ]
    )


rings_separate_when_lifted.control("rings that overlap", of="separable when lifted", width=0.8)
rings_separate_when_lifted.control("the lift (x₁, x₂, x₁x₂)", of="separable when lifted", lift="product")


rings_separate_when_lifted.control("a quarter of an outer ring", of="separable in the plane", around=0.25)
