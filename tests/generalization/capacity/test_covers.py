"""Covers and parameter-Lipschitz constants."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generalization.capacity.covers import (
    best_cover_deviation,
    cover_deviation,
    cover_size,
    greedy_cover,
    interval_cover_size,
    log_normed_class_failure,
    loss_change,
    normed_class_deviation,
    squared_loss_lipschitz,
    two_layer_gradient_norm,
)

DRAW = np.random.default_rng(2)


def test_a_greedy_cover_covers_and_is_a_packing():
    points = DRAW.uniform(-1, 1, (500, 2))
    cover = greedy_cover(points, 0.4)
    distances = np.linalg.norm(points[:, None] - cover, axis=2)
    assert np.all(distances.min(1) <= 0.4)
    apart = np.linalg.norm(cover[:, None] - cover, axis=2) + 10 * np.eye(len(cover))
    assert apart.min() > 0.4
    with pytest.raises(ValueError, match="positive"):
        greedy_cover(points, 0.0)


def test_greedy_takes_the_farthest_and_covers_with_closed_balls():
    np.testing.assert_allclose(greedy_cover(np.array([[0.0], [0.6], [1.0]]), 0.5), [[0.0], [1.0]])
    assert len(greedy_cover(np.array([[0.0], [0.5]]), 0.5)) == 1


def test_intervals():
    assert all(interval_cover_size(1 / n) == n for n in range(1, 400))
    assert [interval_cover_size(r) for r in (1.0, 0.9, 0.5, 0.34, 0.25)] == [1, 2, 2, 3, 4]
    assert cover_size(0.5, 2) == 25


def test_deviations_by_hand():
    # ρ = 1: five cells a dimension; C = 2 and m = 8 make 2 + √((2 ln 5 + ln 4)/16) = 2 + √(ln 100/16).
    assert cover_deviation(2.0, 1.0, 2, 8, 0.25) == pytest.approx(2 + np.sqrt(np.log(100) / 16))
    assert normed_class_deviation(0.3, 0.5, 4, 9) == pytest.approx(0.3 + 4 / 3 * np.sqrt(np.log(4)))
    assert log_normed_class_failure(1.0, 3) == pytest.approx(3 * np.log(5 / 256))
    with pytest.raises(ValueError, match="radius"):
        normed_class_deviation(0.3, 1.5, 4, 9)


@pytest.mark.parametrize("radius", [1.0, 0.3, 0.05])
def test_the_failure_is_what_the_union_over_cells_leaves(radius):
    cells, root = (1 + 4 / radius) ** 3, normed_class_deviation(0.0, radius, 3, 50)
    assert log_normed_class_failure(radius, 3) == pytest.approx(np.log(cells) - 2 * 50 * root**2)
    assert cover_deviation(0.0, radius, 3, 50, np.exp(log_normed_class_failure(radius, 3))) == pytest.approx(root)


def test_the_best_radius_is_a_minimum():
    radius, value = best_cover_deviation(2.0, 5, 1000, 0.05)
    assert cover_deviation(2.0, radius, 5, 1000, 0.05) == pytest.approx(value)
    assert all(cover_deviation(2.0, radius * f, 5, 1000, 0.05) > value for f in (0.9, 1.1))
    assert best_cover_deviation(0.01, 1, 10, 0.05)[0] > 0.9
    with pytest.raises(ValueError, match="delta"):
        cover_deviation(2.0, 0.1, 5, 1000, 0.0)


def test_constants_against_automatic_differentiation():
    x, y = DRAW.standard_normal(4), -0.7
    slope = jax.grad(lambda w: (w @ x - y) ** 2)
    worst = -np.sign(y) * x / np.linalg.norm(x)
    assert np.linalg.norm(slope(jnp.asarray(worst))) == pytest.approx(squared_loss_lipschitz(x, y))
    first, second = DRAW.standard_normal((6, 4)), DRAW.standard_normal(6)
    one, two = jax.grad(lambda p: (p[1] @ jax.nn.relu(p[0] @ x) - y) ** 2)((jnp.asarray(first), jnp.asarray(second)))
    norm = np.sqrt(np.sum(np.square(one)) + np.sum(np.square(two)))
    assert two_layer_gradient_norm(first, second, x, y) == pytest.approx(norm)


def test_loss_change_of_a_linear_loss_is_its_slope():
    slope = jnp.array([3.0, 4.0])
    assert loss_change(lambda w: slope @ w, np.zeros(2), 0.2) == pytest.approx(1.0)
    assert loss_change(lambda w: -(w[0] ** 2), np.ones(1), 0.5) == pytest.approx(1.25)
