"""The report in a real browser, from the file system: it draws, it fits a phone, it is readable in light and dark."""

import time

import pytest

pytestmark = pytest.mark.browser

PAGES = ["index.html", "errata.html", "subjects/scratch.html", "books/jagannath.html"]
SETTINGS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

LUMINANCE = """
(selector) => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const element = document.querySelector(selector);
  const fill = element instanceof SVGElement ? getComputedStyle(element).fill : getComputedStyle(element).color;
  const [one, two] = [light(rgb(fill)), light(rgb(getComputedStyle(document.body).backgroundColor))];
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
}
"""


@pytest.fixture(params=SETTINGS, ids=lambda setting: f"{setting[1]}-{setting[0]}")
def page(request, browser):
    """A page at this width and colour scheme; whatever it complains of fails the test."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    opened, complaints = context.new_page(), []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("requestfailed", lambda request: complaints.append(f"not found: {request.url}"))
    yield opened
    context.close()
    assert complaints == []


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def until(page, expression, seconds=60):
    """Wait for an expression to become true. (Playwright's own way evaluates texts: the pages' policy forbids it.)"""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


def draw_all(page):
    """Unfold what is folded and wait until every figure is drawn."""
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    charts = page.locator(".chart")
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
        charts.nth(place).locator("svg").first.wait_for(timeout=30_000)
    until(page, "!document.querySelector('.chart:not([data-drawn])')")
    return charts


def test_lists_fit_and_set_mathematics(page, site):
    for name in PAGES:
        page.goto((site / name).as_uri())
        assert fits(page), name
        assert page.evaluate(LUMINANCE, "h1") > 7, name
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert fits(page), name
        box = page.locator("math").first.bounding_box() if page.locator("math").count() else None
        assert box is None or (box["width"] > 3 and box["height"] > 3), name


def test_claims_are_drawn(page, site):
    for path in sorted((site / "claims").glob("*.html")):
        page.goto(path.as_uri())
        charts = draw_all(page)
        assert fits(page), path.name
        for place in range(charts.count()):
            room = charts.nth(place).bounding_box()
            figure = charts.nth(place).locator("svg").first.bounding_box()
            assert 0.75 * room["width"] < figure["width"] <= room["width"] + 1, (path.name, place)
            assert figure["height"] > 20, (path.name, place)
            assert charts.nth(place).locator("svg path, svg line").count() > 0, (path.name, place)
    assert len(list((site / "claims").glob("*.html"))) == 10


def test_mathematics_and_labels_are_readable(page, site):
    page.goto((site / "claims/ridgeless_risk.html").as_uri())
    draw_all(page)
    box = page.locator(".statement math").first.bounding_box()
    assert box["width"] > 20 and box["height"] > 10
    assert page.evaluate(LUMINANCE, ".chart svg .role-axis-label text") > 7
    assert page.evaluate(LUMINANCE, ".statement") > 7 and page.evaluate(LUMINANCE, "figcaption") > 4.5


@pytest.fixture
def plain(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, accept_downloads=True)
    yield context.new_page()
    context.close()


def test_figures_follow_the_colour_scheme_and_the_width(plain, site):
    plain.goto((site / "claims/errors_fall.html").as_uri())
    draw_all(plain)
    colour = "getComputedStyle(document.querySelector('.chart svg .role-axis-label text')).fill"
    light, wide = plain.evaluate(colour), plain.locator(".chart svg").first.bounding_box()["width"]
    plain.emulate_media(color_scheme="dark")
    until(plain, f"{colour} !== '{light}'")
    plain.set_viewport_size({"width": 500, "height": 900})
    until(plain, f"document.querySelector('.chart svg').getBoundingClientRect().width < {wide - 100}")
    plain.wait_for_timeout(300)
    assert fits(plain)


def test_pointing_shows_numbers_and_the_wheel_still_scrolls(plain, site):
    plain.goto((site / "claims/logarithm_below_its_tangent.html").as_uri())
    charts = draw_all(plain)
    charts.first.scroll_into_view_if_needed()
    mark = charts.first.locator("svg g.mark-symbol.role-mark").last.locator("path").first
    mark.hover(force=True)
    plain.wait_for_selector("#vg-tooltip-element.visible")
    assert "larger side" in plain.locator("#vg-tooltip-element").inner_text()
    axis = "document.querySelector('.chart svg .role-axis-label').textContent"
    before, top = plain.evaluate(axis), plain.evaluate("scrollY")
    plain.mouse.wheel(0, 60)
    until(plain, f"scrollY > {top}")
    assert plain.evaluate(axis) == before
    box = charts.first.locator("svg").bounding_box()
    plain.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    plain.keyboard.down("Shift")
    for _ in range(5):
        plain.mouse.wheel(0, -200)
    plain.keyboard.up("Shift")
    until(plain, f"{axis} !== {before!r}")


def test_finding_and_saving(plain, site):
    plain.goto((site / "index.html").as_uri())
    plain.get_by_placeholder("Find by name").fill("thm 7.4")
    shown = plain.locator(".claims tbody tr:visible")
    assert shown.count() == 1 and "Ridgeless risk" in shown.inner_text()
    assert plain.locator(".count").inner_text() == "1 of 10"
    for typed, found in (("7.4 ridgeless", 1), ("7.41", 0), ("rídgeless–risk", 1), ("risk sigma", 1)):
        plain.get_by_placeholder("Find by name").fill(typed)
        assert shown.count() == found, typed
    plain.get_by_placeholder("Find by name").fill("")
    plain.get_by_label("Show verdicts").select_option("verdict:inconclusive")
    assert 0 < shown.count() == plain.locator(".claims tbody tr:visible .verdict.inconclusive").count()
    plain.get_by_label("Show books").select_option("book:lucchi")
    assert 0 < shown.count() < 10
    plain.get_by_label("Show books").select_option("book:jagannath")
    plain.get_by_label("Show verdicts").select_option("verdict:holds")
    plain.get_by_placeholder("Find by name").fill("no such thing")
    assert plain.get_by_text("Nothing matches").is_visible()
    plain.goto((site / "books/jagannath.html").as_uri())
    plain.get_by_label("Show items").select_option("erratum")
    assert 0 < plain.locator(".item:visible").count() == plain.locator(".item:visible details.errata").count()
    plain.goto((site / "books/jagannath.html").as_uri() + "#J7.4")
    assert plain.locator("#J7\\.4 .erratum").first.is_visible()
    plain.goto((site / "claims/draws_itself.html").as_uri())
    draw_all(plain)
    with plain.expect_download() as saved:
        plain.locator("button.save").first.click()
    assert saved.value.suggested_filename == "draws_itself.svg"
    assert "var(--" not in saved.value.path().read_text()  # colours a page without our style sheet has


def test_rivals_are_switched_and_sliders_move(plain, site):
    complaints = []
    plain.on("console", lambda message: complaints.append(message.text))
    plain.on("pageerror", lambda error: complaints.append(str(error)))
    plain.on("request", lambda asked: complaints.extend([asked.url][: not asked.url.startswith(("file:", "data:"))]))
    plain.goto((site / "claims/draws_itself.html").as_uri())
    draw_all(plain)
    picture = plain.locator(".picture .chart")
    legend = "document.querySelector('.picture .chart').textContent"
    assert "as nobody printed" in plain.evaluate(legend)
    plain.get_by_label("Show what is wrong").uncheck()
    plain.wait_for_function(f"!{legend}.includes('as nobody printed')")
    slider = plain.get_by_role("slider", name="power")
    assert slider.input_value() == "1" and plain.locator(".slider output").inner_text() == "2"
    assert plain.locator(".slider .ticks").inner_text().split() == ["1", "2", "3"]
    slider.focus()
    plain.keyboard.press("ArrowRight")
    plain.wait_for_function(f"{legend}.includes('power 3')")
    assert plain.locator(".slider output").inner_text() == "3"
    assert plain.locator(".slider .stop:visible").get_attribute("data-value") == "3"
    assert "as nobody printed" not in plain.evaluate(legend)  # the switch stays where it is
    picture.locator("svg g.mark-symbol.role-mark").last.locator("path").first.hover(force=True)
    plain.wait_for_selector("#vg-tooltip-element.visible")
    assert "width" in plain.locator("#vg-tooltip-element").inner_text()
    assert complaints == []


def test_pictures_stand_in_courses_and_beside_items(page, site):
    for name in ("subjects/kernels.html", "books/jagannath.html"):
        page.goto((site / name).as_uri())
        page.locator(".card img").first.scroll_into_view_if_needed()
        until(page, "document.querySelector('.card img').naturalWidth > 300")
        widths = [page.locator(each).first.bounding_box()["width"] for each in (".card img", ".card:has(img)")]
        assert widths[0] <= widths[1] and fits(page)


def test_figures_are_there_without_a_script(browser, site):
    context = browser.new_context(viewport={"width": 390, "height": 900}, java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((site / "claims/draws_itself.html").as_uri())
    box = page.locator(".picture .chart svg").bounding_box()
    assert 300 < box["width"] <= 390 and box["height"] > 100
    assert not page.locator(".slider").is_visible() and not page.locator(".rivals").is_visible()
    context.close()


def test_figures_keep_what_they_are_and_print_unfolded_on_white(browser, site):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark", offline=True)
    page = context.new_page()
    page.goto((site / "claims/draws_itself.html").as_uri())
    until(page, "!document.querySelector('.chart:not([data-drawn])')")  # folded ones too
    labels = page.evaluate("Array.from(document.querySelectorAll('.chart')).map((c) => c.getAttribute('aria-label'))")
    assert all(labels) and "Squares of the widths" in labels[0]
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    unfolded = "Array.from(document.querySelectorAll('details'), (each) => [!!each.closest('.source'), each.open])"
    assert page.evaluate(unfolded) == [[False, True], [True, False]]
    page.emulate_media(media="print")
    ink = "getComputedStyle(document.querySelector('.chart svg .role-axis-label text')).fill"
    assert page.evaluate(ink) == "rgb(29, 31, 35)"
    # A picture that was moved is printed with what it was moved to, and the code is not printed.
    assert not page.locator(".slider").is_visible()
    page.emulate_media(media="screen")
    page.get_by_role("slider", name="power").press("ArrowRight")
    page.emulate_media(media="print")
    assert (
        page.locator(".slider output").first.is_visible() and page.locator(".slider .stop:not([hidden])").is_visible()
    )
    assert not page.locator(".slider input").first.is_visible() and not page.locator(".source").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(unfolded) == [[False, False], [True, False]]
    context.close()
