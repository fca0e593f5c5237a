"""Softmax and cross-entropy from the logits, without overflow. NumPy or JAX alike.

Cross-entropy of given probabilities is in `deeptheory.optimization.losses`, entropies are in `entropies`.

Reference: lucchi Sec. 2.4.4.
"""

from typing import Any

import jax
import scipy.special
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray, namespace
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.margin_losses import Margins, logistic_loss

__all__ = [
    "binary_cross_entropy",
    "label_cross_entropy",
    "of_label",
    "remainders",
    "softmax_cross_entropy",
    "softmax_jacobian",
]

Rows = Float[AnyArray, "*batch m"]
Labels = int | Int[AnyArray, "*batch"]


def of_label(values: Rows, labels: Labels) -> Any:
    """Return of each row of m values the one that belongs to its label, a number from 0 to m − 1."""
    inside(0, values.shape[-1] - 1, labels=labels)
    xp = namespace(values, labels)
    places = xp.broadcast_to(xp.asarray(labels), values.shape[:-1])
    return xp.take_along_axis(xp.asarray(values), places[..., None], -1)[..., 0]


def label_cross_entropy(logits: Rows, labels: Labels) -> Any:
    """Return −log softmax(z)_y = log Σⱼ e^{zⱼ} − z_y for each row of logits z and its label y (lucchi 2.4.4, 12.1)."""
    return _log_total(logits) - of_label(logits, labels)


def softmax_cross_entropy(logits: Rows, target: Rows) -> Any:
    """Return −Σᵢ yᵢ log softmax(z)ᵢ = s log Σⱼ e^{zⱼ} − Σᵢ yᵢzᵢ with s = Σᵢ yᵢ, 1 for a one-hot or soft label.

    It does not change when one number is added to all logits, and is convex in them. Reference: lucchi 2.4.4.
    """
    return target.sum(-1) * _log_total(logits) - (target * logits).sum(-1)


def binary_cross_entropy(logits: Margins, target: Margins) -> Any:
    """Return −y log σ(z) − (1 − y) log(1 − σ(z)) = log(1 + e^z) − yz of logits z and targets y in [0, 1] (lucchi 2.7).

    For labels ±1 it is the `logistic_loss` of the margin.
    """
    return logistic_loss(-logits) - target * logits


def softmax_jacobian(probabilities: Rows) -> Any:
    """Return diag p − ppᵀ, the derivative of a softmax by its logits where it has the value p.

    It is the Hessian of the cross-entropy by the logits, whatever the label, and the covariance of a one-hot vector
    drawn from p: positive semidefinite, and 0 along (1, …, 1). For logits Θx the Hessian by Θ is its Kronecker product
    with xxᵀ. Reference: lucchi 2.4.4.
    """
    p, own = probabilities, namespace(probabilities).eye(probabilities.shape[-1], dtype=probabilities.dtype)
    return p[..., :, None] * (own * remainders(p)[..., None, :] - (1 - own) * p[..., None, :])


def remainders(probabilities: Rows) -> Any:
    """Return 1 − p, for the largest as the sum of the others: of a class that is all but sure, 1 − p has no digits."""
    p, xp = probabilities, namespace(probabilities)
    top = xp.arange(p.shape[-1]) == xp.argmax(p, -1)[..., None]
    return xp.where(top, xp.sum(xp.where(top, 0, p), -1, keepdims=True), 1 - p)


def _log_total(logits: Any) -> Any:
    if isinstance(logits, jax.Array):
        return jax.nn.logsumexp(logits, axis=-1)
    return scipy.special.logsumexp(logits, axis=-1)


doors(__name__, target="[0, 1]", probabilities="[0, 1]")
