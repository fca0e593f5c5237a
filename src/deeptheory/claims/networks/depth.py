"""Depth separation: the tent map, its iterates, and the distance from them that shallow networks keep."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.lab import Chain, Exact, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.networks.pieces import (
    integral,
    l1_distance,
    minimal_shallow_units,
    network_function,
    network_piece_bound,
    relu_nodes,
    shallow_layers,
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


@claim(
    items={
        "L4.13": ("affine pieces", "units and layers", "integral and zeros", "values on a grid"),
        "H1.6": ("affine pieces", "units of one layer", "distance of narrow shallow networks"),
    },
    says=r"The tent map iterated $n$ times is a network of $3n$ ReLUs in $2n$ layers with exactly $2^n$ pieces on "
    r"$[0,1]$, equal to $1-|1-2\,\mathrm{frac}(2^{n-1}x)|$; one hidden layer needs $2^n$ ReLUs to equal it, and with "
    r"$2n$ it stays a fixed distance away for $n\ge6$.",
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
        "affine pieces": Exact(np.array([functions[n].count_on(0, 1) for n in iterates]), 2 ** np.array(iterates)),
        "units and layers": Exact(
            np.array([(relu_nodes(networks[n]), len(networks[n])) for n in iterates]),
            np.array([(units * n, 2 * n) for n in iterates]),
        ),
        "integral and zeros": Exact(
            np.array([[integral(functions[n]), max(zeros[n], key=abs)] for n in iterates]),
            np.array([[Fraction(1, 2), Fraction(0)]] * len(iterates)),
        ),
        "values on a grid": Exact(
            np.array([[functions[n](x) for x in points] for n in iterates]),
            np.array([sawtooth(n, points) * ((points >= 0) & (points <= 1)) for n in iterates]),
        ),
        "units of one layer": Exact(
            np.array(
                [
                    (minimal_shallow_units(functions[n], 0, 1), relu_nodes(shallow_layers(functions[n], 0, 1)))
                    for n in iterates
                ]
            ),
            np.array([(2**n, 2**n) for n in iterates]),
        ),
        "distance of narrow shallow networks": Inequality(
            np.array([float(sawtooth_distance_bound(n, 2 * n + 1)) for n in wide]),
            np.array([float(l1_distance(functions[n], follow[n])) for n in wide]),
            along={"iterates": np.array(wide)},
            aside={"followed": np.array([[float(f(x)) for x in np.linspace(0, 1, 129)] for f in follow.values()])},
        ),
    }


tent_map_iterates.control("two ReLUs make a tent on the whole line", of="values on a grid", units=2)


@tent_map_iterates.control("as many pieces as copies of the tent", of="affine pieces")
def copies(evidence):
    return replace(evidence, right=evidence.right // 2)


@tent_map_iterates.control("one hidden unit per inner knot is enough", of="units of one layer")
def one_per_knot(evidence):
    return replace(evidence, right=evidence.right - 1)


@tent_map_iterates.control("2n ReLUs stay away in whatever number of layers", of="distance of narrow shallow networks")
def in_depth(evidence):
    deep = [tent_layers(n, units=2) for n in evidence.along["iterates"].tolist()]
    return replace(evidence, bound=np.array([distance_to_tent(len(layers) - 1, layers) for layers in deep]))


@tent_map_iterates.picture
def iterates_of_the_tent(pieces):
    """The first iterates of the tent map (left), and one that a hidden layer of 2n units follows as it can (right)."""
    distance = pieces["distance of narrow shallow networks"]
    first = [Line(f"n = {n}", np.linspace(0, 1, 2**n + 1), np.arange(2**n + 1) % 2) for n in (1, 2, 3)]
    panels = [Curves(first, x="input x", y="iterate Δⁿ(x)")]
    if len(distance.along["iterates"]):
        n = int(distance.along["iterates"][0])
        marks = [
            Line(f"{3 * n} units in {2 * n} layers", np.linspace(0, 1, 2**n + 1), np.arange(2**n + 1) % 2, thin=True),
            Line(f"one layer of {2 * n}", np.linspace(0, 1, 129), distance.aside["followed"][0]),
        ]
        panels.append(Curves(marks, x="input x", y="value"))
    return Row(panels)


def distance_to_tent(iterates, layers):
    return float(l1_distance(network_function(tent_layers(iterates)), network_function(layers)))


@claim(
    items={
        "L4.14": (
            "units and layers",
            "links of the proof",
            "count of large triangles",
            "distance by counting pieces",
            "distance above 1/32",
        ),
        "L4.12": "pieces of shallow networks",
    },
    says=r"For $n=L^2+2$ the iterate $\Delta^n$ of the tent map has $3L^2+6$ ReLUs in $2L^2+4$ layers, and every ReLU "
    r"network $g$ with at most $2^L$ nodes in at most $L$ layers keeps "
    r"$\int_0^1|\Delta^n-g|\ge\frac12[2^n-1-2p]\,2^{-n-2}\ge\frac1{32}$, where $p=2^{L^2}$ bounds its pieces.",
    needs=r"$L\ge2$ for the bound on the pieces; for $L=1$ the triangles are counted to the end",
    full=dict(attacks=4, starts=256, steps=2000),
    explore={"steps": (50, 100, 300)},
    symbols={
        "L": "the bound on the layers of $g$; its nodes are at most $2^L$",
        "n": "$L^2+2$, how often the tent map is applied",
        r"\Delta^n": "the $n$-th iterate of the tent map, which rises from 0 to 1 on the first half of $[0,1]$ and "
        "falls back on the second: a saw with $2^{n-1}$ teeth",
        "g": "any ReLU network that small",
        "p": "a bound on the pieces of $g$",
    },
    why=r"The line at height one half is crossed by $\Delta^n$ once in each of its $2^n$ pieces, and between "
    "crossings lie $2^n-1$ triangles, alternately above and below. Each piece of $g$ stays on one side of the line "
    r"for all but a change or so, and a triangle on the other side lies wholly between $g$ and $\Delta^n$. With "
    r"$p=2^{L^2}$ pieces it can serve only half of the triangles, and the area of the others is at least $\frac1{32}$ "
    "in all.",
    notice="On the left a network as large as the theorem allows, trained from many starts on the sixth iterate, for "
    "as many steps as the slider says: it finds nothing better than a line through the middle. On the right its "
    "distance, and those of networks that follow the first teeth exactly, lie well above what is certified for so "
    "many pieces; the certificate vanishes when there are half as many pieces as teeth have sides.",
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
        "units and layers": Exact(
            np.array([(relu_nodes(layers), len(layers)) for layers in tents]), np.stack([3 * bits + 6, 2 * bits + 4], 1)
        ),
        "links of the proof": Chain(
            {
                "pieces of g": (np.array([float(network_piece_bound(2**L, L)) for L in depths.tolist()]), 2.0**bits),
                "one in 32": (1 / 32, np.array([float(sawtooth_distance_bound(n + 2, 2**n)) for n in bits.tolist()])),
            }
        ),
        "count of large triangles": Exact(
            np.array([Fraction(2 ** (n + 2) - 1 - 2 * 2**n, 2) for n in bits.tolist()]),
            np.array([Fraction(2 ** (n + 1) - 1, 2) for n in bits.tolist()]),
            along={"depth": depths},
        ),
        # What the attack is trained on is the iterate that it is measured against.
        "function to be approximated": Exact(
            np.array([sawtooth(n, grid) for n in (3, 6)]),
            np.array([[f(x) for x in grid] for f in (network_function(tent_layers(n)) for n in (3, 6))]),
        ),
        "pieces of shallow networks": Inequality(
            np.array([len(network_function(layers).pieces) for _, layers in legal]),
            np.array([float(network_piece_bound(sum(w), len(w))) for w in widths]),
            along={"layers": np.array([len(w) for w in widths])},
        ),
        "distance by counting pieces": Inequality(
            np.array([float(c) for c in certificates]), distances, along={"pieces": counts}
        ),
        "distance above 1/32": Inequality(
            np.full(len(legal), 1 / 32),
            distances[: len(legal)],
            aside={"trained": np.array([float(network_function(legal[0][1])(x)) for x in np.linspace(0, 1, 129)])},
        ),
    }


@depth_separation.control("2·2^L crossings in the bound", of="count of large triangles")
def printed_crossings(evidence):
    depths = evidence.along["depth"].tolist()
    return replace(evidence, left=np.array([Fraction(2 ** (L * L + 2) - 1 - 2 * 2**L, 2) for L in depths]))


@depth_separation.control("the count of pieces started at L = 1 as the proof starts it", of="links of the proof")
def one_layer(evidence):
    return Chain({"pieces of g": (float(network_piece_bound(2, 1)), 2.0)})


@depth_separation.control("networks of any size and depth keep away", of="distance above 1/32")
def any_size(evidence):
    return replace(evidence, quantity=1 / 32, bound=distance_to_tent(6, tent_layers(6, units=2)))


@depth_separation.control("(m/L)^L, without the factor 2 of each ReLU layer", of="pieces of shallow networks")
def undoubled_layers(evidence):
    return replace(evidence, bound=evidence.bound / 2.0 ** evidence.along["layers"])


@depth_separation.control("triangles of four times the area, 2⁻ⁿ for 2⁻ⁿ⁻²", of="distance by counting pieces")
def larger_triangles(evidence):
    return replace(evidence, quantity=4 * evidence.quantity)


@depth_separation.picture
def attained_and_certified(pieces):
    """The sixth iterate and a legal network trained on it (left); distances reached, and certified for all (right)."""
    found = pieces["distance by counting pieces"]
    shape = [
        Line("Δ⁶", np.linspace(0, 1, 65), np.arange(65) % 2, thin=True),
        Line("trained network", np.linspace(0, 1, 129), pieces["distance above 1/32"].aside["trained"]),
    ]
    count = found.along["pieces"]
    marks = [
        Dots("reached by a network", count, found.bound),
        Dots("certified for all", count, found.quantity),
        Dots("", count, 4 * found.quantity, rival="triangles of 2⁻ⁿ"),
        Level("1/32", y=1 / 32),
    ]
    right = Curves(marks, x="affine pieces of g on [0, 1]", y="distance ∫|Δⁿ − g|")
    return Row([Curves(shape, x="input x", y="value"), right])
