"""Figures at a given width: on a phone panels stand below each other, and letters keep their size."""

import re

import numpy as np
import pytest

from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row, Surface, Table
from deeptheory.report.fitting import fitted, worded
from deeptheory.report.pictures import painted
from deeptheory.report.stills import NARROW, WIDE, alone, extent, filling

X = np.linspace(0.0, 1.0, 20)
NAMES = ("the value as it was predicted", "the value as it was observed", "a bound on both of them")
CURVES = Curves(
    [Line(name, X, X + place) for place, name in enumerate(NAMES)], x="time", y="share of all that there is"
)


def spec(picture):
    return painted(picture, "").spec


def legend_columns(shown):
    return {layer["encoding"]["color"]["legend"]["columns"] for layer in shown["layer"] if "color" in layer["encoding"]}


def test_panels_side_by_side_stand_below_each_other_where_it_is_narrow():
    pair = spec(Row([CURVES, CURVES]))
    narrow, wide = fitted(pair, 280), fitted(pair, 640)
    assert [panel["width"] for panel in narrow["vconcat"]] == [280, 280] and "hconcat" not in narrow
    assert [panel["width"] for panel in wide["hconcat"]] == [290, 290] and "vconcat" not in wide


def test_legends_have_as_many_columns_as_there_is_room_for():
    assert legend_columns(fitted(spec(CURVES), 280)) == {1}
    assert legend_columns(fitted(spec(CURVES), 640)) == {2}
    assert legend_columns(fitted(spec(CURVES), 2000)) == {7}


def test_legends_may_be_as_wide_as_their_panel():
    named = spec(Curves([Line("a name longer than most, which says all that is to be said", X, X), *CURVES.marks]))
    colour = next(each["encoding"]["color"] for each in fitted(named, 600)["layer"] if "color" in each["encoding"])
    assert colour["legend"]["labelLimit"] >= 600
    shades = spec(Surface(columns=X, rows=X, heights=np.outer(X, X)))["layer"][0]
    assert worded(shades, 110)["encoding"]["opacity"]["legend"]["columns"] == 2


def test_a_plane_keeps_its_proportions():
    plane = spec(Plane([Dots("points", X, X)]))
    narrow = fitted(plane, 250)
    assert narrow["width"] == 250 and narrow["height"] / 250 == pytest.approx(
        plane["height"] / plane["width"], rel=0.01
    )
    assert fitted(plane, 2000)["width"] == plane["width"]  # nothing is made larger than it is


def test_titles_break_and_tables_write_smaller():
    titled = fitted(spec(Curves([Line("a", X, X)], title="a title with more words than a phone has room for")), 200)
    assert len(titled["title"]) > 1 and " ".join(titled["title"]).startswith("a title with more words")
    table = spec(Table({name: [1.0, 2.0] for name in "abcdefgh"}))
    sizes = [layer["mark"]["fontSize"] for layer in fitted(table, 250)["layer"] if layer["mark"].get("lineBreak")]
    assert sizes and max(sizes) == 8.5


@pytest.mark.parametrize("picture", [CURVES, Row([CURVES, CURVES])], ids=["one panel", "a row"])
def test_on_a_phone_letters_are_as_large_as_on_a_page(picture):
    drawn = spec(picture)
    narrow, wide = filling(drawn, "picture", NARROW), filling(drawn, "picture", WIDE)
    assert extent(narrow)[0] <= 1.03 * NARROW and extent(wide)[0] <= 1.03 * WIDE
    sizes = [set(re.findall(r"font-size=\"([\d.]+)px\"", each)) for each in (narrow, wide)]
    assert sizes[0] == sizes[1]
    files = alone(wide, narrow, "two lines", False)
    assert files.narrow.width < files.wide.width and "prefers-color-scheme:dark" in files.narrow.svg
