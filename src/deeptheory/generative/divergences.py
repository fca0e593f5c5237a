"""f-divergences of laws on a finite set: ∑ q·f(p/q) for a convex f with f(1) = 0, and the critic that attains each.

A critic is a function T on the set; E_P T − E_Q f*(T) never exceeds the divergence and equals it at T = f′(p/q), which
is how a discriminator measures a divergence without knowing densities (f* the convex conjugate of f).

`p` and `q` are laws along the last axis, `kind` names f as `f_divergence` lists them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import among, laws

__all__ = ["best_critic", "critic_value", "f_divergence"]

Law = Float[np.ndarray, "*#batch n"]
HALF_LOG_2 = np.log(2) / 2


class Generator(NamedTuple):
    """A convex function, its slope, its conjugate, and its growth lim f(t)/t: the price of mass where q has none."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    conjugate: Callable[[Any], Any]
    growth: float


def _conjugate_of_jensen_shannon(y: np.ndarray) -> np.ndarray:
    return np.where(y < HALF_LOG_2, -np.log(np.maximum(2 - np.exp(2 * np.minimum(y, 1.0)), 1e-300)) / 2, np.inf)


GENERATORS: dict[str, Generator] = {
    "kl": Generator(lambda t: xlogy(t, t), lambda t: 1 + np.log(t), lambda y: np.exp(y - 1), np.inf),
    "reverse kl": Generator(
        lambda t: -np.log(t),
        lambda t: -1 / t,
        lambda y: np.where(y < 0, -1 - np.log(np.abs(np.minimum(y, -1e-300))), np.inf),
        0.0,
    ),
    "total variation": Generator(
        lambda t: np.abs(t - 1) / 2,
        lambda t: np.sign(t - 1) / 2,
        lambda y: np.where(y > 0.5, np.inf, np.maximum(y, -0.5)),
        0.5,
    ),
    "chi square": Generator(
        lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1), lambda y: np.where(y > -2, y + y**2 / 4, -1.0), np.inf
    ),
    "hellinger": Generator(
        lambda t: (np.sqrt(t) - 1) ** 2 / 2,
        lambda t: (1 - 1 / np.sqrt(t)) / 2,
        lambda y: np.where(y < 0.5, y / np.maximum(1 - 2 * y, 1e-300), np.inf),
        0.5,
    ),
    "jensen-shannon": Generator(
        lambda t: (xlogy(t, t) - (1 + t) * np.log((1 + t) / 2)) / 2,
        lambda t: np.log(2 * t / (1 + t)) / 2,
        _conjugate_of_jensen_shannon,
        HALF_LOG_2,
    ),
}


def f_divergence(p: Law, q: Law, kind: str = "kl") -> Float[np.ndarray, "*batch"] | float:
    """D_f(P‖Q) = ∑ q·f(p/q) of two laws on a finite set, in nats where there is a logarithm.

    `kl` is f = t·log t, `reverse kl` −log t, `total variation` ½|t − 1| (half the ℓ₁ distance), `chi square` (t − 1)²,
    `hellinger` ½(√t − 1)², and `jensen-shannon` ½KL(P‖M) + ½KL(Q‖M) with M the middle. Mass of P where Q has none costs
    lim f(t)/t each, which may be infinite. From samples of continuous laws estimate it by a critic instead: empirical
    laws have no common support. Reference: arora (16.1), Problem 16.1.1.
    """
    laws(p=p, q=q)
    among(GENERATORS, kind=kind)
    f = GENERATORS[kind]
    shared = q > 0
    with np.errstate(divide="ignore"):
        inside = np.where(shared, q, 1.0) * f.value(np.where(shared, p, 1.0) / np.where(shared, q, 1.0))
    lost = np.where(p > 0, np.where(p > 0, p, 1.0) * f.growth, 0.0)
    return np.sum(np.where(shared, inside, lost), axis=-1)


def best_critic(p: Law, q: Law, kind: str = "kl") -> Float[np.ndarray, "*batch n"]:
    """The function T = f′(p/q) that attains the divergence of two laws without zeros.

    Reference: Nguyen, Wainwright and Jordan 2010; Nowozin, Cseke and Tomioka 2016.
    """
    laws(p=p, q=q)
    among(GENERATORS, kind=kind)
    if np.min(p) <= 0 or np.min(q) <= 0:
        raise ValueError("p and q must be positive everywhere for a critic with finite values, got a zero")
    return GENERATORS[kind].slope(p / q)


def critic_value(
    p: Law, q: Law, critic: Float[np.ndarray, "*#batch n"], kind: str = "kl"
) -> Float[np.ndarray, "*batch"] | float:
    """What a critic T finds, E_P T − E_Q f*(T): a lower bound of `f_divergence`; −∞ where f*(T) is infinite.

    Reference: Nguyen, Wainwright and Jordan 2010.
    """
    laws(p=p, q=q)
    among(GENERATORS, kind=kind)
    paid = np.where(q > 0, np.where(q > 0, q, 1.0) * GENERATORS[kind].conjugate(critic), 0.0)
    return np.sum(p * critic, axis=-1) - np.sum(paid, axis=-1)


doors(__name__)
