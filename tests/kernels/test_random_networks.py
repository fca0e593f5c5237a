"""Networks drawn at random from all layers, before judges that know nothing of their kernels.

A few seeds by default; DEEPTHEORY_SOAK=200 draws as many (`make soak`).
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from deeptheory.kernels.layers import dense

pytestmark = pytest.mark.slow
WIDTH, DRAWS = 64, 128
SEEDS = range(int(os.environ.get("DEEPTHEORY_SOAK", "4")))
ACTIVATIONS = (
    k.Relu(), k.LeakyRelu(0.3), k.Abs(), k.Sign(), k.Erf(), k.SigmoidLike(), k.Gelu(), k.Sin(), k.Rbf(0.5), k.Gabor(),
    k.Gaussian(), k.Exp(0.6, 0.5), k.Polynomial((0.3, 1.0, 0.2)), k.RectifiedMonomial(0), k.RectifiedMonomial(1),
    k.RectifiedMonomial(2),
)  # fmt: skip
CONVOLUTIONS = (k.Conv, k.Conv, k.ConvLocal, k.ConvTranspose)
PADDINGS = ("SAME", "VALID", "CIRCULAR")


def chosen(rng, options):
    return options[rng.integers(len(options))]


def windowed(rng, positions):
    """Return a window that fits, and strides."""
    extents = tuple(int(min(w, n)) for w, n in zip(rng.integers(1, 4, len(positions)), positions, strict=True))
    return extents, tuple(int(s) for s in rng.integers(1, 3, len(positions)))


def affine(rng, positions, kinds=CONVOLUTIONS, same=False):
    """Return a layer with weights and the positions after it."""
    scales = float(rng.uniform(0.7, 1.6)), None if rng.random() < 0.5 else float(rng.uniform(0.1, 0.8))
    if positions and rng.random() < 0.8:
        window, strides = windowed(rng, positions)
        layer = chosen(rng, kinds)(
            WIDTH, window, None if same else strides, "SAME" if same else chosen(rng, PADDINGS), *scales
        )
        if max(layer.extents(positions)) <= 5:
            return layer, layer.extents(positions)
    return k.Dense(WIDTH, *scales), positions


def drawn(seed):
    """Return the layers of a network and two sets of inputs, in half of the cases near each other."""
    rng = np.random.default_rng(seed)
    positions = shape = tuple(int(n) for n in rng.integers(2, 5, rng.integers(0, 3)))
    layers = []
    for _ in range(rng.integers(1, 4)):
        layer, positions = affine(rng, positions)
        layers.append(layer)
        if rng.random() < 0.2:
            layers.append(k.LayerNorm())
        if rng.random() < 0.25:
            branch = k.serial(chosen(rng, ACTIVATIONS), affine(rng, positions, (k.Conv,), same=True)[0])
            layers += [k.FanOut(2), k.parallel(branch, k.Identity()), k.FanInSum()]
        layers.append(chosen(rng, ACTIVATIONS))
        if positions and rng.random() < 0.35:
            pool = chosen(rng, (k.AvgPool, k.SumPool))(*windowed(rng, positions), chosen(rng, PADDINGS))
            layers.append(pool)
            positions = pool.init(None, (1, *positions, 1))[0][1:-1]
        if rng.random() < 0.15:
            layers.append(k.Dropout(0.7))
    if positions:
        layers.append(chosen(rng, (k.Flatten(), k.GlobalAvgPool(), k.GlobalSumPool())))
    x, y = rng.standard_normal((2, 2, *shape, rng.integers(1, 4)))
    return layers, x, y if rng.random() < 0.5 else x + 10.0 ** -rng.integers(1, 5) * y


def close(found, exact, tolerance, about):
    for name in ("nngp", "ntk", "cov1", "cov2"):
        one, two = (np.asarray(getattr(each, name), float) for each in (found, exact))
        assert np.abs(one - two).max() <= tolerance * np.abs(two).max(), (name, about)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_machine_must_not_change(seed):
    """Compiled or not, among other inputs or alone, in single precision: the numbers are the same."""
    layers, x, y = drawn(seed)
    network = k.serial(*layers, k.Dense(1))
    exact = k.limit_kernel(network, x, y)
    with jax.disable_jit():
        close(k.limit_kernel(network, x, y), exact, 1e-10, layers)
    single = k.limit_kernel(network, x.astype(np.float32), y.astype(np.float32))
    assert {each.dtype for each in jax.tree.leaves(single)} == {np.dtype(np.float32)}
    rounded = k.limit_kernel(network, *(each.astype(np.float32).astype(float) for each in (x, y)))
    close(single, rounded, 1e-4, layers)
    alone = k.limit_kernel(network, x[1:], y[:1])
    together = k.limit_kernel(network, np.concatenate([x, y]))
    for name in ("nngp", "ntk"):
        entry, scale = getattr(exact, name)[1, 0], np.abs(getattr(exact, name)).max()
        for other in (getattr(alone, name)[0, 0], getattr(together, name)[1, 2]):
            assert np.abs(other - entry) <= 1e-6 * scale, (name, layers)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_over_finite_networks(seed, monkeypatch):
    """Within five standard errors, besides what a width of 64 shifts the mean by."""
    layers, x, y = drawn(seed)
    inputs = jnp.asarray(np.concatenate([x, y]), jnp.float32)
    rng = np.random.default_rng(1000 + seed)
    monkeypatch.setattr(dense, "normal", lambda _, shape: rng.standard_normal((DRAWS, *shape), dtype=np.float32))
    body, whole = k.serial(*layers), k.serial(*layers, k.Dense(1))

    def one(draw):
        parameters, key = draw
        features = body.apply(parameters[:-1], inputs, key=key)
        slopes = jax.jacrev(lambda p: whole.apply(p, inputs, key=key)[:, 0])(parameters)
        flat = [leaf.reshape(len(inputs), -1) for leaf in jax.tree.leaves(slopes)]
        return features @ features.T / features.shape[-1], sum(leaf @ leaf.T for leaf in flat)

    draws = whole.init(jax.random.key(0), inputs.shape)[1], jax.random.split(jax.random.key(seed), DRAWS)
    found = jax.jit(lambda draws: jax.lax.map(one, draws, batch_size=8))(draws)
    exact = k.limit_kernel(whole, inputs.astype(float))
    for each, expected in zip(found, (exact.nngp, exact.ntk), strict=True):
        mean, error, scale = np.mean(each, 0), np.std(each, 0) / np.sqrt(DRAWS), np.abs(expected).max()
        assert (np.abs(mean - expected) <= 5 * error + 0.1 * scale).all(), layers
