from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from deeptheory.networks.pieces import (
    PiecewiseAffine,
    integral,
    l1_distance,
    network_function,
    network_piece_bound,
    relu_nodes,
)
from deeptheory.networks.tent import (
    fit_sawtooth,
    follow_sawtooth,
    sawtooth,
    sawtooth_distance_bound,
    sharper_sawtooth_distance_bound,
    tent_layers,
)


@pytest.mark.item("L4.13", "H1.6")
@pytest.mark.parametrize("iterates", [1, 3, 6, 10])
@pytest.mark.parametrize("units", [2, 3])
def test_iterates_have_exactly_two_to_the_n_pieces(iterates, units):
    f = network_function(tent_layers(iterates, units=units))
    assert f.count_on(0, 1) == 2**iterates
    assert integral(f) == Fraction(1, 2)
    assert relu_nodes(tent_layers(iterates, units=units)) == units * iterates


@pytest.mark.item("L4.13")
def test_iterates_are_repeated_application_and_the_closed_form():
    def tent(x):
        return min(2 * x, 2 - 2 * x) if 0 <= x <= 1 else Fraction(0)

    points = [Fraction(j, 97) for j in range(-10, 110)]
    for iterates in (1, 2, 5):
        f = network_function(tent_layers(iterates))
        expected = points
        for _ in range(iterates):
            expected = [tent(x) for x in expected]
        assert [f(x) for x in points] == expected
        rational = np.array([x for x in points if 0 <= x <= 1])
        assert sawtooth(iterates, rational).tolist() == [f(x) for x in rational]
        inside = rational.astype(float)
        np.testing.assert_allclose(sawtooth(iterates, inside), [float(f(x)) for x in inside], atol=1e-9)
        zeros = [Fraction(j, 2 ** (iterates - 1)) for j in range(2 ** (iterates - 1) + 1)]
        assert all(f(x) == 0 for x in zeros)
        assert len(f.pieces) == 2**iterates + 2


@pytest.mark.item("L4.13", "L4.14")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nodes_and_layers_as_the_theorem_counts_them(depth):
    iterates = depth**2 + 2
    layers = tent_layers(iterates, merged=False)
    assert (relu_nodes(layers), len(layers)) == (3 * depth**2 + 6, 2 * depth**2 + 4)
    assert len(tent_layers(iterates)) == iterates + 1
    if depth < 3:
        assert network_function(layers) == network_function(tent_layers(iterates))


@pytest.mark.item("L4.14")
def test_distance_bound_against_every_spline_on_a_grid():
    # Every continuous spline with knots in eighths and values in halves, on a grid fine enough to be exact.
    cells = 512
    x = (np.arange(cells) + 0.5) / cells
    target = sawtooth(3, x)
    values = np.array(list(product((-0.5, 0, 0.5, 1, 1.5), repeat=4)))
    for pieces in (1, 2, 3):
        least = np.inf
        for knots in combinations(np.arange(1, 8) / 8, pieces - 1):
            hats = np.array([np.interp(x, (0, *knots, 1), row) for row in np.eye(pieces + 1)])
            chosen = np.unique(values[:, : pieces + 1], axis=0)
            least = min(least, np.abs(chosen @ hats - target).mean(axis=1).min())
        assert least >= float(sawtooth_distance_bound(3, pieces)) - 1e-12


@pytest.mark.item("L4.14")
def test_surviving_triangles_against_every_way_to_cross_the_line():
    # Crossings sit between triangles (even places) or inside one (odd places, which spoils it).
    for iterates, pieces in product((2, 3, 4), (1, 2, 3)):
        triangles = 2**iterates - 1
        own = np.arange(triangles) % 2
        fewest = triangles
        for crossings in range(pieces + 1):
            for places in combinations(range(2 * triangles + 1), crossings):
                side = np.array([sum(place <= 2 * j for place in places) for j in range(triangles)]) % 2
                whole = np.isin(2 * np.arange(triangles) + 1, places, invert=True)
                fewest = min(fewest, int(np.sum(whole & (side == own))), int(np.sum(whole & (side != own))))
        area = Fraction(1, 2 ** (iterates + 2))
        assert sawtooth_distance_bound(iterates, pieces) <= fewest * area
        sharper = sharper_sawtooth_distance_bound(iterates, pieces)
        assert sawtooth_distance_bound(iterates, pieces) <= sharper <= fewest * area
        assert fewest * area < sharper + area


@pytest.mark.item("L4.14")
def test_numbers_of_the_theorem():
    assert network_piece_bound(4, 2) == 16
    assert sawtooth_distance_bound(6, 16) == Fraction(31, 512)
    assert all(sawtooth_distance_bound(d * d + 2, 2 ** (d * d)) >= Fraction(1, 32) for d in range(1, 30))
    assert sharper_sawtooth_distance_bound(3, 3) == Fraction(3, 64)
    # The step (2·2^L/L)^L ≤ 2^(L²) needs L ≥ 2.
    assert network_piece_bound(2, 1) > 2
    assert all(network_piece_bound(2**d, d) <= 2 ** (d * d) for d in range(2, 12))
    assert l1_distance(network_function(tent_layers(3)), PiecewiseAffine.line(0, Fraction(1, 2))) == Fraction(1, 4)


@pytest.mark.item("L4.14")
def test_best_two_knot_spline(key):
    cells = 1024
    x = (np.arange(cells) + 0.5) / cells
    target = sawtooth(3, x)

    def error(p):
        return np.abs(np.interp(x, [0, *np.sort(p[:2]), 1], p[2:]) - target).mean()

    search = differential_evolution(error, [(0, 1)] * 2 + [(-1, 2)] * 4, seed=1, maxiter=150, polish=False)
    fitted = network_function(fit_sawtooth(key, 3, (2,), starts=32, steps=300))
    reached = float(l1_distance(network_function(tent_layers(3)), fitted))
    assert search.fun == pytest.approx(0.20, abs=0.01)
    assert search.fun - 2e-3 <= reached <= search.fun + 0.02


@pytest.mark.item("H1.6")
def test_following_network_has_the_stated_distance():
    f = network_function(tent_layers(5))
    for units in (2, 7, 31):
        layers = follow_sawtooth(5, units)
        assert relu_nodes(layers) == units
        g = network_function(layers)
        assert l1_distance(f, g) == Fraction(1, 4) * (1 - (units - Fraction(3, 2)) / 32)
        assert sawtooth_distance_bound(5, g.count_on(0, 1)) <= l1_distance(f, g)


def test_doors(key):
    for call, message in [
        (lambda: tent_layers(0), "at least 1"),
        (lambda: tent_layers(2, units=4), "2 or 3"),
        (lambda: sawtooth_distance_bound(3, 0), "pieces ≥ 1"),
        (lambda: follow_sawtooth(2, 5), "between 2 and 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
