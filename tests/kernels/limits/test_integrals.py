"""Gaussian integrals of activations against quadrature written here, in NumPy, with nothing shared."""

from fractions import Fraction
from itertools import pairwise

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from deeptheory import kernels
from deeptheory.kernels.limits.quadrature import smooth_integrals

pytestmark = pytest.mark.slow

PAIRS = np.array([(a, b, r) for a, b in ((1.0, 1.0), (0.3, 1.7), (2.0, 0.9)) for r in (-0.97, -0.4, 0.0, 0.5, 0.99)])
CLOSE = np.array([(1.3, 0.6, r) for r in (-1.0, 1.0 - 1e-9, 1.0)])


def on_hermite_grid(f, g, a, b, r, nodes=160):
    """E[f(u)g(v)] for smooth functions, by a tensor Gauss–Hermite rule."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / w.sum()
    u = np.sqrt(a) * x[:, None]
    v = np.sqrt(b) * (r * x[:, None] + np.sqrt(1 - r * r) * x[None, :])
    return w @ (f(u) * g(v)) @ w


def in_polar_coordinates(f, g, a, b, r):
    """E[f(u)g(v)] for functions with a kink at 0: rays on which u or v vanish cut the circle, radii are smooth."""
    t = np.arccos(r)
    cuts = np.unique(np.mod([np.pi / 2, 3 * np.pi / 2, t + np.pi / 2, t - np.pi / 2, 0.0], 2 * np.pi))
    cuts = np.append(cuts, cuts[0] + 2 * np.pi)
    x, w = np.polynomial.legendre.leggauss(40)
    rho = 7 * (x + 1)
    mass = 7 * w * rho * np.exp(-(rho**2) / 2) / (2 * np.pi)
    total = 0.0
    for low, high in pairwise(cuts):
        angle = (low + high) / 2 + (high - low) / 2 * x
        u = np.sqrt(a) * np.outer(np.cos(angle), rho)
        v = np.sqrt(b) * np.outer(np.cos(angle - t), rho)
        total += (high - low) / 2 * (w @ (f(u) * g(v)) @ mass)
    return total


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def bell(x):
    return np.exp(-(x**2))


SMOOTH = {
    "Erf": (
        kernels.Erf(1.2, 0.7, 0.3),
        lambda x: 1.2 * special.erf(0.7 * x) + 0.3,
        lambda x: 1.2 * 0.7 * 2 / np.sqrt(np.pi) * np.exp(-((0.7 * x) ** 2)),
    ),
    "SigmoidLike": (
        kernels.SigmoidLike(),
        lambda x: 0.5 + 0.5 * special.erf(x / 2.4020563531719796),
        lambda x: np.exp(-((x / 2.4020563531719796) ** 2)) / np.sqrt(np.pi) / 2.4020563531719796,
    ),
    "Gelu": (kernels.Gelu(), lambda x: x * special.ndtr(x), lambda x: special.ndtr(x) + x * density(x)),
    "Sin": (kernels.Sin(1.1, 0.8, 0.4), lambda x: 1.1 * np.sin(0.8 * x + 0.4), lambda x: 0.88 * np.cos(0.8 * x + 0.4)),
    "Cos": (kernels.Cos(1.1, 0.8, 0.4), lambda x: 1.1 * np.cos(0.8 * x + 0.4), lambda x: -0.88 * np.sin(0.8 * x + 0.4)),
    "Rbf": (
        kernels.Rbf(0.7),
        lambda x: np.sqrt(2) * np.sin(np.sqrt(1.4) * x + np.pi / 4),
        lambda x: np.sqrt(2.8) * np.cos(np.sqrt(1.4) * x + np.pi / 4),
    ),
    "Exp": (kernels.Exp(0.9, 0.5), lambda x: 0.9 * np.exp(x / 2), lambda x: 0.45 * np.exp(x / 2)),
    "Gaussian": (
        kernels.Gaussian(1.3, -0.6),
        lambda x: 1.3 * np.exp(-0.6 * x**2),
        lambda x: -1.56 * x * np.exp(-0.6 * x**2),
    ),
    "Gabor": (
        kernels.Gabor(),
        lambda x: bell(x) * np.sin(x),
        lambda x: bell(x) * (np.cos(x) - 2 * x * np.sin(x)),
    ),
    "Polynomial": (
        kernels.Polynomial((0.2, -0.5, 0.3, 0.1)),
        lambda x: 0.2 - 0.5 * x + 0.3 * x**2 + 0.1 * x**3,
        lambda x: -0.5 + 0.6 * x + 0.3 * x**2,
    ),
    "Monomial": (kernels.Monomial(5), lambda x: x**5, lambda x: 5 * x**4),
    "Hermite": (
        kernels.Hermite(3),
        lambda x: (x**3 - 3 * x) / np.sqrt(6),
        lambda x: (3 * x**2 - 3) / np.sqrt(6),
    ),
    "Numerical": (
        kernels.Numerical(lambda x: x * jnp.tanh(x / 2), 100),
        lambda x: x * np.tanh(x / 2),
        lambda x: np.tanh(x / 2) + x / 2 / np.cosh(x / 2) ** 2,
    ),
    "Elementwise": (
        kernels.Elementwise(jnp.sin, lambda k, a, b: jnp.exp(-(a + b) / 2) * jnp.sinh(k)),
        np.sin,
        np.cos,
    ),
}


def step(x):
    return (x >= 0).astype(float)


KINKED = {
    "Relu": (kernels.Relu(), lambda x: np.maximum(x, 0), step),
    "LeakyRelu": (kernels.LeakyRelu(0.3), lambda x: np.where(x > 0, x, 0.3 * x), lambda x: np.where(x > 0, 1, 0.3)),
    "ABRelu": (
        kernels.Rectifier(-0.4, 1.3),
        lambda x: np.where(x > 0, 1.3 * x, -0.4 * x),
        lambda x: np.where(x > 0, 1.3, -0.4),
    ),
    "Abs": (kernels.Abs(), np.abs, np.sign),
    "Sign": (kernels.Sign(), np.sign, lambda x: 0 * x),
    "RectifiedMonomial0": (kernels.RectifiedMonomial(0), step, lambda x: 0 * x),
    "RectifiedMonomial1": (kernels.RectifiedMonomial(1), lambda x: np.maximum(x, 0), step),
    "RectifiedMonomial2": (
        kernels.RectifiedMonomial(2),
        lambda x: np.maximum(x, 0) ** 2,
        lambda x: 2 * np.maximum(x, 0),
    ),
    "RectifiedMonomial4": (
        kernels.RectifiedMonomial(4),
        lambda x: np.maximum(x, 0) ** 4,
        lambda x: 4 * np.maximum(x, 0) ** 3,
    ),
    "Elu by quadrature": (
        kernels.Numerical(lambda x: jnp.where(x > 0, x, jnp.expm1(jnp.minimum(x, 0))), 48, (0.0,)),
        lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: np.where(x > 0, 1, np.exp(np.minimum(x, 0))),
    ),
}


def ours(activation, pairs):
    a, b, r = map(jnp.asarray, pairs.T)
    return [np.asarray(value) for value in activation.integrals(r * jnp.sqrt(a * b), a, b, None)]


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_activations_against_a_hermite_grid(name):
    activation, value, derivative = SMOOTH[name]
    pairs = np.concatenate([PAIRS, CLOSE])
    mean, slope = ours(activation, pairs)
    expected = [[on_hermite_grid(f, f, *pair) for pair in pairs] for f in (value, derivative)]
    np.testing.assert_allclose(mean, expected[0], atol=1e-10, rtol=1e-10)
    np.testing.assert_allclose(slope, expected[1], atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("name", KINKED)
def test_kinked_activations_in_polar_coordinates(name):
    activation, value, derivative = KINKED[name]
    mean, slope = ours(activation, PAIRS)
    expected = [[in_polar_coordinates(f, f, *pair) for pair in PAIRS] for f in (value, derivative)]
    np.testing.assert_allclose(mean, expected[0], atol=1e-10, rtol=1e-10)
    np.testing.assert_allclose(slope, expected[1], atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("r", [0.0, 0.6, 0.9999, 1 - 1e-8])
def test_declared_kinks_away_from_zero(r):
    """The hard tanh: the inner integral in closed form, the outer by adaptive quadrature."""
    a, b = 1.4, 0.8
    activation = kernels.Numerical(lambda x: jnp.clip(x, -1, 1), 48, (-1.0, 1.0))

    def given(m, s):  # E clip(m + s z)
        def ramp(t):
            return (m - t) * special.ndtr((m - t) / s) + s * density((m - t) / s)

        return ramp(-1) - ramp(1) - 1

    def inside(m, s):
        return special.ndtr((1 - m) / s) - special.ndtr((-1 - m) / s)

    s = np.sqrt(b * (1 - r * r))
    kinks = sorted({t / np.sqrt(a) for t in (-1, 1)} | ({t / np.sqrt(b) / r for t in (-1, 1)} if r else set()))
    edges = [-9, *kinks, 0, 9] if r == 0 else [-9, *kinks, 9]

    def outer(f, inner):
        pieces = []
        marks = sorted({*edges, *(k + d for k in kinks for d in (-40 * s, -8 * s, 8 * s, 40 * s) if abs(k + d) < 9)})
        for low, high in pairwise(marks):
            pieces.append(
                integrate.quad(
                    lambda z: f(np.sqrt(a) * z) * inner(np.sqrt(b) * r * z, s) * density(z),
                    low, high, epsabs=1e-14, epsrel=1e-13, limit=200,
                )[0]
            )  # fmt: skip
        return sum(pieces)

    mean, slope = ours(activation, np.array([(a, b, r)]))
    assert mean[0] == pytest.approx(outer(lambda u: np.clip(u, -1, 1), given), abs=1e-10)
    assert slope[0] == pytest.approx(outer(lambda u: float(abs(u) < 1), inside), abs=1e-10)


def test_an_input_with_itself_is_exact():
    a = jnp.asarray([0.4, 1.0, 3.0])
    same = jnp.ones(3, bool)
    mean, slope = kernels.Relu().integrals(a * (1 - 1e-15), a, a, same)
    np.testing.assert_allclose(mean, a / 2, rtol=1e-15)
    np.testing.assert_array_equal(slope, 0.5)


def test_the_law_without_a_network():
    mean, slope = ours(kernels.ExpNormalized(0.7, -0.2), PAIRS)
    a, b, r = PAIRS.T
    np.testing.assert_allclose(mean, np.sqrt(a * b) * np.exp(0.7 * (r - 0.2)))
    np.testing.assert_allclose(slope, 0.7 * np.exp(0.7 * (r - 0.2)))


@pytest.mark.parametrize("name", ["Relu", "Abs", "RectifiedMonomial2"])
def test_zero_inputs_give_zero(name):
    mean, slope = KINKED[name][0].integrals(jnp.zeros(1), jnp.zeros(1), jnp.ones(1), None)
    assert mean[0] == 0
    assert np.isfinite(slope[0])


def test_few_nodes_reach_no_further_than_they_resolve():
    few = smooth_integrals(jnp.tanh, lambda x: 1 / jnp.cosh(x) ** 2, nodes=16)
    value, slope = few(jnp.ones((1, 1)), jnp.full((1, 1), 2.0), jnp.full((1, 1), 2.0), None)
    assert value.item() == pytest.approx(on_hermite_grid(np.tanh, np.tanh, 2.0, 2.0, 0.5), abs=1e-4)
    bell = on_hermite_grid(lambda x: 1 / np.cosh(x) ** 2, lambda x: 1 / np.cosh(x) ** 2, 2.0, 2.0, 0.5)
    assert slope.item() == pytest.approx(bell, abs=5e-4)


@pytest.mark.parametrize("degree", [0, 1, 7, 30, 60, 100, 200])
def test_hermite_polynomials_of_every_degree(degree):
    """Orthonormal at variance 1; at others against the sum over all monomials in a thousand digits."""
    layer = kernels.Hermite(degree)
    k = jnp.array([1.0, 0.9, 0.5, -0.3])
    mean, slope = layer.integrals(k, jnp.ones(4), jnp.ones(4), None)
    np.testing.assert_allclose(mean, np.asarray(k) ** degree, rtol=1e-13)
    np.testing.assert_allclose(slope, degree * np.asarray(k) ** max(degree - 1, 0), rtol=1e-13)
    with mpmath.workdps(1000):
        norm = mpmath.sqrt(mpmath.factorial(degree))
        values = [mpmath.hermite(degree, x / mpmath.sqrt(2)) / mpmath.mpf(2) ** (mpmath.mpf(degree) / 2) / norm
                  for x in map(mpmath.mpf, (0.0, 2.3, -4.0))]  # fmt: skip
        powers = {
            degree - 2 * i: (-1) ** i
            * norm
            / (mpmath.mpf(2) ** i * mpmath.factorial(i) * mpmath.factorial(degree - 2 * i))
            for i in range(degree // 2 + 1)
        }

        def mode(level, q):  # √l! times the coefficient of the polynomial of degree l in a variable of variance q
            pairs = ((n, (n - level) // 2) for n in powers if n >= level)
            total = sum(powers[n] * mpmath.factorial(n) / (2**i * mpmath.factorial(i)) * q**i for n, i in pairs)
            return total / mpmath.sqrt(mpmath.factorial(level))

        a, b, both = (mpmath.mpf(q) for q in (0.7, 1.4, 0.6))
        exact = sum(mode(level, a) * mode(level, b) * both**level for level in powers)
        sizes = [sum(mode(level, q) ** 2 * q**level for level in powers) for q in (a, b)]
    np.testing.assert_allclose(
        layer.function(jnp.array([0.0, 2.3, -4.0])), np.array(values, float), rtol=1e-11, atol=1e-14
    )
    found = layer.integrals(*map(jnp.array, (0.6, 0.7, 1.4)), None)[0]
    assert abs(float(found) - float(exact)) <= 1e-12 * float(mpmath.sqrt(sizes[0] * sizes[1]))


@pytest.mark.parametrize("degree", [2, 3, 8, 20, 50, 150])
@pytest.mark.parametrize("cosine", [1.0, 0.999, 0.5, 0.0, -0.5, -0.9, -0.99])
def test_rectified_powers_of_every_degree(degree, cosine):
    """∫ (cos t + c)ⁿ dt by the binomial theorem in six hundred digits, of which terms take three hundred."""
    with mpmath.workdps(600):
        c, opening = mpmath.mpf(cosine), mpmath.acos(-mpmath.mpf(cosine))
        whole = [opening, mpmath.sin(opening)]
        for m in range(2, degree + 1):
            whole.append((mpmath.cos(opening) ** (m - 1) * mpmath.sin(opening) + (m - 1) * whole[m - 2]) / m)

        def exact(n):
            terms = sum(mpmath.binomial(n, m) * c ** (n - m) * whole[m] for m in range(n + 1))
            return mpmath.factorial(n) / (2 * mpmath.pi) * terms

        expected = float(exact(degree)), float(degree**2 * exact(degree - 1))
    one = jnp.ones(())
    found = kernels.RectifiedMonomial(degree).integrals(jnp.array(cosine), one, one, None)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if degree > 3 else 1e-10)


@pytest.mark.parametrize("degree", [40, 150])
def test_polynomials_of_high_degree(degree):
    """E[uⁿvᵐ] = (n − 1) a E[uⁿ⁻²vᵐ] + m k E[uⁿ⁻¹vᵐ⁻¹], by parts, in fractions."""
    a, b, k = Fraction(3, 4), Fraction(1, 2), Fraction(-1, 4)
    powers = {1: 2, 4: 3, degree - 1: -1, degree: 1}
    moments = [[Fraction(0)] * (degree + 1) for _ in range(degree + 1)]
    for n in range(degree + 1):
        for m in range(degree + 1):
            if n + m == 0:
                moments[n][m] = Fraction(1)
            elif n == 0:
                moments[n][m] = (m - 1) * b * moments[0][m - 2] if m > 1 else 0
            else:
                moments[n][m] = (n - 1) * a * moments[n - 2][m] if n > 1 else 0
                moments[n][m] += m * k * moments[n - 1][m - 1] if m else 0
    value = sum(c * d * moments[n][m] for n, c in powers.items() for m, d in powers.items())
    slope = sum(c * d * n * m * moments[n - 1][m - 1] for n, c in powers.items() for m, d in powers.items())
    layer = kernels.Polynomial(tuple(float(powers.get(n, 0)) for n in range(degree + 1)))
    found = layer.integrals(*(jnp.array(float(each)) for each in (k, a, b)), None)
    np.testing.assert_allclose(found, (float(value), float(slope)), rtol=1e-12)


def test_more_powers_than_have_moments_are_refused_at_once():
    with pytest.raises(ValueError, match=r"coefficients must be at most 151, .* got 1,000,000"):
        kernels.Polynomial((1.0,) * 10**6)
