"""Claims at quick size with their controls, against the ledger that ships.

All of them were run when they were recorded, and `deeptheory check all` runs them again. Here those run whose record
is not of today's source, and a fixed fifth of the others (all with DEEPTHEORY_CLAIMS=1): enough to see that a record
is what its claim gives, on another machine and with other versions of the libraries.
"""

import os
import zlib

import pytest

from deeptheory import books
from deeptheory.claims import TOUR
from deeptheory.lab.checking import Task, perform, workers
from deeptheory.lab.entries import catalogue
from deeptheory.lab.records import REFUTABLE, ledger, statuses
from deeptheory.report.figures import drawing_of, drawn

CLAIMS = catalogue().claims
RECORDED = ledger().claims
SHARE = int(os.environ.get("DEEPTHEORY_CLAIMS", 5))


def due(name):
    """Whether a claim is run here: by its name, or because its record is missing or of another source."""
    recorded = RECORDED.get(name)
    return recorded is None or recorded.source != CLAIMS[name].source or zlib.crc32(name.encode()) % SHARE == 0


@pytest.fixture(scope="module")
def pool():
    with workers(1) as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CLAIMS if due(name)])
def test_claim_agrees_with_the_ledger(pool, name):
    run = pool.submit(perform, Task(CLAIMS[name])).result(300)
    recorded = RECORDED.get(name)
    assert recorded is not None, f"{name} is not in the ledger: `deeptheory check {name} --record` writes it there"
    assert run.verdict == "holds", run.reason
    assert all(control.verdict == "refuted" for control in run.controls), run.controls
    assert recorded.verdict == run.verdict
    assert recorded.items == run.items
    assert drawn(run, drawing_of(name)), f"{name}: nothing is drawn"


def test_every_claim_is_recorded_and_holds():
    """No record is missing, stale or of another verdict: what was not run here was run as it stands."""
    missing = [name for name in CLAIMS if name not in RECORDED]
    assert not missing, f"not in the ledger: `deeptheory check {' '.join(missing)} --record`"
    stale = [name for name in CLAIMS if name in RECORDED and RECORDED[name].source != CLAIMS[name].source]
    assert not stale, f"changed, or what they reach: `deeptheory check {' '.join(stale)} --record`"
    assert {name: each.verdict for name, each in RECORDED.items()} == dict.fromkeys(CLAIMS, "holds")


def test_claims_name_real_items_and_controls_real_errata():
    for entry in CLAIMS.values():
        for item in entry.items:
            assert books.item(item).id == item
        assert entry.controls or "Rate" in entry.code(), f"{entry.name} has no control"
        for control in entry.controls:
            if (erratum := control["erratum"]) is not None:
                item = books.item(erratum.rstrip("abcdefghijklmnopqrstuvwxyz"))
                kinds = {each.id: each.kind for each in item.errata}
                assert kinds.get(erratum) in REFUTABLE, f"{entry.name}: {erratum} is no erratum that can be refuted"


def test_errata_that_can_be_refuted_are():
    """A refutable erratum of an item that a claim serves is a refuted control of one of them."""
    status = statuses(books.items(), catalogue(), ledger())
    missing = {
        item.id: status[item.id].reason
        for item in books.items()
        if status[item.id].claims
        and any(erratum.kind in REFUTABLE for erratum in item.errata)
        and status[item.id].status == "open"
    }
    assert not missing


def test_the_tour_is_made_of_claims():
    assert set(TOUR) <= set(CLAIMS)
    assert len(TOUR) >= 18


def test_every_statement_is_said():
    for entry in CLAIMS.values():
        assert entry.says.rstrip().endswith((".", "$"))
        assert entry.says.count("$") % 2 == 0
