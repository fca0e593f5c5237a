"""Claims that serve a theorem, a law, a process, an experiment, a figure or a counterexample teach it."""

from deeptheory import books
from deeptheory.lab.entries import catalogue

TAUGHT = {"theorem", "law", "dynamics", "experiment", "figure", "counterexample"}


def test_claims_have_symbols_a_reason_something_to_notice_and_a_picture():
    kinds = {item.id: item.kind for item in books.items()}
    for entry in catalogue().claims.values():
        if any(kinds.get(item) in TAUGHT for item in entry.items):
            for lesson in ("symbols", "why", "notice", "pictured"):
                assert getattr(entry, lesson), f"{entry.name}: {lesson} is missing"
