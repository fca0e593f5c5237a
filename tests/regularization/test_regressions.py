"""Dropout in deep and linear regression, and explicit penalties, against enumeration, autodiff and convex solvers."""

from itertools import pairwise, product

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.risks import ridge_path
from deeptheory.generalization.networks.norms import path_norm
from deeptheory.implicit_bias.paths import l1_path, path_at
from deeptheory.regularization import deep_regression, linear_regression, masks

pytestmark = pytest.mark.slow


def network(key, widths=(3, 6, 5, 2), samples=4):
    draw = generator(key)
    weights = [draw.standard_normal((b, a)) for a, b in pairwise(widths)]
    return weights, draw.standard_normal((samples, widths[0])), draw.standard_normal((samples, widths[-1]))


@pytest.mark.item("A11.18")
@pytest.mark.item("A11.19")
@pytest.mark.item("L11.16")
@pytest.mark.parametrize("activation", [jax.nn.relu, jnp.tanh])
def test_top_layer_dropout_by_hand_enumeration_and_penalty(key, activation):
    weights, inputs, labels = network(key)
    hidden = np.asarray(inputs)
    for matrix in weights[:-1]:
        hidden = np.asarray(activation(hidden @ matrix.T))
    by_hand = 0.0
    for kept in product((0, 1), repeat=5):
        chance = np.prod([0.7 if each else 0.3 for each in kept])
        output = (hidden * np.array(kept) / 0.7) @ weights[-1].T
        by_hand += chance * np.mean(np.sum((labels - output) ** 2, axis=1))
    given = dict(activation=activation)
    np.testing.assert_allclose(deep_regression.top_dropout_loss(weights, inputs, labels, 0.3, **given), by_hand)
    np.testing.assert_allclose(deep_regression.explicit_dropout_loss(weights, inputs, labels, 0.3, **given), by_hand)
    drawn = masks.draw_masks(key, 20_000, 5, 0.3)
    losses = jax.jit(jax.vmap(lambda mask: deep_regression.regression_loss(weights, inputs, labels, mask, **given)))
    sampled = np.asarray(losses(drawn))
    assert abs(sampled.mean() - by_hand) < 5 * sampled.std() / 20_000**0.5


@pytest.mark.item("A11.19")
def test_slopes_of_loss_plus_penalty_are_the_mean_slopes_of_dropout(key):
    weights, inputs, labels = network(key)
    loss = lambda given, mask: deep_regression.regression_loss(given, inputs, labels, mask, activation=jnp.tanh)  # noqa: E731
    weights = [jnp.asarray(each) for each in weights]
    mean = masks.mean_over_masks(lambda mask: jax.grad(loss)(weights, mask), 5, 0.4)
    explicit = jax.grad(
        lambda given: deep_regression.explicit_dropout_loss(given, inputs, labels, 0.4, activation=jnp.tanh)
    )(weights)
    for ours, theirs in zip(mean, explicit, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.item("A11.21")
def test_squared_path_norm_is_a_sum_over_paths(key):
    weights, _, _ = network(key, (2, 3, 2, 2))
    total = sum(
        (weights[0][b, a] * weights[1][c, b] * weights[2][d, c]) ** 2
        for a, b, c, d in product(range(2), range(3), range(2), range(2))
    )
    assert path_norm(weights) ** 2 == pytest.approx(total)
    scale = np.array([2.0, 0.1, 5.0])
    assert path_norm([weights[0] * scale[:, None], weights[1] / scale, weights[2]]) ** 2 == pytest.approx(total)
    two = weights[:2]
    by_unit = np.sum((two[1] ** 2).sum(0) * (two[0] ** 2).sum(1))
    assert path_norm(two) ** 2 == pytest.approx(by_unit)


@pytest.mark.item("A11.40")
def test_penalty_of_a_linear_network_is_that_of_its_data(key):
    draw = generator(key)
    left, right, inputs = draw.standard_normal((2, 4)), draw.standard_normal((3, 4)), draw.standard_normal((9, 3))
    penalty = deep_regression.two_layer_linear_penalty(left, right, inputs.T @ inputs / 9)
    outputs = np.einsum("aj,bj,nb->nja", left, right, inputs)
    np.testing.assert_allclose(penalty, np.mean(np.sum(outputs**2, axis=(1, 2))), rtol=1e-12)


@pytest.mark.item("A11.38")
def test_dropout_of_coordinates_and_of_all_at_once(key):
    draw = generator(key)
    design, labels, rate = draw.standard_normal((6, 3)), draw.standard_normal(6), 0.4

    def objective(weights, shared):
        if shared:
            values = [0.0, 1 / (1 - rate)]
            return sum(
                chance * jnp.mean((labels - mask * design @ weights) ** 2)
                for mask, chance in zip(values, (rate, 1 - rate), strict=True)
            )
        return masks.mean_over_masks(lambda mask: jnp.mean((labels - (design * mask) @ weights) ** 2), 3, rate)

    for solve, shared in (
        (linear_regression.dropout_regression, False),
        (linear_regression.shared_mask_regression, True),
    ):
        best = solve(design, labels, rate)
        np.testing.assert_allclose(jax.grad(objective)(jnp.asarray(best), shared), 0, atol=1e-12)
    # One sample x = (1, 1), y = 1: each weight is 1/(2 + λ), not 1/(2 + 2λ) as rescaling would have it.
    strength = rate / (1 - rate)
    one = np.ones((1, 2))
    np.testing.assert_allclose(linear_regression.dropout_regression(one, np.ones(1), rate), 1 / (2 + strength))
    np.testing.assert_allclose(linear_regression.shared_mask_regression(one, np.ones(1), rate), 1 / (2 + 2 * strength))


@pytest.mark.item("L11.2")
def test_explicit_penalties_against_a_convex_solver(key):
    """The l1 and the squared l2 norm of the weights added to the mean squared error."""
    draw = generator(key)
    design, labels = draw.standard_normal((8, 5)), draw.standard_normal(8)
    path = l1_path(design, labels)
    for penalty in (0.05, 0.4, 1.0):
        weights = cvxpy.Variable(5)
        loss = cvxpy.sum_squares(labels - design @ weights) / 8
        cvxpy.Problem(cvxpy.Minimize(loss + penalty * cvxpy.norm1(weights))).solve(solver=cvxpy.CLARABEL)
        np.testing.assert_allclose(path_at(path, np.array([8 * penalty / 2]))[0], weights.value, atol=1e-5)
        cvxpy.Problem(cvxpy.Minimize(loss + penalty * cvxpy.sum_squares(weights))).solve(solver=cvxpy.CLARABEL)
        np.testing.assert_allclose(ridge_path(design, labels, np.array([penalty]))[0], weights.value, atol=1e-6)


def test_layers_and_labels_that_do_not_fit_are_named():
    inputs, labels = np.ones((4, 2)), np.ones((4, 2))
    with pytest.raises(ValueError, match="weights must fit inputs and each other, got 4 columns after 3 units"):
        deep_regression.regression_loss((np.ones((3, 2)), np.ones((2, 4))), inputs, labels)
    with pytest.raises(ValueError, match="got 3 columns after 2 units"):
        deep_regression.neuron_penalties((np.ones((3, 3)), np.ones((2, 3))), inputs, 0.5)
    with pytest.raises(ValueError, match="labels must have a column for each of 2 outputs, got 1"):
        deep_regression.regression_loss((np.ones((3, 2)), np.ones((2, 3))), inputs, labels[:, :1])
