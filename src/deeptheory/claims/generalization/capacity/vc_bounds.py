"""Bounds in the growth function and the VC dimension, and what they say about networks."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.vc_bounds import (
    growth_deviation,
    piecewise_linear_dimension,
    samples_for,
    sauer_deviation,
    vc_deviation,
    vc_dimension_deviation,
)
from deeptheory.lab import Bounded, Chain, Chance, Exact, Identity, Inequality, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line


@claim(
    items={
        "L8.9": ("half-planes", "bounds inverted"),
        "L8.13": ("from exact growth to the printed form", "smallest useful sample", "bounds written out"),
        "H7.5": ("explicit bound inverted", "random labels fitted", "as many samples as dimensions"),
    },
    says=r"With probability $1-\delta$ all classifiers of a class with growth function $S$ have "
    r"$R-R_S\le2\sqrt{2(\log S(2n)+\log\frac2\delta)/n}$. In the VC dimension $V$ this is at most the same with "
    r"$V(\log\frac{2n}V+1)$, or $V(\log2n+1)$, for $\log S$; and $\sqrt{\frac8n(V\ln\frac{2en}V+\ln\frac4\delta)}$ "
    r"holds for all $n\ge V$.",
    needs=r"independent samples; natural logarithms; $2n\ge V$ for $\log\frac{2n}V$; half-planes through the origin by "
    r"draws, thresholds by their exact law",
    symbols={
        r"\delta": "the probability with which the bound may fail",
        r"S(n)": "the largest number of labelings of $n$ points by the class",
        r"R,\ R_S": "the error on the population and on the sample",
        r"n": "the size of the sample",
        r"V": "the VC dimension: the largest number of points all of whose labelings occur",
    },
    why=r"Compare the sample with a second one of its size: the errors on the two differ little for each labeling of "
    r"the $2n$ points, and the class has only $S(2n)$ of those, so a union over them is enough. By Sauer's lemma "
    r"their number is a polynomial of degree $V$ once $2n$ exceeds $V$. At $n=V$ all labelings of the sample still "
    r"occur: random labels are fitted, and a bound that vanishes there cannot be true.",
    notice=r"At $n=V$ a class fits random labels: training error 0, true error $\frac12$, whatever the size. The "
    r"explicit form stays above. The form with $\log(n/V)$ is left with its confidence term, which falls like "
    r"$V^{-1/2}$, and comes below the gap sooner or later whatever its constant.",
)
def vc_bounds(key, *, trials: Trials = 4000, delta: Annotated[float, Interval(ge=0.01, le=0.3)] = 0.05):
    from scipy.stats import ksone

    draw, n = generator(key), np.array([20, 100, 500, 2000])
    thresholds = growth_deviation(n, np.log(2 * n + 1), delta)
    # Labels 0, h_t(x) = 1{x ≤ t}: sup (R − R_S) is the one-sided Kolmogorov–Smirnov statistic.
    largest = np.array([ksone.isf(delta, k) for k in n])
    # Half-planes turned by t·π from the one that labels are wrong where the angle of x, in units of π, lies below t;
    # those turned by (1 + t)·π where it does not. So sup (R − R_S) is the two-sided statistic of the angles.
    angles, place = np.sort(draw.random((trials, 100)), axis=1), np.arange(100) / 100
    half_planes = np.maximum(angles - place, place + 0.01 - angles).max(1)
    smallest = next(k for k in range(2, 1000) if vc_dimension_deviation(k, 3, 0.05) < 1)
    h = np.array([1, 3, 10])[:, None]
    # As many points as the dimension: affine classifiers take any labels, so with random ones the gap is 1/2.
    m = 2 ** np.arange(2, 9)
    wrong = []
    for count in m.tolist():
        points, labels = (
            np.column_stack([draw.standard_normal((count, count - 1)), np.ones(count)]),
            draw.choice([-1.0, 1.0], count),
        )
        wrong.append(np.sum(np.sign(points @ np.linalg.solve(points, labels)) != labels))
    aside = {"samples": n, "delta": delta}

    def solved(capacity, samples):
        return 2 * np.sqrt(2 * (capacity + np.log(2 / delta)) / samples)

    return {
        "thresholds on the line": Inequality(largest, thresholds),
        "half-planes": Chance(
            np.sum(half_planes > growth_deviation(100, np.log(4 * 100), delta)),
            trials,
            delta,
            aside={"largest gaps": half_planes},
        ),
        # 2·S(2n)·exp(−nε²/8) = δ at this deviation.
        "bounds inverted": Identity(
            np.log(2) + np.log(2 * n + 1) - n * thresholds**2 / 8, np.full(4, np.log(delta)), error=1e-12, aside=aside
        ),
        "from exact growth to the printed form": Chain(
            {
                "exact growth below Sauer": (thresholds, sauer_deviation(n, 1, delta)),
                "Sauer below the printed form": (sauer_deviation(n, h, delta), vc_dimension_deviation(n, h, delta)),
            },
            aside=aside,
        ),
        "smallest useful sample": Exact(smallest, 197),
        # The last has six points for a dimension of ten, which take all 2⁶ labelings.
        "bounds written out": Identity(
            np.stack(
                [
                    sauer_deviation(n, 3, delta),
                    vc_dimension_deviation(n, 3, delta),
                    sauer_deviation(3 + 0 * n, 10, delta),
                ]
            ),
            np.stack(
                [
                    solved(3 * (np.log(2 * n / 3) + 1), n),
                    solved(3 * (np.log(2 * n) + 1), n),
                    solved(6 * np.log(2), 3 + 0 * n),
                ]
            ),
        ),
        "explicit bound for thresholds": Inequality(largest, vc_deviation(n, 1, delta)),
        # 4·(2en/V)^V·exp(−nε²/8) = δ at this deviation.
        "explicit bound inverted": Identity(
            np.log(4.0) + h * np.log(2 * np.e * n / h) - n * vc_deviation(n, h, delta) ** 2 / 8,
            np.log(delta),
            scale=100.0,
        ),
        "random labels fitted": Exact(np.array(wrong), np.zeros(len(m), int), along={"V": m}),
        "as many samples as dimensions": Inequality(
            np.full(len(m), 0.5), vc_deviation(m, m, delta), along={"V": m}, aside={"delta": delta}
        ),
    }


@vc_bounds.control("the logarithm of n/V for all classifiers at once, where n = V", of="as many samples as dimensions")
def no_capacity(evidence):
    # V·log(n/V) is 0 whatever C₁; a gap below √(C₂·log(1/δ)/V) stays bounded when multiplied by √V, whatever C₂.
    dimension = evidence.along["V"]
    return Bounded(dimension, np.sqrt(dimension) * evidence.quantity)


@vc_bounds.control("Hoeffding's bound, for one half-plane chosen beforehand", of="half-planes")
def chosen_beforehand(evidence):
    bound = np.sqrt(np.log(1 / evidence.at_most) / (2 * 100))
    return replace(evidence, failures=np.sum(evidence.aside["largest gaps"] > bound))


@vc_bounds.control("the growth of one dichotomy, for thresholds that may be chosen", of="bounds inverted")
def no_growth(evidence):
    return replace(evidence, left=np.asarray(evidence.left) - np.log(2 * evidence.aside["samples"] + 1))


@vc_bounds.control("a logarithm of n/h without the one", of="from exact growth to the printed form")
def without_the_one(evidence):
    n, delta = evidence.aside["samples"], float(evidence.aside["delta"])
    exact = evidence.links["exact growth below Sauer"][0]
    return replace(evidence, links={"without the one": (exact, growth_deviation(n, np.log(2 * n), delta))})


@vc_bounds.control("log 2n in place of log(2n/V) in Sauer's form", of="bounds written out")
def dimension_left_out(evidence):
    right = np.asarray(evidence.right)
    return replace(evidence, right=right[[1, 1, 2]])


@vc_bounds.picture
def at_the_dimension(pieces):
    """As many samples as the dimension: the gap of a class that fits random labels, and two bounds."""
    piece = pieces["as many samples as dimensions"]
    dimension, delta = piece.along["V"], float(piece.aside["delta"])
    vanishing = [
        Line(
            "bound",
            dimension,
            np.sqrt(c * np.log(1 / delta) / dimension),
            rival=f"the form with log(n/V), C₂ = {c}",
        )
        for c in (1, 8)
    ]
    return Curves(
        [Line("explicit bound", dimension, piece.bound), Dots("gap", dimension, piece.quantity), *vanishing],
        x="dimension V = samples n", y="generalization gap", log="xy",
    )  # fmt: skip


WEIGHTS = np.array([471e3, 943e3, 326e3, 832e3, 2384e3, 1193e3])
LAYERS = np.array([2, 2, 3, 3, 3, 4])
PUBLISHED = np.array([26e6, 56e6, 26e6, 66e6, 187e6, 121e6])
"""Parameters, layers and VC row of the published binary MNIST table (lucchi Table 1, true labels)."""


@claim(
    items={
        "L8.14": ("samples needed", "published VC figures"),
        "H7.8": ("ten times more weights than samples", "all functions up to B"),
    },
    says=r"With VC dimension of order $WL\log_2W$ the samples needed grow in proportion to it, and with ten times "
    r"more weights than samples the bound exceeds 1; published figures are 1.2 to 1.5 times this order. All functions "
    r"up to $B$ have Rademacher complexity $B$.",
    needs="the unknown constant of the order taken as 1; the limits 1.2 and 1.5 are ours",
    symbols={
        r"W": "the number of weights",
        r"L": "the number of layers",
        r"B": r"a number: the class of all functions with values from $-B$ to $B$",
    },
    why=r"A network whose activations are piecewise linear is a polynomial of its weights on each of finitely many "
    r"pieces of weight space; counting the pieces layer by layer bounds the labelings of $n$ points, and with them "
    r"the dimension. The bound asks for samples in proportion, so with fewer samples than weights it says nothing. A "
    r"Rademacher complexity in turn is at most the largest output.",
    notice=r"The published figures of six networks lie between 1.2 and 1.5 times $WL\log_2W$. Without the logarithm "
    r"the order would lie 25 to 30 times below them.",
)
def networks_in_vc_bounds(*, heavier: Annotated[float, Interval(ge=1e-6, le=1e3)] = 10.0):
    weights = 10.0 ** np.arange(3, 8)
    dimension = np.asarray(piecewise_linear_dimension(weights, 3))
    samples = np.array([samples_for(0.1, float(d), 0.05) for d in dimension], float)
    order = piecewise_linear_dimension(WEIGHTS, LAYERS)
    n, depth = np.array([1e3, 6e4, 1e7]), np.array([2, 3, 8])[:, None]
    reach, signs = np.array([0.1, 1.0, 1e6]), np.array(list(product((-1.0, 1.0), repeat=8)))
    return {
        "samples needed": Rate(dimension, samples, exponent=1.0, rivals=(0.5, 2.0)),
        "published VC figures": Chain({"at least": (1.2 * order, PUBLISHED), "at most": (PUBLISHED, 1.5 * order)}),
        "ten times more weights than samples": Inequality(
            1.0, sauer_deviation(n, piecewise_linear_dimension(np.maximum(heavier * n, 2.0), depth), 0.05)
        ),
        "all functions up to B": Identity(
            np.array([np.mean(np.max(signs @ (b * signs).T, axis=1)) / 8 for b in reach]), reach, along={"B": reach}
        ),
    }


@networks_in_vc_bounds.control("like the dimension to the power 3/2", of="samples needed")
def power_three_halves(evidence):
    return replace(evidence, exponent=1.5)


@networks_in_vc_bounds.control(
    "a complexity of the network alone, whatever bounds its outputs", of="all functions up to B"
)
def no_bound(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


networks_in_vc_bounds.control(
    "ten weights for a hundred thousand samples", of="ten times more weights than samples", heavier=1e-4
)


@networks_in_vc_bounds.picture
def published_figures(pieces):
    """VC figures of six networks as published, against the order W·L·log₂W."""
    order = np.asarray(pieces["published VC figures"].links["at least"][0]) / 1.2
    ends = np.array([order.min() / 1.5, 1.5 * order.max()])
    return Curves(
        [
            Line("1.2 and 1.5 times the order", ends, 1.2 * ends),
            Line("1.2 and 1.5 times the order", ends, 1.5 * ends),
            Dots("published", order, PUBLISHED),
            Dots("W·L", order, WEIGHTS * LAYERS, rival="without the logarithm"),
        ],
        x="weights and layers, W·L·log₂W", y="VC dimension", log="xy",
    )  # fmt: skip


@networks_in_vc_bounds.control("without the logarithm", of="published VC figures")
def without_the_logarithm(evidence):
    return Chain({"at most": (PUBLISHED, 1.5 * WEIGHTS * LAYERS)})
