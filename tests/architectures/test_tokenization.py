"""Byte pairs against a trainer that counts everything anew, and against the merges of the tokenizers library."""

from collections import Counter
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest

from deeptheory.architectures.tokenization import ALPHABET, pieces_of_text, train_byte_pairs

TEXT = "low lower lowest newer newest wider widest; low low newest aaaa aaaaa banana bananas it's we'll 1234 12 été"


def counted_anew(text, vocabulary):
    """Merges by recounting all pairs of all words at every step."""
    tokens = list(ALPHABET)
    words = [[ALPHABET.index(bytes([b])) for b in piece.encode()] for piece in pieces_of_text(text)]
    merges = []
    while len(tokens) < vocabulary:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
        merges.append(pair)
        whole = tokens[pair[0]] + tokens[pair[1]]
        if whole not in tokens:
            tokens.append(whole)
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == pair:
                    word[place : place + 2] = [tokens.index(whole)]
                place += 1
    return tuple(merges), tuple(tokens)


@pytest.mark.item("L10.39")
@pytest.mark.parametrize("vocabulary", [256, 260, 290, 400])
def test_merges_by_counting_anew(vocabulary):
    found = train_byte_pairs(TEXT, vocabulary=vocabulary)
    assert (found.merges, found.tokens) == counted_anew(TEXT, vocabulary)


@pytest.mark.item("L10.39")
def test_encoding_gives_back_any_text_and_shortens():
    lengths = []
    for vocabulary in (256, 262, 280, 310):
        encoding = train_byte_pairs(TEXT, vocabulary=vocabulary)
        for text in (TEXT, "", "Ünïcödé – 9² Ⅷ \t\n\n  x 😀", "lowlow'lllow"):
            assert encoding.decode(encoding.encode(text)) == text
        lengths.append(len(encoding.encode(TEXT)))
    assert lengths == sorted(lengths, reverse=True) and lengths[0] == len(TEXT.encode())
    with pytest.raises(ValueError, match="ids must lie in"):
        encoding.decode(np.array([400]))
    assert encoding.decode(np.array([ALPHABET.index(b"\xc3")])) == "\ufffd"


def test_what_is_no_text_or_no_ids_is_refused():
    encoding = train_byte_pairs(TEXT, vocabulary=280)
    with pytest.raises(TypeError, match="text must be a word, got 3"):
        encoding.encode(3)
    for ids in (np.array([1.5]), "low", np.array(["a"])):
        with pytest.raises(TypeError, match="ids must be an array of whole numbers"):
            encoding.decode(ids)
    with pytest.raises(ValueError, match="ids must have shape"):
        encoding.decode(np.array([[1, 2]]))
    assert encoding.decode(encoding.encode("")) == "" and encoding.decode([1, 2]) == encoding.decode(np.array([1, 2]))


def test_encoding_makes_the_merges_of_training():
    encoding = train_byte_pairs(TEXT, vocabulary=300)
    replayed = [[ALPHABET.index(bytes([b])) for b in piece.encode()] for piece in pieces_of_text(TEXT)]
    for pair in encoding.merges:
        whole = encoding.tokens.index(encoding.tokens[pair[0]] + encoding.tokens[pair[1]])
        for word in replayed:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == pair:
                    word[place : place + 2] = [whole]
                place += 1
    assert list(encoding.encode(TEXT)) == [token for word in replayed for token in word]


def test_pieces():
    assert pieces_of_text("We'll see  2nd été²!\n") == ["We", "'ll", " see", " ", " 2", "nd", " été", "²", "!", "\n"]


@pytest.mark.item("L10.39")
@pytest.mark.slow
def test_merges_of_the_tokenizers_library(tinyshakespeare):
    """What tokenizers 0.23.3 learns: BPE, byte-level rule without prefix space, its whole alphabet, 1000 tokens."""
    encoding = train_byte_pairs(tinyshakespeare, vocabulary=1000)
    assert len(encoding.merges) == 744
    assert encoding.merges[:4] == ((220, 83), (71, 68), (220, 64), (78, 84))
    digest = "aef8da96c69cd892fc0c10d3862813357a0267081cb405cfe41161e45b565e89"
    assert sha256(repr(list(encoding.merges)).encode()).hexdigest() == digest
    ids = encoding.encode(tinyshakespeare[:5000])
    assert len(ids) == 2032 and int(np.sum(ids * np.arange(1, 2033))) == 682_383_032
