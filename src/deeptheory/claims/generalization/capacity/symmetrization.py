"""Symmetrization: the largest deviation over a class of functions is at most twice its Rademacher complexity."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import finite_law
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.symmetrization import (
    expected_deviation,
    expected_ghost_deviation,
    expected_symmetrized_deviation,
    rademacher_complexity,
)
from deeptheory.lab import Chain, Identity, Inequality, Integers, Limit, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line


@claim(
    items={"L8.18": ""},
    says=r"$\mathbb E\sup_f(\mathbb Ef-\hat{\mathbb E}_Sf)\le\mathbb E\sup_f(\hat{\mathbb E}_{S'}f-\hat{\mathbb E}_Sf)="
    r"\mathbb E\sup_f\frac1m\sum\sigma_i(f(z_i')-f(z_i))\le2R_m$ for every class of four functions on three points, "
    "every law and $m\\le8$, all expectations exact.",
    needs="independent points, fair independent signs",
    over=dict(values=Reals(0, 1, shape=(4, 3)), weights=Reals(0, 1, shape=(3,)), m=Integers(1, 8)),
    each="loop",
    draws=32,
    generations=4,
    symbols={
        r"\mathbb Ef,\ \hat{\mathbb E}_Sf": "the mean of a function on the population and on the sample",
        r"S'": "a second sample, independent of the first",
        r"\sigma_i": "fair independent signs",
        r"m": "the size of the sample",
        r"R_m": r"the Rademacher complexity $\mathbb E\sup_f\frac1m\sum\sigma_if(z_i)$",
    },
    why=r"The mean of a second sample is the truth in expectation, and a supremum of means is at most the mean of "
    r"suprema. The $i$-th points of the two samples may be exchanged without changing any law, so a random sign may "
    r"stand before their difference. The supremum of a difference is at most the sum of two suprema, and each of these "
    r"is a complexity.",
    notice=r"Each dot is a class of four functions. The deviation from a second sample lies between the deviation from "
    r"the truth and twice the complexity; once the complexity is too little for many.",
)
def symmetrization_chain(values, weights, m, *, factor: Literal["two", "one"] = "two"):
    law = finite_law(weights)
    deviation, ghost = expected_deviation(values, law, int(m)), expected_ghost_deviation(values, law, int(m))
    signed, complexity = expected_symmetrized_deviation(values, law, int(m)), rademacher_complexity(values, law, int(m))
    bound = (2 if factor == "two" else 1) * complexity
    # The Fourier transforms leave some 1e-16 in every probability.
    return Inequality(
        np.asarray([deviation, ghost, signed, signed]), np.asarray([ghost, signed, ghost, bound]), error=1e-13
    )


symmetrization_chain.control("R in place of 2R", factor="one")


@symmetrization_chain.picture
def deviations_and_complexity(pieces):
    """Largest mean deviations of classes of four functions, from the truth and from a second sample, against 2R."""
    (piece,) = pieces.values()
    twice = np.asarray(piece.bound)[:, 3]
    deviation, ghost = np.asarray(piece.quantity)[:, :2].T
    ends = np.array([0.0, twice.max()])
    return Curves(
        [
            Line("2R", ends, ends),
            Line("complexity", ends, ends / 2, rival="R in place of 2R"),
            Dots("from a second sample", twice, ghost),
            Dots("from the truth", twice, deviation),
        ],
        x="twice the Rademacher complexity", y="mean largest deviation",
    )  # fmt: skip


@claim(
    items={"L8.18": ("links of the proof", "a rare event", "all samples enumerated")},
    says=r"The same chain at $m=10$ and $20$; for a rare event every link is reached: with $f=\pm1_A$ and $m=5$ "
    r"the three deviations and $2R_m$ are all $2P(A)$ up to a relative error of order $P(A)$. Averages over all "
    r"samples and signs at $m=3$ give the same numbers.",
    full=dict(sizes=(10, 20, 50), classes=2),
    symbols={
        r"\mathbb Ef,\ \hat{\mathbb E}_Sf": "the mean of a function on the population and on the sample",
        r"S'": "a second sample, independent of the first",
        r"\sigma_i": "fair independent signs",
        r"m": "the size of the sample",
        r"A,\ P(A)": "an event, and its probability",
        r"R_m": r"the Rademacher complexity $\mathbb E\sup_f\frac1m\sum\sigma_if(z_i)$",
    },
    why=r"The mean of a second sample is the truth in expectation, and a supremum of means is at most the mean of "
    r"suprema. The $i$-th points of the two samples may be exchanged without changing any law, so a random sign may "
    r"stand before their difference. The supremum of a difference is at most the sum of two suprema, and each of these "
    r"is a complexity. When points of $A$ are rare a sample has one or none, and no step loses anything.",
    notice=r"Over the probability of the event, all four quantities come to 2 as the event becomes rarer. Were the "
    r"complexity enough once, its curve would end at 1.",
)
def symmetrization_is_sharp(
    key,
    *,
    sizes: Annotated[tuple[int, ...], Interval(ge=1, le=50)] = (10, 20),
    classes: Annotated[int, Interval(ge=1, le=50)] = 3,
):
    draw = generator(key)
    four = (expected_deviation, expected_ghost_deviation, expected_symmetrized_deviation, rademacher_complexity)
    drawn = [(draw.uniform(0, 1, (6, 3)), draw.dirichlet(np.ones(3))) for _ in range(classes)]
    found = np.asarray([[[part(values, law, m) for part in four] for m in sizes] for values, law in drawn])
    chances = 1 / 4.0 ** np.arange(3, 8)
    indicator = np.asarray([[1.0, 0.0], [-1.0, 0.0]])
    rare = np.asarray([[part(indicator, np.asarray([p, 1 - p]), 5) / p for part in four] for p in chances])
    rare[:, 3] *= 2
    values, law = draw.uniform(0, 1, (3, 3)), draw.dirichlet(np.ones(3))
    z = np.stack(np.meshgrid(*(np.arange(3),) * 6, indexing="ij"), -1).reshape(-1, 2, 3)
    signs = np.stack(np.meshgrid(*(np.asarray([-1.0, 1.0]),) * 3, indexing="ij"), -1).reshape(-1, 3)
    first, second = values[:, z[:, 0]], values[:, z[:, 1]]
    weight = law[z].prod((1, 2))
    brute = [
        weight @ ((values @ law)[:, None] - first.mean(2)).max(0),
        weight @ (second - first).mean(2).max(0),
        weight @ np.einsum("fsi,gi->gfs", second - first, signs).max(1).mean(0) / 3,
        weight @ np.einsum("fsi,gi->gfs", first, signs).max(1).mean(0) / 3,
    ]
    return {
        "links of the proof": Chain(
            {
                "Jensen": (found[..., 0], found[..., 1]),
                "signs": (found[..., 1], found[..., 2]),
                "and back": (found[..., 2], found[..., 1]),
                "triangle": (found[..., 2], 2 * found[..., 3]),
            },
            error=1e-13,
            aside={"sizes": np.asarray(sizes)},
        ),
        "a rare event": Limit(1 / chances, abs(rare - 2).max(1), order=1.0, aside={"chances": chances, "parts": rare}),
        "all samples enumerated": Identity(np.asarray(brute), [part(values, law, 3) for part in four], error=1e-13),
    }


@symmetrization_is_sharp.control("signs without the factor 1/m", of="links of the proof")
def no_average(evidence):
    links = dict(evidence.links)
    links["triangle"] = (evidence.aside["sizes"] * links["triangle"][0], links["triangle"][1])
    return replace(evidence, links=links)


@symmetrization_is_sharp.control("R in place of 2R for a rare event", of="a rare event")
def once(evidence):
    return replace(evidence, y=evidence.y + 1)


@symmetrization_is_sharp.picture
def a_rare_event(pieces):
    """Three deviations and 2R for plus or minus the indicator of an event, each over its probability."""
    aside = pieces["a rare event"].aside
    chances, parts = aside["chances"], aside["parts"]
    names = ("from the truth", "from a second sample", "with random signs", "2R")
    return Curves(
        [
            *(Line(name, chances, part) for name, part in zip(names, parts.T, strict=True)),
            Line("complexity", chances, parts[:, 3] / 2, rival="R in place of 2R"),
        ],
        x="probability of the event", y="mean deviation over the probability of the event", log="x", ys=(0.9, 2.1),
    )  # fmt: skip
