"""The facade: names, arguments and defaults as neural-tangents users know them, over our kernels."""

import jax
import numpy as np
import pytest

from deeptheory import kernels
from deeptheory.foundations.randomness import generator
from deeptheory.neural_tangents import stax

pytestmark = pytest.mark.slow


def test_a_network_as_users_write_it(key):
    """Values of the two-layer ReLU network by the arc-cosine recursion written out here."""
    init_fn, apply_fn, kernel_fn = stax.serial(stax.Dense(64, 1.5, 0.3), stax.Relu(), stax.Dense(2))
    shape, params = init_fn(key, (-1, 7))
    assert shape == (-1, 2)
    x, y = (generator(jax.random.fold_in(key, i)).standard_normal((n, 7)) for i, n in enumerate((5, 3)))
    assert apply_fn(params, x).shape == (5, 2)

    def first(u, v):
        return 2.25 * u @ v.T / 7 + 0.09

    cov, a, b = first(x, y), np.diag(first(x, x)), np.diag(first(y, y))
    size = np.sqrt(np.outer(a, b))
    angle = np.arccos(cov / size)
    nngp = size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    ntk = nngp + cov * (np.pi - angle) / (2 * np.pi)
    kernel = kernel_fn(x, y)
    np.testing.assert_allclose(kernel.nngp, nngp, atol=1e-13)
    np.testing.assert_allclose(kernel.ntk, ntk, atol=1e-13)
    np.testing.assert_allclose(kernel.cov1, a / 2, atol=1e-13)
    np.testing.assert_allclose(kernel.cov2, b / 2, atol=1e-13)
    both = kernel_fn(x, y, ("ntk", "nngp"))
    assert both._fields == ("ntk", "nngp")
    np.testing.assert_allclose(both.ntk, kernel_fn(x, y, "ntk"))


def joined(fan_in, *widths):
    return stax.serial(stax.FanOut(len(widths)), stax.parallel(*map(stax.Dense, widths)), fan_in)


def contracted_batch():
    return stax.DotGeneral(rhs=np.ones(2), dimension_numbers=(((0,), (0,)), ((), ())))


HYPERPARAMETERS = {
    "weights": lambda v: (stax.Dense(1, W_std=v, b_std=0.3), stax.Relu()),
    "biases": lambda v: (stax.Dense(1, b_std=v), stax.Relu()),
    "standard": lambda v: (stax.Dense(3, v, v, parameterization="standard"), stax.Relu()),
    "rectifier": lambda v: (stax.Dense(1), stax.ABRelu(v, 1.0)),
    "erf": lambda v: (stax.Dense(1), stax.Erf(v, v, v)),
    "cosine": lambda v: (stax.Dense(1), stax.Cos(v, v, v)),
    "rbf": lambda v: (stax.Dense(1), stax.Rbf(v)),
    "gaussian": lambda v: (stax.Dense(1), stax.Gaussian(v, -v)),
    "polynomial": lambda v: (stax.Dense(1), stax.Polynomial([1.0, v, v])),
    "dropout": lambda v: (stax.Dense(1), stax.Dropout(v)),
}


@pytest.mark.parametrize("make", HYPERPARAMETERS.values(), ids=HYPERPARAMETERS)
def test_kernels_are_functions_of_hyperparameters(make):
    x = np.random.default_rng(0).standard_normal((3, 4))

    def total(value):
        return stax.serial(*make(value), stax.Dense(1))[2](x, None, "ntk").sum()

    value, slope = jax.jit(jax.value_and_grad(total))(0.7)
    np.testing.assert_allclose(value, total(0.7), rtol=1e-12)
    np.testing.assert_allclose(slope, (total(0.7 + 1e-5) - total(0.7 - 1e-5)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("one letter each", lambda: stax.Conv(1, (3, 3), dimension_numbers=("NCHW", "OIH", "NCHW"))),
        ("triple of functions", lambda: stax.serial((1, 2, 3))),
        ("is none of them", lambda: stax.Dense(1)[2](np.ones((2, 2)), None, "ntkk")),
        ("twice", lambda: stax.Dense(1)[2](np.ones((2, 2)), None, ("ntk", "NTK"))),
        ("train", lambda: stax.Dropout(0.5, "training")),
        ("one constant", lambda: stax.DotGeneral(lhs=1.0, rhs=2.0)),
        ("no argument diagonal_spatiall", lambda: stax.Dense(1)[2](np.ones((2, 2)), diagonal_spatiall=True)),
        ("needs as many inputs", lambda: stax.parallel(stax.Dense(1), stax.Dense(1))[2](np.ones((2, 2)))),
        ("W_std must be finite", lambda: stax.Dense(2, float("nan"))),
        (r"num must lie in \[1, 100000\], got 0", lambda: stax.FanOut(0)),
        ("extent of ImageResize", lambda: stax.ImageResize((-1, 0, -1), "linear")[2](np.ones((2, 5, 3)))),
        ("entries are -1", lambda: stax.ImageResize((-1, 2, 2), "linear")[2](np.ones((2, 5, 3)))),
        (
            "not on the batch",
            lambda: stax.DotGeneral(rhs=np.ones(2), dimension_numbers=(((0,), (0,)), ((), ())))[2](np.ones((2, 3))),
        ),
        ("out of bounds", lambda: stax.Index(stax.Slice[:, 9])[2](np.ones((2, 5, 3)))),
        ("of one shape", lambda: joined(stax.FanInProd(), 2, 3)[2](np.ones((2, 5)))),
        ("of one shape", lambda: joined(stax.FanInProd(), 2, 3)[0](jax.random.key(0), (2, 5))),
        ("no axis 7", lambda: joined(stax.FanInConcat(7), 2, 3)[2](np.ones((2, 5)))),
        (
            "not 7",
            lambda: stax.GlobalSelfAttention(2, 2, 2, 1, pos_emb_type="SUM", n_chan_pos_emb=7)[2](np.ones((1, 2, 3))),
        ),
    ],
)
def test_what_is_not_supported_says_so(message, make):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_layer_is_a_triple_over_ours():
    _, _, kernel_fn = stax.serial(stax.Dense(1), stax.repeat(stax.serial(stax.Gelu(), stax.Dense(1)), 2))
    assert isinstance(kernel_fn.layer, kernels.Serial)


@pytest.mark.parametrize("second", [False, True])
def test_a_kernel_goes_on_through_more_layers(key, second):
    """The same numbers as the networks in a row; for images with all covariances between positions."""
    rng = generator(key)
    first = stax.serial(stax.Conv(1, (2, 2), padding="SAME", b_std=0.2), stax.Relu(), stax.Conv(1, (2, 1)))
    last = stax.serial(stax.Erf(), stax.GlobalAvgPool(), stax.Dense(3, 1.3))
    x, y = rng.standard_normal((3, 3, 2, 2)), rng.standard_normal((2, 3, 2, 2))
    other = y if second else None
    whole, parts = stax.serial(first, last)[2](x, other), last[2](first[2](x, other))
    for name in ("nngp", "ntk", "cov1", "cov2"):
        if getattr(whole, name) is None:
            assert getattr(parts, name) is None
        else:
            np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-13)
    assert (parts.shape1, parts.shape2) == (whole.shape1, whole.shape2)
    np.testing.assert_array_equal(last[2](first[2](x, other), "ntk"), parts.ntk)


@pytest.mark.parametrize("padding", ["SAME", "VALID", "CIRCULAR"])
@pytest.mark.parametrize(("window", "strides"), [((3, 2), (2, 1)), ((2, 4), (1, 2))])
def test_transposed_convolutions_exactly(key, padding, window, strides):
    """Outputs are linear in the weights, so their covariance is the Gram matrix of the Jacobian."""
    layer = stax.ConvTranspose(1, window, strides, padding, 1.2, 0.3)
    x = generator(key).standard_normal((2, 3, 2, 2))
    shape, parameters = layer[0](key, x.shape)
    jacobian = jax.jacrev(layer[1])(parameters, x)
    assert layer[1](parameters, x).shape == shape
    flat = np.concatenate([np.asarray(leaf).reshape(*shape[:3], -1) for leaf in jax.tree.leaves(jacobian)], -1)
    expected = np.einsum("nhwp,mijp->nmhiwj", flat, flat)
    np.testing.assert_allclose(layer[2](x, None, "nngp"), expected, atol=1e-12)
    diagonal = layer[2](x, None, "nngp", diagonal_spatial=True)
    np.testing.assert_allclose(diagonal, np.einsum("nmhhww->nmhw", expected), atol=1e-12)


def test_lists_of_edges_and_decoded_graphs(key):
    x = generator(key).standard_normal((2, 3, 4))
    edges = np.array([[[0, 1], [1, 2], [0, 1]], [[2, 0], [1, 1], [0, -1]]])
    dense = np.zeros((2, 3, 3))
    for n in range(2):
        for tail, head in edges[n]:
            dense[n, tail, head] += head >= 0
    network, listed, decoded = (
        stax.serial(stax.Dense(5), stax.Relu(), stax.Aggregate(**options))
        for options in ({}, {"implementation": "SPARSE"}, {"to_dense": lambda p: 2 * p})
    )
    _, parameters = network[0](key, x.shape)
    plain = network[1](parameters, x, pattern=dense)
    np.testing.assert_allclose(plain, np.swapaxes(dense, 1, 2) @ network[1](parameters, x, pattern=np.eye(3)[None]))
    np.testing.assert_allclose(listed[1](parameters, x, pattern=edges), plain, rtol=1e-12)
    np.testing.assert_allclose(decoded[1](parameters, x, pattern=dense / 2), plain, rtol=1e-12)
    kernel = network[2](x, None, "nngp", pattern=(dense, dense))
    backwards = stax.serial(stax.Dense(5), stax.Relu(), stax.Aggregate(aggregate_axis=-2))
    np.testing.assert_allclose(backwards[2](x, None, "nngp", pattern=(dense, dense)), kernel, rtol=1e-12)
    np.testing.assert_allclose(listed[2](x, None, "nngp", pattern=(edges, edges)), kernel, rtol=1e-12)


def test_contraction_with_a_constant_for_each_position(key):
    rng = generator(key)
    x, table = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((3, 4, 2))
    layer = stax.DotGeneral(rhs=table, dimension_numbers=(((2,), (1,)), ((1,), (0,))))
    np.testing.assert_allclose(layer[1]((), x), np.einsum("nhwc,hwo->hnco", x, table), rtol=1e-12)
    mapped = np.einsum("nhwc,hwo->nhoc", x, table)
    np.testing.assert_allclose(
        layer[2](x, None, "nngp"), np.einsum("nhoc,mijc->nmhioj", mapped, mapped) / 5, rtol=1e-10
    )
