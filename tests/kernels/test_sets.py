"""An entry of a kernel depends on its two inputs, in their own precision, not on the set they come in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from kernel_layers import LAYERS

VECTORS = np.random.default_rng(0).standard_normal((3, 5))
IMAGES = np.random.default_rng(1).standard_normal((3, 4, 2))


def deep(*middle, bias: float | None = 0.3):
    return k.serial(k.Dense(1, 1.2, bias), *middle, k.Dense(1, 1.1, bias), k.Relu(), k.Dense(1, 1.0, bias))


NETWORKS = {
    "dropout": (deep(k.Relu(), k.Dropout(0.6)), VECTORS),
    "dropout without biases": (deep(k.Relu(), k.Dropout(0.6), bias=None), VECTORS),
    "normalized signs": (deep(k.LayerNorm(), k.Sign(), bias=np.float64(0.4)), VECTORS),
    "sines": (deep(k.Rbf(0.5), k.Dense(1), k.Sin(phase=0.3)), VECTORS),
    "polynomials": (deep(k.Polynomial((0.3, 1.0, 0.2)), k.Dense(1), k.Hermite(3)), VECTORS),
    "rectified cubes": (deep(k.RectifiedMonomial(3)), VECTORS),
    "quadrature": (deep(k.Numerical(lambda x: np.sqrt(2.0) * jax.numpy.tanh(x), 8)), VECTORS),
    "kinked": (deep(k.Numerical(jax.nn.relu, 8, (0.0,))), VECTORS),
    "residual": (
        deep(k.FanOut(2), k.parallel(k.serial(k.Abs(), k.Dense(1)), k.Identity()), k.FanInSum(), k.Gelu()),
        VECTORS,
    ),
    "local": (
        k.serial(
            k.Conv(1, (2,)), k.Relu(), k.ConvLocal(1, (2,), b_std=0.2), k.Abs(), k.GlobalAvgPool(), k.Dense(1)
        ),
        IMAGES,
    ),
    "signs of images": (
        k.serial(
            k.Conv(1, (1,), b_std=0.1), k.Sign(), k.AvgPool((2,)), k.Dense(1), k.Sign(), k.Flatten(), k.Dense(1)
        ),
        IMAGES,
    ),
}  # fmt: skip
OTHERS = (
    "Exp 11", "ExpNormalized 20", "Gaussian 10", "ConvTranspose, SAME", "FanInProd", "FanInConcat",
    "FanInConcat of positions", "ImageResize", "Index", "Contraction", "SelfAttention", "SelfAttention, square root",
)  # fmt: skip
NETWORKS |= {name: (deep(LAYERS[name][1]), IMAGES[:, :3]) for name in OTHERS}
QUICK = ("dropout", "sines", "polynomials")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS]
)
def test_an_entry_depends_on_its_two_inputs(name):
    network, x = NETWORKS[name]
    x = x.astype(np.float32)
    pairs = ((x, None), (x, x[1:]), (x[:1], x[1:2]))
    found = [k.limit_kernel(network, *pair, want=("nngp", "ntk")) for pair in pairs]
    for field in ("nngp", "ntk"):
        whole, beside, alone = (getattr(each, field) for each in found)
        assert {whole.dtype, beside.dtype, alone.dtype} == {np.dtype(np.float32)}
        for entry in (beside[0, 0], alone[0, 0]):
            np.testing.assert_allclose(entry, whole[0, 1], rtol=0, atol=2e-6 * np.abs(whole[0, 1]).max())


def test_equal_inputs_are_two_passes_through_dropout():
    """The diagonal of one set is one pass with itself; in every other place equal inputs have masks of their own."""
    network, x = k.serial(k.Dense(1), k.Relu(), k.Dropout(0.5), k.Dense(1)), VECTORS
    twice = k.limit_kernel(network, np.concatenate([x, x]), want=("nngp",)).nngp
    across = k.limit_kernel(network, x, x.copy(), want=("nngp",)).nngp
    np.testing.assert_allclose(np.diag(twice), np.mean(np.tile(x, (2, 1)) ** 2, 1), rtol=1e-12)
    np.testing.assert_allclose(np.diag(across), np.mean(x**2, 1) / 2, rtol=1e-7)
    np.testing.assert_allclose(twice[:3, 3:], across, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 100.0])
def test_inputs_that_a_bias_brings_together(size):
    """Small inputs differ little beside a bias; whether that is looked at closely must not show."""
    x = (size * np.random.default_rng(2).standard_normal((6, 20))).astype(np.float32)
    network = k.serial(k.Dense(1, 1.3, 0.7), k.LeakyRelu(0.2), k.Dense(1, 1.1, 0.5), k.Relu(), k.Dense(1))
    exact = k.limit_kernel(network, x.astype(float), want=("nngp", "ntk"))
    single = k.limit_kernel(network, x, want=("nngp", "ntk"))
    for one, two in ((single.nngp, exact.nngp), (single.ntk, exact.ntk)):
        np.testing.assert_allclose(one, two, rtol=1e-6)


@pytest.mark.parametrize("activation", [k.Relu(), k.Abs(), k.LeakyRelu(-0.4), k.Sign(), k.RectifiedMonomial(0)])
def test_how_near_inputs_can_come(activation):
    """Over all angles no nearer than the gap, the correlations after a biased layer stay within the bound."""
    gap, lengths = 0.2, np.array([0.5, 1.0, 3.0])
    cosines = np.linspace(-1 + gap, 1 - gap, 201)[:, None, None]
    a, b = lengths[:, None], lengths[None]
    mean, _ = activation.integrals(jnp.asarray(cosines * np.sqrt(a * b)), *map(jnp.asarray, (a, b)), None)
    left, right = (activation.integrals(*(jnp.asarray(each),) * 3, True)[0] for each in (a, b))
    after = (1.5 * mean + 0.4) / np.sqrt((1.5 * left + 0.4) * (1.5 * right + 0.4))
    own = np.broadcast_to(np.ravel(left), 3)
    near = k.Dense(1, np.sqrt(1.5), np.sqrt(0.4)).approach(activation.approach(gap, None, None), own, own)
    least = 1 - np.abs(after).max()
    assert 0 < near <= least + 1e-12
