"""Deep linear networks that end in a softmax: their layer gradients and a bound that holds weight by weight.

Reference: lucchi 6.3.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["softmax_gradient_bounds", "softmax_layer_gradients"]

Weights = Sequence[Float[AnyArray, "_ _"]]
Vector = Float[AnyArray, "_"]


def _signals(weights: Weights, x: Vector) -> list[np.ndarray]:
    signals = [np.asarray(x)]
    for layer, weight in enumerate(weights, 1):
        if np.shape(weight)[1] != len(signals[-1]):
            raise ValueError(f"layer {layer} takes {np.shape(weight)[1]} numbers, got {len(signals[-1])}")
        signals.append(np.asarray(weight) @ signals[-1])
    return signals


def softmax_layer_gradients(weights: Weights, x: Vector, label: int) -> list[Float[np.ndarray, "_ _"]]:
    """The gradient of −log softmax(W_L⋯W₁x)_label in each matrix: (W_L⋯W_{l+1})ᵀ(p − y)(W_{l−1}⋯W₁x)ᵀ.

    p are the probabilities and y the one-hot label: the error signal p − y goes back through the transposed matrices,
    and meets the signal that came forward (lucchi Sec. 6.3). Weights from the input on; `label` counts from 0.
    """
    signals = _signals(weights, x)
    if label >= len(signals[-1]):
        raise ValueError(f"label must lie in [0, {len(signals[-1]) - 1}], got {label}")
    error, found = softmax(signals[-1]) - np.eye(len(signals[-1]))[label], []
    for weight, signal in zip(reversed(weights), reversed(signals[:-1]), strict=True):
        found.append(np.outer(error, signal))
        error = np.asarray(weight).T @ error
    return found[::-1]


def softmax_gradient_bounds(weights: Weights, x: Vector) -> Float[np.ndarray, " layers"]:
    """2‖W_L⋯W_{l+1}‖²‖W_{l−1}⋯W₁x‖² for each layer l, whatever the label: above the squared length of its gradient.

    From ‖p − y‖² ≤ 2, and the operator norm of the product. Moments of independent factors do not apply, since p
    depends on all weights.
    """
    signals, later, found = _signals(weights, x), np.eye(len(np.asarray(weights[-1]))), []
    for weight, signal in zip(reversed(weights), reversed(signals[:-1]), strict=True):
        found.append(2 * np.linalg.norm(later, 2) ** 2 * signal @ signal)
        later = later @ np.asarray(weight)
    return np.array(found[::-1])


doors(__name__)
