"""Layer, group and batch normalization, and fully connected networks made with them.

Reference: arora 13.2; Ioffe and Szegedy 2015; Ba, Kiros and Hinton 2016; Wu and He 2018.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "NormalizedNetwork",
    "batch_norm",
    "deep_outputs",
    "group_norm",
    "init_normalized_network",
    "layer_norm",
    "normalization_jacobian",
    "unnormalized",
]

Normalizer = Callable[[Float[Array, "n h"]], Float[Array, "n h"]]


def _standardized(a: Any, axis: int, epsilon: float) -> Any:
    centred = a - a.mean(axis, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis, keepdims=True) + epsilon)


def layer_norm(a: Float[AnyArray, "*n h"], *, epsilon: float = 0.0) -> Float[Array, "*n h"]:
    """Every row minus its mean, divided by its deviation: (aᵢ − μ)/s with s² = (1/H)Σ(aᵢ − μ)².

    A gain γ and a shift β, where there are any, are applied afterwards. `epsilon` is added to s² as libraries do; the
    invariance of everything in this room needs ε = 0, and then no row may be constant. Reference: arora Sec. 13.2.
    """
    return _standardized(jnp.asarray(a), -1, epsilon)


def group_norm(a: Float[AnyArray, "*n h"], *, groups: int, epsilon: float = 0.0) -> Float[Array, "*n h"]:
    """Every row normalized in groups of neighbouring entries of equal number; one group is layer normalization.

    `groups` divides the number of entries; ε = `epsilon` as in `layer_norm`. Reference: Wu and He 2018.
    """
    a = jnp.asarray(a)
    if a.shape[-1] % groups:
        raise ValueError(f"groups must divide the {a.shape[-1]} entries of a row, got {groups}")
    return _standardized(a.reshape(*a.shape[:-1], groups, -1), -1, epsilon).reshape(a.shape)


def batch_norm(a: Float[AnyArray, "n h"], *, epsilon: float = 0.0) -> Float[Array, "n h"]:
    """Every column (a node, over the batch) minus its mean, divided by its deviation. Outputs mix the batch.

    (a − mean)/√(variance + ε) with ε = `epsilon` and the variance over n. Reference: Ioffe and Szegedy 2015; lucchi
    10.3.1.
    """
    return _standardized(jnp.asarray(a), 0, epsilon)


def unnormalized(a: Float[AnyArray, "*n h"]) -> Float[Array, "*n h"]:
    """The identity, in the place of a normalizer."""
    return jnp.asarray(a)


def normalization_jacobian(a: Float[AnyArray, " h"]) -> Float[Array, "h h"]:
    """The derivative of layer normalization without ε: (1/s)(I − 11ᵀ/H − x̂x̂ᵀ/H), x̂ the normalized vector.

    It annihilates the constant vector and the centred input: shift and scale do not matter.
    """
    a = jnp.asarray(a)
    unit = layer_norm(a)
    return (jnp.eye(len(a)) - (1 + jnp.outer(unit, unit)) / len(a)) / a.std()


class NormalizedNetwork(eqx.Module):
    """x⁽ˡ⁾ = ReLU(γ ∘ N(W⁽ˡ⁻¹⁾x⁽ˡ⁻¹⁾) + β) for l = 1…L, and the output W⁽ᴸ⁾x⁽ᴸ⁾ (`top`); N is any normalizer of rows.

    With `unnormalized` and gains 1, shifts 0 it is a plain bias-free ReLU network. Reference: arora Lemma 13.2.2.
    """

    weights: tuple[Float[AnyArray, "_ _"], ...]
    gains: tuple[Float[AnyArray, " _"], ...]
    shifts: tuple[Float[AnyArray, " _"], ...]
    top: Float[AnyArray, "out _"]
    normalize: Normalizer = eqx.field(static=True, default=layer_norm)

    def features(self, x: Float[AnyArray, "n d"]) -> list[Float[Array, "n _"]]:
        """The hidden layers x⁽¹⁾, …, x⁽ᴸ⁾ for a batch of inputs."""
        hidden = []
        for w, gain, shift in zip(self.weights, self.gains, self.shifts, strict=True):
            before = self.normalize((hidden[-1] if hidden else jnp.asarray(x)) @ w.T)
            hidden.append(jax.nn.relu(gain * before + shift))
        return hidden

    def __call__(self, x: Float[AnyArray, "n d"]) -> Float[Array, "n out"]:
        return self.features(x)[-1] @ self.top.T


def init_normalized_network(
    key: Key[Array, ""], widths: Sequence[int], *, normalize: Normalizer = layer_norm, affine: bool = True
) -> NormalizedNetwork:
    """Weights N(0, 2/fan-in); gains and shifts drawn near 1 and 0 (`affine`), else exactly 1 and 0.

    `widths` run from the input to the output, with a hidden layer at least. Reference: He et al. 2015 for the variance.
    """
    if len(widths) < 3 or min(widths) < 1:
        raise ValueError(f"widths must have an input, a hidden layer and an output at least, got {tuple(widths)}")
    rng = generator(key)
    weights = [rng.standard_normal((m, n)) * np.sqrt(2 / n) for n, m in pairwise(widths)]
    spread = 0.3 * affine
    gains = tuple(1 + spread * rng.uniform(-1, 1, m) for m in widths[1:-1])
    shifts = tuple(spread * rng.standard_normal(m) for m in widths[1:-1])
    return NormalizedNetwork(tuple(weights[:-1]), gains, shifts, weights[-1], normalize)


def deep_outputs(
    weights: Float[Array, "depth h h"], top: Float[Array, "out h"], x: Float[Array, "n h"], normalize: Normalizer
) -> Float[Array, "n out"]:
    """The outputs of a network of equal layers x ← ReLU(N(Wx)), compiled once for any depth.

    `weights` are stacked along the first axis, `top` is the last linear map, and `normalize` stands for N.
    """

    def layer(hidden: Any, w: Any) -> tuple[Any, None]:
        return jax.nn.relu(normalize(hidden @ w.T)), None

    return jax.lax.scan(layer, jnp.asarray(x, jnp.result_type(x, weights)), weights)[0] @ top.T


doors(__name__, epsilon="[0, ∞)", groups="[1, ∞)", nan=("layer_norm", "group_norm", "batch_norm"))
