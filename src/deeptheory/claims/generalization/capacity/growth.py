"""Dichotomies counted, growth functions, VC dimensions."""

from dataclasses import replace
from itertools import product
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.growth import (
    cover_count,
    half_space_dichotomies,
    interval_dichotomies,
    linearly_separable,
    radon_labels,
    rectangle_dichotomies,
    sauer_power,
    sauer_sum,
    shatters,
    sine_frequency,
    sine_signs,
    threshold_dichotomies,
    vc_dimension,
)
from deeptheory.lab import Exact, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

DIMENSIONS = (1, 2, 3)
CORNERS = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
"""Four points that rectangles shatter."""


def simplex(dimension):
    return np.vstack([np.zeros(dimension), np.eye(dimension)])


@claim(
    items={
        "L8.7": ("half-spaces", "no placement cuts out more", "thresholds and intervals"),
        "L8.8": "half-planes",
        "H7.3": "half-spaces",
    },
    says=r"Of n points in general position half-spaces of $\mathbb R^d$ cut out $2\sum_{i\le d}\binom{n-1}i$ subsets, "
    r"each labeling tried by a linear program; in the plane 2, 4, 8, 14, 22, 32, so the doubling stops at four points. "
    r"Thresholds cut out n+1, intervals n(n+1)/2+1.",
    needs="points in general position; in other positions there are fewer: tried with five in the plane",
    symbols={r"n": "the number of points", r"d": "the dimension of the space"},
    why=r"Add one point. A labeling of the others is continued in both ways if some hyperplane that cuts it out can be "
    r"moved through the new point, and in one way otherwise. Hyperplanes through a given point are those of a space of "
    r"one dimension less, so $C(n+1,d)=C(n,d)+C(n,d-1)$: Pascal's rule, with the sum of binomials as its solution.",
    notice=r"As long as $n\le d+1$ the counts double with every point and all labelings are possible. Beyond, the "
    r"curves bend away from $2^n$, the earlier the smaller $d$ is, and grow only like $n^d$.",
)
def growth_functions(
    key, *, most: Annotated[int, Interval(ge=3, le=7)] = 5, position: Literal["general", "line"] = "general"
):
    draw = generator(key)
    counts, formulas = [], []
    for d in DIMENSIONS:
        for n in range(1, most + 1):
            points = draw.standard_normal((n, d))
            if position == "line":
                points = np.outer(draw.standard_normal(n), np.ones(d))
            counts.append(len(half_space_dichotomies(points)))
            formulas.append(cover_count(n, d))
    # The growth function is the most over all placements: those on a line, a grid and a circle, and doubled points.
    circle = 2 * np.pi * np.arange(5) / 5
    placements = [
        np.outer(np.arange(5.0), [1.0, 2.0]),
        np.array([[0.0, 0], [1, 0], [2, 0], [0, 1], [1, 1]]),
        np.array([[0.0, 0], [0, 0], [1, 0], [0, 1], [1, 1]]),
        np.stack([np.cos(circle), np.sin(circle)], axis=1),
        *draw.integers(-1, 2, (12, 5, 2)).astype(float),
    ]
    placed = np.array([len(half_space_dichotomies(points)) for points in placements])
    line = [draw.standard_normal((n, 1)) for n in range(1, 13)]
    sizes = np.arange(1, 13)
    observed = [[len(c(x)) for x in line] for c in (threshold_dichotomies, interval_dichotomies)]
    return {
        "half-spaces": Exact(
            np.reshape(counts, (3, most)),
            np.reshape(formulas, (3, most)),
            aside={
                "through the origin": np.array(
                    [[cover_count(n, d - 1) for n in range(1, most + 1)] for d in DIMENSIONS]
                )
            },
        ),
        "no placement cuts out more": Inequality(placed, 22),
        "thresholds and intervals": Exact(np.array(observed), np.array([sizes + 1, sizes * (sizes + 1) // 2 + 1])),
        "half-planes": Exact(
            np.array([len(half_space_dichotomies(draw.standard_normal((n, 2)))) for n in range(1, 7)]),
            np.array([2, 4, 8, 14, 22, 32]),
        ),
    }


growth_functions.control("all points on one line", of="half-spaces", position="line")


@growth_functions.control("half-spaces through the origin, one dimension less", of="half-spaces")
def through_the_origin(evidence):
    return replace(evidence, right=evidence.aside["through the origin"])


@growth_functions.control("a fifth point adds six labelings, for eight", of="no placement cuts out more")
def one_pair_less(evidence):
    return replace(evidence, bound=20)


@growth_functions.control("doubling up to four points", of="half-planes")
def doubling(evidence):
    return replace(evidence, right=np.where(np.asarray(evidence.right) == 14, 16, evidence.right))


@growth_functions.control("intervals without the empty set", of="thresholds and intervals")
def without_empty(evidence):
    return replace(evidence, right=np.asarray(evidence.right) - np.array([[0], [1]]))


@growth_functions.picture
def labelings_counted(pieces):
    """Labelings of n points by half-spaces of ℝᵈ: counted by linear programs, the formula, and all 2ⁿ."""
    counted = np.asarray(pieces["half-spaces"].left)
    grid = np.arange(1, 13)
    formulas = [Line(f"d = {d}, formula", grid, [cover_count(int(n), d) for n in grid]) for d in DIMENSIONS]
    dots = [Dots("counted", np.arange(1, len(row) + 1), row) for row in counted]
    everything = Line("all labelings, 2ⁿ", grid, 2.0**grid, dashed=True)
    return Curves([everything, *formulas, *dots], x="points n", y="labelings", log="y")


@claim(
    items={
        "L8.10": ("sets that are shattered", "sets that are not shattered", "signs of a sine"),
        "L8.11": ("sets that are shattered", "Radon partitions"),
        "H7.4": ("sets that are shattered", "sets that are not shattered", "Radon partitions", "signs of a sine"),
    },
    says=r"Affine classifiers of $\mathbb R^d$ shatter $0,e_1,\dots,e_d$ but never both sides of a Radon partition of "
    r"$d+2$ points: their dimension is $d+1$. Thresholds shatter 1 point, intervals 2, rectangles 4 and none more; "
    r"$\operatorname{sign}\sin(\omega x)$ shatters any number of the points $10^{-i}$.",
    needs="points in general position: three on a line are not shattered",
    symbols={
        r"d": "the dimension of the space",
        r"e_1,\dots,e_d": "the unit vectors",
        r"\omega": "the frequency, the only parameter",
    },
    why=r"With $w_i=\pm1$ and a bias any labels of the corners of a simplex can be written down. Among $d+2$ points "
    r"there is always an affine dependence; its positive and its negative part have a common point in their convex "
    r"hulls, so no half-space separates the two. One parameter can shatter any number of points: the digits of "
    r"$\omega$ are a list of labels.",
    notice=r"Left, four points in the plane with the labels of Radon's partition: the segment of the one pair crosses "
    r"that of the other, or a point lies in the triangle of the others, and no line parts them. Right, the sine of one "
    r"frequency gives the wanted signs at six points.",
)
def vc_dimensions(
    key, *, most: Annotated[int, Interval(ge=2, le=7)] = 5, extra: Annotated[int, Interval(ge=0, le=1)] = 0
):
    draw = generator(key)
    shattered, radon = [], []
    for d in range(1, most + 1):
        # One point more than the dimension allows: the centre of the simplex, when asked for.
        points = np.vstack([simplex(d), np.full((extra, d), 1 / (d + 2))])
        shattered.append(shatters(half_space_dichotomies, points) if len(points) < 6 else _every_labeling(points))
        more = draw.standard_normal((d + 2, d))
        labels = radon_labels(more)
        radon.append(_possible(more, labels))
    four = draw.standard_normal((4, 2))
    small = [
        shatters(threshold_dichotomies, np.array([[0.0]])),
        shatters(interval_dichotomies, np.array([[0.0], [1.0]])),
        shatters(rectangle_dichotomies, CORNERS),
    ]
    larger = [
        any(shatters(threshold_dichotomies, draw.standard_normal((2, 1))) for _ in range(20)),
        any(shatters(interval_dichotomies, draw.standard_normal((3, 1))) for _ in range(20)),
        any(shatters(rectangle_dichotomies, draw.standard_normal((5, 2))) for _ in range(20)),
        shatters(half_space_dichotomies, np.outer(np.arange(3.0), np.ones(2))),
    ]
    labels = np.array(list(product((False, True), repeat=6)))
    signs = np.array([sine_signs(sine_frequency(row), 6) for row in labels])
    return {
        "sets that are shattered": Exact(np.array([*shattered, *small]), np.ones(most + 3, bool)),
        "sets that are not shattered": Exact(np.array(larger), np.zeros(4, bool)),
        "Radon partitions": Exact(
            np.array(radon), np.zeros(most, bool), aside={"points": four, "labels": radon_labels(four)}
        ),
        "signs of a sine": Exact(signs, labels),
    }


def _possible(points, labels):
    return linearly_separable(points, np.where(labels, 1.0, -1.0))


def _every_labeling(points):
    """Shattering with an early exit: one labeling that fails settles it."""
    return all(_possible(points, np.array([True, *rest])) for rest in product((False, True), repeat=len(points) - 1))


vc_dimensions.control("one point more", of="sets that are shattered", extra=1)


@vc_dimensions.control("one point against the others instead of Radon's parts", of="Radon partitions")
def one_against_the_others(evidence):
    draw, dimensions = np.random.default_rng(0), range(1, len(np.asarray(evidence.left)) + 1)
    return replace(
        evidence,
        left=np.array([_possible(draw.standard_normal((d + 2, d)), np.arange(d + 2) == 0) for d in dimensions]),
    )


@vc_dimensions.control("the frequency without its leading one", of="signs of a sine")
def without_leading_one(evidence):
    labels = np.asarray(evidence.right)
    return replace(evidence, left=np.array([sine_signs(sine_frequency(row) - 1, 6) for row in labels]))


@vc_dimensions.picture
def radon_and_sine(pieces):
    """A Radon partition of four points in the plane, and a sine that labels six points + − + + − −."""
    aside = pieces["Radon partitions"].aside
    points, labels = aside["points"], np.asarray(aside["labels"], bool)
    sides = [(name, points[chosen]) for name, chosen in (("one part", labels), ("the other", ~labels))]
    hulls = [Line(f"hull of {name}", *np.vstack([part, part[:1]]).T) for name, part in sides if len(part) > 1]
    wanted = np.array([True, False, True, True, False, False])
    frequency = sine_frequency(wanted)
    places = 10.0 ** -np.arange(1, 7)
    signs = np.where(sine_signs(frequency, 6), 1.0, -1.0)
    return Row(
        [
            Plane([*hulls, *(Dots(name, *part.T) for name, part in sides)], title="Radon's partition"),
            Curves(
                [Line("wanted", places, np.where(wanted, 1.0, -1.0)), Dots("sign of the sine", places, signs)],
                x="point x = 10⁻ⁱ", y="label, +1 or −1", log="x", title="sign sin(ωx), one parameter",
            ),
        ]
    )  # fmt: skip


@claim(
    items={
        "L8.12": ("sizes of random classes", "sum below a power", "classes that attain the sum", "degree of the growth")
    },
    says=r"A class of VC dimension h has at most $\sum_{i\le h}\binom ni$ dichotomies, with equality for the subsets "
    r"of at most h elements; for $n\ge h$ the sum is at most $(en/h)^h$. It is $2^n$ up to h, then a polynomial.",
    needs="n ≥ h for the second bound",
    symbols={r"h": "the VC dimension", r"n": "the number of points"},
    why=r"Every class cuts out at most as many dichotomies as there are sets that it shatters: drop one point, count "
    r"those dichotomies that both its labels continue as a class of their own, and use induction. Sets that are "
    r"shattered have at most $h$ elements. For the power, multiply the sum by $(h/n)^h\le(h/n)^i$ and compare with "
    r"$(1+h/n)^n\le e^h$.",
    notice=r"Up to $n=h$ the count doubles with every point, and from there it is a polynomial of degree $h$, which "
    r"$2^n$ soon leaves behind. The power form lies above by a factor that does not grow with $n$.",
)
def sauer_shelah(key, *, domain: Annotated[int, Interval(ge=3, le=9)] = 7, short: bool = False):
    draw = generator(key)
    sizes, dimensions = [], []
    for count in (3, 6, 12, 24, 48, 96):
        members = np.unique(draw.random((count, domain)) < 0.5, axis=0)
        sizes.append(len(members))
        dimensions.append(vc_dimension(members))
    small = [
        np.array([row for row in product((False, True), repeat=domain) if sum(row) <= h]) for h in range(domain + 1)
    ]
    pairs = [(n, h) for h in range(1, 9) for n in (range(1, h) if short else range(h, 40))]
    growth = np.array([sauer_sum(2**k, 3) for k in range(3, 10)], float)
    return {
        "sizes of random classes": Inequality(
            np.array(sizes, float),
            np.array([sauer_sum(domain, h) for h in dimensions], float),
            aside={"one less": np.array([sauer_sum(domain, h - 1) for h in dimensions], float)},
        ),
        "classes that attain the sum": Exact(
            np.array([[len(members), vc_dimension(members)] for members in small]),
            np.array([[sauer_sum(domain, h), h] for h in range(domain + 1)]),
        ),
        "sum below a power": Inequality(
            np.log([sauer_sum(n, h) for n, h in pairs]),
            # Below h the function refuses; its form there, for the control.
            np.array([np.log(sauer_power(max(n, h), h)) + h * np.log(min(n / h, 1)) for n, h in pairs]),
            log=True,
        ),
        "degree of the growth": Rate(2.0 ** np.arange(3, 10), growth, exponent=3.0, rivals=(2.0, 4.0)),
    }


sauer_shelah.control("the power form below h", of="sum below a power", short=True)


@sauer_shelah.control("subsets of fewer than h elements", of="sizes of random classes")
def fewer_than_h(evidence):
    return replace(evidence, bound=evidence.aside["one less"])


@sauer_shelah.control("faster than exponential", of="degree of the growth")
def faster_than_exponential(evidence):
    return Inequality(2.0 ** np.asarray(evidence.x), evidence.y)


@sauer_shelah.control("one binomial fewer", of="classes that attain the sum")
def one_fewer(evidence):
    right = np.asarray(evidence.right).copy()
    right[1:, 0] = right[:-1, 0]
    return replace(evidence, right=right)


@sauer_shelah.picture
def doubling_and_powers(pieces):
    """Sauer's bound for dimensions 2 and 4 along the number of points: the sum, its power form, and all 2ⁿ."""
    n = np.arange(1, 21)
    marks = [Line("all labelings, 2ⁿ", n, 2.0**n, dashed=True)]
    for h in (2, 4):
        beyond = n[n >= h]
        marks.append(Line(f"sum of binomials, h = {h}", n, [sauer_sum(int(k), h) for k in n]))
        marks.append(Line(f"(en/h)^h, h = {h}", beyond, [sauer_power(int(k), h) for k in beyond]))
    return Curves(marks, x="points n", y="dichotomies", log="y", ys=(1, 1e5))
