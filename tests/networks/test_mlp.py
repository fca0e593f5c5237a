import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from deeptheory.networks.mlp import MLP, backpropagate, init_mlp, parameter_count, relu_excess_kurtosis


def inputs(n=4, d=3):
    return np.random.default_rng(0).standard_normal((n, d))


@pytest.mark.item("A9.20", "J8.8")
def test_forward_pass_against_loops():
    network = init_mlp(jax.random.key(1), (3, 5, 4, 2), activation=jnp.tanh, weight_scale=1.3, bias_scale=0.4)
    for x, output in zip(inputs(), network(inputs()), strict=True):
        hidden = x
        for layer, (w, b) in enumerate(zip(network.weights, network.biases, strict=True)):
            scale = 1.0 if layer == 0 else 1.3 / np.sqrt(len(hidden))
            sums = [scale * sum(w[i, j] * hidden[j] for j in range(len(hidden))) + 0.4 * b[i] for i in range(len(b))]
            hidden = np.tanh(sums)
        np.testing.assert_allclose(output, sums, rtol=1e-12)


@pytest.mark.item("J8.8")
def test_parameter_count():
    assert parameter_count((5, 1024, 1024, 1)) == 1_056_769
    network = init_mlp(jax.random.key(0), (5, 7, 3, 2))
    assert parameter_count((5, 7, 3, 2)) == sum(leaf.size for leaf in jax.tree.leaves(network))


@pytest.mark.item("A9.21")
@pytest.mark.parametrize("activation", [jax.nn.relu, erf])
def test_factors_against_finite_differences(activation):
    network = init_mlp(
        jax.random.key(2), (3, 6, 5, 2), activation=activation, weight_scale=1.2, bias_scale=0.5, input_scale=0.7
    )
    x, step = inputs(), 1e-6
    apply = jax.jit(lambda network: network(x))
    forward, backward = backpropagate(network, x)
    for layer, w in enumerate(network.weights):
        gradient = np.einsum("noi,nj->noij", backward[layer], forward[layer])
        for i, j in [(0, 0), (w.shape[0] - 1, w.shape[1] - 1)]:

            def moved(by, layer=layer, w=w, i=i, j=j):
                changed = w.copy()
                changed[i, j] += by
                weights = (*network.weights[:layer], changed, *network.weights[layer + 1 :])
                return apply(MLP(weights, network.biases, activation, 1.2, 0.5, 0.7))

            numeric = (moved(step) - moved(-step)) / (2 * step)
            np.testing.assert_allclose(gradient[:, :, i, j], numeric, atol=1e-7)


def test_other_weights_on_the_way_back():
    network, fresh = (init_mlp(jax.random.key(k), (3, 6, 5, 1)) for k in (1, 2))
    forward, backward = backpropagate(network, inputs(), fresh.weights)
    slopes = [f > 0 for f in network.preactivations(inputs())]
    expected = slopes[1] * fresh.weights[2] / np.sqrt(5)
    np.testing.assert_allclose(backward[1][:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(backward[0][:, 0], slopes[0] * (expected @ fresh.weights[1]) / np.sqrt(6), rtol=1e-12)
    assert backward[2].shape == (4, 1, 1) and forward[0].shape == (4, 3)


@pytest.mark.item("L7.17", "J8.9")
def test_excess_kurtosis_against_moments_of_the_rectified_normal():
    # Var(ReLU(z)²) by quadrature on the half line, and the product over layers by simulation of the norms alone.
    z = np.linspace(0, 12, 200_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    second, fourth = (np.trapezoid(z**power * density, z) for power in (2, 4))
    assert fourth - second**2 == pytest.approx(5 / 4, abs=1e-9)
    assert relu_excess_kurtosis((8,)) == pytest.approx(15 / 8)
    rng = np.random.default_rng(4)
    network = [rng.standard_normal((40_000, m, n)) for n, m in ((2, 8), (8, 6))]
    hidden = np.array([1.0, 0.0])
    for w, m in zip(network, (8, 6), strict=True):
        hidden = np.sqrt(2 / m) * np.maximum((w @ hidden[..., None])[..., 0], 0)
    norms = np.sum(hidden**2, 1)
    assert 3 * (np.mean(norms**2) - 1) == pytest.approx(relu_excess_kurtosis((8, 6)), rel=0.06)
    assert np.mean(norms) == pytest.approx(1, abs=0.02)


def test_doors():
    with pytest.raises(ValueError, match="input and an output"):
        init_mlp(jax.random.key(0), (3,))


def test_kurtosis_of_very_wide_networks():
    assert relu_excess_kurtosis((10**12, 10**13)) == pytest.approx(15 * 1.1e-12, rel=1e-11)
