"""Every picture becomes valid Vega-Lite, whatever its numbers; rivals are told apart, level sets lie on their level."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import vl_convert

from deeptheory.lab import Limit, Rate
from deeptheory.lab.pictures import (
    Curves,
    Dots,
    Field,
    Graph,
    HeatMap,
    Histogram,
    Images,
    Level,
    Line,
    Network,
    Picture,
    Plane,
    Relief,
    Row,
    Stack,
    Surface,
    Table,
    compared,
    power_law,
    seen,
)
from deeptheory.report.drawings import INK, OBSERVED, PREDICTED, RIVAL
from deeptheory.report.drawings.canvas import PAPER
from deeptheory.report.figures import charted, composed
from deeptheory.report.pictures import PAINTERS, painted
from deeptheory.report.pictures.contours import level_sets, straightened
from deeptheory.report.pictures.marks import Ink
from deeptheory.report.pictures.placed import columns, folded
from deeptheory.report.pictures.tables import written
from deeptheory.report.stills import still

X = np.linspace(-1, 1, 8)
GRID = np.meshgrid(X, X)
MARKS = [
    Line("predicted", X, X**2, low=X**2 - 0.1, high=X**2 + 0.1),
    Dots("observed", X, X**2, error=0.1, words=[f"at {x:g}" for x in X]),
    Line("predicted", X, X, rival="as printed"),
    Line("many", X, -X, thin=True, arrow=True),
    Level("edge", x=0.5),
    Level("floor", y=0.1, rival="as printed"),
]
PICTURES = {
    "curves": Curves(MARKS, x="width", y="error", title="A title", log="y"),
    "plane": Plane(MARKS, x="first", y="second"),
    "histogram": Histogram([Line("density", X, X**2)], samples=X, x="value", y="density"),
    "field": Field(MARKS[:1], at_x=GRID[0], at_y=GRID[1], u=-GRID[1], v=GRID[0]),
    "surface": Surface(MARKS[:1], columns=X, rows=X, heights=GRID[0] ** 2 - GRID[1] ** 2, value="loss"),
    "relief": Relief([Dots("low", [0], [0]), Line("way", X, X)], columns=X, rows=X, heights=GRID[0] ** 2, top=0.5),
    "heat map": HeatMap(np.arange(6.0).reshape(2, 3), ["a", "b"], [1, 2, 3], x="x", y="y", middle=2.0),
    "graph": Graph([(0, 0), (1, 0), (0, 1)], [(0, 1), (1, 2)], kinds=list("aab"), edge_kinds=["bridge", "other"]),
    "network": Network([np.ones((20, 3)), -np.ones((1, 20))]),
    "images": Images(np.arange(32.0).reshape(2, 4, 4), labels=["one", "two"]),
    "table": Table({"case": ["a", "b"], "predicted": [1.0, 2.0], "observed": [1.01, 1.9]}, "predicted", "observed"),
}

CURVES = PICTURES["curves"]


def test_every_kind_is_tried():
    assert {type(picture) for picture in PICTURES.values()} == set(PAINTERS)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_valid(name):
    drawn = painted(PICTURES[name], "A caption.")
    assert drawn.caption == "A caption." and len(json.dumps(drawn.spec, allow_nan=False)) < 100_000
    chart = charted(composed({"": drawn})).to_dict()  # Altair validates it
    assert "<path" in (svg := vl_convert.vegalite_to_svg(chart)) or "<text" in svg


def test_pictures_beside_and_below_each_other():
    drawn = painted(Stack([Row([PICTURES["curves"], PICTURES["graph"]]), PICTURES["plane"]]), "Several.")
    assert "hconcat" in drawn.spec["vconcat"][0]
    assert vl_convert.vegalite_to_svg(charted(composed({"": drawn})).to_dict()).count(">A title<") == 1


BAD = np.array([np.nan, np.inf, -np.inf, 1.0])


@pytest.mark.parametrize(
    "picture",
    [
        Curves([Line("a", BAD, BAD, low=BAD, high=BAD), Dots("b", BAD, BAD, error=BAD), seen("c", 1.0, BAD)], log="xy"),
        Curves([Line("a", [], [])]),
        Curves([Dots("a", [], [], error=0.1), Dots("b", [], [], words=[])]),
        Plane([seen("a", [], np.zeros((0, 5)))]),
        Field(at_x=[], at_y=[], u=[], v=[]),
        Surface(columns=[], rows=[], heights=np.zeros((0, 0))),
        Surface(columns=[1.0], rows=[2.0], heights=[[3.0]]),
        Relief(columns=[], rows=[], heights=np.zeros((0, 0))),
        Relief([Dots("a", 1.0, 1.0)], columns=np.arange(4), rows=np.arange(4), heights=np.outer(BAD, BAD), top=0.5),
        Relief(columns=X, rows=X, heights=np.ones((8, 8))),
        HeatMap(np.zeros((0, 0)), rows=[], columns=[]),
        Graph([], []),
        Histogram(samples=BAD),
        Histogram(samples=[]),
        Field(at_x=BAD, at_y=BAD, u=BAD, v=BAD),
        Surface(columns=np.arange(4), rows=np.arange(4), heights=np.outer(BAD, BAD)),
        HeatMap([BAD, BAD], rows=[1, 2], columns=list("abcd"), log=True),
        Network([np.outer(BAD, BAD)]),
        Images([np.outer(BAD, BAD)]),
        Table({"a": BAD, "b": BAD}, "a", "b"),
    ],
    ids=lambda picture: type(picture).__name__,
)
def test_numbers_that_are_not_finite_or_not_there_break_nothing(picture):
    drawn = painted(picture, "A caption.")
    json.dumps(drawn.spec, allow_nan=False)
    assert vl_convert.vegalite_to_svg(composed({"": drawn})).startswith("<svg")


WRONG = {
    "the parts of the mark 'a' must have one length, got 2 x, 3 y": lambda: Dots("a", [1, 2], [1, 2, 3]),
    "the parts of the mark 'a' must have one length, got 2 x, 2 y, 3 low": lambda: Line("a", X[:2], X[:2], low=X[:3]),
    "a level stands at one value of x or of y, got x = None": lambda: Level("edge"),
    "log must be x, y or xy, got 'z'": lambda: Curves(log="z"),
    "xs must go from the least to the greatest value shown, got (2, 1)": lambda: Plane(xs=(2, 1)),
    "ys must go from .* and be above zero on a logarithmic axis, got (0, 1)": lambda: Curves(log="y", ys=(0, 1)),
    "values must have a row and a column for each label, (1, 3), got (1, 2)": lambda: HeatMap([[1, 2]], [1], "abc"),
    "kinds must be given for all 2 nodes or for none, got 1": lambda: Graph([(0, 0), (1, 1)], [], kinds="a"),
    "edge_kinds must be given for all 0 edges or for none, got 1": lambda: Graph([(0, 0)], [], edge_kinds="a"),
    "an edge joins two of the nodes 0 to 0, got (0, 3)": lambda: Graph([(0, 0)], [(0, 3)]),
    "a network must have at least one matrix of weights, got none": lambda: Network([]),
    "names must be given for all 2 layers or for none, got 3": lambda: Network([X[:1, None]], names="abc"),
    "images must have the shape (count, height, width), got (2, 0, 0)": lambda: Images(np.zeros((2, 0, 0))),
    "the columns of a table must have one length": lambda: Table({"a": [1], "b": [1, 2]}),
    "a graph has colours for 3 kinds of edges, got 4: a, b, c, d": lambda: painted(
        Graph(GRID[0][:5, :2], [(0, 1), (1, 2), (2, 3), (3, 4)], edge_kinds="abcd"), ""
    ),
    "a graph has colours for 6 kinds of nodes, got 7": lambda: painted(Graph(GRID[0][:7, :2], [], kinds="abcdefg"), ""),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_parts_that_do_not_belong_together_are_refused(sentence):
    """Some of these were drawn before, without what did not fit."""
    with pytest.raises(ValueError, match=re.escape(sentence).replace(r"\.\*", ".*")):
        WRONG[sentence]()


def test_panels_with_equal_axes_keep_their_own_marks():
    """Vega draws layers of one name from one table: those of the last panel would stand in all."""
    row = Row([Curves([Line("a", [0, 1], [0, 1]), Dots("b", [0.5], [y])], xs=(0, 1), ys=(0, 1)) for y in (0.2, 0.8)])
    spec = painted(row, "").spec
    names = [layer["name"] for panel in spec["hconcat"] for layer in panel["layer"] if "name" in layer]
    assert len(set(names)) == len(names) == len({param["name"] for param in spec["params"]}) == 2


def test_what_is_left_out_is_counted():
    assert painted(Curves([Dots("seen", [1, 2, 3], [1, np.nan, np.inf])]), "Dots.").caption == (
        "Dots. 2 values are not drawn: not finite, or off a logarithmic axis."
    )


def test_a_line_is_broken_where_it_is_not_finite():
    spec = painted(Curves([Line("pole", [1, 2, 3, 4, 5], [1, 2, np.nan, 4, 5])]), "A pole.").spec
    parts = [record["part"] for record in spec["layer"][0]["data"]["values"]]
    assert len(parts) == 4 and len(set(parts)) == 2 and parts[0] == parts[1] != parts[2] == parts[3]


def test_rivals_are_marked_and_have_their_own_colour():
    drawn = painted(PICTURES["curves"], "Rivals.")
    rivals = [layer for layer in drawn.spec["layer"] if layer.get("name", "").startswith("rival_")]
    assert drawn.spec["usermeta"]["rivals"] == ["floor, as printed", "predicted, as printed"]
    assert {record["name"] for layer in rivals for record in layer["data"]["values"]} == set(
        drawn.spec["usermeta"]["rivals"]
    )
    ink = Ink.of(MARKS)
    assert ink.colours["predicted, as printed"] == RIVAL and ink.colours["observed"] == OBSERVED
    assert Ink.of(MARKS[:3]).colours["predicted"] == PREDICTED
    assert Ink.of([Line("a", X, X), Line("b", X, -X)]).lines  # strokes in the legend
    assert not Ink.of([Line("a", X, X), Line("b", X, -X), Dots("", X, X, rival="wrong")]).lines
    two = Ink.of([Line("", X, X, rival="one"), Line("", X, -X, rival="other")]).colours
    assert len(set(two.values())) == 2


def test_level_sets_lie_on_the_level():
    x, y = np.linspace(-2, 2, 81), np.linspace(-2, 2, 61)
    points = level_sets(x, y, np.add.outer(y**2, x**2), [1.0])
    assert {point["path"] for point in points} == {0}  # one closed path
    assert np.hypot([p["x"] for p in points], [p["y"] for p in points]) == pytest.approx(1.0, abs=2e-3)
    assert (points[0]["x"], points[0]["y"]) == (points[-1]["x"], points[-1]["y"])


def test_a_histogram_has_its_area():
    samples = np.random.default_rng(0).standard_normal(500)
    bars = painted(Histogram(samples=samples, area=0.25), "Area.").spec["layer"][0]["data"]["values"]
    assert sum(bar["y"] * (bar["x2"] - bar["x"]) for bar in bars) == pytest.approx(0.25)


def test_what_is_not_a_picture_is_refused():
    with pytest.raises(TypeError, match="not of Picture"):
        painted(Picture(), "Nothing.")


def test_means_have_two_standard_errors():
    dots = seen("observed", [1.0], [[1.0, 3.0]])
    assert dots.y == [2.0] and dots.error == pytest.approx(2 * np.sqrt(2) / np.sqrt(2))


def words_of_a_level(spec):
    """How the words of the only level of a picture are set."""
    (found,) = [each for each in layers_of(spec) if "said_" in each.get("name", "")]
    return found["mark"]


def layers_of(spec):
    return [spec] + [layer for each in spec.get("layer", []) for layer in layers_of(each)]


@pytest.mark.parametrize(("height", "log", "side"), [(1.0, "", "top"), (0.5, "", "bottom"), (1.0, "y", "top")])
def test_words_of_a_level_stay_inside_the_panel(height, log, side):
    rising = Line("predicted", [0.0, 1.0], [0.01, 1.0])
    spec = painted(Curves([rising, Level("all of it", y=height)], log=log), "").spec
    assert words_of_a_level(spec)["baseline"] == side
    above = painted(Curves([rising, Level("all of it", y=height)], log=log, ys=(0.01, 2.0)), "").spec
    assert words_of_a_level(above)["baseline"] == "bottom"


def test_long_words_of_a_table_are_folded_in_the_middle():
    assert folded("short") == "short" and folded("S with its noise negated") == "S with its\nnoise negated"
    assert folded("x" * 30) == "x" * 30 and folded("neurons in one layer", 8) == "neurons\nin one\nlayer"
    spec = painted(PICTURES["table"], "").spec
    heads = [each["said"] for each in layers_of(spec)[1]["data"]["values"]]
    assert heads == ["case", "predicted", "observed", "difference"]


def test_heads_of_a_table_end_on_one_line():
    heads = painted(Table({"error": [1.0], "neurons in one layer": [2]}), "").spec["layer"][0]
    assert [each["said"].count("\n") for each in heads["data"]["values"]] == [0, 0]
    narrow = painted(Row([Table({"error": [1.0], "neurons in one layer": [2], "c": [1]}), CURVES]), "").spec
    heads = narrow["hconcat"][0]["layer"][0]
    tall = {each["said"].count("\n") for each in heads["data"]["values"]}
    assert len(tall) == 1 and heads["mark"]["dy"] == -15 * tall.pop() < 0


@pytest.mark.parametrize(
    ("heights", "place"), [((0.0, 0.0, 0.0), ("left", "top")), ((0.0, 1.0, 0.9), ("left", "bottom"))]
)
def test_words_of_a_level_stand_where_nothing_is_drawn(heights, place):
    """Beside a line that stands: at its top, or at its foot where a curve runs along the top."""
    curve = Line("predicted", [0.0, 0.5, 1.0], heights)
    set_as = words_of_a_level(painted(Curves([curve, Level("a pole", x=0.45)], ys=(-0.1, 1.0)), "").spec)
    assert (set_as["align"], set_as["baseline"]) == place


def test_words_of_a_level_avoid_dots_at_its_end():
    """What runs along the level itself is in nobody's way."""
    dots = Dots("observed", [0.0, 0.9, 1.0], [1.0, 0.53, 0.53])
    level = words_of_a_level(painted(Curves([dots, Level("limit", y=0.5)], ys=(0, 1)), "").spec)
    assert (level["align"], level["baseline"]) == ("right", "top")
    settled = Line("settled", [0.0, 1.0], [0.501, 0.499])
    level = words_of_a_level(painted(Curves([settled, Level("limit", y=0.5)], ys=(0, 1)), "").spec)
    assert (level["align"], level["baseline"]) == ("right", "bottom")


def test_words_of_levels_that_stand_close_are_not_over_each_other():
    """The second has its words at the other end of its line than the first."""
    close = [Level("a level with long words", x=at) for at in (0.1, 0.13)]
    spec = painted(Curves(close, xs=(0, 1), ys=(0, 1)), "").spec
    first, second = (each["mark"] for each in layers_of(spec) if "said_" in each.get("name", ""))
    assert first["baseline"] != second["baseline"]


def test_words_of_a_level_are_not_across_another():
    """Above the lower of two levels there is no room between them, but below there is."""
    levels = [Level("lower", y=0.5), Level("upper", y=0.55)]
    spec = painted(Curves(levels, xs=(0, 1), ys=(0, 1)), "").spec
    lower, upper = (each["mark"] for each in layers_of(spec) if "said_" in each.get("name", ""))
    assert (lower["baseline"], upper["baseline"]) == ("top", "bottom")


def test_few_dots_stay_large_beside_many():
    many = Dots("random", np.arange(300.0), np.arange(300.0))
    spec = painted(Curves([many, Dots("found", [1.0, 2.0], [3.0, 4.0])]), "").spec
    sizes = {
        each["data"]["values"][0]["name"]: each["mark"]["size"]
        for each in layers_of(spec)
        if each.get("mark", {}).get("opacity") == 1
    }
    assert sizes["found"] > sizes["random"]


def test_powers_and_indices_are_small_characters():
    spec = painted(
        Curves([Line("(1 − μ/L)^k", X, X), Line("", X, -X, rival="e^(−2T)")], x="step k", y="f(x_k)"), ""
    ).spec
    assert spec["usermeta"]["rivals"] == ["e⁻²ᵀ"]
    assert spec["layer"][0]["encoding"]["y"]["axis"]["title"] == "f(xₖ)"
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["(1 − μ/L)ᵏ", "e⁻²ᵀ"]


def test_numbers_of_a_table_are_written_as_people_do():
    assert written(-1.5e-5) == "−1.5·10⁻⁵" and written(12000.0) == "12,000"
    assert written(6_575_370) == "6,575,370"


@pytest.mark.parametrize(
    ("count", "wide", "narrow"), [(1, 1, 1), (4, 4, 4), (6, 6, 3), (7, 4, 4), (9, 3, 3), (16, 4, 4)]
)
def test_images_fill_their_rows(count, wide, narrow):
    assert columns(count, 580) == wide and columns(count, 290) == narrow
    assert columns(4, 193) == 2 and columns(count, 10) == 1


def test_images_shrink_with_their_panel_and_labels_keep_apart():
    picture = Images(np.zeros((3, 2, 2)), labels=["image", "edges that lie", "edges that stand"])
    alone, beside = painted(picture, "").spec, painted(Row([picture, CURVES, CURVES]), "").spec["hconcat"][0]
    for spec in (alone, beside):
        image, label = spec["layer"]
        assert "width" not in image["mark"] and {"x", "x2", "y", "y2"} < set(image["encoding"])
        for record in label["data"]["values"]:
            assert 7 * max(map(len, record["label"].split("\n"))) <= record["x2"] - record["x"] + 11
    assert beside["width"] < 200 < alone["width"]


def test_long_names_of_nodes_stand_beside_them():
    def words(labels):
        spec = painted(Graph([(0, 0), (1, 0)], [(0, 1)], kinds="ab", labels=labels), "").spec
        return spec["layer"][-1]

    assert words(["1", "2"])["mark"]["color"] == PAPER
    beside = words(["a: 1/2", "b: 1/3"])
    assert beside["mark"]["align"] == "left" and beside["name"].startswith("said_")  # lines pass behind, with a halo


def test_numbers_of_a_heat_map_are_read_on_every_shade():
    spec = painted(HeatMap([[0.0, 0.5, 1.0]], ["a"], [1, 2, 3]), "").spec
    chosen = spec["layer"][1]["encoding"]["color"]
    least = float(chosen["condition"]["test"].split(">")[1])
    assert chosen["value"] == INK and chosen["condition"]["value"] == PAPER and 0.5 < least < 1
    crowded = painted(Row([HeatMap([[0.123] * 9] * 3, "abc", range(9)), CURVES]), "").spec["hconcat"][0]
    assert len(crowded["layer"]) == 1  # numbers would be over each other; a legend says what the shades mean
    assert crowded["layer"][0]["encoding"]["opacity"]["legend"]


def test_of_two_lines_of_a_name_one_may_be_dashed():
    def dashes(*marks):
        spec = painted(Curves(marks), "").spec
        lines = [each for each in spec["layer"] if each["mark"]["type"] == "line"]
        shown = [each["encoding"].get("strokeDash", {}).get("scale", {}).get("range") for each in lines]
        return [each["mark"].get("strokeDash") for each in lines], shown, len(lines)

    whole, broken = Line("a", X, X), Line("a", X, X**2, dashed=True)
    assert dashes(whole, broken) == ([None, [6, 4]], [[[1, 0]], None], 2)
    assert dashes(broken) == ([None], [[[6, 4]]], 1)  # the legend shows the dashes where all have them
    assert dashes(whole, broken, Dots("b", X, X))[0] == [[1, 0], [6, 4]]
    way = [Line("b", X, X, dashed=True), whole, Line("c", X, X, dashed=True), Dots("d", X, X)]
    assert dashes(*way)[0] == [[6, 4], [1, 0], [6, 4]]  # in the order given, for one may lie on another


def test_words_of_a_level_avoid_bars():
    def side(heights):
        samples = np.repeat(np.arange(10.0), heights)
        spec = painted(Histogram([Level("here", x=4.5)], samples=samples, bins=10), "").spec
        return words_of_a_level(spec)["align"]

    assert side([1] * 5 + [9] * 5) == "right" and side([9] * 5 + [1] * 5) == "left"


def test_edges_that_recede_are_not_in_the_legend():
    triangle = [(0, 1), (1, 2), (2, 0)]
    picture = Graph([(0, 0), (1, 0), (0, 1)], triangle, kinds=list("aab"), edge_kinds=["bridge", "other", "other"])
    assert painted(picture, "").spec["layer"][0]["encoding"]["color"]["legend"]["values"] == ["bridge", "a", "b"]
    picture = replace(picture, edge_kinds=["", "other", "other"])  # what has no kind recedes before what is frequent
    assert painted(picture, "").spec["layer"][0]["encoding"]["color"]["legend"]["values"] == ["other", "a", "b"]


def test_what_is_compared_is_a_line_dots_and_rivals():
    places, trials = np.array([1.0, 4.0]), np.array([[1.0, 1.0], [2.0, 2.0]])
    picture = compared(
        places, np.sqrt, trials, Level("one", y=1.0), rivals={"half": np.sqrt(places) / 2}, x="n", log="x"
    )
    truth, observed, wrong, level = picture.marks
    assert np.allclose(truth.y, np.sqrt(truth.x)) and (truth.x[0], truth.x[-1]) == (1.0, pytest.approx(4.0))
    assert list(observed.y) == [1.0, 2.0] and list(observed.error) == [0.0, 0.0]  # means over trials
    assert list(wrong.x) == [1.0, 4.0] and list(wrong.y) == [0.5, 1.0] and wrong.rival == "half"
    assert level.y == 1.0 and picture.log == "x"
    assert painted(picture, "").spec["usermeta"]["rivals"] == ["half"]
    assert isinstance(compared(places, places, places).marks[1], Dots)
    assert compared(places, np.sqrt, places, xs=(0.25, 9.0)).marks[0].x[0] == 0.25  # over the whole panel


@pytest.mark.parametrize(
    "evidence",
    [Rate([1.0, 2.0, 4.0], [8.0, 2.0, 0.5], exponent=-2.0), Limit([1.0, 2.0, 4.0], [8.0, 2.0, 0.5], order=2.0)],
)
def test_a_power_law_goes_through_the_first_value(evidence):
    dots, line, wrong = power_law("error", evidence, rivals={-1.0: "1/n"})
    assert list(line.y) == list(dots.y) == [8.0, 2.0, 0.5]
    assert list(wrong.y) == [8.0, 4.0, 2.0] and wrong.rival == "1/n"
    assert power_law("error", Rate([1.0, 2.0], [[7.0, 9.0], [4.0, 4.0]], exponent=-1.0))[1].y[0] == 8.0


def test_cells_of_a_surface_are_few_paths_and_level_sets_have_few_points():
    x = np.linspace(-1, 1, 30)
    plane = Surface(columns=x, rows=x, heights=np.add.outer(x, x), value="height")
    drawn = still(painted(plane, "").spec, "plane")
    assert drawn.count("<path") < 200 and drawn.count("h") > 900  # 900 cells in fewer shades than a hundred
    corner = straightened([(0.0, 0.0), (1.0, 0.001), (2.0, 0.0), (3.0, 0.0), (3.0, 2.0), (3.0, 5.0)])
    assert corner.tolist() == [[0, 0], [3, 0], [3, 5]]
    circle = [(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 400)]
    kept = straightened(10 * np.array(circle))
    assert 20 < len(kept) < 120 and abs(np.hypot(*kept.T) - 10).max() < 1e-9


def test_a_layer_without_marks_is_not_read_out():
    """The switch takes rivals away, so that a layer of nothing comes after them."""
    last = painted(Curves([Dots("", [1, 2], [3, 4], rival="wrong")], x="x", y="y"), "").spec["layer"][-1]
    assert last["mark"]["aria"] is False and last["data"]["values"] == []
