"""The Marchenko–Pastur law: the spectrum of a sample covariance whose dimension grows with the number of samples.

`ratio` is dimension over samples, N/M, and `variance` that of the entries. jagannath Thm 6.6 speaks of M/N, the
reciprocal, while its definition 6.5 is parametrised as here.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, Num, UInt32

from deeptheory.randomness import generator

__all__ = [
    "ENTRY_LAWS",
    "draw_entries",
    "entry_moment",
    "expected_spectral_moment",
    "marchenko_pastur_atom",
    "marchenko_pastur_cdf",
    "marchenko_pastur_edges",
    "marchenko_pastur_moment",
    "marchenko_pastur_pdf",
    "marchenko_pastur_quantile",
    "sample_covariance_eigenvalues",
    "spectral_distance",
]

AnyArray = Array | np.ndarray
Scalar = float | int | Num[AnyArray, ""]
ENTRY_LAWS = ("gaussian", "rademacher", "uniform", "exponential")


def _check(ratio: Scalar, variance: Scalar) -> None:
    for name, value in (("ratio", ratio), ("variance", variance)):
        if not isinstance(value, Tracer) and not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, not {value}")


def marchenko_pastur_edges(ratio: Scalar, variance: Scalar = 1.0) -> tuple[Scalar, Scalar]:
    """Return the ends of the continuous part of the spectrum, s²(1 ∓ √a)². jagannath Def. 6.5."""
    _check(ratio, variance)
    root = ratio**0.5
    return variance * (1 - root) ** 2, variance * (1 + root) ** 2


def marchenko_pastur_atom(ratio: Scalar) -> Scalar:
    """Return the share of zero eigenvalues, max(0, 1 − 1/a). jagannath Def. 6.5."""
    _check(ratio, 1.0)
    return jnp.maximum(0.0, 1 - 1 / ratio)


def marchenko_pastur_pdf(x: Float[AnyArray, "*shape"], ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the density of the continuous part, √((λ₊ − x)(x − λ₋)) / (2π s² a x); its mass is min(1, 1/a).

    jagannath Def. 6.5. At a = 1 it is unbounded at zero.
    """
    _check(ratio, variance)
    return _density(x, ratio, variance)


@jax.jit
def _density(x: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    low, high = marchenko_pastur_edges(ratio, variance)
    inside = (x > low) & (x < high)
    safe = jnp.where(inside, x, (low + high) / 2)
    return jnp.where(inside, jnp.sqrt((high - safe) * (safe - low)) / (2 * jnp.pi * variance * ratio * safe), 0)


def _mass_below(angle: Float[Array, "*shape"], ratio: Scalar) -> Float[Array, "*shape"]:
    """Return the continuous mass below the point x/s² = 1 + a − 2√a cos φ, for φ in [0, π].

    In that angle the density is (2/π) sin²φ/(1 + a − 2√a cos φ). With b = √a ≤ 1 its integral is
    (φ + sin φ/b − (1/b² − 1) arctan(b sin φ/(1 − b cos φ)))/π; a ratio above one has 1/a of the mass at the ratio 1/a.
    """
    root = jnp.where(ratio > 1, 1 / ratio, ratio) ** 0.5
    lag = jnp.arctan2(root * jnp.sin(angle), 1 - root * jnp.cos(angle))
    mass = (angle + jnp.sin(angle) / root - (1 / root**2 - 1) * lag) / jnp.pi
    return jnp.clip(mass, 0, 1) * jnp.minimum(1.0, 1 / ratio)


def marchenko_pastur_cdf(x: Float[AnyArray, "*shape"], ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the probability of values up to x, in closed form, the atom at zero included.

    The error is a few units of rounding over √a for a < 1.
    """
    _check(ratio, variance)
    return _distribution(x, ratio, variance)


@jax.jit
def _distribution(x: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    cosine = (1 + ratio - x / variance) / (2 * ratio**0.5)
    mass = _mass_below(jnp.arccos(jnp.clip(cosine, -1, 1)), ratio)
    return mass + jnp.where(x >= 0, marchenko_pastur_atom(ratio), 0)


def marchenko_pastur_quantile(
    probability: Float[AnyArray, "*shape"], ratio: Scalar, variance: Scalar = 1.0
) -> Float[Array, "*shape"]:
    """Return the least x with cdf(x) ≥ probability, by bisection in the angle; zero inside the atom.

    Bisection has no derivative worth taking: differentiate the cdf instead.
    """
    _check(ratio, variance)
    return _quantile(probability, ratio, variance)


@jax.jit
def _quantile(probability: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    mass = jnp.asarray(probability) - marchenko_pastur_atom(ratio)

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        below = _mass_below(middle, ratio) < mass
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    start = (jnp.zeros_like(mass), jnp.full_like(mass, jnp.pi))
    _, angle = jax.lax.fori_loop(0, jnp.finfo(mass.dtype).nmant + 4, halve, start)
    # 1 + a − 2√a cos φ without the cancellation near the lower edge.
    point = variance * ((1 - ratio**0.5) ** 2 + 4 * ratio**0.5 * jnp.sin(angle / 2) ** 2)
    return jnp.where((mass <= 0) & (ratio > 1), 0, point)


def marchenko_pastur_moment(order: int, ratio: Any, variance: Any = 1) -> Any:
    """Return the mean of xᵏ, s²ᵏ Σ_{r<k} aʳ C(k, r) C(k−1, r)/(r+1); exact for a ratio given as a fraction.

    jagannath Def. 6.5; the coefficients are the Narayana numbers.
    """
    if order < 0:
        raise ValueError(f"order must be 0 or more, not {order}")
    if order == 0:
        return 1
    narayana = [math.comb(order, r) * math.comb(order - 1, r) // (r + 1) for r in range(order)]
    return variance**order * sum(count * ratio**r for r, count in enumerate(narayana))


def entry_moment(entries: str, order: int) -> Fraction:
    """Return the mean of xᵏ for one of the standardised entry laws."""
    if entries not in ENTRY_LAWS:
        raise ValueError(f"entries must be one of {', '.join(ENTRY_LAWS)}, not {entries!r}")
    if entries == "exponential":  # shifted to mean zero: skewed, fourth moment nine
        return Fraction(sum(math.comb(order, j) * math.factorial(j) * (-1) ** (order - j) for j in range(order + 1)))
    if order % 2:
        return Fraction(0)
    half = order // 2
    match entries:
        case "gaussian":
            return Fraction(math.factorial(order), 2**half * math.factorial(half))
        case "uniform":
            return Fraction(3**half, order + 1)
        case _:
            return Fraction(1)


def draw_entries(
    key: Key[Array, ""] | UInt32[Array, "2"], shape: tuple[int, ...], entries: str = "gaussian"
) -> np.ndarray:
    """Draw independent entries of mean zero and variance one from a named law."""
    entry_moment(entries, 1)
    draw = generator(key)
    match entries:
        case "gaussian":
            return draw.standard_normal(shape)
        case "rademacher":
            return 2.0 * draw.integers(0, 2, shape) - 1
        case "uniform":
            return draw.uniform(-(3**0.5), 3**0.5, shape)
        case _:
            return draw.standard_exponential(shape) - 1


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    """List the set partitions of `size` positions as restricted growth strings."""

    def extend(prefix):
        if len(prefix) == size:
            yield tuple(prefix)
            return
        for block in range(max(prefix, default=-1) + 2):
            yield from extend([*prefix, block])

    return extend([])


@lru_cache(maxsize=64)
def _trace_coefficients(order: int, entries: str) -> dict[tuple[int, int], Fraction]:
    """Count the closed walks i₁ k₁ i₂ k₂ … of tr (XXᵀ)ᵏ by how many rows and columns they visit, with their moments."""
    weights: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for rows in _partitions(order):
        for columns in _partitions(order):
            visits = Counter(
                pair for j in range(order) for pair in ((rows[j], columns[j]), (rows[(j + 1) % order], columns[j]))
            )
            weight = math.prod((entry_moment(entries, count) for count in visits.values()), start=Fraction(1))
            if weight:
                weights[max(rows) + 1, max(columns) + 1] += weight
    return dict(weights)


def expected_spectral_moment(order: int, dimension: int, samples: int, entries: str = "gaussian") -> Fraction:
    """Return the exact mean of tr(Wᵏ)/N for W = XXᵀ/M with independent entries, at finite N and M.

    A sum over all ways in which the indices of the trace may coincide: Bell(k)² terms, so the order stops at six. The
    Marchenko–Pastur moment is its limit, which is the moment proof of the law; the difference is of order 1/N and
    carries the fourth moment of the entries.
    """
    if not 1 <= order <= 6:
        raise ValueError(f"order must be in 1..6, not {order}")
    if dimension < 1 or samples < 1:
        raise ValueError(f"dimension and samples must be positive, not {dimension} and {samples}")
    total = sum(
        weight * math.perm(dimension, rows) * math.perm(samples, columns)
        for (rows, columns), weight in _trace_coefficients(order, entries).items()
    )
    return total / (dimension * Fraction(samples) ** order)


def sample_covariance_eigenvalues(x: Float[np.ndarray, "*batch n m"]) -> Float[np.ndarray, "*batch n"]:
    """Return the eigenvalues of XXᵀ/M, upwards, for data whose M columns are the samples.

    The smaller of the two Gram matrices is diagonalised and the zeros that it lacks are put in front.
    """
    dimension, samples = x.shape[-2:]
    transposed = np.swapaxes(x, -1, -2)
    gram = x @ transposed if dimension <= samples else transposed @ x
    values = np.linalg.eigvalsh(gram / samples)
    missing = [(0, 0)] * (values.ndim - 1) + [(max(0, dimension - samples), 0)]
    return np.pad(values, missing)


def spectral_distance(
    eigenvalues: Float[np.ndarray, "*batch n"], ratio: Scalar, variance: Scalar = 1.0
) -> Float[np.ndarray, "*batch"] | np.floating:
    """Return the Kolmogorov–Smirnov distance of a spectrum to the law.

    Eigenvalues repel each other, so this is about log N/N, far below the N^-½ of independent points: compare it along
    N, and never with the Kolmogorov–Smirnov tables.
    """
    values = np.sort(eigenvalues, axis=-1)
    # Zeros of a singular covariance come out as ±1e-17; the law's jump is at zero exactly.
    values = np.where(np.abs(values) < 1e-10 * values[..., -1:], 0.0, values)
    law = np.asarray(marchenko_pastur_cdf(values, ratio, variance))
    count, zero = values.shape[-1], values == 0
    above = np.where(zero, zero.sum(-1, keepdims=True), np.arange(1, count + 1)) / count
    below = np.where(zero, 0, np.arange(count)) / count
    return np.maximum(np.abs(above - law), np.abs(np.where(zero, 0, law) - below)).max(-1)
