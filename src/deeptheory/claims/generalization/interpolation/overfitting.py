"""Benign, tempered, catastrophic: three ways to pass through noisy labels, and what each costs.

lucchi 13.3, after Mallinar et al. 2022.
"""

import itertools
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.nadaraya_watson import (
    averaging_weights,
    nadaraya_watson_weights,
    singular_kernel,
)
from deeptheory.generalization.interpolation.nearest_neighbours import neighbour_weights
from deeptheory.generalization.interpolation.overfitting import (
    TEMPERED,
    broken_line_weights,
    catastrophic_rate,
    chebyshev_nodes,
    hilbert_excess,
    lagrange_weights,
    laplace_weights,
)
from deeptheory.generalization.interpolation.smoothers import smoother_bias_variance
from deeptheory.kernels.finite.features import laplace_kernel
from deeptheory.kernels.regression.predictions import ridge_regression
from deeptheory.lab import Identity, Law, Limit, Positive, Rate, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
"""A rule for means over [−1, 1], exact for the squares of polynomials of degree below 200."""


def wave(x):
    """The function under the noise."""
    return np.sin(3 * x)


def polynomial_excess(points):
    """The mean of Σ wⱼ² over [−1, 1] for the polynomial through points."""
    return WEIGHTS @ (lagrange_weights(points, NODES) ** 2).sum(1) / 2


@claim(
    items={
        "L13.9": (
            "noise at the inputs alone",
            "tempered: excess risk",
            "Laplace kernel in closed form",
            "benign: variance of the Hilbert kernel",
            "benign: approach to 1/log n",
            "benign: bias of the Hilbert kernel",
            "catastrophic: polynomial through even points",
            "catastrophic: polynomial through random points",
        )
    },
    says=r"Interpolants of noisy labels on an interval, as $n\to\infty$: the broken line and the Laplace kernel have "
    r"excess risk $\frac23\sigma^2$, the nearest neighbour $\sigma^2$; the Hilbert kernel $\|x-x'\|^{-d}$ has "
    r"variance $\sim\sigma^2/\log n$, the polynomial through even points one of $4^{n+o(n)}$.",
    needs="inputs dense in the interval, a Lipschitz function under the noise; the Hilbert kernel at a ball's centre",
    symbols={
        r"n": "the number of labels that are interpolated",
        r"\sigma^2": "the variance of their noise",
        r"x,\ x'": "two inputs",
        r"d": "the dimension of the inputs, 1 and 2 for the Hilbert kernel",
    },
    why=r"Predictions that are local averages with weights $w_j$ have variance $\sigma^2\sum w_j^2$. Between two "
    r"points the broken line weighs with $t$ and $1-t$, and $\int t^2+(1-t)^2=\frac23$. The Hilbert kernel gives "
    r"every scale around a point the same total weight, $\log n$ scales in all: exactly $\sigma^2n\int_0^\infty "
    r"e^{-s}E_2(s)^{n-1}ds$, and its bias falls too. The polynomial must bend everywhere for each label: by $4^n$ "
    r"through even points, by more than a factor 2 for each random point, and not at all under the arcsine law "
    r"through Chebyshev's.",
    notice=r"The singular kernel goes to each label in a spike and comes back towards the truth in between; the broken "
    r"line keeps a share of the noise everywhere; the polynomial passes through the same labels and is useless towards "
    r"the ends.",
    full=dict(trials=64),
)
def overfitting_taxonomy(
    key,
    *,
    sizes: Sizes = (20, 40, 80),
    trials: Trials = 32,
    noise: Positive = 0.25,
    nodes: Literal["even", "chebyshev"] = "even",
):
    draw = generator(key)
    # Labels ±√n eᵢ average over unit noise exactly; Simpson's rule integrates the square of a broken line exactly.
    x = np.sort(draw.uniform(-1, 1, 40))
    labels = 40**0.5 * np.eye(40)
    gaps = np.diff(x)
    ends, middles = (np.array([np.interp(at, x, y) for y in labels]) ** 2 for at in (x, (x[1:] + x[:-1]) / 2))
    simpson = ((ends[:, 1:] + ends[:, :-1] + 4 * middles) / 6 @ gaps).mean() / (x[-1] - x[0])
    cells = np.diff(np.concatenate([[-1.0], (x[1:] + x[:-1]) / 2, [1.0]]))
    chebyshev = BarycentricInterpolator(chebyshev_nodes(40), labels.T)(chebyshev_nodes(401)) ** 2
    alone = np.array([simpson, (labels**2 @ cells).mean() / 2, chebyshev.mean()])
    # The same with a function under the noise, at growing sizes; the noise is integrated out.
    names = ("broken line", "nearest neighbour", "Laplace kernel")
    excess = np.empty((len(sizes), 3, trials))
    for (i, n), trial in itertools.product(enumerate(sizes), range(trials)):
        x = np.sort(draw.uniform(-1, 1, n))
        at = draw.uniform(max(x[0], -0.8), min(x[-1], 0.8), 100)
        near = neighbour_weights(x[:, None], at[:, None], neighbours=1)
        for j, weights in enumerate((broken_line_weights(x, at), near, laplace_weights(x, at))):
            excess[i, j, trial] = np.mean(smoother_bias_variance(weights, wave(x), wave(at), noise).risk) / noise
    # The Hilbert kernel at the middle of an interval and of a disk. Each point in turn is integrated over the ball, the
    # others held: its squared weight 1/(1 + uS)², with u uniform, has mean 1/(1 + S).
    counts = np.array([10, 100, 400])
    squares, misses = np.empty((2, 3, 400 * trials)), np.empty((3, 400 * trials))
    for j, n in enumerate(counts):
        for d in (1, 2):
            lengths = draw.uniform(size=(400 * trials, n)) ** (1 / d)
            values = singular_kernel(float(d))(lengths)
            squares[d - 1, j] = (1 / (1 + values.sum(1, keepdims=True) - values)).sum(1)
        misses[j] = (averaging_weights(values) * lengths).sum(1) ** 2
    x, at = np.sort(draw.uniform(-1, 1, 12)), draw.uniform(-0.5, 0.5, 20)
    x[0], x[-1] = -1.0, 1.0
    kernel, crossed = laplace_kernel(x[:, None]), laplace_kernel(at[:, None], x[:, None])
    solved = np.asarray(ridge_regression(kernel, np.eye(12), crossed, ridge=0.0))
    grown = 10.0 ** np.array([2, 4, 8, 16])
    even = [np.linspace(-1, 1, n) if nodes == "even" else chebyshev_nodes(n) for n in (16, 32, 64, 128)]
    scattered = np.array(
        [[np.log(polynomial_excess(np.sort(draw.uniform(-1, 1, n)))) for _ in range(200)] for n in (12, 24)]
    )
    shown = np.linspace(-1, 1, 15) + draw.uniform(-0.03, 0.03, 15)
    noisy = wave(shown) + noise**0.5 * draw.standard_normal(15)
    return {
        "noise at the inputs alone": Identity(
            alone,
            np.array([TEMPERED[name] for name in ("broken line", "nearest neighbour", "Chebyshev polynomial")]),
            size=1600.0,
        ),
        "tempered: excess risk": Law(
            np.array([TEMPERED[name] for name in names]),
            excess,
            along={"interpolant": np.array(names)},
            sizes=sizes,
            order=2.0,
            aside={"inputs": shown, "labels": noisy},
        ),
        "Laplace kernel in closed form": Identity(
            laplace_weights(x, at), solved, scale=1.0, condition=np.linalg.cond(np.asarray(kernel)), size=12.0
        ),
        "benign: variance of the Hilbert kernel": Law(
            np.array([hilbert_excess(int(n)) for n in counts]),
            squares,
            along={"dimension": np.array([1, 2]), "points": counts},
            exact=True,
        ),
        "benign: approach to 1/log n": Rate(
            np.log(grown), np.array([hilbert_excess(int(n)) for n in grown]), exponent=-1.0, rivals=(-0.5, -2.0)
        ),
        # The squared bias goes like the inverse square of log n, slowly: from 100 to 400 points like its power 3/2.
        "benign: bias of the Hilbert kernel": Limit(np.log(counts), misses, order=1.0),
        "catastrophic: polynomial through even points": Rate(
            np.exp([len(points) for points in even]),
            np.array([polynomial_excess(points) for points in even]),
            exponent=catastrophic_rate(),
            resolution=0.1,
            rivals=(catastrophic_rate() / 2,),
        ),
        "catastrophic: polynomial through random points": Trend(scattered[1] - scattered[0] - 12 * np.log(2)),
    }


overfitting_taxonomy.control(
    "4ⁿ through Chebyshev's points too", of="catastrophic: polynomial through even points", nodes="chebyshev", trials=8
)


@overfitting_taxonomy.control("one half for the broken line, as at the middle of every gap", of="tempered: excess risk")
def middle_of_the_gap(evidence):
    return replace(evidence, predicted=np.array([0.5, 1.0, 0.5]))


@overfitting_taxonomy.control("1/log n at finite n", of="benign: variance of the Hilbert kernel")
def leading_order(evidence):
    return replace(evidence, predicted=1 / np.log(evidence.along["points"]))


@overfitting_taxonomy.control("a bias of the order of 1/(log n)³", of="benign: bias of the Hilbert kernel")
def faster_bias(evidence):
    return replace(evidence, order=3.0)


@overfitting_taxonomy.control(
    "sixteen times for each random point", of="catastrophic: polynomial through random points"
)
def sixteenfold(evidence):
    return replace(evidence, differences=np.asarray(evidence.differences) - 12 * np.log(8))


@overfitting_taxonomy.picture
def three_interpolants(pieces):
    """The same 15 noisy labels through a singular kernel, a broken line and a polynomial."""
    drawn = pieces["tempered: excess risk"].aside
    x, labels = np.asarray(drawn["inputs"]), np.asarray(drawn["labels"])
    at = np.unique(np.concatenate([np.linspace(x[0], x[-1], 145), x]))
    columns = x[:, None], at[:, None]
    weights = {
        "benign: singular kernel": nadaraya_watson_weights(*columns, kernel=singular_kernel(1.0), bandwidth=2.0),
        "tempered: broken line": broken_line_weights(x, at),
        "catastrophic: polynomial": lagrange_weights(x, at),
    }

    def shown(name, each):
        marks = [Line("truth", at, wave(at), dashed=True), Line("interpolant", at, each @ labels)]
        return Curves([*marks, Dots("labels", x, labels)], title=name, x="input", y="label", ys=(-2.5, 2.5))

    return Row([shown(name, each) for name, each in weights.items()])
