"""Slopes of losses in closed form: softmax with cross-entropy, and the sigmoid perceptron with squared loss.

With the loss that belongs to it, an output's slope is the residual: p − y for softmax and cross-entropy, σ(z) − y for
two classes, with no slope of the activation in it. The squared loss of a sigmoid keeps that factor, which is small
where the unit is sure, rightly or not. The cross-entropies themselves are in `deeptheory.foundations.cross_entropy`.

Reference: lucchi 2.4.4, 2.5.2 and 2.7.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import expit, softmax

from deeptheory.foundations.cross_entropy import remainders
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "Perceptron",
    "binary_residual",
    "perceptron_outputs",
    "perceptron_slopes",
    "softmax_residual",
    "train_perceptron",
]

Logits = Float[np.ndarray, "*batch k"]
Inputs = Float[np.ndarray, "n d"]


def softmax_residual(logits: Logits, target: Logits) -> Logits:
    """Return the gradient of `softmax_cross_entropy` by the logits, p − y for labels y that add up to 1.

    For logits zᵢ = x·θᵢ the gradient by θᵢ is this times x.
    """
    p = softmax(logits, axis=-1)
    return p * (np.sum(target, -1, keepdims=True) - target) - target * remainders(p)


def binary_residual(
    logits: Float[np.ndarray, "*batch"], labels: Float[np.ndarray, "*batch"]
) -> Float[np.ndarray, "*batch"]:
    """Return σ(z) − y, the derivative by the logit of −y log σ(z) − (1 − y) log(1 − σ(z)) (lucchi 2.7)."""
    return expit(logits) * (1 - labels) - labels * expit(-logits)


class Perceptron(NamedTuple):
    """f(x) = Σⱼ βⱼ σ(wⱼ·x): one hidden layer of m sigmoid units, without offsets."""

    outer: Float[np.ndarray, " m"]
    inner: Float[np.ndarray, "m d"]


def perceptron_outputs(perceptron: Perceptron, x: Inputs) -> Float[np.ndarray, " n"]:
    """Return f(x) for each input (lucchi eq. 2.1). A column of ones among the inputs gives the units offsets."""
    return expit(x @ perceptron.inner.T) @ perceptron.outer


def perceptron_slopes(perceptron: Perceptron, x: Inputs, y: Float[np.ndarray, " n"]) -> Perceptron:
    """Return the gradient of the mean of ½(f(x) − y)², in closed form.

    For one example (f − y)/(1 + e^{−wⱼ·x}) by βⱼ, and (f − y) βⱼ xᵢ/((1 + e^{−wⱼ·x})(1 + e^{wⱼ·x})) by w_{ji}.
    Reference: lucchi 2.5.2.
    """
    sums = x @ perceptron.inner.T
    error = (expit(sums) @ perceptron.outer - y) / len(y)
    return Perceptron(error @ expit(sums), (error[:, None] * expit(sums) * expit(-sums) * perceptron.outer).T @ x)


def train_perceptron(
    key: Key[Array, ""], perceptron: Perceptron, x: Inputs, y: Float[np.ndarray, " n"], *, step_size: float, steps: int
) -> tuple[Perceptron, Float[np.ndarray, " steps"]]:
    """Run stochastic gradient descent, one example a step, drawn at random; return it with the losses ½(f − y)² met.

    Every step moves all weights by −`step_size` times the slopes of that example's loss. In a Python loop, for small
    examples.
    """
    rng, losses = generator(key), []
    for i in rng.integers(len(y), size=steps):
        losses.append((perceptron_outputs(perceptron, x[i : i + 1])[0] - y[i]) ** 2 / 2)
        slopes = perceptron_slopes(perceptron, x[i : i + 1], y[i : i + 1])
        perceptron = Perceptron(*(w - step_size * slope for w, slope in zip(perceptron, slopes, strict=True)))
    return perceptron, np.array(losses)


doors(__name__, target="[0, 1]", labels="[0, 1]", step_size="(0, ∞)", steps="[1, 1e5]")
