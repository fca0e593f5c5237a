"""Every bound that applies to a trained classifier, side by side with its true gap."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from deeptheory.generalization.finite_classes import union_deviation
from deeptheory.generalization.league_door import (
    FEWEST,
    checked_data,
    checked_layers,
    checked_model,
    checked_outputs,
    repeated_inputs,
)
from deeptheory.generalization.league_entries import Entry, League
from deeptheory.generalization.league_posteriors import answers, check_initial, posterior_rows, truncated_row
from deeptheory.generalization.league_rows import counting_rows, margin_rows, same_outputs
from deeptheory.generalization.model_layers import ModelLayers
from deeptheory.robustness.smoothing import clopper_pearson_upper

__all__ = ["Entry", "League", "rank_bounds"]

PREDICTIONS = "anything that keeps the predictions"


def rank_bounds(
    model: Any,
    train: Any,
    test: Any,
    *,
    delta: Any = 0.05,
    layers: Any = None,
    initial: Any = None,
    key: Any = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> League:
    """Return the league of a trained classifier, at confidence 1 − δ; arguments as in `deeptheory.league`.

    All of them are checked here. `progress(done, all)` is called as the networks with noise are evaluated, which takes
    longest.
    """
    checked_model(model, delta, key)
    inputs, labels = checked_data("train", train, fewest=FEWEST)
    held_inputs, held_labels = checked_data("test", test)
    if inputs.shape[1:] != held_inputs.shape[1:]:
        raise ValueError(f"train inputs have shape {inputs.shape[1:]} and test inputs {held_inputs.shape[1:]}")
    equinox = model if isinstance(model, eqx.Module) else None
    if initial is not None:
        check_initial(model, initial)
    n, both = len(labels), jnp.asarray(np.concatenate([inputs, held_inputs]))
    if equinox is not None:
        outputs = checked_outputs("train and test", lambda batch: answers(model, batch), both)
    else:
        parts = {"train": inputs, "test": held_inputs}
        outputs = np.concatenate([checked_outputs(name, lambda x: model(x), part) for name, part in parts.items()])
    classes, largest = outputs.shape[1], max(int(labels.max()), int(held_labels.max()))
    if largest >= classes:
        raise ValueError(f"labels go up to {largest} but there are {classes} outputs")
    found = checked_layers(model, layers, both, outputs)
    chained = found is not None and same_outputs(found.chain(both), outputs)
    guesses = np.argmax(outputs, axis=1)
    errors, train_error = int(np.sum(guesses[n:] != held_labels)), float(np.mean(guesses[:n] != labels))
    entries = [
        _held_out(errors, len(held_labels), repeated_inputs(inputs, held_inputs), delta),
        Entry(
            "Hoeffding, one function",
            "lucchi 8.1",
            float(train_error + union_deviation(n, 1, delta, sides=1)),
            ("the network was chosen with these data",),
            invariant=PREDICTIONS,
        ),
        *counting_rows(found, train_error, n, classes, delta, complete=equinox is not None, chained=chained),
        *margin_rows(found, inputs, outputs[:n], labels, delta, chained=chained),
        truncated_row(equinox, both, labels, delta),
        *posterior_rows(equinox, initial, inputs, labels, delta, key, progress),
        Entry(
            "uniform stability, mutual information",
            "arora 5.4, handbook 11.2",
            None,
            ("needs the algorithm: its runs on other samples",),
        ),
    ]
    entries = [replace(entry, guessing=1 - 1 / classes) for entry in entries]
    order = sorted(entries, key=lambda e: (not e.valid, e.value is None, e.value if e.value is not None else 0.0))
    facts = {} if found is None else _facts(found)
    return League(order, train_error, errors / len(held_labels), n, len(held_labels), float(delta), facts)


def _held_out(errors: int, count: int, repeated: int, delta: float) -> Entry:
    unmet = (f"{repeated:,} of the test inputs are training inputs",) if repeated else ()
    value = float(clopper_pearson_upper(errors, count, delta))
    return Entry("hold-out, exact binomial", "arora Ch. 1, exact tail", value, unmet, invariant=PREDICTIONS)


def _facts(found: ModelLayers) -> dict[str, str]:
    shapes = ", ".join(f"{m.shape[0]}×{m.shape[1]}" for m in found.matrices)
    facts = {"layers": f"{len(found.matrices)} ({shapes})"} if found.matrices else {}
    stored = f"{found.parameters:,} parameters, {found.bits:,} bits"
    return {**facts, "stored": f"{stored}; code and static fields are taken as fixed beforehand"}
