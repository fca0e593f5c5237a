"""Kernels as a whole: tiles, layouts, precision, derivatives and the door."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from deeptheory.foundations.randomness import generator

pytestmark = pytest.mark.slow


def network(activation=None):
    activation = activation or k.Relu()
    return k.serial(k.Dense(1, 1.3, 0.2), activation, k.Dense(1, 1.1, 0.1), activation, k.Dense(1))


def convolutions(*end):
    layers = [layer for _ in range(2) for layer in (k.Conv(1, (3, 3), padding="SAME"), k.Relu())]
    return k.serial(*layers, *end, k.Dense(1))


def inputs(key, *shape):
    return generator(key).standard_normal(shape)


@pytest.mark.parametrize("end", [k.Flatten(), k.GlobalAvgPool()])
def test_tiles_of_images_change_nothing(key, end):
    x = inputs(key, 7, 5, 4, 3)
    whole, tiled = (k.limit_kernel(convolutions(end), x, tile=tile) for tile in (7, 3))
    for one, two in zip(jax.tree.leaves(whole), jax.tree.leaves(tiled), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-14)


def test_tiles_of_vectors_change_nothing(key):
    x, y = inputs(key, 11, 5), inputs(jax.random.fold_in(key, 1), 7, 5)
    whole = k.limit_kernel(network(), np.concatenate([x, y]))
    np.testing.assert_allclose(whole.ntk, k.limit_kernel(network(), np.concatenate([x, y]), tile=4).ntk, atol=1e-14)
    cross = k.limit_kernel(network(), x, y, tile=4)
    np.testing.assert_allclose(whole.nngp[:11, 11:], cross.nngp, atol=1e-13)
    np.testing.assert_allclose(whole.ntk[:11, 11:], cross.ntk, atol=1e-13)
    np.testing.assert_allclose(np.diag(whole.nngp)[11:], cross.cov2, atol=1e-13)


def test_layouts_of_outputs_with_positions(key):
    """The pooled kernel is the mean of the full one; the diagonal layout is its diagonal."""
    x = inputs(key, 3, 4, 3, 2)
    bare = k.serial(k.Conv(1, (2, 2), padding="SAME"), k.Erf(), k.Conv(1, (2, 2), padding="SAME"))
    full = k.limit_kernel(bare, x)
    assert full.nngp.shape == (3, 3, 4, 4, 3, 3)
    assert full.cov1.shape == (3, 4, 4, 3, 3)
    assert full.shape1 == (3, 4, 3, 1)
    diagonal = k.limit_kernel(bare, x, diagonal_spatial=True)
    np.testing.assert_allclose(np.einsum("nmiijj->nmij", full.ntk), diagonal.ntk, atol=1e-14)
    pooled = k.limit_kernel(k.serial(bare, k.GlobalAvgPool()), x)
    np.testing.assert_allclose(np.mean(full.ntk, (2, 3, 4, 5)), pooled.ntk, atol=1e-14)


@pytest.mark.parametrize("activation", [k.Relu(), k.Erf(), k.Gelu()])
def test_single_precision(key, activation):
    x = inputs(key, 120, 30)
    x = x.astype(np.float32)
    exact = k.limit_kernel(network(activation), x.astype(np.float64), want=("nngp", "ntk"))
    with jax.enable_x64(False):
        single = k.limit_kernel(network(activation), x, want=("nngp", "ntk"), tile=64)
    for one, two in ((single.nngp, exact.nngp), (single.ntk, exact.ntk)):
        assert one.dtype == np.float32
        error = np.abs(np.asarray(one, np.float64) - np.asarray(two)) / np.abs(two).max()
        assert np.diag(error).max() < 1e-6
        np.fill_diagonal(error, 0)
        assert error.max() < 1e-5


def test_single_precision_of_nearly_parallel_inputs(key):
    """An angle is the root of a rounding error there, unless it is taken from differences and kept through layers."""
    x, away = inputs(key, 2, 8, 30)
    x, away = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, away))
    turned = [r * (x + angle * away) for angle in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6) for r in (1.0, 1.7)]
    x = np.concatenate([x, -x, *turned]).astype(np.float32)
    deep = k.serial(network(k.LeakyRelu(0.1)), k.Relu(), k.Dense(1, 1.4, 0.3))
    exact = k.limit_kernel(deep, x.astype(np.float64), want=("nngp", "ntk"))
    with jax.enable_x64(False):
        single, cross = (k.limit_kernel(deep, *pair, want=("nngp", "ntk")) for pair in ((x,), (x[:8], x[8:])))
        shallow = k.serial(k.Dense(1), k.Relu(), k.Dense(1))
        slopes = jax.grad(lambda x: k.limit_kernel(shallow, x, want=("ntk",)).ntk.sum())(x[:32])
    for name in ("nngp", "ntk"):
        whole, scale = np.asarray(getattr(exact, name)), np.max(getattr(exact, name))
        assert np.abs(np.asarray(getattr(single, name), float) - whole).max() < 1e-6 * scale
        assert np.abs(np.asarray(getattr(cross, name), float) - whole[:8, 8:]).max() < 1e-6 * scale
    assert np.isfinite(slopes).all()


NEAR = {
    "flattened": (
        k.serial(
            k.Conv(1, (3, 2), (2, 1), padding="SAME", b_std=0.2), k.Relu(),
            k.ConvTranspose(1, (2, 2), (2, 1), W_std=1.3), k.Abs(),
            k.Flatten(), k.Dense(1, 1.0, 0.1), k.Relu(), k.Dense(1),
        ),
        (5, 4, 2),
    ),
    "averaged": (
        k.serial(
            k.Conv(1, (3, 3), padding="SAME", b_std=0.2), k.Relu(), k.Conv(1, (2, 2), padding="CIRCULAR"), k.Relu(),
            k.GlobalAvgPool(), k.Dense(1),
        ),
        (4, 3, 2),
    ),
    "residual": (
        k.serial(
            k.Dense(1, 1.1, 0.2), k.FanOut(2), k.parallel(k.serial(k.Relu(), k.Dense(1)), k.Identity()), k.FanInSum(),
            k.Relu(), k.Dense(1),
        ),
        (30,),
    ),
    "sign": (k.serial(k.Dense(1, 1.2, 0.1), k.Sign(), k.Dense(1, 1.0, 0.3), k.Relu(), k.Dense(1)), (30,)),
}  # fmt: skip
"""Every way in which positions and branches meet before a kink."""


@pytest.mark.parametrize("name", NEAR)
def test_single_precision_of_nearly_equal_inputs_in_every_network(key, name):
    deep, shape = NEAR[name]
    x, away = inputs(key, 2, 3, *shape)
    x = np.concatenate([x, *(x + size * away for size in (1e-2, 1e-3, 1e-4, 1e-6))]).astype(np.float32)
    exact = k.limit_kernel(deep, x.astype(np.float64), want=("nngp", "ntk"))
    with jax.enable_x64(False):
        single = k.limit_kernel(deep, x, want=("nngp", "ntk"))
    for name in ("nngp", "ntk"):
        whole, scale = np.asarray(getattr(exact, name)), np.max(getattr(exact, name))
        assert np.abs(np.asarray(getattr(single, name), float) - whole).max() < 1e-6 * scale


def test_gradients_at_nearly_equal_images_are_finite_and_right(key):
    """Black pixels included: roots of zero variances must not spoil the derivative."""
    deep = k.serial(
        k.Conv(1, (2,), padding="SAME"), k.Relu(), k.Conv(1, (2,), b_std=0.1), k.Relu(), k.Flatten(), k.Dense(1)
    )
    x, away = inputs(key, 2, 3, 5, 2)
    x[:, :3] = 0
    x = np.concatenate([x, x + 1e-3 * away]).astype(np.float32)

    def total(x):
        return jnp.sum(jnp.tril(k.limit_kernel(deep, x, want=("ntk",)).ntk))

    exact = jax.grad(total)(x.astype(np.float64))
    with jax.enable_x64(False):
        single = jax.grad(total)(x)
    np.testing.assert_allclose(single, exact, rtol=2e-3, atol=2e-3 * np.abs(exact).max())


@pytest.mark.parametrize("activation", [k.Relu(), k.RectifiedMonomial(2), k.Erf()])
def test_gradients_at_coinciding_inputs_are_means_of_one_sided_derivatives(key, activation):
    x = inputs(key, 1, 4)
    way = inputs(jax.random.fold_in(key, 1), 1, 4)

    def along(t):
        kernel = k.limit_kernel(network(activation), x + t * way, x, want=("nngp", "ntk"))
        return jnp.stack([kernel.nngp[0, 0], kernel.ntk[0, 0]])

    derivative = jax.jacfwd(along)(0.0)
    step = 1e-4
    centred = (along(step) - along(-step)) / (2 * step)  # the mean of both one-sided quotients
    np.testing.assert_allclose(derivative, centred, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.jacrev(along)(0.0), derivative, rtol=1e-8)


def test_gradients_are_finite_on_and_off_the_diagonal_and_at_zero(key):
    x = inputs(key, 5, 3)
    x[1], x[2], x[3] = x[0], -x[0], 0

    def total(x):
        kernel = k.limit_kernel(k.serial(k.Dense(1), k.Relu(), k.Dense(1)), x, tile=2)
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(kernel))

    assert np.isfinite(jax.grad(total)(x)).all()


def test_zero_inputs_need_a_bias(key):
    x = inputs(key, 3, 4)
    x[1] = 0
    kernel = k.limit_kernel(k.serial(k.Identity(), k.Dense(1, b_std=0.3), k.Relu(), k.Dense(1)), x)
    assert np.isfinite(kernel.ntk).all()
    np.testing.assert_allclose(kernel.nngp[1, 1], 0.3**2 / 2, rtol=1e-12)
    for first in (
        k.Dense(1),
        k.Dense(1, b_std=0.0),
        k.serial(k.FanOut(2), k.parallel(k.Dense(1), k.Dense(1, 1.0, 1.0)), k.FanInSum()),
    ):
        with pytest.raises(ValueError, match="row 1 of other is zero"):
            k.limit_kernel(k.serial(first, k.Relu(), k.Dense(1)), x[:1], x)


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("shape", lambda: k.limit_kernel(network(), np.ones(3))),
        ("finite", lambda: k.limit_kernel(network(), np.array([[1.0, np.nan]]))),
        ("empty", lambda: k.limit_kernel(network(), np.ones((0, 3)))),
        ("one shape", lambda: k.limit_kernel(network(), np.ones((2, 3)), np.ones((2, 4)))),
        ("fields", lambda: k.limit_kernel(network(), np.ones((2, 3)), want=("ntk", "kernel"))),
        ("positions", lambda: k.limit_kernel(convolutions(k.Flatten()), np.ones((2, 3)))),
        ("Gaussian", lambda: k.limit_kernel(k.serial(k.Relu(), k.Dense(1)), np.ones((2, 3)))),
        ("as many inputs", lambda: k.limit_kernel(k.parallel(k.Dense(1)), np.ones((2, 3)))),
        ("no known", lambda: k.limit_kernel(k.Layer(), np.ones((2, 3)))),
        ("does not fit", lambda: k.limit_kernel(k.Conv(1, (5,)), np.ones((2, 3, 1)))),
        ("first layer", lambda: k.limit_kernel(k.Dropout(0.5), np.ones((2, 3)))),
        ("at least 1", lambda: k.Dense(0)),
        ("parameterization", lambda: k.Dense(1, parameterization="mup")),
        ("padding", lambda: k.Conv(1, (3,), padding="FULL")),
        ("channels", lambda: k.Dense(2).apply(k.Dense(2).init(jax.random.key(0), (1, 3))[1], jnp.ones((1, 4)))),
        ("(0, 1]", lambda: k.Dropout(0.0)),
        ("degree must lie", lambda: k.Monomial(-1)),
        ("degree must lie", lambda: k.Hermite(10**6)),
        ("degree must lie", lambda: k.RectifiedMonomial(10**6)),
        ("W_std must be finite", lambda: k.Dense(8, np.float32("nan"))),
    ],
)
def test_bad_input_is_refused_in_one_sentence(message, make):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
