"""What training on squared loss makes of a model with a fixed kernel: one formula, a spectral filter for each protocol.

Gradient flow, gradient descent, ridge and interpolation differ only in a function g of the eigenvalues of Θ(X, X):
f(x) = f₀(x) + Θ(x, X) g(Θ(X, X)) (y − f₀(X)).

`kernel` is Θ(X, X), `basis` what `diagonalize` makes of it, `rule` one of the filters g; `other_kernel` is Θ(x, X) with
a row for each other input, `outputs` and `other_outputs` are f₀(X) and f₀(x), zero if not given; `ridge` is ρ,
`step_size` η, `covariance` Σ(X, X).

Reference: lucchi 7.1.1, 7.1.2 and Thms 54 to 56; jagannath Ch. 8 Ex. 8.1; Lee et al. 2019, Wide neural networks of any
depth evolve as linear models under gradient descent; for filters Bauer, Pereverzev and Rosasco 2007.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import ROUNDING, inside

__all__ = [
    "Eigenbasis",
    "GaussianLaw",
    "descent",
    "diagonalize",
    "effective_dimension",
    "flow",
    "interpolation",
    "kernel_training",
    "largest_step",
    "loss_curve",
    "predicted",
    "predicted_ensemble",
    "residual",
    "ridge_regression",
    "shrinkage",
    "trained",
    "trained_ensemble",
]

Scalar = float | int | Float[AnyArray, ""]
Square = Float[AnyArray, "n n"]
Filter = Callable[[Float[Array, " n"]], Float[Array, " n"]]
NOISE = 8
"""eigenvalues of at most so many units of rounding of the largest are zero, for all that eigh can say"""


@dataclass(frozen=True)
class Protocol:
    """A filter g that knows 1 − λg(λ) too, with the digits that the difference would lose."""

    learned: Filter
    left: Filter

    def __call__(self, values: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return g(λ)."""
        return self.learned(values)


class GaussianLaw(NamedTuple):
    """A Gaussian law of outputs; the covariance is that of one output, the same and independent for each."""

    mean: Float[AnyArray, "*output"]
    covariance: Float[AnyArray, "n n"]


class Eigenbasis(NamedTuple):
    """Eigenvalues (never negative) and eigenvectors of a kernel matrix."""

    values: Float[Array, " n"]
    vectors: Float[Array, "n n"]

    def transform(
        self, change: Callable[[Float[Array, " n"]], Float[Array, " n"]], b: Float[AnyArray, "n ..."]
    ) -> Float[Array, "n ..."]:
        """Return change(Θ) b."""
        modes = jnp.tensordot(self.vectors, jnp.asarray(b), ((0,), (0,)))
        factors = change(self.values).reshape(-1, *(1,) * (modes.ndim - 1))
        return jnp.tensordot(self.vectors, factors * modes, 1)


def diagonalize(kernel: Square, *, ridge: Scalar = 0.0) -> Eigenbasis:
    """Return the eigenbasis of Θ + ρI, eigenvalues of Θ that are nothing but rounding set to zero.

    So a direction that the kernel does not have (inputs that repeat) is never learned, however long the training.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(kernel))
    size = jnp.abs(values).max()
    inside(-ROUNDING * size, np.inf, **{"the least eigenvalue of the kernel": values[..., 0]})
    return Eigenbasis(jnp.where(values > NOISE * jnp.finfo(values.dtype).eps * size, values, 0) + ridge, vectors)


def flow(time: Scalar) -> Filter:
    """Gradient flow on ½‖f(X) − y‖² for a time t: g(λ) = (1 − e^{−λt})/λ, and t at λ = 0 (lucchi Thm 54).

    At t = ∞ the pseudo-inverse: a direction of zero eigenvalue is never learned. What multiplies g(0) is zero up to
    rounding, Θ(x, X)u = 0, so g(0) is 0 as well once t is so long that rounding would show.
    """

    def rule(values: Float[Array, " n"]) -> Float[Array, " n"]:
        t = jnp.asarray(time, values.dtype)
        positive = values > 0
        safe = jnp.where(positive, values, 1)
        endless = jnp.isinf(t) | (t * jnp.finfo(values.dtype).eps > 1 / jnp.max(values))
        return jnp.where(positive, -jnp.expm1(-safe * t) / safe, jnp.where(endless, 0, t))

    return Protocol(rule, lambda values: _left_by_flow(values, jnp.asarray(time, values.dtype)))


def _left_by_flow(values: Float[Array, " n"], time: Float[Array, "..."]) -> Float[Array, "..."]:
    """e^{−λt}, and 1 at λ = 0 for all times, ∞ among them."""
    return jnp.where(values > 0, jnp.exp(-jnp.where(values > 0, values, 1) * time), 1)


def descent(steps: int | Int[AnyArray, ""], *, step_size: Scalar) -> Filter:
    """Gradient descent on ½‖f(X) − y‖², k steps of size η: g(λ) = (1 − (1 − ηλ)ᵏ)/λ, and kη at λ = 0."""

    def rule(values: Float[Array, " n"]) -> Float[Array, " n"]:
        safe = jnp.where(values > 0, values, 1)
        product = step_size * safe
        # The logarithm keeps the digits that 1 − (1 − ηλ)ᵏ loses when ηλ is small.
        small = product < 0.5
        slow = -jnp.expm1(steps * jnp.log1p(-jnp.where(small, product, 0)))
        fast = 1 - jnp.where(small, 0, 1 - product) ** steps
        return jnp.where(values > 0, jnp.where(small, slow, fast) / safe, steps * step_size)

    return Protocol(rule, lambda values: (1 - step_size * values) ** steps)  # pyright: ignore[reportArgumentType]


def shrinkage(ridge: Scalar) -> Filter:
    """Ridge regression, the minimum of ½‖f(X) − y‖² + ½ρ‖f − f₀‖²: g(λ) = 1/(λ + ρ)."""
    return Protocol(lambda values: 1 / (values + ridge), lambda values: ridge / (values + ridge))  # pyright: ignore[reportArgumentType]


def interpolation(*, cutoff: Scalar | None = None) -> Filter:
    """Ridgeless regression, the limit of flow and descent: g(λ) = 1/λ above a cutoff relative to λ_max, 0 below.

    The default cutoff n · eps is the usual numerical rank.
    """

    def rule(values: Float[Array, " n"]) -> Float[Array, " n"]:
        relative = values.shape[0] * jnp.finfo(values.dtype).eps if cutoff is None else cutoff
        kept = values > relative * jnp.max(values)
        return jnp.where(kept, 1 / jnp.where(kept, values, 1), 0)

    return rule


def residual(rule: Filter) -> Filter:
    """Return λ ↦ 1 − λg(λ), the share of each eigendirection of y − f₀ still to be learned."""
    return rule.left if isinstance(rule, Protocol) else lambda values: 1 - values * rule(values)


def trained(
    basis: Eigenbasis,
    rule: Filter,
    y: Float[AnyArray, "n *output"],
    *,
    outputs: Scalar | Float[AnyArray, "n *output"] = 0.0,
) -> Float[Array, "n *output"]:
    """Return f(X) after training from the outputs f₀(X): y + (1 − λg(λ))(Θ) (f₀(X) − y)."""
    return jnp.asarray(y) + basis.transform(residual(rule), jnp.asarray(outputs) - y)


def predicted(
    basis: Eigenbasis,
    rule: Filter,
    y: Float[AnyArray, "n *output"],
    other_kernel: Float[AnyArray, "m n"],
    *,
    outputs: Scalar | Float[AnyArray, "n *output"] = 0.0,
    other_outputs: Scalar | Float[AnyArray, "m *output"] = 0.0,
) -> Float[Array, "m *output"]:
    """Return f(x) = f₀(x) + Θ(x, X) g(Θ)(y − f₀(X)) at other inputs.

    The term f₀(x) − Θ(x, X) g(Θ) f₀(X) is the one printed formulas lose that start from f₀ = 0 without saying so
    (handbook 6.4.1, lucchi 7.1.2).
    """
    dual = basis.transform(rule, y - jnp.asarray(outputs))
    return jnp.asarray(other_outputs) + jnp.tensordot(jnp.asarray(other_kernel), dual, 1)


def kernel_training(
    kernel: Square,
    other_kernel: Float[AnyArray, "m n"],
    outputs: Float[AnyArray, " n"],
    other_outputs: Float[AnyArray, " m"],
    y: Float[AnyArray, " n"],
    *,
    step_size: Scalar,
    steps: int,
) -> tuple[Float[Array, "time n"], Float[Array, "time m"]]:
    """Return the outputs on training and on other inputs before each step of gradient descent and after the last.

    The whole path of `trained` and `predicted` with the rule `descent`, at the cost of its end:
    f_t(X) = y + (I − ηΘ)ᵗ(f₀(X) − y) and f_t(x) = f₀(x) − ηΘ(x, X) Σ_{s<t} (f_s(X) − y). Against `training.train` the
    motion of the kernel is the only difference (lucchi Thm 58 at finite steps).
    """
    basis = diagonalize(kernel)
    start = basis.vectors.T @ (jnp.asarray(outputs) - y)
    residuals = ((1 - step_size * basis.values) ** jnp.arange(steps + 1)[:, None] * start) @ basis.vectors.T
    passed = jnp.concatenate([jnp.zeros_like(residuals[:1]), jnp.cumsum(residuals[:-1], axis=0)])
    return jnp.asarray(y) + residuals, jnp.asarray(other_outputs) - step_size * passed @ jnp.asarray(other_kernel).T


def trained_ensemble(
    basis: Eigenbasis, rule: Filter, y: Float[AnyArray, "n *output"], covariance: Square
) -> GaussianLaw:
    """Return the law of f(X) over f₀(X) ~ N(0, Σ): mean Θg(Θ)y, covariance RΣR with R = 1 − Θg(Θ)."""
    remaining = residual(rule)
    half = basis.transform(remaining, covariance)
    return GaussianLaw(trained(basis, rule, y), basis.transform(remaining, half.T))


def predicted_ensemble(
    basis: Eigenbasis,
    rule: Filter,
    y: Float[AnyArray, "n *output"],
    other_kernel: Float[AnyArray, "m n"],
    *,
    covariance: Square,
    cross_covariance: Float[AnyArray, "m n"],
    other_covariance: Float[AnyArray, "m m"],
) -> GaussianLaw:
    """Return the law at other inputs over random initializations f₀ ~ GP(0, Σ), trained with tangent kernel Θ.

    With A = Θ(x, X) g(Θ) the mean is Ay and the covariance
    Σ(x, x′) − AΣ(X, x′) − Σ(x, X)Aᵀ + AΣ(X, X)Aᵀ (jagannath 8.5, lucchi Table 7.1; for Θ = Σ at convergence the
    posterior of lucchi Thm 56). `covariance` is Σ(X, X), `cross_covariance` Σ(x, X), `other_covariance` Σ(x, x′).
    """
    weights = basis.transform(rule, jnp.asarray(other_kernel).T)  # Aᵀ
    crossed = jnp.asarray(cross_covariance) @ weights
    spread = weights.T @ jnp.asarray(covariance) @ weights
    mean = jnp.tensordot(weights, jnp.asarray(y), ((0,), (0,)))
    return GaussianLaw(mean, jnp.asarray(other_covariance) - crossed - crossed.T + spread)


def loss_curve(basis: Eigenbasis, y: Float[AnyArray, " n"], times: Float[AnyArray, " t"]) -> Float[Array, " t"]:
    """Return ½‖f_t(X) − y‖² = ½ Σ_i e^{−2λ_i t}(u_i·(y − f₀))² along gradient flow; pass y − f₀(X) (lucchi Thm 54)."""
    modes = basis.vectors.T @ jnp.asarray(y)
    return 0.5 * _left_by_flow(basis.values, 2 * jnp.asarray(times)[:, None]) @ modes**2


def factored(kernel: Square, *, ridge: Scalar, units: int) -> tuple[Float[Array, "n n"], bool]:
    """Return the Cholesky factor of K + ρI as `cho_solve` takes it.

    A kernel is refused where a pivot is negative, or not above so many `units` of rounding of the largest pivot.
    """
    factor = cho_factor(kernel + ridge * jnp.eye(kernel.shape[0], dtype=kernel.dtype))
    pivots = jnp.diagonal(factor[0]) ** 2
    invertible = jnp.min(pivots) > units * jnp.finfo(kernel.dtype).eps * jnp.max(pivots)
    if not isinstance(invertible, Tracer) and not invertible:
        raise ValueError(f"kernel must be invertible with a ridge of {ridge}, up to rounding, and is not")
    return factor


def ridge_regression(
    kernel: Square,
    y: Float[AnyArray, "n *output"],
    other_kernel: Float[AnyArray, "m n"],
    *,
    ridge: Scalar,
) -> Float[Array, "m *output"]:
    """Return K(x, X)(K + ρI)⁻¹y by Cholesky; with ρ = 0 the ridgeless K(x, X)K⁻¹y (lucchi 7.1.1), K invertible.

    For a singular kernel use `predicted` with `interpolation`.
    """
    kernel, y = jnp.asarray(kernel), jnp.asarray(y)
    factor = factored(kernel, ridge=ridge, units=kernel.shape[0])
    dual = cho_solve(factor, y.reshape(y.shape[0], -1)).reshape(y.shape)
    return jnp.tensordot(jnp.asarray(other_kernel), dual, 1)


def effective_dimension(kernel: Square, *, ridge: Scalar) -> Float[Array, ""]:
    """Return tr K(K + ρI)⁻¹ = Σ λ/(λ + ρ), the number of directions ridge regression leaves free; at ρ = 0 the rank.

    Reference: Zhang 2005; Caponnetto and De Vito 2007.
    """
    values = diagonalize(kernel).values
    return jnp.sum(jnp.where(values > 0, values / jnp.where(values > 0, values + ridge, 1), 0))


def largest_step(kernel: Square, *, momentum: Scalar = 0.0) -> Float[Array, ""]:
    """Return the step size beyond which (heavy-ball) descent on ½‖f(X) − y‖² diverges, 2(1 + β)/λ_max(Θ).

    Reference: Polyak 1964; `momentum` is β in [0, 1).
    """
    return 2 * (1 + momentum) / jnp.linalg.eigvalsh(jnp.asarray(kernel))[-1]


doors(
    __name__,
    steps="[0, 1e7]",
    symmetric=("kernel", "covariance", "other_covariance"),
    ridge="[0, ∞)",
    cutoff="[0, ∞)",
    step_size="[0, ∞)",
    momentum="[0, 1)",
    time="[0, ∞]",
    infinite=("time", "times"),
)
