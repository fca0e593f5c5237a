"""PAC-Bayes bounds for 0–1 losses: what each pays for its moment, and how often it fails, both exactly."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.special import logsumexp
from scipy.stats import binom

from deeptheory.foundations.concentration import binomial_log_probabilities, square_exponential_bound
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.finite_classes import union_deviation
from deeptheory.generalization.pac_bayes.bounds import maurer_budget, mcallester_bound, pac_bayes_kl, pac_bayes_pinsker
from deeptheory.generalization.pac_bayes.change_of_measure import finite_kl
from deeptheory.generalization.pac_bayes.comparison_bounds import (
    catoni_bound,
    catoni_comparison,
    comparison_bound,
    gibbs_gap,
    gibbs_risk,
    kl_comparison,
    kl_log_moment,
    log_moment,
    log_moment_at,
    simplified_pac_bayes_bound,
    square_comparison,
    weaker_pac_bayes_bound,
    worst_excess,
)
from deeptheory.lab import Chain, Chance, Exact, Identity, Inequality, Law, Limit, Share, Trials, claim

SAMPLES = np.array([10, 20, 50, 200, 1000])


def summed_directly(value, samples, points):
    """The largest Σ_k Bin(k; n, r)·exp(n·Δ(r, k/n)) over a grid of r, term by term from SciPy's binomial."""
    k, risks = np.arange(samples + 1), points[:, None]
    return np.max(np.sum(np.exp(binom.logpmf(k, samples, risks) + samples * value(risks, k / samples)), axis=1))


@claim(
    items={
        "L9.4": ("entropy", "squares", "Catoni", "growth"),
        "H11.2": ("entropy", "growth", "threshold"),
        "A5.32": ("squares", "sub-Gaussian", "limit", "Gaussian", "crossover"),
        "A5.29": "McAllester",
    },
    says=r"The moment $J_\Delta(n)=\sup_r\sum_k Bin(k;n,r)e^{n\Delta(r,k/n)}$ that a comparison function costs: for "
    r"kl it is $\sum_k Bin(k;n,k/n)$, between $\sqrt n$ and $2\sqrt n$, at most $n$ if and only if $n\ge3$; for "
    r"Catoni's function it is 1; for $c(p-q)^2$, $c<2$, it is below $1/\sqrt{1-c/2}$ and tends to it like $1/n$: "
    r"$\sqrt2$ at $c=1$, $2/\sqrt3<2$ at $c=\frac12$, which proves (5.8). $2(m-1)(p-q)^2$ costs at most $2m$, which "
    r"proves Theorem 5.6.1. At KL = 0 that theorem is the sharper one below about $(2/\delta)^3$ examples, (5.8) "
    r"above. For a standard normal $z$, $\mathbb Ee^{z^2/(2+\epsilon)}=\sqrt{(2+\epsilon)/\epsilon}$ is unbounded.",
    needs="independent examples, losses 0 or 1",
)
def moments_of_comparisons(*, delta: Annotated[float, Interval(ge=1e-3, le=0.5)] = 0.05):
    exact = [
        float(sum(Fraction(comb(n, k) * k**k * (n - k) ** (n - k), n**n) for k in range(n + 1)))
        for n in map(int, SAMPLES[:4])
    ]
    middle = np.concatenate([np.linspace(0.02, 0.98, 97), [0.5]])
    factors = np.array([0.5, 1.0])
    moments = np.exp([[log_moment(square_comparison(float(c)), int(n)) for n in SAMPLES] for c in factors])
    direct = [[summed_directly(square_comparison(float(c)).value, n, middle) for n in SAMPLES] for c in factors]
    ceiling = np.array([float(square_exponential_bound(c, 0.25)) for c in factors])
    entropy = np.exp([kl_log_moment(int(n)) for n in range(1, 301)])
    count = np.arange(1, 301)
    mcallester = [log_moment(square_comparison(2 * (n - 1) / n), int(n)) for n in SAMPLES]
    small = np.array([1.0, 0.1, 0.01, 0.001])
    nodes = np.linspace(-600, 600, 400_001)
    gaussian = [np.sum(np.exp(nodes**2 / (2 + e) - nodes**2 / 2)) * 0.003 / np.sqrt(2 * np.pi) for e in small]
    turn = (2 / delta) ** 3
    return {
        "entropy": Identity(
            np.stack(
                [
                    np.exp([kl_log_moment(int(n)) for n in SAMPLES[:4]]),
                    [np.exp(log_moment_at(kl_comparison(), int(n), 0.3)) for n in SAMPLES[:4]],
                ]
            ),
            np.stack([exact, exact]),
            condition=1000.0,  # logarithms of factorials up to 200! carry the rounding
        ),
        "squares": Identity(moments, direct, condition=1000.0, error=1e-9),
        "Catoni": Identity(
            [log_moment_at(catoni_comparison(c), 40, np.linspace(0, 1, 11)) for c in (0.3, 1.0, 4.0)], 0.0, scale=100.0
        ),
        "growth": Chain(
            {
                "√n from below": (np.sqrt(count), entropy),
                "2√n from above": (entropy, 2 * np.sqrt(count)),
            },
            error=1e-10,
        ),
        "threshold": Exact(entropy <= count + 1e-10, count >= 3),
        "sub-Gaussian": Chain(
            {
                "below its limit": (moments, np.broadcast_to(ceiling[:, None], moments.shape)),
                "which (5.8) pays": (ceiling[0], 2.0),
            }
        ),
        "limit": Limit(SAMPLES, ceiling[1] - moments[1], order=1.0),
        "McAllester": Inequality(mcallester, np.log(2 * SAMPLES), log=True),
        "Gaussian": Identity(gaussian, np.sqrt((2 + small) / small), error=1e-8),
        "crossover": Chain(
            {
                "below": (
                    mcallester_bound(0.0, 0.0, turn / 2, delta),
                    weaker_pac_bayes_bound(0.0, 0.0, turn / 2, delta),
                ),
                "above": (
                    weaker_pac_bayes_bound(0.0, 0.0, 2 * turn, delta),
                    mcallester_bound(0.0, 0.0, 2 * turn, delta),
                ),
            }
        ),
    }


@moments_of_comparisons.control("E exp(z²/(2+ε)) tends to √2", of="Gaussian")
def printed_moment(evidence):
    return replace(evidence, right=np.full(4, np.sqrt(2)))


@moments_of_comparisons.control("the moment of kl is at most n for every n", of="threshold")
def every_count(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@moments_of_comparisons.control("Maurer's 2√n without its 2", of="growth")
def no_two(evidence):
    return replace(
        evidence, links={"√n from above": (evidence.links["2√n from above"][0], evidence.links["√n from below"][0])}
    )


@claim(
    items={
        "A5.29": "closed forms",
        "A5.30": "one hypothesis",
        "A5.31": "finite class",
        "A5.32": "closed forms",
        "H11.2": ("closed forms", "tighter"),
        "L9.4": "closed forms",
        "L9.6": ("closed forms", "tighter", "twice"),
    },
    says=r"Each printed bound is the general one, solved for the risk: $\Delta=\frac{2(m-1)}m(p-q)^2$ with $J\le2m$ "
    r"gives $\sqrt{(KL+\ln(2m/\delta))/2(m-1)}$; $\frac12(p-q)^2$ with 2 gives $\sqrt{2(KL+\ln(2/\delta))/m}$; "
    r"$2(p-q)^2$ with $n$ gives $\sqrt{(KL+\ln(n/\delta))/2n}$; kl with $2\sqrt n$ gives Maurer's and, after Pinsker, "
    r"$\sqrt{(KL+\ln(2\sqrt n/\delta))/2n}$, half of what Theorem 70 prints; Catoni's function with 1 his own. Their "
    r"order: kl below Pinsker below the printed one; Hoeffding's bound for one hypothesis below Theorem 5.6.1 at KL = "
    r"0, which for a uniform prior on $N$ hypotheses exceeds the union bound by $\ln 2m$ in the budget.",
    needs="the bounds below 1, where the square can be solved",
)
def printed_pac_bayes_bounds(
    key,
    *,
    count: Annotated[int, Interval(ge=8, le=2000)] = 200,
    factor: Literal["2(m − 1)/m", "2"] = "2(m − 1)/m",
):
    draw = generator(key)
    n = np.round(np.exp(draw.uniform(np.log(200), np.log(1e5), count)))
    empirical, divergence = draw.uniform(0, 0.4, count), n * draw.uniform(0, 0.05, count)
    delta = np.exp(draw.uniform(np.log(1e-3), np.log(0.2), count))

    def solved(comparison, moment):
        return comparison_bound(comparison, empirical, (divergence + np.log(moment / delta)) / n)

    budget = np.asarray(maurer_budget(divergence, n, delta))
    pinsker = np.asarray(pac_bayes_pinsker(empirical, budget))
    square = square_comparison(2.0 if factor == "2" else 2 * (n - 1) / n)  # a factor of its own for every instance
    forms = {
        "McAllester": (mcallester_bound(empirical, divergence, n, delta), solved(square, 2 * n)),
        "weaker": (weaker_pac_bayes_bound(empirical, divergence, n, delta), solved(square_comparison(0.5), 2.0)),
        "simplified": (simplified_pac_bayes_bound(empirical, divergence, n, delta), solved(square_comparison(2.0), n)),
        "Maurer": (pac_bayes_kl(empirical, budget), solved(kl_comparison(), 2 * np.sqrt(n))),
        "Pinsker": (pinsker, solved(square_comparison(2.0), 2 * np.sqrt(n))),
        "Catoni": (
            catoni_bound(empirical, divergence, n, delta, temperature=1.5),
            solved(catoni_comparison(1.5), 1.0),
        ),
    }
    ours, solutions = (np.stack([np.asarray(pair[side]) for pair in forms.values()]) for side in (0, 1))
    solutions, ours = np.where(ours >= 1, 1.0, solutions), np.minimum(ours, 1.0)
    one = mcallester_bound(0.0, 0.0, n, delta)
    class_size = np.round(np.exp(draw.uniform(0, 12, count)))
    price = np.asarray(finite_kl(np.eye(3)[:1], np.full(3, 1 / 3)))
    finite = mcallester_bound(0.0, np.log(class_size), n, delta)
    union = union_deviation(n, class_size, delta, sides=1)
    return {
        "closed forms": Identity(ours, solutions, scale=1.0, along={"bound": np.array(list(forms))}),
        "tighter": Chain({"kl below Pinsker": (ours[3], pinsker), "Pinsker below printed": (pinsker, 2 * pinsker)}),
        "twice": Identity(
            np.sqrt(2 / n * (divergence + np.log(2 * np.sqrt(n) / delta))), 2 * (pinsker - empirical), condition=100.0
        ),
        "one hypothesis": Chain({"Hoeffding below PAC-Bayes": (union_deviation(n, 1, delta, sides=1), one)}),
        "finite class": Identity(
            np.append(2 * (n - 1) * np.asarray(finite) ** 2 - 2 * n * union**2, price[0]),
            np.append(np.log(2 * n), np.log(3)),
            scale=np.append(np.log(2 * n * class_size / delta), 1.0),
            condition=10.0,
        ),
    }


printed_pac_bayes_bounds.control("2m under McAllester's root for 2(m − 1)", of="closed forms", factor="2")


@printed_pac_bayes_bounds.control("Theorem 70's deviation is what Pinsker gives", of="twice")
def printed_twice(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@printed_pac_bayes_bounds.control("the union bound and PAC-Bayes pay the same", of="finite class")
def no_price(evidence):
    return replace(evidence, right=np.append(np.zeros(len(evidence.right) - 1), evidence.right[-1]))


def dual_excess(factor, prior, risks, empirical, samples):
    """sup over Q of n·c(E_Q R − E_Q R_S)² − KL(Q‖P), as the largest of ln E_P e^(2nct(R − R_S)) − nct² over t.

    The square is the largest of its tangents 2ct(p − q) − ct², and for each of these the best Q is known. By a grid
    of t, and a finer one around its best.
    """
    gaps = risks - empirical
    best, width = np.zeros((len(gaps), 1)), 1.0
    for _ in range(3):
        t = best + width * np.linspace(-1, 1, 201)
        powers = 2 * samples * factor * t[..., None] * gaps[:, None]
        values = np.asarray(logsumexp(powers, b=prior, axis=2)) - samples * factor * t**2
        best = np.take_along_axis(t, np.argmax(values, 1)[:, None], 1)
        width /= 100
    return values.max(1)


FORMS = {
    "kl with its exact moment": lambda n: (kl_comparison(), kl_log_moment(n)),
    "kl with 2√n": lambda n: (kl_comparison(), np.log(2 * np.sqrt(n))),
    "2(p−q)² with n": lambda n: (square_comparison(2.0), np.log(n)),
    "2(m−1)/m·(p−q)² with 2m": lambda n: (square_comparison(2 * (n - 1) / n), np.log(2 * n)),
    "½(p−q)² with 2": lambda n: (square_comparison(0.5), np.log(2)),
    "½(p−q)² with 2√n": lambda n: (square_comparison(0.5), np.log(2 * np.sqrt(n))),
    "(p−q)² with √2": lambda n: (square_comparison(1.0), np.log(2) / 2),
    "Catoni with 1": lambda n: (catoni_comparison(1.0), 0.0),
}
"""The bounds of the books as comparison functions with the moments they pay for (lucchi Thm 70 is the sixth)."""


@claim(
    items={
        "L9.4": ("failure", "search"), "L9.6": "failure", "H11.2": "failure", "A5.29": "failure", "A5.32": "failure",
        "L9.5": ("binomial law", "drawn", "moment"), "L9.1": ("Gibbs risk", "gap"),
    },
    says=r"Three hypotheses with 0–1 losses, nine examples, all outcomes enumerated: the probability that any "
    r"posterior $Q$ whatever breaks the general bound is below $\delta$ for every printed comparison function; for "
    r"squares the worst $Q$ found reaches the supremum over all, $\max_t\ln\mathbb E_Pe^{2nct(R-R_S)}-nct^2$. The "
    r"number of mistakes of one hypothesis is binomial, the risk of the classifier that draws a hypothesis for every "
    r"answer is $\mathbb E_QR$, and $\mathbb E_QR-\mathbb E_QR_S\le\mathbb E_Q\max(0,R-R_S)\le\mathbb E_Q|R-R_S|$.",
    needs="losses in [0, 1]; a prior fixed before the sample; δ = 0.05 and 0.2",
    full=dict(trials=400_000),
)  # fmt: skip
def failures_enumerated(
    key,
    *,
    trials: Trials = 150_000,
    moment: Literal["paid", "not paid"] = "paid",
    loss_range: Annotated[float, Interval(ge=1.0, le=100.0)] = 1.0,
):
    n, deltas = 9, np.array([0.05, 0.2])
    prior = np.full(3, 1 / 3)
    # The first risks are set so that no mistake at all is just improbable enough: there kl is an equality.
    settings = np.array([[1 - 0.999 * (0.05 / 3) ** (1 / n)] * 3, [0.1, 0.3, 0.5], [0.02, 0.1, 0.2]])
    counts = np.indices((n + 1,) * 3).reshape(3, -1).T
    failure = np.zeros((len(FORMS), len(settings), len(deltas)))
    for j, risks in enumerate(settings):
        logs = binomial_log_probabilities(n, risks)
        chances = np.exp(logs[np.arange(3), counts].sum(1))
        for i, form in enumerate(FORMS.values()):
            comparison, price = form(n)
            if loss_range == 1:
                excess = worst_excess(comparison, prior, risks, counts / n, n, rounds=12)
            else:  # a square sees losses of any size; the other functions are not defined beyond 1
                if "(p−q)²" not in list(FORMS)[i]:
                    continue
                excess = worst_excess(comparison, prior, loss_range * risks, loss_range * counts / n, n, rounds=3)
            for k, delta in enumerate(deltas):
                failure[i, j, k] = chances[excess > np.log(1 / delta) + (price if moment == "paid" else 0.0)].sum()
    found, supremum = np.empty((2, len(settings), 3, 40))
    for (j, risks), (i, factor) in product(enumerate(settings), enumerate((0.5, 1.0, 2.0))):
        some = prior, risks, counts[12::25] / n, n  # forty of the thousand outcomes
        found[j, i] = worst_excess(square_comparison(factor), *some, rounds=12)
        supremum[j, i] = dual_excess(factor, *some)
    draw = generator(key)
    risk = 0.3
    patterns = np.indices((2,) * n).reshape(n, -1).sum(0)
    by_pattern = np.bincount(patterns, weights=risk**patterns * (1 - risk) ** (n - patterns), minlength=n + 1)
    mistakes = (draw.random((trials, n)) < risk).sum(1)
    comparison = square_comparison(1.0)
    posterior, empirical = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.4, 0.5])
    risks = settings[1]
    picked = draw.choice(3, trials, p=posterior)
    expected = np.sum(posterior * (risks - empirical))
    return {
        "failure": Inequality(failure, np.broadcast_to(deltas, failure.shape), along={
            "form": np.array(list(FORMS)), "risks": np.array(["no mistake", "spread", "small"]), "delta": deltas}),
        "search": Identity(found, supremum, scale=1.0, error=2e-3),  # so near twelve rounds come
        "binomial law": Identity(np.exp(binomial_log_probabilities(n, risk)), by_pattern, condition=100.0, error=1e-15),
        "drawn": Share(
            [np.sum(mistakes == k) for k in range(2, 6)], trials, np.exp(binomial_log_probabilities(n, risk))[2:6],
            resolution=0.1,  # the rarest of these counts is one in fourteen
        ),
        "moment": Law(
            float(np.exp(log_moment_at(comparison, n, risk))), np.exp(n * comparison.value(risk, mistakes / n)),
            exact=True,
        ),
        "Gibbs risk": Share(np.sum(draw.random(trials) < risks[picked]), trials, gibbs_risk(posterior, risks)),
        "gap": Chain({
            "difference below gap": (expected, gibbs_gap(posterior, risks, empirical)),
            "gap below distance": (
                gibbs_gap(posterior, risks, empirical), gibbs_risk(posterior, np.abs(risks - empirical))),
            "0.05 by hand, from below": (0.05 - 1e-15, gibbs_gap(posterior, risks, empirical)),
            "0.05 by hand, from above": (gibbs_gap(posterior, risks, empirical), 0.05 + 1e-15),
        }),
    }  # fmt: skip


failures_enumerated.control("the moment not paid for: (KL + ln 1/δ)/n", of="failure", moment="not paid")
failures_enumerated.control(
    "a loss that is not confined to [0, 1], as printed", erratum="H11.2a", of="failure", loss_range=5.0
)


@failures_enumerated.control("the empirical risk is Poisson, the binomial's limit", of="binomial law")
def poisson(evidence):
    from scipy.stats import poisson

    return replace(evidence, left=poisson.pmf(np.arange(10), 2.7))


@claim(
    items={"A5.29": ("failures", "search"), "A5.30": "one", "A5.31": "union"},
    says=r"Thirty hypotheses, forty examples, a uniform prior: Theorem 5.6.1 fails for some posterior $Q$, found by "
    r"maximising its excess over all of them (the dual maximum is the same), with probability at most $\delta$; so do "
    r"Hoeffding's bound for one hypothesis and the union bound, that is point posteriors.",
    needs="losses 0 or 1; the prior fixed before the sample",
    full=dict(trials=20_000),
)
def thirty_hypotheses(
    key,
    *,
    trials: Trials = 3000,
    hypotheses: Annotated[int, Interval(ge=2, le=50_000)] = 30,
    prior: Literal["fixed", "from the sample"] = "fixed",
):
    m, delta = 40, 0.05
    draw = generator(key)
    risks = np.linspace(0.4, 0.6, hypotheses)
    empirical = draw.binomial(m, risks, (trials, hypotheses)) / m
    gaps, search = risks - empirical, {}
    if prior == "fixed":
        factor, uniform = 2 * (m - 1) / m, np.full(hypotheses, 1 / hypotheses)
        excess = worst_excess(square_comparison(factor), uniform, risks, empirical, m)
        broken = excess > np.log(2 * m / delta)
        supremum = dual_excess(factor, uniform, risks, empirical[:30], m)
        search = {"search": Identity(excess[:30], supremum, scale=1.0, error=2e-3)}  # so near the rounds come
    else:  # all mass, prior and posterior, on the hypothesis that flatters itself most
        broken = gaps.max(1) > float(mcallester_bound(0.0, 0.0, m, delta))
    return search | {
        "failures": Chance(int(broken.sum()), trials, delta),
        "one": Chance(int(np.sum(gaps[:, 0] > float(union_deviation(m, 1, delta, sides=1)))), trials, delta),
        "union": Chance(
            int(np.sum(gaps.max(1) > float(union_deviation(m, hypotheses, delta, sides=1)))), trials, delta
        ),
    }


thirty_hypotheses.control(
    "a prior chosen after the sample, so that KL = 0",
    of="failures",
    prior="from the sample",
    hypotheses=20_000,
    trials=300,
)
