"""Dropout in matrix sensing: the penalty it adds, the least value of that penalty, and the optimum it selects."""

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Count, Identity, Inequality, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Stack
from deeptheory.regularization.dropout import (
    balanced_factors,
    dropout_objective,
    dropout_optimum,
    dropout_regularizer,
    dropout_shrinkage,
    dropout_strength,
    equalization_defect,
    equalize,
    equalized_factors,
    expected_dropout_regularizer,
    induced_regularizer,
    nuclear_norm_chain,
    sensing_loss,
    unequalizable_residual,
)

SINGULAR = (3.0, 2.0, 1.0, 0.3)
"""Singular values of the target of the shrinkage experiment: spread so that the rates below select every rank."""

# Compiled once: the experiments below call them for many draws and again for their controls.
chains = jax.jit(jax.vmap(nuclear_norm_chain))
all_balanced = jax.jit(jax.vmap(balanced_factors, (0, None)), static_argnums=1)
all_induced = jax.jit(jax.vmap(induced_regularizer, (0, None)))
all_shrunk = jax.jit(jax.vmap(dropout_shrinkage))
all_optima = jax.jit(jax.vmap(dropout_optimum, (None, None, 0)), static_argnums=1)


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


@jax.jit
def shrunk_values(width, strengths):
    """The predicted singular values, a row for each strength."""
    return jax.vmap(lambda strength: dropout_shrinkage(jnp.asarray(SINGULAR), width, strength)[0])(strengths)


@jax.jit
@jax.value_and_grad
def population_objective(factors, target, strength):
    """The dropout objective averaged over Gaussian measurements, and its gradient, at U above V in one array."""
    left, right = factors[: target.shape[0]], factors[target.shape[0] :]
    return jnp.sum((target - left @ right.T) ** 2) + strength * expected_dropout_regularizer(left, right)


@jax.jit
@jax.value_and_grad
def penalty_of_change(change, left, right):
    """The penalty, and its gradient, at (U G, V G⁺ᵀ): all factors of U Vᵀ, as G runs over matrices of full rank."""
    return expected_dropout_regularizer(left @ change, right @ jnp.linalg.solve(change @ change.T, change))


@claim(
    items={"A11.5": ""},
    says=r"Dropping columns at rate $p$ adds exactly $\frac{p}{1-p}\sum_j\frac1n\sum_i(u_j^\top A_iv_j)^2$ to the "
    "squared loss of matrix sensing, for all factors, measurements and labels.",
    needs=r"kept columns are scaled by $1/(1-p)$; a column of U and of V is dropped together; $0\le p<1$",
    over=dict(
        left=Reals(-2, 2, shape=(4, 5)),
        right=Reals(-2, 2, shape=(3, 5)),
        measurements=Reals(-2, 2, shape=(7, 4, 3)),
        labels=Reals(-5, 5, shape=(7,)),
        rate=Reals(0.0, 0.95),
    ),
    draws=128,
    generations=6,
    symbols={
        r"p": "the dropout rate",
        r"u_j,v_j": "the columns of the two factors; column $j$ of both is dropped together",
        r"A_i": "the measurements",
        r"n": "their number",
    },
    why=r"A mask that keeps a column with probability $1-p$ and then scales it by $1/(1-p)$ has mean one and variance "
    "$p/(1-p)$. So the prediction is right on average, and its mean squared error is the squared error of the mean "
    "plus its variance. The columns are dropped independently: their variances add, each $p/(1-p)$ times the squared "
    r"contribution $(u_j^\top A_iv_j)^2$.",
    notice=r"The objective averaged over all masks, one by one, lies on the diagonal against loss plus penalty, over "
    "several orders of magnitude.",
)
def dropout_is_a_penalty(left, right, measurements, labels, rate):
    enumerated = dropout_objective(left, right, measurements, labels, rate)
    loss = sensing_loss(left, right, measurements, labels)
    penalty = dropout_strength(rate) * dropout_regularizer(left, right, measurements)
    # Rounding is that of the numbers before they cancel, at the largest mask.
    size = sensing_loss(abs(left), abs(right), abs(measurements), -abs(labels)) / (1 - rate) ** 2
    return Identity(enumerated, loss + penalty, scale=size)


@jax.jit
@jax.vmap
def objective_with_unscaled_mask(left, right, measurements, labels, rate):
    """What the objective would be if the mask had the variance of an indicator."""
    penalty = rate * (1 - rate) * dropout_regularizer(left, right, measurements)
    return sensing_loss(left, right, measurements, labels) + penalty


@dropout_is_a_penalty.control("p(1−p), the variance of a mask that is not rescaled")
def unscaled_mask(evidence, instances):
    return replace(evidence, right=np.asarray(objective_with_unscaled_mask(**instances)))


@dropout_is_a_penalty.picture
def masks_against_penalty(pieces):
    """The mean over all masks against loss plus penalty, one dot for each drawn problem; equal on the line."""
    masks, formula = np.asarray(pieces[""].left), np.asarray(pieces[""].right)
    ends = np.asarray([masks.min(), masks.max()])
    marks = [Line("equal", ends, ends, dashed=True), Dots("problems", formula, masks)]
    return Curves(marks, x="loss plus penalty", y="loss averaged over all masks", log="xy")


@claim(
    items={"A11.8": ("links of the proof", "equalized factors attain the norm", "penalty that descent finds")},
    says=r"Under Gaussian measurements the least dropout penalty over all factors of $M$ is $\|M\|_*^2/d_1$: every "
    "pair lies above it, link by link of the proof; equalized balanced factors reach it, and so does descent.",
    needs=r"Gaussian measurements; width $d_1\ge\operatorname{rank}M$",
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
    notice=r"Random factors pay several times the least penalty. Descent over all factors of a given matrix ends on "
    "the line, and never below.",
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
    starts = draw.standard_normal((matrices, 3, width))
    found = [descended(penalty_of_change, *problem)[0] for problem in zip(starts, left, right, strict=True)]
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
        # The targets have rank three.
        Line(
            "the least",
            ends,
            ends * pieces["links of the proof"].aside["width"] / 3,
            rival="over the rank instead of the width",
        ),
    ]
    return Curves(marks, x="squared nuclear norm over the width", y="dropout penalty", log="xy")


@dropout_is_the_squared_nuclear_norm.control(
    "divided by the rank instead of the width", of="equalized factors attain the norm"
)
def over_the_rank(evidence):
    return replace(evidence, right=evidence.right * evidence.size / 3)


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
    turn = np.asarray([equalize(gram) for gram in np.swapaxes(left, 1, 2) @ left])
    left, right = left @ turn, right @ turn
    norm = np.linalg.norm(targets, "nuc", axis=(1, 2))
    unit = np.concatenate([(np.swapaxes(turn, 1, 2) @ turn).reshape(matrices, -1), np.linalg.det(turn)[:, None]], 1)
    share = np.broadcast_to(norm[:, None] / width, (matrices, 2 * kept))
    return {
        "columns of equal length": Identity(
            np.concatenate([(left**2).sum(1), (right**2).sum(1)], 1), share, size=kept**2
        ),
        "product is kept": Identity(left @ np.swapaxes(right, 1, 2), targets, scale=norm[:, None, None], size=kept**2),
        "rotation is orthogonal": Identity(unit, np.append(np.eye(kept), 1.0), scale=1.0, size=kept**2),
    }


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
    factors = balanced_factors(left @ right.T, 2) if pair == "balanced" else (left, right)
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


@claim(
    items={"A11.11": ("least objective", "singular values of the optimum", "narrow factors", "other spectra")},
    says=r"The population optimum of dropout matrix sensing lowers the singular values of the target by "
    r"$\lambda\sum_{i\le\rho}s_i/(d_1+\lambda\rho)$ and drops those below, and all beyond the width: the dropout rate "
    r"selects the rank.",
    needs=r"Gaussian measurements; $\lambda=p/(1-p)$; "
    r"$\rho$ the last $j\le d_1$ with $s_j(d_1+\lambda j)>\lambda\sum_{i\le j}s_i$",
    full=dict(rates=(0.05, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98), starts=8),
    symbols={
        r"s_i": "the singular values of the target, largest first; here 3, 2, 1 and 0.3",
        r"d_1": "the width of the factorization: how many columns can be dropped",
        r"p": "the dropout rate: the chance that a column is left out of a step",
        r"\lambda": "the strength of the penalty, $p/(1-p)$",
        r"\rho": "the rank of the optimum: how many singular values survive",
    },
    why=r"On average dropout adds $\lambda\sum_j\|u_j\|^2\|v_j\|^2$ to the loss. Among all factorizations of a matrix "
    r"this sum is least when all $d_1$ columns carry equal weight, and is then the square of the nuclear norm over "
    r"$d_1$. So dropout minimizes a convex function of the product: distance to the target plus $\lambda/d_1$ times "
    r"the squared nuclear norm. Setting its derivative to zero lowers all singular values by one common amount, and "
    r"those that would become negative are zero.",
    notice=r"All singular values sink in parallel, since they share one threshold, and reach zero one after the other: "
    r"the rank comes down a staircase as the rate goes up, though nothing in the loss mentions rank. The points, found "
    r"by descent from random starts, lie on the lines. Widen the factorization and each step comes later.",
    explore={"width": (4, 6, 10, 20)},
)
def dropout_rate_selects_the_rank(
    key,
    *,
    width: Annotated[int, Interval(ge=4, le=30)] = 10,
    rates: Annotated[tuple[float, ...], Interval(ge=0.0, le=0.99)] = (0.2, 0.6, 0.8, 0.95),
    starts: Annotated[int, Interval(ge=1, le=100)] = 2,
):
    draw = generator(key)
    rotation, reflection = (np.linalg.qr(draw.standard_normal((size, 4)))[0] for size in (6, 5))
    target = rotation * SINGULAR @ reflection.T
    strengths = np.asarray([dropout_strength(rate) for rate in rates])
    values, singular, narrow = np.empty((2, len(rates), starts)), *np.empty((2, len(rates), starts, 4))
    for (i, strength), j in itertools.product(enumerate(strengths), range(starts)):
        # Small starts keep uⱼ and vⱼ of like length; from large ones L-BFGS leaps to where one is a thousand times the
        # other, the same product badly conditioned, and stops early.
        values[0, i, j], factors = descended(
            population_objective, 0.1 * draw.standard_normal((11, width)), target, strength
        )
        singular[i, j] = np.linalg.svd(factors[:6] @ factors[6:].T, compute_uv=False)[:4]
        # Two columns for four singular values: the width, not the rate, is then what limits the rank.
        _, factors = descended(population_objective, 0.1 * draw.standard_normal((11, 2)), target, strength)
        narrow[i, j] = np.linalg.svd(factors[:6] @ factors[6:].T, compute_uv=False)[:4]
    optimum = np.asarray(all_optima(target, width, np.asarray(rates)))
    nuclear = np.linalg.norm(optimum, "nuc", axis=(1, 2))
    values[1] = (np.sum((target - optimum) ** 2, axis=(1, 2)) + strengths * nuclear**2 / width)[:, None]
    shrunk = np.asarray(shrunk_values(width, strengths))
    # What descent may leave of the objective. It is strongly convex in the product, so the product is off by its root.
    left_over = 1e-10 * values[1]
    residual = target - optimum
    # Spectra, widths and strengths of all kinds: in singular values alone the problem is least squares over m ≥ 0, with
    # one row more for the penalty, which an active-set solver answers without the formula.
    spectra = -np.sort(-np.exp(draw.uniform(-2, 1.5, (100, 5))), axis=1)
    widths, powers = draw.integers(5, 30, 100), np.exp(draw.uniform(-2, 4, 100))
    lowered, thresholds = map(np.asarray, all_shrunk(spectra, widths, powers))
    solved = [
        scipy.optimize.nnls(np.vstack([np.eye(5), np.full(5, (strength / count) ** 0.5)]), np.append(spectrum, 0.0))[0]
        for spectrum, count, strength in zip(spectra, widths, powers, strict=True)
    ]
    close: dict[str, Any] = dict(scale=SINGULAR[0], error=left_over[..., None] ** 0.5, along={"rate": rates})
    return {
        "least objective": Identity(values[0], values[1], error=left_over, along={"rate": rates}),
        "singular values of the optimum": Identity(singular, shrunk[:, None], size=width, **close),
        "narrow factors": Identity(narrow, np.asarray(shrunk_values(2, strengths))[:, None], **close),
        "other spectra": Identity(
            lowered,
            np.asarray(solved),
            scale=spectra[:, :1],
            condition=1e3,
            aside={"spectra": spectra, "thresholds": thresholds, "widths": widths, "strengths": powers},
        ),
        # The residual is the subgradient λ/d₁ ‖M‖_* of a unit ball's element: the condition for the convex optimum.
        "certificate of the optimum": Identity(
            np.stack([np.linalg.norm(residual, 2, axis=(1, 2)) * nuclear, np.sum(residual * optimum, axis=(1, 2))]),
            strengths * nuclear**2 / width,
            scale=10 * SINGULAR[0] ** 2,
        ),
    }


@dropout_rate_selects_the_rank.control("ρ − 1 for ρ in the threshold", of="other spectra")
def one_rank_less(evidence):
    spectra, widths, strengths = (evidence.aside[name] for name in ("spectra", "widths", "strengths"))
    rank = (np.asarray(evidence.left) > 0).sum(1)
    threshold = evidence.aside["thresholds"] * (widths + strengths * rank) / (widths + strengths * (rank - 1))
    return replace(evidence, left=np.maximum(spectra - threshold[:, None], 0))


@dropout_rate_selects_the_rank.control(
    "the number of singular values in place of the width", of="singular values of the optimum"
)
def rank_for_width(evidence):
    strengths = np.asarray([dropout_strength(rate) for rate in evidence.along["rate"]])
    return replace(evidence, right=np.asarray(shrunk_values(len(SINGULAR), strengths))[:, None])


@dropout_rate_selects_the_rank.picture
def rank_staircase(pieces, settings):
    """Singular values of the optimum (above) and its rank (below) against the dropout rate: predicted, and found."""
    rates = np.linspace(0.0, 0.985, 400)
    predicted = np.asarray(shrunk_values(settings["width"], np.asarray([dropout_strength(rate) for rate in rates])))
    found = np.asarray(pieces["singular values of the optimum"].left)
    own = np.asarray(pieces["singular values of the optimum"].along["rate"])
    values = [Line(f"s = {s:g}", rates, line) for s, line in zip(SINGULAR, predicted.T, strict=True)]
    values += [Dots(f"s = {s:g}", own, each) for s, each in zip(SINGULAR, found.mean(1).T, strict=True)]
    ranks = [Line("predicted", rates, (predicted > 1e-9).sum(1)), Dots("found", own, (found > 1e-3).sum(-1).mean(1))]
    rate = "dropout rate p"
    return Stack([Curves(values, x=rate, y="singular value"), Curves(ranks, x=rate, y="rank", ys=(-0.2, 4.3))])


@dropout_rate_selects_the_rank.control("a nuclear norm that is not squared", of="singular values of the optimum")
def fixed_threshold(evidence):
    threshold = np.asarray([dropout_strength(rate) / (2 * evidence.size) for rate in evidence.along["rate"]])
    return replace(evidence, right=np.maximum(np.asarray(SINGULAR) - threshold[:, None], 0)[:, None])
