"""How fast weights and activations of a wide network can move: the monitors of jagannath Lemma 8.8 and their bounds.

`slope` is c = sup |φ′|, and n_k are the widths.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator
from deeptheory.networks.mlp import MLP, init_mlp

__all__ = [
    "Activity",
    "activity",
    "activity_polynomial",
    "activity_rate_bound",
    "activity_rates",
    "activity_sum",
    "aligned_network",
    "mean_loss_velocity",
]

Inputs = Float[AnyArray, "n d"]


class Activity(NamedTuple):
    """The four monitors, one entry for each layer k = 1, …, L − 1 with a wide fan-in n_k.

    w = ‖W⁽ᵏ⁾‖/√n_k, a = ‖φ(f⁽ᵏ⁾)‖/√n_k, and how far weights and pre-activations have come,
    w̃ = ‖W⁽ᵏ⁾(t) − W⁽ᵏ⁾(0)‖/√n_k,
    ã = ‖f⁽ᵏ⁾(t) − f⁽ᵏ⁾(0)‖/√n_k: operator norms of matrices, root mean squares over the inputs of vectors' norms.
    """

    weights: Float[Array, "*runs layers"]
    activations: Float[Array, "*runs layers"]
    weight_drift: Float[Array, "*runs layers"]
    activation_drift: Float[Array, "*runs layers"]


def _over_inputs(vectors: Float[Array, "n width"]) -> Float[Array, ""]:
    """Root mean square over the inputs of ‖v‖/√n_k."""
    return jnp.linalg.norm(vectors) / np.sqrt(vectors.size)


def _operator(matrix: Float[AnyArray, "_ fan_in"]) -> Float[Array, ""]:
    """‖W‖/√n, from the Gram matrix: its largest eigenvalue costs a fraction of a singular value decomposition."""
    matrix = jnp.asarray(matrix)
    if matrix.shape[0] == 1:
        return jnp.linalg.norm(matrix) / matrix.shape[1] ** 0.5
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    return jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(gram)[-1], 0) / matrix.shape[1])


def activity(network: MLP, start: MLP, x: Inputs) -> Activity:
    """Return the monitors of a network beside the one it started from (jagannath, proof of Lemma 8.8)."""
    hidden, before = network.preactivations(x)[:-1], start.preactivations(x)[:-1]
    return Activity(
        jnp.stack([_operator(w) for w in network.weights[1:]]),
        jnp.stack([_over_inputs(network.activation(f)) for f in hidden]),
        jnp.stack([_operator(w - v) for w, v in zip(network.weights[1:], start.weights[1:], strict=True)]),
        jnp.stack([_over_inputs(f - g) for f, g in zip(hidden, before, strict=True)]),
    )


def activity_sum(now: Activity, start: Activity, *, slope: float = 1.0) -> Float[Array, "*runs"]:
    """Return A(t) = Σ_{k=1}^{L−1} a⁽ᵏ⁾(0) + c ã⁽ᵏ⁾(t) + w⁽ᵏ⁾(0) + w̃⁽ᵏ⁾(t), c = sup |φ′|, above all a(t) and w(t).

    The printed sum runs to L: with one output n_L = 1, and ã⁽ᴸ⁾ is the change of the output, which does not vanish.
    """
    return jnp.sum(start.activations + slope * now.activation_drift + start.weights + now.weight_drift, axis=-1)


def mean_loss_velocity(network: MLP, x: Inputs, y: Float[AnyArray, " n"]) -> MLP:
    """Return θ̇ of gradient flow on (1/2n) Σ (f(xᵢ) − yᵢ)²."""

    def loss(each: MLP) -> Array:
        return 0.5 * jnp.mean((each(x)[:, 0] - y) ** 2)

    return jax.tree.map(jnp.negative, jax.grad(loss)(network))


def activity_rates(network: MLP, x: Inputs, velocity: MLP) -> tuple[Float[Array, " layers"], Float[Array, " layers"]]:
    """Return ‖Ẇ⁽ᵏ⁾‖/√n_k and ‖ḟ⁽ᵏ⁾‖/√n_k: the drifts grow no faster than these."""
    moving = jax.jvp(lambda each: each.preactivations(x)[:-1], (network,), (velocity,))[1]
    return (
        jnp.stack([_operator(w) for w in velocity.weights[1:]]),
        jnp.stack([_over_inputs(f) for f in moving]),
    )


def activity_rate_bound(
    network: MLP, x: Inputs, y: Float[AnyArray, " n"], *, slope: float = 1.0
) -> tuple[Float[Array, " layers"], Float[Array, " layers"]]:
    """Return bounds on both rates from the monitors alone, layer by layer, under gradient flow on the mean loss.

    With D_k = ∏_{j≥k} cσ_w w⁽ʲ⁾ and ‖r‖ the root mean square of y − f:
    ‖Ẇ⁽ᵏ⁾‖/√n_k ≤ σ_w D_{k+1} a⁽ᵏ⁾‖r‖/√n_k, and
    u_{k+1} = D_{k+1}(σ_w²(a⁽ᵏ⁾)² + σ_b²)‖r‖/√n_{k+1} + √(n_k/n_{k+1}) cσ_w w⁽ᵏ⁾u_k
    for ‖ḟ⁽ᵏ⁾‖/√n_k, begun with u_1 = D_1(s²‖x‖² + σ_b²)‖r‖/√n_1. An `aligned_network` attains both, at any depth.
    """
    here = activity(network, network, x)
    residual = jnp.sqrt(jnp.mean((network(x)[:, 0] - y) ** 2))
    widths = [w.shape[-1] for w in network.weights[1:]]
    through = [slope * network.weight_scale * w for w in here.weights]
    behind = [jnp.prod(jnp.stack([*through[k:], jnp.ones(())])) for k in range(len(widths) + 1)]
    squares = [network.input_scale**2 * jnp.sum(jnp.asarray(x) ** 2) / np.shape(x)[0]]
    squares += [network.weight_scale**2 * a**2 for a in here.activations]
    weights, outputs = [], []
    for k, width in enumerate(widths):
        weights.append(network.weight_scale * behind[k + 1] * here.activations[k] * residual / width**0.5)
        own = behind[k] * (squares[k] + network.bias_scale**2) * residual / width**0.5
        outputs.append(own if k == 0 else own + (widths[k - 1] / width) ** 0.5 * through[k - 1] * outputs[-1])
    return jnp.stack(weights), jnp.stack(outputs)


def activity_polynomial(network: MLP, x: Inputs, *, slope: float = 1.0) -> Float[Array, " degree"]:
    """Return the coefficients, highest first, of a polynomial with Ȧ ≤ P(A)‖r‖/√n for equal hidden widths n.

    It replaces every w⁽ᵏ⁾ and a⁽ᵏ⁾ in the layerwise bounds by A, so that Σ_k cã + w̃ of an `aligned_network` grows as
    P says at the common value of its monitors.
    """
    widths = {w.shape[-1] for w in network.weights[1:]}
    if len(widths) != 1:
        raise ValueError(f"hidden layers must have one width, got {sorted(widths)}")
    layers = len(network.weights) - 1
    sigma, bias = network.weight_scale, network.bias_scale**2
    power = np.poly1d([slope * sigma, 0.0])
    energy = float(network.input_scale**2 * np.sum(np.asarray(x) ** 2) / np.shape(x)[0])
    total, moving = np.poly1d([0.0]), np.poly1d([0.0])
    for k in range(1, layers + 1):
        square = np.poly1d([energy]) if k == 1 else np.poly1d([sigma**2, 0.0, 0.0])
        moving = power ** (layers + 1 - k) * (square + bias) + power * moving
        total = total + slope * moving + np.poly1d([sigma, 0.0]) * power ** (layers - k)
    return jnp.asarray(np.atleast_1d(total.coeffs))


def aligned_network(
    key: Key[Array, ""],
    widths: Sequence[int],
    x: Float[AnyArray, "1 d"],
    *,
    level: float,
    activation: Callable[[Array], Array],
    slope: float,
    weight_scale: float = 1.0,
    bias_scale: float = 1.0,
    input_scale: float = 1.0,
) -> MLP:
    """Return a network with every monitor w⁽ᵏ⁾ and a⁽ᵏ⁾ equal to a level that attains the bounds at its one input x.

    φ(u) = cu at least for u > 0, where its pre-activations lie. Its weights have rank one and hand on the direction
    they receive best, W⁽ᵏ⁾ = √n_k e_{k+1}e_kᵀ times the level, so that no product of norms on the way is lost; biases
    bring the activations to their size. Needs σ_b > 0 and one output.
    """
    if bias_scale <= 0 or widths[-1] != 1 or len(x) != 1:
        raise ValueError(f"aligned_network needs bias_scale > 0, one output and one input, got bias_scale={bias_scale}")
    scales: dict[str, Any] = dict(weight_scale=weight_scale, bias_scale=bias_scale, input_scale=input_scale)
    drawn, rng = init_mlp(key, widths, activation=activation, **scales), generator(jax.random.fold_in(key, 1))
    directions = [v / np.linalg.norm(v) for v in map(rng.standard_normal, widths[1:])]
    wanted = [np.abs(v) / np.linalg.norm(v) for v in map(rng.standard_normal, widths[1:])]
    weights, biases = [np.asarray(drawn.weights[0])], []
    received = input_scale * np.asarray(x)[0] @ weights[0].T
    for n, here, there, hidden in zip(widths[1:-1], directions, directions[1:], wanted, strict=False):
        outputs = level * n**0.5 / slope * hidden
        biases.append((outputs - received) / bias_scale)
        weights.append(level * n**0.5 * np.outer(there, here))
        received = weight_scale / n**0.5 * slope * weights[-1] @ outputs
    biases.append(np.asarray(drawn.biases[-1]))
    return MLP(tuple(weights), tuple(biases), activation, *map(float, scales.values()))


doors(__name__)
