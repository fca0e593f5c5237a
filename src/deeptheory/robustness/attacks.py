"""Attacks: ascent on the loss inside a threat model, with the true gradient, its signs, or an estimate from queries.

All images of a batch are attacked at once in one compiled loop. An attack is a lower bound: what it does not find may
still be there. Where the worst perturbation is known (`linear_classifiers`, `minimal_perturbations`) compare with that.

`threat` is a `threats.Threat`: radius ε, order p and box.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.foundations.randomness import generator
from deeptheory.robustness.threats import Scalar, Threat, length, nearest_allowed, random_allowed, steepest

__all__ = [
    "Attack",
    "as_it_is",
    "ascend",
    "difference_slopes",
    "fast_gradient_sign",
    "fooled",
    "projected_gradient",
    "random_slopes",
    "targeted_gradient",
]

Points = Float[AnyArray, "n d"]
Labels = Int[AnyArray, " n"]
Network = Callable[[Points], Float[Array, "n k"]]
Objective = Callable[[Points], Float[Array, " n"]]
Slopes = Callable[[Points], Float[Array, "n d"]]


class Attack(NamedTuple):
    """Where each input ended, and what the objective is there."""

    points: Float[Array, "n d"]
    values: Float[Array, " n"]


class _Loss(eqx.Module):
    """The loss of a network at given labels, as a function of its inputs; a pytree, so that it is compiled once."""

    network: Network
    labels: Array
    targets: Array | None = None

    def __call__(self, points: Points) -> Array:
        logits = self.network(points)
        if self.targets is None:
            return label_cross_entropy(logits, self.labels)
        return label_cross_entropy(logits, self.labels) - label_cross_entropy(logits, self.targets)


def as_it_is(slopes: Points, order: float) -> Points:
    """Return the slopes unchanged: plain gradient ascent, where `steepest` would give all steps one length.

    Reference: arora 18.1.1; lucchi eq. 12.3.
    """
    return slopes


def ascend(
    objective: Objective,
    inputs: Points,
    threat: Threat,
    *,
    start: Points | None = None,
    steps: int = 40,
    step_size: Scalar | None = None,
    direction: Callable[[Points, float], Points] = steepest,
    slopes: Slopes | None = None,
) -> Attack:
    """Climb an objective from each input, projecting back after each step: x ← Proj(x + η·direction(∇objective(x))).

    Returned is the best point met, the input included, so the value never falls below that of the input. A `start`
    that is not allowed is moved to the nearest point that is. The step
    size is 2.5·radius/steps unless given. `slopes` may stand in for the gradient: an estimate from queries
    (`difference_slopes`), or that of a differentiable surrogate. An `objective` that is a pytree (an `equinox`
    module) is compiled once for each shape; a closure once for each closure. Reference: arora 18.1.1, lucchi eq. 12.3
    and 12.4, where the gradient is that at the current perturbation.
    """
    inside(threat.low, threat.high, inputs=inputs)
    size = 2.5 * threat.radius / max(steps, 1) if step_size is None else step_size
    begin = inputs if start is None else nearest_allowed(start, inputs, threat)
    own = threat.like(inputs)
    return Attack(*_climb(objective, slopes, inputs, begin, own, jnp.asarray(size), steps, direction))


@eqx.filter_jit
def _climb(objective, slopes, inputs, begin, threat, size, steps, direction):
    inputs, begin = jnp.asarray(inputs), jnp.asarray(begin)

    def seen(points):
        if slopes is not None:
            return objective(points), slopes(points)
        values, pull = jax.vjp(objective, points)
        return values, pull(jnp.ones_like(values))[0]

    def better(best, points, values):
        ahead = values > best[1]
        return jnp.where(ahead[:, None], points, best[0]), jnp.where(ahead, values, best[1])

    def step(state, _):
        points, best = state
        values, ways = seen(points)
        best = better(best, points, values)
        moved = points + size.astype(points.dtype) * direction(ways, threat.order)
        return (nearest_allowed(moved, inputs, threat), best), None

    (points, best), _ = jax.lax.scan(step, (begin, (inputs, objective(inputs))), length=steps)
    return better(best, points, objective(points))


def projected_gradient(
    key: Key[Array, ""],
    network: Network,
    inputs: Points,
    labels: Labels,
    threat: Threat,
    *,
    steps: int = 40,
    step_size: Scalar | None = None,
    restarts: int = 1,
    direction: Callable[[Points, float], Points] = steepest,
) -> Attack:
    """Attack a network by projected gradient ascent on its cross-entropy from random starts; the best of all is kept.

    `network` maps rows of inputs to rows of logits. With the default `direction` steps are signs for p = ∞ and unit
    vectors for p = 2; with `as_it_is` the gradient itself. For p = 1 a step moves one coordinate: allow as many steps
    as coordinates should move. Held against another network (`fooled(other, found.points, labels)`) the points are a
    transfer attack. Reference: arora 18.1.1 (PGD), Madry et al. 2018.
    """
    positive(restarts=restarts)
    objective = _Loss(network, jnp.asarray(labels))

    def tried(chance: int) -> Attack:
        start = random_allowed(jax.random.fold_in(key, chance), inputs, threat)
        return ascend(objective, inputs, threat, start=start, steps=steps, step_size=step_size, direction=direction)

    found = tried(0)
    for chance in range(1, restarts):
        other = tried(chance)
        ahead = other.values > found.values
        found = Attack(jnp.where(ahead[:, None], other.points, found.points), jnp.maximum(other.values, found.values))
    return found


def fast_gradient_sign(network: Network, inputs: Points, labels: Labels, threat: Threat) -> Points:
    """Return the inputs after one full step, x + ε·sign(∇ℓ) for p = ∞, put back into the box.

    One step from the input, of the length of the radius; the iterated version is `projected_gradient`. Unlike that it
    may lower the loss. For other norms the step is the steepest of that norm. Reference: lucchi eq. 12.4, Goodfellow et
    al. 2014.
    """
    inside(threat.low, threat.high, inputs=inputs)
    return _one_step(_Loss(network, jnp.asarray(labels)), inputs, threat.like(inputs))


@eqx.filter_jit
def _one_step(objective, inputs, threat):
    inputs = jnp.asarray(inputs)
    slopes = jax.grad(lambda x: jnp.sum(objective(x)))(inputs)
    return nearest_allowed(inputs + threat.radius * steepest(slopes, threat.order), inputs, threat)


def targeted_gradient(
    network: Network,
    inputs: Points,
    labels: Labels,
    targets: Labels,
    threat: Threat,
    *,
    steps: int = 40,
    step_size: Scalar | None = None,
    direction: Callable[[Points, float], Points] = steepest,
) -> Attack:
    """Attack towards given labels: projected ascent on ℓ(x, y) − ℓ(x, y′), which is f_{y′}(x) − f_y(x).

    The normalising sum of the softmax cancels, so it climbs the difference of two logits. A positive value says that
    y′ beats y, not that it beats all others: `fooled` with the targets tells. Reference: arora 18.1.1.
    """
    if np.any(np.asarray(labels) == np.asarray(targets)):
        raise ValueError("targets must differ from labels, got one that is equal")
    objective = _Loss(network, jnp.asarray(labels), jnp.asarray(targets))
    return ascend(objective, inputs, threat, steps=steps, step_size=step_size, direction=direction)


def fooled(
    network: Network,
    points: Points,
    labels: Labels,
    *,
    inputs: Points | None = None,
    threat: Threat | None = None,
) -> Bool[np.ndarray, " n"]:
    """Say for which points the network's answer is not the label.

    With `inputs` and the `threat` they were attacked under, points that are not allowed (farther from their input than
    the radius by more than rounding, or out of the box) are refused: an attack by any other tool is judged as it
    claims to be. Without them every point counts as it is. Reference: arora 18.1.
    """
    if (inputs is None) != (threat is None):
        raise ValueError("inputs and threat must be given together, got one of them only")
    if inputs is not None and threat is not None:
        inside(threat.low, threat.high, points=points)
        there, here = np.asarray(points), np.asarray(inputs)
        moved = np.asarray(length(there - here, threat.order))
        rounding = max(np.finfo(each.dtype).eps for each in (there, here)) * (1 + np.abs(here).max()) * here.shape[1]
        if np.any(moved > threat.radius + 4 * rounding):
            most = f"{float(threat.radius):g} of their inputs, got one {moved.max():.6g} away"
            raise ValueError(f"points must lie within {most}")
    return np.argmax(np.asarray(network(points)), axis=1) != np.asarray(labels)


def difference_slopes(objective: Objective, *, width: float = 1e-4) -> Slopes:
    """Return slopes from 2d queries a point: (objective(x + h·eᵢ) − objective(x − h·eᵢ))/2h, with error of order h².

    For attacks on a network that answers but does not show its weights. Reference: lucchi 12.1 (black-box attacks).
    """
    positive(width=width)

    def slopes(points):
        points = jnp.asarray(points)
        shifts = width * jnp.eye(points.shape[1], dtype=points.dtype)
        ahead, back = (jax.vmap(lambda s, sign=sign: objective(points + sign * s))(shifts) for sign in (1, -1))
        return (ahead - back).T / (2 * width)

    return slopes


def random_slopes(
    key: Key[Array, ""], objective: Objective, dimension: int, *, directions: int, width: float = 1e-4
) -> Slopes:
    """Return slopes from 2·directions queries a point: mean of u·(objective(x + hu) − objective(x − hu))/2h.

    The u are standard normal, the same for all points and steps: without bias up to order h², with variance
    (d + 1)/directions times the squared gradient, so that fewer than d directions find the way only roughly. Reference:
    Nesterov and Spokoiny 2017; Ilyas, Engstrom, Athalye and Lin 2018; lucchi 12.1.
    """
    positive(width=width, directions=directions)
    ways = jnp.asarray(generator(key).standard_normal((directions, dimension)))

    def slopes(points):
        points = jnp.asarray(points)
        along = ways.astype(points.dtype)
        ahead, back = (jax.vmap(lambda u, sign=sign: objective(points + sign * width * u))(along) for sign in (1, -1))
        return ((ahead - back) / (2 * width)).T @ along / directions

    return slopes


doors(
    __name__,
    steps="[0, 1e5]",
    step_size="(0, ∞)",
    restarts="[1, 1e4]",
    dimension="[1, 1e6]",
    directions="[1, 1e5]",
    width="(0, ∞)",
)
