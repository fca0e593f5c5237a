"""The Marchenko–Pastur law: the spectrum of a sample covariance whose dimension grows with the number of samples.

`ratio` is dimension over samples, N/M, and `variance` that of the entries. jagannath Thm 6.6 speaks of M/N, the
reciprocal, while its definition 6.5 is parametrised as here.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.core import Tracer
from jaxtyping import Array, Float, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.spectra.arguments import Numbers, floating

__all__ = [
    "marchenko_pastur_atom",
    "marchenko_pastur_cdf",
    "marchenko_pastur_edges",
    "marchenko_pastur_moment",
    "marchenko_pastur_nodes",
    "marchenko_pastur_pdf",
    "marchenko_pastur_quantile",
    "spectral_distance",
]

Scalar = float | int | np.number | Num[AnyArray, ""]


def _check(ratio: Any, variance: Any) -> None:
    for name, value in (("ratio", ratio), ("variance", variance)):
        if isinstance(value, Tracer):
            continue
        if np.ndim(value):
            raise ValueError(f"{name} must be one number, not an array of shape {np.shape(value)}: map over it instead")
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, not {value}")


def marchenko_pastur_edges(ratio: Scalar, variance: Scalar = 1.0) -> tuple[Scalar, Scalar]:
    """Return the ends of the continuous part of the spectrum, s²(1 ∓ √a)². jagannath Def. 6.5."""
    _check(ratio, variance)
    root = ratio**0.5
    # 1 − √a without the cancellation near a = 1.
    return variance * ((1 - ratio) / (1 + root)) ** 2, variance * (1 + root) ** 2


def marchenko_pastur_atom(ratio: Scalar) -> Scalar:
    """Return the share of zero eigenvalues, max(0, 1 − 1/a). jagannath Def. 6.5."""
    _check(ratio, 1.0)
    return jnp.maximum(0.0, (ratio - 1) / ratio)


def marchenko_pastur_pdf(x: Numbers, ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the density of the continuous part, √((λ₊ − x)(x − λ₋)) / (2π s² a x); its mass is min(1, 1/a).

    jagannath Def. 6.5. At a = 1 it is unbounded at zero.
    """
    _check(ratio, variance)
    return _density(floating(x), ratio, variance)


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
    # 1 − b and 1/b² − 1, from the exact 1 − a.
    gap = abs(1 - ratio) / jnp.maximum(1, ratio) / (1 + root)
    surplus = abs(1 - ratio) / jnp.minimum(1, ratio)
    slope = ((1 + root) / jnp.maximum(gap, jnp.finfo(dtype).tiny ** 0.25)) ** 2
    orders = np.arange(TERMS)
    coefficients = (-1.0) ** orders * jnp.cumsum((orders + 1) * slope**-orders) / (2 * orders + 3)
    # Numbers of the ratio alone, kept from being worked out anew for every entry.
    factors = (
        root,
        1 / root,
        slope,
        gap,
        surplus,
        NEAR / (slope + NEAR),
        8 / jnp.pi / (1 + root) ** 2,
        coefficients,
    )
    root, inverse, slope, gap, surplus, close, front, coefficients = jax.lax.optimization_barrier(
        tuple(jnp.asarray(each, dtype) for each in factors)
    )
    lag = _arctan(root * sine, gap + 2 * root * square)
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


def marchenko_pastur_cdf(x: Numbers, ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the probability of values up to x, in closed form, the atom at zero included.

    The error is a few units of rounding over √a for a < 1, and relative to the value near the lower edge.
    """
    _check(ratio, variance)
    return _distribution(floating(x), ratio, variance)


@jax.jit
def _distribution(x: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    # sin²φ/2: its distance from the lower edge in units of the width.
    low, scale = marchenko_pastur_edges(ratio, variance)[0], 1 / (4 * variance * ratio**0.5)
    low, scale = jax.lax.optimization_barrier((jnp.asarray(low, x.dtype), jnp.asarray(scale, x.dtype)))
    place = jnp.clip((x - low) * scale, 0, 1)
    inside = (place > 0) & (place < 1)
    # Outside and at the ends the roots have no finite slope; any point inside stands in for them.
    safe = jnp.where(inside, place, 0.5)
    sine = 2 * jnp.sqrt(safe * (1 - safe))
    mass = _mass_below(_arctan(jnp.sqrt(safe), jnp.sqrt(1 - safe)), safe, sine, ratio)
    outside = jnp.where(place > 0, jnp.minimum(1.0, 1 / ratio), 0)
    return jnp.where(inside, mass, outside) + jnp.where(x >= 0, marchenko_pastur_atom(ratio), 0)


def marchenko_pastur_quantile(probability: Numbers, ratio: Scalar, variance: Scalar = 1.0) -> Float[Array, "*shape"]:
    """Return the least x with cdf(x) ≥ probability, by Newton's method on the closed form; zero inside the atom.

    Each probability starts in its cell of a table and never leaves it. The derivative in the probability is 1/pdf, to
    which that of the last step comes down.
    """
    _check(ratio, variance)
    return _quantile(floating(probability), ratio, variance)


CELLS, STEPS = 384, 5
BEND = 2.0 ** np.linspace(-8, 8, 128)
"""Where the mass turns from the cube of the angle to the angle itself, in units of the gap (1 − b)/(1 + b)."""


@jax.jit
def _quantile(probability: AnyArray, ratio: Scalar, variance: Scalar) -> Array:
    mass = probability - marchenko_pastur_atom(ratio)
    whole = jnp.minimum(1.0, 1 / ratio)
    mass = jnp.clip(mass, 0, whole)
    # Cells are narrower towards the ends, where the mass goes like the cube of the angle, and at its bend.
    step = jnp.linspace(0, 1, CELLS + 1, dtype=mass.dtype)
    gap = abs(1 - ratio) / (1 + ratio**0.5) ** 2
    bend = 2 * jnp.arctan(gap * jnp.asarray(BEND, mass.dtype))
    angles = jnp.sort(jnp.concatenate([jnp.pi * step**2 * (3 - 2 * step), bend]))
    heights = _mass_at(angles, ratio).at[-1].set(whole)
    cell = jnp.clip(jnp.searchsorted(heights, mass), 1, len(angles) - 1)
    low, high = angles[cell - 1], angles[cell]
    roots = jnp.cbrt(heights)
    share = (jnp.cbrt(mass) - roots[cell - 1]) / jnp.maximum(roots[cell] - roots[cell - 1], jnp.finfo(mass.dtype).tiny)
    angle = low + (high - low) * jnp.clip(share, 0, 1)

    edge = marchenko_pastur_edges(ratio)[0]

    def newton(_, angle):
        sine, cosine = jnp.sin(angle / 2), jnp.cos(angle / 2)
        off = _mass_below(angle / 2, sine**2, 2 * sine * cosine, ratio) - mass
        # dφ/dmass is π(1 + a − 2√a cos φ)/(2 sin²φ), over √a sides alike.
        width = (edge + 4 * ratio**0.5 * sine**2) * jnp.pi / 2
        slope = jnp.maximum((2 * sine * cosine) ** 2, jnp.finfo(mass.dtype).tiny)
        return jnp.clip(angle - off * width / slope, low, high)

    angle = jax.lax.fori_loop(0, STEPS, newton, angle)
    # 1 + a − 2√a cos φ without the cancellation near the lower edge.
    point = variance * (edge + 4 * ratio**0.5 * jnp.sin(angle / 2) ** 2)
    inside = (probability <= marchenko_pastur_atom(ratio)) & (ratio > 1)
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


def marchenko_pastur_nodes(
    ratio: Scalar, variance: Scalar = 1.0, *, count: int = 200
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return points and weights of Gauss's quadrature under the law, the atom at zero a point of its own.

    The orthogonal polynomials of a ≤ 1 have the recurrence coefficients 1, 1 + a, 1 + a, … and √a, √a, …; above one
    the nonzero part is a times the law of the ratio 1/a, with a share of 1/a.
    """
    _check(ratio, variance)
    if count < 1:
        raise ValueError(f"count must be positive, not {count}")
    small = min(float(ratio), 1 / float(ratio))
    diagonal = np.append(1.0, np.full(count - 1, 1 + small))
    points, vectors = scipy.linalg.eigh_tridiagonal(diagonal, np.full(count - 1, small**0.5))
    weights = vectors[0] ** 2
    if ratio > 1:
        points, weights = np.append(0.0, points / small), np.append(1 - small, small * weights)
    return float(variance) * np.maximum(points, 0.0), weights


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


doors(__name__, order="[0, 1000]", count="[1, 2000]", probability="[0, 1]", infinite=("x",))
