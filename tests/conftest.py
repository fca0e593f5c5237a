"""What every test shares: double precision, checked shapes, and the way to data that is not shipped."""

import gc
import os
import zlib
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import install_import_hook
from numpy.random import SeedSequence

from reached import reached

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "deeptheory"
ABOVE = {"lab", "claims", "books", "report", "cli"}
ROOMS = [path.parent.name for path in SOURCE.glob("*/__init__.py") if path.parent.name not in ABOVE]
ROOM_TO_GROW = 1.5e9
_hook = install_import_hook([f"deeptheory.{room}" for room in ROOMS], "beartype.beartype")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def own_draws(request):
    """Seed the generators of a test's module by the test's name: its draws do not depend on which tests ran before."""
    name = zlib.crc32(request.node.name.encode())
    for each in vars(request.module).values():
        if isinstance(each, np.random.Generator) and isinstance(seed := each.bit_generator.seed_seq, SeedSequence):
            own = SeedSequence(seed.entropy, spawn_key=(name,))
            each.bit_generator.state = type(each.bit_generator)(own).state


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
    named = os.environ.get("DEEPTHEORY_DATA")
    for folder in ([Path(named)] if named else []) + [HERE.parents[1] / "shared" / "data"]:
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
_taken: dict[str, float] = {}


def pytest_addoption(parser):
    parser.addoption("--record-items", action="store_true", help="write the items of passing tests into the ledger")
    parser.addoption("--changed", action="store_true", help="only what the change at hand can reach")
    parser.addoption("--record-slow", action="store_true", help="write which tests take long into tests/slow.txt")


SLOW = HERE / "slow.txt"
"""Test functions that take LONG, written by `pytest --record-slow`: they are marked slow."""
LONG = 0.3


def without_case(nodeid):
    return nodeid.partition("[")[0]


def pytest_ignore_collect(collection_path, config):
    """Files that the change cannot reach are not even imported."""
    if config.getoption("--changed") and collection_path.name.startswith("test_"):
        return str(collection_path.relative_to(HERE.parent)) not in reached()
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    slow = set(SLOW.read_text().splitlines())
    for test in items:
        for mark in test.iter_markers("item"):
            test.user_properties.append(("items", list(mark.args)))
        if without_case(test.nodeid) in slow:
            test.add_marker("slow")
    items.sort(key=lambda test: "test_types.py" not in test.nodeid)  # the longest begins


def pytest_runtest_logreport(report):
    if report.when in ("setup", "call"):
        function = without_case(report.nodeid)
        _taken[function] = max(_taken.get(function, 0.0), report.duration)
    if report.when != "call" or not report.passed:
        return
    for name, ids in report.user_properties:
        if name == "items":
            for each in ids:
                _compared.setdefault(each, set()).add(report.nodeid.split("::")[0])


def _exists(function):
    """Whether a test that was not run now is still there."""
    path, _, name = function.partition("::")
    return (HERE.parent / path).exists() and f"def {name.rpartition('::')[2]}(" in (HERE.parent / path).read_text()


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    if session.config.getoption("--record-slow"):
        others = {each for each in SLOW.read_text().splitlines() if each not in _taken and _exists(each)}
        long = {function for function, seconds in _taken.items() if seconds > LONG}
        SLOW.write_text("".join(f"{each}\n" for each in sorted(others | long)))
    if not session.config.getoption("--record-items"):
        return
    from deeptheory.lab import records

    changes = records.record_tests(_compared, HERE.parent)
    session.config.get_terminal_writer().line(f"\n{changes}")


def pytest_terminal_summary(terminalreporter):
    left_out = [r for r in terminalreporter.stats.get("skipped", []) if "browser" in r.nodeid]
    if left_out:
        terminalreporter.write_line(f"NOT RUN: {len(left_out)} browser tests, for want of a chromium on this machine")
