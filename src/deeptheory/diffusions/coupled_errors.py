"""How far stochastic gradient descent on any loss is from its diffusion, by runs of both on the same random numbers.

On quadratic losses moments close and errors are exact (`weak_order`). Elsewhere they are means of differences, which
scatter little only if the two runs are alike: here the same normals drive the diffusion and choose the examples.

Hybrids lie between the two: a run is descent up to some step and diffuses from there on. From one to the next a single
step changes its kind, and these changes add up to the weak error.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.diffusions.stochastic_equations import ItoEquation, canonical_equation
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["WeakErrors", "coupled_weak_errors", "hybrid_paths", "measured_order"]

Vector = Float[Array, " d"]


class WeakErrors(NamedTuple):
    """Differences E h(x) − E h(X) of descent and diffusion at the end, by rate and test function.

    groups: the same from independent groups of runs, of which `errors` are the means and `deviations` their standard
    errors.
    """

    rates: Float[np.ndarray, " rates"]
    errors: Float[np.ndarray, "rates tests"]
    deviations: Float[np.ndarray, "rates tests"]
    groups: Float[np.ndarray, "rates tests groups"]


def _shared(key: Array, count: Array, shape: tuple[int, int, int], kind: Any) -> tuple[Array, Array]:
    """The examples that a step of descent takes, and sums over the batch of the normals that drive the diffusion."""
    normals = jax.random.normal(jax.random.fold_in(key, count), shape, kind)
    # The largest of independent normals is each of them with equal chance: a draw that the diffusion feels too.
    return jnp.argmax(normals.sum(1), axis=-1), normals.sum(0)


def _diffused(equation: ItoEquation, x: Vector, increments: Array, step: Array) -> Vector:
    move = lambda x, dw: (x + equation.drift(x) * step + equation.diffusion(x) @ dw, None)  # noqa: E731
    return jax.lax.scan(move, x, increments)[0]


@partial(jax.jit, static_argnames=("gradients", "tests", "batch", "refinement", "runs"))
def _differences(key, start, rate, steps, *, gradients, tests, batch, refinement, runs):
    equation, fine = canonical_equation(gradients, rate=rate, batch=batch), rate / refinement

    def run(key: Array) -> Array:
        def step(count: Array, now: tuple) -> tuple:
            descent, finer, coarser = now
            each = gradients(descent)
            chosen, normals = _shared(key, count, (batch, refinement, len(each)), start.dtype)
            increments = jnp.sqrt(fine / batch) * normals
            pairs = increments.reshape(refinement // 2, 2, -1).sum(1)
            moved = descent - rate * each[chosen].mean(0)
            return moved, _diffused(equation, finer, increments, fine), _diffused(equation, coarser, pairs, 2 * fine)

        descent, finer, coarser = jax.lax.fori_loop(0, steps, step, (start,) * 3)
        return jnp.stack([h(descent) - (2 * h(finer) - h(coarser)) for h in tests])

    return jax.vmap(run)(jax.random.split(key, runs)).mean(0)


def coupled_weak_errors(
    key: Key[Array, ""],
    gradients: Callable[[Vector], Float[Array, "m d"]],
    start: Float[AnyArray, " d"],
    tests: tuple[Callable[[Vector], Float[Array, ""]], ...],
    rates: Float[np.ndarray, " rates"],
    *,
    batch: int = 1,
    horizon: float = 1.0,
    runs: int = 1024,
    groups: int = 16,
    refinement: int = 4,
) -> WeakErrors:
    """Estimate E h(x_{T/η}) − E h(X_T) for descent at rates η and the canonical equation of each, with errors.

    Both start alike and share random numbers: a step of descent takes the examples at which sums of the increments of
    the diffusion are largest. The diffusion is run by Euler–Maruyama with `refinement` and with half as many steps a
    step of descent, and extrapolated (Talay and Tubaro 1990), which leaves an error of order (η/refinement)².

    Args:
        gradients: x → the gradient of each of the m examples; of few, since each has a Brownian motion of its own.
        tests: functions h of x, smooth; one number each.
        rates: learning rates that divide the horizon.
        batch: examples a step, drawn with replacement.
        horizon: T, the time at which errors are read: the sum of all rates.
        runs: runs a group; standard errors fall like 1/√(runs·groups).
        refinement: steps of the diffusion for one of descent; even.

    Not for long horizons of chaotic runs, where the coupling is lost and differences scatter as if there were none.
    Reference: arora Def. 12.3.3 and Thm 12.3.4.
    """
    rates = np.asarray(rates, float)
    steps = horizon / rates
    if np.any(np.abs(steps - np.round(steps)) > 1e-9 * steps) or np.any(steps > 1e6):
        raise ValueError(f"rates must divide the horizon {horizon}, into a million steps at most, got {rates}")
    if not tests:
        raise ValueError("tests must have at least one function, got none")
    if refinement % 2:
        raise ValueError(f"refinement must be even, got {refinement}")
    start = jnp.asarray(start, float)
    fixed: dict[str, Any] = dict(gradients=gradients, tests=tuple(tests), batch=batch, refinement=refinement, runs=runs)
    found = np.empty((len(rates), len(tests), groups))
    for place, (rate, count) in enumerate(zip(rates, np.round(steps).astype(int), strict=True)):
        for group, own in enumerate(jax.random.split(jax.random.fold_in(key, place), groups)):
            found[place, :, group] = _differences(own, start, rate, count, **fixed)
    return WeakErrors(rates, found.mean(-1), found.std(-1, ddof=1) / np.sqrt(groups), found)


def measured_order(found: WeakErrors) -> tuple[Float[np.ndarray, " tests"], Float[np.ndarray, " tests"]]:
    """The slope of log|error| along log η for each test function, and its standard error, by weighted least squares.

    One for descent and its diffusion (arora Thm 12.3.4). Says nothing where an error is not well above its deviation,
    or where rates are so large that higher orders count.
    """
    x = np.log(found.rates)[:, None]
    weights = (found.errors / found.deviations) ** 2
    middle = (weights * x).sum(0) / weights.sum(0)
    spread = (weights * (x - middle) ** 2).sum(0)
    return (weights * (x - middle) * np.log(np.abs(found.errors))).sum(0) / spread, spread**-0.5


@partial(jax.jit, static_argnames=("gradients", "steps", "batch", "refinement", "runs"))
def _hybrids(key, start, rate, switch, *, gradients, steps, batch, refinement, runs):
    equation, fine = canonical_equation(gradients, rate=rate, batch=batch), rate / refinement

    def run(key: Array) -> Array:
        def step(x: Vector, count: Array) -> tuple[Vector, Vector]:
            each = gradients(x)
            chosen, normals = _shared(key, count, (batch, refinement, len(each)), x.dtype)
            moved = jax.lax.cond(
                count < switch,
                lambda: x - rate * each[chosen].mean(0),
                lambda: _diffused(equation, x, jnp.sqrt(fine / batch) * normals, fine),
            )
            return moved, moved

        return jnp.concatenate([start[None], jax.lax.scan(step, start, jnp.arange(steps))[1]])

    return jax.vmap(run)(jax.random.split(key, runs))


def hybrid_paths(
    key: Key[Array, ""],
    gradients: Callable[[Vector], Float[Array, "m d"]],
    start: Float[AnyArray, " d"],
    *,
    rate: float,
    steps: int,
    switch: int,
    batch: int = 1,
    runs: int = 1,
    refinement: int = 16,
) -> Float[Array, "runs time d"]:
    """Runs that are descent up to step `switch` and the canonical equation from there on, at times 0, η, …, η·steps.

    `switch` = 0 is the diffusion, `switch` = `steps` is descent. One key gives all hybrids the same random numbers, as
    in `coupled_weak_errors`: neighbours are equal up to the step that changes its kind, and what they differ by at the
    end scatters little. The means of these differences, under a test function, add up to the weak error, each of them
    of order η².

    Args:
        gradients: x → the gradient of each of the m examples; of few, since each has a Brownian motion of its own.
        rate, batch: η and B, the examples a step, drawn with replacement.
        runs: independent paths.
        refinement: Euler–Maruyama steps of the diffusion for one of descent; their own error in expectations is of
            order η/refinement.

    For affine gradients `hybrid_moments` of `weak_order` has expectations without sampling. Reference: arora Problem
    12.3.6.
    """
    start = jnp.asarray(start, float)
    affordable(paths=(runs, steps + 1, len(start)))
    if switch > steps:
        raise ValueError(f"switch must be one of the {steps} steps or 0, got {switch}")
    fixed: dict[str, Any] = dict(batch=batch, refinement=refinement, runs=runs)
    return _hybrids(key, start, rate, switch, gradients=gradients, steps=steps, **fixed)


doors(
    __name__,
    rate="(0, ∞)",
    steps="[1, 1e6]",
    switch="[0, 1e6]",
    rates="(0, ∞)",
    horizon="(0, ∞)",
    batch="[1, 1e4]",
    runs="[1, 1e6]",
    groups="[2, 1e4]",
    refinement="[2, 1000]",
)
