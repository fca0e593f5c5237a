"""Tails used by the proofs on random networks: Bernstein's bound from moments, and squares of normal variables."""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln
from scipy.stats import binom, chi2, gamma

from deeptheory.generalization.concentration.sub_exponential import SubGamma, sub_gamma_deviation
from deeptheory.lab import Inequality, Integers, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line

COIN = 0.1
LAWS = ("centred exponential", "square of a normal", "unfair coin")
VARIANCE, SCALE = np.array([1.0, 2.0, COIN * (1 - COIN)]), np.array([1.0, 2.0, (1 - COIN) / 3])
"""variance and c: 1 and 2 are the scales of exponential tails, a third of the largest value does for a bounded law"""
UNDERFLOW = -700.0
"""stands for the logarithm of a probability that floating point calls zero, and is more than it"""


def absolute_moments(q):
    """log E|X|^q of the three laws, by a fine sum over quantiles of the first two."""
    share = (np.arange(200_000) + 0.5) / 200_000
    # Substituting 1 − s = (1 − u)⁴ crowds the points where the tail is.
    weight, tail = 4 * (1 - share) ** 3, (1 - share) ** 4
    sampled = (np.abs(-np.log(tail) - 1), np.abs(chi2.isf(tail, 1) - 1))
    logs = [[np.log(np.mean(weight * x**n)) for n in q] for x in sampled]
    coin = np.log(COIN * (1 - COIN) ** q + (1 - COIN) * COIN**q)
    return np.array([*logs, coin])


def log_moment_generating(share):
    """log E e^{λX} at λ = share/c, in closed form."""
    rate = share / SCALE[:, None]
    one = -rate[0] - np.log1p(-rate[0])
    two = -rate[1] - 0.5 * np.log1p(-2 * rate[1])
    three = np.log(COIN * np.exp(rate[2] * (1 - COIN)) + (1 - COIN) * np.exp(-rate[2] * COIN))
    return np.array([one, two, three])


def log_tails(deviation, copies):
    """log P(ΣXⱼ > t) for the three laws, one a row: gamma, chi-square and binomial."""
    n = copies
    tails = np.array(
        [
            gamma.logsf(n + deviation[0], n),
            chi2.logsf(n + deviation[1], n),
            binom.logsf(np.floor(np.minimum(n * COIN + deviation[2], n) + 1e-9), n, COIN),
        ]
    )
    return np.maximum(tails, UNDERFLOW)


@claim(
    items={"L12.10": ("moments of each order", "moment generating function", "chance of exceeding")},
    says=r"If $\mathbb E|X|^q\le\frac{q!}2\sigma^2c^{q-2}$ for all $q\ge2$, a centred sum of $k$ copies exceeds "
    r"$\sqrt{2\sigma^2k\log(1/\gamma)}+c\log(1/\gamma)$ with probability at most $\gamma$.",
    needs="independent, centred terms; the three laws have exact tails",
    symbols={
        "X": "one term",
        "q": "the order of a moment",
        r"\sigma^2, c": "constants of the moment condition: a variance and a scale",
        "k": "how many terms",
        r"\gamma": "the probability allowed",
    },
    why=r"Summed with weights $\lambda^q/q!$ the moments give a geometric series, so that $\mathbb E e^{\lambda "
    r"X}\le\exp(\sigma^2\lambda^2/(2(1-\lambda c)))$ up to $\lambda=1/c$. Markov's inequality for $e^{\lambda\sum X}$ "
    r"at the best $\lambda$ gives a tail that is Gaussian near the mean and exponential beyond.",
    notice="The exact chance stays below the allowed one, by a factor that grows as the allowed chance falls, from "
    "less than ten to many thousands. Without the linear term the promise is broken at small probabilities.",
)
def bernstein_from_moments():
    q, level = np.arange(2, 25), np.linspace(0.2, 40, 60)
    copies = np.array([1, 3, 10, 100, 1000])
    moments = absolute_moments(q)
    stated = np.log(VARIANCE / 2)[:, None] + gammaln(q + 1) + (q - 2) * np.log(SCALE)[:, None]
    share = np.linspace(0.02, 0.95, 40)
    laws = [SubGamma(VARIANCE[:, None] * n, SCALE[:, None]) for n in copies]
    deviations = np.array([np.asarray(sub_gamma_deviation(level, law)) for law in laws])
    bare = np.array([np.asarray(sub_gamma_deviation(level, law._replace(scale=0.0 * law.scale))) for law in laws])
    exact, without = (
        np.array([log_tails(d, n) for d, n in zip(each, copies, strict=True)]) for each in (deviations, bare)
    )
    return {
        "moments of each order": Inequality(
            moments, stated, error=1e-3, log=True, along={"law": list(LAWS), "order": q}, aside={"orders": q}
        ),
        "moment generating function": Inequality(
            log_moment_generating(share),
            VARIANCE[:, None] * (share / SCALE[:, None]) ** 2 / (2 * (1 - share)),
            along={"law": list(LAWS), "share": share},
            aside={"half": VARIANCE[:, None] * (share / SCALE[:, None]) ** 2 / 2},
        ),
        "chance of exceeding": Inequality(
            exact,
            np.broadcast_to(-level, exact.shape),
            log=True,
            along={"copies": copies, "law": list(LAWS), "level": level},
            aside={"without": without, "exact": exact},
        ),
    }


@bernstein_from_moments.control("a scale two thirds as large", of="moments of each order")
def smaller_scale(evidence):
    return replace(evidence, bound=evidence.bound + (evidence.aside["orders"] - 2) * np.log(2 / 3))


@bernstein_from_moments.control("Gaussian growth, without the denominator", of="moment generating function")
def gaussian_growth(evidence):
    return replace(evidence, bound=evidence.aside["half"])


@bernstein_from_moments.control("without the linear term", of="chance of exceeding")
def without_linear_term(evidence):
    return replace(evidence, quantity=evidence.aside["without"])


@bernstein_from_moments.picture
def exact_against_allowed(pieces):
    """The exact chance of exceeding against the allowed one, for sums of ten terms."""
    tails = pieces["chance of exceeding"]
    level = np.asarray(tails.along["level"])
    marks = [Line("allowed", level, -level)]
    for i, law in enumerate(LAWS[:2]):
        marks += [
            Line(law, level, tails.aside["exact"][2, i]),
            Line(law, level, tails.aside["without"][2, i], rival="without the linear term"),
        ]
    return Curves(marks, x="log of one over the allowed chance", y="log of the exact chance")


def log_leaving(k, t):
    """log P(|χ²_k − k| > t)."""
    return np.logaddexp(chi2.logsf(k + t, k), chi2.logcdf(np.maximum(k - t, 0), k))


@claim(
    items={"L12.11": ""},
    says=r"For $k\ge8\log(2/\gamma)$ the sum of $k$ squared standard normal variables is within "
    r"$4\sqrt{k\log(2/\gamma)}$ of $k$ with probability at least $1-\gamma$.",
    needs="k ≥ 8 log(2/γ); exact chi-square tails",
    over=dict(k=Integers(6, 2000), share=Reals(0.02, 1.0)),
    each="array",
    draws=256,
    symbols={"k": "how many squares", r"\gamma": "the probability allowed"},
    why=r"Near its mean a $\chi^2_k$ variable looks normal with variance $2k$, and up to deviations of the order of "
    "$k$ its tail is at most that of a normal variable with variance $4k$: twice $e^{-t^2/(8k)}$. Beyond, the upper "
    r"tail is exponential, $e^{-t/2}$ and not $e^{-t^2}$, and no multiple of $\sqrt{k\log(2/\gamma)}$ is enough for "
    r"all $\gamma$.",
    notice=r"With the hypothesis the exact chance, dots and full curves, lies far below the allowed one. Dashed are "
    r"numbers of squares at levels beyond it, which the printed statement allows too: few squares and small "
    r"probabilities come above the line, as one square at level 0.0001, which it leaves with probability 0.00023.",
)
def squares_stay_near_their_mean(k, share):
    level = share * k / 8  # log(2/γ)
    tail, two = (np.maximum(log_leaving(k, constant * np.sqrt(k * level)), UNDERFLOW) for constant in (4, 2))
    return Inequality(tail, np.log(2) - level, log=True, aside={"level": level, "tail": tail, "two": two})


squares_stay_near_their_mean.control(
    "for every k and γ, as printed", erratum="L12.11a", over=dict(k=Integers(1, 50), share=Reals(1.0, 80.0))
)


@squares_stay_near_their_mean.control("the constant two for four")
def two_for_four(evidence):
    return replace(evidence, quantity=evidence.aside["two"])


@squares_stay_near_their_mean.picture
def chance_of_leaving(pieces):
    """Exact chance of leaving the interval against the allowed one, for several numbers of squares; dots were drawn."""
    aside = pieces[""].aside
    level = np.linspace(0.7, 40, 120)
    marks: list[Line | Dots] = [Line("allowed", level, np.log(2) - level)]
    for k in (1, 5, 40, 400):
        chance, covered = log_leaving(k, 4 * np.sqrt(k * level)), level <= k / 8
        if covered.any():
            marks.append(Line(f"k = {k}", level[covered], chance[covered]))
        if not covered.all():
            marks.append(Line(f"k = {k}", level[~covered], chance[~covered], rival="not covered"))
    near = np.asarray(aside["level"]) < 40
    marks.append(Dots("drawn", np.asarray(aside["level"])[near], np.asarray(aside["tail"])[near]))
    return Curves(marks, x="log(2/γ)", y="log of the chance of leaving", ys=(-80, 0))
