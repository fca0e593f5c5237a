import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kstest

from deeptheory.generalization.capacity.growth import linearly_separable
from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity
from deeptheory.kernels.finite.features import (
    feature_limit_kernel,
    fourier,
    fourier_variance,
    init_random_features,
    initial_law,
    laplace_kernel,
    polynomial_features,
    polynomial_kernel,
    quadratic_features,
    rbf_kernel,
    sample_gaussian_process,
    train_features,
    trained_law,
    zero_crossing_rate,
)
from deeptheory.kernels.finite.first_layer import first_layer_gram, first_layer_limit, first_layer_series
from deeptheory.kernels.layers.activations import Erf, Relu
from deeptheory.kernels.regression.predictions import GaussianLaw

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(4)


def test_methods_of_the_random_feature_model_refuse_nonsense(key):
    model = init_random_features(key, inputs=3, count=4)
    x, theta = np.ones((2, 3)), np.ones(4)
    assert model.kernel(x).shape == (2, 2) and model.outputs(theta, x).shape == (2,)
    for spoilt, sentence in ((x * np.nan, "x must be finite"), (x[:, :2], "3 columns"), ("a", "x must be an array")):
        for call in (model.features, model.kernel, lambda x: model.outputs(theta, x)):
            with pytest.raises((TypeError, ValueError), match=sentence):
                call(spoilt)
    with pytest.raises(ValueError, match="other must have shape"):
        model.kernel(x, np.ones((2, 2)))
    with pytest.raises(ValueError, match="theta must have 4 entries"):
        model.outputs(np.ones(3), x)
    np.testing.assert_array_equal(jax.jit(model.kernel)(x), model.kernel(x))


@pytest.mark.item("L7.1")
def test_quadratic_features_have_the_squared_kernel():
    x = RNG.standard_normal((50, 2))
    features = np.asarray(quadratic_features(x))
    np.testing.assert_allclose(features @ features.T, (x @ x.T) ** 2, rtol=1e-12, atol=1e-13)
    assert np.linalg.eigvalsh(rbf_kernel(x)).min() > -1e-10


@pytest.mark.parametrize(("degree", "count"), [(1, 4), (2, 10), (3, 20)])
def test_polynomial_features_have_the_polynomial_kernel(degree, count):
    x, other = RNG.standard_normal((8, 3)), RNG.standard_normal((5, 3))
    left, right = (np.asarray(polynomial_features(points, degree=degree)) for points in (x, other))
    assert left.shape == (8, count)
    np.testing.assert_allclose(left @ right.T, (1 + x @ other.T) ** degree, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(polynomial_kernel(x, other, degree=degree), left @ right.T, rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match="degree"):
        polynomial_features(x, degree=0)


def test_laplace_kernel_against_distances():
    x, other = RNG.standard_normal((8, 3)), RNG.standard_normal((5, 3))
    np.testing.assert_allclose(laplace_kernel(x, other, scale=1.7), np.exp(-cdist(x, other) / 1.7), rtol=1e-13)
    np.testing.assert_allclose(np.diag(laplace_kernel(x)), 1)


@pytest.mark.item("L7.2")
def test_rings_become_separable_when_lifted():
    angle = RNG.uniform(0, 2 * np.pi, 100)
    radius = np.where(np.arange(100) < 50, 1.0, 2.0) + RNG.uniform(-0.1, 0.1, 100)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = np.where(np.arange(100) < 50, 1.0, -1.0)
    assert not linearly_separable(points, labels)
    assert linearly_separable(quadratic_features(points), labels)


@pytest.mark.item("L7.6")
@pytest.mark.parametrize(
    ("activation", "layer"), [(jax.nn.relu, Relu()), (jax.scipy.special.erf, Erf()), (fourier, None)]
)
def test_feature_kernel_approaches_its_limit(key, activation, layer):
    x = RNG.standard_normal((6, 3))
    model = init_random_features(key, inputs=3, count=40_000, activation=activation, random_phases=layer is None)
    limit = rbf_kernel(x) if layer is None else feature_limit_kernel(x, activation=layer)
    products = np.asarray(model.features(x) * np.sqrt(40_000))
    error = np.einsum("ip,jp->ijp", products, products).std(-1) / np.sqrt(40_000)
    assert (np.abs(np.asarray(model.kernel(x) - limit)) < 5 * error).all()


def test_variance_of_random_fourier_features():
    x = np.array([[0.0, 0.0], [0.7, -0.4]])
    phases = 2 * np.pi * np.arange(64) / 64  # the mean over phases is exact, that over directions a quadrature
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    measure = np.outer(weights, weights).ravel() / weights.sum() ** 2
    values = np.sqrt(2) * np.cos((x @ grid.T)[:, :, None] + phases)
    products = values[:, None] * values[None]
    first, second = (measure @ np.moveaxis(products**power, 2, 0).mean(-1).reshape(3600, 4) for power in (1, 2))
    np.testing.assert_allclose(fourier_variance(x).ravel(), second - first**2, rtol=1e-10)


@pytest.mark.item("L7.10", "L7.11")
def test_laws_of_the_random_feature_model_before_and_after_training(key):
    x, other, y = RNG.standard_normal((5, 3)), RNG.standard_normal((2, 3)), RNG.standard_normal(5)
    model = init_random_features(key, inputs=3, count=50)
    theta = RNG.standard_normal((4000, 50))
    start = np.asarray(model.outputs(theta, x))
    law = initial_law(model, x)
    variance = np.diag(law.covariance)
    tolerance = 6 * np.sqrt((np.outer(variance, variance) + np.asarray(law.covariance) ** 2) / 4000)
    assert (np.abs(np.cov(start.T) - law.covariance) < tolerance).all()
    assert kstest(start[:, 0] / np.sqrt(variance[0]), "norm").pvalue > 1e-4

    features = model.features(x)
    step = 1 / np.linalg.norm(features, 2) ** 2
    final = train_features(features, y, theta, step_size=step, steps=2000)
    after, law = np.asarray(model.outputs(final, other)), trained_law(model, x, y, other)
    spread = np.sqrt(np.diag(law.covariance))
    assert (np.abs(after.mean(0) - law.mean) < 5 * spread / np.sqrt(4000)).all()
    assert (np.abs(after.std(0) / spread - 1) < 5 / np.sqrt(8000)).all()
    on_train = trained_law(model, x, y, x)
    np.testing.assert_allclose(on_train.mean, y, atol=1e-8)
    np.testing.assert_allclose(on_train.covariance, 0, atol=1e-9)
    early = trained_law(model, x, y, other, time=0.0)
    np.testing.assert_allclose(early.covariance, model.kernel(other), rtol=1e-12)


@pytest.mark.item("L7.8", "L7.9")
def test_paths_of_a_gaussian_process(key):
    grid = np.linspace(0, 10, 201)[:, None]
    law = GaussianLaw(jnp.zeros(201), rbf_kernel(grid))
    paths = sample_gaussian_process(key, law, count=2000)
    correlation = np.mean(paths[:, 100:101] * paths, 0)
    np.testing.assert_allclose(correlation, np.exp(-((grid[:, 0] - 5) ** 2) / 2), atol=6 / np.sqrt(2000))
    crossings = (np.sign(paths[:, 1:]) != np.sign(paths[:, :-1])).sum(1) / 10
    assert crossings.mean() == pytest.approx(zero_crossing_rate(), abs=5 * crossings.std() / np.sqrt(2000) + 1e-3)
    assert kstest(paths[:, 40], "norm").pvalue > 1e-4


@pytest.mark.item("L7.21", "L7.22")
def test_first_layer_gram_from_explicit_gradients_and_its_limit():
    x = RNG.standard_normal((6, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    weights = RNG.standard_normal((7, 4))
    jacobian = jax.jacrev(lambda w: jax.nn.relu(x @ w.T).sum(1) / np.sqrt(7))(jnp.asarray(weights)).reshape(6, -1)
    np.testing.assert_allclose(first_layer_gram(weights, x), jacobian @ jacobian.T, atol=1e-12)
    many = RNG.standard_normal((40_000, 4))
    limit = np.asarray(first_layer_limit(x))
    assert np.abs(np.asarray(first_layer_gram(many, x)) - limit).max() < 5 * 0.5 / np.sqrt(40_000)
    np.testing.assert_allclose(np.diag(limit), 0.5, rtol=1e-14)


@pytest.mark.item("L7.23")
def test_series_of_the_limit():
    rho = np.array([-0.9, -0.3, 0.0, 0.5, 0.8])
    closed = rho * (np.pi - np.arccos(rho)) / (2 * np.pi)
    np.testing.assert_allclose(first_layer_series(rho, terms=200), closed, atol=1e-14)
    errors = [0.5 - float(first_layer_series(np.array(1.0), terms=n)) for n in (100, 400)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.02)


@pytest.mark.item("L7.24")
@pytest.mark.parametrize(("n", "d"), [(10, 25), (60, 6)])
def test_complexity_of_a_linear_target(n, d):
    x = RNG.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    beta = RNG.standard_normal(d)
    gram = np.asarray(first_layer_limit(x))
    y = x @ beta
    found = kernel_label_complexity(gram, y)
    assert found == pytest.approx(np.sqrt(2 * y @ np.linalg.inv(gram) @ y * n / 2) / n, rel=1e-6)
    assert found <= 2 * np.linalg.norm(beta) / np.sqrt(n)
