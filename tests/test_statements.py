"""A statement is read at a glance: three lines of a page."""

import re

import pytest

from deeptheory.lab.entries import catalogue
from deeptheory.report.mathml import typeset
from deeptheory.report.wording import THREE_LINES, extent


def test_a_statement_has_three_lines():
    """What does not fit belongs to its symbols, to why it is true or to what to notice."""
    long = {entry.name: extent(entry.says) for entry in catalogue().claims.values() if extent(entry.says) > THREE_LINES}
    assert long == {}


@pytest.mark.parametrize("subject", sorted({entry.subject for entry in catalogue().claims.values()}))
def test_texts_are_set_as_they_are_meant(subject):
    """Every formula is converted, no backslash has become another sign, and nothing is marked up."""
    for entry in catalogue().claims.values():
        symbols = [f"${symbol}$" for symbol in entry.symbols], entry.symbols.values()
        texts = [entry.says, entry.needs, entry.scale, entry.why, entry.notice, *symbols[0], *symbols[1]]
        for text in texts if entry.subject == subject else ():
            assert "<code>" not in typeset(text), (entry.name, text)
            assert not re.search(r"[\x00-\x1f]", text), (entry.name, text)
            plain = re.sub(r"\$[^$]*\$", "", text)
            assert not re.search(r"`|\*\w[^*]*\w\*", plain), (entry.name, text)
            words = re.sub(r"\\(?:mathrm|operatorname|text)\s*\{[^}]*\}|\{\\rm[^}]*\}|\\[A-Za-z]+", "", text)
            for formula in re.findall(r"\$([^$]*)\$", words):
                assert not re.search(r"[A-Za-z]{4}", formula), (entry.name, formula)
