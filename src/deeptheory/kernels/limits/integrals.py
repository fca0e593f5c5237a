"""Gaussian integrals of activations: E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for a centred Gaussian pair (u, v).

Every function takes the covariance k = E[uv], the variances a = E[u²], b = E[v²] (arrays that broadcast) and `same`,
where u and v are known to be one variable (True: everywhere, None: nowhere), and returns both expectations. By Price's
theorem the second is the derivative of the first in k; where no closed form is written out it is computed so. Some take
the `deficit` √(ab) − k where it is known better than by subtraction (`close_pairs`).
"""

from collections.abc import Callable
from functools import partial, reduce
from math import factorial, lgamma

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from deeptheory.kernels.layers.layer import Scalar
from deeptheory.kernels.limits.arcs import angle_and_sine, angle_of_gap, elevation, inverse_root, root

__all__ = [
    "bell",
    "by_price",
    "correlation",
    "determinant",
    "distance",
    "error_function",
    "excess",
    "exponential",
    "gabor",
    "gelu",
    "hermite",
    "normalized_exponential",
    "own_variance",
    "polynomial",
    "rectified_power",
    "rectifier",
    "sign",
    "sine",
    "size",
    "turn",
]

Pair = tuple[Array, Array]
Same = Array | bool | None

Integrals = Callable[[Array, Array, Array, Same], Pair]


def correlation(k: Array, a: Array, b: Array, same: Same) -> tuple[Array, Array, Array]:
    """Return k/√(ab), exactly 1 where u is v and 0 where a variable vanishes, with √a and √b."""
    left, right = inverse_root(a), inverse_root(b)
    cosine = k * left * right
    if same is not None:
        cosine = jnp.where(same & (a > 0), jnp.ones((), cosine.dtype), cosine)
    return cosine, a * left, b * right


def turn(cosine: Array, same: Same) -> Pair:
    """Return the angle and its sine, both 0 where u is v: no arc is computed (or compiled) for variances alone."""
    if same is True:
        zero = jnp.zeros_like(cosine)
        return zero, zero
    return angle_and_sine(cosine)


def own_variance(k: Array, a: Array, same: Same) -> Array:
    """Replace the covariance by the variance where u is v: one rounding instead of two that differ."""
    return k if same is None else jnp.where(same, a, k)


def size(a: Array, left: Array, right: Array, same: Same) -> Array:
    """Return √(ab) from both roots, and a itself where u is v."""
    return own_variance(left * right, a, same)


def determinant(k: Array, a: Array, b: Array, same: Same, deficit: Array | None) -> Array:
    """Return ab − k², never negative and exactly 0 where u is v: at large variances a rounding error is not small."""
    area = a * b - k * k if deficit is None else deficit * (2 * root(a) * root(b) - deficit)
    area = area + jax.lax.stop_gradient(jnp.maximum(-area, 0))
    return area if same is None else jnp.where(same, 0, area)


def distance(k: Array, a: Array, b: Array, same: Same, deficit: Array | None) -> Array:
    """Return ½E(u − v)² = (a + b)/2 − k, exactly 0 where u is v."""
    if deficit is not None:
        return deficit + (root(a) - root(b)) ** 2 / 2
    return (a + b) / 2 - own_variance(k, a, same)


def excess(plus: Array, minus: Array, power: Array) -> Array:
    """Return plus − minus for plus = minus·exp(power), without cancellation at a small power."""
    up = power > 0
    return jnp.where(up, -plus * jnp.expm1(jnp.where(up, -power, 0)), minus * jnp.expm1(jnp.where(up, 0, power)))


def by_price(mean: Callable[[Array, Array, Array], Array]) -> Integrals:
    """Return both expectations from the first alone: E[φ'φ'] = ∂E[φφ]/∂k."""

    def integrals(k: Array, a: Array, b: Array, same: Same) -> Pair:
        k = own_variance(k, a, same)
        shape = jnp.broadcast_shapes(k.shape, a.shape, b.shape)
        k = jnp.broadcast_to(k, shape)
        return jax.jvp(lambda k: mean(k, a, b), (k,), (jnp.ones_like(k),))

    return integrals


def rectifier(k: Array, a: Array, b: Array, same: Same, *, below: Scalar, above: Scalar) -> Pair:
    """φ(x) = below·min(x, 0) + above·max(x, 0), the arc-cosine kernels (Cho and Saul 2009; Tsuchida et al. 2018)."""
    cosine, left, right = correlation(k, a, b, same)
    angle, sine = turn(cosine, same)
    even, odd = (below**2 + above**2) / 2, (below - above) ** 2 / (2 * np.pi)
    slope = even - odd * angle
    return (odd * sine + slope * cosine) * size(a, left, right, same), slope


def sign(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ = sign: 1 − 2θ/π, and 0 where a variable vanishes; E[φ'φ'] is 0 here, as φ' is almost everywhere."""
    angle, _ = turn(correlation(k, a, b, same)[0], same)
    return jnp.where((a > 0) & (b > 0), 1 - (2 / np.pi) * angle, 0), jnp.zeros_like(angle)


def error_function(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None) -> Pair:
    """φ = erf: (2/π) arcsin(2k/√((1+2a)(1+2b))) and (4/π)/√((1+2a)(1+2b) − 4k²) (Williams 1997)."""
    k = own_variance(k, a, same)
    left, right = jax.lax.rsqrt(1 + 2 * a), jax.lax.rsqrt(1 + 2 * b)
    delta = jnp.sqrt((1 + 2 * (a + b)) + 4 * determinant(k, a, b, same, deficit))
    return (2 / np.pi) * elevation(2 * k * left * right, delta * left * right), (4 / np.pi) / delta


def gelu(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None) -> Pair:
    """φ(x) = xΦ(x), by Stein's lemma; with s = a + b, D = ab − k², δ² = (1+a)(1+b) − k², every term positive for k > 0.

    E[φφ] = kh + (D + k²(2+s)/((1+a)(1+b)))/2πδ, E[φ'φ'] = h + k((2+s)D + (1+s)(3+s) + ab)/(2π(1+a)(1+b)δ³), where
    h = ¼ + arcsin(k/√((1+a)(1+b)))/2π.
    """
    k = own_variance(k, a, same)
    left, right = jax.lax.rsqrt(1 + a), jax.lax.rsqrt(1 + b)
    area, total = determinant(k, a, b, same, deficit), a + b
    delta = jnp.sqrt(1 + total + area)
    inverse = 1 / delta
    cosine, ends = k * left * right, left * left * right * right
    half = 0.25 + elevation(cosine, delta * left * right) / (2 * np.pi)
    mean = (area + cosine**2 * (2 + total)) * inverse / (2 * np.pi) + k * half
    rise = (2 + total) * (area * inverse**2) + ((1 + total) * (3 + total) + a * b) * inverse**2
    return mean, half + k * ends * inverse / (2 * np.pi) * rise


def sine(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None, *, phase: Scalar) -> Pair:
    """φ(x) = sin(x + phase): (e₊ ∓ cos(2 phase) e₋)/2 with e± = exp(±k − (a + b)/2), by e₊ − e₋."""
    square = jnp.sin(phase) ** 2 if isinstance(phase, Array) else float(np.sin(phase) ** 2)
    k = own_variance(k, a, same)
    plus, minus = jnp.exp(-distance(k, a, b, same, deficit)), jnp.exp(-k - (a + b) / 2)
    half = excess(plus, minus, 2 * k) / 2
    return half + square * minus, half + (1 - square) * minus


def exponential(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ = exp."""
    mean = jnp.exp((a + b) / 2 + own_variance(k, a, same))
    return mean, mean


def bell(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None, *, rate: Scalar) -> Pair:
    """φ(x) = exp(rate·x²): det⁻¹ᐟ² and 4 rate² k det⁻³ᐟ², det = (1 − 2 rate a)(1 − 2 rate b) − 4 rate² k².

    Both are infinite where a rate > 0 grows faster than the Gaussian falls: unless 1 − 2 rate Σ is positive definite.
    """
    k = own_variance(k, a, same)
    volume = 1 - 2 * rate * (a + b) + 4 * rate**2 * determinant(k, a, b, same, deficit)
    finite = (volume > 0) & (2 * rate * a < 1)
    inverse = jax.lax.rsqrt(jnp.where(finite, volume, 1))
    slope = (4 * rate**2) * k * inverse**3
    return jnp.where(finite, inverse, jnp.inf), jnp.where(finite, slope, jnp.copysign(jnp.inf, k))


def gabor(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None) -> Pair:
    """φ(x) = exp(−x²) sin x: a Gaussian pair tilted by exp(−u² − v²) is Gaussian with covariance Σ(I + 2Σ)⁻¹."""
    k = own_variance(k, a, same)
    area = determinant(k, a, b, same, deficit)
    volume = 1 + 2 * (a + b) + 4 * area
    cross, scale = k / volume, jax.lax.rsqrt(volume)
    plus = jnp.exp(-(distance(k, a, b, same, deficit) + 2 * area) / volume) * scale / 2
    minus = jnp.exp(-((a + b) / 2 + k + 2 * area) / volume) * scale / 2
    mean = excess(plus, minus, 2 * cross)
    turn_of_cross, turn_of_mean = (1 + 8 * k * cross) / volume, -4 * cross * (1 + a + b) / volume  # derivatives in k
    slope = (turn_of_cross - turn_of_mean) * plus + (turn_of_cross + turn_of_mean) * minus
    return mean, slope + 4 * cross * mean


def normalized_exponential(k: Array, a: Array, b: Array, same: Same, *, gamma: Scalar, shift: Scalar) -> Pair:
    """Not an activation but a law of covariances: √(ab) exp(γ(ρ + shift)) (Shankar et al. 2020)."""
    cosine, left, right = correlation(k, a, b, same)
    power = jnp.exp(gamma * (cosine + shift))
    return size(a, left, right, same) * power, gamma * power


def polynomial(k: Array, a: Array, b: Array, same: Same, *, coefficients: tuple[Scalar, ...]) -> Pair:
    """φ(x) = Σ cₙxⁿ: Σ_l s_l(a) s_l(b) kˡ, s_l(q) = Σ_i c_{2i+l} (2i+l)!/(2ⁱ i! √l!) qⁱ (Mehler)."""
    k, count = own_variance(k, a, same), len(coefficients)

    def weight(level: int, pairs: int) -> Scalar:
        n = level + 2 * pairs
        if n >= count:
            return 0.0
        return coefficients[n] * (factorial(n) / (2**pairs * factorial(pairs))) * factorial(level) ** -0.5

    # All levels at once: one by one they are n²/4 operations, whose compilation takes a minute at degree 150.
    rows = [jnp.asarray([weight(level, i) for level in range(count)], k.dtype) for i in range((count + 1) // 2)]
    left, right = (reduce(lambda sums, row, q=q: sums * q[..., None] + row, reversed(rows)) for q in (a, b))
    mean, slope = jnp.zeros_like(k), jnp.zeros_like(k)
    for level in reversed(range(count)):  # Horner's rule for value and derivative at once
        mean, slope = mean * k + left[..., level] * right[..., level], slope * k + mean
    return mean, slope


def hermite(k: Array, a: Array, b: Array, same: Same, *, degree: int) -> Pair:
    """φ = Heₙ/√n!: Σ_j n!/((2ʲj!)²(n−2j)!) ((a−1)(b−1))ʲ kⁿ⁻²ʲ, which is kⁿ for variances 1.

    From Heₙ(γx) in the polynomials of x (Abramowitz and Stegun 22.12). All terms are positive where u is v, so that
    none is large beside the variances; those of the powers of x are, from degree 30 on.
    """
    weights = [
        factorial(degree) / (4**pairs * factorial(pairs) ** 2 * factorial(degree - 2 * pairs))
        for pairs in range(degree // 2 + 1)
    ]

    def mean(k: Array, a: Array, b: Array) -> Array:
        away, power, total = (a - 1) * (b - 1), jnp.ones_like(k), jnp.zeros_like(k)
        for weight in weights:
            total, power = total * k**2 + weight * power, power * away
        return total * k ** (degree % 2)

    return by_price(mean)(k, a, b, same)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _arc_cosine(cosine: Array, opening: Array, degree: int) -> Array:
    """E[uⁿvⁿ; u, v > 0] = n!/2π ∫₀^η (cos t + cos θ)ⁿ dt for variances 1, with the opening η = π − θ; arrays alike.

    Up to degree 2 in closed form. Above by Gauss's rule on 2 sin(η(1 − s)/2) sin(η(1 + s)/2), s = t/η: positive, where
    polynomials in cos θ beside sin θ and π − θ cancel almost wholly at obtuse angles and, from degree 15 on, at all.
    """
    if degree < 3:
        sine = jnp.sin(opening)
        forms = opening, sine + cosine * opening, 3 * sine * cosine + (1 + 2 * cosine**2) * opening
        return forms[degree] / (2 * np.pi)
    points, weights = np.polynomial.legendre.leggauss(12 + degree // 2)
    places = jnp.asarray((points + 1) / 2, cosine.dtype), jnp.asarray(weights / 2, cosine.dtype)

    def add(total: Array, node: tuple[Array, Array]) -> tuple[Array, None]:
        place, weight = node
        height = 2 * jnp.sin(opening * (1 - place) / 2) * jnp.sin(opening * (1 + place) / 2)
        # A whole power would be multiplied out by the compiler, factor by factor, and underflow.
        return total + weight * jnp.power(scale * height, float(degree)), None

    scale = float(np.exp(lgamma(degree + 1) / degree))  # n! a factor at a time: neither it nor the rest is too large
    total = jax.lax.scan(add, jnp.zeros_like(cosine), places)[0]
    return opening / (2 * np.pi) * total


@_arc_cosine.defjvp
def _arc_cosine_derivative(degree, primals, tangents):
    value = _arc_cosine(*primals, degree)
    if degree == 0:
        return value, tangents[1] / (2 * np.pi)
    return value, degree**2 * _arc_cosine(*primals, degree - 1) * tangents[0]  # Price; dη is that of cos θ


def rectified_power(k: Array, a: Array, b: Array, same: Same, deficit: Array | None = None, *, degree: int) -> Pair:
    """φ(x) = xⁿ for x ≥ 0, else 0: the arc-cosine kernel of order n (Cho and Saul 2009)."""
    cosine, left, right = correlation(k, a, b, same)
    if deficit is not None:
        opening = np.pi - angle_of_gap(deficit * inverse_root(a) * inverse_root(b))[0]
    elif same is True:
        opening = jnp.full_like(cosine, np.pi)
    else:
        opening = angle_and_sine(-cosine)[0]
    whole = size(a, left, right, same)
    mean = whole**degree * _arc_cosine(cosine, opening, degree)
    if degree == 0:
        at_zero = jnp.where((a > 0) | (b > 0), 0.5, 1.0)  # φ(0) = 1
        return jnp.where((a > 0) & (b > 0), mean, at_zero.astype(mean.dtype)), jnp.zeros_like(mean)
    return mean, degree**2 * whole ** (degree - 1) * _arc_cosine(cosine, opening, degree - 1)
