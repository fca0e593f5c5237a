"""Potentials: convex functions that are a geometry for descent, with gradient, its inverse, and metric.

NumPy in, NumPy out; JAX likewise.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, namespace, traced
from deeptheory.foundations.entrances import doors

__all__ = [
    "ENTROPY",
    "EUCLIDEAN",
    "Potential",
    "hypentropy",
    "nuclear_norm",
    "quadratic",
    "smooth_norm",
    "spectral_entropy",
    "squared_norm",
]


class Potential(NamedTuple):
    """A convex function R: its value, its gradient, the point that has a given gradient, and the metric of its flow.

    `inverse` is (∇R)⁻¹ = ∇R*, `metric` the matrix (∇²R(w))⁻¹ by which mirror flow moves, ẇ = −(∇²R)⁻¹∇L. Where R has a
    corner `gradient` is one of its subgradients; where R* has one, `inverse` one of those. NumPy or JAX alike.
    """

    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    metric: Callable[[Any], Any]


def _space(array: Any) -> Any:
    return array.__array_namespace__()


def _diagonal(entries: Any) -> Any:
    return entries[..., None] * _space(entries).eye(entries.shape[-1])


def _entropy(w: Any) -> Any:
    safe = _space(w).where(w > 0, w, 1.0)
    return _space(w).sum(w * _space(w).log(safe) - w)


EUCLIDEAN = Potential(
    lambda w: _space(w).sum(w * w) / 2, lambda w: w, lambda z: z, lambda w: _diagonal(_space(w).ones_like(w))
)
"""½‖w‖²: mirror and steepest descent are gradient descent"""
ENTROPY = Potential(_entropy, lambda w: _space(w).log(w), lambda z: _space(z).exp(z), _diagonal)
"""Σ w log w − w on w > 0: multiplicative updates; least at w = 1, not at 0"""


def quadratic(matrix: Float[AnyArray, "d d"]) -> Potential:
    """Return ½wᵀDw for a positive definite D, whose mirror descent and steepest descent agree: precondition with D⁻¹.

    D may be traced, and differentiated by; one that is not positive definite is then nan. arora 8.1.1 and Example
    8.1.3, where D = Σ⁻¹.
    """
    if traced(matrix):
        matrix = jnp.where(jnp.linalg.eigvalsh(matrix)[0] > 0, matrix, jnp.nan)
    else:
        matrix = np.asarray(matrix)
        if (least := np.linalg.eigvalsh(matrix)[0]) <= 0:
            raise ValueError(
                f"matrix must be positive definite, or ½wᵀDw is no potential: got an eigenvalue {least:.3g}"
            )
    inverse = namespace(matrix).linalg.inv(matrix)
    return Potential(lambda w: w @ matrix @ w / 2, lambda w: matrix @ w, lambda z: inverse @ z, lambda w: inverse)


def squared_norm(power: float) -> Potential:
    """Return ½‖w‖_p², for 1 ≤ p ≤ ∞; its conjugate is ½‖z‖_q² with 1/p + 1/q = 1.

    Its gradient is ‖w‖_p^(2−p) sign(w)|w|^(p−1). At p = 1 `inverse` averages over the largest coordinates of z, at
    p = ∞ `gradient` does: steepest descent is then greedy coordinate descent, or descent by signs, and there is no
    mirror flow. Below 1 the triangle inequality fails and there is no norm. arora (8.5).
    """
    dual = np.inf if power == 1 else 1.0 if power == np.inf else power / (power - 1)
    if power in (1, np.inf):
        return Potential(lambda w: _length(w, power) ** 2 / 2, _slope(power), _slope(dual), _no_metric)

    def metric(w: Any) -> Any:
        z = _slope(power)(w)
        length = _length(z, dual)
        unit = z / _space(w).where(length > 0, length, 1.0)
        side = _space(w).sign(z) * _space(w).abs(unit) ** (dual - 1)
        return (dual - 1) * _diagonal(_space(w).abs(unit) ** (dual - 2)) + (2 - dual) * side[:, None] * side

    return Potential(lambda w: _length(w, power) ** 2 / 2, _slope(power), _slope(dual), metric)


def _no_metric(w: Any) -> Any:
    raise ValueError("½‖·‖₁², ½‖·‖∞² and the nuclear norm have corners: no mirror flow, and no Newton step, is theirs")


def _length(w: Any, power: float) -> Any:
    xp = _space(w)
    largest = xp.max(xp.abs(w))
    if power == np.inf:
        return largest
    scale = xp.where(largest > 0, largest, 1.0)
    return scale * xp.sum(xp.abs(w / scale) ** power) ** (1 / power)


def _slope(power: float) -> Callable[[Any], Any]:
    def slope(w: Any) -> Any:
        xp = _space(w)
        length, size = _length(w, power), xp.abs(w)
        if power == np.inf:
            # Coordinates that a path keeps equal differ by rounding: these are ties too.
            tied = size >= length * (1 - 1e-12)
            return length * xp.sign(w) * tied / xp.sum(tied)
        return length * xp.sign(w) * (size / xp.where(length > 0, length, 1.0)) ** (power - 1)

    return slope


def nuclear_norm(*, rows: Annotated[int, "[1, 1e4]"], columns: Annotated[int, "[1, 1e4]"]) -> Potential:
    """Return ½‖W‖_*², half the squared sum of singular values of a matrix that is given as one long vector, row by row.

    It is ½‖·‖₁² of the singular values: `gradient` is ‖W‖_* UVᵀ for W = UΣVᵀ, one of the subgradients where W has not
    full rank; `inverse` is ‖Z‖ times u₁v₁ᵀ of the largest singular value, the mean of several such, so that steepest
    descent adds a matrix of rank one a step, and the conjugate is half the square of the largest singular value. The
    corners leave no mirror flow and no Newton step: take solutions from `nuclear.least_nuclear_norm`. arora Ch. 8.
    """

    def through(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def of(vector: Any) -> Any:
            xp = _space(vector)
            left, values, right = xp.linalg.svd(vector.reshape(rows, columns), full_matrices=False)
            values = xp.where(values > 1e-12 * values[0], values, 0.0)  # zero but for rounding
            return ((left * function(values)) @ right).reshape(-1)

        return of

    def value(vector: Any) -> Any:
        return _space(vector).sum(_space(vector).linalg.svdvals(vector.reshape(rows, columns))) ** 2 / 2

    return Potential(value, through(_slope(1.0)), through(_slope(np.inf)), _no_metric)


def hypentropy(scale: float | Float[AnyArray, ""] | Float[AnyArray, " d"]) -> Potential:
    """Return R_α(w) = (α²/4) Σ q(wᵢ/α²), q(z) = 2 − √(4+z²) + z arcsinh(z/2), the mirror map of w = u² − v².

    `scale` α > 0, one number or one a coordinate: the flow of u² − v² keeps every uᵢvᵢ, and α² is its size. Near
    wᵢ²/(16α²) for |w| ≪ α², near |w| log(|w|/α²)/4 for |w| ≫ α²: from ½‖·‖₂² to ‖·‖₁. α may be traced, and
    differentiated by.

    Reference: arora Thm 8.1.6; Woodworth et al. 2020.
    """
    square = scale**2

    def value(w: Any) -> Any:
        z, xp = w / square, namespace(w, square)
        return xp.sum(square / 4 * (2 - xp.sqrt(4 + z * z) + z * xp.arcsinh(z / 2)))

    return Potential(
        value,
        lambda w: namespace(w, square).arcsinh(w / (2 * square)) / 4,
        lambda z: 2 * square * namespace(z, square).sinh(4 * z),
        lambda w: _diagonal(4 * namespace(w, square).sqrt(w * w + 4 * square**2)),
    )


def spectral_entropy() -> Potential:
    """Return the entropy Σ σ log σ − σ of the eigenvalues of a positive definite matrix: gradient log W, inverse exp Z.

    arora 8.1.1 has singular values of any matrix; where eigenvalues are positive these are the same. The metric acts on
    the matrix as one long vector.
    """

    def through(name: str) -> Callable[[Any], Any]:
        def of(matrix: Any) -> Any:
            values, vectors = _space(matrix).linalg.eigh((matrix + matrix.T) / 2)
            return (vectors * getattr(_space(matrix), name)(values)) @ vectors.T

        return of

    def metric(matrix: Any) -> Any:
        xp = _space(matrix)
        values, vectors = xp.linalg.eigh((matrix + matrix.T) / 2)
        ratio = values[:, None] / values
        # (a − b)/(log a − log b), the logarithmic mean of two eigenvalues, without its 0/0.
        lag = xp.log(xp.where(xp.abs(ratio - 1) < 1e-8, 2.0, ratio))
        mean = xp.where(xp.abs(ratio - 1) < 1e-8, values, (values[:, None] - values) / lag)
        both = xp.kron(vectors, vectors)
        return (both * mean.ravel()) @ both.T

    return Potential(lambda w: _entropy(_space(w).linalg.eigvalsh(w)), through("log"), through("exp"), metric)


def smooth_norm(norm: Callable[[Any], Any], dimension: Annotated[int, "[1, 1000]"]) -> Potential:
    """Return ½‖w‖² for a norm given as a function, its gradient by differentiation and the inverse by Newton's method.

    The norm must be differentiable twice away from 0, and its unit ball strictly convex; corners as of ‖·‖₁ have no
    Newton step. What is no norm is refused: homogeneity, positivity and the triangle inequality are tried on 200
    pairs of vectors, which can miss a violation but never invents one. Reference: arora (8.5); Gunasekar, Lee, Soudry
    and Srebro 2018.
    """
    vectors = np.random.default_rng(0).standard_normal((2, 200, dimension))
    tried = np.concatenate([*vectors, vectors.sum(0), -2 * vectors[0]])
    first, second, both, twice = np.asarray(jax.jit(jax.vmap(norm))(tried)).reshape(4, 200)
    if not (first > 0).all():
        raise ValueError(f"norm must be positive away from 0, got {first.min():.3g}")
    if (gap := np.max(np.abs(twice / (2 * first) - 1))) > 1e-6:
        raise ValueError(f"norm must have ‖−2w‖ = 2‖w‖, got a ratio that is off by {gap:.3g}")
    if (gap := np.max(both / (first + second))) > 1 + 1e-6:
        raise ValueError(f"norm must satisfy the triangle inequality, got ‖v + w‖ = {gap:.3g} (‖v‖ + ‖w‖)")

    def value(w: Any) -> Any:
        return norm(w) ** 2 / 2

    slope, bend = jax.grad(value), jax.hessian(value)

    @jax.jit
    def inverse(z: Any) -> Any:
        still = jnp.all(z == 0)
        target = jnp.where(still, 1.0, z)

        def step(now: tuple) -> tuple:
            count, w, _ = now
            move = jnp.linalg.solve(bend(w), target - slope(w))
            lengths = 0.5 ** jnp.arange(30)
            values = jax.vmap(lambda length: value(w + length * move) - target @ (w + length * move))(lengths)
            # Near the minimum values no longer differ in floating point: the first of equals is the whole step.
            best = jnp.argmin(jnp.where(jnp.isfinite(values), values, jnp.inf))
            return count + 1, w + lengths[best] * move, jnp.linalg.norm(move) / jnp.linalg.norm(w)

        # The first guess is scaled along its ray, on which half a squared norm is a parabola.
        begin = target * (target @ target) / (slope(target) @ target)

        def newton(_: Any, begin: Any) -> Any:
            going = (0, begin, jnp.ones((), begin.dtype))
            return jax.lax.while_loop(lambda now: (now[0] < 200) & (now[2] > 1e-15), step, going)[1]

        def solved(linear: Any, change: Any) -> Any:
            return jnp.linalg.solve(jax.jacobian(linear)(change), change)

        found = jax.lax.custom_root(lambda w: slope(w) - target, begin, newton, solved)
        return jnp.where(still, 0.0, found)

    return Potential(jax.jit(value), jax.jit(slope), inverse, jax.jit(lambda w: jnp.linalg.inv(bend(w))))


doors(__name__, infinite=("power",), power="[1, ∞]", scale="(0, ∞)")
