"""Randomized smoothing: what Gaussian votes certify, how well a finite number of votes certifies it, and its limits.

The smoothing of a classifier g at scale β reports the law of g(x + δ), δ ~ N(0, β²I); the smoothed classifier answers
with the most probable label. Reference: arora 18.2; Cohen, Rosenfeld and Kolter 2019.

`beta` is β, the deviation of the noise in the units of the inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key
from scipy.special import ndtr, ndtri, roots_hermitenorm
from scipy.stats import binom

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.binomial import clopper_pearson_lower
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, positive
from deeptheory.foundations.randomness import generator

__all__ = [
    "Certificate",
    "abstention_probability",
    "boundary_distance",
    "certificate_failure_probability",
    "certified_radius",
    "certify",
    "gaussian_draws",
    "gaussian_grid",
    "halfspace_probability",
    "shared_votes",
    "smoothed_field",
    "smoothed_probability_bound",
    "smoothed_value_and_gradient",
    "votes",
    "worst_profile",
]

BLOCK = 128
"""rows that a network answers at once in `shared_votes`"""


def halfspace_probability(
    weights: Float[np.ndarray, " d"], bias: float, points: Float[np.ndarray, "... d"], beta: float
) -> Float[np.ndarray, "..."]:
    """Probability that x + N(0, β²I) falls in the half-space ⟨w, x⟩ + b > 0: Φ((⟨w, x⟩ + b)/(β‖w‖))."""
    positive(beta=beta)
    return np.asarray(ndtr((points @ weights + bias) / (beta * np.linalg.norm(weights))))


def smoothed_probability_bound(probability: Reals, distance: Reals, beta: Reals) -> Reals:
    """Least probability a label can keep when the point moves: Φ(Φ⁻¹(p) − distance/β).

    Holds for every measurable classifier; half-spaces facing the movement attain it. Reference: arora Thm 18.2.3.
    """
    inside(0, 1, probability=probability)
    positive(beta=beta)
    return ndtr(ndtri(probability) - np.asarray(distance) / beta)


def certified_radius(top: Reals, runner_up: Reals, beta: Reals) -> Reals:
    """Radius inside which the most probable label stays so: (β/2)·(Φ⁻¹(p_top) − Φ⁻¹(p_runner_up)).

    With two labels it is β·Φ⁻¹(p_top). On the sphere itself labels may tie. Reference: arora Cor 18.2.4.
    """
    inside(0, 1, top=top, runner_up=runner_up)
    positive(beta=beta)
    return np.asarray(beta) / 2 * (ndtri(top) - ndtri(runner_up))


def votes(
    key: Key[Array, ""],
    classifier: Callable[[Float[np.ndarray, "n d"]], Int[AnyArray, " n"]],
    point: Float[np.ndarray, " d"],
    *,
    beta: float,
    samples: int,
    repeats: int = 1,
    labels: int = 2,
) -> Int[np.ndarray, "repeats labels"]:
    """Count the labels 0 … labels − 1 that a classifier gives to Gaussian copies of one point, several times over."""
    positive(beta=beta, samples=samples, repeats=repeats)
    copies = point + beta * generator(key).standard_normal((repeats * samples, point.size))
    cells = np.asarray(classifier(copies)) + labels * np.repeat(np.arange(repeats), samples)
    return np.bincount(cells, minlength=repeats * labels).reshape(repeats, labels)


def shared_votes(
    network: Callable[[Float[Array, "m d"]], Float[Array, "m k"]],
    points: Float[AnyArray, "n d"],
    draws: Float[AnyArray, "m d"],
    beta: float,
) -> Int[np.ndarray, "n k"]:
    """Count the labels that a network gives to x + β·draw, for many points with the same standard normal draws.

    The draws do not depend on the points, so each point's certificate holds with its own probability; that several fail
    together is likelier than with draws of their own. Noise is most of the cost beside a small network: shared by a
    hundred points it costs nothing. `network` gives logits and is compiled; it sees 128 rows at a time, whose layers
    stay in the processor's cache.
    """
    positive(beta=beta)
    return np.asarray(_count(network, jnp.asarray(points), beta * jnp.asarray(draws)))


@eqx.filter_jit
def _count(network, points, moves):
    size = min(BLOCK, len(moves))
    whole = len(moves) // size * size
    blocks, rest = moves[:whole].reshape(-1, size, moves.shape[1]), moves[whole:]

    def told(rows):
        logits = network(rows)
        return jnp.sum(jax.nn.one_hot(jnp.argmax(logits, axis=1), logits.shape[1], dtype=jnp.int32), axis=0)

    def one(point):
        counts = jnp.sum(jax.lax.map(lambda block: told(point + block), blocks), axis=0)
        return counts + told(point + rest) if len(rest) else counts

    return jax.lax.map(one, points)


class Certificate(NamedTuple):
    """A label and a radius for each row of votes; label −1 and radius 0 where the votes do not suffice."""

    label: Int[np.ndarray, " rows"]
    radius: Float[np.ndarray, " rows"]


def certify(
    selection: Int[np.ndarray, "rows labels"], counts: Int[np.ndarray, "rows labels"], *, beta: float, delta: float
) -> Certificate:
    """Certify the label that leads `selection`, with the confidence limit of its share in the separate `counts`.

    A certificate is wrong (its label not the plurality throughout its ball) with chance at most delta. Using one set of
    votes for both purposes forfeits that: with two labels the chance may reach 2·delta. If all n votes agree the limit
    is δ^(1/n); where that is at most ½, for n ≤ log₂(1/δ), nothing can be certified, and so few are refused.
    """
    label = np.argmax(selection, axis=1)
    trials = counts.sum(1)
    inside(1, np.inf, **{"the votes in each row of selection": selection.sum(1)})
    inside(int(-np.log2(delta)) + 1, np.inf, **{"the votes in each row of counts": trials})
    lower = np.asarray(clopper_pearson_lower(np.take_along_axis(counts, label[:, None], 1)[:, 0], trials, delta))
    sure = lower > 0.5
    lower = np.where(sure, lower, 0.5)
    return Certificate(np.where(sure, label, -1), np.asarray(certified_radius(lower, 1 - lower, beta)))


def certificate_failure_probability(probability: Reals, trials: int, delta: float) -> float | Float[np.ndarray, "..."]:
    """Exact chance that the lower limit from `trials` votes exceeds the true probability, by summing the binomial."""
    inside(0, 1, probability=probability)
    limits = np.asarray(clopper_pearson_lower(np.arange(trials + 1), trials, delta))
    first = np.searchsorted(limits, np.asarray(probability), side="right")  # limits increase with the count
    return binom.sf(first - 1, trials, probability)


def abstention_probability(probability: Reals, trials: int, delta: float) -> float | Float[np.ndarray, "..."]:
    """Exact chance that `trials` votes do not certify a label of this probability, P(Bin(n, p) < c).

    c is the least count that fewer than a share delta of fair coins reach, P(Bin(n, ½) ≥ c) < δ: just then the lower
    limit of `certify` exceeds ½. For large n it is near n/2 + z_δ√n/2, so that labels with a probability just above ½
    need 1/(p − ½)² votes, and those below ½ are never certified. Where n ≤ log₂(1/δ) the chance is 1.
    """
    inside(0, 1, probability=probability)
    return binom.cdf(binom.isf(delta, trials, 0.5), trials, probability)


def worst_profile(
    edges: Float[np.ndarray, " cells_plus_1"], probability: float, shift: float
) -> tuple[Float[np.ndarray, " cells"], float]:
    """Linear programme for the profile E(z) ∈ [0, 1] that keeps least at the moved point (in units of β).

    Minimise ∫E dN(shift, 1) subject to ∫E dN(0, 1) = probability, over profiles constant between `edges`, with half
    lines added at both ends. By Neyman and Pearson the solution is a threshold. Reference: arora Fig 18.5.
    """
    from scipy.optimize import linprog

    inside(0, 1, probability=probability)
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    here, there = np.diff(ndtr(ends)), np.diff(ndtr(ends - shift))
    result = linprog(there, A_eq=here[None], b_eq=[probability], bounds=(0, 1), method="highs")
    if not result.success:
        raise ValueError(f"no profile on these edges has probability {probability}: {result.message}")
    return result.x, float(result.fun)


def gaussian_draws(
    key: Key[Array, ""], dimension: int, samples: int
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Antithetic standard normal nodes with equal weights; for any function, with errors of order samples^(−1/2)."""
    positive(dimension=dimension, samples=samples)
    half = generator(key).standard_normal(((samples + 1) // 2, dimension))
    nodes = np.concatenate([half, -half])
    return nodes, np.full(len(nodes), 1 / len(nodes))


def gaussian_grid(dimension: int, order: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Tensor Gauss–Hermite nodes and weights, order^dimension of them; for smooth functions of few variables."""
    inside(1, 4, dimension=dimension)
    affordable(**{"the grid of order ** dimension nodes": (dimension, *(order,) * dimension)})
    nodes, weights = roots_hermitenorm(order)
    weights = weights / weights.sum()
    mesh = np.meshgrid(*[nodes] * dimension, indexing="ij")
    product = np.prod(np.meshgrid(*[weights] * dimension, indexing="ij"), axis=0)
    return np.stack(mesh, -1).reshape(-1, dimension), product.ravel()


def smoothed_value_and_gradient(
    function: Callable[[Float[np.ndarray, "n d"]], Float[AnyArray, " n"]],
    point: Float[np.ndarray, " d"],
    beta: float,
    nodes: Float[np.ndarray, "n d"],
    weights: Float[np.ndarray, " n"],
) -> tuple[float, Float[np.ndarray, " d"]]:
    """Gaussian average of a bounded function and its gradient, by Stein's identity ∇ = E[g(x + βz)·z]/β.

    If |g| ≤ 1 the gradient is at most √(2/π)/β in any dimension, attained by sign⟨u, x⟩; if 0 ≤ g ≤ 1 half of that.
    Reference: arora Problem 18.2.5 (which needs |g| ≤ 1, not only g ≤ 1).
    """
    positive(beta=beta)
    values = np.asarray(function(point + beta * nodes))
    return float(weights @ values), (weights * values) @ nodes / beta


def smoothed_field(values: Float[np.ndarray, "nx ny"], spacing: float, beta: float) -> Float[np.ndarray, "nx ny"]:
    """Gaussian average of a function given on a square grid of the plane, at every grid point at once.

    The plane outside the grid repeats the nearest boundary value. Two matrix products; the error is that of a midpoint
    rule, so β should be several spacings.
    """
    positive(spacing=spacing, beta=beta)

    def weights(size: int) -> np.ndarray:
        centres = np.arange(size)
        edges = np.concatenate([[-np.inf], centres[:-1] + 0.5, [np.inf]])
        return np.diff(ndtr((edges[None] - centres[:, None]) * spacing / beta), axis=1)

    return weights(values.shape[0]) @ values @ weights(values.shape[1]).T


def boundary_distance(region: Bool[np.ndarray, "nx ny"], spacing: float) -> Float[np.ndarray, "nx ny"]:
    """Distance from each grid point to the nearest one across the boundary of a region, to within 1.5 spacings."""
    from scipy.ndimage import distance_transform_edt

    positive(spacing=spacing)
    return spacing * (np.asarray(distance_transform_edt(region)) + np.asarray(distance_transform_edt(~region)))


doors(
    __name__,
    dimension="[1, 1e5]",
    samples="[1, 1e8]",
    order="[1, 1000]",
    repeats="[1, 1e6]",
    labels="[1, 1e5]",
    trials="[1, 1e6]",
    delta="(0, 1)",
)
