"""Traces against Python's own arithmetic, all subsequences and a recursion; depth by hand; wrong steps found."""

from functools import cache
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from deeptheory.reasoning.table_transformer import think_aloud, transformer_of_table
from deeptheory.reasoning.traces import (
    Step,
    arithmetic_trace,
    balanced_trace,
    depth,
    edit_distance_trace,
    fan_in,
    increasing_subsequence_trace,
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


def test_a_transformer_runs_any_table():
    draw = np.random.default_rng(0)
    table = draw.integers(4, size=(4, 3))
    network = transformer_of_table(table, places=50)
    inputs = draw.integers(3, size=(5, 50))
    written = think_aloud(network, inputs, start=2)
    for row, thoughts in zip(inputs, written, strict=True):
        state = 2
        for letter, thought in zip(row, thoughts, strict=True):
            state = table[state, letter]
            assert thought == state
    with pytest.raises(ValueError, match="table must hold states 0 to 1, got 0 to 2"):
        transformer_of_table(np.array([[0], [2]]), places=3)
