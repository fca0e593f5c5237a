"""Each kind of evidence: what makes it hold, what refutes it, what it refuses to judge; and its way into the store."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deeptheory.lab import (
    Bounded,
    Chain,
    Counterexample,
    Distribution,
    Exact,
    Identity,
    Inequality,
    Law,
    Limit,
    Printed,
    Rate,
    Share,
)
from deeptheory.lab.evidence import decode, encode


def verdict(evidence):
    return evidence.judge().verdict


def test_exact_compares_entry_by_entry():
    assert verdict(Exact([1, 2, 3], [1, 2, 3])) == "holds"
    assert verdict(Exact([1, 2, 3], [1, 2, 4])) == "refuted"
    assert verdict(Exact([1, 2], [1, 2, 3])) == "refuted"
    assert verdict(Exact(np.array([Fraction(1, 3)]), np.array([Fraction(2, 6)]))) == "holds"
    with pytest.raises(TypeError, match="Identity"):
        Exact([1.0], [1.0]).judge()


def test_identity_allows_rounding_and_no_more():
    x = np.linspace(1, 2, 50)
    assert verdict(Identity(x, x * (1 + 1e-15))) == "holds"
    assert verdict(Identity(x, x * (1 + 1e-12))) == "refuted"
    assert verdict(Identity(x, x * (1 + 1e-12), condition=1e4)) == "holds"
    assert verdict(Identity(x, x + 1e-6, error=1e-5)) == "holds"


def test_an_identity_that_cannot_see_anything_is_inconclusive():
    x = np.ones(3)
    assert verdict(Identity(x, x, condition=1e14)) == "inconclusive"
    assert verdict(Identity(x, x, error=0.2)) == "inconclusive"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_inconclusive(bad):
    assert verdict(Identity(np.array([1.0, bad]), np.ones(2))) == "inconclusive"
    assert verdict(Inequality(np.array([bad]), 1.0)) == "inconclusive"
    assert verdict(Law(predicted=bad, observed=np.arange(9.0), exact=True)) == "inconclusive"
    assert verdict(Rate(np.array([1, 2, 4.0]), np.array([1, 2, bad]))) == "inconclusive"


def test_no_variance_is_inconclusive():
    assert verdict(Law(predicted=1.0, observed=np.ones(100), exact=True)) == "inconclusive"


def test_inequality_reports_its_tightness():
    judged = Inequality(np.array([0.2, 0.9]), 1.0).judge()
    assert (judged.verdict, judged.tightness) == ("holds", pytest.approx(0.9))
    assert judged.resolution == pytest.approx(0.1)
    assert "loose" in Inequality(np.array([0.1]), 1.0).judge().reason
    assert verdict(Inequality(np.array([1.0 + 1e-9]), 1.0)) == "refuted"
    assert Inequality(np.array([-3.0]), -2.0, log=True).judge().tightness == pytest.approx(np.exp(-1))


def test_tightness_is_told_cell_by_cell():
    """One instance that attains its bound does not speak for the others."""
    quantity = np.array([[0.1, 1.0], [0.05, 0.02], [0.3, 0.2]])
    judged = Inequality(quantity, 1.0, along={"γ": [0.5, 2.0, 4.0]}).judge()
    assert judged.tightness == 1.0
    assert judged.strata == {"by": "γ", "cells": 3, "median": 0.3, "smallest": 0.05, "where": "2"}
    assert judged.reason.endswith("; by γ the median is 30 %, the least 5 % at γ 2")
    alike = Inequality(np.full((3, 4), 0.9), 1.0, along={"γ": np.arange(3)})
    assert alike.judge().reason.endswith("on the tightest of 12 instances, and at every γ")
    assert Inequality(np.full(3, 0.9), 1.0).judge().reason.endswith("on the tightest of 3 instances, and on all others")
    assert Inequality(quantity[:, 1], 1.0).judge().reason.endswith(", 20 % on the median one, 2 % on the slackest")
    links = {"first": (0.9, 1.0), "second": (0.2, 1.0), "third": (0.8, 1.0)}
    told = {"by": "link", "cells": 3, "median": 0.8, "smallest": 0.2, "where": "second"}
    assert Chain(links).judge().strata == told


def test_what_the_error_of_a_solver_hides_attains_nothing():
    hidden = Inequality(np.array([0.5, 1e-12]), np.array([1.0, 1e-12]), error=1e-9).judge()
    assert (hidden.verdict, hidden.tightness) == ("holds", 0.5)
    assert verdict(Inequality(np.array([1e-13]), np.array([1e-12]), error=1e-9)) == "inconclusive"
    assert verdict(Chain({"one": (0.5, 1.0), "two": (1e-13, 1e-12)}, error=1e-9)) == "inconclusive"


def test_a_chain_of_logarithms_sees_links_of_any_size():
    links = {"large": (np.array([3.0]), np.array([4.0])), "tiny": (np.array([-2000.0]), np.array([-2000.5]))}
    assert "tiny" in Chain(links, log=True).judge().reason
    assert verdict(Chain({name: (np.exp(a), np.exp(b)) for name, (a, b) in links.items()})) == "holds"
    whole = Chain({**links, "tiny": (np.array([-2001.0]), np.array([-2000.0]))}, log=True).judge()
    assert (whole.verdict, whole.tightness) == ("holds", pytest.approx(np.exp(-1)))


def test_chain_names_the_first_broken_link():
    good = {"Cauchy–Schwarz": (np.array([1.0]), np.array([1.5])), "triangle": (np.array([1.5]), np.array([2.0]))}
    assert verdict(Chain(good)) == "holds"
    broken = Chain({**good, "triangle": (np.array([1.5]), np.array([1.4])), "last": (np.array([3.0]), np.array([1.0]))})
    assert broken.judge().verdict == "refuted"
    assert "triangle" in broken.judge().reason


def test_printed_to_half_the_last_digit():
    assert verdict(Printed([0.1607, 0.2254], [0.161, 0.225], digits=3)) == "holds"
    assert verdict(Printed([0.1619], [0.161], digits=3)) == "refuted"


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.0, 2.0])
def test_rate_tells_exponents_apart(exponent):
    x = 2.0 ** np.arange(4, 10)
    y = 3 * x**exponent * (1 + 2 / x)
    assert verdict(Rate(x, y, exponent=exponent)) == "holds"
    assert verdict(Rate(x, y, exponent=exponent + 0.5)) == "refuted"
    assert verdict(Rate(x, y, exponent=exponent - 0.5)) == "refuted"


def test_a_rate_still_on_its_way_is_inconclusive():
    x = 2.0 ** np.arange(2, 8)
    slopes = 1 - 0.8 * 0.75 ** np.arange(5)  # .2, .4, .55, .66, .75 → 1
    y = np.exp(np.concatenate([[0.0], np.cumsum(slopes * np.log(2))]))
    assert verdict(Rate(x, y, exponent=1.0, resolution=0.1)) == "inconclusive"
    assert verdict(Rate(x, y, exponent=2.0)) == "refuted"


def test_noisy_rates():
    rng = np.random.default_rng(0)
    x = np.array([16.0, 64, 256, 1024])
    y = x[:, None] ** -0.5 * rng.exponential(size=(4, 4000))
    assert verdict(Rate(x, y, exponent=-0.5)) == "holds"
    assert verdict(Rate(x, y, exponent=-1.0)) == "refuted"
    assert verdict(Rate(x, y[:, :8], exponent=-0.5)) != "refuted"


def test_an_interval_that_excludes_its_own_exponent_is_doubt():
    """−0.482 ± 0.003 is near −1/2 and yet not −1/2; the correction that bends it is fitted where its order is given."""
    rng = np.random.default_rng(3)
    x = np.array([160.0, 320, 640, 1280])
    bent = x**-0.5 * (1 - 2 / x**0.5)
    y = bent[:, None] * (1 + 0.02 * rng.standard_normal((4, 64)))
    judged = Rate(x, y, exponent=-0.5).judge()
    assert judged.verdict == "inconclusive" and "excluded" in judged.reason
    assert verdict(Rate(x, y, exponent=-0.5, order=0.5)) == "holds"
    assert verdict(Rate(x, y, exponent=0.0, order=0.5)) == "refuted"
    assert verdict(Rate(x, bent, exponent=-0.5, order=0.5, resolution=0.05)) == "holds"


def test_true_rates_are_doubted_no_more_often_than_the_level():
    rng = np.random.default_rng(4)
    x = np.array([8.0, 16, 32, 64])
    doubted = 0
    for _ in range(2000):
        judged = Rate(x, x[:, None] ** -1.0 * rng.exponential(size=(4, 64)), exponent=-1.0).judge(1e-2)
        doubted += "excluded" in judged.reason or "moving away" in judged.reason
    # Each of the two doubts has the level 1e-2, and the relative error of a mean of 64 is itself uncertain.
    assert doubted < 2000 * 0.03


def test_exponents_that_walk_away_are_doubt_even_around_the_prediction():
    rng = np.random.default_rng(5)
    x = 2.0 ** np.arange(3, 8)
    slopes = -1 + 0.06 * np.array([0.0, 0.5, 1.0, 1.5])
    y = np.exp(np.concatenate([[0.0], np.cumsum(slopes * np.log(2))]))[:, None]
    seen = y * (1 + 0.01 * rng.standard_normal((5, 400)))
    assert verdict(Rate(x, seen, exponent=-1.0)) == "inconclusive"
    assert verdict(Rate(x, x[:, None] ** -1.0 * seen / y, exponent=-1.0)) == "holds"


def test_limit_is_one_sided():
    x = 2.0 ** np.arange(4, 10)
    assert verdict(Limit(x, 1 / x, order=0.5)) == "holds"
    assert verdict(Limit(x, x**-0.1, order=0.5)) == "refuted"


def test_bounded_refutes_a_logarithm():
    x = 10.0 ** np.arange(1, 7)
    assert verdict(Bounded(x, 5 - 1 / x)) == "holds"
    assert verdict(Bounded(x, np.log(x))) == "refuted"
    assert verdict(Bounded(x, np.log(np.log(x)))) != "holds"
    settled = 1 + np.array([-0.4, -0.1, 0, 0, 1e-8, 3e-8])  # the last differences are what a solver leaves
    assert verdict(Bounded(x, settled)) == "refuted"
    assert verdict(Bounded(x, settled, error=1e-7)) == "holds"
    # What a solver may be off is not seen, so the resolution is never "0".
    assert Bounded(x, settled, error=1e-7).judgement(1e-6).resolution == pytest.approx(1e-7)
    assert Bounded(x, np.ones(6)).judgement(1e-6).resolution == 1e-9
    rng = np.random.default_rng(1)
    flat = 3 + rng.standard_normal((6, 4000))
    assert verdict(Bounded(x, flat)) == "holds"
    assert verdict(Bounded(x, flat + 0.5 * np.log(x)[:, None])) == "refuted"


EXAMPLES = [
    Exact(np.array([Fraction(1, 3), Fraction(2)]), np.array([Fraction(1, 3), Fraction(2)])),
    Exact(["a", "b"], ["a", "c"]),
    Identity(np.arange(3.0), np.arange(3.0), scale=2.0),
    Inequality(np.array([1.0]), np.array([2.0]), log=True),
    Chain({"one": (np.array([1.0]), np.array([2.0]))}),
    Printed([0.161], [0.161], along={"column": ["T-600"]}),
    Law(predicted=1.0, observed=np.arange(16.0).reshape(2, 8), sizes=(10, 20), order=1.0),
    Share(3, 10, 0.3),
    Rate(np.arange(1.0, 5), np.arange(1.0, 5), rivals=(0.5,)),
    Distribution(ranks=np.linspace(0, 1, 5)),
    Counterexample({"U": np.eye(2)}, "1/3", "0", True, "rationals", 3, 0.5),
]


@pytest.mark.parametrize("evidence", EXAMPLES, ids=lambda e: type(e).__name__)
def test_evidence_comes_back_from_the_store_as_it_was(evidence):
    described, blob = encode({"piece": evidence})
    back = decode(described, blob)["piece"]
    assert type(back) is type(evidence)
    assert back.judge() == evidence.judge()
    assert encode({"piece": back}) == (described, blob)


def test_labels_and_links_keep_their_order_through_jax_and_the_store():
    import jax

    links = {"z first": (np.array([2.0]), np.array([1.0])), "a second": (np.array([3.0]), np.array([1.0]))}
    chain = jax.tree.map(lambda leaf: leaf, Chain(links))
    back = decode(*encode({"": chain}))[""]
    for each in (chain, back):
        assert "z first" in each.judge().reason
        assert list(each.links) == list(links)


def test_what_is_stored_is_bounded_and_keeps_the_mean():
    rng = np.random.default_rng(0)
    heavy = {
        "law": Law(predicted=1.0, observed=rng.exponential(size=(3, 400_000)), exact=True),
        "flat law": Law(predicted=1.0, observed=rng.exponential(size=1_000_000), exact=True),
        "law of samples": Distribution(ranks=rng.random(500_000)),
        "inequality": Inequality(rng.random((300_000, 2)), np.ones((300_000, 1))),
        "rate": Rate(np.array([1.0, 2, 4]), rng.exponential(size=(3, 300_000))),
    }
    described, blob = encode(heavy)
    assert len(blob) < 2**20
    back = decode(described, blob)
    assert np.allclose(back["law"].observed.mean(-1), heavy["law"].observed.mean(-1), rtol=1e-3)
    assert back["law of samples"].distance() == pytest.approx(heavy["law of samples"].distance(), abs=5e-4)
    assert len(back["inequality"].quantity) == len(back["inequality"].bound) < 40_000


def test_what_lies_aside_is_kept_whole_and_not_judged():
    aside = {"path": np.full((40_000, 2), np.nan), "names": ["first", "second"]}
    evidence = Identity(np.ones(2**17), np.ones(2**17), aside=aside)
    assert evidence.judge().verdict == "holds"
    back = decode(*encode({"": evidence}))[""]
    assert len(back.left) < 2**17 and back.aside["path"].shape == (40_000, 2)
    assert back.aside["names"].tolist() == ["first", "second"]
    assert replace(evidence, right=evidence.right + 1).aside is evidence.aside


def test_rows_that_lie_aside_are_thinned_with_those_that_were_judged():
    """A picture shows the two side by side."""
    rows = np.arange(2**15)
    judged = np.stack([rows, rows, rows, rows, rows], axis=1) * 1.0
    aside = {"rows": rows, "names": [str(row) for row in rows], "few": np.arange(3)}
    back = decode(*encode({"": Chain({"link": (judged, judged + 1)}, aside=aside)}))[""]
    smaller, _ = back.links["link"]
    assert 8 < len(smaller) < len(rows)
    assert np.array_equal(back.aside["rows"], smaller[:, 0])
    assert np.array_equal(back.aside["names"].astype(int), smaller[:, 0])
    assert np.array_equal(back.aside["few"], [0, 1, 2])


def test_a_few_long_curves_are_thinned_along_their_length():
    """Each is drawn, with its label, over points that lie aside."""
    points = np.arange(20_000.0)
    judged = np.stack([points, 2 * points, 3 * points])
    kept = {"curve": ["a", "b", "c"], "point": points}
    back = decode(*encode({"": Identity(judged, judged, along=kept, aside={"drift": -points})}))[""]
    assert len(back.left) == len(back.along["curve"]) == 3
    assert 8 < back.left.shape[1] < len(points)
    assert np.array_equal(back.left[0], back.along["point"]) and np.array_equal(back.left[0], -back.aside["drift"])


def test_too_much_aside_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="'law' carries 1,000,000 entries aside, at most 262,144 are stored"):
        encode({"law": Identity(1.0, 1.0, aside={"all": np.zeros(1_000_000)})})
