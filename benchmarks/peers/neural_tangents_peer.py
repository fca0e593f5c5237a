"""The neural-tangents side of the kernel benchmarks, as its users write it. Speaks JSON lines.

Its TensorFlow bridge is left out: it is imported with the package, needs gigabytes, and no kernel uses it.
"""

import json
import sys
import time
import types

sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import neural_tangents  # noqa: E402  # pyright: ignore[reportMissingImports]
from neural_tangents import stax  # noqa: E402  # pyright: ignore[reportMissingImports]


def dense(activation):
    return stax.serial(stax.Dense(1), activation(), stax.Dense(1), activation(), stax.Dense(1))


def convolutional(end):
    layers = [layer for _ in range(3) for layer in (stax.Conv(1, (3, 3), padding="SAME"), stax.Relu())]
    return stax.serial(*layers, end(), stax.Dense(1))


NETWORKS = {
    "relu": dense(stax.Relu),
    "erf": dense(stax.Erf),
    "flatten": convolutional(stax.Flatten),
    "pool": convolutional(stax.GlobalAvgPool),
}


def compiled(kernel_fn):
    return jax.jit(lambda x: kernel_fn(x, None, ("nngp", "ntk")))


KERNELS = {name: compiled(network[2]) for name, network in NETWORKS.items()}


def inputs(name, size, seed):
    shape = (size, 100) if name in ("relu", "erf") else (size, 16, 16, 3)
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def main():
    versions = f"neural-tangents {neural_tangents.__version__}, jax {jax.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        x = inputs(request["work"], request["size"], request["seed"])
        start = time.perf_counter()
        kernel = jax.block_until_ready(KERNELS[request["work"]](x))
        seconds = time.perf_counter() - start
        part = [np.asarray(each)[:32, :32].tolist() for each in (kernel.nngp, kernel.ntk)]
        print(json.dumps({"seconds": seconds, "value": part}), flush=True)


main()
