"""Affine pieces of one-input ReLU networks: counted exactly, added, rectified, and bounded (lucchi 4.2)."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Inequality, Integers, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.networks.pieces import (
    Layer,
    affine_combination,
    layers_from_arrays,
    network_piece_bound,
    node_piece_bound,
    pieces_of_values,
    pieces_on_a_grid,
    propagate,
    through_points,
)
from deeptheory.networks.tent import tent_layers


def drawn_layers(rng, widths, size):
    """A network with whole-number weights, among which coinciding knots and vanishing kinks are common."""
    sizes = (1, *widths, 1)
    weights = [rng.integers(-size, size + 1, (m, n)) for n, m in pairwise(sizes)]
    return layers_from_arrays(weights, [rng.integers(-size, size + 1, m) for m in sizes[1:]])


def kinks(nodes):
    """Every place where some node of a network bends."""
    return {knot for layer in nodes for node in layer for knot in node.knots}


@claim(
    items={"L4.10": ""},
    says="Following breakpoints through a one-input ReLU network as rationals counts its affine pieces exactly: the "
    "count is one more than the bends seen in second differences on a fine grid, also for ReLU nodes that touch zero.",
    needs="whole-number weights up to 2 and two hidden layers of 3, so that knots are 1/144 apart and inside [−16, 16]",
    symbols={
        r"\text{affine piece}": "an interval of the input on which the network is a straight line, as long as possible",
        r"\text{knot}": "a point where two pieces meet and the slope changes",
    },
    why="A one-input ReLU network is a continuous function made of straight pieces. Layer by layer a new bend can "
    "appear only where a pre-activation crosses zero, and with rational weights that place is rational. So all bends "
    "are known exactly, and one only has to ask at each of them whether the slopes on both sides differ.",
    notice="The output bends at some of the places where its nodes bend, and goes straight on at others: there the "
    "bends of several nodes cancel, or only a node bends that the output does not use. Counting every bend inside "
    "counts too many pieces.",
)
def affine_piece_count(key, *, trials: Trials = 64, joined: bool = True):
    rng, counted, seen = generator(key), [], []
    networks = [drawn_layers(rng, (3, 3), 2) for _ in range(trials)]
    # ReLUs above a kink at zero, a ReLU(x−k) + b ReLU(k−x): not a piece more where they only touch it.
    networks += [
        [Layer(((1,), (-1,)), (-k, k)), Layer(((a, b),), (0,))]
        for k, a, b in product((-1, 0, 2), (-1, 1, 2), (-2, 0, 1))
    ]
    for layers in networks:
        nodes = propagate(layers)
        counted.append(len(nodes[-1][0].pieces) if joined else 1 + len(kinks(nodes)))
        seen.append(pieces_on_a_grid(layers, -16, 16, cells=2**15))
    # For the picture, a network with many bends that its output shows and many that it does not.
    drawn = [propagate(layers) for layers in networks[:trials]]
    nodes = max(drawn, key=lambda each: len(each[-1][0].knots) * (len(kinks(each)) - len(each[-1][0].knots)))
    output, x = nodes[-1][0], np.linspace(-2, 2, 401)
    shown = {
        "x": x,
        "values": np.array([float(output(point)) for point in x]),
        "bends": np.array([float(knot) for knot in output.knots]),
        "cancelled": np.array([float(knot) for knot in kinks(nodes) - set(output.knots)]),
    }
    return Exact(np.array(counted), np.array(seen), aside=shown)


affine_piece_count.control("every kink of every node counts, cancelled or not", joined=False)


@affine_piece_count.picture
def bends_of_a_network(pieces):
    """The output of a network, where it bends, and where nodes inside bend and the output does not."""
    aside = pieces[""].aside
    x, values = aside["x"], aside["values"]
    marks: list[Any] = [Line("output", x, values)]
    for name, said in (("bends", "bends of the output"), ("cancelled", "bends inside that do not show")):
        if len(aside[name]):
            marks.append(Dots(said, aside[name], np.interp(aside[name], x, values)))
    return Curves(marks, x="input", y="output", xs=(-2, 2))


@claim(
    items={"L4.11": ""},
    says=r"For continuous piecewise affine functions $\delta_A(\mathrm{ReLU}\circ f)\le 2\,\delta_A(f)$, sharply "
    r"$1+\delta_A(f)+\lfloor\delta_A(f)/2\rfloor$, and $\delta_A(\sum_i f_i)\le "
    r"1+\sum_i(\delta_A(f_i)-1)\le\sum_i\delta_A(f_i)$, counted as second differences see them.",
    needs="continuity",
    over=dict(
        gaps=Integers(1, 3, shape=(3, 6)), values=Integers(-2, 2, shape=(3, 6)), slopes=Integers(-2, 2, shape=(3, 2))
    ),
    each="loop",
    draws=48,
    generations=6,
    symbols={
        r"\delta_A(f)": "the least number of affine pieces of $f$",
        "f, f_i": "continuous piecewise affine functions of one variable",
    },
    why="Each piece is cut at most once, where it crosses zero; of its two parts one becomes zero, and joins the zero "
    "part of its neighbour if they meet below zero. So each valley costs a piece, and half of the gain is lost. A sum "
    "bends only where one of its terms does: knots add up, and pieces are one more than knots.",
    notice="All pieces of the dashed zigzag cross zero. Each leaves one slanted piece, and each valley, as well as "
    "each end below zero, becomes a single flat piece: half as many as there were pieces, and one more when both ends "
    "are below.",
)
def piece_calculus(gaps, values, slopes):
    functions = [through_points(list(np.cumsum(g)), v, *s) for g, v, s in zip(gaps, values, slopes, strict=True)]
    counts = [len(f.pieces) for f in functions]
    rectified = [len(f.relu().pieces) for f in functions]
    total = len(affine_combination((1,) * len(functions), functions).pieces)
    # Shifted by thirds they have no knot in common.
    shifted = [
        through_points([Fraction(i, 3) + int(x) for x in np.cumsum(g)], v, *s)
        for i, (g, v, s) in enumerate(zip(gaps, values, slopes, strict=True))
    ]
    apart = len(affine_combination((1,) * len(shifted), shifted).pieces)
    fewer = 1 + sum(count - 1 for count in counts)
    # Knots are whole numbers and zeros twelfths: gaps up to 3 are cut in up to 4, and beyond them slopes are up to 2.
    grid = np.arange(-36, 264) / 12
    seen = [
        [pieces_of_values(shape) for shape in (inside, np.maximum(inside, 0))]
        for inside in (values_on(grid, np.cumsum(g), v, *s) for g, v, s in zip(gaps, values, slopes, strict=True))
    ]
    few = np.array(counts)
    return Chain(
        {
            "ReLU, sharply": (np.array(rectified), 1 + few + few // 2),
            "ReLU at most doubles": (np.array(rectified), 2 * few),
            "sums share knots": (total, fewer),
            "sums without a common knot": (fewer, apart),
            "as printed": (fewer, sum(counts)),
            "no piece miscounted": (np.abs(np.array([counts, rectified]).T - seen).sum() - 1 / 2, 0),
        },
        aside={"counts": few, "shape": values_on(grid, np.cumsum(gaps[0]), values[0], *slopes[0])},
    )


def values_on(grid, knots, values, left_slope, right_slope):
    """What `through_points` takes, read off on a grid by interpolation between the knots."""
    beyond = left_slope * np.minimum(grid - knots[0], 0) + right_slope * np.maximum(grid - knots[-1], 0)
    return np.interp(grid, knots, values) + beyond


@piece_calculus.control("ReLU adds at most half as many pieces")
def half_as_many(evidence):
    small, large = evidence.links["ReLU, sharply"]
    return replace(evidence, links={"half as many": (small, large - 1)})


@piece_calculus.control("a sum has at most as many pieces as its terms have knots")
def one_less(evidence):
    fewer, apart = evidence.links["sums without a common knot"]
    return replace(evidence, links={"as many as knots": (apart, fewer - 1)})


@piece_calculus.picture
def zigzag(pieces):
    """The function with most pieces after ReLU that was found, before and after."""
    found = pieces[""]
    rectified = found.links["ReLU, sharply"][0]
    chosen = int(np.argmax(rectified[:, 0]))
    shape, x = found.aside["shape"][chosen], np.arange(-36, 264) / 12
    marks = [
        Line(f"f: {int(found.aside['counts'][chosen, 0])} pieces", x, shape, dashed=True),
        Line(f"ReLU of f: {int(rectified[chosen, 0])} pieces", x, np.maximum(shape, 0)),
    ]
    return Curves(marks, x="input x", y="value", xs=(-3.0, 20.0), ys=(-6.0, 6.0))


@claim(
    items={"L4.12": ("pieces at each node", "pieces of the output", "bounds by hand")},
    says=r"A node in ReLU layer $i$ has at most $2^i\prod_{j<i}m_j$ affine pieces; the output above $L$ layers with "
    r"$m$ nodes in all has at most $(2m/L)^L$.",
    needs="one input; ReLU activations",
    symbols={
        "i": "the number of a layer, counted from the input",
        "m_j": "the number of nodes in layer $j$",
        "L": "the number of hidden layers",
        "m": "the number of ReLU nodes in all",
    },
    why="A node of layer $i$ first adds up the nodes below, whose pieces add up at most, and then takes a ReLU, which "
    r"at most doubles them. One layer after the other gives $2^i\prod m_j$. The product is largest when all layers "
    "are equally wide, so with $m$ nodes in $L$ layers it is at most $(2m/L)^L$: polynomial in the number of nodes "
    "for fixed depth, exponential in the depth.",
    notice="Random networks of one layer have half as many pieces as their bound, deeper ones far fewer, and fewer for "
    "their units: they do not profit from depth. Tents do: with three units a layer they double their pieces in each, "
    "and leave the line $m+1$ that no network of one layer can pass.",
)
def pieces_of_relu_networks(key, *, trials: Trials = 96, widest: Annotated[int, Interval(ge=1, le=12)] = 8):
    rng, nodes, bounds, outputs, ceilings, units = generator(key), [], [], [], [], []
    drawn = [tuple(rng.integers(1, widest + 1, rng.integers(1, 5)).tolist()) for _ in range(trials)]
    one_unit = layers_from_arrays([np.ones((1, 1), int)] * 2, [np.zeros(1, int)] * 2)  # attains the bound
    networks = [drawn_layers(rng, widths, 3) for widths in drawn] + [tent_layers(n) for n in (1, 2, 3, 4, 5, 6)]
    networks.append(one_unit)
    for layers in networks:
        *hidden, (output,) = propagate(layers)
        widths = [len(layer) for layer in hidden]
        nodes += [max(len(node.pieces) for node in layer) for layer in hidden]
        bounds += [node_piece_bound(widths, i) for i in range(1, len(widths) + 1)]
        outputs.append(len(output.pieces))
        ceilings.append(float(network_piece_bound(sum(widths), len(widths))))
        units.append(sum(widths))
    return {
        "pieces at each node": Inequality(np.array(nodes), np.array(bounds)),
        # No network attains the bounds beyond its first layer, so they are held to numbers as well.
        "bounds by hand": Exact(
            np.array(
                [node_piece_bound((3, 5, 2), i) for i in (1, 2, 3)]
                + [int(network_piece_bound(*each)) for each in ((4, 2), (5, 2), (9, 3))]
            ),
            np.array([2, 4 * 3, 8 * 3 * 5, 4**2, 5**2, 6**3]),
            aside={"own layer": np.array([2 * 3, 4 * 3 * 5, 8 * 3 * 5 * 2, 4**2, 5**2, 6**3])},
        ),
        "pieces of the output": Inequality(
            np.array(outputs),
            np.array(ceilings),
            along={"units": np.array(units)},
            aside={"layers": np.array([len(layers) - 1 for layers in networks])},
        ),
    }


@pieces_of_relu_networks.control("the nodes of the layer itself counted too", of="bounds by hand")
def own_layer(evidence):
    return replace(evidence, right=evidence.aside["own layer"])


@pieces_of_relu_networks.control("(m/L)^L, the doubling left out", of="pieces of the output")
def doubling_left_out(evidence):
    return replace(evidence, bound=evidence.bound / 2.0 ** evidence.aside["layers"])


@pieces_of_relu_networks.control("one piece more than there are units, whatever the depth", of="pieces of the output")
def as_if_shallow(evidence):
    return replace(evidence, bound=evidence.along["units"] + 1)


@pieces_of_relu_networks.control("half of it, the ReLU of the last layer not counted", of="pieces at each node")
def undoubled(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@pieces_of_relu_networks.picture
def pieces_by_units(pieces):
    """Pieces of every network by its units: random ones of several depths, tents, and the bounds for each depth."""
    found = pieces["pieces of the output"]
    units, layers, count = found.along["units"], found.aside["layers"], found.quantity
    drawn, m = len(count) - 7, np.arange(1, 33)  # then six tents and a single unit
    marks = []
    for depth in (1, 2, 4):
        name = f"{depth} layer{'s' if depth > 1 else ''}"
        own = layers[:drawn] == depth
        marks += [Dots(name, units[:drawn][own], count[:drawn][own])]
        marks += [Line(name, m[m >= depth], (2 * m[m >= depth] / depth) ** depth)]
    marks += [
        Dots("tents, 3 units a layer", units[drawn:-1], count[drawn:-1]),
        Line("m + 1", m, m + 1, rival="whatever the depth"),
    ]
    return Curves(marks, x="ReLU units m", y="affine pieces", log="y", ys=(1, 1e4))
