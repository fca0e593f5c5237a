"""Training of models of tokens: the loss of the tokens that are told, and Adam on it in one compiled loop.

Reference: Radford et al. 2019 for next tokens, Devlin et al. 2019 for hidden ones; Kingma and Ba 2015 for Adam.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.training import trained

__all__ = ["Trained", "token_loss", "train_on_tokens"]

Model = Callable[[Any], Array]
Ids = Int[AnyArray, "*batch n"]
Told = Bool[AnyArray, "*batch n"]


class Trained(NamedTuple):
    """A model after training, and its loss on the batch of every step, in nats a token."""

    model: Any
    losses: Float[Array, " steps"]


def token_loss(model: Model, inputs: Ids, targets: Ids, told: Told | None = None) -> Float[Array, ""]:
    """Mean cross-entropy, in nats, of the target at every place that is told, or at all places if None.

    `model(inputs)` are logits, one vector a place, as `LanguageModel` and `MaskedLanguageModel` give them.
    """
    logits = model(inputs)
    # A product with a table of zeros and ones: gathering, and adding back in the gradient, is slow on processors.
    lost = softmax_cross_entropy(logits, jax.nn.one_hot(targets, logits.shape[-1], dtype=logits.dtype))
    return jnp.mean(lost) if told is None else jnp.sum(lost, where=told) / jnp.maximum(jnp.sum(told), 1)


def train_on_tokens(
    model: Model,
    inputs: Int[AnyArray, "steps rows n"],
    targets: Int[AnyArray, "steps rows n"],
    told: Bool[AnyArray, "steps rows n"],
    *,
    rate: float = 0.005,
) -> Trained:
    """Train a model by Adam to say the targets where they are told, a prepared batch a step.

    Next tokens for a causal model, hidden ones for a masked model. Stack models leaf by leaf and `vmap` for an
    ensemble. `rate` is the learning rate, constant; the other settings of Adam are the usual ones (0.9, 0.999, 1e-8).
    """
    return _trained(model, (inputs, targets, told), rate)


@jax.jit
def _trained(model, batches, rate):
    start = jax.tree.map(jnp.asarray, model)
    return Trained(*trained(lambda model, batch: token_loss(model, *batch), optax.adam(rate), start, batches))


doors(__name__, rate="(0, 10]")
