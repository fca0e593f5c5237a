"""Depth separation: pieces of ReLU networks, the tent map, and the distance from it that shallow networks keep."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Inequality, Integers, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.networks.pieces import (
    Layer,
    affine_combination,
    integral,
    l1_distance,
    layers_from_arrays,
    minimal_shallow_units,
    network_function,
    network_piece_bound,
    node_piece_bound,
    pieces_of_values,
    pieces_on_a_grid,
    propagate,
    relu_nodes,
    shallow_layers,
    through_points,
)
from deeptheory.networks.tent import (
    fit_sawtooth,
    follow_sawtooth,
    sawtooth,
    sawtooth_distance_bound,
    sharper_sawtooth_distance_bound,
    tent_layers,
)

Depths = Annotated[tuple[int, ...], Interval(ge=1, le=12)]


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
    marks = [Line("output", x, values)]
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
    return Curves(marks, x="x", y="value", xs=(-3.0, 20.0), ys=(-6.0, 6.0))


@claim(
    items={"L4.12": ("nodes", "output")},
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
    notice="Random networks have far fewer pieces than their bound, at any depth; they hardly profit from depth. "
    "Tents do: with three units a layer they double their pieces in each, and leave the line $m+1$ that no network of "
    "one layer can pass.",
)
def pieces_of_relu_networks(key, *, trials: Trials = 96, widest: Annotated[int, Interval(ge=1, le=12)] = 8):
    rng, nodes, bounds, outputs, ceilings, units = generator(key), [], [], [], [], []
    drawn = [tuple(rng.integers(1, widest + 1, rng.integers(1, 5)).tolist()) for _ in range(trials)]
    networks = [drawn_layers(rng, widths, 3) for widths in drawn] + [tent_layers(n) for n in (1, 2, 3, 4, 5, 6)]
    for layers in networks:
        *hidden, (output,) = propagate(layers)
        widths = [len(layer) for layer in hidden]
        nodes += [max(len(node.pieces) for node in layer) for layer in hidden]
        bounds += [node_piece_bound(widths, i) for i in range(1, len(widths) + 1)]
        outputs.append(len(output.pieces))
        ceilings.append(float(network_piece_bound(sum(widths), len(widths))))
        units.append(sum(widths))
    return {
        "nodes": Inequality(np.array(nodes), np.array(bounds)),
        "output": Inequality(
            np.array(outputs),
            np.array(ceilings),
            along={"units": np.array(units)},
            aside={"layers": np.array([len(layers) - 1 for layers in networks])},
        ),
    }


@pieces_of_relu_networks.control("one piece more than there are units, whatever the depth", of="output")
def as_if_shallow(evidence):
    return replace(evidence, bound=evidence.along["units"] + 1)


@pieces_of_relu_networks.control("half of it, the ReLU of the last layer not counted", of="nodes")
def undoubled(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@pieces_of_relu_networks.picture
def pieces_by_units(pieces):
    """Pieces of every network by its units: random ones of several depths, tents, and the bounds for each depth."""
    found = pieces["output"]
    units, layers, count = found.along["units"], found.aside["layers"], found.quantity
    drawn, m = len(count) - 6, np.arange(1, 33)
    marks = []
    for depth in (1, 2, 4):
        name = f"{depth} layer{'s' if depth > 1 else ''}"
        own = layers[:drawn] == depth
        marks += [Dots(name, units[:drawn][own], count[:drawn][own])]
        marks += [Line(name, m[m >= depth], (2 * m[m >= depth] / depth) ** depth)]
    marks += [
        Dots("tents, 3 units a layer", units[drawn:], count[drawn:]),
        Line("m + 1", m, m + 1, rival="whatever the depth"),
    ]
    return Curves(marks, x="ReLU units m", y="affine pieces", log="y", ys=(1, 1e4))


@claim(
    items={"L4.13": ("pieces", "size", "integral", "values"), "H1.6": ("pieces", "shallow units", "shallow distance")},
    says=r"The tent map iterated $n$ times is a network of $3n$ ReLUs in $2n$ layers with exactly $2^n$ pieces on "
    r"$[0,1]$, equal to $1-|1-2\,\mathrm{frac}(2^{n-1}x)|$; one hidden layer needs $2^n$ ReLUs to equal it, and with "
    r"$2n$ it stays a fixed distance away.",
    needs="the third ReLU only where the line beyond [0, 1] matters",
    full=dict(iterates=(1, 2, 3, 6, 8, 10)),
    symbols={
        "n": "how often the tent map is applied",
        "2^n": "the number of pieces of its $n$-th iterate",
        "x": "a number between 0 and 1",
        r"\mathrm{frac}": "the part after the point",
    },
    why="The tent map goes once up and once down. Applied to itself it goes up and down on each half of what it was: "
    "every application doubles the number of teeth, at the price of three units. A network with one hidden layer "
    "bends once a unit, so that it needs as many units as there are pieces. With fewer it must miss most teeth, and "
    "of each missed tooth about half of the area.",
    notice="Each iterate has twice as many teeth as the one before. On the right, one hidden layer with $2n$ units "
    "follows the first teeth and can do nothing about the others, while the deep network with $3n$ units draws them "
    "all.",
)
def tent_map_iterates(
    *, iterates: Depths = (1, 2, 3, 6, 8), units: Annotated[int, Interval(ge=2, le=3)] = 3, beyond: bool = True
):
    networks = {n: tent_layers(n, units=units, merged=False) for n in iterates}
    functions = {n: network_function(layers) for n, layers in networks.items()}
    points = np.array([Fraction(j, 97) for j in range(-20 if beyond else 0, 118 if beyond else 98)])
    zeros = {n: [functions[n](Fraction(j, 2 ** (n - 1))) for j in range(2 ** (n - 1) + 1)] for n in iterates}
    wide = [n for n in iterates if n >= 6]
    follow = {n: network_function(follow_sawtooth(n, 2 * n)) for n in wide}
    return {
        "pieces": Exact(np.array([functions[n].count_on(0, 1) for n in iterates]), 2 ** np.array(iterates)),
        "size": Exact(
            np.array([(relu_nodes(networks[n]), len(networks[n])) for n in iterates]),
            np.array([(units * n, 2 * n) for n in iterates]),
        ),
        "integral": Exact(
            np.array([[integral(functions[n]), max(zeros[n], key=abs)] for n in iterates]),
            np.array([[Fraction(1, 2), Fraction(0)]] * len(iterates)),
        ),
        "values": Exact(
            np.array([[functions[n](x) for x in points] for n in iterates]),
            np.array([sawtooth(n, points) * ((points >= 0) & (points <= 1)) for n in iterates]),
        ),
        "shallow units": Exact(
            np.array(
                [
                    (minimal_shallow_units(functions[n], 0, 1), relu_nodes(shallow_layers(functions[n], 0, 1)))
                    for n in iterates
                ]
            ),
            np.array([(2**n, 2**n) for n in iterates]),
        ),
        "shallow distance": Inequality(
            np.array([float(sawtooth_distance_bound(n, 2 * n + 1)) for n in wide]),
            np.array([float(l1_distance(functions[n], follow[n])) for n in wide]),
            along={"iterates": np.array(wide)},
            aside={"followed": np.array([[float(f(x)) for x in np.linspace(0, 1, 129)] for f in follow.values()])},
        ),
    }


tent_map_iterates.control("two ReLUs make a tent on the whole line", of="values", units=2)


@tent_map_iterates.control("as many pieces as copies of the tent", of="pieces")
def copies(evidence):
    return replace(evidence, right=evidence.right // 2)


@tent_map_iterates.control("one hidden unit per inner knot is enough", of="shallow units")
def one_per_knot(evidence):
    return replace(evidence, right=evidence.right - 1)


@tent_map_iterates.control("2n ReLUs stay away in whatever number of layers", of="shallow distance")
def in_depth(evidence):
    deep = [tent_layers(n, units=2) for n in evidence.along["iterates"].tolist()]
    return replace(evidence, bound=np.array([distance_to_tent(len(layers) - 1, layers) for layers in deep]))


@tent_map_iterates.picture
def iterates_of_the_tent(pieces):
    """The first iterates of the tent map (left), and one that a hidden layer of 2n units follows as it can (right)."""
    distance = pieces["shallow distance"]
    first = [Line(f"n = {n}", np.linspace(0, 1, 2**n + 1), np.arange(2**n + 1) % 2) for n in (1, 2, 3)]
    panels = [Curves(first, x="x", y="Δⁿ(x)")]
    if len(distance.along["iterates"]):
        n = int(distance.along["iterates"][0])
        marks = [
            Line(f"{3 * n} units in {2 * n} layers", np.linspace(0, 1, 2**n + 1), np.arange(2**n + 1) % 2, thin=True),
            Line(f"one layer of {2 * n}", np.linspace(0, 1, 129), distance.aside["followed"][0]),
        ]
        panels.append(Curves(marks, x="x", y="value"))
    return Row(panels)


def distance_to_tent(iterates, layers):
    return float(l1_distance(network_function(tent_layers(iterates)), network_function(layers)))


@claim(
    items={"L4.14": ("size", "proof", "algebra", "certificate", "theorem"), "L4.12": "pieces"},
    says=r"For $n=L^2+2$ the iterate $\Delta^n$ of the tent map has $3L^2+6$ ReLUs in $2L^2+4$ layers, and every ReLU "
    r"network $g$ with at most $2^L$ nodes in at most $L$ layers keeps "
    r"$\int_0^1|\Delta^n-g|\ge\frac12[2^n-1-2p]\,2^{-n-2}\ge\frac1{32}$, where $p=2^{L^2}$ bounds its pieces.",
    needs="L ≥ 2 in the count of pieces; L = 1 follows from counting the triangles to the end",
    full=dict(attacks=4, starts=256, steps=2000),
    explore={"steps": (50, 100, 300)},
    symbols={
        "L": "the bound on the layers of $g$; its nodes are at most $2^L$",
        "n": "$L^2+2$, how often the tent map is applied",
        r"\Delta^n": "the $n$-th iterate of the tent map",
        "g": "any ReLU network that small",
        "p": "a bound on the pieces of $g$",
    },
    why=r"The line at height one half is crossed by $\Delta^n$ once in each of its $2^n$ pieces, and between "
    "crossings lie $2^n-1$ triangles, alternately above and below. Each piece of $g$ stays on one side of the line "
    r"for all but a change or so, and a triangle on the other side lies wholly between $g$ and $\Delta^n$. With "
    r"$p=2^{L^2}$ pieces it can serve only half of the triangles, and the area of the others is at least $\frac1{32}$ "
    "in all.",
    notice="On the left a network as large as the theorem allows, trained from many starts on the sixth iterate: it "
    "finds little better than a line through the middle. On the right its distance, and those of networks that follow "
    "the first teeth exactly, lie well above what is certified for so many pieces; the certificate vanishes when "
    "there are half as many pieces as teeth have sides.",
)
def depth_separation(
    key,
    *,
    attacks: Annotated[int, Interval(ge=1, le=4)] = 1,
    starts: Annotated[int, Interval(ge=8, le=1024)] = 64,
    steps: Annotated[int, Interval(ge=50, le=10_000)] = 300,
):
    depths = np.arange(2, 8)
    bits = depths**2
    tents = [tent_layers(n + 2, merged=False) for n in bits.tolist()]
    # Networks the theorem speaks of, trained from many starts or following the first teeth by hand, at L = 2 and 1.
    legal = [(6, (2, 2)), (6, (1, 3)), (6, (3, 1)), (3, (2,))][:attacks]
    legal = [(n, fit_sawtooth(key, n, widths, starts=starts, steps=steps)) for n, widths in legal]
    legal += [(3, follow_sawtooth(3, 2)), *((6, follow_sawtooth(6, units)) for units in (2, 3, 4))]
    larger = [(6, follow_sawtooth(6, units)) for units in (8, 16, 24, 32, 48)]
    counts = np.array([network_function(layers).count_on(0, 1) for _, layers in legal + larger])
    distances = np.array([distance_to_tent(n, layers) for n, layers in legal + larger])
    certificates = [
        (sharper_sawtooth_distance_bound if n == 3 else sawtooth_distance_bound)(n, p)
        for (n, _), p in zip(legal + larger, counts.tolist(), strict=True)
    ]
    widths = [[len(layer.biases) for layer in layers[:-1]] for _, layers in legal]
    grid = np.array([Fraction(j, 97) for j in range(98)])
    return {
        "size": Exact(
            np.array([(relu_nodes(layers), len(layers)) for layers in tents]), np.stack([3 * bits + 6, 2 * bits + 4], 1)
        ),
        "proof": Chain(
            {
                "pieces of g": (np.array([float(network_piece_bound(2**L, L)) for L in depths.tolist()]), 2.0**bits),
                "one in 32": (1 / 32, np.array([float(sawtooth_distance_bound(n + 2, 2**n)) for n in bits.tolist()])),
            }
        ),
        "algebra": Exact(
            np.array([Fraction(2 ** (n + 2) - 1 - 2 * 2**n, 2) for n in bits.tolist()]),
            np.array([Fraction(2 ** (n + 1) - 1, 2) for n in bits.tolist()]),
            along={"depth": depths},
        ),
        # What the attack is trained on is the iterate that it is measured against.
        "aim": Exact(
            np.array([sawtooth(n, grid) for n in (3, 6)]),
            np.array([[f(x) for x in grid] for f in (network_function(tent_layers(n)) for n in (3, 6))]),
        ),
        "pieces": Inequality(
            np.array([len(network_function(layers).pieces) for _, layers in legal]),
            np.array([float(network_piece_bound(sum(w), len(w))) for w in widths]),
            along={"layers": np.array([len(w) for w in widths])},
        ),
        "certificate": Inequality(np.array([float(c) for c in certificates]), distances, along={"pieces": counts}),
        "theorem": Inequality(
            np.full(len(legal), 1 / 32),
            distances[: len(legal)],
            aside={"trained": np.array([float(network_function(legal[0][1])(x)) for x in np.linspace(0, 1, 129)])},
        ),
    }


@depth_separation.control("2·2^L crossings in the bound", of="algebra")
def printed_crossings(evidence):
    depths = evidence.along["depth"].tolist()
    return replace(evidence, left=np.array([Fraction(2 ** (L * L + 2) - 1 - 2 * 2**L, 2) for L in depths]))


@depth_separation.control("the count of pieces started at L = 1 as the proof starts it", of="proof")
def one_layer(evidence):
    return Chain({"pieces of g": (float(network_piece_bound(2, 1)), 2.0)})


@depth_separation.control("networks of any size and depth keep away", of="theorem")
def any_size(evidence):
    return replace(evidence, quantity=1 / 32, bound=distance_to_tent(6, tent_layers(6, units=2)))


@depth_separation.control("(m/L)^L, without the factor 2 of each ReLU layer", of="pieces")
def undoubled_layers(evidence):
    return replace(evidence, bound=evidence.bound / 2.0 ** evidence.along["layers"])


@depth_separation.control("triangles of four times the area, 2⁻ⁿ for 2⁻ⁿ⁻²", of="certificate")
def larger_triangles(evidence):
    return replace(evidence, quantity=4 * evidence.quantity)


@depth_separation.picture
def attained_and_certified(pieces):
    """The sixth iterate and a legal network trained on it (left); distances reached, and certified for all (right)."""
    found = pieces["certificate"]
    shape = [
        Line("Δ⁶", np.linspace(0, 1, 65), np.arange(65) % 2, thin=True),
        Line("trained network", np.linspace(0, 1, 129), pieces["theorem"].aside["trained"]),
    ]
    count = found.along["pieces"]
    marks = [
        Dots("reached by a network", count, found.bound),
        Dots("certified for all", count, found.quantity),
        Level("1/32", y=1 / 32),
    ]
    right = Curves(marks, x="affine pieces of g on [0, 1]", y="∫|Δⁿ − g|")
    return Row([Curves(shape, x="x", y="value"), right])
