"""Martingales on trees and stopped walks against simulation, brute force and each other."""

from itertools import product

import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration import martingales as m


def test_tree_by_walking_every_path(key):
    draw = generator(key)
    up, down = draw.uniform(0, 2, (2, 7))
    found = {}
    for path in product((0, 1), repeat=3):
        node, chance, steps = 0, 1.0, []
        for choice in path:
            rise = down[node] / (up[node] + down[node])
            chance *= rise if choice == 0 else 1 - rise
            steps.append(up[node] if choice == 0 else -down[node])
            node = 2 * node + 1 + choice
        found[tuple(np.round(steps, 12))] = chance
    tree = m.tree_martingale(up, down)
    ours = {tuple(np.round(steps, 12)): p for steps, p in zip(tree.increments, tree.probabilities, strict=True)}
    assert ours.keys() == found.keys()
    assert all(ours[steps] == pytest.approx(found[steps]) for steps in found)


def test_tree_is_a_martingale_also_where_it_rests(key):
    draw = generator(key)
    up, down = draw.uniform(0, 1, (2, 5, 31))
    up[:, :4], down[1] = 0.0, 0.0
    tree = m.tree_martingale(up, down)
    np.testing.assert_allclose(tree.probabilities.sum(-1), 1)
    np.testing.assert_allclose((tree.probabilities * tree.values()).sum(-1), 0, atol=1e-14)
    assert np.all(tree.square_function()[1] == 0)


def test_stopped_walk_obeys_optional_stopping():
    places, times, chances = m.stopped_walk(400, lambda time, x: (x >= 3) | (x <= -5))
    left = chances[times == 400].sum()
    assert chances.sum() == pytest.approx(1)
    assert chances @ places == pytest.approx(0, abs=1e-12)
    assert chances @ places**2 == pytest.approx(chances @ times)
    assert chances[places == 3].sum() == pytest.approx(5 / 8, abs=left)
    assert chances @ times == pytest.approx(15, abs=400 * left)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_walk_until_one_is_the_stopped_walk(steps):
    closed = m.walk_until_one(steps)
    stepped = m.stopped_walk(steps, lambda time, x: x == 1)
    for power in (0, 1, 2, 3):
        for part in (0, 1):
            left, right = (law[2] @ law[part] ** power for law in (closed, stepped))
            assert left == pytest.approx(right, abs=1e-10)


def test_bounded_differences_by_definition(key):
    table = generator(key).uniform(0, 1, (2, 3, 2, 4))
    expected = [
        max(abs(table[(*a,)] - table[(*b,)]) for a in np.ndindex(table.shape) for b in np.ndindex(table.shape)
            if all((x == y) or j == i for j, (x, y) in enumerate(zip(a, b, strict=True))))
        for i in range(4)
    ]  # fmt: skip
    np.testing.assert_allclose(m.bounded_differences(table, variables=4), expected)
    assert m.bounded_differences(np.stack([table, 2 * table]), variables=4).shape == (2, 4)


def test_product_law_and_bounds():
    np.testing.assert_allclose(m.product_law(np.asarray([0.25, 0.5])), [0.375, 0.375, 0.125, 0.125])
    several = np.asarray([[[0.25, 0.5], [0.5, 0.1], [1.0, 0.2]]] * 2)
    np.testing.assert_allclose(m.product_law(several)[1, 2], [0, 0, 0.8, 0.2])
    assert m.log_azuma(3.0, np.asarray([1.0, 2.0])) == pytest.approx(-0.9)
    assert m.log_azuma_ranges(3.0, np.asarray([1.0, 2.0])) == pytest.approx(-3.6)
    assert m.log_mcdiarmid(3.0, np.asarray([1.0, 2.0])) == pytest.approx(-3.6)
    assert m.moment_norm(np.asarray([3.0, -1.0]), np.asarray([0.5, 0.5]), 2.0) == pytest.approx(5**0.5)


def test_burkholder_constants():
    assert m.burkholder_constants(4.0) == pytest.approx((1 / 3, 3))
    assert m.burkholder_constants(1.25) == pytest.approx((1 / 4, 4))
    with pytest.raises(ValueError, match=r"power must lie in \(1, ∞\)"):
        m.burkholder_constants(1.0)


def test_bad_trees_are_refused():
    with pytest.raises(ValueError, match="nodes"):
        m.tree_martingale(np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match="nonnegative"):
        m.tree_martingale(np.ones(3), -np.ones(3))
