"""Pseudo-inverses, shared spectra, the smallest eigenvalue, and the ridge path down to the ridgeless bias."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.filters import (
    gradient_descent_filter,
    pseudo_inverse,
    pseudo_inverse_filter,
    ridge_filter,
    spectral_operator,
)
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import conditional_bias_variance
from deeptheory.lab import Exact, Identity, Inequality, Law, Limit, Positive, Rate, Share, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.spectra.edges import smallest_eigenvalue_scaling, tracy_widom_cdf, wishart_eigenvalue_below
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_pdf
from deeptheory.spectra.ridge_path import (
    bilinear_resolvent,
    ridge_bias,
    ridge_bias_limit,
    ridge_bias_slope,
    ridge_bias_slope_bound,
    ridge_inverse,
)
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

SHAPES = ((6, 9, 6), (9, 6, 6), (8, 8, 5))
"""Rows, columns and rank of the matrices whose pseudo-inverses are checked."""


def penrose_sides(matrix, inverse):
    """The two sides of Penrose's four identities, one after the other."""
    seen, mapped = matrix @ inverse, inverse @ matrix
    left, right = (seen @ matrix, mapped @ inverse, seen, mapped), (matrix, inverse, seen.T, mapped.T)
    return tuple(np.concatenate([np.ravel(each) for each in side]) for side in (left, right))


@claim(
    items={
        "J7.2": ("penrose", "small values", "projection", "ridge", "estimator"),
        "J7.1": ("estimators", "descent", "least norm"),
    },
    says=r"$A^+=VD^+U^\top$ satisfies Penrose's four identities, and $A^+A$ projects on the row space. "
    r"$(AA^\top+\delta)^{-1}A$ is $\delta/(\sigma(\sigma^2+\delta))$ away from $(AA^\top)^+A$, $\sigma$ the least "
    r"nonzero singular value. Minimum-norm least squares is $(XX^\top)^+Xy$; gradient descent from zero finds it.",
    needs="gradient descent starts from zero with a step below 2/σ₁²",
    symbols={
        r"A^+": "the pseudo-inverse of $A$",
        r"U, D, V": r"the singular value decomposition $A=UDV^\top$; $D^+$ inverts the nonzero entries of $D$",
        r"\delta": "the ridge: a small multiple of the identity that makes the matrix invertible",
        r"\sigma": "the least nonzero singular value of $A$",
        r"X": "the data, one column a sample",
        r"y": "the labels",
    },
    why=r"In the bases of singular vectors a matrix is a list of numbers, and all of this is said of one number: "
    r"$\sigma\cdot\sigma^{-1}\cdot\sigma=\sigma$, and $0$ is left at $0$. A ridge replaces $1/\sigma$ by "
    r"$\sigma/(\sigma^2+\delta)$, which differs most where $\sigma$ is least. Gradients of the squared loss lie in "
    "the span of the samples, so descent from zero never leaves it, and the one solution in that span is the "
    "shortest.",
    notice=r"The error of the ridge falls in proportion to $\delta$ once $\delta$ is below $\sigma^2$: the dots, "
    r"matrices whose $\sigma$ lies mostly between 1 and 2, run along the formula drawn for $\sigma=1$, $1.5$ and $2$.",
)
def pseudo_inverses(
    key, *, matrices: Annotated[int, Interval(ge=1, le=200)] = 12, start: Literal["zero", "random"] = "zero"
):
    draw = generator(key)
    names = ("penrose", "rival", "small values", "truncated", "projection", "estimator", "estimators", "descent")
    sides = {name: ([], []) for name in names}
    norms, ridges, rate = [], np.geomspace(1e-4, 10, 6), 0.1
    errors, least = [], []

    def compare(name, left, right):
        for side, value in zip(sides[name], (left, right), strict=True):
            side.append(np.ravel(value))

    for rows, columns, rank in SHAPES * matrices:
        # Singular values between 1 and 3 and random directions, so that condition numbers stay known.
        left, right = (np.linalg.qr(draw.standard_normal((size, rank)))[0] for size in (rows, columns))
        singular = draw.uniform(1, 3, rank)
        matrix = left * singular @ right.T
        inverse, hat = pseudo_inverse(matrix), pseudo_inverse(matrix @ matrix.T) @ matrix
        compare("penrose", *penrose_sides(matrix, inverse))
        # A⁺ plus anything that ends in the null space still solves A x = y wherever that can be solved.
        loose = draw.standard_normal((columns, rows))
        compare("rival", *penrose_sides(matrix, inverse + loose - inverse @ matrix @ loose))
        # One more with the same directions and singular values down to a millionth, whose inverse is written down.
        small = np.geomspace(1e-6, 1, rank)
        written, large = right / small @ left.T, small > 1e-3
        compare("small values", pseudo_inverse(left * small @ right.T), written)
        compare("truncated", right[:, large] / small[large] @ left[:, large].T, written)
        # An independent basis of the row space: pivoted orthogonalisation, no singular values.
        basis = np.asarray(scipy.linalg.qr(matrix.T, pivoting=True)[0])[:, :rank]
        compare("projection", inverse @ matrix, basis @ basis.T)
        errors.append([np.linalg.norm(ridge_inverse(matrix, ridge) - hat, 2) for ridge in ridges])
        least.append(singular.min())
        # The books' X is p × n: the transpose of a design with one row a sample.
        design, labels, other = matrix.T, draw.standard_normal(columns), draw.standard_normal(rows)
        solution = np.linalg.lstsq(design, labels, rcond=1e-10)[0]
        compare("estimator", hat @ labels, solution)
        weights = np.zeros(rows) if start == "zero" else other
        for _ in range(100):
            weights = weights - rate * design.T @ (design @ weights - labels)
        if rank == min(rows, columns):
            for each in (pseudo_inverse_filter, gradient_descent_filter(rate, 10_000), ridge_filter(1e-10)):
                compare("estimators", spectral_operator(design, each) @ labels, solution)
            compare("descent", weights, spectral_operator(design, gradient_descent_filter(rate, 100)) @ labels)
        added = other - pseudo_inverse(design) @ (design @ other)
        norms.append([np.sum((solution + added) ** 2), np.sum(solution**2) + np.sum(added**2)])
    found = {name: (np.concatenate(one), np.concatenate(other)) for name, (one, other) in sides.items()}
    close: dict[str, Any] = dict(scale=3.0, condition=10.0, size=81.0)
    plain = ("projection", "estimator", "descent")
    least = np.asarray(least)
    return {
        **{name: Identity(*found[name], **close) for name in plain},
        "penrose": Identity(
            *found["penrose"], aside=dict(zip(("left", "right"), found["rival"], strict=True)), **close
        ),
        # |σ/(σ² + c) − 1/σ| ≤ c for σ ≥ 1, and labels are of length ten at most.
        "estimators": Identity(*found["estimators"], error=1e-9, **close),
        # Reciprocals up to a million, of numbers known to 1e-16 beside the largest.
        "small values": Identity(
            *found["small values"], scale=1e6, condition=1e6, size=81.0, aside={"truncated": found["truncated"][0]}
        ),
        "ridge": Identity(
            np.asarray(errors),
            ridges / (least[:, None] * (least[:, None] ** 2 + ridges)),
            along={"least singular value": least, "ridge": ridges},
            **close,
        ),
        "least norm": Identity(*np.asarray(norms).T, condition=10.0, size=81.0),
    }


pseudo_inverses.control("gradient descent from another start", of="descent", start="random", matrices=2)


@pseudo_inverses.control("another inverse that solves every solvable system", of="penrose")
def any_solution(evidence):
    return replace(evidence, left=evidence.aside["left"], right=evidence.aside["right"])


@pseudo_inverses.control("singular values below a thousandth of the largest left at zero", of="small values")
def truncated(evidence):
    return replace(evidence, left=evidence.aside["truncated"])


@pseudo_inverses.control("δ/(σ² + δ), the error of a projection", of="ridge")
def error_of_a_projection(evidence):
    return replace(evidence, right=evidence.right * evidence.along["least singular value"][:, None])


@pseudo_inverses.picture
def ridge_error(pieces):
    """Distance in operator norm between (AAᵀ + δ)⁻¹A and its limit: each matrix and ridge, and the formula."""
    found = pieces["ridge"]
    least, ridges = found.along["least singular value"], np.geomspace(1e-4, 10, 120)
    lines = [Line(f"formula, σ = {s:g}", ridges, ridges / (s * (s * s + ridges))) for s in (1.0, 1.5, 2.0)]
    shown = [Dots("matrices", found.along["ridge"], each) for each in found.left[: min(len(least), 12)]]
    return Curves([*lines, *shown], x="ridge δ", y="error of the ridge's inverse", log="xy")


@claim(
    items={"J7.7": ("determinant", "spectrum", "zeros", "variance")},
    says=r"$\det(I_m+AB)=\det(I_n+BA)$ for $A$ of size $m\times n$ and $B$ of size $n\times m$; $XX^\top/n$ and "
    r"$X^\top X/n$ have the same nonzero eigenvalues, the larger one $|p-n|$ zeros more; so for $p>n$ the variance of "
    r"ridgeless least squares is $\frac{\sigma^2}n\sum_i1/\lambda_{p-n+i}(\hat\Sigma)="
    r"\frac{\sigma^2}p\sum_i1/\lambda_i(X^\top X/p)$.",
    needs="X of full rank",
    symbols={
        r"A, B": "two matrices whose products in both orders are square",
        r"X": "the data, $p$ features in rows and $n$ samples in columns",
        r"\sigma^2": "the variance of the noise",
        r"\hat\Sigma": r"the sample covariance $XX^\top/n$",
        r"\lambda_i": "eigenvalues, in ascending order",
    },
    why=r"If $BAv=\lambda v$ with $\lambda\ne0$, then $Av$ is an eigenvector of $AB$ for the same $\lambda$: the "
    "nonzero eigenvalues are common, and the determinants of $I+AB$ and $I+BA$ are products over them. So the "
    r"variance of a fit with more features than samples can be read off the small matrix $X^\top X$, whose limiting "
    "spectrum is that of the problem with features and samples exchanged.",
    notice=r"The covariance of 40 features from 15 samples has 25 eigenvalues zero, and its other 15 lie on those of "
    "the matrix of inner products of the samples.",
)
def shared_spectrum(key, *, matrices: Annotated[int, Interval(ge=1, le=1000)] = 16, noise: Positive = 0.4):
    draw = generator(key)
    determinants, values, zeros, variances = [], [], [], []
    for _ in range(matrices):
        left, right = draw.integers(-3, 4, (3, 5)), draw.integers(-3, 4, (5, 3))
        small, large = np.eye(3, dtype=int) + left @ right, np.eye(5, dtype=int) + right @ left
        # Whole numbers below 1e9, which elimination in floating point misses by less than a millionth.
        other = np.eye(5, dtype=int) - right @ left
        determinants.append([round(np.linalg.det(each)) for each in (small, large, other)])
        x = draw.standard_normal((40, 15))
        outer, inner = np.linalg.eigvalsh(x @ x.T / 15), np.linalg.eigvalsh(x.T @ x / 15)
        values.append([outer[25:], inner])
        zeros.append([(abs(outer) < 1e-12 * outer[-1]).sum(), 40 - 15])
        chain = noise / 15 * (1 / outer[25:]).sum(), noise / 40 * (1 / np.linalg.eigvalsh(x.T @ x / 40)).sum()
        variances.append([*chain, float(conditional_bias_variance(x.T, np.ones(40), noise).variance)])
    chain = np.asarray(variances)
    return {
        "determinant": Exact(*np.asarray(determinants).T[:2], aside={"negative": np.asarray(determinants)[:, 2]}),
        "spectrum": Identity(*np.swapaxes(values, 0, 1), scale=10.0, size=40.0),
        "zeros": Exact(*np.asarray(zeros).T),
        "variance": Identity(
            chain[:, :2], chain[:, 2:], condition=100.0, size=40.0, aside={"samples per feature": 15 / 40}
        ),
    }


@shared_spectrum.control("σ²/n before the eigenvalues of XᵀX/p", of="variance")
def wrong_normalisation(evidence):
    return replace(evidence, left=evidence.left * np.asarray([1, 1 / evidence.aside["samples per feature"]]))


@shared_spectrum.control("the larger matrix without its zeros", of="zeros")
def no_zeros(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@shared_spectrum.control("det(I − BA), the sign of a product lost", of="determinant")
def other_sign(evidence):
    return replace(evidence, right=evidence.aside["negative"])


@shared_spectrum.picture
def both_spectra(pieces):
    """The eigenvalues of the p × p covariance and of the n × n matrix of inner products, for one draw, in order."""
    outer, inner = (np.asarray(side)[0] for side in (pieces["spectrum"].left, pieces["spectrum"].right))
    none = int(np.asarray(pieces["zeros"].left)[0])
    places = np.arange(1, none + len(outer) + 1)
    return Curves(
        [
            Line("XᵀX/n, 15 × 15", places[none:], inner),
            Dots("XXᵀ/n, 40 × 40", places, np.append(np.zeros(none), outer)),
        ],
        x="place in ascending order",
        y="eigenvalue",
    )


EDGE_CASES = ((0.25, "gaussian"), (0.25, "rademacher"), (4.0, "uniform"))
"""Dimension over samples, γ = p/n, with a law of the entries."""


GROWING = 80, 640, 5120
"""Numbers of samples at which Gaussian eigenvalues below the edge are counted, a quarter as many dimensions each."""


@claim(
    items={"J7.5": ("edge", "distance", "below", "width")},
    says=r"The smallest nonzero eigenvalue of a sample covariance tends to $(1-\sqrt\gamma)^2$ on both sides of "
    r"$\gamma=1$, at distances of order $n^{-2/3}$ and from both sides: for Gaussian entries the share of draws below "
    r"the edge tends to $1-F_1(0)=0.168$, and the width is $(\pi cp)^{-2/3}$ where the density rises as "
    r"$c\sqrt{x-\lambda_-}$.",
    needs="independent entries of mean 0, variance 1, finite fourth moment; γ ≠ 1",
    full=dict(sizes=(50, 100, 200, 400), trials=400),
    symbols={
        r"\gamma": "dimension over samples, $p/n$",
        r"n": "the number of samples",
        r"F_1": "the Tracy–Widom distribution function of real symmetric matrices",
        r"p": "the dimension",
        r"c": "how steeply the limiting density leaves its lower edge",
        r"\lambda_-": r"the lower edge $(1-\sqrt\gamma)^2$ of the Marchenko–Pastur law",
    },
    why=r"Beside its edge the limiting density is $c\sqrt{x-\lambda_-}$, so $p$ eigenvalues leave the first of them "
    "room of order $p^{-2/3}$: that is where one eigenvalue is expected. In this unit the smallest eigenvalue keeps "
    "fluctuating as $n$ grows, by the Tracy–Widom law, whose mass lies on both sides of the edge. An event whose "
    "probability stays at 0.17 does not stop happening.",
    notice=r"The share of matrices with an eigenvalue below the edge does not fall with $n$; it rises to the sixth "
    "that the Tracy–Widom law gives. Had the eigenvalue stayed above the edge for all large $n$, the share would "
    "fall to zero.",
)
def smallest_eigenvalue(key, *, sizes: Sizes = (30, 60, 120), trials: Trials = 256):
    least = np.empty((len(sizes), len(EDGE_CASES), trials))
    edges = np.asarray([marchenko_pastur_edges(gamma)[0] for gamma, _ in EDGE_CASES])
    for i, j in np.ndindex(least.shape[:2]):
        gamma, entries = EDGE_CASES[j]
        # `sizes` are those of the smaller side, whichever it is.
        dimension = int(sizes[i] * max(gamma, 1.0))
        x = draw_entries(jax.random.fold_in(key, 3 * i + j), (trials, dimension, round(dimension / gamma)), entries)
        least[i, j] = sample_covariance_eigenvalues(x)[:, max(0, dimension - x.shape[2])]
    shapes = ((20, 80), (20, 40))
    shares, predicted = [], []
    for k, (dimension, samples) in enumerate(shapes):
        x = draw_entries(jax.random.fold_in(key, 100 + k), (25 * trials, dimension, samples))
        edge = marchenko_pastur_edges(dimension / samples)[0]
        shares.append((sample_covariance_eigenvalues(x)[:, 0] < edge).sum())
        centre, scale = smallest_eigenvalue_scaling(dimension, samples)
        predicted.append(1 - tracy_widom_cdf((centre - np.log(edge)) / scale))
    edge = float(marchenko_pastur_edges(0.25)[0])
    counted = [
        wishart_eigenvalue_below(jax.random.fold_in(key, 200 + k), n // 4, n, edge, 40 * trials)
        for k, n in enumerate(GROWING)
    ]
    # Centre and width in the limit, at a thousand million dimensions: the edge, and what the density beside it gives.
    many, beside, widths = 10**9, 1e-9, []
    for ratio in (0.1, 0.25, 0.5, 0.8):
        edge = marchenko_pastur_edges(ratio)[0]
        rise = float(marchenko_pastur_pdf(np.asarray([edge * (1 + beside)]), ratio)[0]) / (edge * beside) ** 0.5
        scaling = smallest_eigenvalue_scaling(many, round(many / ratio))
        widths.append([np.exp(scaling[0]), edge])
        widths.append([scaling[1] * edge, (np.pi * rise * many) ** (-2 / 3)])
    cases = np.asarray([f"γ = {gamma:g}, {entries}" for gamma, entries in EDGE_CASES])
    return {
        # Terms beyond n^-⅔ leave two per cent at these sizes and the spread four: a tenth is what can be resolved.
        "edge": Law(
            edges,
            least,
            along={"case": cases},
            sizes=sizes,
            order=2 / 3,
            resolution=0.1,
            aside={"gamma": np.asarray([gamma for gamma, _ in EDGE_CASES])},
        ),
        "distance": Rate(np.asarray(sizes), (abs(least - edges[:, None]) / edges[:, None]).mean(1), exponent=-2 / 3),
        "width": Identity(*np.asarray(widths).T, condition=1e8),
        # Counts among thousands of draws resolve a fifth of a share of a sixth.
        "small matrices": Share(
            np.asarray(shares),
            25 * trials,
            np.asarray(predicted),
            resolution=0.3,
            along={"shape": np.asarray([f"{p}×{n}" for p, n in shapes])},
        ),
        # The centre lies of order 1/n from the edge, n^-⅓ in units of the width: so the share comes to its limit. Ten
        # thousand draws and the way from the last size to the limit leave an eighth of the share open.
        "below": Law(
            1 - float(tracy_widom_cdf(0.0)),
            np.asarray(counted, float),
            sizes=np.asarray(GROWING),
            order=1 / 3,
            resolution=0.2,
        ),
    }


@smallest_eigenvalue.control("never below the edge for n large, as printed", erratum="J7.5a", of="below")
def never_below(evidence):
    return replace(evidence, predicted=0.0, scale=evidence.predicted)


@smallest_eigenvalue.control("1 − F₂(0), the share for complex entries", of="below")
def complex_entries(evidence):
    return replace(evidence, predicted=1 - float(tracy_widom_cdf(0.0, symmetry=2)))


@smallest_eigenvalue.control("(1 − γ)² for the edge", of="edge")
def without_the_root(evidence):
    return replace(evidence, predicted=(1 - evidence.aside["gamma"]) ** 2)


@smallest_eigenvalue.picture
def shares_below_the_edge(pieces):
    """The share of Gaussian covariances whose smallest eigenvalue lies below the edge, against the samples."""
    below = pieces["below"]
    return Curves(
        [
            seen("counted, p = n/4", below.sizes, below.observed),
            Level("1 − F₁(0), Tracy–Widom", y=float(below.predicted)),
            Level("never for n large", y=0.0, rival="as printed in Thm 7.5"),
        ],
        x="samples n",
        y="share of draws with λ₁ below (1 − √γ)²",
        log="x",
        ys=(-0.01, 0.2),
    )


GRID = np.append(1e-3, np.linspace(0.05, 2, 20))
RIDGES = np.asarray([0.05, 0.5, 2.0])
PATHS = ((0.5, "rademacher"), (2.0, "exponential"))


@claim(
    items={
        "J7.8": ("path", "slope", "bounds", "attained", "curve", "ridgeless", "limit at zero"),
        "J7.9": ("bilinear", "spread directions"),
    },
    says=r"$f_n(z)=z\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle$ has slope "
    r"$\langle\beta,(\hat\Sigma+z)^{-2}\hat\Sigma\beta\rangle$, is at most $r^2$, and $|f_n'|\le "
    r"r^2\lambda_{\max}/(\lambda_{\min}^++z)^2$. It ends in the bias of ridgeless least squares at $z=0$, and tends "
    r"to $r^2zS_\gamma(-z)$ uniformly on $[0,2]$, which at zero is $r^2\max(0,1-1/\gamma)$.",
    needs="β fixed before the samples; independent entries of mean 0, variance 1 and a little over four moments",
    full=dict(sizes=(40, 80, 160, 320), trials=400),
    symbols={
        r"f_n(z)": "the part of the signal that ridge regression of strength $z$ loses",
        r"z": "the ridge",
        r"\beta": "the true coefficients, fixed before the samples; $r$ is their length",
        r"\hat\Sigma": "the sample covariance",
        r"\lambda_{\max},\lambda_{\min}^+": "its largest and its least nonzero eigenvalue",
        r"S_\gamma": r"the Stieltjes transform of the Marchenko–Pastur law of ratio $\gamma=p/n$",
    },
    why=r"The bias of ridgeless regression is the value at $z=0$ of a smooth path. For every $z>0$ the path has a "
    r"limit: $\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle$ sees the spectrum through a fixed direction, which is as "
    "good as the average over all directions, the Stieltjes transform. Its slopes are bounded by the eigenvalues "
    r"next to zero, which stay away from it, so the limits in $n$ and in $z\to0$ may be exchanged.",
    notice=r"With fewer features than samples the path comes down to zero, with twice as many to one half: the share "
    "of the signal that the samples never see. Draws of moderate size already lie about the limit; a direction "
    "chosen after the samples would not.",
)
def ridge_path_to_the_ridgeless_bias(
    key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 200, direction: Literal["fixed", "top eigenvector"] = "fixed"
):
    shape = (len(sizes), len(PATHS))
    several, drawn = 8, {}
    distance = np.empty((*shape, trials))
    axes, spread = np.empty((2, *shape, len(RIDGES), trials))
    for i, j in np.ndindex(shape):
        size, (gamma, entries) = sizes[i], PATHS[j]
        x = draw_entries(jax.random.fold_in(key, 2 * i + j), (trials, size, round(size / gamma)), entries)
        values, vectors = np.linalg.eigh(x @ np.swapaxes(x, 1, 2) / x.shape[2])
        values = np.maximum(values, 0)
        # The mean over some fixed directions of one draw has less of the fluctuation left: coordinates, and signs.
        signs = np.sign(generator(jax.random.fold_in(key, 50 + i)).standard_normal((several, size))) / size**0.5
        one = vectors[:, :several] if direction == "fixed" else np.eye(size)[None, -1:] * np.ones((trials, 1, 1))
        paths = ridge_bias(values[:, None] * np.ones((1, one.shape[1], 1)), one, GRID)
        distance[i, j] = abs(paths - ridge_bias_limit(GRID, gamma)).max(-1).mean(-1)
        drawn[f"{gamma:g}"] = paths[:6].mean(1)  # at last those of the largest size
        many = values[:, None] * np.ones((1, several, 1))
        axes[i, j] = bilinear_resolvent(many, vectors[:, :several], RIDGES).mean(1).T
        spread[i, j] = bilinear_resolvent(many, 3 * signs @ vectors, RIDGES).mean(1).T
    draw = generator(key)
    path, slope, bounds, smaller, ends, attained = [], [], [], [], [], []
    for dimension, samples in ((12, 30), (30, 12)) * 3:
        x, beta = draw.standard_normal((dimension, samples)), draw.standard_normal(dimension)
        covariance, signal = x @ x.T / samples, beta @ beta
        values, vectors = np.linalg.eigh(covariance)
        values[: max(0, dimension - samples)] = 0  # they come out as ±1e-17, and the ridge below is nearly as small
        seen = beta @ vectors

        def solved(z, covariance=covariance, beta=beta):
            return z * (beta @ np.linalg.solve(covariance + z * np.eye(len(beta)), beta))

        path.append([ridge_bias(values, seen, GRID[1:]), [solved(z) for z in GRID[1:]]])
        slopes = ridge_bias_slope(values, seen, GRID[1:])
        # The derivative without cancellation: the imaginary part at z + ih.
        slope.append([slopes, [solved(z + 1e-20j).imag / 1e-20 for z in GRID[1:]]])
        positive = values[max(0, dimension - samples)]
        bound = ridge_bias_slope_bound(positive, values[-1], GRID[1:], signal)
        bounds.append([[path[-1][0], np.full(20, signal)], [slopes, bound]])
        largest = ridge_bias_slope_bound(values[-1], values[-1], GRID[1:], signal)
        smaller.append([np.full(20, signal), largest])
        bias = float(conditional_bias_variance(x.T, beta, 1.0).bias)
        ends.append([float(ridge_bias(values, seen, np.asarray([1e-9]))[0]), bias, 1e-9 * signal / positive])
        # Six equal eigenvalues and six zeros: β among the former attains the slope's bound, among the latter f's.
        level = draw.uniform(0.5, 2)
        flatter = np.repeat([0.0, level], 6)
        part = np.append(np.zeros(6), beta[:6])
        attained += [ridge_bias_slope(flatter, part, GRID) / ridge_bias_slope_bound(level, level, GRID, part @ part)]
        attained += [ridge_bias(flatter, part[::-1], GRID) / (part @ part)]
    limits = np.asarray([marchenko_pastur_stieltjes(-RIDGES, gamma).real for gamma, _ in PATHS])
    labels = {"case": np.asarray([f"γ = {gamma:g}, {entries}" for gamma, entries in PATHS]), "z": RIDGES}
    tight = np.swapaxes(bounds, 0, 2)
    ended = np.asarray(ends).T
    start = [float(ridge_bias_limit(np.asarray([z]), gamma)[0]) for gamma, _ in PATHS for z in (0.0, 1e-9)]
    close: dict[str, Any] = dict(scale=40.0, condition=1e3, size=30.0)
    return {
        "path": Identity(*np.swapaxes(path, 0, 1), **close),
        "slope": Identity(*np.swapaxes(slope, 0, 1), scale=100.0, condition=1e4, size=30.0),
        "bounds": Inequality(tight[0], tight[1], aside={"rival": np.swapaxes(smaller, 0, 1)}),
        "attained": Identity(np.asarray(attained), 1.0, size=12.0),
        "curve": Limit(np.asarray(sizes), distance.mean(1), order=0.5, aside=drawn),
        "ridgeless": Identity(ended[0], ended[1], error=ended[2], **close),
        "limit at zero": Identity(np.asarray(start), [0, 0, 0.5, 0.5], scale=1.0, error=1e-8),
        "bilinear": Law(limits, axes, along=labels, sizes=sizes, order=1.0),
        "spread directions": Law(9 * limits, spread, along=labels, sizes=sizes, order=1.0),
    }


ridge_path_to_the_ridgeless_bias.control(
    "a direction that the samples choose", of="curve", direction="top eigenvector", trials=16
)


@ridge_path_to_the_ridgeless_bias.control("1 + S/γ in the equation", of="bilinear")
def printed_denominator(evidence):
    rival = [marchenko_pastur_stieltjes(-evidence.along["z"], 1 / gamma).real for gamma, _ in PATHS]
    return replace(evidence, predicted=np.asarray(rival))


@ridge_path_to_the_ridgeless_bias.control("1 − 1/γ on both sides of one", of="limit at zero")
def on_both_sides(evidence):
    return replace(evidence, right=np.asarray([-1, -1, 0.5, 0.5]))


@ridge_path_to_the_ridgeless_bias.control("λ_max for λ_min in the bound on the slope", of="bounds")
def largest_for_least(evidence):
    return replace(evidence, bound=evidence.aside["rival"])


@ridge_path_to_the_ridgeless_bias.picture
def paths_to_zero(pieces):
    """The bias along the ridge, mean over eight fixed directions, for six draws of the largest size; and its limit."""

    def panel(gamma):
        z, drawn = np.linspace(0, 2, 200), np.asarray(pieces["curve"].aside[f"{gamma:g}"])
        end = max(0.0, 1 - 1 / gamma)
        marks = [
            *(Line("draws", GRID, each, thin=True) for each in drawn),
            Line("limit", z, ridge_bias_limit(z, gamma)),
            Level(f"ridgeless bias {end:g}", y=end),
        ]
        return Curves(marks, x="ridge z", y="bias f(z), in units of r²", title=f"γ = {gamma:g}", ys=(-0.02, 1))

    return Row([panel(gamma) for gamma, _ in PATHS])
