"""A phase diagram's worth of training: a thousand two-layer networks, step sizes by seeds, 2,000 full gradient steps.

`python -m benchmarks.two_layer_nets 16 50` takes 16 networks and 50 steps, to see that all contenders run.
"""

import sys
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.phase_diagrams import everywhere

SAMPLES, INPUTS, WIDTH, STEPS = 100, 20, 64, 2000
SIZES = (64, 256, 1000)
RATES = 40
"""Step sizes; networks beyond them are further seeds, each with a start of its own, in turns."""
LOOPED = 4
"""How many networks the looping peer really trains; the rest would be the same again."""


def problem(seed: int, networks: int) -> dict[str, np.ndarray]:
    """One regression problem, and for every network its start and its step size."""
    draw = np.random.default_rng(seed)
    inputs = draw.standard_normal((SAMPLES, INPUTS)) / np.sqrt(INPUTS)
    return {
        "inputs": inputs.astype(np.float32),
        "labels": np.sin(2 * inputs.sum(1)).astype(np.float32),
        "first": draw.standard_normal((networks, INPUTS, WIDTH)).astype(np.float32),
        "second": (draw.standard_normal((networks, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32),
        "rates": np.geomspace(0.01, 0.2, RATES).astype(np.float32)[np.arange(networks) % RATES],
    }


def train(network, inputs, labels, steps):
    """Full-batch gradient descent of a two-layer tanh network on the mean squared error; returns the last loss."""

    def loss(parameters):
        first, second = parameters
        return jnp.mean((jnp.tanh(inputs @ first) @ second - labels) ** 2)

    def step(parameters, _):
        slope = jax.grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - network["rates"] * g, parameters, slope), None

    parameters, _ = jax.lax.scan(step, (network["first"], network["second"]), None, length=steps)
    return loss(parameters)


def ours(networks: int, seed: int, training: Callable):
    data = problem(seed, networks)
    stacked = {name: data[name] for name in ("first", "second", "rates")}
    seconds, losses = timed(lambda: everywhere(training, stacked, data["inputs"], data["labels"]))
    return seconds, losses[:LOOPED]


def main(sizes: tuple[int, ...] = SIZES, rounds: int = 2, steps: int = STEPS) -> str:
    peer = Peer("torch")

    def torch(variant: str):
        def work(networks: int, seed: int):
            return peer.ask(variant=variant, networks=networks, seed=seed, steps=steps, looped=LOOPED)

        return work

    contenders = [
        Contender(
            "deeptheory, one sweep", f"jax {jax.__version__}", partial(ours, training=partial(train, steps=steps))
        ),
        Contender("PyTorch, a loop over networks", peer.versions, torch("loop"), lambda size: LOOPED / size),
        Contender("PyTorch, torch.func vmap", peer.versions, torch("func")),
        Contender("PyTorch, bmm by hand", peer.versions, torch("bmm")),
        Contender("PyTorch, bmm compiled", peer.versions, torch("compiled")),
    ]
    title = f"Two-layer networks ({INPUTS}–{WIDTH}–1, {SAMPLES} samples), {steps:,} gradient steps each"
    try:
        return compare(title, contenders, sizes, rounds=rounds, tolerance=2e-2)
    finally:
        peer.close()


if __name__ == "__main__":
    print(main((int(sys.argv[1]),), rounds=1, steps=int(sys.argv[2])) if len(sys.argv) == 3 else main())
