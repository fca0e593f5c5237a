"""Exact tangent-kernel regression on all of MNIST, in double precision, on one accelerator.

`python -m benchmarks.mnist_ntk [mnist.npz]` needs JAX and NumPy alone. The kernel never exists in one piece: its lower
triangle is a grid of square tiles, and the Cholesky factorization overwrites them tile by tile, which halves the
memory and keeps every array far below 2³¹ entries, where one 60,000 × 60,000 factorization would not be.
"""

import json
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

from benchmarks.harness import mnist_file  # noqa: E402
from deeptheory.kernels.layers.activations import Relu  # noqa: E402
from deeptheory.kernels.layers.combinators import serial  # noqa: E402
from deeptheory.kernels.layers.dense import Dense  # noqa: E402
from deeptheory.kernels.limits.recursion import limit_kernel  # noqa: E402

TILE, HIDDEN, RIDGE = 4000, 3, 1e-6


def network():
    """Three hidden ReLU layers at the scale that preserves the size of signals."""
    layers = [layer for _ in range(HIDDEN) for layer in (Dense(1, W_std=2**0.5), Relu())]
    return serial(*layers, Dense(1))


@jax.jit
def between(x, other):
    return limit_kernel(network(), x, other, want=("ntk",), tile=TILE).ntk


@jax.jit
def within(x):
    return limit_kernel(network(), x, want=("ntk",), tile=TILE).ntk


@partial(jax.jit, donate_argnums=0)
def factor(tile):
    return jnp.linalg.cholesky(tile)


@partial(jax.jit, donate_argnums=1)
def divide(triangle, tile):
    """tile · triangle⁻ᵀ."""
    return jax.scipy.linalg.solve_triangular(triangle, tile.T, lower=True).T


@partial(jax.jit, donate_argnums=0)
def subtract(tile, left, right):
    return tile - left @ right.T


def factorize(tiles):
    """Overwrite the lower tiles of a positive matrix by those of its Cholesky factor."""
    count = len(tiles)
    for k in range(count):
        tiles[k][k] = factor(tiles[k][k])
        for i in range(k + 1, count):
            tiles[i][k] = divide(tiles[k][k], tiles[i][k])
        for i in range(k + 1, count):
            for j in range(k + 1, i + 1):
                tiles[i][j] = subtract(tiles[i][j], tiles[i][k], tiles[j][k])
    return tiles


@jax.jit
def forward(triangle, rest):
    return jax.scipy.linalg.solve_triangular(triangle, rest, lower=True)


@jax.jit
def backward(triangle, rest):
    return jax.scipy.linalg.solve_triangular(triangle, rest, lower=True, trans=1)


def solve(tiles, right):
    """Two triangular solves with the tiled factor."""
    count, parts = len(tiles), list(right)
    for i in range(count):
        for j in range(i):
            parts[i] = parts[i] - tiles[i][j] @ parts[j]
        parts[i] = forward(tiles[i][i], parts[i])
    for i in reversed(range(count)):
        for j in range(i + 1, count):
            parts[i] = parts[i] - tiles[j][i].T @ parts[j]
        parts[i] = backward(tiles[i][i], parts[i])
    return parts


def clock(work):
    start = time.perf_counter()
    value = jax.block_until_ready(work())
    return time.perf_counter() - start, value


def ceilings():
    """Measured limits of the device: bytes a second of a copy, double-precision operations a second of a product."""
    big = jnp.ones((2**28,), jnp.float64)
    copy = jax.jit(lambda x: x + 1.0)
    square = jax.random.normal(jax.random.key(0), (8192, 8192), jnp.float64)
    product = jax.jit(lambda x: x @ x)
    jax.block_until_ready((copy(big), product(square)))
    moved = min(clock(lambda: copy(big))[0] for _ in range(5))
    multiplied = min(clock(lambda: product(square))[0] for _ in range(3))
    return 2 * big.nbytes / moved, 2 * 8192**3 / multiplied


def warm(x, targets):
    """Compile everything before the clocks start, on two tiles."""
    tiles = [[within(x[0]) + jnp.eye(TILE)], [between(x[1], x[0]), within(x[1]) + jnp.eye(TILE)]]
    weights = solve(factorize(tiles), targets[:2])
    jax.block_until_ready(between(jnp.concatenate(x[:1])[:2000], x[0]) @ weights[0])


def main(path=None, samples=60_000):
    data = np.load(mnist_file(path))
    images, labels, tests, answers = (data[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    images, tests = (a.reshape(len(a), -1).astype(np.float64) / 255 for a in (images[:samples], tests))
    labels, count = labels[:samples], samples // TILE
    bandwidth, arithmetic = ceilings()
    x = [jnp.asarray(part) for part in np.split(images, count)]
    targets = [jnp.asarray(part) for part in np.split(np.eye(10)[labels] - 0.1, count)]
    warm(x, targets)
    build, tiles = clock(
        lambda: [[within(x[i]) if i == j else between(x[i], x[j]) for j in range(i + 1)] for i in range(count)]
    )
    ridge = RIDGE * float(jnp.mean(jnp.stack([jnp.mean(jnp.diag(tiles[i][i])) for i in range(count)])))
    for i in range(count):
        tiles[i][i] = tiles[i][i] + ridge * jnp.eye(TILE)
    factoring, tiles = clock(lambda: factorize(tiles))
    solving, weights = clock(lambda: solve(tiles, targets))
    del tiles
    residual = gap = 0.0
    for i in range(count):
        value = sum(between(x[i], x[j]) @ weights[j] if i != j else within(x[i]) @ weights[i] for j in range(count))
        residual += float(jnp.sum((value + ridge * weights[i] - targets[i]) ** 2))
        gap += float(jnp.sum(targets[i] ** 2))
    blocks = [jnp.asarray(part) for part in np.split(tests, len(tests) // 2000)]
    predicting, guess = clock(lambda: [sum(between(t, x[j]) @ weights[j] for j in range(count)) for t in blocks])
    accuracy = float(np.mean(np.argmax(np.concatenate([np.asarray(g) for g in guess]), 1) == answers))
    entries = count * (count + 1) / 2 * TILE**2
    report = {
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
        "samples": samples,
        "test accuracy": accuracy,
        "seconds": {
            "kernel": build,
            "factorization": factoring,
            "solve": solving,
            "test kernel and prediction": predicting,
        },
        "relative residual": (residual / gap) ** 0.5,
        "measured copy, TB/s": bandwidth / 1e12,
        "measured product, TFLOP/s": arithmetic / 1e12,
        "kernel entries a second": entries / build,
        "kernel, its Gram products alone as a share of the product rate": 2 * 784 * entries / build / arithmetic,
        "kernel, share of copy bandwidth (one write an entry)": 8 * entries / build / bandwidth,
        "factorization, share of product rate": samples**3 / 3 / factoring / arithmetic,
    }
    print(json.dumps(report, indent=1))
    return report


if __name__ == "__main__":
    main(*sys.argv[1:2], *(int(each) for each in sys.argv[2:]))
