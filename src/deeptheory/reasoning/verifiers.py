"""What a verifier of steps is worth: exact chances that chains of noisy steps end right, with tries and filters.

Reference: handbook 14.3.2 and 14.4; Lightman et al. 2023, Let's verify step by step; Cobbe et al. 2021, Training
verifiers to solve math word problems.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["break_even_step", "chain_success", "filtered_chains", "filtered_steps", "modular_success"]

Chances = Float[np.ndarray, "*shape"] | float


def chain_success(chances: Sequence[float]) -> float:
    """Return the chance that all independent steps are right, ∏ p_i (handbook 14.3.2)."""
    inside(0, 1, chances=np.asarray(chances, float))
    return prod(chances)


def break_even_step(direct: float, steps: int) -> float:
    """Return the chance that each of k steps must exceed for the chain to beat a direct answer: p_direct^(1/k)."""
    return direct ** (1 / steps)


def modular_success(step: Chances, steps: int, modulus: int) -> Chances:
    """Return the chance that k steps modulo p end right when each is right with chance a, else off by a random amount.

    1/p + (1 − 1/p) (1 − (1 − a) p/(p − 1))^k: more than a^k, because errors may cancel; for parities (p = 2) it is
    (1 + (2a − 1)^k)/2.
    """
    wrong = (1 - step) * modulus / (modulus - 1)
    return 1 / modulus + (1 - 1 / modulus) * (1 - wrong) ** steps


def filtered_chains(step: Chances, steps: int, tries: int, *, misses: float = 0.0, alarms: float = 0.0) -> Chances:
    """Return the chance that the first accepted of n whole chains is right, none accepted being a failure.

    A step is right with chance p, accepted though wrong with chance α = `misses`, refused though right with chance β =
    `alarms`; a chain is accepted if all k steps are. With a = p(1 − β) + (1 − p)α: (p(1 − β)/a)^k (1 − (1 − a^k)^n);
    without errors 1 − (1 − p^k)^n, best of n.
    """
    right = step * (1 - alarms)
    accepted = right + (1 - step) * misses
    share = np.divide(right, accepted, out=np.zeros_like(np.asarray(accepted, float)), where=np.asarray(accepted) > 0)
    return (share**steps * (1 - (1 - np.asarray(accepted) ** steps) ** tries))[()]


def filtered_steps(step: Chances, steps: int, tries: int, *, misses: float = 0.0, alarms: float = 0.0) -> Chances:
    """Return the chance of a right chain when each step is tried up to n times and its first accepted try is kept.

    (p(1 − β)/a · (1 − (1 − a)^n))^k with the symbols of `filtered_chains`; no more steps are written than n chains
    have, and errors do not pile up: (1 − (1 − p)^n)^k for a perfect verifier.
    """
    return filtered_chains(step, 1, tries, misses=misses, alarms=alarms) ** steps


doors(
    __name__, direct="[0, 1]", step="[0, 1]", steps="[1, 1e6]", tries="[1, 1e9]", modulus="[2, 1e9]", misses="[0, 1]",
    alarms="[0, 1]",
)  # fmt: skip
