"""Numbers and counts as the reasons of judgements say them."""

import math
from fractions import Fraction

__all__ = ["apart", "counted", "every", "measured", "percent", "power"]


def percent(value: float) -> str:
    """A relative size in words: 3.1 %, 0.02 %, 4e-12."""
    if value >= 9.95:
        return f"a factor {value:.3g}"
    return f"{100 * value:.{3 if value >= 0.1 else 2}g} %" if value >= 5e-5 else f"{value:.1g}"


def counted(count: int, noun: str) -> str:
    """A number of things: 1 entry, 2,000 entries."""
    plural = noun if count == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {plural}"


def every(count: int, noun: str, verb: str) -> str:
    """All of a number of things doing something: the link holds, both links hold, all 7 links hold."""
    if count == 1:
        return f"the {noun} {verb}s"
    number, plural = counted(count, noun).split(" ", 1)
    return f"{'both' if count == 2 else f'all {number}'} {plural} {verb}"


def measured(value: float, width: float, beside: float) -> tuple[str, str]:
    """A value with its uncertainty, rounded where that has its second digit, and another to the same place."""
    if not (math.isfinite(value) and math.isfinite(width) and width > 0):
        return f"{value:.4g} ± {width:.2g}", f"{beside:.4g}"
    place = math.floor(math.log10(width)) - 1

    def rounded(number: float) -> str:
        if number == 0 or (place > -6 and abs(number) < 1e6):
            return f"{round(number, -place):.{max(-place, 0)}f}"
        return f"{number:.{max(math.floor(math.log10(abs(number))) - place + 1, 1)}g}"

    return f"{rounded(value)} ± {width:.2g}", rounded(beside)


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers that differ, with as few digits (four or more) as show it."""
    for digits in range(4, 17):
        if f"{one:.{digits}g}" != f"{other:.{digits}g}":
            break
    return f"{one:.{digits}g}", f"{other:.{digits}g}"


def power(value: float) -> str:
    """An exponent as people write it: -1, 0.25, -2/3."""
    near = Fraction(value).limit_denominator(12)
    if near.denominator in (3, 6, 7, 9, 11, 12) and abs(near - Fraction(value)) < 1e-6:
        return str(near)
    return f"{value:.4g}"
