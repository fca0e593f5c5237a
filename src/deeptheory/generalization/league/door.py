"""What the league accepts: every other argument is refused in one sentence before anything is computed."""

from dataclasses import replace
from numbers import Real
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.generalization.league.network import (
    ModelLayers,
    Network,
    equinox_network,
    found_layers,
    given_layers,
    stored_numbers,
)

__all__ = [
    "check_same_kind",
    "checked_data",
    "checked_layers",
    "checked_network",
    "checked_outputs",
    "checked_settings",
    "repeated_inputs",
]

FEWEST = 8
"""Training examples from which on all bounds of the league are proved."""

Inputs = Num[AnyArray, "n ..."]
Labels = Int[AnyArray, " n"]

WRAPPED = {
    "torch.": "a torch module is passed as a function: lambda x: module(torch.tensor(np.array(x))).detach().numpy()",
    "flax.linen.": "a Flax module without its variables is passed as league(module.apply, …, parameters=variables)",
}


def checked_settings(delta: Any, key: Any) -> None:
    """Refuse what is no confidence and no random key."""
    if key is not None and not _is_key(key):
        raise ValueError(f"key must be one JAX random key, got {' '.join(repr(key).split()):.60}")
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0 < float(delta) < 1:
        raise ValueError(f"delta must be a number strictly between 0 and 1, got {delta!r}")


def _is_key(key: Any) -> bool:
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    old = isinstance(key, jax.Array) and key.dtype == jnp.uint32 and key.shape == (2,)
    return old or (typed and key.shape == ())


def checked_network(model: Any, parameters: Any, initial: Any) -> Network:
    """The model as a function of its numbers: an Equinox model, a function of them, or a function of inputs alone."""
    for start, sentence in WRAPPED.items():
        bound = getattr(model, "scope", None) is not None
        if not bound and any(kind.__module__.startswith(start) for kind in type(model).__mro__):
            raise ValueError(sentence)
    if not callable(model):
        raise ValueError(f"model must be an Equinox model or a function of a batch of inputs, got {model!r}")
    if isinstance(model, eqx.Module):
        if parameters is not None:
            raise ValueError("parameters are for functions of (parameters, inputs): an Equinox model holds its own")
        if initial is not None and not isinstance(initial, eqx.Module):
            raise ValueError("initial must be the same Equinox model before training")
        network = equinox_network(model, initial)
    elif parameters is not None:
        parameters, initial = (_as_arrays(each) for each in (parameters, initial))
        network = Network(model, parameters, initial)
    else:
        return Network(lambda _, inputs: model(inputs))
    for tree in (network.tree, network.start):
        _check_numbers(tree)
    if initial is not None:
        check_same_kind(network.tree, initial)
    return network


def _as_arrays(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray | float) else leaf, tree)


def _check_numbers(tree: Any) -> None:
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    if any(jnp.iscomplexobj(leaf) for leaf in leaves):
        raise ValueError("the parameters of the model must be real numbers, got complex ones")
    if not all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves):
        raise ValueError("the model has parameters that are not finite")


def check_same_kind(tree: Any, initial: Any) -> None:
    shapes = [[(np.shape(leaf), np.asarray(leaf).dtype) for leaf in stored_numbers(each)] for each in (initial, tree)]
    if shapes[0] != shapes[1]:
        sizes = [sum(int(np.prod(shape)) for shape, _ in each) for each in shapes]
        raise ValueError(
            f"the initial model has {sizes[0]} parameters and the trained one {sizes[1]}; shapes and types must agree"
        )


def checked_data(name: str, pair: Any, *, fewest: int = 1) -> tuple[Inputs, Labels]:
    """Inputs and labels of one sample as arrays."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{name} must be a pair (inputs, labels), got {_described(pair)}")
    try:
        inputs, labels = jnp.asarray(pair[0]), np.asarray(pair[1])
    except (TypeError, ValueError):
        raise ValueError(f"the {name} inputs must be an array of numbers, one row for each example") from None
    if jnp.iscomplexobj(inputs):
        raise ValueError(f"the {name} inputs must be real numbers, got an array of {inputs.dtype}")
    if inputs.ndim == 0 or labels.ndim == 0 or len(inputs) != len(labels):
        sizes = [len(each) if each.ndim else "no" for each in (inputs, labels)]
        raise ValueError(f"the {name} data have {sizes[0]} inputs and {sizes[1]} labels")
    if len(labels) < fewest:
        raise ValueError(f"the {name} data must have at least {fewest} examples, got {len(labels)}")
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise ValueError(f"the {name} labels must be whole numbers from 0, one for each input, got {_seen(labels)}")
    if not np.all(np.isfinite(np.asarray(inputs))):
        raise ValueError(f"the {name} inputs contain numbers that are not finite")
    return inputs, labels


def _seen(labels: np.ndarray) -> str:
    """What is wrong with labels, by an example of it."""
    if labels.ndim != 1:
        return f"an array of shape {labels.shape}"
    if np.issubdtype(labels.dtype, np.integer):
        return str(labels.min())
    return f"{labels.dtype} numbers such as {labels[0]}" if labels.dtype.kind == "f" else f"{labels.dtype}"


def _described(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)} things"
    return f"an array of shape {value.shape}" if eqx.is_array(value) else f"a {type(value).__name__}"


def checked_outputs(network: Network, inputs: Inputs) -> Float[np.ndarray, "n k"]:
    """Outputs of the model for a sample: finite, a row for each input, a column for each of two classes or more."""
    try:
        outputs = np.asarray(network.outputs(network.tree, inputs))
        if not np.iscomplexobj(outputs):
            outputs = outputs.astype(float)
    except Exception as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise ValueError(
            f"the model cannot be applied to inputs of shape {np.shape(inputs)[1:]}, a batch of them: {reason}"
        ) from problem
    if outputs.ndim != 2 or outputs.shape[0] != len(inputs) or outputs.shape[1] < 2:
        raise ValueError(
            f"the model must give one output for each of at least two classes, got shape {outputs.shape}; "
            "a single score s for class 1 becomes the two outputs 0 and s"
        )
    if np.iscomplexobj(outputs):
        raise ValueError(f"the model must give real numbers, got {outputs.dtype}")
    if not np.all(np.isfinite(outputs)):
        wrong = int(np.sum(~np.all(np.isfinite(outputs), axis=1)))
        raise ValueError(f"the model gives outputs that are not finite for {wrong:,} of the {len(inputs):,} inputs")
    return outputs


def checked_layers(network: Network, layers: Any, width: int, height: int) -> ModelLayers | None:
    """The layers found in an Equinox model, or those passed, which must lead from the inputs to the outputs."""
    if layers is None:
        return found_layers(network.tree) if isinstance(network.tree, eqx.Module) else None
    given = given_layers(layers)
    if given.matrices[0].shape[1] != width:
        raise ValueError(f"layer 0 takes {given.matrices[0].shape[1]} inputs but the data have {width}")
    if given.matrices[-1].shape[0] != height:
        raise ValueError(f"the last layer gives {given.matrices[-1].shape[0]} outputs but the model {height}")
    if network.tree is None:
        return given
    outside = network.numbers - given.parameters
    return replace(given, parameters=network.numbers, bits=network.bits, outside=outside)


def repeated_inputs(inputs: Inputs, held: Num[AnyArray, "m ..."]) -> int:
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
