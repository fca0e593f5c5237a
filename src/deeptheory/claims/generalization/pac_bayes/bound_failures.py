"""How often PAC-Bayes bounds fail for any posterior whatever: enumerated for three hypotheses, drawn for thirty."""

from dataclasses import replace
from itertools import product
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.special import logsumexp
from scipy.stats import poisson

from deeptheory.foundations.concentration import binomial_log_probabilities
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.finite_classes import union_deviation
from deeptheory.generalization.pac_bayes.comparison_bounds import (
    catoni_comparison,
    gibbs_gap,
    gibbs_risk,
    kl_comparison,
    kl_log_moment,
    log_moment_at,
    square_comparison,
    worst_excess,
)
from deeptheory.lab import Chain, Chance, Identity, Inequality, Law, Share, Trials, claim
from deeptheory.lab.pictures import Curves, HeatMap, Level, Line, Row


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
HANDBOOK = "2(p−q)² with n"
"""The one that is printed without a range of the loss."""


@claim(
    items={
        "L9.4": ("probability of failure", "worst posterior by two routes"), "L9.6": "probability of failure",
        "H11.2": "probability of failure", "A5.29": "probability of failure", "A5.32": "probability of failure",
        "L9.5": ("law of the mistakes", "mistakes that were drawn", "moment of the gap"),
        "L9.1": ("risk of drawn hypotheses", "gap of a posterior"),
    },
    says=r"Three hypotheses, nine examples, 0–1 losses, all outcomes enumerated: the probability that some posterior "
    r"$Q$ breaks a printed PAC-Bayes bound is below $\delta$. The mistakes of one hypothesis are binomial; one drawn "
    r"from $Q$ for every answer has risk $\mathbb E_QR$.",
    needs="losses in [0, 1]; a prior fixed before the sample; δ = 0.05 and 0.2",
    symbols={
        r"Q": "a posterior over the three hypotheses, chosen after the sample so as to break the bound",
        r"\delta": "the probability with which a bound may fail",
        r"R": "the risk of a hypothesis",
    },
    why=r"A bound fails on a sample where $\sup_Q\,n\Delta(\mathbb E_QR,\mathbb E_QR_S)-KL(Q\|P)$ exceeds "
    r"$\ln(J/\delta)$. The supremum is found by climbing: $\Delta$ lies above its tangents and the best $Q$ for a "
    r"tangent is a Gibbs law; for squares it is also $\max_t\ln\mathbb E_Pe^{2nct(R-R_S)}-nct^2$, and the two agree. "
    r"With nine examples there are a thousand outcomes, each of known probability.",
    notice=r"Failure probabilities as shares of $\delta$. All bounds are loose: none uses more than about a tenth of "
    r"what it may. Without a price for the moment kl fails more often than promised at the risks that were chosen for "
    r"it.",
    full=dict(trials=400_000),
)  # fmt: skip
def failures_enumerated(
    key, *, trials: Trials = 150_000, loss_range: Annotated[float, Interval(ge=1.0, le=100.0)] = 1.0
):
    n, deltas = 9, np.array([0.05, 0.2])
    prior = np.full(3, 1 / 3)
    # At the first risks no mistake at all is just too probable: kl fails there if its moment is not paid for.
    settings = np.array([[1 - 0.999 * (0.05 / 3) ** (1 / n)] * 3, [0.1, 0.3, 0.5], [0.02, 0.1, 0.2]])
    counts = np.indices((n + 1,) * 3).reshape(3, -1).T
    failure, unpaid = np.zeros((2, len(FORMS), len(settings), len(deltas)))
    # Beyond losses of 1 only the bound that names no range of the loss says anything.
    forms = {name: form for name, form in FORMS.items() if loss_range == 1 or name == HANDBOOK}
    for j, risks in enumerate(settings):
        logs = binomial_log_probabilities(n, risks)
        chances = np.exp(logs[np.arange(3), counts].sum(1))
        for name, form in forms.items():
            comparison, price = form(n)
            rounds = 12 if loss_range == 1 else 3
            excess = worst_excess(comparison, prior, loss_range * risks, loss_range * counts / n, n, rounds=rounds)
            for k, delta in enumerate(deltas):
                for store, paid in ((failure, price), (unpaid, 0.0)):
                    store[list(FORMS).index(name), j, k] = chances[excess > np.log(1 / delta) + paid].sum()
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
    expected, gap = np.sum(posterior * (risks - empirical)), gibbs_gap(posterior, risks, empirical)
    return {
        "probability of failure": Inequality(failure, np.broadcast_to(deltas, failure.shape), along={
            "form": np.array(list(FORMS)), "risks": np.array(["no mistake", "spread", "small"]), "delta": deltas},
            aside={"unpaid": unpaid}),
        # Bounds that fail a tenth as often as they may do not see what they pay.
        "moment that kl pays for": Identity(
            np.exp(kl_log_moment(n)), sum(comb(n, k) * (k / n) ** k * (1 - k / n) ** (n - k) for k in range(n + 1))
        ),
        "worst posterior by two routes": Identity(found, supremum, scale=1.0, error=2e-3),  # so near twelve rounds come
        "law of the mistakes": Identity(
            np.exp(binomial_log_probabilities(n, risk)), by_pattern, condition=100.0, error=1e-15,
            aside={"poisson": poisson.pmf(np.arange(n + 1), n * risk)},
        ),
        "mistakes that were drawn": Share(
            [np.sum(mistakes == k) for k in range(2, 6)], trials, np.exp(binomial_log_probabilities(n, risk))[2:6],
            resolution=0.1,  # the rarest of these counts is one in fourteen
        ),
        "moment of the gap": Law(
            float(np.exp(log_moment_at(comparison, n, risk))), np.exp(n * comparison.value(risk, mistakes / n)),
            exact=True,
        ),
        "risk of drawn hypotheses": Share(
            np.sum(draw.random(trials) < risks[picked]), trials, gibbs_risk(posterior, risks),
            aside={"under the prior": gibbs_risk(prior, risks)},
        ),
        # By hand: the risks 0.1, 0.3, 0.5 less the empirical 0, 0.4, 0.5, weighed with 0.5, 0.3, 0.2.
        "gap of a posterior": Chain({
            "difference below gap": (expected, gap),
            "gap below distance": (gap, gibbs_risk(posterior, np.abs(risks - empirical))),
            "0.05 by hand, from below": (0.05 - 1e-15, gap),
            "0.05 by hand, from above": (gap, 0.05 + 1e-15),
        }),
    }  # fmt: skip


@failures_enumerated.control("the moment not paid for: (KL + ln 1/δ)/n", of="probability of failure")
def nothing_paid(evidence):
    return replace(evidence, quantity=evidence.aside["unpaid"])


failures_enumerated.control(
    "a loss that is not confined to [0, 1], as printed", erratum="H11.2a", of="probability of failure", loss_range=5.0
)


@failures_enumerated.control("the empirical risk is Poisson, the binomial's limit", of="law of the mistakes")
def poisson_law(evidence):
    return replace(evidence, left=evidence.aside["poisson"])


@failures_enumerated.control("the hypothesis drawn from the prior", of="risk of drawn hypotheses")
def from_the_prior(evidence):
    return replace(evidence, predicted=evidence.aside["under the prior"])


@failures_enumerated.control("a gap in which better and worse hypotheses cancel", of="gap of a posterior")
def cancelling(evidence):
    difference = evidence.links["difference below gap"][0]
    return replace(evidence, links=evidence.links | {"0.05 by hand, from below": (0.05 - 1e-15, difference)})


@failures_enumerated.picture
def shares_of_the_promise(pieces):
    """How much of the failure probability δ each bound uses up, for three sets of risks and two values of δ; with
    the moment paid for, and without."""
    failure = pieces["probability of failure"]
    risks, deltas = failure.along["risks"], failure.along["delta"]
    columns = [f"{name}, {delta:g}" for name in risks for delta in deltas]
    shown = {"as they are": failure.quantity, "moment not paid for": failure.aside["unpaid"]}
    return Row(
        [
            HeatMap(
                (np.asarray(chance) / deltas).reshape(len(failure.along["form"]), -1),
                [str(form) for form in failure.along["form"]],
                columns,
                x="risks of the hypotheses, δ",
                y="bound",
                title=title,
                value="probability of failure, as a share of δ",
                middle=1.0,
            )
            for title, chance in shown.items()
        ]
    )


@claim(
    items={
        "A5.29": ("failures for any posterior", "worst posterior by two routes"),
        "A5.30": "failures for one hypothesis",
        "A5.31": "failures for the best of thirty",
    },
    says=r"Thirty hypotheses, forty examples, a uniform prior: Theorem 5.6.1 fails for some posterior $Q$, found by "
    r"maximising its excess over all of them, with probability at most $\delta$. So do the union bound and "
    r"Hoeffding's bound for one hypothesis.",
    needs="losses 0 or 1; the prior fixed before the sample",
    symbols={
        r"\text{Theorem 5.6.1}": r"McAllester's PAC-Bayes bound as arora prints it, for $m=40$ examples",
        r"Q": "the posterior that breaks the theorem most, on each sample anew",
        r"\delta": "0.05 here",
    },
    why=r"For every sample the posterior with the largest excess is found twice, by climbing and from the dual "
    r"maximum. The theorem promises that the logarithm of $2m/\delta$ is rarely exceeded, whatever is chosen. If the "
    r"prior may be chosen after the sample, the divergence costs nothing and the most flattered of many hypotheses "
    r"breaks the bound.",
    notice=r"The excess of the worst posterior over all samples drawn stays far to the left of what the theorem "
    r"allows: it pays $2m=80$ for a moment of about 3.",
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
    alone = float(union_deviation(m, 1, delta, sides=1))
    factor, uniform, allowed = 2 * (m - 1) / m, np.full(hypotheses, 1 / hypotheses), np.log(2 * m / delta)
    if prior == "fixed":
        excess = worst_excess(square_comparison(factor), uniform, risks, empirical, m)
        supremum = dual_excess(factor, uniform, risks, empirical[:30], m)
        # So near the rounds come.
        search = {"worst posterior by two routes": Identity(excess[:30], supremum, scale=1.0, error=2e-3)}
    else:  # all mass, prior and posterior, on the hypothesis that flatters itself most
        excess = m * factor * gaps.max(1) ** 2
    return search | {
        "failures for any posterior": Chance(
            int(np.sum(excess > allowed)),
            trials,
            delta,
            aside={"excess": np.sort(excess)[:: max(trials // 500, 1)], "allowed": allowed},
        ),
        "failures for one hypothesis": Chance(
            int(np.sum(gaps[:, 0] > alone)),
            trials,
            delta,
            aside={"deviation": int(np.sum(gaps[:, 0] > 0.5 / np.sqrt(m)))},
        ),
        "failures for the best of thirty": Chance(
            int(np.sum(gaps.max(1) > float(union_deviation(m, hypotheses, delta, sides=1)))),
            trials,
            delta,
            aside={"unpaid": int(np.sum(gaps.max(1) > alone))},
        ),
    }


thirty_hypotheses.control(
    "a prior chosen after the sample, so that KL = 0",
    of="failures for any posterior",
    prior="from the sample",
    hypotheses=20_000,
    trials=300,
)


@thirty_hypotheses.control("one standard deviation of a fair coin, 1/(2√m)", of="failures for one hypothesis")
def standard_deviation(evidence):
    return replace(evidence, failures=evidence.aside["deviation"])


@thirty_hypotheses.control("the bound of one hypothesis for the best of thirty", of="failures for the best of thirty")
def union_not_paid(evidence):
    return replace(evidence, failures=evidence.aside["unpaid"])


@thirty_hypotheses.picture
def worst_posteriors(pieces):
    """The share of samples on which the worst posterior exceeds a value, and the value that the theorem allows."""
    aside = pieces["failures for any posterior"].aside
    excess = np.asarray(aside["excess"])
    return Curves(
        [
            Line("samples drawn", excess, 1 - (np.arange(len(excess)) + 0.5) / len(excess)),
            Level("ln(2m/δ)", x=float(aside["allowed"])),
            Level("δ", y=float(np.max(pieces["failures for any posterior"].at_most))),
        ],
        x="n·Δ(E_Q R, E_Q R_S) − KL(Q‖P) of the worst posterior Q",
        y="share of samples beyond",
        log="y",
    )
