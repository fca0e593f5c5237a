"""The store loses nothing: kills, two writers, damaged and foreign files, a full disk."""

import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeptheory.lab.run import Run
from deeptheory.lab.store import Store, StoreError, run_key

RUN = Run(
    claim="example", items={}, verdict="holds", reason="", strength="", resolution=None, controls=[], seconds=0.1,
    seed=0, parameters={}, judgements={}, described={}, blob=b"x" * 1000,
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
        assert store.latest() == {"example": RUN}
        assert store.last_record("example")["verdict"] == "holds"
        assert [line["claim"] for line in store.listing()] == ["example"]


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


def test_opening_is_quick(tmp_path):
    start = time.process_time()
    Store(tmp_path / "runs.sqlite").close()
    assert time.process_time() - start < 0.5
