"""What axe-core finds on the pages: contrast, text alternatives, names of controls, order of headings."""

import pytest

from .conftest import unavailable
from .test_browser import draw_all

pytestmark = pytest.mark.browser

PAGES = ["index", "errata", "subjects/kernels", "books/handbook", "claims/draws_itself", "claims/ridgeless_risk"]
PAGES += ["claims/sums_agree"]  # a formula wider than a phone is scrolled by keys too
SETTINGS = [(1280, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def axe():
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        unavailable("axe-playwright-python is not installed")
    return Axe()


@pytest.fixture(params=SETTINGS, ids=lambda setting: f"{setting[1]}-{setting[0]}")
def page(request, browser):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(page, site, axe, name):
    page.goto((site / f"{name}.html").as_uri())
    draw_all(page)
    # A book has hundreds of items made alike: the first ones stand for all.
    page.evaluate("Array.from(document.querySelectorAll('.item, .contents li')).slice(12).forEach((e) => e.remove())")
    found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["help"], [node["html"][:200] for node in each["nodes"]][:3]) for each in found] == []
