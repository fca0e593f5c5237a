"""Azuma and McDiarmid: tails of sums with a past, and of functions of independent variables."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import scipy.special
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.concentration import both_sides, log_binomial_deviation
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.martingales import (
    bounded_differences,
    log_azuma,
    log_azuma_ranges,
    log_mcdiarmid,
    product_law,
    tree_martingale,
)
from deeptheory.lab import Identity, Inequality, Integers, Limit, Printed, Reals, claim
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Line, Row, compared


def log_tail(law, away, threshold):
    """ln P[|·| ≥ threshold] of finite laws, a row each; a value just reached counts."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log((law * (away >= threshold[:, None] * (1 - 1e-12))).sum(1)), NEVER)


@claim(
    items={"J6.15": ""},
    says=r"For martingale differences $|D_k|\le c_k$, $P[|\sum D_k|\ge t]\le2e^{-t^2/(2\sum c_k^2)}$, and at "
    r"most $2e^{-2t^2/\sum w_k^2}$ where, given the past, the $k$-th lies in an interval of width $w_k$. Searched over "
    "martingales of six steps, two ways each, and sums of fair signs.",
    needs="each difference has mean zero given the past",
    over=dict(
        up=Reals(0, 1, shape=(63,)),
        down=Reals(0, 1, shape=(63,)),
        bounds=Reals(1e-2, 1, log=True, shape=(6,)),
        share=Reals(0.05, 1),
        n=Integers(1, 200),
    ),
    each="array",
    draws=96,
    generations=8,
    symbols={
        r"D_k": "the $k$-th difference, of mean zero given the past",
        r"c_k": "a bound on its size",
        r"t": "the deviation of the sum from zero",
        r"w_k": "the width of an interval that it lies in; where this lies may depend on the past",
    },
    why=r"Given the past, a difference in an interval of width $w$ has $\mathbb Ee^{\lambda D}\le "
    r"e^{\lambda^2w^2/8}$, as in Hoeffding's lemma; so, one step after another from the last, $\mathbb "
    r"Ee^{\lambda\sum D_k}\le e^{\lambda^2\sum w_k^2/8}$, although the steps depend on each other. Markov's bound "
    r"with the best $\lambda$ gives the form with ranges; $|D_k|\le c_k$ is an interval of width $2c_k$.",
    notice=r"Each dot is a martingale, or a sum of fair signs, with a threshold $t$: the exact probability against its "
    r"bound, which keeps it below the line. Fair signs come nearest. With the printed exponent, twice as "
    r"large, the bound by sizes would be the dashed line, and many of the fair signs lie above it.",
)
def azuma_bounds_martingales(up, down, bounds, share, n, *, steps: Literal["fair", "repeated"] = "fair"):
    level = np.floor(np.log2(np.arange(63) + 1)).astype(int)
    up, down = up * bounds[:, level], down * bounds[:, level]
    tree = tree_martingale(up, down)
    # Widths node by node, their largest on each level: the interval may move with the past.
    both = np.where((up == 0) | (down == 0), 0.0, up + down)
    widths = np.stack([both[:, level == k].max(1) for k in range(6)], -1)
    law = tree.probabilities
    if steps == "repeated":  # always up or always down: the first step decides all others
        law = np.zeros_like(law)
        law[:, [0, -1]] = 0.5
    threshold = share * bounds.sum(1)
    tail = log_tail(law, np.abs(tree.values()), threshold)
    signs = np.maximum(log_binomial_deviation(n, 0.5, share * n / 2), NEVER)
    limits = (
        both_sides(log_azuma(threshold, bounds)),
        both_sides(log_azuma_ranges(threshold, np.maximum(widths, 1e-3 * bounds))),
        both_sides(log_azuma(share * n, n[:, None] ** 0.5)),
    )
    return Inequality(np.stack([tail, tail, signs], -1), np.maximum(np.stack(limits, -1), NEVER), log=True)


@azuma_bounds_martingales.control("the exponent −2t²/(2Σc²), as printed", erratum="J6.15a")
def printed_exponent(evidence):
    first = (evidence.bound - np.log(2)) * np.asarray([2.0, 1.0, 2.0]) + np.log(2)
    return replace(evidence, bound=np.maximum(first, NEVER))


@azuma_bounds_martingales.picture
def tails_of_martingales(pieces):
    """Exact tails of martingales of six steps and of sums of fair signs against Azuma's bounds, as logarithms."""
    (piece,) = pieces.values()
    bound, tail = np.asarray(piece.bound).T, np.asarray(piece.quantity).T
    ends = np.array([-12.0, np.log(2)])
    return Curves(
        [
            Line("bound", ends, ends),
            Dots("six steps, bound by sizes c", bound[0], tail[0]),
            Dots("six steps, bound by widths w", bound[1], tail[1]),
            Dots("fair signs, bound by sizes c", bound[2], tail[2]),
            Line("bound by sizes", ends, 2 * ends - np.log(2), rival="as printed in Thm 6.20"),
        ],
        x="logarithm of the bound", y="logarithm of the probability", xs=(-8, 0.8), ys=(-16, 0.8),
    )  # fmt: skip


azuma_bounds_martingales.control(
    "bounded steps that all repeat the first",
    steps="repeated",
    over=dict(up=Reals(0.8, 1, shape=(63,)), down=Reals(0.8, 1, shape=(63,)), share=Reals(0.5, 0.8)),
)


@claim(
    items={
        "J6.15": ("a hundred signs", "the constant in the exponent", "ranges instead of bounds"),
        "L8.17": ("McDiarmid for a sum",),
    },
    says=r"At $n=100$ fair signs, $P[|S|\ge20]=0.0569$ and $P[|S|\ge30]=0.0035$, within Azuma's bound. Its exponent is "
    r"the best: that of fair signs tends to $t^2/2n$ for small $t/n$. With ranges $w_k=2c_k$ both forms agree, and "
    r"McDiarmid's bound for a sum is Hoeffding's.",
    symbols={
        r"n": "the number of signs",
        r"S": "their sum",
        r"t": "the deviation",
        r"w_k,\ c_k": "the width of the interval of the $k$-th difference, and the bound on its size",
    },
    why=r"By Cramér's theorem the sum of $n$ fair signs exceeds $xn$ with a probability whose logarithm, over $n$, "
    r"tends to minus the relative entropy of coins with chances $\frac{1\pm x}2$ and fair ones. This is "
    r"$x^2/2+x^4/12+\dots$, and Azuma's exponent is its first term: a larger one would be false for small $x$.",
    notice=r"The exact rate of fair signs touches Azuma's exponent from above as the deviation becomes small; an "
    r"exponent twice as large lies above the rate, so such a bound would lie below the probability.",
)
def azuma_constants():
    share = 1 / 2.0 ** np.arange(2, 9)
    rates = [float(scipy.stats.entropy([(1 + x) / 2, (1 - x) / 2], [0.5, 0.5])) for x in share]
    azuma = -np.asarray([log_azuma(x, np.ones(1)) for x in share])
    t, bounds = np.asarray([0.5, 2.0, 7.0]), np.asarray([0.3, 1.0, 2.5, 0.7])
    return {
        "a hundred signs": Printed(
            np.exp(log_binomial_deviation(100, 0.5, np.asarray([10.0, 15.0]))), [0.0569, 0.0035], digits=4
        ),
        "the constant in the exponent": Limit(
            1 / share, abs(np.asarray(rates) / azuma - 1), order=2.0, aside={"rate": np.asarray(rates), "azuma": azuma}
        ),
        # Σc² is 0.09 + 1 + 6.25 + 0.49 = 7.83.
        "ranges instead of bounds": Identity(
            np.stack([log_azuma_ranges(t, 2 * bounds), log_azuma(t, bounds)]), -(t**2) / (2 * 7.83)
        ),
        "McDiarmid for a sum": Identity(log_mcdiarmid(t, bounds), -2 * t**2 / 7.83),
    }


@azuma_constants.control("the printed exponent, twice as large", erratum="J6.15a", of="the constant in the exponent")
def twice(evidence):
    return replace(evidence, y=abs((evidence.y + 1) / 2 - 1))


@azuma_constants.control("the exponent 2t²/Σc², which belongs to ranges, for sizes", of="ranges instead of bounds")
def sizes_as_ranges(evidence):
    return replace(evidence, right=4 * np.asarray(evidence.right))


@azuma_constants.control("t²/(2Σc²), Azuma's exponent for differences of size c", of="McDiarmid for a sum")
def differences_as_sizes(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 4)


@azuma_constants.picture
def exponents(pieces):
    """Exact exponential rate at which the sum of n fair signs exceeds nx, over x², beside Azuma's exponent."""
    piece = pieces["the constant in the exponent"]
    x, rate, azuma = 1 / np.asarray(piece.x), piece.aside["rate"], piece.aside["azuma"]
    return compared(
        x, azuma / x**2, rate / x**2,
        rivals={"as printed, twice as large": 2 * azuma / x**2}, names=("Azuma", "fair signs, exact"),
        x="deviation per sign x = t/n", y="exponent over nx²", log="x", ys=(0.4, 1.1),
    )  # fmt: skip


@claim(
    items={"L8.17": ""},
    says=r"$P[|g(X)-\mathbb Eg(X)|\ge\epsilon]\le2e^{-2\epsilon^2/\sum c_i^2}$ for every function $g$ of six "
    r"independent bits, whatever their chances, with $c_i$ the most that the $i$-th bit alone can change (enumerated, "
    r"searched).",
    needs="independent coordinates",
    over=dict(table=Reals(0, 1, shape=(64,)), p=Reals(0, 1, shape=(6,)), mixed=Reals(0, 1), share=Reals(0.01, 1)),
    each="array",
    draws=96,
    generations=8,
    symbols={
        r"g(X)": "a function of independent bits",
        r"\epsilon": "the deviation from its mean",
        r"c_i": "the most by which the $i$-th bit alone can change it",
    },
    why=r"Reveal the bits one after another and follow the mean of $g$ given what is known: a martingale, whose $i$-th "
    r"step lies in an interval of width $c_i$, because the bits that are still hidden do not know the one just seen. "
    r"Azuma's inequality with ranges is the rest.",
    notice=r"Each dot is a function of six bits with a threshold: the exact probability lies below the bound, by a "
    r"factor that grows into the tail. For bits that are copies of one the martingale has a single large step, and "
    r"the bound is broken.",
)
def mcdiarmid_bounds_functions_of_bits(
    table, p, mixed, share, *, bits: Literal["independent", "equal"] = "independent"
):
    # Between an arbitrary function and a sum of bits, where the bound is nearest to being reached.
    outcomes = (np.arange(64)[:, None] >> np.arange(5, -1, -1)) & 1
    table = mixed[:, None] * table + (1 - mixed[:, None]) * outcomes.mean(1)
    law = product_law(p)
    if bits == "equal":
        law = np.zeros_like(law)
        law[:, 0], law[:, -1] = 1 - p[:, 0], p[:, 0]
    away = np.abs(table - (law * table).sum(1, keepdims=True))
    differences = bounded_differences(table.reshape(-1, *(2,) * 6), variables=6)
    threshold = np.maximum(share * away.max(1), 1e-9)
    return Inequality(log_tail(law, away, threshold), both_sides(log_mcdiarmid(threshold, differences)), log=True)


mcdiarmid_bounds_functions_of_bits.control("bits that are copies of one", bits="equal")


@mcdiarmid_bounds_functions_of_bits.control("twice the exponent")
def twice_the_exponent(evidence):
    return replace(evidence, bound=2 * np.asarray(evidence.bound) - np.log(2))


@mcdiarmid_bounds_functions_of_bits.picture
def functions_searched(pieces):
    """Exact tails of functions of six bits against McDiarmid's bound, both as logarithms, on the instances searched."""
    (piece,) = pieces.values()
    return compared(
        np.ravel(piece.bound), lambda bound: bound, np.ravel(piece.quantity),
        rivals={"twice the exponent": lambda bound: 2 * bound - np.log(2)}, names=("bound", "functions"),
        x="logarithm of the bound", y="logarithm of the probability", xs=(-5, 0.7), ys=(-12, 0.7),
    )  # fmt: skip


@claim(
    items={"L8.17": ("change of the largest deviation", "change of the median", "tails of both statistics")},
    says=r"The largest deviation $\sup_f|\frac1n\sum f(X_i)-\mathbb Ef|$ over functions with values in $[0,1]$ has "
    r"differences at most $1/n$, however many functions; the median of values in $[0,1]$ has differences up to 1. "
    r"Exact tails of both obey McDiarmid's bound.",
    full=dict(draws=40),
    symbols={r"X_1,\dots,X_n": "independent points, seven here", r"f": "a function of a class"},
    why=r"One of $n$ points moves every mean by at most $1/n$, and the largest of many numbers moves by no more than "
    r"each of them: so a class of any size has the differences of a single mean. The median can jump from one end to "
    r"the other when the point in the middle is replaced, and McDiarmid's bound says nothing about it.",
    notice=r"For the largest deviation bound and exact tails fall together. For the median the bound hardly falls, as "
    r"if a single point decided all.",
)
def mcdiarmid_statistics(key, *, draws: Annotated[int, Interval(ge=1, le=200)] = 6):
    draw = generator(key)
    n, points = 7, 3
    samples = np.stack(np.meshgrid(*(np.arange(points),) * n, indexing="ij"), -1).reshape(-1, n)
    largest, middle, tails, bounds, thresholds = [], [], [], [], []
    for _ in range(draws):
        law, functions = draw.dirichlet(np.ones(points)), draw.uniform(0, 1, (5, points))
        functions[0] = np.arange(points) == 0  # an indicator moves by the whole range
        values = np.sort(draw.uniform(0, 1, points))
        values[0], values[-1] = 0.0, 1.0
        chances = law[samples].prod(1)
        gaps = np.abs(functions[:, samples].mean(2) - (functions @ law)[:, None]).max(0)
        medians = np.median(values[samples], axis=1)
        for statistic, kept in ((gaps, largest), (medians, middle)):
            differences = bounded_differences(statistic.reshape((points,) * n), variables=n)
            kept.append(differences)
            away = np.abs(statistic - chances @ statistic)
            at = np.quantile(away, [0.3, 0.6, 0.9, 1.0], method="inverted_cdf")
            at = np.maximum(at, 1e-9)
            thresholds.append(at)
            tails.append([np.log(chances @ (away >= t * (1 - 1e-12)) + 1e-300) for t in at])
            bounds.append([both_sides(log_mcdiarmid(t, differences)) for t in at])
    return {
        "change of the largest deviation": Inequality(np.asarray(largest), 1 / n),
        "change of the median": Identity(np.asarray(middle), 1.0),
        "tails of both statistics": Inequality(
            np.asarray(tails), np.asarray(bounds), log=True, aside={"thresholds": np.asarray(thresholds)}
        ),
    }


@mcdiarmid_statistics.control("the median moves by 1/n at most, like a mean", of="change of the median")
def median_like_a_mean(evidence):
    return Inequality(evidence.left, 1 / np.shape(evidence.left)[-1])


@mcdiarmid_statistics.control("differences half as large", of="change of the largest deviation")
def half_the_difference(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@mcdiarmid_statistics.control(
    "four times the exponent, as from differences half as large", of="tails of both statistics"
)
def four_times_the_exponent(evidence):
    return replace(evidence, bound=np.log(2) + 4 * (np.asarray(evidence.bound) - np.log(2)))


@mcdiarmid_statistics.picture
def tails_of_statistics(pieces):
    """Exact tails of the largest deviation and of the median, and McDiarmid's bounds, along the threshold."""
    piece = pieces["tails of both statistics"]
    at, tail, bound = piece.aside["thresholds"], np.asarray(piece.quantity), np.asarray(piece.bound)
    panels = []
    for start, title in ((0, "largest deviation of five means"), (1, "median")):
        x, exact, above = (np.ravel(each[start::2]) for each in (at, tail, bound))
        order = np.argsort(x)
        marks = [Line("bound", x[order], np.exp(above[order])), Dots("exact", x, np.exp(exact))]
        panels.append(Curves(marks, x="deviation from the mean", y="probability", title=title, log="y"))
    return Row(panels)
