"""A posterior searched on the sample itself: how often its bound fails, and the bound it reaches by memorizing."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr, rel_entr

from deeptheory.foundations.concentration import binomial_log_probabilities
from deeptheory.generalization.pac_bayes.linear_posteriors import best_linear_posterior
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line

STEP = 1e-11
"""How far from a jump a risk is taken."""


@cache
def searched_posteriors(n=12):
    """The best linear posterior for every number of mistakes of the constant sign: direction, risk and bound, by δ."""
    labels = [np.where(np.arange(n) < k, -1.0, 1.0) for k in range(n + 1)]
    found = [[best_linear_posterior(np.ones((n, 1)), y, delta=delta) for y in labels] for delta in (0.05, 0.2)]
    return np.array([[(each.direction[0], each.risk, each.bound) for each in row] for row in found]).transpose(2, 0, 1)


def searched_failures(share):
    """Worst chance, over the chance r of a label −1, that the risk (1 − r)Φ(−μ) + rΦ(μ) of what was found is larger."""
    worst = []
    for direction, risk, bound in zip(*searched_posteriors(), strict=True):
        level, right, wrong = risk + share * (bound - risk), ndtr(-direction), ndtr(direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (level - right) / (wrong - right)
        r = np.concatenate([crossing - STEP, crossing + STEP, np.linspace(0, 1, 101)])
        r = r[np.isfinite(r) & (r >= 0) & (r <= 1)]
        broken = (1 - r[:, None]) * right + r[:, None] * wrong > level
        worst.append(np.max(np.sum(np.exp(binomial_log_probabilities(len(level) - 1, r)) * broken, axis=1)))
    return np.array(worst)


@claim(
    items={},
    says=r"The linear posterior that makes Maurer's bound smallest, searched on the sample itself, has a risk above "
    r"the bound with probability at most $\delta$, above a quarter of the way to it with more. On $n$ orthogonal "
    r"inputs the best one has equal margins $m$.",
    needs="one input with labels −1 of any chance, all samples of twelve enumerated; 24 orthogonal inputs; δ = 0.05, "
    "0.2",
    symbols={
        r"\delta": "the probability with which the bound may fail",
        r"n": "the number of orthogonal inputs, each seen once with any label",
        r"m": (
            r"the margin at which $\mathrm{kl}^{-1}$ of the risk $\Phi(-m)$ and the budget "
            r"$\frac12\ln(1+m^2)+\ln(2\sqrt n/\delta)/n$ is least"
        ),
        r"\mathrm{kl}^{-1}": "the largest risk that is within the budget of the one seen, in relative entropy",
    },
    why=r"A PAC-Bayes bound holds for all posteriors at once: the divergence from the prior pays for the search, "
    r"wherever it ends. So the best one on the sample may be used with no correction. On orthogonal inputs every "
    r"coordinate of the direction serves one input only, and by symmetry all get the same margin.",
    notice=r"The more labels agree, the farther the posterior moves from the prior and the smaller risk and bound "
    r"become. With as many labels of either sign nothing is gained by moving: the risk is that of guessing.",
)
def searched_posterior_fails_rarely():
    deltas = np.array([0.05, 0.2])
    return {
        "probability of failure": Inequality(
            searched_failures(1.0),
            deltas,
            aside=dict(zip(("direction", "risk", "bound"), searched_posteriors(), strict=True)),
        ),
        "a quarter of the deviation": Inequality(deltas, searched_failures(0.25)),
        "best posterior on orthogonal inputs": Identity(
            [best_linear_posterior(np.eye(24), np.where(np.arange(24) % 3, 1.0, -1.0), delta=d).bound for d in deltas],
            [least_memorizing_bound(24, d) for d in deltas],
            error=1e-7,
        ),
    }


def least_memorizing_bound(n, delta, divergence=lambda margin: np.log1p(margin**2) / 2):
    """The least bound over one margin for all inputs, the larger root of kl(Φ(−m), p) = budget bracketed."""

    def bound(margin):
        risk, budget = ndtr(-margin), divergence(margin) + np.log(2 * np.sqrt(n) / delta) / n
        return brentq(lambda p: rel_entr(risk, p) + rel_entr(1 - risk, 1 - p) - budget, risk, 1 - 1e-12, xtol=1e-14)

    found = minimize_scalar(bound, bounds=(0.01, 5.0), method="bounded", options={"xatol": 1e-9})
    return found.fun  # pyright: ignore[reportAttributeAccessIssue]


@searched_posterior_fails_rarely.control("a posterior as wide as the prior", of="best posterior on orthogonal inputs")
def as_wide_as_the_prior(evidence):
    return replace(evidence, right=np.array([least_memorizing_bound(24, d, lambda m: m**2 / 2) for d in (0.05, 0.2)]))


@searched_posterior_fails_rarely.control(
    "never more often than δ, with half of the deviation", of="probability of failure"
)
def half_of_the_deviation(evidence):
    return replace(evidence, quantity=searched_failures(0.5))


@searched_posterior_fails_rarely.control("with nine tenths of the deviation already", of="a quarter of the deviation")
def nine_tenths(evidence):
    return replace(evidence, bound=searched_failures(0.9))


@searched_posterior_fails_rarely.picture
def found_on_the_sample(pieces):
    """Risk on the sample and bound of the best posterior, along the number of labels −1 among twelve; δ = 0.05."""
    aside = pieces["probability of failure"].aside
    labels = np.arange(aside["risk"].shape[1])
    return Curves(
        [
            Line("bound", labels, aside["bound"][0]),
            Line("risk of the posterior on the sample", labels, aside["risk"][0]),
            Dots("share of labels −1, or of +1", labels, np.minimum(labels, labels[::-1]) / labels[-1]),
        ],
        x="labels −1 among twelve", y="risk", ys=(0, 1),
    )  # fmt: skip
