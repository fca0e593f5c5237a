"""Chances of chains in fractions, tables of skills over all lists of examples, and word problems by hand."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from deeptheory.reasoning.skill_tables import (
    answered_by_steps,
    answered_directly,
    entries_by_steps,
    entries_directly,
)
from deeptheory.reasoning.verifiers import (
    break_even_step,
    chain_success,
    filtered_chains,
    filtered_steps,
    modular_success,
)
from deeptheory.reasoning.word_problems import (
    CAFETERIA,
    TENNIS,
    Problem,
    chain_prompt,
    correct_answer,
    faulty_steps,
    numbers_only,
    read_answer,
    standard_prompt,
    worked_answer,
)


def test_chances_by_hand():
    assert chain_success([0.5, 0.5, 0.8]) == pytest.approx(0.2)
    assert break_even_step(0.25, 2) == 0.5
    assert filtered_chains(0.5, 2, 2) == pytest.approx(1 - 0.75**2)
    assert filtered_steps(0.5, 2, 2) == pytest.approx(0.75**2)
    assert filtered_chains(0.0, 3, 5) == 0
    assert np.allclose(filtered_steps(np.array([0.2, 1.0]), 3, 1), [0.008, 1])
    assert modular_success(0.9, 2, 2) == pytest.approx(0.9**2 + 0.1**2)


@pytest.mark.item("H14.6")
def test_a_verifier_with_errors_over_all_outcomes():
    p, misses, alarms = Fraction(7, 10), Fraction(1, 5), Fraction(1, 10)
    chances = {True: p * (1 - alarms), False: (1 - p) * misses, None: 1 - p * (1 - alarms) - (1 - p) * misses}
    total = Fraction(0)
    for drawn in product(chances, repeat=4):  # two chains of two steps
        weight = prod(chances[each] for each in drawn)
        chains = [each for each in (drawn[:2], drawn[2:]) if None not in each]
        total += weight * bool(chains and all(chains[0]))
    assert filtered_chains(0.7, 2, 2, misses=0.2, alarms=0.1) == pytest.approx(float(total))


@pytest.mark.item("H14.3")
def test_tables_over_all_lists_of_examples():
    letters, steps, examples = 2, 3, 2
    group = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 0}

    def path(operands):
        state, found = 0, set()
        for place, operand in enumerate(operands):
            found.add((place, state, operand))
            state = group[state, operand]
        return found

    questions = list(product(range(letters), repeat=steps))
    direct = by_steps = 0
    for shown in product(questions, repeat=examples):
        seen = set().union(*map(path, shown))
        direct += sum(each in shown for each in questions)
        by_steps += sum(path(each) <= seen for each in questions)
    whole = len(questions) ** (examples + 1)
    assert answered_directly(letters, steps, examples) == Fraction(direct, whole)
    assert answered_by_steps(letters, steps, examples) == Fraction(by_steps, whole)
    assert (entries_directly(3, 4), entries_by_steps(3, 4)) == (81, 3 + 27)
    assert answered_by_steps(3, 4, 0) == 0


@pytest.mark.item("H14.2")
def test_the_two_problems_of_the_book():
    assert (correct_answer(TENNIS), correct_answer(CAFETERIA)) == (11, 9)
    assert worked_answer(TENNIS) == "2 * 3 = 6. 5 + 6 = 11. The answer is 11."
    assert worked_answer(CAFETERIA) == "23 - 20 = 3. 3 + 6 = 9. The answer is 9."
    plain, chain = standard_prompt([TENNIS], CAFETERIA), chain_prompt([TENNIS], CAFETERIA)
    assert plain.count("Q:") == chain.count("Q:") == 2
    assert plain.endswith("A:")
    assert "2 * 3 = 6" in chain
    assert "=" not in plain
    assert numbers_only(TENNIS) == 6


@pytest.mark.item("H14.6")
def test_faults_are_named():
    assert faulty_steps(TENNIS, worked_answer(TENNIS)) == []
    assert faulty_steps(TENNIS, "2 * 3 = 7. 5 + 7 = 12. The answer is 12.") == [0]
    assert faulty_steps(TENNIS, "2 * 3 = 6. 4 + 6 = 10. The answer is 10.") == [1]
    assert faulty_steps(TENNIS, "2 * 3 = 6. 5 + 6 = 11. The answer is 12.") == [2]
    with pytest.raises(ValueError, match='text must say "The answer is"'):
        read_answer("11")


def test_problems_that_are_none():
    with pytest.raises(ValueError, match="story must be one of"):
        correct_answer(Problem("sings", (1, 2)))
    with pytest.raises(ValueError, match="numbers of the story 'boxes' must be 2, got 3"):
        correct_answer(Problem("boxes", (1, 2, 3)))
