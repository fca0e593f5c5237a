"""Rewards behind preferences: their odds, their likelihood, and when it has a maximum (arora eqs. 15.9, 15.10)."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import logit

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.language.preferences import bradley_terry, fit_rewards, preference_loss, rewards_exist


def zermelo(wins, steps=4000):
    """Maximum likelihood by Zermelo's iteration on the strengths exp(r)."""
    strength = np.ones(len(wins))
    for _ in range(steps):
        strength = wins.sum(1) / ((wins + wins.T) / (strength[:, None] + strength)).sum(1)
        strength /= np.exp(np.log(strength).mean())
    return np.log(strength)


def can_lose(wins):
    """Whether every group of answers loses to the others at least once, by trying all groups."""
    groups = [np.array(each) for each in product([False, True], repeat=len(wins)) if 0 < sum(each) < len(wins)]
    return all(wins[~group][:, group].any() for group in groups)


@claim(
    items={
        "A15.19": "odds along a chain",
        "A15.20": ("fitted rewards", "rewards that grow", "when a maximum exists"),
    },
    says=r"If $y_1\succ y_2$ with probability $\sigma(r_1-r_2)$, odds multiply along a chain. "
    r"The rewards that minimise $-E\log\sigma(r_{\rm winner}-r_{\rm loser})$ are those of maximum "
    "likelihood; they exist exactly if every group of answers loses to the others at least once.",
    needs="preferences independent given the rewards",
    symbols={
        r"y_1\succ y_2": "the first answer is preferred to the second",
        r"\sigma": "the logistic function",
        "r_1,r_2": "the rewards of the two answers",
    },
    why="The odds are the exponential of a difference, and differences add. The likelihood is a product of logistic "
    "factors, and minus its logarithm is convex. If a group never loses, raising its rewards together raises every "
    "factor between it and the others; if each can lose, the loss grows in every direction but the common shift.",
    notice="The loss along the direction that lifts one answer: with a single loss of that answer it has a minimum, "
    "without it falls for ever.",
)
def rewards_have_a_likelihood(key, *, answers: Annotated[int, Interval(ge=3, le=8)] = 6):
    rng = generator(key)
    truth = rng.uniform(-2, 2, answers)
    chances = bradley_terry(truth)
    odds = chances / chances.T
    a, b, c = np.array([each for each in product(range(answers), repeat=3) if len(set(each)) == 3]).T
    games = np.triu(rng.integers(5, 60, (answers, answers)), 1)
    first = rng.binomial(games, chances)
    wins = (first + (games - first).T + (1 - np.eye(answers))).astype(float)  # one more each way: a maximum exists
    fitted, shares = fit_rewards(wins), wins.sum(1) / (wins + wins.T).sum(1)

    patterns = np.array(list(product([0.0, 1.0], repeat=6)))[1:]
    tables = np.zeros((len(patterns), 3, 3))
    tables[:, *np.nonzero(1 - np.eye(3))] = patterns
    answered = [bool(rewards_exist(table)) for table in tables]
    weak = [bool(rewards_exist(table + table.T)) for table in tables]

    lifts = np.linspace(-4, 12, 33)
    undefeated = wins * (np.arange(answers)[None, :] != 0)  # answer 0 loses to nobody
    losses = np.array([[preference_loss(fitted + lift * np.eye(answers)[0], each) for lift in lifts]
                       for each in (wins, undefeated)])  # fmt: skip
    written = [
        sum(w[i, j] * np.log1p(np.exp(r[j] - r[i])) for i in range(answers) for j in range(answers) if i != j) / w.sum()
        for w in (wins, undefeated)
        for r in (fitted + lift * np.eye(answers)[0] for lift in lifts)
    ]
    return {
        "odds along a chain": Identity(
            odds[a, b] * odds[b, c],
            np.exp(truth[a] - truth[c]),
            condition=16,
            aside={"products of chances": chances[a, b] * chances[b, c] / (1 - chances[a, b] * chances[b, c])},
        ),
        # Zermelo's iteration converges geometrically; what 4,000 rounds leave is far below this.
        "fitted rewards": Identity(
            fitted, zermelo(wins), scale=1.0, error=1e-8, aside={"log odds of all wins": logit(shares)}
        ),
        "rewards that grow": Identity(
            losses.ravel(), np.array(written), size=answers**2, aside={"lifts": lifts, "losses": losses}
        ),
        "when a maximum exists": Exact(
            answered, [can_lose(table) for table in tables], aside={"either way": np.array(weak)}
        ),
    }


@rewards_have_a_likelihood.control("chances multiply along a chain", of="odds along a chain")
def chances_multiply(evidence):
    return replace(evidence, right=evidence.aside["products of chances"])


@rewards_have_a_likelihood.control("log odds of winning against anyone", of="fitted rewards")
def marginal(evidence):
    odds = np.asarray(evidence.aside["log odds of all wins"])
    return replace(evidence, right=odds - odds.mean())


@rewards_have_a_likelihood.control("a comparison either way is enough", of="when a maximum exists")
def either_way(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["either way"]))


@rewards_have_a_likelihood.picture
def lifted(pieces):
    """Loss of the rewards as one answer is lifted above its fit: with its defeats, and with none."""
    piece = pieces["rewards that grow"]
    lifts, losses = piece.aside["lifts"], np.asarray(piece.aside["losses"])
    return Curves(
        [
            Line("the answer loses now and then", lifts, losses[0]),
            Line("it never loses", lifts, losses[1]),
            Dots("fitted", [0.0], [losses[0][np.argmin(np.abs(lifts))]]),
        ],
        x="lift of one answer's reward",
        y="loss, nats a preference",
    )
