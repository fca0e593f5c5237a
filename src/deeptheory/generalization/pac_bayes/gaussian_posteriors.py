"""Networks with a Gaussian law on every weight: sampled outputs, divergence from a prior, training on a risk bound.

A layer is one matrix whose last column is its bias; hidden units are rectified. The law of the weights is a product of
Gaussians, given by a mean and the logarithm of a standard deviation for each of them.

Reference: lucchi Sec. 9.2; Dziugaite and Roy 2017; Pérez-Ortiz et al. 2021.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.generalization.pac_bayes.bounds import binary_kl_upper_inverse, maurer_budget, pac_bayes_kl
from deeptheory.generalization.pac_bayes.change_of_measure import diagonal_gaussian_kl

__all__ = [
    "GaussianNetwork",
    "draw_networks",
    "gaussian_network",
    "monte_carlo_errors",
    "monte_carlo_risk",
    "network_kl",
    "network_outputs",
    "sampled_outputs",
    "softmax_error",
    "train_posterior",
    "units",
]

Matrices = tuple[Float[AnyArray, "_ _"], ...]
BANK = 8192
"""Noise vectors that training draws from."""
Loss = Callable[[Float[Array, "n classes"], Int[Array, " n"]], Float[Array, " n"]]


class GaussianNetwork(NamedTuple):
    """Means and logarithms of standard deviations of all weights, one matrix for each layer, biases last column."""

    means: Matrices
    log_scales: Matrices


def gaussian_network(
    key: Key[Array, ""],
    widths: Sequence[int],
    *,
    spread: float,
    gain: float = 2**0.5,
    dtype: np.dtype | type | None = None,
) -> GaussianNetwork:
    """A law centred at a random initialization: means N(0, gain²/fan-in), biases 0, deviations spread/√fan-in.

    Single or double precision as `dtype` says, by default as JAX is set. `widths` go from the input to the output.
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(f"widths needs an input and an output of at least 1 each, got {tuple(widths)}")
    positive(spread=spread)
    rng, dtype = generator(key), jnp.result_type(float) if dtype is None else dtype
    means, log_scales = [], []
    for fan_in, fan_out in pairwise(widths):
        weights = rng.standard_normal((fan_out, fan_in)) * gain / fan_in**0.5
        means.append(jnp.asarray(np.column_stack([weights, np.zeros(fan_out)]), dtype))
        log_scales.append(jnp.full((fan_out, fan_in + 1), np.log(spread / fan_in**0.5), dtype))
    return GaussianNetwork(tuple(means), tuple(log_scales))


@jax.jit
def network_kl(posterior: GaussianNetwork, prior: GaussianNetwork) -> Float[Array, ""]:
    """KL divergence of two such laws: the sum over all weights (lucchi §9.2, step 3)."""
    layers = zip(*posterior, *prior, strict=True)
    parts = [diagonal_gaussian_kl(m, 2 * s, n, 2 * t) for m, s, n, t in layers]
    return jnp.sum(jnp.stack(parts))


def _with_one(x: Float[Array, "n d"]) -> Float[Array, "n d+1"]:
    return jnp.concatenate([x, jnp.ones((len(x), 1), x.dtype)], axis=1)


@jax.jit
def network_outputs(matrices: Matrices, x: Float[AnyArray, "n d"]) -> Float[Array, "n out"]:
    """Outputs W_L [relu(… W₁[x, 1] …), 1] of the network whose `matrices` W₁, …, W_L carry biases as last columns.

    `x` has one input a row; one output a row comes back, without a softmax.
    """
    hidden = jnp.asarray(x)
    for depth, matrix in enumerate(matrices):
        hidden = _with_one(jax.nn.relu(hidden) if depth else hidden) @ matrix.T
    return hidden


def draw_networks(key: Key[Array, ""], law: GaussianNetwork, count: int) -> tuple[Float[np.ndarray, "k _ _"], ...]:
    """Networks drawn whole from the law, `count` of them along the first axis of every matrix."""
    rng = generator(key)
    return tuple(
        np.asarray(m) + np.exp(np.asarray(s)) * rng.standard_normal((count, *m.shape))
        for m, s in zip(*law, strict=True)
    )


def sampled_outputs(
    law: GaussianNetwork, x: Float[AnyArray, "n d"], noise: Float[AnyArray, "n units"]
) -> Float[Array, "n out"]:
    """Outputs in which every example meets a network of its own, drawn from the law (local reparametrization).

    Given the layer below, the inputs of the units are independent Gaussians of mean Mh and variance S²h²: for one
    example that is the law of a drawn network's output, exactly, at the price of two products a layer for all examples.
    `noise` holds one standard normal number for each example and unit, layer after layer (`units` counts them).
    Reference: Kingma, Salimans and Welling 2015.
    """
    hidden, used = jnp.asarray(x), 0
    for depth, (mean, log_scale) in enumerate(zip(*law, strict=True)):
        hidden = _with_one(jax.nn.relu(hidden) if depth else hidden)
        variance = hidden**2 @ jnp.exp(2 * log_scale).T
        hidden = hidden @ mean.T + jnp.sqrt(variance) * noise[:, used : used + len(mean)]
        used += len(mean)
    return hidden


def units(law: GaussianNetwork) -> int:
    """How many numbers of noise one example needs: the widths of all layers but the input."""
    return sum(len(mean) for mean in law.means)


def softmax_error(
    outputs: Float[Array, "n classes"], labels: Int[Array, " n"], *, sharpness: float = 1.0
) -> Float[Array, " n"]:
    """Probability of a wrong label drawn from the softmax of sharpness·outputs; the 0–1 loss as sharpness grows."""
    return 1 - jnp.take_along_axis(jax.nn.softmax(sharpness * outputs), labels[:, None], axis=1)[:, 0]


@partial(jax.jit, static_argnames=("loss", "delta"))
def _trained(start, prior, x, labels, bank, rows, rate, *, loss, delta):
    samples, (epochs, steps, _, batch) = len(x), rows.shape
    optimizer = optax.adam(optax.cosine_decay_schedule(rate, epochs * steps))

    def objective(law, entry):
        part, noise = entry
        risk = jnp.mean(loss(sampled_outputs(law, x[part], bank[noise]), labels[part]))
        divergence = network_kl(law, prior)
        return pac_bayes_kl(risk, maurer_budget(divergence, samples, delta)), (risk, divergence)

    law, (bound, others) = trained(objective, optimizer, start, rows.reshape(-1, 2, batch), has_aux=True)
    return law, jax.tree.map(lambda values: values.reshape(epochs, steps).mean(1), (bound, *others))


def train_posterior(
    key: Key[Array, ""],
    prior: GaussianNetwork,
    x: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    *,
    loss: Loss,
    epochs: int,
    batch: int = 500,
    rate: float = 1e-3,
    delta: float = 0.025,
    start: GaussianNetwork | None = None,
) -> tuple[GaussianNetwork, tuple[Float[Array, " epochs"], ...]]:
    """Minimise Maurer's risk bound over the means and deviations of all weights, and return the law found.

    The objective is kl⁻¹(L, (KL + log(2√n/δ))/n) with L a surrogate loss in [0, 1] averaged over the batch and one
    drawn network for each example; Adam with a cosine schedule, all epochs in one compiled loop. Also returned: bound,
    surrogate and divergence averaged over each epoch. The bound holds for every law found, whatever rate, loss,
    schedule and `start` (default: the prior itself). Reference: lucchi §9.2, Pérez-Ortiz et al. 2021.
    """
    if not 1 <= batch <= len(x):
        raise ValueError(f"batch must lie between 1 and the number of examples {len(x)}, got {batch}")
    dtype = prior.means[0].dtype
    rng, steps = generator(key), len(x) // batch
    # Drawing noise inside the loop costs more than the products of a small network: vectors from a bank, in random
    # pairings with the examples, serve training as well. Certificates draw fresh noise.
    bank = rng.standard_normal((BANK, units(prior)), np.float32).astype(dtype)
    rows = np.empty((epochs, steps, 2, batch), np.int32)
    for epoch in range(epochs):
        rows[epoch, :, 0] = rng.permutation(len(x))[: steps * batch].reshape(steps, batch)
    rows[:, :, 1] = rng.integers(0, BANK, (epochs, steps, batch))
    start = prior if start is None else start
    return _trained(start, prior, jnp.asarray(x, dtype), jnp.asarray(labels), bank, rows, rate, loss=loss, delta=delta)


@jax.jit
def _wrong(law, x, labels, noise):
    return jnp.sum(jnp.argmax(sampled_outputs(law, x, noise), axis=1) != labels)


def monte_carlo_errors(
    key: Key[Array, ""],
    law: GaussianNetwork,
    x: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    *,
    passes: int = 1,
    batch: int = 5000,
) -> int:
    """Mistakes among passes·n answers, each given by a network drawn for it alone, so that they are independent.

    `batch` answers are computed at a time.
    """
    rng, dtype = generator(key), law.means[0].dtype
    x, labels, total = jnp.asarray(x, dtype), jnp.asarray(labels), 0
    for _ in range(passes):
        for start in range(0, len(x), batch):
            part = slice(start, start + batch)
            noise = rng.standard_normal((len(x[part]), units(law)), np.float32).astype(dtype)
            total += int(_wrong(law, x[part], labels[part], noise))
    return total


def monte_carlo_risk(
    errors: float | int | Float[AnyArray, "..."], draws: float | int, delta: float
) -> Float[Array, "..."]:
    """Upper limit of a mean risk from `errors` among independent draws, valid with probability 1 − δ.

    kl⁻¹(errors/draws, log(1/δ)/draws): Chernoff's bound, which draws of unequal risk (one for each example) satisfy
    too, because log(1 − r + r·e^λ) is concave in r. Reference: the sampled training error of lucchi Table 1.
    """
    positive(draws=draws)
    inside(0, 1, "(]", delta=delta)
    return binary_kl_upper_inverse(errors / draws, np.log(1 / delta) / draws)


doors(
    __name__,
    count="[1, 1e6]",
    passes="[1, 1e5]",
    batch="[1, 1e6]",
    epochs="[1, 1e5]",
    spread="(0, ∞)",
    delta="(0, 1)",
    rate="(0, ∞)",
)
