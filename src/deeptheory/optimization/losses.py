"""Losses of single predictions, and the risk of a model on data as a function to descend on (lucchi Ch. 5).

Losses of the margin, hinge, logistic and ramp among them, are in `deeptheory.foundations.margin_losses`, cross-entropy
from the logits in `deeptheory.foundations.cross_entropy`.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.cross_entropy import of_label
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric

__all__ = ["class_error", "cross_entropy", "log_loss", "risk_on", "squared_loss"]


def class_error(scores: Float[AnyArray, "*k m"], label: int | Int[AnyArray, "*k"]) -> Float[Array, "*k"]:
    """Return the zero-one loss: 0 where the largest of m scores is that of the label alone, else 1.

    A tie counts as an error, so that the surrogates bound it: ≤ log₂(1/ν_y), and ≤ 4 · ½‖e_y − ν‖² for probabilities ν,
    with equality where two share all. Its gradient is zero wherever it exists: nothing to descend on.
    """
    scores = jnp.asarray(scores)
    return jnp.where(jnp.sum(scores >= of_label(scores, label)[..., None], -1) > 1, 1.0, 0.0)


def squared_loss(prediction: Reals, target: Reals) -> Float[Array, "..."]:
    """Return ½‖y − ν‖², summed over the last axis; ½(y − ν)² of two numbers."""
    square = (jnp.asarray(target) - jnp.asarray(prediction)) ** 2
    return square.sum(-1) / 2 if square.ndim else square / 2


def log_loss(probabilities: Float[AnyArray, "*k m"], label: int | Int[AnyArray, "*k"]) -> Float[Array, "*k"]:
    """Return −log ν_y, in nats: the cross-entropy of one label. Infinite where the label was given no chance."""
    return -jnp.log(of_label(probabilities, label))


def cross_entropy(probabilities: Float[AnyArray, "*k m"], soft_target: Float[AnyArray, "*k m"]) -> Float[Array, "*k"]:
    """Return −Σ_j y_j log ν_j, with 0 log 0 = 0: at least the entropy of y, with equality for ν = y alone.

    Gibbs' inequality, for probability vectors y and ν: the difference is the Kullback–Leibler divergence. For other y
    in [0, 1]^m it is at least s log s, s = Σ y_j, which is negative for s < 1 (lucchi asks only for y in [0, 1]^m).
    """
    return -jax.scipy.special.xlogy(jnp.asarray(soft_target), jnp.asarray(probabilities)).sum(-1)


def risk_on(
    model: Callable[[Any, Any], Any], loss: Callable[[Any, Any], Any], inputs: Any, targets: Any
) -> Callable[..., Float[Array, ""]]:
    """Return the empirical risk of a model on data as a function of its parameters: the mean of loss(model(θ, x), y).

    `model(θ, x)` predicts for one input, `loss(prediction, target)` is a number; `inputs` and `targets` are trees of
    arrays whose first axis is the examples. The function takes the parameters, any tree, and as second argument, if
    wanted, the indices of a batch: so it is one for `trajectory`, with `batches` from `minibatches`.

    Reference: lucchi Ch. 5, handbook Ch. 4.
    """
    numeric(inputs=inputs, targets=targets)
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves((inputs, targets))}
    if len(lengths) != 1 or min(lengths) < 1:
        raise ValueError(f"inputs and targets must have one first axis of examples, got lengths {sorted(lengths)}")
    data = jax.tree.map(jnp.asarray, (inputs, targets))

    def risk(parameters: Any, batch: Any = None) -> Float[Array, ""]:
        x, y = data if batch is None else jax.tree.map(lambda leaf: leaf[jnp.atleast_1d(batch)], data)
        return jnp.mean(jax.vmap(lambda one, other: loss(model(parameters, one), other))(x, y))

    return risk


doors(__name__, probabilities="[0, 1]", soft_target="[0, 1]")
