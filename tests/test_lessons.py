"""Every claim says what its symbols are and why it holds; theorems and their like are also shown."""

from deeptheory import books
from deeptheory.lab.entries import catalogue

TAUGHT = {"theorem", "law", "dynamics", "experiment", "figure", "counterexample"}


def test_claims_have_symbols_and_a_reason():
    for entry in catalogue().claims.values():
        assert entry.symbols, f"{entry.name}: symbols are missing"
        assert entry.why, f"{entry.name}: why it is true is missing"


def test_a_picture_comes_with_what_to_notice_in_it():
    for entry in catalogue().claims.values():
        assert bool(entry.notice) == entry.pictured, f"{entry.name}: a picture and what to notice belong together"


def test_claims_that_serve_a_theorem_or_its_like_have_a_picture():
    """Or a law, a process, an experiment, a figure, a counterexample."""
    kinds = {item.id: item.kind for item in books.items()}
    for entry in catalogue().claims.values():
        if any(kinds.get(item) in TAUGHT for item in entry.items):
            assert entry.pictured, f"{entry.name}: a picture is missing"
