import numpy as np
import pytest

from deeptheory.generalization.capacity.growth import linearly_separable
from deeptheory.networks.rings import polar_coordinates, polygon_features, ring_points


def test_points_and_polar_coordinates_by_hand():
    square = ring_points(4, radius=2.0)
    np.testing.assert_allclose(square, [[2, 0], [0, 2], [-2, 0], [0, -2]], atol=1e-15)
    np.testing.assert_allclose(polar_coordinates(square)[:, 0], 2)
    np.testing.assert_allclose(polar_coordinates(square)[:2, 1], [0, np.pi / 2])


def test_features_vanish_inside_the_polygon_and_only_there():
    corner = np.array([[np.cos(np.pi / 4), np.sin(np.pi / 4)]]) / np.cos(np.pi / 4)
    assert not polygon_features(0.999 * corner, sides=4, radius=1.0).any()
    assert polygon_features(1.001 * corner, sides=4, radius=1.0).sum() > 0


@pytest.mark.item("L2.1")
def test_rings_are_parted_in_polar_coordinates_and_not_in_the_plane():
    points = np.concatenate([ring_points(12, radius=1.0), ring_points(12, radius=2.0)])
    labels = np.repeat([-1.0, 1.0], 12)
    assert not linearly_separable(points, labels)
    assert linearly_separable(polar_coordinates(points), labels)
    assert linearly_separable(polygon_features(points, sides=4, radius=1.0), labels)
    assert not linearly_separable(polygon_features(points, sides=2, radius=1.0), labels)
