import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.optimization.empirical_risk import (
    autoencoder_saddle,
    negative_directions,
    neuron_movement_exponent,
    phase_retrieval_hessian,
    phase_retrieval_risk,
    risk_rate,
    training_regimes,
)

RNG = np.random.default_rng(12)


def test_rate_and_spectrum_of_a_quadratic():
    matrix = np.diag([3.0, 1.0, -2.0])
    points = RNG.standard_normal((5, 3))
    found = jax.jit(lambda points: risk_rate(lambda p: p @ matrix @ p / 2, points))(points)
    np.testing.assert_allclose(found.risk, np.einsum("ki,ij,kj->k", points, matrix, points) / 2, rtol=1e-12)
    np.testing.assert_allclose(found.rate, -np.sum((points @ matrix) ** 2, 1), rtol=1e-12)
    np.testing.assert_allclose(found.spectrum, np.broadcast_to([-2, 1, 3], (5, 3)), rtol=1e-12)
    np.testing.assert_array_equal(negative_directions(found.spectrum), 1)
    assert negative_directions(np.array([-1e-12, 1.0])) == 0


def test_saddle_of_a_network_at_the_origin():
    x, y = RNG.standard_normal((20, 3)), RNG.standard_normal((20, 2))

    def risk(p):
        inner, outer = p[:6].reshape(2, 3), p[6:].reshape(2, 2)
        return jnp.mean(jnp.sum((y - jnp.tanh(x @ inner.T) @ outer.T) ** 2, 1)) / 2

    spectrum = np.linalg.eigvalsh(jax.jit(jax.hessian(risk))(jnp.zeros(10)))
    np.testing.assert_allclose(autoencoder_saddle(x.T @ y / 20, hidden=2), spectrum, atol=1e-12)
    with pytest.raises(ValueError, match="hidden"):
        autoencoder_saddle(x.T @ y, hidden=0)


def test_phase_retrieval_against_quadrature_and_differentiation():
    weights, target = RNG.standard_normal((2, 2))
    nodes, masses = np.polynomial.hermite_e.hermegauss(8)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    measure = np.outer(masses, masses).ravel() / masses.sum() ** 2
    exact = measure @ ((grid @ weights) ** 2 - (grid @ target) ** 2) ** 2 / 4
    assert float(phase_retrieval_risk(weights, target)) == pytest.approx(exact, rel=1e-12)
    hessian = jax.jit(jax.hessian(phase_retrieval_risk))(weights, target)
    np.testing.assert_allclose(phase_retrieval_hessian(weights, target), hessian, atol=1e-12)


@pytest.mark.item("J8.3")
@pytest.mark.parametrize("scaling", [0.5, 0.75, 1.0])
def test_movement_of_neurons_tells_the_regimes_apart(scaling):
    """Networks of three widths, trained to the same time: how far the neurons went, as a power of the width."""
    x, y = RNG.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])
    moved, widths = [], np.array([64, 256, 1024])
    for width in widths:
        inner = np.concatenate([RNG.standard_normal((width // 2, 3))] * 2)
        outer = np.repeat([1.0, -1.0], width // 2)  # pairs that cancel: the outputs start at zero
        start, step = inner.copy(), 0.05 * width ** (2 * scaling - 1)
        for _ in range(40):
            hidden = np.tanh(x @ inner.T)
            residual = width**-scaling * hidden @ outer - y
            slopes = (1 - hidden**2) * outer * width**-scaling
            inner = inner - step * (slopes * residual[:, None]).T @ x
        moved.append(np.sqrt(np.mean((inner - start) ** 2)))
    slope = np.polyfit(np.log(widths), np.log(moved), 1)[0]
    assert slope == pytest.approx(neuron_movement_exponent(scaling), abs=0.1)


def test_names_of_the_regimes():
    def names(**settings):
        return {regime.name for regime in training_regimes(**settings) if regime.applies}

    assert names(width=4096, inputs=3, samples=4, scaling=0.5) == {"tangent kernel"}
    assert names(width=4096, inputs=3, samples=4, scaling=1.0) == {"mean field"}
    assert names(width=2, inputs=100, samples=500, scaling=0.5) == {"high-dimensional dynamics", "sample complexity"}
    with pytest.raises(ValueError, match="scaling"):
        training_regimes(width=1, inputs=1, samples=1, scaling=2.0)
    with pytest.raises(ValueError, match="width"):
        training_regimes(width=0, inputs=1, samples=1, scaling=0.5)
