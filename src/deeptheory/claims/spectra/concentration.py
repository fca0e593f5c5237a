"""Concentration behind the Marchenko–Pastur law: of the transform at its mean, of quadratic forms at their traces."""

import itertools
from dataclasses import replace

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Chance, Identity, Inequality, Limit, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, power_law, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.resolvents import (
    azuma_tail,
    quadratic_form_variance,
    rank_one_trace_change,
    transform_variance_bound,
)
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import stieltjes_transform

HEIGHTS = np.asarray([0.2, 0.1, 0.05, 0.025])
TAILS = ((100, 50, 1.0, 0.6), (20, 10, 0.02, 0.3))
"""Dimension, samples, Im z and deviation t at which the tail is counted: high up, where the bound says something, and
close to the line, where fluctuations are large."""


@claim(
    items={
        "J6.12": (
            "probability of a deviation",
            "constants from Azuma's inequality",
            "mean squared deviation",
            "bound as a sum over samples",
            "fluctuations along the height",
            "fluctuations along the dimension",
        )
    },
    consistency=("bound as a sum over samples",),
    says=r"$P(|S_N-\mathbb ES_N|>t)\le4\exp(-N^2v^2t^2/(16M))$ at $\operatorname{Im}z=v$, and $\mathbb E|S_N-\mathbb "
    r"ES_N|^2\le M/(Nv)^2$. The fluctuations fall as $1/N$, far below these bounds, and over the spectrum grow no "
    r"faster than $1/v$ as $v$ falls from 0.2 to 0.025.",
    needs="independent samples; the constants are ours, proved but far from sharp, so that data alone cannot fix them",
    symbols={
        r"S_N": r"the Stieltjes transform at $z$ of a sample covariance in dimension $N$",
        r"M": "the number of samples",
        r"v": r"the height of $z$ above the real line",
    },
    why=r"Reveal the samples one after the other: each is a change of rank one and can move $S_N$ by at most "
    r"$1/(Nv)$, so what is expected of $S_N$ moves in $M$ bounded steps. Their squares add up to $M/(Nv)^2$, and "
    r"Azuma's inequality with steps of twice that size, for real and imaginary part, gives the constants 4 and 16. "
    r"Really the eigenvalues repel each other and hold still: the fluctuations are of the order $\sqrt M$ times "
    r"smaller.",
    notice=r"The proved bound falls like $N^{-1/2}$, the fluctuations themselves like $1/N$. Towards the line the "
    r"bound grows like $1/v$ and the fluctuations no faster, a factor of more than ten below it; they do not fall "
    r"like $\sqrt v$.",
    full=dict(trials=2000),
)
def transform_concentration(key, *, sizes: Sizes = (15, 30, 60, 120), trials: Trials = 400):
    z = 1 + 1j * np.append(HEIGHTS, 1.0)
    moved = np.empty((len(sizes), trials, len(z)))
    for i, size in enumerate(sizes):
        values = sample_covariance_eigenvalues(draw_entries(jax.random.fold_in(key, i), (trials, size, 2 * size)))
        transform = stieltjes_transform(values, z)
        # The mean is taken from the same draws, which shrinks deviations by a factor that is the same at every size.
        moved[i] = abs(transform - transform.mean(0)) * (trials / (trials - 1)) ** 0.5
    failures = []
    for j, (dimension, samples, height, distance) in enumerate(TAILS):
        x = draw_entries(jax.random.fold_in(key, 100 + j), (trials, dimension, samples), "uniform")
        transform = stieltjes_transform(sample_covariance_eigenvalues(x), 1 + 1j * height)
        failures.append((abs(transform - transform.mean()) > distance).sum())
    dimension, samples, height, distance = np.asarray(TAILS).T
    # Azuma for M differences of at most 2/(Nv), for two parts at t/√2 each.
    steps = samples * (2 / (dimension * height)) ** 2
    assembled = 2 * 2 * np.exp(-((distance / 2**0.5) ** 2) / (2 * steps))
    bound = transform_variance_bound(np.asarray(sizes)[:, None], 2 * np.asarray(sizes)[:, None], z.imag)
    # The most that one sample can do to N S_N: a number moved across, as in `rank_one_changes`.
    most = [abs(rank_one_trace_change(np.asarray([[w.real - w.imag]]), np.ones(1), 2 * w.imag, w)) for w in z]
    summed = 2 * np.asarray(sizes)[:, None] * (np.asarray(most) / np.asarray(sizes)[:, None]) ** 2
    return {
        "probability of a deviation": Chance(
            np.asarray(failures), trials, np.minimum(azuma_tail(distance, dimension, samples, height), 1)
        ),
        "constants from Azuma's inequality": Identity(azuma_tail(distance, dimension, samples, height), assembled),
        "mean squared deviation": Inequality(
            (moved**2).mean(1), bound, along={"size": np.asarray(sizes), "height": z.imag}
        ),
        "bound as a sum over samples": Identity(bound, summed),
        "fluctuations along the height": Limit(1 / HEIGHTS, moved[-1, :, :-1].T, order=-1.0),
        "fluctuations along the dimension": Rate(np.asarray(sizes), moved[..., -1], exponent=-1.0, rivals=(-0.5,)),
    }


@transform_concentration.control("1/v in the exponent, the constant as at v = 1", of="probability of a deviation")
def printed_exponent(evidence):
    dimension, samples, height, distance = np.asarray(TAILS).T
    return replace(evidence, at_most=np.minimum(azuma_tail(distance, dimension, samples, height**-0.5), 1))


@transform_concentration.control("fluctuations that fall as √v towards the line", of="fluctuations along the height")
def printed_heights(evidence):
    return replace(evidence, order=0.5)


@transform_concentration.picture
def fluctuations_and_bounds(pieces):
    """Mean distance of the transform from its mean, along the dimension and along the height, with its bound."""
    along, heights = pieces["fluctuations along the dimension"], pieces["fluctuations along the height"]
    roots, v = np.sqrt(np.asarray(pieces["mean squared deviation"].bound)), 1 / np.asarray(heights.x)
    first = float(np.mean(heights.y[0]))
    return Row(
        [
            Curves(
                [*power_law("fluctuations", along), Line("bound", along.x, roots[:, -1])],
                x="dimension N",
                y="distance from the mean",
                log="xy",
                title="At height 1",
            ),
            Curves(
                [
                    seen("fluctuations", v, heights.y),
                    Line("bound", v, roots[-1, :-1]),
                    Line("", v, first * (v / v[0]) ** 0.5, rival="falling as √v"),
                ],
                x="height v",
                y="distance from the mean",
                log="xy",
                title="At the largest dimension",
            ),
        ]
    )


LAWS = {
    "signs": ((-1.0, 1.0), (0.5, 0.5)),
    "skewed": ((-0.5, 2.0), (0.8, 0.2)),
    "three points": ((-(5**0.5), 0.0, 5**0.5), (0.1, 0.8, 0.1)),
}
"""Laws of mean zero and variance one on a few points, with their shares; fourth moments 1, 3.25 and 5."""


def enumerated(law, size):
    """All vectors with entries from one of the laws, and their probabilities."""
    points, shares = LAWS[law]
    vectors = np.asarray(list(itertools.product(points, repeat=size)))
    return vectors, np.prod(list(itertools.product(shares, repeat=size)), axis=1)


@claim(
    items={
        "J6.13": (
            "mean of a quadratic form",
            "variance of a quadratic form",
            "matrices without a diagonal",
            "links of the bound",
            "bound attained",
            "deviation along the dimension",
        )
    },
    says=r"$\langle X,AX\rangle$ has mean $\operatorname{tr}A$ and variance "
    r"$\sum_{i\ne j}(A_{ij}^2+A_{ij}A_{ji})+(\kappa-1)\sum_iA_{ii}^2$, at most $N\max(2,\kappa-1)\|A\|^2$, which the "
    r"identity attains for $\kappa\ge3$ and a matching for $\kappa\le3$; so "
    r"$\frac1N\langle X,AX\rangle-\frac1N\operatorname{tr}A$ falls as $N^{-1/2}$ in mean modulus.",
    needs="independent entries of mean 0, variance 1, fourth moment κ",
    symbols={
        r"X": r"a vector of $N$ independent entries of mean 0 and variance 1",
        r"A": r"a matrix of largest singular value $\|A\|$, independent of $X$",
        r"\kappa": "the fourth moment of the entries",
    },
    why=r"Expand the square of $\sum_{ij}A_{ij}X_iX_j$: only terms in which every index appears in pairs have a mean. "
    r"Pairs of different indices give $A_{ij}^2+A_{ij}A_{ji}$, equal ones the variance $\kappa-1$ of $X_i^2$. The "
    r"squared entries of $A$ add up to at most $N\|A\|^2$, so the form deviates by order $\sqrt N\|A\|$, and over $N$ "
    r"by $N^{-1/2}$.",
    notice=r"Left, variances over all vectors of a few entries against the formula: without the product "
    r"$A_{ij}A_{ji}$ it would be half of what it is for symmetric matrices without a diagonal. Right, the normalised "
    r"form comes to the trace like $N^{-1/2}$, not like $1/N$.",
    full=dict(sizes=(50, 100, 200, 400, 800), trials=4000),
)
def trace_lemma(key, *, sizes: Sizes = (25, 50, 100, 200, 400), trials: Trials = 600):
    draw = generator(key)
    cases = [("signs", 10), ("skewed", 10), ("three points", 7)]
    mean, variance, off, links = [], [], [], []
    for law, size in cases:
        vectors, shares = enumerated(law, size)
        fourth = float(np.dot(LAWS[law][1], np.asarray(LAWS[law][0]) ** 4))
        for _ in range(4):
            matrix = draw.standard_normal((size, size))
            form = (vectors @ matrix * vectors).sum(1)
            spread = shares @ (form - np.trace(matrix)) ** 2
            mean.append([shares @ form, np.trace(matrix)])
            variance.append([spread, quadratic_form_variance(matrix, fourth)])
            most = size * max(2, fourth - 1) * np.linalg.norm(matrix, 2) ** 2
            links.append([shares @ abs(form - np.trace(matrix)), spread**0.5, most**0.5])
            hollow = matrix + matrix.T - 2 * np.diag(np.diag(matrix))
            off.append([shares @ (vectors @ hollow * vectors).sum(1) ** 2, quadratic_form_variance(hollow, fourth)])
    pairs = np.kron(np.eye(5), np.asarray([[0.0, 1], [1, 0]]))
    extremes = [quadratic_form_variance(np.eye(10), 5.0) / 4, quadratic_form_variance(pairs, 1.0) / 2]
    vectors, shares = enumerated("three points", 7)
    extremes.append(shares @ ((vectors**2).sum(1) - 7) ** 2 / 4 * 10 / 7)
    gaps = np.empty((len(sizes), trials))
    for i, size in enumerate(sizes):
        rotation = np.linalg.qr(draw.standard_normal((size, size)))[0]
        x = draw_entries(jax.random.fold_in(key, i), (trials, size), "exponential")
        gaps[i] = abs((x @ rotation * x).sum(1) - np.trace(rotation)) / size
    small, middle, large = np.asarray(links).T
    return {
        "mean of a quadratic form": Identity(*np.asarray(mean).T, scale=10.0, size=100.0),
        "variance of a quadratic form": Identity(*np.asarray(variance).T, size=1024.0),
        "matrices without a diagonal": Identity(*np.asarray(off).T, size=1024.0),
        "links of the bound": Chain({"Jensen": (small, middle), "norm": (middle, large)}),
        "bound attained": Identity(np.asarray(extremes), 10.0, size=1024.0),
        "deviation along the dimension": Rate(np.asarray(sizes), gaps, exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@trace_lemma.control("Σ Aᵢⱼ² off the diagonal", of="matrices without a diagonal")
def printed_square(evidence):
    return replace(evidence, right=evidence.right / 2)


@trace_lemma.picture
def forms_and_traces(pieces):
    """Variances of quadratic forms, by enumeration against the formula; and the distance from the trace."""
    whole, hollow = pieces["variance of a quadratic form"], pieces["matrices without a diagonal"]
    ends = np.asarray([np.min(whole.right), np.max(hollow.right)])
    return Row(
        [
            Curves(
                [
                    Line("equal", ends, ends),
                    Dots("any matrices", whole.right, whole.left),
                    Dots("matrices without a diagonal", hollow.right, hollow.left),
                    Line("", ends, ends / 2, rival="squares alone"),
                ],
                x="variance by the formula",
                y="variance over all vectors",
                log="xy",
                title="Variance of the form",
            ),
            Curves(
                power_law("observed", pieces["deviation along the dimension"], rivals={-1.0: "1/N"}),
                x="dimension N",
                y="distance from the trace, over N",
                log="xy",
                title="Concentration",
            ),
        ]
    )
