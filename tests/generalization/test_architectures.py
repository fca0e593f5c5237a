"""The usual architectures: parameters counted by formula, gradients by finite differences, a training curve."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.layers.combinators import FanInConcat, FanInSum, FanOut, Identity, parallel, serial
from deeptheory.kernels.layers.convolution import Conv
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.pooling import AvgPool, Flatten


def conv(channels):
    return Conv(channels, (3, 3), padding="SAME", b_std=0.1)


def convolution_parameters(inputs, outputs):
    return 9 * inputs * outputs + outputs


residual = serial(FanOut(2), parallel(serial(Erf(), conv(4)), Identity()), FanInSum())
growing = serial(FanOut(2), parallel(serial(Erf(), conv(3)), Identity()), FanInConcat())

ARCHITECTURES = {
    "feed-forward": (serial(Flatten(), Dense(7, b_std=0.1), Erf(), Dense(2, b_std=0.1)), 36 * 7 + 7 + 7 * 2 + 2),
    "convolution": (
        serial(conv(4), Erf(), conv(3), Flatten(), Dense(2, b_std=0.1)),
        convolution_parameters(1, 4) + convolution_parameters(4, 3) + 36 * 3 * 2 + 2,
    ),
    "pooling": (
        serial(conv(4), AvgPool((2, 2), (2, 2)), Erf(), Flatten(), Dense(2, b_std=0.1)),
        convolution_parameters(1, 4) + 9 * 4 * 2 + 2,
    ),
    "residual": (
        serial(conv(4), residual, residual, Flatten(), Dense(2, b_std=0.1)),
        convolution_parameters(1, 4) + 2 * convolution_parameters(4, 4) + 36 * 4 * 2 + 2,
    ),
    # Channels grow by three a block, and every block sees all that came before.
    "densely connected": (
        serial(conv(2), growing, growing, Flatten(), Dense(2, b_std=0.1)),
        convolution_parameters(1, 2) + convolution_parameters(2, 3) + convolution_parameters(5, 3) + 36 * 8 * 2 + 2,
    ),
}


def drawn(key, network, batch):
    """Standard normal parameters of the shapes that the network asks for, without compiling a draw for each shape."""
    draw = generator(key)
    shapes = jax.eval_shape(lambda key: network.init(key, (batch, 6, 6, 1))[1], key)
    return jax.tree.map(lambda leaf: draw.standard_normal(leaf.shape), shapes)


@pytest.mark.item("A1.14")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parameters_and_gradients(key, name):
    network, count = ARCHITECTURES[name]
    parameters = drawn(key, network, 5)
    flat, unflatten = jax.flatten_util.ravel_pytree(parameters)
    assert flat.size == count
    draw = generator(key)
    x, y = jnp.asarray(draw.standard_normal((5, 6, 6, 1))), draw.standard_normal((5, 2))
    assert jax.eval_shape(network.apply, parameters, x).shape == (5, 2)
    loss = jax.jit(jax.value_and_grad(lambda weights: jnp.mean((network.apply(unflatten(weights), x) - y) ** 2)))
    flat, (_, slope) = np.asarray(flat), loss(flat)
    for direction in draw.standard_normal((3, count)):
        change = float(loss(flat + 1e-5 * direction)[0] - loss(flat - 1e-5 * direction)[0]) / 2e-5
        assert float(slope @ direction) == pytest.approx(change, rel=1e-6, abs=1e-9)


@pytest.mark.item("A1.14")
def test_training_loss_falls_below_test_loss(key):
    network, _ = ARCHITECTURES["feed-forward"]
    parameters = drawn(key, network, 40)
    draw = generator(key)
    x, noise = jnp.asarray(draw.standard_normal((80, 6, 6, 1))), draw.standard_normal((80, 2))
    y = x[:, 0, 0] + 0.5 * noise

    def loss(weights, part):
        return jnp.mean((network.apply(weights, x[part]) - y[part]) ** 2)

    train, test = slice(0, 40), slice(40, 80)

    @jax.jit
    def curve(weights):
        def step(weights, _):
            slopes = jax.grad(loss)(weights, train)
            moved = jax.tree.map(lambda w, g: w - 0.3 * g, weights, slopes)
            return moved, jnp.stack([loss(weights, train), loss(weights, test)])

        return jax.lax.scan(step, weights, None, length=400)[1]

    curves = np.asarray(curve(parameters))
    assert np.all(np.diff(curves[:, 0]) < 0)
    assert curves[-1, 0] < 0.5 * curves[0, 0] and curves[-1, 1] > 1.5 * curves[-1, 0]
