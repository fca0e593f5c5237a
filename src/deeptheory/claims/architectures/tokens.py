"""Byte pairs: how a vocabulary is learned from a text, and what it makes of another one (lucchi 10.4.5)."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.architectures.tokenization import ALPHABET, pieces_of_text, train_byte_pairs
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Line

SYLLABLES = [first + second for first in "bdfklmnprstv" for second in "aeiou"]
STRANGE = "Ünseen – 9² words,\t日本  and 😀 lanetolane's"
"""letters, digits, signs and spaces that the drawn texts do not have"""


def drawn_text(rng, words):
    """Words of one to four syllables, the one of rank r about 1/r times as often as the first."""
    known = ["".join(rng.choice(SYLLABLES, rng.integers(1, 5))) for _ in range(words // 4)]
    shares = 1 / np.arange(1, len(known) + 1)
    return " ".join(rng.choice(known, words, p=shares / shares.sum()))


def merged(word, pair):
    """A word, as a list of bytes, with every occurrence of a pair made one, from the left."""
    out = []
    for token in word:
        if out and not out[-1][1] and (out[-1][0], token) == pair:
            out[-1] = (out[-1][0] + token, True)
        else:
            out.append((token, False))
    return [token for token, _ in out]


def counted_anew(text, count, once=False):
    """The first merges as pairs of bytes, all pairs recounted each time, and the length of the text after each.

    With `once` a word counts once, however often it occurs. Of equally frequent pairs the one whose tokens came first.
    """
    words, ages, merges, lengths = pieces(text), list(ALPHABET), [], []
    for _ in range(count):
        chosen = map(list, dict.fromkeys(map(tuple, words))) if once else words
        counts = Counter(pair for word in chosen for pair in pairwise(word))
        pair = min(counts, key=lambda each: (-counts[each], *map(ages.index, each)))
        merges.append(pair)
        ages += [b"".join(pair)] if b"".join(pair) not in ages else []
        words = [merged(word, pair) for word in words]
        lengths.append(sum(map(len, words)))
    return merges, lengths


def pieces(text):
    return [[bytes([b]) for b in piece.encode()] for piece in pieces_of_text(text)]


def longest_first(text, tokens):
    """Every piece from the left, each time the longest token that fits: what WordPiece does."""
    found = []
    for piece in map(str.encode, pieces_of_text(text)):
        while piece:
            longest = max(end for end in range(1, len(piece) + 1) if piece[:end] in tokens)
            found.append(piece[:longest])
            piece = piece[longest:]
    return found


@claim(
    items={
        "L10.39": (
            "merges in their order",
            "length of the text after each merge",
            "tokens of other texts",
            "texts back",
        )
    },
    says="Byte-pair encoding merges the pair of neighbouring tokens that is most frequent, counted anew after each "
    "merge. A text is encoded by the same merges in the same order, which is not the longest token that fits, and "
    "every text comes back from its tokens.",
    needs="pairs within a word; of equally frequent pairs the one of older tokens",
    symbols={
        r"\text{token}": "a byte, or two tokens that were merged",
    },
    why="Each merge is a rule that rewrites two neighbours as one. Counts of other pairs change with it, since "
    "neighbours have gone, so they must be counted again. The rules are made in the order in which they were learned: "
    "a pair merged early takes its bytes away from a longer token that was made later of other parts. All bytes are "
    "tokens, so nothing is ever unknown, and putting bytes together again needs no rule.",
    notice="The first merges shorten the text most. The dashed line is what the counts of the untouched text would "
    "promise: merges use up each other's neighbours, but they also make new pairs that are frequent.",
    explore={"merges": (20, 40, 80)},
)
def byte_pairs_are_merged_by_count(
    key, *, words: Annotated[int, Interval(ge=100, le=1000)] = 400, merges: Annotated[int, Interval(ge=20, le=80)] = 60
):
    rng = generator(key)
    text = drawn_text(rng, words)
    found = train_byte_pairs(text, vocabulary=256 + merges)
    done = len(found.merges)
    stated, lengths = counted_anew(text, done)
    by_word, _ = counted_anew(text, done, once=True)
    ours = [(found.tokens[a], found.tokens[b]) for a, b in found.merges]
    # Two merges may make the same token, so there may be more of them than new tokens.
    smaller = [train_byte_pairs(text, vocabulary=256 + kept) for kept in range(10, merges + 1, 10)]
    made = np.array([len(each.merges) for each in smaller])
    untouched = Counter(pair for word in pieces(text) for pair in pairwise(word))
    common = [count for _, count in untouched.most_common(done)]
    promised = len(text.encode()) - np.cumsum(common + [0] * (done - len(common)))
    # Words of two tokens put together: where they meet, the earliest merge and the longest token may disagree.
    learned = [token.decode().strip() for token in found.tokens[256:]]
    other = " ".join(["".join(pair) for pair in rng.choice(learned, (words, 2))] + [STRANGE])
    split = pieces(other)
    for pair in stated:
        split = [merged(word, pair) for word in split]
    replayed = [token for word in split for token in word]
    encoded = [found.tokens[i] for i in found.encode(other)]
    greedy = longest_first(other, set(found.tokens))
    return {
        "merges in their order": Exact(words_of(ours), words_of(stated), aside={"a word once": words_of(by_word)}),
        "length of the text after each merge": Exact(
            np.array([len(each.encode(text)) for each in smaller]),
            np.array(lengths)[made - 1],
            along={"merges": made},
            aside={"every length": np.array(lengths), "by the untouched text": promised},
        ),
        "tokens of other texts": Exact(
            np.array([token.hex() for token in encoded]),
            np.array([token.hex() for token in replayed]),
            aside={"longest first": np.array([token.hex() for token in greedy])},
        ),
        "texts back": Exact(
            np.array([found.decode(found.encode(each)) for each in (text, other, STRANGE)]),
            np.array([text, other, STRANGE]),
        ),
    }


def words_of(merges):
    return np.array([f"{a.hex()} {b.hex()}" for a, b in merges])


@byte_pairs_are_merged_by_count.control("a word counts once, however often it occurs", of="merges in their order")
def once(evidence):
    return replace(evidence, right=evidence.aside["a word once"])


@byte_pairs_are_merged_by_count.control("counts of the text before any merge", of="length of the text after each merge")
def counted_once(evidence):
    promised = np.asarray(evidence.aside["by the untouched text"])
    return replace(evidence, right=promised[np.asarray(evidence.along["merges"]) - 1])


@byte_pairs_are_merged_by_count.control("the longest token that fits", of="tokens of other texts")
def longest(evidence):
    return replace(evidence, left=evidence.aside["longest first"])


@byte_pairs_are_merged_by_count.picture
def lengths_by_merges(pieces):
    """Tokens of the text after each merge: recounted each time, encoded, and as the untouched counts would promise."""
    seen = pieces["length of the text after each merge"]
    lengths, promised = (np.asarray(seen.aside[each]) for each in ("every length", "by the untouched text"))
    steps = np.arange(1, len(lengths) + 1)
    marks = [
        Line("tokens", steps, lengths),
        Dots("tokens", seen.along["merges"], seen.left),
        Line("", steps, promised, rival="counts of the untouched text"),
    ]
    return Curves(marks, x="merges", y="tokens of the text")
