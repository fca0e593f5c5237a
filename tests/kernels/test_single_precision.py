"""Kernels in single precision against double precision, on inputs that are hard for it: every activation, every set."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal((8, 20))
SETS = {
    "normal": NORMAL,
    "large": 1000 * NORMAL,
    "small": 1e-3 * NORMAL,
    "far from zero": NORMAL + 30,
    "pixels": RNG.integers(0, 256, NORMAL.shape).astype(float),
    "opposite": np.concatenate([NORMAL[:4], -NORMAL[:4]]),
    "duplicates": np.repeat(NORMAL[:4], 2, 0),
    "multiples": NORMAL[:1] * 2.0 ** np.arange(-4, 4)[:, None],
    "nearly equal": NORMAL[:1] + 1e-3 * NORMAL,
    "of all sizes": NORMAL * np.logspace(-4, 4, 8)[:, None],
}
WITH_ZERO = np.concatenate([NORMAL[:5], 0 * NORMAL[:3]])
ACTIVATIONS = {
    "Relu": kernels.Relu(),
    "Abs": kernels.Abs(),
    "Sign": kernels.Sign(),
    "Erf": kernels.Erf(),
    "Gelu": kernels.Gelu(),
    "Sin": kernels.Sin(),
    "Rbf": kernels.Rbf(0.01),
    "Gaussian": kernels.Gaussian(),
    "Gabor": kernels.Gabor(),
    "ExpNormalized": kernels.ExpNormalized(),
    "Polynomial": kernels.Polynomial((1.0, 0.5, 0.2)),
    "RectifiedMonomial0": kernels.RectifiedMonomial(0),
    "RectifiedMonomial2": kernels.RectifiedMonomial(2),
}


def layers(activation, bias, depth=2):
    dense = kernels.Dense(1, 1.4, bias)
    return kernels.serial(*(dense, activation) * depth, dense)


def errors(network, x, other=None):
    """Relative to √(K_ii K_jj): the largest on the diagonal, and elsewhere, of both kernels."""
    with jax.enable_x64(False):
        found = kernels.limit_kernel(network, x, other, want=("nngp", "ntk"))
    exact = kernels.limit_kernel(network, x.astype(np.float64), want=("nngp", "ntk"))
    diagonal, elsewhere = [], []
    for one, two in ((found.nngp, exact.nngp), (found.ntk, exact.ntk)):
        assert one.dtype == np.float32
        one, two = np.asarray(one, float), np.asarray(two)
        size = np.sqrt(np.diag(two))
        error = np.abs(one - two) / np.outer(size, size)
        diagonal.append(np.diag(error).max())
        elsewhere.append(np.max(error - np.diag(np.diag(error))))
    return max(diagonal), max(elsewhere)


KINKED = ("Relu", "Sign", "RectifiedMonomial0")  # where a bias, that brings inputs together, matters


@pytest.mark.parametrize("name, bias", [*((name, None) for name in ACTIVATIONS), *((name, 2.0) for name in KINKED)])
def test_hard_inputs_in_single_precision(name, bias):
    network = layers(ACTIVATIONS[name], bias, 2 if name in (*KINKED, "Gelu") else 1)
    for about, x in (SETS | ({} if bias is None else {"zeros": WITH_ZERO})).items():
        diagonal, elsewhere = errors(network, x.astype(np.float32))
        assert diagonal < 1e-6, about
        assert elsewhere < 1e-5, about


IMAGES = RNG.standard_normal((3, 4, 4, 1))
COLOURED = RNG.standard_normal((3, 4, 4, 3))
BLACK = COLOURED * (RNG.random((3, 4, 4, 1)) < 0.2)
NEIGHBOURS = NORMAL * (1 + 1e-3 * RNG.standard_normal(NORMAL.shape))


def seen_by(end, window=(3, 3), bias=None):
    first = kernels.Conv(1, window, padding="SAME", b_std=bias)
    second = kernels.Conv(1, (3, 3), padding="SAME", b_std=bias)
    return kernels.serial(first, kernels.Relu(), second, kernels.Relu(), end, kernels.Dense(1))


def after(smooth):
    return kernels.serial(kernels.Dense(1), smooth, kernels.Dense(1, 1.0, 0.1), kernels.Relu(), kernels.Dense(1))


def joined_by(join):
    branches = (
        kernels.serial(kernels.Relu(), kernels.Dense(2)),
        kernels.serial(kernels.Erf(), kernels.Dense(2, 1.1, 0.4)),
    )
    fan = (kernels.Dense(2), kernels.FanOut(2), kernels.parallel(*branches), join, kernels.Dense(2, 1.0, 0.1))
    return kernels.serial(*fan, kernels.Sign(), kernels.Dense(1))


PARALLEL = {
    "branches multiplied before a jump": (joined_by(kernels.FanInProd()), NORMAL, NEIGHBOURS),
    "branches side by side before a jump": (joined_by(kernels.FanInConcat()), NORMAL, NEIGHBOURS),
    "positions with one channel, pooled": (seen_by(kernels.GlobalAvgPool(), (1, 1)), IMAGES, None),
    "positions with one channel, flattened": (seen_by(kernels.Flatten(), (1, 1)), IMAGES, 3 * IMAGES[::-1]),
    "multiples of images": (seen_by(kernels.Flatten()), COLOURED, 3 * COLOURED),
    "black pixels and biases": (seen_by(kernels.GlobalAvgPool(), bias=0.5), BLACK, None),
    "an erf before a rectifier": (after(kernels.Erf()), NORMAL, NEIGHBOURS),
    "a cosine before a rectifier": (after(kernels.Cos()), NORMAL, 1.001 * NORMAL),
    "a Gabor function before a rectifier": (after(kernels.Gabor()), NORMAL, NEIGHBOURS),
    "a square before a rectifier": (after(kernels.RectifiedMonomial(2)), NORMAL, NEIGHBOURS),
}


@pytest.mark.parametrize("about", PARALLEL)
def test_parallel_at_a_kink(about):
    network, *sets = PARALLEL[about]
    single = [None if each is None else each.astype(np.float32) for each in sets]
    found = kernels.limit_kernel(network, *single)
    exact = kernels.limit_kernel(network, *(None if each is None else each.astype(float) for each in single))
    for name in ("nngp", "ntk", "cov1"):
        one, two = np.asarray(getattr(found, name), float), getattr(exact, name)
        assert np.abs(one - two).max() < 5e-6 * np.abs(two).max(), name


def test_parallel_positions_through_many_jumps_in_double_precision():
    """Signs of one channel stay ±1: rounding of an angle would grow by a root at every sign."""
    layers = (kernels.Conv(1, (1,)), kernels.Sign()) * 5
    x = RNG.standard_normal((3, 4, 1))
    found = kernels.limit_kernel(kernels.serial(*layers), x)
    signs = np.sign(x)[..., 0]
    np.testing.assert_allclose(found.cov1, signs[:, :, None] * signs[:, None, :], atol=1e-12)
    np.testing.assert_allclose(found.nngp, np.einsum("ip,jq->ijpq", signs, signs), atol=1e-12)


def test_two_sets_that_are_one():
    """Nothing says so; angles between equal inputs come from their differences."""
    x = SETS["large"].astype(np.float32)
    for name in ("Sign", "Gelu"):
        assert max(errors(layers(ACTIVATIONS[name], None), x, x.copy())) < 1e-5


def test_opposite_inputs_have_opposite_signs():
    x = SETS["opposite"].astype(np.float32)
    with jax.enable_x64(False):
        found = kernels.limit_kernel(layers(kernels.Sign(), None), x, want=("nngp",)).nngp
    np.testing.assert_allclose(np.diag(found[:4, 4:]), -(1.4**2), rtol=1e-6)


@pytest.mark.parametrize(
    "activation, one, both", [(kernels.Sign(), 0.0, 0.0), (kernels.RectifiedMonomial(0), 0.5, 1.0)]
)
def test_a_variable_that_vanishes(activation, one, both):
    a, b = jnp.asarray([0.0, 0.0, 2.0]), jnp.asarray([0.0, 2.0, 0.0])
    np.testing.assert_array_equal(activation.integrals(0 * a, a, b, None)[0], [both, one, one])
    assert activation.integrals(a[:1], a[:1], a[:1], True)[0][0] == both


def test_an_integral_that_diverges_is_infinite():
    k, a = jnp.asarray([0.5, 3.0, -3.0]), jnp.asarray([1.0, 4.0, 6.0])
    mean, slope = kernels.Gaussian(1.0, 0.1).integrals(k, a, a, None)
    determinant = 0.8**2 - 0.1**2
    np.testing.assert_allclose(mean, [determinant**-0.5, np.inf, np.inf])
    np.testing.assert_allclose(slope, [0.02 * determinant**-1.5, np.inf, -np.inf])
