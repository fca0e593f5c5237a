"""Neurons against quadrature and sampling; orbits, averages and passes against functions worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from deeptheory.landscapes.critical_points import inertia, spectra_at
from deeptheory.landscapes.near_initialization import (
    LARGEST_CURVATURE,
    linearization_bound,
    linearized_shallow,
    shallow_gradient,
    shallow_output,
)
from deeptheory.landscapes.relu_students import ReluStudentLoss, relu_product
from deeptheory.landscapes.single_neuron import (
    MatchingLoss,
    NeuronLoss,
    erf_neuron_loss,
    relu_neuron_loss,
    secant_correlation,
)
from deeptheory.landscapes.symmetry import NeuronSumLoss, mountain_pass, permutation_orbit, symmetrized

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
W, TARGET = np.array([0.8, -0.3]), np.array([0.5, 1.1])


def gaussian_mean(function):
    """The mean over a standard Gaussian in the plane, by Gauss–Hermite quadrature."""
    x = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1)
    return np.einsum("i,j,ij->", WEIGHTS, WEIGHTS, function(x))


@pytest.mark.item("A6.9")
def test_closed_forms_against_quadrature():
    smooth = gaussian_mean(lambda x: (erf(x @ TARGET) - erf(x @ W)) ** 2 / 2)
    assert erf_neuron_loss(W, TARGET) == pytest.approx(smooth, rel=1e-9)
    kinked = gaussian_mean(lambda x: (np.maximum(x @ TARGET, 0) - np.maximum(x @ W, 0)) ** 2 / 2)
    assert relu_neuron_loss(W, TARGET) == pytest.approx(kinked, rel=2e-3)
    assert relu_neuron_loss(W, -W) == pytest.approx(W @ W / 2)


@pytest.mark.item("A6.11")
def test_surrogate_by_hand():
    inputs, target = jnp.array([[1.0, 0.0], [0.0, 2.0]]), jnp.array([0.3, -0.4])
    loss = MatchingLoss(inputs, target, jnp.tanh, lambda u: jnp.log(jnp.cosh(u)))
    w = jnp.array([1.0, 0.5])
    expected = (np.log(np.cosh(1)) - np.tanh(0.3) + np.log(np.cosh(1)) - np.tanh(-0.8)) / 2
    assert loss(w) == pytest.approx(expected)
    gradient = [(np.tanh(1) - np.tanh(0.3)) / 2, (np.tanh(1) - np.tanh(-0.8)) * 2 / 2]
    np.testing.assert_allclose(jax.grad(loss)(w), gradient)
    np.testing.assert_allclose(jax.grad(loss)(target), np.zeros(2), atol=1e-15)


@pytest.mark.item("A6.10")
def test_correlation_of_a_cubic_activation_by_hand():
    inputs, w, target = jnp.array([[1.0]]), jnp.array([2.0]), jnp.array([1.0])
    cube = lambda u: u**3  # noqa: E731
    # secant 7, slope at w 12, squared distance 1
    assert secant_correlation(inputs, w, target, cube) == pytest.approx(84.0)
    loss = NeuronLoss(inputs, target, cube)
    assert jax.grad(loss)(w)[0] * 1.0 == pytest.approx(84.0)
    assert loss(w) == pytest.approx(24.5)


@pytest.mark.item("A6.12")
def test_orbits_and_averages():
    weights = np.arange(6.0).reshape(3, 2)
    orbit = permutation_orbit(weights)
    assert orbit.shape == (6, 3, 2)
    assert len(np.unique(orbit.reshape(6, -1), axis=0)) == 6
    np.testing.assert_allclose(orbit.mean(axis=0), symmetrized(weights))
    loss = NeuronSumLoss(jnp.array([[1.0, 0.0]]), jnp.array([0.5]))
    assert loss(jnp.array([1.0, 0.0, 2.0, 5.0])) == pytest.approx((np.tanh(1) + np.tanh(2) - 0.5) ** 2 / 2)
    with pytest.raises(ValueError, match="at most 8 rows"):
        permutation_orbit(np.ones((9, 1)))


@pytest.mark.item("A6.13")
def test_the_pass_of_a_double_well_in_the_plane():
    # The segment leads over a hill at 0; the passes are at (0, ±1), of value 1/2.
    well = lambda w: (w[0] ** 2 + w[1] ** 2 - 1) ** 2 + (1 - w[0] ** 2) / 2  # noqa: E731
    ends = jnp.array([-(1.25**0.5), 0.0]), jnp.array([1.25**0.5, 0.0])
    top, path = mountain_pass(well, *ends, bend=jnp.array([0.0, 0.5]), step_size=0.02)
    np.testing.assert_allclose(top, [0.0, 1.0], atol=1e-8)
    assert path.shape == (21, 2)
    assert inertia(np.asarray(spectra_at(well, top[None]).eigenvalues))[0, 0] == 1
    # A path that has not yet left the hill, where two directions lead down, points to the pass beside it.
    early, path = mountain_pass(well, *ends, bend=jnp.array([0.0, 1e-3]), step_size=0.02, steps=10)
    assert float(well(path[10])) > 1.49
    np.testing.assert_allclose(early, [0.0, 1.0], atol=1e-8)


@pytest.mark.item("L6.2")
def test_relu_products_by_sampling_and_at_zero_loss():
    x = np.random.default_rng(0).standard_normal((400_000, 2))
    seen = np.maximum(x @ W, 0) * np.maximum(x @ TARGET, 0)
    assert relu_product(W, TARGET) == pytest.approx(seen.mean(), abs=5 * seen.std() / len(seen) ** 0.5)
    assert relu_product(W, W) == pytest.approx(W @ W / 2)
    loss = ReluStudentLoss(jnp.eye(3))
    assert loss(jnp.asarray(np.eye(3)[[2, 0, 1]].ravel())) == pytest.approx(0.0, abs=1e-12)
    assert loss(jnp.zeros(3)) == pytest.approx((3 / 2 + 6 / (2 * np.pi)) / 2)


@pytest.mark.item("L6.24")
@pytest.mark.parametrize(
    ("name", "activation"), [("tanh", jnp.tanh), ("sigmoid", jax.nn.sigmoid), ("softplus", jax.nn.softplus)]
)
def test_largest_curvatures(name, activation):
    grid = jnp.linspace(-4, 4, 80_001)
    found = jnp.abs(jax.vmap(jax.grad(jax.grad(activation)))(grid)).max()
    assert LARGEST_CURVATURE[name] == pytest.approx(float(found), rel=1e-8)


@pytest.mark.item("L6.24")
def test_linearization_by_hand():
    weights, initial, signs, x = (
        jnp.array([[2.0], [1.0]]),
        jnp.array([[1.0], [1.0]]),
        jnp.array([1.0, -1.0]),
        jnp.array([3.0]),
    )
    square = lambda u: u**2  # noqa: E731
    assert shallow_output(weights, signs, x, square) == pytest.approx((36 - 9) / 2**0.5)
    np.testing.assert_allclose(shallow_gradient(initial, signs, x, square), np.array([[18.0], [-18.0]]) / 2**0.5)
    assert linearized_shallow(weights, initial, signs, x, square) == pytest.approx(18 / 2**0.5)
    assert linearization_bound(2, 2.0, moved=1.0, square=9.0) == pytest.approx(9 / 2**0.5)  # attained: 27 − 18
