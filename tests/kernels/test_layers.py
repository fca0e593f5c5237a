"""Every layer's kernel against the average over finite networks made from the same description."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from deeptheory.foundations.randomness import generator

pytestmark = pytest.mark.slow
WIDTH, DRAWS = 64, 128
STANDARD = dict(parameterization="standard")


@pytest.fixture(autouse=True)
def many_draws_at_once(monkeypatch, key):
    """Draw all networks' weights in one call, in NumPy: a compiled normal draw costs a second for every shape."""
    rng = generator(jax.random.fold_in(key, 7))  # other draws than the inputs

    def normal(_, shape):
        return rng.standard_normal((DRAWS, *shape), dtype=np.float32)

    for module in (k.layers.dense, k.layers.attention):
        monkeypatch.setattr(module, "normal", normal)


def averaged(layers, x, key, **extra):
    """Mean NNGP and NTK of random finite networks: the output layer's weights are integrated out of the NNGP."""
    body, whole = k.serial(*layers), k.serial(*layers, k.Dense(1))

    def one(parameters):
        features = body.apply(parameters[:-1], x, **extra)
        slopes = jax.jacrev(lambda p: whole.apply(p, x, **extra)[:, 0])(parameters)
        flat = [leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(slopes)]
        return features @ features.T / features.shape[-1], sum(leaf @ leaf.T for leaf in flat)

    return jax.jit(lambda draws: jax.lax.map(one, draws, batch_size=8))(whole.init(key, x.shape)[1])


def agree(found, exact, bias=0.03):
    """Five standard errors, besides what a width of 64 shifts the mean by."""
    mean, error, scale = np.mean(found, 0), np.std(found, 0) / np.sqrt(DRAWS), float(jnp.abs(exact).max())
    assert error.max() < 0.06 * scale  # a test that could not fail would be none
    assert (np.abs(mean - exact) < 5 * error + bias * scale).all()


def check(layers, x, key, *, bias=0.03, pattern=None):
    extra = {} if pattern is None else {"pattern": pattern}
    network = k.serial(*layers, k.Dense(1))
    exact = k.limit_kernel(network, x, want=("nngp", "ntk"), pattern=(pattern, None))
    for found, expected in zip(averaged(layers, x, key, **extra), (exact.nngp, exact.ntk), strict=True):
        agree(found, expected, bias)


def images(key, *shape):
    return jnp.asarray(
        generator(key).standard_normal(shape), jnp.float32
    )  # polynomials of single precision compile fast


def dense(width=WIDTH, **settings):
    return k.Dense(width, **settings)


def test_dense_normalized_residual(key):
    branch = k.serial(k.Relu(), dense(W_std=1.3, b_std=0.2))
    residual = (k.FanOut(2), k.parallel(branch, k.Identity()), k.FanInSum())
    layers = (dense(W_std=1.2, b_std=0.4), k.LayerNorm(), *residual, k.Erf())
    check(layers, images(key, 4, 6), key)


def test_standard_parametrization(key):
    layers = (dense(W_std=1.2, b_std=0.3, **STANDARD), k.Relu(), dense(W_std=1.1, b_std=0.1, **STANDARD), k.Gelu())
    check(layers, images(key, 4, 6), key)


def test_products_and_concatenations(key):
    product = k.serial(
        k.FanOut(2), k.parallel(k.serial(dense(), k.Sin()), k.serial(dense(b_std=0.5), k.Erf())), k.FanInProd(), dense()
    )
    layers = (k.FanOut(2), k.parallel(product, k.serial(dense(2 * WIDTH), k.Relu())), k.FanInConcat(), dense(), k.Abs())
    check(layers, images(key, 4, 6), key)


def test_strided_and_periodic_convolutions_with_pooling(key):
    layers = (
        k.Conv(WIDTH, (3, 2), (1, 2), "SAME", 1.3, 0.2),
        k.Relu(),
        k.AvgPool((2, 2), (2, 1), "SAME"),
        k.Conv(WIDTH, (2, 3), None, "CIRCULAR", 1.2, 0.1, **STANDARD),
        k.Erf(),
        k.Flatten(),
    )
    check(layers, images(key, 3, 4, 6, 2), key)


def test_global_average_pooling(key):
    layers = (
        k.Conv(WIDTH, (2, 2), b_std=0.3),
        k.Relu(),
        k.Conv(WIDTH, (3, 3), None, "SAME", 1.4),
        k.Relu(),
        k.GlobalAvgPool(),
    )
    check(layers, images(key, 3, 4, 4, 2), key)


def test_local_convolution(key):
    """With different windows and strides in both directions."""
    local = k.ConvLocal(WIDTH, (2, 3), (1, 2), "SAME", 1.4, 0.3)
    layers = (k.Conv(WIDTH, (2, 2)), k.Relu(), local, k.Relu(), k.GlobalAvgPool())
    check(layers, images(key, 3, 3, 5, 3), key)


def test_transposed_convolution_resizing_indexing_and_concatenation_of_positions(key):
    ways = [k.ConvTranspose(WIDTH, (3, 2), (2, 1), padding, 1.2, 0.3) for padding in ("SAME", "VALID")]
    layers = (
        k.FanOut(2),
        k.parallel(ways[0], k.serial(ways[1], k.Index((slice(0, 4), slice(1, 4))))),
        k.FanInConcat(1),
        k.Relu(),
        k.ImageResize((5, 2)),
        dense(W_std=1.5),
        k.Erf(),
        k.SumPool((2, 1), (2, 1)),
        k.Flatten(),
    )
    check(layers, images(key, 3, 2, 3, 3), key)


@pytest.mark.parametrize("embed_values", [False, True])
def test_attention(key, embed_values):
    attention = k.SelfAttention(
        64, 64, 64, 16, W_key_std=1.3, b_std=0.2, embedding="SUM", W_embedding_std=0.7, embed_values=embed_values
    )
    check((dense(), k.Relu(), attention, k.Relu(), k.GlobalAvgPool()), images(key, 3, 4, 3), key, bias=0.05)


def test_graphs_and_contractions(key):
    pattern = images(jax.random.fold_in(key, 1), 3, 5, 5)
    table = images(jax.random.fold_in(key, 2), 5, 2)
    layers = (
        dense(), k.Aggregate(), k.Relu(), dense(W_std=0.7), k.Contraction(table, (((0,), (0,)), ((), ()))), k.Erf(),
        k.GlobalSumPool(),
    )  # fmt: skip
    check(layers, images(key, 3, 5, 3), key, pattern=pattern)


def test_dropout(key):
    """The covariance of an input with itself grows by 1/keep; finite networks share one draw between copies."""
    x = images(key, 3, 6)
    layers = (dense(), k.Relu(), k.Dropout(0.6), dense(), k.Erf())
    network = k.serial(*layers)

    def one(draw):
        features = network.apply(draw[0], x, key=draw[1])
        return features @ features.T / features.shape[-1]

    draws = network.init(key, x.shape)[1], jax.random.split(key, DRAWS)
    found = jax.jit(lambda draws: jax.lax.map(one, draws))(draws)
    exact = k.limit_kernel(network, x, want=("nngp",)).nngp
    agree(found, exact)
    quiet = k.limit_kernel(k.serial(dense(), k.Relu(), k.Dropout(0.6, False), dense(), k.Erf()), x, want=("nngp",)).nngp
    assert float(jnp.abs(jnp.diag(quiet - exact)).min()) > 0.06
