"""Labelled arrays: axes called by the claim's own words, and the numbers where they belong."""

import numpy as np
import pytest

from deeptheory.lab.datasets import averaged, flat, grouped, labelled
from deeptheory.lab.entries import catalogue
from deeptheory.lab.evidence import Chain, Counterexample, Distribution, Exact, Identity, Inequality, Law, Rate, Trend
from deeptheory.lab.functions import axis_words

SEEN = np.arange(3 * 2 * 8.0).reshape(3, 2, 8)


def test_a_law_runs_along_sizes_its_own_axes_and_trials():
    law = Law([1.0, 2.0], SEEN, along={"gamma": [0.5, 2.0]}, sizes=(10, 20, 40), order=1.0)
    found = labelled(law).dataset({r"\gamma": "features per sample, $p/n$"})
    assert found["observed"].dims == ("size", "gamma", "trial")
    assert found["predicted"].dims == ("gamma",)
    assert found["observed"].sel(size=20, gamma=2.0, trial=3).item() == SEEN[1, 1, 3]
    assert found["size"].values.tolist() == [10, 20, 40]
    assert found["gamma"].attrs == {"long_name": "γ", "units": "1", "description": "features per sample, p/n"}
    assert (found.attrs["kind"], found.attrs["order"]) == ("Law", 1.0)
    means = averaged(labelled(law)).dataset()
    assert means["observed"].sel(size=40, gamma=0.5).item() == SEEN[2, 0].mean()
    assert means["observed_error"].sel(size=40, gamma=0.5).item() == pytest.approx(np.std(range(8), ddof=1) / 8**0.5)


def test_an_exact_law_has_no_sizes():
    found = labelled(Law(1.0, SEEN, along={"n": [1, 2, 3], "case": ["a", "b"]}, exact=True)).dataset()
    assert found["observed"].dims == ("n", "case", "trial")
    assert found["observed"].sel(case="b", n=3, trial=0).item() == SEEN[2, 1, 0]
    assert found["predicted"].dims == ()


def test_what_has_no_label_is_an_entry_or_a_trial():
    piece = Identity(SEEN, 0.0, along={"size": [1, 2, 3], "left": [5, 6]})
    found = labelled(piece, {"trials": 8}).dataset()
    assert found["left"].dims == ("size", "left axis", "trial")
    assert labelled(piece).dataset()["left"].dims == ("size", "left axis", "entry")
    assert found.attrs["terms"] == 1.0


def test_bounds_are_spread_over_what_they_bound():
    found = labelled(Inequality(SEEN[0], np.array([[1.0], [2.0]]), along={"n": [1, 2]})).dataset()
    assert found["bound"].sel(n=2).values.tolist() == [2.0] * 8


def test_points_are_called_by_the_setting_that_lists_them():
    x = np.array([10.0, 100.0, 1000.0])
    found = labelled(Rate(x, SEEN[:, 0], exponent=1.0), {"widths": (10, 100, 1000), "trials": 8}).dataset()
    assert found["y"].dims == ("width", "trial")
    assert found["width"].values.tolist() == x.tolist()


def test_points_that_no_setting_lists_are_called_by_the_claims_own_word():
    found = labelled(Rate([1.0, 2.0, 4.0], SEEN[:, 0], exponent=1.0), {"trials": 8}, "kappa").dataset()
    assert found["y"].dims == ("kappa", "trial") and found["kappa"].attrs["long_name"] == "κ"
    assert labelled(Rate([1.0, 2.0], [1.0, 2.0], exponent=1.0), {}, "y").dataset()["y"].dims == ("x",)


def test_words_of_axes_are_found_in_the_source():
    code = """
def rates(key, *, widths=(1, 2)):
    return {
        "one": Rate(np.array(widths), seen, exponent=1.0),
        "two": Limit(1 / RATES, seen, order=2),
        "three": Bounded(sizes.astype(float), seen),
        "four": Rate(2.0**ks, seen, exponent=1.0, order=1),
        "five": Rate(made(of, many), seen, exponent=1.0),
        "six": Law(widths, seen),
    }
"""
    assert axis_words(code) == {"one": "width", "two": "1/rate", "three": "size", "four": "2^k"}
    assert axis_words("def alone(): return Rate(epsilon[1:], y, exponent=1.0)") == {"": "epsilon"}


def test_most_rates_of_the_catalogue_have_a_word_for_their_axis():
    """A word is missing only where the points are made by a longer expression in the call itself."""
    found = [word for entry in catalogue().claims.values() for word in entry.axes.values()]
    assert len(found) > 250


OTHERS = [
    (Distribution(np.linspace(0, 1, 5)), {"ranks": ("sample",)}),
    (Chain({"first": ([1.0, 2.0], [3.0, 4.0])}), {"first: smaller": ("entry",), "first: larger": ("entry",)}),
    (Exact(["a", "b"], ["a", "b"]), {"left": ("entry",), "right": ("entry",)}),
    (Trend(SEEN[0], along={"depth": [1, 2]}), {"differences": ("depth", "trial")}),
    (Counterexample({"left": [[1, 2]], "p": 3}, "1/2", "1/3"), {"left": ("left_0", "left_1"), "p": ()}),
]


@pytest.mark.parametrize(("piece", "axes"), OTHERS, ids=[type(piece).__name__ for piece, _ in OTHERS])
def test_every_kind_has_axes(piece, axes):
    found = labelled(piece).dataset()
    assert {name: found[name].dims for name in axes} == axes


def test_a_tree_has_a_group_for_each_piece_and_lies_flat_on_request(tmp_path):
    pieces = {"a/b": labelled(Identity([1.0, 2.0], 1.0, along={"gamma": [3, 4]})).dataset(),
              "bias": labelled(Identity([1.0], 1.0, along={"gamma": [5]})).dataset()}  # fmt: skip
    whole = grouped(pieces, {"claim": "none"})
    assert list(whole.children) == ["a∕b", "bias"]
    assert whole["bias/left"].sel(gamma=5).item() == 1.0
    lying = flat(whole)
    assert lying["bias_left"].dims == ("bias_gamma",)
    assert lying["a_b_left"].values.tolist() == [1.0, 2.0]
    lying.to_netcdf(tmp_path / "file.nc")
