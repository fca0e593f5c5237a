"""The store loses nothing: kills, two writers, damaged and foreign files, a full disk."""

import dataclasses
import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import lab_example
import pytest

from deeptheory.lab import platform
from deeptheory.lab.catalogue import Entry
from deeptheory.lab.parameters import Parameter
from deeptheory.lab.run import Run
from deeptheory.lab.store import Store, StoreError, run_key, stale

ENTRY = Entry(
    name="example", module="m", subject="s", theme="t", says="", needs="", scale="", items={},
    parameters={"sizes": Parameter("sizes", "ints", (2, 4), full=(4, 8), low=1, high=99)}, controls=[],
    searchable=False, source="today", lines=(1, 2),
)  # fmt: skip

RUN = Run(
    claim="example", items={}, verdict="holds", reason="", strength="", resolution=None, controls=[], seconds=0.1,
    seed=0, parameters={"sizes": [2, 4]}, judgements={}, described={}, blob=b"x" * 1000, source="today",
)  # fmt: skip

WRITER = """
    import sys, dataclasses
    from deeptheory.lab.run import Run
    from deeptheory.lab.store import Store
    run = Run(claim=sys.argv[2], items={}, verdict="holds", reason="", strength="", resolution=None, controls=[],
              seconds=0.1, seed=0, parameters={}, judgements={}, described={}, blob=b"x" * 1000)
    with Store(sys.argv[1]) as store:
        for number in range(int(sys.argv[3])):
            store.add(run, f"{sys.argv[2]}-{number}")
            print(number, flush=True)
"""


def writer(path, name, count, **options):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def test_a_run_comes_back_as_it_was(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(RUN, "key")
        assert store.find("key") == RUN
        assert store.find("other") is None
        assert store.latest({"example": ENTRY}) == {"example": RUN}
        assert store.latest({}) == {}
        assert store.record_of(ENTRY)["verdict"] == "holds"
        assert [line["claim"] for line in store.listing()] == ["example"]


FULL = {"full": True, "parameters": {"sizes": [4, 8]}}


@pytest.mark.parametrize(
    ("earlier", "later", "shown"),
    [
        ({}, {"control": "a rival", "verdict": "refuted"}, "earlier"),
        ({}, {"parameters": {"sizes": [2, 3]}, "verdict": "refuted"}, "earlier"),
        ({}, {"seed": 3}, "earlier"),
        ({}, {"source": "yesterday"}, "earlier"),
        ({"source": "yesterday"}, {"seed": 3, "parameters": {"sizes": [2, 3]}}, "later"),
        ({"parameters": {"sizes": [2, 3]}}, {"seed": 3}, "later"),
        ({}, {"verdict": "refuted"}, "later"),
        ({}, FULL, "later"),
        (FULL, {}, "later"),
    ],
    ids=str,
)
def test_the_run_to_show_is_the_claims_own(tmp_path, earlier, later, shown):
    """Not a control's, a sweep's, a calibration's or an older version's."""
    made = {"earlier": dataclasses.replace(RUN, **earlier), "later": dataclasses.replace(RUN, **later)}
    with Store(tmp_path / "runs.sqlite") as store:
        for name, run in made.items():
            store.add(run, name)
        assert store.latest({"example": ENTRY})["example"] == made[shown]
        assert store.record_of(ENTRY) == json.loads(json.dumps(made[shown].record()))


def test_a_control_is_no_run_of_its_claim_and_old_records_are(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(dataclasses.replace(RUN, control="a rival"), "key")
        assert store.record_of(ENTRY) is None
        assert store.listing()[0]["control"] == "a rival"
        record = {name: value for name, value in RUN.record().items() if name != "control"}
        row = ("old", "example", "holds", 0.0, json.dumps(record), RUN.blob)
        store.connection.execute("INSERT INTO runs VALUES (7, ?, ?, ?, ?, ?, ?)", row)
        assert store.latest({"example": ENTRY}) == {"example": RUN}


def test_a_run_of_another_version_is_stale():
    assert not stale(RUN, ENTRY)
    assert stale(RUN, dataclasses.replace(ENTRY, source="tomorrow"))


def test_reading_needs_a_store_and_changes_nothing(tmp_path):
    missing, foreign, ours = tmp_path / "typo" / "runs.sqlite", tmp_path / "thesis.tex", tmp_path / "runs.sqlite"
    foreign.write_text("my thesis" * 1000)
    for path, sentence in ((missing, "no such file"), (foreign, "not a database")):
        with pytest.raises(StoreError, match=f"{path.name} cannot be opened: .*{sentence}"):
            Store(path, existing=True)
    with Store(ours) as store:
        store.add(RUN, "key")
    before = ours.read_bytes()
    with Store(ours, existing=True) as store:
        assert store.find("key") == RUN
        with pytest.raises(StoreError, match="could not be recorded"):
            store.add(RUN, "other")
    assert ours.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["runs.sqlite", "thesis.tex"]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("ALTER TABLE runs DROP COLUMN blob", "cannot be opened: no such column: blob"),
        ("UPDATE runs SET record = '{'", "run 1 in .*runs.sqlite cannot be read"),
        ("UPDATE runs SET record = '{}'", "run 1 in .*runs.sqlite cannot be read: it has no claim"),
    ],
)
def test_a_damaged_store_is_named_with_its_run(tmp_path, damage, sentence):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.add(RUN, "key")
        store.connection.execute(damage)
    with pytest.raises(StoreError, match=sentence):
        Store(path, existing=True).listing()


def test_damaged_arrays_are_named_with_their_run(tmp_path):
    whole = lab_example.square_exponent.check()
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(whole, "whole")
        assert store.find("whole").blob == whole.blob
        store.add(dataclasses.replace(whole, blob=whole.blob[:100]), "torn")
        with pytest.raises(StoreError, match=r"run 2 in .*runs.sqlite cannot be read"):
            store.find("torn")


@pytest.mark.slow
def test_two_processes_write_the_same_store_and_lose_nothing(tmp_path):
    path = tmp_path / "runs.sqlite"
    writers = [writer(path, name, 200) for name in ("one", "two")]
    assert [process.wait(60) for process in writers] == [0, 0]
    for process in writers:
        process.stdout.close()
    with Store(path) as store:
        assert len(store.listing()) == 400


def test_processes_that_create_the_same_store_at_once_share_it(tmp_path):
    def create(place):
        start.wait()
        with Store(place) as store:
            store.add(RUN, "key")

    for attempt in range(60):
        folder = tmp_path / str(attempt)
        start = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(create, [folder / "runs.sqlite"] * 4))
        assert not list(folder.glob("*set-aside*"))
        with Store(folder / "runs.sqlite") as store:
            assert len(store.listing()) == 4


def test_a_killed_writer_loses_no_finished_run(tmp_path):
    path = tmp_path / "runs.sqlite"
    process = writer(path, "one", 100_000)
    for _ in range(50):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with Store(path) as store:
        assert len(store.listing()) > last
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.add(RUN, "after")


@pytest.mark.parametrize("kind", ["text", "truncated", "foreign database"])
def test_a_damaged_or_foreign_file_is_named_and_set_aside(tmp_path, capsys, kind):
    path = tmp_path / "runs.sqlite"
    if kind == "text":
        path.write_text("my thesis" * 1000)
    elif kind == "truncated":
        with Store(path) as store:
            for number in range(200):
                store.add(RUN, str(number))
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2 + 7])
    else:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE recipes (name TEXT)")
        other.close()
    before = path.read_bytes()
    with Store(path) as store:
        assert store.listing() == []
        store.add(RUN, "key")
    aside = tmp_path / "runs.sqlite.set-aside-1"
    assert aside.read_bytes() == before
    told = capsys.readouterr().err
    assert str(path) in told
    assert aside.name in told


def test_a_second_damaged_file_does_not_overwrite_the_first(tmp_path):
    path = tmp_path / "runs.sqlite"
    for text in ("first", "second"):
        path.write_text(text * 500)
        Store(path).close()
        path.unlink()
    aside = {entry.name for entry in tmp_path.glob("*.set-aside-*")}
    assert aside >= {"runs.sqlite.set-aside-1", "runs.sqlite.set-aside-2"}


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file" / "runs.sqlite")


def test_a_full_disk_is_one_sentence_and_keeps_what_was_recorded(tmp_path):
    """The file-size limit of the process stands in for the end of the disk."""
    path = tmp_path / "runs.sqlite"
    script = textwrap.dedent(WRITER).replace("import sys, dataclasses", "import sys, resource, signal")
    script = script.replace("with Store", "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nwith Store")
    limit = "    resource.setrlimit(resource.RLIMIT_FSIZE, (2**17, 2**17))\n"
    script = script.replace("    for number", limit + "    for number")
    command = [sys.executable, "-c", script, str(path), "one", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "StoreError: the run of one could not be recorded" in done.stderr
    with Store(path) as store:
        assert len(store.listing()) == len(done.stdout.split())


def test_the_key_of_a_run_names_all_it_depends_on():
    base = ("claim", {"n": 3}, 0, "source", "platform")
    others = [("other", *base[1:]), ("claim", {"n": 4}, *base[2:]), (*base[:2], 1, *base[3:])]
    others += [(*base[:3], "source 2", "platform"), (*base[:4], "platform 2")]
    assert len({run_key(*arguments) for arguments in (base, *others)}) == 6
    assert run_key(*base) == run_key(*base)


def test_the_platform_names_versions_and_flags(monkeypatch):
    platform.described.cache_clear()
    before = platform.described()
    monkeypatch.setitem(platform.PINNED, "XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    platform.described.cache_clear()
    assert platform.described() != before
    assert "jaxlib" in before
    monkeypatch.undo()
    platform.described.cache_clear()


def test_opening_is_quick(tmp_path):
    start = time.process_time()
    Store(tmp_path / "runs.sqlite").close()
    assert time.process_time() - start < 0.5
