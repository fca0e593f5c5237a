"""Rewards and policies against other algorithms: minorization, SciPy's minimizers, and values by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deeptheory.language.preferences import (
    bradley_terry,
    fit_rewards,
    gibbs_policy,
    implicit_reward,
    preference_loss,
    preference_policy,
    rewards_exist,
    rlhf_ascent,
    rlhf_value,
)

RNG = np.random.default_rng(8)
REWARDS = RNG.standard_normal(5)
REFERENCE = RNG.dirichlet(np.ones(5))
WINS = RNG.integers(1, 9, (5, 5)).astype(float)


@pytest.mark.item("A15.19")
def test_preferences_by_hand():
    chances = bradley_terry(np.array([np.log(2), 0.0, np.log(6)]))
    np.testing.assert_allclose(chances[0], [1 / 2, 2 / 3, 1 / 4])
    odds = bradley_terry(REWARDS) / bradley_terry(REWARDS).T
    np.testing.assert_allclose(odds[0, 1] * odds[1, 2], odds[0, 2])
    np.testing.assert_allclose(bradley_terry(REWARDS + 3), bradley_terry(REWARDS))


@pytest.mark.item("A15.20")
def test_maximum_likelihood_is_that_of_minorization():
    strength, wins = np.ones(5), WINS * (1 - np.eye(5))
    for _ in range(3000):  # Zermelo's iteration on exp(r)
        strength = wins.sum(1) / ((wins + wins.T) / (strength[:, None] + strength)).sum(1)
    by_zermelo = np.log(strength)
    np.testing.assert_allclose(fit_rewards(WINS), by_zermelo - by_zermelo.mean(), atol=1e-9)
    assert preference_loss(fit_rewards(WINS), WINS) < preference_loss(fit_rewards(WINS) + 0.01 * REWARDS, WINS)
    np.testing.assert_allclose(fit_rewards(np.array([[0, 3.0], [1, 0]])), [np.log(3) / 2, -np.log(3) / 2], atol=1e-12)


def test_a_maximum_exists_if_everyone_can_lose_to_everyone():
    ring = np.roll(np.eye(4), 1, axis=1)
    assert rewards_exist(ring) and not rewards_exist(ring - ring[:, [0]] * np.eye(4)[0])
    np.testing.assert_allclose(fit_rewards(ring), 0, atol=1e-12)
    line = np.array([[0, 1.0, 0], [0, 0, 1], [0, 0, 0]])
    with pytest.raises(ValueError, match="got a group that never loses to the others"):
        fit_rewards(line)
    ridged = minimize(lambda r: 2 * preference_loss(r, line) + 0.05 * r @ r, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(fit_rewards(line, ridge=0.1), ridged, atol=1e-5)
    with pytest.raises(ValueError, match="at least one preference"):
        fit_rewards(np.eye(3))


@pytest.mark.parametrize("step_size", [0.3, 1.0])
def test_the_first_step_of_ascent_by_hand(step_size):
    """At the reference the divergence has no slope: every logit moves by π(r − mean of r) times the step size."""
    pull = REFERENCE * (REWARDS - REFERENCE @ REWARDS)
    moved = REFERENCE * np.exp(step_size * pull)
    found = rlhf_ascent(REFERENCE, REWARDS, beta=0.7, steps=1, step_size=step_size)
    np.testing.assert_allclose(found, moved / moved.sum(), rtol=1e-6)


@pytest.mark.item("A15.21", "A15.22")
def test_the_gibbs_policy_is_the_best_of_all():
    best = gibbs_policy(REFERENCE, REWARDS, beta=0.7)
    value = rlhf_value(best, REFERENCE, REWARDS, beta=0.7)
    assert value == pytest.approx(0.7 * np.log(REFERENCE @ np.exp(REWARDS / 0.7)))

    def lost(logits):
        law = np.exp(logits - logits.max())
        return -rlhf_value(law / law.sum(), REFERENCE, REWARDS, beta=0.7)

    found = minimize(lost, np.zeros(5), tol=1e-12)
    assert -found.fun == pytest.approx(value, abs=1e-9)
    climbed = rlhf_ascent(REFERENCE, REWARDS, beta=0.7, steps=2000, step_size=1.0)
    np.testing.assert_allclose(climbed, best, atol=1e-4)
    np.testing.assert_allclose(gibbs_policy(REFERENCE, REWARDS, beta=1e9), REFERENCE, rtol=1e-6)
    assert gibbs_policy(REFERENCE, REWARDS, beta=1e-3).argmax() == REWARDS.argmax()


@pytest.mark.item("A15.23")
def test_direct_preferences_give_the_policy_of_the_fitted_rewards():
    direct = preference_policy(REFERENCE, WINS, beta=0.7)
    np.testing.assert_allclose(direct, gibbs_policy(REFERENCE, fit_rewards(WINS), beta=0.7), atol=1e-6)
    shares = bradley_terry(REWARDS)
    np.testing.assert_allclose(
        preference_policy(REFERENCE, shares, beta=2.0), gibbs_policy(REFERENCE, REWARDS, beta=2.0), atol=1e-6
    )
    hidden = implicit_reward(gibbs_policy(REFERENCE, REWARDS, beta=2.0), REFERENCE, beta=2.0) - REWARDS
    np.testing.assert_allclose(hidden, hidden[0], atol=1e-12)
    with pytest.raises(ValueError, match="policy must be a law with no answer excluded that sums to 1"):
        implicit_reward(np.array([0.5, 0.4]), np.array([0.5, 0.5]), beta=1.0)


@pytest.mark.parametrize("beta", [1e-300, 1e-2, 1e2, 1e200])
def test_preference_policies_at_all_temperatures(beta):
    """Cold it is the best answer's, hot the reference."""
    reference, wins = np.array([0.2, 0.5, 0.3]), np.array([[0.0, 5.0, 3.0], [4.0, 0.0, 2.0], [1.0, 6.0, 0.0]])
    found = preference_policy(reference, wins, beta=beta)
    np.testing.assert_allclose(found, gibbs_policy(reference, fit_rewards(wins), beta=beta), rtol=1e-6, atol=1e-300)
