"""Where gradient descent goes on linearly separable data: the max-margin vector, slowly.

All functions take the signed points x̄ᵢ = yᵢ xᵢ, so that a vector w classifies everything correctly iff X̄ w > 0, and
the loss is L(w) = weight · Σᵢ ℓ(⟨w, x̄ᵢ⟩) with weight 1/n unless told otherwise.

`signed_points` is X̄, one point a row; `solution` is what `max_margin` returns.

Reference: arora 8.3; lucchi 11.1.2; jagannath Thm 4.7; Soudry et al. 2018.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from deeptheory.foundations.arrays import AnyArray, namespace, traced
from deeptheory.foundations.callbacks import asked
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed, stiff_flow
from deeptheory.foundations.margin_losses import EXPONENTIAL, LOGISTIC, MarginLoss
from deeptheory.foundations.randomness import generator

__all__ = [
    "MarginRates",
    "MaxMargin",
    "ResidualForces",
    "gradient_descent_on_margins",
    "logarithmic_flow",
    "margin_rates",
    "max_margin",
    "residual_decay",
    "residual_forces",
    "residual_limit",
    "separable_points",
    "stable_step",
]


def separable_points(
    key: Key[Array, ""] | UInt32[Array, "2"], *, count: int, dimension: int
) -> Float[np.ndarray, "count dimension"]:
    """Draw Gaussian points, labelled by a random direction and already multiplied by their labels.

    `count` points of N(0, I) in the given dimension, one a row, each multiplied by its label sign⟨x, u⟩ for one u drawn
    with them.
    """
    random = generator(key)
    points = random.standard_normal((count, dimension))
    return points * np.sign(points @ random.standard_normal(dimension))[:, None]


class MaxMargin(NamedTuple):
    """The hard-margin solution: ŵ, its dual weights α with ŵ = Σ αᵢ x̄ᵢ, and the points whose margin is exactly 1."""

    vector: Float[AnyArray, "*batch d"]
    duals: Float[AnyArray, "*batch n"]
    support: Bool[AnyArray, "*batch n"]

    @property
    def margin(self) -> Any:
        """The width γ = 1/|ŵ| of the widest separating slab's half."""
        return 1 / self.vector.__array_namespace__().linalg.vector_norm(self.vector, axis=-1)


def max_margin(signed_points: Float[AnyArray, "n d"]) -> MaxMargin:
    """Solve the hard-margin problem min |w| subject to X̄ w ≥ 1, with its dual weights.

    Lawson and Hanson's least-distance programme turns it into non-negative least squares: if u ≥ 0 minimises
    |X̄ᵀu|² + (1ᵀu − 1)², then α = u/(1 − 1ᵀu). The active set A is exact; the linear system X̄_A X̄_Aᵀ α_A = 1
    restores full precision. No bias term.

    Under `jit`, `vmap` and `grad` too: A is found on the host, and the linear system, at the cost of n³, is
    differentiated, to any order. Where a point of margin 1 has dual weight 0 the solution has a kink and the derivative
    is that of one side. Points that are not separable are refused; traced, when that is seen too late, they give nan.

    References: jagannath Def. 4.4, lucchi (11.12).
    """
    if traced(signed_points):
        return _traced_margin(jnp.asarray(signed_points))
    points = np.asarray(signed_points, np.float64)
    active = _active_set(points)
    if not active.any():
        raise ValueError("the points are not linearly separable through the origin: no w has all y⟨w, x⟩ > 0")
    duals = np.zeros(len(points))
    duals[active] = np.linalg.solve(points[active] @ points[active].T, np.ones(active.sum()))
    vector = points.T @ duals
    return MaxMargin(vector, duals, np.abs(points @ vector - 1) < 1e-8)


def _active_set(points: np.ndarray) -> np.ndarray:
    """The points that bear ŵ; none if they are not separable."""
    from scipy.optimize import nnls

    count, dimension = points.shape
    stacked = np.vstack([points.T, np.ones(count)])
    raw, _ = nnls(stacked, np.append(np.zeros(dimension), 1.0), maxiter=30 * (count + dimension))
    return (raw > 0) & (1 - raw.sum() >= 1e-12)


def _traced_margin(points: Array) -> MaxMargin:
    # Which points bear ŵ does not change under a small change of them.
    kind = jax.ShapeDtypeStruct(points.shape[:1], bool)
    active = asked(lambda known: _active_set(np.asarray(known, np.float64)), kind, points)
    system = jnp.where(active[:, None] & active, points @ points.T, jnp.eye(len(points)))
    duals = jnp.where(active.any(), jnp.linalg.solve(system, active.astype(points.dtype)), jnp.nan)
    vector = duals @ points
    return MaxMargin(vector, duals, jnp.abs(points @ vector - 1) < jnp.finfo(points.dtype).eps ** 0.5)


def residual_limit(
    signed_points: Float[AnyArray, "n d"],
    solution: MaxMargin,
    *,
    weight: float | Float[AnyArray, ""] | None = None,
) -> Float[AnyArray, " d"]:
    """Return w̃, the limit of w(t) − ŵ log t within the span of the support vectors.

    It solves weight · exp(−⟨w̃, x̄ᵢ⟩) = αᵢ on the support (smallest norm); the component orthogonal to that span depends
    on the start and is not determined by the data. The printed construction leaves the weight 1/n out, which shifts
    w̃ by ŵ log n. Under `jit`, `vmap` and `grad` too, where support vectors are linearly independent; else nan.
    References: proof of jagannath Thm 4.7, lucchi (11.15) with η = 1.
    """
    if traced(signed_points, weight, *solution):
        return _traced_limit(signed_points, solution, 1 / len(signed_points) if weight is None else weight)
    points = np.asarray(signed_points, np.float64)
    weight = 1 / len(points) if weight is None else weight
    rows, duals = points[solution.support], solution.duals[solution.support]
    if np.any(duals <= 0):
        raise ValueError("a support vector has dual weight 0: the residual then grows like log log t and has no limit")
    target = -np.log(duals / weight)
    limit = np.linalg.lstsq(rows, target, rcond=None)[0]
    if not np.allclose(rows @ limit, target, atol=1e-8):
        raise ValueError("the support vectors are linearly dependent: the dual weights alone do not fix the residual")
    return limit


def _traced_limit(points: Any, solution: MaxMargin, weight: Any) -> Array:
    points, support, duals = (jnp.asarray(each) for each in (points, solution.support, solution.duals))
    target = jnp.where(support, jnp.log(weight) - jnp.log(jnp.where(support, duals, 1.0)), 0.0)
    limit = jnp.linalg.solve(_on_support(points @ points.T, support), target) @ points
    met = jnp.abs(jnp.where(support, points @ limit - target, 0.0)).max() < 1e-6 * (1 + jnp.abs(target).max())
    return jnp.where(met & jnp.all(~support | (duals > 0)), limit, jnp.nan)


def _on_support(matrix: Array, support: Array) -> Array:
    """A matrix of products of points where both are support vectors, with diagonal 2, 3, … for the others."""
    return jnp.where(support[:, None] & support, matrix, jnp.diag(2.0 + jnp.arange(len(matrix))))


def residual_decay(signed_points: Float[AnyArray, "n d"], solution: MaxMargin) -> tuple[Any, Any]:
    """Return the two exponents that compete in |w(t) − ŵ log t − w̃| ≈ t^(−min).

    The first is the smallest eigenvalue of Σ αᵢ x̄ᵢ x̄ᵢᵀ on the span of the support (never above 1, since ŵ itself is an
    eigenvector of eigenvalue 1), the second the slack θ − 1 of the nearest point that is not a support vector
    (infinite if there is none). Under `jit`, `vmap` and `grad` too, where support vectors are linearly independent.
    Reference: lucchi (11.17)–(11.20), linearised.
    """
    if traced(signed_points, *solution):
        points, support, duals = (jnp.asarray(each) for each in (signed_points, solution.support, solution.duals))
        # Of the same eigenvalues, without a basis of the span: roots of weights around the points' products.
        roots = jnp.sqrt(jnp.where(support, duals, 0.0))
        rates = jnp.linalg.eigvalsh(_on_support(roots[:, None] * (points @ points.T) * roots, support))
        return rates[0], jnp.where(support, jnp.inf, points @ solution.vector - 1).min()
    points = np.asarray(signed_points, np.float64)
    basis = np.linalg.svd(points[solution.support], full_matrices=False)[2]
    curvature = (points.T * solution.duals) @ points
    outside = (points @ solution.vector)[~solution.support]
    slack = outside.min() - 1 if outside.size else np.inf
    return float(np.linalg.eigvalsh(basis @ curvature @ basis.T)[0]), float(slack)


class ResidualForces(NamedTuple):
    """What changes ½|r|² per unit of log time: the support vectors, and the others as a share of their bound."""

    support: Float[np.ndarray, " times"]
    share: Float[np.ndarray, " times"]
    log_bound: Float[np.ndarray, " times"]


def residual_forces(
    signed_points: Float[AnyArray, "n d"],
    solution: MaxMargin,
    log_times: Float[AnyArray, " times"],
    error: Float[AnyArray, "times d"],
    *,
    weight: float | None = None,
) -> ResidualForces:
    """Split d(½|r|²)/ds for r = w − ŵs − w̃ under the exponential loss, s = log t, as the proof of the theorem does.

    Support vectors contribute Σ αᵢ zᵢ(e^(−zᵢ) − 1) ≤ 0 with zᵢ = ⟨r, x̄ᵢ⟩; the others at most
    e^(−(θ−1)s) · weight · Σ e^(−⟨w̃, x̄ᵢ⟩), because z e^(−z) ≤ 1 (in fact ≤ 1/e). That bound overflows when the margin is
    small, hence its logarithm. Reference: lucchi (11.17)–(11.20).
    """
    from scipy.special import logsumexp

    points, log_times = np.asarray(signed_points, np.float64), np.asarray(log_times, np.float64)
    weight = 1 / len(points) if weight is None else weight
    limit, outside = residual_limit(points, solution, weight=weight), ~solution.support
    if not outside.any():
        raise ValueError("every point is a support vector: there are no others to push")
    z = np.asarray(error, np.float64) @ points.T
    support = (np.asarray(solution.duals) * z * np.expm1(-z)).sum(1)
    slack, first = points[outside] @ solution.vector - 1, np.log(weight) - points[outside] @ limit
    log_bound = logsumexp(first) - slack.min() * log_times
    share = np.exp(first - np.outer(log_times, slack) - z[:, outside] - log_bound[:, None]) * z[:, outside]
    return ResidualForces(support, share.sum(1), log_bound)


def stable_step(
    signed_points: Float[AnyArray, "n d"], loss: MarginLoss, *, weight: float | None = None
) -> float | np.floating | Float[Array, ""]:
    """Return 2/(β λ_max(weight · X̄ᵀX̄)), below which every gradient step lowers the loss.

    The first power of λ_max is what smoothness and units require; jagannath Thm 4.7 prints the second. No longer step
    will do: beyond it points that stay misclassified by a quadratic loss can be thrown further off. Traceable.
    """
    weight = 1 / len(signed_points) if weight is None else weight
    linalg = signed_points.__array_namespace__().linalg
    return 2 / (loss.smoothness * weight * linalg.eigvalsh(signed_points.T @ signed_points)[-1])


def logarithmic_flow(
    signed_points: Float[AnyArray, "n d"],
    log_times: Float[AnyArray, " times"],
    *,
    start: Float[AnyArray, " d"] | None = None,
    loss: MarginLoss = EXPONENTIAL,
    weight: float | Float[AnyArray, ""] | None = None,
    tolerance: float = 1e-10,
) -> Float[AnyArray, "times d"]:
    """Follow the gradient flow ẇ = −∇L in the variable s = log t, as far as t = e^1000 and beyond.

    dw/ds = eˢ · weight · Σ x̄ᵢ (−ℓ′(⟨w, x̄ᵢ⟩)), where eˢ and ℓ′ are multiplied as logarithms so that neither overflows.
    The equation turns stiff (rate 1 per unit of s, a drift that never ends); LSODA is fifteen times as fast as Radau,
    and takes 0.2 s for 1,000 points in 50 dimensions up to t = e^(10⁸), where directions agree to 1e-8.
    The flow starts from `start` (zero by default) at the first of the log times, i.e. at a time t₀ > 0.

    On the host; under `jit`, `vmap` and `grad` its derivative in points, log times, start and weight is that of
    `foundations.flows.stiff_flow`, and what cannot be followed is nan.
    """

    def velocity(s: Any, w: Any, points: Any, log_weight: Any) -> Any:
        return points.T @ namespace(w).exp(s + log_weight + loss.log_slope(points @ w))

    def jacobian(s: Any, w: Any, points: Any, log_weight: Any) -> Any:
        margins = points @ w
        slope, width = loss.log_slope(margins), 1e-6 * (1 + np.abs(margins))
        fall = (loss.log_slope(margins + width) - slope) / width  # rough, and enough for the solver's inner equations
        return (points.T * (np.exp(s + log_weight + slope) * fall)) @ points

    if traced(signed_points, log_times, start, weight):
        with jax.ensure_compile_time_eval():
            if not isinstance(loss.log_slope(np.zeros(1)), np.ndarray):
                # A callback must not wait for JAX.
                raise TypeError("loss must compute with NumPy on NumPy arrays, under jit, vmap and grad")
        points = jnp.asarray(signed_points)
        log_weight = jnp.log(1 / len(points) if weight is None else weight)
        begin = jnp.zeros(points.shape[1]) if start is None else start
        least, given = tolerance / 100, (begin, log_times, points, log_weight)
        return stiff_flow(velocity, *given, jacobian=jacobian, tolerance=tolerance, absolute=least)
    points = np.asarray(signed_points, np.float64)
    log_weight = -np.log(len(points)) if weight is None else np.log(weight)
    begin = np.zeros(points.shape[1]) if start is None else np.asarray(start, np.float64)
    precision = {"tolerance": tolerance, "absolute": tolerance / 100}
    known = {"points": points, "log_weight": log_weight}
    path = followed(
        partial(velocity, **known),
        float(log_times[0]),
        begin,
        log_times,
        method="LSODA",
        jacobian=partial(jacobian, **known),
        **precision,
    )
    if not (np.isfinite(path).all() or _active_set(points).any()):
        raise ValueError("the points are not linearly separable through the origin: their flow ends before this time")
    return path


@partial(jax.jit, static_argnames="loss")
def _descend(points, start, counts, step, weight, loss):
    def once(_, w):
        return w + step * weight * (jnp.exp(loss.log_slope(points @ w)) @ points)

    def to_next(w, count):
        w = lax.fori_loop(0, count, once, w)
        return w, w

    return lax.scan(to_next, start, counts)[1]


def gradient_descent_on_margins(
    signed_points: Float[AnyArray, "n d"],
    checkpoints: Int[AnyArray, " times"],
    *,
    step: float | Float[Array, ""],
    start: Float[AnyArray, " d"] | None = None,
    loss: MarginLoss = LOGISTIC,
    weight: float | None = None,
) -> Float[Array, "times d"]:
    """Run gradient descent with a constant step and return the iterates at the given (increasing) step counts.

    After k steps the time of the corresponding flow is t = step · k; a microsecond or so a step once compiled.
    """
    points = jnp.asarray(signed_points)
    begin = jnp.zeros(points.shape[1], points.dtype) if start is None else jnp.asarray(start, points.dtype)
    counts = jnp.diff(jnp.asarray(checkpoints), prepend=0)
    return _descend(points, begin, counts, step, 1 / len(points) if weight is None else weight, loss)


class MarginRates(NamedTuple):
    """What is left of the direction, the cosine, the margin and the loss, multiplied by the time scale of each."""

    direction: float | Float[Array, ""]  # |w/|w| − ŵ/|ŵ|| · log t
    cosine: float | Float[Array, ""]  # (1 − cos ∠(w, ŵ)) · log² t
    margin: float | Float[Array, ""]  # (γ − min ⟨w, x̄ᵢ⟩/|w|) · log t
    loss: float | Float[Array, ""]  # L(w) · t


def margin_rates(
    signed_points: Float[AnyArray, "n d"], solution: MaxMargin, residual: Float[AnyArray, " d"]
) -> MarginRates:
    """Return the limits of the rescaled errors when w(t) = ŵ log t + residual + o(1).

    With ρ the limiting residual and P the projection orthogonal to ŵ: direction |Pρ|/|ŵ|, cosine half its square,
    margin (⟨ŵ, ρ⟩/|ŵ|² − min over the support of ⟨ρ, x̄ᵢ⟩)/|ŵ|, and loss Σ αᵢ = |ŵ|² = 1/γ² for any exponential-tailed
    loss and any weight. Under `jit`, `vmap` and `grad` too. References: jagannath Rem. 4.8, lucchi Thm 72 (end of
    proof), handbook 12.3.
    """
    given = (signed_points, residual, *solution)
    xp: Any = jnp if traced(*given) else np
    points, rho, vector, _, support = (xp.asarray(each) for each in given)
    size = xp.linalg.norm(vector)
    along = vector @ rho / size**2
    direction = xp.linalg.norm(rho - along * vector) / size
    margin = (along - xp.where(support, points @ rho, np.inf).min()) / size
    found = direction, direction**2 / 2, margin, size**2
    return MarginRates(*(found if xp is jnp else map(float, found)))


doors(__name__, count="[1, 1e5]", dimension="[1, 1e5]", step="(0, ∞)", tolerance="(0, ∞)")
