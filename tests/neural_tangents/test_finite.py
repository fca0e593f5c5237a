"""Empirical and sampled kernels of the facade."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import deeptheory.neural_tangents as nt

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(8)
X1, X2 = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3))


@pytest.fixture(scope="module")
def network():
    with jax.enable_x64(True):
        init_fn, apply_fn, kernel_fn = nt.stax.serial(
            nt.stax.Dense(6, W_std=1.5, b_std=0.3), nt.stax.Erf(), nt.stax.Dense(2, b_std=0.1)
        )
        _, params = init_fn(jax.random.PRNGKey(0), X1.shape)
        params = jax.tree.map(lambda p: p.astype(float), params)
    return init_fn, apply_fn, kernel_fn, params


def full_kernel(apply_fn, params, x1, x2):
    flat, back = jax.flatten_util.ravel_pytree(params)
    jacobian = jax.jit(jax.jacfwd(lambda p, x: apply_fn(back(p), x)))
    return np.einsum("nkp,mlp->nmkl", jacobian(flat, x1), jacobian(flat, x2))


@pytest.mark.parametrize("vmap_axes", [None, 0, (0, 0, {})])
def test_empirical_kernels(network, vmap_axes):
    _, apply_fn, _, params = network
    expected = full_kernel(apply_fn, params, X1, X2)
    kernel_fn = nt.empirical_kernel_fn(apply_fn, vmap_axes=vmap_axes)
    both = kernel_fn(X1, X2, None, params)
    np.testing.assert_allclose(both.ntk, np.einsum("nmkk->nm", expected) / 2, rtol=1e-10)
    outputs = apply_fn(params, X1), apply_fn(params, X2)
    np.testing.assert_allclose(both.nngp, outputs[0] @ outputs[1].T / 2, rtol=1e-10)
    whole = nt.empirical_ntk_fn(apply_fn, trace_axes=(), vmap_axes=vmap_axes, implementation=3)
    np.testing.assert_allclose(whole(X1, X2, params), expected, rtol=1e-10)
    np.testing.assert_allclose(kernel_fn(X1, None, "ntk", params), kernel_fn(X1, X1, "ntk", params), rtol=1e-12)


def test_examples_elsewhere_and_several_outputs(network):
    _, apply_fn, _, params = network
    turned = nt.empirical_ntk_fn(lambda p, x, shift: apply_fn(p, x.T + shift), vmap_axes=(1, 0, {"shift": 0}))
    shifts = (RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3)))
    expected = full_kernel(apply_fn, params, X1 + shifts[0], X2 + shifts[1])
    result = turned(X1.T, X2.T, params, shift=shifts)
    np.testing.assert_allclose(result, np.einsum("nmkk->nm", expected) / 2, rtol=1e-10)

    def two(p, x):
        return {"plain": apply_fn(p, x), "double": 2 * apply_fn(p, x)}

    pair = nt.empirical_ntk_fn(two, vmap_axes=0)(X1, X2, params)
    np.testing.assert_allclose(pair["double"], 4 * pair["plain"], rtol=1e-10)


def test_vector_products_and_expansions(network):
    _, apply_fn, _, params = network
    v = RNG.standard_normal((4, 2))
    product = nt.empirical_ntk_vp_fn(apply_fn, X1, X2, params)
    expected = full_kernel(apply_fn, params, X1, X2)
    np.testing.assert_allclose(product(v), np.einsum("nmkl,ml->nk", expected, v), rtol=1e-10)
    near = jax.tree.map(lambda p: p + 0.01, params)
    target = apply_fn(near, X1)
    errors = [
        float(jnp.abs(f(near, X1) - target).max())
        for f in (nt.linearize(apply_fn, params), *(nt.taylor_expand(apply_fn, params, d) for d in (2, 3)))
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_sampling_approaches_the_limit():
    init_fn, apply_fn, kernel_fn = nt.stax.serial(nt.stax.Dense(256), nt.stax.Relu(), nt.stax.Dense(4))
    sampled = nt.monte_carlo_kernel_fn(init_fn, apply_fn, jax.random.PRNGKey(1), (4, 60), vmap_axes=0)
    early, late = sampled(X1, None, ("nngp", "ntk"))
    exact = kernel_fn(X1, None, ("nngp", "ntk"))
    scale = float(jnp.abs(exact.ntk).max())
    for name in ("nngp", "ntk"):
        error = float(jnp.abs(getattr(late, name) - getattr(exact, name)).max()) / scale
        assert error < 6 / np.sqrt(60 * 4)
    assert float(jnp.abs(early.ntk - late.ntk).max()) > 0
    with pytest.raises(ValueError, match="n_samples"):
        nt.monte_carlo_kernel_fn(init_fn, apply_fn, jax.random.PRNGKey(1), 0)


@pytest.mark.parametrize("batch_size", [0, 2, 5])
def test_batches_make_the_whole(network, batch_size):
    _, apply_fn, kernel_fn, params = network
    batched = nt.batch(kernel_fn, batch_size=batch_size, store_on_device=False)
    for second in (None, X2):
        whole, parts = kernel_fn(X1, second), batched(X1, second)
        assert isinstance(parts.ntk, np.ndarray) and parts.shape1 == whole.shape1 and parts.shape2 == whole.shape2
        for name in ("nngp", "ntk", "cov1", "cov2"):
            if getattr(whole, name) is None:
                assert getattr(parts, name) is None
            else:
                np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    pair = batched(X1, X2, ("ntk", "cov2"))
    np.testing.assert_allclose(pair.cov2, kernel_fn(X1, X2).cov2, rtol=1e-12)
    empirical = nt.empirical_ntk_fn(apply_fn, trace_axes=(), vmap_axes=0)
    parts = nt.batch(empirical, batch_size=batch_size)(X1, None, params)
    np.testing.assert_allclose(parts, empirical(X1, None, params), rtol=1e-12)


def test_batches_of_trees(network):
    _, apply_fn, _, params = network
    trees = [{"a": x, "b": np.cos(x)} for x in (X1, X2)]
    empirical = nt.empirical_ntk_fn(lambda p, x: apply_fn(p, x["a"]) * apply_fn(p, x["b"]))
    parts = nt.batch(empirical, batch_size=2)(*trees, params)
    np.testing.assert_allclose(parts, empirical(*trees, params), rtol=1e-12)
    with pytest.raises(ValueError, match="one number of inputs"):
        nt.batch(empirical, batch_size=2)({"a": X1, "b": X2}, None, params)


def test_bad_batches(network):
    with pytest.raises(ValueError, match="batch_size"):
        nt.batch(network[2], batch_size=-1)
    with pytest.raises(ValueError, match="device_count"):
        nt.batch(network[2], device_count=-3)
    with pytest.raises(ValueError, match="neither"):
        nt.empirical_kernel_fn(network[1])(X1, None, "cov1", network[3])


@pytest.mark.parametrize("batch_size", [0, 2])
def test_a_batch_refuses_the_inputs_that_its_network_refuses(batch_size):
    _, _, kernel_fn = nt.stax.serial(nt.stax.Dense(1), nt.stax.Relu(), nt.stax.Dense(1))
    zero = X1 * (np.arange(len(X1)) != 1)[:, None]
    for name, inputs in {"x1": (zero, None), "x2": (X1, zero)}.items():
        with pytest.raises(ValueError, match=f"row 1 of {name} is zero"):
            nt.batch(kernel_fn, batch_size=batch_size)(*inputs)
    with pytest.raises(ValueError, match="x1 contains NaN"):
        nt.batch(kernel_fn, batch_size=batch_size)(np.where(zero == 0, np.nan, X1))
    with pytest.raises(ValueError, match="x1 is empty"):
        nt.batch(kernel_fn, batch_size=batch_size)(X1[:0])
