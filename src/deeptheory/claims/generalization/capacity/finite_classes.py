"""Finitely many hypotheses: the union bound beside the exact law of the largest deviation."""

from dataclasses import replace
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
    items={"L8.1": "unbiased", "H7.1": ("unbiased", "tail")},
    says=r"The training error of a classifier fixed beforehand has mean $R(f)=\mathbb P(f(x)\ne y)$, summed here over "
    r"every possible sample, and Hoeffding's $2e^{-2n\epsilon^2}$ bounds its tail.",
    needs="independent samples; four classifiers on four atoms",
)
def training_error_is_unbiased(*, samples: Annotated[int, Interval(ge=1, le=6)] = 4):
    truth = [misclassification_risk(ATOMS, row, np.zeros(4)) for row in WRONG]
    n, deviation = np.array([10, 40, 160])[:, None, None], np.array([0.05, 0.1, 0.2, 0.4])[:, None]
    tail = independent_log_tail(deviation, n, 1, np.array(truth), sides=2)
    return {
        "unbiased": Identity(expected_empirical_risks(samples)[0], np.array(truth)),
        "tail": Inequality(tail, log_union_tail(deviation, n, 1, sides=2) + 0 * tail, log=True),
    }


@training_error_is_unbiased.control("the indicator of a right answer", of="unbiased")
def right_answers(evidence):
    return replace(evidence, right=np.array([misclassification_risk(ATOMS, 1 - row, np.zeros(4)) for row in WRONG]))


@training_error_is_unbiased.control("the classifier that looks worst on the sample", of="unbiased")
def chosen_afterwards(evidence):
    risks = WRONG @ ATOMS
    chosen = [(np.prod(ATOMS[list(s)]), empirical_risk(WRONG[:, list(s)])) for s in product(range(4), repeat=3)]
    picks = [(chance, errors.max(), risks[np.argmax(errors)]) for chance, errors in chosen]
    return replace(evidence, left=sum(c * e for c, e, _ in picks), right=sum(c * r for c, _, r in picks))


@claim(
    items={"L8.5": ("tail", "rate")},
    says=r"The chance that some of N hypotheses has $R-R_S\ge\epsilon$ is at most $Ne^{-2n\epsilon^2}$, against the "
    r"exact law for independent errors; at risk 1/2 and $\epsilon=n^{-1/4}$ the exponent 2 is reached in the limit.",
    needs="losses in [0, 1], independent samples, hypotheses fixed beforehand",
)
def union_bound_on_the_largest_deviation():
    n, hypotheses = np.array([10, 50, 250])[:, None, None, None], np.array([1, 10, 1000])[:, None, None]
    risk = np.array([0.05, 0.3, 0.5, 0.8])[:, None]
    deviation = risk * np.array([0.1, 0.3, 0.6])
    exact = independent_log_tail(deviation, n, hypotheses, risk)
    sizes = 2 ** np.arange(8, 17)
    slow = sizes**-0.25
    ratio = independent_log_tail(slow, sizes, 100, 0.5) / log_union_tail(slow, sizes, 100)
    return {
        "tail": Inequality(exact, log_union_tail(deviation, n, hypotheses) + 0 * exact, log=True),
        # −log P is 2√n plus logarithms, so the ratio comes to 1 like log(n)/√n.
        "rate": Limit(sizes, np.abs(ratio - 1), order=0.4),
    }


@union_bound_on_the_largest_deviation.control("the bound of one hypothesis for the worst of N", of="tail")
def without_the_union(evidence):
    bound = np.asarray(evidence.bound)
    return replace(evidence, bound=bound - np.log(np.array([1, 10, 1000]))[:, None, None])


@union_bound_on_the_largest_deviation.control("twice the exponent", of="tail")
def twice_the_exponent(evidence):
    hypotheses = np.log(np.array([1, 10, 1000]))[:, None, None]
    return replace(evidence, bound=2 * (np.asarray(evidence.bound) - hypotheses) + hypotheses)


@union_bound_on_the_largest_deviation.control("half the exponent", of="rate")
def half_the_exponent(evidence):
    return replace(evidence, y=np.abs(2 * (1 + np.asarray(evidence.y)) - 1))


@claim(
    items={
        "A5.2": ("never wrong", "simulated"),
        "A5.4": ("never wrong", "constants", "simulated"),
        "L8.3": ("two-sided", "inverse", "simulated", "thresholds"),
        "L8.6": ("chosen afterwards", "two-sided"),
        "H7.2": ("two-sided", "inverse", "thresholds"),
    },
    says=r"With probability $1-\delta$ all of N hypotheses have $R-R_S\le\sqrt{(\log N+\log\frac1\delta)/2n}$, and "
    r"$|R-R_S|\le\sqrt{(\log N+\log\frac2\delta)/2n}$, by the exact law for independent errors and by draws for N "
    r"thresholds; the printed $2\sqrt{(\log N+\log\frac1\delta)/m}$ is $\sqrt8$ times as wide. Choosing the hypothesis "
    r"after seeing the sample breaks the bound for one: among 1,000 coins it fails almost surely.",
    needs="losses in [0, 1], independent samples, hypotheses fixed beforehand",
    full=dict(trials=20_000),
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
    cut = 0.2  # a deviation that half of the samples exceed: there draws resolve the exact law best
    sups = independent_sup_deviation(errors, 50, 200, 0.5, trials)
    grid, points = np.arange(1, 101) / 101, draw.random((trials, 100))
    below = np.stack([np.mean(points <= t, axis=1) for t in grid])
    coins = union_deviation(50, 1, delta)
    return {
        "never wrong": Inequality(np.exp(independent_log_tail(one_sided, n, hypotheses, risk)), delta),
        "two-sided": Inequality(np.exp(independent_log_tail(two_sided, n, hypotheses, risk, sides=2)), delta),
        "constants": Identity(finite_class_deviation(n, hypotheses, delta), np.sqrt(8) * one_sided),
        "inverse": Identity(
            np.stack([log_union_tail(one_sided, n, hypotheses), log_union_tail(two_sided, n, hypotheses, sides=2)]),
            np.log(delta),
            scale=10.0,
        ),
        # 2,000 draws resolve a share of one half to a ninth; without the N it would be 150 times smaller.
        "simulated": Share(
            np.sum(sups >= cut - 1e-9), trials, np.exp(independent_log_tail(cut, 50, 200, 0.5)), resolution=0.2
        ),
        # h_t(x) = 1{x ≤ t} on uniform x with label 0: R = t, R_S the empirical distribution function.
        "thresholds": Chance(
            np.sum(np.max(np.abs(below - grid[:, None]), axis=0) > union_deviation(100, 100, delta)), trials, delta
        ),
        "chosen afterwards": Inequality(0.99, np.exp(independent_log_tail(coins, 50, 1000, 0.5, sides=2))),
    }


finite_classes.control("the bound of a single hypothesis, used after choosing", of="two-sided")(
    lambda evidence: replace(
        evidence, quantity=np.exp(independent_log_tail(union_deviation(50, 1, 0.1), 50, 1000, 0.5))
    )
)
finite_classes.control("an exact law for N dependent copies", of="simulated")(
    lambda evidence: replace(evidence, predicted=np.exp(independent_log_tail(0.2, 50, 1, 0.5)))
)
finite_classes.control("no factor two in the width", of="constants")(
    lambda evidence: replace(evidence, right=np.asarray(evidence.right) / 2)
)


@claim(
    items={"L8.4": "", "H7.2": ""},
    says=r"On every sample the empirical minimiser has $R(f_S)-R(f^*)\le2\sup_f|R(f)-R_S(f)|$, with equality when the "
    r"best looks as much too bad as the chosen one looks too good.",
    needs="finitely many hypotheses; R and R_S any numbers in [0, 1]",
    over=dict(risk=Reals(0, 1, shape=(5,)), noise=Reals(-0.4, 0.4, shape=(5,)), tied=Integers(0, 1)),
    each="loop",
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
