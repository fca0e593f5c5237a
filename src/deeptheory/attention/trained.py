"""A small transformer, trained in seconds on a text made by rule, and the overlaps of its tokens at every depth.

One block is applied again and again, with the same weights at every depth, as in ALBERT: an Euler step of
`blocks.block_velocity` and a return to the sphere. It learns to fill in masked letters.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, Num

from deeptheory.attention.blocks import Feedforward, Heads, block_velocity
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "Transformer",
    "init_transformer",
    "masked_accuracy",
    "overlaps_by_depth",
    "periodic_text",
    "representations",
    "train_transformer",
]

Text = Int[Array | np.ndarray, "lines length"]


class Transformer(NamedTuple):
    """Embeddings of letters (the last one is the mask) and of places, the block, and the step of a layer."""

    letters: Float[Array | np.ndarray, "alphabet d"]
    places: Float[Array | np.ndarray, "length d"]
    heads: Heads
    layer: Feedforward
    step: Float[Array | np.ndarray, ""]


def periodic_text(key: Key[Array, ""], lines: int, length: int, *, alphabet: int = 8, period: int = 4) -> Text:
    """Lines that repeat a random word of `period` letters: a masked letter can be read off one period away."""
    affordable(text=(lines, length))
    words = generator(key).integers(0, alphabet, (lines, period))
    return np.tile(words, (1, -(-length // period)))[:, :length]


def init_transformer(
    key: Key[Array, ""], *, alphabet: int = 8, length: int = 16, dimension: int = 32, heads: int = 2, step: float = 0.5
) -> Transformer:
    """Random weights of variance one over the number of inputs; one letter more than the alphabet, the mask."""
    affordable(weights=(3 * heads + 8, dimension, dimension), places=(length + alphabet, dimension))
    rng = generator(key)

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) / np.sqrt(shape[-1])

    return Transformer(
        drawn(alphabet + 1, dimension),
        drawn(length, dimension),
        Heads(*(drawn(heads, dimension, dimension) for _ in range(3))),
        Feedforward(drawn(dimension, 2 * dimension), drawn(2 * dimension, dimension), np.zeros(2 * dimension)),
        np.asarray(step),
    )


def _on_sphere(x: Array) -> Array:
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def representations(
    network: Transformer, line: Int[Array | np.ndarray, "length"], *, depth: int = 6, inverse_temperature: float = 4.0
) -> Float[Array, "layers length d"]:
    """Tokens x(0), …, x(depth) of one line of letters: x ← (x + h·velocity)/|·|, the same block at every layer."""
    network = jax.tree.map(jnp.asarray, network)
    start = _on_sphere(network.letters[line] + network.places)

    def layer(now: Array, _: None) -> tuple[Array, Array]:
        velocity = block_velocity(now, inverse_temperature, network.heads, network.layer)
        after = _on_sphere(now + network.step * velocity)
        return after, after

    return jnp.concatenate([start[None], jax.lax.scan(layer, start, length=depth)[1]])


def _log_likelihood(network: Transformer, line: Array, hidden: Array, depth: int) -> tuple[Array, Array]:
    """Of the hidden letters given the others, and which of them are guessed right."""
    mask = network.letters.shape[0] - 1
    last = representations(network, jnp.where(hidden, mask, line), depth=depth)[-1]
    scores = jax.nn.log_softmax(8.0 * last @ _on_sphere(jnp.asarray(network.letters[:-1])).T, axis=-1)
    said = jnp.take_along_axis(scores, line[:, None], axis=-1)[:, 0]
    return said, jnp.argmax(scores, axis=-1) == line


@partial(jax.jit, static_argnames=("depth", "steps", "batch", "share", "rate"))
def _trained(key, network, text, *, depth, steps, batch, share, rate):
    optimizer = optax.adam(rate)

    def loss(network, lines, hidden):
        said, _ = jax.vmap(lambda line, gone: _log_likelihood(network, line, gone, depth))(lines, hidden)
        return -jnp.sum(said * hidden) / jnp.maximum(jnp.sum(hidden), 1)

    def step(state, key):
        network, momenta = state
        drawn, masked = jax.random.split(key)
        lines = text[jax.random.randint(drawn, (batch,), 0, text.shape[0])]
        hidden = jax.random.bernoulli(masked, share, lines.shape)
        value, slope = jax.value_and_grad(loss)(network, lines, hidden)
        updates, momenta = optimizer.update(slope, momenta)
        return (optax.apply_updates(network, updates), momenta), value

    (network, _), losses = jax.lax.scan(step, (network, optimizer.init(network)), jax.random.split(key, steps))
    return network, losses


def train_transformer(
    key: Key[Array, ""],
    network: Transformer,
    text: Text,
    *,
    depth: int = 6,
    steps: int = 600,
    batch: int = 32,
    share: float = 0.25,
    rate: float = 0.01,
) -> tuple[Transformer, Float[Array, "steps"]]:
    """Train by Adam to guess hidden letters, each hidden with probability `share`; also the loss at every step.

    One compiled call; `vmap` it over keys and networks for an ensemble.
    """
    network = jax.tree.map(jnp.asarray, network)
    return _trained(key, network, jnp.asarray(text), depth=depth, steps=steps, batch=batch, share=share, rate=rate)


def masked_accuracy(
    key: Key[Array, ""], network: Transformer, text: Text, *, depth: int = 6, share: float = 0.25
) -> Float[Array, ""]:
    """Share of hidden letters that the network guesses right."""
    lines = jnp.asarray(text)
    hidden = jax.random.bernoulli(key, share, lines.shape)
    network = jax.tree.map(jnp.asarray, network)
    _, right = jax.vmap(lambda line, gone: _log_likelihood(network, line, gone, depth))(lines, hidden)
    return jnp.sum(right & hidden) / jnp.maximum(jnp.sum(hidden), 1)


def overlaps_by_depth(
    tokens: Num[Array | np.ndarray, "layers n d"],
) -> Float[np.ndarray, "layers pairs"]:
    """Overlaps ⟨x_i, x_j⟩ of all pairs at every depth, tokens divided by their length: the histograms of Fig. 1.3.

    Takes the hidden states of any network, layers along the first axis (jagannath Fig. 14.1.3).
    """
    tokens = np.asarray(tokens, float)
    lengths = np.linalg.norm(tokens, axis=-1, keepdims=True)
    if not np.all(lengths > 0):
        raise ValueError("tokens must not be zero: a vector without direction has no overlap")
    unit = tokens / lengths
    return (unit @ unit.swapaxes(-1, -2))[:, *np.triu_indices(tokens.shape[1], 1)]


doors(
    __name__,
    alphabet="[2, 1e4]",
    period="[1, 1e4]",
    lines="[1, 1e6]",
    length="[2, 1e4]",
    dimension="[2, 1e4]",
    heads="[1, 64]",
    step="(0, 10]",
    depth="[1, 1000]",
    steps="[1, 1e5]",
    batch="[1, 1e5]",
    share="(0, 1)",
    rate="(0, 1]",
    inverse_temperature="[0, 1e3]",
)
