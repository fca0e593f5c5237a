"""PAC-Bayes bounds and the small-number arithmetic they stand on: the binary relative entropy and its inverses.

Everything here keeps its relative accuracy in p and in 1 − p up to the corners of the unit interval. The device is the
exponential tilt: p = q·e^τ/(1 − q + q·e^τ), in which kl(q‖p) is a sum of two terms that are never negative.

Reference: lucchi Thms 69 and 70; arora Sec. 5.6; Langford and Seeger 2001; Maurer 2004.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import Reals, namespace
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "binary_kl",
    "binary_kl_lower_inverse",
    "binary_kl_upper_inverse",
    "langford_seeger_budget",
    "maurer_budget",
    "maurer_samples",
    "mcallester_bound",
    "pac_bayes_kl",
    "pac_bayes_pinsker",
]


# 2·(1/3 + s²/5 + s⁴/7 + …), the series behind u − log(1 + u); with |s| ≤ 1/3 eighteen terms reach double precision.
_SERIES = [2.0 / (2 * j + 3) for j in range(18)]


def _as_floats(*values: Reals) -> list[Any]:
    """Return numbers of one type and shape; NumPy's own unless JAX holds one, as it takes longer over each than over
    all that a compiled function computes of them."""
    dtype = jnp.result_type(float, *[v for v in values if hasattr(v, "dtype")])
    of = namespace(*values)
    return list(of.broadcast_arrays(*[of.asarray(v, dtype) for v in values]))


def _excess(u: Array, ratio: Array) -> Array:
    """u − log(1 + u) without cancellation; `ratio` is 1 + u, computed by the caller without rounding it first."""
    near = jnp.abs(u) < 0.5
    v = jnp.where(near, u, 0.0)
    s = v / (2 + v)
    series = jnp.zeros_like(v)
    for coefficient in reversed(_SERIES):
        series = series * s * s + coefficient
    return jnp.where(near, v * s - s**3 * series, u - jnp.log(jnp.where(near, 1.0, ratio)))


def _weighted_excess(weight: Array, target: Array, difference: Array) -> Array:
    """weight·(u − log(1 + u)) at u = difference/weight, 1 + u = target/weight; its limit `target` at weight 0."""
    safe = jnp.where(weight > 0, weight, 1.0)
    return jnp.where(weight > 0, weight * _excess(difference / safe, target / safe), target)


@jax.custom_jvp
def _binary_kl(q: Array, p: Array) -> Array:
    difference = p - q
    return _weighted_excess(q, p, difference) + _weighted_excess(1 - q, 1 - p, -difference)


@_binary_kl.defjvp
def _binary_kl_jvp(primals, tangents):
    (q, p), (dq, dp) = primals, tangents
    log_odds = jnp.log(q) - jnp.log(p) + jnp.log1p(-p) - jnp.log1p(-q)
    return _binary_kl(q, p), log_odds * dq + (p - q) / (p * (1 - p)) * dp


_relative_entropy = jax.jit(_binary_kl)


def binary_kl(q: Reals, p: Reals) -> Float[Array, "..."]:
    """Relative entropy of two coins, accurate also when q and p nearly agree or lie near 0 or 1.

    kl(q‖p) = q·log(q/p) + (1−q)·log((1−q)/(1−p)), in nats, with 0·log 0 = 0.
    Reference: Seeger 2002; the Δ of lucchi Thm 69 that gives the tightest bound.
    """
    inside(0, 1, q=q, p=p)
    return _relative_entropy(*_as_floats(q, p))


def _shifted(q: Array, r: Array, tilt: Array) -> tuple[Array, Array, Array, Array]:
    """The tilted coin (p, 1−p), the shift p − q and kl(q‖p), at tilt ≥ 0, from q and r = 1 − q."""
    decay, drop = jnp.exp(-tilt), -jnp.expm1(-tilt)
    # For q near the smallest floats the tilt is so large that its exponential vanishes while (1−p)/p does not.
    far = tilt > 60
    odds_against = jnp.exp(jnp.where(far, jnp.log(r) - jnp.log(q) - tilt, 0.0))
    total = jnp.where(far, q * (1 + odds_against), r * decay + q)
    p, s = q / total, jnp.where(far, odds_against / (1 + odds_against), r * decay / total)
    up, down = r * drop / total, -q * drop / total
    kl = q * _excess(up, 1 / total) + r * _excess(down, s / r)
    return p, s, q * up, kl


@jax.custom_jvp
def _tilt(q: Array, r: Array, budget: Array) -> Array:
    """The τ ≥ 0 with kl(q‖p) = budget, for q, r = 1 − q in (0, 1); bracketed Newton steps on √kl or log kl."""
    # kl ≥ r·τ + log q. Where q is almost 1 its logarithm must come from r, or the bracket loses the root.
    high = (budget - jnp.where(q < 0.5, jnp.log(q), jnp.log1p(-r))) / r * (1 + 1e-6)
    low = jnp.zeros_like(high)
    start = jnp.minimum(high, jnp.sqrt(2 * budget / (q * r)))
    tolerance = 4 * jnp.finfo(high.dtype).eps

    def step(state):
        low, high, tilt, _, count = state
        _, _, shift, kl = _shifted(q, r, tilt)
        low, high = jnp.where(kl < budget, tilt, low), jnp.where(kl < budget, high, tilt)
        # √kl is nearly straight where kl itself is a parabola, so tiny budgets cost no more than large ones.
        # Far from the root of a small budget kl grows like q·e^τ, and its logarithm is the straight one.
        excess = jnp.log(kl) - jnp.log(budget)
        root = 2 * jnp.sqrt(kl) * (jnp.sqrt(kl) - jnp.sqrt(budget))
        newton = tilt - jnp.where(jnp.abs(excess) > 1, kl * excess, root) / shift
        # A step of a rounding error ends the search, also where it leads out of the bracket just tightened.
        done = jnp.abs(newton - tilt) <= tolerance * tilt
        new = jnp.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
        return low, high, jnp.where(done, tilt, new), done, count + 1

    def going(state):
        return ~jnp.all(state[3]) & (state[4] < 200)

    done = jnp.zeros(jnp.shape(high), bool)
    return jax.lax.while_loop(going, step, (low, high, start, done, 0))[2]


@_tilt.defjvp
def _tilt_jvp(primals, tangents):
    (q, r, budget), (dq, _, dbudget) = primals, tangents
    tilt = _tilt(q, r, budget)
    shift = _shifted(q, r, tilt)[2]
    return tilt, (dbudget - (shift / (q * r) - tilt) * dq) / shift


@jax.custom_jvp
def _upward(q: Array, r: Array, budget: Array) -> tuple[Array, Array]:
    """The coin (p, 1−p) above q at relative entropy `budget`, from q and r = 1 − q."""
    inner = (q > 0) & (r > 0) & (budget > 0)
    safe_q, safe_r = jnp.where(inner, q, 0.5), jnp.where(inner, r, 0.5)
    p, s, _, _ = _shifted(safe_q, safe_r, _tilt(safe_q, safe_r, jnp.where(inner, budget, 1.0)))
    at_zero = (q == 0) & (r > 0)
    p = jnp.where(inner, p, jnp.where(at_zero, -jnp.expm1(-budget), q))
    return p, jnp.where(inner, s, jnp.where(at_zero, jnp.exp(-budget), r))


@_upward.defjvp
def _upward_jvp(primals, tangents):
    (q, r, budget), (dq, _, dbudget) = primals, tangents
    p, s = _upward(q, r, budget)
    inner = (q > 0) & (r > 0) & (budget > 0)
    safe_q, safe_r = jnp.where(inner, q, 0.5), jnp.where(inner, r, 0.5)
    tilt = _tilt(safe_q, safe_r, jnp.where(inner, budget, 1.0))
    shift = _shifted(safe_q, safe_r, tilt)[2]
    # dp = p(1−p)/(p−q)·(dbudget + τ·dq); at budget 0 and at q = 0 the one-sided limits.
    slope = p * s / shift
    by_budget = jnp.where(inner, slope, jnp.where(budget > 0, s, jnp.inf))
    by_q = jnp.where(slope > 0, jnp.minimum(tilt, jnp.finfo(q.dtype).max) * slope, 0.0)
    by_q = jnp.where(inner, by_q, jnp.where(budget > 0, jnp.where(q > 0, 0.0, jnp.inf), 1.0))
    change = by_budget * dbudget + by_q * dq
    return (p, s), (change, -change)


_inverse = jax.jit(_upward)


def binary_kl_upper_inverse(q: Reals, budget: Reals) -> Float[Array, "..."]:
    """Largest p with kl(q‖p) ≤ budget, differentiable in both arguments.

    ∂p/∂budget = p(1−p)/(p−q),  ∂p/∂q = τ·p(1−p)/(p−q) with τ = log[p(1−q)/(q(1−p))].
    Close to 1 a float cannot hold 1 − p; ask then for 1 − p = `binary_kl_lower_inverse(1 - q, budget)`, which can.
    Reference: the risk bound of Langford–Seeger and Maurer, lucchi Thm 69 with Δ = kl.
    """
    inside(0, 1, q=q)
    inside(0, np.inf, "[)", budget=budget)
    q, budget = _as_floats(q, budget)
    return _inverse(q, 1 - q, budget)[0]


def binary_kl_lower_inverse(q: Reals, budget: Reals) -> Float[Array, "..."]:
    """Smallest p with kl(q‖p) ≤ budget, to full relative accuracy however small; the mirror image of the upper one."""
    inside(0, 1, q=q)
    inside(0, np.inf, "[)", budget=budget)
    q, budget = _as_floats(q, budget)
    return _inverse(1 - q, q, budget)[1]


def maurer_budget(divergence: Reals, samples: Reals, delta: Reals) -> Float[Array, "..."]:
    """Maurer's bound on kl(empirical risk ‖ risk): (KL + log(2√n/δ))/n, for losses in [0, 1].

    2√n is above Σ_k Bin(k; n, k/n) for every n ≥ 1: by Maurer's proof from 8 on, by computing the sums below.
    `divergence` is KL(posterior ‖ prior) in nats, n the number of `samples`. Reference: Maurer 2004.
    """
    divergence, samples, delta = _checked(divergence, samples, delta, least=1)
    return (divergence + jnp.log(2 * jnp.sqrt(samples) / delta)) / samples


def maurer_samples(divergence: Reals, budget: Reals, delta: Reals) -> Float[Array, "..."]:
    """How many samples bring Maurer's budget down to this one: the root n of n·budget = KL + log(2√n/δ).

    `divergence` is KL.
    """
    positive(budget=budget)
    divergence, delta = _checked(divergence, 2, delta)[::2]
    n = (divergence + jnp.log(2 / delta) + 1) / budget
    for _ in range(60):  # the map contracts by 1/(2·n·budget) at its root, where n·budget exceeds log 2
        n = (divergence + jnp.log(2 * jnp.sqrt(n) / delta)) / budget
    return n


def langford_seeger_budget(divergence: Reals, samples: Reals, delta: Reals) -> Float[Array, "..."]:
    """Langford–Seeger bound on kl(empirical risk ‖ risk), as Dziugaite and Roy use it: (KL + log(n/δ))/(n − 1).

    `divergence` is KL(posterior ‖ prior) in nats, n the number of `samples`. Reference: Langford and Seeger 2001;
    Dziugaite and Roy 2017.
    """
    divergence, samples, delta = _checked(divergence, samples, delta)
    return (divergence + jnp.log(samples / delta)) / (samples - 1)


def pac_bayes_kl(empirical_risk: Reals, budget: Reals) -> Float[Array, "..."]:
    """Risk bound by inverting kl: the largest risk compatible with the empirical one at this budget; never above 1.

    `budget` bounds kl(empirical risk ‖ risk): `maurer_budget` or `langford_seeger_budget`. Reference: Langford and
    Seeger 2001.
    """
    inside(0, 1, empirical_risk=empirical_risk)
    return binary_kl_upper_inverse(empirical_risk, budget)


def pac_bayes_pinsker(empirical_risk: Reals, budget: Reals) -> Float[Array, "..."]:
    """Risk bound after Pinsker's 2(p−q)² ≤ kl(q‖p): empirical risk + √(budget/2); weaker, and it may exceed 1.

    `budget` as in `pac_bayes_kl`. Reference: arora Thm 5.6.1; handbook Sec. 11.1.2; McAllester 1999. The root of lucchi
    Thm 70 is twice as large.
    """
    inside(0, 1, empirical_risk=empirical_risk)
    inside(0, np.inf, budget=budget)
    risk, price = _as_floats(empirical_risk, budget)
    return risk + jnp.sqrt(price / 2)


def mcallester_bound(empirical_risk: Reals, divergence: Reals, samples: Reals, delta: Reals) -> Float[Array, "..."]:
    """McAllester's risk bound: empirical risk + √((KL + log(2n/δ))/(2(n−1))).

    `divergence` is KL, n the number of `samples`.

    Reference: arora Thm 5.6.1. lucchi Thm 70 prints a deviation twice that of `pac_bayes_pinsker` at `maurer_budget`.
    """
    inside(0, 1, empirical_risk=empirical_risk)
    divergence, samples, delta = _checked(divergence, samples, delta)
    return _as_floats(empirical_risk)[0] + jnp.sqrt((divergence + jnp.log(2 * samples / delta)) / (2 * (samples - 1)))


def _checked(divergence: Reals, samples: Reals, delta: Reals, *, least: int = 2) -> list[Array]:
    inside(0, np.inf, divergence=divergence)
    inside(least, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)
    return [jnp.asarray(each) for each in _as_floats(divergence, samples, delta)]


doors(__name__)
