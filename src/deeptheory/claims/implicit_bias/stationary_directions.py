"""Directions that satisfy the first-order conditions of the margin and are not its maximum.

arora 8.4, lucchi 11.1.2.
"""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.homogeneous import first_order_residual
from deeptheory.implicit_bias.homogeneous_training import homogeneous_flow
from deeptheory.lab import Identity, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

COEFFICIENTS = np.array([[2.0, 1.0], [3.0, 1.5]])
"""Of u₁⁴ and u₂⁴ in two outputs: along the second axis the margin is 1, along the first 2, the largest there is."""


def fourth_powers(weights):
    return COEFFICIENTS @ weights**4


@claim(
    items={"L11.14": ("margin of two starts", "first-order points both")},
    says=r"Two ReLU units on two unit points of one label, at an angle $90°<\varphi<120°$: if each sees both the "
    r"flow ends at the margin $\frac12\cos\frac\varphi2$, if each sees its own at $\frac14$, which is "
    "smaller. Both ends satisfy the first-order conditions of the max-margin problem.",
    needs="gradient flow on the exponential loss; no output bias",
    symbols={r"\varphi": "the angle between the two points"},
    why=r"One unit halfway between the points reaches both with $\cos\frac\varphi2$ of its size $a^2$, at a squared "
    "norm of $2a^2$. A unit along each point reaches its own fully, but two of them cost $4a^2$; at an angle beyond "
    "90° neither feels the other's point, so nothing tells them that one would do. Below 120° sharing is better.",
    notice="On the left the margin of each run comes to rest, one of them too low. On the right the dots are these "
    "two ends: each lies on its curve, and the lower curve is not the largest margin at any angle below 120°.",
    explore={"angle": (95.0, 100.0, 110.0, 115.0)},
)
def first_order_is_not_optimal(key, *, angle: Annotated[float, Interval(ge=92, le=118)] = 100.0):
    random, lengths = generator(key), np.array([0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    phi = np.deg2rad(angle)
    points = np.array([[1.0, 0.0], [np.cos(phi), np.sin(phi)]])
    between = np.array([np.cos(phi / 2), np.sin(phi / 2)])

    def margins(weights):
        return jax.nn.relu(points @ weights["in"].T) @ weights["out"]

    found, residuals = [], []
    for aims in (np.stack([between, between]), points):
        turned = random.uniform(-0.02, 0.02, (2, 2))
        start = {"in": aims + turned, "out": random.uniform(0.6, 1.2, 2)}
        run = homogeneous_flow(margins, start, lengths, degree=2.0)
        found.append(run.margin)
        unravel = ravel_pytree(start)[1]
        residuals.append(
            [first_order_residual(margins, unravel(run.directions[at]), degree=2.0).residual for at in (-1, 0)]
        )
    (ended, begun), found, ends = np.transpose(residuals), np.array(found), np.array([np.cos(phi / 2) / 2, 0.25])
    aside = {"angle": np.array(angle), "margins": found[:, -1], "whole": np.array([np.cos(phi) / 2, 0.25])}
    return {
        "margin of two starts": Limit(
            np.exp(2 * lengths[1:]), np.max(np.abs(found[:, 1:] - ends[:, None]), axis=0), order=0.5,
            aside=aside | {"path": found, "lengths": lengths},
        ),
        "first-order points both": Identity(
            ended, 0.0, scale=1.0, error=1e-3, aside={"at the start": begun}
        ),
    }  # fmt: skip


@first_order_is_not_optimal.control("every first-order point has the largest margin", of="margin of two starts")
def all_largest(evidence):
    path = evidence.aside["path"][:, 1:]
    return replace(evidence, y=np.max(np.abs(path - path[0, -1]), axis=0))


@first_order_is_not_optimal.control("the cosine of the whole angle", of="margin of two starts")
def whole_angle(evidence):
    path = evidence.aside["path"][:, 1:]
    return replace(evidence, y=np.max(np.abs(path - evidence.aside["whole"][:, None]), axis=0))


@first_order_is_not_optimal.control("where the flow starts as well", of="first-order points both")
def at_the_start(evidence):
    return replace(evidence, left=evidence.aside["at the start"])


@first_order_is_not_optimal.picture
def two_margins(pieces):
    """Margins along the flow from two kinds of start, and the two values of the formula against the angle."""
    seen = pieces["margin of two starts"].aside
    angles, angle = np.linspace(90, 120, 50), float(seen["angle"])
    curve = np.cos(np.deg2rad(angles) / 2) / 2
    names = "each unit sees both", "each unit sees its own"
    left = [Line(name, seen["lengths"], each) for name, each in zip(names, seen["path"], strict=True)]
    right = [
        Line(names[0], angles, curve),
        Line(names[1], angles, np.full(50, 0.25)),
        *(Dots(name, [angle], [each]) for name, each in zip(names, seen["margins"], strict=True)),
    ]
    return Row(
        [
            Curves(left, x="length of the path, in units of the weights", y="normalized margin"),
            Curves(right, x="angle between the points, degrees", y="margin at the end"),
        ]
    )


@claim(
    items={"A8.38": ("margin in the limit", "share of the loss off the support")},
    says=r"The points that keep a share of the loss are those of the least attained margin $\min_if_i(\bar w)$. With "
    r"$f_1=2u_1^4+u_2^4$, $f_2=3u_1^4+\frac32u_2^4$ and a start near the second axis the flow ends there: margin 1, "
    "all the loss at $f_1$, although the best margin is 2.",
    needs="an open set of starts around the second axis",
    symbols={
        r"f_i": "the output at point $i$, homogeneous of degree 4 in the weights $u_1,u_2$; labels $y_i=1$",
        r"\bar w": "the limit of the direction",
    },
    why=r"Near the second axis the gradient in $u_1$ is of third order in $u_1$, so the direction turns to the axis "
    "however much larger the margin elsewhere. No point attains the best margin 2 there: with the best margin in the "
    "definition of support vectors there are none, and nothing would be left to carry the loss.",
    notice="From the same distance to either axis: one start ends at margin 2, the other at margin 1.",
)
def support_needs_the_attained_margin(*, tilt: Annotated[float, Interval(ge=0.01, le=0.3)] = 0.1):
    lengths = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    low = homogeneous_flow(fourth_powers, np.array([tilt, 1.0]), lengths, degree=4.0)
    high = homogeneous_flow(fourth_powers, np.array([1.0, tilt]), lengths, degree=4.0)
    best = np.max((COEFFICIENTS @ np.stack([np.linspace(0, 1, 2001) ** 2, np.linspace(1, 0, 2001) ** 2])).min(0))
    attained = low.margins[-1] <= 1.01 * low.margin[-1]
    globally = np.abs(low.margins[-1] - best) <= 0.01 * best
    shares = low.shares[1:]
    return {
        "margin in the limit": Limit(
            np.exp(lengths[1:]), np.abs(low.margin[1:] - 1), order=1.0,
            aside={"low": low.margin, "high": high.margin, "lengths": lengths, "best": np.array(best)},
        ),
        "share of the loss off the support": Identity(
            shares[-1][~attained].sum(), 0.0, scale=1.0, error=1e-12,
            aside={"globally": np.array(shares[-1][~globally].sum())},
        ),
    }  # fmt: skip


@support_needs_the_attained_margin.control("the flow reaches the best margin", of="margin in the limit")
def reaches_the_best(evidence):
    return replace(evidence, y=np.abs(evidence.aside["low"][1:] - evidence.aside["best"]))


@support_needs_the_attained_margin.control(
    "support by the optimal margin, as printed", of="share of the loss off the support", erratum="A8.38a"
)
def by_the_optimal_margin(evidence):
    return replace(evidence, left=evidence.aside["globally"])


@support_needs_the_attained_margin.picture
def two_ends(pieces):
    """Normalized margin along the flow from a start near each axis, and the largest margin."""
    seen = pieces["margin in the limit"].aside
    marks = [
        Line("near the first axis", seen["lengths"], seen["high"]),
        Line("near the second axis", seen["lengths"], seen["low"]),
        Level("largest margin", y=float(seen["best"])),
    ]
    return Curves(marks, x="length of the path, in units of the weights", y="normalized margin", ys=(0.8, 2.2))
