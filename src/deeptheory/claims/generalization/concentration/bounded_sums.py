"""Sums of bounded variables: Hoeffding, Bernstein and what follows from them."""

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.stats

from deeptheory.foundations.concentration import (
    both_sides,
    finite_law,
    hoeffding_confidence,
    hoeffding_radius,
    hoeffding_samples,
    log_bernstein,
    log_binomial_deviation,
    log_binomial_tail,
    log_hoeffding,
    log_hoeffding_lemma,
    square_exponential_bound,
)
from deeptheory.generalization.concentration.martingales import product_law
from deeptheory.lab import Chain, Exact, Identity, Inequality, Integers, Limit, Reals, claim
from deeptheory.lab.evidence import NEVER


@claim(
    items={"A1.8": "", "A1.12": "", "J5.9": "", "L8.2": ""},
    says=r"For all $n\le200$, $p$ and $\epsilon$ the exact binomial tail obeys Hoeffding, $P[|\bar X-p|\ge\epsilon]\le"
    r"2e^{-2n\epsilon^2}$; averages of values $\pm1$ obey $2e^{-n\epsilon^2/2}$; and the interval of half-width "
    r"$\sqrt{\ln(2/\delta)/(2n)}$ misses with probability at most $\delta$.",
    needs="independent values in an interval of width one (two for the signs)",
    over=dict(n=Integers(1, 200), p=Reals(0, 1), epsilon=Reals(1e-3, 1), delta=Reals(1e-6, 1, log=True)),
    each="array",
    draws=128,
    generations=8,
)
def hoeffding_bounds_binomial_tails(n, p, epsilon, delta):
    widths = np.ones((len(n), 1)) * n[:, None] ** 0.5  # n widths of one have the same sum of squares
    coin = np.maximum(log_binomial_deviation(n, p, n * epsilon), NEVER)
    # An average of fair signs misses by ε when the count of plus signs misses by nε/2.
    signs = np.maximum(log_binomial_deviation(n, 0.5, n * epsilon / 2), NEVER)
    missed = np.maximum(log_binomial_deviation(n, p, n * np.asarray(hoeffding_radius(n, delta))), NEVER)
    bounds = (
        both_sides(log_hoeffding(n * epsilon, widths)),
        both_sides(log_hoeffding(n * epsilon, 2 * widths)),
        np.log(delta),
    )
    return Inequality(np.stack([coin, signs, missed], -1), np.stack(bounds, -1), log=True)


@hoeffding_bounds_binomial_tails.control("averages of [−1, 1] values below exp(−ε²m), as printed", erratum="A1.12a")
def printed_average(evidence, instances):
    bound = evidence.bound.copy()
    bound[:, 1] = -(instances["epsilon"] ** 2) * instances["n"]
    return replace(evidence, bound=bound)


@hoeffding_bounds_binomial_tails.control("both tails within the bound of one")
def no_factor_two(evidence):
    return replace(evidence, bound=evidence.bound - np.log(2) * np.asarray([1.0, 1.0, 0.0]))


@claim(
    items={"A1.8": ""},
    says=r"$P[X-\mathbb EX\ge t]\le\exp(-2t^2/\sum(b_i-a_i)^2)$ for sums of independent variables of different "
    "ranges (ten two-point variables, every outcome enumerated).",
    needs="independence; each variable in its own interval",
    over=dict(p=Reals(0, 1, shape=(10,)), widths=Reals(1e-2, 10, log=True, shape=(10,)), share=Reals(0, 1)),
    each="array",
    draws=48,
    generations=8,
)
def hoeffding_bounds_unequal_ranges(p, widths, share, *, ranges: Literal["each", "largest"] = "each"):
    outcomes = (np.arange(1024)[:, None] >> np.arange(9, -1, -1)) & 1
    centred = np.einsum("oi,bi->bo", outcomes, widths) - (p * widths).sum(1)[:, None]
    # Thresholds at values the sum takes: the tail is largest there, compared with the bound.
    threshold = np.sort(centred, 1)[np.arange(len(p)), (512 + share * 511).astype(int)]
    threshold = np.maximum(threshold, 1e-9)
    tail = (product_law(p) * (centred >= (threshold * (1 - 1e-12))[:, None])).sum(1)
    with np.errstate(divide="ignore"):
        log_tail = np.maximum(np.log(tail), NEVER)
    squares = widths if ranges == "each" else widths.max(1, keepdims=True)
    return Inequality(log_tail, log_hoeffding(threshold, squares), log=True)


hoeffding_bounds_unequal_ranges.control("the largest range squared instead of the sum", ranges="largest")


@claim(
    items={
        "A1.8": ("two", "one", "lemma"),
        "A1.12": ("signs", "reference"),
        "J5.9": ("two",),
        "L8.2": ("calculator", "long"),
        "A1.9": ("comparison",),
    },
    says=r"Hoeffding's 2 is the best constant in the exponent (fair coins, $\epsilon\to0$), its one-sided prefactor 1 "
    r"the best (one coin, $p\to1$), and the two-sided bound is two one-sided ones. Behind it is "
    r"$\ln\mathbb Ee^{\lambda(X-\mathbb EX)}\le\lambda^2(b-a)^2/8$, reached to second order by fair coins. "
    r"Radius, sample size and confidence are inverse to each other; at $n=250,500,1000$ the exact failure rate is at "
    r"most $\delta$. Bernstein's bound is below Hoeffding's exactly where $\sum\mathbb EX_i^2+Mt/3<n/4$.",
)
def hoeffding_constants():
    epsilon = 1 / 2.0 ** np.arange(2, 9)
    # Cramér: −ln P[mean ≥ 1/2 + ε]/n tends to the relative entropy of the two coins.
    rates = [float(scipy.stats.entropy([0.5 + e, 0.5 - e], [0.5, 0.5])) for e in epsilon]
    one = -np.asarray([log_hoeffding(e, np.ones(1)) for e in epsilon])
    signs = -np.asarray([log_hoeffding(2 * e, np.full(1, 2.0)) for e in epsilon])
    close = 1 / 4.0 ** np.arange(2, 8)
    single = -np.log1p(-close) + np.asarray([log_hoeffding(q, np.ones(1)) for q in close])  # ln(bound / P[X = 1])
    rate = 1 / 2.0 ** np.arange(0, 7)
    exact = np.log(np.cosh(3 * rate / 2))  # a fair coin with values 3 apart
    p = np.linspace(0.02, 0.98, 25)[:, None]
    mgf = np.log1p(p * np.expm1(3 * rate)) - 3 * rate * p
    n, delta = np.asarray([10.0, 100.0, 1000.0]), np.asarray([0.5, 0.05, 1e-4])
    radius = np.asarray(hoeffding_radius(n, delta, width=3.0))
    inverted = (
        np.asarray(hoeffding_samples(radius, delta, width=3.0)),
        np.asarray(hoeffding_confidence(n, radius, width=3.0)),
        [np.exp(both_sides(log_hoeffding(k * r, np.full(int(k), 3.0)))) for k, r in zip(n, radius, strict=True)],
    )
    # A hundred centred Bernoulli terms, rare to fair, at all distances.
    chance, t = np.meshgrid(np.geomspace(1e-3, 0.5, 31), np.geomspace(0.5, 50, 33))
    variance, bound = 100 * chance * (1 - chance), 1 - chance
    p_long = np.linspace(0.01, 0.99, 50)
    sizes = np.asarray([250, 500, 1000])[:, None]
    missed = [log_binomial_deviation(sizes, p_long, sizes * np.asarray(hoeffding_radius(sizes, d))) for d in delta]
    return {
        "two": Limit(1 / epsilon, abs(np.asarray(rates) / one - 1), order=2.0),
        "one": Limit(1 / close, abs(single), order=1.0),
        "lemma": Chain(
            {
                "every coin is below": (mgf, np.asarray(log_hoeffding_lemma(rate, 3.0))),
                "the fair coin reaches it": ((1 - rate**2) * log_hoeffding_lemma(rate, 3.0), exact),
            }
        ),
        "signs": Identity(signs, one),
        "reference": Chain(
            {
                "Rademacher below Hoeffding": (
                    log_binomial_deviation(100, 0.5, 15.0),
                    both_sides(log_hoeffding(30.0, np.full(100, 2.0))),
                ),
                "and above exp(−ε²m)": (-(0.3**2) * 100, log_binomial_deviation(100, 0.5, 15.0)),
                "3.5e-3": (np.log(3.5e-3 - 5e-5), log_binomial_deviation(100, 0.5, 15.0)),
                "to the digit": (log_binomial_deviation(100, 0.5, 15.0), np.log(3.5e-3 + 5e-5)),
            }
        ),
        "calculator": Identity(np.stack(inverted), np.stack([n, delta, delta]), condition=16.0),
        "comparison": Exact(
            np.asarray(log_bernstein(t, variance, bound) < log_hoeffding(t, np.full((1,), 10.0))),
            variance + bound * t / 3 < 25.0,
        ),
        "long": Inequality(np.maximum(missed, NEVER), np.log(delta)[:, None, None], log=True),
    }


@hoeffding_constants.control("exponent n ε² in place of 2 n ε²", of="two")
def half_exponent(evidence):
    return replace(evidence, y=2 * (evidence.y + 1) - 1)


@claim(
    items={"A1.9": ""},
    says=r"Centred Bernoulli sums obey Bernstein, $P[\sum X_i\ge t]\le\exp(-\frac{t^2/2}{\sum\mathbb EX_i^2+Mt/3})$, "
    r"for all $n\le200$, $p$ and $t$.",
    needs="independent centred terms of size at most M",
    over=dict(n=Integers(1, 200), p=Reals(1e-4, 0.9999, log=True), share=Reals(1e-3, 1, log=True)),
    each="array",
    draws=128,
    generations=8,
)
def bernstein_bounds_bernoulli_sums(n, p, share, *, term: Literal["kept", "dropped"] = "kept"):
    t = share * n * (1 - p)
    variance, bound = n * p * (1 - p), np.maximum(p, 1 - p)
    exact = np.maximum(log_binomial_tail(n, p, n * p + t), NEVER)
    return Inequality(exact, log_bernstein(t, variance, bound if term == "kept" else 0.0), log=True)


bernstein_bounds_bernoulli_sums.control("the variance alone, without Mt/3", term="dropped")


@claim(
    items={"A5.34": ""},
    says=r"For losses in $[0,1]$ and any prior, $\mathbb E_S\mathbb E_Pe^{(m/2)\Delta^2}\le2/\sqrt3$, so at most a "
    r"share $\delta$ of samples has $\mathbb E_Pe^{(m/2)\Delta^2}>2/\delta$ (four hypotheses on two points, exactly).",
    needs="losses in [0, 1]; a prior that does not depend on the sample",
    over=dict(
        m=Integers(1, 400, log=True),
        p=Reals(0, 1),
        losses=Reals(0, 1, shape=(4, 2)),
        prior=Reals(0, 1, shape=(4,)),
        delta=Reals(1e-2, 1, log=True),
    ),
    each="array",
    draws=64,
    generations=8,
)
def exponential_of_the_squared_gap(m, p, losses, prior, delta, *, span: Literal["unit", "signs"] = "unit"):
    counts = np.arange(401)
    law = np.where(counts <= m[:, None], scipy.stats.binom.pmf(counts, m[:, None], p[:, None]), 0.0)
    slope = (losses[..., 1] - losses[..., 0]) * (2 if span == "signs" else 1)
    gap = slope[:, :, None] * (p[:, None] - np.minimum(counts / m[:, None], 1))[:, None, :]
    moments = (finite_law(prior)[:, :, None] * np.exp(m[:, None, None] / 2 * gap**2)).sum(1)
    exceeded = (law * (moments > 2 / delta[:, None] * (1 + 1e-12))).sum(1)
    mean = (law * moments).sum(1)
    least = square_exponential_bound(m / 2, 1 / (4 * m))
    return Inequality(np.stack([mean, least, exceeded], -1), np.stack([least, np.full_like(p, 2.0), delta], -1))


exponential_of_the_squared_gap.control("losses in [−1, 1], where the mean grows like √m", span="signs")


@claim(
    items={"A5.34": ("fair coin", "Gaussian", "inverse")},
    says=r"$2/\sqrt3$ is the best constant: a fair coin's loss reaches it like $1/m$; it is the value of "
    r"$\mathbb Ee^{\lambda X^2}=(1-2\lambda s^2)^{-1/2}$ for a Gaussian of the largest variance, $s^2=1/(4m)$.",
)
def squared_gap_constant():
    sizes = 2 ** np.arange(3, 11)
    means = []
    for m in sizes:
        counts = np.arange(m + 1)
        means.append(scipy.stats.binom.pmf(counts, m, 0.5) @ np.exp(m / 2 * (counts / m - 0.5) ** 2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    spread = np.asarray([0.1, 0.4, 0.9])
    gaussian = (weights * np.exp(0.3 * spread[:, None] ** 2 * nodes**2)).sum(1) / (2 * np.pi) ** 0.5
    return {
        "fair coin": Limit(
            sizes, np.abs(np.asarray(means) - square_exponential_bound(sizes / 2, 1 / (4 * sizes))), order=1.0
        ),
        "Gaussian": Identity(gaussian, square_exponential_bound(0.3, spread**2), condition=10.0),
        "inverse": Identity(square_exponential_bound(5.0, 1 / 40), 2 / 3**0.5),
    }


@squared_gap_constant.control("√2, the value printed in the proof", of="inverse")
def printed_moment(evidence):
    return replace(evidence, right=2**0.5)
