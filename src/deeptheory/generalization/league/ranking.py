"""Every bound that applies to a trained classifier, side by side with an estimate of its gap."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.entrances import doors
from deeptheory.generalization.league.compressed import compressed_row
from deeptheory.generalization.league.counting import counting_rows, held_out_row, one_function_row
from deeptheory.generalization.league.door import (
    FEWEST,
    check_same_kind,
    checked_data,
    checked_layers,
    checked_network,
    checked_outputs,
    checked_settings,
    repeated_inputs,
)
from deeptheory.generalization.league.margins import margin_rows
from deeptheory.generalization.league.network import ModelLayers, Network, found_layers, given_layers, layered_network
from deeptheory.generalization.league.noise import noise_row
from deeptheory.generalization.league.table import Entry, League

__all__ = ["rank_bounds"]


def rank_bounds(
    model: Any,
    train: Any,
    test: Any,
    *,
    delta: Any = 0.05,
    parameters: Any = None,
    layers: Any = None,
    initial: Any = None,
    key: Any = None,
    progress: Callable[[str], None] = lambda text: None,
) -> League:
    """Return the league of a trained classifier, at confidence 1 − δ; arguments as in `deeptheory.league`.

    All of them are checked here. `progress` is told how far the two slow rows have come, compression and PAC-Bayes.
    """
    checked_settings(delta, key)
    by_layers = layers is not None and parameters is None and not isinstance(model, eqx.Module)
    if initial is not None and not by_layers and parameters is None and not isinstance(model, eqx.Module):
        raise ValueError("initial needs the trained parameters: an Equinox model, parameters= or layers=")
    network = checked_network(model, parameters, None if by_layers else initial)
    inputs, labels = checked_data("train", train, fewest=FEWEST)
    held_inputs, held_labels = checked_data("test", test)
    if inputs.shape[1:] != held_inputs.shape[1:]:
        raise ValueError(f"train inputs have shape {inputs.shape[1:]} and test inputs {held_inputs.shape[1:]}")
    n, both = len(labels), jnp.concatenate([inputs, held_inputs])
    outputs = checked_outputs(network, both)
    classes, largest = outputs.shape[1], max(int(labels.max()), int(held_labels.max()))
    if largest >= classes:
        raise ValueError(f"labels go up to {largest} but there are {classes} outputs")
    found = checked_layers(network, layers, int(np.prod(inputs.shape[1:])), classes)
    chain = None if found is None else found.chain(both)
    chain = chain if same_outputs(chain, outputs) else None
    network = _with_layers(network, layers, initial, found if chain is not None else None)
    guesses = np.argmax(outputs, axis=1)
    errors, train_error = int(np.sum(guesses[n:] != held_labels)), float(np.mean(guesses[:n] != labels))
    entries = [
        held_out_row(errors, len(held_labels), repeated_inputs(inputs, held_inputs), delta),
        one_function_row(train_error, n, delta),
        *counting_rows(network, found, train_error, n, classes, delta, chained=chain is not None),
        *margin_rows(found, None if chain is None else chain[:n], inputs, outputs[:n], labels, delta),
        compressed_row(network, inputs, labels, delta, progress),
        noise_row(network, inputs, labels, delta, key, progress),
        Entry(
            "uniform stability, mutual information",
            "arora 5.4, handbook 11.2",
            None,
            ("needs the algorithm: its runs on other samples",),
        ),
    ]
    entries = [replace(entry, guessing=1 - 1 / classes) for entry in entries]
    order = sorted(entries, key=lambda e: (not e.valid, e.value is None, e.value if e.value is not None else 0.0))
    facts = _facts(network, found)
    return League(order, train_error, errors / len(held_labels), n, len(held_labels), float(delta), facts)


def same_outputs(chain: np.ndarray | None, outputs: np.ndarray) -> bool:
    """Whether the layers, one after the other, are the model on these inputs: its answers and, to rounding, outputs."""
    if chain is None or chain.shape != outputs.shape:
        return False
    close = np.allclose(chain, outputs, rtol=1e-3, atol=1e-3 * float(np.max(np.abs(outputs))))
    return close and bool(np.all(np.argmax(chain, axis=1) == np.argmax(outputs, axis=1)))


def _with_layers(network: Network, layers: Any, initial: Any, chain: ModelLayers | None) -> Network:
    """The network with its layers, if they are all of it; a function of which only these are known becomes them."""
    if layers is None:
        if chain is None or chain.outside:
            return network
        return replace(network, chain=chain, chain_start=None if initial is None else found_layers(initial))
    if network.tree is not None:
        return network
    start = None if initial is None else given_layers(initial, "initial")
    if chain is None:
        return network
    known = layered_network(chain, start)
    if start is not None:
        check_same_kind(known.tree, known.start)
    return known


def _facts(network: Network, found: ModelLayers | None) -> dict[str, str]:
    matrices = [] if found is None else found.matrices
    shapes = ", ".join(f"{m.shape[0]}×{m.shape[1]}" for m in matrices)
    facts = {"layers": f"{len(matrices)} ({shapes})"} if matrices else {}
    if network.tree is None and found is None:
        return facts
    numbers = network.numbers if found is None else found.parameters
    stored = f"{numbers:,} parameters, {network.bits if found is None else found.bits:,} bits"
    return {**facts, "stored": f"{stored}; code and static fields are taken as fixed beforehand"}


doors(__name__)
