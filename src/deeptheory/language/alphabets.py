"""Alphabets: texts as sequences of whole numbers, one for every character.

Reference: lucchi 10.4.5 for texts as numbers; single characters are the finest of its tokens.
"""

import numpy as np
from jaxtyping import Int

from deeptheory.foundations.entrances import doors

__all__ = ["alphabet_of", "symbol_numbers", "text_of"]

Numbers = Int[np.ndarray, " n"]


def alphabet_of(text: str) -> str:
    """The characters that occur in a text, each once, in their order. The order is that of code points."""
    if not text:
        raise ValueError("text must have at least one character, got an empty one")
    return "".join(sorted(set(text)))


def symbol_numbers(text: str, alphabet: str) -> Numbers:
    """The place of every character of a text in the alphabet; a character that is not there is refused."""
    if not text:
        raise ValueError("text must have at least one character, got an empty one")
    if len(set(alphabet)) != len(alphabet):
        raise ValueError(f"alphabet must have every character once, got {alphabet!r:.60}")
    places = {character: place for place, character in enumerate(alphabet)}
    if unknown := sorted(set(text) - set(alphabet)):
        raise ValueError(f"text must be written in the alphabet of {len(alphabet)} characters, got {unknown[0]!r}")
    return np.fromiter((places[character] for character in text), np.int32, len(text))


def text_of(numbers: Numbers, alphabet: str) -> str:
    """The text that `symbol_numbers` read. `numbers` are places in the alphabet, from 0 on."""
    if numbers.min() < 0 or numbers.max() >= len(alphabet):
        raise ValueError(f"numbers must lie in [0, {len(alphabet) - 1}], got {numbers.min()} to {numbers.max()}")
    return "".join(alphabet[number] for number in numbers)


doors(__name__)
