"""Adversarial training beside a convex solver and exact maxima; Danskin's slope beside differences of the maximum."""

from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.optimize import minimize

from deeptheory.robustness.adversarial_training import (
    adversarial_risk,
    directional_slope,
    interval_logits,
    train_adversarially,
    worst_of_many,
)
from deeptheory.robustness.linear_classifiers import logistic_adversarial_loss
from deeptheory.robustness.threats import Threat

RNG = np.random.default_rng(0)
SIGNS = np.where(RNG.random(60) < 0.5, 1.0, -1.0)
POINTS = SIGNS[:, None] * np.array([0.8, 0.3, 0.1]) + RNG.standard_normal((60, 3)) * 0.8
LABELS = (SIGNS > 0).astype(int)


class Linear(eqx.Module):
    """Logits 0 and ⟨w, x⟩ + b: the softmax of two labels is the logistic function."""

    weights: Array
    bias: Array

    def __call__(self, x):
        score = x @ self.weights + self.bias
        return jnp.stack([0 * score, score], axis=1)


@pytest.mark.item("A18.6")
@pytest.mark.item("L12.18")
def test_adversarial_training_of_a_linear_network_minimises_the_logistic_loss_with_smaller_margins(key):
    """The other route knows no attack: a smooth solver on log(1 + exp(−y(w·x + b) + ε‖w‖₁)), split into signs."""
    threat = Threat(0.2)

    def risk(z):
        return np.mean(logistic_adversarial_loss(z[:3] - z[3:6], z[6], POINTS, SIGNS, threat))

    solved = minimize(
        risk, np.full(7, 0.1), bounds=[(0, None)] * 6 + [(None, None)], options={"maxfun": 20000, "ftol": 1e-14}
    )
    start = Linear(jnp.zeros(3), jnp.zeros(()))
    network, losses = train_adversarially(
        key, start, POINTS, LABELS, threat, steps=3000, batch=60, attack_steps=1, rate=5e-3, attack_size=0.2
    )
    found = risk(np.concatenate([np.maximum(network.weights, 0), np.maximum(-network.weights, 0), [network.bias]]))
    assert solved.fun <= found + 1e-7 and found - solved.fun < 3e-3  # batches are drawn with replacement
    assert float(losses[-100:].mean()) < float(losses[:20].mean())


@pytest.mark.item("L12.17")
def test_the_adversarial_risk_lies_between_an_attack_and_intervals():
    """With one layer and two labels all three are the closed form; with a hidden layer they are ordered."""
    weights = RNG.standard_normal(3)
    layers = [(np.stack([0 * weights, weights]), np.array([0.0, 0.3]))]
    exact = logistic_adversarial_loss(weights, 0.3, POINTS, SIGNS, Threat(0.25)).mean()
    found = adversarial_risk(layers, POINTS, LABELS, Threat(0.25), steps=5)
    assert found.at_least == pytest.approx(exact) and found.at_most == pytest.approx(exact)
    deep = [
        (RNG.standard_normal((6, 3)), RNG.standard_normal(6)),
        (RNG.standard_normal((2, 6)), RNG.standard_normal(2)),
    ]
    risks = [adversarial_risk(deep, POINTS, LABELS, Threat(r), steps=10) for r in (0.0, 0.1, 0.2)]
    assert risks[0].clean == pytest.approx(risks[0].at_least) == pytest.approx(risks[0].at_most)
    for less, more in pairwise(risks):
        assert less.at_least < more.at_least and less.at_most < more.at_most
        assert more.clean < more.at_least < more.at_most


def test_intervals_of_one_layer_are_exact_where_no_coordinate_moves_both_outputs_alike():
    above, below = np.array([0.7, -0.4, 0.2]), np.array([-0.1, 0.3, -0.9])
    for rows, exact in (([above, below], True), ([above, -below], False)):
        weights = np.stack(rows)
        gaps = ((weights[1 - LABELS] - weights[LABELS]) * POINTS).sum(1)
        worst = np.logaddexp(0, gaps + 0.2 * np.abs(weights[0] - weights[1]).sum()).mean()
        found = adversarial_risk([(weights, np.zeros(2))], POINTS, LABELS, Threat(0.2))
        assert found.at_least == pytest.approx(worst)
        assert (found.at_most == pytest.approx(worst)) == exact and found.at_most > worst - 1e-12


def test_outputs_stay_inside_their_intervals():
    layers = [
        (RNG.standard_normal((5, 3)), RNG.standard_normal(5)),
        (RNG.standard_normal((2, 5)), RNG.standard_normal(2)),
    ]
    low, high = interval_logits(layers, POINTS[:4], Threat(0.3))
    for _ in range(200):
        x = POINTS[:4] + RNG.uniform(-0.3, 0.3, (4, 3))
        out = np.maximum(x @ layers[0][0].T + layers[0][1], 0) @ layers[1][0].T + layers[1][1]
        assert np.all((out >= low) & (out <= high))
    with pytest.raises(ValueError, match="maximum norm, got order 2"):
        interval_logits(layers, POINTS, Threat(0.1, 2))


def net(weights, move):
    """A tanh network of two units on the perturbed point (0.3, −0.2), with label 1: its logistic loss."""
    hidden = jnp.tanh(weights[:4].reshape(2, 2) @ (jnp.array([0.3, -0.2]) + move))
    return jnp.logaddexp(0.0, -weights[4:6] @ hidden)


@pytest.mark.item("L12.19")
def test_the_slope_of_a_maximum_is_that_at_the_maximiser():
    grid = 0.4 * np.stack(np.meshgrid(*[np.linspace(-1, 1, 21)] * 2), -1).reshape(-1, 2)
    weights = RNG.standard_normal(6)
    found = worst_of_many(net, weights, grid)
    assert len(found.attained) == 1
    steps = [1e-5 * row for row in np.eye(6)]
    slopes = [
        float(worst_of_many(net, weights + h, grid).value - worst_of_many(net, weights - h, grid).value) / 2e-5
        for h in steps
    ]
    np.testing.assert_allclose(found.slope, slopes, atol=1e-8)


@pytest.mark.item("L12.19")
def test_where_two_maximisers_tie_there_are_only_slopes_to_either_side():
    """max over δ = ±1 of wδ is |w|: at 0 it rises both ways, and no gradient does that."""
    signs = np.array([[-1.0], [1.0]])
    tied = worst_of_many(lambda w, d: w @ d, np.zeros(1), signs)
    assert list(tied.attained) == [0, 1]
    rises = [directional_slope(lambda w, d: w @ d, np.zeros(1), signs, np.array([v])) for v in (1.0, -1.0)]
    assert rises == [1.0, 1.0]
