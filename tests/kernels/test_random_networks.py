"""Networks drawn at random from all layers, before judges that know nothing of their kernels.

A few seeds by default; DEEPTHEORY_SOAK=200 draws as many (`make soak`).
"""

import os
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from deeptheory.kernels.layers import attention, dense
from kernel_layers import ACTIVATIONS as QUICK

pytestmark = pytest.mark.slow
WIDTH = 64
DRAWS = {WIDTH: 128, 4 * WIDTH: 32}
"""Networks drawn of each width. Where 64 channels are too few, as for inputs that a jump hardly parts, the wider ones
decide: a kernel that is wrong is wrong for both."""
SEEDS = range(int(os.environ.get("DEEPTHEORY_SOAK", "4")))
ACTIVATIONS = [replace(each, nodes=32) if isinstance(each, k.Numerical) else each for each in QUICK]
"""With as many nodes as a user gets: of fewer, no finite network is the law."""
CONVOLUTIONS = (k.Conv, k.Conv, k.ConvLocal, k.ConvTranspose)
PADDINGS = ("SAME", "VALID", "CIRCULAR")
ENDS = (k.Flatten(), k.GlobalAvgPool(), k.GlobalSumPool())
FORGETFUL = (k.SelfAttention, k.Aggregate, k.Contraction, k.ImageResize, k.Index, k.Dropout)
"""Layers after which nobody knows the gap between nearly parallel inputs (`close_pairs`): in single precision an angle
is then the root of a rounded number, off by √ε = 3e-4, and a jump behind them shows it."""


@pytest.fixture(autouse=True)
def forgotten():
    """Hundreds of compiled networks in one process are more memory maps than a system allows."""
    yield
    if "DEEPTHEORY_SOAK" in os.environ:
        jax.clear_caches()


def chosen(rng, options):
    return options[rng.integers(len(options))]


def windowed(rng, positions):
    """Return a window that fits, and strides."""
    extents = tuple(int(min(w, n)) for w, n in zip(rng.integers(1, 4, len(positions)), positions, strict=True))
    return extents, tuple(int(s) for s in rng.integers(1, 3, len(positions)))


def affine(rng, positions, width, kinds=CONVOLUTIONS, same=False):
    """Return a layer with weights and the positions after it."""
    scales = float(rng.uniform(0.7, 1.6)), None if rng.random() < 0.5 else float(rng.uniform(0.1, 0.8))
    scales = *scales, "standard" if rng.random() < 0.2 else "ntk"
    if positions and rng.random() < 0.8:
        window, strides = windowed(rng, positions)
        layer = chosen(rng, kinds)(
            width, window, None if same else strides, "SAME" if same else chosen(rng, PADDINGS), *scales
        )
        if max(layer.extents(positions)) <= 5:
            return layer, layer.extents(positions)
    return k.Dense(width, *scales), positions


def activated(rng):
    """Return an activation, an exponential behind a normalization: at a variance of ten, a mean over 64 channels is
    that of their largest."""
    one = chosen(rng, ACTIVATIONS)
    return [k.LayerNorm(), one] if isinstance(one, k.Exp) else [one]


def joined(rng, positions, width):
    """Return two branches that meet again, one a short cut, and what makes their sum Gaussian where it is not."""
    branch = k.serial(*activated(rng), affine(rng, positions, width, (k.Conv,), same=True)[0])
    join = chosen(rng, (k.FanInSum(), k.FanInSum(), k.FanInProd(), k.FanInConcat()))
    after = [] if isinstance(join, k.FanInSum) else [k.Dense(width)]
    return [k.FanOut(2), k.parallel(branch, k.Identity()), join, *after]


def mapped(rng, positions, width):
    """Return a layer that mixes positions and is neither a convolution nor a pool."""
    extents = tuple(int(n) for n in rng.integers(1, 4, len(positions)))
    first = tuple(slice(int(rng.integers(n)), None) for n in positions)
    table = rng.standard_normal((positions[0], 2)) / positions[0]
    heads = k.SelfAttention(width, width, width, 8, W_key_std=1.2, b_std=0.2)
    contraction = k.Contraction(table, (((0,), (0,)), ((), ())))
    return chosen(rng, (k.ImageResize(extents), k.Index(first), contraction, k.Aggregate(), heads))


def drawn(seed, width=WIDTH):
    """Return the layers of a network, two sets of inputs, in half of the cases near each other, and their graphs."""
    rng = np.random.default_rng(seed)
    positions = shape = tuple(int(n) for n in rng.integers(2, 5, rng.integers(0, 3)))
    layers, graph = [], None
    for _ in range(rng.integers(1, 4)):
        layer, positions = affine(rng, positions, width)
        layers.append(layer)
        if rng.random() < 0.2:
            layers.append(k.LayerNorm())
        if rng.random() < 0.3:
            layers += joined(rng, positions, width)
        layers += activated(rng)
        if positions and rng.random() < 0.35:
            pool = chosen(rng, (k.AvgPool, k.SumPool))(*windowed(rng, positions), chosen(rng, PADDINGS))
            layers.append(pool)
            positions = pool.init(None, (1, *positions, 1))[0][1:-1]
        if positions and graph is None and rng.random() < 0.4:
            layers.append(mapped(rng, positions, width))
            if isinstance(layers[-1], k.Aggregate):
                graph = rng.uniform(0, 1, (4, *positions, *positions)) / np.prod(positions)
            positions = layers[-1].init(jax.random.key(0), (1, *positions, width))[0][1:-1]
        if rng.random() < 0.15:
            layers.append(k.Dropout(0.7))
    if positions:
        layers.append(chosen(rng, ENDS))
    x, y = rng.standard_normal((2, 2, *shape, rng.integers(1, 4)))
    return layers, x, y if rng.random() < 0.5 else x + 10.0 ** -rng.integers(1, 5) * y, graph


def close(found, exact, tolerance, about):
    for name in ("nngp", "ntk", "cov1", "cov2"):
        one, two = (np.asarray(getattr(each, name), float) for each in (found, exact))
        assert np.abs(one - two).max() <= tolerance * np.abs(two).max(), (name, about)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_machine_must_not_change(seed):
    """Compiled or not, among other inputs or alone, in single precision: the numbers are the same."""
    layers, x, y, graph = drawn(seed)
    network = k.serial(*layers, k.Dense(1))

    def kernel(left, right=None, graphs=(slice(2), slice(2, 4))):
        pattern = tuple(None if graph is None or part is None else jnp.asarray(graph[part]) for part in graphs)
        return k.limit_kernel(network, left, right, pattern=pattern)

    exact = kernel(x, y)
    with jax.disable_jit():
        close(kernel(x, y), exact, 1e-10, layers)
    single = kernel(x.astype(np.float32), y.astype(np.float32))
    assert {each.dtype for each in jax.tree.leaves(single)} == {np.dtype(np.float32)}
    rounded = kernel(*(each.astype(np.float32).astype(float) for each in (x, y)))
    close(single, rounded, 5e-3 if any(isinstance(each, FORGETFUL) for each in layers) else 1e-4, layers)
    alone = kernel(x[1:], y[:1], (slice(1, 2), slice(2, 3)))
    together = kernel(np.concatenate([x, y]), graphs=(slice(4), None))
    for name in ("nngp", "ntk"):
        entry, scale = getattr(exact, name)[1, 0], np.abs(getattr(exact, name)).max()
        for other in (getattr(alone, name)[0, 0], getattr(together, name)[1, 2]):
            assert np.abs(other - entry) <= 1e-6 * scale, (name, layers)


def jumps_and_exponentials(width):
    """Jumps, exponentials and weights of their own at every position, on inputs near each other."""
    layers = [
        k.Conv(width, (2,), None, "SAME", 1.2, 0.3), k.Sign(), k.Conv(width, (2,), None, "VALID", 1.1, 0.2),
        k.Exp(0.6, 0.5), k.ConvLocal(width, (2,), None, "SAME", 1.3, 0.1), k.Gaussian(),
        k.Conv(width, (2,), None, "CIRCULAR"), k.Flatten(),
    ]  # fmt: skip
    x, y = np.random.default_rng(3).standard_normal((2, 2, 4, 2))
    return layers, x, x + 1e-3 * y, None


def over_positions(covariance):
    """Bring a kernel (n, m, h, h′, w, w′) to (n, m, positions, positions′)."""
    rank = covariance.ndim // 2 - 1
    order = (0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2))
    size = int(np.prod(covariance.shape[2::2]))
    return np.transpose(covariance, order).reshape(*covariance.shape[:2], size, size)


def deviations(seed, width, patch):
    """Return how far means over finite networks are from the kernels, in what may be: five standard errors and 3 %."""
    layers, x, y, graph = jumps_and_exponentials(width) if seed is None else drawn(seed, width)
    inputs = jnp.asarray(np.concatenate([x, y]), jnp.float32)
    extra = {} if graph is None else {"pattern": jnp.asarray(graph, jnp.float32)}
    rng, count = np.random.default_rng(1000 + (seed or 0)), DRAWS[width]
    for module in (dense, attention):
        patch.setattr(module, "normal", lambda _, shape: rng.standard_normal((count, *shape), dtype=np.float32))
    body, whole = k.serial(*layers), k.serial(*layers, k.Dense(1))
    spread = k.serial(*layers[:-1] if layers[-1] in ENDS else layers)

    def one(draw):
        parameters, key = draw
        features = body.apply(parameters[:-1], inputs, key=key, **extra)
        slopes = jax.jacrev(lambda p: whole.apply(p, inputs, key=key, **extra)[:, 0])(parameters)
        flat = [leaf.reshape(len(inputs), -1) for leaf in jax.tree.leaves(slopes)]
        channels = spread.apply(parameters[: len(spread.layers)], inputs, key=key, **extra)
        places = channels.reshape(len(inputs), -1, channels.shape[-1])
        return (
            features @ features.T / features.shape[-1],
            sum(leaf @ leaf.T for leaf in flat),
            jnp.einsum("npc,mqc->nmpq", places, places) / channels.shape[-1],
        )

    draws = whole.init(jax.random.key(0), inputs.shape)[1], jax.random.split(jax.random.key(seed or 0), count)
    found = jax.jit(lambda draws: jax.lax.map(one, draws, batch_size=8))(draws)
    pattern = (None if graph is None else jnp.asarray(graph), None)
    exact = k.limit_kernel(whole, inputs.astype(float), pattern=pattern)
    inside = over_positions(k.limit_kernel(spread, inputs.astype(float), want=("nngp",), pattern=pattern).nngp)
    for each, expected in zip(found, (exact.nngp, exact.ntk, inside), strict=True):
        mean, error, scale = np.mean(each, 0), np.std(each, 0) / np.sqrt(count), np.abs(expected).max()
        yield (np.abs(mean - expected) / (5 * error + 0.03 * scale)).max()


@pytest.mark.parametrize("seed", [*SEEDS, None])
def test_the_mean_over_finite_networks(seed, monkeypatch):
    """Of kernels, and of the covariances between positions before these are put together."""
    far = {}
    for width in DRAWS:
        far[width] = list(deviations(seed, width, monkeypatch))
        if np.max(far[width]) <= 1:
            return
    raise AssertionError(f"nngp, ntk and covariances between positions, by width: {far}")
