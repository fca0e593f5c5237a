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
from deeptheory.spectra.edges import smallest_eigenvalue_scaling, tracy_widom_cdf
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


@claim(
    items={
        "J7.2": ("penrose", "small values", "projection", "ridge", "estimator"),
        "J7.1": ("estimators", "descent", "least norm"),
    },
    says=r"$A^+=VD^+U^\top$, every nonzero singular value inverted down to $10^{-6}$ of the largest, satisfies "
    r"Penrose's four identities, and $A^+A$ projects on the row space; $(AA^\top+\delta)^{-1}A$ tends to "
    r"$(AA^\top)^+A$ with an error of order $\delta$. Minimum-norm least squares is $(XX^\top)^+Xy$, the same by "
    "pseudo-inverse, singular values, gradient descent from zero and vanishing ridge, and other minimisers are longer.",
    needs="gradient descent starts from zero with a step below 2/σ₁²",
)
def pseudo_inverses(
    key, *, matrices: Annotated[int, Interval(ge=1, le=200)] = 12, start: Literal["zero", "random"] = "zero"
):
    draw = generator(key)
    sides = {name: ([], []) for name in ("penrose", "projection", "estimator", "estimators", "descent")}
    tiny = []
    norms, ridges, rate = [], np.geomspace(1e-3, 1e-6, 4), 0.1
    remainders = np.zeros(len(ridges))

    def compare(name, left, right):
        for side, value in zip(sides[name], (left, right), strict=True):
            side.append(np.ravel(value))

    for rows, columns, rank in SHAPES * matrices:
        # Singular values between 1 and 3 and random directions, so that condition numbers stay known.
        left, right = (np.linalg.qr(draw.standard_normal((size, rank)))[0] for size in (rows, columns))
        matrix = left * draw.uniform(1, 3, rank) @ right.T
        inverse, hat = pseudo_inverse(matrix), pseudo_inverse(matrix @ matrix.T) @ matrix
        compare("penrose", matrix @ inverse @ matrix, matrix)
        compare("penrose", inverse @ matrix @ inverse, inverse)
        compare("penrose", matrix @ inverse, (matrix @ inverse).T)
        compare("penrose", inverse @ matrix, (inverse @ matrix).T)
        # One more with the same directions and singular values down to a millionth, whose inverse is written down.
        small = np.geomspace(1e-6, 1, rank)
        tiny.append([np.max(abs(pseudo_inverse(left * small @ right.T) - right / small @ left.T)), 0.0])
        # An independent basis of the row space: pivoted orthogonalisation, no singular values.
        basis = np.asarray(scipy.linalg.qr(matrix.T, pivoting=True)[0])[:, :rank]
        compare("projection", inverse @ matrix, basis @ basis.T)
        for i, ridge in enumerate(ridges):
            remainders[i] = max(remainders[i], abs(ridge_inverse(matrix, ridge) - hat).max())
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
        longer = solution + other - pseudo_inverse(design) @ (design @ other)
        norms.append([np.linalg.norm(solution), np.linalg.norm(longer)])
    found = {name: tuple(np.concatenate(side) for side in pair) for name, pair in sides.items()}
    close: dict[str, Any] = dict(scale=3.0, condition=10.0, size=81.0)
    return {
        # |σ/(σ² + c) − 1/σ| ≤ c for σ ≥ 1, and labels are of length ten at most.
        **{name: Identity(*pair, error=1e-9 if name == "estimators" else 0.0, **close) for name, pair in found.items()},
        # Reciprocals up to a million, of numbers known to 1e-16 beside the largest.
        "small values": Identity(*np.asarray(tiny).T, scale=1e6, condition=1e6, size=81.0),
        "ridge": Rate(1 / ridges, remainders, exponent=-1.0, rivals=(-0.5, -2.0)),
        "least norm": Inequality(*np.asarray(norms).T),
    }


pseudo_inverses.control("gradient descent from another start", of="descent", start="random", matrices=2)


@claim(
    items={"J7.7": ("determinant", "spectrum", "zeros", "variance")},
    says=r"$\det(I_m+AB)=\det(I_n+BA)$ for $A$ of size $m\times n$ and $B$ of size $n\times m$; $XX^\top/n$ and "
    r"$X^\top X/n$ have the same nonzero eigenvalues, the larger one $|p-n|$ zeros more; so for $p>n$ the variance of "
    r"ridgeless least squares is $\frac{\sigma^2}n\sum_i1/\lambda_{p-n+i}(\hat\Sigma)="
    r"\frac{\sigma^2}p\sum_i1/\lambda_i(X^\top X/p)$.",
    needs="X of full rank",
)
def shared_spectrum(key, *, matrices: Annotated[int, Interval(ge=1, le=1000)] = 16, noise: Positive = 0.4):
    draw = generator(key)
    determinants, values, zeros, variances = [], [], [], []
    for _ in range(matrices):
        left, right = draw.integers(-3, 4, (3, 5)), draw.integers(-3, 4, (5, 3))
        small, large = np.eye(3, dtype=int) + left @ right, np.eye(5, dtype=int) + right @ left
        # Whole numbers below 1e9, which elimination in floating point misses by less than a millionth.
        determinants.append([round(np.linalg.det(each)) for each in (small, large)])
        x = draw.standard_normal((40, 15))
        outer, inner = np.linalg.eigvalsh(x @ x.T / 15), np.linalg.eigvalsh(x.T @ x / 15)
        values.append([outer[25:], inner])
        zeros.append([(abs(outer) < 1e-12 * outer[-1]).sum(), 40 - 15])
        chain = noise / 15 * (1 / outer[25:]).sum(), noise / 40 * (1 / np.linalg.eigvalsh(x.T @ x / 40)).sum()
        variances.append([*chain, float(conditional_bias_variance(x.T, np.ones(40), noise).variance)])
    chain = np.asarray(variances)
    return {
        "determinant": Exact(*np.asarray(determinants).T),
        "spectrum": Identity(*np.swapaxes(values, 0, 1), scale=10.0, size=40.0),
        "zeros": Exact(*np.asarray(zeros).T),
        "variance": Identity(chain[:, :2], chain[:, 2:], condition=100.0, size=40.0),
    }


@shared_spectrum.control("σ²/n before the eigenvalues of XᵀX/p", of="variance")
def wrong_normalisation(evidence):
    return replace(evidence, left=evidence.left * np.asarray([1, 40 / 15]))


@shared_spectrum.control("the larger matrix without its zeros", of="zeros")
def no_zeros(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


EDGE_CASES = ((0.25, "gaussian"), (0.25, "rademacher"), (4.0, "uniform"))
"""Dimension over samples, γ = p/n, with a law of the entries."""


@claim(
    items={"J7.5": ("edge", "distance", "below", "width")},
    says=r"The smallest nonzero eigenvalue of a sample covariance tends to $(1-\sqrt\gamma)^2$ on both sides of "
    r"$\gamma=1$, at distances of order $n^{-2/3}$, and from both sides: the share of draws below the edge is that of "
    "the Tracy–Widom law for Gaussian entries, about one in six as $n$ grows. In the limit that law has the width "
    r"$(\pi cp)^{-2/3}$, where the density rises as $c\sqrt{x-\lambda_-}$ from the edge $\lambda_-$.",
    needs="independent entries of mean 0, variance 1, finite fourth moment; γ ≠ 1",
    full=dict(sizes=(50, 100, 200, 400), trials=400),
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
        "edge": Law(edges, least, along={"case": cases}, sizes=sizes, order=2 / 3, resolution=0.1),
        "distance": Rate(np.asarray(sizes), (abs(least - edges[:, None]) / edges[:, None]).mean(1), exponent=-2 / 3),
        "width": Identity(*np.asarray(widths).T, condition=1e8),
        # Counts among thousands of draws resolve a fifth of a share of a sixth; what is refuted is a share of zero.
        "below": Share(
            np.asarray(shares),
            25 * trials,
            np.asarray(predicted),
            resolution=0.3,
            along={"shape": np.asarray([f"{p}×{n}" for p, n in shapes])},
        ),
    }


@smallest_eigenvalue.control("never below the edge for n large, as printed", erratum="J7.5a", of="below")
def never_below(evidence):
    return replace(evidence, predicted=np.full(2, 1e-3))


@smallest_eigenvalue.control("(1 − γ)² for the edge", of="edge")
def without_the_root(evidence):
    return replace(evidence, predicted=np.asarray([(1 - gamma) ** 2 for gamma, _ in EDGE_CASES]))


GRID = np.append(1e-3, np.linspace(0.05, 2, 20))
RIDGES = np.asarray([0.05, 0.5, 2.0])
PATHS = ((0.5, "rademacher"), (2.0, "exponential"))


@claim(
    items={
        "J7.8": ("path", "slope", "bounds", "attained", "curve", "ridgeless", "limit at zero"),
        "J7.9": ("bilinear", "spread directions"),
    },
    says=r"$f_n(z)=z\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle$ has slope "
    r"$\langle\beta,(\hat\Sigma+z)^{-2}\hat\Sigma\beta\rangle$; $|f_n|\le r^2$ and "
    r"$|f_n'|\le r^2\lambda_{\max}/(\lambda_{\min}^++z)^2$, both attained. It ends in the bias of "
    r"ridgeless least squares at $z=0$, and tends to $r^2zS_\gamma(-z)$ uniformly on $[0,2]$, because "
    r"$\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle\to r^2S_\gamma(-z)$ for every fixed direction; at zero that is "
    r"$r^2\max(0,1-1/\gamma)$.",
    needs="β fixed before the samples; independent entries of mean 0, variance 1 and a little over four moments",
    full=dict(sizes=(40, 80, 160, 320), trials=400),
)
def ridge_path_to_the_ridgeless_bias(
    key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 200, direction: Literal["fixed", "top eigenvector"] = "fixed"
):
    shape = (len(sizes), len(PATHS))
    several = 8
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
        many = values[:, None] * np.ones((1, several, 1))
        axes[i, j] = bilinear_resolvent(many, vectors[:, :several], RIDGES).mean(1).T
        spread[i, j] = bilinear_resolvent(many, 3 * signs @ vectors, RIDGES).mean(1).T
    draw = generator(key)
    path, slope, bounds, ends, attained = [], [], [], [], []
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
        "bounds": Inequality(tight[0], tight[1]),
        "attained": Identity(np.asarray(attained), 1.0, size=12.0),
        "curve": Limit(np.asarray(sizes), distance.mean(1), order=0.5),
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
    rival = [marchenko_pastur_stieltjes(-RIDGES, 1 / gamma).real for gamma, _ in PATHS]
    return replace(evidence, predicted=np.asarray(rival))


@ridge_path_to_the_ridgeless_bias.control("1 − 1/γ on both sides of one", of="limit at zero")
def on_both_sides(evidence):
    return replace(evidence, right=np.asarray([-1, -1, 0.5, 0.5]))
