"""Light tails: sub-Gaussian and sub-exponential variables by their moment-generating functions, and by Orlicz norms.

A centred X is (ν², b) sub-exponential if log E e^{λX} ≤ ν²λ²/2 for all |λ| ≤ 1/b, and sub-Gaussian of proxy ν² if for
all λ, the case b = 0. It is (v, c) sub-gamma if log E e^{λX} ≤ λ²v/(2(1 − cλ)) for 0 ≤ λ < 1/c. Bounds are plain
arithmetic and compose with `jit`, `vmap` and `grad`; proxies and norms are found by search, in NumPy.

Reference: jagannath Def. 9.5; Vershynin, High-Dimensional Probability (2018), Ch. 2, for Orlicz norms; Wainwright,
High-Dimensional Statistics (2019), Ch. 2, for sub-exponential tails; Boucheron, Lugosi and Massart, Concentration
Inequalities (2013), Ch. 2, for sub-gamma ones.
"""

from collections.abc import Callable
from math import inf, log
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, minimize_scalar

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "SubExponential",
    "SubGamma",
    "bounded_variance_proxy",
    "finite_log_moment",
    "independent_sum",
    "log_light_tail",
    "log_sub_gamma_tail",
    "log_two_regime_tail",
    "maximum_bound",
    "orlicz_norm",
    "square_of_sub_gaussian",
    "sub_gamma_as_sub_exponential",
    "sub_gamma_deviation",
    "variance_proxy",
]

Numbers = float | int | np.number | Float[AnyArray, "..."]


class SubExponential(NamedTuple):
    """log E e^{λX} ≤ proxy·λ²/2 for |λ| ≤ 1/scale; a scale of 0 is a sub-Gaussian variable."""

    proxy: Numbers
    scale: Numbers = 0.0


class SubGamma(NamedTuple):
    """log E e^{λX} ≤ λ²·variance/(2(1 − scale·λ)) for 0 ≤ λ < 1/scale; what Bernstein's moment condition implies.

    The condition is E|X|^k ≤ ½·k!·variance·scale^{k−2} for all k ≥ 2.
    """

    variance: Numbers
    scale: Numbers


# The constants of a given law ----------------------------------------------------------------------------------------


def finite_log_moment(
    rate: float | int, values: Float[AnyArray, " n"], probabilities: Float[AnyArray, " n"], *, centred: bool = True
) -> float:
    """log E e^{λ(X − E X)} of a law with finitely many values, or log E e^{λX}; no overflow at any λ.

    `rate` is λ; the first unless `centred=False`.
    """
    values, probabilities = np.asarray(values, float), np.asarray(probabilities, float)
    if np.any(probabilities < 0) or abs(probabilities.sum() - 1) > 1e-6:
        raise ValueError(f"probabilities must not be negative and sum to one, got {probabilities.tolist()!s:.120}")
    powers = rate * (values - values @ probabilities) if centred else rate * values
    top = powers[probabilities > 0].max()
    return float(top + np.log(probabilities @ np.exp(np.minimum(powers - top, 0.0))))


def variance_proxy(log_moment: Callable[[float], float], *, variance: float, reach: float = 60.0) -> float:
    """Least ν² with log E e^{λX} ≤ ν²λ²/2 for |λ| ≤ reach: the supremum of 2·log E e^{λX}/λ² (jagannath Def. 9.5).

    `log_moment(λ)` is log E e^{λX} of a centred variable, `variance` the limit of the ratio at λ = 0. With reach 1/b it
    is the proxy of a sub-exponential variable of scale b; with a reach beyond the best λ that of a sub-Gaussian one.
    Never below the variance, and equal to it for Gaussians, fair signs and uniform laws; for a coin `bernoulli_proxy`.
    By a grid from reach/100, or 0.01 if that is smaller, on both sides, and Brent's method around its best point.
    """
    positive(reach=reach)

    def ratio(rate: float) -> float:
        return 2 * log_moment(rate) / rate**2

    rates = np.geomspace(min(0.01, reach / 100), reach, 120)
    best = variance
    for grid in (rates, -rates[::-1]):
        values = [ratio(rate) for rate in grid]
        at = int(np.argmax(values))
        around = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
        found = minimize_scalar(lambda rate: -ratio(rate), bounds=around, method="bounded", options={"xatol": 1e-9})
        best = max(best, values[at], -float(found.fun))  # pyright: ignore[reportAttributeAccessIssue]
    return best


def bounded_variance_proxy(low: float, high: float) -> float:
    """(b − a)²/4, a proxy of Z − E Z for every Z with values in [a, b] (Hoeffding's lemma).

    The least for all of them: the fair coin on the two ends has this variance. `low` is a, `high` b. Reference:
    Hoeffding 1963.
    """
    if high < low:
        raise ValueError(f"the interval must not end before it begins, got [{low}, {high}]")
    return (high - low) ** 2 / 4


def orlicz_norm(log_moment: Callable[[float], float], *, order: float | int) -> float:
    """‖X‖_ψ = inf{K > 0 : E exp((|X|/K)^order) ≤ 2}: ψ₁ of sub-exponential, ψ₂ of sub-Gaussian variables.

    `log_moment(s)` is log E e^{s|X|^order}, +∞ where it diverges; the root s of log_moment(s) = log 2 gives K =
    s^{−1/order}. Then P(|X| ≥ t) ≤ 2·exp(−(t/K)^order), attained by a constant; ‖X²‖_ψ₁ = ‖X‖²_ψ₂ and
    ‖XY‖_ψ₁ ≤ ‖X‖_ψ₂·‖Y‖_ψ₂, dependent or not, an equality for Y = X. Reference: Vershynin 2018, Ch. 2.
    """
    positive(order=order)

    def excess(power: float) -> float:
        return log_moment(float(np.exp(power))) - log(2)

    low = 0.0
    while excess(low) > 0:
        low -= 1.0
        if low < -700:
            raise ValueError(f"E exp(s|X|^{order:g}) must be finite for some s > 0, got a law where it is not")
    while excess(low + 1.0) <= 0:
        low += 1.0
        if low > 700:
            return 0.0  # X = 0
    high = low + 1.0
    while excess(high) == inf and high - low > 1e-15 * max(abs(low), 1.0):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    if excess(high) == inf:  # it jumps from below 2 to infinity
        return float(np.exp(-low / order))
    power = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))  # pyright: ignore[reportArgumentType]
    return float(np.exp(-power / order))


# Calculus ------------------------------------------------------------------------------------------------------------


def independent_sum(parts: SubExponential) -> SubExponential:
    """A sum of independent variables, listed along the last axis: the proxies add, the largest scale stays."""
    proxy, scale = jnp.broadcast_arrays(parts.proxy, parts.scale)
    return SubExponential(proxy.sum(-1), scale.max(-1))


def square_of_sub_gaussian(proxy: Numbers) -> SubGamma:
    """X² − E X² of a centred sub-Gaussian X of proxy σ² is (16σ⁴, 2σ²) sub-gamma, and so is its negative.

    From E X^{2k} ≤ 2·k!·(2σ²)^k. The scale is the best: a Gaussian's square has no moment at λ = 1/(2σ²). The variance
    factor is not known to be; a Gaussian's square is (2σ⁴, 2σ²) sub-gamma (Laurent and Massart 2000).
    """
    return SubGamma(16 * proxy**2, 2 * proxy)


def sub_gamma_as_sub_exponential(law: SubGamma) -> SubExponential:
    """(2v, 2c): for λ ≤ 1/(2c) the denominator is at least one half."""
    return SubExponential(2 * law.variance, 2 * law.scale)


# Tails and maxima ----------------------------------------------------------------------------------------------------


def log_light_tail(deviation: Numbers, law: SubExponential) -> Numbers:
    """ln of Chernoff's bound on P(X ≥ t): −t²/(2ν²) up to t = ν²/b, −t/b + ν²/(2b²) beyond.

    The supremum of λt − ν²λ²/2 over 0 ≤ λ ≤ 1/b, which is all that the two constants say. t is the `deviation`, ν² the
    law's proxy and b its scale. Reference: Wainwright 2019, Ch. 2.
    """
    inside(0, np.inf, deviation=deviation)
    rate = jnp.minimum(deviation / law.proxy, jnp.divide(1.0, law.scale))
    return rate * (rate * law.proxy / 2 - deviation)


def log_two_regime_tail(deviation: Numbers, law: SubExponential) -> Numbers:
    """−min(t²/(2ν²), t/(2b)), the common form: equal to `log_light_tail` up to t = ν²/b, where it bends, weaker beyond.

    Far out it keeps half of the slope. `deviation` is t.
    """
    inside(0, np.inf, deviation=deviation)
    return -deviation / 2 * jnp.minimum(deviation / law.proxy, jnp.divide(1.0, law.scale))


def maximum_bound(count: Numbers, law: SubExponential) -> Numbers:
    """E max of n such variables, dependent or not: σ√(2 ln n) if sub-Gaussian, else b·ln n + ν²/(2b) from some n on.

    The infimum of (ln n)/λ + ν²λ/2 over λ ≤ 1/b. Rare events that exclude each other come as near as one likes. n is
    the `count`. Reference: Boucheron, Lugosi and Massart 2013, Sec. 2.5.
    """
    inside(2, np.inf, count=count)
    capacity = jnp.log(count)
    rate = jnp.minimum(jnp.sqrt(2 * capacity / law.proxy), jnp.divide(1.0, law.scale))
    return capacity / rate + rate * law.proxy / 2


def log_sub_gamma_tail(deviation: Numbers, law: SubGamma) -> Numbers:
    """ln of Chernoff's bound on P(X ≥ t): −(v/c²)·(1 + u − √(1 + 2u)) at u = ct/v.

    At most Bernstein's −t²/(2(v + ct)), which is `log_bernstein(t, v, 3c)`. Written without cancellation at small u. t
    is the `deviation`, v the law's variance and c its scale. Reference: Boucheron, Lugosi and Massart 2013, Sec. 2.4.
    """
    inside(0, np.inf, deviation=deviation)
    u = law.scale * deviation / law.variance
    return -(deviation**2) / law.variance / (1 + u + jnp.sqrt(1 + 2 * u))


def sub_gamma_deviation(exponent: Numbers, law: SubGamma) -> Numbers:
    """√(2vx) + cx: what X exceeds with probability at most e^{−x}; the inverse of `log_sub_gamma_tail`.

    x is the `exponent`. Reference: Boucheron, Lugosi and Massart 2013, Sec. 2.4.
    """
    inside(0, np.inf, exponent=exponent)
    return jnp.sqrt(2 * law.variance * exponent) + law.scale * exponent


doors(__name__, proxy="[0, ∞)", variance="[0, ∞)")
