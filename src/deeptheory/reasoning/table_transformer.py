"""A transformer of fixed size that thinks aloud: it applies a table of moves to inputs of any number, one a token.

One layer, one head of softmax attention, and a hidden layer with a unit for each entry of the table. Tokens carry the
number of their place as an angle; the last state looks for the input with its own number, and writes the next state.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors

__all__ = ["TableTransformer", "think_aloud", "transformer_of_table"]


class TableTransformer(NamedTuple):
    """Weights: sharpness of attention, what hidden units read of the state and of the input, and what they write."""

    sharpness: float
    of_state: Float[np.ndarray, "units states"]
    of_input: Float[np.ndarray, "units inputs"]
    writes: Float[np.ndarray, "states units"]


def transformer_of_table(table: Int[np.ndarray, "states inputs"], *, places: int) -> TableTransformer:
    """Build the weights for state ← table[state, input]; they depend on the number of places only by their sharpness.

    Inputs at wrong places score lower by at least β (1 − cos(2π/places)); β is taken so large that all of them together
    get less than a tenth of the attention, and the hidden units, with threshold 3/2, do not notice. β has about
    2 log₂(places) bits: the logarithmic precision of the theory.
    """
    states, inputs = table.shape
    if table.min() < 0 or table.max() >= states:
        raise ValueError(f"table must hold states 0 to {states - 1}, got {table.min()} to {table.max()}")
    sharpness = np.log(10 * places) / (1 - np.cos(2 * np.pi / max(places, 2)))
    return TableTransformer(
        float(sharpness),
        np.kron(np.eye(states), np.ones((inputs, 1))),
        np.kron(np.ones((states, 1)), np.eye(inputs)),
        np.eye(states)[:, table.ravel()],
    )


def think_aloud(
    network: TableTransformer, inputs: Int[np.ndarray, "*batch places"], *, start: int = 0, steps: int | None = None
) -> Int[np.ndarray, "*batch thoughts"]:
    """Let the network read inputs and write `steps` states (one for each input if None), each from its own last one.

    Every token is made by one pass of the same weights; only the chosen state goes into the next one.
    """
    places, states = inputs.shape[-1], network.of_state.shape[1]
    letters = network.of_input.shape[1]
    if inputs.min() < 0 or inputs.max() >= letters or not start < states:
        raise ValueError(f"inputs must lie in [0, {letters - 1}] and start in [0, {states - 1}]")
    angles = 2 * np.pi * np.arange(places) / places
    embedded, state, found = np.eye(letters)[inputs], np.full(inputs.shape[:-1], start), []
    for step in range(places if steps is None else steps):
        scores = network.sharpness * np.cos(2 * np.pi * step / places - angles)
        weights = np.exp(scores - scores.max())
        seen = np.einsum("p,...pl->...l", weights / weights.sum(), embedded)
        hidden = np.maximum(np.eye(states)[state] @ network.of_state.T + seen @ network.of_input.T - 1.5, 0)
        state = np.argmax(hidden @ network.writes.T, -1)
        found.append(state)
    return np.stack(found, -1) if found else np.zeros((*inputs.shape[:-1], 0), int)


doors(__name__, places="[1, 1e5]", start="[0, 1e6]", steps="[0, 1e6]")
