"""Batches by enumeration and counting, and bounds of stochastic gradient descent by search."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.diffusions.gradient_noise import batch_covariance
from deeptheory.optimization import stochastic
from deeptheory.optimization.stochastic import (
    batch_stationarity_bound,
    batch_steps,
    best_sgd_step_size,
    gradient_variance,
    minibatches,
    sgd_stationarity_bound,
    sgd_step_size,
    stationarity_steps,
)


@pytest.mark.item("A2.9")
def test_batches_with_and_without_replacement(key):
    drawn = minibatches(key, examples=5, batch=2, steps=4000, runs=3)
    assert drawn.shape == (3, 4000, 2) and len(np.unique(drawn[0, :, 0] * 5 + drawn[0, :, 1])) == 25
    counts = np.bincount(drawn.ravel(), minlength=5)
    assert np.all(np.abs(counts - 4800) < 5 * np.sqrt(4800))
    passes = minibatches(key, examples=5, batch=2, steps=9, runs=50, replacement=False)
    assert passes.shape == (50, 9, 2)
    for start in range(0, 8, 2):  # two batches a pass, one example left over
        within = passes[:, start : start + 2].reshape(50, -1)
        assert all(len(set(each)) == 4 for each in within)
    assert len({tuple(each) for each in passes.reshape(50, -1)}) == 50
    with pytest.raises(ValueError, match=r"at most examples without replacement, got 6 of 5"):
        minibatches(key, examples=5, batch=6, steps=1, replacement=False)


@pytest.mark.item("A2.9", "A2.24")
def test_noise_by_enumeration():
    gradients = np.random.default_rng(0).standard_normal((6, 3))
    for size in (1, 2, 3):
        for replacement in (True, False):
            batches = (
                itertools.product(range(6), repeat=size) if replacement else itertools.permutations(range(6), size)
            )
            means = np.array([gradients[list(batch)].mean(0) for batch in batches])
            np.testing.assert_allclose(means.mean(0), gradients.mean(0), atol=1e-14)
            ours = batch_covariance(gradients, size, replacement=replacement)
            np.testing.assert_allclose(ours, np.cov(means.T, bias=True), atol=1e-14)
    assert np.abs(batch_covariance(gradients, 6, replacement=False)).max() == 0


@pytest.mark.item("A2.24")
def test_steps_of_a_batch_by_search():
    setting = dict(drop=3.0, smoothness=2.0)
    for accuracy, batch in itertools.product((0.1, 0.4), (1, 4, 60, 5000)):
        steps, step = batch_steps(accuracy, variance=1.7, batch=batch, **setting)
        rates = np.geomspace(1e-6, 0.5, 20001)
        room = accuracy**2 - rates * 2.0 * 1.7 / batch
        least = np.min(np.where(room > 0, 2 * 3.0 / (rates * np.where(room > 0, room, 1)), np.inf))
        assert float(steps) == pytest.approx(least, rel=1e-5)
        bound = batch_stationarity_bound(
            3.0, step_size=float(step), smoothness=2.0, variance=1.7, batch=batch, steps=steps
        )
        assert float(bound) == pytest.approx(accuracy**2, rel=1e-12)


@pytest.mark.item("A2.23")
def test_the_step_of_the_theorem_gives_three_halves():
    moments = dict(smoothness=0.7, second_moment=5.0, steps=90)
    step = sgd_step_size(2.0, **moments)
    root = (2.0 * 0.7 * 5.0 / 90) ** 0.5
    assert sgd_stationarity_bound(2.0, step_size=step, **moments) == pytest.approx(1.5 * root)
    grid = [sgd_stationarity_bound(2.0, step_size=scale * step, **moments) for scale in np.linspace(0.5, 3, 501)]
    assert np.min(grid) == pytest.approx(2**0.5 * root, rel=1e-5)
    assert np.linspace(0.5, 3, 501)[np.argmin(grid)] == pytest.approx(2**0.5, abs=0.005)


@pytest.mark.item("H5.9")
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_growth_in_a_shared_well_by_all_batches(batch):
    curvatures, step = np.array([1.0, 3.0, 8.0]), 0.4
    means = np.array([np.mean(each) for each in itertools.product(curvatures, repeat=batch)])
    factor = stochastic.mean_square_factor(curvatures, step_size=step, batch=batch)
    assert factor == pytest.approx(np.mean((1 - step * means) ** 2), rel=1e-12)
    exponent = stochastic.escape_exponent(curvatures, step_size=step, batch=batch)
    assert exponent == pytest.approx(np.mean(np.log(np.abs(1 - step * means))), rel=1e-12)
    # The edge of the mean square, 2h/(h² + v/B).
    edge = 2 * 4.0 / (16 + curvatures.var() / batch)
    assert stochastic.mean_square_factor(curvatures, step_size=edge, batch=batch) == pytest.approx(1.0, rel=1e-12)


def test_a_factor_of_zero_ends_every_run():
    assert stochastic.escape_exponent(np.array([2.0, 1.0]), step_size=0.5, batch=1) == -np.inf


@pytest.mark.item("L5.21")
def test_the_best_step_by_search():
    moments = dict(smoothness=0.7, second_moment=5.0, steps=90)
    best = best_sgd_step_size(2.0, **moments)
    grid = np.geomspace(best / 3, best * 3, 4001)
    values = sgd_stationarity_bound(2.0, step_size=grid, **moments)
    assert grid[np.argmin(values)] == pytest.approx(best, rel=1e-3)
    assert values.min() == pytest.approx(5.0**0.5 * (2 * 2.0 * 0.7 / 90) ** 0.5, rel=1e-6)


@pytest.mark.item("L5.22")
def test_steps_to_a_squared_gradient_by_search():
    setting = dict(smoothness=0.7, second_moment=5.0)
    for square in (0.1, 0.02):
        steps = stationarity_steps(square, drop=2.0, **setting)
        count = np.arange(1, 400_000)
        rates = best_sgd_step_size(2.0, steps=count, **setting)
        enough = sgd_stationarity_bound(2.0, step_size=rates, steps=count, **setting) <= square * (1 + 1e-12)
        assert count[np.argmax(enough)] == int(np.ceil(steps.stochastic - 1e-6))
        # Full gradients at 1/L: 2LΔ/K ≤ ε.
        assert count[np.argmax(2 * 0.7 * 2.0 / count <= square * (1 + 1e-12))] == int(np.ceil(steps.full - 1e-9))
        assert steps.stochastic / steps.full == pytest.approx(5.0 / square)


@pytest.mark.item("L5.19")
def test_the_variance_of_gradients_on_a_tree():
    x, y = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([1.0, -1.0, 0.0])

    def losses(point):
        return (jnp.asarray(x) @ point["w"] + point["b"] - jnp.asarray(y)) ** 2 / 2

    point = {"w": jnp.array([0.5, -1.0]), "b": jnp.array(0.25)}
    residual = x @ [0.5, -1.0] + 0.25 - y
    rows = np.column_stack([residual[:, None] * x, residual])
    ours = float(gradient_variance(losses, point))
    assert ours == pytest.approx(np.mean(np.sum((rows - rows.mean(0)) ** 2, 1)))
    assert ours == pytest.approx(np.trace(batch_covariance(rows, 1)))
    # Batches of two, all nine of them: half of it.
    pairs = np.array([rows[list(pair)].mean(0) for pair in itertools.product(range(3), repeat=2)])
    assert np.mean(np.sum((pairs - rows.mean(0)) ** 2, 1)) == pytest.approx(ours / 2)
