"""Stored and foreign texts reach a terminal as texts: none of their characters is a command to it."""

import json
import re
from dataclasses import replace

import pytest

from deeptheory.characters import visible
from deeptheory.cli import main
from deeptheory.lab.entries import catalogue
from deeptheory.lab.run import ControlResult, Run
from deeptheory.lab.store import Store

EVIL = "a\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\x08\x08\r\x7f\u202e[bold]b[/bold][link=file:///x]c[/link]"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def stored(tmp_path):
    """A store with one run of a claim, whose every text is evil, and the claim's entry."""
    entry = next(iter(catalogue().claims.values()))
    run = Run(
        claim=entry.name,
        items={item: "refuted" for item in entry.items},
        verdict="refuted",
        reason=EVIL,
        strength=EVIL,
        resolution=None,
        controls=[ControlResult(EVIL, "inconclusive", EVIL)],
        seconds=1.0,
        seed=0,
        parameters={EVIL: EVIL},
        judgements={},
        described={},
        blob=b"",
        source="another",
        platform=EVIL,
    )
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(run, "one")
        store.add(replace(run, control=EVIL), "two")
    return tmp_path / "runs.sqlite", entry, run


def test_pictures_stand_for_controls():
    assert visible("a\x1b[2J\x7f\x9b\u202eb\n\tc") == "a␛[2J␡\ufffd\ufffdb\n\tc"
    assert not COMMANDS.search(visible("".join(map(chr, range(0x11000))))) and len(visible(EVIL)) == len(EVIL)


def test_stored_texts_give_no_commands(stored, capsys):
    path, entry, _ = stored
    for command in ("show", entry.name), ("runs",):
        assert main([*command, "--store", str(path)]) == 0
        found = capsys.readouterr().out
        assert "owned" in found and not COMMANDS.search(found)
        assert "[link=file:///x]" in found.replace("\n", "")  # markup is text too


def test_tables_sentences_and_progress_give_no_commands(stored, capsys):
    from deeptheory.cli.display import progress
    from deeptheory.cli.running import _tell
    from deeptheory.cli.screens import show_calibration
    from deeptheory.lab.checking import Task

    _, entry, run = stored
    _tell([(entry, run), (entry, replace(run, control=EVIL))], [(Task(entry), ValueError(EVIL))])
    show_calibration(
        [
            {
                "claim": EVIL,
                "runs": 1,
                "holds": 0,
                "controls": {},
                "resolution": [None, None],
                "seconds": {"run": 1.0},
                "first": {"import": 1.0, "compile": 1.0},
                "trouble": [EVIL],
            }
        ]
    )
    with progress(1, "checking") as tell:
        tell(EVIL)
    written = capsys.readouterr()
    for text in (written.out, written.err):
        assert "owned" in text and not COMMANDS.search(text)


def test_what_was_typed_comes_back_without_commands(capsys):
    assert main(["show", EVIL]) == 2
    assert main(["check", "--set", EVIL]) == 2
    text = capsys.readouterr().err
    assert "owned" in text and not COMMANDS.search(text)


def test_json_keeps_the_text_and_gives_no_commands(stored, capsys):
    path, entry, _ = stored
    assert main(["show", entry.name, "--json", "--store", str(path)]) == 0
    found = capsys.readouterr().out
    assert not COMMANDS.search(found) and json.loads(found)["last_run"]["reason"] == EVIL
