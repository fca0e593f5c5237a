import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.diffusions.torus_semigroups import (
    TorusOracle,
    committee_loss,
    committee_machine,
    double_well,
    weak_error_on_torus,
)
from deeptheory.diffusions.weak_order import two_point_noise


def test_pure_noise_on_the_circle_is_a_power_of_its_characteristic_function():
    z, noise, steps = two_point_noise(1.3), 0.8, np.array([0.5, 0.1])
    oracle = TorusOracle(lambda x: np.broadcast_to(z.values[:, None, None], (2, *x.shape)), z.probabilities, 1)
    errors = weak_error_on_torus(oracle, steps, lambda x: np.cos(x[:, 0]), noise=noise, nodes=9)
    for step, error in zip(steps, errors, strict=True):
        characteristic = (z.probabilities @ np.exp(-1j * np.sqrt(step) * noise * z.values)) ** round(1 / step)
        expected = abs(characteristic - np.exp(-(noise**2) / 2)) / np.sqrt(2)
        assert error == pytest.approx(expected, rel=1e-10)


def test_without_noise_it_is_euler_against_the_flow():
    z, step, horizon = two_point_noise(0.0), 0.05, 0.3
    start = 2 * np.pi * np.arange(81) / 81
    x = start.copy()
    for _ in range(6):
        x = x + step * np.sin(2 * x)
    flow = start + np.arctan2((np.exp(2 * horizon) - 1) * np.tan(start), 1 + np.exp(2 * horizon) * np.tan(start) ** 2)
    expected = np.sqrt(np.mean((np.sin(x) - np.sin(flow)) ** 2))
    oracle = double_well(z.values, z.probabilities)
    got = weak_error_on_torus(oracle, np.array([step]), lambda p: np.sin(p[:, 0]), noise=0.0, horizon=horizon, nodes=81)
    assert got[0] == pytest.approx(expected, rel=1e-6)


def test_two_independent_circles_make_a_torus():
    z, steps = two_point_noise(0.6), np.array([0.25])
    well = double_well(z.values, z.probabilities)

    def both(points):
        first, second = (well.gradients(points[:, [axis]]) for axis in range(2))
        return np.concatenate([np.stack([a[..., 0], b[..., 0]], -1)[None] for a in first for b in second])

    pair = TorusOracle(both, np.outer(z.probabilities, z.probabilities).ravel(), 2)
    one = weak_error_on_torus(well, steps, lambda p: np.cos(p[:, 0]), noise=0.6, nodes=17)
    two = weak_error_on_torus(pair, steps, lambda p: np.cos(p[:, 1]), noise=0.6, nodes=17)
    np.testing.assert_allclose(two, one, rtol=1e-9)


def test_committee_machine_gradients_are_those_of_its_loss():
    rng = np.random.default_rng(0)
    inputs, targets, points = rng.normal(size=(4, 2)), rng.normal(size=4), rng.uniform(0, 6, size=(3, 2))

    def loss(theta, x, y):
        weights = jnp.stack([jnp.cos(theta), jnp.sin(theta)], -1)
        return 0.5 * (jnp.tanh(weights @ x).sum() - y) ** 2

    each = jax.jit(jax.vmap(jax.vmap(jax.grad(loss), (0, None, None)), (None, 0, 0)))(points, inputs, targets)
    mean = jax.jit(jax.vmap(lambda p: jax.vmap(loss, (None, 0, 0))(p, inputs, targets).mean()))(points)
    np.testing.assert_allclose(committee_loss(points, inputs, targets), mean, rtol=1e-12)
    oracle = committee_machine(inputs, targets)
    outcomes = oracle.gradients(points)
    np.testing.assert_allclose(outcomes[:4], each, atol=1e-12)
    deviations = outcomes - each.mean(0)
    np.testing.assert_allclose(np.einsum("o,opd->pd", oracle.probabilities, deviations), 0, atol=1e-14)
    np.testing.assert_allclose(np.einsum("o,opd->pd", oracle.probabilities, deviations**3), 0, atol=1e-14)


def test_even_grids_are_refused():
    z = two_point_noise(0.0)
    with pytest.raises(ValueError, match="odd"):
        weak_error_on_torus(double_well(z.values, z.probabilities), np.ones(1), lambda p: p[:, 0], noise=1.0, nodes=8)


REFUSED = [
    ({"steps": [-0.25]}, r"steps must be positive and finite, got \[-0.25\]"),
    ({"steps": [0.3]}, r"steps must divide the horizon 1.0 into 1 to 100,000 parts, got \[0.3\]"),
    ({"horizon": 1e300}, "steps must divide the horizon"),
    ({"horizon": -1.0}, "horizon must be positive and finite, got -1.0"),
    ({"noise": -1.0}, "noise must lie in"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[next(iter(given)) for given, _ in REFUSED])
def test_times_that_do_not_meet_and_noise_below_zero_are_refused(given, sentence):
    z = two_point_noise(0.0)
    call = {"steps": np.array([0.25]), "noise": 1.0, "nodes": 9} | given
    with pytest.raises(ValueError, match=sentence):
        weak_error_on_torus(double_well(z.values, z.probabilities), test=lambda p: p[:, 0], **call)


def test_a_grid_whose_matrices_fit_no_memory_is_refused():
    pair = committee_machine(np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="nodes must be at most 50 in 2 dimensions, got 199"):
        weak_error_on_torus(pair, np.array([0.25]), lambda p: p[:, 0], noise=1.0, nodes=199)
