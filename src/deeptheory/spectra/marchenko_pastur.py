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
ENTRY_LAWS = ("gaussian", "rademacher", "uniform", "exponential", "student")
DEGREES = 10
"""Degrees of freedom of the Student entries: moments below the tenth exist, and the fourth is four."""


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


NEAR, TERMS = 1 / 64, 9
"""Up to where, and how far, the series of the mass above the lower edge is summed: its terms fall like NEARʲ."""


ARCTAN = (
    *(-0.019176885636589053, 0.039231657085083686, -0.050854496960392584, 0.05858148904795124, -0.0666451144646022),
    *(0.07692183190760651, -0.09090904578121085, 0.11111111015256292, -0.14285714284666542, 0.1999999999999552),
    -0.3333333333333333,
)
"""x⁻³(arctan x − x) as a polynomial in x² up to tan π/8, highest power first: its Chebyshev fit, 3e-17 off."""
NARROW, WIDE = 2**0.5 - 1, 2**0.5 + 1


def _arctan(rise: Array, run: Array) -> Array:
    """Return arctan(rise/run) for numbers that are not negative, with a single division; one unit of rounding.

    The compiler's own is a library call for each entry, and was most of the time of the distribution function;
    divisions and roots are most of what is left.
    """
    steep, middle = rise > WIDE * run, rise > NARROW * run
    top = jnp.where(steep, -run, jnp.where(middle, rise - run, rise))
    bottom = jnp.where(steep, rise, jnp.where(middle, rise + run, run))
    start = jnp.where(steep, jnp.pi / 2, jnp.where(middle, jnp.pi / 4, 0.0))
    x = top / jnp.maximum(bottom, jnp.finfo(rise.dtype).tiny)
    square = x * x
    bend = jnp.zeros_like(x)
    for coefficient in ARCTAN:
        bend = bend * square + coefficient
    return start + (x + x * square * bend)


def _mass_below(half: Array, square: Array, sine: Array, ratio: Scalar) -> Array:
    """Return the continuous mass below x/s² = 1 + a − 2√a cos φ, for φ in [0, π], given φ/2, sin²φ/2 and sin φ.

    In that angle the density is (2/π) sin²φ/(1 + a − 2√a cos φ). With b = √a ≤ 1 its integral is
    (φ + sin φ/b − (1/b² − 1) arctan(b sin φ/(1 − b cos φ)))/π; a ratio above one has 1/a of the mass at the ratio 1/a.
    Near the lower edge, where the terms cancel, the series of 16/π ∫ t²/((1 + t²)²((1 − b)² + (1 + b)²t²)) dt in
    t = tan φ/2 keeps every digit.
    """
    dtype = half.dtype
    root = jnp.where(ratio > 1, 1 / ratio, ratio) ** 0.5
    slope = ((1 + root) / jnp.maximum(1 - root, jnp.finfo(dtype).tiny ** 0.25)) ** 2
    orders = np.arange(TERMS)
    coefficients = (-1.0) ** orders * jnp.cumsum((orders + 1) * slope**-orders) / (2 * orders + 3)
    # Numbers of the ratio alone, kept from being worked out anew for every entry.
    factors = (
        root,
        1 / root,
        slope,
        1 / root**2 - 1,
        NEAR / (slope + NEAR),
        8 / jnp.pi / (1 + root) ** 2,
        coefficients,
    )
    root, inverse, slope, surplus, close, front, coefficients = jax.lax.optimization_barrier(
        tuple(jnp.asarray(each, dtype) for each in factors)
    )
    lag = _arctan(root * sine, 1 - root + 2 * root * square)
    mass = (2 * half + sine * inverse - surplus * lag) * (1 / np.pi)
    small = jnp.minimum(square, NEAR)  # as it is wherever the series is used
    secant = (1 + small) * (1 + small**2) * (1 + small**4) * (1 + small**8)
    near = jnp.minimum(slope * small * secant, NEAR)
    series = jnp.zeros_like(half)
    for j in reversed(range(TERMS)):
        series = series * near + coefficients[j]
    series = front * sine * secant * near * series
    # The same as slope·square·secant < NEAR; so asked, the compiler keeps the loop in vectors (four times faster).
    return jnp.where(square < close, series, jnp.clip(mass, 0, 1)) * jnp.minimum(1.0, 1 / ratio)


def _mass_at(angle: Array, ratio: Scalar) -> Array:
    sine = jnp.sin(angle / 2)
    return _mass_below(angle / 2, sine**2, 2 * sine * jnp.cos(angle / 2), ratio)


def marchenko_pastur_cdf(x: Float[AnyArray, "*shape"], ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the probability of values up to x, in closed form, the atom at zero included.

    The error is a few units of rounding over √a for a < 1, and relative to the value near the lower edge.
    """
    _check(ratio, variance)
    return _distribution(x, ratio, variance)


@jax.jit
def _distribution(x: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    # sin²φ/2: its distance from the lower edge in units of the width.
    low, scale = marchenko_pastur_edges(ratio, variance)[0], 1 / (4 * variance * ratio**0.5)
    low, scale = jax.lax.optimization_barrier((jnp.asarray(low, x.dtype), jnp.asarray(scale, x.dtype)))
    place = jnp.clip((x - low) * scale, 0, 1)
    sine = 2 * jnp.sqrt(place * (1 - place))
    mass = _mass_below(_arctan(jnp.sqrt(place), jnp.sqrt(1 - place)), place, sine, ratio)
    return mass + jnp.where(x >= 0, marchenko_pastur_atom(ratio), 0)


def marchenko_pastur_quantile(
    probability: Float[AnyArray, "*shape"], ratio: Scalar, variance: Scalar = 1.0
) -> Float[Array, "*shape"]:
    """Return the least x with cdf(x) ≥ probability, by Newton's method on the closed form; zero inside the atom.

    Each probability starts in its cell of a table and never leaves it. Steps have no derivative worth taking:
    differentiate the cdf instead.
    """
    _check(ratio, variance)
    return _quantile(probability, ratio, variance)


CELLS, STEPS = 512, 5


@jax.jit
def _quantile(probability: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    mass = jnp.asarray(probability) - marchenko_pastur_atom(ratio)
    whole = jnp.minimum(1.0, 1 / ratio)
    mass = jnp.clip(mass, 0, whole)
    # Cells are narrower towards the ends, where the mass goes like the cube of the angle.
    step = jnp.linspace(0, 1, CELLS + 1, dtype=mass.dtype)
    angles = jnp.pi * step**2 * (3 - 2 * step)
    heights = _mass_at(angles, ratio).at[-1].set(whole)
    cell = jnp.clip(jnp.searchsorted(heights, mass), 1, CELLS)
    low, high = angles[cell - 1], angles[cell]
    roots = jnp.cbrt(heights)
    share = (jnp.cbrt(mass) - roots[cell - 1]) / jnp.maximum(roots[cell] - roots[cell - 1], jnp.finfo(mass.dtype).tiny)
    angle = low + (high - low) * jnp.clip(share, 0, 1)

    def newton(_, angle):
        sine, cosine = jnp.sin(angle / 2), jnp.cos(angle / 2)
        off = _mass_below(angle / 2, sine**2, 2 * sine * cosine, ratio) - mass
        # dφ/dmass is π(1 + a − 2√a cos φ)/(2 sin²φ), over √a sides alike.
        width = ((1 - ratio**0.5) ** 2 + 4 * ratio**0.5 * sine**2) * jnp.pi / 2
        slope = jnp.maximum((2 * sine * cosine) ** 2, jnp.finfo(mass.dtype).tiny)
        return jnp.clip(angle - off * width / slope, low, high)

    angle = jax.lax.fori_loop(0, STEPS, newton, angle)
    # 1 + a − 2√a cos φ without the cancellation near the lower edge.
    point = variance * ((1 - ratio**0.5) ** 2 + 4 * ratio**0.5 * jnp.sin(angle / 2) ** 2)
    inside = (jnp.asarray(probability) <= marchenko_pastur_atom(ratio)) & (ratio > 1)
    return jnp.where(inside, 0, point)


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
    if entries == "student" and order >= DEGREES:
        raise ValueError(f"student entries have moments below order {DEGREES} only, not {order}")
    match entries:
        case "gaussian":
            return Fraction(math.factorial(order), 2**half * math.factorial(half))
        case "uniform":
            return Fraction(3**half, order + 1)
        case "student":
            factors = (Fraction((2 * i - 1) * (DEGREES - 2), DEGREES - 2 * i) for i in range(1, half + 1))
            return math.prod(factors, start=Fraction(1))
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
        case "student":
            return draw.standard_t(DEGREES, shape) * (1 - 2 / DEGREES) ** 0.5
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


BLOCK = 2048


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
    # In blocks of one size: every other size would be compiled for half a second.
    blocks = np.pad(values.ravel(), (0, -values.size % BLOCK)).reshape(-1, BLOCK)
    law = np.concatenate([np.asarray(marchenko_pastur_cdf(block, ratio, variance)) for block in blocks])
    law = law[: values.size].reshape(values.shape)
    count, zero = values.shape[-1], values == 0
    above = np.where(zero, zero.sum(-1, keepdims=True), np.arange(1, count + 1)) / count
    below = np.where(zero, 0, np.arange(count)) / count
    return np.maximum(np.abs(above - law), np.abs(np.where(zero, 0, law) - below)).max(-1)
