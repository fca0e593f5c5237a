"""Traces against Python's own arithmetic, all subsequences and a recursion; depth by hand; wrong steps found."""

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from deeptheory.reasoning.table_transformer import think_aloud, transformer_of_tables
from deeptheory.reasoning.traces import (
    Step,
    arithmetic_trace,
    balanced_trace,
    depth,
    edit_distance_trace,
    elimination_trace,
    fan_in,
    increasing_subsequence_trace,
    replayed,
    wrong_steps,
)


@pytest.mark.item("H14.4")
@pytest.mark.parametrize("expression", ["7", "1 + 2", "(3 - 8) * (4 + 9)", "2 * (3 + (4 - 5) * 6) - 7"])
def test_arithmetic_as_python_has_it(expression):
    for modulus in (2, 5, 11):
        trace = arithmetic_trace(expression, modulus=modulus)
        assert trace[-1].value == eval(expression) % modulus
        assert not wrong_steps(trace)


@pytest.mark.item("H14.4")
def test_increasing_subsequences_by_trying_all():
    for numbers in product(range(4), repeat=5):
        best = max(n for n in range(1, 6) for c in combinations(numbers, n) if all(a < b for a, b in pairwise(c)))
        trace = increasing_subsequence_trace(numbers)
        assert trace[-1].value == best
    assert not wrong_steps(trace)


@pytest.mark.item("H14.4")
def test_edit_distances_by_recursion_from_the_front():
    @cache
    def edits(one, other):
        if not one or not other:
            return len(one) + len(other)
        return min(
            edits(one[1:], other) + 1, edits(one, other[1:]) + 1, edits(one[1:], other[1:]) + (one[0] != other[0])
        )

    words = ["", "a", "kitten", "sitting", "abab", "baba"]
    for one, other in product(words, repeat=2):
        assert edit_distance_trace(one, other)[-1].value == edits(one, other)
    assert edit_distance_trace("kitten", "sitting")[-1].value == 3


def test_depth_and_reads_by_hand():
    chain = arithmetic_trace("1 + 2 + 3 + 4 + 5", modulus=100)
    tree = balanced_trace([1, 2, 3, 4, 5], "add")
    assert (depth(chain), depth(tree), chain[-1].value, tree[-1].value) == (4, 3, 15, 15)
    assert (fan_in(chain), fan_in(edit_distance_trace("ab", "c")), depth([Step(3)])) == (2, 5, 0)


@pytest.mark.item("H14.6")
def test_a_wrong_step_is_found_and_what_follows_from_it_is_not():
    trace = arithmetic_trace("(2 + 3) * 4 - 6", modulus=1000)
    for place, step in enumerate(trace):
        spoilt = list(trace)
        spoilt[place] = step._replace(value=step.value + 1)
        readers = [i for i, each in enumerate(trace) if place in each.reads]
        assert wrong_steps(spoilt) == sorted([place] * (step.rule != "given") + readers)
    with pytest.raises(ValueError, match="must use known rules and read earlier steps"):
        wrong_steps([Step(1, "add", (0, 0))])


@pytest.mark.parametrize("expression", ["", "2 **  3", "__import__('os')", "1 / 2", "x + 1", "1.5 + 2"])
def test_other_expressions_are_refused(expression):
    with pytest.raises(ValueError, match=r"expression must"):
        arithmetic_trace(expression, modulus=5)


@pytest.mark.item("H14.4")
@pytest.mark.parametrize("prime", [2, 3])
def test_elimination_solves_all_systems_of_two_equations(prime):
    """Of all matrices (p² − 1)(p² − p) have an inverse, and each of those has one solution for every right side."""
    vectors, solved = np.array(list(product(range(prime), repeat=2))), 0
    for entries in product(range(prime), repeat=4):
        matrix = np.array(entries).reshape(2, 2)
        for right in vectors:
            found = vectors[(vectors @ matrix.T % prime == right).all(1)]
            if (matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]) % prime:
                trace = elimination_trace(matrix, right, modulus=prime)
                assert [[step.value for step in trace[-2:]]] == found.tolist()
                solved += 1
            else:
                with pytest.raises(ValueError, match="must have an inverse"):
                    elimination_trace(matrix, right, modulus=prime)
    assert solved == (prime**2 - 1) * (prime**2 - prime) * prime**2
    assert not wrong_steps(trace)


@pytest.mark.item("H14.4")
def test_elimination_by_fractions():
    """Four equations with whole numbers and determinant 1, solved by fractions; the answers modulo 1009."""
    lower = np.tril(np.arange(16).reshape(4, 4) % 5, -1) + np.eye(4, dtype=int)
    matrix, right = lower @ lower.T[::-1, ::-1], np.array([3, -7, 11, 5])
    rows = [[Fraction(int(x)) for x in (*row, b)] for row, b in zip(matrix, right, strict=True)]
    for c in range(4):
        pivot = next(r for r in range(c, 4) if rows[r][c])
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows = [
            row if r == c else [x - row[c] / rows[c][c] * y for x, y in zip(row, rows[c], strict=True)]
            for r, row in enumerate(rows)
        ]
    exact = [rows[r][4] / rows[r][r] for r in range(4)]
    expected = [x.numerator * pow(x.denominator, -1, 1009) % 1009 for x in exact]
    trace = elimination_trace(matrix, right, modulus=1009)
    assert [step.value for step in trace[-4:]] == expected
    assert (len(trace) - 20, depth(trace), fan_in(trace)) == (76, 19, 3)


def test_elimination_step_by_step_by_hand():
    """y = 2 and x + y = 0 modulo 3: the first pivot is zero, and the second row is added to the first."""
    trace = elimination_trace(np.array([[0, 1], [1, 1]]), np.array([2, 0]), modulus=3)
    said = [(step.value, step.rule) for step in trace[6:]]
    filled = [(1, "fill"), (2, "fill"), (2, "fill")]  # x + 2y = 2
    first = [(1, "invert"), (1, "multiply"), (2, "take away"), (1, "take away")]  # 2y = 1
    second = [(2, "invert"), (1, "multiply"), (1, "take away")]  # x = 1
    assert said == [*filled, *first, *second, (1, "multiply"), (2, "multiply")]
    with pytest.raises(ValueError, match="modulus must be a prime, got 9"):
        elimination_trace(np.eye(2, dtype=int), np.array([2, 0]), modulus=9)


def test_a_replay_follows_from_what_is_given():
    trace = arithmetic_trace("(2 + 3) * 4 - 6", modulus=1000)
    assert replayed(trace) == trace
    spoilt = [trace[0]._replace(value=4), *(step._replace(value=0) if step.reads else step for step in trace[1:])]
    assert replayed(spoilt)[-1].value == 22 and not wrong_steps(replayed(spoilt))
    with pytest.raises(ValueError, match="must use known rules"):
        replayed([Step(1, "guess", ())])


def test_a_transformer_runs_any_tables():
    draw = np.random.default_rng(0)
    tables = [draw.integers(4, size=(4, 3)), draw.integers(4, size=(4, 4, 4)), draw.integers(4, size=4)]
    network = transformer_of_tables(tables, places=50)
    given, chosen = draw.integers(3, size=(5, 10)), draw.integers(3, size=40)
    reads = np.stack([draw.integers(0, 10 + np.arange(40)) for _ in range(3)], 1)
    reads[:, 1] = np.where(chosen == 0, reads[:, 1] % 10, reads[:, 1])  # a value for the three columns of the first
    written = think_aloud(network, given, chosen, reads)
    for row, thoughts in zip(given, written, strict=True):
        tokens = row.tolist()
        for number, places, thought in zip(chosen, reads, thoughts, strict=True):
            table = tables[number]
            tokens.append(table[tuple(tokens[place] for place in places[: table.ndim])])
            assert thought == tokens[-1]
    with pytest.raises(ValueError, match=r"given must lie in \[0, 3\], got 4 to 4"):
        think_aloud(network, np.array([4]), chosen[:1], np.zeros((1, 3), int))
    with pytest.raises(ValueError, match="reads must be places before the token"):
        think_aloud(network, np.array([0]), chosen[:1], np.array([[0, 1, 0]]))
    with pytest.raises(ValueError, match="tables must have one to four axes each"):
        transformer_of_tables([np.zeros((1,) * 5, int)], places=3)
