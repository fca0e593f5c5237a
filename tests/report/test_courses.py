"""Subjects are courses that can be followed, and claims that belong together know of each other."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import deeptheory.books as books
from deeptheory.claims import TOUR
from deeptheory.lab.entries import catalogue
from deeptheory.report.neighbours import related
from deeptheory.report.themes import course, courses

CLAIMS = catalogue().claims
SUBJECTS = catalogue().subjects()


def test_every_subject_and_theme_has_its_place_in_a_course():
    themes = {subject: {entry.theme for entry in entries} for subject, entries in SUBJECTS.items()}
    for subject, found in themes.items():
        told = set(courses().get(subject, {"themes": ()})["themes"])
        assert told == found, f"src/deeptheory/report/courses/{subject}.md lists the themes of {subject}, one a line"
    assert set(courses()) == set(themes)


@pytest.mark.parametrize("subject", courses())
def test_what_a_theme_builds_on_comes_before_it(subject):
    known = courses()[subject]
    before = set(courses()) - {subject}
    for theme, after in known["themes"].items():
        assert set(after) <= before, theme
        before.add(theme)
    assert 100 < len(known["introduction"]) < 500 and known["introduction"].endswith(".")


def test_no_two_subjects_wait_for_each_other():
    needs = {
        subject: {each for after in known["themes"].values() for each in after if each in courses()}
        for subject, known in courses().items()
    }
    while ready := [subject for subject, others in needs.items() if not others]:
        needs = {subject: others - set(ready) for subject, others in needs.items() if subject not in ready}
    assert needs == {}


def test_a_theme_says_what_it_is_about_and_a_new_one_comes_last():
    entries = SUBJECTS["spectra"]
    introduction, themes = course("spectra", [replace(entries[0], theme="newcomer"), *entries])
    assert introduction.startswith("The eigenvalues") and themes[-1].name == "newcomer"
    first = themes[0]
    assert first.title == "Marchenko–Pastur" and first.about.startswith("The Marchenko–Pastur law and")
    edge = course("curvature", SUBJECTS["curvature"])[1][0]
    assert edge.about.endswith("(Arora 2.6, Figure 2.4).")  # books are named as on the shelf
    assert course("unheard of", [])[1] == []


def test_only_themes_that_are_shown_are_built_on():
    shown = [entry for entry in SUBJECTS["spectra"] if entry.theme == "stieltjes"]
    assert course("spectra", shown)[1][0].after == ()
    assert course("curvature", SUBJECTS["curvature"])[1][0].after == ("optimization",)


def test_claims_on_one_item_and_with_rare_functions_in_common_are_related():
    items = {item.id: item for item in books.items()}
    found = dict(related("double_descent", catalogue(), items, CLAIMS))
    own = set(CLAIMS["double_descent"].items)
    for name, shared in found.items():
        if shared.startswith("on "):
            pointed = {other for id in CLAIMS[name].items for other in items[id].points_to}
            back = {other for id in own for other in items[id].points_to}
            assert (set(CLAIMS[name].items) | pointed) & (own | back), name
        else:
            function = shared.split()[1]
            users = [entry.name for entry in CLAIMS.values() if any(u.endswith(f".{function}") for u in entry.uses)]
            assert {name, "double_descent"} <= set(users) and len(users) <= 6
    assert 2 <= len(found) <= 6 and "double_descent" not in found
    assert related("double_descent", catalogue(), items, ["double_descent"]) == []
    assert related("unheard_of", SimpleNamespace(claims={}), items, []) == []


def test_every_claim_of_the_tour_has_a_slider():
    assert [name for name in TOUR if not CLAIMS[name].explore] == []
