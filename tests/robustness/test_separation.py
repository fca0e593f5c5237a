"""Separation of classes: by hand, by brute force, and the robustness of the nearest-neighbour rule."""

import jax
import numpy as np
import pytest

from deeptheory.robustness.separation import (
    checkerboard_robustness,
    memorised_radius,
    opposite_distances,
    robust_accuracy_on_grid,
    scatter_ratio,
    separated_points,
    silhouettes,
)

POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
LABELS = np.array([0, 0, 1, 1])


@pytest.mark.item("H2.7")
def test_two_pairs_by_hand():
    np.testing.assert_allclose(opposite_distances(POINTS, LABELS), [3, 3, 3, 3])
    np.testing.assert_allclose(opposite_distances(POINTS, LABELS, period=4.0), [1, 1, 1, 1])
    assert scatter_ratio(POINTS, LABELS) == pytest.approx(0.25 / 2.25)
    other = (3 + np.sqrt(10)) / 2
    np.testing.assert_allclose(silhouettes(POINTS, LABELS), np.full(4, (other - 1) / other))


@pytest.mark.item("H2.7")
def test_silhouettes_by_definition():
    draw = np.random.default_rng(0)
    points, labels = draw.standard_normal((30, 3)), draw.integers(0, 3, 30)
    labels[labels == 2][1:] = 1
    found = silhouettes(points, labels)
    for i in range(30):
        distance = np.linalg.norm(points - points[i], axis=1)
        own = (labels == labels[i]) & (np.arange(30) != i)
        near = min(distance[labels == kind].mean() for kind in set(labels) - {labels[i]})
        expected = (near - distance[own].mean()) / max(near, distance[own].mean()) if own.any() else 0
        assert found[i] == pytest.approx(expected)


@pytest.mark.item("H2.7")
def test_nearest_neighbours_are_robust_within_half_the_separation():
    draw = np.random.default_rng(1)
    points, labels = draw.random((60, 2)), draw.integers(0, 2, 60)
    separation = opposite_distances(points, labels)
    moves = draw.standard_normal((200, 1, 2))
    moves /= np.linalg.norm(moves, axis=2, keepdims=True)

    def answers(at):
        return labels[np.argmin(np.linalg.norm(at[..., None, :] - points, axis=-1), -1)]

    assert np.all(answers(points + 0.4999 * separation[:, None] * moves) == labels)
    # All the way to the nearest of another label, its label is given.
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    nearest = points[np.argmin(np.where(labels[:, None] != labels, apart, np.inf), 1)]
    assert np.all(answers(nearest) != labels)


@pytest.mark.item("H2.8")
def test_a_checkerboard_counted():
    size = 20
    board = (np.add.outer(np.arange(80) // size, np.arange(80) // size) % 2).astype(int)
    for reach in (0, 1, 4, 9, 10):
        clean, robust = robust_accuracy_on_grid(board, board, reach)
        assert clean == 1.0
        assert robust == pytest.approx(checkerboard_robustness(np.array([reach * 1.0]), float(size))[0])
    assert robust_accuracy_on_grid(np.zeros((80, 80), int), board, 7) == (0.5, 0.5)


@pytest.mark.item("H2.9")
def test_memorised_radius_by_hand_and_by_sampling():
    assert memorised_radius(100.0, 0.25) == pytest.approx(1 / (4 * 5))
    assert memorised_radius(10.0, 0.1, dimension=1) == pytest.approx(0.25)  # distance exponential of rate 2
    draw = np.random.default_rng(2)
    points, labels = draw.random((20_000, 2)), np.where(draw.random(20_000) < 0.05, 1, 0)
    half = opposite_distances(points, labels, period=1.0)[labels == 0] / 2
    assert half.mean() == pytest.approx(memorised_radius(20_000.0, 0.05), rel=0.06)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="two kinds"):
        opposite_distances(POINTS, np.zeros(4, int))


@pytest.mark.parametrize(("count", "gap", "dimension"), [(1, 0.5, 2), (30, 0.3, 2), (12, 1.2, 4)])
def test_points_of_different_labels_keep_their_distance_and_others_need_not(count, gap, dimension):
    points, labels = separated_points(jax.random.key(3), count, gap=gap, dimension=dimension)
    assert points.shape == (count, dimension)
    assert np.abs(points).max() <= 1
    np.testing.assert_array_equal(labels, np.arange(count) % 2)
    far = np.abs(points[:, None] - points).max(2)
    assert np.all(far[labels[:, None] != labels] >= gap)
    if count == 30:
        assert far[(labels[:, None] == labels) & ~np.eye(count, dtype=bool)].min() < gap
    with pytest.raises(ValueError, match="must leave room for 50 points"):
        separated_points(jax.random.key(0), 50, gap=1.999)
