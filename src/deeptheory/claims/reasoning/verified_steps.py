"""Answers that show their work: formats, a verifier of steps, what it is worth, shortcuts (handbook 14.2 to 14.4)."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Line, Row
from deeptheory.reasoning.verifiers import filtered_chains, filtered_steps
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

BY_HAND = {
    "buys": lambda a, b, c: a + b * c,
    "uses": lambda a, b, c: a - b + c,
    "boxes": lambda a, b: a * b,
    "gifts": lambda a, b: a + b,
    "losses": lambda a, b: a - b,
}
SHORT = ("boxes", "gifts", "losses")
BEFORE, AFTER = np.array([8, 1, 1]), np.array([1, 5, 4])
"""shares of the three stories in tenths, before and after the questions change"""
CASES = ((2, 2), (2, 3), (3, 2))  # steps, tries


def problems(largest):
    """All problems with numbers up to this one."""
    return [
        Problem(story, numbers)
        for story, formula in BY_HAND.items()
        for numbers in product(range(1, largest + 1), repeat=formula.__code__.co_argcount)
    ]


def by_enumeration(step, misses, alarms, steps, tries):
    """Chances that the first accepted chain is right, and that steps tried one by one are, over all outcomes.

    The outcome of a try is right and accepted, wrong and accepted, or refused.
    """
    outcomes = {"right": step * (1 - alarms), "wrong": (1 - step) * misses}
    outcomes["refused"] = 1 - sum(outcomes.values())
    chains = kept = Fraction(0)
    for drawn in product(outcomes, repeat=steps * tries):
        chance = prod(outcomes[each] for each in drawn)
        written = [drawn[i * steps : (i + 1) * steps] for i in range(tries)]
        accepted = next((each for each in written if "refused" not in each), ("refused",))
        chains += chance * (set(accepted) == {"right"})
        tried = [[each[i] for each in written if each[i] != "refused"] for i in range(steps)]
        kept += chance * all(each and each[0] == "right" for each in tried)
    return float(chains), float(kept)


@claim(
    items={
        "H14.2": ("answers in both formats", "the two problems of the book"),
        "H14.6": ("injected errors that are found", "right answers that are passed", "chances with a verifier"),
        "H14.7": ("a reader of numbers only",),
    },
    says=r"A verifier that reads each equation passes right answers and finds every changed result. Trying each of "
    r"$k$ steps $n$ times gives $(1-(1-p)^n)^k$, the best of $n$ chains $1-(1-p^k)^n$. Multiplying any two numbers is "
    "as right as products are common, but for 2 and 2.",
    needs="independent steps and tries, for the two formulas a verifier that never errs; all problems of five "
    "stories with numbers up to six, shortcuts on three",
    symbols={
        "k": "the number of steps of a chain",
        "n": "the number of tries for a step, or of whole chains",
        "p": "the chance that a step is right",
    },
    why="An equation is checked by computing it, and a number by looking whether it was given or found before; a step "
    "that follows from a wrong one is right by itself, so the first fault is named. A verifier lets one try a step "
    r"again before the next, so that the chance of a failure is paid once for each step; a whole chain is right with "
    r"chance $p^k$, and many tries are wasted. Of pairs of positive whole numbers only 2 and 2 have the same sum "
    r"and product.",
    notice="On the left, for equally many written steps, checking each is worth far more than checking chains at the "
    "end. On the right a reader who multiplies is as good as questions allow, and falls with them; steps do not care.",
)
def verifiers_check_each_step(*, largest: Annotated[int, Interval(ge=3, le=8)] = 6):
    every = problems(largest)
    right = [BY_HAND[each.story](*each.numbers) for each in every]
    texts = [worked_answer(each) for each in every]
    shown = [standard_prompt([each], TENNIS) for each in every]
    chained = [chain_prompt([each], TENNIS) for each in every]

    found, injected = [], []
    for each, text in zip(every, texts, strict=True):
        *equations, said, _ = text.split(".")
        for place, equation in enumerate(equations):
            value = int(equation.split()[-1])
            changed = [
                *equations[:place],
                equation[: -len(str(value))] + str(value + 1),
                *equations[place + 1 :],
                said,
                "",
            ]
            found.append((faulty_steps(each, ".".join(changed)) or [-1])[0])
            injected.append(place)

    step, misses, alarms = Fraction(3, 5), Fraction(1, 10), Fraction(1, 5)
    enumerated = np.array(
        [by_enumeration(step, a, b, *case) for a, b in ((Fraction(0), Fraction(0)), (misses, alarms)) for case in CASES]
    )
    errors = dict(misses=float(misses), alarms=float(alarms))
    chances = np.array(
        [
            [filtered_chains(float(step), *case, **each), filtered_steps(float(step), *case, **each)]
            for each in ({}, errors)
            for case in CASES
        ]
    )

    pairs = [Problem(story, numbers) for story in SHORT for numbers in product(range(1, largest + 1), repeat=2)]
    hits = np.array([numbers_only(each) == correct_answer(each) for each in pairs]).reshape(3, -1).sum(1)
    whole = largest**2
    shares = np.array([BEFORE, AFTER])
    return {
        "answers in both formats": Exact(
            [
                [read_answer(one.rsplit("Q:", 1)[0]), read_answer(other.rsplit("Q:", 1)[0])]
                for one, other in zip(shown, chained, strict=True)
            ],
            np.transpose([right, right]),
            aside={"last number asked": [each.numbers[-1] for each in every]},
        ),
        "the two problems of the book": Exact(
            [read_answer(worked_answer(each)) for each in (TENNIS, CAFETERIA)],
            [11, 9],
            aside={"multiplied": [numbers_only(each) for each in (TENNIS, CAFETERIA)]},
        ),
        "injected errors that are found": Exact(found, injected),
        "right answers that are passed": Exact(
            [len(faulty_steps(*each)) for each in zip(every, texts, strict=True)], [0] * len(every)
        ),
        "chances with a verifier": Identity(
            enumerated,
            chances,
            size=4096,
            along={"case": [str(i) for i in range(len(chances))], "kept": ["chains", "steps"]},
        ),
        # In units of one problem in ten times the number of pairs: boxes are always right, gifts for 2 and 2.
        "a reader of numbers only": Exact(
            shares @ hits,
            [share[0] * whole + share[1] for share in shares],
            along={"questions": ["before", "after"]},
            aside={"boxes only": shares[:, 0] * whole},
        ),
    }


@verifiers_check_each_step.control("the answer is the last number of the question", of="answers in both formats")
def last_number(evidence):
    last = evidence.aside["last number asked"]
    return replace(evidence, right=np.transpose([last, last]))


@verifiers_check_each_step.control("multiply the last two numbers", of="the two problems of the book")
def multiplied(evidence):
    return replace(evidence, left=evidence.aside["multiplied"])


@verifiers_check_each_step.control("chains and steps are worth the same", of="chances with a verifier")
def same_worth(evidence):
    return replace(evidence, right=np.asarray(evidence.right)[:, [0, 0]])


@verifiers_check_each_step.control("all faults are at the first step", of="injected errors that are found")
def at_the_first(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@verifiers_check_each_step.control("sums never equal products", of="a reader of numbers only")
def no_coincidence(evidence):
    return replace(evidence, right=evidence.aside["boxes only"])


@verifiers_check_each_step.picture
def worth_of_steps(pieces):
    """Chance of a right chain of five steps by the number of tries; what readers get right as stories change."""
    tries, boxes = np.arange(1, 21), np.linspace(0, 1, 11)
    chances = [
        Line("each step checked", tries, [filtered_steps(0.6, 5, int(n)) for n in tries]),
        Line("whole chains checked", tries, [filtered_chains(0.6, 5, int(n)) for n in tries]),
    ]
    readers = [Line("multiplies any two numbers", boxes, boxes), Line("step by step", boxes, np.ones(11))]
    return Row(
        [
            Curves(chances, x="tries n, steps right with chance 0.6", y="chance of a right chain", ys=(0, 1)),
            Curves(readers, x="share of questions that ask for a product", y="share answered right", ys=(0, 1.05)),
        ]
    )
