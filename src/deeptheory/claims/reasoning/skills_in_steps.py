"""A task as a chain of skills: what steps cost in reliability, and what they save in examples (handbook 14.3.2)."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Line
from deeptheory.reasoning.skill_tables import (
    answered_by_steps,
    answered_directly,
    entries_by_steps,
    entries_directly,
)
from deeptheory.reasoning.verifiers import break_even_step, chain_success, modular_success

SETTINGS = ((2, 2, 1), (2, 2, 3), (2, 3, 2), (2, 3, 4), (3, 2, 2), (3, 2, 3))  # letters, steps, examples
CHANCES = np.linspace(0.05, 1, 20)


def path(operands, letters):
    """The steps of a question: number of the step, state before it, operand, in the group of sums modulo A."""
    states = np.cumsum([0, *operands]) % letters
    return [(i, int(states[i]), operand) for i, operand in enumerate(operands)]


def by_enumeration(letters, steps, examples):
    """Shares of questions answered directly and by steps, over all lists of examples and all questions."""
    questions = [(each, set(path(each, letters))) for each in product(range(letters), repeat=steps)]
    counts = [0, 0]
    for shown in product(questions, repeat=examples):
        known, seen = {each for each, _ in shown}, set().union(*(steps for _, steps in shown))
        counts[0] += sum(each in known for each, _ in questions)
        counts[1] += sum(steps <= seen for _, steps in questions)
    return [Fraction(count, len(questions) ** (examples + 1)) for count in counts]


def separately(letters, steps, examples):
    """What the share by steps would be if the steps were learnt independently of each other."""
    first, other = (1 - (1 - Fraction(1, size)) ** examples for size in (letters, letters**2))
    return first * other ** (steps - 1)


@claim(
    items={
        "H14.3": (
            "shares of questions that are answered",
            "entries of the tables",
            "chances of chains",
            "chains whose errors may cancel",
        )
    },
    says=r"Steps that are right with chances $p_i$ make a chain right with chance $\prod p_i$, which beats a direct "
    r"answer if $p>p_{\rm direct}^{1/k}$. By heart a task of $k$ steps takes $A^k$ entries at once, and "
    r"$A+(k-1)A^2$ in steps.",
    needs="independent steps; tables with one entry for each state and operand; operands even at random",
    symbols={
        r"p_i": r"the chance that step $i$ is right; $p$ if all have the same",
        "k": "the number of steps",
        "A": "the number of values that an operand, and a state, may have",
    },
    why="Every step must be right, so chances multiply, and a chain of many steps needs very reliable ones. What it "
    "gains is that steps recur: a question never seen is answered if each of its steps has been seen, each in some "
    "other question. Inclusion and exclusion over the steps that no example has shown counts how often.",
    notice="Answers learnt by steps reach all questions after some tens of examples, where direct ones need several "
    "times as many as there are questions. Taking the steps for independent is nearly right, and not quite.",
    explore={"steps": (2, 3, 4, 5)},
)
def skills_save_examples(*, steps: Annotated[int, Interval(ge=2, le=6)] = 4):
    counted = np.array([by_enumeration(*each) for each in SETTINGS])
    predicted = np.array([[answered_directly(*each), answered_by_steps(*each)] for each in SETTINGS])
    apart = np.array([[answered_directly(*each), separately(*each)] for each in SETTINGS])
    sizes = [(letters, k) for letters in (2, 3) for k in (2, 3, 4)]
    questions = {each: list(product(range(each[0]), repeat=each[1])) for each in sizes}
    listed = [
        [len(questions[each]), len({step for one in questions[each] for step in path(one, each[0])})] for each in sizes
    ]
    several = CHANCES[:, None] ** (1 / np.arange(1, steps + 1))  # steps of different difficulty
    multiplied = np.array([chain_success(row.tolist()) for row in several])
    harmonic = CHANCES ** np.sum(1 / np.arange(1, steps + 1))
    even = np.array([break_even_step(float(chance), steps) for chance in CHANCES])

    # The chance that errors of all steps together cancel, by powers of the matrix of one step.
    moduli, ended = (2, 3, 7), []
    for modulus in moduli:
        for chance in CHANCES:
            step = np.full((modulus, modulus), (1 - chance) / (modulus - 1))
            np.fill_diagonal(step, chance)
            ended.append(np.linalg.matrix_power(step, steps)[0, 0])
    formula = [modular_success(CHANCES, steps, modulus) for modulus in moduli]
    return {
        "shares of questions that are answered": Exact(
            counted,
            predicted,
            along={"letters, steps, examples": [str(each) for each in SETTINGS], "shown": ["answers", "steps"]},
            aside={"steps apart": [str(each) for each in apart.ravel()]},
        ),
        "entries of the tables": Exact(listed, [[entries_directly(*each), entries_by_steps(*each)] for each in sizes]),
        "chances of chains": Identity(
            np.concatenate([multiplied, even**steps]),
            np.concatenate([harmonic, CHANCES]),
            size=64,
            aside={"a step less": np.concatenate([multiplied, even ** (steps - 1)])},
        ),
        "chains whose errors may cancel": Identity(
            np.array(ended),
            np.concatenate(formula),
            size=256,
            scale=1.0,
            aside={"all right": np.tile(CHANCES**steps, 3)},
        ),
    }


@skills_save_examples.control("the steps are learnt independently", of="shares of questions that are answered")
def independently(evidence):
    rival = np.array([Fraction(each) for each in evidence.aside["steps apart"]])
    return replace(evidence, right=rival.reshape(-1, 2))


@skills_save_examples.control("the first table has A² entries like the others", of="entries of the tables")
def first_like_the_others(evidence):
    return replace(evidence, right=np.asarray(evidence.right) + np.array([0, 2]))


@skills_save_examples.control("the root of one step less", of="chances of chains")
def one_step_less(evidence):
    return replace(evidence, left=evidence.aside["a step less"])


@skills_save_examples.control("right only if all steps are", of="chains whose errors may cancel")
def all_right(evidence):
    return replace(evidence, right=evidence.aside["all right"])


@skills_save_examples.picture
def answered(pieces, settings):
    """Share of questions answered by the number of examples, shown with answers only or with steps; three letters."""
    examples = np.unique(np.round(np.geomspace(1, 1000, 40)).astype(int))
    steps = settings["steps"]
    marks = [
        Line(name, examples, [float(share(3, steps, int(n))) for n in examples])
        for name, share in (("answers only", answered_directly), ("steps shown", answered_by_steps))
    ]
    apart = Line(
        "steps shown", examples, [float(separately(3, steps, int(n))) for n in examples], rival="steps independent"
    )
    return Curves([*marks, apart], x="examples", y="share of questions answered", log="x", ys=(0, 1))
