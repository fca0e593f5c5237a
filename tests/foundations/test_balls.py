import numpy as np
import pytest

from deeptheory.foundations.balls import ball_volume

VOLUMES = [1.0, 2.0, np.pi, 4 * np.pi / 3, np.pi**2 / 2]


@pytest.mark.parametrize(("dimension", "volume"), list(enumerate(VOLUMES)))
def test_volumes_by_hand(dimension, volume):
    assert ball_volume(dimension) == pytest.approx(volume)


def test_an_array_of_dimensions_by_the_recursion_of_slices():
    found = ball_volume(np.arange(60))
    np.testing.assert_allclose(found[:5], VOLUMES)
    np.testing.assert_allclose(found[2:] / found[:-2], 2 * np.pi / np.arange(2, 60))


def test_a_negative_dimension_is_named():
    with pytest.raises(ValueError, match="dimension"):
        ball_volume(-1)
