"""Every kind of evidence has a figure that is valid Vega-Lite, small, and says what the evidence says."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from deeptheory.lab import Chance, Distribution, Evidence, Exact, Identity, Inequality, Law, Share
from deeptheory.lab.entries import claims_in
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.report import figure, figures
from deeptheory.report.drawings import canvas
from deeptheory.report.drawings.values import axes, rows, spread, thin
from deeptheory.report.figures import DEFAULTS, default, drawn
from deeptheory.report.pictures import painted
from deeptheory.report.stills import still

pytestmark = pytest.mark.slow


def marks(spec, kind):
    """All layers of a kind of mark, wherever they are."""
    found = []
    for part in spec.get("vconcat", [spec]):
        found += [{"data": part.get("data"), **layer} for layer in part["layer"] if layer["mark"]["type"] == kind]
    return found


def points(spec):
    return sum(len(part["data"]["values"]) for part in spec.get("vconcat", [spec]))


def test_every_kind_has_a_figure():
    own = {name for name, kind in Evidence.kinds.items() if kind.__module__.startswith("deeptheory.lab.evidence")}
    assert {name for name in own if not name.startswith("_")} == set(DEFAULTS)


def test_the_runs_have_every_kind(runs):
    assert {piece["kind"] for run in runs.values() for piece in run.described.values()} == set(DEFAULTS)


def test_figures_are_valid_and_small(runs):
    for run in runs.values():
        for name, each in drawn(run).items():
            assert each.caption.endswith("."), (run.claim, name)
            text = json.dumps(each.spec, allow_nan=False)
            assert len(text) < 120_000, (run.claim, name)
            assert points(each.spec) < 2000, (run.claim, name)
            figures.charted(figures.composed({name: each})).to_dict()  # Altair validates it


def test_the_figure_of_a_run_has_all_its_pieces(runs, monkeypatch):
    monkeypatch.setattr(figures, "drawing_of", lambda claim: None)
    for run in runs.values():
        chart = figure(run).to_dict()
        titles = {part.get("title") for part in chart.get("vconcat", [])}
        assert len(run.described) < 2 or titles >= set(run.described)


def test_a_drawing_of_the_claim_replaces_the_default(runs):
    def drawing(pieces):
        """One point."""
        return Curves([Dots("count", [1.0], [len(pieces)])], x="x", y="pieces")

    chart = figure(runs["ridgeless_risk"], drawing).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["point"]
    assert chart["config"]["background"] == "transparent"


def test_the_claim_is_looked_up_lazily(runs, monkeypatch):
    import deeptheory.lab.entries as shelf

    calls = []

    empty = shelf.Catalogue("", {})
    monkeypatch.setattr(shelf, "catalogue", lambda: calls.append(1) or empty)
    assert figures.drawing_of("no_such_claim") is None and calls == [1]


def test_intervals_are_those_of_the_verdict(key):
    observed = np.random.default_rng(1).normal(2.0, 0.1, (3, 200))
    piece = Law(np.full(3, 2.0), observed, along={"width": np.asarray([8, 16, 32])}, exact=True)
    middle, width, _ = piece.estimate(1e-6)
    records = default(piece, 1e-6).spec["vconcat"][0]["data"]["values"]
    assert [r["observed"] for r in records] == pytest.approx(middle)
    assert [r["high"] - r["observed"] for r in records] == pytest.approx(width, rel=1e-5)
    assert [r["most"] for r in records] == pytest.approx([2.1] * 3)
    assert [r["place"] for r in records] == [8, 16, 32]


def test_extremes_survive_thinning():
    quantity = np.full(50_000, 0.5)
    quantity[31_337], quantity[12_345] = 0.99, 1e-9
    spec = default(Inequality(quantity, np.linspace(1.0, 100.0, 50_000))).spec
    shown = [record["quantity"] for record in spec["data"]["values"]]
    assert len(shown) < 1000 and 0.99 in shown and 1e-9 in shown
    ring = next(layer for layer in spec["layer"] if layer["mark"].get("size") == 170)["data"]["values"]
    assert ring[0]["quantity"] == 0.5  # tightest relative to its bound, which is smallest at the first instance


@pytest.mark.parametrize("bound", [0.0, np.linspace(-1.0, 1.0, 50), np.geomspace(1e-20, 1.0, 50)])
def test_only_violations_lie_in_the_shaded_region(bound):
    error = np.linspace(0.1, 0.2, 50)[::-1]
    beyond = np.linspace(-1.0, 0.9, 50) * error
    piece = Inequality(bound + beyond, np.broadcast_to(bound, 50), error=error)
    assert piece.judge().verdict != "refuted"
    for moved, inside in ((piece, 0), (Inequality(bound + beyond + 0.05, piece.bound, error=error), None)):
        drawn = default(moved)
        region = marks(drawn.spec, "area")[0]["data"]["values"]
        shown = drawn.spec["data"]["values"]
        edge = np.interp([at["place"] for at in shown], *([at[name] for at in region] for name in ("place", "beyond")))
        found = sum(at["shown"] > height + 1e-9 for at, height in zip(shown, edge, strict=True))
        violated = np.sum(np.asarray(moved.quantity) > np.asarray(moved.bound) + error)
        assert found == (violated if inside is None else 0)
        assert "grey strip" in drawn.caption and len(marks(drawn.spec, "area")) == 2


def test_probability_zero_is_no_number_of_the_axis():
    quantity = np.asarray([-1.0, -2.0, NEVER, -3.0])
    drawn = default(Inequality(quantity, np.asarray([-0.5, -1.0, -1.5, -2.0]), log=True))
    assert min(record["quantity"] for record in drawn.spec["data"]["values"]) == -3.0
    assert drawn.caption.endswith("Not drawn: 1 instance of probability zero.")


@pytest.mark.parametrize(("points", "along", "kind"), [(4, "gamma", "tick"), (12, "gamma", "line"), (12, "", "tick")])
def test_a_line_joins_predictions_only_along_a_curve(points, along, kind):
    gammas = np.linspace(0.1, 2.0, points)
    predicted = 1 / np.abs(1 - gammas)
    observed = np.random.default_rng(0).normal(predicted[:, None], 0.1, (points, 20))
    spec = default(Law(predicted, observed, along={along: gammas} if along else {}, exact=True)).spec["vconcat"][0]
    assert [layer["mark"]["type"] for layer in spec["layer"]][1] == kind


def test_axes_of_probabilities_end_with_them():
    for piece in (Chance([1, 30], 2000, np.asarray([0.001, 0.9])), Share(np.asarray([5, 1990]), 2000, 0.5)):
        low, high = default(piece).spec["vconcat"][0]["layer"][-1]["encoding"]["x"]["scale"]["domain"]
        assert 0 <= low < high <= 1


def test_labels_tell_neighbours_apart():
    near = canvas.labels("", {"domain": [1.07911, 1.07919]})
    assert near["format"] == ",~f"  # Vega gives it the digits its steps need
    assert canvas.tens(1e4) == "10,000" and canvas.tens(2e-7) == "2·10⁻⁷" and canvas.tens(1e12) == "10¹²"
    assert "10⁻⁹" in canvas.labels("", {"domain": [0.0, 3e-9]})["labelExpr"]
    short = canvas.scale([5.0, 5.0 + 1e-13])["domain"]
    assert short == [4.5, 5.5]
    for low, high in ((0.45, 0.7), (3.0, 11.0), (90.0, 130.0), (30.4, 134.0), (0.15, 0.55), (1e-9, 1.0)):
        inside = [value for value in canvas.round_numbers((low, high)) if low <= value <= high]
        assert 3 <= len(inside) <= 7, (low, high, inside)


def test_a_gap_of_nothing_is_labelled_as_at_most():
    gaps = default(Identity(np.ones(5), np.ones(5))).spec["vconcat"][-1]["layer"][-1]["encoding"]["y"]["axis"]
    assert '"\\u2264 0.0001"' in gaps["labelExpr"]


def test_enumerations_of_few_values_are_told():
    told = default(Exact(np.arange(40) % 2, np.arange(40) % 2)).lines
    assert told == ("0: 20 times in both", "1: 20 times in both")
    assert default(Exact([3], [4])).lines == ("3  ≠  4",)


def test_series_have_colours_of_their_own():
    assert not {canvas.OBSERVED, canvas.PREDICTED, canvas.RIVAL} & set(canvas.SERIES)
    assert len(set(canvas.THEME["range"]["category"])) == 8


def test_axes_are_named_after_the_piece_and_the_parameter(runs):
    run = replace(runs["errors_fall"], parameters={"widths": [8, 16, 32, 64, 128]})
    top, below = drawn(run)["rate"].spec["vconcat"]
    assert top["layer"][-1]["encoding"]["y"]["axis"]["title"] == "rate"
    assert below["layer"][-1]["encoding"]["x"]["axis"]["title"] == "width"


def test_every_own_drawing_says_what_it_shows():
    own = [claim for claim in claims_in() if claim.drawing is not None]
    assert len(own) >= 24
    for claim in own:
        assert (claim.drawing.__doc__ or "").strip().endswith("."), claim.name


def test_a_violation_lies_in_the_shaded_region():
    spec = default(Inequality(np.asarray([3.0, 1.0]), np.asarray([2.0, 2.5]))).spec
    region = marks(spec, "area")[0]["data"]["values"]
    for at in region:
        assert at["edge"] == pytest.approx(at["place"])  # the edge of the region is quantity = bound
    assert max(at["most"] for at in region) >= 3.0


def test_chance_is_drawn_against_its_promise():
    spec = default(Chance(60, 2000, 0.05), 1e-6).spec
    (record,) = spec["data"]["values"]
    assert record["observed"] == 0.03 and record["predicted"] == 0.05 and record["most"] == pytest.approx(0.1)


def test_distribution_has_the_band_of_the_verdict():
    ranks = np.random.default_rng(0).random(1000)
    spec = default(Distribution(ranks), 1e-6).spec
    band = marks(spec, "area")[0]["data"]["values"]
    assert band[0]["most"] == pytest.approx(np.sqrt(np.log(2e6) / 2000))


def test_panels_do_not_share_a_view(runs):
    params = [param for each in drawn(runs["ridgeless_risk"]).values() for param in each.spec["params"]]
    views = [view for param in params for view in param["views"]]
    assert len(views) == len(set(views)) == len({param["name"] for param in params}) > 3


def test_figures_survive_altair(runs):
    """What Altair makes of a figure still compiles: selections of layers are easily doubled on the way."""
    import vl_convert

    for name in ("logarithm_below_its_tangent", "errors_fall"):
        for each in drawn(runs[name]).values():
            assert vl_convert.vegalite_to_svg(figures.charted(figures.composed({"": each})).to_dict()).startswith(
                "<svg"
            )


def test_equal_runs_give_equal_figures(runs):
    run = runs["chances"]
    assert json.dumps([each.spec for each in drawn(run).values()]) == json.dumps(
        [each.spec for each in drawn(run).values()]
    )


def test_axes_are_labelled_in_order():
    first, second = axes((2, 3), {"rows": np.asarray(["a", "b"]), "gamma": np.asarray([0.1, 1.0, 10.0])})
    assert (first.name, first.numeric) == ("rows", False) and (second.name, second.numeric, second.log) == (
        "γ",
        True,
        True,
    )
    (unnamed,) = axes((4,), {"wrong": np.arange(3)})
    assert unnamed.name == "entry" and list(unnamed.labels) == [1, 2, 3, 4]


def test_rows_leave_out_what_is_not_finite():
    assert rows(x=np.asarray([1.0, np.nan, np.inf]), word="a") == [{"x": 1.0, "word": "a"}]
    assert rows(n=np.arange(2)) == [{"n": 0}, {"n": 1}]


def test_thin_keeps_ends():
    key = np.sin(np.arange(10_000.0))
    kept = thin(10_000, key, keep=50)
    assert len(kept) <= 50 and np.argmax(key) in kept and np.argmin(key) in kept and 0 in kept and 9999 in kept
    assert not spread([0.0, 1.0, 1e6]) and spread([1.0, 31.0])


def test_every_round_number_of_a_logarithmic_axis_is_labelled():
    """Vega leaves out every other one of more values than the ticks it is asked for."""
    axis = canvas.labels("x", {"type": "log", "domain": [0.09, 6.5]})
    assert axis["tickCount"] >= len(axis["values"])


@pytest.mark.parametrize(("ends", "labelled"), [((0.5, 2.5), [1, 2]), ((0.0, 5.0), [0, 1, 2, 3, 4, 5])])
def test_between_whole_numbers_nothing_is_labelled(ends, labelled):
    assert canvas.labels("number", {"domain": list(ends)}, whole=True)["values"] == labelled
    assert canvas.labels("number", {"domain": [0.0, 90.0]}, whole=True)["tickMinStep"] == 1


def test_dots_of_a_still_are_one_path_and_its_font_is_named_once():
    x = np.linspace(0, 1, 50)
    picture = painted(Curves([Dots("one", x, x), Dots("other", x, 1 - x), Line("line", x, x)], x="x", y="y"), "").spec
    svg = still(picture, "some")
    (one, other) = (
        found for found in re.findall(r'<path d="([^"]+)"[^>]*stroke-linecap="round"', svg) if "h.01" in found
    )
    assert one.count("M") == other.count("M") == 50
    heights = [float(y) for y in re.findall(r"M[\d.]+,([\d.]+)h", one)]
    assert heights == sorted(heights, reverse=True) and heights[0] - heights[-1] > 200  # from the foot to the top
    assert svg.count("font-family") == 1 and svg.index("font-family") < svg.index(">")
