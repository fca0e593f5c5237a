"""Effective dynamics: what a few summary statistics of online gradient descent do when the dimension is high.

For statistics u of the parameters, with Φ the population loss, ∇H = ∇L − ∇Φ the noise of a gradient and G its
covariance, a step of length δ moves u on average by δ(−f + g) and with covariance δΣ:
    f = ⟨∇Φ, ∇u⟩  population drift,   g = ½δ⟨G, ∇²u⟩  corrector,   Σ = δ J G Jᵀ  volatility,  J = ∇u.
All three are computed by automatic differentiation from a loss and statistics that a user writes down.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, UInt32

from deeptheory.diffusions.stochastic_equations import ItoEquation, euler_maruyama
from deeptheory.dynamics.online import Loss
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric
from deeptheory.foundations.randomness import generator

__all__ = ["EffectiveDynamics", "Localizability", "diffusion_paths", "effective_dynamics", "localizability"]

Statistics = Callable[[Any], Array]


class EffectiveDynamics(NamedTuple):
    """Population drift f, corrector g and volatility Σ of summary statistics at one point, or at a batch of points."""

    drift: Float[Array, "*batch k"]
    corrector: Float[Array, "*batch k"]
    volatility: Float[Array, "*batch k k"]

    @property
    def velocity(self) -> Float[Array, "*batch k"]:
        """The effective drift h = −f + g."""
        return self.corrector - self.drift


def _length(read: Callable[[Array], Array], flat: Array) -> int:
    """How many statistics there are."""
    shape = jax.eval_shape(read, flat).shape
    if len(shape) != 1:
        raise ValueError(f"statistics must return a vector at this point, got an array of shape {shape}")
    return shape[0]


def effective_dynamics(
    loss: Loss, statistics: Statistics, point: Any, samples: Any, *, step: float | Float[AnyArray, ""]
) -> EffectiveDynamics:
    """Return population drift, corrector and volatility of the statistics of online gradient descent at a point.

    `loss(point, sample)` is a number and `point` any pytree; `statistics(point)` is a vector; `samples` is a pytree
    whose arrays have one slice a sample, of equal weight; `step` is the rate δ. Expectations are means over the
    samples, of which the covariance G is never formed: each sample costs a gradient and a product with first and second
    derivatives of the statistics, a small multiple of the number of parameters. Where samples are drawn the answer
    has their error; a finite law, or a design with the moments that matter, gives it exactly (`unbiased` is not asked
    for: G is that of the samples themselves). For a loss that sees Gaussian data through a few projections,
    `projections` has the same at a cost that no longer depends on the dimension.
    Reference: jagannath Def. 12.3, eqs. (3.1), (3.2); Ben Arous, Gheissari and Jagannath (2024).
    """
    numeric(point=point)
    batched(samples=samples)
    flat, restore = ravel_pytree(point)

    def read(x: Array) -> Array:
        return statistics(restore(x))

    def slope(sample: Any) -> Array:
        return jax.grad(lambda x: loss(restore(x), sample))(flat)

    def along(direction: Array) -> tuple[Array, Array]:
        """First and second derivative of the statistics in one direction."""
        first = lambda x: jax.jvp(read, (x,), (direction,))[1]  # noqa: E731
        return jax.jvp(first, (flat,), (direction,))

    # Second derivatives are bilinear, so moments about the mean follow from those about zero, in one pass.
    def add(sums: Any, sample: Any) -> tuple[Any, None]:
        gradient = slope(sample)
        moved, bent = along(gradient)
        return jax.tree.map(jnp.add, sums, (gradient, bent, jnp.outer(moved, moved))), None

    size, count = _length(read, flat), len(jax.tree.leaves(samples)[0])
    zero = jnp.zeros_like(flat), jnp.zeros(size, flat.dtype), jnp.zeros((size, size), flat.dtype)
    gradient, bent, square = jax.tree.map(lambda total: total / count, lax.scan(add, zero, samples)[0])
    moved, bent_by_mean = along(gradient)
    return EffectiveDynamics(moved, step / 2 * (bent - bent_by_mean), step * (square - jnp.outer(moved, moved)))


class Localizability(NamedTuple):
    """What must stay bounded in the dimension for statistics to be δ-localizable, the last of them vanish.

    `curvature` = √δ‖∇²u‖, `slope` = ‖∇Φ‖, `noise` = δ⁴E‖∇H‖⁸, `projected` = δ²E⟨∇H, ∇u⟩⁴ and
    `bent` = δ³E⟨∇²u, ∇H⊗∇H − G⟩²; each the largest over the statistics.
    """

    curvature: Float[Array, ""]
    slope: Float[Array, ""]
    noise: Float[Array, ""]
    projected: Float[Array, ""]
    bent: Float[Array, ""]


def localizability(
    loss: Loss,
    statistics: Statistics,
    point: Any,
    samples: Any,
    *,
    step: float | Float[AnyArray, ""],
    iterations: int = 60,
) -> Localizability:
    """Return the quantities that δ-localizability bounds, at one point, as means over samples.

    Arguments as in `effective_dynamics`; the norm of the statistics' second derivative is found by `iterations` steps
    of the power method. Look at them along growing dimensions, with the step of each, at points of one value of
    the statistics (`vmap` over points): bounded means localizable. The fifth is printed with ∇²H for ∇²u.
    Reference: jagannath Def. 12.1.
    """
    numeric(point=point)
    batched(samples=samples)
    flat, restore = ravel_pytree(point)

    def read(x: Array) -> Array:
        return statistics(restore(x))

    gradients = jax.vmap(lambda sample: jax.grad(lambda x: loss(restore(x), sample))(flat))(samples)
    slope = gradients.mean(0)
    noise = gradients - slope
    moved = jax.vmap(lambda direction: jax.jvp(read, (flat,), (direction,))[1])(noise)

    def bending(direction: Array) -> Array:
        return jax.jvp(lambda x: jax.jacrev(read)(x), (flat,), (direction,))[1]

    bent = jax.vmap(lambda direction: bending(direction) @ direction)(noise)
    size = _length(read, flat)

    def norm(which: int) -> Array:
        # A start without symmetry, so that no eigenvector is orthogonal to it by accident.
        begin = jnp.cos(jnp.arange(1.0, 1 + len(flat)) ** 1.5).astype(flat.dtype)

        def once(_: Any, direction: Array) -> Array:
            ahead = bending(direction)[which]
            return ahead / jnp.maximum(jnp.linalg.norm(ahead), jnp.finfo(flat.dtype).tiny)

        return jnp.linalg.norm(bending(lax.fori_loop(0, iterations, once, begin / jnp.linalg.norm(begin)))[which])

    step = jnp.asarray(step)
    return Localizability(
        step**0.5 * jnp.stack([norm(which) for which in range(size)]).max(),
        jnp.linalg.norm(slope),
        step**4 * jnp.mean(jnp.sum(noise**2, 1) ** 4),
        step**2 * jnp.mean(moved**4, 0).max(),
        step**3 * jnp.var(bent, axis=0).max(),
    )


def diffusion_paths(
    key: Key[Array, ""] | UInt32[Array, "2"],
    velocity: Callable[[Array], Array],
    volatility: Callable[[Array], Array],
    start: Float[AnyArray, "replicas k"],
    times: Float[AnyArray, " times"],
    *,
    substeps: int = 64,
) -> Float[Array, "times replicas k"]:
    """Draw paths of du = h(u)dt + √Σ(u) dB at the given times, by the Euler–Maruyama scheme.

    `velocity` and `volatility` are h and Σ at one u; `start` holds one path a row. The scheme is of weak order one:
    double `substeps` to see what it is off. Where Σ = 0 use `foundations.flows.flow`.
    Reference: jagannath Thm 12.4.
    """
    start, times = jnp.asarray(start), jnp.asarray(times)
    draws = generator(key).standard_normal((len(times), substeps, *start.shape))

    def root(square: Array) -> Array:
        values, vectors = jnp.linalg.eigh(square)
        return vectors * jnp.sqrt(jnp.maximum(values, 0)) @ vectors.T

    equation = ItoEquation(velocity, lambda u: root(volatility(u)))

    def interval(state: Array, drawn: Any) -> tuple[Array, Array]:
        length, normals = drawn
        step = length / substeps
        end = lambda u, normal: euler_maruyama(equation, u, jnp.sqrt(step) * normal, step=step)[-1]  # noqa: E731
        state = jax.vmap(end, (0, 1))(state, normals)
        return state, state

    return lax.scan(interval, start, (jnp.diff(times, prepend=0.0), jnp.asarray(draws)))[1]


doors(__name__, step="(0, ∞)", iterations="[1, 1e4]", times="[0, ∞)", substeps="[1, 1e5]")
