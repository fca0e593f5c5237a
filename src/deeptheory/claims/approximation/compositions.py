"""Depth: errors of functions of functions, and what one hidden layer must pay for them (handbook 1.2)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.approximation.compositions import composed, composition_error_bound, square_by_tents
from deeptheory.approximation.requirements import neurons_needed
from deeptheory.approximation.staircases import hinges
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Line, Row, Table
from deeptheory.networks.pieces import minimal_shallow_units, network_function, relu_nodes
from deeptheory.networks.tent import tent_layers

X = np.linspace(0, 1, 2001)


def waves_of(depth):
    """Maps of [0, 1] into itself with their Lipschitz constants: waves between 0.1 and 0.9."""
    speeds = np.array([5.0, 6.0, 4.0, 5.5, 4.5])[:depth]
    return [lambda x, a=a: 0.5 + 0.4 * np.sin(a * x) for a in speeds], 0.4 * speeds


@claim(
    items={"H1.5": ("error of a composition", "error of lines")},
    says=r"If networks are within $\epsilon_i$ of the parts of $f=g_L\circ\dots\circ g_1$ and $g_j$ has the Lipschitz "
    r"constant $\Lambda_j$, the networks one after the other are within $\sum_i\epsilon_i\prod_{j>i}\Lambda_j$ of $f$. "
    "Lines that are shifted attain it.",
    needs="each part is approximated wherever the networks before it lead",
    symbols={
        "g_i": "the parts, the first first",
        r"\epsilon_i": "the largest error of the network for part $i$",
        r"\Lambda_j": "the Lipschitz constant of part $j$",
        "L": "their number",
    },
    why="Replace one part at a time, from the inside. What part $i$ gets wrong is then passed through all later parts, "
    r"and each stretches it by at most $\Lambda_j$. The errors are added, for nothing says that they cancel. The "
    "constant of the first part does not enter: nothing comes before it.",
    notice="Waves one after the other, and the same with each wave joined by hinges: the corners of the first are "
    "still seen in the whole. Errors (right) are well below the bound, as they rarely meet the steepest places all at "
    "once.",
)
def errors_of_compositions(key, *, depth: Annotated[int, Interval(ge=2, le=5)] = 3):
    rng, counts = generator(key), np.array([5, 9, 17, 33])
    # A line is met by hinges exactly, so that after a wave it stretches its error and adds none.
    families = [waves_of(depth), ([waves_of(1)[0][0], lambda x: 3 * x], np.array([2.0, 3.0]))]
    found, bounds, sums = np.zeros((3, len(families), len(counts)))
    for i, (parts, slopes) in enumerate(families):
        for j, n in enumerate(counts.tolist()):
            networks = [hinges(g, n) for g in parts]
            # Errors are measured 2000 times a unit; a broken line and its wave part by no more than this in between.
            errors = [np.abs(net(X[:, None]) - g(X)).max() for net, g in zip(networks, parts, strict=True)]
            errors = np.array(errors) + (slopes / 4000) ** 2
            found[i, j] = np.abs(composed(networks, X) - composed(parts, X)).max()
            bounds[i, j], sums[i, j] = composition_error_bound(errors, slopes), errors.sum()
    shifts, steep = rng.uniform(0.1, 1, size=depth), rng.uniform(0.5, 3, size=depth)
    lines = [lambda x, s=s: s * x for s in steep]
    shifted = [lambda x, s=s, e=e: s * x + e for s, e in zip(steep, shifts, strict=True)]
    expected = sum(e * np.prod(steep[i + 1 :]) for i, e in enumerate(shifts))
    late = sum(e * np.prod(steep[i:]) for i, e in enumerate(shifts))
    return {
        "error of a composition": Inequality(
            found,
            bounds,
            along={"parts": ["waves", "a wave, then a line"], "neurons a part": counts},
            aside={"sums": sums},
        ),
        "error of lines": Identity(
            np.append(composed(shifted, X[::400]) - composed(lines, X[::400]), composition_error_bound(shifts, steep)),
            np.full(7, expected),
            condition=10,
            aside={"late": late, "plain": shifts.sum()},
        ),
    }


@errors_of_compositions.control("each error stretched by its own part too, ∏ over j ≥ i", of="error of lines")
def own_part_too(evidence):
    return replace(evidence, right=np.full(7, evidence.aside["late"]))


@errors_of_compositions.control("errors added without being stretched", of="error of lines")
def plain_sum(evidence):
    return replace(evidence, right=np.full(7, evidence.aside["plain"]))


@errors_of_compositions.control("errors of networks added without being stretched", of="error of a composition")
def plain_sum_of_networks(evidence):
    return replace(evidence, bound=evidence.aside["sums"])


@errors_of_compositions.picture
def whole_and_parts(pieces, settings):
    """A composition of waves and of their hinges (left), and its error beside the bound (right)."""
    waves, thin = waves_of(settings["depth"])[0], X[::10]
    networks = [hinges(g, 9) for g in waves]
    left = [
        Line("composition", thin, composed(waves, thin)),
        Line("of 9 hinges a part", thin, composed(networks, thin)),
    ]
    found = pieces["error of a composition"]
    counts = found.along["neurons a part"]
    right = [Line("largest error", counts, found.quantity[0]), Line("bound", counts, found.bound[0], dashed=True)]
    return Row([Curves(left, x="input x", y="value"), Curves(right, x="neurons a part", y="error", log="xy")])


Depths = Annotated[tuple[int, ...], Interval(ge=1, le=8), "increasing", MinLen(2)]


@claim(
    items={
        "H1.9": ("error of depth", "neurons of one layer for that error", "neurons to be equal", "both are universal"),
    },
    says=r"Both kinds of network come as near as one likes, but at different prices. $x-\sum_{s\le n}\Delta^s(x)/4^s$, "
    "of $3n$ ReLUs in $n$ layers, is $4^{-n-1}$ from $x^2$ on $[0,1]$; one hidden layer of hinges takes $2^n+1$. The "
    r"iterate $\Delta^n$ itself takes $3n$ in depth and $2^n$ in one layer.",
    needs="targets built for depth, the square and the sawtooth; for the square every layer is read by the output "
    "directly; hinges at equal distances",
    symbols={r"\Delta^s": "the tent map applied $s$ times", "n": "the number of layers"},
    why="One hidden layer adds: each neuron bends the function once. A layer on top of others multiplies: it folds all "
    "bends there are so far. The parabola is its own half-size copy plus a tent, so that each further layer halves the "
    "distance of the knots at the price of three neurons, where one layer needs as many neurons as knots.",
    notice="The table of the handbook with numbers: for the same error the neurons of one layer double from row to "
    "row, those of the deep network grow by three.",
)
def shallow_and_deep(*, depths: Depths = (1, 2, 3, 4, 5, 6)):
    depths_at = np.array(depths)
    grid = np.linspace(0, 1, 2 ** (max(depths) + 1) + 1)
    errors = np.array([np.abs(square_by_tents(n, grid) - grid**2).max() for n in depths])
    # A hair more is allowed, so that rounding does not decide.
    found = [neurons_needed(np.square, 4.0 ** (-n - 1) * (1 + 1e-6), how=hinges, points=2**11 + 1) for n in depths]
    tents = {n: tent_layers(n) for n in depths}
    equal = [(minimal_shallow_units(network_function(t), 0, 1), relu_nodes(t)) for t in tents.values()]
    return {
        "error of depth": Identity(errors, 4.0 ** (-depths_at - 1), scale=1.0, along={"layers": depths_at}),
        "neurons of one layer for that error": Exact(
            np.array([each.units for each in found]), 2**depths_at + 1, along={"layers": depths_at}
        ),
        "neurons to be equal": Exact(
            np.array(equal),
            np.stack([2**depths_at, 3 * depths_at], 1),
            along={"layers": depths_at, "kind": ["one layer", "deep"]},
        ),
        "both are universal": Inequality(
            np.stack([errors, [each.error for each in found]], 1),
            4.0 ** -(depths_at[:, None] + 1.0),
            error=1e-6 * 4.0 ** -(depths_at[:, None] + 1.0),
            along={"layers": depths_at},
        ),
    }


@shallow_and_deep.control("half of it with each layer", of="error of depth")
def halved(evidence):
    return replace(evidence, right=2.0 ** (-evidence.along["layers"] - 1))


@shallow_and_deep.control("2ⁿ neurons, without the constant", of="neurons of one layer for that error")
def no_constant(evidence):
    return replace(evidence, right=evidence.right - 1)


@shallow_and_deep.control("as many neurons in one layer as in depth", of="neurons to be equal")
def as_many(evidence):
    return replace(evidence, right=np.stack([evidence.right[:, 1]] * 2, 1))


@shallow_and_deep.control("4^(−n−2), as a layer more would give", of="both are universal")
def a_layer_more(evidence):
    return replace(evidence, bound=evidence.bound / 4)


@shallow_and_deep.picture
def prices(pieces):
    """The price of an error in both kinds of network as a table, and as curves."""
    found = pieces["neurons of one layer for that error"]
    layers = found.along["layers"]
    table = Table(
        {
            "layers": layers,
            "error": 4.0 ** (-layers - 1.0),
            "neurons in depth": 3 * layers,
            "neurons in one layer": found.left,
        }
    )
    error = 4.0 ** (-layers - 1.0)
    marks = [Line("one hidden layer", 1 / error, found.left), Line("deep", 1 / error, 3 * layers)]
    return Row([table, Curves(marks, x="accuracy, one over the error", y="neurons", log="xy")])
