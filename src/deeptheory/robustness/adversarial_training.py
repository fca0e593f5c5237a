"""Adversarial training: gradient steps on the loss at attacked inputs, the risk it lowers, and why the step is right.

The adversarial risk is E max_δ ℓ(f(x + δ), y). By Danskin's theorem its slope is that of the loss at the maximiser,
held fixed: so a step of training attacks the batch and then descends as usual. Reference: arora 18.1.2, lucchi 12.4.

`threat` is a `threats.Threat`: radius ε, order p and box.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.robustness.attacks import Labels, Points, ascend
from deeptheory.robustness.lipschitz import relu_outputs
from deeptheory.robustness.threats import Scalar, Threat

__all__ = [
    "RiskInterval",
    "WorstOfMany",
    "adversarial_risk",
    "directional_slope",
    "interval_logits",
    "train_adversarially",
    "worst_of_many",
]

Layer = tuple[Float[AnyArray, "_ _"], Float[AnyArray, " _"]]


def train_adversarially(
    key: Key[Array, ""],
    network: PyTree,
    inputs: Points,
    labels: Labels,
    threat: Threat,
    *,
    steps: int = 300,
    batch: int = 100,
    attack_steps: int = 7,
    attack_size: Scalar | None = None,
    noise: float = 0.0,
    rate: float = 1e-2,
) -> tuple[Any, Float[Array, " steps"]]:
    """Train a network on attacked batches with Adam; return it with the adversarial losses met, in one compiled loop.

    Each batch is drawn with replacement, climbed from its inputs for `attack_steps` projected steps of `attack_size`
    (2.5·radius/attack_steps unless given), and the weights then follow the gradient at the points found. With
    `attack_steps=0` it is ordinary training; with `noise` > 0 the batch is a noisy copy first, which is how the base
    classifier of a smoothing is trained. `network` is a pytree that maps rows of inputs to rows of logits. With one
    step the network may learn to fool that step only: use several. Reference: arora 18.1.2, lucchi eq. 12.14.
    """
    if not callable(network):
        raise TypeError(f"network must map rows of inputs to rows of logits, got {network!r:.60}")
    inside(threat.low, threat.high, inputs=inputs)
    rng = generator(key)
    rows = jnp.asarray(rng.integers(len(labels), size=(steps, batch)))
    data = (jnp.asarray(inputs), jnp.asarray(labels))
    drawn = noise * rng.standard_normal((steps, 1 if noise == 0 else batch, np.shape(inputs)[1]))
    noises = jnp.asarray(drawn, jnp.result_type(data[0].dtype, jnp.float32))  # single precision stays single
    size = 2.5 * threat.radius / max(attack_steps, 1) if attack_size is None else attack_size
    return _train(network, data, threat.like(inputs), rows, noises, jnp.asarray(rate), jnp.asarray(size), attack_steps)


@eqx.filter_jit
def _train(network, data, threat, rows, noises, rate, size, attack_steps):
    inputs, labels = data
    weights, form = eqx.partition(network, eqx.is_inexact_array)

    def loss(weights, entry):
        chosen, shift = entry
        points, own = jnp.clip(inputs[chosen] + shift, threat.low, threat.high), labels[chosen]
        if attack_steps:
            current = eqx.combine(jax.lax.stop_gradient(weights), form)
            points = ascend(
                lambda x: label_cross_entropy(current(x), own), points, threat, steps=attack_steps, step_size=size
            ).points
        return jnp.mean(label_cross_entropy(eqx.combine(weights, form)(jax.lax.stop_gradient(points)), own))

    weights, losses = trained(loss, optax.adam(rate), weights, (rows, noises))
    return eqx.combine(weights, form), losses


class RiskInterval(NamedTuple):
    """Empirical risk, and limits of the empirical adversarial risk: an attack's from below, intervals' from above."""

    clean: float
    at_least: float
    at_most: float


def adversarial_risk(
    layers: Sequence[Layer], inputs: Points, labels: Labels, threat: Threat, *, steps: int = 40
) -> RiskInterval:
    """Bracket the mean over the sample of max_δ ℓ(f(x + δ), y) for a ReLU network and p = ∞.

    `layers` are weights and biases of f = W_L·relu(… relu(W₁x + b₁) …) + b_L. From below by projected sign ascent, from
    above by interval arithmetic (`interval_logits`): wide for deep networks that were not trained for it, exact for a
    linear one with two labels whose weights have the same sign in no coordinate, so that one move is worst for both.
    Reference: lucchi eq. 12.13.
    """
    low, high = interval_logits(layers, inputs, threat)
    rows, labels = np.arange(len(labels)), np.asarray(labels)
    worst = np.array(high)
    worst[rows, labels] = np.asarray(low)[rows, labels]

    def losses(x):
        return label_cross_entropy(relu_outputs(layers, x), labels)

    found = ascend(losses, inputs, threat, steps=steps).values
    return RiskInterval(
        float(jnp.mean(losses(jnp.asarray(inputs)))),
        float(jnp.mean(found)),
        float(jnp.mean(label_cross_entropy(worst, labels))),
    )


def interval_logits(
    layers: Sequence[Layer], inputs: Points, threat: Threat
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
    """Return lower and upper limits of every output of a ReLU network over each ℓ∞ ball and box.

    Centre and half-width of each layer's interval: W·centre + b and |W|·half-width; exact for each output of one layer.
    """
    if threat.order != np.inf:
        raise ValueError(f"intervals are for perturbations bounded in the maximum norm, got order {threat.order}")
    inputs = np.asarray(inputs)
    low = np.maximum(inputs - threat.radius, threat.low)
    high = np.minimum(inputs + threat.radius, threat.high)
    for depth, (weights, bias) in enumerate(layers):
        if depth:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        centre, half = (low + high) / 2 @ np.asarray(weights).T + np.asarray(bias), (high - low) / 2
        half = half @ np.abs(np.asarray(weights)).T
        low, high = centre - half, centre + half
    return low, high


class WorstOfMany(NamedTuple):
    """The largest of finitely many functions of the weights, its slope by Danskin's theorem, and who attains it."""

    value: Float[Array, ""]
    slope: Float[Array, " p"]
    attained: Int[np.ndarray, " ties"]


def worst_of_many(
    loss: Callable[[Float[Array, " p"], Float[Array, " d"]], Float[Array, ""]],
    weights: Float[AnyArray, " p"],
    perturbations: Float[AnyArray, "m d"],
    *,
    tolerance: float = 1e-12,
) -> WorstOfMany:
    """Return max over the listed δ of loss(w, δ) and its slope by w: that of the loss at a maximiser δ*, held fixed.

    That is the gradient of the maximum where the maximiser is the only one. Where several attain it (`attained`, within
    the tolerance) the maximum has a kink and no gradient, only the slopes of `directional_slope`; the first
    maximiser's is returned, an element of the subdifferential if the loss is convex in w. Reference: lucchi eq. 12.15.
    """
    weights, perturbations = jnp.asarray(weights), jnp.asarray(perturbations)
    values = jax.vmap(lambda move: loss(weights, move))(perturbations)
    best = jnp.argmax(values)
    attained = np.flatnonzero(np.asarray(values) >= float(values[best]) - tolerance)
    return WorstOfMany(values[best], jax.grad(loss)(weights, perturbations[best]), attained)


def directional_slope(
    loss: Callable[[Float[Array, " p"], Float[Array, " d"]], Float[Array, ""]],
    weights: Float[AnyArray, " p"],
    perturbations: Float[AnyArray, "m d"],
    direction: Float[AnyArray, " p"],
    *,
    tolerance: float = 1e-12,
) -> float:
    """Return the one-sided derivative of max_δ loss(w, δ) along a direction: the largest over all maximisers of ⟨∇, v⟩.

    This is what Danskin's theorem says in general; it is linear in v, a gradient, only if all maximisers agree.
    """
    ties = worst_of_many(loss, weights, perturbations, tolerance=tolerance).attained
    chosen = jnp.asarray(perturbations)[ties]
    slopes = jax.vmap(lambda move: jax.grad(loss)(jnp.asarray(weights), move))(chosen)
    return float(jnp.max(slopes @ jnp.asarray(direction)))


doors(
    __name__,
    steps="[1, 1e6]",
    batch="[1, 1e6]",
    attack_steps="[0, 1000]",
    attack_size="(0, ∞)",
    noise="[0, ∞)",
    rate="(0, ∞)",
    tolerance="[0, ∞)",
)
