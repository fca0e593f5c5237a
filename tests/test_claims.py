"""Every claim at quick size with its controls, against the ledger that ships."""

import pytest

from deeptheory import books
from deeptheory.claims import TOUR
from deeptheory.lab.checking import Task, perform, workers
from deeptheory.lab.entries import catalogue
from deeptheory.lab.records import REFUTABLE, ledger, statuses

CLAIMS = catalogue().claims


@pytest.fixture(scope="module")
def pool():
    with workers(1) as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_claim_agrees_with_the_ledger(pool, name):
    run = pool.submit(perform, Task(CLAIMS[name])).result(300)
    recorded = ledger().claims.get(name)
    assert recorded is not None, f"{name} is not in the ledger: `deeptheory check {name} --record` writes it there"
    assert run.verdict == "holds", run.reason
    assert all(control.verdict == "refuted" for control in run.controls), run.controls
    assert recorded.verdict == run.verdict
    assert recorded.items == run.items
    assert recorded.source == CLAIMS[name].source, (
        f"{name} or what it reaches has changed: `deeptheory check {name} --record`"
    )


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
