"""Claims that serve a theorem, a law, a process, an experiment, a figure or a counterexample teach it.

`unpictured.txt` lists those that do not yet: a name leaves it when its claim has symbols, a reason, something to notice
and a picture. It may only shrink.
"""

from pathlib import Path

from deeptheory import books
from deeptheory.lab.catalogue import catalogue

LIST = Path(__file__).parent / "unpictured.txt"
TAUGHT = {"theorem", "law", "dynamics", "experiment", "figure", "counterexample"}


def test_the_list_of_claims_that_do_not_teach_only_shrinks():
    kinds = {item.id: item.kind for item in books.items()}
    missing = {
        entry.name
        for entry in catalogue().claims.values()
        if any(kinds.get(item) in TAUGHT for item in entry.items)
        and not (entry.pictured and entry.symbols and entry.why and entry.notice)
    }
    listed = LIST.read_text().split()
    assert listed == sorted(set(listed))
    assert missing - set(listed) == set(), "these claims need symbols, why, notice and a picture"
    assert set(listed) - missing == set(), "these claims teach now: take them off tests/unpictured.txt"
