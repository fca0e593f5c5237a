"""Sequences that grow by a power of themselves: discrete inequalities of Grönwall and of Bihari and LaSalle.

A sequence with m_t ≥ a + b Σ_{j<t} m_j^(k−1) is at least as large as the one that grows by exactly that much a step.

Reference: jagannath Ch. 11 Sec. 5; LaSalle 1949; Bihari 1956.
"""

from typing import Annotated, Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Int

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.entrances import doors

__all__ = ["bihari_lasalle_bound", "blow_up_time", "gronwall_bound", "growth_recursion"]

Steps = int | Int[AnyArray, "..."]
Power = Annotated[int | Int[AnyArray, "..."], "[3, 20]"]


def growth_recursion(start: Reals, rate: Reals, *, order: Any, steps: Steps, most: int = 200) -> Any:
    """Return m_t of m_t = a + b Σ_{j<t} m_j^(k−1), the least sequence with ≥: each step adds b m^(k−1).

    `start` is a, `rate` b, `order` k and `steps` t, at most `most`; far beyond all use it stays there.
    """

    def once(j: Any, m: Any) -> Any:
        return jnp.where(j < steps, jnp.minimum(m + rate * m ** (order - 1), 1e150 ** (1 / (order - 1))), m)

    return lax.fori_loop(0, most, once, jnp.asarray(start) * jnp.ones_like(jnp.asarray(rate)))


def gronwall_bound(start: Reals, rate: Reals, *, steps: Steps) -> Any:
    """Return a(1 + b)^t, which m_t ≥ a + b Σ m_j implies and attains.

    `start` is a, `rate` b and `steps` t. Reference: jagannath Ch. 11 Sec. 5, k = 2.
    """
    return start * (1 + rate) ** steps


def blow_up_time(start: Reals, rate: Reals, *, order: Power) -> Any:
    """Return 1/((k − 2) b a^(k−2)), the time at which the solution of dm/dt = b m^(k−1), m(0) = a, is infinite.

    `start` is a, `rate` b and `order` k above 2. Reference: Bihari 1956.
    """
    return 1 / ((order - 2) * rate * start ** (order - 2))


def bihari_lasalle_bound(start: Reals, rate: Reals, *, order: Power, steps: Steps, cap: Reals) -> Any:
    """Return a(1 − (k − 2) c b a^(k−2) t)^(−1/(k−2)), c = (1 + bη^(k−2))^(−(k−1)): a lower bound while m_t ≤ η.

    `cap` is η. Beyond the time at which it would be infinite it is infinite: by then m has passed η. The sequence lies
    below the solution of its differential equation, c = 1, which is what is printed for k = 3 (for k ≥ 4 without the
    factor k − 2, which is weaker). A step from m to m + bm^(k−1) grows by a factor of at most 1 + bη^(k−2), so the
    velocity bm^(k−1) at its beginning is at least c times that anywhere in it. `start` is a, `rate` b, `order` k and
    `steps` t. Reference: jagannath Ch. 11 Sec. 5; the constant c is ours.
    """
    slower = (1 + rate * cap ** (order - 2)) ** (1 - order)
    left = 1 - steps * slower / blow_up_time(start, rate, order=order)
    return start * jnp.where(left > 0, jnp.maximum(left, 1e-300), 0.0) ** (-1 / (order - 2))


doors(__name__, start="(0, 1e6]", rate="(0, 1e6]", steps="[0, 1e9]", cap="(0, 1e6]", most="[1, 1e7]")
