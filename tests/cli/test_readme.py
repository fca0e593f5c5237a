"""The commands of the README do what it says."""

import re
import shlex
from pathlib import Path

import pytest


def readme_commands():
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    return [shlex.split(typed)[1:] for typed in re.findall(r"`(deeptheory [^`]*)`", text)]


def test_the_commands_of_the_readme_name_what_exists():
    """Those that run for long are not run; whether they would be refused is seen without."""
    from deeptheory.cli import attacking, authoring, lookup, running, sweeping
    from deeptheory.cli.grids import axis
    from deeptheory.finding import find
    from deeptheory.names import entries, only

    assert attacking.app is authoring.app is lookup.app is running.app is sweeping.app
    known = {each.name or each.callback.__name__ for each in running.app.registered_commands}
    seen = set()
    for command, *words in readme_commands():
        seen.add(command)
        assert command in known
        what = [word for word in words if not word.startswith("--")][:1]
        if command in ("sweep", "calibrate", "new") and what in (["CLAIM"], ["my_claim"]):
            assert command != "sweep" or axis(words[-1], only("double_descent").parameters)
        elif command == "find":
            assert find(" ".join(words))
        elif what and command != "report":
            assert entries(what)
    assert {"check", "show", "falsify", "sweep", "report", "coverage"} <= seen


@pytest.mark.slow
def test_the_readmes_first_lesson_works_when_pasted(run):
    """`check` with the settings and the control of its row."""
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    row = next(line for line in text.splitlines() if "see a theorem happen" in line)
    check, setting, control = (shlex.split(typed) for typed in re.findall(r"`([^`]*)`", row))
    for added in (setting, control):
        done = run(*check[1:], *added)
        assert done.returncode == 0, done.stdout + done.stderr
