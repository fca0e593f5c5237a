"""Leaving a saddle against plain loops, drawn points and volumes."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import special

from deeptheory.optimization import escape
from deeptheory.optimization.landscapes import CubicSaddle, Quadratic, QuarticSaddle
from deeptheory.optimization.saddle import uniform_ball

pytestmark = pytest.mark.slow


@pytest.mark.item("A7.12")
def test_leaving_times_and_width_on_a_quadratic_saddle():
    saddle = Quadratic(jnp.diag(jnp.array([-0.2, 1.0])), jnp.zeros(2))
    starts = jnp.array([[0.01, 0.0], [0.05, 0.0], [0.0, 0.3], [1e-9, 0.0]])
    times = escape.leaving_times(saddle, starts, step_size=1.0, radius=0.5, steps=30)
    by_hand = [int(np.ceil(np.log(1 + 0.5 / x) / np.log(1.2))) for x in (0.01, 0.05)]
    assert times.tolist() == [*by_hand, 31, 31]
    assert float(escape.escape_time(0.01, radius=0.5, growth=0.2)) == pytest.approx(np.log(51) / np.log(1.2))
    half = float(escape.stuck_width(0.5, growth=0.2, steps=12)) / 2
    assert half * (1.2**12 - 1) == pytest.approx(0.5)
    inside, outside = jnp.array([[0.999 * half, 0.0]]), jnp.array([[1.001 * half, 0.0]])
    setting = dict(step_size=1.0, radius=0.5, steps=12)
    assert int(escape.leaving_times(saddle, inside, **setting)[0]) == 13
    assert int(escape.leaving_times(saddle, outside, **setting)[0]) == 12


@pytest.mark.item("A7.13")
def test_slabs_of_balls_by_volumes_and_by_points(key):
    # The disc by elementary geometry, the ball by a cap's volume.
    assert float(escape.slab_share(1.0, radius=1.0, dimension=2)) == pytest.approx(1 / 3 + 3**0.5 / (2 * np.pi))
    assert float(escape.slab_share(1.0, radius=1.0, dimension=3)) == pytest.approx(11 / 16)
    assert float(escape.slab_share(5.0, radius=1.0, dimension=3)) == 1.0
    for dimension in (1, 2, 3, 10, 10_000):
        sharp, simple = escape.thin_slab_bound(0.01, radius=2.0, dimension=dimension)
        balls = np.exp(
            special.gammaln(dimension / 2 + 1) - special.gammaln((dimension - 1) / 2 + 1) - 0.5 * np.log(np.pi)
        )
        assert float(sharp) == pytest.approx(0.005 * balls, rel=1e-9)
        assert float(simple) == pytest.approx(0.005 * (dimension / np.pi) ** 0.5)
        thin = escape.slab_share(1e-5, radius=2.0, dimension=dimension)
        assert float(thin) == pytest.approx(1e-5 / 0.01 * float(sharp), rel=1e-3)
    points = uniform_ball(key, (100_000, 6), radius=0.3)
    share = escape.stuck_share(ball=0.3, radius=0.31, gain=5.0, dimension=6)
    seen = np.mean(25 * points[:, 0] ** 2 + np.sum(points[:, 1:] ** 2, 1) <= 0.31**2)
    assert abs(seen - share) < 5 * (share * (1 - share) / 100_000) ** 0.5


@pytest.mark.item("A7.14")
def test_the_split_of_coupled_runs():
    saddle = QuarticSaddle(0.3)
    first, second = jnp.array([0.03, 0.1, -0.05]), jnp.array([0.01, 0.1, -0.05])
    runs = jax.tree.map(np.asarray, escape.coupled_runs(saddle, jnp.zeros(3), first, second, step_size=0.5, steps=20))
    hessian = np.diag([-0.3, 1.0, 1.0])
    gradient = lambda x: x * (np.array([-0.3, 1, 1]) + x @ x)  # noqa: E731
    x, y = np.asarray(first), np.asarray(second)
    for t in range(21):
        np.testing.assert_allclose(runs.first[t], x, atol=1e-14)
        power = np.linalg.matrix_power(np.eye(3) - 0.5 * hessian, t) @ np.asarray(first - second)
        np.testing.assert_allclose(runs.quadratic[t], power, atol=1e-14)
        np.testing.assert_allclose(runs.quadratic[t] - runs.rest[t], x - y, atol=1e-14)
        x, y = x - 0.5 * gradient(x), y - 0.5 * gradient(y)
    grid = np.linspace(0, 1, 4001)
    hessians = [
        np.diag(np.array([-0.3, 1, 1]) + p @ p) + 2 * np.outer(p, p)
        for p in np.asarray(second) + grid[:, None] * np.asarray(first - second)
    ]
    change = np.trapezoid(hessians, grid, axis=0) - hessian
    assert runs.change[0] == pytest.approx(np.linalg.norm(change, 2), rel=1e-6)


@pytest.mark.item("A7.15")
def test_the_cubic_saddle_is_tight():
    rho, epsilon = 1.7, 0.04
    saddle = CubicSaddle((rho * epsilon) ** 0.5, rho)
    hessian = jax.hessian(saddle)
    assert float(jnp.linalg.eigvalsh(hessian(jnp.zeros(3)))[0]) == pytest.approx(-((rho * epsilon) ** 0.5))
    assert float(jnp.linalg.norm(jax.grad(saddle)(jnp.zeros(3)))) == 0.0
    points = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    matrices = np.asarray(jax.vmap(hessian)(jnp.asarray(points)))
    ratios = [
        np.linalg.norm(a - b, 2) / np.linalg.norm(x - y)
        for (a, b), (x, y) in zip(
            zip(matrices[::2], matrices[1::2], strict=True), zip(points[::2], points[1::2], strict=True), strict=True
        )
    ]
    assert max(ratios) <= rho + 1e-12
    along = [np.array([0.2, 0.0, 0.0]), np.array([0.5, 0.0, 0.0])]
    gap = np.linalg.norm(np.asarray(hessian(jnp.asarray(along[0])) - hessian(jnp.asarray(along[1]))), 2)
    assert gap == pytest.approx(rho * 0.3)
    bottom = jnp.array([2 * (epsilon / rho) ** 0.5, 0.0, 0.0])
    assert float(jnp.linalg.norm(jax.grad(saddle)(bottom))) < 1e-12
    assert float(saddle(bottom)) == pytest.approx(-2 / 3 * (epsilon**3 / rho) ** 0.5)
    assert float(saddle.minimum) == pytest.approx(float(saddle(bottom)))


@pytest.mark.item("H5.4")
def test_the_kicked_coordinate_by_a_sum_and_its_time_by_quadrature():
    """y_t is a sum of independent kicks; the law of leaving follows from P(|y_t| ≤ R) while kicks are small."""
    growth, kick = 0.1, 1e-5
    for steps in (0, 1, 2, 7):
        by_hand = kick**2 * sum((1 + growth) ** (2 * k) for k in range(steps))
        assert float(escape.kicked_variance(steps, growth=growth, kick=kick)) == pytest.approx(by_hand, rel=1e-12)
    times = np.arange(1, 600)
    spread = np.sqrt(np.asarray(escape.kicked_variance(times, growth=growth, kick=kick)))
    stays = special.erf(1 / (spread * 2**0.5))
    mean = 1 + stays.sum()  # the sum over t ≥ 0 of the probability of not having left by t
    assert float(escape.kick_escape_time(1.0, growth=growth, kick=kick)) == pytest.approx(mean, rel=1e-4)
    # A hundredth of the noise costs ln 100/ln 1.1 steps more.
    quieter = escape.kick_escape_time(1.0, growth=growth, kick=kick / 100)
    assert float(quieter) - mean == pytest.approx(np.log(100) / np.log(1.1), abs=1e-2)


def test_either_side_of_the_ridge_takes_as_long():
    """ln(1 + 8)/ln 3 = 2 steps of growth 2, from ⅛ and from −⅛ alike."""
    times = escape.escape_time(np.array([0.125, -0.125]), radius=1.0, growth=2.0)
    np.testing.assert_allclose(times, [2.0, 2.0], rtol=1e-12)


@pytest.mark.parametrize("dimension", [1, 3, 1999, 2001, 10**6, 10**10, 10**15])
def test_the_largest_slice_of_a_ball_in_any_dimension(dimension):
    with mpmath.workdps(60):
        half = mpmath.mpf(dimension) / 2
        exact = mpmath.mpf("0.5") / mpmath.sqrt(mpmath.pi) * mpmath.gammaprod([half + 1], [half + mpmath.mpf("0.5")])
        found = float(escape.thin_slab_bound(0.5, radius=1.0, dimension=dimension)[0])
        assert abs(found / exact - 1) < 1e-11
