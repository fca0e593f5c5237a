"""Preferences between answers: Bradley–Terry, maximum likelihood of rewards, and the policies that RLHF and DPO find.

Answers to one prompt are numbered; `wins[i, j]` says how often answer i was preferred to j, as counts or as shares of
an infinite sample. A policy is a law over the answers, β > 0 the price of moving away from the reference.

`reference` is π_ref, `rewards` has an r for each answer, `beta` is β.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logsumexp

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import finite_kl
from deeptheory.foundations.margin_losses import logistic_loss

__all__ = [
    "bradley_terry",
    "fit_rewards",
    "gibbs_policy",
    "implicit_reward",
    "preference_loss",
    "preference_policy",
    "rewards_exist",
    "rlhf_ascent",
    "rlhf_value",
]

Wins = Float[np.ndarray, "answers answers"]
Rewards = Float[np.ndarray, " answers"]
Policy = Float[np.ndarray, " answers"]


def bradley_terry(rewards: Rewards) -> Wins:
    """Chance that answer i is preferred to j, σ(rᵢ − rⱼ): the same for r + c, so that prompts cannot be compared.

    Odds multiply along a chain of answers. Reference: arora eq. (15.9).
    """
    return expit(rewards[:, None] - rewards[None, :])


def preference_loss(rewards: Rewards, wins: Wins) -> float:
    """Mean of −log σ(r_winner − r_loser) over the preferences, convex in the rewards (arora eq. 15.10)."""
    wins = _compared(wins)
    return float(np.sum(wins * logistic_loss(rewards[:, None] - rewards[None, :])) / wins.sum())


def _compared(wins: Wins) -> Wins:
    wins = np.where(np.eye(len(wins), dtype=bool), 0.0, wins)
    if wins.min() < 0 or not wins.any():
        raise ValueError(f"wins must be counts from 0 on of at least one preference, got a least of {wins.min():.3g}")
    return wins


def rewards_exist(wins: Wins) -> bool:
    """Whether the likelihood has a maximum: no group of answers never loses to the others (Ford 1957).

    In the graph with an arrow from winners to losers there is then a way from every answer to every other. Otherwise
    the rewards of such a group grow without bound.
    """
    return connected_components(csr_array(_compared(wins) > 0), connection="strong")[0] == 1


def fit_rewards(wins: Wins, *, ridge: float = 0.0) -> Rewards:
    """Rewards of mean zero that maximise the likelihood of the preferences, by Newton's method.

    `ridge` adds ridge·‖r‖²/2 to the summed loss; without it there must be a maximum (`rewards_exist`). This is logistic
    regression on differences of one-hot vectors. Reference: arora Problem 15.7.1.
    """
    wins = _compared(wins)
    if ridge == 0 and not rewards_exist(wins):
        raise ValueError("wins must connect every answer with every other both ways where ridge is 0, got a group that "
                         "never loses to the others")  # fmt: skip
    rewards, games = np.zeros(len(wins)), wins + wins.T
    flat = np.full(wins.shape, games.max() / len(wins))  # lifts the direction that no preference sees

    def loss(r):
        return np.sum(wins * logistic_loss(r[:, None] - r[None, :])) + ridge * r @ r / 2

    for _ in range(200):
        chance = bradley_terry(rewards)
        slope = (wins - games * chance).sum(1) - ridge * rewards
        weight = games * chance * chance.T
        curve = np.diag(weight.sum(1) + ridge) - weight
        move = np.linalg.solve(curve + flat, slope)
        share, before = 1.0, loss(rewards)
        while loss(rewards + share * move) > before - 1e-4 * share * slope @ move and share > 1e-10:
            share /= 2
        rewards = rewards + share * move
        if np.abs(move).max() < 1e-12 * (1 + np.abs(rewards).max()):
            break
    return rewards - rewards.mean()


def gibbs_policy(reference: Policy, rewards: Rewards, *, beta: float) -> Policy:
    """The policy π ∝ π_ref·exp(r/β) that maximises E r − β KL(π‖π_ref); the value there is β log Z.

    β → ∞ leaves the reference, β → 0 only its best answers. Reference: arora Problem 15.7.2, eq. (15.13).
    """
    logs = _log_law("reference", reference) + rewards / beta
    return np.exp(logs - np.asarray(logsumexp(logs)))


def _log_law(name: str, law: Policy) -> Float[np.ndarray, " answers"]:
    if law.min() <= 0 or abs(law.sum() - 1) > 1e-6:
        raise ValueError(f"{name} must be a law with no answer excluded that sums to 1, got {law.sum():.6g} in all and "
                         f"a least of {law.min():.3g}")  # fmt: skip
    return np.log(law)


def rlhf_value(policy: Policy, reference: Policy, rewards: Rewards, *, beta: float) -> float:
    """Objective of RLHF, E r − β KL(π‖π_ref), concave in the policy (arora eq. 15.12)."""
    _log_law("reference", reference)
    if policy.min() < 0 or abs(policy.sum() - 1) > 1e-6:
        raise ValueError(f"policy must be a law that sums to 1, got {policy.sum():.6g}")
    return float(policy @ rewards - beta * finite_kl(policy, reference))


def rlhf_ascent(reference: Policy, rewards: Rewards, *, beta: float, steps: int, step_size: float = 1.0) -> Policy:
    """Policy after gradient ascent on the logits from the reference, with the exact gradient: what RLHF aims at.

    The logits climb E_π[r − β log(π/π_ref)], which the policy ∝ π_ref e^(r/β) maximizes. Reference: arora 15.7; Ouyang
    et al. 2022.
    """
    base = _log_law("reference", reference)
    return np.asarray(_ascended(jnp.asarray(base), jnp.asarray(rewards), beta, step_size, steps), float)


@jax.jit
def _ascended(base: Array, rewards: Array, beta: Array, step_size: Array, steps: Array) -> Array:
    def value(logits):
        logs = jax.nn.log_softmax(logits)
        return jnp.exp(logs) @ (rewards - beta * (logs - base))

    climb = jax.grad(value)
    return jax.nn.softmax(jax.lax.fori_loop(0, steps, lambda _, logits: logits + step_size * climb(logits), base))


def implicit_reward(policy: Policy, reference: Policy, *, beta: float) -> Rewards:
    """Reward that a policy is optimal for, β log(π/π_ref), up to a constant of the prompt (arora eq. 15.14)."""
    return beta * (_log_law("policy", policy) - _log_law("reference", reference))


def preference_policy(reference: Policy, wins: Wins, *, beta: float) -> Policy:
    """Policy of direct preference optimization: the least loss of its implicit reward over logits (arora eq. 15.15).

    By a quasi-Newton method on the logits in units of 1/β, with no reward in between. With Bradley–Terry preferences it
    is the Gibbs policy of their reward, on a sample that of the fitted one; there must be a maximum (`rewards_exist`).
    """
    wins, base = _compared(wins), _log_law("reference", reference)
    if not rewards_exist(wins):
        raise ValueError("wins must connect every answer with every other both ways, got a group that never loses to "
                         "the others")  # fmt: skip

    def loss(margin):
        gap = margin[None, :] - margin[:, None]
        pull = wins * expit(gap)
        return np.sum(wins * logistic_loss(-gap)) / wins.sum(), (pull.sum(0) - pull.sum(1)) / wins.sum()

    found = minimize(loss, np.zeros(len(base)), jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 5000})
    logits = base + (found.x - found.x.max()) / beta
    return np.exp(logits - logsumexp(logits))


doors(__name__, beta="(0, ∞)", ridge="[0, ∞)", steps="[0, 1e7]", step_size="(0, ∞)")
