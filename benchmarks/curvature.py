"""Curvature of a network on MNIST: eigenpairs and spectral density, beside curvlinops and hessian-eigenthings.

`python -m benchmarks curvature` needs mnist.npz in the folder that DEEPTHEORY_DATA names. A tanh network 784–120–60–10
(102,070 parameters) is trained for a while on 2,000 images; all work in single precision on the same weights. The ten
largest eigenpairs are to a relative residual of 1e-4: ours by its own stop, curvlinops by ARPACK's tolerance,
hessian-eigenthings by as many steps as ours took products (it has no restarts and no stop of its own). The bare cost is
that many products of ours and nothing else. Of a density, the largest eigenvalue that it saw is compared; steps are as
many on all sides, of which only hessian-eigenthings makes vectors orthogonal again, and the distance of the quadrature
from that of 300 steps in double precision is the same with and without. `python -m benchmarks.curvature gpu` takes a
large network on 60,000 images and says which share of the card's measured matrix product it reaches.
"""

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.harness import Contender, Peer, compare, mnist_file
from deeptheory.curvature import extreme_eigenpairs, hessian, spectral_density

WIDTHS, IMAGES, PAIRS, PROBES, STEPS = (784, 120, 60, 10), 2000, 10, 5, 50


def images(count):
    held = np.load(mnist_file())
    x = held["x_train"][:count].reshape(count, -1).astype(np.float32) / 255
    return x, held["y_train"][:count].astype(np.int32)


def drawn(widths, seed=0):
    draw = np.random.default_rng(seed)
    return [
        (jnp.asarray(draw.standard_normal((b, a)) / np.sqrt(a), jnp.float32), jnp.zeros(b, jnp.float32))
        for a, b in pairwise(widths)
    ]


def loss(layers, data):
    x, y = data
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w.T + b)
    w, b = layers[-1]
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(x @ w.T + b, y))


def trained(layers, data, *, steps, rate):
    def step(layers, _):
        return jax.tree.map(lambda p, g: p - rate * g, layers, jax.grad(loss)(layers, data)), None

    return jax.jit(lambda layers: jax.lax.scan(step, layers, length=steps)[0])(layers)


def clocked(work):
    start = time.perf_counter()
    found = jax.block_until_ready(work())
    return time.perf_counter() - start, found


@eqx.filter_jit
def one_after_the_other(curvature, vector, count):
    return jax.lax.fori_loop(0, count, lambda _, v: curvature(v) / jnp.linalg.norm(v), vector)


def main():
    data = images(IMAGES)
    layers = trained(drawn(WIDTHS), data, steps=300, rate=0.3)
    curvature = hessian(loss, layers, data)
    used = {}

    def pairs(size, turn):
        seconds, found = clocked(lambda: extreme_eigenpairs(curvature, jax.random.key(turn), count=size))
        used[turn] = found.products
        return seconds, found.values

    def bare(size, turn):
        vector = jax.random.normal(jax.random.key(turn), (curvature.size,), jnp.float32)
        return clocked(lambda: one_after_the_other(curvature, vector, used[turn]))[0], found_values(size, turn)

    values = {}

    def found_values(size, turn):
        return values.setdefault(size, extreme_eigenpairs(curvature, jax.random.key(0), count=size).values)

    def density(size, turn):
        work = lambda: spectral_density(curvature, jax.random.key(turn), probes=size, steps=STEPS)  # noqa: E731
        seconds, found = clocked(work)
        return seconds, found.nodes.max()

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network.npz")
        arrays = {
            f"{name}{i}": np.asarray(p) for i, pair in enumerate(layers) for name, p in zip("wb", pair, strict=True)
        }
        np.savez(path, x=data[0], y=data[1], **arrays)
        peer = Peer("curvature")

        def ask(who, work):
            def asked(size, turn):
                steps = used.get(turn, STEPS) if work == "eigenpairs" else STEPS
                return peer.ask(path=path, who=who, work=work, count=size, steps=steps)

            return asked

        ours = f"jax {jax.__version__}"
        tables = [
            compare(
                "The ten largest Hessian eigenpairs of 102,070 parameters on 2,000 images, to 1e-4",
                [
                    Contender("deeptheory", ours, pairs),
                    Contender("as many bare products", ours, bare),
                    Contender("curvlinops, ARPACK", peer.versions, ask("curvlinops", "eigenpairs")),
                    Contender("hessian-eigenthings", peer.versions, ask("eigenthings", "eigenpairs")),
                ],
                [PAIRS],
                tolerance=2e-3,
            ),
            compare(
                f"The spectral density of the same Hessian, {PROBES} vectors of {STEPS} products",
                [
                    Contender("deeptheory", ours, density),
                    Contender("curvlinops", peer.versions, ask("curvlinops", "density")),
                    Contender("hessian-eigenthings", peer.versions, ask("eigenthings", "density")),
                ],
                [PROBES],
                tolerance=0.01,  # of the largest eigenvalue, as curvlinops asks of ARPACK for the ends of its grid
            ),
        ]
        peer.close()
    return "\n".join(tables)


def gpu(widths=(784, 3072, 2048, 1024, 10), examples=60000, batch=6000):
    """Seconds and share of the measured matrix product on whatever device JAX runs on.

    Matrix products are split into three on the card's short-float units, which is single precision within a bit or
    two: in its shorter default a Hessian product is wrong by some 1e-3, above the residual.
    """
    jax.config.update("jax_default_matmul_precision", "TF32_TF32_F32_X3")
    data = images(examples)
    some = jax.tree.map(lambda x: x[:batch], data)
    layers = trained(drawn(widths), some, steps=200, rate=0.1)
    curvature = hessian(loss, layers, data, batch=batch)
    side = 8192
    square = jax.random.normal(jax.random.key(0), (side, side), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    clocked(lambda: product(square))
    limit = 2 * side**3 / min(clocked(lambda: product(square))[0] for _ in range(5))
    # Matrix products that a Hessian product needs: eight a layer, but three in the first, whose inputs do not move.
    sizes = [a * b for a, b in pairwise(widths)]
    work = 2 * examples * (3 * sizes[0] + 8 * sum(sizes[1:]))
    first = clocked(lambda: extreme_eigenpairs(curvature, jax.random.key(0), count=PAIRS, most=PAIRS + 2))[0]
    seconds, pairs = clocked(lambda: extreme_eigenpairs(curvature, jax.random.key(1), count=PAIRS))
    gaps = [
        jnp.linalg.norm(curvature(v) - value * v) / value for v, value in zip(pairs.vectors, pairs.values, strict=True)
    ]
    spread = [clocked(lambda: spectral_density(curvature, jax.random.key(2), probes=1, steps=50))[0] for _ in range(2)]
    shares = [work * count / time / limit for count, time in ((pairs.products, seconds), (50, spread[1]))]
    print(f"{jax.devices()[0].device_kind}: {curvature.size:,} parameters, {examples:,} images, {batch} at a time")
    print(f"measured matrix product {limit / 1e12:.1f} Tflop/s; a Hessian product {work / 1e12:.2f} Tflop")
    print(f"ten eigenpairs: {seconds:.2f} s, {pairs.products} products, {shares[0]:.0%} of it; compiling {first:.1f} s")
    print(f"eigenvalues {np.round(pairs.values, 3)}, residuals measured afterwards to {max(map(float, gaps)):.1e}")
    print(f"density by 50 products: {spread[1]:.2f} s (first call {spread[0]:.1f}), {shares[1]:.0%} of it")


if __name__ == "__main__":
    gpu() if sys.argv[1:] == ["gpu"] else print(main())
