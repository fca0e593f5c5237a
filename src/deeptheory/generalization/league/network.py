"""What a model is to the league: a function of its numbers, and its linear and convolutional layers as matrices."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Num

from deeptheory.foundations.arrays import AnyArray

__all__ = [
    "ModelLayers",
    "Network",
    "changed_bits",
    "equinox_network",
    "found_layers",
    "given_layers",
    "layered_network",
    "stored_bits",
    "stored_numbers",
]

AT_ONCE = 4096
"""Examples that go through a network together."""


@dataclass(frozen=True)
class ModelLayers:
    """Weight matrices (out × in) and biases in the order of the model, and what a bound should know beside them.

    A convolution is its matrix on patches (out × in·kernel size) times √(kernel size), which bounds its operator norm.
    `parameters` counts the entries of all arrays of the model, `outside` those that belong to none of these layers, and
    `bits` is what the whole model takes to store.
    """

    matrices: list[Float[np.ndarray, "_out _in"]]
    biases: list[Float[np.ndarray, " _out"] | None]
    parameters: int
    bits: int
    outside: int = 0
    convolutions: bool = False

    @property
    def biased(self) -> bool:
        return any(bias is not None for bias in self.biases)

    @property
    def in_order(self) -> bool:
        """Whether each layer takes what the one before gives."""
        fit = all(after.shape[1] == before.shape[0] for before, after in pairwise(self.matrices))
        return fit and not self.convolutions

    def chain(self, inputs: Num[AnyArray, "n ..."]) -> Float[np.ndarray, "n k"] | None:
        """Outputs of these layers one after the other, ReLU between, in double precision; None if they do not fit."""
        width = int(np.prod(np.shape(inputs)[1:]))
        if not self.matrices or not self.in_order or self.matrices[0].shape[1] != width:
            return None
        parts = []
        for at in range(0, len(inputs), AT_ONCE):
            hidden = np.asarray(inputs[at : at + AT_ONCE], float).reshape(-1, width)
            for place, (matrix, bias) in enumerate(zip(self.matrices, self.biases, strict=True)):
                hidden = (np.maximum(hidden, 0) if place else hidden) @ matrix.T + (0 if bias is None else bias)
            parts.append(hidden)
        return np.concatenate(parts)


@dataclass(frozen=True)
class Network:
    """A trained classifier as `call(tree, inputs)`, `tree` every number in it, `start` the same before training.

    Where nothing is known of a function but its answers, `tree` is None. `chain` are its layers if they are all of it.
    """

    call: Callable[[Any, Any], Any]
    tree: Any = None
    start: Any = None
    chain: ModelLayers | None = None
    chain_start: ModelLayers | None = None
    of: str = "the network"

    @property
    def numbers(self) -> int:
        """How many numbers the tree holds."""
        return sum(np.size(leaf) for leaf in stored_numbers(self.tree))

    @property
    def bits(self) -> int:
        """Bits of the tree as it is stored."""
        return stored_bits(self.tree)

    def outputs(self, tree: Any, inputs: Num[AnyArray, "n ..."]) -> np.ndarray:
        """Outputs for all inputs, a bounded number of them at a time."""
        parts = [np.asarray(self.call(tree, inputs[at : at + AT_ONCE])) for at in range(0, len(inputs), AT_ONCE)]
        return np.concatenate(parts)


@eqx.filter_jit
def _mapped(model: Any, inputs: Num[AnyArray, "n ..."]) -> Any:
    return jax.vmap(model)(inputs)


def equinox_network(model: Any, initial: Any) -> Network:
    """An Equinox model, which maps one input to its outputs."""
    return Network(_mapped, model, initial)


def layered_network(chain: ModelLayers, start: ModelLayers | None) -> Network:
    """The ReLU network of layers passed by hand, for a function that gives the same outputs."""

    def call(tree: Any, inputs: Any) -> Any:
        hidden = jnp.reshape(inputs, (len(inputs), -1))
        for place, (matrix, bias) in enumerate(tree):
            hidden = (jax.nn.relu(hidden) if place else hidden) @ matrix.T + (0 if bias is None else bias)
        return hidden

    def numbers(layers: ModelLayers) -> list[tuple[Any, Any]]:
        pairs = zip(layers.matrices, layers.biases, strict=True)
        return [(jnp.asarray(matrix), None if bias is None else jnp.asarray(bias)) for matrix, bias in pairs]

    of = "the ReLU network of the layers passed"
    return Network(call, numbers(chain), None if start is None else numbers(start), chain, start, of)


def stored_bits(tree: Any) -> int:
    """Bits of every number in a tree as it is stored: 8·itemsize for each, whatever its type."""
    return sum(8 * np.asarray(leaf).nbytes for leaf in stored_numbers(tree))


def stored_numbers(tree: Any) -> list[Any]:
    """Every array and number in a tree, random keys as the words that they are."""
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_array_like))
    typed = [jnp.issubdtype(getattr(leaf, "dtype", float), jax.dtypes.prng_key) for leaf in leaves]
    return [jax.random.key_data(leaf) if key else leaf for leaf, key in zip(leaves, typed, strict=True)]


def changed_bits(rest: Any, start: Any) -> int:
    """Bits of the numbers in `rest`, which are not real ones, without those that are the same at the start."""
    if start is None:
        return stored_bits(rest)
    before = stored_numbers(eqx.filter(start, eqx.is_inexact_array, inverse=True))
    pairs = zip(stored_numbers(rest), before, strict=True)
    return sum(stored_bits(now) for now, then in pairs if not np.array_equal(now, then))


def found_layers(model: Any) -> ModelLayers:
    """Layers of an Equinox model: every `eqx.nn.Linear` and `eqx.nn.Conv` in it."""
    kinds = (eqx.nn.Linear, eqx.nn.Conv)
    layers = [
        leaf for leaf in jax.tree.leaves(model, is_leaf=lambda node: isinstance(node, kinds)) if isinstance(leaf, kinds)
    ]
    matrices, biases = [], []
    for layer in layers:
        weight = np.asarray(layer.weight, float)
        kernel = int(np.prod(weight.shape[2:]))
        matrices.append(weight.reshape(weight.shape[0], -1) * np.sqrt(kernel))
        biases.append(None if layer.bias is None else np.asarray(layer.bias, float).ravel())
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    inside = sum(matrix.size for matrix in matrices) + sum(bias.size for bias in biases if bias is not None)
    convolutions = any(isinstance(layer, eqx.nn.Conv) for layer in layers)
    return ModelLayers(matrices, biases, parameters, stored_bits(model), parameters - inside, convolutions)


def given_layers(layers: Any, name: str = "layers") -> ModelLayers:
    """Layers passed by hand: matrices or pairs (matrix, bias), each as wide as the one before is high, none zero."""
    if not isinstance(layers, list | tuple) or not layers:
        raise ValueError(f"{name} must be a list of matrices (out × in) or pairs (matrix, bias), got {_named(layers)}")
    pairs = [_matrix_and_bias(place, layer) for place, layer in enumerate(layers)]
    for place, ((before, _), (after, _)) in enumerate(pairwise(pairs), 1):
        if after.shape[1] != before.shape[0]:
            raise ValueError(
                f"layer {place} takes {after.shape[1]} inputs but layer {place - 1} gives {before.shape[0]}"
            )
    numbers = [each for pair in pairs for each in pair if each is not None]
    matrices = [np.asarray(matrix, float) for matrix, _ in pairs]
    biases = [None if bias is None else np.asarray(bias, float) for _, bias in pairs]
    return ModelLayers(matrices, biases, sum(each.size for each in numbers), stored_bits(numbers))


def _matrix_and_bias(place: int, layer: Any) -> tuple[np.ndarray, np.ndarray | None]:
    paired = isinstance(layer, list | tuple) and len(layer) == 2 and np.ndim(layer[0]) == 2
    matrix, bias = layer if paired else (layer, None)
    if not isinstance(matrix, list | tuple) and not hasattr(matrix, "__array__"):
        raise ValueError(f"layer {place} must be a matrix (out × in), got {_named(matrix)}: pass its weight")
    try:
        array = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        raise ValueError(f"layer {place} must be a matrix (out × in) or a pair (matrix, bias)") from None
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
        raise ValueError(f"layer {place} must be a matrix of finite numbers, got shape {array.shape}")
    if not np.any(array):
        raise ValueError(f"layer {place} must be a matrix that is not zero")
    if bias is None:
        return array, None
    shift = np.asarray(bias)
    if shift.shape != (len(array),) or shift.dtype.kind not in "fiu" or not np.all(np.isfinite(shift)):
        raise ValueError(f"the bias of layer {place} must be {len(array)} finite numbers, got shape {shift.shape}")
    return array, shift


def _named(value: Any) -> str:
    return "an empty list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
