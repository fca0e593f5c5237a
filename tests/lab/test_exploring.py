"""Sliders: which runs they take and in which order, and that they disturb nothing that is judged."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated, Any

from annotated_types import Interval

from deeptheory.lab import Exact, claim, execute
from deeptheory.lab.checking import Task
from deeptheory.lab.exploring import gathered, stops, wanted

Width = Annotated[int, Interval(ge=1, le=64)]


@claim(items={}, says="One is one.", explore={"width": (2, 4, 8), "depth": (3, 5)})
def moved(*, width: Width = 4, depth: Width = 1):
    return Exact(width, width)


@moved.control("one off")
def one_off(evidence):
    return replace(evidence, right=evidence.right + 1)


@dataclass(frozen=True)
class Kept:
    """A store that holds some runs."""

    runs: dict[str, Any]

    def find(self, key):
        return self.runs.get(key)


VALUES = {"width": [2, 4, 8], "depth": [3, 5]}
ENTRY: Any = SimpleNamespace(name="moved", source="now", explore=VALUES, parameters=moved.parameters)
RUN = replace(execute(moved), source="now", seconds=2.0)
CLAIMS = {"moved": ENTRY}


def settings(tasks):
    return [task.settings for task in tasks]


def test_values_come_in_order_and_the_run_itself_is_among_them():
    found = list(stops(ENTRY, RUN))
    assert [(name, value) for name, value, _ in found] == [
        ("width", 2), ("width", 4), ("width", 8), ("depth", 1), ("depth", 3), ("depth", 5),
    ]  # fmt: skip
    assert [value for _, value, task in found if task is None] == [4, 1]


def test_the_cheapest_claims_come_first_and_one_after_the_other():
    slow = SimpleNamespace(**{**vars(ENTRY), "name": "slow"})
    runs = [replace(RUN, claim="slow", seconds=9.0), RUN]
    stored, missing = wanted(runs, {**CLAIMS, "slow": slow}, Kept({}))
    assert stored == {} and [task.entry.name for task in missing] == 4 * ["moved"] + 4 * ["slow"]


def test_what_is_stored_is_not_made_again():
    _, missing = wanted([RUN], CLAIMS, Kept({}))
    kept = {task.key: RUN for task in missing[:3]}
    stored, left = wanted([RUN], CLAIMS, Kept(kept))
    assert stored == kept and settings(left) == settings(missing[3:])


def test_runs_of_another_version_are_not_moved():
    assert wanted([replace(RUN, source="before")], CLAIMS, Kept({})) == ({}, [])


def test_only_whole_sliders_are_shown():
    tasks = [task for _, _, task in stops(ENTRY, RUN) if task]
    found = {task.key: replace(RUN, parameters=task.parameters) for task in tasks if "depth" in task.settings}
    explored = gathered([RUN], CLAIMS, found)
    assert list(explored["moved"]) == ["depth"] and [value for value, _ in explored["moved"]["depth"]] == [1, 3, 5]
    assert explored["moved"]["depth"][0][1] is RUN


def test_a_run_alone_has_no_controls_and_a_key_of_its_own():
    run = execute(moved, settings={"width": 8}, alone=True)
    assert run.verdict == "holds" and run.controls == []
    assert Task(ENTRY, settings={"width": 8}).key != Task(ENTRY, settings={"width": 8}, alone=True).key
