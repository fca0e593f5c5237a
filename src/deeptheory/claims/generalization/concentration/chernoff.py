"""Chernoff and Bernstein: tails of sums of indicators, and the one exponent behind their bounds."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.optimize
import scipy.stats

from deeptheory.foundations.concentration import (
    bennett_exponent,
    log_bernstein,
    log_binomial_tail,
    log_chernoff_lower,
    log_chernoff_small,
    log_chernoff_upper,
    log_hoeffding,
    poisson_binomial,
)
from deeptheory.lab import Chain, Identity, Inequality, Integers, Limit, Printed, Rate, Reals, claim
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row


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
    symbols={
        r"\mu": "the mean of the sum",
        r"X": "the sum of the indicators",
        r"\delta": "the deviation as a share of the mean",
    },
    why=r"Markov's bound for $e^{\lambda X}$, with the best $\lambda$: indicators have $\mathbb Ee^{\lambda X}\le "
    r"e^{\mu(e^\lambda-1)}$, so that $P[X\ge(1+\delta)\mu]\le e^{-\mu h(\delta)}$ with $h(\delta)=(1+\delta)\ln(1+"
    r"\delta)-\delta$, as for a Poisson variable, and below the mean with $h(-\delta)$. The printed forms are simpler "
    r"numbers below $h$.",
    notice=r"Each dot is a sum of indicators at one deviation. Near the mean the bounds are close; further out the "
    r"exact logarithm is about twice the bound's for these small sums, and more where the deviation comes near the "
    r"largest value that the sum can take. Right: no exponent may lie above that of a Poisson variable, and the "
    r"printed one does from $\delta=1.82$ on.",
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


@chernoff_bounds_indicators.picture
def tails_under_bounds(pieces):
    """Exact tails of sums of indicators against Chernoff's bounds, as logarithms; and the exponents along δ."""
    (piece,) = pieces.values()
    names = ("δ²μ/3 above, δ ≤ 1", "δ²μ/(2 + δ) above", "δ²μ/2 below")
    ends = np.array([-15.0, 0.0])
    dots = [Dots(*each) for each in zip(names, np.asarray(piece.bound).T, np.asarray(piece.quantity).T, strict=True)]
    delta = np.geomspace(0.1, 20, 200)
    small, small_too_far = (-log_chernoff_small(1.0, 1.0) * each**2 for each in (delta[delta <= 1], delta[delta >= 1]))
    exponents = [
        Line("Poisson", delta, (1 + delta) * np.log1p(delta) - delta),
        Line("δ²/3, δ ≤ 1", delta[delta <= 1], small),
        Line("δ²/(2 + δ)", delta, -log_chernoff_upper(1.0, delta)),
        Line("", delta[delta >= 1], small_too_far, rival="δ²/3 beyond, as printed"),
    ]
    return Row(
        [
            Curves(
                [Line("bound", ends, ends), *dots],
                x="logarithm of the bound", y="logarithm of the tail", xs=(-15, 0), ys=(-30, 0),
            ),
            Curves(exponents, x="deviation δ", y="exponent over the mean μ", log="xy"),
        ]
    )  # fmt: skip


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


@claim(
    items={"A1.9": ""},
    says=r"Centred Bernoulli sums obey Bernstein, $P[\sum X_i\ge t]\le\exp(-\frac{t^2/2}{\sum\mathbb EX_i^2+Mt/3})$, "
    r"for all $n\le200$, $p$ and $t$.",
    needs="independent centred terms of size at most M",
    over=dict(n=Integers(1, 200), p=Reals(1e-4, 0.9999, log=True), share=Reals(1e-3, 1, log=True)),
    each="array",
    draws=128,
    generations=8,
    symbols={
        r"X_i": "independent centred terms",
        r"t": "the deviation of their sum from its mean 0",
        r"M": "a bound on the size of every term",
        r"n,\ p": "the number of coins and their chance",
    },
    why=r"The $k$-th moment of a term is at most $M^{k-2}$ times its second, so the series of $\mathbb Ee^{\lambda "
    r"X_i}$ is at most $1+\frac{\lambda^2}2\mathbb EX_i^2(1+\frac{M\lambda}3+\dots)$, a geometric series because "
    r"$k!\ge2\cdot3^{k-2}$. Chernoff's method with $\lambda=t/(\sum\mathbb EX_i^2+Mt/3)$ gives the bound. The term "
    r"$Mt/3$ is what a Gaussian does not have: rare large terms.",
    notice=r"Rare coins, 200 of chance one in fifty: the tail is that of a Poisson variable, heavier than a Gaussian "
    r"of the same variance. Bernstein's bound bends with it, the variance alone falls below it, and Hoeffding's "
    r"bound, which does not know that the coins are rare, hardly falls.",
)
def bernstein_bounds_bernoulli_sums(n, p, share):
    t = share * n * (1 - p)
    variance, bound = n * p * (1 - p), np.maximum(p, 1 - p)
    exact = np.maximum(log_binomial_tail(n, p, n * p + t), NEVER)
    aside = {"variance alone": log_bernstein(t, variance, 0.0), "half": log_bernstein(t, variance, bound / 2)}
    return Inequality(exact, log_bernstein(t, variance, bound), log=True, aside=aside)


@bernstein_bounds_bernoulli_sums.control("the variance alone, without Mt/3")
def without_the_bound(evidence):
    return replace(evidence, bound=evidence.aside["variance alone"])


@bernstein_bounds_bernoulli_sums.control("Mt/6 in place of Mt/3")
def half_the_bound_alone(evidence):
    return replace(evidence, bound=evidence.aside["half"])


@bernstein_bounds_bernoulli_sums.picture
def rare_coins(pieces):
    """Probability that the number of successes of 200 rare coins exceeds its mean by t, with three bounds."""
    n, p = 200, 0.02
    t = np.linspace(0.02, 20, 1000)
    return Curves(
        [
            Line("exact", t, np.exp(log_binomial_tail(n, p, n * p + t))),
            Line("Bernstein", t, np.exp(log_bernstein(t, n * p * (1 - p), 1 - p))),
            Line("Hoeffding", t, np.exp(log_hoeffding(t, np.ones(n)))),
            Line("bound", t, np.exp(log_bernstein(t, n * p * (1 - p), 0.0)), rival="the variance alone"),
        ],
        x="deviation t", y="probability", log="y", ys=(1e-12, 2),
    )  # fmt: skip


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
        "A1.7": (
            "exact exponent",
            "where d²/3 ends",
            "small deviations",
            "exponent for any deviation",
            "first violation",
            "twice the mean",
        ),
        "A1.9": ("Bernstein to second order",),
        "J5.8": ("half the mean", "union over many sums", "the printed table", "Hoeffding stalls"),
    },
    says=r"Every Chernoff exponent is a number below $h(\delta)=(1+\delta)\ln(1+\delta)-\delta$: $\delta^2/3$ up to "
    r"$\delta=1.8170$, $\delta^2/2$ for $\delta<0$, $\delta^2/(2+\delta)$ for all $\delta>0$, Bernstein's "
    r"$\frac{\delta^2/2}{1+\delta/3}$ to third order. Where Hoeffding's bound stalls, $e^{-n\bar p/8}$ may fall fast.",
    needs=r"the last: $\bar p=h^d$ with constant one, $h=n^{-1/(2\beta+d)}$, $d=3$, $\beta=1$",
    symbols={
        r"h(\delta)": "the exponent of the tail per unit of mean, at a deviation $\\delta$ times the mean",
        r"n,\ \bar p": "the number of indicators and their mean probability",
    },
    why=r"$h$ is what is left when Markov's bound for $e^{\lambda X}$ is made smallest over $\lambda$. Its series "
    r"starts with $\delta^2/2-\delta^3/6$, and Bernstein's form has the same two terms. Chernoff's exponent is "
    r"proportional to the mean, Hoeffding's to its square: with few successes in many trials only the first is of any "
    r"use.",
    notice=r"All but the constant start at $\frac12$. Bernstein's form and $1/(2+\delta)$ stay below the exact curve "
    r"for ever; the constant $\frac13$ crosses it at $\delta=1.817$, and promises more than is true from there on.",
)
def chernoff_exponents():
    deltas = np.asarray([-0.9, -0.5, -0.1, -9e-4, 9e-4, 0.1, 0.5, 1.0, 2.0, 5.0, 9.0])
    excess = 1 / 2 ** np.arange(2.0, 9.0)
    exact = np.asarray(bennett_exponent(excess))
    # Sums of centred rare jumps of size M have, at variance v, the exponent (v/M²)·h(Mt/v).
    spread, most = np.asarray([1.0, 3.0, 0.4])[:, None], np.asarray([1.0, 0.5, 2.0])[:, None]
    away, jumps = excess * spread / most, exact * spread / most**2
    stated = [np.asarray(log_bernstein(away, spread, size)) for size in (most, most**2)]
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
    mean, some = np.asarray([2.0, 5.0, 30.0]), np.asarray([0.25, 0.5, 0.9])
    twice = np.asarray([10.0, 50.0, 100.0, 400.0])  # means of Poisson variables, sums of very many rare indicators
    lower = log_binomial_tail(
        np.full(4, 400), 1 - np.asarray([0.05, 0.1, 0.2, 0.4]), 400 - np.asarray([10, 20, 40, 80])
    )
    return {
        "exact exponent": Identity(
            np.asarray(bennett_exponent(deltas)), cramer_exponent(deltas), error=1e-12, aside={"deviation": deltas}
        ),
        "exponents as written": Identity(
            -np.stack([form(mean, some) for form in (log_chernoff_small, log_chernoff_upper, log_chernoff_lower)]),
            mean * some**2 / np.stack([np.full(3, 3.0), 2 + some, np.full(3, 2.0)]),
        ),
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
            aside={"exponent": exact},
        ),
        "exponent for any deviation": Identity(
            (1 + grid) * 2 * grid / (2 + grid) - grid, -log_chernoff_upper(1.0, grid), condition=4.0
        ),
        "first violation": Chain({"beyond 1.854": (1.854, first), "before 1.855": (first, 1.855)}),
        "Bernstein to second order": Limit(
            1 / excess,
            np.abs(jumps / stated[0] + 1).max(0),
            order=2.0,
            aside={"square of M": np.abs(jumps / stated[1] + 1).max(0)},
        ),
        "twice the mean": Inequality(
            scipy.stats.poisson.logsf(2 * twice - 1, twice), log_chernoff_small(twice, 1.0), log=True
        ),
        "half the mean": Inequality(lower, log_chernoff_lower(400 * np.asarray([0.05, 0.1, 0.2, 0.4]), 0.5), log=True),
        "union over many sums": Limit(grown, np.maximum(chernoff, 1e-300), order=1.0),
        "the printed table": Printed(
            np.asarray([hoeffding[3] / 1e5, chernoff[3] / 1e-8]),  # a million samples
            np.asarray([9.7, 2.3]),
            digits=1,
        ),
        "Hoeffding stalls": Rate(grown, hoeffding, exponent=1.0, resolution=0.05),
    }


@chernoff_exponents.control(
    "Hoeffding's exponent is enough in dimension three, as the proof has it", of="union over many sums"
)
def hoeffding_is_enough(evidence):
    bars = evidence.x ** (-3 / 5)
    return replace(evidence, y=evidence.x * np.exp(log_hoeffding(evidence.x * bars / 2, (evidence.x**0.5)[:, None])))


@chernoff_exponents.control("Bernstein with M/2 in place of M/3", of="Bernstein to second order")
def half_the_bound(evidence):
    excess = 1 / evidence.x
    exact = (evidence.y + 1) * -log_bernstein(excess, 1.0, 1.0)
    return replace(evidence, y=abs(exact / -log_bernstein(excess, 1.0, 1.5) - 1))


@chernoff_exponents.control("Bernstein with M² in place of M", of="Bernstein to second order")
def square_of_the_size(evidence):
    return replace(evidence, y=evidence.aside["square of M"])


@chernoff_exponents.control("δ²/2 itself for the exponent", of="exact exponent")
def first_term(evidence):
    return replace(evidence, left=np.square(evidence.aside["deviation"]) / 2)


@chernoff_exponents.control("δ²/3 for small deviations, what is left of δ²/2 at δ = 1", of="small deviations")
def third_for_small(evidence):
    excess = 1 / evidence.x
    return replace(evidence, y=abs(evidence.aside["exponent"] / (excess**2 / 3) - 1))


@chernoff_exponents.control("a violation as soon as the exponents cross", of="first violation")
def where_they_cross(evidence):
    return replace(evidence, links={"before 1.818": (evidence.links["beyond 1.854"][1], 1.818)})


@chernoff_exponents.control("δ²μ/2 above the mean as well as below", of="twice the mean")
def as_below(evidence):
    return replace(evidence, bound=1.5 * np.asarray(evidence.bound))


@chernoff_exponents.control("the exponent μ/4 at half the mean, δ² for δ²/2", of="half the mean")
def quarter(evidence):
    return replace(evidence, bound=2 * np.asarray(evidence.bound))


@chernoff_exponents.picture
def exponents(pieces):
    """Exponents per unit of mean and of δ² along the deviation: the exact one and the simpler ones put in its place."""
    delta = np.linspace(0.02, 3, 150)
    return Curves(
        [
            Line("exact, h(δ)/δ²", delta, bennett_exponent(delta) / delta**2),
            Line("Bernstein", delta, -log_bernstein(delta, 1.0, 1.0) / delta**2),
            Line("1/(2 + δ)", delta, -log_chernoff_upper(1.0, delta) / delta**2),
            Line("1/3 up to δ = 1", [0.0, 1.0], [1 / 3, 1 / 3]),
            Line("1/3", [1.0, 3.0], [1 / 3, 1 / 3], rival="for every δ, as printed in Lemma 1.1.4"),
            Level("1.817", x=1.81696),
        ],
        x="deviation δ above the mean, as a share of it", y="exponent over μδ²", ys=(0.15, 0.55),
    )  # fmt: skip
