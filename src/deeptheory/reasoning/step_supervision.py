"""A transformer that learns parities, shown the answer only or every step of a chain of thought (handbook 14.3.1).

A line is a string of bits, a mark, and one thought a bit, the last of which is the answer. Thoughts may be the parities
so far, each of which follows from the one before and one bit; or marks, which take as long to write and say nothing.

Reference: handbook 14.3.1; Wies, Levine and Shashua 2023, Sub-task decomposition enables learning in sequence to
sequence tasks; for marks Pfau, Merrill and Bowman 2024, Let's think dot by dot.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from deeptheory.architectures.decoding import greedy_search
from deeptheory.architectures.language_models import LanguageModel
from deeptheory.foundations.entrances import doors

__all__ = ["MARK", "lines_of_thought", "running_parity", "silent_thoughts", "spoken_thoughts"]

MARK = 2
"""the token after the question, and in place of thoughts that are not written down; bits are 0 and 1"""

Bits = Bool[np.ndarray, "n length"]


def running_parity(bits: Bool[np.ndarray, "*n length"]) -> Bool[np.ndarray, "*n length"]:
    """Return after each bit whether an odd number of them was true so far: the intermediate answers."""
    return np.cumsum(bits, axis=-1) % 2 == 1


def lines_of_thought(
    bits: Bool[np.ndarray, "*n length"], thoughts: Bool[np.ndarray, "*n length"] | None = None
) -> Int[np.ndarray, "*n tokens"]:
    """Return bits, a mark, and all thoughts but the last, which nothing follows; marks for thoughts if None.

    What a model says at place `length` + t, counted from 0, is thought t: it is read at the next place.
    """
    said = np.full(bits.shape, MARK) if thoughts is None else thoughts.astype(int)
    return np.concatenate([bits.astype(int), np.full((*bits.shape[:-1], 1), MARK), said[..., :-1]], axis=-1)


def silent_thoughts(model: LanguageModel, bits: Bits) -> Int[Array, "n length"]:
    """Return what a model says at each place of thought when marks are all that is written there; the answer last."""
    return jnp.argmax(model(lines_of_thought(bits)), axis=-1)[:, bits.shape[1] :]


def spoken_thoughts(model: LanguageModel, bits: Bits) -> Int[Array, "n length"]:
    """Return the thoughts of a model that reads its own as it goes, the likeliest each; the answer last."""
    question = lines_of_thought(bits)[:, : bits.shape[1] + 1]
    return greedy_search(model.step, *model.start(question, length=bits.shape[1]), length=bits.shape[1]).tokens


doors(__name__, length="[1, 20]")
