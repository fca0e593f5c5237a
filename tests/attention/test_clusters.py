"""Token flow on the sphere against plain loops, SciPy's integrators, conserved quantities and Kuramoto's model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.attention.clusters import (
    attention_matrix,
    cluster_count,
    consensus_time,
    interaction_energy,
    kuramoto_velocity,
    pair_overlaps,
    random_tokens,
    token_flow,
    token_velocity,
)
from deeptheory.attention.equiangular import equiangular_time, equiangular_tokens

pytestmark = pytest.mark.slow


def velocity_by_loops(tokens, beta):
    moved = np.zeros_like(tokens)
    for i, x in enumerate(tokens):
        weights = [np.exp(beta * np.dot(x, y)) for y in tokens]
        pull = sum(w * y for w, y in zip(weights, tokens, strict=True)) / sum(weights)
        moved[i] = (np.eye(len(x)) - np.outer(x, x)) @ pull
    return moved


def integrate(field, start, times):
    """Dormand–Prince of order eight: another scheme, another code, adaptive steps."""
    solution = solve_ivp(
        lambda _, y: field(y.reshape(start.shape)).ravel(),
        (0, times[-1]),
        start.ravel(),
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-13,
    )
    return solution.y.T.reshape(-1, *start.shape)


@pytest.mark.item("J14.5")
@pytest.mark.parametrize("beta", [0.0, 2.5])
def test_flow_follows_the_plain_loop(key, beta):
    start = random_tokens(key, 6, 3)
    times = np.array([0.5, 1.0, 3.0])
    assert np.allclose(token_velocity(start, beta), velocity_by_loops(start, beta), atol=1e-14)
    flow = token_flow(start, times, beta, substeps=200)
    assert np.allclose(flow, integrate(lambda x: velocity_by_loops(x, beta), start, times), atol=1e-9)
    assert np.allclose(np.linalg.norm(flow, axis=-1), 1, atol=1e-14)


def test_flow_is_of_fourth_order(key):
    start, times = random_tokens(key, 5, 4), np.array([2.0])
    fine = token_flow(start, times, 1.0, substeps=512)
    errors = [np.max(np.abs(token_flow(start, times, 1.0, substeps=m) - fine)) for m in (8, 16, 32)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 3.5) & (orders < 5))


def test_flow_commutes_with_rotations_and_relabelling(key):
    start, times = random_tokens(key, 5, 3), np.array([1.5])
    rotation = np.linalg.qr(random_tokens(jax.random.fold_in(key, 1), 3, 3))[0]
    order = np.array([3, 0, 4, 1, 2])
    plain = token_flow(start, times, 2.0)[0]
    assert np.allclose(token_flow(start @ rotation, times, 2.0)[0], plain @ rotation, atol=1e-13)
    assert np.allclose(token_flow(start[order], times, 2.0)[0], plain[order], atol=1e-13)


def test_flow_differentiates_and_batches(key):
    starts, times = random_tokens(key, 3, 4, 3), np.array([0.3, 0.6])
    batched = jax.vmap(lambda x: token_flow(x, times, 1.0))(starts)
    assert np.allclose(batched[1], token_flow(starts[1], times, 1.0), atol=1e-14)

    def last_energy(beta):
        return interaction_energy(token_flow(starts[0], times, beta)[-1])

    slope = (last_energy(1.0 + 1e-5) - last_energy(1.0 - 1e-5)) / 2e-5
    assert jax.grad(last_energy)(1.0) == pytest.approx(float(slope), rel=1e-6)


def test_single_precision_stays_single(key):
    start = jnp.asarray(random_tokens(key, 4, 3), jnp.float32)
    assert token_flow(start, np.array([1.0]), 1.0).dtype == jnp.float32
    assert token_velocity(start, 1.0).dtype == jnp.float32
    assert interaction_energy(start, 1.0).dtype == jnp.float32


def test_attention_is_uniform_when_hot_and_greedy_when_cold(key):
    tokens = random_tokens(key, 6, 3)
    assert np.allclose(attention_matrix(tokens, 0.0), 1 / 6)
    assert np.allclose(attention_matrix(tokens, 3.0).sum(axis=1), 1)
    assert np.allclose(attention_matrix(tokens, 1e4), np.eye(6), atol=1e-8)


@pytest.mark.item("J14.8")
@pytest.mark.parametrize("beta", [0.0, 3.0])
def test_tokens_on_the_circle_are_kuramoto_oscillators(key, beta):
    angles = 2 * np.pi * np.asarray(jax.random.uniform(key, (9,)))

    def circle(angles):
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

    def slow_kuramoto(angles):
        out = np.zeros_like(angles)
        for i, a in enumerate(angles):
            weights = np.exp(beta * np.cos(angles - a))
            out[i] = np.sum(weights * np.sin(angles - a)) / weights.sum()
        return out

    assert np.allclose(kuramoto_velocity(angles, beta), slow_kuramoto(angles), atol=1e-14)
    times = np.array([1.0, 4.0])
    flow = token_flow(circle(angles), times, beta, substeps=400)
    assert np.allclose(flow, circle(integrate(slow_kuramoto, angles, times)), atol=1e-8)


def test_without_temperature_cross_ratios_never_change(key):
    """At β = 0 one Möbius map of the sphere moves all tokens, so (1−g_ij)(1−g_kl)/((1−g_ik)(1−g_jl)) is conserved."""
    start = random_tokens(key, 6, 4)

    def cross_ratios(tokens):
        gap = 1 - np.asarray(tokens) @ np.asarray(tokens).T
        return np.array([gap[0, 1] * gap[k, m] / (gap[0, k] * gap[1, m]) for k, m in ((2, 3), (4, 5), (3, 5))])

    later = token_flow(start, np.array([3.0]), 0.0, substeps=300)[0]
    assert not np.allclose(later, start, atol=0.1)
    assert np.allclose(cross_ratios(later), cross_ratios(start), rtol=1e-6)
    warm = token_flow(start, np.array([3.0]), 1.0, substeps=300)[0]
    assert not np.allclose(cross_ratios(warm), cross_ratios(start), rtol=1e-2)


@pytest.mark.item("J14.8")
@pytest.mark.parametrize(("n", "d"), [(32, 2), (32, 3), (16, 10)])
def test_random_starts_reach_one_cluster(key, n, d):
    starts = random_tokens(key, 20, n, d)
    times = jax.vmap(lambda x: consensus_time(x, 0.0))(starts)
    assert np.all(np.isfinite(times))
    late = token_flow(starts[0], np.array([float(times[0])]), 0.0, substeps=300)[0]
    assert cluster_count(late, 1e-5) == 1
    assert pair_overlaps(late).min() > 1 - 1.1e-6


def test_consensus_time_of_two_tokens_is_known():
    exact = equiangular_time(1 - 1e-6, 2, 1.5, start=-0.9)
    measured = float(consensus_time(equiangular_tokens(2, -0.9), 1.5, 1e-6, 0.01))
    assert exact <= measured <= exact + 0.011


def test_antipodal_tokens_never_meet():
    poles = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert float(consensus_time(poles, 0.0, 1e-6, 0.1, 50.0)) == np.inf
    assert np.all(np.asarray(token_velocity(poles, 2.0)) == 0)


@pytest.mark.item("J14.9")
@pytest.mark.parametrize("beta", [0.0, 1.7])
def test_energy_climbs_at_twice_the_squared_speed(key, beta):
    start = random_tokens(key, 7, 3)

    def energy(x):
        total = sum(np.dot(a, b) if beta == 0 else (np.exp(beta * np.dot(a, b)) - 1) / beta for a in x for b in x)
        return total / len(x)

    assert float(interaction_energy(start, beta)) == pytest.approx(energy(start), rel=1e-13)
    path = np.asarray(token_flow(start, np.linspace(0.05, 6, 120), beta))
    assert np.all(np.diff([energy(x) for x in path]) > 0)

    speed = velocity_by_loops(start, beta)
    partition = np.exp(beta * start @ start.T).sum(axis=1)
    around = [np.asarray(token_flow(start, np.array([h]), beta, substeps=4)[0]) for h in (1e-4, -1e-4)]
    measured = (energy(around[0]) - energy(around[1])) / 2e-4
    assert measured == pytest.approx(2 / 7 * np.sum(partition * np.sum(speed**2, axis=1)), rel=1e-6)


@pytest.mark.item("J14.5")
@pytest.mark.parametrize("beta", [0.0, 1.0, 3.0])
def test_gaps_close_like_exp_minus_two_t(key, beta):
    start = random_tokens(key, 6, 4) + 2 * np.eye(4)[0]
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    late = token_flow(start, np.array([6.0, 7.0]), beta, substeps=200)
    first, second = 1 - pair_overlaps(late[0]), 1 - pair_overlaps(late[1])
    assert np.allclose(np.log(first / second), 2, atol=1e-2)


def test_clusters_are_counted():
    tokens = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert cluster_count(tokens) == 3
    assert sorted(pair_overlaps(tokens)) == [-1, -1, 0, 0, 0, 1]


@pytest.mark.item("J14.14")
def test_overlaps_of_given_states():
    states = np.array([[[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [[1.0, 0.0], [5.0, 0.0], [-1.0, 0.0]]])
    half = np.sqrt(0.5)
    assert np.allclose(pair_overlaps(states), [[0, half, half], [1, -1, -1]])
    with pytest.raises(ValueError, match="not be zero"):
        pair_overlaps(np.zeros((1, 2, 2)))


def test_steps_are_checked(key):
    with pytest.raises(ValueError, match=r"substeps must .*, got 0"):
        token_flow(random_tokens(key, 2, 2), np.array([1.0]), 1.0, substeps=0)


@pytest.mark.parametrize("times", [[0.0, 1.0, 5.0, 50.0], [1.0, 0.5], [0.5, -1.0]])
def test_steps_too_long_and_times_that_turn_back_have_no_answer(key, times):
    with pytest.raises(ValueError, match=r"^token_flow has no answer for these values"):
        token_flow(random_tokens(key, 6, 3), np.array(times), 2.0)


def test_with_more_steps_late_times_are_reached(key):
    late = np.asarray(token_flow(random_tokens(key, 6, 3), np.array([0.0, 1.0, 5.0, 50.0]), 2.0, substeps=200))[-1]
    assert np.allclose(late @ late.T, 1.0, atol=1e-9)
