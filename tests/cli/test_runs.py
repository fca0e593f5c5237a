"""`runs`, and stores that are none, or damaged."""

import json
import sqlite3

import pytest

QUICK = "dropout_is_a_penalty"


@pytest.mark.parametrize("typed", [("check", QUICK), ("runs", "--repair"), ("report",)], ids=" ".join)
def test_a_file_that_is_no_store_is_refused_and_stays(run, tmp_path, typed):
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes" * 1000)
    done = run(*typed, "--store", "notes.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "deeptheory: the store notes.txt cannot be opened: file is not a database\n"
    assert notes.read_text() == "my notes" * 1000
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [notes]


@pytest.mark.slow
def test_one_damaged_run_stops_nothing_and_the_store_is_tidied_on_request(run, tmp_path):
    assert run("check", "skills").returncode == 0
    listed = json.loads(run("runs", "--json").stdout)
    with sqlite3.connect(run.home / "runs.sqlite") as store:
        store.execute("UPDATE runs SET verdict = 'refuted' WHERE id = 1")
        store.execute(
            "INSERT INTO runs SELECT 99, key, claim, verdict, created, record, blob, checksum FROM runs WHERE id = 2"
        )
    store.close()
    done = run("report", "pages")
    assert done.returncode == 0, done.stderr
    assert f"run 1 in {run.home / 'runs.sqlite'} cannot be read: its checksum does not match" in done.stderr
    assert len(list((tmp_path / "pages" / "claims").iterdir())) >= len(listed) - 1
    done = run("runs", "--repair", "--prune")
    assert "dropped run 1 of" in done.stdout
    assert "dropped run 2 of" in done.stdout
    assert "2 runs dropped" in done.stdout
    assert json.loads(run("runs", "--repair", "--prune", "--json").stdout) == []
    done = run("check", "skills")
    assert done.stderr.count("(stored)") == len(listed) - 1


def test_an_unwritable_store_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("runs", "--store", str(tmp_path / "file" / "runs.sqlite"))
    assert done.returncode == 2
    assert "cannot be opened" in done.stderr
