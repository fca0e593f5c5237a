"""Learning a task of k steps by heart: a table of answers, or one table for each step (handbook 14.3.2).

A question has k operands from A letters; the state goes s_i = s_{i−1} ∘ a_i in a group with A elements, from a fixed
start. A learner who sees answers only must have seen the very question. One who is shown the steps must have seen, of
each step, the state with the operand, be it in another question.

`letters` is A, `steps` k, `examples` n.

Reference: handbook 14.3.2.
"""

from fractions import Fraction
from itertools import product

from deeptheory.foundations.entrances import doors

__all__ = ["answered_by_steps", "answered_directly", "entries_by_steps", "entries_directly"]


def entries_directly(letters: int, steps: int) -> int:
    """Return the number of questions, A^k, each with an entry of its own."""
    return letters**steps


def entries_by_steps(letters: int, steps: int) -> int:
    """Return the entries of all tables of steps: A for the first, whose state is fixed, and A² for each other."""
    return letters + (steps - 1) * letters**2


def answered_directly(letters: int, steps: int, examples: int) -> Fraction:
    """Return the share of questions that n random examples with answers have shown: 1 − (1 − A^−k)^n, exactly."""
    return 1 - (1 - Fraction(1, letters**steps)) ** examples


def answered_by_steps(letters: int, steps: int, examples: int) -> Fraction:
    """Return the share of questions all of whose steps n random worked examples have shown, exactly.

    By inclusion and exclusion over the sets T of steps that no example shows, Σ_T (−1)^|T| q_T^n, where q_T is the
    chance that one example shows none of T. Of an example only matters whether its state agrees with the question's:
    that happens with chance 1/A after every step, whatever was before, and certainly after a step that it shows.
    """
    one = Fraction(1, letters)
    total = Fraction(0)
    for hidden in product((False, True), repeat=steps):
        agrees, differs = Fraction(1), Fraction(0)  # chances that the states agree, and that no step of T was shown
        for is_hidden in hidden:
            # From an equal state: the same operand shows the step and states agree, any other parts them.
            # From another state: one of the operands leads to the question's next state, and nothing is shown.
            agrees, differs = (
                differs * one + (0 if is_hidden else agrees * one),
                agrees * (1 - one) + differs * (1 - one),
            )
        total += (-1) ** sum(hidden) * (agrees + differs) ** examples
    return total


doors(__name__, letters="[2, 1000]", steps="[1, 16]", examples="[0, 1e5]")
