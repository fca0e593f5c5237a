import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp

from deeptheory.dynamics.online import online_step
from deeptheory.dynamics.spiked_tensors import (
    ballistic_fixed_points,
    ballistic_velocity,
    equator_variance,
    equator_volatility,
    rest_on_the_equator,
    spiked_tensor_chain,
    spiked_tensor_loss,
    spiked_tensor_population_loss,
    spiked_tensor_samples,
    spiked_tensor_step,
    tensor_signal_threshold,
)
from deeptheory.foundations.randomness import generator


@pytest.mark.item("J12.6")
@pytest.mark.parametrize("order", [2, 3])
def test_population_loss_is_the_mean_of_the_loss(key, order):
    direction, x, signal = np.array([0.6, 0.8, 0.0]), np.array([0.5, -0.2, 0.4]), 1.3
    tensors = spiked_tensor_samples(key, direction, signal=signal, order=order, count=20_000)
    losses = np.asarray(jax.jit(jax.vmap(spiked_tensor_loss, (None, 0)))(x, tensors))
    m = x @ direction
    expected = spiked_tensor_population_loss(m, x @ x - m**2, signal=signal, order=order) + signal**2 + 3**order
    assert losses.mean() == pytest.approx(float(expected), abs=5 * losses.std() / 20_000**0.5)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_a_step_of_two_numbers_has_the_moments_of_a_step_of_the_whole_vector(key, order):
    size, signal, step, count = 4, 1.3, 0.02, 40_000
    x, direction = np.array([0.5, -0.6, 0.3, 0.2]), np.eye(4)[0]
    tensors = spiked_tensor_samples(key, direction, signal=signal, order=order, count=count)
    moved = np.asarray(jax.jit(jax.vmap(lambda y: online_step(spiked_tensor_loss, x, y, step)))(tensors))
    whole = np.stack([moved[:, 0], (moved**2).sum(1) - moved[:, 0] ** 2])
    draw = generator(jax.random.fold_in(key, 1))
    known = (*draw.standard_normal((2, count)), draw.chisquare(size - 2, count))
    m, r = x[0], x @ x - x[0] ** 2
    two = np.stack(jax.jit(lambda k: spiked_tensor_step(m, r, *k, signal=signal, step=step, order=order))(known))
    for one, other in zip(whole, two, strict=True):
        assert stats.ks_2samp(one, other).pvalue > 1e-4
    np.testing.assert_allclose(np.cov(whole), np.cov(two), rtol=0.05, atol=1e-6)


def test_chain_keeps_its_times_and_its_start(key):
    path = spiked_tensor_chain(
        key, dimension=40_000, signal=2.0, times=np.array([0.0, 0.001, 0.002]), start=(0.3, 0.7), replicas=8
    )
    np.testing.assert_array_equal(path[0], np.broadcast_to([0.3, 0.7], (8, 2)))
    slope = (path[2] - path[1]).mean(0) / 0.001
    np.testing.assert_allclose(slope, ballistic_velocity(path[1].mean(0), signal=2.0), rtol=0.25)


@pytest.mark.parametrize("count", [1, 3])
def test_chain_makes_as_many_steps_as_its_time_is_long(key, count):
    """Against steps counted by hand: the means after one step in closed form, the laws after three."""
    size, signal, replicas = 50, 2.0, 20_000
    setting = dict(signal=signal, order=2)
    ends = spiked_tensor_chain(
        key, dimension=size, times=np.array([count / size]), start=(0.3, 0.7), replicas=replicas, **setting
    )[0]
    draw, state = generator(jax.random.fold_in(key, 1)), (0.3, 0.7)
    for _ in range(count):
        known = (*draw.standard_normal((2, replicas)), draw.chisquare(size - 2, replicas))
        state = spiked_tensor_step(*state, *known, step=1 / size, **setting)
    for one, other in zip(ends.T, state, strict=True):
        assert stats.ks_2samp(one, np.asarray(other)).pvalue > 1e-4
    if count == 1:
        m = 0.3 * (1 - 4 / size * (0.09 + 0.7)) + 4 * signal / size * 0.3
        assert ends[:, 0].mean() == pytest.approx(m, abs=5 * ends[:, 0].std() / replicas**0.5)


@pytest.mark.parametrize(("order", "signal", "ratio"), [(2, 0.7, 0.5), (2, 3.0, 1.0), (3, 4.0, 1.0), (4, 9.0, 0.8)])
def test_fixed_points_rest_and_their_stability_is_what_the_equation_does(order, signal, ratio):
    setting = {"signal": signal, "order": order, "ratio": ratio}

    def written_out(t, u):
        force = order * (u[0] ** 2 + u[1]) ** (order - 1)
        return [2 * u[0] * (signal * order * u[0] ** (order - 2) - force), -4 * force * (u[1] - ratio)]

    for point in ballistic_fixed_points(**setting):
        place = np.array([point.overlap, point.rest])
        np.testing.assert_allclose(written_out(0, place), 0, atol=1e-9)
        near = place + np.array([0.1, 0.2])
        np.testing.assert_allclose(ballistic_velocity(near, **setting), written_out(0, near), rtol=1e-12)
        far = []
        for push in np.array([[1, 0], [-1, 0], [0, 1], [1, 1]]) * 1e-3:
            end = solve_ivp(written_out, (0, 30), np.abs(place + push), "LSODA", rtol=1e-8).y[:, -1]
            far.append(np.linalg.norm(end - place))
        assert (max(far) < 1e-3) == point.stable


def test_threshold_is_where_a_fixed_point_appears():
    for order in (3, 4, 5):
        least = tensor_signal_threshold(order, ratio=0.7)
        assert len(ballistic_fixed_points(signal=0.999 * least, order=order, ratio=0.7)) == 2
        assert len(ballistic_fixed_points(signal=1.001 * least, order=order, ratio=0.7)) == 4
    assert tensor_signal_threshold(3) == pytest.approx(16 / 9 * 3**0.5)
    assert tensor_signal_threshold(2, ratio=0.7) == 0.7


def test_equator_in_closed_form_solves_its_equations():
    times = np.linspace(0, 1, 5)
    for signal in (0.5, 1.0, 1.5):
        pull = 8 * (signal - 1)
        found = solve_ivp(lambda t, v, a=pull: a * v + 8, (0, 1), [0.6], t_eval=times, rtol=1e-10).y[0]
        np.testing.assert_allclose(equator_variance(times, signal=signal, start=0.6), found, rtol=1e-6)
    rest = solve_ivp(lambda t, r: -8 * r * (r - 1), (0, 1), [0.3], t_eval=times, rtol=1e-10).y[0]
    np.testing.assert_allclose(rest_on_the_equator(times, 0.3), rest, rtol=1e-6)
    assert equator_volatility(0.5) == 4.0 and equator_volatility(0.5, order=3, ratio=2.0) == 6.0


def test_velocity_is_the_population_gradient_with_its_corrector():
    m, r, signal, order = 0.4, 0.9, 1.7, 3
    slope = jax.grad(lambda u: spiked_tensor_population_loss(*u, signal=signal, order=order))(jnp.array([m, r]))
    # ⟨∇m, ∇m⟩ = 1, ⟨∇r, ∇r⟩ = 4r, and m and r are orthogonal.
    still = ballistic_velocity(np.array([m, r]), signal=signal, order=order, ratio=0.0)
    np.testing.assert_allclose(still, -np.array([1, 4 * r]) * slope, rtol=1e-12)
    corrected = ballistic_velocity(np.array([m, r]), signal=signal, order=order, ratio=0.5)
    np.testing.assert_allclose(corrected - still, [0, 4 * order * (m**2 + r) ** 2 * 0.5], atol=1e-12)
