"""Many inputs: boxes, their soft edges, and what they cost as the dimension grows (lucchi Sec. 3.2, handbook 1.1.2)."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from math import factorial, prod
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen
from scipy.interpolate import RegularGridInterpolator

from deeptheory.approximation.boxes import (
    BoxNetwork,
    box_units,
    bump,
    bump_error,
    bump_error_bound,
    margin_for,
    piecewise_constant,
)
from deeptheory.approximation.errors import grid_points, measured_error
from deeptheory.approximation.requirements import neurons_needed
from deeptheory.foundations.activations import threshold
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Line, Row, Surface, power_law

Dimensions = Annotated[tuple[int, ...], Interval(ge=1, le=7), "increasing", MinLen(2)]


def slope(x):
    """The function that changes by ‖x − y‖ along the diagonal, and by no more in any direction."""
    return x.sum(-1) / np.sqrt(x.shape[-1])


def error_on_cubes(f, dimension, side, cells=2):
    """The largest error of the values at the centres, over the corners and centres of some cubes."""
    low, high = np.zeros(dimension), np.full(dimension, side * cells)
    h = piecewise_constant(f, cells, low, high)
    corners = grid_points(np.zeros(dimension), np.ones(dimension), 3) * (1 - 1e-12)
    return max(np.abs(f(a + side * corners) - value).max() for a, value in zip(h.lows, h.heights, strict=True))


@claim(
    items={"L3.3": ("error by Euclidean distance", "error by largest coordinate")},
    says=r"If $|g(x)-g(x')|\le\epsilon$ whenever $\|x-x'\|\le\delta$, then on boxes of sides at most $2\delta/\sqrt d$ "
    r"the values of $g$ at the centres are within $\epsilon$ of $g$; for distances by the largest coordinate sides of "
    r"$2\delta$ will do. Both are attained.",
    needs="the norm and the sides belong together: a cube of side s has diagonal s√d",
    symbols={
        "g": "a continuous function of $d$ inputs",
        r"\epsilon": "the change of $g$ that is allowed",
        r"\delta": "a distance within which $g$ changes by no more than that",
        "d": "the dimension",
    },
    why="What counts is how far a point of a box can be from the centre. Along a side that is half of it, but to a "
    r"corner it is $\sqrt d/2$ sides in Euclidean distance: corners recede as the dimension grows. A function that "
    "rises evenly along the diagonal feels the whole way.",
    notice=r"With sides of $\delta$ no choice of constants will do beyond four dimensions: the best is the middle of "
    r"the values on the cube, and misses both corners by $\epsilon\sqrt d/2$. With sides of $2\delta/\sqrt d$ the "
    r"error is $\epsilon$ in every dimension.",
)
def constants_on_boxes(key, *, dimensions: Dimensions = (1, 2, 3, 4, 5, 6)):
    rng, delta = generator(key), 0.3
    ramps = []
    for d in dimensions:
        direction = rng.normal(size=d)
        direction /= np.linalg.norm(direction)
        ramps.append([slope, lambda x, u=direction: x @ u, lambda x: np.linalg.norm(x - 0.2, axis=-1)])
    rounds = [
        [error_on_cubes(f, d, 2 * delta / np.sqrt(d)) for f in row] for d, row in zip(dimensions, ramps, strict=True)
    ]
    squares = [[error_on_cubes(f, d, 2 * delta) for f in (_mean, _largest)] for d in dimensions]
    # The middle of the values at two opposite corners is the best constant for a function that rises between them.
    best = np.array([(slope(np.full(d, delta)) - slope(np.zeros(d))) / 2 for d in dimensions])
    d = np.array(dimensions)
    return {
        "error by Euclidean distance": Inequality(
            np.array(rounds), delta, along={"dimension": d}, aside={"best": best}
        ),
        "error by largest coordinate": Inequality(np.array(squares), delta, along={"dimension": d}),
    }


def _mean(x):
    return x.mean(-1)


def _largest(x):
    return np.abs(x - 0.1).max(-1)


@constants_on_boxes.control("sides of δ, as printed", erratum="L3.3a", of="error by Euclidean distance")
def whole_sides(evidence):
    return replace(evidence, quantity=evidence.aside["best"][:, None])


@constants_on_boxes.control("within ε/2 already at sides of 2δ", of="error by largest coordinate")
def half_the_error(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@constants_on_boxes.picture
def corners(pieces):
    """The largest error over ε against the dimension, for sides of 2δ/√d and, best constants, for sides of δ."""
    found = pieces["error by Euclidean distance"]
    d, scale = found.along["dimension"], np.max(found.bound)
    marks = [
        Line("sides 2δ/√d", d, found.quantity.max(1) / scale),
        Line("sides δ, best constants", d, found.aside["best"] / scale, rival="as printed in Lemma 15"),
        Line("ε", d, np.ones(len(d)), dashed=True),
    ]
    return Curves(marks, x="dimension d", y="largest error over ε")


def target(x):
    return np.cos(2 * x[..., 0]) * (1 + x[..., -1]) / 2


@cache
def soft_boxes(dimension, wanted):
    """The network of lucchi Thm 16: sides by the Lipschitz constant, and the margin by the heights."""
    # The gradient is at most (sin 2x(1 + y), cos 2x/2), so the slope stays below 2.
    cells = int(np.ceil(np.sqrt(dimension) / wanted))
    hard = piecewise_constant(target, cells, np.zeros(dimension), np.ones(dimension))
    margin = margin_for(wanted, hard.heights, np.full(dimension, 1 / cells))
    return BoxNetwork(hard.lows, hard.highs, hard.heights, margin)


@claim(
    consistency=("formula for all sets at once",),
    items={"L3.4": ("values of a bump", "cost of a soft edge", "error in the mean", "units")},
    says=r"$(\sum_jg_j(x_j)-(d-1))_+$ with trapezoids $g_j$ of four ReLUs is 1 on a box and 0 beyond a margin "
    r"$\gamma$. It differs from the box by $\sum_S\prod_{j\in S}2\gamma\prod_{j\notin S}l_j/(|S|+1)!$ in the mean, and "
    r"$(4d+1)\lceil1/\delta\rceil^d$ ReLUs come within $2\epsilon$ of $g$ on $[0,1]^d$ in $L_1$, not in the sup norm.",
    needs="ReLUs; δ belongs to ε by the norm in which g is continuous; γ chosen so that all edges together cost ε",
    symbols={
        "g_j": "a trapezoid over side $j$ of a box",
        r"\gamma": "the width of the soft edge",
        "l_j": "the sides of the box",
        "S": "a non-empty set of coordinates, those that lie in their margins",
        r"\delta": r"the side of boxes on which $g$ is within $\epsilon$ of its value at the centre",
    },
    why="Each trapezoid is 1 along its side, so that their sum reaches $d$ on the box alone; less $d-1$ and cut off at "
    r"zero it is the box with a slope around it. In the margins of $|S|$ coordinates the slope is a corner of a "
    r"cube cut off, whose volume is $1/(|S|+1)!$. With $\gamma$ small all slopes together are small in the mean; but "
    "on the edge between two boxes both bumps are 1, and the network is twice as high.",
    notice="The network of soft boxes from above: flat on each box, and ridges of double height along the edges. They "
    "are thin enough not to count in the mean, and no margin makes them lower.",
)
def box_networks(key, *, wanted: Annotated[float, Interval(ge=0.15, le=0.5)] = 0.25):
    rng = generator(key)
    x = rng.uniform(-0.3, 1.3, size=(400, 3))
    low, high = np.array([0.1, 0.2, 0.4]), np.array([0.5, 0.9, 0.6])
    away = np.maximum(np.maximum(low - x, x - high), 0)
    steps = [threshold(each) for each in (x - low + 0.2, x - low, x - high, x - high - 0.2)]
    stepped = threshold((steps[0] - steps[1] - steps[2] + steps[3]).sum(-1) - 2)
    sides = [np.array(each) for each in ((0.4,), (0.4, 0.3), (0.4, 0.3, 0.5))]
    fine = {1: 4000, 2: 500, 3: 90}
    edges, sums = [], {"simplex": [], "one less": []}
    for each in sides:
        d, margin = len(each), 0.1
        points = grid_points(np.full(d, -margin), each + margin, fine[d], ends=False)
        volume = np.prod(each + 2 * margin)
        edges.append(bump(points, np.zeros(d), each, margin).mean() * volume - np.prod(each))
        for name, less in (("simplex", 1), ("one less", 0)):
            sums[name].append(
                sum(
                    prod(2 * margin if j in chosen else each[j] for j in range(d)) / factorial(size + less)
                    for size in range(1, d + 1)
                    for chosen in combinations(range(d), size)
                )
            )
    networks = {d: soft_boxes(d, wanted) for d in (1, 2)}
    ends = {d: (np.zeros(d), np.ones(d)) for d in networks}
    mean = [measured_error(n, target, *ends[d], norm="L1", points=81) for d, n in networks.items()]
    most = [measured_error(n, target, *ends[d], norm="sup", points=21) for d, n in networks.items()]
    return {
        "values of a bump": Identity(
            bump(x, low, high, 0.2),
            np.maximum(1 - np.minimum(away / 0.2, 1).sum(-1), 0),
            scale=1.0,
            condition=4,
            aside={"thresholds": stepped},
        ),
        # The midpoint rule is off by the square of its step where the bump bends.
        "cost of a soft edge": Identity(
            np.array(edges),
            np.array(sums["simplex"]),
            error=np.array([2e-4, 1e-3, 1e-2]) * sums["simplex"],
            along={"dimension": np.arange(1, 4)},
            aside={"one less": np.array(sums["one less"])},
        ),
        "formula for all sets at once": Identity(
            np.array([bump_error(each, 0.1) for each in sides]), np.array(sums["simplex"])
        ),
        "error in the mean": Inequality(
            np.array([*mean, *(bump_error(each, 0.1) for each in sides)]),
            np.array([2 * wanted] * len(mean) + [bump_error_bound(each, 0.1) for each in sides]),
            aside={"sup": np.array([*most, 0, 0, 0])},
        ),
        "units": Exact(
            np.array([each.units for each in networks.values()]),
            np.array([box_units(d, wanted / np.sqrt(d)) for d in networks]),
            along={"dimension": np.array(list(networks))},
            aside={"boxes": np.array([len(each.heights) for each in networks.values()])},
        ),
    }


@box_networks.control("thresholds in place of ReLUs", of="values of a bump")
def thresholds(evidence):
    return replace(evidence, left=evidence.aside["thresholds"])


@box_networks.control("1/|S|! in place of 1/(|S| + 1)!", of="cost of a soft edge")
def larger_corners(evidence):
    return replace(evidence, right=evidence.aside["one less"])


@box_networks.control("in the sup norm too", of="error in the mean")
def everywhere(evidence):
    return replace(evidence, quantity=evidence.aside["sup"])


@box_networks.control("4d units a box, without the one that joins them", of="units")
def unjoined(evidence):
    return replace(evidence, left=4 * evidence.along["dimension"] * evidence.aside["boxes"])


@box_networks.picture
def ridges(pieces, settings):
    """The network on the square from above (left), and along a line through it beside its target (right)."""
    network, along = soft_boxes(2, settings["wanted"]), np.linspace(0, 1, 161)
    heights = network(np.stack(np.meshgrid(along, along), -1))
    row = network(np.stack([along, np.full(161, 0.3)], -1))
    true = target(np.stack([along, np.full(161, 0.3)], -1))
    return Row(
        [
            Surface((), columns=along, rows=along, heights=heights, value="network", x="input x₁", y="input x₂"),
            Curves([Line("network", along, row), Line("target", along, true)], x="input x₁, with x₂ = 0.3", y="value"),
        ]
    )


Accuracies = Annotated[tuple[int, ...], Interval(ge=4, le=32), "increasing", MinLen(3)]


def bowl(x):
    return np.abs(x - 0.5).sum(-1)


def smooth_bowl(x):
    return (x**2).sum(-1)


class Interpolant(RegularGridInterpolator):
    """Multilinear between the knots of a grid."""

    @property
    def units(self):
        return self.values.size


def interpolated(f, cells, low, high):
    """Values at the knots of a grid."""
    along, d = np.linspace(0, 1, cells + 1), len(low)
    return Interpolant([along] * d, f(np.stack(np.meshgrid(*[along] * d, indexing="ij"), -1)))


def needed(how, f, dimension, wanted, points):
    """Cells a side that an error asks for; a hair more is allowed, so that rounding does not decide."""
    ends = np.zeros(dimension), np.ones(dimension)
    found = neurons_needed(f, wanted * (1 + 1e-9), how=how, low=ends[0], high=ends[1], points=points, largest=128)
    return found.size


@claim(
    items={
        "L3.5": (
            "boxes in one dimension",
            "boxes in two dimensions",
            "boxes in three dimensions",
            "boxes by slope and dimension",
        ),
        "H1.7": ("boxes in two dimensions", "knots in one dimension", "knots in two dimensions"),
    },
    says=r"To come within $d\epsilon$ of a function of $d$ inputs with slopes up to $\rho$, constants take about "
    r"$(\rho/2\epsilon)^d$ boxes; for a twice differentiable one, lines between knots of a grid take of order "
    r"$\epsilon^{-d/2}$ knots: smoothness halves the exponent, the dimension multiplies it.",
    needs="measured for sums over coordinates, with ε a share of the range; other constructions may need fewer",
    symbols={
        r"\rho": "the largest slope along an input",
        r"\epsilon": "the largest error that is allowed, over $d$",
        "d": "the number of inputs",
    },
    why=r"A box must be so small that each input changes the function by no more than $2\epsilon$ in it: its side is "
    r"$2\epsilon/\rho$, and of order $\epsilon^{-d}$ such boxes fill the cube. A straight line leaves a curve only by "
    r"the square of its length, so that its pieces may be as long as $\sqrt\epsilon$.",
    notice=r"Lines of slope 1, 2 and 3 on the left: each further input costs another factor of $1/\epsilon$ in "
    "neurons. For the smooth function the slopes are half as large.",
)
def neurons_and_dimension(*, accuracies: Accuracies = (4, 8, 16, 32)):
    boxes = {
        d: [needed(piecewise_constant, bowl, d, d / a, 3) ** d for a in accuracies if d < 3 or a <= 16]
        for d in (1, 2, 3)
    }
    knots = {d: [needed(interpolated, smooth_bowl, d, d / a**2, 129) ** d for a in accuracies] for d in (1, 2)}
    inverse = {"boxes": np.array(accuracies, float), "knots": np.array(accuracies, float) ** 2}
    steepnesses = np.array([1, 2, 3])
    by_slope = [
        [needed(piecewise_constant, lambda x, s=s: s * bowl(x), d, d / 4, 3) ** d for d in (1, 2, 3)]
        for s in steepnesses
    ]
    rates = {
        f"{what} in {word} dimension{'s' * (d > 1)}": Rate(
            inverse[what][: len(found[d])],
            np.array(found[d], float),
            exponent=exponent * d,
            rivals=(exponent * (d - 1), exponent * (d + 1)) if d > 1 else (2 * exponent,),
            resolution=0.3 * exponent,
        )
        for what, found, exponent in (("boxes", boxes, 1.0), ("knots", knots, 0.5))
        for d, word in zip(found, ("one", "two", "three"), strict=False)
    }
    # Within a box of side δ a sum of slopes ρ changes by ρdδ/2 from the middle, and d/4 is allowed.
    counted = (2 * steepnesses[:, None]) ** np.arange(1, 4)
    along = {"slope": steepnesses, "dimension": np.arange(1, 4)}
    return rates | {"boxes by slope and dimension": Exact(np.array(by_slope), counted, along=along)}


@neurons_and_dimension.control("ε^(−d/2) for a function with kinks too", of="boxes in three dimensions")
def halved_for_all(evidence):
    return replace(evidence, exponent=evidence.exponent / 2)


@neurons_and_dimension.control("one factor ρ, not one for each input", of="boxes by slope and dimension")
def one_factor(evidence):
    return replace(evidence, right=evidence.right[:1] * evidence.along["slope"][:, None])


@neurons_and_dimension.control("ε^(−d) for a smooth function too", of="knots in two dimensions")
def whole_for_all(evidence):
    return replace(evidence, exponent=2 * evidence.exponent)


@neurons_and_dimension.picture
def slopes(pieces):
    """Boxes (left) and knots (right) that an error ε needs, against 1/ε, by dimension."""
    panels = []
    for what in ("boxes", "knots"):
        chosen = {name.split(" in ")[1]: piece for name, piece in pieces.items() if name.startswith(f"{what} in")}
        marks = [mark for name, piece in chosen.items() for mark in power_law(name, piece)]
        panels.append(Curves(marks, x="accuracy 1/ε", y=f"number of {what}", log="xy"))
    return Row(panels)
