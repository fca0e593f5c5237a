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


def tangents():
    """The empirical kernel of one finite network, averaged over its outputs, by structured derivatives."""
    layers = [layer for _ in range(2) for layer in (stax.Dense(512), stax.Relu())]
    apply = stax.serial(*layers, stax.Dense(10))[1]
    kernel = neural_tangents.empirical_ntk_fn(
        apply,
        trace_axes=(-1,),
        vmap_axes=0,
        implementation=neural_tangents.NtkImplementation.STRUCTURED_DERIVATIVES,
    )
    return jax.jit(lambda parameters, x: kernel(x, None, parameters))


KERNELS = {name: compiled(network[2]) for name, network in NETWORKS.items()}
TANGENTS = tangents()


def parameters(seed):
    """Weights that both sides can draw, without biases, as both sides nest them."""
    draw = np.random.default_rng(seed)
    first, second, last = (
        (jnp.asarray(draw.standard_normal(shape), jnp.float32), None) for shape in ((100, 512), (512, 512), (512, 10))
    )
    return [first, (), second, (), last]


def inputs(name, size, seed):
    shape = (size, 100) if name in ("relu", "erf", "tangents") else (size, 16, 16, 3)
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def main():
    versions = f"neural-tangents {neural_tangents.__version__}, jax {jax.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        x = inputs(request["work"], request["size"], request["seed"])
        finite = request["work"] == "tangents"
        arguments = (parameters(request["seed"]), x) if finite else (x,)
        work = TANGENTS if finite else KERNELS[request["work"]]
        start = time.perf_counter()
        kernel = jax.block_until_ready(work(*arguments))
        seconds = time.perf_counter() - start
        part = [np.asarray(each)[:32, :32].tolist() for each in ([kernel] if finite else (kernel.nngp, kernel.ntk))]
        print(json.dumps({"seconds": seconds, "value": part}), flush=True)


main()
