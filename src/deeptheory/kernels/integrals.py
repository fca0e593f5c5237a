"""Gaussian integrals of activations: E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for a centred Gaussian pair (u, v).

Every function takes the covariance k = E[uv], the variances a = E[u²], b = E[v²] (arrays that broadcast) and `same`,
where u and v are known to be one variable (True: everywhere, None: nowhere), and returns both expectations. By Price's
theorem the second is the derivative of the first in k; where no closed form is written out it is computed so.
"""

from collections.abc import Callable
from functools import lru_cache
from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from deeptheory.kernels.arcs import angle_and_sine, elevation, inverse_root

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


def by_price(mean: Callable[[Array, Array, Array], Array]) -> Integrals:
    """Return both expectations from the first alone: E[φ'φ'] = ∂E[φφ]/∂k."""

    def integrals(k: Array, a: Array, b: Array, same: Same) -> Pair:
        shape = jnp.broadcast_shapes(k.shape, a.shape, b.shape)
        k = jnp.broadcast_to(k, shape)
        return jax.jvp(lambda k: mean(k, a, b), (k,), (jnp.ones_like(k),))

    return integrals


def rectifier(k: Array, a: Array, b: Array, same: Same, *, below: float, above: float) -> Pair:
    """φ(x) = below·min(x, 0) + above·max(x, 0), the arc-cosine kernels (Cho and Saul 2009; Tsuchida et al. 2018)."""
    cosine, left, right = correlation(k, a, b, same)
    angle, sine = turn(cosine, same)
    even, odd = (below**2 + above**2) / 2, (below - above) ** 2 / (2 * np.pi)
    slope = even - odd * angle
    return (odd * sine + slope * cosine) * left * right, slope


def sign(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ = sign: 1 − 2θ/π; the derivative is 0 almost everywhere and so is its expectation here."""
    angle, _ = turn(correlation(k, a, b, same)[0], same)
    return 1 - (2 / np.pi) * angle, jnp.zeros_like(angle)


def error_function(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ = erf: (2/π) arcsin(2k/√((1+2a)(1+2b))) and (4/π)/√((1+2a)(1+2b) − 4k²) (Williams 1997)."""
    k = own_variance(k, a, same)
    left, right = jax.lax.rsqrt(1 + 2 * a), jax.lax.rsqrt(1 + 2 * b)
    root = jnp.sqrt((1 + 2 * (a + b)) + 4 * (a * b - k * k))
    return (2 / np.pi) * elevation(2 * k * left * right, root * left * right), (4 / np.pi) / root


def gelu(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ(x) = xΦ(x), by Stein's lemma; δ² = (1+a)(1+b) − k²."""
    left, right = jax.lax.rsqrt(1 + a), jax.lax.rsqrt(1 + b)
    root = jnp.sqrt((1 + a) * (1 + b) - k * k)
    inverse = 1 / root
    ends = 1 / (1 + a) + 1 / (1 + b) - 1
    top = a * b + k * k * ends
    half = 0.25 + elevation(k * left * right, root * left * right) / (2 * np.pi)
    mean = top * inverse / (2 * np.pi) + k * half
    return mean, half + k * inverse / (2 * np.pi) * (1 + 2 * ends + top * inverse * inverse)


def sine(k: Array, a: Array, b: Array, same: Same, *, phase: float) -> Pair:
    """φ(x) = sin(x + phase)."""
    mean = (a + b) / 2
    plus, minus = jnp.exp(k - mean), np.cos(2 * phase) * jnp.exp(-k - mean)
    return (plus - minus) / 2, (plus + minus) / 2


def exponential(k: Array, a: Array, b: Array, same: Same) -> Pair:
    """φ = exp."""
    mean = jnp.exp((a + b) / 2 + k)
    return mean, mean


def bell(k: Array, a: Array, b: Array, same: Same, *, rate: float) -> Pair:
    """φ(x) = exp(rate·x²): det⁻¹ᐟ² and 4 rate² k det⁻³ᐟ², det = (1 − 2 rate a)(1 − 2 rate b) − 4 rate² k²."""
    inverse = jax.lax.rsqrt((1 - 2 * rate * a) * (1 - 2 * rate * b) - (2 * rate * k) ** 2)
    return inverse, (4 * rate**2) * k * inverse**3


def gabor(k: Array, a: Array, b: Array) -> Array:
    """φ(x) = exp(−x²) sin x: a Gaussian pair tilted by exp(−u² − v²) is Gaussian with covariance Σ(I + 2Σ)⁻¹."""
    determinant = (1 + 2 * a) * (1 + 2 * b) - 4 * k * k
    mean = (a + b + 4 * (a * b - k * k)) / (2 * determinant)
    cross = k / determinant
    return (jnp.exp(cross - mean) - jnp.exp(-cross - mean)) / 2 * jax.lax.rsqrt(determinant)


def normalized_exponential(k: Array, a: Array, b: Array, same: Same, *, gamma: float, shift: float) -> Pair:
    """Not an activation but a law of covariances: √(ab) exp(γ(ρ + shift)) (Shankar et al. 2020)."""
    cosine, left, right = correlation(k, a, b, same)
    power = jnp.exp(gamma * (cosine + shift))
    return left * right * power, gamma * power


def polynomial(k: Array, a: Array, b: Array, same: Same, *, coefficients: tuple[float, ...]) -> Pair:
    """φ(x) = Σ cₙxⁿ: Σ_l s_l(a) s_l(b) kˡ, s_l(q) = Σ_i c_{2i+l} (2i+l)!/(2ⁱ i! √l!) qⁱ (Mehler)."""
    terms = []
    for level in range(len(coefficients)):
        powers = [
            coefficients[n] * factorial(n) / (2 ** ((n - level) // 2) * factorial((n - level) // 2))
            for n in range(level, len(coefficients), 2)
        ]
        scale = factorial(level) ** -0.5
        left, right = (scale * sum(c * q**i for i, c in enumerate(powers)) for q in (a, b))
        terms.append(left * right)
    mean, slope = jnp.zeros_like(k), jnp.zeros_like(k)
    for term in reversed(terms):  # Horner's rule for value and derivative at once
        mean, slope = mean * k + term, slope * k + mean
    return mean, slope


@lru_cache
def _arc_cosine_polynomials(degree: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Coefficients A, B of J(θ) = A(c) sin θ + B(c)(π − θ), lowest first.

    B is the full moment E[uⁿvⁿ]; A follows from J_n' = n² J_{n−1} in c (Price): A'(1−c²) − cA = n²A_{n−1}(1−c²) − B.
    """
    moments = np.zeros(degree + 1)
    for level in range(degree, -1, -2):
        pairs = (degree - level) // 2
        moments[level] = (factorial(degree) / (2**pairs * factorial(pairs))) ** 2 / factorial(level)
    if degree == 0:
        return (0.0,), (1.0,)
    lower = np.polynomial.Polynomial(_arc_cosine_polynomials(degree - 1)[0])
    right = degree**2 * lower * np.polynomial.Polynomial([1, 0, -1]) - np.polynomial.Polynomial(moments)
    known = np.zeros(degree + 3)
    known[: len(right.coef)] = right.coef
    sines = np.zeros(degree + 3)
    for power in range(degree, 0, -1):
        sines[power - 1] = ((power + 1) * sines[power + 1] - known[power]) / power
    return tuple(sines[:degree]), tuple(moments)


def _arc_cosine(cosine: Array, angle: Array, sine: Array, degree: int) -> Array:
    rest, moment = (jnp.polyval(jnp.asarray(p[::-1], cosine.dtype), cosine) for p in _arc_cosine_polynomials(degree))
    return (rest * sine + moment * (np.pi - angle)) / (2 * np.pi)


def rectified_power(k: Array, a: Array, b: Array, same: Same, *, degree: int) -> Pair:
    """φ(x) = xⁿ for x ≥ 0, else 0: the arc-cosine kernel of order n (Cho and Saul 2009)."""
    cosine, left, right = correlation(k, a, b, same)
    angle, sine = turn(cosine, same)
    size = left * right
    mean = size**degree * _arc_cosine(cosine, angle, sine, degree)
    if degree == 0:
        return mean, jnp.zeros_like(mean)
    return mean, degree**2 * size ** (degree - 1) * _arc_cosine(cosine, angle, sine, degree - 1)
