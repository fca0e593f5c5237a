"""Matrix Bernstein, against enumerated sums and against diagonal matrices, whose norm is a maximum of binomials."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import scipy.optimize
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.concentration import log_bernstein
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.matrix_concentration import (
    all_choices,
    expected_matrix_norm,
    log_matrix_tail,
    matrix_variance,
    row_sampling,
    signed_matrices,
    spectral_norms,
)
from deeptheory.lab import Chain, Chance, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line


def enumerated(matrices):
    """Spectral norm of the sum for every choice of outcomes, all equally likely."""
    summands, outcomes = np.asarray(matrices.outcomes).shape[:2]
    chosen = all_choices(summands, outcomes)
    return spectral_norms(matrices.outcomes[np.arange(summands), chosen].sum(1))


def diagonal_tail(flips, dimension, thresholds):
    """P[max |S_j| ≥ t] of independent sums of `flips` fair signs: the norm of a diagonal matrix of such sums."""
    both = 2 * scipy.stats.binom.sf(np.ceil((flips + thresholds) / 2) - 1, flips, 0.5)
    return -np.expm1(dimension * np.log1p(-np.minimum(both, 1 - 1e-16)))


def least_over_rates(variance, bound, dimension):
    """Least value of ln(n)/θ + (θV/2)/(1 − Mθ/3) over 0 < θ < 3/M, where the proof ends, found numerically."""

    def value(share):
        rate = 3 * share / bound
        return np.log(dimension) / rate + rate * variance / 2 / (1 - share)

    found = scipy.optimize.minimize_scalar(value, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return found.fun  # pyright: ignore[reportAttributeAccessIssue]


@claim(
    items={
        "A1.11": (
            "diagonal matrices",
            "diagonal matrices, tail",
            "variance of basis vectors",
            "scalars and shapes",
            "best exponent in the proof",
        )
    },
    says=r"For independent centred $n_1\times n_2$ matrices of norm at most $M$ the mean of $\|\sum X_i\|$ is at most "
    r"$\sqrt{2V\ln(n_1+n_2)}+\frac M3\ln(n_1+n_2)$, and its tail at most $(n_1+n_2)e^{-\frac{t^2/2}{V+Mt/3}}$. "
    r"Diagonal matrices of size $10^6$ reach nine tenths of the first bound.",
    needs=r"V is the larger of $\|\sum\mathbb EXX^\top\|$ and $\|\sum\mathbb EX^\top X\|$; sums of 2×4 matrices "
    r"enumerated",
    full=dict(families=40, trials=4000),
    symbols={
        r"n_1,\ n_2": "the numbers of rows and columns",
        r"M": "a bound on the spectral norm of every summand",
        r"X_i": "independent random matrices of mean zero",
        r"V": "their variance, a spectral norm as well",
        r"t": "the norm of the sum that is asked for",
    },
    why=r"Chernoff's method for the largest eigenvalue: $e^{\theta\lambda_{\max}}\le\operatorname{tr}e^{\theta S}$, "
    r"and the trace costs the dimension. Matrices do not commute, but by a theorem of Lieb the logarithms of the "
    r"means of $e^{\theta X_i}$ may be added all the same, and each is at most that of a scalar with variance "
    r"$\mathbb EX_i^2$. A rectangular matrix is a block of a symmetric one of size $n_1+n_2$; the bound on the mean is "
    r"the least $\frac{\ln(n_1+n_2)}\theta+\frac{\theta V/2}{1-M\theta/3}$ over $\theta$.",
    notice=r"Diagonal matrices of fair signs: their norm is the largest of $n$ sums, and its mean grows like "
    r"$\sqrt{2\ln n}$, as the bound does. Without the logarithm the bound would be a constant, soon passed.",
)
def matrix_bernstein(key, *, families: Annotated[int, Interval(ge=1, le=200)] = 6, trials: Trials = 300):
    draw = generator(key)
    means, squares, tails = [], [], []
    for _ in range(families):
        scales = np.exp(draw.uniform(-2, 1, (9, 1, 1)))
        signed = signed_matrices(scales * draw.standard_normal((9, 2, 4)))
        left, right = draw.standard_normal((4, 3)), draw.standard_normal((4, 2))
        sampled = row_sampling(left, right, 4)
        for sums in (signed, sampled):
            norms, variance = enumerated(sums), matrix_variance(sums)
            *_, rows, columns = np.shape(sums.outcomes)
            means.append((norms.mean(), expected_matrix_norm(variance, sums.bound, (rows, columns))))
            squares.append((variance, (norms**2).mean()))
            # Thresholds are norms that occur; a threshold just reached counts.
            at = np.quantile(norms, [0.5, 0.9, 0.99, 1.0], method="inverted_cdf")
            share = [(norms >= t * (1 - 1e-12)).mean() for t in at]
            tails.append((np.log(share), log_matrix_tail(at, variance, sums.bound, (rows, columns))))
    # AᵀB estimated from three of four rows, drawn with replacement: every choice, beside the product of the rows drawn.
    chosen = all_choices(3, 4)
    drawn = row_sampling(left, right, 3).outcomes[np.arange(3), chosen].sum(1)
    estimates = 4 / 3 * np.swapaxes(left[chosen], 1, 2) @ right[chosen]
    # Of diagonal matrices with sums of a million signs: E max = Σ 2·P[max ≥ t] over even t.
    thresholds, dimensions = np.arange(2, 12_000, 2.0), 10 ** np.arange(7)
    largest = np.asarray([2 * diagonal_tail(10**6, n, thresholds).sum() for n in dimensions])
    bound = np.asarray([float(expected_matrix_norm(1e6, 1.0, (n, n))) for n in dimensions.tolist()])
    far = np.arange(5000, 8001, 500.0)
    basis = (signed_matrices(np.eye(60)[:, :, None]), signed_matrices(np.eye(60)[:, None, :]))
    matrices = draw.standard_normal((500, 50, 50)) / 10
    large = signed_matrices(matrices)
    limits: dict[str, Any] = dict(variance=matrix_variance(large), bound=large.bound, shape=(50, 50))
    at = scipy.optimize.brentq(lambda t: float(log_matrix_tail(t, **limits)) - np.log(0.1), 1, 1e4)
    sums = draw.choice([-1.0, 1.0], (trials, 500)) @ matrices.reshape(500, -1)
    norms = spectral_norms(sums.reshape(trials, 50, 50))
    cases = [(*draw.uniform(0.1, 10, 2), int(draw.integers(1, 100))) for _ in range(12)]
    t = np.geomspace(0.1, 100, 20)
    return {
        "mean norm of small sums": Inequality(*np.transpose(means)),
        "tails of small sums": Inequality(*np.swapaxes(np.asarray(tails), 0, 1), log=True),
        "mean square of small sums": Inequality(*np.transpose(squares)),
        "sampled rows": Identity(
            np.concatenate([drawn, drawn.mean(0)[None]]),
            np.concatenate([estimates - left.T @ right, np.zeros((1, 3, 2))]),
            scale=np.max(np.abs(estimates)),
            size=4.0,
        ),
        "diagonal matrices": Chain(
            {"below": (largest, bound), "nine tenths of it": (0.9 * bound[-1], largest[-1])},
            aside={"dimension": dimensions},
        ),
        "diagonal matrices, tail": Inequality(
            np.log(diagonal_tail(10**6, 10**6, far)),
            np.asarray(log_matrix_tail(far, 1e6, 1.0, (10**6, 10**6))),
            log=True,
            aside={"one number": log_bernstein(far, 1e6, 1.0)},
        ),
        "variance of basis vectors": Identity([matrix_variance(vectors) for vectors in basis], 60.0),
        "scalars and shapes": Identity(
            np.stack([log_matrix_tail(t, 2.0, 0.7, shape) for shape in ((1, 1), (3, 13))]),
            np.log([[2.0], [16.0]]) - t**2 / 2 / (2.0 + 0.7 * t / 3),
            scale=10.0,
        ),
        "best exponent in the proof": Identity(
            [least_over_rates(v, m, k + 2) for v, m, k in cases],
            [float(expected_matrix_norm(v, m, (k, 2))) for v, m, k in cases],
            condition=10.0,
            aside={"products": [float(expected_matrix_norm(v, m, (2 * k - 1, 1))) for v, m, k in cases]},
        ),
        "large matrices": Chance(np.sum(norms >= at), trials, 0.1),
        "large matrices, mean": Trend(float(expected_matrix_norm(**limits)) - norms),
    }


@matrix_bernstein.control("V from one of the two products alone", of="variance of basis vectors")
def one_product(evidence):
    # A sum of 60 signed basis columns has norm √60; ΣXXᵀ is the identity, and knows nothing of it.
    return Inequality(60**0.5, float(expected_matrix_norm(1.0, 1.0, (60, 1))))


@matrix_bernstein.control("without the logarithm of the dimension", of="diagonal matrices")
def no_dimension(evidence):
    largest, bound = evidence.links["below"]
    return replace(evidence, links={"below": (largest, bound / np.log(2 * evidence.aside["dimension"]) ** 0.5)})


@matrix_bernstein.control("the tail of one number, whatever the dimension", of="diagonal matrices, tail")
def of_one_number(evidence):
    return replace(evidence, bound=evidence.aside["one number"])


@matrix_bernstein.control("the larger of the two dimensions for their sum", of="scalars and shapes")
def larger_dimension(evidence):
    return replace(evidence, right=evidence.right + np.log([[1 / 2], [13 / 16]]))


@matrix_bernstein.control("the product of the dimensions for their sum", of="best exponent in the proof")
def product_of_dimensions(evidence):
    return replace(evidence, right=evidence.aside["products"])


@matrix_bernstein.picture
def largest_of_many(pieces):
    """Mean norm of diagonal matrices of sums of a million signs, in units of √V, along the size, with the bound."""
    piece = pieces["diagonal matrices"]
    largest, bound = (np.asarray(each) / 1e3 for each in piece.links["below"])
    size = piece.aside["dimension"]
    return Curves(
        [
            Line("bound", size, bound),
            Dots("diagonal matrices, exact", size, largest),
            Line("bound", size, bound / np.log(2 * size) ** 0.5, rival="without the logarithm"),
        ],
        x="size n of the matrix", y="mean norm over √V", log="x",
    )  # fmt: skip
