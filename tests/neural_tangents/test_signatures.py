"""Names, arguments and defaults of neural-tangents 0.6.5, against those of the facade and its page."""

import inspect
import re
from pathlib import Path

import pytest

import deeptheory.neural_tangents as nt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "neural-tangents.md"
SIGNATURES = {
    "nt.batch": "kernel_fn, batch_size=0, device_count=-1, store_on_device=True",
    "nt.empirical_kernel_fn": (
        "f, trace_axes=(-1,), diagonal_axes=(), vmap_axes=None, implementation=JACOBIAN_CONTRACTION, _j_rules=True, "
        "_s_rules=True, _fwd=None"
    ),
    "nt.empirical_nngp_fn": "f, trace_axes=(-1,), diagonal_axes=()",
    "nt.empirical_ntk_fn": (
        "f, trace_axes=(-1,), diagonal_axes=(), vmap_axes=None, implementation=JACOBIAN_CONTRACTION, _j_rules=True, "
        "_s_rules=True, _fwd=None"
    ),
    "nt.empirical_ntk_vp_fn": "f, x1, x2, params, **apply_fn_kwargs",
    "nt.linearize": "f, params",
    "nt.monte_carlo_kernel_fn": (
        "init_fn, apply_fn, key, n_samples, batch_size=0, device_count=-1, store_on_device=True, "
        "trace_axes=(-1,), diagonal_axes=(), vmap_axes=None, implementation=JACOBIAN_CONTRACTION, _j_rules=True, "
        "_s_rules=True, _fwd=None"
    ),
    "nt.taylor_expand": "f, params, degree",
    "stax.ABRelu": "a, b, do_stabilize=False",
    "stax.Abs": "do_stabilize=False",
    "stax.Aggregate": ("aggregate_axis=None, batch_axis=0, channel_axis=-1, to_dense=identity, implementation='DENSE'"),
    "stax.AvgPool": (
        "window_shape, strides=None, padding='VALID', normalize_edges=False, batch_axis=0, channel_axis=-1"
    ),
    "stax.Conv": (
        "out_chan, filter_shape, strides=None, padding='VALID', W_std=1.0, b_std=None, "
        "dimension_numbers=None, parameterization='ntk', s=(1, 1)"
    ),
    "stax.ConvLocal": (
        "out_chan, filter_shape, strides=None, padding='VALID', W_std=1.0, b_std=None, "
        "dimension_numbers=None, parameterization='ntk', s=(1, 1)"
    ),
    "stax.ConvTranspose": (
        "out_chan, filter_shape, strides=None, padding='VALID', W_std=1.0, b_std=None, "
        "dimension_numbers=None, parameterization='ntk', s=(1, 1)"
    ),
    "stax.Cos": "a=1.0, b=1.0, c=0.0",
    "stax.Dense": "out_dim, W_std=1.0, b_std=None, batch_axis=0, channel_axis=-1, parameterization='ntk', s=(1, 1)",
    "stax.DotGeneral": (
        "*, lhs=None, rhs=None, dimension_numbers=(((), ()), ((), ())), precision=None, batch_axis=0, channel_axis=-1"
    ),
    "stax.Dropout": "rate, mode='train'",
    "stax.Elementwise": "fn=None, nngp_fn=None, d_nngp_fn=None",
    "stax.ElementwiseNumerical": "fn, deg, df=None",
    "stax.Erf": "a=1.0, b=1.0, c=0.0",
    "stax.Exp": "a=1, b=1",
    "stax.ExpNormalized": "gamma=1, shift=-1, do_clip=False",
    "stax.FanInConcat": "axis=-1",
    "stax.FanInProd": "",
    "stax.FanInSum": "",
    "stax.FanOut": "num",
    "stax.Flatten": "batch_axis=0, batch_axis_out=0",
    "stax.Gabor": "",
    "stax.Gaussian": "a=1, b=-1",
    "stax.Gelu": "approximate=False",
    "stax.GlobalAvgPool": "batch_axis=0, channel_axis=-1",
    "stax.GlobalSelfAttention": (
        "n_chan_out, n_chan_key, n_chan_val, n_heads, linear_scaling=True, W_key_std=1.0, W_value_std=1.0, "
        "W_query_std=1.0, W_out_std=1.0, b_std=None, attention_mechanism='SOFTMAX', pos_emb_type='NONE', "
        "pos_emb_p_norm=2, pos_emb_decay_fn=None, n_chan_pos_emb=None, W_pos_emb_std=1.0, "
        "val_pos_emb=False, batch_axis=0, channel_axis=-1"
    ),
    "stax.GlobalSumPool": "batch_axis=0, channel_axis=-1",
    "stax.Hermite": "degree",
    "stax.Identity": "",
    "stax.ImageResize": "shape, method, antialias=True, precision=HIGHEST, batch_axis=0, channel_axis=-1",
    "stax.Index": "idx, batch_axis=0, channel_axis=-1",
    "stax.LayerNorm": "axis=-1, eps=1e-12, batch_axis=0, channel_axis=-1",
    "stax.LeakyRelu": "alpha, do_stabilize=False",
    "stax.Monomial": "degree",
    "stax.Polynomial": "coef",
    "stax.Rbf": "gamma=1.0",
    "stax.RectifiedMonomial": "degree",
    "stax.Relu": "do_stabilize=False",
    "stax.Sigmoid_like": "",
    "stax.Sign": "",
    "stax.Sin": "a=1.0, b=1.0, c=0.0",
    "stax.SumPool": "window_shape, strides=None, padding='VALID', batch_axis=0, channel_axis=-1",
    "stax.layer": "layer_fn",
    "stax.parallel": "*layers",
    "stax.repeat": "layer, n",
    "stax.serial": "*layers",
    "stax.unmask_fn": "fn",
    "nt.predict.Gaussian": "mean, covariance",
    "nt.predict.ODEState": "fx_train=None, fx_test=None, qx_train=None, qx_test=None",
    "nt.predict.gp_inference": (
        "k_train_train, y_train, diag_reg=0.0, diag_reg_absolute_scale=False, trace_axes=(-1,)"
    ),
    "nt.predict.gradient_descent": ("loss, k_train_train, y_train, learning_rate=1.0, momentum=None, trace_axes=(-1,)"),
    "nt.predict.gradient_descent_mse": (
        "k_train_train, y_train, learning_rate=1.0, diag_reg=0.0, diag_reg_absolute_scale=False, trace_axes=(-1,)"
    ),
    "nt.predict.gradient_descent_mse_ensemble": (
        "kernel_fn, x_train, y_train, learning_rate=1.0, diag_reg=0.0, diag_reg_absolute_scale=False, "
        "trace_axes=(-1,), **kernel_fn_train_train_kwargs"
    ),
    "nt.predict.max_learning_rate": "ntk_train_train, y_train_size=None, momentum=0.0, eps=1e-12",
}
"""What `inspect.signature` says in version 0.6.5, annotations left out, and defaults that are objects by a name."""


def written(function):
    """Return the signature of a function in the same words."""
    words = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = parameter.default
        text = getattr(default, "name", getattr(default, "__name__", repr(default)))
        words.append(star + parameter.name + ("" if default is parameter.empty else f"={text}"))
    return ", ".join(words)


def found(name):
    value = nt
    for part in name.removeprefix("nt.").split("."):
        value = getattr(value, part)
    return value


def served():
    """The names in the first column of every row of the page that says `same` in the second."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [name for row in rows if row[2].strip() == "same" for name in re.findall(r"`([\w.]+)`", row[1])]


def test_the_page_lists_every_function():
    assert set(SIGNATURES) == set(served())


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_and_defaults_are_theirs(name):
    assert written(found(name)) == SIGNATURES[name]
