"""Attacks beside closed forms for linear networks and beside grids for small ones; none may leave its ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.networks.mlp import init_mlp
from deeptheory.robustness.attacks import (
    as_it_is,
    ascend,
    difference_slopes,
    fast_gradient_sign,
    fooled,
    projected_gradient,
    random_slopes,
    targeted_gradient,
)
from deeptheory.robustness.threats import Threat, dual_order, length

ORDERS = [1, 2, np.inf]
RNG = np.random.default_rng(0)
WEIGHTS, BIASES = RNG.standard_normal((3, 6)), RNG.standard_normal(3)
POINTS, LABELS = RNG.random((8, 6)), np.array([0, 1, 2, 0, 1, 2, 0, 1])
NETWORK = init_mlp(jax.random.key(5), (6, 16, 3), weight_scale=1.5, bias_scale=0.3)


def linear(x):
    return x @ WEIGHTS.T + BIASES


def loss(x):
    return label_cross_entropy(NETWORK(x), LABELS)


def difference(x):
    return (x @ WEIGHTS.T)[:, 1] - (x @ WEIGHTS.T)[:, 0]


@pytest.mark.parametrize(
    ("order", "box"), [(1, (0.0, 1.0)), (2, (-np.inf, np.inf)), (2, (0.0, 1.0)), (np.inf, (0.0, 1.0))]
)
def test_no_attack_leaves_its_ball_or_its_box(order, box, key):
    threat = Threat(0.3, order, *box)
    random = random_slopes(key, loss, 6, directions=3)
    found = [
        projected_gradient(key, NETWORK, POINTS, LABELS, threat, steps=7, restarts=2).points,
        fast_gradient_sign(NETWORK, POINTS, LABELS, threat),
        ascend(loss, POINTS, threat, steps=5, step_size=50.0, direction=as_it_is, slopes=random).points,
    ]
    for points in map(np.asarray, found):
        assert np.all(np.asarray(length(points - POINTS, order)) <= 0.3 * (1 + 1e-12))
        assert np.all((points >= box[0]) & (points <= box[1]))


@pytest.mark.item("A18.2")
@pytest.mark.item("L12.3")
@pytest.mark.item("H2.2")
@pytest.mark.parametrize("direction", [as_it_is, None])
@pytest.mark.parametrize("order", ORDERS)
def test_projected_ascent_reaches_the_dual_norm_of_a_linear_function(order, direction):
    more = {} if direction is None else {"direction": direction, "step_size": 20.0}
    found = ascend(difference, POINTS, Threat(0.4, order), steps=30, **more)
    most = difference(POINTS) + 0.4 * np.linalg.norm(WEIGHTS[1] - WEIGHTS[0], dual_order(order))
    np.testing.assert_allclose(found.values, most, rtol=1e-9)


@pytest.mark.item("A18.2")
def test_ascent_finds_the_worst_point_of_a_network_in_the_plane(key):
    """A grid of the ball, refined at no place, is never better by more than its spacing times the slope."""
    network = init_mlp(jax.random.key(1), (2, 12, 2), bias_scale=0.5)
    points, labels = RNG.standard_normal((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 201)] * 2), -1).reshape(-1, 2)
    for order in (2, np.inf):
        ball = grid[np.linalg.norm(grid, order, axis=1) <= 0.5]
        everywhere = network((points[:, None] + ball).reshape(-1, 2))
        worst = np.asarray(label_cross_entropy(everywhere, np.repeat(labels, len(ball)))).reshape(6, -1).max(1)
        found = projected_gradient(key, network, points, labels, Threat(0.5, order), steps=60, restarts=8)
        assert np.all(np.asarray(found.values) >= worst - 0.005)


@pytest.mark.item("L12.4")
def test_one_sign_step_is_exact_for_a_linear_function_and_the_iteration_no_worse_for_a_network():
    threat = Threat(0.2)
    labels = np.zeros(8, int)
    two = (WEIGHTS[:2], BIASES[:2])
    step = fast_gradient_sign(lambda x: x @ two[0].T + two[1], POINTS, labels, threat)
    np.testing.assert_allclose(step, POINTS + 0.2 * np.sign(two[0][1] - two[0][0]), rtol=1e-13)
    one = label_cross_entropy(NETWORK(fast_gradient_sign(NETWORK, POINTS, LABELS, threat)), LABELS)
    many = ascend(loss, POINTS, threat, steps=20).values
    assert np.all(np.asarray(many) >= np.asarray(one) - 1e-3) and np.mean(many) > np.mean(one)


@pytest.mark.item("A18.4")
def test_a_targeted_attack_climbs_the_difference_of_two_logits():
    targets = (LABELS + 1) % 3
    for order in ORDERS:
        found = targeted_gradient(linear, POINTS, LABELS, targets, Threat(0.9, order), steps=40)
        logits, rows = linear(POINTS), np.arange(8)
        gap = logits[rows, targets] - logits[rows, LABELS]
        reach = 0.9 * np.linalg.norm(WEIGHTS[targets] - WEIGHTS[LABELS], dual_order(order), axis=1)
        np.testing.assert_allclose(found.values, gap + reach, rtol=1e-9)
    far = targeted_gradient(linear, POINTS, LABELS, targets, Threat(30.0, 2), steps=40)
    assert np.all(fooled(linear, far.points, LABELS)[~fooled(linear, far.points, targets)])
    with pytest.raises(ValueError, match="targets must differ"):
        targeted_gradient(linear, POINTS, LABELS, LABELS, Threat(1.0))


@pytest.mark.item("L12.5")
def test_slopes_from_queries_have_an_error_of_second_order_and_attack_as_well():
    smooth = init_mlp(jax.random.key(3), (6, 16, 3), activation=jnp.tanh, weight_scale=2.0)
    objective = lambda x: label_cross_entropy(smooth(x), LABELS)  # noqa: E731
    true = np.asarray(jax.grad(lambda x: jnp.sum(objective(x)))(jnp.asarray(POINTS)))
    errors = [np.abs(np.asarray(difference_slopes(objective, width=h)(POINTS)) - true).max() for h in (0.1, 0.05)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    threat = Threat(0.3)
    white = ascend(objective, POINTS, threat, steps=15)
    black = ascend(objective, POINTS, threat, steps=15, slopes=difference_slopes(objective))
    np.testing.assert_allclose(black.values, white.values, rtol=1e-5)


@pytest.mark.item("L12.5")
def test_random_directions_are_unbiased_with_the_stated_variance(key):
    slope = RNG.standard_normal(6)
    plane = lambda x: x @ slope  # noqa: E731
    estimates = np.concatenate(
        [random_slopes(jax.random.fold_in(key, i), plane, 6, directions=4)(POINTS[:1]) for i in range(600)]
    )
    np.testing.assert_allclose(estimates.mean(0), slope, atol=6 * np.linalg.norm(slope) / np.sqrt(4 * 600))
    spread = np.mean(np.sum((estimates - slope) ** 2, 1)) / (slope @ slope)
    assert spread == pytest.approx((6 + 1) / 4, rel=0.25)


def test_more_radius_and_more_restarts_never_lose(key):
    values = [
        np.asarray(projected_gradient(key, NETWORK, POINTS, LABELS, Threat(0.3), steps=5, restarts=r).values)
        for r in (1, 3)
    ]
    assert np.all(values[1] >= values[0])
    assert np.all(values[0] >= np.asarray(label_cross_entropy(NETWORK(POINTS), LABELS)))


@pytest.mark.parametrize("order", ORDERS)
def test_points_outside_their_ball_or_box_are_not_judged(order):
    threat = Threat(0.3, order, 0.0, 1.0)
    found = ascend(loss, POINTS, threat, steps=5, step_size=50.0).points
    for points in (found, found.astype(jnp.float32)):
        np.testing.assert_array_equal(
            fooled(NETWORK, points, LABELS, inputs=POINTS, threat=threat), fooled(NETWORK, points, LABELS)
        )
    farther = np.full_like(POINTS, 0.5)
    farther[:, 0] += 0.301
    with pytest.raises(ValueError, match=r"points must lie within 0.3 of their inputs, got one 0.301 away"):
        fooled(NETWORK, farther, LABELS, inputs=np.full_like(POINTS, 0.5), threat=threat)
    with pytest.raises(ValueError, match="points must lie in"):
        fooled(NETWORK, np.full_like(POINTS, -0.01), LABELS, inputs=np.zeros_like(POINTS), threat=threat)
    with pytest.raises(ValueError, match="inputs and threat must be given together"):
        fooled(NETWORK, POINTS, LABELS, inputs=POINTS)
