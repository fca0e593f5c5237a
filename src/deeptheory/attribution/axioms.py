"""The axioms of fair payment as equations: whether a payment obeys them, and how many schemes do.

A linear scheme of n players is a matrix M with a row for each player and a column for each game; payments are M·U. The
games are those with U(∅) = 0, 2ⁿ − 1 numbers. Each axiom is linear in M, so the set of schemes that obey some of them
is an affine space whose dimension is counted: Shapley's theorem is that with all of them it is a point.

Reference: arora Sec. 10.2, Thm 10.2.3; Shapley 1953.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from deeptheory.attribution.shapley import coalitions, players_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "AXIOMS",
    "Schemes",
    "axiom_gaps",
    "equal_split",
    "null_players",
    "schemes_obeying",
    "symmetric_players",
]

Table = Float[AnyArray, " subsets"]
AXIOMS = ("efficiency", "symmetry", "null player")
"""what is asked of a linear scheme"""


class Schemes(NamedTuple):
    """The linear schemes that obey some axioms: their dimension, and the one of least Euclidean norm, players × games.

    The games are columns in the order of a table without its first entry.
    """

    dimension: int
    scheme: Float[np.ndarray, "players games"]


def null_players(table: Table, *, tolerance: float = 1e-12) -> Bool[np.ndarray, " players"]:
    """Which players never change the utility: U(S∪i) = U(S) for all S, to `tolerance`."""
    table = np.asarray(table, float)
    pairs = [table.reshape(-1, 2, 2**i) for i in range(players_of(table))]
    return np.array([np.abs(pair[:, 1] - pair[:, 0]).max() <= tolerance for pair in pairs])


def symmetric_players(table: Table, *, tolerance: float = 1e-12) -> Bool[np.ndarray, "players players"]:
    """Which pairs are interchangeable: U(S∪i) = U(S∪j) for all S without them, to `tolerance`."""
    table = np.asarray(table, float)
    players = players_of(table)
    masks, alike = coalitions(players), np.eye(players, dtype=bool)
    for i, j in combinations(range(players), 2):
        without = np.flatnonzero(~masks[:, i] & ~masks[:, j])
        gap = np.abs(table[without + (1 << i)] - table[without + (1 << j)]).max()
        alike[i, j] = alike[j, i] = gap <= tolerance
    return alike


def axiom_gaps(
    scheme: Callable[[Float[np.ndarray, " subsets"]], Float[AnyArray, " players"]], table: Table, other: Table
) -> dict[str, float]:
    """By how much a payment scheme breaks each axiom on two games; 0 where it keeps it.

    efficiency: |Σpayments − (U([n]) − U(∅))|; symmetry: the largest difference between interchangeable players; null
    player: the largest payment to one; linearity: the largest |pay(U + V) − pay(U) − pay(V)|.
    """
    table, other = np.asarray(table, float), np.asarray(other, float)
    if table.shape != other.shape:
        raise ValueError(f"the two games must have equally many players, got {table.size} and {other.size} entries")
    games = (table, other)
    paid = [np.asarray(scheme(game), float) for game in games]
    apart = [np.abs(pay[:, None] - pay)[symmetric_players(game)].max() for game, pay in zip(games, paid, strict=True)]
    nothing = [np.abs(pay[null_players(game)]).max(initial=0.0) for game, pay in zip(games, paid, strict=True)]
    total = [abs(pay.sum() - (game[-1] - game[0])) for game, pay in zip(games, paid, strict=True)]
    together = np.abs(np.asarray(scheme(table + other), float) - sum(paid)).max()
    return {
        "efficiency": float(max(total)),
        "symmetry": float(max(apart)),
        "null player": float(max(nothing)),
        "linearity": float(together),
    }


def equal_split(table: Table) -> Float[np.ndarray, " players"]:
    """Share U([n]) − U(∅) equally among the players that are not null: every axiom but linearity."""
    table = np.asarray(table, float)
    working = ~null_players(table)
    return working * (table[-1] - table[0]) / max(working.sum(), 1)


def schemes_obeying(players: int, axioms: Sequence[str] = AXIOMS) -> Schemes:
    """Return the linear payment schemes that obey the named axioms, for at most 5 players.

    An axiom on a linear space of games need only hold on a basis of it. Players are null in the games that do not
    depend on them, i and j symmetric in the games that do not tell them apart; both spaces are found here as null
    spaces of the conditions, not from unanimity games. Reference: arora Thm 10.2.3; Shapley 1953.
    """
    unknown = [name for name in axioms if name not in AXIOMS]
    if unknown:
        raise ValueError(f"axioms must be among {', '.join(AXIOMS)}, got {unknown[0]!r}")
    masks, games = coalitions(players), 2**players - 1
    unit = np.eye(games + 1)[:, 1:]  # the utility of a subset as a function of the game, U(∅) = 0
    rows: list[np.ndarray] = [np.zeros((1, players * games))]
    right: list[np.ndarray] = [np.zeros(1)]

    def ask(weights: np.ndarray, space: np.ndarray, wanted: np.ndarray) -> None:
        rows.append(np.kron(weights, space.T))
        right.append(wanted)

    if "efficiency" in axioms:
        ask(np.ones(players), np.eye(games), unit[-1])
    for i in range(players):
        if "null player" in axioms:
            without = np.flatnonzero(~masks[:, i])
            space = _null_space(unit[without + (1 << i)] - unit[without])
            ask(np.eye(players)[i], space, np.zeros(space.shape[1]))
        for j in range(i):
            if "symmetry" in axioms:
                without = np.flatnonzero(~masks[:, i] & ~masks[:, j])
                space = _null_space(unit[without + (1 << i)] - unit[without + (1 << j)])
                ask(np.eye(players)[i] - np.eye(players)[j], space, np.zeros(space.shape[1]))
    system = np.concatenate(rows)
    solution, _, rank, _ = np.linalg.lstsq(system, np.concatenate(right), rcond=None)
    return Schemes(players * games - int(rank), solution.reshape(players, games))


def _null_space(conditions: np.ndarray) -> np.ndarray:
    """An orthonormal basis, in columns, of the games that meet linear conditions."""
    _, singular, vectors = np.linalg.svd(conditions)
    return vectors[np.sum(singular > 1e-10) :].T


doors(__name__, players="[1, 5]", tolerance="[0, ∞)", empty=("axioms",))
