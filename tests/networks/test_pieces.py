from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import jax
import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.foundations.randomness import generator
from deeptheory.networks.pieces import (
    Layer,
    PiecewiseAffine,
    affine_combination,
    integral,
    l1_distance,
    layers_from_arrays,
    minimal_shallow_units,
    network_function,
    network_piece_bound,
    node_piece_bound,
    pieces_on_a_grid,
    propagate,
    relu_nodes,
    shallow_layers,
    through_points,
)


def random_network(rng, widths):
    sizes = (1, *widths, 1)
    # Small integers make knots that coincide and pieces that continue one another likely, the hard cases of counting.
    return layers_from_arrays(
        [rng.integers(-3, 4, (m, n)) for n, m in pairwise(sizes)], [rng.integers(-3, 4, m) for m in sizes[1:]]
    )


def evaluate(layers, x):
    hidden = np.asarray(x, float)[None, :]
    for layer in layers:
        hidden = np.array(layer.weights, float) @ hidden + np.array(layer.biases, float)[:, None]
        hidden = np.maximum(hidden, 0) if layer.rectified else hidden
    return hidden


def random_function(rng, pieces):
    knots = sorted({int(k) for k in rng.integers(-40, 41, max(pieces - 1, 1))})
    values, outer = rng.integers(-2, 3, len(knots)).tolist(), rng.integers(-2, 3, 2).tolist()
    return through_points([Fraction(k, 8) for k in knots], values, *outer)


@pytest.mark.item("L4.10")
@pytest.mark.parametrize("widths", [(4,), (3, 3), (2, 4, 2), (5, 1, 3)])
def test_propagation_agrees_with_the_forward_pass(key, widths):
    layers = random_network(generator(key), widths)
    x = np.linspace(-6, 6, 97)
    for layer, nodes in enumerate(propagate(layers), start=1):
        expected = evaluate(layers[:layer], x)
        np.testing.assert_allclose([[float(f(t)) for t in x] for f in nodes], expected, rtol=1e-12, atol=1e-9)


@pytest.mark.item("L4.10")
def test_count_agrees_with_second_differences_on_a_dense_grid():
    # Whole-number weights up to 2 in two layers of 3 put knots on fractions with denominators up to 12, 1/144 apart.
    rng = np.random.default_rng(3)
    for _ in range(40):
        layers = random_network(rng, (3, 3))
        small = [replace(layer, weights=clipped(layer.weights), biases=clipped([layer.biases])[0]) for layer in layers]
        assert len(network_function(small).pieces) == pieces_on_a_grid(small, -16, 16, cells=2**15)


def clipped(rows):
    return tuple(tuple(max(-2, min(2, entry)) for entry in row) for row in rows)


def test_through_points():
    f = through_points([0, 1, 3], [1, -1, 0], -2, 5)
    assert [f(x) for x in (-1, 0, 1, 2, 3, 4)] == [3, 1, -1, Fraction(-1, 2), 0, 5]
    assert len(f.pieces) == 3
    with pytest.raises(ValueError, match="increase"):
        through_points([1, 1], [0, 0], 0, 0)


def test_pieces_that_continue_one_another_are_joined():
    absolute = affine_combination((1, 1), (PiecewiseAffine.line(1).relu(), PiecewiseAffine.line(-1).relu()))
    assert len(absolute.pieces) == 2
    identity = affine_combination((1, -1), (PiecewiseAffine.line(1).relu(), PiecewiseAffine.line(-1).relu()))
    assert identity == PiecewiseAffine.line(1)
    assert absolute.relu() == absolute
    assert affine_combination((-1,), (absolute,)).relu() == PiecewiseAffine.line(0)


def test_relu_cuts_only_where_the_sign_changes():
    f = PiecewiseAffine.joined([Fraction(0)], [(Fraction(1), Fraction(1)), (Fraction(-1), Fraction(1))])
    assert f.relu().knots == (-1, 0, 1)
    assert PiecewiseAffine.line(0, -2).relu() == PiecewiseAffine.line(0)
    assert PiecewiseAffine.line(0, 2).relu() == PiecewiseAffine.line(0, 2)


@pytest.mark.item("L4.11")
def test_relu_of_a_zigzag_has_half_as_many_pieces_more_and_one():
    for pieces in range(2, 9):
        # From below zero on the left, up and down across zero, once a piece.
        heights = [(-1) ** knot for knot in range(pieces - 1)]
        f = through_points(list(range(pieces - 1)), heights, 2, 2 if heights[-1] < 0 else -2)
        assert (len(f.pieces), len(f.relu().pieces)) == (pieces, 1 + pieces + pieces // 2)
    assert len(PiecewiseAffine.line(1).relu().pieces) == 2


@pytest.mark.item("L4.11")
def test_piece_calculus():
    rng = np.random.default_rng(11)
    tight_relu = tight_sum = False
    for _ in range(1000):
        functions = [random_function(rng, int(rng.integers(1, 8))) for _ in range(int(rng.integers(1, 5)))]
        counts = [len(f.pieces) for f in functions]
        relu, total = len(functions[0].relu().pieces), len(affine_combination([1] * len(functions), functions).pieces)
        assert relu <= 2 * counts[0]
        assert total <= sum(count - 1 for count in counts) + 1 <= sum(counts)
        tight_relu |= relu == 2 * counts[0] and counts[0] > 1
        tight_sum |= total == sum(count - 1 for count in counts) + 1 and len(counts) > 1
    assert tight_relu and tight_sum


@pytest.mark.item("L4.12")
def test_piece_bounds_of_networks():
    rng = np.random.default_rng(5)
    for _ in range(100):
        widths = tuple(int(w) for w in rng.integers(1, 7, int(rng.integers(1, 5))))
        layers = random_network(rng, widths)
        *hidden, (output,) = propagate(layers)
        for i, nodes in enumerate(hidden, start=1):
            assert max(len(f.pieces) for f in nodes) <= node_piece_bound(widths, i)
        exact = 2 ** len(widths) * np.prod(widths, dtype=int)
        assert len(output.pieces) <= exact <= network_piece_bound(sum(widths), len(widths))
        assert relu_nodes(layers) == sum(widths)


def test_bounds_by_hand():
    assert [node_piece_bound((3, 5, 2), i) for i in (1, 2, 3)] == [2, 12, 120]
    assert network_piece_bound(4, 2) == 16
    assert network_piece_bound(5, 2) == 25


def test_distance_and_integral_against_adaptive_quadrature():
    rng = np.random.default_rng(8)
    for _ in range(5):
        f, g = (random_function(rng, 6) for _ in range(2))
        breaks = sorted({float(k) for h in (f, g) for k in h.knots if -2 < k < 3})
        numeric, _ = quad(lambda t, f=f, g=g: abs(float(f(t) - g(t))), -2, 3, points=breaks, limit=400)
        assert float(l1_distance(f, g, -2, 3)) == pytest.approx(numeric, abs=1e-7)
        numeric, _ = quad(lambda t, f=f: float(f(t)), -2, 3, points=breaks, limit=400)
        assert float(integral(f, -2, 3)) == pytest.approx(numeric, abs=1e-9)


def test_shallow_network_reproduces_a_function_on_its_interval():
    rng = np.random.default_rng(2)
    for _ in range(10):
        f = random_function(rng, 7)
        layers = shallow_layers(f, -3, 3)
        g = network_function(layers)
        assert l1_distance(f, g, -3, 3) == 0
        assert relu_nodes(layers) == f.count_on(-3, 3)


@pytest.mark.item("H1.6")
def test_minimal_shallow_units_by_hand():
    relu = PiecewiseAffine.line(1).relu()
    absolute = affine_combination((1, 1), (relu, PiecewiseAffine.line(-1).relu()))
    assert minimal_shallow_units(relu, -1, 1) == 1
    assert minimal_shallow_units(PiecewiseAffine.line(-2).relu(), -1, 1) == 1
    assert minimal_shallow_units(absolute, -1, 1) == 2
    assert minimal_shallow_units(PiecewiseAffine.line(0, 3), -1, 1) == 0
    assert minimal_shallow_units(PiecewiseAffine.line(1, 3), -1, 1) == 1
    # Two units facing left and right reach a trough with a flat bottom, which three pieces would allow.
    trough = affine_combination((1, 1), (PiecewiseAffine.line(1, -1).relu(), PiecewiseAffine.line(-1, -1).relu()))
    assert minimal_shallow_units(trough, -2, 2) == 2


def test_doors():
    with pytest.raises(ValueError, match="low < high"):
        integral(PiecewiseAffine.line(1), 1, 0)
    with pytest.raises(ValueError, match="2 coefficients"):
        affine_combination((1, 2), (PiecewiseAffine.line(1),))
    with pytest.raises(ValueError, match="layer 1 needs rows of 1"):
        propagate([Layer(((1,),), (0,)), Layer(((1, 2),), (0,))])
    with pytest.raises(ValueError, match="between 1 and 2"):
        node_piece_bound((3, 3), 0)
    with pytest.raises(ValueError, match="nodes ≥ layers"):
        network_piece_bound(1, 2)


def test_float_weights_count_as_the_rationals_they_are():
    rng = generator(jax.random.key(1))
    weights = [rng.standard_normal((5, 1)), rng.standard_normal((1, 5))]
    layers = layers_from_arrays(weights, [rng.standard_normal(5), np.zeros(1)])
    assert len(network_function(layers).pieces) == 6


@pytest.mark.parametrize("scale", [Fraction(1, 10**12), Fraction(1), Fraction(10**12)])
def test_a_grid_sees_the_pieces_of_small_and_large_functions(scale):
    tent = shallow_layers(through_points([0, scale], [0, scale], left_slope=1, right_slope=-1), -scale, 2 * scale)
    assert pieces_on_a_grid(tent, -2 * scale, 3 * scale, cells=64) == len(network_function(tent).pieces)
    with pytest.raises(ValueError, match="cells must lie in"):
        pieces_on_a_grid(tent, 0, scale, cells=1)
