"""The exact scalar equation of equiangular tokens against the full flow, quadrature and an adaptive integrator."""

import jax
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from deeptheory.attention.clusters import pair_overlaps, token_flow, token_velocity
from deeptheory.attention.equiangular import (
    equiangular_overlap,
    equiangular_time,
    equiangular_tokens,
    equiangular_velocity,
)


@pytest.mark.parametrize(("count", "overlap"), [(2, -0.5), (5, 0.0), (5, -0.24), (7, 0.9)])
def test_tokens_are_equiangular(count, overlap):
    tokens = equiangular_tokens(count, overlap)
    assert np.allclose(tokens @ tokens.T, (1 - overlap) * np.eye(count) + overlap, atol=1e-15)


@pytest.mark.item("J14.5")
@pytest.mark.parametrize("overlap", [-0.1, 0.0, 0.6])
def test_speed_of_the_overlap_is_that_of_the_tokens(overlap):
    tokens = equiangular_tokens(8, overlap)
    _, speeds = jax.jvp(lambda x: x @ x.T, (tokens,), (np.asarray(token_velocity(tokens, 2.0)),))
    speeds = np.asarray(speeds)[~np.eye(8, dtype=bool)]
    printed_form = 2 * np.exp(2 * overlap) * (1 - overlap) * (7 * overlap + 1) / (np.exp(2) + 7 * np.exp(2 * overlap))
    assert np.allclose(speeds, printed_form, rtol=1e-13)
    assert equiangular_velocity(overlap, 8, 2.0) == pytest.approx(printed_form, rel=1e-14)


@pytest.mark.item("J14.5")
def test_orthonormal_tokens_keep_one_overlap_and_reach_the_known_values():
    times = np.array([1.0, 2.0, 5.0])
    flow = token_flow(equiangular_tokens(8), times, 2.0, substeps=200)
    overlaps = np.array([pair_overlaps(tokens) for tokens in flow])
    assert np.ptp(overlaps, axis=1).max() < 1e-14
    exact = equiangular_overlap(times, 8, 2.0)
    assert np.allclose(overlaps[:, 0], exact, atol=1e-10)
    assert np.allclose(exact, [0.230696, 0.659874, 0.998646], atol=5e-7)


@pytest.mark.parametrize(
    ("count", "beta", "start"), [(2, 0.0, -0.9), (2, 3.0, -0.9), (8, 2.0, 0.0), (32, 9.0, 0.0), (3, 0.5, 0.4)]
)
def test_overlap_solves_the_equation(count, beta, start):
    times = np.array([0.0, 0.3, 2.0, 7.0])
    solution = solve_ivp(
        lambda _, g: equiangular_velocity(g, count, beta), (0, 7), [start], "DOP853", times, rtol=1e-12, atol=1e-13
    )
    assert np.allclose(equiangular_overlap(times, count, beta, start=start), solution.y[0], atol=1e-10)


@pytest.mark.parametrize("count", [2, 5, 40])
@pytest.mark.parametrize("beta", [0.0, 1e-6, 1.0, 12.0])
@pytest.mark.parametrize("start", [0.0, 0.3])
def test_time_is_the_integral_of_the_inverse_speed(count, beta, start):
    integral, _ = quad(lambda g: 1 / equiangular_velocity(g, count, beta), start, 0.99, epsabs=0, epsrel=1e-11)
    assert equiangular_time(0.99, count, beta, start=start) == pytest.approx(integral, rel=1e-9)


def test_without_temperature_the_overlap_is_elementary():
    times = np.linspace(0, 10, 6)
    elementary = np.expm1(2 * times) / (np.exp(2 * times) + 8 - 1)
    assert np.allclose(equiangular_overlap(times, 8, 0.0), elementary, atol=1e-14)


def test_cold_tokens_leave_slowly_and_all_arrive_at_the_same_rate():
    assert equiangular_velocity(0.0, 8, 9.0) == pytest.approx(2 / (np.exp(9) + 7))
    for beta in (0.0, 2.0, 6.0):
        gaps = [10.0**-k for k in (5, 6)]
        times = [equiangular_time(1 - gap, 8, beta) for gap in gaps]
        assert np.log(10) / (times[1] - times[0]) == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equiangular_tokens(1), r"count must lie in \[2, 10000\], got 1"),
        (lambda: equiangular_tokens(3, -0.6), r"must lie in \(-1/2, 1\), got -0.6"),
        (lambda: equiangular_time(0.5, 3, -1.0), r"must lie in \[0, 200\], got -1.0"),
        (lambda: equiangular_overlap(np.array([-1.0]), 3, 1.0), "times must not be negative"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_after_a_very_long_time_tokens_have_met():
    late = equiangular_overlap(np.array([0.0, 30.0, 1e3, 1e300]), 4, 2.0)
    np.testing.assert_allclose(late, [0.0, 1.0, 1.0, 1.0], rtol=1e-15, atol=1e-15)
    assert equiangular_overlap(np.array([1e300]), 3, 200.0)[0] == 1.0
