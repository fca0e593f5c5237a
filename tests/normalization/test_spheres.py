"""Smoothness on the sphere in closed form, by search, and on a grid; bounds at hand-made points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.normalization import spheres
from deeptheory.normalization.any_scale import (
    first_hit,
    gradient_guarantee,
    guaranteed_share,
    large_norm_steps,
    overshoot_bound,
    small_norm_growth,
    small_norm_steps,
    steps_from_any_scale,
    turning_square,
)


def norm_of_hessian(function, w):
    return np.abs(np.linalg.eigvalsh(np.asarray(jax.hessian(function)(jnp.asarray(w))))).max()


@pytest.mark.item("A13.15")
def test_the_hessian_of_an_angle_and_of_a_quotient():
    waves = spheres.CircleWaves(jnp.array([-1.0, 0.3]), jnp.array([0.2, -0.5]))
    for angle in (0.3, 2.0, -1.1):
        formula = spheres.circle_smoothness(*waves.slope_and_curvature(angle))
        assert norm_of_hessian(waves, [np.cos(angle), np.sin(angle)]) == pytest.approx(float(formula), rel=1e-4)
    cosine = spheres.CircleWaves(jnp.array([-1.0]), jnp.array([0.0]))
    grid = jnp.linspace(0, 2 * jnp.pi, 20001)
    largest = spheres.circle_smoothness(*cosine.slope_and_curvature(grid)).max()
    assert largest == pytest.approx(2 / np.sqrt(3), rel=1e-6)
    quotient = spheres.RayleighQuotient(jnp.diag(jnp.array([1.0, 2.0, 4.5])))
    assert quotient.smoothness == pytest.approx(7.0)
    assert norm_of_hessian(quotient, [1.0, 0.0, 0.0]) == pytest.approx(7.0, rel=1e-5)


@pytest.mark.item("A13.14")
@pytest.mark.slow
def test_a_search_finds_the_smoothness():
    starts = np.random.default_rng(0).standard_normal((16, 3))
    quotient = spheres.RayleighQuotient(jnp.diag(jnp.array([-1.0, 0.5, 2.0])))
    assert spheres.sphere_smoothness(quotient, starts) == pytest.approx(6.0, rel=1e-3)
    cosine = spheres.CircleWaves(jnp.array([-1.0]), jnp.array([0.0]))
    assert spheres.sphere_smoothness(cosine, starts[:, :2]) == pytest.approx(2 / np.sqrt(3), rel=1e-4)


@pytest.mark.item("A13.19")
def test_the_steepest_circle_has_one_smoothness_everywhere_and_attains_the_sharp_bounds():
    steepest = spheres.SteepestCircle(1.7)
    for angle in (0.01, 0.5, 1.5, 1.6, 3.0, -2.0):
        assert norm_of_hessian(steepest, [np.cos(angle), np.sin(angle)]) == pytest.approx(1.7, rel=1e-3)
    top, bottom = (float(steepest(jnp.array([c, 0.0]))) for c in (-1.0, 1.0))
    assert top - bottom == pytest.approx(float(spheres.sharp_gap_bound(1.7)), rel=1e-5)
    gradient = jax.grad(steepest)(jnp.array([1e-6, 1.0]))
    assert np.linalg.norm(gradient) == pytest.approx(float(spheres.sharp_gradient_bound(1.7)), rel=1e-4)
    assert spheres.gradient_bound(2.0) == pytest.approx(2 * np.pi)
    assert spheres.gap_bound(2.0) == pytest.approx(np.pi**2)


@pytest.mark.item("A13.20")
@pytest.mark.item("A13.21")
def test_bounds_of_one_step_by_hand():
    assert spheres.orthogonal_step_bound(-0.5, 4.0, 2.0, 8.0) == -0.5 + 0.5
    assert spheres.decayed_decrease(3.0, 4.0, rate=0.5, smoothness=2.0) == pytest.approx(0.5 * 0.5 * 3)
    # kept = ¾: 1/kept = 4/3, ρη/(2·9/16·4) = 1/4.5
    sharp = spheres.sharp_decayed_decrease(3.0, 4.0, rate=0.5, decay=0.5, smoothness=2.0)
    assert sharp == pytest.approx(1.5 * (4 / 3 - 1 / 4.5))
    with pytest.raises(ValueError, match=r"rate · decay must lie in \[0, 1\), got 2.0"):
        spheres.sharp_decayed_decrease(3.0, 4.0, rate=4.0, decay=0.5, smoothness=2.0)


@pytest.mark.item("A13.18")
def test_times_and_guarantees_by_hand():
    setting = dict(rate=0.1, smoothness=2.0)
    turn = float(turning_square(**setting))
    assert turn == pytest.approx(0.2 * np.pi**2)
    decayed = setting | {"decay": 1e-3}
    assert gradient_guarantee(**decayed) == pytest.approx(8 * np.pi**4 * 4 * 1e-4)
    assert steps_from_any_scale(turn * np.e**2, **decayed) == pytest.approx(5 / 2e-4)
    assert steps_from_any_scale(turn / np.e**2, **decayed) == pytest.approx(5 / 2e-4)
    assert small_norm_steps(rate=0.1, decay=1e-3) == pytest.approx(1 / 6e-4)
    assert small_norm_growth(**decayed) == pytest.approx(turn * 6e-4 * 0.1 / 0.1)
    assert overshoot_bound(turn / 3, **setting) == pytest.approx(6 * turn)
    assert large_norm_steps(turn * np.e / 4, **decayed) == pytest.approx(1 / 2e-4)
    vacuous = 1 / (8 * np.pi**2)
    assert guaranteed_share(rate=1.0, decay=vacuous) == pytest.approx(1.0)
    at = gradient_guarantee(rate=1.0, decay=vacuous, smoothness=3.0)
    assert at == pytest.approx(float(spheres.gradient_bound(3.0)) ** 2)
    np.testing.assert_array_equal(first_hit(np.array([[False, True, True], [False] * 3])), [1.0, np.inf])
