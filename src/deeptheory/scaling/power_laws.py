"""Scaling laws: sums of power laws above a floor, fitted to losses with intervals that cover.

L(x₁, x₂, …) = E + Σⱼ Aⱼ xⱼ^(−aⱼ): one term for a loss against size, two for parameters and data. Fits are least squares
(or Huber's) of log losses, as usual for noise in proportion to the loss, and come with the covariance of what was
fitted. References: Hoffmann et al. (2022), Training compute-optimal large language models; Besiroglu et al. (2024),
Chinchilla scaling: a replication attempt.
"""

from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, t as student

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import positive

__all__ = [
    "ScalingFit",
    "ScalingLaw",
    "exponent_interval",
    "fit_scaling_law",
    "floor_interval",
    "loss_at",
    "predicted_interval",
]

STEPS = 200
"""of the damped Gauss–Newton method; well-posed fits take about ten"""


class ScalingLaw(NamedTuple):
    """The constants of E + Σⱼ Aⱼ xⱼ^(−aⱼ): the floor E, coefficients Aⱼ and exponents aⱼ, with a batch in front."""

    floor: Float[np.ndarray, "*batch"]
    coefficients: Float[np.ndarray, "*batch terms"]
    exponents: Float[np.ndarray, "*batch terms"]


class ScalingFit(NamedTuple):
    """A fitted law, the covariance of (E, ln A₁, a₁, ln A₂, a₂, …), and the degrees of freedom its scale rests on.

    `freedom` is infinite where the errors of the losses were given.
    """

    law: ScalingLaw
    covariance: Float[np.ndarray, "*batch constants constants"]
    freedom: float


def loss_at(law: ScalingLaw, *sizes: HostReals) -> HostReals:
    """The loss E + Σⱼ Aⱼ xⱼ^(−aⱼ) at sizes x₁, x₂, …, one for each term; an infinite size leaves its term out."""
    positive(sizes=np.concatenate([np.ravel(size) for size in sizes]) if sizes else 0.0)
    if len(sizes) != np.shape(law.exponents)[-1]:
        raise ValueError(f"sizes must be given for each of the {np.shape(law.exponents)[-1]} terms, got {len(sizes)}")
    terms = (
        law.coefficients[..., j] * np.asarray(size, float) ** -law.exponents[..., j] for j, size in enumerate(sizes)
    )
    return (law.floor + sum(terms))[()]


def fit_scaling_law(
    sizes: Float[np.ndarray, " points"] | Float[np.ndarray, "points terms"],
    losses: Float[np.ndarray, "*batch points"],
    *,
    floor: bool = True,
    errors: Float[np.ndarray, "*batch points"] | None = None,
    huber: float | None = None,
) -> ScalingFit:
    """Fit E + Σⱼ Aⱼ xⱼ^(−aⱼ) to the logarithms of losses; without `floor`, E is 0.

    `sizes` has a column for each term (or none for one); `losses` may have a batch of independent experiments in front,
    all at the same sizes. `errors` are standard errors of the losses, where known: points are weighted by them and the
    intervals normal. Otherwise the spread is estimated from what the fit leaves over and the intervals are Student's.
    `huber` caps the influence of residuals of ln L beyond it (Hoffmann et al. use 0.001), for runs that went wrong;
    without outliers it widens the intervals. Not for losses that do not bend: if the floor cannot be told from a slow
    exponent the covariance is huge, and says so.
    """
    sizes = np.atleast_2d(sizes.T).T
    positive(sizes=sizes, losses=losses)
    points, terms = sizes.shape
    free = 2 * terms + floor
    if points <= free:
        raise ValueError(f"losses must be given at more than {free} sizes, got {points}")
    if np.any(sizes.max(0) == sizes.min(0)):
        raise ValueError("sizes must differ in every column, got one size only")
    relative = 1.0
    if errors is not None:
        positive(errors=errors)
        relative = errors / losses
    batch = losses.shape[:-1]
    middle = np.log(sizes).mean(0)
    u, y = np.log(sizes) - middle, np.log(losses).reshape(-1, points)
    unit = y.mean(-1, keepdims=True)  # in units of their geometric mean, losses of all sizes are fitted alike
    y = y - unit
    weight = np.broadcast_to(1 / np.asarray(relative), losses.shape).reshape(-1, points)

    def model(theta):
        """Logarithm of the loss, and its derivatives in (E, ln Aⱼ, aⱼ); not a number where the loss is negative."""
        parts = np.exp(np.clip(theta[:, None, 1::2] - theta[:, None, 2::2] * u, -700, 700))
        level = theta[:, :1] + parts.sum(-1)
        slopes = np.concatenate([np.ones((len(theta), points, 1)), np.stack([parts, -parts * u], -1).reshape(
            len(theta), points, -1)], -1)  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(np.where(level > 0, level, np.nan)), slopes / level[..., None]

    theta = _start(u, np.exp(y), floor)
    theta, left, slopes = _descend(model, theta, y, weight, floor, huber)
    slopes = slopes[..., 0 if floor else 1 :] * weight[..., None]
    bent = np.ones_like(left) if huber is None else (np.abs(left) <= huber).astype(float)
    inverse = np.linalg.pinv(np.swapaxes(slopes, 1, 2) @ slopes, hermitian=True)
    scale = np.ones(len(left))
    if errors is None:
        capped = left if huber is None else np.clip(left, -huber, huber)
        scale = (capped**2).sum(-1) / (points - free) / np.maximum(bent.mean(-1), 1 / points) ** 2
    covariance = np.zeros((len(theta), 2 * terms + 1, 2 * terms + 1))
    covariance[:, 1 - floor :, 1 - floor :] = scale[:, None, None] * inverse
    # Back from losses and sizes in units of their geometric means.
    theta[:, 1::2] += unit
    theta[:, 0] *= np.exp(unit[:, 0])
    covariance[:, 0] *= np.exp(unit)
    covariance[:, :, 0] *= np.exp(unit)
    back = np.eye(2 * terms + 1)
    back[np.arange(1, 2 * terms, 2), np.arange(2, 2 * terms + 1, 2)] = middle
    theta, covariance = theta @ back.T, back @ covariance @ back.T
    law = ScalingLaw(theta[:, 0], np.exp(theta[:, 1::2]), theta[:, 2::2])
    shaped = (np.reshape(each, (*batch, *each.shape[1:])) for each in (*law, covariance))
    return ScalingFit(
        ScalingLaw(*(next(shaped) for _ in range(3))), next(shaped), np.inf if errors is not None else points - free
    )


def _start(u: np.ndarray, losses: np.ndarray, floor: bool) -> np.ndarray:
    """Exponents from a grid, with the best floor and positive coefficients for each: a linear problem."""
    terms = u.shape[1]
    usual = losses.mean(0)
    best, least = np.zeros((len(losses), 2 * terms + 1)), np.full(len(losses), np.inf)
    for exponents in product(np.geomspace(0.03, 2, 20 if terms == 1 else 9), repeat=terms):
        columns = np.exp(-u * np.array(exponents))
        design = np.concatenate([np.ones((len(u), 1)), columns], 1) if floor else columns
        design = design / usual[:, None]
        found = losses / usual @ np.linalg.pinv(design).T
        missed = ((found @ design.T - losses / usual) ** 2).sum(-1)
        coefficients = np.maximum(found[:, floor:], 1e-12)
        missed = np.where(np.any(found[:, floor:] <= 0, -1), np.inf, missed)
        better = missed < least
        theta = np.zeros_like(best)
        theta[:, 0] = found[:, 0] if floor else 0.0
        theta[:, 1::2], theta[:, 2::2] = np.log(coefficients), exponents
        best, least = np.where(better[:, None], theta, best), np.where(better, missed, least)
    if not np.all(np.isfinite(least)):
        raise ValueError("losses must fall with every size: no positive power law fits them")
    best[:, 0] = np.minimum(best[:, 0], 0.999 * losses.min(-1)) if floor else 0.0
    return best


def _descend(model, theta, y, weight, floor, huber):
    """Damped Gauss–Newton steps for all experiments at once; the constants, weighted residuals and slopes reached."""
    first = 0 if floor else 1

    def cost(left):
        size = np.abs(left)
        kept = left**2 if huber is None else np.where(size <= huber, left**2, huber * (2 * size - huber))
        return np.where(np.isfinite(kept).all(-1), kept.sum(-1), np.inf)

    damping = np.full(len(theta), 1e-3)
    log_loss, slopes = model(theta)
    left = (log_loss - y) * weight
    for _ in range(STEPS):
        lean = np.ones_like(left) if huber is None else np.minimum(1, huber / np.maximum(np.abs(left), 1e-300))
        rows = slopes[..., first:] * weight[..., None]
        leant = np.swapaxes(rows * lean[..., None], 1, 2)
        normal, gradient = leant @ rows, leant @ left[..., None]
        diagonal = np.einsum("bii->bi", normal)
        damped = normal + (damping[:, None] * diagonal + 1e-300)[..., None] * np.eye(normal.shape[1])
        step = np.linalg.solve(damped, gradient)[..., 0]
        trial = theta.copy()
        trial[:, first:] -= step
        log_trial, slopes_trial = model(trial)
        left_trial = (log_trial - y) * weight
        better = cost(left_trial) < cost(left)
        theta = np.where(better[:, None], trial, theta)
        left = np.where(better[:, None], left_trial, left)
        slopes = np.where(better[:, None, None], slopes_trial, slopes)
        damping = np.clip(np.where(better, damping / 8, damping * 6), 1e-12, 1e9)
        if np.all((np.abs(step) <= 1e-11 * (np.abs(theta[:, first:]) + 1e-3)).all(-1) | (damping >= 1e9)):
            break
    return theta, left, slopes


def _quantile(fit: ScalingFit, level: float) -> float:
    return float(norm.isf((1 - level) / 2) if np.isinf(fit.freedom) else student.isf((1 - level) / 2, fit.freedom))


def exponent_interval(
    fit: ScalingFit, *, level: Annotated[float, "(0, 1)"] = 0.95
) -> tuple[Float[np.ndarray, "*batch terms"], Float[np.ndarray, "*batch terms"]]:
    """Lower and upper ends of intervals that contain each exponent with chance about `level`, by the delta method."""
    wide = _quantile(fit, level) * np.sqrt(np.diagonal(fit.covariance, axis1=-2, axis2=-1)[..., 2::2])
    return fit.law.exponents - wide, fit.law.exponents + wide


def floor_interval(fit: ScalingFit, *, level: Annotated[float, "(0, 1)"] = 0.95) -> tuple[HostReals, HostReals]:
    """Lower and upper end of an interval that contains the floor with chance about `level`, by the delta method."""
    wide = _quantile(fit, level) * np.sqrt(fit.covariance[..., 0, 0])
    return fit.law.floor - wide, fit.law.floor + wide


def predicted_interval(
    fit: ScalingFit, *sizes: HostReals, level: Annotated[float, "(0, 1)"] = 0.95
) -> tuple[HostReals, HostReals]:
    """Interval that contains the expected loss at other sizes with chance about `level`, if the law holds there.

    It accounts for the error of the fit, not for the noise of one further run, nor for laws of another form: a pure
    power law fitted to losses with a floor gives a narrow interval in the wrong place. One size for each term.
    """
    middle = np.asarray(loss_at(fit.law, *sizes))
    law, slopes = fit.law, [np.ones_like(middle)]
    for j, size in enumerate(sizes):
        part = law.coefficients[..., j] * np.asarray(size, float) ** -law.exponents[..., j]
        slopes += [part, -part * np.log(size)]
    slope = np.stack(np.broadcast_arrays(*slopes), -1)
    variance = np.einsum("...i,...ij,...j->...", slope, fit.covariance, slope)
    wide = _quantile(fit, level) * np.sqrt(np.maximum(variance, 0))
    return middle - wide, middle + wide


doors(__name__, huber="(0, ∞)", infinite=("sizes",))
