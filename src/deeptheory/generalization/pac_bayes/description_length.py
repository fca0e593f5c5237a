"""Occam's razor: a hypothesis with a short description cannot fit a sample by luck. Decision lists as the example.

Reference: arora Sec. 5.1; Blumer, Ehrenfeucht, Haussler and Warmuth 1987; Rivest 1987 for decision lists.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import log
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import hoeffding_radius
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.generalization.pac_bayes.comparison_bounds import comparison_bound, kl_comparison

__all__ = [
    "DecisionList",
    "decision_lists",
    "decode",
    "encode",
    "kraft_sum",
    "occam_bound",
    "occam_risk",
    "prefix_free",
]

LISTS = 10**6
"""how many decision lists are enumerated"""

Numbers = float | int | np.number | Float[AnyArray, "..."] | Int[AnyArray, "..."]


def occam_bound(bits: Numbers, samples: Numbers, delta: Numbers) -> Numbers:
    """Gap √((bits·ln 2 + ln(1/δ))/(2m)) that no hypothesis of a prefix-free code exceeds, with probability 1 − δ.

    Hoeffding for each hypothesis at its own share δ·2^(−bits), and Kraft's inequality. Losses in [0, 1].
    Reference: arora Sec. 5.1.
    """
    inside(0, np.inf, bits=bits)
    return hoeffding_radius(samples, delta, sides=1, log_means=bits * log(2))


def occam_risk(errors: Numbers, bits: Numbers, samples: Numbers, delta: Numbers) -> Numbers:
    """Largest risk r with m·kl(errors‖r) ≤ bits·ln 2 + ln(1/δ), `errors` the training error: `occam_bound` by Chernoff.

    Chernoff for each hypothesis at its own share δ·2^(−bits): with probability 1 − δ no hypothesis of a prefix-free
    code has a larger risk. Never above 1, and by Pinsker's inequality never above errors + `occam_bound`. Reference:
    Langford 2005.
    """
    inside(0, np.inf, bits=bits)
    inside(0, 1, "(]", delta=delta)
    budget = (np.asarray(bits, float) * log(2) - np.log(delta)) / np.asarray(samples)
    return comparison_bound(kl_comparison(), errors, budget)


def kraft_sum(words: Sequence[str]) -> Fraction:
    """Σ 2^(−length) over the words of a code: at most 1 if it is prefix-free, 1 if it is complete.

    Reference: Kraft 1949.
    """
    _binary(words)
    return sum((Fraction(1, 2 ** len(word)) for word in words), Fraction(0))


def prefix_free(words: Sequence[str]) -> bool:
    """Whether no word is the beginning of another."""
    _binary(words)
    ordered = sorted(words)
    return not any(later.startswith(earlier) for earlier, later in pairwise(ordered))


def _binary(words: Sequence[str]) -> None:
    for word in words:
        if set(word) - {"0", "1"}:
            raise ValueError(f"words must be made of 0 and 1, got {word!r}")


class DecisionList(NamedTuple):
    """If literal₁ then answer₁, else if literal₂ …, else the default.

    Literal 2j says xⱼ = 1, literal 2j + 1 says xⱼ = 0.
    """

    rules: tuple[tuple[int, int], ...]
    default: int

    def __call__(self, x: Int[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """Answers 0 or 1 on a batch of bit vectors."""
        answers = np.full(len(x), self.default)
        for literal, answer in reversed(self.rules):
            answers = np.where(x[:, literal // 2] == 1 - literal % 2, answer, answers)
        return answers


def encode(rule_list: DecisionList, variables: int) -> str:
    """A word of a prefix-free code: 1, literal and answer for each rule, then 0 and the default.

    A literal takes ⌈log₂ 2v⌉ digits for v = `variables`. Reference: Rivest 1987 for the lists.
    """
    for literal, answer in rule_list.rules:
        if not 0 <= literal < 2 * variables or answer not in (0, 1):
            raise ValueError(
                f"a rule on {variables} bits is a literal below {2 * variables} and 0 or 1, got {literal, answer}"
            )
    width = (2 * variables - 1).bit_length()
    rules = "".join(f"1{literal:0{width}b}{answer}" for literal, answer in rule_list.rules)
    return f"{rules}0{rule_list.default}"


def decode(word: str, variables: int) -> DecisionList:
    """The decision list that a word describes.

    `variables` as in `encode`, of which it is the inverse.
    """
    width = (2 * variables - 1).bit_length()
    rules, rest = [], word if set(word) <= {"0", "1"} else ""
    while rest.startswith("1") and len(rest) > width + 2:
        rules.append((int(rest[1 : 1 + width], 2), int(rest[1 + width])))
        rest = rest[width + 2 :]
    if rest not in ("00", "01") or any(literal >= 2 * variables for literal, _ in rules):
        raise ValueError(f"word must describe a decision list on {variables} bits, got {word!r:.60}")
    return DecisionList(tuple(rules), int(rest[1]))


def decision_lists(variables: int, rules: int) -> list[DecisionList]:
    """All decision lists on so many bits with at most so many rules, shortest first.

    2·(4·variables)^r of them have r rules.
    """
    if (count := (4 * variables) ** rules) > LISTS:
        raise ValueError(f"at most {LISTS:,} decision lists are enumerated, got (4 · {variables})^{rules} = {count:,}")
    single = list(product(range(2 * variables), range(2)))
    return [
        DecisionList(chosen, default)
        for count in range(rules + 1)
        for chosen in product(single, repeat=count)
        for default in range(2)
    ]


doors(__name__, variables="[1, 50]", rules="[0, 6]", default="[0, 1]")
