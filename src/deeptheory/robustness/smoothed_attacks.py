"""Attacks on a smoothed classifier: uphill through the mean of a network's answers to Gaussian copies.

A certificate says that no move within its radius changes the smoothed label; an attack on the base network does not put
that to the test, because it looks for points where one answer changes and not where the vote does.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.robustness.attacks import Labels, Network, Points, ascend
from deeptheory.robustness.threats import Threat

__all__ = ["attack_smoothed"]


class _SmoothedLoss(eqx.Module):
    """Minus the logarithm of a label's mean probability over noisy copies, by moves in units of each input's radius."""

    network: Network
    inputs: Array
    labels: Array
    radii: Array
    noise: Array

    def __call__(self, moves: Points) -> Array:
        copies = (self.inputs + self.radii[:, None] * moves)[:, None] + self.noise
        logs = jax.nn.log_softmax(self.network(copies.reshape(-1, copies.shape[-1])), axis=-1)
        own = jnp.take_along_axis(logs.reshape(*copies.shape[:2], -1), self.labels[:, None, None], axis=2)[..., 0]
        return jnp.log(len(self.noise)) - jax.nn.logsumexp(own, axis=1)


def attack_smoothed(
    network: Network,
    inputs: Points,
    labels: Labels,
    radii: Float[AnyArray, " n"],
    draws: Float[AnyArray, "m d"],
    *,
    beta: float,
    steps: int = 20,
) -> Float[Array, "n d"]:
    """Move every input within its own Euclidean radius to where the vote of noisy copies for its label is least.

    Climbs −log((1/m)·Σⱼ softmax(network(x + β·drawⱼ))_y) by projected unit steps, the draws held fixed: soft answers
    stand for votes, which have no gradient. `network` gives logits, `labels` those to be driven out, `draws` are
    standard normal rows, a few dozen, and not those by which the result is judged: it has adapted to them. What is not
    found may still be there; count votes at the points found (`smoothing.shared_votes`). Reference: Salman et al. 2019.
    """
    positive(beta=beta)
    inside(0, np.inf, "[)", radii=radii)
    inputs = jnp.asarray(inputs)
    radii, noise = jnp.asarray(radii, inputs.dtype), beta * jnp.asarray(draws, inputs.dtype)
    objective = _SmoothedLoss(network, inputs, jnp.asarray(labels), radii, noise)
    return inputs + radii[:, None] * ascend(objective, jnp.zeros_like(inputs), Threat(1.0, 2.0), steps=steps).points


doors(__name__, beta="(0, ∞)", steps="[0, 1e5]")
