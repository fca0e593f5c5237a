"""What the league accepts: every other argument is refused in one sentence before anything is computed."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from deeptheory.generalization.model_layers import ModelLayers, found_layers, given_layers

__all__ = ["checked_data", "checked_layers", "checked_model", "checked_outputs", "repeated_inputs"]

FEWEST = 8
"""Training examples from which on all bounds of the league are proved."""

Inputs = Num[Array | np.ndarray, "n ..."]
Labels = Int[Array | np.ndarray, " n"]


def checked_model(model: Any, delta: Any, key: Any) -> None:
    """Refuse what is no classifier, no confidence and no random key."""
    if key is not None and not isinstance(key, jax.Array):
        raise ValueError(f"key must be a JAX random key, got {key!r}")
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0 < float(delta) < 1:
        raise ValueError(f"delta must be a number strictly between 0 and 1, got {delta!r}")
    if not callable(model):
        raise ValueError(f"model must be an Equinox model or a function of a batch of inputs, got {model!r}")
    if isinstance(model, eqx.Module):
        leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
        if any(jnp.iscomplexobj(leaf) for leaf in leaves):
            raise ValueError("the parameters of the model must be real numbers, got complex ones")
        if not all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves):
            raise ValueError("the model has parameters that are not finite")


def checked_data(name: str, pair: Any, *, fewest: int = 1) -> tuple[Inputs, Labels]:
    """Inputs and labels of one sample as arrays."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{name} must be a pair (inputs, labels), got {_described(pair)}")
    try:
        inputs, labels = jnp.asarray(pair[0]), np.asarray(pair[1])
    except (TypeError, ValueError):
        raise ValueError(f"the {name} inputs must be an array of numbers, one row for each example") from None
    if inputs.ndim == 0 or labels.ndim == 0 or len(inputs) != len(labels):
        sizes = [len(each) if each.ndim else "no" for each in (inputs, labels)]
        raise ValueError(f"the {name} data have {sizes[0]} inputs and {sizes[1]} labels")
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or (len(labels) and labels.min() < 0):
        raise ValueError(f"the {name} labels must be whole numbers from 0, one for each input")
    if len(labels) < fewest:
        raise ValueError(f"the {name} data must have at least {fewest} examples, got {len(labels)}")
    if not np.all(np.isfinite(np.asarray(inputs))):
        raise ValueError(f"the {name} inputs contain numbers that are not finite")
    return inputs, labels


def _described(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)} things"
    return f"an array of shape {value.shape}" if eqx.is_array(value) else f"a {type(value).__name__}"


def checked_outputs(name: str, predict: Callable, inputs: Inputs) -> Float[np.ndarray, "n k"]:
    """Outputs of the model for a sample: finite, a row for each input, a column for each of two classes or more."""
    try:
        outputs = np.asarray(predict(inputs), float)
    except Exception as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise ValueError(
            f"the model cannot be applied to the {name} inputs, an array of shape {np.shape(inputs)}: {reason}"
        ) from problem
    if outputs.ndim != 2 or outputs.shape[0] != len(inputs) or outputs.shape[1] < 2:
        raise ValueError(f"the model must give one output for each of at least two classes, got shape {outputs.shape}")
    if not np.all(np.isfinite(outputs)):
        wrong = int(np.sum(~np.all(np.isfinite(outputs), axis=1)))
        raise ValueError(f"the model gives outputs that are not finite for {wrong:,} of the {len(inputs):,} inputs")
    return outputs


def checked_layers(model: Any, layers: Any, inputs: Inputs, outputs: Float[np.ndarray, "n k"]) -> ModelLayers | None:
    """The layers found in an Equinox model, or those passed, which must lead from the inputs to the outputs."""
    if layers is None:
        return found_layers(model) if isinstance(model, eqx.Module) else None
    given = given_layers(layers)
    width, height = int(np.prod(np.shape(inputs)[1:])), outputs.shape[1]
    if given.matrices[0].shape[1] != width:
        raise ValueError(f"layer 0 takes {given.matrices[0].shape[1]} inputs but the data have {width}")
    if given.matrices[-1].shape[0] != height:
        raise ValueError(f"the last layer gives {given.matrices[-1].shape[0]} outputs but the model {height}")
    if not isinstance(model, eqx.Module):
        return given
    whole = found_layers(model)
    return replace(given, parameters=whole.parameters, bits=whole.bits)


def repeated_inputs(inputs: Inputs, held: Num[Array | np.ndarray, "m ..."]) -> int:
    """How many test inputs are training inputs too, beyond what a law with atoms would do: 0 unless data are shared.

    Where the inputs repeat themselves within the training data, fresh ones repeat them as often.
    """
    if np.array_equal(np.asarray(inputs), np.asarray(held)):
        return len(held)
    seen = [row.tobytes() for row in np.asarray(inputs)]
    counts: dict[bytes, int] = {}
    for row in seen:
        counts[row] = counts.get(row, 0) + 1
    again = sum(counts[row] > 1 for row in seen) / len(seen)
    common = sum(row.tobytes() in counts for row in np.asarray(held))
    # Three standard errors, each at most half of 1/√m, above the share within the training data, if any repeat there.
    chance = again + 1.5 / np.sqrt(len(held)) if again else 0.0
    return common if common / len(held) > chance else 0
