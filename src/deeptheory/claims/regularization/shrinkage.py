"""The optimum that dropout selects in matrix sensing, and its rank."""

import itertools
from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.claims.regularization.factors import descended
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Stack
from deeptheory.regularization.masks import dropout_strength
from deeptheory.regularization.sensing import expected_dropout_regularizer
from deeptheory.regularization.shrinkage import dropout_optimum, dropout_shrinkage

SINGULAR = (3.0, 2.0, 1.0, 0.3)
"""Singular values of the target of the shrinkage experiment: spread so that the rates below select every rank."""

# Compiled once: the experiment below calls them for many draws and again for its controls.
all_shrunk = jax.jit(jax.vmap(dropout_shrinkage))
all_optima = jax.jit(jax.vmap(dropout_optimum, (None, None, 0)), static_argnums=1)


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


@claim(
    items={"A11.11": ("least objective", "singular values of the optimum", "narrow factors", "other spectra")},
    says=r"The population optimum of dropout matrix sensing lowers the singular values of the target by "
    r"$\lambda\sum_{i\le\rho}s_i/(d_1+\lambda\rho)$ and drops those below, and all beyond the width: the dropout rate "
    r"selects the rank.",
    needs=r"Gaussian measurements; $\lambda=p/(1-p)$; $\rho$ the last $j\le d_1$ with $s_j(d_1+\lambda "
    r"j)>\lambda\sum_{i\le j}s_i$",
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


# The threshold falls with the width at every rate above zero, so that one column less is wrong at every width.
@dropout_rate_selects_the_rank.control("d₁ − 1 for d₁ in the threshold", of="singular values of the optimum")
def one_column_less(evidence):
    strengths = np.asarray([dropout_strength(rate) for rate in evidence.along["rate"]])
    return replace(evidence, right=np.asarray(shrunk_values(evidence.size - 1, strengths))[:, None])


@dropout_rate_selects_the_rank.picture
def rank_staircase(pieces, settings):
    """Singular values of the optimum (above) and its rank (below) against the dropout rate: predicted, and found."""
    rates = np.linspace(0.0, 0.985, 400)
    predicted = np.asarray(shrunk_values(settings["width"], np.asarray([dropout_strength(rate) for rate in rates])))
    found = np.asarray(pieces["singular values of the optimum"].left)
    own = np.asarray(pieces["singular values of the optimum"].along["rate"])
    values = [Line(f"s = {s:g}", rates, line) for s, line in zip(SINGULAR, predicted.T, strict=True)]
    values += [Dots(f"s = {s:g}", own, each) for s, each in zip(SINGULAR, found.mean(1).T, strict=True)]
    strengths, rank = np.asarray([dropout_strength(rate) for rate in rates]), (predicted > 1e-9).sum(1)
    ratio = (settings["width"] + strengths * rank) / (settings["width"] + strengths * (rank - 1))
    less = np.maximum(np.asarray(SINGULAR) - ((SINGULAR[0] - predicted[:, 0]) * ratio)[:, None], 0)
    values += [Line("", rates, line, rival="ρ − 1 for ρ in the threshold") for line in less.T]
    ranks = [Line("predicted", rates, (predicted > 1e-9).sum(1)), Dots("found", own, (found > 1e-3).sum(-1).mean(1))]
    rate = "dropout rate p"
    return Stack([Curves(values, x=rate, y="singular value"), Curves(ranks, x=rate, y="rank", ys=(-0.2, 4.3))])


@dropout_rate_selects_the_rank.control("a nuclear norm that is not squared", of="singular values of the optimum")
def fixed_threshold(evidence):
    threshold = np.asarray([dropout_strength(rate) / (2 * evidence.size) for rate in evidence.along["rate"]])
    return replace(evidence, right=np.maximum(np.asarray(SINGULAR) - threshold[:, None], 0)[:, None])
