"""Hoeffding: sums of bounded variables against exact tails, and where its constants are attained."""

from dataclasses import replace

import numpy as np
import scipy.stats

from deeptheory.foundations.concentration import (
    both_sides,
    hoeffding_confidence,
    hoeffding_radius,
    hoeffding_samples,
    log_bernstein,
    log_binomial_deviation,
    log_hoeffding,
    log_hoeffding_lemma,
)
from deeptheory.generalization.concentration.martingales import product_law
from deeptheory.lab import Chain, Exact, Identity, Inequality, Integers, Limit, Reals, claim
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row


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
    symbols={
        r"n": "the number of independent values",
        r"p": "the chance of a success",
        r"\epsilon": "the deviation of the average from its mean",
        r"\bar X": "the average",
        r"\delta": "the probability with which an interval may miss",
    },
    why=r"A value in an interval of width $w$ has $\ln\mathbb Ee^{\lambda(X-\mathbb EX)}\le\lambda^2w^2/8$: tilted by "
    r"$e^{\lambda x}$ its law still lies in the interval, so its variance, the second derivative, is at most $w^2/4$. "
    r"Logarithms of independent factors add, and Markov's bound for $e^{\lambda\sum X_i}$ with the best $\lambda$ is "
    r"Hoeffding's. Two tails cost a factor two; solving for $\epsilon$ gives the interval.",
    notice=r"Each dot is a number of coins with a deviation, and the diagonal is the bound. Signs lie below it like "
    r"the coins; an exponent twice as large, without the factor two in front, is crossed by the signs.",
)
def hoeffding_bounds_binomial_tails(n, p, epsilon, delta):
    widths = np.ones((len(n), 1)) * n[:, None] ** 0.5  # n widths of one have the same sum of squares
    coin = np.maximum(log_binomial_deviation(n, p, n * epsilon), NEVER)
    # An average of fair signs misses by ε when the count of plus signs misses by nε/2.
    signs = np.maximum(log_binomial_deviation(n, 0.5, n * epsilon / 2), NEVER)
    missed, one_side = (
        np.maximum(log_binomial_deviation(n, p, n * np.asarray(hoeffding_radius(n, delta, sides=sides))), NEVER)
        for sides in (2, 1)
    )
    bounds = (
        both_sides(log_hoeffding(n * epsilon, widths)),
        both_sides(log_hoeffding(n * epsilon, 2 * widths)),
        np.log(delta),
    )
    aside = {"one side": one_side}
    return Inequality(np.stack([coin, signs, missed], -1), np.stack(bounds, -1), log=True, aside=aside)


@hoeffding_bounds_binomial_tails.control("averages of [−1, 1] values below exp(−ε²m)")
def twice_the_exponent(evidence, instances):
    bound = evidence.bound.copy()
    bound[:, 1] = -(instances["epsilon"] ** 2) * instances["n"]
    return replace(evidence, bound=bound)


@hoeffding_bounds_binomial_tails.control("both tails within the bound of one")
def no_factor_two(evidence):
    return replace(evidence, bound=evidence.bound - np.log(2) * np.asarray([1.0, 1.0, 0.0]))


@hoeffding_bounds_binomial_tails.control("the interval with ln(1/δ), what one side needs")
def interval_of_one_side(evidence):
    return replace(evidence, quantity=np.stack([*evidence.quantity.T[:2], evidence.aside["one side"]], -1))


@hoeffding_bounds_binomial_tails.picture
def tails_under_bounds(pieces):
    """Exact two-sided tails of averages of coins and of signs against Hoeffding's bound, both as logarithms."""
    (piece,) = pieces.values()
    bound, tail = np.asarray(piece.bound), np.asarray(piece.quantity)
    ends = np.array([-12.0, np.log(2)])
    return Curves(
        [
            Line("bound", ends, ends),
            Dots("coins", bound[:, 0], tail[:, 0]),
            Dots("signs", bound[:, 1], tail[:, 1]),
            Line("bound for signs", ends, 2 * (ends - np.log(2)), rival="exp(−ε²m)"),
        ],
        x="logarithm of the bound", y="logarithm of the probability", xs=(-8, 0.8), ys=(-16, 0.8),
    )  # fmt: skip


@claim(
    items={"A1.8": ""},
    says=r"$P[X-\mathbb EX\ge t]\le\exp(-2t^2/\sum(b_i-a_i)^2)$ for sums of independent variables of different "
    "ranges (ten two-point variables, every outcome enumerated).",
    needs="independence; each variable in its own interval",
    over=dict(p=Reals(0, 1, shape=(10,)), widths=Reals(1e-2, 10, log=True, shape=(10,)), share=Reals(0, 1)),
    each="array",
    draws=48,
    generations=8,
    symbols={
        r"X": "the sum of the variables",
        r"t": "the deviation from its mean",
        r"a_i,\ b_i": "the ends of the interval of the $i$-th variable",
    },
    why=r"For independent variables the logarithms of the moment-generating functions add, each at most "
    r"$\lambda^2(b_i-a_i)^2/8$. So squares of the widths add, as variances do, and not the widths themselves. Markov's "
    r"bound for $e^{\lambda(X-\mathbb EX)}$ with the best $\lambda=4t/\sum(b_i-a_i)^2$ is the exponent.",
    notice=r"Each dot is a sum of ten variables with a threshold. With the largest width alone in place of the sum of "
    r"squares the bound comes below exact tails.",
)
def hoeffding_bounds_unequal_ranges(p, widths, share):
    outcomes = (np.arange(1024)[:, None] >> np.arange(9, -1, -1)) & 1
    centred = np.einsum("oi,bi->bo", outcomes, widths) - (p * widths).sum(1)[:, None]
    # Thresholds at values the sum takes: the tail is largest there, compared with the bound.
    threshold = np.sort(centred, 1)[np.arange(len(p)), (512 + share * 511).astype(int)]
    threshold = np.maximum(threshold, 1e-9)
    tail = (product_law(p) * (centred >= (threshold * (1 - 1e-12))[:, None])).sum(1)
    with np.errstate(divide="ignore"):
        log_tail = np.maximum(np.log(tail), NEVER)
    aside = {"largest": log_hoeffding(threshold, widths.max(1, keepdims=True))}
    return Inequality(log_tail, log_hoeffding(threshold, widths), log=True, aside=aside)


@hoeffding_bounds_unequal_ranges.control("the largest range squared instead of the sum")
def largest_range(evidence):
    return replace(evidence, bound=evidence.aside["largest"])


@hoeffding_bounds_unequal_ranges.picture
def ten_unequal_terms(pieces):
    """Exact tails of sums of ten unequal variables against Hoeffding's bound, both as logarithms, as searched."""
    (piece,) = pieces.values()
    tail, ends = np.ravel(piece.quantity), np.array([-12.0, 0.0])
    return Curves(
        [
            Line("bound", ends, ends),
            Dots("sums", np.ravel(piece.bound), tail),
            Dots("sums", np.ravel(piece.aside["largest"]), tail, rival="with the largest range alone"),
        ],
        x="logarithm of the bound", y="logarithm of the tail", xs=(-12, 0.2), ys=(-16, 0.2),
    )  # fmt: skip


@claim(
    items={
        "A1.8": ("the constant two in the exponent", "the constant one in front", "moment-generating function"),
        "A1.12": ("random signs", "a hundred signs"),
        "J5.9": ("the constant two in the exponent",),
        "L8.2": ("deviation, samples and confidence", "intervals from long samples"),
        "A1.9": ("where Bernstein is better",),
    },
    says=r"Hoeffding's 2 is the best constant in the exponent (fair coins, $\epsilon\to0$), its prefactor 1 the best "
    r"(one coin, $p\to1$), and fair coins reach $\ln\mathbb Ee^{\lambda(X-\mathbb EX)}\le\lambda^2(b-a)^2/8$ to second "
    r"order. Bernstein's bound is below Hoeffding's where $\sum\mathbb EX_i^2+Mt/3<n/4$.",
    symbols={
        r"\epsilon": "the deviation of an average",
        r"p": "the chance of a coin",
        r"\lambda": "the argument of the moment-generating function",
        r"a,\ b": "the ends of the interval that $X$ lies in",
        r"X_i,\ M,\ t": "centred terms, the bound on their size, and the deviation of their sum",
        r"n": "the number of terms, of width one",
    },
    why=r"By Cramér's theorem $n$ fair coins exceed $\frac12+\epsilon$ with a probability whose logarithm, over $n$, "
    r"tends to minus a relative entropy, which is $2\epsilon^2+\frac43\epsilon^4+\dots$: no larger exponent is true. "
    r"The variance of a variable in $[a,b]$ is at most $(b-a)^2/4$, that of the fair coin on the ends. Bernstein gains "
    r"where the terms vary less than that.",
    notice=r"Left: over $\epsilon^2$ the exact rate of fair coins comes down to 2, so no larger constant would do; a "
    "hundred signs have 2.5 where the print would need 4. Right: the fair coin reaches the bound of the lemma as "
    r"$\lambda\to0$, unfair ones a share of it.",
)
def hoeffding_constants():
    epsilon = 1 / 2.0 ** np.arange(2, 9)
    # Cramér: −ln P[mean ≥ 1/2 + ε]/n tends to the relative entropy of the two coins.
    rates = np.asarray([float(scipy.stats.entropy([0.5 + e, 0.5 - e], [0.5, 0.5])) for e in epsilon])
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
    found = (
        radius,
        np.asarray(hoeffding_samples(radius, delta, width=3.0)),
        np.asarray(hoeffding_confidence(n, radius, width=3.0)),
        [np.exp(both_sides(log_hoeffding(k * r, np.full(int(k), 3.0)))) for k, r in zip(n, radius, strict=True)],
    )
    # A hundred centred Bernoulli terms, rare to fair, at all distances.
    chance, t = np.meshgrid(np.geomspace(1e-3, 0.5, 31), np.geomspace(0.5, 50, 33))
    variance, bound = 100 * chance * (1 - chance), 1 - chance
    p_long = np.linspace(0.01, 0.99, 50)
    sizes = np.asarray([250, 500, 1000])[:, None]

    def missed(share):
        reach = [share * sizes * np.asarray(hoeffding_radius(sizes, d)) for d in delta]
        return np.maximum([log_binomial_deviation(sizes, p_long, each) for each in reach], NEVER)

    fair = log_binomial_deviation(100, 0.5, 15.0)  # of a hundred signs the average deviates by 0.3
    return {
        "the constant two in the exponent": Limit(
            1 / epsilon, abs(rates / one - 1), order=2.0, aside={"rate": rates, "exponent": one}
        ),
        "the constant one in front": Limit(1 / close, abs(single), order=1.0, aside={"logarithm": single}),
        "moment-generating function": Chain(
            {
                "every coin is below": (mgf, np.asarray(log_hoeffding_lemma(rate, 3.0))),
                "the fair coin reaches it": ((1 - rate**2) * log_hoeffding_lemma(rate, 3.0), exact),
            },
            aside={"rate": rate, "chance": p[:, 0]},
        ),
        "random signs": Identity(signs, (2 * epsilon) ** 2 / 2, aside={"deviation": 2 * epsilon}),
        "a hundred signs": Chain(
            {
                "Rademacher below Hoeffding": (fair, both_sides(log_hoeffding(30.0, np.full(100, 2.0)))),
                "3.5e-3": (np.log(3.5e-3 - 5e-5), fair),
                "to the digit": (fair, np.log(3.5e-3 + 5e-5)),
            }
        ),
        "deviation, samples and confidence": Identity(
            np.stack(found),
            np.stack([3 * np.sqrt(np.log(2 / delta) / (2 * n)), n, delta, delta]),
            condition=16.0,
            aside={"delta": delta},
        ),
        "where Bernstein is better": Exact(
            np.asarray(log_bernstein(t, variance, bound) < log_hoeffding(t, np.full((1,), 10.0))),
            variance + bound * t / 3 < 25.0,
            aside={"variance": variance},
        ),
        "intervals from long samples": Inequality(
            missed(1.0), np.log(delta)[:, None, None], log=True, aside={"narrow": missed(0.5**0.5)}
        ),
    }


@hoeffding_constants.control("exponent n ε² in place of 2 n ε²", of="the constant two in the exponent")
def half_exponent(evidence):
    return replace(evidence, y=2 * (evidence.y + 1) - 1)


@hoeffding_constants.control("a factor two in front of one tail as well", of="the constant one in front")
def two_in_front(evidence):
    return replace(evidence, y=abs(evidence.aside["logarithm"] + np.log(2)))


@hoeffding_constants.control(
    "the variance of a uniform variable for the fair coin's, (b − a)²/12 for (b − a)²/4",
    of="moment-generating function",
)
def uniform_variance(evidence):
    coins, bound = evidence.links["every coin is below"]
    return replace(evidence, links={"below": (coins, np.asarray(bound) / 3)})


@hoeffding_constants.control("the exponent ε² for averages of [−1, 1] values", of="random signs")
def whole_square(evidence):
    return replace(evidence, right=evidence.aside["deviation"] ** 2)


@hoeffding_constants.control("exp(−ε²m) at m = 100 and ε = 0.3", of="a hundred signs")
def twice_the_exponent_at_a_hundred(evidence):
    return replace(evidence, links={"below": (evidence.links["Rademacher below Hoeffding"][0], -(0.3**2) * 100)})


@hoeffding_constants.control("ln(1/δ), what one side needs, in the radius", of="deviation, samples and confidence")
def radius_of_one_side(evidence):
    right = np.array(evidence.right)
    right[0] *= np.sqrt(np.log(1 / evidence.aside["delta"]) / np.log(2 / evidence.aside["delta"]))
    return replace(evidence, right=right)


@hoeffding_constants.control("wherever the variance is below n/4, whatever M", of="where Bernstein is better")
def variance_alone(evidence):
    return replace(evidence, right=evidence.aside["variance"] < 25.0)


@hoeffding_constants.control("the radius √(ln(2/δ)/4n), from twice the exponent", of="intervals from long samples")
def narrow_interval(evidence):
    return replace(evidence, quantity=evidence.aside["narrow"])


@hoeffding_constants.picture
def exponent_and_lemma(pieces):
    """Exact rate of fair coins over ε² beside Hoeffding's 2; log-moments of coins as a share of the lemma's bound."""
    two, lemma = pieces["the constant two in the exponent"], pieces["moment-generating function"]
    epsilon, rate = 1 / np.asarray(two.x), lemma.aside["rate"]
    coins, parabola = (np.asarray(each) for each in lemma.links["every coin is below"])
    some = [(i, f"chance {lemma.aside['chance'][i]:.2g}") for i in (0, 6, 12)]
    signs = float(pieces["a hundred signs"].links["Rademacher below Hoeffding"][0])
    return Row(
        [
            Curves(
                [
                    Dots("fair coins, exact", epsilon, two.aside["rate"] / epsilon**2),
                    Line("Hoeffding", epsilon, two.aside["exponent"] / epsilon**2),
                    # Signs are two apart: an average of 0.3 is one of 0.15 for coins.
                    Dots("a hundred signs, exact", [0.15], [-signs / (100 * 0.15**2)]),
                    Dots("", [0.15], [0.3**2 / 0.15**2], rival="exp(−ε²m)"),
                ],
                x="deviation ε of the average", y="exponent over nε²", log="x", ys=(1.8, 4.2),
            ),
            Curves(
                [Level("the lemma's bound", y=1.0), *(Dots(name, rate, (coins / parabola)[i]) for i, name in some)],
                x="λ, with b − a = 3", y="log-moment over λ²(b − a)²/8", log="x", ys=(0, 1.1),
            ),
        ]
    )  # fmt: skip
