"""Stone and Weierstrass: cosine networks are an algebra, and each of the four hypotheses counts (lucchi Sec. 3.5)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.approximation.cosines import cosine_network, cosine_product
from deeptheory.approximation.errors import best_in_span, measured_error
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Limit, claim
from deeptheory.lab.pictures import Curves, Line, Row, power_law

Degrees = Annotated[tuple[int, ...], Interval(ge=3, le=48), "increasing", MinLen(3)]


def tent(x):
    return np.abs(x - 0.4).mean(-1)


def off(degree, dimension, f=tent):
    ends = np.zeros(dimension), np.ones(dimension)
    return measured_error(cosine_network(f, degree, *ends), f, *ends, points={1: 801, 2: 61}[dimension])


@claim(
    items={"L3.14": ("product of two networks", "width of the product", "error of one input", "error of two inputs")},
    says=r"The product of cosine networks of widths $m_1$ and $m_2$ is one of width $2m_1m_2$, by "
    r"$\cos u\cos v=\frac12(\cos(u+v)+\cos(u-v))$: an algebra, which comes near every continuous function on a cube. "
    "Fejér's means are such networks, with errors almost like one over the degree.",
    needs="a kink as target; errors are largest values on a grid, in one and two dimensions",
    symbols={
        "u, v": r"the arguments $w\cdot x+b$ of two units",
        "m_1, m_2": "the numbers of units of two networks",
    },
    why="Multiplying out two sums of cosines gives products of two cosines each, and the cosine of a sum turns each "
    "into two cosines. A unit with weight zero is a constant, and one with a small weight tells two points apart; this "
    "is all that Stone and Weierstrass ask for. Fejér's means are positive averages of the function over a narrow "
    "kernel, so they converge uniformly, at the pace at which the kernel narrows.",
    notice="Left, a kink and Fejér's networks of more and more cosines, which lie below it at the ends and above it at "
    "the kink, as averages do. Right, the errors fall almost like one over the number of frequencies along a side.",
)
def cosine_networks(key, *, degrees: Degrees = (6, 12, 24, 48)):
    rng = generator(key)
    one, other = (
        ShallowNetwork(rng.normal(size=(m, 3)), rng.normal(size=m), rng.normal(size=m), np.cos) for m in (4, 7)
    )
    x = rng.normal(size=(50, 3))
    whole = cosine_product(one, other)
    sum_of = [each(x) for each in (one, other)]
    half = len(whole.output) // 2
    parts = [
        np.cos(x @ whole.weights[s].T + whole.biases[s]) @ whole.output[s] for s in (slice(half), slice(half, None))
    ]
    return {
        "product of two networks": Identity(
            whole(x), sum_of[0] * sum_of[1], scale=10.0, condition=10, aside={"sines": parts[1] - parts[0]}
        ),
        "width of the product": Exact(np.array([whole.units]), np.array([2 * one.units * other.units])),
        "error of one input": Limit(np.array(degrees), np.array([off(n, 1) for n in degrees]), order=0.75),
        "error of two inputs": Limit(np.array(degrees[:3]), np.array([off(n, 2) for n in degrees[:3]]), order=0.75),
    }


@cosine_networks.control("(cos(u − v) − cos(u + v))/2, the product of sines", of="product of two networks")
def sines(evidence):
    return replace(evidence, left=evidence.aside["sines"])


@cosine_networks.control("m₁m₂ units", of="width of the product")
def one_each(evidence):
    return replace(evidence, right=evidence.right // 2)


@cosine_networks.control(
    "the square of the width of the kernel, as for a smooth periodic function", of="error of one input"
)
def faster(evidence):
    return replace(evidence, order=2.0)


@cosine_networks.control("faster than one over the degree, like n^(−3/2)", of="error of two inputs")
def faster_in_the_plane(evidence):
    return replace(evidence, order=1.5)


@cosine_networks.picture
def fejer(pieces):
    """A kink and three cosine networks (left); their errors in one and in two dimensions (right)."""
    x = np.linspace(0, 1, 201)[:, None]
    marks = [Line("|x − 0.4|", x[:, 0], tent(x), thin=True)]
    for degree in (3, 6, 24):
        network = cosine_network(tent, degree, np.zeros(1), np.ones(1))
        marks.append(Line(f"{network.units} cosines", x[:, 0], network(x)))
    errors = power_law("one input", pieces["error of one input"]) + power_law(
        "two inputs", pieces["error of two inputs"]
    )
    return Row(
        [
            Curves(marks, x="place x", y="value"),
            Curves(errors, x="frequencies along a side", y="largest error", log="xy"),
        ]
    )


SIZES = np.array([3, 6, 12])
X = (1 - np.cos(np.pi * np.arange(121) / 120)) / 2  # from 0 to 1, with ½ and the extremes of Chebyshev polynomials


def powers(size, base):
    """Chebyshev polynomials of degree 0 to size − 1 in a variable between −1 and 1."""
    return np.polynomial.chebyshev.chebvander(base, size - 1)


CLASSES = {
    "not continuous": "finitely many values that are not zero",
    "vanishing at a point": "polynomials without a constant",
    "not separating": "polynomials in (x − ½)²",
    "not an algebra": "lines",
}


def spans(size):
    """For each class: columns that span its functions of the given size over the points X."""
    spikes = np.eye(len(X))[:, np.linspace(0, len(X) - 1, size).astype(int)]
    return [spikes, X[:, None] * powers(size, 2 * X - 1), powers(size, 2 * (2 * X - 1) ** 2 - 1), powers(2, 2 * X - 1)]


TARGETS = [np.ones_like(X), np.ones_like(X), X, X**2]


@claim(
    items={"L3.15": ("distance without one hypothesis", "distance with all of them")},
    says="Without one hypothesis of Stone and Weierstrass a class may stay away from a continuous function on "
    "$[0,1]$: functions with finitely many non-zero values, or zero at $0$, stay $1$ from $1$; those symmetric about "
    r"$\frac12$ stay $\frac12$ from $x$; lines stay $\frac18$ from $x^2$.",
    needs="each class keeps the other three hypotheses; distances by linear programs over 121 places",
    symbols={"x": "a number between 0 and 1"},
    why="Zero at all but a few places, zero at one place, equal values at two: every function of a class has such a "
    "fault, the target has not, and they are apart by what it takes to mend it at one place. Lines are "
    r"no algebra, as $x\cdot x$ is none of them, and the best one leaves a Chebyshev polynomial of height $\frac18$.",
    notice="Larger and larger members of each class do not come nearer, while polynomials, which have all four "
    "properties, do so even at a kink.",
)
def each_hypothesis_counts():
    stuck = [
        [best_in_span(columns, goal).error for columns, goal in zip(spans(size), TARGETS, strict=True)]
        for size in SIZES.tolist()
    ]
    kink = np.abs(X - 0.5)
    free = np.array([best_in_span(powers(size, 2 * X - 1), kink).error for size in SIZES.tolist()])
    whole = [[best_in_span(powers(size + 2, 2 * X - 1), goal).error for goal in TARGETS] for size in SIZES.tolist()]
    return {
        "distance without one hypothesis": Identity(
            np.array(stuck),
            np.array([[1.0, 1.0, 0.5, 0.125]] * len(SIZES)),
            error=1e-7,
            along={"size": SIZES, "class": list(CLASSES)},
            aside={"polynomials": np.array(whole)},
        ),
        "distance with all of them": Limit(SIZES, free, order=1.0, aside={"lines": np.full(len(SIZES), 0.25)}),
    }


@each_hypothesis_counts.control("all polynomials", of="distance without one hypothesis")
def polynomials(evidence):
    return replace(evidence, left=evidence.aside["polynomials"])


@each_hypothesis_counts.control("x² from the chord, 1/4, not from the best line", of="distance without one hypothesis")
def chord(evidence):
    return replace(evidence, right=evidence.right * np.array([1, 1, 1, 2]))


@each_hypothesis_counts.control("lines at the kink", of="distance with all of them")
def lines(evidence):
    return replace(evidence, y=evidence.aside["lines"])


@each_hypothesis_counts.picture
def away(pieces):
    """Distance of each class from its target by size (dashed, two of them at 1), and of polynomials from a kink."""
    found, free = pieces["distance without one hypothesis"], pieces["distance with all of them"]
    marks = [
        Line(f"{name}: {CLASSES[name]}", found.along["size"], column, dashed=True)
        for name, column in zip(found.along["class"], np.asarray(found.left).T, strict=True)
    ]
    return Curves([*marks, Line("all four: polynomials", free.x, free.y)], x="size of the class: places, or degree",
                  y="largest error", log="xy")  # fmt: skip
