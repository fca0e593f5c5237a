"""Counting affine pieces: sums, nodes and outputs of ReLU networks, and the depth at which the bound is largest."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.networks.pieces import (
    affine_combination,
    layers_from_arrays,
    network_function,
    network_piece_bound,
    node_piece_bound,
    propagate,
    relu_nodes,
    through_points,
)
from deeptheory.networks.tent import tent_layers


def random_pieces(draw, knots):
    """A continuous piecewise affine function with this many knots, rational ones of a grid of its own."""
    places = np.sort(draw.choice(10**6, knots, replace=False)).tolist()
    values = draw.integers(-9, 10, knots).tolist()
    return through_points([Fraction(place, 997) for place in places], values, *draw.integers(-3, 4, 2).tolist())


def random_layers(draw, widths):
    """A network of random weights in sixteenths: rational numbers that stay short when breakpoints are propagated."""
    sizes = (1, *widths, 1)
    weights = [draw.integers(-32, 33, (m, n)) / 16 for n, m in pairwise(sizes)]
    return layers_from_arrays(weights, [draw.integers(-32, 33, m) / 16 for m in sizes[1:]])


@claim(
    items={
        "L4.21": (
            "pieces of sums",
            "pieces of nodes",
            "pieces of outputs",
            "bounds by hand",
            "best depth",
            "largest bound",
        )
    },
    says="Sums of piecewise affine functions have at most as many pieces as their terms together, a node in layer "
    r"$i$ at most $2^i\prod_{j<i}m_j$ and the output of $L$ layers with $m$ nodes at most $(2m/L)^L$. That bound is "
    "largest at a whole $L$ next to $2m/e$, where it is about $e^{2m/e}$.",
    needs="ReLU networks with one input",
    symbols={
        "m_j": "the nodes of layer $j$",
        "m": "the nodes of all layers together",
        "L": "the number of layers",
        "e": "Euler's number, 2.718…",
    },
    why="A sum can bend only where one of its terms bends, and a ReLU cuts each piece in two at most; so each layer "
    "multiplies by twice its width. A product of widths with a given sum is largest if they are equal, which gives "
    r"$(2m/L)^L$. Its logarithm $L\log(2m/L)$ has derivative $\log(2m/L)-1$, zero at $L=2m/e$: layers of 1.36 nodes. "
    "Bounds are no networks: ones so narrow are hard to train, and random ones have far fewer pieces.",
    notice="The bound rises steeply with the depth up to $2m/e$ and falls after. Random networks with the same nodes "
    "do not follow it: their pieces become fewer with the depth, down to one in the deepest, where a layer of one "
    "node often lets nothing pass. Tents, three nodes a layer, show that depth can pay.",
)
def depth_of_the_largest_piece_bound(key, *, nodes: Annotated[int, Interval(ge=6, le=24)] = 12):
    draw = generator(key)
    counted, allowed, lone, values = [], [], [], []
    points = [Fraction(k * 10**6, 4 * 997) + Fraction(1, 3) for k in range(-1, 6)]  # between knots and beyond them
    for terms in (1, 2, 3, 5, 8):
        functions = [random_pieces(draw, int(knots)) for knots in draw.integers(1, 7, terms)]
        shares = draw.integers(1, 9, terms).tolist()
        total = affine_combination(shares, functions, 5)
        summed = [sum(c * f(x) for c, f in zip(shares, functions, strict=True)) + 5 for x in points]
        values.append([[total(x) for x in points], summed])
        counted.append(len(total.pieces))
        allowed.append(sum(len(f.pieces) for f in functions))
        lone.append(sum(len(f.pieces) - 1 for f in functions))
    networks = [random_layers(draw, widths) for widths in ((4,), (3, 3), (2, 4, 2), (1, 1), (1, 1, 1))]
    seen_nodes, node_bounds, outputs, output_bounds, depths = [], [], [], [], []
    for layers in [*networks, *(tent_layers(n) for n in (1, 2, 3))]:
        widths = [len(layer.biases) for layer in layers if layer.rectified]
        for depth, level in enumerate(propagate(layers)[: len(widths)], start=1):
            seen_nodes.append(max(len(f.pieces) for f in level))
            node_bounds.append(node_piece_bound(widths, depth))
        outputs.append(len(network_function(layers).pieces))
        output_bounds.append(float(network_piece_bound(relu_nodes(layers), len(widths))))
        depths.append(len(widths))
    totals = np.arange(2, 65)
    best = [max(range(1, m + 1), key=lambda L, m=m: network_piece_bound(m, L)) for m in totals.tolist()]
    stationary = 2 * totals / np.e
    sizes = np.array([17, 32, 36, 70, 123])  # most of them with 2m/e nearly midway between whole numbers
    tops = [max(L * np.log(2 * m / L) for L in range(1, m + 1)) for m in sizes.tolist()]
    random_counts = [
        np.mean([len(network_function(random_layers(draw, [nodes // L] * L)).pieces) for _ in range(12)])
        for L in range(1, nodes + 1)
        if nodes % L == 0
    ]
    return {
        "pieces of sums": Inequality(
            np.array(counted), np.array(allowed), along={"terms": [1, 2, 3, 5, 8]}, aside={"knots": np.array(lone)}
        ),
        "values of sums": Exact(*np.swapaxes(values, 0, 1)),
        "pieces of nodes": Inequality(np.array(seen_nodes), np.array(node_bounds)),
        "pieces of outputs": Inequality(
            np.array(outputs), np.array(output_bounds), along={"layers": np.array(depths)},
            aside={"random": np.array(random_counts), "nodes": np.array(nodes)},
        ),
        # What networks reach shows only a bound that is too small.
        "bounds by hand": Exact(
            [*(node_piece_bound((3, 5, 2), i) for i in (1, 2, 3)), network_piece_bound(7, 3)],
            [2, 4 * 3, 8 * 3 * 5, Fraction(14 * 14 * 14, 27)],
        ),
        "best depth": Exact(
            np.array(best),
            np.array([
                max((L for L in (int(x), int(x) + 1) if 1 <= L <= m), key=lambda L, m=m: Fraction(2 * m, L) ** L)
                for m, x in zip(totals.tolist(), stationary.tolist(), strict=True)
            ]),
            along={"nodes": totals},
        ),
        # Half a layer off the top at most, where the second derivative is −e/(2m).
        "largest bound": Inequality(
            np.stack([np.array(tops), 2 * sizes / np.e - np.array(tops)]),
            np.stack([2 * sizes / np.e, np.e / (16 * sizes)]),
            along={"side": ["logarithm", "what whole depths lose"], "nodes": sizes},
        ),
    }  # fmt: skip


@depth_of_the_largest_piece_bound.control("as many pieces as knots", of="pieces of sums")
def knots_for_pieces(evidence):
    return replace(evidence, bound=evidence.aside["knots"])


@depth_of_the_largest_piece_bound.control("2^(i−1) for 2^i, the node's own ReLU not counted", of="pieces of nodes")
def undoubled(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@depth_of_the_largest_piece_bound.control("(m/L)^L, without the factor 2 of a ReLU", of="pieces of outputs")
def undoubled_layers(evidence):
    return replace(evidence, bound=evidence.bound / 2.0 ** evidence.along["layers"])


@depth_of_the_largest_piece_bound.control("2m/e always rounded up", of="best depth")
def rounded_up(evidence):
    return replace(evidence, right=np.ceil(2 * evidence.along["nodes"] / np.e).astype(int))


@depth_of_the_largest_piece_bound.control("a top at most a third of a layer away", of="largest bound")
def nearer_to_the_top(evidence):
    return replace(evidence, bound=evidence.bound * np.array([[1.0], [4 / 9]]))


@depth_of_the_largest_piece_bound.picture
def bound_by_depth(pieces):
    """The bound on the pieces of networks with a given number of nodes by their depth, and the mean of random ones."""
    told = pieces["pieces of outputs"].aside
    m = int(told["nodes"])
    depth = np.linspace(1, m, 100)
    divisors = [L for L in range(1, m + 1) if m % L == 0]
    top = 2 * m / np.e
    marks = [
        Line("bound (2m/L)^L", depth, (2 * m / depth) ** depth),
        Dots("random networks, mean", divisors, told["random"]),
        Dots("tents", [m // 3], [2 ** (m // 3) + 2]),
        Level("2m/e", x=top),
    ]
    return Curves(marks, x=f"layers L of {m} nodes in all", y="affine pieces", log="y")
