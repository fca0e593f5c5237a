"""Online gradient descent on the sphere for single-index models: the whole vector and its exact overlap chain.

Reference: jagannath Ch. 11 Sec. 3, Def. 11.1; Ben Arous, Gheissari and Jagannath 2021.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.dynamics.single_index import Link, squared_loss_slope
from deeptheory.foundations.arrays import AnyArray, AnyKey
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive
from deeptheory.foundations.randomness import generator

__all__ = [
    "OverlapRun",
    "overlap_cdf",
    "overlap_chain",
    "overlap_step",
    "spherical_sgd",
    "spherical_step",
    "upper_half_overlap",
]

BLOCK = 128
HELD = 2**23
"""Random numbers of a kind that are held at a time."""


def upper_half_overlap(key: AnyKey, dimension: int, replicas: int) -> Float[np.ndarray, " replicas"]:
    """Draw the overlap with a fixed direction of uniform points on the upper half of the unit sphere.

    |z|/√(z² + χ²_{N−1}), z standard normal and N = `dimension`. One draw for each of the `replicas`. Reference:
    jagannath Ch. 11 Sec. 3.2.
    """
    random = generator(key)
    first = np.abs(random.standard_normal(replicas))
    return first / np.sqrt(first**2 + random.chisquare(dimension - 1, replicas))


def overlap_step(
    link: Link,
    overlap: Float[AnyArray, "*n"],
    field: Float[AnyArray, "*n"],
    other: Float[AnyArray, "*n"],
    rest: Float[AnyArray, "*n"],
    rate: float | Float[Array, ""],
) -> Float[Array, "*n"]:
    """Return the overlap after one spherical step, given what it depends on: three numbers, whatever the dimension.

    The sample a enters by `field` = ⟨a, x⟩, `other` = its component w along the part of the hidden direction that is
    orthogonal to x, and `rest` = the squared norm q of what remains; `rate` is δ/N. Then
        m ← [m − rate·c √(1−m²) w] / √(1 + (rate·c)² (w² + q)),  c = ∂L/∂⟨a, x⟩.
    """
    overlap, field, other, rest = (jnp.asarray(part) for part in (overlap, field, other, rest))
    side = jnp.sqrt(1 - overlap**2)
    pull = rate * squared_loss_slope(link, field, overlap * field + side * other)
    return (overlap - pull * side * other) / jnp.sqrt(1 + pull**2 * (other**2 + rest))


class OverlapRun(NamedTuple):
    """What a batch of chains did: first step above each level (infinite if never), final overlap, largest |overlap|."""

    times: Float[np.ndarray, "levels replicas"]
    overlap: Float[np.ndarray, " replicas"]
    peak: Float[np.ndarray, " replicas"]


@partial(jax.jit, static_argnames=("link", "symmetric"))
def _advance(state, draws, begin, dimension, step, levels, link, symmetric):
    def once(state, drawn):
        (m, times, peak), (t, field, other, rest) = state, drawn
        m = overlap_step(link, m, field, other, rest, step / dimension)
        height = jnp.abs(m) if symmetric else m
        times = jnp.where((height > levels[:, None]) & jnp.isinf(times), t, times)
        return (m, times, jnp.maximum(peak, jnp.abs(m))), None

    clock = begin + 1 + jnp.arange(draws[0].shape[0])
    return lax.scan(once, state, (clock.astype(draws[0].dtype), *draws))[0]


def overlap_chain(
    key: AnyKey,
    link: Link,
    *,
    dimension: int,
    step: float,
    replicas: int = 128,
    levels: tuple[float, ...] = (0.5,),
    start: float | None = None,
    max_steps: int = 10**6,
    symmetric: bool = False,
    stop: bool = True,
) -> OverlapRun:
    """Run the overlap of spherical online gradient descent as the exact Markov chain it is, at any N for O(1) a step.

    For a Gaussian sample the three numbers of `overlap_step` are independent: two standard normals and a chi-square of
    N − 2 degrees. No limit is taken and nothing is approximated. Chains start uniformly on the upper half sphere, or
    all at the overlap `start`, and run until all have passed the last level (`stop`) or `max_steps` is reached.
    `symmetric` measures |m|, for even links.
    References: jagannath Def. 11.1; the reduction is ours.
    """
    inside(3, np.inf, dimension=dimension)
    positive(step=step, replicas=replicas, max_steps=max_steps, levels=len(levels))
    starting, driving = jax.random.split(key)
    random = generator(driving)
    m = upper_half_overlap(starting, dimension, replicas) if start is None else np.full(replicas, float(start))
    heights = jnp.asarray(levels)
    state = (jnp.asarray(m), jnp.full((len(levels), replicas), jnp.inf), jnp.asarray(m))
    done, block = 0, min(BLOCK, max(1, HELD // replicas))
    while done < max_steps:
        active = np.flatnonzero(np.isinf(np.asarray(state[1][-1]))) if stop else np.arange(replicas)
        if not len(active):
            break
        # Blocks of one shape, compiled once. Chains that are through, and steps beyond the last, get zeros, which leave
        # the overlap where it is.
        length = min(block, max_steps - done)
        draws = np.zeros((3, block, replicas))
        draws[0][:length, active] = random.standard_normal((length, len(active)))
        draws[1][:length, active] = random.standard_normal((length, len(active)))
        draws[2][:length, active] = random.chisquare(dimension - 2, (length, len(active)))
        state = _advance(state, tuple(draws), done, dimension, step, heights, link, symmetric)
        done += length
    m, times, peak = (np.asarray(part) for part in state)
    return OverlapRun(times, m, peak)


def spherical_step(
    link: Link,
    x: Float[AnyArray, "replicas n"],
    sample: Float[AnyArray, "replicas n"],
    rate: float | Float[Array, ""],
) -> Float[Array, "replicas n"]:
    """Return unit vectors after one renormalised gradient step along the sphere towards the first axis.

    The spherical gradient of (f(⟨a, x⟩) − f(⟨a, v⟩))² is c(a − ⟨a, x⟩x). `rate` is δ/N; a is the `sample`, v the first
    axis, c that of `squared_loss_slope`. Reference: jagannath Def. 11.1, Rem. 11.2.
    """
    x, sample = jnp.asarray(x), jnp.asarray(sample)
    fields = jnp.einsum("rn,rn->r", sample, x)
    pull = squared_loss_slope(link, fields, sample[:, 0])
    moved = x - rate * pull[:, None] * (sample - fields[:, None] * x)
    return moved / jnp.linalg.norm(moved, axis=1, keepdims=True)


@partial(jax.jit, static_argnames="link")
def _walk(x, samples, step, link):
    def once(x, sample):
        x = spherical_step(link, x, sample, step / x.shape[1])
        return x, x[:, 0]

    return lax.scan(once, x, samples)


def spherical_sgd(
    key: AnyKey, link: Link, *, dimension: int, step: float, steps: int, replicas: int = 128
) -> Float[np.ndarray, "steps replicas"]:
    """Run online gradient descent on whole unit vectors; return their overlap with the hidden direction at each step.

    x ← x − (δ/N)∇L on the sphere, renormalised, a fresh Gaussian input per step, the hidden direction the first axis.
    Costs N operations a step and serves as the oracle of `overlap_chain`. Reference: jagannath Def. 11.1.
    """
    positive(dimension=dimension, step=step, steps=steps, replicas=replicas)
    if replicas * dimension > HELD:
        raise ValueError(f"replicas × dimension must be at most {HELD:,}, got {replicas:,} × {dimension:,}")
    random = generator(key)
    x = random.standard_normal((replicas, dimension))
    x[:, 0] = np.abs(x[:, 0])
    x = jnp.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
    path, block = np.empty((steps, replicas)), min(16, max(1, HELD // (replicas * dimension)))
    for done in range(0, steps, block):
        x, overlaps = _walk(x, random.standard_normal((block, replicas, dimension)), step, link)
        path[done : done + block] = overlaps[: steps - done]
    return path


def overlap_cdf(overlap: float | Float[AnyArray, "*shape"], dimension: int) -> Any:
    """Return the chance that a uniform point on the sphere has an overlap of at most m with a fixed direction.

    The density is proportional to (1 − m²)^((N−3)/2), and √N m has a standard normal limit (Poincaré).
    Reference: jagannath Ch. 11 Sec. 3.2.
    """
    from scipy.special import betainc

    return betainc((dimension - 1) / 2, (dimension - 1) / 2, (1 + np.asarray(overlap)) / 2)


doors(
    __name__,
    dimension="[2, 1e9]",
    replicas="[1, 1e6]",
    max_steps="[1, 1e12]",
    steps="[1, 1e6]",
    step="[0, ∞)",
    rate="[0, ∞)",
    overlap="[-1, 1]",
    rest="[0, ∞)",
)
