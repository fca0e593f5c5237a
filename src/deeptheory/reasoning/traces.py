"""Chains of thought as traces: each step a fixed rule applied to a few earlier steps, so that anyone can replay it.

A trace is a circuit written out in the order in which its gates are computed. Its depth may grow with the question
although every single step is of bounded size: that is what a chain of thought buys (Feng and others 2023; handbook
14.3).
"""

import ast
from collections.abc import Callable, Sequence
from math import gcd, isqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "RULES",
    "Step",
    "arithmetic_trace",
    "balanced_trace",
    "depth",
    "edit_distance_trace",
    "elimination_trace",
    "fan_in",
    "increasing_subsequence_trace",
    "replayed",
    "wrong_steps",
]


class Step(NamedTuple):
    """A value, the rule that gives it, the earlier steps that the rule reads, and a modulus where the rule has one."""

    value: int
    rule: str = "given"
    reads: tuple[int, ...] = ()
    modulus: int = 0


RULES: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    # left, above and diagonal neighbours in the table, and the two letters
    "edit": lambda left, above, diagonal, one, other: min(left + 1, above + 1, diagonal + (one != other)),
    # best so far, length of a subsequence that ends at an earlier number, that number, and the present one
    "extend": lambda best, length, earlier, now: max(best, length + 1) if earlier < now else best,
    "larger": lambda a, b: max(a, b),
    # a pivot, the entry of its row in some column, and that of a row below
    "fill": lambda pivot, entry, below: entry if pivot else entry + below,
    # an entry, the share of the pivot's row that is taken away from its row, and the entry of the pivot's row
    "take away": lambda entry, share, above: entry - share * above,
    # the one rule that needs to know the modulus; zero, which has no inverse, is left as it is
    "invert": lambda a, modulus: pow(a, -1, modulus) if gcd(a, modulus) == 1 else 0,
}
"""what a step may do with the values that it reads"""

_OPERATIONS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}


def _follows(trace: Sequence[Step], rule: str, reads: tuple[int, ...], modulus: int) -> int:
    """What a rule gives that reads these steps of a trace."""
    values = [trace[place].value for place in reads]
    value = RULES[rule](*values, modulus) if rule == "invert" else RULES[rule](*values)
    return value % modulus if modulus else value


def _said(trace: list[Step], rule: str, reads: tuple[int, ...], modulus: int = 0) -> int:
    trace.append(Step(_follows(trace, rule, reads, modulus), rule, reads, modulus))
    return len(trace) - 1


def arithmetic_trace(expression: str, *, modulus: int) -> list[Step]:
    """Evaluate sums, differences and products of whole numbers in brackets modulo a number, one operation a step.

    "(3 + 4) * 2" modulo 5: given 3, given 4, 3 + 4 = 2, given 2, 2 · 2 = 4.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"expression must be made of numbers, +, -, * and brackets, got {expression!r:.60}") from None
    trace: list[Step] = []

    def evaluate(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _said(trace, _OPERATIONS[type(node.op)], (evaluate(node.left), evaluate(node.right)), modulus)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            trace.append(Step(node.value % modulus, "given", (), modulus))
            return len(trace) - 1
        raise ValueError(f"expression must be made of numbers, +, -, * and brackets, got {expression!r:.60}")

    evaluate(tree)
    return trace


def balanced_trace(numbers: Sequence[int], rule: str) -> list[Step]:
    """Combine numbers by an associative rule in pairs, then the results in pairs, …: n − 1 steps, ⌈log₂ n⌉ deep."""
    if rule not in ("add", "multiply", "larger"):
        raise ValueError(f"rule must be add, multiply or larger, got {rule!r:.40}")
    if not numbers:
        raise ValueError("numbers must be some, got none")
    trace = [Step(number) for number in numbers]
    places = list(range(len(trace)))
    while len(places) > 1:
        pairs = [_said(trace, rule, (one, other)) for one, other in zip(places[::2], places[1::2], strict=False)]
        places = pairs + places[len(places) - len(places) % 2 :]
    return trace


def edit_distance_trace(one: str, other: str) -> list[Step]:
    """Fill the table of edit distances between all beginnings of two words, one entry a step, the answer last.

    (m + 1)(n + 1) entries after m + n letters; an entry inside reads three entries and two letters.
    """
    trace = [Step(ord(letter)) for letter in one + other]
    row = []
    for i in range(len(one) + 1):
        above, row = row, []
        for j in range(len(other) + 1):
            if i and j:
                row.append(_said(trace, "edit", (row[j - 1], above[j], above[j - 1], i - 1, len(one) + j - 1)))
            else:
                trace.append(Step(i + j))
                row.append(len(trace) - 1)
    return trace


def increasing_subsequence_trace(numbers: Sequence[int]) -> list[Step]:
    """Find the length of the longest increasing subsequence, one comparison of two numbers a step, the answer last.

    A step reads the best length so far, one at an earlier number, that number and the present one: n(n − 1)/2 of them,
    and n − 1 for the maximum, after n numbers and n ones.
    """
    if not numbers:
        raise ValueError("numbers must be some, got none")
    trace = [Step(number) for number in numbers]
    lengths: list[int] = []
    for now in range(len(numbers)):
        trace.append(Step(1))
        best = len(trace) - 1
        for earlier, length in enumerate(lengths):
            best = _said(trace, "extend", (best, length, earlier, now))
        lengths.append(best)
    longest = lengths[0]
    for length in lengths[1:]:
        longest = _said(trace, "larger", (longest, length))
    return trace


def elimination_trace(matrix: Int[np.ndarray, "n n"], right: Int[np.ndarray, " n"], *, modulus: int) -> list[Step]:
    """Solve A x = b modulo a prime by elimination, one number a step; the last n steps are x₁, …, xₙ.

    For each column: every lower row is added to the pivot's as long as the pivot is zero ("fill"), the pivot is
    inverted, and shares of its row are taken away from all other rows. What is read does not depend on the numbers, so
    the chain is one circuit for all systems of n equations: n(5n − 1)(n + 2)/6 steps after n(n + 1) given numbers,
    n(n + 5)/2 + 1 deep for n > 1, each step reading at most three. Refuses a matrix that has no inverse. References:
    handbook 14.3; Feng et al. (2023), Sec. 3.
    """
    n = len(matrix)
    affordable(steps=(n, n, n, 256))  # a step takes some hundred bytes
    if any(modulus % divisor == 0 for divisor in range(2, isqrt(modulus) + 1)):
        raise ValueError(f"modulus must be a prime, got {modulus}")
    trace = [Step(int(entry) % modulus, "given", (), modulus) for entry in np.column_stack([matrix, right]).ravel()]
    at = np.arange(n * (n + 1)).reshape(n, n + 1)
    inverses = []
    for column in range(n):
        for below in range(column + 1, n):
            pivot = int(at[column, column])
            for j in range(column, n + 1):
                reads = pivot, int(at[column, j]), int(at[below, j])
                at[column, j] = _said(trace, "fill", reads, modulus)
        pivot = int(at[column, column])
        if not trace[pivot].value:
            raise ValueError(f"matrix must have an inverse modulo {modulus}, got one of determinant 0")
        inverses.append(_said(trace, "invert", (pivot,), modulus))
        for row in range(n):
            if row != column:
                share = _said(trace, "multiply", (int(at[row, column]), inverses[-1]), modulus)
                for j in range(column + 1, n + 1):
                    reads = int(at[row, j]), share, int(at[column, j])
                    at[row, j] = _said(trace, "take away", reads, modulus)
    for row, inverse in enumerate(inverses):
        _said(trace, "multiply", (int(at[row, n]), inverse), modulus)
    return trace


def depth(trace: Sequence[Step]) -> int:
    """Length of the longest chain of steps each of which reads the one before; what is given has depth 0."""
    depths: list[int] = []
    for step in trace:
        depths.append(1 + max(depths[place] for place in step.reads) if step.reads else 0)
    return max(depths, default=0)


def fan_in(trace: Sequence[Step]) -> int:
    """Largest number of earlier steps that one step reads."""
    return max((len(step.reads) for step in trace), default=0)


def replayed(trace: Sequence[Step]) -> list[Step]:
    """Return the chain in which every step follows by its rule from what it reads, and only what is given is kept."""
    after: list[Step] = []
    for place, step in enumerate(trace):
        _refuse_unreadable(place, step)
        if step.rule == "given":
            after.append(step)
        else:
            _said(after, step.rule, step.reads, step.modulus)
    return after


def wrong_steps(trace: Sequence[Step]) -> list[int]:
    """Replay a trace, each step from the values as they are written, and return the places of those that do not follow.

    A step is checked for itself: one that follows from a wrong value is right, so that the first entry is where the
    reasoning first went wrong. What is given is not checked.
    """
    found = []
    for place, step in enumerate(trace):
        _refuse_unreadable(place, step)
        if step.rule != "given" and step.value != _follows(trace, step.rule, step.reads, step.modulus):
            found.append(place)
    return found


def _refuse_unreadable(place: int, step: Step) -> None:
    if step.rule not in (*RULES, "given") or any(not 0 <= read < place for read in step.reads):
        raise ValueError(f"trace must use known rules and read earlier steps, got {step} at place {place}")


doors(__name__, modulus="[2, 1e9]")
