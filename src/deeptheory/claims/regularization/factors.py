"""The least dropout penalty among all factors of a matrix, and the rotations that reach it."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Count, Identity, Inequality, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.regularization.factors import (
    balanced_factors,
    equalization_defect,
    equalize,
    equalized_factors,
    induced_regularizer,
    nuclear_norm_chain,
    unequalizable_residual,
)
from deeptheory.regularization.sensing import expected_dropout_regularizer

# Compiled once: the experiments below call them for many draws and again for their controls.
chains = jax.jit(jax.vmap(nuclear_norm_chain))
all_balanced = jax.jit(jax.vmap(balanced_factors, (0, None)), static_argnums=1)
all_induced = jax.jit(jax.vmap(induced_regularizer, (0, None)))


def descended(objective, start, *arguments):
    """Minimise a compiled value-and-gradient function by L-BFGS; return the value and the point it reaches."""

    def flat(x):
        value, gradient = objective(x.reshape(start.shape), *arguments)
        return float(value), np.asarray(gradient).ravel()

    found = scipy.optimize.minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 6000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return found.fun, found.x.reshape(start.shape)


def least_descended(objective, starts, *arguments):
    """The least value that `descended` reaches from several starts, for an objective that has local minima."""
    return min(descended(objective, start, *arguments)[0] for start in starts)


@jax.jit
@jax.value_and_grad
def penalty_of_change(change, left, right):
    """The penalty, and its gradient, at (U G, V G⁺ᵀ), which are factors of U Vᵀ for every G of full rank.

    There are local minima above the least value; one start in fifty or a hundred ends in one.
    """
    return expected_dropout_regularizer(left @ change, right @ jnp.linalg.solve(change @ change.T, change))


@claim(
    items={
        "A11.8": ("links of the proof", "equalized factors attain the norm", "penalty that descent finds"),
        "A11.6": ("penalty that descent finds", "equalized factors attain the norm"),
    },
    says=r"Under Gaussian measurements the least dropout penalty over all factors of $M$ is $\|M\|_*^2/d_1$: every "
    "pair lies above it, link by link of the proof; equalized balanced factors reach it, and so does descent.",
    needs=r"the penalty over its strength, averaged over Gaussian measurements; width $d_1\ge\operatorname{rank}M$",
    full=dict(pairs=10_000, matrices=64, width=9),
    symbols={
        r"M": r"the product $UV^\top$ of the factors",
        r"\|M\|_*": "its nuclear norm, the sum of the singular values",
        r"d_1": "the width: how many columns the factors have",
    },
    why=r"For Gaussian measurements the penalty is $\sum_j\|u_j\|^2\|v_j\|^2$. By Cauchy–Schwarz it is at least "
    r"$\frac1{d_1}(\sum_j\|u_j\|\|v_j\|)^2$, with equality if all products are equal; and since $u_jv_j^\top$ has "
    r"nuclear norm $\|u_j\|\|v_j\|$, the triangle inequality bounds their sum below by $\|M\|_*$. Balanced factors, "
    "turned until all columns are equally long, attain both.",
    notice="Random factors pay more than the least penalty, up to several times. The best of a few descents for a "
    "matrix ends on the line, and never below. Without the width the norm bounds nothing: most random factors lie "
    "below it.",
    explore={"width": (3, 5, 8, 12)},
)
def dropout_is_the_squared_nuclear_norm(
    key,
    *,
    width: Annotated[int, Interval(ge=3, le=12)] = 5,
    pairs: Count = 1000,
    matrices: Annotated[int, Interval(ge=1, le=1000)] = 8,
):
    draw = generator(key)
    links = chains(draw.standard_normal((pairs, 4, width)), draw.standard_normal((pairs, 3, width)))
    regularizer, chained, rank_one, least = (
        np.asarray(links[name]) for name in ("regularizer", "cauchy_schwarz", "rank_one", "triangle")
    )
    steps = {
        "Cauchy–Schwarz": (chained, regularizer),
        "a rank-one matrix has one singular value": (rank_one, chained),
        "and conversely": (chained, rank_one),
        "triangle inequality": (least, rank_one),
    }
    # Three singular values, from comparable to far apart.
    targets = draw.standard_normal((matrices, 4, 3)) * np.exp(draw.uniform(-2, 1, (matrices, 1, 3)))
    left, right = all_balanced(targets, 3)
    starts = draw.standard_normal((matrices, 3, 3, width))
    found = [least_descended(penalty_of_change, *problem) for problem in zip(starts, left, right, strict=True)]
    equalized = [expected_dropout_regularizer(*equalized_factors(matrix, width)) for matrix in targets]
    least = np.linalg.norm(targets, "nuc", axis=(1, 2)) ** 2 / width
    return {
        "links of the proof": Chain(steps, aside={"width": width}),
        "equalized factors attain the norm": Identity(
            np.asarray(equalized), np.asarray(all_induced(targets, width)), size=width
        ),
        # Descent is stopped where the penalty no longer moves in its tenth digit or so.
        "penalty that descent finds": Identity(np.asarray(found), least, error=1e-6 * least),
    }


@dropout_is_the_squared_nuclear_norm.control("the width left out of Cauchy–Schwarz", of="links of the proof")
def without_the_width(evidence):
    chained, regularizer = evidence.links["Cauchy–Schwarz"]
    return replace(evidence, links={"Cauchy–Schwarz": (evidence.aside["width"] * chained, regularizer)})


@dropout_is_the_squared_nuclear_norm.picture
def penalties_over_the_least(pieces):
    """The dropout penalty against the squared nuclear norm over the width: random factors, and where descent ends."""
    steps = pieces["links of the proof"].links
    random, least = (
        np.asarray(steps[name][side]) for name, side in (("Cauchy–Schwarz", 1), ("triangle inequality", 0))
    )
    ended, norms = (
        np.asarray(pieces["penalty that descent finds"].left),
        np.asarray(pieces["penalty that descent finds"].right),
    )
    ends = np.asarray([min(least.min(), norms.min()), max(least.max(), norms.max())])
    marks = [
        Dots("random factors", least[:300], random[:300]),
        Dots("descent ends", norms, ended),
        Line("the least", ends, ends),
        Line("the least", ends, ends * pieces["links of the proof"].aside["width"], rival="without the width"),
    ]
    return Curves(marks, x="squared nuclear norm over the width", y="dropout penalty", log="xy")


@dropout_is_the_squared_nuclear_norm.control("divided by d₁ − 1 for d₁", of="equalized factors attain the norm")
def one_column_less(evidence):
    return replace(evidence, right=evidence.right * evidence.size / (evidence.size - 1))


@claim(
    items={"A11.9": ("columns of equal length", "product is kept", "rotation is orthogonal")},
    says=r"The balanced factors $WS^{1/2}$, $YS^{1/2}$ of a matrix, padded with zero columns, have a rotation that "
    r"gives every column of both the squared norm $\|M\|_*/d_1$ and leaves the product as it was.",
    needs=r"width $d_1\ge\operatorname{rank}M$",
    symbols={
        r"M": r"a matrix with singular value decomposition $WSY^\top$",
        r"\|M\|_*": "its nuclear norm, the sum of the singular values",
        r"d_1": "the width: the number of columns of each factor",
    },
    why=r"Turning both factors by the same rotation leaves their product alone, and the squared column norms of both "
    r"are the diagonal of the rotated $S$, whose sum is $\|M\|_*$. Some rotation makes a diagonal constant: as long "
    r"as one entry is above the mean and one below, turning the two into each other makes one of them equal to it.",
    notice=r"Before the rotation the squared lengths are the singular values, and zeros. After it all columns of both "
    r"factors lie on the line, one share of the nuclear norm each. Without zero columns two would have to share it.",
    full=dict(matrices=200, width=16),
)
def balanced_factors_have_an_equalizing_rotation(
    key,
    *,
    width: Annotated[int, Interval(ge=2, le=64)] = 6,
    matrices: Annotated[int, Interval(ge=1, le=1000)] = 32,
    columns: Literal["padded", "compact"] = "padded",
):
    draw = generator(key)
    targets = draw.standard_normal((matrices, 7, 2)) @ draw.standard_normal((matrices, 2, 5))
    kept = width if columns == "padded" else 2
    left, right = map(np.asarray, all_balanced(targets, kept))
    before = (left**2).sum(1)
    turn = np.asarray([equalize(gram) for gram in np.swapaxes(left, 1, 2) @ left])
    left, right = left @ turn, right @ turn
    norm = np.linalg.norm(targets, "nuc", axis=(1, 2))
    unit = np.concatenate([(np.swapaxes(turn, 1, 2) @ turn).reshape(matrices, -1), np.linalg.det(turn)[:, None]], 1)
    share = np.broadcast_to(norm[:, None] / width, (matrices, 2 * kept))
    return {
        "columns of equal length": Identity(
            np.concatenate([(left**2).sum(1), (right**2).sum(1)], 1), share, size=kept**2, aside={"before": before}
        ),
        "product is kept": Identity(left @ np.swapaxes(right, 1, 2), targets, scale=norm[:, None, None], size=kept**2),
        "rotation is orthogonal": Identity(unit, np.append(np.eye(kept), 1.0), scale=1.0, size=kept**2),
    }


@balanced_factors_have_an_equalizing_rotation.picture
def lengths_made_equal(pieces, settings):
    """Squared lengths of the columns before and after the rotation, against the share of the nuclear norm."""
    found = pieces["columns of equal length"]
    share, before = np.asarray(found.right), np.asarray(found.aside["before"])
    ends = np.asarray([0.0, share.max()])
    return Curves(
        [
            Dots("before the rotation", np.repeat(share[:, 0], before.shape[1]), before.ravel()),
            Line("equal shares", ends, ends),
            Dots("after it", share.ravel(), np.ravel(found.left)),
            Line("", ends, ends * settings["width"] / 2, rival="shared by two columns alone"),
        ],
        x="nuclear norm over the width",
        y="squared length of a column",
    )


balanced_factors_have_an_equalizing_rotation.control(
    "the compact decomposition, without zero columns", of="columns of equal length", columns="compact"
)


@claim(
    items={"A11.10": ""},
    says=r"Every 2×2 matrix has factors that a rotation turns into columns with equal products "
    r"$\|u_i\|\|v_i\|=\|M\|_*/2$: its balanced ones. An arbitrary pair of factors need not be among them.",
    needs="the factors are balanced, UᵀU = VᵀV",
    over=dict(left=Reals(-3, 3, shape=(2, 2)), right=Reals(-3, 3, shape=(2, 2))),
    symbols={
        r"u_i,v_i": "the columns of the two factors",
        r"M": "the product of the factors",
        r"\|M\|_*": "its nuclear norm, the sum of the singular values",
    },
    why=r"Turning both factors by the same rotation leaves the product alone. For balanced factors $u_i$ and $v_i$ "
    "are equally long at every angle, and a quarter turn exchanges the two lengths, so somewhere between they are "
    r"equal; the squared lengths sum to $\|M\|_*$. For an arbitrary pair one angle would have to meet two conditions, "
    "equal products of the right size.",
    notice=r"For every drawn matrix some rotation of the balanced factors leaves no defect beyond rounding. The "
    "search for a violation finds one at once if the factors are those that were drawn.",
    explore={"pair": ("balanced", "given")},
)
def balanced_factors_can_be_equalized(left, right, *, pair: Literal["balanced", "given"] = "balanced"):
    # Turned with the draw: those of the decomposition itself are all equalized by the same eighth of a turn.
    turn = jnp.linalg.qr(left)[0]
    factors = [each @ turn for each in balanced_factors(left @ right.T, 2)] if pair == "balanced" else (left, right)
    size = jnp.maximum(jnp.linalg.norm(left) * jnp.linalg.norm(right), 1e-9)
    # The search over angles ends within 1e-8 of the best one.
    given = unequalizable_residual(left, right)
    return Inequality(unequalizable_residual(*factors), 0.0, error=1e-6 * size, scale=size, aside={"given": given})


@balanced_factors_can_be_equalized.picture
def defects(pieces):
    """The defect that is left at the best rotation, over the size of the factors, for drawn matrices in order."""
    (piece,) = pieces.values()
    found, given = (np.sort(np.asarray(each / piece.scale)) for each in (piece.quantity, piece.aside["given"]))
    matrix = np.arange(1, len(found) + 1)
    marks = [
        Dots("factors of the claim", matrix, np.maximum(found, 1e-18)),
        Dots("", matrix, np.maximum(given, 1e-18), rival="the factors that were drawn, as in Thm 11.1.1"),
        Level("allowed", y=1e-6),
    ]
    return Curves(marks, x="matrix, in order of its defect", y="defect, as a share of the size of the factors", log="y")


balanced_factors_can_be_equalized.control("for any pair of factors, as printed", erratum="A11.10a", pair="given")


@balanced_factors_can_be_equalized.verify
def no_rotation_equalizes(left, right):
    return abs(equalization_defect(left, right)), Fraction(0), "the one candidate angle, in rationals"
