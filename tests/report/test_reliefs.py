"""Surfaces that can be turned: what hides what, what a page carries, and how it moves under keys and pointer."""

import numpy as np
import pytest

import deeptheory.books as books
from deeptheory.lab import Identity, claim
from deeptheory.lab.entries import Catalogue
from deeptheory.lab.pictures import Dots, Line, Relief, Row, Stack, Surface
from deeptheory.lab.records import Ledger, recorded, statuses
from deeptheory.report import write
from deeptheory.report.pictures import painted
from deeptheory.report.pictures.reliefs import RISE, in_space, seen
from deeptheory.report.stills import still

from .conftest import entry
from .test_accessibility import axe  # noqa: F401 - a fixture
from .test_browser import SETTINGS, draw_all, fits, until

GRID = np.linspace(-1, 1, 12)
HILL = np.exp(-4 * (GRID[:, None] ** 2 + GRID**2))


def hill(top=None, marks=()):
    return Relief(marks, columns=GRID, rows=GRID, heights=HILL, top=top, x="first way", y="second way", value="height")


def records(spec, part):
    (found,) = [each["data"]["values"] for each in spec["layer"] if each["name"].startswith(f"relief_{part}_")]
    return found


def test_faces_come_from_the_farthest_to_the_nearest():
    """At no turn the way into the picture is b; at a quarter turn it is a."""
    parts = {"floor": [], "lines": [], "dots": [], "words": [], "faces": records(painted(hill(), "").spec, "faces")}
    for turn, way in ((0, "b"), (90, "a"), (180, "b"), (-90, "a")):
        found = seen(parts, turn=turn, tilt=30)["faces"]
        distances = [np.mean([each[way] for each in found if each["face"] == face]) for face in range(121)]
        assert np.all(np.diff(distances) * (1 if turn in (180, -90) else -1) >= -1e-9)


def test_places_on_paper_by_hand():
    point = {"a": 0.5, "b": -0.25, "c": 0.2}
    empty = {"faces": [], "floor": [], "words": [], "dots": []}
    flat, side = (seen({**empty, "lines": [point]}, turn=0, tilt=tilt)["lines"][0] for tilt in (90, 0))
    assert (flat["x"], flat["y"]) == (0.5, -0.25) and (side["x"], side["y"]) == (0.5, 0.2)
    quarter = seen({**empty, "lines": [point]}, turn=90, tilt=90)["lines"][0]
    assert (quarter["x"], quarter["y"]) == (0.25, 0.5)


def test_what_lies_behind_the_hill_is_pale_and_words_stand_on_the_near_sides():
    spec = painted(hill(marks=[Dots("foot", [0, 0, 0], [0.8, -0.8, 0])]), "").spec
    parts = {part: records(spec, part) for part in ("floor", "faces", "dots", "words")} | {"lines": []}
    assert [each["opacity"] for each in seen(parts, turn=0, tilt=10)["dots"]] == [0.3, 1.0, 1.0]
    assert [each["opacity"] for each in seen(parts, turn=180, tilt=10)["dots"]] == [1.0, 0.3, 1.0]
    assert [each["opacity"] for each in seen(parts, turn=0, tilt=80)["dots"]] == [1.0, 1.0, 1.0]
    for turn in (-120, 30, 75, 170):
        assert all(each["y"] < -0.2 for each in seen(parts, turn=turn, tilt=50)["words"])


def test_a_relief_is_cut_off_where_it_says():
    """The plane z = x over −1 … 1, cut at ½: faces end there, and what is kept fills the height."""
    ramp = Relief(columns=GRID, rows=GRID, heights=np.tile(GRID, (12, 1)), top=0.5)
    corners = records(painted(ramp, "").spec, "faces")
    assert max(each["a"] for each in corners) == 0.5 and max(each["c"] for each in corners) == RISE
    assert min(each["c"] for each in corners) == -RISE
    whole = records(painted(hill(), "").spec, "faces")
    assert len(whole) == 4 * 121 and len(records(painted(hill(top=0.5), "").spec, "faces")) < len(whole)


def test_a_page_carries_the_grid_and_not_the_faces():
    spec = painted(Row([hill(), Surface(columns=GRID, rows=GRID, heights=HILL)]), "").spec
    assert set(spec["usermeta"]) == {"grids", "turn", "tilt"} and "usermeta" not in spec["hconcat"][0]
    light = in_space(spec)["hconcat"]
    assert records(light[0], "faces") == [] and all("x" not in each for each in records(light[0], "floor"))
    assert light[1] == spec["hconcat"][1] and records(spec["hconcat"][0], "faces")
    svg = still(spec, "it")
    assert svg.count('fill="var(--relief-') == 121 and len(svg) < 60_000


@pytest.mark.parametrize("wrong", [dict(log="x"), dict(xs=(0, 1)), dict(marks=[Line("", [0], [0], rival="no")])])
def test_what_has_no_meaning_in_space_is_refused(wrong):
    with pytest.raises(ValueError, match="relief"):
        Relief(columns=GRID, rows=GRID, heights=HILL, **wrong)


@claim(items={"A11.28": ""}, says="A hill is a hill.")
def a_hill(key):
    return Identity(HILL, HILL.T)


@a_hill.picture
def in_space_and_flat():
    """A hill in space (above) and from above (below)."""
    dots = [Dots("foot", [0], [0.8])]
    flat = Surface(dots, columns=GRID, rows=GRID, heights=HILL, x="first way", y="second way")
    return Row([Stack([hill(marks=dots), flat]), Stack([hill(top=0.5), flat])])


@pytest.fixture(scope="module")
def page_of_a_hill(tmp_path_factory):
    run = a_hill.check()
    catalogue = Catalogue("scratch", {a_hill.name: entry(a_hill)})
    stands = statuses(books.items(), catalogue, Ledger({a_hill.name: recorded(run)}, {}, {}))
    folder = tmp_path_factory.mktemp("hill") / "pages"
    write(folder, [run], catalogue=catalogue, books=books, statuses=stands)
    return (folder / "claims/a_hill.html").as_uri()


PATHS = "Array.from(document.querySelectorAll('[class*=relief_faces_] path[fill]'), (each) => each.getAttribute"
FACES, SHADES = f"{PATHS}('d')).join()", f"{PATHS}('fill'))"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SETTINGS)
def test_keys_and_pointer_turn_it(browser, page_of_a_hill, axe, width, scheme):  # noqa: F811
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, accept_downloads=True
    )
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(page_of_a_hill)
    draw_all(page)
    page.evaluate(f"window.first = {FACES}")
    # The script makes the same faces of the grid, in the same shades, as were drawn without it.
    drawn = [
        f"var(--relief-{each['shade'] + 1})"
        for relief in (hill(), hill(top=0.5))
        for each in records(painted(relief, "").spec, "faces")
        if each["place"] == 0
    ]
    assert sorted(page.evaluate(SHADES)) == sorted(drawn)
    turn, tilt = (page.get_by_role("slider", name=name) for name in ("Turn", "Tilt"))
    turn.focus()
    page.keyboard.press("ArrowRight")
    until(page, f"{FACES} !== window.first")
    assert turn.input_value() == "35" and turn.get_attribute("aria-valuetext") == "35 degrees"
    page.evaluate(f"window.turned = {FACES}")
    face = page.locator("[class*=relief_faces_] path[fill]").nth(60)
    face.scroll_into_view_if_needed()
    box = face.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] - 20, steps=3)
    page.mouse.up()
    until(page, f"{FACES} !== window.turned")
    assert int(turn.input_value()) > 35 and int(tilt.input_value()) < 50 and fits(page)
    with page.expect_download() as saved:
        page.locator("button.save").first.click()
    # What is saved is what is seen.
    corner = page.evaluate(FACES).split(",")[0].removeprefix("M")
    assert f"M{float(corner):.4g}" in saved.value.path().read_text()
    assert complaints == []  # before axe: it asks for style sheets, which the policy refuses
    found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["help"]) for each in found] == []
    context.close()


@pytest.mark.browser
@pytest.mark.slow
def test_it_stands_still_without_a_script(browser, page_of_a_hill):
    context = browser.new_context(viewport={"width": 390, "height": 900}, java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(page_of_a_hill)
    assert page.locator(".picture .chart svg").bounding_box()["height"] > 100
    assert page.locator('.picture path[fill^="var(--relief-"]').count() > 150
    assert not page.locator(".turning").is_visible()
    context.close()
