"""`report`, and the folders it does not write into."""

import sqlite3
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from deeptheory.cli import main
from deeptheory.lab.entries import catalogue

QUICK = "dropout_is_a_penalty"


@pytest.mark.parametrize("laments", [[], ["the picture of x cannot be drawn"]], ids=["all shown", "one not shown"])
def test_the_report_says_by_its_status_whether_all_could_be_shown(monkeypatch, capsys, tmp_path, laments):
    from deeptheory.cli import running
    from deeptheory.report import assembly

    def write(folder, runs, *, lament, **_):
        for sentence in laments:
            lament(sentence)
        return folder / "index.html"

    entry = catalogue().claims[QUICK]
    kept = SimpleNamespace(latest=lambda claims: {QUICK: SimpleNamespace(source=entry.source)})
    monkeypatch.setattr(running, "stored", lambda path: nullcontext(kept))
    monkeypatch.setattr(running, "_explored", lambda *_: {})
    monkeypatch.setattr(assembly, "write", write)
    assert main(["report", str(tmp_path / "pages")]) == len(laments)
    said = capsys.readouterr()
    assert said.out.strip().endswith("index.html") and all(sentence in said.err for sentence in laments)


@pytest.mark.slow
def test_the_report_says_which_sliders_there_was_no_time_for(run, tmp_path):
    moved = "threshold_staircases"  # has several stops, of which a hundredth of a second makes one at most
    assert run("check", moved).returncode == 0
    pages = str(tmp_path / "pages")
    assert "1 page without all sliders: 0.01 s were too few" in run("report", pages, "--explore", "0.01").stderr
    assert "sliders" not in run("report", pages, "--explore", "0").stderr


@pytest.mark.slow
def test_the_report_refuses_a_folder_that_is_not_its_own(run, tmp_path):
    assert run("check", QUICK).returncode == 0
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.tex").write_text("…")
    done = run("report", str(precious))
    assert done.returncode == 2
    assert [entry.name for entry in precious.iterdir()] == ["chapter1.tex"]
    assert "by an earlier version" not in run("show", QUICK).stdout
    with sqlite3.connect(run.home / "runs.sqlite") as store:
        store.execute(
            "UPDATE runs SET checksum = NULL, record = json_remove(json_set(record, '$.source', 'older'), '$.version')"
        )
    store.close()
    assert "last run by an earlier version of this claim: holds" in run("show", QUICK).stdout
    done = run("report", str(tmp_path / "pages"))
    assert done.returncode == 0
    assert "1 of 1 runs are older than their claim" in done.stderr
    assert (tmp_path / "pages" / "index.html").exists()
