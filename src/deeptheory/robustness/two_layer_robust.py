"""Two-layer ReLU networks on nearly orthogonal inputs: one that is robust, and those that training finds.

Reference: lucchi 12.2; Bubeck, Li and Nagaraj 2021; Vardi, Yehudai and Shamir 2022, Gradient methods provably converge
to non-robust networks.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import positive
from deeptheory.foundations.randomness import generator

__all__ = [
    "TwoLayer",
    "attack_lengths",
    "flipping_lengths",
    "largest_correlation",
    "largest_margin_network",
    "network_gradients",
    "network_outputs",
    "robust_network",
    "safe_radius",
    "train_two_layer",
]


class TwoLayer(NamedTuple):
    """f(x) = Σⱼ aⱼ·relu(wⱼ·x + bⱼ): a row of `weights`, an entry of `biases` and of `outer` for each unit."""

    weights: Float[np.ndarray, "k d"]
    biases: Float[np.ndarray, " k"]
    outer: Float[np.ndarray, " k"]


def network_outputs(network: TwoLayer, x: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n"]:
    """f(x) = Σₗ aₗ·max(⟨wₗ, x⟩ + bₗ, 0), the output of a two-layer ReLU network at each of the inputs (last axis d).

    For networks of any depth take `lipschitz.relu_outputs`. Reference: lucchi (12.5).
    """
    return np.asarray(np.maximum(x @ network.weights.T + network.biases, 0) @ network.outer)


def network_gradients(network: TwoLayer, x: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
    """Return ∇f(x) = Σⱼ aⱼ·1{wⱼ·x + bⱼ > 0}·wⱼ; at a kink a unit counts as silent."""
    return ((x @ network.weights.T + network.biases > 0) * network.outer) @ network.weights


def largest_correlation(inputs: Float[np.ndarray, "m d"]) -> float:
    """The least c with |⟨xᵢ, xⱼ⟩| ≤ c·d for i ≠ j, for inputs of length √d."""
    m, d = inputs.shape
    lengths = np.linalg.norm(inputs, axis=1)
    if np.any(np.abs(lengths - np.sqrt(d)) > 1e-6 * np.sqrt(d)):
        raise ValueError(f"inputs must have length √d = {np.sqrt(d):.6g}, got lengths up to {lengths.max():.6g}")
    return float(np.max(np.abs(inputs @ inputs.T / d - np.eye(m)))) if m > 1 else 0.0


def robust_network(inputs: Float[np.ndarray, "m d"], labels: Float[np.ndarray, " m"]) -> TwoLayer:
    """A unit for each input: wⱼ = 2xⱼ/(d(1 − c)), bⱼ = −(1 + c)/(1 − c), aⱼ = yⱼ; c the largest correlation.

    The own unit is at 1, all others are at −1 or below, so f(xᵢ) = yᵢ. Labels are ±1. Reference: lucchi Thm 75.
    """
    if not np.all(np.abs(labels) == 1):
        raise ValueError(f"labels must be −1 or 1, got {np.unique(labels)}")
    c, d = largest_correlation(inputs), inputs.shape[1]
    if c > 1 - 1e-9:
        raise ValueError("inputs must differ: two of them are equal or opposite")
    bias = np.full(len(inputs), -(1 + c) / (1 - c))
    return TwoLayer(2 * inputs / (d * (1 - c)), bias, np.asarray(labels, float))


def safe_radius(inputs: Float[np.ndarray, "m d"]) -> float:
    """(1 − c)√d/2: no shorter move changes the sign of `robust_network` at its inputs.

    A move of length r changes a pre-activation by at most 2r/((1 − c)√d). The book's radius is half of it. Straight
    towards the origin the output is 0 from there on. Reference: lucchi Thm 75.
    """
    return (1 - largest_correlation(inputs)) * float(np.sqrt(inputs.shape[1])) / 2


def largest_margin_network(inputs: Float[np.ndarray, "m d"], labels: Float[np.ndarray, " m"]) -> TwoLayer:
    """Where training all weights ends, up to scale, on orthogonal inputs of length √d: two units, one for each label.

    With p positive and n negative inputs the positive unit is w = a(λΣ₊xᵢ − (b/(ad))Σ₋xᵢ), b = aλpd/(d + n), with
    λ² = (d + n)/(pd(d + p + n)) and a² = pλ: it is at 1/a on its own inputs and exactly 0, at its kink, on the others.
    The negative unit is its mirror. All other first-order points of the largest margin of any width divide these two
    units among several and compute the same function: a unit that sees any input has b > 0, so is awake on all inputs
    of its label, and silent ones of the other label can only lie at the kink. Reference: lucchi 12.2; Lyu and Li 2020;
    Vardi, Yehudai and Shamir 2022, whose inputs need only be nearly orthogonal.
    """
    if not (np.all(np.abs(labels) == 1) and len(set(labels)) == 2):
        raise ValueError(f"labels must be −1 and 1, both of them, got {np.unique(labels)}")
    c, d = largest_correlation(inputs), inputs.shape[1]
    if c > 1e-9:
        raise ValueError(f"inputs must be orthogonal, got two with a correlation of {c:.3g}")
    units = [_own_unit(inputs, labels == side, d) for side in (1, -1)]
    weights, biases, outer = (np.array(part) for part in zip(*units, strict=True))
    return TwoLayer(weights, biases, outer * np.array([1.0, -1.0]))


def _own_unit(inputs: np.ndarray, own: np.ndarray, d: int) -> tuple[np.ndarray, float, float]:
    """Weights, bias and outer weight of the unit that is awake on the inputs named by `own`."""
    p, n = np.sum(own), np.sum(~own)
    multiplier = np.sqrt((d + n) / (p * d * (d + p + n)))
    bias, outer = multiplier * p * d / (d + n), np.sqrt(p * multiplier)
    weights = multiplier * inputs[own].sum(0) - bias / d * inputs[~own].sum(0)
    return outer * weights, float(outer * bias), float(outer)


def flipping_lengths(dimension: int, positive: int, negative: int) -> tuple[float, float]:
    """How far the inputs of `largest_margin_network` may move: one direction for all of them, and each its shortest.

    Along ∓Σ yᵢxᵢ every input changes its sign at √(md)(d + m)/(md + 4pn) exactly, m = p + n; the shortest move has
    length √d(d + m)/√(p(d + 2n)² + n(d + 2p)²). Both are √(d/m) if p = n: of no order in d where m grows like d,
    while `robust_network` withstands √d/2. `dimension` is d, at least m; `positive` and `negative` are p and n.
    """
    d, p, n = dimension, positive, negative
    if p + n > d:
        raise ValueError(f"dimension must be at least the {p + n} orthogonal inputs, got {d}")
    together = np.sqrt((p + n) * d) * (d + p + n) / ((p + n) * d + 4 * p * n)
    return float(together), float(np.sqrt(d / (p * (d + 2 * n) ** 2 + n * (d + 2 * p) ** 2)) * (d + p + n))


def train_two_layer(
    key: Key[Array, ""],
    inputs: Float[np.ndarray, "m d"],
    labels: Float[np.ndarray, " m"],
    *,
    width: int,
    steps: int = 300,
    rate: float = 0.05,
) -> TwoLayer:
    """Gradient descent on the mean logistic loss, from weights N(0, 1/d), outer weights N(0, 1/k) and biases 0.

    `width` is k; every one of `steps` steps moves all weights and biases by `rate` times the slope.
    """
    positive(rate=rate)
    draw, (m, d) = generator(key), inputs.shape
    weights, outer = draw.standard_normal((width, d)) / np.sqrt(d), draw.standard_normal(width) / np.sqrt(width)
    biases = np.zeros(width)
    for _ in range(steps):
        before = inputs @ weights.T + biases
        hidden = np.maximum(before, 0)
        margin = np.clip(labels * (hidden @ outer), -500, 500)
        pull = labels / (1 + np.exp(margin)) / m
        back = pull[:, None] * (before > 0) * outer
        weights, biases, outer = (
            weights + rate * back.T @ inputs,
            biases + rate * back.sum(0),
            outer + rate * hidden.T @ pull,
        )
    return TwoLayer(weights, biases, outer)


def attack_lengths(network: TwoLayer, inputs: Float[np.ndarray, "m d"], *, steps: int = 30) -> Float[np.ndarray, " m"]:
    """Length of a move found that changes the sign at each input: at least that of the shortest; ∞ if none was found.

    Newton steps −f∇f/‖∇f‖² along the local linear piece, a little too long (Moosavi-Dezfooli and others, DeepFool,
    2016), then bisection on the segment back to the input.
    """
    sign, moved = np.sign(network_outputs(network, inputs)), inputs.copy()
    for _ in range(steps):
        value, gradient = network_outputs(network, moved), network_gradients(network, moved)
        square = np.sum(gradient**2, 1)
        going = (value * sign > 0) & (square > 0)
        if not np.any(going):
            break
        moved[going] -= 1.02 * (value / np.where(square > 0, square, 1))[going, None] * gradient[going]
    near, far = np.zeros(len(inputs)), np.ones(len(inputs))
    for _ in range(40):
        middle = (near + far) / 2
        flipped = network_outputs(network, inputs + middle[:, None] * (moved - inputs)) * sign < 0
        near, far = np.where(flipped, near, middle), np.where(flipped, middle, far)
    found = network_outputs(network, moved) * sign < 0
    return np.where(found, far * np.linalg.norm(moved - inputs, axis=1), np.inf)


doors(
    __name__,
    width="[1, 1e5]",
    steps="[1, 1e6]",
    rate="(0, ∞)",
    infinite=("attack_lengths",),
    dimension="[2, ∞)",
    positive="[1, ∞)",
    negative="[1, ∞)",
)
