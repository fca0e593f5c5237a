import numpy as np
import pytest

from deeptheory.approximation.boxes import box_network
from deeptheory.approximation.cosines import cosine_network
from deeptheory.approximation.requirements import neurons_needed
from deeptheory.approximation.staircases import hinges, sigmoid_staircase, staircase


@pytest.mark.item("H1.7")
def test_a_parabola_needs_as_many_hinges_as_its_curvature_says():
    # (h²/8)·2 ≤ ε with h = 1/(N − 1): N − 1 ≥ 1/√(4ε) = 5 for ε = 0.01; one unit is the constant.
    found = neurons_needed(lambda x: x**2, 0.01 * (1 + 1e-9))
    assert (found.units, found.size) == (6, 6)
    np.testing.assert_allclose(found.error, 0.01, rtol=1e-4)
    np.testing.assert_allclose(dict(found.tried)[5], 1 / 64, rtol=1e-3)


@pytest.mark.item("H1.7")
def test_a_line_needs_as_many_steps_as_its_slope_says():
    assert neurons_needed(lambda x: 3 * x, 0.1 * (1 + 1e-9), how=staircase).units == 30
    # A step between two knots costs half as much, and one unit is the constant.
    assert neurons_needed(lambda x: 3 * x, 0.101, how=lambda *a: sigmoid_staircase(*a, steepness=1e4)).units == 16


def test_a_network_that_is_claimed_has_the_error_that_was_asked_for():
    def f(x):
        return np.abs(x[..., 0] - 0.3) * x[..., 1]

    low, high = np.zeros(2), np.ones(2)
    x = np.random.default_rng(0).uniform(size=(20_000, 2))
    for how in (box_network, cosine_network):
        found = neurons_needed(f, 0.03, how=how, low=low, high=high, norm="L1", points=65, largest=32)
        mean = np.abs(found.network(x) - f(x)).mean()
        assert mean <= 0.03
        np.testing.assert_allclose(mean, found.error, rtol=0.1)
        assert dict(found.tried)[found.size - 1] > 0.03


def test_what_was_not_measured_is_not_claimed():
    with pytest.raises(ValueError, match="the least measured is"):
        neurons_needed(np.sin, 1e-6, how=staircase, largest=16)
    with pytest.raises(ValueError, match="norm must be"):
        neurons_needed(np.sin, 0.1, norm="L3", how=hinges)
