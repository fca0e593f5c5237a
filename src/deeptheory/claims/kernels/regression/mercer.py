"""Kernels as sums: over the eigenfunctions of an integral operator, and over random features.

jagannath 8.3.
"""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf

from deeptheory.kernels.finite.features import (
    feature_limit_kernel,
    fourier,
    fourier_variance,
    init_random_features,
    rbf_kernel,
)
from deeptheory.kernels.layers.activations import Cos, Erf, Relu
from deeptheory.kernels.limits.series import hermite_series, series_kernel
from deeptheory.kernels.regression.mercer import (
    brownian_eigenfunctions,
    brownian_kernel,
    gaussian_eigenfunctions,
    mercer_kernel,
    mercer_norm_square,
    nystrom,
)
from deeptheory.lab import Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, compared, power_law

ACTIVATIONS = {"ReLU": (jax.nn.relu, Relu()), "erf": (erf, Erf()), "cosine": (jax.numpy.cos, Cos())}


@claim(
    items={
        "J8.5": (
            "Gaussian kernel: eigenfunctions",
            "Gaussian kernel: orthonormal",
            "Gaussian kernel: sum of the expansion",
            "Gaussian kernel: by a matrix",
            "min(x, x′): eigenfunctions",
            "min(x, x′): what N terms leave",
            "min(x, x′): norm of a function",
        )
    },
    says=r"$K(x,x')=\sum_i\lambda_i\phi_i(x)\phi_i(x')$ with eigenfunctions orthonormal for $\mu$: Hermite functions "
    r"and geometric $\lambda_k$ for the Gaussian kernel and measure, $\sqrt2\sin((k-\frac12)\pi x)$ and "
    r"$((k-\frac12)\pi)^{-2}$ for $\min(x,x')$, where $\|f\|^2=\sum_ic_i^2/\lambda_i=\int f'^2$.",
    needs="a continuous kernel and a finite measure",
    symbols={
        r"\mu": (
            r"the measure of the operator $\phi\mapsto\int K(\cdot,x)\phi(x)d\mu$; uniform on $[0,1]$ for $\min(x,x')$"
        ),
        r"\lambda_i,\phi_i": "its eigenvalues and eigenfunctions",
        r"c_i": r"the coefficients of $f$ in the eigenfunctions; for $\min(x,x')$ with $f(0)=0$",
    },
    why=r"A kernel is a symmetric operator without negative eigenvalues, and like a matrix it is the sum of its "
    r"eigenvalues times its eigenfunctions, twice each. A function has the norm of the kernel's space if directions "
    r"of small eigenvalue count for more: for $\min(x,x')$, whose inverse is minus the second derivative, that is the "
    r"integral of $f'^2$. There $N$ terms leave $\frac2{\pi^2N}(1-\frac1{12N^2}+O(N^{-4}))$ at $x=1$. For the "
    r"Gaussian kernel Nyström's method, the eigenvectors of a matrix on quadrature points, finds the same functions.",
    notice=r"The operator of the Gaussian kernel, applied to a Hermite function by quadrature, gives it back times "
    r"its eigenvalue: dots on curves. The next eigenvalue in its place is too small.",
)
def mercer_expansion(
    *,
    width: Annotated[float, Interval(ge=0.75, le=3.0)] = 0.8,
    deviation: Annotated[float, Interval(ge=0.5, le=1.4)] = 1.3,
):
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    nodes, weights = deviation * nodes, weights / weights.sum()

    def kernel(x, other):
        return np.exp(-((x - other.T) ** 2) / (2 * width**2))

    grid = np.linspace(-3, 3, 31)
    values, functions = gaussian_eigenfunctions(10, scale=width, deviation=deviation)
    at = functions(nodes)
    image = kernel(grid[:, None], nodes[:, None]) @ (weights[:, None] * at)
    many = gaussian_eigenfunctions(400, scale=width, deviation=deviation)
    found = nystrom(kernel, nodes[:, None], weights, count=10)
    theirs, ours = found.functions(grid[:, None]), functions(grid)
    counts = 2 ** np.arange(3, 11)
    everything, sines = brownian_eigenfunctions(1024)
    terms = [everything[:count] * sines(np.array([1.0]))[0, :count] ** 2 for count in counts]
    # Gauss–Legendre on both sides of 0.3, where min(x, 0.3) has its kink.
    panel, lengths = np.polynomial.legendre.leggauss(200)
    points = np.concatenate([0.15 + 0.15 * panel, 0.65 + 0.35 * panel])
    lengths = np.concatenate([0.15 * lengths, 0.35 * lengths])
    first, waves = brownian_eigenfunctions(100)
    # The coefficients of f = x − x²/2 fall like k⁻³: what a hundred of them leave out of the norm is 2/(3π⁴ 100³).
    coefficients = (lengths * (points - points**2 / 2)) @ waves(points)
    projected = (lengths * brownian_kernel(points[:, None], np.array([[0.3]]))[:, 0]) @ waves(points)
    return {
        "Gaussian kernel: eigenfunctions": Identity(
            image, ours * values, scale=1.0, size=120, along={"x": grid, "values": values}
        ),
        "Gaussian kernel: orthonormal": Identity((at * weights[:, None]).T @ at, np.eye(10), scale=1.0, size=120),
        "Gaussian kernel: sum of the expansion": Identity(
            mercer_kernel(many.values, many.functions(grid), many.functions(grid)),
            np.asarray(rbf_kernel(grid[:, None], scale=width)),
            scale=1.0,
            size=400,
        ),
        # Eigenvalues below the largest are known to rounding of the largest; functions come with a sign of their own.
        "Gaussian kernel: by a matrix": Identity(
            np.concatenate([found.values[None], theirs[:, :4] @ theirs[:, :4].T], axis=None),
            np.concatenate([values[None], ours[:, :4] @ ours[:, :4].T], axis=None),
            scale=np.max(ours**2),
            condition=values[0] / values[3],
            size=120,
        ),
        # The next term is 7/240N⁴ of the first.
        "min(x, x′): what N terms leave": Identity(
            np.array([1 - part.sum() for part in terms]),
            2 / (np.pi**2 * counts) * (1 - 1 / (12 * counts**2)),
            error=0.01 * counts**-5.0,
            scale=1.0,
        ),
        "min(x, x′): eigenfunctions": Identity(projected, first * waves(np.array([0.3]))[0], scale=1.0, size=400),
        "min(x, x′): norm of a function": Identity(
            np.array([mercer_norm_square(first, coefficients) + 2 / (3 * np.pi**4 * 100.0**3)]),
            np.array([1 / 3]),
            error=1e-12,
            along={"without eigenvalues": np.array([np.sum(coefficients**2)])},
        ),
    }


@mercer_expansion.picture
def images_of_eigenfunctions(pieces):
    """Images of the first eigenfunctions under the operator of the Gaussian kernel: by quadrature, and as multiples."""
    found = pieces["Gaussian kernel: eigenfunctions"]
    x, shift, marks = found.along["x"], shifted(found).right, []
    for k in range(3):
        marks += [Line(f"λφ, number {k}", x, found.right[:, k]), Dots(f"λφ, number {k}", x, found.left[:, k])]
        marks += [Line("", x, shift[:, k], rival="the next eigenvalue")]
    return Curves(marks, x="place x", y="image of the eigenfunction")


@mercer_expansion.control("eigenvalues shifted by one", of="Gaussian kernel: eigenfunctions")
def shifted(evidence):
    values = evidence.along["values"]
    return replace(evidence, right=evidence.right / values * np.append(values[1:], 0))


@mercer_expansion.control("(kπ)⁻², the eigenvalues of the bridge", of="min(x, x′): what N terms leave")
def bridge(evidence):
    counts = 2 ** np.arange(3, 11)
    left = np.array([1 - np.sum(2 / (np.arange(1, count + 1) * np.pi) ** 2) for count in counts])
    return replace(evidence, left=left)


@mercer_expansion.control("the norm of the square-integrable functions", of="min(x, x′): norm of a function")
def plain_norm(evidence):
    return replace(evidence, left=evidence.along["without eigenvalues"])


@claim(
    items={
        "J8.7": (
            "kernel of one model",
            "mean of the kernel",
            "variance of the kernel",
            "distance from the limit",
            "limit by Hermite coefficients",
        )
    },
    says=r"The kernel $K_m(x,x')=\frac1m\sum_l\sigma(w_l\cdot x)\sigma(w_l\cdot x')$ of random features has the limit "
    r"as its mean and errs by order $m^{-1/2}$; for random Fourier features the variance is exactly "
    r"$(1+\frac12e^{-2\delta^2}-e^{-\delta^2})/m$ at distance $\delta$.",
    needs="standard normal directions; a uniform phase for the Fourier features",
    symbols={
        r"m": "the number of features",
        r"w_l": "their directions, standard normal",
        r"\sigma": (
            r"the activation, with Hermite coefficients $u_k$; for Fourier features $\sqrt2$ times a cosine with a "
            r"random phase"
        ),
        r"\delta": r"the distance of $x$ and $x'$",
    },
    why=r"The features are independent, so $K_m$ is a mean of $m$ independent products: right on average, and off by "
    r"the root of their variance over $m$. For Fourier features the products are cosines of Gaussian variables, whose "
    r"first and second moments are known. On the sphere the limit is $\sum_ku_k^2(x\cdot x')^k$ for any activation, "
    r"since Hermite polynomials of two Gaussians with correlation $\rho$ have the mean product $\rho^k$.",
    notice=r"Left, the variance of one feature's product by the distance of the inputs; what the second moment would "
    r"be lies above it wherever the kernel is not zero. Right, the kernel of $m$ features is off by order $m^{-1/2}$.",
    full=dict(sizes=(4, 16, 64, 256), trials=40_000),
)
def random_features_average_to_a_kernel(key, *, sizes: Sizes = (4, 16, 64), trials: Trials = 24_000):
    x = np.array([[0.0, 0.0], [0.5, 0.2], [-0.8, 1.0]])
    pairs = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 2])
    count = trials * max(sizes)
    model = init_random_features(key, inputs=2, count=count, activation=fourier, random_phases=True)
    features = np.asarray(model.features(x)) * count**0.5
    products = features[pairs[0]] * features[pairs[1]]
    # One model's features, cut into as many kernels of m features each as there are trials.
    kernels = np.array([products[:, : trials * size].reshape(4, trials, size).mean(2) for size in sizes])
    limit = np.asarray(rbf_kernel(x))[pairs]
    gaps = kernels - limit[:, None]
    along = {"features": np.array(sizes), "pair": np.arange(4)}
    cosines = np.linspace(-1, 1, 21)
    circle = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    series, closed = [], []
    for name, (function, activation) in ACTIVATIONS.items():
        # A kink makes the series of the ReLU end slowly at ±1; at ½ sixty terms leave nothing.
        kept = np.abs(cosines) <= (0.5 if name == "ReLU" else 1.0)
        series.append(series_kernel(hermite_series(function, 60), cosines)[kept])
        closed.append(np.asarray(feature_limit_kernel(circle, circle[-1:], activation=activation))[kept, 0])
    whole = np.asarray(model.kernel(x))[pairs]
    return {
        "kernel of one model": Identity(whole, products.mean(1), scale=2.0, size=count),
        "mean of the kernel": Law(limit, kernels, exact=True, scale=1.0, along=along),
        # Squares of nearly normal numbers spread by 1.4 of their mean: 24,000 of them resolve it to 5 % on either side.
        "variance of the kernel": Law(
            np.asarray(fourier_variance(x))[pairs],
            gaps**2 * np.array(sizes)[:, None, None],
            exact=True,
            along=along | {"kernel": limit},
            resolution=0.1,
        ),
        "distance from the limit": Rate(
            np.array(sizes), np.sqrt(np.mean(gaps**2, axis=1)), exponent=-0.5, rivals=(-1.0, 0.0), resolution=0.1
        ),
        "limit by Hermite coefficients": Identity(np.concatenate(series), np.concatenate(closed), scale=1.0, size=512),
    }


@random_features_average_to_a_kernel.control("the second moment for the variance", of="variance of the kernel")
def not_centred(evidence):
    return replace(evidence, predicted=evidence.predicted + evidence.along["kernel"] ** 2)


@random_features_average_to_a_kernel.control("a kernel exp(−δ²)", of="mean of the kernel")
def wider_kernel(evidence):
    return replace(evidence, predicted=evidence.predicted**2)


@random_features_average_to_a_kernel.picture
def variance_by_distance(pieces):
    """Variance of the kernel of random Fourier features by distance, times their number; and its error by number."""
    found = pieces["variance of the kernel"]
    distance = np.sqrt(-2 * np.log(found.along["kernel"]))
    return Row(
        [
            compared(
                distance,
                lambda d: 1 + np.exp(-2 * d**2) / 2 - np.exp(-(d**2)),
                found.observed[-1],
                rivals={"the second moment": lambda d: 1 + np.exp(-2 * d**2) / 2},
                x="distance δ of the inputs",
                y="variance times the number of features",
                xs=(0, 2.2),
            ),
            Curves(
                power_law("error", pieces["distance from the limit"], rivals={-1.0: "1/m"}),
                x="features m",
                y="distance from the limit",
                log="xy",
            ),
        ]
    )
