"""Sums of shares by hand and by search, and AdaGrad's bounds where they are attained."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.optimization import adaptive
from deeptheory.optimization.landscapes import Quadratic
from deeptheory.optimization.methods import adagrad_norm, lagged_adagrad
from deeptheory.optimization.runs import trajectory


@pytest.mark.item("A2.28")
def test_sums_of_shares_by_hand():
    assert float(adaptive.harmonic_sum(np.ones(4))) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert float(adaptive.harmonic_sum(np.array([2.0, 6.0]))) == pytest.approx(1.75)
    assert float(adaptive.harmonic_bound(2.0, 8.0)) == pytest.approx(1 + np.log(4))
    growing = 1.001 ** np.arange(20_000)
    share = adaptive.harmonic_sum(growing) / adaptive.harmonic_bound(1.0, growing.sum())
    assert 0.98 < float(share) <= 1
    assert float(adaptive.lagged_harmonic_sum(np.array([1.0, 2.0]), offset=2.0)) == pytest.approx(1 / 2 + 2 / 3)
    assert float(adaptive.lagged_harmonic_sum(np.full(3, 2.0), offset=2.0)) == pytest.approx(1 + 1 / 2 + 1 / 3)
    assert float(adaptive.lagged_harmonic_bound(3)) == pytest.approx(2.0)
    one = adaptive.lagged_harmonic_sum(np.array([2.0]), offset=2.0)
    assert float(one) == float(adaptive.lagged_harmonic_bound(1)) == 1.0


@pytest.mark.slow
@pytest.mark.item("A2.26", "A2.27")
def test_one_step_on_a_parabola_attains_both_bounds():
    bowl, start = Quadratic(jnp.array([[0.6]]), jnp.zeros(1)), jnp.array([5.0])  # slope 3
    run = trajectory(bowl, adagrad_norm(), start, steps=1)
    drop = float(run.value[0] - run.value[1])
    assert drop == pytest.approx(3 - 0.3)  # a move of length one
    squares = np.asarray(run.gradient)[:1, 0] ** 2
    assert float(adaptive.adagrad_norm_bound(squares, drop=drop, smoothness=0.6)) == pytest.approx(9.0)
    run = trajectory(bowl, lagged_adagrad(bound=3.0), start, steps=1)
    drop = float(run.value[0] - run.value[1])
    ours = adaptive.lagged_adagrad_bound(np.asarray(run.gradient)[:1], bound=3.0, drop=drop, smoothness=0.6)
    assert float(ours) == pytest.approx(9.0)
    # Three steps in two dimensions, written out.
    found = adaptive.lagged_adagrad_bound(
        np.array([[1.0, 2.0], [2.0, 0.0], [1.0, 1.0]]), bound=2.0, drop=0.5, smoothness=0.3
    )
    assert float(found) == pytest.approx((0.5 + 0.3 * 2.0) * (3.0 + 8**0.5) / 3)


@pytest.mark.parametrize("offset", [1e-3, 1e-17, 1e-200])
def test_a_small_offset_is_not_lost_beside_the_terms(offset):
    terms = np.array([0.1, 0.3, 0.2])
    by_hand = 0.1 / offset + 0.3 / (offset + 0.1) + 0.2 / (offset + 0.4)
    assert float(adaptive.lagged_harmonic_sum(terms, offset=offset)) == pytest.approx(by_hand, rel=1e-14)
    assert float(adaptive.lagged_harmonic_bound(1e-20)) == pytest.approx(1e-20 / np.log(2), rel=1e-14)
