"""A statement is read at a glance: three lines of a page."""

from deeptheory.lab.entries import catalogue
from deeptheory.report.wording import THREE_LINES, extent


def test_a_statement_has_three_lines():
    """What does not fit belongs to its symbols, to why it is true or to what to notice."""
    long = {entry.name: extent(entry.says) for entry in catalogue().claims.values() if extent(entry.says) > THREE_LINES}
    assert long == {}
