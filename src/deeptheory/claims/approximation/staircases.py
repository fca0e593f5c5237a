"""Networks of one input, built by hand: how many steps or hinges an error needs (lucchi Sec. 3.2, handbook 1.1.1)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import expit

from deeptheory.approximation.errors import certified_error, measured_error
from deeptheory.approximation.staircases import (
    hinge_error_bound,
    hinges,
    sigmoid_staircase,
    staircase,
    staircase_units,
    steps_at,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Line, Row, power_law

X = np.linspace(0, 1, 301)
ZERO, ONE = np.zeros(1), np.ones(1)


def wave(x):
    return np.sin(2 * np.pi * x)


def broken_lines(rng, count, lipschitz, bends=9):
    """Random functions with slopes ±ρ between bends that are spread at random."""
    for _ in range(count):
        bends_at = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(size=bends)]))
        slopes = lipschitz * rng.choice([-1.0, 1.0], size=bends + 1)
        heights = np.concatenate([[0.0], np.cumsum(slopes * np.diff(bends_at))])
        yield lambda x, a=bends_at, b=heights: np.interp(x, a, b)


def off(network, f, low=0.0, high=1.0):
    return measured_error(network, lambda x: f(x[..., 0]), np.array([low]), np.array([high]))


@claim(
    items={"L3.2": ("certified error", "error of a line", "error of a line at the printed places")},
    says=r"$m=\lceil\rho/\epsilon\rceil$ thresholds at $b_i=i\epsilon/\rho$ or $i/m$ come within $\epsilon$ of any "
    r"$\rho$-Lipschitz $g$ on $[0,1]$, by $f=\sum_ia_i1[x\ge b_i]$ with $a_0=g(b_0)$, $a_i=g(b_i)-g(b_{i-1})$. A line "
    r"of slope $\rho$ is missed by exactly $\epsilon$, or $\rho/m$.",
    needs="the error is bounded between the points of the grid too, by the Lipschitz constant",
    symbols={
        r"\rho": "the Lipschitz constant of $g$: the largest slope",
        r"\epsilon": "the error that is wanted",
        "m": "the number of thresholds",
        "b_i": "their places",
        "a_i": "their steps",
    },
    why="The sum of the steps up to a place telescopes to the value of $g$ at the last threshold before it. From "
    r"there $g$ moves on by at most $\rho$ times the distance, which is at most $1/m$; a line does move so far.",
    notice=r"The staircase touches the curve at the start of each step and loses it until the next. Where the curve is "
    r"steepest the loss is $\epsilon$, nowhere more; on flat parts most thresholds are wasted.",
    explore={"wanted": (0.05, 0.1, 0.2, 0.4)},
)
def threshold_staircases(key, *, wanted: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.1):
    targets = [(wave, 2 * np.pi), (lambda x: np.abs(x - 0.5), 1.0), (lambda x: 3 * x, 3.0)]
    targets += [(f, 4.0) for f in broken_lines(generator(key), 3, 4.0)]
    lines = [1.03, 2.51, 6.17]  # so that ρ/ε is no whole number
    counts = [3, 7, 20]

    def printed(f, rho, m):
        return steps_at(f, np.arange(m) * wanted / rho)

    def certified(fewer):
        built = [(f, rho, max(1, staircase_units(rho, wanted) - fewer)) for f, rho in targets]
        return np.array(
            [
                [certified_error(network, f, rho, 0.0, 1.0) for network in (staircase(f, m), printed(f, rho, m))]
                for f, rho, m in built
            ]
        )

    return {
        "certified error": Inequality(
            certified(0),
            wanted,
            # What the Lipschitz constant allows f to do within half a cell of the 4096 that are looked at.
            error=np.array([[rho / 4096] for _, rho in targets]),
            aside={"one fewer": certified(1)},
        ),
        "error of a line": Identity(
            np.array([[off(staircase(lambda x, s=s: s * x, m), lambda x, s=s: s * x) for m in counts] for s in lines]),
            np.array([[s / m for m in counts] for s in lines]),
            condition=10,
            along={"slope": np.array(lines), "thresholds": np.array(counts)},
        ),
        "error of a line at the printed places": Identity(
            np.array(
                [off(printed(lambda x, s=s: s * x, s, staircase_units(s, wanted)), lambda x, s=s: s * x) for s in lines]
            ),
            np.full(len(lines), wanted),
            condition=10,
            along={"slope": np.array(lines)},
            aside={"equal": np.array([s / staircase_units(s, wanted) for s in lines])},
        ),
    }


@threshold_staircases.control("one threshold fewer", of="certified error")
def one_fewer(evidence):
    return replace(evidence, quantity=evidence.aside["one fewer"])


@threshold_staircases.control("ρ/m, as at equal distances", of="error of a line at the printed places")
def equal_distances(evidence):
    return replace(evidence, right=evidence.aside["equal"])


@threshold_staircases.control("half of it, with the steps in the middle", of="error of a line")
def half(evidence):
    return replace(evidence, right=evidence.right / 2)


@threshold_staircases.picture
def steps(pieces, settings):
    """The wave sin 2πx with a staircase that is within ε of it (left), and its error (right)."""
    network = staircase(wave, staircase_units(2 * np.pi, settings["wanted"]))
    built = network(X[:, None])
    left = [Line("sin 2πx", X, wave(X)), Line(f"{network.units} thresholds", X, built)]
    right = [Line("error", X, np.abs(built - wave(X))), Line("ε", X, np.full(len(X), settings["wanted"]), dashed=True)]
    return Row([Curves(left, x="place x", y="value"), Curves(right, x="place x", y="error |f − g|")])


Counts = Annotated[tuple[int, ...], Interval(ge=3, le=400), "increasing"]


@claim(
    items={
        "H1.3": (
            "error of hinges",
            "hinges on a parabola",
            "rate of hinges",
            "error of sigmoids",
            "sigmoids at a corner",
        )
    },
    says=r"$N$ ReLUs that join $N$ points of a graph, $h$ apart, are within $\frac{h^2}8\max|f''|$ of $f$, which a "
    r"parabola attains. $N$ sigmoids of steepness $k$ with steps half-way are within "
    r"$\rho h(\frac12+2\sum_{j\ge1}\frac1{1+e^{jk}})$ of a $\rho$-Lipschitz $f$; $\rho|x-m|$, stepped at $m$, "
    "comes up to that.",
    needs="one input; one of the N units is the constant; attained but for what the steps beyond the ends would add",
    symbols={
        "N": "the number of neurons",
        "h": "the distance of neighbouring knots, $1/(N-1)$ on $[0,1]$",
        "k": "how steep the sigmoids are: they rise within about $h/k$",
        r"\rho": "the Lipschitz constant of $f$",
    },
    why="A hinge changes the slope once, so that as many hinges as knots give any broken line. Between two knots a "
    "smooth function leaves the chord by its curvature times half the product of the distances from both, which is "
    "largest in the middle. A steep sigmoid is a step; in the middle between two knots it averages their values, and "
    r"neither is farther off than $\rho h/2$. The step that is $j$ further lacks $1/(1+e^{jk})$ of 0 or 1 there.",
    notice="Seven hinges, and twenty-five sigmoids of two kinds: steep ones make stairs, gentle ones overlap and "
    "smooth the curve. On the right the error of hinges falls by four when their number is doubled.",
)
def hinges_and_sigmoids(*, counts: Counts = (9, 17, 33, 65, 129)):
    smooth = [(np.sin, 1.0, 2 * np.pi), (np.exp, np.e, 1.0), (lambda x: 1 / (1 + 25 * (x - 0.5) ** 2), 50.0, 1.0)]
    bent = [[off(hinges(f, n, 0.0, b), f, 0.0, b) for n in counts] for f, _, b in smooth]
    allowed = [[hinge_error_bound(c, n, b) for n in counts] for _, c, b in smooth]
    steep = np.array([1.0, 4.0, 10.0, 50.0])
    gaps = 1 / (np.array(counts) - 1)
    curves = [(wave, 2 * np.pi), (lambda x: np.abs(x - 0.3), 1.0), (lambda x: 3 * x, 3.0)]

    def bound(further):
        """By ρh, along the steepness, with so many further steps on either side."""
        return 0.5 + 2 * expit(-np.arange(1, further + 1)[:, None] * steep).sum(0)

    stepped = [[[off(sigmoid_staircase(f, n, steepness=k), f) for k in steep] for n in counts] for f, _ in curves]
    within = [rho * gaps[:, None] * bound(400) for _, rho in curves]

    # An even number of knots, so that a step stands in the middle of the interval.
    even, corner = [n + n % 2 for n in counts], lambda x: 3 * np.abs(x - 0.75)
    cornered = [[sigmoid_staircase(corner, n, 0.0, 1.5, steepness=k)(np.array([0.75])) for k in steep] for n in even]
    attained = [3 * 1.5 / (n - 1) * bound(n // 2 - 1) for n in even]
    return {
        "error of hinges": Inequality(np.array(bent), np.array(allowed), along={"target": ["sin", "exp", "bell"]}),
        "hinges on a parabola": Identity(
            np.array([np.abs(hinges(np.square, n)(x[:, None]) - x**2).max() for n in counts for x in [middles(n)]]),
            gaps**2 / 4,
            scale=1.0,
            condition=10,
            along={"neurons": np.array(counts)},
        ),
        "rate of hinges": Rate(1 / gaps, np.array(bent)[0], exponent=-2.0, rivals=(-1.0, -3.0)),
        "error of sigmoids": Inequality(np.array(stepped), np.array(within)),
        "sigmoids at a corner": Identity(
            np.array(cornered),
            np.array(attained),
            scale=3.0,
            size=max(even),
            along={"neurons": np.array(even), "steepness": steep},
        ),
    }


def middles(n):
    return (np.arange(n - 1) + 0.5) / (n - 1)


@hinges_and_sigmoids.control("h²/10 for h²/8", of="error of hinges")
def smaller_constant(evidence):
    return replace(evidence, bound=evidence.bound * 0.8)


@hinges_and_sigmoids.control("h = 1/N, without the unit of the constant", of="hinges on a parabola")
def one_more_knot(evidence):
    n = evidence.along["neurons"]
    return replace(evidence, right=evidence.right * ((n - 1) / n) ** 2)


@hinges_and_sigmoids.control("h/2, without what further steps lack", of="sigmoids at a corner")
def sharp_steps(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[:, -1:], evidence.right.shape))


@hinges_and_sigmoids.control("h/3 for h/2 as a bound", of="error of sigmoids")
def bound_a_third(evidence):
    return replace(evidence, bound=evidence.bound * 2 / 3)


@hinges_and_sigmoids.picture
def curves_and_corners(pieces):
    """A wave joined by hinges (left), stepped by sigmoids (middle), and the error of hinges (right)."""
    left = [Line("sin 2πx", X, wave(X), thin=True), Line("8 neurons", X, hinges(wave, 8)(X[:, None]))]
    middle = [Line("sin 2πx", X, wave(X), thin=True)] + [
        Line(f"steepness {k:g}", X, sigmoid_staircase(wave, 25, steepness=k)(X[:, None])) for k in (4.0, 50.0)
    ]
    marks = power_law("error for sin", pieces["rate of hinges"], rivals={-1.0: "h"})
    return Row(
        [
            Curves(left, x="place x", y="value"),
            Curves(middle, x="place x", y="value"),
            Curves(marks, x="intervals N − 1", y="largest error", log="xy"),
        ]
    )
