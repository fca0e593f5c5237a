"""How far stochastic gradient descent on any loss is from its diffusion, by runs of both on the same random numbers.

On quadratic losses moments close and errors are exact (`weak_order`). Elsewhere they are means of differences, which
scatter little only if the two runs are alike: here the same normals drive the diffusion and choose the examples.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.diffusions.stochastic_equations import canonical_equation
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["WeakErrors", "coupled_weak_errors", "measured_order"]

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


@partial(jax.jit, static_argnames=("gradients", "tests", "batch", "refinement", "runs"))
def _differences(key, start, rate, steps, *, gradients, tests, batch, refinement, runs):
    equation, fine = canonical_equation(gradients, rate=rate, batch=batch), rate / refinement

    def diffused(x: Vector, increments: Array, step: Array) -> Vector:
        move = lambda x, dw: (x + equation.drift(x) * step + equation.diffusion(x) @ dw, None)  # noqa: E731
        return jax.lax.scan(move, x, increments)[0]

    def run(key: Array) -> Array:
        def step(count: Array, now: tuple) -> tuple:
            descent, finer, coarser = now
            each = gradients(descent)
            normals = jax.random.normal(jax.random.fold_in(key, count), (batch, refinement, len(each)), start.dtype)
            # The largest of independent normals is each of them with equal chance: a draw that the diffusion feels too.
            chosen = jnp.argmax(normals.sum(1), axis=-1)
            increments = jnp.sqrt(fine / batch) * normals.sum(0)
            pairs = increments.reshape(refinement // 2, 2, -1).sum(1)
            moved = descent - rate * each[chosen].mean(0)
            return moved, diffused(finer, increments, fine), diffused(coarser, pairs, 2 * fine)

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


doors(
    __name__,
    rates="(0, ∞)",
    horizon="(0, ∞)",
    batch="[1, 1e4]",
    runs="[1, 1e6]",
    groups="[2, 1e4]",
    refinement="[2, 1000]",
)
