"""A statement is read at a glance: three lines of a page.

`long_statements.txt` lists those that are longer; what does not fit belongs to why it is true or what to notice. The
list may only shrink.
"""

from pathlib import Path

from deeptheory.lab.entries import catalogue
from deeptheory.report.wording import THREE_LINES, extent

LIST = Path(__file__).parent / "long_statements.txt"


def test_the_list_of_long_statements_only_shrinks():
    long = {entry.name for entry in catalogue().claims.values() if extent(entry.says) > THREE_LINES}
    listed = LIST.read_text().split()
    assert listed == sorted(set(listed))
    assert long - set(listed) == set(), "these statements take more than three lines"
    assert set(listed) - long == set(), "these statements are short: take them off tests/long_statements.txt"
