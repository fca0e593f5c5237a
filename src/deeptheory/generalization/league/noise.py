"""The row of the league about the network with noise on its parameters: PAC-Bayes, the noise drawn for every answer."""

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.league.network import ModelLayers, Network, changed_bits
from deeptheory.generalization.league.table import Entry
from deeptheory.generalization.pac_bayes.bounds import (
    langford_seeger_budget,
    maurer_budget,
    mcallester_bound,
    pac_bayes_kl,
)
from deeptheory.generalization.pac_bayes.comparison_bounds import catoni_bound, comparison_bound, kl_comparison

__all__ = ["noise_row"]

SCALES = np.geomspace(1e-3, 3, 24)
"""Noise levels of a layer; all are paid for."""
TEMPERATURES = np.geomspace(0.05, 10, 8)
"""Temperatures of Catoni's bound; all are paid for."""
ANSWERS, EACH = 100_000, 500
"""Answers drawn to estimate the error of layers with noise: in all, and at most for each example of a small sample.

The price of the estimate is then a 500th of what the sample itself costs.
"""
WHOLE, NUMBERS = 20_000, 400_000_000
"""Answers, and random numbers, drawn at most to estimate it where every answer needs a whole network."""
HELD = 1_000_000
"""Random numbers held at a time."""
TRIED = 2000
"""Answers that suffice to choose a noise level."""

Labels = Int[AnyArray, " n"]
Levels = tuple[int, ...]


class Noisy(NamedTuple):
    """A network whose parts get noise: squared distances of the parts from the start, and the share of wrong answers.

    `errors(scales, answers)` draws so many answers at one noise level for each part; `tried` answers choose the levels,
    `answers` are paid for in the end.
    """

    squares: Float[np.ndarray, " parts"]
    errors: Callable[[np.ndarray, int], float]
    answers: int
    tried: int


def chain_with_noise(
    draw: np.random.Generator,
    chain: ModelLayers,
    start: ModelLayers | None,
    inputs: Any,
    labels: Labels,
    progress: Callable[[int], None],
) -> Noisy:
    """Layers with ReLU between, a noise level for each.

    Given what goes into a layer, h, noise of variance s² on all its numbers adds independent Gaussians of variance
    s²(‖h‖² + 1) to what comes out (s²‖h‖² without biases): the law of a network drawn for this answer alone.
    """
    x, labels = np.asarray(inputs, np.float32).reshape(len(labels), -1), np.asarray(labels)
    layers = [
        (matrix.astype(np.float32), np.float32(0) if bias is None else bias.astype(np.float32), float(bias is not None))
        for matrix, bias in zip(chain.matrices, chain.biases, strict=True)
    ]
    first = x @ layers[0][0].T + layers[0][1]
    sizes = np.sqrt(np.sum(x**2, axis=1, keepdims=True) + layers[0][2])
    rows = max(1, HELD // max(len(matrix) for matrix, _, _ in layers))

    def wrong(scales: np.ndarray, at: np.ndarray) -> int:
        image, size = first[at], sizes[at]
        for place, scale in enumerate(scales.astype(np.float32)):
            if place:
                matrix, bias, biased = layers[place]
                hidden = np.maximum(image, 0, out=image)
                squares = np.einsum("ij,ij->i", hidden, hidden)[:, None]
                image, size = hidden @ matrix.T + bias, np.sqrt(squares + biased)
            # In place: new arrays of this size cost more than what is computed in them.
            noise = draw.standard_normal(image.shape, np.float32)
            noise *= scale * size
            image = np.add(image, noise, out=noise)
        return int(np.sum(np.argmax(image, axis=1) != labels[at]))

    def errors(scales: np.ndarray, answers: int) -> float:
        # Every example equally often; fewer answers than examples, which only choose a level, evenly spread.
        at = np.linspace(0, len(x), answers, endpoint=False).astype(int) if answers < len(x) else np.arange(answers)
        total = 0
        for begin in range(0, answers, rows):
            total += wrong(scales, at[begin : begin + rows] % len(x))
            progress(len(at[begin : begin + rows]))
        return total / answers

    def square(now: Any, then: Any) -> float:
        return 0.0 if now is None else float(np.sum((now - (0 if then is None else then)) ** 2))

    empty = ([None] * len(layers), [None] * len(layers))
    before = empty if start is None else (start.matrices, start.biases)
    moved = zip(chain.matrices, chain.biases, *before, strict=True)
    squares = np.array([square(a, c) + square(b, d) for a, b, c, d in moved])
    return Noisy(squares, errors, len(x) * min(ceil(ANSWERS / len(x)), EACH), TRIED)


@eqx.filter_jit
def _wrong(call: Callable, tree: Any, noise: Any, inputs: Any, labels: Any) -> Any:
    trained, fixed = eqx.partition(tree, eqx.is_inexact_array)

    def one(case):
        change, x, label = case
        changed = eqx.combine(jax.tree.map(jnp.add, trained, change), fixed)
        return jnp.argmax(call(changed, x[None])[0]) != label

    # One after the other: convolutions with many kernels at once are slow, and nothing else is faster together.
    return jnp.sum(jax.lax.map(one, (noise, inputs, labels)))


def tree_with_noise(
    draw: np.random.Generator, network: Network, inputs: Any, labels: Labels, progress: Callable[[int], None]
) -> Noisy:
    """Any function of its numbers, one noise level for all: a network for each answer, to examples drawn at random."""
    trained = eqx.filter(network.tree, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(trained)
    ends = np.cumsum([leaf.size for leaf in leaves])
    together = int(np.clip(HELD // ends[-1], 1, 1000))

    def errors(scales: np.ndarray, answers: int) -> float:
        total = 0
        for _ in range(answers // together):
            noise = scales.astype(np.float32) * draw.standard_normal((together, ends[-1]), np.float32)
            shaped = [
                each.reshape(together, *leaf.shape).astype(leaf.dtype)
                for each, leaf in zip(np.split(noise, ends[:-1], axis=1), leaves, strict=True)
            ]
            at = draw.integers(0, len(labels), together)
            changes = jax.tree.unflatten(structure, shaped)
            total += int(_wrong(network.call, network.tree, changes, inputs[at], labels[at]))
            progress(together)
        return total / answers

    before = jax.tree.leaves(eqx.filter(network.start, eqx.is_inexact_array)) or [0.0] * len(leaves)
    moved = sum(np.sum((np.asarray(a, float) - np.asarray(b, float)) ** 2) for a, b in zip(leaves, before, strict=True))
    # Multiples of what is drawn together.
    batches = ceil(int(np.clip(NUMBERS // ends[-1], 200, WHOLE)) / together)
    tried = ceil(min(batches / 20, TRIED / together))
    return Noisy(np.array([float(moved)]), errors, batches * together, tried * together)


def with_noise(
    draw: np.random.Generator, network: Network, inputs: Any, labels: Labels, progress: Callable[[str], None]
) -> Noisy:
    """The network with noise, by layers where they are all of it; `progress` hears of every batch of answers."""
    done, total = 0, 1

    def said(answers: int) -> None:
        nonlocal done
        done += answers
        progress(f"PAC-Bayes: {min(done, total):,} of at most {total:,} answers with noise")

    if network.chain is None:
        noisy = tree_with_noise(draw, network, inputs, labels, said)
    else:
        noisy = chain_with_noise(draw, network.chain, network.chain_start, inputs, labels, said)
    total = len(SCALES) * noisy.tried + noisy.answers  # at most, with one level for all parts
    return noisy


def chosen_levels(noisy: Noisy, budget: Callable[[Levels], float]) -> Levels:
    """The noise levels at which kl inverted is smallest by few answers: one for all parts first, then part by part."""
    parts = len(noisy.squares)
    best, least, seen = (len(SCALES) - 1,) * parts, 1.0, set[Levels]()  # the most noise has the least divergence
    for place in [-1, *range(parts), *range(parts)] if parts > 1 else [-1]:
        for level in reversed(range(len(SCALES))):
            levels = (level,) * parts if place < 0 else (*best[:place], level, *best[place + 1 :])
            if levels in seen or -np.expm1(-budget(levels)) >= least:
                continue  # a second look would only be luckier; the others are no better even without errors
            seen.add(levels)
            error = noisy.errors(SCALES[list(levels)], noisy.tried)
            value = float(pac_bayes_kl(error, budget(levels)))
            if value < least:
                best, least = levels, value
    return best


def noise_row(
    network: Network,
    inputs: Any,
    labels: Labels,
    delta: float,
    key: Any,
    progress: Callable[[str], None] = lambda text: None,
) -> Entry:
    """PAC-Bayes for the network with Gaussian noise on its parameters, prior around the initial ones (or 0).

    Both laws have the same variance s² on a part of the network, so the divergence is Σ‖w − w₀‖²/2s² over the parts,
    and log 2 for each bit of other numbers that are not those of the start. Half of δ pays for the bound, at all noise
    levels of all parts and in two forms, kl inverted (Maurer) and Catoni's, the smaller of which is given; the forms of
    Langford–Seeger and McAllester are never smaller. The other half pays for the estimate of the noisy network's error
    by independent answers: Chernoff's bound on one side.
    """
    name, where = "PAC-Bayes", "lucchi Thm 69, Maurer 2004, Catoni 2007"
    of, invariant = "the network with noise on its weights", "nothing: parameters are compared one by one"
    if network.tree is None or not jax.tree.leaves(eqx.filter(network.tree, eqx.is_inexact_array)):
        return Entry(name, where, None, ("needs parameters or layers",), of=of, invariant=invariant)
    draw, n = generator(jax.random.key(0) if key is None else key), len(labels)
    noisy = with_noise(draw, network, inputs, labels, progress)
    bits = changed_bits(eqx.filter(network.tree, eqx.is_inexact_array, inverse=True), network.start)
    share = delta / 4 / len(SCALES) ** len(noisy.squares)

    def divergence(levels: Levels) -> float:
        return float(np.sum(noisy.squares / (2 * SCALES[list(levels)] ** 2)) + bits * np.log(2))

    try:
        price = float(maurer_budget(0.0, n, share))
        levels = chosen_levels(noisy, lambda levels: price + divergence(levels) / n)
        # Fresh answers: those that chose the level would flatter it.
        error = noisy.errors(SCALES[list(levels)], noisy.answers)
    except (TypeError, jax.errors.JAXTypeError):
        return Entry(name, where, None, ("needs a function that JAX can trace",), of=of, invariant=invariant)
    relative, apart = kl_comparison(), divergence(levels)
    risk = float(comparison_bound(relative, error, np.log(2 / delta) / noisy.answers))
    forms = {
        "kl inverted": comparison_bound(relative, risk, np.asarray(maurer_budget(apart, n, share))),
        "Catoni": min(
            float(np.asarray(catoni_bound(risk, apart, n, share / len(TEMPERATURES), temperature=each)))
            for each in TEMPERATURES
        ),
        "Langford–Seeger": comparison_bound(relative, risk, np.asarray(langford_seeger_budget(apart, n, share))),
        "McAllester": mcallester_bound(risk, apart, n, share),
    }
    values = {form: float(np.asarray(value)) for form, value in forms.items()}
    noise = ", ".join(f"{SCALES[level]:.2g}" for level in levels)
    detail = (
        f"noise {noise}" + (" on the layers in turn" if len(levels) > 1 else ""),
        f"training error with it {error:.4f}, at most {risk:.4f} by {noisy.answers:,} answers",
        f"divergence {apart:,.0f} nats, {apart / n:.3f} an example",
        "by form: " + ", ".join(f"{form} {value:.3f}" for form, value in values.items()),
    )
    return Entry(name, where, min(values.values()), of=of, invariant=invariant, detail=detail)
