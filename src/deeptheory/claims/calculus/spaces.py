"""Open and closed discs with their limit points, and kinds of spaces inside each other (lucchi 1.6)."""

from dataclasses import replace

import numpy as np

from deeptheory.calculus.topology import is_topology
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row, Stack, Table

RADII = (5, 10, 13)
"""Circles with twelve points whose coordinates are whole numbers."""
PARTS = 2 ** np.arange(9)
"""Neighbourhoods are looked into at the distances 2/PARTS."""
DISTANCES = {
    "only upward counts": lambda x: np.maximum(x, 0).sum(-1),
    "along the axes": lambda x: np.abs(x).sum(-1),
    "straight": lambda x: np.sqrt((x**2).sum(-1)),
    "largest coordinate": lambda x: np.abs(x).max(-1),
    "0 or 1": lambda x: (x != 0).any(-1).astype(float),
}
KINDS = ("topological", "metric", "normed", "inner product")
KNOWN = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], bool)
CIRCLE = np.stack([f(np.linspace(0, 2 * np.pi, 121)) for f in (np.cos, np.sin)])


def lattice(reach):
    """The points of the plane whose coordinates are whole numbers of at most this size."""
    return np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2), -1).reshape(-1, 2)


def neighbours(radius):
    """Points in and around a disc, others near each by distance and direction, and which of these are in the open disc.

    All in whole numbers: those near are in units of 1/(radius · PARTS).
    """
    points = lattice(radius + 1)
    directions = points[(points**2).sum(1) == radius**2]
    near = points[:, None, None] * radius * PARTS[:, None, None] + 2 * directions
    return points, near, (near**2).sum(-1) < (radius**2 * PARTS[:, None]) ** 2


def kinds_of_space(length):
    """Which kinds of space the distance `length(y − x)` makes of the plane, by their axioms at whole numbers."""
    x = lattice(2)
    one, other = x[:, None], x[None]
    metric = (
        np.array_equal(length(x) > 0, (x != 0).any(1))
        and np.array_equal(length(-x), length(x))
        and bool((length(one + other) <= length(one) + length(other) + 1e-12).all())
    )
    normed = metric and all(np.allclose(length(t * x), t * length(x), atol=1e-12) for t in (2, 3))
    sides = 2 * (length(one) ** 2 + length(other) ** 2)
    inner = normed and np.allclose(length(one + other) ** 2 + length(one - other) ** 2, sides, atol=1e-12)
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    # No distance here is between 0 and 1: these are the smallest balls.
    balls = [frozenset(np.flatnonzero(length(square - p) < 0.5).tolist()) for p in square]
    sets = [frozenset(p for p in range(4) if number >> p & 1) for number in range(16)]
    opens = [each for each in sets if all(balls[p] <= each for p in each)]
    return [is_topology(range(4), opens), metric, normed, inner]


@claim(
    items={"L1.21": ("points of a disc", "kinds of spaces")},
    says=r"Around every point with $|x|<r$ a ball lies in the open disc; its limit points are all with $|x|\le r$, its "
    r"boundary $|x|=r$. Inner products make norms, norms metrics, metrics topologies; none of it can be turned round.",
    needs="discs of radii 5, 10, 13 at points of whole numbers; five distances in the plane, by the axioms of kinds",
    symbols={
        r"r": "the radius of the disc",
        r"|x|": "the length of a vector in the plane",
        r"\text{limit point}": "one in whose every neighbourhood lies another point of the disc",
        r"\text{boundary}": "the limit points of both the disc and what is outside",
    },
    why=r"A point at distance $\delta>0$ from the circle has a ball of radius $\delta$ on its side of it, by the "
    r"triangle inequality. From a point on the circle steps to the centre, however short, are in the disc, and steps "
    r"away are not. The distance that is 0 or 1 does not double with its vector, so no norm makes it. The norm of the "
    r"largest coordinate breaks $\|x+y\|^2+\|x-y\|^2=2\|x\|^2+2\|y\|^2$, which inner products obey. Where going down "
    r"costs nothing, two points cannot be told apart by open sets from both sides, as in a metric space they can.",
    notice="The open disc has none of the points of its boundary, and with all of them it is closed: each "
    "neighbourhood of a point on the circle has points of the disc, as that of one inside has. Below, each kind of "
    "space is a box around the distances that make one: every box has a distance that is not in the next.",
)
def discs_and_kinds_of_spaces():
    near, sizes = [], []
    for radius in RADII:
        points, _, inside = neighbours(radius)
        limit = inside.any(2).all(1)
        near.append([inside.all(2).any(1), limit, limit & (~inside).any(2).all(1)])
        sizes.append((points**2).sum(1) - radius**2)
    size = np.concatenate(sizes)
    return {
        "points of a disc": Exact(np.concatenate(near, 1), np.stack([size < 0, size <= 0, size == 0])),
        "kinds of spaces": Exact(np.array([kinds_of_space(length) for length in DISTANCES.values()]), KNOWN),
    }


@discs_and_kinds_of_spaces.control("the limit points of an open disc are its own points", of="points of a disc")
def own_points(evidence):
    return replace(evidence, right=evidence.right[[0, 0, 2]])


@discs_and_kinds_of_spaces.control("every norm comes from an inner product", of="kinds of spaces")
def norm_is_enough(evidence):
    return replace(evidence, right=evidence.right[:, [0, 1, 2, 2]])


@discs_and_kinds_of_spaces.picture
def disc_limit_points_and_boxes(pieces):
    """The disc of radius 5 and its boundary, neighbourhoods of two of its limit points; kinds of spaces as boxes."""
    disc = Row([open_and_closed(pieces["points of a disc"].left), two_limit_points()])
    return Stack([disc, nested(pieces["kinds of spaces"].left)])


def open_and_closed(kinds):
    """The points of the grid inside the disc, on its circle and outside, as their neighbourhoods have told."""
    points = lattice(RADII[0] + 1)
    interior, limit, boundary = kinds[:, : len(points)]
    named = {"open disc": interior, "boundary": boundary, "outside": ~limit}
    dots = [Dots(name, *points[which].T) for name, which in named.items()]
    return Plane([Line("boundary", *(RADII[0] * CIRCLE)), *dots], x="first coordinate", y="second coordinate")


def two_limit_points():
    """Neighbourhoods of a point inside the open disc and of one on its circle, each with a point of the disc."""
    radius = RADII[0]
    points, near, inside = neighbours(radius)
    marks: list[Line | Dots] = [Line("boundary", *(radius * CIRCLE), dashed=True)]
    for place in ((-2, 0), (3, 4)):
        i = int(np.flatnonzero((points == place).all(1))[0])
        for k in range(3):
            found = near[i, k, inside[i, k].argmax()] / (radius * PARTS[k])
            ball = points[i][:, None] + 2.5 / PARTS[k] * CIRCLE
            marks += [Line("neighbourhoods", *ball, thin=True), Dots("in both", *found[:, None])]
        marks.append(Dots("limit points", *points[i][:, None]))
    return Plane(marks, x="first coordinate", y="second coordinate", xs=(-6.5, 6.5), ys=(-6.5, 6.5))


def nested(kinds):
    """A box for each kind of space around the distances that make one, and as high as they are many."""
    marks: list[Line | Dots] = []
    for k, (name, belongs) in enumerate(zip(KINDS, kinds.T, strict=True)):
        first, last = np.flatnonzero(belongs)[[0, -1]] + np.array([0.5, 1.5]) + 0.08 * k * np.array([1, -1])
        low, high = 0.08 * k, belongs.sum()
        marks.append(Line(name, [first, last, last, first, first], [low, low, high, high, low]))
    numbers = list(range(1, len(kinds) + 1))
    marks.append(Dots("distances", numbers, 0.6, words=list(DISTANCES)))
    innermost = [KINDS[belongs.sum() - 1] for belongs in kinds]
    return Row([Curves(marks, x="number of the distance", y="distances of this kind"),
                Table({"number": numbers, "distance": list(DISTANCES), "innermost kind": innermost})])  # fmt: skip
