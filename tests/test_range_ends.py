"""Claims at the ends of their declared ranges: a true statement is not refuted there, and nothing breaks."""

import zlib

import pytest

from deeptheory.lab.entries import catalogue, load

SHARE = 20
"""One of so many ends is tried, chosen by its name."""

TIMES = 3
"""Whole numbers so many times their default cost too much: sizes, samples, steps."""


def ends():
    """Some (claim, parameter, value), where the value is an end of the parameter's range."""
    for name, entry in catalogue().claims.items():
        for parameter in entry.parameters.values():
            if parameter.kind in ("bool", "choice"):
                continue
            for end, value in (("low", parameter.low), ("high", parameter.high)):
                if zlib.crc32(f"{name} {parameter.name} {end}".encode()) % SHARE:
                    continue
                if not parameter.kind.endswith("s"):
                    chosen, largest = value, parameter.default
                elif end == "low":
                    chosen, largest = (value, *parameter.default[1:]), parameter.default[0]
                else:
                    chosen, largest = (*parameter.default[:-1], value), parameter.default[-1]
                if end == "high" and parameter.kind.startswith("int") and value > TIMES * largest:
                    continue
                yield name, parameter.name, chosen


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameter", "value"), list(ends()), ids=str)
def test_no_claim_is_refuted_at_the_ends_of_its_ranges(name, parameter, value):
    claim = load(name)
    if any(parameter in control.settings for control in claim.controls):
        return  # a parameter that a control sets drops a hypothesis: there the claim is meant to fail
    run = claim.check(**{parameter: value})
    assert not [judgement.reason for judgement in run.judgements.values() if judgement.verdict == "refuted"]
