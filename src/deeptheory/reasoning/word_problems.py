"""Word problems with their steps, the two formats of a prompt, and a verifier that reads each equation of an answer.

Reference: handbook 14.2.1; Wei et al. 2022, Chain-of-thought prompting elicits reasoning in large language models.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from deeptheory.foundations.entrances import doors

__all__ = [
    "CAFETERIA",
    "TENNIS",
    "Problem",
    "chain_prompt",
    "correct_answer",
    "faulty_steps",
    "numbers_only",
    "read_answer",
    "standard_prompt",
    "worked_answer",
]

_OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
_STORIES = {
    "buys": ("Roger has {0} balls. He buys {1} more cans of balls. Each can has {2} balls. How many balls has he now?",
             (("*", 1, 2), ("+", 0, 3))),
    "uses": ("The cafeteria had {0} apples. They used {1} and bought {2} more. How many apples do they have?",
             (("-", 0, 1), ("+", 3, 2))),
    "boxes": ("There are {0} boxes with {1} pens each. How many pens are there?", (("*", 0, 1),)),
    "gifts": ("Ann has {0} shells and finds {1} more. How many shells has she?", (("+", 0, 1),)),
    "losses": ("Ben had {0} coins and lost {1}. How many coins are left?", (("-", 0, 1),)),
}  # fmt: skip
"""of each story the words, and its steps: an operation on two of the numbers given and of the results so far"""


class Problem(NamedTuple):
    """A story ("buys", "uses", "boxes", "gifts" or "losses") with its numbers."""

    story: str
    numbers: tuple[int, ...]


TENNIS = Problem("buys", (5, 2, 3))
"""handbook 14.2.1: five balls and two cans of three make 11"""
CAFETERIA = Problem("uses", (23, 20, 6))
"""handbook 14.2.1: 23 apples, 20 used and 6 bought leave 9"""


def _solved(problem: Problem) -> list[tuple[int, str, int, int]]:
    if problem.story not in _STORIES:
        raise ValueError(f"story must be one of {', '.join(_STORIES)}, got {problem.story!r:.40}")
    words, steps = _STORIES[problem.story]
    wanted = words.count("{")
    if len(problem.numbers) != wanted:
        raise ValueError(f"numbers of the story {problem.story!r} must be {wanted}, got {len(problem.numbers)}")
    values, found = list(problem.numbers), []
    for operation, i, j in steps:
        values.append(_OPERATIONS[operation](values[i], values[j]))
        found.append((values[i], operation, values[j], values[-1]))
    return found


def _question(problem: Problem) -> str:
    return _STORIES[problem.story][0].format(*problem.numbers)


def correct_answer(problem: Problem) -> int:
    """Return the number that the last step gives."""
    return _solved(problem)[-1][-1]


def worked_answer(problem: Problem) -> str:
    """Write the steps as equations, and then the answer: "2 * 3 = 6. 5 + 6 = 11. The answer is 11."."""
    steps = [f"{a} {operation} {b} = {c}." for a, operation, b, c in _solved(problem)]
    return " ".join([*steps, f"The answer is {correct_answer(problem)}."])


def standard_prompt(examples: Sequence[Problem], asked: Problem) -> str:
    """Write a few-shot prompt with answers only (handbook 14.2.1)."""
    correct_answer(asked)
    shown = [f"Q: {_question(each)} A: The answer is {correct_answer(each)}." for each in examples]
    return "\n".join([*shown, f"Q: {_question(asked)} A:"])


def chain_prompt(examples: Sequence[Problem], asked: Problem) -> str:
    """Write a few-shot prompt whose examples show their steps: the chain-of-thought format (handbook 14.2.1)."""
    correct_answer(asked)
    shown = [f"Q: {_question(each)} A: {worked_answer(each)}" for each in examples]
    return "\n".join([*shown, f"Q: {_question(asked)} A:"])


def read_answer(text: str) -> int:
    """Return the number after the last "The answer is"."""
    found = re.findall(r"[Tt]he answer is (-?\d+)", text)
    if not found:
        raise ValueError(f'text must say "The answer is" with a number, got {text!r:.60}')
    return int(found[-1])


def faulty_steps(problem: Problem, text: str) -> list[int]:
    """Return the places, from 0, of the equations of an answer that are false or use a number from nowhere.

    A number may come from the question or from an earlier equation's right side, as it is written there: what follows
    from a wrong number is not wrong. The answer counts as one more step, right if it is the last equation's result.
    """
    known, wrong, last = set(problem.numbers), [], None
    equations = re.findall(r"(-?\d+) ([-+*]) (-?\d+) = (-?\d+)", text)
    for place, (one, operation, other, result) in enumerate(equations):
        a, b, last = int(one), int(other), int(result)
        if _OPERATIONS[operation](a, b) != last or not {a, b} <= known:
            wrong.append(place)
        known.add(last)
    if read_answer(text) != last:
        wrong.append(len(equations))
    return wrong


def numbers_only(problem: Problem) -> int:
    """Return what a reader answers who multiplies the last two numbers, whatever the story says (handbook 14.3.2)."""
    *_, one, other = problem.numbers
    return one * other


doors(__name__)
