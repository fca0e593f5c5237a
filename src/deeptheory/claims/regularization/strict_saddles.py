"""No spurious minima: every critical point of the dropout autoencoder but the optimum has a way down."""

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

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
    basis: np.ndarray
    spectrum: np.ndarray
    strength: float
    factor: float
    rank: int

    @property
    def width(self):
        return self.point.weights.shape[1]

    @property
    def kept(self) -> Any:
        """How many of the first eigenvectors it keeps if it keeps these and no others, and has room for more."""
        chosen = self.point.groups[0][1]
        first = self.point.equalized and chosen == tuple(range(len(chosen))) and len(chosen) < self.width
        return len(chosen) if first else None

    @property
    def fresh(self):
        """The next eigenvector along a direction among hidden units that the weights do not use."""
        unused = np.linalg.svd(self.point.weights)[2][self.kept]
        return np.outer(self.basis[:, self.kept], unused).ravel()


def all_points(draw, rows, width, matrices, factors):
    """The targets drawn, and the critical points of each at all strengths."""
    spectra = np.cumsum(draw.uniform(0.2, 1.0, (matrices, rows)), axis=1)[:, ::-1]
    # Half of the targets of the widest networks have rank two. At 1 to 1.5 times the threshold theirs are always
    # points that keep one eigenvector where the new direction leads down, and raising all singular values does not.
    low = (np.arange(matrices) % 2 == 0) & (width == 3)
    spectra = np.where(low[:, None], np.maximum(spectra - spectra[:, 2:3], 0.0), spectra)
    targets, bases = rotated(draw, spectra)
    listed: list[Listed] = []
    for matrix, basis, spectrum in zip(targets, bases, spectra, strict=True):
        for factor in factors:
            strength = factor * float(threshold_strength(spectrum))
            points = dropout_critical_points(matrix, width, strength)
            rank = next(len(each.groups[0][1]) for each in points if each.optimal)
            listed += [Listed(each, matrix, basis, spectrum, strength, factor, rank) for each in points]
    return targets, listed


def stacked(listed, *names):
    """The fields of these names as arrays, a point a row."""
    return [np.asarray([getattr(each, name) for each in listed]) for name in names]


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
    needs=r"$M$ symmetric with distinct eigenvalues; $v$ a unit vector orthogonal to the rows of the weights; two or "
    "three hidden units, three or four rows",
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
    found: dict[str, list] = {name: [] for name in ("index", "least", "lost", "goal", "along", "bare", "said")}
    listed: list[Listed] = []
    for rows, width in ((3, 3), (4, 2), (4, 3)):
        targets, points = all_points(draw, rows, width, matrices, factors)
        matrix, strength = stacked(points, "matrix", "strength")
        weights = np.asarray([each.point.weights for each in points])
        bends = np.asarray(hessians(weights, matrix, strength))
        curved = np.linalg.eigvalsh(bends)
        found["index"].append(inertia(curved)[:, 0])
        found["least"].append(curved[:, 0])
        at = np.asarray([each.point.optimal for each in points])
        found["lost"].append(np.asarray(losses(weights[at], matrix[at], strength[at])))
        found["goal"].append([least_values(matrix[at], np.full(at.sum(), k), strength[at]) for k in (width, width - 1)])
        found["along"] += [
            each.fresh @ bend @ each.fresh for each, bend in zip(points, bends, strict=True) if each.kept is not None
        ]
        plain = [(target, each) for target in targets for each in factorization_critical_points(target, rank=width)]
        seen = hessians(
            np.asarray([each.factor for _, each in plain]),
            np.asarray([target for target, _ in plain]),
            np.zeros(len(plain)),
        )
        said = 4 * np.asarray([each.spectrum for _, each in plain])
        # Zeros in front of both make the spectra of all shapes equally long.
        for name, spectra in (("bare", np.linalg.eigvalsh(np.asarray(seen))), ("said", said)):
            found[name].append(np.pad(spectra, ((0, 0), (12 - rows * width, 0))))
        listed += points
    index, least, lost, bare, said = (
        np.concatenate(found[name]) for name in ("index", "least", "lost", "bare", "said")
    )
    goal, narrower = np.concatenate(found["goal"], axis=1)
    along, times = np.asarray(found["along"]), stacked(listed, "factor")[0]
    optimal = np.asarray([each.point.optimal for each in listed])
    promised = np.asarray([way_down(each.point, each.spectrum, each.strength, each.rank) for each in listed])
    first = [each for each in listed if each.kept is not None]
    terms = [(each.spectrum, each.kept, each.width, each.strength) for each in first]
    raised = np.asarray([lifted_curvature(*each) for each in terms])
    return {
        "points without a way down": Exact(index == 0, optimal, aside={"factors": times}),
        "number of ways down": Exact(
            index, np.asarray([each.point.index for each in listed]), aside={"optimal": optimal}
        ),
        "steepest way down": Inequality(
            least[~optimal], promised[~optimal], error=1e-9, aside={"factors": times[~optimal]}
        ),
        "least value": Identity(lost, goal, condition=10.0, aside={"narrower": narrower}),
        "curvature of a new direction": Identity(
            along,
            np.asarray([new_unit_curvature(*each) for each in terms]),
            scale=100.0,
            aside={
                "raised": raised,
                "factors": np.asarray([each.factor for each in first]),
                "price of one more": np.asarray([_bent(*each, more=1) for each in terms]),
                "price by the rows": np.asarray([_bent(*each[:2], len(each[0]), each[3]) for each in terms]),
            },
        ),
        "when a new direction leads down": Exact(
            along < -1e-9, np.asarray([each.kept < each.rank for each in first]), aside={"raised": raised}
        ),
        "spectra without dropout": Identity(bare, said, scale=10.0, size=100),
    }


def _bent(spectrum, kept, width, strength, more=0):
    """−4λ_{r′+1} + 4λ Σ_{i≤r′} λᵢ/(d₁ + λ(r′ + more))."""
    return 4 * (strength * spectrum[:kept].sum() / (width + strength * (kept + more)) - spectrum[kept])


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


@every_saddle_is_strict.control("the least value of one hidden unit fewer", of="least value")
def one_unit_fewer(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["narrower"]))


@every_saddle_is_strict.control("r′ + 1 for r′ in the price", of="curvature of a new direction")
def one_more_kept(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["price of one more"]))


@every_saddle_is_strict.control("the number of rows for that of hidden units", of="curvature of a new direction")
def rows_for_units(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["price by the rows"]))


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
