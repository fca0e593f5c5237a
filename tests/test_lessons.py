"""Every claim says what its symbols are and why it holds, and shows it; what can be moved moves the picture."""

import ast
import re

from deeptheory.lab.entries import catalogue

CLAIMS = catalogue().claims
UNPICTURED: set[str] = set()
"""Claims that owe a picture: none is added here, and a claim that has got one leaves."""


def test_claims_have_symbols_and_a_reason():
    for entry in CLAIMS.values():
        assert entry.symbols, f"{entry.name}: symbols are missing"
        assert entry.why, f"{entry.name}: why it is true is missing"


def test_a_reason_has_two_sentences_at_least():
    short = [entry.name for entry in CLAIMS.values() if len(re.findall(r"[.?!](?=\s|$)", entry.why)) < 2]
    assert not short, "the idea of the proof in two to five sentences"


def test_a_picture_comes_with_what_to_notice_in_it():
    for entry in CLAIMS.values():
        assert entry.notice or not entry.pictured, f"{entry.name}: what to notice in the picture is missing"


def test_every_claim_has_a_picture():
    assert {entry.name for entry in CLAIMS.values() if not entry.pictured} == UNPICTURED


def test_what_can_be_moved_moves_the_picture():
    """The picture of a claim with sliders is made of the run's evidence or settings, which they change."""
    for entry in CLAIMS.values():
        if not entry.explore or not entry.pictured:
            continue
        drawings = [
            part
            for part in ast.parse(entry.code()).body
            if isinstance(part, ast.FunctionDef) and f"{entry.name}.picture" in map(ast.unparse, part.decorator_list)
        ]
        for drawing in drawings:
            used = {each.id for part in drawing.body for each in ast.walk(part) if isinstance(each, ast.Name)}
            assert used & {each.arg for each in drawing.args.args}, f"{entry.name}: its sliders move nothing"
        assert len(drawings) == 1, f"{entry.name}: its picture was not found"
