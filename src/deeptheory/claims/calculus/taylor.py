"""Taylor's remainders, mean values and what a Hessian says nearby (lucchi 1.3.3, Ch. 1 Problem 3)."""

from dataclasses import replace
from math import factorial
from typing import Annotated

import jax.numpy as jnp
import mpmath
import numpy as np
from annotated_types import Interval

from deeptheory.calculus.mean_values import (
    gradient_change,
    mean_value_points,
    mean_value_surplus,
    segment_integral,
    weighted_curvature,
)
from deeptheory.calculus.taylor import integral_remainder, lagrange_points, remainder_bound
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, power_law

ABOUT, ORDERS = 0.3, (0, 1, 2)


def wave(x):
    """The function that is expanded, and its twin in any precision."""
    return jnp.exp(jnp.sin(x))


def remainders(places, orders=ORDERS):
    """f less its Taylor polynomial in forty digits: rows are orders."""
    with mpmath.workdps(40):
        at = mpmath.mpf(ABOUT)
        known = mpmath.taylor(lambda x: mpmath.exp(mpmath.sin(x)), at, max(orders))
        left = [[mpmath.exp(mpmath.sin(mpmath.mpf(x))) - sum(known[n] * (mpmath.mpf(x) - at) ** n for n in range(k + 1))
                 for x in places] for k in orders]  # fmt: skip
        return np.array([[float(each) for each in row] for row in left])


@claim(
    items={
        "L1.5": (
            "remainder as an integral",
            "remainder at a point between",
            "Peano's form",
            "remainder falls with its order",
            "a certain bound",
        )
    },
    says=r"$f(x)=\sum_{n\le k}\frac{f^{(n)}(a)}{n!}(x-a)^n+R_k$ with $R_k=h(x)(x-a)^k$, $h\to0$ (Peano). With a "
    r"further continuous derivative "
    r"$R_k=\int_a^x\frac{(x-t)^k}{k!}f^{(k+1)}(t)\,dt=\frac{f^{(k+1)}(c)}{(k+1)!}(x-a)^{k+1}$ for a $c$ between "
    r"(Lagrange), so $|R_k|\le M|x-a|^{k+1}/(k+1)!$.",
    needs=r"$f=e^{\sin x}$ about 0.3, in forty digits; Peano's form also for $|x|^{5/2}$, which has two derivatives "
    r"at 0",
    symbols={
        r"R_k": "the remainder of order $k$",
        r"a": "the point about which $f$ is expanded",
        r"h": "a function that tends to zero at $a$",
        r"M": r"the largest $|f^{(k+1)}|$ between $a$ and $x$",
    },
    why=r"Integrate $f'$ and write it again as its value at $a$ and the integral of $f''$, and so on: every turn "
    r"gives a power over a factorial, and $k+1$ nested integrals of the last derivative, which are one with weight "
    r"$(x-t)^k/k!$. The weight has one sign, so the integral is an average of $f^{(k+1)}$, and by continuity a value "
    r"of it.",
    notice="Remainders over the distance: slopes are one more than the order of the polynomial, and the bound, from "
    "intervals, lies just above each.",
)
def taylor_remainders():
    steps = np.array([0.8, 0.4, 0.2, -0.3])
    true = remainders(ABOUT + steps)
    by_integral = np.array([integral_remainder(wave, ABOUT, ABOUT + steps, k) for k in ORDERS])
    points = [lagrange_points(wave, ABOUT, ABOUT + 0.8, k) for k in ORDERS]
    bounds = np.array([[remainder_bound(wave, ABOUT, float(ABOUT + s), k).upper for s in steps[:3]] for k in ORDERS])
    with mpmath.workdps(30):
        highest = [
            float(mpmath.diff(lambda x: mpmath.exp(mpmath.sin(x)), float(c[0]), k + 1))
            for k, c in zip(ORDERS, points, strict=True)
        ]
    small = 2.0 ** -np.arange(3, 8)
    factorials = np.array([factorial(k + 1) for k in ORDERS])
    return {
        "remainder as an integral": Identity(
            by_integral,
            true,
            condition=100.0,
            along={"order": np.array(ORDERS), "step": steps},
            aside={"orders": np.array(ORDERS)},
        ),
        "remainder at a point between": Identity(
            np.array(highest) / factorials * 0.8 ** (np.array(ORDERS) + 1),
            true[:, 0],
            error=1e-9 * np.abs(true[:, 0]),
            aside={"places": np.array([c[0] for c in points])},
        ),
        # |x|^{5/2} has two derivatives at 0, both zero, so that h(x) is |x|^{5/2}/x².
        "Peano's form": Rate(1 / small, (small**2.5) / small**2, exponent=-0.5, rivals=(0.0, -1.0)),
        "remainder falls with its order": Rate(
            1 / small, np.abs(remainders(ABOUT + small, (2,))[0]), exponent=-3.0, rivals=(-2.0, -4.0)
        ),
        "a certain bound": Inequality(
            np.abs(true[:, :3]), bounds, along={"order": np.array(ORDERS), "step": steps[:3]}
        ),
    }


@taylor_remainders.control("the weight (x − t)ᵏ over (k + 1)!", of="remainder as an integral")
def next_factorial(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / (evidence.aside["orders"][:, None] + 1))


@taylor_remainders.control("always the point in the middle", of="remainder at a point between")
def middle(evidence):
    with mpmath.workdps(30):
        highest = [float(mpmath.diff(lambda x: mpmath.exp(mpmath.sin(x)), ABOUT + 0.4, k + 1)) for k in ORDERS]
    factorials = np.array([factorial(k + 1) for k in ORDERS])
    return replace(evidence, left=np.array(highest) / factorials * 0.8 ** (np.array(ORDERS) + 1))


@taylor_remainders.control("the factorial of k + 2", of="a certain bound")
def too_small(evidence):
    orders = np.asarray(evidence.along["order"])
    return replace(evidence, bound=np.asarray(evidence.bound) / (orders[:, None] + 2))


@taylor_remainders.picture
def remainders_over_distance(pieces):
    """Moduli of the remainders of orders 0 to 2 by the distance from the point of expansion, below their bounds."""
    piece = pieces["a certain bound"]
    steps = np.asarray(piece.along["step"])
    marks = []
    for order, (seen, bound) in enumerate(zip(np.asarray(piece.quantity), np.asarray(piece.bound), strict=True)):
        marks += [Dots(f"order {order}", steps, seen), Line(f"order {order}", steps, bound)]
    return Row([Curves(marks, x="distance x − a", y="remainder", log="xy"),
                Curves(power_law("order 2", pieces["remainder falls with its order"], rivals={-2.0: "one power less"}),
                       x="1/distance", y="remainder", log="xy")])  # fmt: skip


def cubic(linear, square, cube):
    """The polynomial of degree three with these coefficients, as a function to be differentiated."""
    return lambda x: linear @ x + x @ square @ x + jnp.einsum("ijk,i,j,k->", cube, x, x, x)


def by_hand(linear, square, cube, x):
    """Its value, gradient and Hessian, written out."""
    even = square + square.T
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    third = np.sum([cube.transpose(order) for order in orders], 0)
    value = linear @ x + x @ square @ x + np.einsum("ijk,i,j,k->", cube, x, x, x)
    return value, linear + even @ x + third @ x @ x / 2, even + third @ x


@claim(
    items={
        "L1.6": ("integral of the slope", "a point of mean slope", "curves have none"),
        "L1.7": ("second order", "change of the gradient"),
    },
    says=r"$f(x+y)-f(x)=\int_0^1\nabla f(x+ty)^\top y\,dt=\nabla f(x+cy)^\top y$ for some $c\in(0,1)$; with values in "
    r"$\mathbb R^m$ the point form fails. $f(x+y)=f(x)+\nabla f(x)^\top y+\int_0^1(1-t)\,y^\top\nabla^2f(x+ty)y\,dt$, "
    r"and $\nabla f(x+y)-\nabla f(x)=\int_0^1\nabla^2f(x+ty)y\,dt$.",
    needs="cubic polynomials of two variables with normal coefficients, for which Gauss' rule is exact; the unit "
    "circle",
    symbols={
        r"x,\ y": "a point, and the step from it",
        r"c,\ t": "places on the segment, as shares of the step",
        r"\nabla^2f": "the matrix of second derivatives",
    },
    why=r"All of it is calculus of the one function $g(t)=f(x+ty)$ on $[0,1]$, whose derivatives are $\nabla f^\top "
    r"y$ and $y^\top\nabla^2f\,y$. Integrating $\int g'$ by parts leaves the weight $1-t$. Each value of a curve has "
    r"a point of its own, and in general no common one: once around the circle nothing has changed, and the velocity "
    r"is never zero.",
    notice="Left: the slope along a segment, its mean, and where it has that value. Right: remainders of second order "
    r"with the weight $1-t$ lie on the diagonal; with the printed ½ they do not.",
)
def mean_values_along_a_segment(key, *, segments: Annotated[int, Interval(ge=2, le=6)] = 3):
    rng = generator(key)
    x, y = rng.normal(size=(2, segments, 2))
    drawn = [(rng.normal(size=2), rng.normal(size=(2, 2)), rng.normal(size=(2, 2, 2))) for _ in range(segments)]
    rows = [(cubic(*c), b, s) for c, b, s in zip(drawn, x, y, strict=True)]
    start = [by_hand(*c, b) for c, b in zip(drawn, x, strict=True)]
    end = [by_hand(*c, b + s) for c, b, s in zip(drawn, x, y, strict=True)]
    change = np.array([one[0] - zero[0] for zero, one in zip(start, end, strict=True)])
    first, last = (np.array([each[1] @ s for each, s in zip(side, y, strict=True)]) for side in (start, end))
    turned = np.array([one[1] - zero[1] for zero, one in zip(start, end, strict=True)])
    places = [mean_value_points(*row) for row in rows]
    size = 1 + np.abs(first) + np.abs(last)
    shares = np.linspace(0.005, 0.995, 100)
    around = mean_value_surplus(
        lambda t: jnp.array([jnp.cos(t[0]), jnp.sin(t[0])]), np.zeros(1), np.array([2 * np.pi]), shares
    )
    along = mean_value_surplus(*rows[0], shares)
    return {
        "integral of the slope": Identity(
            np.array([float(segment_integral(*row, nodes=4)) for row in rows]), change, scale=size, size=20,
            aside={"ends": (first + last) / 2},
        ),
        "a point of mean slope": Identity(
            np.array([np.abs(mean_value_surplus(*row, c[:1])).max() for row, c in zip(rows, places, strict=True)]),
            np.zeros(segments), scale=size, size=20,
            aside={"half": np.array([float(mean_value_surplus(*row, np.array([0.5]))[0]) for row in rows]),
                   "shares": shares,
                   "slope": along + change[0], "mean": change[:1], "places": places[0]},
        ),
        "curves have none": Identity(np.linalg.norm(around, axis=1), np.full(100, 2 * np.pi), size=10,
                                     aside={"by entry": np.abs(around).min(0)}),
        "second order": Identity(
            np.array([weighted_curvature(*row, nodes=4) for row in rows]), change - first, scale=size, size=20,
            aside={"half": (last - first) / 2},
        ),
        "change of the gradient": Identity(
            np.array([gradient_change(*row, nodes=4) for row in rows]), turned, scale=size[:, None], size=20,
            aside={"start": np.array([each[2] @ s for each, s in zip(start, y, strict=True)])},
        ),
    }  # fmt: skip


@mean_values_along_a_segment.control("the mean of the slopes at both ends", of="integral of the slope")
def both_ends(evidence):
    return replace(evidence, left=evidence.aside["ends"])


@mean_values_along_a_segment.control("always half way", of="a point of mean slope")
def half_way(evidence):
    return replace(evidence, left=evidence.aside["half"])


@mean_values_along_a_segment.control("a point that serves all values", of="curves have none")
def one_point(evidence):
    return replace(evidence, right=np.zeros_like(np.asarray(evidence.right)))


@mean_values_along_a_segment.control("the weight ½, as printed", erratum="L1.7a", of="second order")
def printed_weight(evidence):
    return replace(evidence, left=evidence.aside["half"])


@mean_values_along_a_segment.control("the Hessian at the start", of="change of the gradient")
def at_the_start(evidence):
    return replace(evidence, left=evidence.aside["start"])


@mean_values_along_a_segment.picture
def slope_and_remainder(pieces):
    """The slope along a segment with its mean (left), and second-order remainders by two weights (right)."""
    one, two = pieces["a point of mean slope"].aside, pieces["second order"]
    slope = Curves(
        [Line("slope", one["shares"], one["slope"]), Level("mean", y=float(one["mean"][0])),
         Dots("where it is the mean", one["places"], np.full(len(one["places"]), one["mean"][0]))],
        x="share of the way", y="slope along the step",
    )  # fmt: skip
    truth = np.asarray(two.right)
    ends = np.array([truth.min(), truth.max()])
    weights = Curves(
        [Line("equal", ends, ends), Dots("weight 1 − t", truth, two.left),
         Dots("weight ½", truth, two.aside["half"], rival="as printed in eq. 1.17")],
        x="remainder of second order", y="by the integral",
    )  # fmt: skip
    return Row([slope, weights])
