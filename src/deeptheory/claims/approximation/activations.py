"""Which activations do: derivatives that do not vanish make all powers, polynomials only theirs (lucchi Sec. 3.4)."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import mpmath
import numpy as np
from annotated_types import Interval

from deeptheory.approximation.errors import best_in_span, grid_points
from deeptheory.approximation.monomials import (
    derivatives_at,
    lively_point,
    monomial_error_term,
    monomial_network,
    polynomial_network,
)
from deeptheory.approximation.shallow import collapsed
from deeptheory.foundations.activations import sigmoid
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Line, Row, power_law

X = np.linspace(-1, 1, 201)
STEPS = np.array([0.2, 0.1, 0.05, 0.025])
EXACT = {
    "tanh": (np.tanh, mpmath.tanh),
    "sigmoid": (sigmoid, lambda z: 1 / (1 + mpmath.exp(-z))),
    "cos": (np.cos, mpmath.cos),
}


@claim(
    items={
        "L3.9": ("error of a forward difference", "rest of it", "error of a centred difference", "errors add up"),
        "L3.11": ("derivatives", "least derivative at a lively point"),
    },
    says=r"If $\sigma^{(k)}(b)\ne0$, then $[h^k\sigma^{(k)}(b)]^{-1}\sum_j(-1)^{k-j}\binom kj\sigma(jhx+b)$ is $x^k$ "
    r"up to $\frac k2hx^{k+1}\sigma^{(k+1)}(b)/\sigma^{(k)}(b)+O(h^2)$, centred differences up to $O(h^2)$. For tanh, "
    "the sigmoid and the cosine some $b$ has no vanishing derivative up to any order looked at; the origin has.",
    needs="σ analytic near b, x in a compact set; rounding of about $10^{-16}/h^k$ stays below what is measured",
    symbols={
        r"\sigma": "the activation, smooth and no polynomial",
        "k": "the power that is wanted",
        "b": "the offset that all units share",
        "h": "the step between their weights",
        "x": r"the input, in $[-1,1]$",
    },
    why=r"Differentiate $\sigma(ax+b)$ by the weight: the $k$-th derivative at $a=0$ is $x^k\sigma^{(k)}(b)$. A "
    "difference quotient of step $h$ in the weight is a sum of $k+1$ units and equals that derivative at a point "
    r"$kh/2$ away, on average. If at every point of an interval some derivative vanished, $\sigma$ would be a "
    "polynomial there.",
    notice="Two, three and four units of tanh make a line, a parabola and a cubic; with a smaller step they would be "
    "nearer. On the right their errors: forward differences halve with the step, centred ones fall by four.",
)
def monomials_by_differences(*, powers: Annotated[int, Interval(ge=2, le=3)] = 3):
    at, k = 0.5, np.arange(1, powers + 1)

    def errors(centred):
        return np.array(
            [
                [monomial_network(p, np.tanh, at, h, centred=centred)(X[:, None]) - X**p for h in STEPS]
                for p in k.tolist()
            ]
        )

    forward, centred = errors(False), errors(True)
    terms = np.array([[monomial_error_term(p, np.tanh, at, h, X) for h in STEPS] for p in k.tolist()])
    central = np.array([[monomial_error_term(p, np.tanh, at, h, X, centred=True) for h in STEPS] for p in k.tolist()])

    def worst(off):
        """Of all powers and places, at each step."""
        return np.abs(off).max((0, -1))

    orders, points = 8, np.array([0.0, 0.5])
    known = [[[float(mpmath.diff(f, b, n)) for n in range(6)] for b in points] for _, f in EXACT.values()]
    found = [lively_point(f, orders) for f, _ in EXACT.values()]
    origins = [np.abs(derivatives_at(f, np.zeros(1), orders)).min() for f, _ in EXACT.values()]
    alphas, step = np.array([0.3, -1.0, 2.0, 0.7]), 0.01
    whole = polynomial_network(alphas, np.tanh, at, step)(X[:, None]) - np.polynomial.polynomial.polyval(X, alphas)
    single = [np.abs(monomial_network(p, np.tanh, at, step)(X[:, None]) - X**p).max() for p in range(4)]
    return {
        "error of a forward difference": Rate(STEPS, worst(forward), exponent=1.0, rivals=(0.5, 2.0)),
        "rest of it": Rate(STEPS, worst(forward - terms), exponent=2.0, rivals=(1.0, 3.0)),
        "error of a centred difference": Rate(STEPS, worst(centred), exponent=2.0, rivals=(1.0, 3.0)),
        "rest of a centred difference": Rate(STEPS, worst(centred - central), exponent=4.0, rivals=(2.0,)),
        "errors add up": Inequality(
            np.abs(whole).max(), np.abs(alphas) @ single, aside={"largest": np.max(np.abs(alphas) * single)}
        ),
        "derivatives": Identity(
            np.array([derivatives_at(f, points, 5) for f, _ in EXACT.values()]),
            np.array(known),
            scale=1.0,
            error=1e-9,
            along={"activation": list(EXACT), "place": points},
        ),
        "least derivative at a lively point": Inequality(
            0.01,
            np.array([np.abs(each.derivatives).min() for each in found]),
            along={"activation": list(EXACT)},
            aside={"origin": np.array(origins)},
        ),
    }


@monomials_by_differences.control("the largest of the single errors bounds the sum", of="errors add up")
def the_largest(evidence):
    return replace(evidence, bound=evidence.aside["largest"])


@monomials_by_differences.control("derivatives one order further", of="derivatives")
def one_further(evidence):
    return replace(evidence, right=np.roll(evidence.right, -1, -1))


@monomials_by_differences.control("at the origin", of="least derivative at a lively point")
def at_the_origin(evidence):
    return replace(evidence, bound=evidence.aside["origin"])


@monomials_by_differences.picture
def powers_from_tanh(pieces):
    """Powers made of tanh units with step 0.2 beside the powers themselves (left), and errors by step (right)."""
    marks = []
    for power in (1, 2, 3):
        marks += [
            Line(f"{power + 1} units of tanh", X, monomial_network(power, np.tanh, 0.5, 0.2)(X[:, None])),
            Line("the power itself", X, X**power, dashed=True),
        ]
    errors = power_law("forward", pieces["error of a forward difference"])
    errors += power_law("centred", pieces["error of a centred difference"])
    return Row(
        [Curves(marks, x="input x", y="value"), Curves(errors, x="step h", y="largest error of the three", log="xy")]
    )


def features(activation, width, x, rng):
    """Units with random weights and offsets: columns of their values."""
    return activation(np.outer(x, rng.normal(size=width) + 0.5) + rng.normal(size=width))


@claim(
    items={
        "L3.10": ("distance of the next power", "distance with tanh"),
        "H1.4": ("layers without activation", "distance of a wave in the mean square"),
    },
    says=r"Units of a polynomial activation of degree $k$ span polynomials of degree $k$, however many there are: on "
    r"$[-1,1]$ they stay $2^{-k}$ away from $x^{k+1}$, while tanh units come nearer and nearer. Layers without an "
    r"activation are one affine map, $W=W_L\cdots W_1$ and $b=\sum_iW_L\cdots W_{i+1}b_i$.",
    needs="at least k + 1 units in general position, so that they span all of degree k",
    symbols={
        "k": "the degree of the activation",
        "W_i": "the matrix of layer $i$ of $L$, the first first",
        "b_i": "its offsets",
    },
    why="$(ax+b)^k$ is a polynomial of degree $k$ in $x$, and sums of such are too. Among these the nearest to "
    "$x^{k+1}$ leaves Chebyshev's polynomial $2^{-k}T_{k+1}$, which swings between its extremes $k+2$ times: nothing "
    "of degree $k$ can lower all of them. Non-linear is not enough; not a polynomial is what counts.",
    notice="The error of quadratic units is the same with four or with twenty-four, and so it is for cubic ones. With "
    "tanh it goes on falling.",
)
def polynomial_activations(key, *, wide: Annotated[int, Interval(ge=8, le=40)] = 24):
    rng, x = generator(key), np.cos(np.pi * np.arange(121) / 120)  # where T₂ to T₆ have their extremes
    degrees, widths = (1, 2, 3), np.array([4, 8, wide])
    stuck = [
        [best_in_span(features(lambda z, k=k: z**k, m, x, rng), x ** (k + 1)).error for m in widths] for k in degrees
    ]
    free = np.array([best_in_span(np.tanh(x[:, None] + np.linspace(-2, 2, m)), x**3).error for m in widths])
    sizes = (3, 5, 4, 2)
    matrices = [rng.normal(size=(m, n)) for n, m in pairwise(sizes)]
    offsets = [rng.normal(size=m) for m in sizes[1:]]
    points = rng.normal(size=(6, 3))
    through = points
    for matrix, offset in zip(matrices, offsets, strict=True):
        through = through @ matrix.T + offset
    whole, shift = collapsed(matrices, offsets)
    even = grid_points(-np.ones(1), np.ones(1), 2001, ends=False)[:, 0]
    wave = np.sin(3 * even)
    squares = [best_in_span(features(np.square, m, even, rng), wave, norm="L2").error for m in widths.tolist()]
    # Of degree two only the line counts for an odd function: its best slope is ∫x sin 3x/∫x².
    slope = 3 * (np.sin(3.0) / 9 - np.cos(3.0) / 3)
    rest = np.sqrt((1 - np.sin(6.0) / 6) / 2 - slope**2 / 3)
    return {
        "distance of the next power": Identity(
            np.array(stuck),
            np.array([[2.0**-k] * len(widths) for k in degrees]),
            error=1e-6,
            along={"degree": np.array(degrees), "units": widths},
        ),
        "distance with tanh": Inequality(free[1:], 0.01, aside={"quadratic": np.array(stuck[1][1:])}),
        "layers without activation": Identity(
            points @ whole.T + shift, through, scale=np.abs(through).max(), condition=10, aside={"shift": shift}
        ),
        "distance of a wave in the mean square": Identity(
            np.array(squares),
            np.full(len(widths), rest),
            error=1e-4,
            aside={"wave": np.sqrt((1 - np.sin(6.0) / 6) / 2)},
        ),
    }


@polynomial_activations.control("half as far, 2^(−k−1)", of="distance of the next power")
def half_as_far(evidence):
    return replace(evidence, right=evidence.right / 2)


@polynomial_activations.control("nearer with more units, like 1/N", of="distance of the next power")
def nearer(evidence):
    return replace(evidence, right=evidence.right * evidence.along["units"][0] / evidence.along["units"])


@polynomial_activations.control("quadratic units in place of tanh", of="distance with tanh")
def quadratic(evidence):
    return replace(evidence, quantity=evidence.aside["quadratic"])


@polynomial_activations.control("the matrix alone, without any offset", of="layers without activation")
def no_offsets(evidence):
    return replace(evidence, left=evidence.left - evidence.aside["shift"])


@polynomial_activations.control("the wave itself, as if lines did not help", of="distance of a wave in the mean square")
def no_line(evidence):
    return replace(evidence, right=np.full(len(evidence.right), float(evidence.aside["wave"])))


@polynomial_activations.picture
def stuck_or_not(pieces):
    """Distance of the next power by number of units, for activations of degree 1, 2, 3, and of the cube with tanh."""
    stuck, free = pieces["distance of the next power"], pieces["distance with tanh"]
    units = stuck.along["units"]
    marks = [Line(f"degree {k}", units, row) for k, row in zip(stuck.along["degree"], stuck.left, strict=True)]
    return Curves([*marks, Line("tanh", units[1:], free.quantity)], x="number of units", y="largest error", log="xy")
