"""Byte-pair encoding: a vocabulary grown from bytes by merging the most frequent neighbours, as GPT-2 does.

Reference: lucchi Sec. 10.4.5; Sennrich, Haddow and Birch 2016; Radford et al. 2019 for bytes and for the pieces.
"""

import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from deeptheory.foundations.entrances import door, doors

__all__ = ["BytePairs", "pieces_of_text", "train_byte_pairs"]

Pair = tuple[int, int]

PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
ALPHABET = tuple(bytes([b]) for b in [*PRINTED, *(b for b in range(256) if b not in PRINTED)])
"""The 256 bytes in the order of GPT-2's first ids: those that print first."""


@dataclass(frozen=True)
class BytePairs:
    """A trained encoding: pairs of ids in the order in which they were merged, and the bytes behind every id.

    Decoding what was encoded gives back any text. Two merges may make the same bytes; they share an id.
    """

    merges: tuple[Pair, ...]
    tokens: tuple[bytes, ...]

    @door
    def encode(self, text: str) -> Int[np.ndarray, " n"]:
        """Ids of a text: within every piece the earliest merge is made first, wherever it applies."""
        ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        numbers = {token: number for number, token in enumerate(self.tokens)}
        known: dict[str, list[int]] = {}
        ids: list[int] = []
        for piece in pieces_of_text(text):
            if piece not in known:
                known[piece] = self._piece(piece, ranks, numbers)
            ids += known[piece]
        return np.array(ids, np.int64)

    def _piece(self, piece: str, ranks: dict[Pair, int], numbers: dict[bytes, int]) -> list[int]:
        word = [numbers[bytes([b])] for b in piece.encode()]
        while len(word) > 1:
            pair = min(pairwise(word), key=lambda each: ranks.get(each, len(ranks)))
            if pair not in ranks:
                break
            word = _merged(word, pair, numbers[self.tokens[pair[0]] + self.tokens[pair[1]]])
        return word

    @partial(door, empty=("ids",))
    def decode(self, ids: Int[np.ndarray, " n"]) -> str:
        """The text of ids; bytes that are no text, as where a letter was cut in two, become the sign for that."""
        if len(ids) and not 0 <= min(ids) <= max(ids) < len(self.tokens):
            raise ValueError(f"ids must lie in [0, {len(self.tokens) - 1}], got {min(ids)} to {max(ids)}")
        return b"".join(self.tokens[i] for i in ids).decode(errors="replace")


def pieces_of_text(text: str) -> list[str]:
    """Cut a text where no token reaches across: words with the space before them, numbers, signs, endings like 's.

    The rule of GPT-2, by Unicode's letters and numbers. The pieces joined are the text.
    """
    return _rule(text.isascii()).findall(text)


@cache
def _rule(ascii_only: bool) -> re.Pattern[str]:
    # `re` has no classes for letters and numbers, and \w and \d are others.
    last = 127 if ascii_only else sys.maxunicode
    letters, numbers = ("".join(_ranges(kind, last)) for kind in "LN")
    return re.compile(
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^\s{letters}{numbers}]+|\s+(?!\S)|\s+"
    )


def _ranges(kind: str, last: int) -> Iterator[str]:
    """Runs of characters of one kind, written for a regular expression."""
    start = None
    for code in range(last + 2):
        inside = code <= last and unicodedata.category(chr(code))[0] == kind
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            yield f"{re.escape(chr(start))}-{re.escape(chr(code - 1))}"
            start = None


def train_byte_pairs(text: str, *, vocabulary: int = 1000, least: int = 1) -> BytePairs:
    """Learn an encoding: merge the pair of neighbouring tokens that occurs most often, until there are so many tokens.

    Of pairs that occur equally often the one with the lower ids is merged. It ends early when no pair occurs `least`
    times. The merges are those of the `tokenizers` library with its byte-level rule and alphabet. Time is about
    linear in the text, then in the occurrences merged. References: lucchi Sec. 10.4.5; Sennrich et al. (2016).
    """
    numbers = {token: number for number, token in enumerate(ALPHABET)}
    tokens, merges = list(ALPHABET), []
    counted = Counter(pieces_of_text(text))
    words = [[numbers[bytes([b])] for b in piece.encode()] for piece in counted]
    times = list(counted.values())
    counts: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for place, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += times[place]
            places[pair].add(place)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapify(queue)
    while queue and len(tokens) < vocabulary:
        count, pair = heappop(queue)
        if -count != counts[pair]:  # it has changed since; where it fell, it stands further back
            if 0 < counts[pair] < -count:
                heappush(queue, (-counts[pair], pair))
            continue
        if -count < least:
            break
        whole = tokens[pair[0]] + tokens[pair[1]]
        if whole not in numbers:
            numbers[whole] = len(tokens)
            tokens.append(whole)
        merges.append(pair)
        changed: set[Pair] = set()
        for place in places.pop(pair):
            before = Counter(pairwise(words[place]))
            words[place] = _merged(words[place], pair, numbers[whole])
            after = Counter(pairwise(words[place]))
            for each in before.keys() | after.keys():
                counts[each] += (after[each] - before[each]) * times[place]
                if after[each] > before[each]:
                    places[each].add(place)
                    changed.add(each)
        counts[pair] = 0
        for each in changed:
            heappush(queue, (-counts[each], each))
    return BytePairs(tuple(merges), tuple(tokens))


def _merged(word: list[int], pair: Pair, whole: int) -> list[int]:
    """The word with every occurrence of the pair, from the left, made one."""
    result, place = [], 0
    while place < len(word):
        found = word[place] == pair[0] and place + 1 < len(word) and word[place + 1] == pair[1]
        result.append(whole if found else word[place])
        place += 2 if found else 1
    return result


doors(__name__, vocabulary="[256, 1e6]", least="[1, ∞)")
