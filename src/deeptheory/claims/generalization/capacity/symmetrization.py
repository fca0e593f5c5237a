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


@claim(
    items={"L8.18": ("chain", "rare", "brute force")},
    says=r"The same chain at $m=10$ and $20$; for a rare event every link is reached: with $f=\pm1_A$ and $m=5$ "
    r"the three deviations and $2R_m$ are all $2P(A)$ up to a relative error of order $P(A)$. Averages over all "
    r"samples and signs at $m=3$ give the same numbers.",
    full=dict(sizes=(10, 20, 50), classes=2),
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
        "chain": Chain(
            {
                "Jensen": (found[..., 0], found[..., 1]),
                "signs": (found[..., 1], found[..., 2]),
                "and back": (found[..., 2], found[..., 1]),
                "triangle": (found[..., 2], 2 * found[..., 3]),
            },
            error=1e-13,
        ),
        "rare": Limit(1 / chances, abs(rare - 2).max(1), order=1.0),
        "brute force": Identity(np.asarray(brute), [part(values, law, 3) for part in four], error=1e-13),
    }


@symmetrization_is_sharp.control("signs without the factor 1/m, as printed", of="chain")
def no_average(evidence):
    links = dict(evidence.links)
    links["triangle"] = (10 * links["triangle"][0], links["triangle"][1])
    return replace(evidence, links=links)


@symmetrization_is_sharp.control("R in place of 2R for a rare event", of="rare")
def once(evidence):
    return replace(evidence, y=evidence.y + 1)
