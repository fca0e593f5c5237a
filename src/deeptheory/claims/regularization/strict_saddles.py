"""No spurious minima: every critical point of the dropout autoencoder but the optimum has a way down."""

from dataclasses import replace
from itertools import product
from typing import Annotated, NamedTuple

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.autoencoder import rotated
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level
from deeptheory.landscapes.critical_points import inertia
from deeptheory.landscapes.factorization import factorization_critical_points
from deeptheory.regularization.autoencoder import autoencoder_loss, equalizing_curvature, least_autoencoder_loss
from deeptheory.regularization.catalogue import (
    DropoutPoint,
    dropout_critical_points,
    lifted_curvature,
    new_unit_curvature,
    swap_curvature,
    threshold_strength,
)

losses = jax.jit(jax.vmap(autoencoder_loss))
least_values = jax.jit(jax.vmap(least_autoencoder_loss))


@jax.jit
@jax.vmap
def hessians(weights, matrix, strength):
    """The Hessian in the flat weights, by automatic differentiation."""
    loss = lambda flat: autoencoder_loss(flat.reshape(weights.shape), matrix, strength)  # noqa: E731
    return jax.hessian(loss)(weights.ravel())


def way_down(point, spectrum, strength, rank):
    """The curvature that a known direction promises at a critical point, a step of length one; nan at the optimum."""
    (width, chosen), *others = point.groups
    if others:
        norms = (point.weights**2).sum(0)
        return float(equalizing_curvature(point.weights, strength)) / (norms.max() + norms.min())
    missing = [index for index in range(len(spectrum)) if index not in chosen]
    if chosen and missing and missing[0] < chosen[-1]:
        return swap_curvature(1.0, spectrum[chosen[-1]], spectrum[missing[0]])
    return new_unit_curvature(spectrum, len(chosen), width, strength) if len(chosen) < rank else np.nan


class Listed(NamedTuple):
    """A critical point with its problem, and what is promised of it."""

    point: DropoutPoint
    matrix: np.ndarray
    spectrum: np.ndarray
    strength: float
    factor: float
    rank: int

    @property
    def kept(self):
        """How many of the first eigenvectors it keeps if it keeps these and no others, and has room for more."""
        chosen = self.point.groups[0][1]
        first = self.point.equalized and chosen == tuple(range(len(chosen))) and len(chosen) < len(self.spectrum)
        return len(chosen) if first else None


@claim(
    items={
        "A11.29": "points without a way down",
        "A11.34": ("points without a way down", "least value", "steepest way down"),
        "A11.35": ("points without a way down", "curvature of a new direction", "when a new direction leads down"),
        "A11.37": "spectra without dropout",
    },
    says=r"For every $\lambda>0$, also above $r\lambda_r/(\sum_{i\le r}\lambda_i-r\lambda_r)$, each critical point of "
    r"the dropout autoencoder but the optimum is a strict saddle. Where it keeps the first $r'<\rho$ eigenvectors "
    r"$w_{r'+1}v^\top$ leads down: $-4\lambda_{r'+1}+4\lambda\sum_{i\le r'}\lambda_i/(d_1+\lambda r')<0$.",
    needs=r"$M$ symmetric with distinct eigenvalues; $v$ a unit vector orthogonal to the rows of the weights",
    symbols={
        r"\lambda": "the strength of dropout",
        r"\lambda_i, w_i": "the eigenvalues and eigenvectors of $M$",
        "r": "the rank of $M$",
        r"\rho": "the rank of the optimum",
        "r'": "the rank of a critical point that keeps the first eigenvectors",
        "v": "a direction among hidden units that the weights do not use",
        "d_1": "the number of hidden units",
    },
    why=r"Weights with columns of different length can be turned, and weights that miss a larger eigenvector can "
    r"exchange one for it. What is left keeps the first $r'$ eigenvectors. Adding $t\,w_{r'+1}v^\top$ adds "
    r"$t^2v_i^2$ to the squared length of column $i$; the gain exceeds the price exactly if $\lambda_{r'+1}$ is above "
    r"the common threshold, which is the condition that $r'+1\le\rho$. The proof in the book raises all singular "
    "values at once, which costs more, and so needs a small rate.",
    notice="Every critical point but the optimum has a direction of negative curvature, at strengths below and far "
    "above the printed threshold. Along the curve that the proof uses the loss may bend upwards.",
    full=dict(matrices=8),
)
def every_saddle_is_strict(
    key,
    *,
    matrices: Annotated[int, Interval(ge=2, le=50)] = 2,
    factors: Annotated[tuple[float, ...], Interval(ge=0.01, le=100.0)] = (0.5, 1.2, 3.0, 20.0),
):
    draw = generator(key)
    spectra = np.cumsum(draw.uniform(0.2, 1.0, (matrices, 3)), axis=1)[:, ::-1]
    # Half of the targets have rank two, below the width of three. At 1 to 1.5 times the threshold theirs are always
    # points that keep one eigenvector where the new direction leads down, and raising all singular values does not.
    spectra = np.where(np.arange(matrices)[:, None] % 2 == 0, spectra, spectra - spectra[:, -1:])
    targets, bases = rotated(draw, spectra)
    listed: list[Listed] = []
    directions = []
    for (matrix, basis, spectrum), factor in product(zip(targets, bases, spectra, strict=True), factors):
        strength = factor * float(threshold_strength(spectrum))
        points = dropout_critical_points(matrix, 3, strength)
        rank = next(len(each.groups[0][1]) for each in points if each.optimal)
        listed += [Listed(each, matrix, spectrum, strength, factor, rank) for each in points]
        for place in range(len(listed) - len(points), len(listed)):
            if (kept := listed[place].kept) is not None:
                unused = np.linalg.svd(listed[place].point.weights)[2][kept]
                directions.append((place, np.outer(basis[:, kept], unused).ravel()))
    weights, owners, powers, times = (
        np.asarray([read(each) for each in listed])
        for read in (lambda e: e.point.weights, lambda e: e.matrix, lambda e: e.strength, lambda e: e.factor)
    )
    optimal = np.asarray([each.point.optimal for each in listed])
    promised = np.asarray([way_down(each.point, each.spectrum, each.strength, each.rank) for each in listed])
    bends = np.asarray(hessians(weights, owners, powers))
    curved = np.linalg.eigvalsh(bends)
    first = [listed[place] for place, _ in directions]
    along = np.asarray([direction @ bends[place] @ direction for place, direction in directions])
    raised = np.asarray([lifted_curvature(each.spectrum, each.kept, 3, each.strength) for each in first])
    plain = [factorization_critical_points(matrix, rank=3) for matrix in targets[::2]]
    unpenalized = hessians(
        np.asarray([each.factor for one in plain for each in one]),
        np.repeat(targets[::2], [len(one) for one in plain], axis=0),
        np.zeros(sum(map(len, plain))),
    )
    return {
        "points without a way down": Exact(inertia(curved)[:, 0] == 0, optimal, aside={"factors": times}),
        "number of ways down": Exact(
            inertia(curved)[:, 0], np.asarray([each.point.index for each in listed]), aside={"optimal": optimal}
        ),
        "steepest way down": Inequality(
            curved[~optimal, 0], promised[~optimal], error=1e-9, aside={"factors": times[~optimal]}
        ),
        "least value": Identity(
            np.asarray(losses(weights, owners, powers))[optimal],
            np.asarray(least_values(owners[optimal], np.full(optimal.sum(), 3), powers[optimal])),
            condition=10.0,
            aside={"targets": owners[optimal], "strengths": powers[optimal]},
        ),
        "curvature of a new direction": Identity(
            along,
            np.asarray([new_unit_curvature(each.spectrum, each.kept, 3, each.strength) for each in first]),
            scale=100.0,
            aside={"raised": raised, "factors": np.asarray([each.factor for each in first])},
        ),
        "when a new direction leads down": Exact(
            along < -1e-9, np.asarray([each.kept < each.rank for each in first]), aside={"raised": raised}
        ),
        "spectra without dropout": Identity(
            np.linalg.eigvalsh(np.asarray(unpenalized)),
            4 * np.asarray([each.spectrum for one in plain for each in one]),
            scale=10.0,
            size=100,
        ),
    }


@every_saddle_is_strict.control(
    "the curve that raises all singular values decides", of="when a new direction leads down"
)
def raised_curve(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["raised"]) < 0)


@every_saddle_is_strict.control("strict saddles only below the threshold", of="points without a way down")
def only_below(evidence):
    return replace(evidence, right=np.asarray(evidence.right) | (np.asarray(evidence.aside["factors"]) > 1))


@every_saddle_is_strict.control("one way down from each saddle", of="number of ways down")
def one_way(evidence):
    return replace(evidence, right=np.where(evidence.aside["optimal"], 0, 1))


@every_saddle_is_strict.control("a tenth steeper", of="steepest way down")
def steeper(evidence):
    return replace(evidence, bound=1.1 * np.asarray(evidence.bound))


@every_saddle_is_strict.control("the least value of two hidden units", of="least value")
def two_units(evidence):
    targets, strengths = evidence.aside["targets"], evidence.aside["strengths"]
    return replace(evidence, right=np.asarray(least_values(targets, np.full(len(targets), 2), strengths)))


@every_saddle_is_strict.control("λᵢ for 2λᵢ along a kept eigenvector itself", of="spectra without dropout")
def single(evidence):
    right = np.array(evidence.right)
    right[:, -1] /= 2
    return replace(evidence, right=np.sort(right, axis=1))


@every_saddle_is_strict.picture
def least_curvatures(pieces):
    """The least eigenvalue of the Hessian at every critical point but the optimum, against the strength of dropout."""
    steep, fresh = pieces["steepest way down"], pieces["curvature of a new direction"]
    first = "along a new direction"
    marks = [
        Dots("critical points but the optimum", steep.aside["factors"], steep.quantity),
        Dots(first, fresh.aside["factors"], np.asarray(fresh.left)),
        Dots(first, fresh.aside["factors"], fresh.aside["raised"], rival="along the curve of case 2"),
        Level("no curvature", y=0.0),
        Level("printed threshold", x=1.0),
    ]
    return Curves(marks, x="strength over the printed threshold", y="curvature", log="x")
