"""A report is a whole folder: every page is there, every link leads somewhere, nothing foreign is ever overwritten."""

import json
import re
import tempfile
import xml.etree.ElementTree as tree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import deeptheory.books as books
from deeptheory.formulas import clipped
from deeptheory.lab.entries import catalogue
from deeptheory.report import assembly, run_html, write
from deeptheory.report.folder import MARKER
from deeptheory.report.highlight import highlighted
from deeptheory.report.mathml import typeset
from deeptheory.report.wording import findable, heading, placed, seconds, sentence, spoken, stated

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """The links, anchors and text of a page; complains of tags that do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.anchors, self.open, self.text, self.scripts = [], set(), [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.links += [found[name] for name in ("href", "src", "srcset") if found.get(name)]
        if "id" in found:
            assert found["id"] not in self.anchors, found["id"]
            self.anchors.add(found["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag
        if tag in ("dt", "dd", "li", "p", "td"):
            self.text.append(" ")

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.text).append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


@pytest.fixture(scope="module")
def parsed(site):
    return {path.relative_to(site): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_all_pages_are_there(site, runs, parsed):
    expected = {"index.html", "errata.html", "subjects/scratch.html", "subjects/kernels.html", "subjects/other.html"}
    expected |= {f"books/{book.id}.html" for book in books.books()}
    expected |= {f"claims/{name}.html" for name in [*runs, "no_longer_there"]}
    assert {str(path) for path in parsed} == expected
    assert {path.name for path in site.iterdir() if path.is_file()} == {
        "index.html", "errata.html", "style.css", "page.js", "vega.js", MARKER,
    }  # fmt: skip


def test_every_link_resolves_inside_the_folder(site, parsed):
    for path, page in parsed.items():
        for link in page.links:
            if link.startswith("data:"):
                continue
            if link in [book.page for book in books.books() if book.page == link != "" and path.stem == book.id]:
                continue  # a link that a reader may follow, to where the book itself is
            assert not re.match(r"[a-z]+:|//", link), (path, link)  # nothing from the network
            target, _, anchor = link.partition("#")
            file = (site / path.parent / unquote(target)).resolve() if target else site / path
            assert file.is_file() and site.resolve() in file.resolve().parents, (path, link)
            if anchor:
                assert anchor in parsed[file.relative_to(site.resolve())].anchors, (path, link)


def test_a_claim_page_says_everything(parsed):
    said = parsed[Path("claims/ridgeless_risk.html")].words
    for expected in (
        "Jagannath, Thm 7.4", "Handbook,", "Ridgeless risk", "Needs", "printed with n = 10,000", "holds", "holds to",
        "would have been noticed", "variance γ/(γ−1) <as printed>", "as printed: Jagannath, ", "refuted", "As printed",
        "How it was judged", "from deeptheory.spectra.entries import draw_entries",
        "Corrected", "Seed 0", "quick", "compile", "trials 256", "jax", "0123456789abcdef",
        "deeptheory check ridgeless_risk", "def ridgeless_risk(key):",
    ):  # fmt: skip
        assert expected in said, expected


def test_other_pages_say_what_they_should(parsed):
    assert "log 2 exceeds 1/e (in rationals)" in parsed[Path("claims/logarithm_below_its_tangent.html")].words
    assert "no longer in the catalogue" in parsed[Path("claims/no_longer_there.html")].words
    assert "a hypothesis that never holds" in parsed[Path("claims/nothing_to_say.html")].words
    index = parsed[Path("index.html")].words
    assert "10 claims in this report" in index or "claims in this report 10" in index
    assert "Ridgeless risk" in index and "1,008" in index
    book = parsed[Path("books/jagannath.html")]
    assert "refuted as printed" in book.words and {item.id for item in books.books()[3].items} <= book.anchors


def test_figures_are_embedded_as_json(parsed):
    for path, page in parsed.items():
        if path.parent.name == "claims":
            for text in page.scripts:
                if text.strip():
                    json.loads(text)
    own = [json.loads(text) for text in parsed[Path("claims/draws_itself.html")].scripts if text.strip()]
    assert any(spec.get("usermeta") == {"rivals": ["squares, as nobody printed"]} for spec in own)


def test_a_page_teaches(parsed):
    said = parsed[Path("claims/draws_itself.html")].words
    first = ["A claim that draws", "every control", "Picture", "Symbols", "is true Because", "What to notice The"]
    places = [said.find(each) for each in (*first, "Controls Rival", "How it was judged", "as code")]
    assert -1 not in places and places == sorted(places)


def test_a_page_shows_its_figures_without_a_script(site):
    for path in (site / "claims").glob("*.html"):
        text = path.read_text()
        assert text.count('class="chart"') == text.count("<svg"), path.name
        assert "currentColor" not in text and "#0072B2" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)


def test_pictures_are_files_with_the_colours_of_both_schemes(site):
    text = (site / "pictures/draws_itself.svg").read_text()
    picture = tree.fromstring(text)
    width, height = int(picture.get("width")), int(picture.get("height"))
    assert picture.get("viewBox") == f"-12 0 {width} {height}" and width > 600
    (style,) = re.findall("<style>(.*?)</style>", text)
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    for scheme in style.split("prefers-color-scheme:dark"):
        assert used <= set(re.findall(r"--([\w-]+):#", scheme)), scheme
    assert "<script" not in text and not re.search(r"\sopacity=\"0\"", text)  # nothing that is only pointed at
    for page in ("subjects/kernels.html", "books/jagannath.html"):
        shown = re.search(r"<img [^>]*pictures/draws_itself\.svg[^>]*>", (site / page).read_text("utf-8"))
        assert shown and f'width="{width}" height="{height}"' in shown[0] and 'alt="Draws itself' in shown[0]


def test_a_claim_is_shown_once_in_a_book_and_named_elsewhere(site):
    text = (site / "books/jagannath.html").read_text("utf-8")
    cards = re.findall(r'<article class="card">.*?claims/(\w+)\.html', text, re.DOTALL)
    assert "draws_itself" in cards and len(cards) == len(set(cards))


def test_a_long_statement_is_cut_between_sentences():
    first, second = "A sentence with $x. y$ inside. ", "Another one; and a third. "
    assert stated(first + second) == (first + second, "")
    assert stated(first + second * 20, most=70) == (f"{first}{second}Another one; …", "and a third. " + 18 * second)
    assert stated(first + second * 20, most=60)[0] == (first + second).strip()
    assert stated("x" * 400) == ("x" * 400, "")


def test_palette_has_a_colour_in_light_and_in_dark(site):
    style = (site / "style.css").read_text()
    light, dark = style.split("prefers-color-scheme: dark", 1)
    for name in assembly.PALETTE.values():
        assert f"--{name}:" in light and f"--{name}:" in dark, name


def test_vega_is_one_classic_script(site):
    text = (site / "vega.js").read_text()
    assert text.startswith("(function") and "window.vegaEmbed" in text
    assert not re.search(r"^\s*(import|export) ", text, re.MULTILINE)


def test_a_report_replaces_an_earlier_one(runs, small, tmp_path):
    folder = tmp_path / "new" / "pages"
    index = write(folder, [runs["sums_agree"]], **small)
    assert index == folder / "index.html" and (folder / "claims/sums_agree.html").exists()
    (folder / "left over").write_text("x")
    write(folder, [runs["chances"]], **small)
    assert not (folder / "left over").exists() and not (folder / "claims/sums_agree.html").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["pages"]  # nothing temporary is left


def test_no_run_at_all(small, tmp_path):
    index = write(tmp_path / "empty", [], **small)
    assert "No claim has been run yet" in index.read_text("utf-8")


def test_equal_runs_give_equal_pages(site, runs, shelf, tmp_path):
    index = write(tmp_path / "again", [runs["chances"]], **shelf)
    name = "claims/chances.html"
    other = r"(?s)<nav class=\"near\".*?</nav>|\bnonce(-|=\")[0-9a-f]{32}"  # its neighbours, and so its digest
    assert re.sub(other, "", (index.parent / name).read_text()) == re.sub(other, "", (site / name).read_text())
    again = write(tmp_path / "third", [runs["chances"]], **shelf).parent
    assert (again / name).read_text() == (index.parent / name).read_text()


def test_foreign_folders_are_refused(runs, small, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        write(tmp_path, [runs["chances"]], **small)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ValueError, match="is a file"):
        write(tmp_path / "thesis.tex", [runs["chances"]], **small)
    with pytest.raises(ValueError, match="cannot be"):
        write(tmp_path / "thesis.tex" / "below", [runs["chances"]], **small)


def test_an_unwritable_place_is_named(runs, small, tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(ValueError, match=r"pages cannot be written to: Permission denied"):
        write(tmp_path / "pages", [runs["chances"]], **small)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_there(runs, small, tmp_path, monkeypatch):
    folder = tmp_path / "pages"
    write(folder, [runs["chances"]], **small)
    before = sorted(path.name for path in folder.rglob("*"))
    monkeypatch.setattr(assembly, "claim_page", lambda *_: 1 / 0)
    with pytest.raises(ValueError, match="no run can be shown; that of 'sums_agree': ZeroDivisionError"):
        write(folder, [runs["sums_agree"]], **small)
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


@pytest.mark.parametrize("place", ["drawn", "filling"])
def test_a_picture_that_cannot_be_drawn_is_named_and_the_default_figures_serve(
    runs, small, tmp_path, monkeypatch, place
):
    real = getattr(assembly, place)

    def breaking(*given):
        own = len(given) == 2 if place == "drawn" else given[1] == "draws_itself"
        return 1 / 0 if own else real(*given)

    monkeypatch.setattr(assembly, place, breaking)
    said = []
    shown = [runs["draws_itself"], runs["sums_agree"]]
    index = write(tmp_path / "pages", shown, **small, lament=said.append)
    assert said == ["the picture of draws_itself cannot be drawn with power=2: ZeroDivisionError: division by zero"]
    assert {path.stem for path in (index.parent / "claims").iterdir()} == {"draws_itself", "sums_agree"}
    assert "<svg" in (index.parent / "claims/draws_itself.html").read_text("utf-8")
    older = replace(runs["draws_itself"], source="fedcba9876543210")
    write(tmp_path / "pages", [older], **small, lament=said.append)
    assert len(said) == 1  # that runs may be older than their pictures is said once, for all of them


def test_cards_for_notebooks(runs, monkeypatch):
    from deeptheory.report import notebook

    monkeypatch.setattr(notebook, "drawing_of", lambda claim: None)
    for name in ("ridgeless_risk", "nothing_to_say", "logarithm_below_its_tangent"):
        card = run_html(runs[name])
        page = Page(card)
        assert heading(name) in page.words and "<script" not in card
        assert ("<svg" in card) == (name != "nothing_to_say")
    assert "and 3 more" in run_html(runs["ridgeless_risk"]) and "&lt;as printed&gt;" in run_html(runs["ridgeless_risk"])


def test_wording():
    assert (
        heading("relu_is_gaussian") == "ReLU is Gaussian"
        and heading("marchenko_pastur_law") == "Marchenko–Pastur law"
        and heading("pac_bayes") == "PAC-Bayes"
    )
    assert heading("ito_lemma") == "Itô lemma" and heading("the_l1_path") == "The ℓ₁ path"
    assert heading("hand_written_gradient") == "Hand-written gradient"
    assert heading("sub_gaussian_constants") == "Sub-Gaussian constants"
    assert (
        spoken("agree within 1e-16, not 3.5e-07")
        == "agree within 10<sup>−16</sup>, not 3.5\u00a0·\u00a010<sup>−7</sup>"
    )
    assert spoken("exponent -1.000 < 2e+03") == "exponent −1.000 &lt; 2\u00a0·\u00a010<sup>3</sup>"
    assert spoken("0.40 ± 0.01 observed") == "0.40\u00a0±\u00a00.01 observed"  # on one line
    assert spoken("max-margin, A-1, x2e3") == "max-margin, A-1, x2e3"
    assert seconds(0.0312) == "0.031 s" and seconds(177.2) == "177 s"


def test_variables_keep_their_letter():
    assert heading("p = 2") == "p = 2" and heading("d=1") == "d=1" and heading("γ < 1") == "γ < 1"
    assert heading("a_bound") == "A bound" and heading("risk") == "Risk" and heading("n") == "n"
    assert sentence("the link holds") == "The link holds." and sentence("p = 2: broken") == "p = 2: broken."


def test_powers_and_indices_without_formulas():
    assert spoken("size^-0.5 ± 1") == "size<sup>−0.5</sup> ± 1"
    assert typeset("n^(−β/(2β+d)), 1/λ_max < e^{−t}") == (
        "n<sup>−β/(2β+d)</sup>, 1/λ<sub>max</sub> &lt; e<sup>−t</sup>"
    )
    assert typeset("jax_enable_x64, A_1") == "jax_enable_x64, A<sub>1</sub>"
    for entry in catalogue().claims.values():
        for control in entry.controls:
            plain = re.sub(r"<math.*?</math>", "", typeset(str(control["name"])))
            assert not re.search(r"[_^{}\\\\$]", plain), control["name"]


def test_panels_that_a_phone_stacks_are_above_and_below_there():
    assert placed("On the left; what is left (right) of it", False) == "On the left; what is left (right) of it"
    told = placed("On the left a law (right), on the left of zero", True)
    assert re.sub('<span class="stacked">.*?</span>', "", told).count("left") == 2
    narrow = re.sub('<span class="beside">.*?</span>|<[^>]*>', "", told)
    assert narrow == "Above a law (below), on the left of zero"
    assert '<span class="stacked">Below</span>:' in placed("Right: its square", True)
    assert '<span class="stacked">Above</span>, a' in placed("Left, a law", True)
    assert '; <span class="beside">right</span>' in placed("Left, a law; right, its square", True)


def test_texts_are_clipped_between_words_and_outside_formulas():
    text = "The risk of " + r"$\frac{a}{b} + c$" + " tends to something else"
    assert clipped(text, 20) == "The risk of …" and clipped(text, 35).endswith("tends …")
    assert clipped("short") == "short" and findable(r"Risk $\sigma^2_n$", "A_b") == "risk sigma 2 n a b"


def test_a_run_of_an_earlier_version_says_so(runs, small, tmp_path):
    stale = replace(runs["chances"], source="another", made=1_763_200_000.0)
    index = write(tmp_path / "pages", [stale, runs["sums_agree"]], **small)
    page = Page((index.parent / "claims/chances.html").read_text("utf-8")).words
    assert "made by an earlier version of this claim" in page and "Run on 15 November 2025" in page
    listed = Page(index.read_text("utf-8")).words
    assert listed.count("made by an earlier version of this claim") == 1
    fresh = Page((index.parent / "claims/sums_agree.html").read_text("utf-8")).words
    assert "earlier version" not in fresh and "Run on" not in fresh


def test_figures_are_described_with_their_outcome(site):
    text = (site / "claims/errors_fall.html").read_text("utf-8")
    specs = [json.loads(found) for found in re.findall(r'class="spec">(.*?)</script>', text, re.DOTALL)]
    assert len(specs) == 6 and all(". " in spec["description"] for spec in specs)
    assert "rate, holds: exponent -1.0" in specs[0]["description"]
    own = (site / "claims/draws_itself.html").read_text("utf-8")
    assert "Squares of the widths." in Page(own).words


def test_what_no_book_has_has_no_section_of_books(runs, small, tmp_path):
    index = write(tmp_path / "pages", [replace(runs["chances"], items={})], **small)
    assert "In the books" not in Page((index.parent / "claims/chances.html").read_text("utf-8")).words


def test_source_is_coloured_and_escaped():
    assert highlighted("x = '<b>'\n") == "x = <span class=\"c-string\">'&lt;b&gt;'</span>\n"
    said = highlighted("def f(x):  # why\n    return not 1\n")
    assert said.count("<span") == 6 and 'class="c-comment"># why' in said and 'class="c-name">f<' in said
