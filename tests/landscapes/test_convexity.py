"""Gaps and constants against values worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes.convexity import (
    LogCoshLoss,
    QuarticCone,
    chord_gap,
    deepest_chord,
    regularity_constants,
    tangent_gap,
)
from deeptheory.landscapes.symmetry import NeuronSumLoss


def cube(w):
    return jnp.sum(w**3)


def test_gaps_of_a_cube():
    one, minus = jnp.array([1.0]), jnp.array([-2.0])
    # ¼·1 + ¾·(−8) − (¼ − 3/2)³ and −8 − 1 − 3·(−3)
    assert chord_gap(cube, one, minus, 0.25) == pytest.approx(0.25 - 6 + 1.25**3)
    assert tangent_gap(cube, one, minus) == pytest.approx(0.0)
    assert tangent_gap(cube, minus, one) == pytest.approx(1 + 8 - 12 * 3)


@pytest.mark.item("L5.3", "H4.2")
def test_the_deepest_chord_is_a_proof():
    points = jnp.array([[-1.0], [0.5], [2.0]])
    # x³: the chord from −1 to ½ is deepest, (1 − a)/8 − a − ((1 − a)/2 − a)³; tried at every pair and share.
    found = deepest_chord(cube, points, shares=99)
    gaps = {
        (i, j, a): a * x**3 + (1 - a) * y**3 - (a * x + (1 - a) * y) ** 3
        for i, x in enumerate((-1.0, 0.5, 2.0))
        for j, y in enumerate((-1.0, 0.5, 2.0))
        for a in np.arange(1, 100) / 100
        if i < j
    }
    (i, j, a), gap = min(gaps.items(), key=lambda each: each[1])
    assert float(found.gap) == pytest.approx(gap) and float(found.share) == pytest.approx(a)
    assert float(found.first[0]) == float(points[i, 0]) and float(found.second[0]) == float(points[j, 0])
    assert float(chord_gap(cube, found.first, found.second, found.share)) == pytest.approx(gap)
    # A network and itself with its neurons exchanged: two global minima, and a hill between.
    inputs = np.random.default_rng(0).standard_normal((20, 3))
    teacher = np.array([[1.5, -1.0, 0.3], [-1.0, 0.4, 1.2]])
    loss = NeuronSumLoss(jnp.asarray(inputs), jnp.asarray(np.tanh(inputs @ teacher.T).sum(1)))
    pair = jnp.asarray(np.stack([teacher.ravel(), teacher[::-1].ravel()]))
    assert float(deepest_chord(loss, pair).gap) < -0.1
    convex = LogCoshLoss(jnp.asarray(inputs), jnp.ones(20))
    assert float(deepest_chord(convex, jnp.asarray(inputs)).gap) > 0
    with pytest.raises(ValueError, match="two or more, got 1"):
        deepest_chord(cube, jnp.ones((1, 1)))


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
