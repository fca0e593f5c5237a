"""Fixed bases against adaptive features on Barron's class: exact widths, and the exponents that part them."""

from dataclasses import replace

import numpy as np

from deeptheory.approximation.widths import (
    adaptive_width,
    best_fixed_basis,
    fixed_basis_error,
    fixed_width,
    limiting_fixed_width,
    wave_lengths,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Line

CONSTANT = 1.7  # Barron's C
LARGEST = {1: 8000, 2: 130, 4: 13}
"""the highest frequency whose waves are counted, by dimension: some ten thousands of waves each"""


@claim(
    items={
        "L4.8": (
            "fixed basis on the line",
            "fixed basis in the plane",
            "fixed basis in four dimensions",
            "adaptive terms in four dimensions",
            "size of the limit",
            "best basis reaches the width",
            "no basis beats the width",
            "equally strong waves are the worst",
            "adaptive error below Maurey's",
        )
    },
    says="On the hull of the waves with Barron constant $C$ on $[0,1]^d$, any $m$ fixed functions leave a squared "
    r"error of at least $\max_s(s-m)/\sum_{i\le s}a_i^{-2}\sim\frac{C^2}2(\frac{2V_d}{(d+2)m})^{2/d}$, and the best "
    r"ones no more. $m$ waves chosen for the target leave at most $\max_ia_i^2/(4m)$, and here $m^{-1-2/d}$.",
    needs="squared error in $L^2$ of the cube, worst case over the class",
    symbols={
        "C": r"the Barron constant $\int\|\omega\||\widehat f|d\omega$ of every wave",
        "d": "the dimension",
        "m": "the number of functions combined",
        "a_i": r"lengths $C/(\sqrt2\|k\|)$ of the waves with whole frequencies $k$, falling",
        "V_d": "the volume of the unit ball",
    },
    why="A projection on $m$ dimensions has a diagonal with sum $m$: it can give to each wave a share of itself, $m$ "
    "shares in all, and the worst wave is the one left shortest of its length. Shares poured in like water give the "
    "formula. In $d$ dimensions about $R^d$ waves are no shorter than $1/R$, so that $m$ terms reach frequencies "
    "$m^{1/d}$ only. Chosen after the target is known, $m$ terms need not cover the class: a convex combination is a "
    "mean, and means are met by few of their terms.",
    notice="In every dimension the dashed line of adaptive terms lies below that of fixed ones. From one dimension to "
    "four the fixed lines flatten from $m^{-2}$ to $m^{-1/2}$; adaptive ones stay steeper than $1/m$ in every "
    "dimension, by one power of $m$ than their partner.",
)
def adaptive_features_beat_fixed_bases(key):
    draw = generator(key)
    pieces, sizes = {}, []
    names = {1: "on the line", 2: "in the plane", 4: "in four dimensions"}
    for dimension, largest in LARGEST.items():
        lengths = wave_lengths(dimension, largest, constant=CONSTANT)
        top = int(0.8 * len(lengths) * 2 / (dimension + 2))
        terms = [int(top / 8**step) for step in (3, 2, 1, 0)]
        fixed = np.array([fixed_width(lengths, m) for m in terms])
        adaptive = np.array([adaptive_width(lengths, m) for m in terms])
        sizes.append([fixed[-1], limiting_fixed_width(dimension, terms[-1], constant=CONSTANT)])
        near = tuple(-2 / other for other in (dimension - 1, dimension + 1) if other)
        aside = {"adaptive": adaptive, "fixed": fixed, "terms": np.array(terms)}
        pieces[f"fixed basis {names[dimension]}"] = Rate(
            np.array(terms, float), fixed, exponent=-2 / dimension, rivals=near, resolution=0.04, aside=aside
        )
        if dimension == 4:
            pieces["adaptive terms in four dimensions"] = Rate(
                np.array(terms, float), adaptive, exponent=-1.5, rivals=(-1.0, -0.5), resolution=0.04
            )
    reached, widths, next_widths, others, bounds, chosen, whole, spread, maurey, counts = ([] for _ in range(10))
    for dimension, largest, m in ((1, 12, 5), (2, 4, 9), (3, 3, 20)):
        lengths = wave_lengths(dimension, largest, constant=CONSTANT)
        width = fixed_width(lengths, m)
        best = best_fixed_basis(lengths, m)
        widths.append(width)
        next_widths.append(fixed_width(lengths, m + 1))
        reached.append(fixed_basis_error(lengths, best))
        lowest, turned = np.eye(m, len(lengths)), draw.standard_normal((m, len(lengths)))
        for basis in (best, lowest, turned, best + 0.05 * turned, lowest + 0.05 * turned):
            others.append(fixed_basis_error(lengths, basis))
            bounds.append(width)
        # Targets spread over the s longest waves so that all are equally strong: the worst there are.
        for terms in (1, m):
            equal = [np.full(s, 1 / np.sum(1 / lengths[:s])) for s in range(terms + 1, len(lengths) + 1)]
            chosen.append([adaptive_width(lengths, terms), max(np.sum(each[terms:] ** 2) for each in equal)])
            whole.append(max(np.sum(each**2) for each in equal))
            # Other targets: random shares of the s longest waves; what is left without their strongest `terms` waves.
            shares = [np.sort(draw.dirichlet(np.ones(s)) * lengths[:s]) for s in range(terms + 1, len(lengths) + 1)]
            spread.append(max(float(np.sum(each[:-terms] ** 2)) for each in shares))
            counts.append(terms)
            maurey.append(lengths[0] ** 2 / (4 * terms))
    sizes, chosen = np.array(sizes), np.array(chosen)
    return {
        **pieces,
        # Lattice points in a ball differ from its volume by less than two per cent here.
        "size of the limit": Identity(
            sizes[:, 0], sizes[:, 1], error=0.02 * sizes[:, 1], along={"dimension": [*LARGEST]}
        ),
        "best basis reaches the width": Identity(
            np.array(reached), np.array(widths), condition=100.0, size=400.0, aside={"one more": np.array(next_widths)}
        ),
        "no basis beats the width": Inequality(
            np.array(bounds), np.array(others),
            along={"basis": ["best", "lowest waves", "random", "near the best", "near the lowest"] * 3},
            error=1e-12,
        ),
        "equally strong waves are the worst": Identity(
            chosen[:, 0], chosen[:, 1], size=400.0, along={"terms": np.array(counts)}, aside={"whole": np.array(whole)}
        ),
        "no target is worse": Inequality(np.array(spread), chosen[:, 0], along={"terms": np.array(counts)}),
        "adaptive error below Maurey's": Inequality(
            chosen.ravel(), np.repeat(maurey, 2), along={"terms": np.repeat(counts, 2)}
        ),
    }  # fmt: skip


@adaptive_features_beat_fixed_bases.control(
    "V_d for 2V_d/(d + 2), as if the lowest waves were best", of="size of the limit"
)
def lowest_waves(evidence):
    d = np.array(evidence.along["dimension"])
    return replace(evidence, right=evidence.right * ((d + 2) / 2) ** (2 / d))


@adaptive_features_beat_fixed_bases.control(
    "the square of the first wave left out alone", of="no basis beats the width"
)
def first_left_out(evidence):
    lowest = evidence.bound.reshape(3, 5)[:, 1]
    return replace(evidence, quantity=np.repeat(lowest, 5))


@adaptive_features_beat_fixed_bases.control("the width of m + 1 terms", of="best basis reaches the width")
def one_term_more(evidence):
    return replace(evidence, right=evidence.aside["one more"])


@adaptive_features_beat_fixed_bases.control("C for C²", of="size of the limit")
def first_power(evidence):
    return replace(evidence, right=evidence.right / CONSTANT)


@adaptive_features_beat_fixed_bases.control("all s waves missed, not s − m", of="equally strong waves are the worst")
def all_missed(evidence):
    return replace(evidence, right=evidence.aside["whole"])


@adaptive_features_beat_fixed_bases.control("1/(4m + 1) for 1/(4m)", of="adaptive error below Maurey's")
def quarter(evidence):
    terms = evidence.along["terms"]
    return replace(evidence, bound=evidence.bound * 4 * terms / (4 * terms + 1))


@adaptive_features_beat_fixed_bases.picture
def two_ways_to_spend_terms(pieces):
    """Worst squared error over the class by the number of terms, for fixed bases and, dashed, for adaptive terms."""
    marks = []
    for name, label in (("on the line", "d = 1"), ("in the plane", "d = 2"), ("in four dimensions", "d = 4")):
        told = pieces[f"fixed basis {name}"].aside
        marks += [Line(label, told["terms"], told["fixed"]), Line(label, told["terms"], told["adaptive"], dashed=True)]
    return Curves(marks, x="terms m", y="worst squared error", log="xy")
