"""Critical points of orthogonal tensors against a search, topology and a Hessian taken along geodesics."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes import tensor_decomposition as tensors

WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])


def basis(size, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


@pytest.mark.item("H5.7")
@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_the_list_has_the_euler_characteristic_of_the_sphere(dimension):
    points = tensors.tensor_critical_points(np.eye(dimension), np.arange(1.0, dimension + 1))
    assert sum(point.orbit for point in points) == 3**dimension - 1
    assert sum(point.orbit * (-1) ** point.index for point in points) == 1 + (-1) ** (dimension - 1)
    assert sum(point.orbit for point in points if point.index == 0) == 2 * dimension


@pytest.mark.slow
@pytest.mark.item("H5.7")
def test_every_point_is_critical_with_its_spectrum_along_great_circles():
    rows = basis(5)[:4]
    function = tensors.OrthogonalTensor(jnp.asarray(rows), jnp.asarray(WEIGHTS))
    points = tensors.tensor_critical_points(rows, WEIGHTS)
    places = jnp.asarray(np.stack([point.position for point in points]))
    spectra = jax.jit(jax.vmap(lambda u: tensors.sphere_spectrum(function, u)))(places)
    np.testing.assert_allclose(spectra, np.stack([point.spectrum for point in points]), atol=1e-10)
    np.testing.assert_allclose(jax.vmap(function)(places), [point.value for point in points], rtol=1e-12)
    gradients = np.asarray(jax.vmap(jax.grad(function))(places))
    along = gradients - np.sum(gradients * places, 1, keepdims=True) * places
    assert np.abs(along).max() < 1e-12
    # Second differences along great circles: f(cos h·u + sin h·v) + f(cos h·u − sin h·v) − 2f(u), over h².
    point = points[4]  # components 0 and 1
    assert point.chosen == (0, 1)
    inward = rows[0] / point.position.dot(rows[0]) - rows[1] / point.position.dot(rows[1])
    for direction, curvature in ((inward, -8), (rows[2], 4), (basis(5)[4], 4)):
        v, h = direction / np.linalg.norm(direction), 1e-3
        ends = [function(jnp.asarray(np.cos(h) * point.position + s * np.sin(h) * v)) for s in (1, -1)]
        second = float(ends[0] + ends[1] - 2 * function(jnp.asarray(point.position))) / h**2
        assert second == pytest.approx(curvature * -point.value, rel=1e-4)


def test_the_strict_saddle_constant_is_the_least_of_the_list():
    points = tensors.tensor_critical_points(np.eye(4), WEIGHTS)
    least = min(-point.spectrum[0] for point in points if point.index)
    assert tensors.strict_saddle_constant(WEIGHTS) == pytest.approx(least) == pytest.approx(8 / (1 + 0.5 + 2 + 2 / 3))


@pytest.mark.item("H5.7")
def test_one_step_online_by_hand():
    """u = e₁, x = (2, 1, 0): ⟨u, x⟩³x = 8(2, 1, 0); rate 1/16 leads to (0, −½, 0), so −e₂. Then e₁ and e₃ are left."""
    samples = jnp.array([[[2.0, 1.0, 0.0]], [[1.0, 5.0, 2.0]]])
    starts = jnp.array([[1.0, 0.0, 0.0], [3.0, 7.0, 4.0]])
    found = tensors.online_components(samples, starts, rates=jnp.array([1 / 16]))
    np.testing.assert_allclose(found[0], [0.0, -1.0, 0.0], atol=1e-14)
    u = np.array([0.6, 0.0, 0.8])
    u = u - (u @ [1.0, 5.0, 2.0]) ** 3 / 16 * np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(found[1], u / np.linalg.norm(u), rtol=1e-12)


@pytest.mark.item("H5.7")
def test_online_descent_starts_on_average_along_a_quarter_of_the_tensors_gradient():
    """Over all samples of a sign (fourth moment 1) and of a signal ±√(3/2) or 0, a third each (3/2): weights 2, 3/2."""
    rows, values = basis(2), ((-1.0, 1.0), (-(1.5**0.5), 0.0, 1.5**0.5))
    samples = jnp.asarray(np.array(list(product(*values))) @ rows)
    u = jnp.array([0.6, 0.8])

    def first_step(x, rate):
        return tensors.online_components(x[None, None], u[None], rates=rate[None])[0]

    moves = jax.vmap(lambda x: jax.jvp(lambda rate: first_step(x, rate), (jnp.zeros(()),), (jnp.ones(()),))[1])(samples)
    gradient = jax.grad(tensors.OrthogonalTensor(jnp.asarray(rows), jnp.array([2.0, 1.5])))(u)
    np.testing.assert_allclose(moves.mean(0), -(gradient - (gradient @ u) * u) / 4, atol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="orthonormal rows"):
        tensors.tensor_critical_points(np.ones((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="weights must be positive"):
        tensors.tensor_critical_points(np.eye(2), np.array([1.0, -1.0]))
