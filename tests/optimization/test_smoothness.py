"""Smoothness against dense eigenvalues and constants known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.landscapes.critical_points import inertia, kind_of_point, spectra_at
from deeptheory.optimization import landscapes as land
from deeptheory.optimization.promises import audit, parabola_promise, step_promise
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.saddle import perturbed_gradient_descent, uniform_ball
from deeptheory.optimization.smoothness import (
    curvature_range,
    lipschitz_estimates,
    power_method,
    smoothness_along,
)

pytestmark = pytest.mark.slow


@pytest.mark.item("A2.5", "A7.1")
def test_estimates_come_up_to_constants_known_in_closed_form(key):
    matrix = np.diag([3.0, -5.0, 1.0])
    x, y = uniform_ball(key, (400, 3)), uniform_ball(jax.random.fold_in(key, 1), (400, 3))
    found = lipschitz_estimates(land.Quadratic(jnp.asarray(matrix), jnp.zeros(3)), jnp.asarray(x), jnp.asarray(y))
    assert 4.5 < float(found.gradient) <= 5.0 + 1e-12 and float(found.hessian) < 1e-12
    # ‖x‖⁴/4 on the unit ball: 3 and 6, attained along a radius.
    quartic = lambda v: (v @ v) ** 2 / 4  # noqa: E731
    found = lipschitz_estimates(quartic, jnp.asarray(x), jnp.asarray(y))
    assert float(found.gradient) <= 3 and float(found.hessian) <= 6
    end = np.array([[1.0, 0.0, 0.0]])
    near = lipschitz_estimates(quartic, jnp.asarray(end), jnp.asarray(0.9999 * end))
    assert (float(near.gradient), float(near.hessian)) == (pytest.approx(3, rel=1e-3), pytest.approx(6, rel=1e-3))
    saddle = land.CubicSaddle(0.3, 1.7)
    found = lipschitz_estimates(saddle, jnp.asarray([[0.2, 0.0, 0.1]]), jnp.asarray([[0.7, 0.0, 0.1]]))
    assert float(found.hessian) == pytest.approx(1.7)
    with pytest.raises(ValueError, match="differ in every row"):
        lipschitz_estimates(quartic, jnp.asarray(end), jnp.asarray(end))


@pytest.mark.item("A2.31")
def test_power_method_by_dense_eigenvalues():
    random = np.random.default_rng(0)
    basis, _ = np.linalg.qr(random.standard_normal((6, 6)))
    for values in ([-4.0, 3.0, 1.0, 0.5, 0.1, 0.0], [4.0, -3.0, 1.0, 0.5, 0.1, 0.0]):
        bowl = land.Quadratic(jnp.asarray(basis * np.array(values) @ basis.T), jnp.zeros(6))
        estimates, vector = power_method(bowl, jnp.ones(6), jnp.asarray(random.standard_normal(6)), iterations=60)
        assert float(estimates[-1]) == pytest.approx(4.0, rel=1e-10)
        assert abs(float(vector @ basis[:, 0])) == pytest.approx(1.0, rel=1e-10)
        errors = 4.0 - np.asarray(estimates)[10:20]
        np.testing.assert_allclose(errors[1:] / errors[:-1], (3 / 4) ** 2, rtol=0.02)
    # λ and −λ of largest modulus: the estimate need not come near them.
    tied = land.Quadratic(jnp.diag(jnp.array([2.0, -2.0])), jnp.zeros(2))
    assert float(power_method(tied, jnp.ones(2), jnp.ones(2), iterations=40)[0][-1]) < 1e-12


@pytest.mark.item("A2.32", "A2.19")
def test_smoothness_along_a_run_and_the_assumptions_of_the_rates():
    random = np.random.default_rng(1)
    loss = land.TanhNetworkLoss(
        jnp.asarray(random.standard_normal((12, 3))), jnp.asarray(random.standard_normal(12)), (5,)
    )
    start = jnp.asarray(random.standard_normal(20))
    run = trajectory(loss, optax.sgd(0.3), start, steps=15)
    local = smoothness_along(loss, run.position, jnp.asarray(random.standard_normal(20)), iterations=200)
    dense = [np.abs(np.linalg.eigvalsh(jax.hessian(loss)(point))).max() for point in run.position]
    np.testing.assert_allclose(local, dense, rtol=1e-3)
    assert int(audit(step_promise(local, step_size=0.3)).violated) == int(
        np.argmax(0.3 * np.array(dense) > 2) if np.any(0.3 * np.array(dense) > 2) else -1
    )
    # Eq. 2.3 along the run with a β that holds, and one that does not; |f| ≤ M/2 likewise.
    wells = land.CosineSum(jnp.array([1.0, 0.25, 2.0]))
    run = trajectory(wells, optax.sgd(0.4), jnp.array([1.0, -2.0, 0.5]), steps=20)
    assert int(audit(parabola_promise(run, smoothness=2.0), error=1e-12).violated) == -1
    assert int(audit(parabola_promise(run, smoothness=1.0), error=1e-12).violated) == 0
    height = float(jnp.abs(run.value).max())
    assert int(audit((jnp.abs(run.value), jnp.full(21, height))).violated) == -1
    assert int(audit((jnp.abs(run.value), jnp.full(21, height / 2))).violated) == 0


@pytest.mark.item("L5.11")
def test_curvature_comes_up_to_constants_known_in_closed_form(key):
    random = np.random.default_rng(0)
    x, y = random.standard_normal((30, 3)), np.sign(random.standard_normal(30))
    points = jnp.asarray(np.concatenate([np.zeros((1, 3)), 2 * random.standard_normal((50, 3))]))
    loss = land.LogisticRidge(jnp.asarray(x), jnp.asarray(y), 0.1)
    least, largest = curvature_range(loss, points)
    # At w = 0 every logistic curvature is ¼: the smoothness is attained. Far out it falls to the ridge.
    assert float(largest) == pytest.approx(float(loss.smoothness), rel=1e-12)
    assert 0.1 < float(least) < 0.15
    bowl = land.Quadratic(jnp.diag(jnp.array([0.5, -2.0, 3.0])), jnp.zeros(3))
    np.testing.assert_allclose(curvature_range(bowl, points), (-2.0, 3.0), rtol=1e-12)


@pytest.mark.item("L5.5")
@pytest.mark.parametrize(("power", "minimum"), [(2, "minimum"), (3, "degenerate"), (4, "degenerate")])
def test_powers_of_one_variable(power, minimum):
    # x³ is no minimum and x⁴ is one: neither shows in two derivatives.
    spectrum = spectra_at(lambda v: v[0] ** power, jnp.zeros((1, 1))).eigenvalues[0]
    assert kind_of_point(spectrum) == minimum


@pytest.mark.item("A7.5")
def test_noise_at_every_step_has_the_stated_size_and_leaves_the_saddle():
    dimension, radius, step = 5, 0.05, 0.25
    method = optax.chain(optax.add_noise(radius**2 / dimension, 0.0, key=jax.random.key(3)), optax.scale(-step))
    flat = trajectory(lambda x: jnp.sum(0.0 * x), method, jnp.zeros(dimension), steps=4000)
    moves = np.diff(np.asarray(flat.position), axis=0) / step
    squares = np.sum(moves**2, 1)
    assert abs(squares.mean() - radius**2) < 5 * squares.std() / 4000**0.5
    run = trajectory(land.QuarticSaddle(0.5), method, jnp.array([0.0, 0.3, -0.2, 0.0, 0.1]), steps=400)
    assert float(run.value[-1]) < 0.9 * -0.0625
    still = trajectory(land.QuarticSaddle(0.5), optax.sgd(step), jnp.array([0.0, 0.3, -0.2, 0.0, 0.1]), steps=400)
    assert float(still.value[-1]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.item("A7.18")
def test_perturbed_descent_factors_a_matrix_from_the_saddle_at_zero(key):
    z = np.random.default_rng(2).standard_normal(20)
    z = z / np.linalg.norm(z)
    matrix = jnp.asarray(np.outer(z, z))
    loss = lambda x: jnp.sum((matrix - jnp.outer(x, x)) ** 2)  # noqa: E731
    method = perturbed_gradient_descent(step_size=0.05, radius=0.1, tolerance=1e-3, patience=200)
    draws = jnp.asarray(uniform_ball(key, (600, 20)))
    run = trajectory(loss, method, jnp.zeros(20), steps=600, draws=draws)
    best = int(jnp.argmin(run.value))
    assert float(run.value[best]) < 1e-10
    np.testing.assert_allclose(np.abs(np.asarray(run.position[best]) @ z), 1.0, atol=1e-5)
    spectra = spectra_at(loss, jnp.stack([jnp.zeros(20), run.position[best]])).eigenvalues
    assert inertia(spectra).tolist() == [[1, 19, 0], [0, 0, 20]]
    assert float(trajectory(loss, optax.sgd(0.05), jnp.zeros(20), steps=10).value[-1]) == pytest.approx(1.0)
