"""The store loses nothing: kills, two writers, damaged and foreign files, a full disk."""

import dataclasses
import json
import re
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

from deeptheory.lab import platform, rows
from deeptheory.lab.entries import Entry
from deeptheory.lab.outcome import Run
from deeptheory.lab.parameters import Parameter
from deeptheory.lab.rows import Damaged
from deeptheory.lab.store import Store, StoreError, run_key, stale

ENTRY = Entry(
    name="example", module="m", subject="s", theme="t", says="", needs="", scale="", items={},
    parameters={"sizes": Parameter("sizes", "ints", (2, 4), full=(4, 8), low=1, high=99)}, controls=[],
    searchable=False, symbols={}, why="", notice="", explore={}, consistency=[], pictured=False, uses=[], axes={},
    source="today", lines=(1, 2),
)  # fmt: skip

RUN = Run(
    claim="example", items={}, verdict="holds", reason="", strength="", resolution=None, controls=[], seconds=0.1,
    seed=0, parameters={"sizes": [2, 4]}, judgements={}, described={}, blob=b"x" * 1000, source="today",
)  # fmt: skip

WRITER = """
    import sys, dataclasses
    from deeptheory.lab.outcome import Run
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
        store.connection.execute("INSERT INTO runs VALUES (7, ?, ?, ?, ?, ?, ?, NULL)", row)
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


def test_a_store_of_another_form_is_refused(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.connection.execute("ALTER TABLE runs DROP COLUMN blob")
    with pytest.raises(StoreError, match=r"cannot be opened: no such column: blob"):
        Store(path, existing=True)


DAMAGE = {
    "UPDATE runs SET record = '{' WHERE id = 2": "its checksum does not match",
    "UPDATE runs SET verdict = 'refuted' WHERE id = 2": "its checksum does not match",
    "UPDATE runs SET blob = CAST('torn' AS BLOB) WHERE id = 2": "the checksum of its arrays does not match",
    "UPDATE runs SET checksum = NULL WHERE id = 2": "its checksum is missing",
    "UPDATE runs SET checksum = NULL, record = '{}' WHERE id = 2": "it has no claim, full",
    "UPDATE runs SET checksum = NULL, record = '[1]' WHERE id = 2": "its record is none",
    "UPDATE runs SET claim = CAST(x'ff65' AS TEXT) WHERE id = 2": "its checksum does not match",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_named_left_out_and_dropped_on_request(tmp_path, capsys, damage):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        for seed in range(3):
            store.add(dataclasses.replace(RUN, seed=seed), f"key {seed}")
        store.connection.execute(damage)
    with Store(path, existing=True) as store:
        listed = [line["seed"] for line in store.listing()]
        assert listed == ([2, 1, 0] if "blob" in damage else [2, 0])  # a list does not read the arrays
        assert store.find("key 1") is None
        assert store.find("key 2").seed == 2
        assert store.latest({"example": ENTRY})["example"].seed == 0
    told = capsys.readouterr().err
    assert told.count(f"run 2 in {path} cannot be read: {DAMAGE[damage]}") == 1
    with Store(path) as store:
        (dropped,) = store.repair()
        assert (dropped["run"], DAMAGE[damage] in dropped["why"]) == (2, True)
        assert store.repair() == []
        assert len(store.listing()) == 2


def test_no_flipped_bit_of_a_run_goes_unseen(tmp_path):
    """Every byte of every column, one bit each."""
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(RUN, "key")
        (whole,) = store._rows("")
        flips = 0
        for field in ("key", "claim", "verdict", "text", "checksum", "blob"):
            value = getattr(whole, field)
            raw = value if field == "blob" else value.encode()
            for place in range(len(raw)):
                flipped = bytearray(raw)
                flipped[place] ^= 1 << place % 8
                changed = bytes(flipped) if field == "blob" else flipped.decode(errors="replace")
                with pytest.raises(ValueError):
                    whole._replace(**{field: changed}).run()
                flips += 1
        with pytest.raises(Damaged):
            whole._replace(created=whole.created + 1e-6).run()
        assert flips > 1000
        assert whole.run() == RUN


def test_damaged_arrays_are_named_with_their_run(tmp_path, capsys):
    whole = lab_example.square_exponent.check()
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(whole, "whole")
        assert store.find("whole").blob == whole.blob
        store.add(dataclasses.replace(whole, blob=whole.blob[:100]), "torn")
        assert store.find("torn") is None
        assert re.search(r"run 2 in .*runs.sqlite cannot be read", capsys.readouterr().err)
        assert [row["run"] for row in store.repair()] == [2]


OLD = """
    CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT NOT NULL, claim TEXT NOT NULL, verdict TEXT NOT NULL,
                       created REAL NOT NULL, record TEXT NOT NULL, blob BLOB NOT NULL);
    CREATE INDEX runs_by_key ON runs (key);
    CREATE INDEX runs_by_claim ON runs (claim, id);
    PRAGMA application_id = 0x64747279;
    PRAGMA journal_mode = WAL;
"""


def test_a_store_from_before_there_were_checksums_is_read_and_brought_up_to_date(tmp_path):
    path = tmp_path / "runs.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(OLD)
        row = ("key", "example", "holds", 0.0, json.dumps(RUN.record()), RUN.blob)
        old.execute("INSERT INTO runs (key, claim, verdict, created, record, blob) VALUES (?, ?, ?, ?, ?, ?)", row)
    old.close()
    with Store(path, existing=True) as store:
        assert store.find("key") == RUN
    with Store(path) as store:
        store.add(RUN, "new")
        assert store.repair() == []
        assert store.find("key") == store.find("new") == RUN


def test_what_a_later_version_records_is_kept_and_never_dropped(tmp_path, capsys, monkeypatch):
    later = dataclasses.replace(RUN, unknown={"colour": "blue", "controls": []})
    judged = {**dataclasses.asdict(lab_example.square_exponent.check().judgements[""]), "mood": "good"}
    with Store(tmp_path / "runs.sqlite") as store:
        with monkeypatch.context() as patch:
            patch.setattr(rows, "VERSION", 99)
            store.add(later, "later")
            store.add(dataclasses.replace(RUN, described={"": {"kind": "Oracle"}}), "strange")
        assert store.find("later").unknown == {"colour": "blue"}
        assert store.find("later").record()["colour"] == "blue"
        assert store.find("strange") is None
        assert "run 2" in capsys.readouterr().err
        assert store.repair() == []
        assert len(store.listing()) == 2
    assert Run.of_record({**RUN.record(), "judgements": {"": judged}}, b"").judgements[""].verdict == "holds"


def test_pruning_drops_what_is_gone_changed_or_superseded(tmp_path):
    rival = {"name": "a rival", "erratum": None, "of": None}
    entries = {"example": dataclasses.replace(ENTRY, controls=[rival])}
    made = {
        1: (RUN, "key"),
        2: (RUN, "key"),
        3: (dataclasses.replace(RUN, claim="gone"), "2"),
        4: (dataclasses.replace(RUN, source="yesterday"), "3"),
        5: (dataclasses.replace(RUN, control="a rival"), "4"),
        6: (dataclasses.replace(RUN, control="no rival"), "5"),
        7: (dataclasses.replace(RUN, source="", seed=3), "6"),
    }
    with Store(tmp_path / "runs.sqlite") as store:
        for run, key in made.values():
            store.add(run, key)
        said = {row["run"]: row["why"] for row in store.prune(entries)}
        assert said == {
            1: "there is a newer run of the same", 3: "its claim is gone", 4: "its claim has changed since",
            6: "its control is gone",
        }  # fmt: skip
        assert sorted(line["run"] for line in store.listing()) == [2, 5, 7]
        assert store.prune(entries) == []


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


@pytest.mark.parametrize("kind", ["text", "foreign database"])
def test_a_file_that_is_not_ours_is_refused_and_stays_as_it_is(tmp_path, kind):
    path = tmp_path / "runs.sqlite"
    if kind == "text":
        path.write_text("my thesis" * 1000)
    else:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE recipes (name TEXT)")
        other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"cannot be opened: (file is not a database|it belongs to another program)"):
        Store(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def filled(path, count=200):
    with Store(path) as store:
        for number in range(count):
            store.add(dataclasses.replace(RUN, seed=number), str(number))
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    return path.read_bytes(), pages


def test_a_damaged_store_is_set_aside_and_what_can_be_read_is_taken_over(tmp_path, capsys):
    path = tmp_path / "runs.sqlite"
    whole, _ = filled(path)
    before = whole[: len(whole) // 2 + 7]
    path.write_bytes(before)
    with Store(path) as store:
        kept = {line["seed"] for line in store.listing()}
        assert len(kept) > 50
        assert store.find(str(min(kept))).seed == min(kept)
        store.add(RUN, "key")
    aside = tmp_path / "runs.sqlite.set-aside-1"
    assert aside.read_bytes() == before
    told = capsys.readouterr().err
    assert f"{path} is damaged" in told
    assert f"set aside as {aside.name}, and the {len(kept)} runs that can be read were taken over" in told
    with Store(path) as store:
        assert len(store.listing()) == len(kept) + 1


def test_a_damaged_page_hides_only_what_it_holds(tmp_path, capsys):
    path = tmp_path / "runs.sqlite"
    whole, pages = filled(path)
    size = len(whole) // pages
    ruined = bytearray(whole)
    for page in (pages // 3, 2 * pages // 3):
        ruined[page * size : page * size + size] = b"\xff" * size
    path.write_bytes(ruined)
    with Store(path) as store:
        assert 180 < len(store.listing()) < 200
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_second_damaged_file_does_not_overwrite_the_first(tmp_path):
    path = tmp_path / "runs.sqlite"
    whole, _ = filled(path, 20)
    for _ in range(2):
        path.write_bytes(whole[: len(whole) // 2 + 7])
        Store(path).close()
    aside = {entry.name for entry in tmp_path.glob("*.set-aside-*")}
    assert aside >= {"runs.sqlite.set-aside-1", "runs.sqlite.set-aside-2"}
    assert not list(tmp_path.glob("*.leases"))


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
