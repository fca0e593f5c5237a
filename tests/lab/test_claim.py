"""Claims, their settings, their controls, and the verdict that follows from all of it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import lab_example as example
import numpy as np
import pytest
from annotated_types import Interval, MinLen
from hypothesis import given, strategies as st

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Count, Exact, Law, Positive, Rate, Sizes, Trials, claim, faces
from deeptheory.lab.outcome import Run
from deeptheory.lab.parameters import Parameter, control_named
from deeptheory.lab.run import execute


def test_a_true_claim_holds_and_its_controls_fall():
    for each in (example.exponential_mean, example.means_inequality, example.square_exponent, example.circle):
        run = each.check()
        assert run.verdict == "holds", run.reason
        assert run.controls
        assert all(control.verdict == "refuted" for control in run.controls)


def test_rivals_of_a_rate_are_controls():
    assert [control.name for control in example.square_exponent.check().controls] == ["exponent 1", "exponent 3"]


def test_items_get_the_verdict_of_the_pieces_that_serve_them():
    assert example.exponential_mean.check().items == {"A1.1": "holds", "A1.2": "holds"}


def test_no_item_rests_on_two_formulas_of_ours_alone():
    def pieces():
        return {"ours": Exact([1], [1]), "enumerated": Exact([1], [1])}

    with pytest.raises(TypeError, match=r"two formulas of ours that agree cannot carry A1\.1 alone"):
        claim(items={"A1.1": "ours", "A1.2": ("ours", "enumerated")}, says="one is one.", consistency=("ours",))(pieces)
    two = claim(items={"A1.2": ("ours", "enumerated")}, says="one is one.", consistency=("ours", "theirs"))(pieces)
    with pytest.raises(TypeError, match=r"consistency= names \['theirs'\]"):
        two.check()


def test_the_laboratory_asks_who_shows_a_run(monkeypatch):
    monkeypatch.setattr(faces, "_PLACES", {"figure": "builtins:repr"})
    run = example.circle.check()
    assert run.figure() == repr(run)
    with pytest.raises(LookupError, match="nobody has said how a run is shown as html"):
        run._repr_html_()


def test_a_control_that_is_true_makes_the_claim_inconclusive():
    @claim(items={"A1.1": ""}, says="x")
    def mean(key, *, trials: Trials = 50_000):
        return Law(predicted=1.0, observed=generator(key).exponential(size=trials), exact=True)

    @mean.control("the same statement")
    def same(evidence):
        return replace(evidence)

    run = mean.check()
    assert run.verdict == "inconclusive"
    assert "the same statement" in run.reason
    assert run.items == {"A1.1": "inconclusive"}


def test_a_claim_without_controls_is_inconclusive():
    @claim(items={"A1.1": ""}, says="x")
    def mean(key, *, trials: Trials = 50_000):
        return Law(predicted=1.0, observed=generator(key).exponential(size=trials), exact=True)

    assert mean.check().verdict == "inconclusive"


def test_a_false_claim_is_refuted_after_repetition():
    @claim(items={"A1.1": ""}, says="x")
    def mean(key, *, trials: Trials = 50_000):
        return Law(predicted=1.1, observed=generator(key).exponential(size=trials), exact=True)

    assert mean.check().verdict == "refuted"


def test_a_refutation_that_does_not_repeat_is_inconclusive():
    calls = []

    @claim(items={"A1.1": ""}, says="x")
    def flickering(key, *, trials: Trials = 1000):
        calls.append(trials)
        shift = 1.0 if len(calls) == 1 else 0.0
        return Law(predicted=1.0, observed=shift + generator(key).exponential(size=trials), exact=True)

    run = flickering.check()
    assert (run.verdict, calls[:2]) == ("inconclusive", [1000, 4000])
    assert "did not repeat" in run.reason


@pytest.mark.parametrize("lucky", [True, False])
def test_a_control_that_falls_only_once_has_not_fallen(lucky):
    """Two controls that read the observation otherwise share its repetition; one with settings has its own."""
    calls = []

    @claim(items={"A1.1": ""}, says="x")
    def mean(key, *, trials: Trials = 20_000, shift: Positive = 0.01):
        calls.append((trials, shift))
        chance = 0.3 if lucky and calls.count((trials, shift)) == 1 else 0.0
        draws = generator(key).exponential(size=trials)
        return {
            "mean": Law(predicted=1.0, observed=draws + (chance if shift > 1 else 0.0), exact=True),
            "other": Law(predicted=1.0 + chance, observed=draws + chance, exact=True),
        }

    mean.control("run anew", of="mean", shift=2.0)

    @mean.control("read otherwise", of="other")
    def otherwise(evidence):
        return replace(evidence, predicted=1.0)

    @mean.control("plainly false", of="other")
    def plainly(evidence):
        return replace(evidence, predicted=2.0)

    found = {control.name: (control.verdict, control.reason) for control in mean.check().controls}
    assert found["plainly false"][0] == "refuted"
    assert calls.count((20_000, 0.01)) == 2
    if lucky:
        for name in ("run anew", "read otherwise"):
            assert found[name][0] == "inconclusive"
            assert "did not repeat on fresh randomness" in found[name][1]
        assert calls.count((20_000, 2.0)) == 2
    else:
        assert {found[name][0] for name in ("run anew", "read otherwise")} == {"holds"}
        assert calls.count((20_000, 2.0)) == 1


def test_a_rival_exponent_that_falls_only_once_has_not_fallen():
    calls = []

    @claim(items={"A1.1": ""}, says="x")
    def rate(key, *, trials: Trials = 64):
        calls.append(trials)
        exponent = 1.0 if len(calls) == 1 else 2.0
        sizes = np.asarray([2.0, 4.0, 8.0, 16.0])
        noise = generator(key).normal(1.0, 1e-4, size=(4, trials))
        return Rate(sizes, sizes[:, None] ** exponent * noise, exponent=1.0, rivals=(2.0, 3.0))

    found = {control.name: control.verdict for control in rate.check().controls}
    assert found == {"exponent 2": "inconclusive", "exponent 3": "refuted"}
    assert calls == [64, 64]


def test_an_unmet_assumption_is_inconclusive_with_its_reason():
    run = example.exponential_mean.check(rate=9.5)
    assert run.verdict == "inconclusive"
    assert "the rate must stay below 9" in run.reason


def test_a_computation_that_breaks_down_is_inconclusive_with_its_reason():
    @claim(items={"A1.1": ""}, says="x")
    def singular(key):
        return Law(predicted=1.0, observed=np.linalg.solve(np.zeros((9, 9)), np.ones(9)), exact=True)

    run = singular.check()
    assert run.verdict == "inconclusive"
    assert "Singular matrix" in run.reason


def test_a_control_can_be_run_in_the_claims_place():
    run = execute(example.exponential_mean, control="shifted")
    assert run.verdict == "refuted"
    with pytest.raises(ValueError, match="it has: shifted draws; mean twice as large"):
        execute(example.exponential_mean, control="nonsense")


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    one, two, other = (example.exponential_mean.check(seed=seed) for seed in (3, 3, 4))
    assert one.blob == two.blob
    assert one.blob != other.blob


def test_full_size_and_settings():
    assert example.exponential_mean.check(full=True).parameters["trials"] == 200_000
    assert example.exponential_mean.check(full=True, trials=9000).parameters["trials"] == 9000


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"trials": -5}, "trials must be a whole number from 8 to 1000000, not -5"),
        ({"trials": 10**12}, "from 8 to 1000000"),
        ({"trials": 10.5}, "whole number"),
        ({"rate": float("nan")}, "rate must be a number from 0.1 to 10, not nan"),
        ({"rate": "fast"}, "not fast"),
        ({"draws": "odd"}, "one of exponential, shifted"),
        ({"trails": 10}, "did you mean trials"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        example.exponential_mean.check(**settings)


def test_a_parameter_without_a_range_or_default_is_an_authors_mistake():
    with pytest.raises(TypeError, match="needs a range"):

        @claim(items={}, says="x")
        def unbounded(key, *, trials: int = 3): ...

    with pytest.raises(TypeError, match="needs a default"):

        @claim(items={}, says="x")
        def undecided(key, *, trials: Annotated[int, Interval(ge=1, le=2)]): ...


@given(st.text(max_size=20))
def test_no_text_breaks_the_reading_of_a_parameter(text):
    for parameter in (
        Parameter("n", "int", 3, low=1, high=9),
        Parameter("x", "float", 0.5, low=0, high=1),
        Parameter("sizes", "ints", (2, 4), low=1, high=99),
        Parameter("flag", "bool", True),
        Parameter("word", "choice", "a", choices=("a", "b")),
    ):
        try:
            value = parameter.parse(text)
        except ValueError as refusal:
            assert parameter.name in str(refusal)
        else:
            assert parameter.check(value) == value


def test_a_run_survives_its_record():
    run = example.exponential_mean.check()
    back = Run.of_record(run.record(), run.blob)
    assert back == run
    assert np.array_equal(back.evidence["mean"].observed, run.evidence["mean"].observed)


def test_a_sweep_is_a_labelled_grid():
    swept = example.exponential_mean.sweep(rate=[0.5, 2.0], trials=[20_000], seeds=2)
    assert dict(swept.sizes) == {"rate": 2, "trials": 1, "seed": 2}
    assert np.allclose(swept["mean/observed"].mean("seed").squeeze(), [2.0, 0.5], rtol=0.05)
    assert (swept["verdict"] == 1).all()


def test_a_control_run_in_the_claims_place_says_so():
    run = execute(example.exponential_mean, control="Shifted")
    assert (run.control, run.verdict, run.as_expected, run.items) == ("shifted draws", "refuted", True, {})
    assert run.json()["control"] == "shifted draws"
    assert example.exponential_mean.check(trials=1000).control is None


def test_the_example_of_the_docs_imports_what_exists():
    text = (Path(__file__).resolve().parents[2] / "docs" / "claims.md").read_text()
    lines = [line for line in text.split("```python\n")[1].splitlines() if line.startswith(("from", "import"))]
    assert len(lines) > 4
    exec("\n".join(lines), {})


def test_a_run_without_evidence_is_json_too():
    run = example.exponential_mean.check(rate=9.5)
    assert run.verdict == "inconclusive"
    assert run.json()["evidence"] == {}


def test_a_control_is_named_exactly_or_by_its_only_beginning():
    known = ("norm", "norm squared", "half")
    assert control_named("claim", "NORM", known) == "norm"
    assert control_named("claim", "ha", known) == "half"
    with pytest.raises(ValueError, match="2 controls that begin with 'nor': norm; norm squared"):
        control_named("claim", "nor", known)
    with pytest.raises(ValueError, match="a control is named by words, not by 3"):
        control_named("claim", 3, known)
    with pytest.raises(ValueError, match="no control 'x'; it has: norm; norm squared; half"):
        control_named("claim", "x", known)


def test_what_a_library_says_about_settings_is_said_with_claim_and_settings():
    @claim(items={}, says="Nothing.")
    def draws_too_few(*, columns: Count = 5):
        if columns < 4:
            np.zeros(columns - 5)
        raise MemoryError

    with pytest.raises(ValueError, match="draws_too_few does not run with columns=3: negative dimensions"):
        draws_too_few.check(columns=3)
    with pytest.raises(ValueError, match="draws_too_few does not run with columns=9: out of memory"):
        draws_too_few.check(columns=9)
    with pytest.raises(MemoryError):
        draws_too_few.check()


@pytest.mark.parametrize("seed", [-1, 2**31, 2**70, 1.5, "a", True, None])
def test_a_seed_is_a_whole_number_in_its_range(seed):
    with pytest.raises(ValueError, match="seed must be a whole number from 0 to 2147483647, not"):
        example.square_exponent.check(seed=seed)
    with pytest.raises(ValueError, match="seed must be"):
        example.means_inequality.falsify(seed=seed)


def test_sizes_increase_and_may_need_company():
    @claim(items={}, says="Nothing.")
    def grows(*, sizes: Annotated[Sizes, MinLen(3)] = (2, 4, 8)):
        raise AssertionError

    for sizes in ((8, 4, 2), (2, 2, 3), (2, 4)):
        with pytest.raises(ValueError, match="from 2 to 100000, at least 3 separated by commas, increasing, not"):
            grows.settings({"sizes": sizes})
    assert grows.settings({"sizes": [3, 5, 7]}) == {"sizes": (3, 5, 7)}


@pytest.mark.parametrize(
    ("grids", "sentence"),
    [
        ({"rate": []}, "the axis rate has no values"),
        ({"seeds": 0}, "seeds must be"),
        ({"seeds": 1.5}, "seeds must be"),
        ({"rate": [np.zeros((40, 40))]}, r"rate must be a number from .*, not \[\[0. 0."),
        ({"trials": range(10**8)}, "this asks for 100,000,000 runs; at most 100,000 are started at once"),
        ({"trials": [9] * 1000, "rate": [1.0] * 1000, "seeds": 100}, "this asks for 100,000,000 runs"),
    ],
)
def test_an_empty_or_endless_sweep_is_refused(grids, sentence):
    with pytest.raises(ValueError, match=sentence) as found:
        example.exponential_mean.sweep(**grids)
    assert len(str(found.value)) < 150


def test_several_numbers_are_one_setting_as_list_and_as_tuple():
    @claim(items={}, says="Nothing.")
    def grows(*, sizes: Sizes = (2, 4)):
        return Exact(np.asarray(sizes), np.asarray(sizes))

    swept = grows.sweep(sizes=[[3, 5], (4, 6)])
    assert list(swept["sizes"].values) == ["(3, 5)", "(4, 6)"]


def test_an_array_without_axes_is_one_value():
    swept = example.exponential_mean.sweep(rate=np.array(0.5), trials=np.array([64]))
    assert swept["rate"].values == [0.5] and swept["trials"].values == [64]


@pytest.mark.parametrize(
    ("explore", "sentence"),
    [
        ({"depth": (1, 2)}, "explore= names \\['depth'\\], which are not parameters"),
        ({"width": (1,)}, "one or two parameters with two or more values each"),
        ({"width": (1, 10**9)}, "width must be"),
    ],
)
def test_what_cannot_be_explored_is_an_authors_mistake(explore, sentence):
    def width_is_width(*, width: Count = 3):
        return Exact(width, width)

    with pytest.raises((TypeError, ValueError), match=sentence):
        claim(items={}, says="", explore=explore)(width_is_width)


def test_a_picture_without_a_caption_is_an_authors_mistake():
    @claim(items={}, says="")
    def plain():
        return Exact(1, 1)

    with pytest.raises(TypeError, match="a picture needs a docstring"):
        plain.picture(lambda pieces: None)


def test_a_point_at_which_a_claim_does_not_run_is_a_hole_in_its_sweep():
    @claim(items={}, says="Nothing.")
    def picky(*, columns: Count = 5):
        return Exact(np.zeros(4 - columns, int), np.zeros(4 - columns, int))

    with pytest.warns(UserWarning, match="picky does not run with columns=9: negative dimensions"):
        swept = picky.sweep(columns=[2, 9])
    assert swept["left"].sizes["columns"] == 2
    assert np.isnan(swept["verdict"]).squeeze().values.tolist() == [False, True]
    assert np.isnan(swept["left"]).all("entry").squeeze().values.tolist() == [False, True]
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="not one point"):
        picky.sweep(columns=[9])
