"""Linear classifiers, for which the worst perturbation is known: radii, adversarial losses and errors in closed form.

Everything follows from max ⟨w, δ⟩ = ε‖w‖_q over ‖δ‖_p ≤ ε, 1/p + 1/q = 1. There is no box here: with one the values are
bounds. These are the oracles of `attacks` and `adversarial_training`.

`weights` is w, `bias` b, `order` p; `threat` holds p and ε.

Reference: arora 18.1; lucchi 12.1; handbook 2.1; for the trade-off Tsipras et al. 2019.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import positive
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.robustness.threats import Threat, dual_order

__all__ = [
    "gaussian_error",
    "halfspace_radius",
    "logistic_adversarial_loss",
    "most_robust_weights",
    "softmax_radius",
]

Weights = Float[np.ndarray, " d"]
Points = Float[np.ndarray, "*batch d"]


def halfspace_radius(weights: Weights, bias: float, points: Points, order: float) -> Float[np.ndarray, "*batch"]:
    """Return the largest ε for which no ‖δ‖_p < ε changes the sign of ⟨w, x⟩ + b: |⟨w, x⟩ + b|/‖w‖_q (handbook 2.1)."""
    size = np.linalg.norm(weights, dual_order(order))
    positive(length_of_the_weights=size)
    return np.asarray(np.abs(points @ weights + bias) / size)


def softmax_radius(
    weights: Float[np.ndarray, "k d"],
    biases: Float[np.ndarray, " k"],
    points: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    order: float,
) -> Float[np.ndarray, " n"]:
    """Return the radius of the answers argmax(Wx + b) at the labels: min over j ≠ y of (f_y − f_j)/‖w_y − w_j‖_q.

    0 where the label is not the answer. Rows of W that are equal never overtake one another.
    """
    logits = points @ weights.T + biases
    own = np.take_along_axis(logits, labels[:, None], 1)
    gaps = np.linalg.norm(weights[labels][:, None] - weights, dual_order(order), axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(gaps > 0, (own - logits) / gaps, np.where(own >= logits, np.inf, -np.inf))
    ratios[np.arange(len(labels)), labels] = np.inf
    return np.maximum(ratios.min(1), 0)


def logistic_adversarial_loss(
    weights: Weights, bias: float, points: Float[np.ndarray, "n d"], signs: Float[np.ndarray, " n"], threat: Threat
) -> Float[np.ndarray, " n"]:
    """Return the largest logistic loss in each ball, log(1 + exp(−y(⟨w, x⟩ + b) + ε‖w‖_q)); signs y are ±1.

    Its mean is the empirical adversarial risk: logistic regression whose margins are smaller by ε‖w‖_q.
    """
    lost = float(threat.radius) * np.linalg.norm(weights, dual_order(threat.order))
    return np.asarray(logistic_loss(signs * (points @ weights + bias) - lost))


def gaussian_error(weights: Weights, means: Weights, deviations: Weights, threat: Threat) -> float:
    """Return the adversarial error of sign⟨w, x⟩ when x = yμ + noise, y = ±1, noise independent with these deviations.

    Φ(−(⟨w, μ⟩ − ε‖w‖_q)/√Σσᵢ²wᵢ²); with ε = 0 the error itself.
    """
    margin = weights @ means - float(threat.radius) * np.linalg.norm(weights, dual_order(threat.order))
    return float(ndtr(-margin / np.linalg.norm(deviations * weights)))


def most_robust_weights(means: Weights, deviations: Weights, radius: float) -> Weights:
    """Return the weights with the least ℓ∞ adversarial error for x = yμ + noise: sign(μᵢ)(|μᵢ| − ε)₊/σᵢ².

    A feature whose mean is below ε is worse than useless: the adversary turns it round. The least error is
    Φ(−√Σ(|μᵢ| − ε)₊²/σᵢ²), by Cauchy and Schwarz. Reference: arora 18.1.2 for the trade-off this makes exact.
    """
    positive(deviations=deviations)
    left = np.maximum(np.abs(means) - radius, 0)
    if not np.any(left):
        raise ValueError(f"radius must be less than the largest mean {np.abs(means).max():g}, got {radius}")
    return np.sign(means) * left / deviations**2


doors(__name__, order="[1, ∞]", infinite=("order",), radius="[0, ∞)")
