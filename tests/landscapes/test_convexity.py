"""Gaps and constants against values worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes.convexity import LogCoshLoss, QuarticCone, chord_gap, regularity_constants, tangent_gap


def cube(w):
    return jnp.sum(w**3)


def test_gaps_of_a_cube():
    one, minus = jnp.array([1.0]), jnp.array([-2.0])
    # ¼·1 + ¾·(−8) − (¼ − 3/2)³ and −8 − 1 − 3·(−3)
    assert chord_gap(cube, one, minus, 0.25) == pytest.approx(0.25 - 6 + 1.25**3)
    assert tangent_gap(cube, one, minus) == pytest.approx(0.0)
    assert tangent_gap(cube, minus, one) == pytest.approx(1 + 8 - 12 * 3)


def test_constants_at_single_points():
    found = regularity_constants(cube, jnp.array([[0.0], [2.0]]), jnp.zeros(1))
    np.testing.assert_allclose(found, (144 / 8, 24 / 8, 24 / 4))
    cone = regularity_constants(QuarticCone(), jnp.array([[0.5], [-3.0]]), jnp.zeros(1))
    np.testing.assert_allclose(cone, (min(0.25 / 0.0625, 16 / 9), min(4.0, 12 / 9), min(1.0, 12 / 9)))


def test_constants_around_a_minimizer_that_is_not_the_origin():
    """½·4(w − 3)² − 7 in one coordinate, ½(v + 1)² in the other: at (4, 1) gap 4, gradient (4, 2), away (1, 2)."""
    function = lambda w: 2 * (w[0] - 3) ** 2 + (w[1] + 1) ** 2 / 2 - 7  # noqa: E731
    found = regularity_constants(function, jnp.array([[4.0, 1.0], [3.0, -1.0]]), jnp.array([3.0, -1.0]))
    np.testing.assert_allclose(found, (20 / 4, 8 / 4, 8 / 5))


def test_log_cosh_and_cone_by_hand():
    loss = LogCoshLoss(jnp.array([[1.0, 2.0]]), jnp.array([1.0]))
    assert loss(jnp.array([1.0, 1.0])) == pytest.approx(np.log(np.cosh(2.0)))
    assert QuarticCone()(jnp.array([0.5, -3.0])) == pytest.approx(0.0625 + 9.0)
