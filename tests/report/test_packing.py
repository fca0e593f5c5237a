"""Records are packed without loss: the script of a page finds what was there."""

import json

import pytest

from deeptheory.report.packing import changes, packed
from deeptheory.report.wording import embedded

LINE = [{"x": place / 7, "y": place**2, "name": "squares", "part": "0 0"} for place in range(40)]
GRID = [{"x": i, "x2": i + 1, "y": j, "value": i * j / 3} for i in range(12) for j in range(12)]


def unpacked(value):
    """What the script of a page does."""
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: unpacked(each) if name != "values" else each if isinstance(each, list) else records(**each)
        for name, each in value.items()
    }


def records(count, fields, same, each, turns, listed):
    def at(field, place):
        if field in same or field in each:
            return same[field] if field in same else each[field][place]
        if field in turns:
            values, times = turns[field]
            return values[place // times % len(values)]
        values, places = listed[field]
        return values[places[place]]

    return [{field: at(field, place) for field in fields} for place in range(count)]


@pytest.mark.parametrize(
    "values",
    [
        LINE,
        GRID,
        LINE[:2],
        [],
        ["a", "b", "c", "d", "e"],
        [1, 2, 3, 4, 5],
        [{}] * 6,
        [{"x": 1}, {"x": 1, "y": 2}, {"y": 1}, {"x": 0}],
        [{"x": each} for each in (True, 1, 1.0, True, 1, 1.0, True, 1, 1.0, None, None, "1", "1")],
        [{"x": [1, 2]}] * 5,
        [{"x": None}] * 5,
        [{"values": 3, "count": place % 2} for place in range(9)],
        [{"x": each} for each in "aabbaabbab"],
    ],
    ids=lambda values: f"{len(values)} of {json.dumps(values[:1])[:30]}",
)
def test_what_was_packed_is_found_again(values):
    spec = {"layer": [{"data": {"values": values}, "encoding": {"x": {"axis": {"values": [1, 2]}}}}], "height": 3}
    made = unpacked(json.loads(embedded(packed(spec))))
    assert json.dumps(made) == json.dumps(spec)  # also 1, 1.0 and true apart


@pytest.mark.parametrize("values", [LINE, GRID], ids=["a line", "a grid"])
def test_packed_records_are_short(values):
    assert len(json.dumps(packed({"values": values}))) < 0.6 * len(json.dumps({"values": values}))


def test_values_that_take_turns_are_said_once():
    made = packed({"values": GRID})["values"]
    assert made["turns"]["x"] == [list(range(12)), 12] and made["turns"]["y"] == [list(range(12)), 1]
    assert not made["listed"].keys() & {"x", "x2", "y"}


SPEC = {
    "hconcat": [{"layer": [{"data": {"values": GRID}, "title": "left"}, {"mark": "rule"}]}, {"mark": {"type": "line"}}],
    "usermeta": {"grids": {"a1": [[1, 2], [3, 4]]}, "turn": 30},
    "description": "As it stands.",
}


def made_of(spec, found):
    """What the script of a page does with the changes at the stop of a slider."""
    made = json.loads(json.dumps(spec))
    for path, *value in found:
        holder = made
        for name in path[:-1]:
            holder = holder[name]
        if value:
            holder[path[-1]] = value[0]
        else:
            del holder[path[-1]]
    return made


@pytest.mark.parametrize(
    "other",
    [
        SPEC,
        {**SPEC, "description": "As it stands elsewhere."},
        {"description": "All else is gone."},
        {**SPEC, "usermeta": {"grids": {"b2": [[1, 2], [3, 5]]}, "turn": 30.0}},
        {**SPEC, "hconcat": [SPEC["hconcat"][0], {"mark": {"type": "line", "clip": True}}]},
        {**SPEC, "hconcat": [{"layer": [*SPEC["hconcat"][0]["layer"], {"mark": "text"}]}, SPEC["hconcat"][1]]},
        {**SPEC, "hconcat": SPEC["hconcat"][:1]},
        {**SPEC, "usermeta": None},
    ],
)
def test_changes_make_one_specification_of_another(other):
    found = changes(packed(SPEC), packed(other))
    assert json.dumps(made_of(packed(SPEC), found), sort_keys=True) == json.dumps(packed(other), sort_keys=True)


def test_of_a_picture_that_moves_in_one_panel_only_that_panel_is_carried():
    moved = {**SPEC, "hconcat": [SPEC["hconcat"][0], {"mark": {"type": "line", "clip": True}}]}
    assert changes(SPEC, SPEC) == []
    assert changes(SPEC, moved) == [[["hconcat", 1, "mark", "clip"], True]]
