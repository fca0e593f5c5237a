"""No stored text becomes markup, on pages, on cards or in figures; and pages carry a policy that would stop it."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import deeptheory.books as books
from deeptheory.lab.entries import Catalogue
from deeptheory.report import assembly, notebook, run_html, write
from deeptheory.report.league import league_html, league_page
from deeptheory.report.mathml import formula, typeset
from deeptheory.report.notebook import runs_html
from deeptheory.report.security import PLACE
from deeptheory.report.wording import sentence, spoken

from .conftest import entry
from .hostile import COUNTEREXAMPLE, EVERY, PAYLOADS, hostile, hostile_league, hostile_run
from .test_browser import draw_all

SET = {"code", "sup", "sub", "span", "wbr"} | {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "msup", "msub", "mover", "mfrac",
}  # fmt: skip
CARD = SET | {
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "b",
    "svg",
    "g",
    "path",
    "rect",
    "line",
    "text",
    "style",
}
CARD |= {"tspan", "defs", "clippath", "title", "lineargradient", "stop"}


PAGES = [book.page for book in books.books() if book.page]


class Tags(HTMLParser):
    """Every element and attribute of a text, and the text between them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.said = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.said.append(data)


def inert(text, allowed):
    """Parse a text, and see that none of its elements or attributes acts."""
    page = Tags(text)
    for tag, attributes in page.found:
        assert tag in allowed, tag
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in ("srcdoc", "action", "formaction", "autofocus"), name
            assert not re.match(r"\s*(javascript|data|vbscript):", value or "") or value == "data:,", value
    return page


def letters(text):
    return re.sub(r"[^a-z]", "", text.lower())


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("written", [typeset, spoken, sentence])
def test_texts_and_formulas_are_inert(payload, written):
    page = inert(written(f"before {payload} after"), SET)
    assert "pwned" in letters("".join(page.said)) or "pwned" not in payload or "\\" in payload
    assert {name for _, found in page.found for name in found}.isdisjoint({"href", "src", "class", "id", "xlink:href"})
    assert all(found.get("style") in (None, "white-space:nowrap") for _, found in page.found)


def test_formulas_keep_their_words_and_lose_their_links():
    assert "".join(Tags(formula(r"\text{a < b & c}")).said).split() == ["a", "<", "b", "&", "c"]
    assert "press" in letters("".join(Tags(formula(r"\href{javascript:x}{press}")).said))
    assert "href" not in formula(r"\href{https://example.invalid}{x}")


@pytest.fixture(scope="module")
def run():
    return hostile_run()


@pytest.fixture(scope="module")
def cards(run):
    """A card and a table of runs, and the card of a league."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(notebook, "drawing_of", lambda claim: None)
        patched.setattr(notebook, "PIECES", 10)
        return run_html(run), runs_html([run]), league_html(hostile_league())


@pytest.fixture(scope="module")
def hostile_shelf(small):
    catalogue = Catalogue("hostile", {"hostile": replace(entry(hostile), subject="scratch")})
    return {**small, "catalogue": catalogue, "counterexamples": {"hostile": [COUNTEREXAMPLE]}}


@pytest.fixture(scope="module")
def hostile_site(run, hostile_shelf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    league_page(hostile_league(), folder / "league.html")
    return write(folder / "pages", [run], **hostile_shelf).parent


@pytest.mark.slow
def test_cards_are_inert(cards):
    for card in cards:
        page = inert(card, CARD)
        assert not any({"href", "xlink:href", "src"} & set(found) for _, found in page.found)
        assert "pwned" in "".join(page.said)


def policy_of(text):
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert found and found.start() < min(text.find(sign) for sign in ("<link", "<style", "<script") if sign in text)
    return dict(part.strip().split(" ", 1) for part in html.unescape(found[1]).split(";"))


def test_pages_are_inert_and_carry_a_policy(hostile_site):
    nonces = set()
    for path in hostile_site.rglob("*.html"):
        text = path.read_text("utf-8")
        policy, page = policy_of(text), Tags(text)
        nonce = policy["script-src"][len("'nonce-") : -1]
        assert re.fullmatch(r"[0-9a-f]{32}", nonce) and PLACE not in text
        nonces.add(nonce)
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert "unsafe" not in policy["script-src"] + policy["style-src-elem"]
        for tag, found in page.found:
            assert not any(name.startswith("on") for name in found), found
            assert tag not in ("iframe", "base", "form", "object", "embed", "style"), tag
            # Figures are there as drawings: of SVG nothing that links, moves or holds other documents.
            assert tag not in ("foreignobject", "use", "image", "animate", "set"), tag
            if tag == "script":
                assert (found.get("nonce") == nonce and re.fullmatch(r"(\.\./)?(page|vega)\.js", found["src"])) or (
                    found["type"] == "application/json" and set(found) <= {"type", "class", "id"}
                )
            if tag == "img":
                assert re.fullmatch(r"\.\./pictures/\w+\.svg", found["src"]), found
            if tag == "source":
                assert re.fullmatch(r"\.\./pictures/\w+\.narrow\.svg", found["srcset"]), found
            if "href" in found and tag != "link" and found.get("rel") == "noreferrer":
                assert found["href"] in PAGES and path.parent.name == "books"
            elif "href" in found and tag != "link":
                assert re.fullmatch(r"(\.\./)?[\w/]*(\.html)?(#[\w.-]+)?", found["href"]), found["href"]
    assert len(nonces) > 3  # each page has its own


def test_figures_keep_their_words(hostile_site):
    text = (hostile_site / "claims/hostile.html").read_text("utf-8")
    specs = [json.loads(found) for found in re.findall(r'class="spec">(.*?)</script>', text, re.DOTALL)]
    assert len(specs) >= 3 and all(EVERY in spec["description"] for spec in specs)
    assert "window.pwned=1" in "".join(Tags(text).said)


def test_the_page_of_a_league_is_inert_and_carries_a_policy(hostile_site):
    text = (hostile_site.parent / "league.html").read_text("utf-8")
    policy = policy_of(text)
    assert policy["script-src"] == "'none'" and policy["style-src-elem"].startswith("'sha256-")
    page = inert(text, CARD | {"html", "head", "meta", "link", "body", "main", "h1", "h2", "p", "ul", "li"})
    assert sum(tag == "style" for tag, _ in page.found) == 1


@pytest.mark.parametrize("name", ["../../escape", "javascript:window.pwned=1//", 'x" onclick="window.pwned=1', ""])
def test_a_run_whose_name_is_no_name_is_left_out(runs, small, tmp_path, name):
    said = []
    bad = replace(runs["chances"], claim=name)
    index = write(tmp_path / "in" / "pages", [bad, runs["sums_agree"]], **small, lament=said.append)
    assert len(said) == 1 and repr(name) in said[0] and "left out" in said[0]
    assert {path.name for path in tmp_path.rglob("*.html")} & {"escape.html"} == set()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["pages"]
    assert "pwned" not in index.read_text("utf-8")
    assert [path.name for path in (index.parent / "claims").iterdir()] == ["sums_agree.html"]


DAMAGES = {
    "no numbers": {"blob": b""},
    "other numbers": {"blob": b"PK\x03\x04 not an archive"},
    "a verdict that there is not": {"verdict": "perhaps"},
    "a piece that was not judged": {"judgements": {}},
    "a time that is no number": {"seconds": "long"},
    "items that are a list": {"items": ["A5.2"]},
    "a kind of evidence that there is not": {"described": {"chance": {"kind": "Oracle"}}},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_left_out_with_a_sentence(runs, small, tmp_path, damage):
    said = []
    damaged = replace(runs["chances"], **DAMAGES[damage])
    index = write(tmp_path / "pages", [damaged, runs["sums_agree"]], **small, lament=said.append)
    assert len(said) == 1 and said[0].startswith("the run of 'chances' cannot be shown and is left out: ")
    assert [path.name for path in (index.parent / "claims").iterdir()] == ["sums_agree.html"]
    assert "chances" not in index.read_text("utf-8")
    with pytest.raises(ValueError, match="no run can be shown; that of 'chances'"):
        write(tmp_path / "alone", [damaged], **small)
    assert not (tmp_path / "alone").exists()


def test_a_damaged_run_is_told_of_without_being_asked(runs, small, tmp_path):
    damaged = replace(runs["chances"], blob=b"")
    with pytest.warns(UserWarning, match="'chances' cannot be shown"):
        assembly.write(tmp_path / "pages", [damaged, runs["sums_agree"]], **small)


@pytest.mark.slow
def test_no_character_among_its_labels_ends_the_process_that_draws(run, monkeypatch):
    monkeypatch.setattr(notebook, "drawing_of", lambda claim: None)
    characters = "".join(map(chr, [*range(1, 32), *range(127, 160), 0x2028, 0x202E, 0xD800, 0xFFFE, 0xFFFF]))
    named = {f"a{characters}b": run.judgements[PAYLOADS[0]]}
    described = {name: run.described[PAYLOADS[0]] for name in (*named, "other")}
    card = run_html(replace(run, described=described, judgements=named))
    assert "<svg" in card and "a␁␂" in card


# In a browser --------------------------------------------------------------------------------------------------------


@pytest.fixture
def watched(browser):
    """A page, and what came alive on it: dialogs, pages it opened, addresses it went to, complaints of its policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    opened, alive = context.new_page(), []
    opened.on("dialog", lambda dialog: (alive.append(f"dialog {dialog.message}"), dialog.dismiss()))
    opened.on("popup", lambda popup: alive.append(f"popup {popup.url}"))
    opened.on("console", lambda message: alive.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: alive.append(str(error)))
    opened.on("requestfailed", lambda request: alive.append(f"asked for {request.url}"))
    yield opened, alive
    context.close()


def poke(page):
    """Do what a reader does: unfold, point at everything, press what is no link; links lead to files."""
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for kind in ("mouseover", "mousemove", "focus", "pointerover", "auxclick", "toggle"):
        page.evaluate(
            """(kind) => { for (const each of document.querySelectorAll('main *, body > *')) {
              const { left, top, width, height } = each.getBoundingClientRect();
              const at = { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 };
              each.dispatchEvent(new MouseEvent(kind, at));
            } }""",
            kind,
        )
    page.evaluate(
        """() => { for (const each of document.querySelectorAll('math *, code, .said *, td *, svg *')) {
          if (!each.closest("a")) each.dispatchEvent(new MouseEvent('click', { bubbles: true }));
        } }"""
    )
    assert page.evaluate("Array.from(document.links).every((each) => each.protocol === 'file:')")
    page.wait_for_timeout(200)


@pytest.mark.browser
def test_nothing_comes_alive_on_pages_and_figures_are_drawn(watched, hostile_site):
    page, alive = watched
    for name in ("index.html", "subjects/scratch.html", "claims/hostile.html", "books/jagannath.html", "errata.html"):
        page.goto((hostile_site / name).as_uri())
        charts = draw_all(page)
        poke(page)
        assert page.evaluate("window.pwned") is None, name
        assert page.url == (hostile_site / name).as_uri()
        assert alive == [], name
        if name.startswith("claims/"):
            assert charts.count() >= 3 and page.locator(".chart svg path").count() > 20
            assert "window.pwned=1" in page.locator("main").inner_text()
            shown = page.locator("#vg-tooltip-element")
            for mark in page.locator(".chart svg g.mark-symbol.role-mark path").all()[:8]:
                mark.hover(force=True)
                page.wait_for_timeout(30)
            assert shown.count() == 1 and shown.locator("script, [onerror], [onfocus], [onload]").count() == 0
            assert page.evaluate("window.pwned") is None
            alive.clear()  # a tooltip with a field called image asks for that address, and the policy says no


@pytest.mark.browser
def test_nothing_comes_alive_on_cards_which_have_no_policy(watched, cards, hostile_site, tmp_path):
    page, alive = watched
    for place, card in enumerate([*cards, (hostile_site.parent / "league.html").read_text("utf-8")]):
        without = re.sub("<meta http-equiv[^>]*>", "", card)
        (tmp_path / f"{place}.html").write_text(f'<!doctype html><meta charset="utf-8">{without}')
        page.goto((tmp_path / f"{place}.html").as_uri())
        poke(page)
        assert page.evaluate("window.pwned") is None and alive == [], place


@pytest.mark.browser
@pytest.mark.parametrize("name", ["pages/claims/chances.html", "pages/index.html", "league.html"])
def test_the_policy_stops_what_would_get_through(watched, runs, small, hostile_site, tmp_path, name):
    """Markup put on the page from outside, as if the escaping had failed."""
    write(tmp_path / "pages", [runs["chances"]], **small)
    league_page(hostile_league(), tmp_path / "league.html")
    (tmp_path / "evil.js").write_text("window.pwned = 1;")
    page, alive = watched
    path = tmp_path / name
    text = path.read_text("utf-8")
    evil = "<img src=x onerror=window.pwned=1><svg onload=window.pwned=1></svg><script>window.pwned=1</script>"
    evil += f'<script src="{(tmp_path / "evil.js").as_uri()}"></script><script src="{"../" * name.count("/")}evil.js">'
    evil += "</script><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>"
    evil += "<base href='/'><style>h1 { color: red }</style>"
    evil += (
        "<a id=link href='javascript:window.pwned=1'>press</a><form id=form action='javascript:window.pwned=1'></form>"
    )
    path.write_text(text.replace('<main id="main"', f'{evil}<main id="main"', 1))
    page.goto(path.as_uri())
    page.evaluate("document.getElementById('link').click(); document.getElementById('form').submit()")
    page.evaluate("setTimeout('window.pwned=1')")
    page.wait_for_timeout(500)
    assert page.evaluate("window.pwned") is None
    assert len([each for each in alive if "Content Security Policy" in each]) >= 5
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") != "rgb(255, 0, 0)"
