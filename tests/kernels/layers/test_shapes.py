"""Layers that do not follow on each other are refused in one sentence, before a weight is drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k

VECTORS, SENTENCES, IMAGES = (2, 5), (2, 6, 3), (2, 4, 4, 3)
DENSE = k.Dense(4)


def fanned(*branches):
    return k.serial(k.FanOut(len(branches)), k.parallel(*branches))


REFUSED = {
    "Conv needs inputs of rank 4": (k.serial(DENSE, k.Conv(4, (3, 3))), VECTORS),
    r"Conv: a window of \(5, 5\) does not fit positions \(4, 4\)": (k.Conv(4, (5, 5)), IMAGES),
    r"Pool: a window of \(3, 3\) does not fit positions \(2, 2\)": (
        k.serial(k.Conv(4, (3, 3)), k.Relu(), k.AvgPool((3, 3))),
        IMAGES,
    ),
    "Dense takes one input, not 2 branches": (k.serial(k.FanOut(2), DENSE), VECTORS),
    "Rectifier takes one input, not 2 branches": (k.serial(fanned(DENSE, DENSE), k.Relu()), VECTORS),
    "Dropout takes one input, not 2 branches": (k.serial(fanned(DENSE, DENSE), k.Dropout(0.5)), VECTORS),
    "LayerNorm takes one input, not 2 branches": (k.serial(fanned(DENSE, DENSE), k.LayerNorm()), VECTORS),
    "FanInSum joins branches": (k.serial(DENSE, k.FanInSum()), VECTORS),
    "FanInProd joins branches": (k.serial(DENSE, k.FanInProd()), VECTORS),
    "FanInConcat joins branches": (k.serial(DENSE, k.FanInConcat()), VECTORS),
    "a parallel of 2 branches needs as many inputs": (k.serial(DENSE, k.parallel(DENSE, DENSE)), VECTORS),
    "alike elsewhere": (k.serial(fanned(k.Conv(4, (3, 3)), k.Conv(4, (2, 2))), k.FanInConcat()), IMAGES),
    r"LayerNorm over axes \(5,\) met inputs of rank 2": (k.serial(DENSE, k.LayerNorm((5,))), VECTORS),
    "SelfAttention needs inputs with positions": (k.serial(DENSE, k.SelfAttention(4, 4, 4, 2)), VECTORS),
    r"does not fit positions \(6,\) and a constant": (
        k.Contraction(np.eye(3), (((1,), (0,)), ((), ()))),
        SENTENCES,
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_layers_that_do_not_chain(key, message):
    network, shape = REFUSED[message]
    with pytest.raises(ValueError, match=message):
        network.init(key, shape)


@pytest.mark.parametrize("kind", [k.Conv, k.ConvLocal, k.ConvTranspose])
def test_weights_that_were_made_for_other_channels(key, kind):
    layer = kind(4, (2,))
    _, weights = layer.init(key, SENTENCES)
    with pytest.raises(ValueError, match=r"was made for 3 channels and got inputs of shape \(2, 6, 5\)"):
        layer.apply(weights, jnp.ones((2, 6, 5)))


def test_weights_that_were_made_for_other_positions(key):
    layer = k.ConvLocal(4, (2,))
    _, weights = layer.init(key, SENTENCES)
    with pytest.raises(ValueError, match=r"was made for positions \(5,\) and got inputs of shape \(2, 7, 3\)"):
        layer.apply(weights, jnp.ones((2, 7, 3)))


def test_nothing_repeated_is_nothing():
    x = jax.random.normal(jax.random.key(0), (3, 4))
    np.testing.assert_allclose(k.limit_kernel(k.serial(k.repeat(DENSE, 0), DENSE), x).nngp, x @ x.T / 4)
