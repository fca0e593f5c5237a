import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.kernels.finite.features import rbf_kernel
from deeptheory.kernels.regression.mercer import (
    brownian_eigenfunctions,
    brownian_kernel,
    gaussian_eigenfunctions,
    mercer_kernel,
    mercer_norm_square,
    minimum_norm_square,
    nystrom,
    rkhs_norm_square,
)

RNG = np.random.default_rng(6)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(100)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def test_gaussian_eigenfunctions_are_orthonormal_and_solve_the_integral_equation():
    values, functions = gaussian_eigenfunctions(8, scale=0.8, deviation=1.3)
    nodes = 1.3 * NODES
    at = np.asarray(functions(nodes))
    np.testing.assert_allclose((at * WEIGHTS[:, None]).T @ at, np.eye(8), atol=1e-10)
    x = np.linspace(-2, 2, 9)
    image = np.asarray(rbf_kernel(x[:, None], nodes[:, None], scale=0.8)) @ (WEIGHTS[:, None] * at)
    np.testing.assert_allclose(image, np.asarray(functions(x)) * np.asarray(values), atol=1e-9)
    many = gaussian_eigenfunctions(200, scale=0.8, deviation=1.3).values
    assert float(many.sum()) == pytest.approx(1, rel=1e-12)


def test_gaussian_series_is_the_kernel():
    x = np.linspace(-3, 3, 21)
    values, functions = gaussian_eigenfunctions(80)
    np.testing.assert_allclose(mercer_kernel(values, functions(x), functions(x)), rbf_kernel(x[:, None]), atol=1e-12)


def test_nystrom_finds_the_closed_forms():
    x = np.linspace(-2, 2, 7)
    found = nystrom(rbf_kernel, NODES[:, None], WEIGHTS, count=6)
    exact = gaussian_eigenfunctions(6)
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-10)
    ours, theirs = np.asarray(found.functions(x[:, None])), np.asarray(exact.functions(x))
    np.testing.assert_allclose(ours * np.sign(np.sum(ours * theirs, 0)), theirs, atol=1e-8)
    with pytest.raises(ValueError, match="count"):
        nystrom(rbf_kernel, NODES[:, None], WEIGHTS, count=101)


def test_brownian_expansion():
    values, functions = brownian_eigenfunctions(4000)
    x = np.linspace(0, 1, 11)
    again = np.asarray(mercer_kernel(values, functions(x), functions(x)))
    np.testing.assert_allclose(again, brownian_kernel(x[:, None]), atol=2 / (np.pi**2 * 4000) * 1.01)
    for k in range(3):
        integral = quad(lambda s, k=k: min(s, 0.4) * float(functions(np.array([s]))[0, k]), 0, 1, points=[0.4])[0]
        assert integral == pytest.approx(float(values[k] * functions(np.array([0.4]))[0, k]), rel=1e-9)


def test_norms_of_the_brownian_space_are_those_of_the_derivative():
    x = np.sort(RNG.uniform(0, 1, 6))
    weights, y = RNG.standard_normal(6), RNG.standard_normal(6)
    slopes = np.cumsum(weights[::-1])[::-1]  # h′ on each interval: the weights of the centres still to come
    energy = np.sum(slopes**2 * np.diff(x, prepend=0))
    kernel = brownian_kernel(x[:, None])
    assert float(rkhs_norm_square(kernel, weights)) == pytest.approx(energy, rel=1e-10)
    broken = np.sum(np.diff(y, prepend=0) ** 2 / np.diff(x, prepend=0))
    assert float(minimum_norm_square(kernel, y)) == pytest.approx(broken, rel=1e-9)
    values, _ = brownian_eigenfunctions(3000)
    coefficients = np.sqrt(2) * np.asarray(values) ** 1.5  # of x − x²/2, whose derivative has ∫(1 − x)² = 1/3
    assert float(mercer_norm_square(values, coefficients)) == pytest.approx(1 / 3, rel=1e-9)


def test_far_from_the_middle_late_gaussian_eigenfunctions_carry_the_kernel():
    """The first ones are below the least floating-point number there."""
    found = gaussian_eigenfunctions(3000, scale=0.1)
    x = np.array([0.3, 5.0, 13.0])
    values = found.functions(x)
    np.testing.assert_allclose(mercer_kernel(found.values, values, values), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_the_least_norm_is_homogeneous(size):
    kernel, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, -1.0])
    assert minimum_norm_square(kernel, y * size) / size**2 == pytest.approx(26 / 3)
    assert minimum_norm_square(kernel, y * 1e200) == np.inf
    assert minimum_norm_square(kernel, 0 * y) == 0
