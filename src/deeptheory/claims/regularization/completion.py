"""Dropout in matrix completion: the weighted trace norm, its complexity, and how the rate trades fit for a gap."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.claims.regularization.factors import least_descended
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Count, Identity, Inequality, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, power_law
from deeptheory.regularization.completion import (
    expected_completion_regularizer,
    trace_ball_bound,
    trace_ball_supremum,
    weighted_equalized_factors,
    weighted_trace_norm,
)


def power_laws(rows, columns, exponent=1.0):
    """Marginals proportional to 1/place, or another power of it."""
    laws = (np.arange(1, size + 1) ** -exponent for size in (rows, columns))
    return tuple(law / law.sum() for law in laws)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, None))
def links(left, right, row_law, column_law):
    """The members of R ≥ (Σ‖√p uⱼ‖‖√q vⱼ‖)²/d₁ ≥ ‖√p UVᵀ √q‖²_*/d₁, each by its own definition."""
    lengths = jnp.sqrt((row_law @ left**2) * (column_law @ right**2))
    middle = jnp.sum(lengths) ** 2 / left.shape[1]
    least = weighted_trace_norm(left @ right.T, row_law, column_law) ** 2 / left.shape[1]
    return expected_completion_regularizer(left, right, row_law, column_law), middle, least


@jax.jit
@jax.value_and_grad
def penalty_of_change(change, left, right, row_law, column_law):
    """The penalty, and its gradient, at (U G, V G⁺ᵀ), which are factors of U Vᵀ for every G of full rank.

    There are local minima above the least value; one start in fifty or a hundred ends in one.
    """
    other = right @ jnp.linalg.solve(change @ change.T, change)
    return expected_completion_regularizer(left @ change, other, row_law, column_law)


@claim(
    items={
        "A11.13": ("mean over all entries", "links of the proof", "penalty that descent finds", "constructed factors")
    },
    says="If entry $(i,k)$ is seen with probability $p(i)q(k)$, the dropout penalty over its strength is on average "
    r"$\sum_j\|\sqrt p\,u_j\|^2\|\sqrt q\,v_j\|^2$, and at least $\frac1{d_1}\|\operatorname{diag}(\sqrt "
    r"p)M\operatorname{diag}(\sqrt q)\|_*^2$ over all factors of $M=UV^\top$, which is attained.",
    needs=r"$p,q>0$; width $d_1\ge\operatorname{rank}M$",
    symbols={
        "p,q": "the probabilities of rows and of columns",
        "u_j,v_j": "the columns of the factors",
        "M": "the product of the factors",
        "d_1": "their width",
        r"\|\cdot\|_*": "the nuclear norm",
    },
    why=r"An entry of the $j$-th term is $U(i,j)V(k,j)$, and the mean of its square over independent rows and columns "
    r"factorizes. With $\sqrt p\,u_j$ and $\sqrt q\,v_j$ for the columns this is the penalty of Gaussian sensing, so "
    "its least value is the squared nuclear norm of the weighted matrix over the width.",
    notice="Random factors pay several times the least penalty; the best of a few descents ends on the line. "
    "Rows and columns that are seen often count more: without the weights the line would lie elsewhere.",
    full=dict(pairs=5000, matrices=24),
)
def dropout_is_the_weighted_trace_norm(
    key,
    *,
    pairs: Count = 500,
    matrices: Annotated[int, Interval(ge=1, le=100)] = 4,
    exponent: Annotated[float, Interval(ge=0.0, le=2.0)] = 1.0,
):
    draw = generator(key)
    row_law, column_law = power_laws(4, 3, exponent)
    left, right = draw.standard_normal((pairs, 4, 5)), draw.standard_normal((pairs, 3, 5))
    regularizer, middle, least = map(np.asarray, links(left, right, row_law, column_law))
    entries = np.einsum("naj,nbj->nabj", left, right) ** 2
    by_entry = np.einsum("a,b,nabj->n", row_law, column_law, entries)
    targets = draw.standard_normal((matrices, 4, 3))
    law = np.outer(row_law, column_law)
    squares = np.linalg.norm(np.sqrt(law) * targets, "nuc", axis=(1, 2)) ** 2
    attained, found, widths = [], [], 3 + np.arange(matrices) % 4  # from the rank on
    for target, width in zip(targets, widths, strict=True):
        factors = weighted_equalized_factors(target, row_law, column_law, int(width))
        attained.append(float(expected_completion_regularizer(*factors, row_law, column_law)))
        basis, values, other = np.linalg.svd(target, full_matrices=False)
        starts = draw.standard_normal((3, 3, 5))
        problem = (basis * np.sqrt(values), other.T * np.sqrt(values), row_law, column_law)
        found.append(least_descended(penalty_of_change, starts, *problem))
    plain = np.linalg.norm(targets, "nuc", axis=(1, 2)) ** 2 / 12
    return {
        "mean over all entries": Identity(
            regularizer, by_entry, size=100, aside={"uniform": entries.mean((1, 2)).sum(1)}
        ),
        "links of the proof": Chain(
            {"Cauchy–Schwarz": (middle, regularizer), "triangle inequality": (least, middle)}, aside={"width": 5}
        ),
        "constructed factors": Identity(
            np.asarray(attained),
            squares / widths,
            condition=1e3,
            along={"width": widths},
            aside={"plain": plain / widths},
        ),
        # Descent stops where the penalty no longer moves in its tenth digit or so.
        "penalty that descent finds": Identity(
            np.asarray(found), squares / 5, error=1e-6 * squares / 5, aside={"plain": plain / 5}
        ),
    }


@dropout_is_the_weighted_trace_norm.control("all entries equally likely", of="mean over all entries")
def uniform(evidence):
    return replace(evidence, right=evidence.aside["uniform"])


@dropout_is_the_weighted_trace_norm.control("the width left out of Cauchy–Schwarz", of="links of the proof")
def without_the_width(evidence):
    middle, regularizer = evidence.links["Cauchy–Schwarz"]
    return replace(evidence, links={"Cauchy–Schwarz": (evidence.aside["width"] * middle, regularizer)})


@dropout_is_the_weighted_trace_norm.control("the nuclear norm without weights", of="constructed factors")
def unweighted(evidence):
    return replace(evidence, right=evidence.aside["plain"])


@dropout_is_the_weighted_trace_norm.picture
def weighted_penalties(pieces):
    """The dropout penalty against the squared weighted trace norm over the width."""
    regularizer, least = (
        np.asarray(pieces["links of the proof"].links[name][side])
        for name, side in (("Cauchy–Schwarz", 1), ("triangle inequality", 0))
    )
    ended = pieces["penalty that descent finds"]
    ends = np.asarray([min(least.min(), np.min(ended.right)), max(least.max(), np.max(ended.right))])
    marks = [
        Dots("random factors", least[:300], regularizer[:300]),
        Dots("descent ends", ended.right, ended.left),
        Line("the least", ends, ends),
        Dots("descent ends", ended.aside["plain"], ended.left, rival="against the norm without weights"),
    ]
    return Curves(marks, x="squared weighted trace norm over the width", y="dropout penalty", log="xy")


@jax.jit
def suprema(signs, rows, columns, row_law, column_law, radius):
    """The supremum over the ball of this radius for each row of signs."""
    return jax.vmap(lambda each: trace_ball_supremum(each, rows, columns, row_law, column_law, radius))(signs)


@claim(
    items={"A11.15": ("supremum and a matrix that attains it", "below the bound", "complexity falls with the entries")},
    says=r"On $n$ entries the matrices of weighted trace norm at most $\sqrt\alpha$ have Rademacher complexity "
    r"$\frac{\sqrt\alpha}n\mathbb E\|\sum_t\sigma_te_{i_t}e_{k_t}^\top/\sqrt{p(i_t)q(k_t)}\|$, at most "
    r"$\frac{\sqrt\alpha}n\sqrt{2V\log(d_2+d_0)}$: of order $\sqrt{\alpha d_2\log d_2/n}$ for $d_2\ge d_0$.",
    needs="entries drawn with probability $p(i)q(k)$; fair signs",
    symbols={
        r"\alpha": "the squared radius of the ball",
        "n": "the number of entries seen",
        r"\sigma_t": "independent fair signs",
        "p,q": "the probabilities of rows and columns",
        "V": r"the largest sum of $1/(p(i)q(k))$ over the entries seen in one row or column, about $n\,d_2$",
        "d_2,d_0": "the numbers of rows and columns",
    },
    why="The dual of the nuclear norm is the spectral norm, so the supremum over the ball is the norm of a random "
    r"matrix, a sum of fixed matrices with random signs. The norm of such a sum is at most $\sqrt{2V\log(d_2+d_0)}$ on "
    r"average, and a row or column is seen so often, with weights $1/(pq)$, that the sums in it have means $n\,d_0$ "
    r"and $n\,d_2$.",
    notice=r"The complexity falls like $n^{-1/2}$ and stays below the bound, at about half of it, for uniform and for "
    "power-law entries.",
    full=dict(sizes=(250, 1000, 4000, 16000), trials=200),
)
def complexity_of_the_weighted_trace_ball(
    key, *, sizes: Annotated[Sizes, MinLen(3)] = (400, 1600, 6400), trials: Trials = 24
):
    draw = generator(key)
    tall, wide = 30, 20
    laws, radii = [power_laws(tall, wide, exponent) for exponent in (0.0, 0.5)], np.array([2.5, 0.3])  # √α
    seen_suprema, bounds, orders, reached = [], [], [], []
    for (row_law, column_law), radius in zip(laws, radii, strict=True):
        for size in sizes:
            rows, columns = (draw.choice(len(law), size, p=law) for law in (row_law, column_law))
            signs = draw.choice([-1.0, 1.0], (trials, size))
            seen_suprema.append(np.asarray(suprema(signs, rows, columns, row_law, column_law, radius)))
            bounds.append(float(trace_ball_bound(rows, columns, row_law, column_law, radius)))
            orders.append(radius * np.sqrt(tall * np.log(tall) / size))
            # The matrix of the leading singular vectors attains the supremum, and lies on the sphere of the ball.
            total = np.zeros((tall, wide))
            np.add.at(total, (rows, columns), signs[0])
            weights = np.sqrt(np.outer(row_law, column_law))
            first, _, second = np.linalg.svd(total / weights)
            best = radius * np.outer(first[:, 0], second[0]) / weights
            reached.append((signs[0] @ best[rows, columns] / size, np.linalg.norm(best * weights, "nuc")))
    shape = (len(laws), len(sizes))
    values = np.asarray(seen_suprema).reshape(*shape, trials)
    reached = np.asarray(reached)
    along: dict[str, Any] = {"law": ["uniform", "power law"], "entries": np.asarray(sizes)}
    means = values.mean(-1)
    return {
        "supremum and a matrix that attains it": Identity(
            reached,
            np.stack([np.asarray(seen_suprema)[:, 0], np.repeat(radii, len(sizes))], 1),
            condition=100.0,
            aside={"unweighted": np.asarray(seen_suprema)[:, 0] / np.sqrt(tall * wide)},
        ),
        "below the bound": Inequality(
            means,
            np.asarray(bounds).reshape(shape),
            error=6 * values.std(-1, ddof=1) / trials**0.5,
            along=along,
            aside={
                "without logarithm": np.asarray(bounds).reshape(shape) / np.sqrt(2 * np.log(tall + wide)),
                "order": np.asarray(orders).reshape(shape),
                "radii": radii,
            },
        ),
        "complexity falls with the entries": Rate(
            np.asarray(sizes, float), values[0], exponent=-0.5, rivals=(-1.0, 0.0), resolution=0.1
        ),
    }


@complexity_of_the_weighted_trace_ball.control("α for √α", of="below the bound")
def squared_radius(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) * evidence.aside["radii"][:, None])


@complexity_of_the_weighted_trace_ball.control("without the logarithm and the two", of="below the bound")
def without_logarithm(evidence):
    return replace(evidence, bound=evidence.aside["without logarithm"])


@complexity_of_the_weighted_trace_ball.control(
    "entries not weighted by their probabilities", of="supremum and a matrix that attains it"
)
def not_weighted(evidence):
    right = np.array(evidence.right)
    right[:, 0] = evidence.aside["unweighted"]
    return replace(evidence, right=right)


@complexity_of_the_weighted_trace_ball.picture
def complexities(pieces):
    """The Rademacher complexity against the number of entries, with the bound and lines of other exponents."""
    piece = pieces["below the bound"]
    entries = np.asarray(piece.along["entries"], float)
    marks = [
        *power_law("complexity, uniform entries", pieces["complexity falls with the entries"], rivals={-1.0: "1/n"})
    ]
    marks += [
        Line(f"bound, {name}", entries, row, dashed=True)
        for name, row in zip(piece.along["law"], np.asarray(piece.bound), strict=True)
    ]
    marks += [Dots("complexity, power law", entries, np.asarray(piece.quantity)[1])]
    return Curves(marks, x="number of entries seen", y="Rademacher complexity", log="xy")
