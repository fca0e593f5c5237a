"""Finite probability spaces: σ-algebras by their atoms, measures on them, and what can be measured."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import chain, combinations
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

Outcome = Hashable
Event = frozenset
MOST_ATOMS = 16
"""beyond these a σ-algebra has more than 65,536 events"""


def atoms(outcomes: Collection[Any], generators: Iterable[Collection[Any]]) -> list[Event]:
    """Return the smallest non-empty events of the σ-algebra that some sets generate.

    Two outcomes lie in one atom exactly if no generator tells them apart; the atoms are a partition, and the events
    are their unions. Reference: lucchi Sec. 1.5.
    """
    space, sets = list(dict.fromkeys(outcomes)), [frozenset(each) for each in generators]
    for each in sets:
        if not each <= set(space):
            raise ValueError(f"generators must be sets of outcomes, got {set(each - set(space))} outside")
    found: dict[tuple[bool, ...], list[Any]] = {}
    for outcome in space:
        found.setdefault(tuple(outcome in each for each in sets), []).append(outcome)
    return [frozenset(each) for each in found.values()]


def sigma_algebra(outcomes: Collection[Any], generators: Iterable[Collection[Any]]) -> frozenset[Event]:
    """Return all events of the σ-algebra that some sets generate: the unions of its atoms, 2 to their number.

    No set generates {∅, Ω}, all single outcomes the power set. For at most 16 atoms.

    Reference: lucchi Sec. 1.5.
    """
    parts = atoms(outcomes, generators)
    if len(parts) > MOST_ATOMS:
        raise ValueError(f"generators must make at most {MOST_ATOMS} atoms, got {len(parts)}")
    chosen = chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))
    return frozenset(frozenset(chain.from_iterable(each)) for each in chosen)


def is_sigma_algebra(outcomes: Collection[Any], events: Collection[Collection[Any]]) -> bool:
    """Say whether a family of sets has ∅ and Ω, all complements and all unions of two: on finite spaces that is all.

    Reference: lucchi Sec. 1.5.
    """
    space, family = frozenset(outcomes), {frozenset(each) for each in events}
    return (
        frozenset() in family
        and space in family
        and all(space - each in family for each in family)
        and all(one | other in family for one, other in combinations(family, 2))
    )


def is_measurable(
    variable: Callable[[Any], Any], outcomes: Collection[Any], events: Collection[Collection[Any]]
) -> bool:
    """Say whether X is a random variable: for every value x the event {X = x} is in the σ-algebra.

    On a finite space all other events about X are unions of these. Reference: lucchi Def. 9.
    """
    family, values = {frozenset(each) for each in events}, {each: variable(each) for each in outcomes}
    return all(frozenset(o for o, v in values.items() if v == value) in family for value in set(values.values()))


def event_probability(masses: Mapping[Any, Any], event: Collection[Any]) -> Fraction:
    """Return Pr(A) = Σ_{ω ∈ A} p(ω) exactly; masses are non-negative and add up to one.

    Floating-point masses count as the fractions they are, and 0.1 is not 1/10: give `Fraction`s.

    Reference: lucchi Sec. 1.5.
    """
    exact = _masses(masses)
    return sum((exact[each] for each in set(event)), Fraction(0))


def push_forward(masses: Mapping[Any, Any], variable: Callable[[Any], Any]) -> dict[Any, Fraction]:
    """Return the law of X: Pr(X = x) = Σ p(ω) over the outcomes with X(ω) = x. Reference: lucchi eq. 1.28."""
    law: dict[Any, Fraction] = {}
    for outcome, mass in _masses(masses).items():
        law[variable(outcome)] = law.get(variable(outcome), Fraction(0)) + mass
    return law


def _masses(masses: Mapping[Any, Any]) -> dict[Any, Fraction]:
    exact = {outcome: Fraction(mass) for outcome, mass in masses.items()}
    if min(exact.values(), default=Fraction(-1)) < 0 or sum(exact.values()) != 1:
        raise ValueError(f"masses must be at least 0 and add up to 1, got a sum of {float(sum(exact.values()))}")
    return exact


doors(__name__, empty=("generators", "event", "events"))
