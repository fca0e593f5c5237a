"""Interpolants against other libraries' interpolation, simulated weights and orthogonality."""

import mpmath
import numpy as np
import pytest
import scipy.interpolate

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import overfitting


@pytest.fixture
def data(key):
    draw = generator(key)
    return np.sort(draw.uniform(-1, 1, 12)), draw.standard_normal(12), draw.uniform(-0.5, 0.5, 9)


@pytest.mark.item("L13.9")
def test_broken_line_and_polynomial_against_other_interpolation(data):
    points, values, queries = data
    broken = overfitting.broken_line_weights(points, queries)
    np.testing.assert_allclose(broken @ values, np.interp(queries, points, values))
    polynomial = scipy.interpolate.BarycentricInterpolator(points, values)(queries)
    np.testing.assert_allclose(overfitting.lagrange_weights(points, queries) @ values, polynomial, rtol=1e-6)
    np.testing.assert_allclose(overfitting.lagrange_weights(points, points), np.eye(12), atol=1e-12)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_laplace_weights_solve_the_kernel_system(data, scale):
    points, _, queries = data
    kernel = np.exp(-np.abs(points[:, None] - points) / scale)
    crossed = np.exp(-np.abs(queries[:, None] - points) / scale)
    expected = np.linalg.solve(kernel, crossed.T).T
    np.testing.assert_allclose(overfitting.laplace_weights(points, queries, scale=scale), expected, atol=1e-9)


@pytest.mark.item("L13.9")
def test_tempered_constants():
    share = np.polynomial.Polynomial([0, 1])
    assert (share**2 + (1 - share) ** 2).integ()(1.0) == pytest.approx(overfitting.TEMPERED["broken line"])
    nodes = overfitting.chebyshev_nodes(9)
    squares = overfitting.lagrange_weights(nodes, overfitting.chebyshev_nodes(50)) ** 2  # an exact rule for arcsine
    assert squares.sum(1).mean() == pytest.approx(overfitting.TEMPERED["Chebyshev polynomial"])
    np.testing.assert_allclose(np.polynomial.chebyshev.chebval(nodes, [0] * 9 + [1]), 0, atol=1e-12)


@pytest.mark.item("L13.9")
def test_hilbert_excess(key):
    draw = generator(key)
    assert overfitting.hilbert_excess(1) == pytest.approx(1.0)
    # Two points: E[(u² + v²)/(u + v)²] with 1/u, 1/v the weights, integrated by hand.
    assert overfitting.hilbert_excess(2) == pytest.approx(2 - 2 * np.log(2), rel=1e-9)
    values = 1 / draw.uniform(size=(20_000, 50))
    squares = ((values / values.sum(1, keepdims=True)) ** 2).sum(1)
    assert abs(squares.mean() - overfitting.hilbert_excess(50)) < 5 * squares.std() / 20_000**0.5
    exact = 1000 * mpmath.quad(lambda s: mpmath.exp(-s) * mpmath.expint(2, s) ** 999, [0, 1e-4, 1e-3, 1e-2, 1])
    assert overfitting.hilbert_excess(1000) == pytest.approx(float(exact), rel=1e-8)


def test_rate_of_polynomials_is_a_difference_of_potentials():
    def potential(x):
        return float(mpmath.quad(lambda t: mpmath.log(abs(x - t)) / 2, [-1, x, 1]))

    assert overfitting.catastrophic_rate() == pytest.approx(2 * (potential(1.0) - potential(0.0)), rel=1e-6)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="increase"):
        overfitting.broken_line_weights(np.array([1.0, 0.0]), np.array([0.5]))
    with pytest.raises(ValueError, match="between"):
        overfitting.laplace_weights(np.array([0.0, 1.0]), np.array([2.0]))
    with pytest.raises(ValueError, match="samples"):
        overfitting.hilbert_excess(0)
    with pytest.raises(ValueError, match="count"):
        overfitting.chebyshev_nodes(0)
