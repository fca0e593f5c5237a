"""Runs: any method of optax, or of optax's shape, on any function, as one scan.

A method is a pair `(init, update)`, so what runs here runs in any training loop. Wrap a run in `jit`, and in `vmap`
over starts, step sizes, functions, batches or draws.

Reference: the shape of methods is that of optax, DeepMind et al. 2020, The DeepMind JAX Ecosystem; arora 2.1 and 2.2
for what runs.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.foundations.training import stepped

__all__ = [
    "Epochs",
    "Iterates",
    "averaged_positions",
    "best_iterate",
    "first_nonfinite",
    "gradient_squares",
    "measured_epochs",
    "random_iterate",
    "trajectory",
]


class Iterates(NamedTuple):
    """What a run saw at times 0, 1, …: where it was, value and gradient there, and what the method remembered."""

    position: Any
    value: Any  # an array over time; no door stands before it, since a run that has diverged is to be read too
    gradient: Any
    memory: Any


def trajectory(
    function: Callable,
    method: optax.GradientTransformation | optax.GradientTransformationExtraArgs,
    start: Any,
    *,
    steps: Annotated[int, "[0, 1e7]"],
    batches: Any = None,
    draws: Any = None,
) -> Iterates:
    """Run a method on f(x), or on f(x, batch), and return what it saw at times 0, 1, …, steps, along a leading axis.

    `start` is any pytree of arrays. `batches` holds one slice a step, which f gets as second argument: indices of
    examples, or noise. `draws` holds one slice a step of the randomness a method asks for as `draw`, such as
    `perturbed_gradient_descent`. The last point is looked at with the last batch once more. Methods also get `value`,
    `grad` and `value_fn`, as those of optax with a line search ask for. Everything is stacked: for millions of
    parameters return under `jit` only what is needed, and the rest is never stored.
    """
    numeric(start=start)
    for leaf in jax.tree.leaves(start):
        kind = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
        if not jnp.issubdtype(kind, jnp.floating):
            raise TypeError(f"start must be made of arrays of floating-point numbers, got one of {kind}")
    for name, slices in {"batches": batches, "draws": draws}.items():
        if wrong := [len(leaf) for leaf in jax.tree.leaves(slices) if len(leaf) != steps]:
            raise ValueError(f"{name} must have one slice for each of {steps} steps, got {wrong[0]}")
    method = optax.with_extra_args_support(method)

    def last_again(slices: Any) -> Any:
        return jax.tree.map(lambda a: jnp.concatenate([a, a[-1:]]) if steps else a, slices)

    def body(now: tuple, slices: tuple) -> tuple[tuple, Iterates]:
        position, memory = now
        batch, draw = slices
        objective = function if batches is None else lambda x: function(x, batch)
        value, gradient = jax.value_and_grad(objective)(position)
        extra = {} if draws is None else {"draw": draw}
        after = stepped(method, objective, position, memory, value, gradient, **extra)
        return after, Iterates(position, value, gradient, memory)

    start = jax.tree.map(jnp.asarray, start)
    _, seen = jax.lax.scan(
        body, (start, method.init(start)), (last_again(batches), last_again(draws)), length=steps + 1
    )
    return seen


class Epochs(NamedTuple):
    """What `measured_epochs` kept: the last position, the measurements along epochs, and when the run diverged.

    `diverged` is the first time, in steps from the start over all epochs, at which the position is not finite; −1 if
    there is none. Measurements of the epoch that leads there and of later ones say nothing.
    """

    position: Any
    measured: Any
    diverged: Int[Array, "*batch"]


def measured_epochs(
    function: Callable, method: optax.GradientTransformation, start: Any, *, batches: Any, measure: Callable
) -> Epochs:
    """Run a method on f(x, batch) and keep only what `measure(x)` says after every epoch, and the last x.

    For networks whose whole path would be too long to keep. The leaves of `batches` have axes epochs × steps: a slice
    of a slice is the second argument of f, such as indices of examples. Measurements are stacked along epochs. A run
    that diverges goes on to the end, and `diverged` tells the step at which it did.
    """
    numeric(start=start, batches=batches)
    lengths = {leaf.shape[:2] if leaf.ndim > 1 else leaf.shape for leaf in map(jnp.asarray, jax.tree.leaves(batches))}
    if len(lengths) != 1 or len(min(lengths)) < 2:
        raise ValueError(f"batches must have axes epochs and steps, of one length in all leaves, got {lengths}")

    def step(now: tuple, batch: Any) -> tuple[tuple, None]:
        position, memory, taken, diverged = now
        move, memory = method.update(jax.grad(function)(position, batch), memory, position)
        position = optax.apply_updates(position, move)
        finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(position)]).all()
        diverged = jnp.where((diverged < 0) & ~finite, taken + 1, diverged)
        return (position, memory, taken + 1, diverged), None

    def epoch(now: tuple, batches: Any) -> tuple[tuple, Any]:
        now, _ = jax.lax.scan(step, now, batches)
        return now, measure(now[0])

    start = jax.tree.map(jnp.asarray, start)
    begun = start, method.init(start), jnp.array(0), jnp.array(-1)
    (position, _, _, diverged), seen = jax.lax.scan(epoch, begun, batches)
    return Epochs(position, seen, diverged)


def gradient_squares(run: Iterates) -> Float[Array, "k"]:
    """Return ‖∇f(x_t)‖² at every time of a run, over all arrays of the gradient."""
    squares = [jnp.sum(leaf.reshape(len(leaf), -1) ** 2, 1) for leaf in jax.tree.leaves(run.gradient)]
    return jnp.stack(squares).sum(0)


def best_iterate(run: Iterates) -> tuple[Int[Array, ""], Any]:
    """Return the time τ < T of the smallest gradient among the first T, and x_τ (arora Alg. 1 to 3).

    The end of the run, x_T, is not among them, as in print. For stochastic gradients the smallest estimate need not
    belong to the smallest gradient: give a run whose `gradient` was replaced by true ones.
    """
    if len(run.value) < 2:
        raise ValueError(f"run must have at least one step, got {len(run.value) - 1}")
    time = jnp.argmin(gradient_squares(run)[:-1])
    return time, jax.tree.map(lambda a: a[time], run.position)


def random_iterate(key: Key[Array, ""] | UInt32[Array, "2"], run: Iterates) -> tuple[Int[Array, ""], Any]:
    """Return a time I drawn uniformly from 0, …, K − 1, and x_I, for a run of K steps.

    What stochastic gradient descent may return where the best iterate cannot be told: E‖∇f(x_I)‖² is the mean over
    times of E‖∇f(x_k)‖², which the theorem bounds, and no true gradient need be known. The end x_K is not among them.

    Reference: lucchi 5.7.1; Ghadimi and Lan 2013.
    """
    if len(run.value) < 2:
        raise ValueError(f"run must have at least one step, got {len(run.value) - 1}")
    time = jax.random.randint(key, (), 0, len(run.value) - 1)
    return time, jax.tree.map(lambda a: a[time], run.position)


def averaged_positions(run: Iterates) -> Any:
    """Return the averages x̄_k = (x₁ + … + x_k)/k of Polyak and Ruppert at every time of a run; at 0 the start itself.

    x̄_{k+1} = (k x̄_k + x_{k+1})/(k + 1): the start has no weight. They forget where a run began only like 1/k; for long
    transients average from later on.

    Reference: lucchi 5.7.
    """

    def mean(positions: Array) -> Array:
        count = jnp.arange(1, len(positions)).reshape(-1, *(1,) * (positions.ndim - 1))
        return jnp.concatenate([positions[:1], jnp.cumsum(positions[1:], axis=0) / count])

    return jax.tree.map(mean, run.position)


def first_nonfinite(run: Iterates) -> Int[Array, ""]:
    """Return the first time at which value, gradient or position is not finite, −1 if there is none.

    A run that diverges goes on to the end of the scan: what comes after this time says nothing.
    """
    finite = [
        jnp.isfinite(leaf.reshape(len(leaf), -1)).all(1)
        for leaf in jax.tree.leaves((run.position, run.value, run.gradient))
    ]
    broken = ~jnp.stack(finite).all(0)
    return jnp.where(broken.any(), jnp.argmax(broken), -1)


doors(
    __name__,
    slices=("batches", "draws"),
    nan=("trajectory", "measured_epochs", "gradient_squares", "averaged_positions"),
)
