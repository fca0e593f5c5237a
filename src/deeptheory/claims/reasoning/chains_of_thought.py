"""Chains of thought are deep circuits with small steps (handbook 14.3, after Feng and others 2023)."""

from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from math import ceil, log2

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.reasoning.table_transformer import think_aloud, transformer_of_tables
from deeptheory.reasoning.traces import (
    arithmetic_trace,
    balanced_trace,
    depth,
    edit_distance_trace,
    fan_in,
    increasing_subsequence_trace,
)

SIZES = (2, 3, 4, 6, 8, 12, 16)
MODULUS = 7
GROUP = list(permutations(range(3)))  # the moves of three cups, which do not commute
TABLE = np.array([[GROUP.index(tuple(one[i] for i in other)) for other in GROUP] for one in GROUP])


def bracketed(rng, numbers):
    """A random expression of these numbers with brackets."""
    if len(numbers) == 1:
        return str(numbers[0])
    cut = int(rng.integers(1, len(numbers)))
    return f"({bracketed(rng, numbers[:cut])} {'+-*'[rng.integers(3)]} {bracketed(rng, numbers[cut:])})"


def longest(numbers):
    """Length of the longest increasing subsequence, by trying all."""
    tries = (
        n for n in range(len(numbers), 0, -1) for each in combinations(numbers, n) if list(each) == sorted(set(each))
    )
    return next(tries)


@cache
def edits(one, other):
    """Edit distance by its recursion from the front."""
    if not one or not other:
        return len(one) + len(other)
    rest = edits(one[1:], other[1:])
    return rest if one[0] == other[0] else 1 + min(rest, edits(one[1:], other), edits(one, other[1:]))


def moved(moves):
    """The number of the order in which three cups stand after these moves, one after another."""
    cups = (0, 1, 2)
    for move in moves:
        cups = tuple(cups[i] for i in GROUP[move])
    return GROUP.index(cups)


def in_turn(moves):
    """What is given, the cups in order and all moves; what each thought reads, the one before and its own move."""
    count, n = moves.shape
    given = np.concatenate([np.zeros((count, 1), int), moves], 1)
    before = np.array([0, *range(n + 1, 2 * n)])
    return given, np.zeros(n, int), np.stack([before, 1 + np.arange(n)], 1)


def least_depth(bits):
    """Least depth of a circuit of any gates with two inputs that computes the parity of so many bits, by exhaustion.

    A function of the bits is a list of its values, packed into one whole number.
    """
    rows = np.arange(2**bits)
    inputs = [sum(int(row >> bit & 1) << int(row) for row in rows) for bit in range(bits)]
    parity, whole = 0, 2 ** (2**bits) - 1
    for each in inputs:
        parity ^= each
    known, level = set(inputs), 0
    while parity not in known:
        level += 1
        if any(parity ^ each in known for each in known):  # one more gate, and all others need not be listed
            return level
        for a, b in combinations(list(known), 2):
            # The ten gates that depend on both; the others depend on one or none, which is known already.
            gates = a & b, a | b, a ^ b, a & (whole ^ b), b & (whole ^ a)
            known.update(gate ^ turned for gate in gates for turned in (0, whole))
    return level


@claim(
    items={
        "H14.4": (
            "answers of three kinds of chains",
            "what a step reads",
            "numbers of steps",
            "one transformer thinks at every length",
            "least depth of an answer at once",
        )
    },
    says=r"Arithmetic, longest increasing subsequences and edit distances are chains whose steps read at most 2, 4 and "
    r"5 earlier ones at every length. A transformer of fixed size writes such chains; answering at once takes a depth "
    r"that grows, $\lceil\log_2 n\rceil$ for $n$ bits.",
    needs="the constructive half only: that fixed depth does not suffice with unbounded fan-in rests on an unproved "
    "separation of complexity classes. Gates with two inputs in the search; attention as sharp as 33 places need",
    symbols={
        r"n": "the length of the question: numbers, letters or bits",
        r"\text{reads}": "the earlier tokens that the rule for a token needs",
        r"\text{depth}": "the longest chain of steps, each of which reads the one before",
    },
    why="A table of dynamic programming is filled entry by entry, each from a few others; written down in order it is "
    "a chain of thought, and the same small rule gives every token. The chain may be as deep as it is long. At once a "
    r"circuit of gates with two inputs and depth $D$ depends on at most $2^D$ bits, and parity depends on all.",
    notice="The chain for an expression read from left to right is as deep as it has operations, a tree of pairs only "
    "logarithmically. The tables of dynamic programming are deeper still, $n$ and $2n$ levels, with steps of fixed "
    "size.",
)
def chains_are_deep_circuits(key):
    rng = generator(key)
    answers, reads, counts, depths = [], [], [], []
    for n in SIZES:
        numbers = rng.integers(1, 30, n).tolist()
        expression = bracketed(rng, numbers)
        one, other = ("".join("ab"[i] for i in rng.integers(2, size=size)) for size in (n, n + 1))
        nested = arithmetic_trace(expression, modulus=MODULUS)
        table, rise = edit_distance_trace(one, other), increasing_subsequence_trace(numbers)
        left = arithmetic_trace(" - ".join(map(str, numbers)), modulus=MODULUS)
        expected = [eval(expression, {"__builtins__": {}}) % MODULUS, longest(numbers), edits(one, other)]
        answers.append([[nested[-1].value, rise[-1].value, table[-1].value], expected])
        reads.append([fan_in(nested), fan_in(rise), fan_in(table)])
        counts.append(
            [
                [len(nested), len(rise), len(table)],
                [2 * n - 1, 2 * n + n * (n - 1) // 2 + n - 1, 2 * n + 1 + (n + 1) * (n + 2)],
            ]
        )
        depths.append([depth(left), depth(balanced_trace(numbers, "add")), depth(rise), depth(table)])
    answers, counts = np.array(answers), np.array(counts)

    network = transformer_of_tables([TABLE], places=2 * max(SIZES) + 1)
    moves = [rng.integers(6, size=(40, n)) for n in SIZES]
    written = [think_aloud(network, *in_turn(each))[:, -1] for each in moves]
    applied = [[[moved(row), moved(row[::-1])] for row in each] for each in moves]
    bits = np.arange(2, 6)
    return {
        "answers of three kinds of chains": Exact(answers[:, 0], answers[:, 1], along={"length": SIZES}),
        "what a step reads": Exact(np.array(reads), np.tile([2, 4, 5], (len(SIZES), 1)), along={"length": SIZES}),
        "numbers of steps": Exact(
            counts[:, 0], counts[:, 1], along={"length": SIZES}, aside={"depths": np.array(depths)}
        ),
        "one transformer thinks at every length": Exact(
            np.array(written),
            np.array(applied)[..., 0],
            along={"length": SIZES},
            aside={"backwards": np.array(applied)[..., 1]},
        ),
        "least depth of an answer at once": Exact(
            [least_depth(n) for n in bits.tolist()],
            [ceil(log2(n)) for n in bits],
            along={"bits": bits},
        ),
    }


@chains_are_deep_circuits.control("a step of a table of edits reads four earlier ones", of="what a step reads")
def letters_forgotten(evidence):
    return replace(evidence, right=np.minimum(evidence.right, 4))


@chains_are_deep_circuits.control("the depth is ⌊log₂ n⌋", of="least depth of an answer at once")
def rounded_down(evidence):
    return replace(evidence, right=[int(log2(n)) for n in np.asarray(evidence.along["bits"])])


@chains_are_deep_circuits.control("moves in the other order", of="one transformer thinks at every length")
def backwards(evidence):
    return replace(evidence, right=evidence.aside["backwards"])


@chains_are_deep_circuits.picture
def depths_by_length(pieces):
    """Depth of chains by the length of the question, each step of fixed size; a tree of pairs is logarithmic."""
    piece = pieces["numbers of steps"]
    lengths, depths = np.asarray(piece.along["length"]), np.asarray(piece.aside["depths"])
    names = ("from left to right", "in pairs", "longest increasing subsequence", "edit distance")
    marks = [Dots(name, lengths, depths[:, i]) for i, name in enumerate(names)]
    lines = [Line(name, lengths, depths[:, i], thin=True) for i, name in enumerate(names)]
    return Curves([*marks, *lines], x="length of the question", y="depth")
