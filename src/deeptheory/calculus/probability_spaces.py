"""Finite probability spaces: σ-algebras by their atoms, measures on them, and what can be measured."""

from collections.abc import Callable, Collection, Hashable, Mapping
from fractions import Fraction
from itertools import chain, combinations
from math import isfinite, isnan
from numbers import Rational
from typing import Any

from deeptheory.foundations.entrances import doors

__all__ = [
    "atoms",
    "event_probability",
    "is_measurable",
    "is_sigma_algebra",
    "push_forward",
    "sigma_algebra",
]

Event = frozenset
MOST_ATOMS = 16
"""beyond these a σ-algebra has more than 65,536 events"""


def members(name: str, collection: Any) -> list[Any]:
    """Return what a collection holds, each once; text and nan are refused, as is what cannot be in a set."""
    if not isinstance(collection, Collection) or isinstance(collection, str | bytes):
        raise TypeError(f"{name} must be a collection, got {collection!r:.60}")
    if any(isinstance(each, float) and isnan(each) for each in collection):
        raise ValueError(f"{name} must not hold nan, got {collection!r:.60}")
    if not all(isinstance(each, Hashable) for each in collection):
        raise TypeError(f"{name} must hold things that can be in a set, got {collection!r:.60}")
    return list(dict.fromkeys(collection))


def sets(name: str, family: Any) -> list[Event]:
    """Return the sets of a family; what is no family of sets is refused."""
    if not isinstance(family, Collection) or isinstance(family, str | bytes):
        raise TypeError(f"{name} must be a collection of sets, got {family!r:.60}")
    return [frozenset(members(f"each of {name}", each)) for each in family]


def atoms(outcomes: Any, generators: Any) -> list[Event]:
    """Return the smallest non-empty events of the σ-algebra that some sets generate.

    Two outcomes lie in one atom exactly if no generator tells them apart; the atoms are a partition, and the events
    are their unions. Reference: lucchi Sec. 1.5.
    """
    space, known = members("outcomes", outcomes), sets("generators", generators)
    for each in known:
        if not each <= set(space):
            raise ValueError(f"generators must be sets of outcomes, got {set(each - set(space))} outside")
    found: dict[tuple[bool, ...], list[Any]] = {}
    for outcome in space:
        found.setdefault(tuple(outcome in each for each in known), []).append(outcome)
    return [frozenset(each) for each in found.values()]


def sigma_algebra(outcomes: Any, generators: Any) -> frozenset[Event]:
    """Return all events of the σ-algebra that some sets generate: the unions of its atoms, 2 to their number.

    No set generates {∅, Ω}, all single outcomes the power set. For at most 16 atoms.

    Reference: lucchi Sec. 1.5.
    """
    parts = atoms(outcomes, generators)
    if len(parts) > MOST_ATOMS:
        raise ValueError(f"generators must make at most {MOST_ATOMS} atoms, got {len(parts)}")
    chosen = chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))
    return frozenset(frozenset(chain.from_iterable(each)) for each in chosen)


def is_sigma_algebra(outcomes: Any, events: Any) -> bool:
    """Say whether a family of sets has ∅ and Ω, all complements and all unions of two: on finite spaces that is all.

    Reference: lucchi Sec. 1.5.
    """
    space, family = frozenset(members("outcomes", outcomes)), set(sets("events", events))
    return (
        frozenset() in family
        and space in family
        and all(space - each in family for each in family)
        and all(one | other in family for one, other in combinations(family, 2))
    )


def is_measurable(variable: Callable[[Any], Any], outcomes: Any, events: Any) -> bool:
    """Say whether X is a random variable: for every value x the event {X = x} is in the σ-algebra.

    On a finite space all other events about X are unions of these. Reference: lucchi Def. 9.
    """
    family, values = set(sets("events", events)), {each: variable(each) for each in members("outcomes", outcomes)}
    return all(frozenset(o for o, v in values.items() if v == value) in family for value in set(values.values()))


def event_probability(masses: Any, event: Any) -> Fraction:
    """Return Pr(A) = Σ_{ω ∈ A} p(ω) exactly; masses are non-negative and add up to one.

    Floating-point masses count as the fractions they are, and 0.1 is not 1/10: give `Fraction`s.

    Reference: lucchi Sec. 1.5.
    """
    exact = _masses(masses)
    asked = members("event", event)
    if not set(asked) <= set(exact):
        raise ValueError(f"event must be a set of outcomes, got {set(asked) - set(exact)} outside")
    return sum((exact[each] for each in asked), Fraction(0))


def push_forward(masses: Any, variable: Callable[[Any], Any]) -> dict[Any, Fraction]:
    """Return the law of X: Pr(X = x) = Σ p(ω) over the outcomes with X(ω) = x. Reference: lucchi eq. 1.28."""
    law: dict[Any, Fraction] = {}
    for outcome, mass in _masses(masses).items():
        law[variable(outcome)] = law.get(variable(outcome), Fraction(0)) + mass
    return law


def _masses(masses: Any) -> dict[Any, Fraction]:
    if not isinstance(masses, Mapping) or not all(isinstance(each, Rational | float) for each in masses.values()):
        raise TypeError(f"masses must map outcomes to numbers, got {masses!r:.60}")
    if not all(isfinite(each) for each in masses.values()):
        raise ValueError(f"masses must be finite, got {masses!r:.60}")
    exact = {outcome: Fraction(mass) for outcome, mass in masses.items()}
    if min(exact.values(), default=Fraction(-1)) < 0 or sum(exact.values()) != 1:
        raise ValueError(f"masses must be at least 0 and add up to 1, got a sum of {float(sum(exact.values()))}")
    return exact


doors(__name__)
