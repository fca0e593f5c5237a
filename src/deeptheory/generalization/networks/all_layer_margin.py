"""The all-layer margin of Wei and Ma: how little must be added at all layers at once before the answer changes.

Networks are bias-free with ReLU between layers, given by matrices (out × in). Layer i adds δᵢ·‖hᵢ₋₁‖ to its output:
h₀ = x, hᵢ = fᵢ(hᵢ₋₁) + δᵢ‖hᵢ₋₁‖ with fᵢ = relu(Aᵢ·) and the last one linear, and
m(x, y) = min √(Σ‖δᵢ‖²) over all δ for which y is no longer the one largest output. Reference: handbook 8.3.3.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.generalization.networks.norms import margins, relu_network, spectral_norm

__all__ = [
    "all_layer_margin_bound",
    "all_layer_margins",
    "last_layer_margins",
    "least_all_layer_margins",
    "linear_layer_margins",
    "perturbed_outputs",
]

Layers = Sequence[Float[AnyArray, "_out _in"]]
Inputs = Float[AnyArray, "n d"]
Labels = Int[AnyArray, " n"]


def perturbed_outputs(
    layers: Layers, inputs: Inputs, perturbations: Sequence[Float[np.ndarray, "n _out"]]
) -> Float[np.ndarray, "n k"]:
    """Outputs of the network with δᵢ times the norm of its input added after layer i, a row of δ for each input."""
    return _forward([np.asarray(layer) for layer in layers], np.asarray(inputs), perturbations)[-1][0]


def _forward(layers, inputs, perturbations):
    """What goes into each layer, its norm and where the layer is active; at the end the outputs."""
    hidden, kept = inputs, []
    for place, (layer, change) in enumerate(zip(layers, perturbations, strict=True)):
        size, image = np.linalg.norm(hidden, axis=1, keepdims=True), hidden @ layer.T
        active = np.ones_like(image) if place == len(layers) - 1 else (image > 0).astype(image.dtype)
        kept.append((hidden, size, active))
        hidden = image * active + change * size
    return [*kept, (hidden,)]


def _slopes(layers, kept, perturbations, direction):
    """Slopes in every δᵢ of the outputs along a direction, by going backwards."""
    found = []
    for layer, change, (hidden, size, active) in reversed(list(zip(layers, perturbations, kept[:-1], strict=True))):
        found.append(direction * size)
        unit = hidden / np.where(size > 0, size, 1.0)
        direction = (direction * active) @ layer + np.sum(direction * change, axis=1, keepdims=True) * unit
    return found[::-1]


def linear_layer_margins(layer: Float[AnyArray, "k d"], inputs: Inputs, labels: Labels) -> Float[np.ndarray, " n"]:
    """The all-layer margin of one linear layer: max(0, margin)/(√2·‖x‖), the two outputs meeting half-way."""
    return last_layer_margins([layer], inputs, labels)


def last_layer_margins(layers: Layers, inputs: Inputs, labels: Labels) -> Float[np.ndarray, " n"]:
    """The least δ at the last layer alone: max(0, margin)/(√2·‖h_{L−1}‖), an upper bound on the all-layer margin."""
    hidden = jnp.asarray(inputs) if len(layers) == 1 else jax.nn.relu(relu_network(layers[:-1], inputs))
    sizes = np.linalg.norm(np.asarray(hidden, float), axis=1)
    own = np.maximum(margins(np.asarray(hidden) @ np.asarray(layers[-1]).T, labels), 0.0)
    return own / (np.sqrt(2.0) * np.where(sizes > 0, sizes, 1.0))


def least_all_layer_margins(layers: Layers, inputs: Inputs, labels: Labels) -> Float[np.ndarray, " n"]:
    """A lower bound: the m at which ‖x‖·(∏(‖Aᵢ‖₂ + m) − ∏‖Aᵢ‖₂) reaches margin/√2; exact for one linear layer.

    With ‖δᵢ‖ ≤ m for every i the output moves by no more than that, by induction over the layers.
    """
    still = [np.zeros((len(inputs), len(layer))) for layer in layers]
    own = np.maximum(margins(perturbed_outputs(layers, inputs, still), labels), 0.0)
    reach = own / (np.sqrt(2.0) * np.linalg.norm(np.asarray(inputs, float), axis=1))
    norms = [spectral_norm(layer) for layer in layers]
    grown = np.polynomial.polynomial.polyfromroots([-norm for norm in norms])  # ∏(s + m), powers of m ascending
    low, high = np.zeros(len(own)), np.full(len(own), 1.0) + np.max(reach)  # ∏(s+m) − ∏s ≥ m^L
    while np.any(np.polynomial.polynomial.polyval(high, grown) - grown[0] < reach):
        high = 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        short = np.polynomial.polynomial.polyval(middle, grown) - grown[0] < reach
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return low


def all_layer_margins(
    layers: Layers, inputs: Inputs, labels: Labels, *, steps: int = 40, together: bool = True
) -> Float[np.ndarray, " n"]:
    """The all-layer margins as far as a search finds them: upper bounds, each with a δ that does change the answer.

    For every other class and from starts at one layer each and at all layers, δ is moved to the point nearest to 0 on
    the plane that touches the constraint; each δ met is shortened by bisection as far as the answer stays changed.
    With `together=False` only one layer is perturbed at a time. Wrong answers have margin 0.
    """
    matrices, x, y = [np.asarray(layer, float) for layer in layers], np.asarray(inputs, float), np.asarray(labels)
    classes, depth = matrices[-1].shape[0], len(matrices)
    rivals = np.array([[c for c in range(classes) if c != label] for label in y])
    # One row of the search for each example, rival class and layer; then again for each start with all layers free.
    rows, columns, places = (axis.ravel() for axis in np.indices((len(y), classes - 1, depth)))
    free = [(places == place).astype(float)[:, None] for place in range(depth)]
    search = partial(_nearest, matrices, x[rows], y[rows], rivals[rows, columns], steps)
    found = search([np.zeros((len(rows), layer.shape[0])) for layer in matrices], free)
    pieces = [found]
    if together:
        everywhere = [np.ones((len(rows), 1))] * depth
        pieces.append(search(found, everywhere))
        pieces.append(search([np.zeros_like(change) for change in found], everywhere))
    sizes = np.minimum.reduce([_shortest(matrices, x[rows], y[rows], piece, 60) for piece in pieces])
    least = sizes.reshape(len(y), -1).min(axis=1)
    return np.where(margins(relu_network(layers, inputs), labels) <= 0, 0.0, least)


def _length(perturbations):
    return np.sqrt(sum(np.sum(change**2, axis=1) for change in perturbations))


def _shortest(layers, inputs, labels, perturbations, halvings):
    """Length of the least multiple, up to 2, that changes the answer, as far as bisection finds it; else infinity."""

    def changed(multiple):
        scaled = [multiple[:, None] * change for change in perturbations]
        return margins(_forward(layers, inputs, scaled)[-1][0], labels) <= 0

    low, high = np.zeros(len(labels)), np.full(len(labels), 2.0)
    reached = changed(high)
    for _ in range(halvings):
        middle = (low + high) / 2
        now = changed(middle)
        low, high = np.where(now, low, middle), np.where(now, middle, high)
    return np.where(reached, high * _length(perturbations), np.inf)


def _nearest(layers, inputs, labels, rivals, steps, start, free):
    """The shortest δ met on the way from a start, moving only where `free`."""
    outputs = np.arange(layers[-1].shape[0])
    direction = (outputs == labels[:, None]).astype(float) - (outputs == rivals[:, None])
    change, best, least = start, start, _shortest(layers, inputs, labels, start, 12)
    for _ in range(steps):
        kept = _forward(layers, inputs, change)
        value = np.sum(direction * kept[-1][0], axis=1)
        slopes = [slope * where for slope, where in zip(_slopes(layers, kept, change, direction), free, strict=True)]
        square = sum(np.sum(slope**2, axis=1) for slope in slopes)
        along = sum(np.sum(slope * old, axis=1) for slope, old in zip(slopes, change, strict=True))
        move = np.where(square > 0, along - value, 0.0) / np.where(square > 0, square, 1.0)
        change = [move[:, None] * slope for slope in slopes]
        size = _shortest(layers, inputs, labels, change, 12)
        shorter = (size < least)[:, None]
        best = [np.where(shorter, new, old) for new, old in zip(change, best, strict=True)]
        least = np.minimum(size, least)
    return best


def all_layer_margin_bound(values: Float[np.ndarray, " n"], *, capacity: float = 1.0) -> float:
    """capacity²·(log n)²·mean(1/m²)/n, an order for networks without training error; capacity Σ Cᵢ over the layers.

    Reference: Wei and Ma 2019, as cited in handbook 8.3.3. For one linear layer it is 2·capacity²·mean(‖x‖²/margin²)
    times (log n)²/n: the classical bound by the margin with its square.
    """
    if not np.all(values > 0):
        raise ValueError("the bound needs positive margins: every training example answered rightly")
    return float(capacity**2 * np.log(len(values)) ** 2 * np.mean(1 / values**2) / len(values))


doors(__name__, steps="[1, 1e4]")
