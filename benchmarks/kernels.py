"""Kernels in single precision, of infinitely wide networks and of a finite one, beside neural-tangents."""

import jax
import numpy as np

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory import kernels

CONVOLUTIONS = [layer for _ in range(3) for layer in (kernels.Conv(1, (3, 3), padding="SAME"), kernels.Relu())]


def dense(activation: kernels.Layer) -> kernels.Layer:
    return kernels.serial(kernels.Dense(1), activation, kernels.Dense(1), activation, kernels.Dense(1))


WORK = {
    "relu": (dense(kernels.Relu()), (1000, 2000, 4000), "NNGP and NTK, two hidden ReLU layers, d = 100"),
    "erf": (dense(kernels.Erf()), (1000, 2000, 4000), "NNGP and NTK, two hidden erf layers, d = 100"),
    "flatten": (
        kernels.serial(*CONVOLUTIONS, kernels.Flatten(), kernels.Dense(1)),
        (50, 100, 200),
        "NNGP and NTK, 3 × (3×3 convolution, ReLU), flattened, images 16×16×3",
    ),
    "pool": (
        kernels.serial(*CONVOLUTIONS, kernels.GlobalAvgPool(), kernels.Dense(1)),
        (8, 16, 32),
        "NNGP and NTK, 3 × (3×3 convolution, ReLU), averaged over positions, images 16×16×3",
    ),
    "tangents": (
        kernels.serial(kernels.Dense(512), kernels.Relu(), kernels.Dense(512), kernels.Relu(), kernels.Dense(10)),
        (50, 100, 200),
        "Empirical NTK of a finite network 100–512–512–10, averaged over its outputs",
    ),
}


def inputs(name: str, size: int, seed: int) -> np.ndarray:
    shape = (size, 100) if name in ("relu", "erf", "tangents") else (size, 16, 16, 3)
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def parameters(seed: int) -> tuple:
    """Weights that both sides can draw, without biases."""
    draw = np.random.default_rng(seed)
    first, second, last = (
        (jax.numpy.asarray(draw.standard_normal(shape), np.float32), None)
        for shape in ((100, 512), (512, 512), (512, 10))
    )
    return first, (), second, (), last


def compiled(name: str):
    """The kernels that are compared, as a function of weights, which a limit does not look at, and inputs."""
    network = WORK[name][0]
    if name == "tangents":
        tangents = jax.jit(lambda weights, x: kernels.tangent_kernel(network.apply, weights, x))
        return lambda weights, x: (tangents(weights, x),)

    def limit(_, x):
        found = kernels.limit_kernel(network, x, want=("nngp", "ntk"))
        return found.nngp, found.ntk

    return limit


def ours(name: str):
    kernel = compiled(name)

    def work(size: int, seed: int):
        weights, x = parameters(seed), jax.numpy.asarray(inputs(name, size, seed))
        seconds, found = timed(lambda: jax.block_until_ready(kernel(weights, x)))
        return seconds, np.stack([np.asarray(each)[:32, :32] for each in found])

    return work


def accuracy(name: str, size: int, contenders: list[Contender]) -> str:
    """Largest errors against double precision, relative to the largest entry, on and off the diagonal."""
    with jax.enable_x64(True):
        weights = jax.tree.map(lambda each: each.astype(float), parameters(0))
        exact = compiled(name)(weights, inputs(name, size, 0)[:32].astype(float))
        reference = np.stack([np.asarray(each) for each in exact])
    lines = []
    for contender in contenders:
        _, value = contender.work(size, 0)
        errors = np.abs(np.asarray(value, float) - reference) / np.abs(reference).max((1, 2), keepdims=True)
        same = np.eye(errors.shape[1], dtype=bool)
        lines.append(f"{contender.name} {errors[:, same].max():.1e} on, {errors[:, ~same].max():.1e} off the diagonal")
    return "Largest error against double precision: " + "; ".join(lines) + ".\n"


def main(rounds: int = 3) -> str:
    peer = Peer("neural_tangents")
    tables = []
    try:
        for name, (_, sizes, title) in WORK.items():

            def theirs(size: int, seed: int, name: str = name):
                return peer.ask(work=name, size=size, seed=seed)

            contenders = [
                Contender("deeptheory", f"jax {jax.__version__}", ours(name)),
                Contender("neural-tangents", peer.versions, theirs),
            ]
            # Entries of erf kernels come near zero, where single precision leaves 2e-4 of them.
            tables.append(compare(title, contenders, sizes, rounds=1 if name == "pool" else rounds, tolerance=1e-3))
            tables.append(accuracy(name, sizes[0], contenders))
        return "\n".join(tables)
    finally:
        peer.close()
