"""Finitely many hypotheses: the union bound beside the exact law of the largest deviation."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.finite_classes import (
    empirical_risk,
    finite_class_deviation,
    independent_log_tail,
    independent_sup_deviation,
    log_union_tail,
    misclassification_risk,
    union_deviation,
)
from deeptheory.lab import Chance, Identity, Inequality, Integers, Limit, Reals, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, compared

Confidence = Annotated[float, Interval(ge=0.05, le=0.5)]
ATOMS = np.array([0.1, 0.2, 0.3, 0.4])
WRONG = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0]], float)
"""Four classifiers on four atoms: where each errs."""


def expected_empirical_risks(samples):
    """Mean over all samples of this size of each classifier's training error, and of the largest absolute gap."""
    risks = WRONG @ ATOMS
    means, worst = np.zeros(4), 0.0
    for drawn in product(range(4), repeat=samples):
        chance, errors = np.prod(ATOMS[list(drawn)]), empirical_risk(WRONG[:, list(drawn)])
        means += chance * errors
        worst += chance * np.max(np.abs(risks - errors))
    return means, worst


@claim(
    items={"L8.1": "mean of the training error", "H7.1": ("mean of the training error", "probability of a deviation")},
    says=r"The training error of a classifier fixed beforehand has mean $R(f)=\mathbb P(f(x)\ne y)$, summed here over "
    r"every possible sample, and Hoeffding's $2e^{-2n\epsilon^2}$ bounds its tail.",
    needs="independent samples; four classifiers on four atoms",
    symbols={
        r"R(f)": "the error of a classifier on the population",
        r"f(x),\ y": "its answer, and the label",
        r"n": "the size of the sample",
        r"\epsilon": "the deviation of the training error from its mean",
    },
    why=r"Each example is an error with probability $R(f)$, as long as $f$ does not depend on it; means of means are "
    r"means. The training error is a mean of $n$ independent values in $[0,1]$, to which Hoeffding's bound applies. A "
    r"classifier chosen after looking at the sample has neither property.",
    notice=r"Exact tails of training errors, as logarithms, lie below Hoeffding's line for every risk; those of risk "
    r"near $\frac12$ come nearest. Twice the exponent is too much.",
)
def training_error_is_unbiased(*, samples: Annotated[int, Interval(ge=1, le=6)] = 4):
    truth = [misclassification_risk(ATOMS, row, np.zeros(4)) for row in WRONG]
    n, deviation = np.array([10, 40, 160])[:, None, None], np.array([0.05, 0.1, 0.2, 0.4])[:, None]
    tail = independent_log_tail(deviation, n, 1, np.array(truth), sides=2)
    return {
        "mean of the training error": Identity(
            expected_empirical_risks(samples)[0], np.array(truth), aside={"samples": samples}
        ),
        "probability of a deviation": Inequality(
            tail,
            log_union_tail(deviation, n, 1, sides=2) + 0 * tail,
            log=True,
            aside={"reach": np.broadcast_to(2 * n * deviation**2, np.shape(tail)), "risk": np.array(truth)},
        ),
    }


@training_error_is_unbiased.control("the indicator of a right answer", of="mean of the training error")
def right_answers(evidence):
    return replace(evidence, right=np.array([misclassification_risk(ATOMS, 1 - row, np.zeros(4)) for row in WRONG]))


@training_error_is_unbiased.control("twice Hoeffding's exponent", of="probability of a deviation")
def twice_hoeffding(evidence):
    return replace(evidence, bound=2 * np.asarray(evidence.bound) - np.log(2))


@training_error_is_unbiased.control("the classifier that looks worst on the sample", of="mean of the training error")
def chosen_afterwards(evidence):
    risks, count = WRONG @ ATOMS, int(evidence.aside["samples"])
    chosen = [(np.prod(ATOMS[list(s)]), empirical_risk(WRONG[:, list(s)])) for s in product(range(4), repeat=count)]
    picks = [(chance, errors.max(), risks[np.argmax(errors)]) for chance, errors in chosen]
    return replace(evidence, left=sum(c * e for c, e, _ in picks), right=sum(c * r for c, _, r in picks))


@training_error_is_unbiased.picture
def tails_of_training_errors(pieces):
    """Logarithm of the exact probability that a training error deviates by ε, along 2nε², with Hoeffding's bound."""
    piece = pieces["probability of a deviation"]
    reach, risks = piece.aside["reach"], piece.aside["risk"]
    ends = np.array([0.0, 14.0])
    dots = [Dots(f"risk {risk:g}", reach[..., i], np.asarray(piece.quantity)[..., i]) for i, risk in enumerate(risks)]
    return Curves(
        [
            Line("Hoeffding", ends, np.log(2) - ends),
            *dots,
            Line("bound", ends, np.log(2) - 2 * ends, rival="twice the exponent"),
        ],
        x="squared deviation in units of Hoeffding: 2nε²", y="logarithm of the probability", xs=(0, 14), ys=(-28, 1),
    )  # fmt: skip


@claim(
    items={"L8.5": ("probability of the largest deviation", "exponent of rare deviations")},
    says=r"The chance that some of N hypotheses has $R-R_S\ge\epsilon$ is at most $Ne^{-2n\epsilon^2}$, against the "
    r"exact law for independent errors; at risk 1/2 and $\epsilon=n^{-1/4}$ the exponent 2 is reached in the limit.",
    needs="losses in [0, 1], independent samples, hypotheses fixed beforehand",
    symbols={
        r"N": "the number of hypotheses",
        r"R,\ R_S": "the error of a hypothesis on the population and on the sample",
        r"\epsilon": "the deviation",
        r"n": "the size of the sample",
    },
    why=r"For one hypothesis Hoeffding gives $e^{-2n\epsilon^2}$. The event that some of $N$ deviates is the union of "
    r"$N$ events, and its probability at most the sum of theirs. Nothing is lost to leading order when errors are "
    r"independent and $Nq$ is small: then the union has probability $1-(1-q)^N\approx Nq$.",
    notice=r"Exact probabilities for hypotheses with independent errors lie below the bound, by a factor that depends "
    r"on the risk and on the deviation. The bound of a single hypothesis is broken by the worst of many.",
)
def union_bound_on_the_largest_deviation():
    n, hypotheses = np.array([10, 50, 250])[:, None, None, None], np.array([1, 10, 1000])[:, None, None]
    risk = np.array([0.05, 0.3, 0.5, 0.8])[:, None]
    deviation = risk * np.array([0.1, 0.3, 0.6])
    exact = independent_log_tail(deviation, n, hypotheses, risk)
    sizes = 2 ** np.arange(8, 17)
    slow = sizes**-0.25
    ratio = independent_log_tail(slow, sizes, 100, 0.5) / log_union_tail(slow, sizes, 100)
    shape = np.shape(exact)
    aside = {
        "hypotheses": np.broadcast_to(hypotheses, shape),
        "samples": np.broadcast_to(n, shape),
        "deviation": np.broadcast_to(deviation, shape),
    }
    return {
        "probability of the largest deviation": Inequality(
            exact, log_union_tail(deviation, n, hypotheses) + 0 * exact, log=True, aside=aside
        ),
        # −log P is 2√n plus logarithms, so the ratio comes to 1 like log(n)/√n.
        "exponent of rare deviations": Limit(sizes, np.abs(ratio - 1), order=0.4),
    }


@union_bound_on_the_largest_deviation.control(
    "the bound of one hypothesis for the worst of N", of="probability of the largest deviation"
)
def without_the_union(evidence):
    return replace(evidence, bound=evidence.bound - np.log(evidence.aside["hypotheses"]))


@union_bound_on_the_largest_deviation.control("twice the exponent", of="probability of the largest deviation")
def twice_the_exponent(evidence):
    hypotheses = np.log(evidence.aside["hypotheses"])
    return replace(evidence, bound=2 * (np.asarray(evidence.bound) - hypotheses) + hypotheses)


@union_bound_on_the_largest_deviation.control("half the exponent", of="exponent of rare deviations")
def half_the_exponent(evidence):
    return replace(evidence, y=np.abs(2 * (1 + np.asarray(evidence.y)) - 1))


@union_bound_on_the_largest_deviation.picture
def one_and_many(pieces):
    """Exact probability that one of N hypotheses deviates by ε, along 2nε² (as logarithms), with the bounds."""
    aside = pieces["probability of the largest deviation"].aside
    reach, count = 2 * aside["samples"] * aside["deviation"] ** 2, aside["hypotheses"]
    exact, marks = np.asarray(pieces["probability of the largest deviation"].quantity), []
    ends = np.array([0.0, 20.0])
    for hypotheses in (1, 1000):
        chosen = (count == hypotheses) & (reach <= 20)
        marks.append(Line(f"bound, N = {hypotheses}", ends, np.log(hypotheses) - ends))
        marks.append(Dots(f"exact, N = {hypotheses}", reach[chosen], exact[chosen]))
    return Curves(
        marks, x="squared deviation in units of Hoeffding: 2nε²", y="logarithm of the probability", ys=(-30, 8)
    )


@claim(
    items={
        "A5.2": ("one-sided bound", "failures that were drawn"),
        "A5.4": ("one-sided bound", "constants as written", "failures that were drawn"),
        "L8.3": (
            "two-sided bound",
            "constants as written",
            "bounds inverted",
            "failures that were drawn",
            "dependent hypotheses",
        ),
        "L8.6": ("a hypothesis chosen afterwards", "two-sided bound"),
        "H7.2": ("two-sided bound", "constants as written", "bounds inverted", "dependent hypotheses"),
    },
    says=r"With probability $1-\delta$ all of $N$ hypotheses have $R-R_S\le\sqrt{(\log N+\log\frac1\delta)/2n}$, and "
    r"$|R-R_S|\le\sqrt{(\log N+\log\frac2\delta)/2n}$. The bound for one hypothesis does not hold for one chosen among "
    r"many: with 1,000 coins it fails almost always.",
    needs="losses in [0, 1] (in [a, b] all is b − a times as wide), independent samples, hypotheses fixed beforehand; "
    "arora's 2√((log N + log 1/δ)/m) is √8 times as wide",
    full=dict(trials=20_000),
    symbols={
        r"\delta": "the probability with which the bound may fail",
        r"N": "the number of hypotheses",
        r"R,\ R_S": "the error of a hypothesis on the population and on the sample",
        r"n": "the size of the sample",
    },
    why=r"By Hoeffding one hypothesis deviates by $\epsilon$ with probability at most $e^{-2n\epsilon^2}$, and some "
    r"of $N$ with at most $N$ times that. Set this equal to $\delta$ and solve for $\epsilon$. Only the logarithm of "
    r"$N$ enters, but it must: the best of many useless hypotheses looks good by luck.",
    notice=r"The probability that some hypothesis breaks the bound stays below $\delta$ however many there are. With "
    r"the bound of a single hypothesis it comes to 1.",
    explore={"delta": (0.05, 0.1, 0.3)},
)
def finite_classes(key, *, trials: Trials = 2000, delta: Confidence = 0.1):
    key, errors = jax.random.split(key)
    draw = generator(key)
    n, hypotheses, risk = (
        np.array([20, 50, 400])[:, None, None],
        np.array([1, 20, 200, 5000])[:, None],
        np.array([0.1, 0.5]),
    )
    one_sided = union_deviation(n, hypotheses, delta, sides=1)
    two_sided = union_deviation(n, hypotheses, delta)
    wider = union_deviation(n, hypotheses, delta / 3, width=3.0)
    one = np.log(hypotheses / delta)
    cut = 0.2  # a deviation that half of the samples exceed: there draws resolve the exact law best
    sups = independent_sup_deviation(errors, 50, 200, 0.5, trials)
    grid, points = np.arange(1, 101) / 101, draw.random((trials, 100))
    below = np.stack([np.mean(points <= t, axis=1) for t in grid])
    coins, many = union_deviation(50, 1, delta), 4 ** np.arange(8)
    paid = independent_log_tail(union_deviation(50, many, delta), 50, many, 0.5, sides=2)
    unpaid = independent_log_tail(coins, 50, many, 0.5, sides=2)
    aside = {"hypotheses": many, "paid": np.exp(paid), "unpaid": np.exp(unpaid), "delta": delta}
    once = independent_log_tail(union_deviation(n, 1, delta, sides=1), n, hypotheses, risk)
    return {
        "one-sided bound": Inequality(
            np.exp(independent_log_tail(one_sided, n, hypotheses, risk)), delta, aside={"unpaid": np.exp(once)}
        ),
        "two-sided bound": Inequality(
            np.exp(independent_log_tail(two_sided, n, hypotheses, risk, sides=2)), delta, aside=aside
        ),
        "constants as written": Identity(
            np.stack([finite_class_deviation(n, hypotheses, delta), one_sided, two_sided, wider]),
            np.sqrt(
                np.stack([4 * one / n, one / (2 * n), (one + np.log(2)) / (2 * n), 9 * (one + np.log(6)) / (2 * n)])
            ),
        ),
        "bounds inverted": Identity(
            np.stack([log_union_tail(one_sided, n, hypotheses), log_union_tail(two_sided, n, hypotheses, sides=2)]),
            np.log(delta),
            scale=10.0,
        ),
        # 2,000 draws resolve a share of one half to a ninth; without the N it would be 150 times smaller.
        "failures that were drawn": Share(
            np.sum(sups >= cut - 1e-9),
            trials,
            np.exp(independent_log_tail(cut, 50, 200, 0.5)),
            resolution=0.2,
            aside={"one": np.exp(independent_log_tail(cut, 50, 1, 0.5))},
        ),
        # All of 60 coins, a tail below rounding, and eight or more of ten: in fractions, of seven hypotheses.
        "law of the worst, in fractions": Identity(
            independent_log_tail(np.array([0.5, 0.3]), np.array([60, 10]), 7, 0.5),
            [np.log(float(1 - (1 - tail) ** 7)) for tail in (Fraction(1, 2**60), Fraction(56, 2**10))],
        ),
        # h_t(x) = 1{x ≤ t} on uniform x with label 0: R = t, R_S the empirical distribution function.
        "dependent hypotheses": Chance(
            np.sum(np.max(np.abs(below - grid[:, None]), axis=0) > union_deviation(100, 100, delta)), trials, delta
        ),
        "a hypothesis chosen afterwards": Inequality(
            0.99,
            np.exp(independent_log_tail(coins, 50, 1000, 0.5, sides=2)),
            aside={"beforehand": np.exp(independent_log_tail(coins, 50, 1, 0.5, sides=2))},
        ),
    }


@finite_classes.control("the bound of a single hypothesis, for the worst of N", of="one-sided bound")
def union_not_paid(evidence):
    return replace(evidence, quantity=evidence.aside["unpaid"])


@finite_classes.control("the bound of a single hypothesis, used after choosing", of="two-sided bound")
def used_after_choosing(evidence):
    return replace(evidence, quantity=evidence.aside["unpaid"])


@finite_classes.control("a coin named beforehand", of="a hypothesis chosen afterwards")
def named_beforehand(evidence):
    return replace(evidence, bound=evidence.aside["beforehand"])


@finite_classes.control("an exact law for N dependent copies", of="failures that were drawn")
def dependent_copies(evidence):
    return replace(evidence, predicted=evidence.aside["one"])


@finite_classes.control("no factor two in the width", of="constants as written")
def half_the_width(evidence):
    return replace(evidence, right=np.asarray(evidence.right) * np.array([0.5, 1.0, 1.0, 1.0])[:, None, None, None])


@finite_classes.control("log(1/δ) on two sides as on one", of="constants as written")
def two_sides_as_one(evidence):
    right = np.asarray(evidence.right)
    return replace(evidence, right=right[[0, 1, 1, 3]])


@finite_classes.control(
    "the bound of losses in [0, 1], where they come from an interval of length 3", of="constants as written"
)
def without_the_width(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / np.array([1.0, 1.0, 1.0, 3.0])[:, None, None, None])


@finite_classes.picture
def chosen_among_many(pieces):
    """Probability that some of N coins, tossed 50 times, looks less fair than the bound allows."""
    aside = pieces["two-sided bound"].aside
    return Curves(
        [
            Line("bound for N hypotheses", aside["hypotheses"], aside["paid"]),
            Line("bound", aside["hypotheses"], aside["unpaid"], rival="of a single hypothesis"),
            Level("δ", y=float(aside["delta"])),
        ],
        x="hypotheses N", y="probability that the bound fails", log="x", ys=(0, 1),
    )  # fmt: skip


@claim(
    items={"L8.4": "", "H7.2": ""},
    says=r"On every sample the empirical minimiser has $R(f_S)-R(f^*)\le2\sup_f|R(f)-R_S(f)|$, with equality when the "
    r"two look alike on it, the best as much too bad as the chosen one too good, and none deviates more.",
    needs="finitely many hypotheses; R and R_S any numbers in [0, 1]",
    over=dict(risk=Reals(0, 1, shape=(5,)), noise=Reals(-0.4, 0.4, shape=(5,)), tied=Integers(0, 1)),
    each="loop",
    symbols={
        r"f_S,\ f^*": "the hypothesis of least error on the sample, and in truth",
        r"R,\ R_S": "the error on the population and on the sample",
    },
    why=r"Go from the chosen one's true error down to its error on the sample, from there to that of the best, and on "
    r"to the best one's true error. The step in the middle never helps: on the sample the chosen one is no worse. "
    r"The other two are deviations, each at most the largest. Both count only if they go in opposite directions.",
    notice=r"Each dot is a class of five hypotheses. None lies above the line of slope 2, and those on it are pairs of "
    r"which the better looks too bad by half their difference and the worse too good by as much.",
)
def excess_of_the_empirical_minimiser(risk, noise, tied):
    if tied:  # the extremal pair among the five: risks a apart, each observed half-way
        risk, noise = risk.copy(), noise.copy()
        risk[1] = min(risk[0] + 0.3, 1.0)
        noise[:] = 0.0
        noise[0], noise[1] = (risk[1] - risk[0]) / 2, -(risk[1] - risk[0]) / 2 - 1e-12
    observed = risk + noise
    chosen = int(np.argmin(observed))
    return Inequality(risk[chosen] - np.min(risk), 2 * np.max(np.abs(noise)), scale=1.0)


@excess_of_the_empirical_minimiser.control("once the largest deviation")
def once(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@excess_of_the_empirical_minimiser.picture
def excess_and_deviation(pieces):
    """Excess risk of the empirical minimiser against the largest deviation, on the classes searched."""
    (piece,) = pieces.values()
    return compared(
        np.ravel(piece.bound) / 2, lambda deviation: 2 * deviation, np.ravel(piece.quantity),
        rivals={"once the largest deviation": lambda deviation: deviation},
        names=("twice the largest deviation", "classes"),
        x="largest deviation sup |R − R_S|", y="excess risk of the minimiser",
    )  # fmt: skip
