"""The linear and convolutional layers of a model, as matrices that norm bounds can read, and what it takes to store."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from deeptheory.doors import doors

__all__ = ["ModelLayers", "found_layers", "given_layers", "stored_bits", "stored_numbers"]


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
        return any(bias is not None and bool(np.any(bias != 0)) for bias in self.biases)

    @property
    def in_order(self) -> bool:
        """Whether each layer takes what the one before gives."""
        fit = all(after.shape[1] == before.shape[0] for before, after in pairwise(self.matrices))
        return fit and not self.convolutions

    def chain(self, inputs: Float[Array | np.ndarray, "n ..."]) -> Float[np.ndarray, "n k"] | None:
        """Outputs of these layers one after the other, ReLU between, in double precision; None if they do not fit."""
        hidden = np.asarray(inputs, float).reshape(len(inputs), -1)
        if not self.matrices or not self.in_order or self.matrices[0].shape[1] != hidden.shape[1]:
            return None
        for place, (matrix, bias) in enumerate(zip(self.matrices, self.biases, strict=True)):
            hidden = (np.maximum(hidden, 0) if place else hidden) @ matrix.T + (0 if bias is None else bias)
        return hidden


def stored_bits(model: Any) -> int:
    """Bits of every number in a tree as it is stored: 8·itemsize for each, whatever its type."""
    return sum(8 * np.asarray(leaf).nbytes for leaf in stored_numbers(model))


def stored_numbers(model: Any) -> list[Any]:
    """Every array and number in a tree, random keys as the words that they are."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array_like))
    typed = [jax.numpy.issubdtype(getattr(leaf, "dtype", float), jax.dtypes.prng_key) for leaf in leaves]
    return [jax.random.key_data(leaf) if key else leaf for leaf, key in zip(leaves, typed, strict=True)]


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


def given_layers(matrices: Any) -> ModelLayers:
    """Layers passed by hand: a list of matrices, each as wide as the one before is high, none of them zero."""
    if not isinstance(matrices, list | tuple) or not matrices:
        raise ValueError(f"layers must be a list of matrices (out × in), got {_named(matrices)}")
    for place, matrix in enumerate(matrices):
        if not eqx.is_array(matrix) and not isinstance(matrix, list | tuple):
            raise ValueError(f"layer {place} must be a matrix (out × in), got {_named(matrix)}: pass its weight")
        array = np.asarray(matrix)
        if array.ndim != 2 or array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
            raise ValueError(f"layer {place} must be a matrix of finite numbers, got shape {array.shape}")
        if not np.any(array):
            raise ValueError(f"layer {place} must be a matrix that is not zero")
    layers = [np.asarray(matrix, float) for matrix in matrices]
    for place, (before, layer) in enumerate(pairwise(layers), 1):
        if layer.shape[1] != before.shape[0]:
            raise ValueError(
                f"layer {place} takes {layer.shape[1]} inputs but layer {place - 1} gives {before.shape[0]}"
            )
    parameters = sum(layer.size for layer in layers)
    return ModelLayers(layers, [None] * len(layers), parameters, stored_bits(list(matrices)))


def _named(value: Any) -> str:
    return "an empty list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


doors(__name__)
