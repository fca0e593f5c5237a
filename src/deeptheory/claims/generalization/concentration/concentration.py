"""Tail bounds of sums of independent variables: each against exact tails, and each with where it is attained."""

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import scipy.optimize
import scipy.stats

from deeptheory.foundations.concentration import (
    bennett_exponent,
    chebyshev_bound,
    finite_law,
    log_bernstein,
    log_binomial_tail,
    log_chernoff_lower,
    log_chernoff_small,
    log_chernoff_upper,
    log_hoeffding,
    markov_bound,
    poisson_binomial,
)
from deeptheory.lab import Chain, Identity, Inequality, Integers, Limit, Printed, Rate, Reals, claim
from deeptheory.lab.evidence import NEVER


@claim(
    items={"A1.4": ""},
    says=r"$P[X\ge t]\le\mathbb E X/t$ for every nonnegative variable (laws on five points, searched).",
    needs="X is nonnegative, t is positive",
    over=dict(values=Reals(0, 10, shape=(5,)), weights=Reals(0, 1, shape=(5,)), share=Reals(0.05, 3.0, log=True)),
    each="array",
    draws=128,
)
def markov_bounds_every_tail(values, weights, share):
    law = finite_law(weights)
    # The threshold sits on a value of the law, or a little off: where tails jump the bound is nearest.
    threshold = np.maximum(share * np.abs(values[:, 0]), 1e-3)
    return Inequality((law * (values >= threshold[:, None])).sum(1), markov_bound((law * values).sum(1), threshold))


markov_bounds_every_tail.control("for variables of either sign", over=dict(values=Reals(-10, 10, shape=(5,))))


@claim(
    items={"A1.5": ""},
    says=r"$P[|X-\mathbb EX|\ge t]\le\operatorname{Var}X/t^2$ for every variable, nonnegative or not (laws on five "
    "points, searched).",
    needs="a finite variance",
    over=dict(values=Reals(-10, 10, shape=(5,)), weights=Reals(0, 1, shape=(5,)), share=Reals(0.05, 3.0, log=True)),
    each="array",
    draws=128,
)
def chebyshev_bounds_every_tail(values, weights, share, *, about: Literal["mean", "origin"] = "mean"):
    law = finite_law(weights)
    centred = values - (law * values).sum(1, keepdims=True)
    away = np.abs(centred if about == "mean" else values)
    threshold = np.maximum(share * away[:, 0], 1e-3)
    variance = (law * centred**2).sum(1)
    return Inequality((law * (away >= threshold[:, None])).sum(1), chebyshev_bound(variance, threshold))


chebyshev_bounds_every_tail.control("deviations from zero instead of the mean", about="origin")


@claim(
    items={"A1.4": ("two points", "named laws"), "A1.5": ("three points", "two points, centred")},
    says=r"Markov's bound is attained by $X\in\{0,t\}$, Chebyshev's by $X\in\{-t,0,t\}$ and by a fair sign; "
    r"exponential, $\chi^2$ and Bernoulli tails obey Markov, the exponential one within $1/e$ of it.",
)
def markov_and_chebyshev_are_attained():
    t, q = (grid.ravel() for grid in np.meshgrid(np.geomspace(0.1, 50, 9), np.linspace(0.05, 1, 9)))
    grid = np.geomspace(0.05, 40, 200)
    laws = (scipy.stats.expon(scale=2.0), scipy.stats.chi2(3), scipy.stats.bernoulli(0.3))
    tails = np.stack([law.sf(np.nextafter(grid, 0)) for law in laws])
    bounds = np.stack([markov_bound(law.mean(), grid) for law in laws])
    return {
        "two points": Identity(q, markov_bound(q * t, t)),  # P[X = t] = q
        "three points": Identity(q, chebyshev_bound(q * t**2, t)),  # P[X = ±t] = q/2 each
        "two points, centred": Identity(np.ones(9), chebyshev_bound(t[:9] ** 2, t[:9])),
        "named laws": Chain(
            {
                "every tail is below the bound": (tails, bounds),
                "the exponential tail comes within 1/e": (np.exp(-1) - 1e-4, np.max(tails[0] / bounds[0])),
            }
        ),
    }


@markov_and_chebyshev_are_attained.control("Markov with the constant two", of="two points")
def markov_doubled(evidence):
    return replace(evidence, right=2 * evidence.right)


@markov_and_chebyshev_are_attained.control("Chebyshev with t in place of t²", of="three points")
def chebyshev_first_power(evidence):
    t = np.meshgrid(np.geomspace(0.1, 50, 9), np.linspace(0.05, 1, 9))[0].ravel()
    return replace(evidence, right=evidence.right * t)


@claim(
    items={"A1.7": ""},
    says=r"For a sum of independent indicators of mean $\mu$, $P[X\ge(1+\delta)\mu]\le e^{-\delta^2\mu/3}$ and "
    r"$P[X\le(1-\delta)\mu]\le e^{-\delta^2\mu/2}$ for $0<\delta\le1$, and "
    r"$P[X\ge(1+\delta)\mu]\le e^{-\delta^2\mu/(2+\delta)}$ for every $\delta>0$.",
    needs="independent indicators, of any probabilities (eight different ones, each 1 to 25 times)",
    over=dict(
        probabilities=Reals(1e-3, 1, log=True, shape=(8,)),
        copies=Integers(1, 25),
        excess=Reals(1e-2, 1.0),
        large=Reals(1e-2, 20.0, log=True),
    ),
    each="array",
    draws=64,
    generations=8,
)
def chernoff_bounds_indicators(probabilities, copies, excess, large, *, alike: bool = False):
    law = np.zeros((len(copies), 201))
    for count in np.unique(copies):
        chosen = copies == count
        if alike:
            law[chosen, : 8 * count + 1 : count] = poisson_binomial(probabilities[chosen])
        else:
            law[chosen, : 8 * count + 1] = poisson_binomial(np.repeat(probabilities[chosen], count, axis=1))
    mean = copies * probabilities.sum(1)
    counts = np.arange(201)
    touch = 1e-12 * mean[:, None]

    def log_of(chosen):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log((law * chosen).sum(1)), NEVER)

    upper = log_of(counts >= ((1 + excess) * mean)[:, None] - touch)
    far = log_of(counts >= ((1 + large) * mean)[:, None] - touch)
    lower = log_of(counts <= ((1 - np.minimum(excess, 1)) * mean)[:, None] + touch)
    bounds = (
        log_chernoff_small(mean, np.minimum(excess, 1)) * np.maximum(excess, 1) ** 2,  # its form beyond δ = 1
        log_chernoff_upper(mean, large),
        log_chernoff_lower(mean, np.minimum(excess, 1)),
    )
    return Inequality(np.stack([upper, far, lower], -1), np.stack(bounds, -1), log=True)


chernoff_bounds_indicators.control(
    "δ²μ/3 for every δ, as printed", erratum="A1.7a", over=dict(excess=Reals(1e-2, 20.0))
)


chernoff_bounds_indicators.control("copies that are equal instead of independent", alike=True)


@chernoff_bounds_indicators.verify
def upper_tail_in_rationals(probabilities, copies, excess, large):
    """P[X ≥ (1 + δ)μ] summed in rationals, beside a rational number above exp(−δ²μ/3)."""
    law, mean = [Fraction(1)], int(copies) * sum(probabilities)
    for p in [p for p in probabilities for _ in range(int(copies))]:
        law = [(1 - p) * a + p * b for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    tail = sum((chance for count, chance in enumerate(law) if count >= (1 + excess) * mean), Fraction(0))
    exponent = excess**2 * mean / 3
    # 1/(1 + x + … + x^k/k!) is above e^(−x).
    series, term = Fraction(1), Fraction(1)
    for k in range(1, 60):
        term *= exponent / k
        series += term
    return tail, 1 / series, "the tail in rationals, the exponential bounded by its series"


def cramer_exponent(excess):
    """sup over λ of λ(1 + δ) − (e^λ − 1), the exponent of a Poisson tail, by numerical maximisation."""
    found = [
        scipy.optimize.minimize_scalar(
            lambda rate, d=d: np.expm1(rate) - rate * (1 + d),
            bounds=(-40, 10),
            method="bounded",
            options={"xatol": 1e-10},
        ).fun  # pyright: ignore[reportAttributeAccessIssue]
        for d in np.atleast_1d(excess)
    ]
    return -np.asarray(found)


@claim(
    items={
        "A1.7": ("exponent", "where d²/3 ends", "small deviations", "any deviation", "first violation"),
        "A1.9": ("second order",),
        "J5.8": ("half", "proof", "table", "Hoeffding stalls"),
    },
    says=r"The exponent of every Chernoff bound is $h(\delta)=(1+\delta)\ln(1+\delta)-\delta$: $\delta^2/3$ stays "
    r"below it up to $\delta=1.8170$, $\delta^2/2$ is its first term on both sides, $\delta^2/(2+\delta)$ is what "
    r"$\ln(1+\delta)\ge2\delta/(2+\delta)$ makes of it, and Bernstein's $\frac{\delta^2/2}{1+\delta/3}$ agrees to "
    r"third order. At $\delta=\frac12$ below, $e^{-n\bar p/8}$: with $\bar p=h^d$, $h=n^{-1/(2\beta+d)}$, "
    r"$d=3$ and $\beta=1$, this falls faster than $1/n$, and Hoeffding's $e^{-n\bar p^2/2}$ does not fall at all.",
    needs=r"the constant in $\bar p\approx h^d$ is one",
)
def chernoff_exponents():
    deltas = np.asarray([-0.9, -0.5, -0.1, -9e-4, 9e-4, 0.1, 0.5, 1.0, 2.0, 5.0, 9.0])
    excess = 1 / 2 ** np.arange(2.0, 9.0)
    exact = np.asarray(bennett_exponent(excess))
    crossing = 1.81696053553651
    means = np.arange(50.0, 1500.0, 5.0)[:, None]
    counts = np.ceil(means * 2.8) + np.arange(400)
    beyond = counts / means - 1
    broken = scipy.stats.poisson.logsf(counts - 1, means) > log_chernoff_small(means, 1.0) * beyond**2
    first = np.min(beyond[broken])
    grid = np.linspace(0.1, 20, 50)
    grown = 10.0 ** np.arange(3, 9)
    bars = grown ** (-3 / 5)  # h^d at d = 3 and β = 1
    # A width of √n has the square of n widths of one.
    hoeffding = grown * np.exp(log_hoeffding(grown * bars / 2, (grown**0.5)[:, None]))
    chernoff = grown * np.exp(log_chernoff_lower(grown * bars, 0.5))
    lower = log_binomial_tail(
        np.full(4, 400), 1 - np.asarray([0.05, 0.1, 0.2, 0.4]), 400 - np.asarray([10, 20, 40, 80])
    )
    return {
        "exponent": Identity(np.asarray(bennett_exponent(deltas)), cramer_exponent(deltas), error=1e-12),
        "where d²/3 ends": Identity(
            -log_chernoff_small(1.0, 1.0) * crossing**2, cramer_exponent(crossing)[0], error=1e-12
        ),
        "small deviations": Limit(
            1 / excess,
            abs(
                np.stack([exact, np.asarray(bennett_exponent(-excess))])
                / -np.stack([log_chernoff_upper(1.0, excess), log_chernoff_lower(1.0, excess)])
                - 1
            ).max(0),
            order=1.0,
        ),
        "any deviation": Identity(
            (1 + grid) * 2 * grid / (2 + grid) - grid, -log_chernoff_upper(1.0, grid), condition=4.0
        ),
        "first violation": Chain({"beyond 1.854": (1.854, first), "before 1.855": (first, 1.855)}),
        "second order": Limit(1 / excess, abs(exact / -log_bernstein(excess, 1.0, 1.0) - 1), order=2.0),
        "half": Inequality(lower, log_chernoff_lower(400 * np.asarray([0.05, 0.1, 0.2, 0.4]), 0.5), log=True),
        "proof": Limit(grown, np.maximum(chernoff, 1e-300), order=1.0),
        "table": Printed(
            np.asarray([hoeffding[3] / 1e5, chernoff[3] / 1e-8]),  # a million samples
            np.asarray([9.7, 2.3]),
            digits=1,
        ),
        "Hoeffding stalls": Rate(grown, hoeffding, exponent=1.0, resolution=0.05),
    }


@chernoff_exponents.control("Hoeffding's exponent is enough in dimension three, as the proof has it", of="proof")
def hoeffding_is_enough(evidence):
    bars = evidence.x ** (-3 / 5)
    return replace(evidence, y=evidence.x * np.exp(log_hoeffding(evidence.x * bars / 2, (evidence.x**0.5)[:, None])))


@chernoff_exponents.control("Bernstein with M/2 in place of M/3", of="second order")
def half_the_bound(evidence):
    excess = 1 / evidence.x
    exact = (evidence.y + 1) * -log_bernstein(excess, 1.0, 1.0)
    return replace(evidence, y=abs(exact / -log_bernstein(excess, 1.0, 1.5) - 1))
