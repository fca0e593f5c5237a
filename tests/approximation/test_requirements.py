import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from deeptheory.approximation.boxes import box_network
from deeptheory.approximation.cosines import cosine_network
from deeptheory.approximation.requirements import neurons_needed
from deeptheory.approximation.staircases import hinges, sigmoid_staircase, staircase

X = (np.arange(200_000) + 0.5) / 200_000


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


@pytest.mark.parametrize("how", [hinges, staircase, sigmoid_staircase])
def test_networks_of_one_input_refuse_a_box(how, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users call it
    with pytest.raises(ValueError, match="low and high must be numbers, as these networks have one input"):
        neurons_needed(lambda x: x[..., 0], 0.1, how=how, low=np.zeros(2), high=np.ones(2))


def test_what_was_not_measured_is_not_claimed():
    with pytest.raises(ValueError, match="the least seen is"):
        neurons_needed(np.sin, 1e-6, how=staircase, largest=16)
    with pytest.raises(ValueError, match="norm must be"):
        neurons_needed(np.sin, 0.1, norm="L3", how=hinges)
    with pytest.raises(TypeError, match="how must return something callable with a number of units, got None"):
        neurons_needed(np.sin, 0.1, how=lambda *given: None)


@pytest.mark.parametrize("norm", ["sup", "L1", "L2"])
def test_a_wave_that_vanishes_on_the_grid_is_not_taken_for_zero(norm):
    # On 1025 equal points, and at the middles between them, sin(2π·1024x) is zero.
    with pytest.raises(ValueError, match="the least seen is"):
        neurons_needed(lambda x: np.sin(2 * np.pi * 1024 * x), 0.1, norm=norm, largest=64)


def test_a_hat_between_the_points_of_the_grid_is_seen_by_certificates_only():
    # A hat of height 1 on a millionth of the interval: within 1e-3 on every grid of a thousand points that misses it.
    def hat(x, on=jnp):
        return on.maximum(0.0, 1 - 2e6 * on.abs(x - 0.3712345))

    blind = neurons_needed(lambda x: hat(x, np), 0.1)
    assert blind.units == 2 and "on a grid of 2049 points a side, between which it is not known" in blind.verified
    with pytest.raises(ValueError, match="the least seen is"):
        neurons_needed(lambda x: hat(x, np), 0.1, lipschitz=2e6, largest=16)
    with pytest.raises(ValueError, match="the least seen is 1"):
        neurons_needed(hat, 0.1, certain=True, largest=8)


def test_an_error_that_is_certain_is_above_a_fine_measurement_and_near_it():
    def wave(x):
        return jnp.sin(2 * jnp.pi * 3 * x)

    x = np.linspace(0, 1, 200_001)
    for how in (hinges, staircase, sigmoid_staircase):
        found = neurons_needed(wave, 0.3, how=how, certain=True)
        off = np.abs(found.network(x[:, None]) - np.sin(6 * np.pi * x)).max()
        assert off <= found.error <= 0.3
        np.testing.assert_allclose(found.error, off, rtol=2e-3)
        assert found.verified == "for certain, by interval arithmetic"


def test_several_inputs_and_functions_of_numpy_can_be_certain():
    found = neurons_needed(
        lambda x: x[..., 0] * x[..., 1],
        0.2,
        how=cosine_network,
        low=np.zeros(2),
        high=np.ones(2),
        certain=True,
        points=17,
    )
    x = np.random.default_rng(1).uniform(size=(20_000, 2))
    assert np.abs(found.network(x) - x.prod(-1)).max() <= found.error <= 0.2
    assert neurons_needed(np.sin, 0.05, certain=True).verified.startswith("for certain")
    with pytest.raises(TypeError, match="must be functions of JAX"):
        neurons_needed(lambda x: np.sin(np.asarray(x)), 0.05, certain=True)


@pytest.mark.parametrize("norm", ["sup", "L1", "L2"])
def test_with_a_lipschitz_constant_the_error_is_bounded_between_the_points_too(norm):
    found = neurons_needed(lambda x: np.sin(7 * x), 0.05, lipschitz=7.0, norm=norm)
    gap = np.abs(found.network(X[:, None]) - np.sin(7 * X))
    true = {"sup": gap.max(), "L1": gap.mean(), "L2": np.sqrt(np.mean(gap**2))}[norm]
    assert true <= found.error <= true + 7 / 1024
    assert "if f changes by at most 7" in found.verified


def test_ways_to_verify_that_do_not_serve_are_refused():
    with pytest.raises(ValueError, match="thresholds or ReLUs"):
        neurons_needed(np.sin, 0.1, how=sigmoid_staircase, lipschitz=1.0)
    with pytest.raises(ValueError, match="norm must be sup"):
        neurons_needed(np.sin, 0.1, norm="L1", certain=True)
    with pytest.raises(ValueError, match="lipschitz must stand"):
        neurons_needed(np.sin, 0.1, lipschitz=1.0, certain=True)
