"""A phase diagram's worth of training: 256 two-layer networks, 2,000 full gradient steps each, one sweep."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.phase_diagrams import everywhere

SAMPLES, INPUTS, WIDTH, STEPS = 100, 20, 64, 2000
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
        "rates": np.geomspace(0.01, 0.2, networks).astype(np.float32),
    }


def train(network, inputs, labels):
    """Full-batch gradient descent of a two-layer tanh network on the mean squared error; returns the last loss."""

    def loss(parameters):
        first, second = parameters
        return jnp.mean((jnp.tanh(inputs @ first) @ second - labels) ** 2)

    def step(parameters, _):
        slope = jax.grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - network["rates"] * g, parameters, slope), None

    parameters, _ = jax.lax.scan(step, (network["first"], network["second"]), None, length=STEPS)
    return loss(parameters)


def ours(networks: int, seed: int):
    data = problem(seed, networks)
    stacked = {name: data[name] for name in ("first", "second", "rates")}
    seconds, losses = timed(lambda: everywhere(train, stacked, data["inputs"], data["labels"]))
    return seconds, losses[:LOOPED]


def main(sizes: tuple[int, ...] = (64, 128, 256), rounds: int = 2) -> str:
    peer = Peer("torch")

    def torch(variant: str):
        def work(networks: int, seed: int):
            return peer.ask(variant=variant, networks=networks, seed=seed, steps=STEPS, looped=LOOPED)

        return work

    contenders = [
        Contender("deeptheory, one sweep", f"jax {jax.__version__}", ours),
        Contender("PyTorch, a loop over networks", peer.versions, torch("loop"), lambda size: LOOPED / size),
        Contender("PyTorch, torch.func vmap", peer.versions, torch("func")),
        Contender("PyTorch, bmm by hand", peer.versions, torch("bmm")),
        Contender("PyTorch, bmm compiled", peer.versions, torch("compiled")),
    ]
    title = f"Two-layer networks ({INPUTS}–{WIDTH}–1, {SAMPLES} samples), {STEPS:,} gradient steps each"
    try:
        return compare(title, contenders, sizes, rounds=rounds, tolerance=2e-2)
    finally:
        peer.close()
