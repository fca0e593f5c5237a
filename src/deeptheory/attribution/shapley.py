"""Shapley values of a game, exactly: by subsets, by orders, by dividends.

A game of n players is a table of 2ⁿ utilities: entry m is U of the players whose bits are set in m, player 0 the lowest
bit, so entry 0 is U(∅) and the last one U([n]). `game_table` makes it from a function of boolean masks.

Reference: arora Sec. 10.2; Shapley 1953.
"""

from collections.abc import Callable
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaln

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.bits import all_bits
from deeptheory.foundations.entrances import doors

__all__ = [
    "banzhaf_values",
    "bernoulli_values",
    "coalitions",
    "dividends",
    "game_table",
    "players_of",
    "shapley_by_orders",
    "shapley_difference",
    "shapley_from_dividends",
    "shapley_values",
]

Table = Float[AnyArray, "*games subsets"]
Values = Float[np.ndarray, "*games players"]
Utility = Callable[[Bool[np.ndarray, "subsets players"]], Float[AnyArray, " subsets"]]


def coalitions(players: int) -> Bool[np.ndarray, "subsets players"]:
    """All 2ⁿ subsets as boolean masks, one a row, in the order of a table."""
    return all_bits(players)


def game_table(utility: Utility, players: int) -> Float[np.ndarray, " subsets"]:
    """Return the table of a game given as a vectorised function of masks: all 2ⁿ of them in one call.

    Memory is n·2ⁿ for the masks besides what the utility takes.
    """
    table = np.asarray(utility(coalitions(players)), float)
    if table.shape != (2**players,):
        raise ValueError(f"utility must return one number for each of {2**players} masks, got shape {table.shape}")
    return table


def players_of(table: Table) -> int:
    """The number of players of a table, which must have 2ⁿ entries on its last axis, n from 1 to 24."""
    size = np.shape(table)[-1]
    players = size.bit_length() - 1
    if size != 2**players or not 1 <= players <= 24:
        raise ValueError(f"table must have 2ⁿ entries with n from 1 to 24 on its last axis, got {size}")
    return players


def shapley_values(table: Table) -> Values:
    """Return the Shapley values s_i = Σ_{S∌i} |S|!(n − |S| − 1)!/n! · (U(S∪i) − U(S)) of every game of a batch.

    n2ⁿ operations. They add up to U([n]) − U(∅). For more players than can be enumerated see `shapley_sampling`.
    Reference: arora Problem 10.2.2.
    """
    players = players_of(table)
    sizes = np.arange(players)
    return _semivalues(table, np.exp(gammaln(sizes + 1) + gammaln(players - sizes) - gammaln(players + 1)))


def banzhaf_values(table: Table) -> Values:
    """Return the Banzhaf values, the mean of U(S∪i) − U(S) over all 2ⁿ⁻¹ subsets without i; they add up to nothing.

    Reference: Banzhaf 1965.
    """
    players = players_of(table)
    return _semivalues(table, np.full(players, 0.5 ** (players - 1)))


def bernoulli_values(table: Table, share: float) -> Values:
    """Return E[U(S∪i) − U(S)] when every other player is in S with chance `share`, independently.

    The mean over share ∈ [0, 1] is the Shapley value (Owen 1972), share = ½ gives Banzhaf's.
    """
    players = players_of(table)
    sizes = np.arange(players)
    return _semivalues(table, share**sizes * (1 - share) ** (players - 1 - sizes))


def _semivalues(table: Table, weights: Float[np.ndarray, " players"]) -> Values:
    """Σ_{S∌i} w(|S|)(U(S∪i) − U(S)) for each player, the weights by the size of S."""
    table = np.asarray(table, float)
    players = players_of(table)
    sizes = coalitions(players - 1).sum(1) if players > 1 else np.zeros(1, int)
    weighted, values = weights[sizes], np.empty((*table.shape[:-1], players))
    for i in range(players):
        pairs = table.reshape(*table.shape[:-1], -1, 2, 2**i)  # the middle axis is absence and presence of i
        values[..., i] = (pairs[..., 1, :] - pairs[..., 0, :]).reshape(*table.shape[:-1], -1) @ weighted
    return values


def shapley_by_orders(table: Table) -> Values:
    """Return the Shapley values as the mean of U(π_{≤i}) − U(π_{<i}) over all n! orders π, for at most 9 players.

    Much slower than `shapley_values`: the definition itself, kept as its oracle. Reference: arora Def. 10.2.1.
    """
    table = np.asarray(table, float)
    players = players_of(table)
    if players > 9:
        raise ValueError(f"table must be of at most 9 players to go through all orders, got {players}")
    orders = np.array(list(permutations(range(players))))
    after = np.cumsum(1 << orders, axis=1)  # the set of those who have come, as an index of the table
    gains = table[..., after] - table[..., after - (1 << orders)]
    values = np.empty((*table.shape[:-1], players))
    for i in range(players):
        values[..., i] = gains[..., orders == i].mean(-1)
    return values


def shapley_difference(table: Table, first: int, second: int) -> Float[np.ndarray, "*games"] | np.floating:
    """Return s_i − s_j = 1/(n−1) · Σ_{S∌i,j} (U(S∪i) − U(S∪j))/C(n−2, |S|), from subsets without either.

    Players are counted from 0. i is `first`, j `second`. Reference: arora Thm 10.2.5.
    """
    table = np.asarray(table, float)
    players = players_of(table)
    if not (first < players and second < players and first != second):
        raise ValueError(f"first and second must be two of {players} players, got {first} and {second}")
    masks = coalitions(players)
    without = np.flatnonzero(~masks[:, first] & ~masks[:, second])
    sizes = masks[without].sum(1)
    ways = np.exp(gammaln(players - 1) - gammaln(sizes + 1) - gammaln(players - 1 - sizes))
    return (table[..., without + (1 << first)] - table[..., without + (1 << second)]) @ (1 / ways) / (players - 1)


def dividends(table: Table) -> Float[np.ndarray, "*games subsets"]:
    """Return Harsanyi's dividends m_T = Σ_{S⊆T} (−1)^{|T|−|S|} U(S), the coefficients in unanimity games.

    U = Σ_T m_T u_T with u_T(S) = 1 where T ⊆ S. Reference: Harsanyi 1963.
    """
    table = np.array(table, float)
    for i in range(players_of(table)):
        pairs = table.reshape(*table.shape[:-1], -1, 2, 2**i)
        pairs[..., 1, :] -= pairs[..., 0, :]
    return table


def shapley_from_dividends(dividend: Table) -> Values:
    """Return s_i = Σ_{T∋i} m_T/|T|: every coalition shares its dividend equally, all that the axioms leave possible.

    Reference: Harsanyi 1963.
    """
    masks = coalitions(players_of(dividend))
    return np.asarray(dividend, float) @ (masks / np.maximum(masks.sum(1), 1)[:, None])


doors(__name__, players="[1, 24]", share="[0, 1]")
