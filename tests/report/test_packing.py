"""Records are packed without loss: the script of a page finds what was there."""

import json

import pytest

from deeptheory.report.packing import packed
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


def records(count, fields, same, each, listed):
    def at(field, place):
        return same[field] if field in same else each[field][place] if field in each else picked(*listed[field], place)

    def picked(values, places, place):
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
    ],
    ids=lambda values: f"{len(values)} of {json.dumps(values[:1])[:30]}",
)
def test_what_was_packed_is_found_again(values):
    spec = {"layer": [{"data": {"values": values}, "encoding": {"x": {"axis": {"values": [1, 2]}}}}], "height": 3}
    made = unpacked(json.loads(embedded(spec)))
    assert json.dumps(made) == json.dumps(spec)  # also 1, 1.0 and true apart


@pytest.mark.parametrize("values", [LINE, GRID], ids=["a line", "a grid"])
def test_packed_records_are_short(values):
    assert len(json.dumps(packed({"values": values}))) < 0.6 * len(json.dumps({"values": values}))
