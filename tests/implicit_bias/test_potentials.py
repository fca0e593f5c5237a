import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.implicit_bias.mirror import bregman_divergence, conjugate
from deeptheory.implicit_bias.potentials import (
    ENTROPY,
    hypentropy,
    quadratic,
    smooth_norm,
    spectral_entropy,
    squared_norm,
)
from example_potentials import MATRIX, POTENTIALS

RNG = np.random.default_rng(5)
START = RNG.standard_normal(7)


@pytest.mark.item("A8.5")
@pytest.mark.parametrize("name", POTENTIALS)
def test_gradient_inverse_and_metric_are_derivatives_of_the_value(name):
    potential, sides = POTENTIALS[name], 1e-5 * np.eye(7)
    slope = [(potential.value(START + side) - potential.value(START - side)) / 2e-5 for side in sides]
    bend = [(potential.gradient(START + side) - potential.gradient(START - side)) / 2e-5 for side in sides]
    np.testing.assert_allclose(potential.gradient(START), slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(potential.inverse(potential.gradient(START)), START, rtol=1e-10)
    np.testing.assert_allclose(potential.metric(START) @ np.array(bend), np.eye(7), atol=1e-6)


def test_a_norm_given_as_a_function():
    given, known = smooth_norm(lambda w: jnp.sqrt(w @ MATRIX @ w), 7), quadratic(MATRIX)
    for one, other in zip(given, known, strict=True):
        np.testing.assert_allclose(one(jnp.asarray(START)), other(START), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="triangle"):
        smooth_norm(lambda w: jnp.sum(jnp.sqrt(jnp.abs(w))) ** 2, 4)
    with pytest.raises(ValueError, match="2‖w‖"):
        smooth_norm(lambda w: w @ w, 4)
    with pytest.raises(ValueError, match="positive away"):
        smooth_norm(lambda w: jnp.abs(w).max() * jnp.sign(w[0]), 4)


def test_spectral_entropy_of_a_diagonal_matrix_is_the_entropy():
    potential, values = spectral_entropy(), np.array([0.3, 1.0, 2.5])
    rotation = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    matrix = rotation * values @ rotation.T
    np.testing.assert_allclose(potential.value(matrix), ENTROPY.value(values), rtol=1e-12)
    np.testing.assert_allclose(potential.inverse(potential.gradient(matrix)), matrix, rtol=1e-12, atol=1e-13)
    # Along a symmetric direction the metric is the derivative of the matrix exponential.
    side = RNG.standard_normal((3, 3))
    side, dual = side + side.T, potential.gradient(matrix)
    ahead, behind = (potential.inverse(dual + step * side) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(
        (potential.metric(matrix) @ side.ravel()).reshape(3, 3), (ahead - behind) / 2e-5, atol=1e-7
    )


@pytest.mark.parametrize("power", [0.9, -1.0, np.nan])
def test_what_is_no_norm_is_refused(power):
    with pytest.raises(ValueError, match="power must"):
        squared_norm(power)
    with pytest.raises(ValueError, match="positive definite"):
        quadratic(np.diag([1.0, -0.1]))


def test_derivatives_in_the_scale_of_the_start_by_hand():
    """dR_α/dα = (α/2) Σ 2 − √(4 + w²/α⁴): of q − zq′ the inverse hyperbolic sine drops out."""
    scale = 0.6

    def by_hand(w):
        return scale / 2 * np.sum(2 - np.sqrt(4 + w**2 / scale**4))

    for weights in (START, jnp.asarray(START)):
        found = jax.jit(jax.grad(lambda a, w=weights: hypentropy(a).value(w)))(scale)
        assert float(found) == pytest.approx(by_hand(START), rel=1e-12)
    slope = jax.jacobian(lambda a: hypentropy(a).gradient(START))(scale)
    np.testing.assert_allclose(slope, -START / (2 * scale * np.sqrt(START**2 + 4 * scale**4)), rtol=1e-12)
    metric = jax.jacobian(lambda a: hypentropy(a).metric(START))(scale)
    np.testing.assert_allclose(metric, np.diag(32 * scale**3 / np.sqrt(START**2 + 4 * scale**4)), rtol=1e-12)
    # The conjugate moves against the value, at the point where the slope is met.
    dual = hypentropy(scale).gradient(START)
    assert jax.grad(lambda a: conjugate(hypentropy(a), dual))(scale) == pytest.approx(-by_hand(START), rel=1e-10)
    other = np.abs(START) + 0.1
    gap = jax.grad(lambda a: bregman_divergence(hypentropy(a), START, other))(scale)
    moved = -other / (2 * scale * np.sqrt(other**2 + 4 * scale**4))
    assert gap == pytest.approx(by_hand(START) - by_hand(other) - moved @ (START - other), rel=1e-10)
    each = jax.vmap(lambda a: hypentropy(a).value(START))(np.array([0.1, 0.6]))
    np.testing.assert_allclose(each, [hypentropy(a).value(START) for a in (0.1, 0.6)], rtol=1e-12)


def test_derivatives_in_the_matrix_of_a_quadratic_by_hand():
    by_matrix = jax.jit(jax.grad(lambda d: quadratic(d).value(START)))(MATRIX)
    np.testing.assert_allclose(by_matrix, np.outer(START, START) / 2, rtol=1e-12)
    inverse = np.linalg.inv(MATRIX)
    turned = jax.jacobian(lambda d: quadratic(d).inverse(START))(MATRIX)
    np.testing.assert_allclose(turned, -np.einsum("ij,k->ijk", inverse, inverse @ START), rtol=1e-9, atol=1e-12)
    assert np.isnan(jax.jit(lambda d: quadratic(d).value(np.ones(2)))(np.diag([1.0, -0.1])))
