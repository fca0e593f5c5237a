"""The policies that RLHF and direct preference optimization aim at, on answers few enough to list (arora Sec. 15.7)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.language.preferences import (
    bradley_terry,
    fit_rewards,
    gibbs_policy,
    implicit_reward,
    preference_policy,
    rlhf_ascent,
    rlhf_value,
)

ANSWERS, PROMPTS, OTHERS = 5, 6, 20


def divergence(one, other):
    return np.sum(one * np.log(one / other), axis=-1)


@claim(
    items={
        "A15.21": ("what another policy loses", "gradient ascent"),
        "A15.22": ("best value", "what another policy loses"),
        "A15.23": ("direct preference optimization", "policies from a sample of preferences", "implicit reward"),
    },
    says=r"$E\,r-\beta\,\mathrm{KL}(\pi\|\pi_{\rm SFT})$ is largest at $\pi^*\propto\pi_{\rm SFT}e^{r/\beta}$, with "
    r"value $\beta\log Z$; any other policy loses $\beta\,\mathrm{KL}(\pi\|\pi^*)$. Fitting preferences by "
    r"$\beta\log(\pi/\pi_{\rm SFT})$ (DPO) finds the same policy, on a sample that of the fitted rewards.",
    needs="finitely many answers, a policy free to be any law, Bradley–Terry preferences between all answers",
    symbols={
        "r": "the reward of an answer",
        r"\beta": "the price of moving away from the reference",
        r"\pi": "a policy: a law over answers",
        r"\pi_{\rm SFT}": "the reference, after instruction tuning",
        r"\pi^*": "the best policy",
        "Z": r"the sum of $\pi_{\rm SFT}e^{r/\beta}$ over answers",
    },
    why=r"Put $r=\beta\log(\pi^*/\pi_{\rm SFT})+\beta\log Z$ into the objective: the reference drops out, and what is "
    r"left is $\beta\log Z-\beta\,\mathrm{KL}(\pi\|\pi^*)$. The same equation says which reward a policy is best for, "
    r"up to a constant that preferences do not see; so the likelihood of rewards is one of policies, and no further "
    r"penalty is needed.",
    notice="Reward against divergence from the reference as the price falls: the best policies are the upper edge, and "
    "the policies that preferences alone give lie on it.",
    explore={"beta": (0.4, 0.5, 0.65, 0.8)},
)
def preferences_find_the_gibbs_policy(key, *, beta: Annotated[float, Interval(ge=0.4, le=0.9)] = 0.5):
    rng = generator(key)
    references = 0.5 / ANSWERS + 0.5 * rng.dirichlet(np.ones(ANSWERS), PROMPTS)
    rewards = rng.uniform(-1, 1, (PROMPTS, ANSWERS))
    others = rng.dirichlet(np.ones(ANSWERS), (PROMPTS, OTHERS))
    best, value, predicted, lost, gaps, climbed, direct, sampled, fitted, hidden = ([] for _ in range(10))
    for reference, reward, rest in zip(references, rewards, others, strict=True):
        optimum = gibbs_policy(reference, reward, beta=beta)
        best.append(optimum)
        value.append(rlhf_value(optimum, reference, reward, beta=beta))
        predicted.append(np.log(reference @ np.exp(reward / beta)))
        lost.append([value[-1] - rlhf_value(each, reference, reward, beta=beta) for each in rest])
        gaps.append([divergence(rest, optimum), divergence(optimum, rest)])
        climbed.append(rlhf_ascent(reference, reward, beta=beta, steps=20_000, step_size=2 / beta))
        direct.append(preference_policy(reference, bradley_terry(reward), beta=beta))
        counts = rng.binomial(40, bradley_terry(reward)).astype(float)
        wins = 1 + np.triu(counts, 1) + np.tril(40 - counts.T, -1)  # one more each way: then a maximum exists
        sampled.append(preference_policy(reference, wins, beta=beta))
        fitted.append(gibbs_policy(reference, fit_rewards(wins), beta=beta))
        secret = implicit_reward(optimum, reference, beta=beta)
        hidden.append(secret - secret.mean())
    best, gaps = np.array(best), beta * np.array(gaps)
    plain = np.exp(rewards / beta) / np.exp(rewards / beta).sum(1, keepdims=True)
    turned = references * np.exp(beta * rewards)
    return {
        "best value": Identity(
            np.array(value), beta * np.array(predicted), scale=4.0, size=ANSWERS, aside={"log Z": np.array(predicted)}
        ),
        "what another policy loses": Identity(
            np.array(lost), gaps[:, 0], scale=4.0, size=ANSWERS, aside={"turned": gaps[:, 1]}
        ),
        # No answer has less than 1/10 exp(−2/β): the slowest mode of the ascent shrinks by exp(−26) or more.
        "gradient ascent": Identity(
            np.array(climbed), best, error=1e-6, aside={"turned": turned / turned.sum(1, keepdims=True)}
        ),
        "direct preference optimization": Identity(
            np.array(direct),
            best,
            error=1e-6,
            aside={"no reference": plain, "reference": references, "rewards": rewards},
        ),
        "policies from a sample of preferences": Identity(np.array(sampled), np.array(fitted), error=1e-6),
        "implicit reward": Identity(
            np.array(hidden), rewards - rewards.mean(1, keepdims=True), scale=4.0, condition=1 + beta
        ),
    }


@preferences_find_the_gibbs_policy.control("log Z without its price", of="best value")
def unpriced(evidence):
    return replace(evidence, right=evidence.aside["log Z"])


@preferences_find_the_gibbs_policy.control("KL(π*‖π) for KL(π‖π*)", of="what another policy loses")
def exchanged(evidence):
    return replace(evidence, right=evidence.aside["turned"])


@preferences_find_the_gibbs_policy.control("the reference forgotten", of="direct preference optimization")
def forgotten(evidence):
    return replace(evidence, right=evidence.aside["no reference"])


@preferences_find_the_gibbs_policy.picture
def frontier(pieces, settings):
    """Mean reward by divergence from the reference: all best policies as a line, that of preferences as a dot."""
    piece = pieces["direct preference optimization"]
    reference, reward = (np.asarray(piece.aside[name])[0] for name in ("reference", "rewards"))
    along = [gibbs_policy(reference, reward, beta=float(price)) for price in np.geomspace(0.05, 20, 60)]
    found = np.asarray(piece.left)[0]
    greedy = np.linspace(0, 1, 40)[:, None]
    straight = (1 - greedy) * reference + greedy * np.eye(ANSWERS)[reward.argmax()]
    cost = np.sum(straight * np.log(np.maximum(straight, 1e-300) / reference), axis=1)
    return Curves(
        [
            Line("best policies, β from 20 to 0.05", [divergence(each, reference) for each in along],
                 [each @ reward for each in along]),
            Line("mixed with the best answer", cost, straight @ reward, dashed=True),
            Dots(f"found from preferences, β = {settings['beta']:g}", [divergence(found, reference)], [found @ reward]),
        ],
        x="divergence from the reference, nats",
        y="mean reward",
    )  # fmt: skip
