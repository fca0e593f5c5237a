"""A transformer of fixed size that thinks aloud: every token is looked up in a table by a few earlier tokens.

One layer: a head of softmax attention for each token that is read, and a hidden layer with a unit for each entry of the
tables. A token carries as angles the places that it reads, its positional encoding, and the number of its table.

Reference: handbook 14.3; Feng et al. 2023, Towards revealing the mystery behind chain of thought.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["TableTransformer", "think_aloud", "transformer_of_tables"]


class TableTransformer(NamedTuple):
    """Weights: sharpness of attention, what hidden units read of the heads and of the table's number, what they write.

    A unit fires beyond its threshold.
    """

    sharpness: float
    of_heads: Float[np.ndarray, "units heads values"]
    of_table: Float[np.ndarray, "units tables"]
    threshold: Float[np.ndarray, "units"]
    writes: Float[np.ndarray, "values units"]


def transformer_of_tables(tables: Sequence[Int[np.ndarray, "..."]], *, places: int) -> TableTransformer:
    """Build the weights for value ← table[value, value, …]; only their sharpness depends on the number of places.

    A table of r axes is read by r heads; the size of the network is that of the tables together. Wrong places score
    lower by at least β(1 − cos(2π/places)); β is taken so large that all of them together get less than a tenth of the
    attention, which a unit, half below its full sum, does not notice with up to four heads. β has about 2 log₂(places)
    bits: the logarithmic precision of the theory (Feng et al. 2023).
    """
    axes = [table.ndim for table in tables]
    heads = max(axes)
    if min(axes) < 1 or heads > 4:
        raise ValueError(f"tables must have one to four axes each, got {axes}")
    values = max(max(*table.shape, int(table.max()) + 1) for table in tables)
    if min(int(table.min()) for table in tables) < 0:
        raise ValueError("tables must hold values from 0 on, got a negative one")
    units = [(number, entry, table) for number, table in enumerate(tables) for entry in np.ndindex(table.shape)]
    affordable(weights=(len(units), heads + 1, values))
    of_heads, writes = np.zeros((len(units), heads, values)), np.zeros((values, len(units)))
    for unit, (_, entry, table) in enumerate(units):
        of_heads[unit, np.arange(len(entry)), entry] = 1
        writes[table[entry], unit] = 1
    return TableTransformer(
        float(np.log(10 * places) / (1 - np.cos(2 * np.pi / max(places, 2)))),
        of_heads,
        np.eye(len(tables))[[number for number, _, _ in units]],
        np.array([len(entry) + 0.5 for _, entry, _ in units]),
        writes,
    )


def think_aloud(
    network: TableTransformer,
    given: Int[np.ndarray, "*batch places"],
    tables: Int[np.ndarray, " steps"],
    reads: Int[np.ndarray, "steps heads"],
) -> Int[np.ndarray, "*batch steps"]:
    """Let the network read what is given and write one token a step, each from its table and the tokens it `reads`.

    Every token is made by one pass of the same weights; only the chosen value goes into the next ones. Places count
    from what is given on, through what is written; where a table has fewer axes than there are heads, the further
    heads may look anywhere.
    """
    values, units = network.writes.shape
    count, steps = given.shape[-1], len(tables)
    if given.min() < 0 or given.max() >= values:
        raise ValueError(f"given must lie in [0, {values - 1}], got {given.min()} to {given.max()}")
    if reads.shape[1] != network.of_heads.shape[1]:
        raise ValueError(
            f"reads must have a column for each of {network.of_heads.shape[1]} heads, got {reads.shape[1]}"
        )
    if np.any((reads < 0) | (reads >= count + np.arange(steps)[:, None])):
        raise ValueError("reads must be places before the token that is written")
    if steps and not 0 <= tables.min() <= tables.max() < network.of_table.shape[1]:
        raise ValueError(
            f"tables must lie in [0, {network.of_table.shape[1] - 1}], got {tables.min()} to {tables.max()}"
        )
    angles = 2 * np.pi * np.arange(count + steps) / (count + steps)
    affordable(tokens=(*given.shape[:-1], count + steps, values), hidden=(*given.shape[:-1], units))
    tokens = np.zeros((*given.shape[:-1], count + steps, values))
    tokens[..., :count, :] = np.eye(values)[given]
    for step in range(steps):
        seen = count + step
        scores = network.sharpness * np.cos(angles[reads[step], None] - angles[:seen])
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found = weights / weights.sum(1, keepdims=True) @ tokens[..., :seen, :]
        total = np.tensordot(found, network.of_heads, ([-2, -1], [1, 2])) + network.of_table[:, tables[step]]
        hidden = np.maximum(total - network.threshold, 0)
        tokens[..., seen, :] = np.eye(values)[np.argmax(hidden @ network.writes.T, -1)]
    return np.argmax(tokens[..., count:, :], -1)


doors(__name__, places="[1, 1e5]")
