"""The facade: names, arguments and defaults as neural-tangents users know them, over our kernels."""

import inspect

import jax
import numpy as np
import pytest

from deeptheory import kernels
from deeptheory.neural_tangents import stax
from deeptheory.randomness import generator

DEFAULTS = {
    "Dense": {"W_std": 1.0, "b_std": None, "parameterization": "ntk", "s": (1, 1), "batch_axis": 0, "channel_axis": -1},
    "Conv": {"strides": None, "padding": "VALID", "W_std": 1.0, "b_std": None, "parameterization": "ntk"},
    "AvgPool": {"strides": None, "padding": "VALID", "normalize_edges": False},
    "Erf": {"a": 1.0, "b": 1.0, "c": 0.0},
    "Gaussian": {"a": 1, "b": -1},
    "ExpNormalized": {"gamma": 1, "shift": -1, "do_clip": False},
    "LayerNorm": {"axis": -1, "eps": 1e-12},
    "Dropout": {"mode": "train"},
    "GlobalSelfAttention": {"linear_scaling": True, "attention_mechanism": "SOFTMAX", "pos_emb_type": "NONE"},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_argument_names_and_defaults(name):
    parameters = inspect.signature(getattr(stax, name)).parameters
    for argument, default in DEFAULTS[name].items():
        assert parameters[argument].default == default


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


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("transpose", lambda: stax.Dense(1, channel_axis=1)),
        ("transpose", lambda: stax.Conv(1, (3, 3), dimension_numbers=("NCHW", "OIHW", "NCHW"))),
        ("hand-made", lambda: stax.serial((lambda: 0, lambda: 0, lambda: 0))),
        ("mask", lambda: stax.Dense(1)[2](np.ones((2, 2)), mask_constant=0.0)),
        ("train", lambda: stax.Dropout(0.5, "training")),
        ("batch", lambda: stax.Index(stax.Slice[0, :])),
        ("one constant", lambda: stax.DotGeneral(lhs=1.0, rhs=2.0)),
    ],
)
def test_what_is_not_supported_says_so(message, make):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_layer_is_a_triple_over_ours():
    _, _, kernel_fn = stax.serial(stax.Dense(1), stax.repeat(stax.serial(stax.Gelu(), stax.Dense(1)), 2))
    assert isinstance(kernel_fn.layer, kernels.Serial)
