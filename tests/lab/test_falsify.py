"""Falsification finds planted violations, shrinks them to plain ones, verifies them exactly, and knows its limits."""

import jax.numpy as jnp
import numpy as np
import pytest
from lab_example import means_inequality

from deeptheory.lab import Inequality, Integers, Reals, claim, falsify


def test_a_false_rival_falls_to_a_plain_counterexample_verified_in_rationals():
    found = means_inequality.falsify(budget=3.0, control="for all real numbers")
    assert found.found
    assert all(value in (0, 1, -1, 2, 3, 4, 5, -2, -3, -4, -5) for value in found.instance.values())
    assert found.counterexample.violated
    assert found.counterexample.how in ("signs", "squares in rationals")


def test_a_true_claim_stands_and_a_planted_violation_was_found():
    found = means_inequality.falsify(budget=2.0)
    assert not found.found
    assert found.planted_found
    assert found.violation == pytest.approx(0.0, abs=1e-6)


def test_a_needle_in_a_box_of_sixteen_dimensions_is_found():
    @claim(items={}, says="x", over={"x": Reals(-2.0, 2.0, shape=(16,))})
    def bowl(x):
        return Inequality(1.0 - jnp.sum((x - 0.5) ** 2), 0.9, scale=1.0)

    assert bowl.falsify(budget=5.0).found


def test_integers_shrink_to_the_smallest():
    @claim(items={}, says="x", over={"n": Integers(1, 1000), "m": Integers(1, 1000)}, each="array")
    def sums(n, m):
        return Inequality((n + m).astype(float), np.full(n.shape, 30.0), scale=np.ones(n.shape))

    found = sums.falsify(budget=1.0)
    assert found.found
    assert found.instance["n"] + found.instance["m"] > 30
    assert min(found.instance["n"], found.instance["m"]) == 1


def test_what_cannot_be_evaluated_is_not_a_violation():
    @claim(items={}, says="x", over={"x": Reals(-1.0, 1.0)})
    def root(x):
        return Inequality(jnp.sqrt(x), 1.0)

    assert not root.falsify(budget=1.0).found


def test_the_same_seed_searches_the_same():
    one, two = (means_inequality.falsify(budget=60.0, control="for all real numbers", seed=5) for _ in range(2))
    assert one.instance == two.instance


def test_a_search_by_its_starts_does_not_ask_the_clock():
    one, two = (falsify(means_inequality, starts=3, budget=budget) for budget in (0.1, 60.0))
    assert one.instance == two.instance
    assert one.evaluations == two.evaluations
    assert 3 < one.starts <= 6  # three for a violation, and at most three for the one that is planted


@pytest.mark.parametrize("starts", [0, -1, 1.5, 10**9, "many"])
def test_starts_are_counted(starts):
    with pytest.raises(ValueError, match=r"starts must be a whole number from 1 to 1000000, not"):
        falsify(means_inequality, starts=starts)


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), 1e9, "long"])
def test_a_search_ends(budget):
    with pytest.raises(ValueError, match=r"budget must be a number from 0.1 to 86400, not"):
        means_inequality.falsify(budget=budget)
