"""Rows of the league about a network made from the trained one: its layers truncated, or noise on its parameters."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.generalization.change_of_measure import isotropic_gaussian_kl
from deeptheory.generalization.comparison_bounds import catoni_bound, comparison_bound, kl_comparison
from deeptheory.generalization.compression import truncated_factors
from deeptheory.generalization.description_length import occam_bound
from deeptheory.generalization.league_entries import Entry
from deeptheory.generalization.model_layers import stored_bits, stored_numbers
from deeptheory.generalization.pac_bayes import langford_seeger_budget, maurer_budget, mcallester_bound
from deeptheory.randomness import generator

__all__ = ["answers", "check_initial", "described", "posterior_rows", "truncated_row"]

SCALES = np.geomspace(1e-3, 0.3, 10)
"""Noise levels of the randomised network; all are paid for."""
DRAWS = 200
"""Networks drawn to estimate the error of the randomised one."""
TEMPERATURES = np.geomspace(0.05, 10, 8)
"""Temperatures of Catoni's bound; all are paid for."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Cuts of singular values tried for the truncated network; the ranks they leave are paid for."""
AT_ONCE = 4096
"""Examples that go through a network together."""
NUMBERS = 4_000_000
"""Random numbers held at a time."""
TRIES = 20
"""Networks drawn to choose a noise level."""
ENOUGH = 2000
"""Examples that suffice to choose a noise level."""

Labels = Int[Array | np.ndarray, " n"]


def _outputs(model: Any, inputs: Any) -> Any:
    return jax.vmap(model)(inputs) if len(inputs) <= AT_ONCE else jax.lax.map(model, inputs, batch_size=AT_ONCE)


answers = eqx.filter_jit(_outputs)


def described(weight: Float[Array | np.ndarray, "h w"], share: float) -> tuple[Float[Array, "h w"], float]:
    """A matrix without its small singular values as its description gives it back, and the bits of that description.

    Described are the rank, one of min(h, w) + 1, and two factors in the precision of the matrix; where that is no
    shorter, the matrix as it is. The product is of the rounded factors.
    """
    kind, (height, width) = np.asarray(weight).dtype, np.shape(weight)
    left, right = (factor.astype(kind) for factor in truncated_factors(np.asarray(weight, float), share))
    ranks = float(np.log2(min(height, width) + 1))
    if left.size + right.size >= height * width:
        return jnp.asarray(weight), 8 * np.asarray(weight).nbytes + ranks
    product = left.astype(float) @ right.astype(float)
    return jnp.asarray(product.astype(kind)), 8 * (left.nbytes + right.nbytes) + ranks


def truncated_row(model: Any, inputs: Any, labels: Labels, delta: float) -> Entry:
    """The network with small singular values dropped: fewer bits to write down. A bound for that network."""
    name, where, of = "compression by truncated layers", "arora Thm 5.5.3", "the truncated network"
    if model is None:
        return Entry(name, where, None, ("needs an Equinox model",), of=of)

    def linear(node):
        return isinstance(node, eqx.nn.Linear)

    def weights(tree):
        return [leaf.weight for leaf in jax.tree.leaves(tree, is_leaf=linear) if linear(leaf)]

    if not weights(model):
        return Entry(name, where, None, ("needs linear layers",), of=of)
    rest = stored_bits(model) - stored_bits(weights(model))
    best = np.inf
    for share in SHARES:
        cut, bits = zip(*(described(weight, share) for weight in weights(model)), strict=True)
        smaller = eqx.tree_at(weights, model, list(cut))
        # On all inputs, as the network itself was: then it is the same program. Those of the training data come first.
        outputs = np.asarray(answers(smaller, inputs))[: len(labels)]
        error = float(np.mean(np.argmax(outputs, axis=1) != labels))
        best = min(best, error + float(occam_bound(rest + sum(bits), len(labels), delta)))
    return Entry(name, where, float(best), of=of, invariant="layer times c, another over c")


@eqx.filter_jit
def _errors(model: Any, changes: Any, inputs: Any, labels: Any) -> Any:
    """How many examples each of the changed networks gets wrong."""
    trained, fixed = eqx.partition(model, eqx.is_inexact_array)

    def wrong(change):
        changed = eqx.combine(jax.tree.map(jnp.add, trained, change), fixed)
        return jnp.sum(jnp.argmax(_outputs(changed, inputs), axis=1) != labels)

    return jax.lax.map(wrong, changes)


def noisy_errors(
    draw: np.random.Generator,
    model: Any,
    scales: np.ndarray,
    inputs: Any,
    labels: Labels,
    progress: Callable[[int], None],
) -> Float[np.ndarray, " networks"]:
    """Share of wrong answers of one network for each scale, with that much Gaussian noise on all its parameters.

    `progress(done)` is called after each batch of networks.
    """
    leaves, structure = jax.tree.flatten(eqx.filter(model, eqx.is_inexact_array))
    ends = np.cumsum([leaf.size for leaf in leaves])
    kind = np.float64 if any(leaf.dtype == np.float64 for leaf in leaves) else np.float32
    together = max(k for k in (1, 2, 4, 10, 20) if k == 1 or k * ends[-1] <= NUMBERS)
    found = []
    for start in range(0, len(scales), together):
        part = scales[start : start + together, None].astype(kind)
        noise = np.split(part * draw.standard_normal((len(part), ends[-1]), kind), ends[:-1], axis=1)
        shaped = [
            each.reshape(len(part), *leaf.shape).astype(leaf.dtype) for each, leaf in zip(noise, leaves, strict=True)
        ]
        found.append(np.asarray(_errors(model, jax.tree.unflatten(structure, shaped), inputs, labels)))
        progress(start + len(part))
    return np.concatenate(found) / len(labels)


def check_initial(model: Any, initial: Any) -> None:
    """Refuse an initial model that is not of the trained one's kind."""
    if not isinstance(initial, eqx.Module) or not isinstance(model, eqx.Module):
        raise ValueError("initial is for Equinox models: the same model before training")
    shapes = [[(np.shape(leaf), np.asarray(leaf).dtype) for leaf in stored_numbers(each)] for each in (initial, model)]
    if shapes[0] != shapes[1]:
        sizes = [sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(m, eqx.is_array))) for m in (initial, model)]
        raise ValueError(
            f"the initial model has {sizes[0]} parameters and the trained one {sizes[1]}; shapes and types must agree"
        )


def _distance(model: Any, initial: Any) -> tuple[float, int]:
    """How far the parameters are from the initial ones (or 0), and the bits of other numbers that are not the same."""
    moved, rest = eqx.partition(eqx.filter(model, eqx.is_array_like), eqx.is_inexact_array)
    now = [np.asarray(leaf, float) for leaf in jax.tree.leaves(moved)]
    if initial is None:
        return float(np.sqrt(sum(np.sum(leaf**2) for leaf in now))), stored_bits(rest)
    start, before = eqx.partition(eqx.filter(initial, eqx.is_array_like), eqx.is_inexact_array)
    then = [np.asarray(leaf, float) for leaf in jax.tree.leaves(start)]
    square = sum(np.sum((a - b) ** 2) for a, b in zip(now, then, strict=True))
    others = zip(stored_numbers(rest), stored_numbers(before), strict=True)
    return float(np.sqrt(square)), sum(stored_bits(a) for a, b in others if not np.array_equal(a, b))


def posterior_rows(
    model: Any,
    initial: Any,
    inputs: Any,
    labels: Labels,
    delta: float,
    key: Any,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Entry]:
    """PAC-Bayes for the network with Gaussian noise on its parameters, prior around the initial model; four bounds.

    The noise is the one of ten levels at which the first of them, kl inverted, is smallest.

    Both laws have the same variance s², so the divergence is ‖w − w₀‖²/2s², and log 2 for each bit of numbers without
    noise that are not those of the initial model. Half of δ pays for the bound at all noise levels, half for the Monte
    Carlo estimate of the noisy network's error, by Chernoff's bound on one side.
    """
    of, n, share = "the network with noise on its weights", len(labels), delta / 2 / len(SCALES)
    relative = kl_comparison()

    def catoni(risk, divergence):
        tried = [catoni_bound(risk, divergence, n, share / len(TEMPERATURES), temperature=t) for t in TEMPERATURES]
        return np.minimum.reduce([np.asarray(value) for value in tried])

    bounds: dict[tuple[str, str], Callable] = {
        ("PAC-Bayes, kl inverted", "lucchi Thm 69, Maurer 2004"): lambda risk, divergence: comparison_bound(
            relative, risk, np.asarray(maurer_budget(divergence, n, share))
        ),
        ("PAC-Bayes, Langford–Seeger", "Dziugaite and Roy 2017"): lambda risk, divergence: comparison_bound(
            relative, risk, np.asarray(langford_seeger_budget(divergence, n, share))
        ),
        ("PAC-Bayes, McAllester", "arora Thm 5.6.1"): lambda risk, divergence: mcallester_bound(
            risk, divergence, n, share
        ),
        ("PAC-Bayes, Catoni", "Catoni 2007"): catoni,
    }
    invariant = "nothing: parameters are compared one by one"
    if model is None or not jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        need = "needs an Equinox model" if model is None else "needs parameters"
        return [Entry(*named, None, (need,), of=of, invariant=invariant) for named in bounds]
    distance, bits = _distance(model, initial)
    divergences = np.asarray(isotropic_gaussian_kl(distance, SCALES**2), float) + bits * np.log(2)
    draw = generator(jax.random.key(0) if key is None else key)
    inverted = next(iter(bounds.values()))
    # Levels whose divergence alone forbids a bound below 1 are not tried; the least hopeless one always is.
    hopeful = (inverted(np.zeros(len(SCALES)), divergences) < 0.999) | (divergences == divergences.min())
    tries, few = np.repeat(SCALES[hopeful], TRIES), slice(0, ENOUGH)
    total = len(tries) + DRAWS
    seen = noisy_errors(draw, model, tries, inputs[few], labels[few], lambda done: progress(done, total))
    rough = np.ones(len(SCALES))
    rough[hopeful] = seen.reshape(-1, TRIES).mean(axis=1)
    place = int(np.argmin(np.where(hopeful, inverted(rough, divergences), np.inf)))
    # Fresh networks: those that chose the level would flatter it.
    levels = np.full(DRAWS, SCALES[place])
    fresh = noisy_errors(draw, model, levels, inputs, labels, lambda done: progress(len(tries) + done, total))
    certain = comparison_bound(relative, float(np.mean(fresh)), np.log(2 / delta) / DRAWS)
    of, risks = f"the network with noise {SCALES[place]:.2g} on its weights", np.full(len(SCALES), certain)
    return [
        Entry(*named, float(np.asarray(bound(risks, divergences))[place]), of=of, invariant=invariant)
        for named, bound in bounds.items()
    ]
