"""Sharpness against dense Hessians, and training traces against a plain loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.curvature.edge_of_stability import SharpnessTrace, descent_with_sharpness, sharpness, stability_phases
from deeptheory.foundations.randomness import generator
from deeptheory.optimization.landscapes import Quadratic, TanhNetworkLoss

pytestmark = pytest.mark.slow


def network(key, n=20, hidden=(8, 8)):
    random = generator(key)
    inputs, labels = random.standard_normal((n, 3)), np.sign(random.standard_normal(n))
    loss = TanhNetworkLoss(jnp.asarray(inputs), jnp.asarray(labels), hidden)
    start = loss.initial(key)
    return loss, start, jnp.asarray(random.standard_normal(start.size))


def test_sharpness_against_the_dense_hessian(key):
    loss, start, direction = network(key)
    dense = np.linalg.eigh(jax.jit(lambda w: jax.hessian(loss)(w))(start))
    value, vector = jax.jit(lambda w: sharpness(loss, w, direction, iterations=40))(start)
    assert float(value) == pytest.approx(dense.eigenvalues[-1], rel=1e-10)
    assert abs(float(vector @ dense.eigenvectors[:, -1])) == pytest.approx(1, rel=1e-8)


@pytest.mark.parametrize(
    "spectrum",
    [
        [3.0, -3.0, 1.0, 0.0],  # a tie in modulus, on which the power method does not converge
        [2.0, 2.0, 2.0, 2.0],  # the Krylov space ends at once
        [-1.0, -2.0, -2.0, -5.0],  # no positive curvature: an exhausted space must not report 0
        [0.0, 0.0, 0.0, 0.0],
    ],
)
def test_sharpness_on_awkward_spectra(spectrum):
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    function = Quadratic(jnp.asarray(basis * np.array(spectrum) @ basis.T), jnp.zeros(4))
    value, vector = sharpness(function, jnp.ones(4), jnp.array([1.0, 0.4, -0.3, 0.2]), iterations=50)
    assert float(value) == pytest.approx(max(spectrum), abs=1e-12)
    np.testing.assert_allclose(function.matrix @ vector, max(spectrum) * vector, atol=1e-7)


def test_trace_against_a_plain_loop(key):
    loss, start, direction = network(key, hidden=(6,))
    trace = jax.jit(lambda w: descent_with_sharpness(loss, w, direction, step_size=0.3, steps=30, every=10))(start)
    hessian, gradient = jax.jit(lambda w: jax.hessian(loss)(w)), jax.jit(lambda w: jax.grad(loss)(w))
    value, position, trace = jax.jit(lambda w: loss(w)), start, jax.tree.map(np.asarray, trace)
    for step in range(31):
        assert float(trace.losses[step]) == pytest.approx(float(value(position)), rel=1e-12)
        if step % 10 == 0:
            dense = np.linalg.eigvalsh(hessian(position))[-1]
            assert float(trace.sharpness[step // 10]) == pytest.approx(dense, rel=1e-6)
        if step < 30:
            position = position - 0.3 * gradient(position)
    np.testing.assert_allclose(trace.position, position, rtol=1e-10)
    with pytest.raises(ValueError, match="positive multiple of every, got steps=25 and every=10"):
        descent_with_sharpness(loss, start, direction, step_size=0.3, steps=25, every=10)


def written(losses, sharpness, diverged=-1):
    return SharpnessTrace(np.array(losses), np.array(sharpness), None, diverged)


def test_phases_of_a_written_run():
    losses = [5.0, 4.0, 3.0, 3.5, 2.0, 2.1, 1.0]
    phases = stability_phases(written(losses, [1.0, 4.4, 3.6, 4.0]), step_size=0.5, every=2)
    assert phases == (2, 0, 2, 1.0, 0.25, 1.1, -1)
    # Halfway to 2/η is not the edge.
    passing = stability_phases(written(losses, [1.0, 3.9, 4.1, 3.6]), step_size=0.5, every=2)
    assert passing[:3] == (4, 1, 1)
    quiet = stability_phases(written(losses[:3], [1.0, 2.0]), step_size=0.5, every=2)
    assert quiet.entered == -1 and quiet.rises_before == 0 and np.isnan(quiet.plateau)


def test_a_run_that_diverged_is_read_up_to_where_it_did():
    losses, sharp = [5.0, 4.0, 3.0, 3.5, np.inf, np.nan, np.nan], [1.0, 4.4, np.nan, np.nan]
    phases = stability_phases(written(losses, sharp, 4), step_size=0.5, every=2)
    assert phases == (2, 0, 1, 1.1, 0.25, 1.1, 4)
    # A loss that is still a number where its curvature is not one.
    early = stability_phases(written(range(7), [1.0, np.nan, 4.4, 1.0], 2), step_size=0.5, every=2)
    assert early.diverged == 2 and early.entered == -1 and early.rises_before == 1 and early.highest == 0.25
    never = stability_phases(written([np.nan] * 3, [1.0, 1.0], 0), step_size=0.5, every=2)
    assert never.diverged == 0 and np.isnan(never.initial)
    with pytest.raises(ValueError, match="trace must have a loss for each"):
        stability_phases(written(losses[:5], sharp, 4), step_size=0.5, every=2)


def test_divergence_of_a_descent_is_named_with_its_step():
    """x⁴ from 1 at rate 1: 1, −3, 105, … cubes until nothing is finite; the loss is so at the first time x⁴ is."""
    quartic = lambda x: jnp.sum(x**4)  # noqa: E731
    trace = descent_with_sharpness(quartic, jnp.ones(2), jnp.ones(2), step_size=1.0, steps=12, every=3)
    place, times = 1.0, 0
    with np.errstate(over="ignore"):
        while np.isfinite(2 * np.float64(place) ** 4):
            place, times = place - 4 * place**3, times + 1
    assert int(trace.diverged) == times < 12
    phases = stability_phases(trace, step_size=1.0, every=3)
    assert phases.diverged == times and phases.entered == 0 and np.isfinite(phases.highest)
    calm = descent_with_sharpness(quartic, jnp.ones(2), jnp.ones(2), step_size=0.01, steps=6, every=3)
    assert int(calm.diverged) == -1


@pytest.mark.item("A2.34", "A0.4")
def test_dense_sharpness_of_a_trained_network_is_at_the_edge(key):
    loss, start, direction = network(key, n=48, hidden=(16, 16))
    trace = jax.jit(lambda w: descent_with_sharpness(loss, w, direction, step_size=0.3, steps=1500, every=10))(start)
    phases = stability_phases(trace, step_size=0.3, every=10)
    dense = np.linalg.eigvalsh(jax.jit(lambda w: jax.hessian(loss)(w))(trace.position))[-1]
    assert float(trace.sharpness[-1]) == pytest.approx(dense, rel=1e-3)
    assert dense * 0.3 / 2 == pytest.approx(1, abs=0.1)
    assert phases.rises_before == 0 and phases.rises_after > 10
    assert float(trace.losses[-1]) < 0.2 * float(trace.losses[0])


@pytest.mark.parametrize("other", [jnp.float32, jnp.float64])
def test_a_direction_of_another_precision_serves(other):
    point = jnp.array([0.5, 1.0, -0.3], jnp.float64 if other == jnp.float32 else jnp.float32)
    direction = jnp.array([1.0, 0.2, 0.4], other)

    def bowl(x):
        return 0.5 * (x * jnp.array([1.0, 3.0, 2.0], x.dtype) * x).sum()

    largest, _ = sharpness(bowl, point, direction)
    assert largest.dtype == point.dtype and float(largest) == pytest.approx(3.0, rel=1e-5)
    trace = descent_with_sharpness(bowl, point, direction, step_size=0.1, steps=4, every=2)
    np.testing.assert_allclose(trace.sharpness, 3.0, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sharpness_of_losses_of_all_sizes(scale):
    curves = scale * jnp.linspace(-1.0, 3.0, 12)
    found, _ = sharpness(lambda x: 0.5 * jnp.sum(curves * x**2), jnp.ones(12), jnp.ones(12))
    assert found == pytest.approx(3 * scale)
