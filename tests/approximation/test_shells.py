import jax
import numpy as np
import pytest

from deeptheory.approximation.separation import draw_ball_density
from deeptheory.approximation.shells import Shells, two_stage_error, two_stage_network

TARGET = Shells(np.array([0.5, 0.8, 1.3]), np.array([1.0, -1.0]))


def test_shells_by_hand():
    np.testing.assert_array_equal(TARGET(np.array([0.1, 0.5, 0.7, 0.9, 1.3, 4.0])), [0, 1, 1, -1, 0, 0])
    np.testing.assert_array_equal(TARGET.jumps, [1, -2, 1])


@pytest.mark.item("L4.18")
def test_first_layer_draws_squares_through_its_knots():
    network = two_stage_network(TARGET, 2, step=0.25, ramp=0.01)
    assert network.units == 2 * 2 * 6 + 2 * 3
    at_knots, between = np.array([[0.5, -1.25], [0.0, 0.75]]), np.array([[0.375, -0.125]])
    np.testing.assert_allclose(network.squared_norm(at_knots), np.sum(at_knots**2, axis=1), atol=1e-12)
    np.testing.assert_allclose(network.squared_norm(between), np.sum(between**2) + 2 * 0.25**2 / 4, atol=1e-12)


@pytest.mark.item("L4.18")
@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_network_is_the_target_away_from_the_edges(dimension):
    step, ramp = 0.05, 0.005
    network = two_stage_network(TARGET, dimension, step=step, ramp=ramp)
    x = draw_ball_density(jax.random.key(0), dimension, 3000)
    length = np.linalg.norm(x, axis=1)
    band = dimension * step**2 / 8 + ramp
    near = np.min(np.abs(length[:, None] ** 2 - TARGET.edges**2), axis=1) <= band
    gap = network(x) - TARGET(length)
    np.testing.assert_allclose(gap[~near], 0.0, atol=1e-7)
    errors = gap**2
    bound = two_stage_error(TARGET, dimension, step=step, ramp=ramp)
    assert 0 < errors.mean() <= bound + 5 * errors.std() / np.sqrt(3000)
    # The jump in the middle, of height two, counts four times.
    middle = np.abs(length - 0.8) < 0.1
    assert bound == pytest.approx(np.mean(near * np.where(middle, 4, 1)), abs=0.05)


def test_shells_that_the_bands_swallow_are_refused():
    with pytest.raises(ValueError, match="apart"):
        two_stage_error(TARGET, 8, step=0.5, ramp=0.1)
