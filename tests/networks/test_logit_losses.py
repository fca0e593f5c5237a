import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import softmax

from deeptheory.foundations.cross_entropy import softmax_jacobian
from deeptheory.networks.from_scratch import cross_entropy
from deeptheory.networks.logit_losses import (
    Perceptron,
    binary_residual,
    perceptron_outputs,
    perceptron_slopes,
    softmax_residual,
    train_perceptron,
)

LABEL = np.array([0.0, 1.0, 0.0])


@pytest.mark.item("L2.10")
@pytest.mark.item("L2.11")
def test_softmax_slope_against_jax():
    logits = np.array([0.3, -1.2, 2.0])
    slope = jax.jit(jax.grad(lambda z: -jnp.sum(LABEL * jax.nn.log_softmax(z))))(logits)
    np.testing.assert_allclose(softmax_residual(logits, LABEL), slope, rtol=1e-12)


@pytest.mark.item("L2.10")
def test_logits_are_known_up_to_a_constant_and_may_be_large():
    logits = np.array([1000.0, 998.0, -1000.0])
    np.testing.assert_allclose(softmax_residual(logits - 998, LABEL), softmax_residual(logits, LABEL), rtol=1e-12)


@pytest.mark.item("L2.14")
def test_the_binary_slope_is_that_of_softmax_with_two_classes():
    z, y = np.array([-2.0, 0.1, 3.0]), np.array([1.0, 0.0, 1.0])
    pair, labels = np.stack([z, 0 * z], -1), np.stack([y, 1 - y], -1)
    np.testing.assert_allclose(binary_residual(z, y), softmax_residual(pair, labels)[:, 0], rtol=1e-12)
    up, down = (cross_entropy((z + step)[:, None], y[:, None]) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(binary_residual(z, y), (up - down) / 2e-6, atol=1e-9)


@pytest.mark.item("L2.12")
def test_perceptron_slopes_against_jax():
    rng = np.random.default_rng(0)
    net, x, y = Perceptron(rng.standard_normal(4), rng.standard_normal((4, 3))), *rng.standard_normal((2, 6, 3))
    y = y[:, 0]

    def loss(net):
        return jnp.mean((jax.nn.sigmoid(x @ net.inner.T) @ net.outer - y) ** 2) / 2

    theirs = jax.jit(jax.grad(loss))(net)
    for ours, other in zip(perceptron_slopes(net, x, y), theirs, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-12)


@pytest.mark.item("L2.12")
def test_the_perceptron_learns_a_sine():
    rng = np.random.default_rng(1)
    inputs = np.linspace(-1, 1, 40)
    x, y = np.stack([inputs, np.ones(40)], 1), np.sin(np.pi * inputs)
    start = Perceptron(0.5 * rng.standard_normal(10), 3 * rng.standard_normal((10, 2)))
    net, losses = train_perceptron(jax.random.key(0), start, x, y, step_size=0.2, steps=4000)
    assert np.mean((perceptron_outputs(net, x) - y) ** 2) < 0.02
    assert np.mean(losses[-500:]) < 0.1 * np.mean(losses[:500])


@pytest.mark.parametrize("sure", [5.0, 40.0, 300.0])
def test_slopes_of_what_is_all_but_sure_keep_their_digits(sure):
    rest = float(1 / (1 + mpmath.exp(mpmath.mpf(sure))))
    logits, labels = np.array([sure, -sure, sure]), np.array([1.0, 0.0, 0.25])
    np.testing.assert_allclose(binary_residual(logits, labels), [-rest, rest, 0.75 - rest], rtol=1e-14)
    two, right = np.array([sure, 0.0]), np.array([1.0, 0.0])
    np.testing.assert_allclose(softmax_residual(two, right), [-rest, rest], rtol=1e-14)
    slope = rest * (1 - rest)
    np.testing.assert_allclose(softmax_jacobian(softmax(two)), [[slope, -slope], [-slope, slope]], rtol=1e-14)
