"""A Gaussian posterior on the weights of a network, trained on the bound, and the limit for risks that are sampled."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import poisson_binomial
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.pac_bayes.bounds import maurer_budget
from deeptheory.generalization.pac_bayes.comparison_bounds import comparison_bound, kl_comparison
from deeptheory.generalization.pac_bayes.gaussian_posteriors import (
    draw_networks,
    gaussian_network,
    monte_carlo_errors,
    monte_carlo_risk,
    network_kl,
    network_outputs,
    softmax_error,
    train_posterior,
)
from deeptheory.lab import Chain, Identity, Inequality, Law, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

SHARP = partial(softmax_error, sharpness=3.0)
one_question_each = jax.jit(jax.vmap(network_outputs))
many_questions_each = jax.jit(jax.vmap(network_outputs, (0, None)))


def blobs(draw, samples, *, labels="true"):
    """Two rings of Gaussian clouds in the plane that no line separates, with one unit of margin noise."""
    answers = draw.integers(0, 2, samples)
    angle = np.pi * (draw.integers(0, 2, samples) + 0.5 * answers)
    x = 3 * np.stack([np.cos(angle), np.sin(angle)], 1) + draw.standard_normal((samples, 2))
    return x, answers if labels == "true" else draw.integers(0, 2, samples)


@claim(
    items={
        "L9.7": (
            "divergence from the prior",
            "what training reports",
            "training ends at a minimum",
            "certificate below ½",
        ),
        "L9.1": "drawn networks",
    },
    says="A two-layer network with a Gaussian law on each weight, trained on a PAC-Bayes bound around its random "
    "start, certifies on 2,000 points a risk below that of a coin, and its risk on fresh points is lower still. With "
    "random labels it certifies nothing.",
    needs="prior and its scale fixed before the sample; a scale chosen by cross-validation must be paid for by a union "
    "bound",
    scale="printed: MNIST, 326k to 2.4M weights; here: points in the plane, 2,000 of them, 162 weights",
    symbols={
        r"\text{PAC-Bayes bound}": (
            "errors of drawn networks, plus the divergence of the law from the one at the start, over the number of "
            "points"
        ),
        r"\text{certifies}": "bounds the risk from the training points alone, with high probability",
    },
    why="The bound is a smooth function of the means and variances of the weights once the 0–1 loss is replaced by a "
    "smooth surrogate, so it can be trained on like any loss: errors pull the law towards the data, the divergence "
    "back to the prior, and training ends where three tenths of the way in either direction is worse. Directions that "
    "matter little keep the width of the prior and cost nothing. Coin flips cannot be fitted at that price. Networks "
    "drawn once for all answers and anew for each answer err equally often, so the certificate may count either.",
    notice=r"What training reports, bound and surrogate loss, over the epochs: the divergence is paid back by fewer "
    r"errors until the two balance. The certificate counts real errors of drawn networks, with its price for drawing "
    r"them.",
    full=dict(epochs=200),
)
def network_recipe(
    key,
    *,
    epochs: Annotated[int, Interval(ge=5, le=1000)] = 60,
    trials: Trials = 10_000,
    labels: Literal["true", "random"] = "true",
):
    draw = generator(key)
    n, delta = 2000, 0.025
    prior = gaussian_network(jax.random.fold_in(key, 1), (2, 32, 2), spread=1.5)
    x, y = blobs(draw, n, labels=labels)
    training: dict[str, Any] = dict(loss=SHARP, epochs=epochs, batch=200, rate=2e-2, delta=delta)
    law, history = train_posterior(jax.random.fold_in(key, 2), prior, x, y, **training)
    reported, surrogate, divergences = map(np.asarray, history)
    budgets = [(divergences + np.log(2 * count**0.5 / delta)) / count for count in (n, n // 2)]
    solved, by_half = (comparison_bound(kl_comparison(), surrogate, each) for each in budgets)
    by_pinsker = surrogate + np.sqrt(budgets[0] / 2)
    errors = monte_carlo_errors(jax.random.fold_in(key, 3), law, x, y, passes=10, batch=n)
    risk = float(monte_carlo_risk(errors, 10 * n, 0.01))
    budget = float(maurer_budget(float(network_kl(law, prior)), n, delta))
    bound = float(comparison_bound(kl_comparison(), risk, budget))
    # Along the line through prior and posterior, every law asked with the same noise.
    beside = []
    for share in (0.0, 0.3, -0.3):
        moved = jax.tree.map(lambda at, origin, share=share: at + share * (origin - at), law, prior)
        wrong = monte_carlo_errors(jax.random.fold_in(key, 8), moved, x, y, passes=10, batch=n)
        price = float(maurer_budget(float(network_kl(moved, prior)), n, delta))
        beside.append(float(comparison_bound(kl_comparison(), wrong / (10 * n), price)))
    fresh, answers = blobs(draw, 40_000, labels=labels)
    mistakes = monte_carlo_errors(jax.random.fold_in(key, 4), law, fresh, answers, batch=n)
    drawn = draw_networks(jax.random.fold_in(key, 5), law, trials)
    # Whole networks, each asked one question, of a law three times as wide, which errs more often.
    wider = law._replace(log_scales=tuple(s + np.log(3) for s in law.log_scales))
    singly = monte_carlo_errors(jax.random.fold_in(key, 6), wider, fresh, answers, passes=2, batch=n) / 80_000
    asked = draw_networks(jax.random.fold_in(key, 7), wider, trials)
    outputs = np.asarray(one_question_each(asked, fresh[:trials, None]))[:, 0]
    whole = int(np.sum(np.argmax(outputs, 1) != answers[:trials]))
    answers_of_many = np.argmax(many_questions_each(tuple(m[:300] for m in asked), fresh[:n]), 2)
    of_the_vote = float(np.mean((answers_of_many.mean(0) > 0.5) != answers[:n]))
    means, logs, prior_means, prior_logs = (
        [np.asarray(part) for part in parts] for parts in (law.means, law.log_scales, prior.means, prior.log_scales)
    )
    ratios = np.zeros(trials)
    for w, m, s, m_0, s_0 in zip(drawn, means, logs, prior_means, prior_logs, strict=True):
        ratios += (s_0 - s + ((w - m_0) / np.exp(s_0)) ** 2 / 2 - ((w - m) / np.exp(s)) ** 2 / 2).sum((1, 2))
    return {
        "divergence from the prior": Law(
            float(network_kl(law, prior)), ratios, exact=True, aside={"of the prior": float(network_kl(prior, law))}
        ),
        # The inverse of kl is concave: means over an epoch of bounds lie below the bound of the means, here by 1 to 2 %
        # of what is added to the loss.
        "what training reports": Chain(
            {
                "below the bound of the means": (reported, solved),
                "and near it": (surrogate + 0.95 * (solved - surrogate), reported),
            },
            aside={"surrogate": surrogate, "divergence": divergences, "half": by_half, "pinsker": by_pinsker},
        ),
        "training ends at a minimum": Inequality(beside[0], np.array(beside[1:])),
        "certificate below ½": Inequality(bound, 0.5),
        "risk on fresh points": Inequality(mistakes / 40_000, bound),
        # Ten thousand networks know a risk of a quarter to a tenth of itself.
        "drawn networks": Share(whole, trials, singly, resolution=0.15, aside={"of the vote": of_the_vote}),
    }


network_recipe.control("random labels certify as well", of="certificate below ½", labels="random")


@network_recipe.control("the divergence without its factor one half", of="divergence from the prior")
def no_half(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@network_recipe.control("the divergence of the prior from the law found", of="divergence from the prior")
def other_way_round(evidence):
    return replace(evidence, predicted=evidence.aside["of the prior"])


def reported_as(evidence, rival):
    """The link that what is reported comes near to a bound, with another bound."""
    (reported, _), surrogate = evidence.links["below the bound of the means"], evidence.aside["surrogate"]
    bound = surrogate + 0.95 * (np.asarray(evidence.aside[rival]) - surrogate)
    return replace(evidence, links={"near it": (bound, np.asarray(reported))})


@network_recipe.control("the divergence over half of the points", of="what training reports")
def over_half(evidence):
    return reported_as(evidence, "half")


@network_recipe.control("Pinsker's root of half the divergence a point for kl⁻¹", of="what training reports")
def by_pinsker(evidence):
    return reported_as(evidence, "pinsker")


@network_recipe.control("three tenths of the way back to the prior is better", of="training ends at a minimum")
def nearer_to_the_prior(evidence):
    return replace(evidence, quantity=np.asarray(evidence.bound)[0], bound=evidence.quantity)


@network_recipe.control("the vote of drawn networks in place of one of them", of="drawn networks")
def vote(evidence):
    return replace(evidence, predicted=evidence.aside["of the vote"])


@network_recipe.picture
def trained_on_the_bound(pieces):
    """Surrogate loss, divergence per point and the bound on them over the epochs, and the certificate at the end."""
    objective = pieces["what training reports"]
    reported, _ = objective.links["below the bound of the means"]
    epochs = np.arange(1, len(np.asarray(reported)) + 1)
    last = epochs[-1:]
    return Curves(
        [
            Line("bound that is trained on", epochs, reported),
            Line("surrogate loss", epochs, objective.aside["surrogate"]),
            Line("KL per point", epochs, np.asarray(objective.aside["divergence"]) / 2000),
            Dots("certificate, errors counted", last, np.atleast_1d(pieces["certificate below ½"].quantity)),
            Dots("error on fresh points", last, np.atleast_1d(pieces["risk on fresh points"].quantity)),
            Level("a coin", y=0.5),
        ],
        x="epoch",
        y="risk, bound, divergence",
        ys=(0, 0.8),
    )


@claim(
    items={"L9.1": ("probability of failure", "law of the mistakes", "limit without mistakes")},
    says=r"Of $N$ independent answers, $k$ of them wrong, the mean risk lies below the largest $r$ with "
    r"$\mathrm{kl}(k/N\|r)\le\ln(1/\delta)/N$, except with probability $\delta$, also where each answer has a risk of "
    r"its own. Without mistakes the limit is $1-\delta^{1/N}$, and no smaller one would do.",
    needs="answers independent given the sample, as when a network is drawn for each",
    symbols={
        r"N,\ k": "the number of answers that were drawn, and of wrong ones; $N=60$ here",
        r"r": "the risk averaged over the answers",
        r"\mathrm{kl}": "the relative entropy of two coins",
        r"\delta": "the probability with which the limit may be too low",
    },
    why=r"Chernoff's inequality bounds the probability of so few mistakes by $e^{-N\,\mathrm{kl}(k/N\|r)}$; answers "
    r"with risks of their own concentrate no less than equal ones, as Hoeffding showed. With no mistake the limit "
    r"solves $(1-r)^N=\delta$: a risk just above it is missed with just that probability.",
    notice=r"The probability that the limit is too low, along the true risk, by summing the law of the mistakes: it "
    r"comes up to $\delta$ at the risk that no mistake at all just leaves possible, and never above.",
    explore={"answers": (10, 30, 60, 120)},
)
def sampled_risk_limit(key, *, answers: Annotated[int, Interval(ge=2, le=400)] = 60):
    draw = generator(key)
    deltas, counts = np.array([0.01, 0.05, 0.2]), np.arange(answers + 1)
    limits = np.stack([np.asarray(monte_carlo_risk(counts.astype(float), float(answers), d)) for d in deltas])
    # Just above the limit without mistakes the promise is used up: these risks are the equality cases.
    places = np.sort(np.concatenate([np.linspace(0.01, 0.6, 60), limits[:, 0] * (1 + 1e-9)]))
    equal = np.full((len(places), answers), places[:, None])
    risks = np.concatenate([equal, draw.beta(0.3, 2.0, (12, answers))])
    chances, mean = poisson_binomial(risks), risks.mean(1)[:, None]
    failure, by_the_mean = (
        np.sum(chances * (limit < mean), -1)
        for limit in (limits[:, None], np.broadcast_to(counts / answers, (3, 1, answers + 1)))
    )
    patterns = np.indices((2,) * 10).reshape(10, -1)
    unequal = draw.random(10)
    by_pattern = np.prod(np.where(patterns == 1, unequal[:, None], 1 - unequal[:, None]), axis=0)
    return {
        "probability of failure": Inequality(
            failure, deltas[:, None], along={"delta": deltas}, error=1e-12, aside={"mean": by_the_mean, "risks": places}
        ),
        "law of the mistakes": Identity(
            poisson_binomial(unequal), np.bincount(patterns.sum(0), by_pattern), scale=1.0, size=float(by_pattern.size)
        ),
        "limit without mistakes": Identity(
            (1 - limits[:, 0]) ** answers, deltas, condition=float(answers), aside={"answers": answers}
        ),
    }


@sampled_risk_limit.control("the sampled mean itself", of="probability of failure")
def sampled_mean(evidence):
    return replace(evidence, quantity=evidence.aside["mean"])


@sampled_risk_limit.control("Pinsker's √(ln(1/δ)/2N) without mistakes", of="limit without mistakes")
def pinsker_limit(evidence):
    answers, deltas = int(evidence.aside["answers"]), np.asarray(evidence.right)
    return replace(evidence, left=(1 - np.sqrt(-np.log(deltas) / (2 * answers))) ** answers)


@sampled_risk_limit.control("ln(1/δ) over N + 1", of="limit without mistakes")
def one_answer_more(evidence):
    answers = int(evidence.aside["answers"])
    return replace(evidence, left=np.asarray(evidence.right) ** (answers / (answers + 1)))


@sampled_risk_limit.picture
def how_often_too_low(pieces):
    """Probability that the limit lies below the risk, along the risk, for three promises δ."""
    failure = pieces["probability of failure"]
    risks = np.asarray(failure.aside["risks"])
    marks: list[Any] = []
    for delta, chance in zip(failure.along["delta"], np.asarray(failure.quantity), strict=True):
        marks += [Dots(f"δ = {delta:g}", risks, chance[: len(risks)]), Level(f"δ = {delta:g}", y=float(delta))]
    return Curves(marks, x="risk of every answer", y="probability that the limit is too low", log="y", ys=(1e-5, 1.0))
