"""What every test shares: double precision, checked shapes, and the way to data that is not shipped."""

import gc
import os
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import install_import_hook

SOURCE = Path(__file__).resolve().parents[1] / "src" / "deeptheory"
ABOVE = {"lab", "claims", "books", "report", "cli"}
ROOMS = [path.parent.name for path in SOURCE.glob("*/__init__.py") if path.parent.name not in ABOVE]
ROOM_TO_GROW = 1.5e9
_hook = install_import_hook([f"deeptheory.{room}" for room in ROOMS], "beartype.beartype")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def flat_memory():
    """Drop compiled programs once they have grown: a worker that keeps those of every module ends at several GB."""
    yield
    if resident() > ROOM_TO_GROW:
        jax.clear_caches()
        gc.collect()


def resident():
    """Bytes of memory this process holds now; none where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@pytest.fixture
def key():
    return jax.random.key(20261115)


def shared(name):
    """The path of a file of data, found beside the checkout or in the folder that DEEPTHEORY_DATA names."""
    root = Path(__file__).resolve().parents[1]
    named = os.environ.get("DEEPTHEORY_DATA")
    for folder in ([Path(named)] if named else []) + [root.parent / "shared" / "data"]:
        if (folder / name).exists():
            return folder / name
    message = f"{name} was not found: put it in a folder and name that folder in DEEPTHEORY_DATA"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def mnist():
    """The MNIST arrays."""
    return np.load(shared("mnist.npz"))


@pytest.fixture(scope="session")
def tinyshakespeare():
    """A million characters of Shakespeare's plays."""
    return shared("tinyshakespeare.txt").read_text()


# The ledger's list of items that a unit test compares with an oracle: written by `pytest --record-items`.

_compared: dict[str, set[str]] = {}


def pytest_addoption(parser):
    parser.addoption("--record-items", action="store_true", help="write the items of passing tests into the ledger")


def pytest_collection_modifyitems(items):
    for test in items:
        for mark in test.iter_markers("item"):
            test.user_properties.append(("items", list(mark.args)))


def pytest_runtest_logreport(report):
    if report.when != "call" or not report.passed:
        return
    for name, ids in report.user_properties:
        if name == "items":
            for each in ids:
                _compared.setdefault(each, set()).add(report.nodeid.split("::")[0])


def pytest_sessionfinish(session):
    if not session.config.getoption("--record-items") or hasattr(session.config, "workerinput"):
        return
    from deeptheory.lab import records

    changes = records.record_tests(_compared, Path(__file__).resolve().parents[1])
    session.config.get_terminal_writer().line(f"\n{changes}")


def pytest_terminal_summary(terminalreporter):
    left_out = [r for r in terminalreporter.stats.get("skipped", []) if "browser" in r.nodeid]
    if left_out:
        terminalreporter.write_line(f"NOT RUN: {len(left_out)} browser tests, for want of a chromium on this machine")
