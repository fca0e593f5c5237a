import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generative.density_models import normalised, ring_of_gaussians, total_mass
from deeptheory.generative.flows import (
    change_of_variables,
    coupled,
    flow_log_density,
    flow_noise,
    init_flow,
    pointwise_convolution,
    pointwise_log_determinant,
    sample_flow,
    train_flow,
    uncoupled,
)
from deeptheory.generative.mixtures import log_density, sample_mixture

FLOW = init_flow(jax.random.key(0), 2, layers=4, hidden=8)
FLOW = FLOW._replace(outer=40 * FLOW.outer)


@pytest.mark.item("A14.16")
def test_density_against_the_full_jacobian():
    points = np.random.default_rng(0).standard_normal((6, 2))
    by_layers = flow_log_density(FLOW, points)
    by_jacobian = change_of_variables(lambda x: flow_noise(FLOW, x[None])[0][0], points)
    np.testing.assert_allclose(by_layers, by_jacobian, rtol=1e-10)
    assert normalised(lambda x: np.asarray(flow_log_density(FLOW, x))) == pytest.approx(1, abs=1e-5)


def test_samples_are_the_inverse_of_the_noise():
    samples = sample_flow(np.random.default_rng(1), FLOW, 6)
    noise = np.random.default_rng(1).standard_normal((6, 2))
    np.testing.assert_allclose(flow_noise(FLOW, samples)[0], noise, atol=1e-12)


@pytest.mark.item("A14.17")
def test_one_layer_by_hand():
    def conditioner(z):
        return 0.7 + 0 * z, 0.3 + z[:, :1] * jnp.ones(2)

    kept, point = np.array([1.0, 0.0]), np.array([[2.0, 1.1]])
    image, logs = coupled(point, kept, conditioner)
    np.testing.assert_allclose(image, [[2.0, 1.1 * np.exp(0.7) + 2.3]])
    np.testing.assert_allclose(logs, [0.7])
    np.testing.assert_allclose(uncoupled(image, kept, conditioner), point, rtol=1e-14)


def test_what_is_not_invertible_is_refused():
    points = np.array([[1.0, 2.0], [-1.0, 2.0]])
    with pytest.raises(ValueError, match="of both signs"):
        change_of_variables(lambda x: x**2, points)
    with pytest.raises(ValueError, match="singular at 2"):
        change_of_variables(lambda x: jnp.stack([x[0], x[0]]), points)
    with pytest.raises(ValueError, match="matrix must be invertible"):
        pointwise_log_determinant(np.ones((2, 2)), 4)
    with pytest.raises(ValueError, match="total mass"):
        normalised(lambda x: -(x**2).sum(1))


def test_pointwise_convolution_is_a_matrix_a_pixel():
    matrix, image = np.array([[2.0, 1.0], [0.5, 3.0]]), np.arange(8.0).reshape(1, 2, 2, 2)
    np.testing.assert_allclose(pointwise_convolution(image, matrix)[0, 1, 0], matrix @ image[0, 1, 0])
    assert pointwise_log_determinant(matrix, 4) == pytest.approx(4 * np.log(5.5))


@pytest.mark.slow
@pytest.mark.item("A14.20")
def test_training_comes_nearer_to_a_known_law_and_never_beyond():
    draw, truth = np.random.default_rng(2), ring_of_gaussians(4)
    train, test = sample_mixture(draw, truth, 4000), sample_mixture(draw, truth, 4000)
    losses = []
    for steps in (1, 100, 400):
        flow, _ = train_flow(np.random.default_rng(3), init_flow(jax.random.key(1), 2), train, steps=steps)
        losses.append(np.mean(log_density(truth, test) - np.asarray(flow_log_density(flow, test))))
    assert losses[0] > losses[1] > losses[2] > 0
    assert losses[2] < 0.4
    assert total_mass(lambda x: np.asarray(flow_log_density(flow, x))) == pytest.approx(1, abs=0.01)
