"""Exact kernels of infinitely wide networks in single precision, beside neural-tangents."""

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
}


def inputs(name: str, size: int, seed: int) -> np.ndarray:
    shape = (size, 100) if name in ("relu", "erf") else (size, 16, 16, 3)
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ours(name: str):
    network = WORK[name][0]

    def work(size: int, seed: int):
        x = jax.numpy.asarray(inputs(name, size, seed))
        seconds, kernel = timed(lambda: jax.block_until_ready(kernels.limit_kernel(network, x, want=("nngp", "ntk"))))
        return seconds, np.stack([np.asarray(each)[:32, :32] for each in (kernel.nngp, kernel.ntk)])

    return work


def accuracy(name: str, size: int, contenders: list[Contender]) -> str:
    """Largest errors against double precision, relative to the largest entry, on and off the diagonal."""
    with jax.enable_x64(True):
        exact = kernels.limit_kernel(WORK[name][0], inputs(name, size, 0)[:32].astype(float), want=("nngp", "ntk"))
        reference = np.stack([np.asarray(exact.nngp), np.asarray(exact.ntk)])
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
            tables.append(compare(title, contenders, sizes, rounds=1 if name == "pool" else rounds, tolerance=np.inf))
            tables.append(accuracy(name, sizes[0], contenders))
        return "\n".join(tables)
    finally:
        peer.close()
