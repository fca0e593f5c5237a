"""The linear and convolutional layers of a model, as matrices that norm bounds can read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

__all__ = ["ModelLayers", "found_layers", "given_layers"]


@dataclass(frozen=True)
class ModelLayers:
    """Weight matrices (out × in) in the order of the model, and what a bound should know about how they were read.

    A convolution is its matrix on patches (out × in·kernel size) times √(kernel size), which bounds its operator norm.
    """

    matrices: list[Float[np.ndarray, "_out _in"]]
    parameters: int
    biases: bool
    convolutions: bool


def found_layers(model: Any) -> ModelLayers:
    """Layers of an Equinox model: every `eqx.nn.Linear` and `eqx.nn.Conv` in it."""
    import equinox as eqx

    kinds = (eqx.nn.Linear, eqx.nn.Conv)
    layers = [
        leaf for leaf in jax.tree.leaves(model, is_leaf=lambda node: isinstance(node, kinds)) if isinstance(leaf, kinds)
    ]
    matrices, biases = [], False
    for layer in layers:
        weight = np.asarray(layer.weight, float)
        kernel = int(np.prod(weight.shape[2:]))
        matrices.append(weight.reshape(weight.shape[0], -1) * np.sqrt(kernel))
        biases |= layer.bias is not None and bool(np.any(np.asarray(layer.bias) != 0))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    return ModelLayers(matrices, int(parameters), biases, any(isinstance(layer, eqx.nn.Conv) for layer in layers))


def given_layers(matrices: Sequence[Any]) -> ModelLayers:
    """Layers passed by hand; each must be a matrix whose width is the height of the one before."""
    layers = [np.asarray(matrix, float) for matrix in matrices]
    for place, layer in enumerate(layers):
        if layer.ndim != 2 or not np.all(np.isfinite(layer)):
            raise ValueError(f"layer {place} must be a matrix of finite numbers, got shape {layer.shape}")
        if place and layer.shape[1] != layers[place - 1].shape[0]:
            raise ValueError(
                f"layer {place} takes {layer.shape[1]} inputs but layer {place - 1} gives {layers[place - 1].shape[0]}"
            )
    return ModelLayers(layers, sum(layer.size for layer in layers), False, False)
