"""Entropy and relative entropy of laws on a finite set, in nats. NumPy or JAX alike.

A law is a vector of probabilities, on the last axis. For Gaussians see `deeptheory.generalization.pac_bayes`, for other
divergences `deeptheory.generative.divergences`.

Reference: Cover and Thomas, Elements of Information Theory (2006), Ch. 2.
"""

from typing import Any

import jax
import scipy.special
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["entropy", "finite_kl"]


def entropy(law: Float[AnyArray, "*b k"]) -> Any:
    """Entropy −Σ P log P, with 0 log 0 = 0: log k where all are alike, 0 where one is certain.

    Reference: Cover and Thomas 2006, Sec. 2.1.
    """
    return -_x_log_y(law, law).sum(-1)


def finite_kl(posterior: Float[AnyArray, "*b k"], prior: Float[AnyArray, "*#b k"]) -> Any:
    """Relative entropy Σ Q log(Q/P) of a law Q from a law P; +∞ where Q is not dominated by P.

    A point mass at h costs log 1/P(h) nats, Occam's price. Reference: lucchi (9.1), handbook 11.1.3, arora §5.6.
    """
    return (_x_log_y(posterior, posterior) - _x_log_y(posterior, prior)).sum(-1)


def _x_log_y(x: Any, y: Any) -> Any:
    traced = isinstance(x, jax.Array) or isinstance(y, jax.Array)
    return (jax.scipy.special.xlogy if traced else scipy.special.xlogy)(x, y)


doors(__name__, law="[0, 1]", posterior="[0, ∞)", prior="[0, ∞)")
