"""Semicircle, circular law, general populations, free convolutions, spikes, edges: oracles for each."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

from deeptheory.foundations.filters import pseudo_inverse
from deeptheory.spectra import edges, free_convolution, ridge_path, self_consistent, semicircle, spiked
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_moment, marchenko_pastur_pdf
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes, stieltjes_transform

pytestmark = pytest.mark.slow


def test_semicircle_by_quadrature():
    for x in (-2.5, -1.0, 0.3, 1.9, 5.0):
        mass = scipy.integrate.quad(lambda t: float(semicircle.semicircle_pdf(np.asarray(t), 1.5)), -2.5, x, limit=200)[
            0
        ]
        assert semicircle.semicircle_cdf(np.asarray(x), 1.5) == pytest.approx(mass, abs=1e-6)
    assert [semicircle.semicircle_moment(k) for k in range(9)] == [1, 0, 1, 0, 2, 0, 5, 0, 14]
    z = 0.4 + 0.7j
    real = scipy.integrate.quad(lambda t: (semicircle.semicircle_pdf(np.asarray(t)) / (t - z)).real, -2, 2)[0]
    assert complex(semicircle.semicircle_stieltjes(z)).real == pytest.approx(real, abs=1e-7)
    with pytest.raises(ValueError, match="variance"):
        semicircle.semicircle_cdf(np.zeros(1), 0.0)


def test_drawn_symmetric_and_square_matrices(key):
    for entries in ("gaussian", "rademacher"):
        drawn = semicircle.wigner_matrix(key, 200, 1, entries=entries)[0]
        np.testing.assert_array_equal(drawn, drawn.T)
        values = np.linalg.eigvalsh(drawn)
        steps = (np.arange(200) + 0.5) / 200
        assert abs(semicircle.semicircle_cdf(values) - steps).max() < 0.03
    modulus = abs(np.linalg.eigvals(semicircle.square_matrix(key, 200)[0]))
    assert (modulus < 0.5).mean() == pytest.approx(float(semicircle.circular_radius_cdf(np.asarray(0.5))), abs=0.05)
    # The first two exact moments: (n + 1)/(2n) and (n + 1)(n + 2)/(3n²).
    assert semicircle.ginibre_radial_moment(1, 7) == pytest.approx(8 / 14)
    assert semicircle.ginibre_radial_moment(2, 7) == pytest.approx(8 * 9 / (3 * 49))


def test_moduli_of_two_eigenvalues_by_their_joint_density():
    # The density of λ₁, λ₂ is |λ₁ − λ₂|² exp(−2|λ₁|² − 2|λ₂|²) but for a constant; over the angles |λ₁ − λ₂|² averages
    # to |λ₁|² + |λ₂|², so that of s = 2|λ₁|² and t = 2|λ₂|² is (s + t) exp(−s − t)/2.
    density = lambda s, t: (s + t) * math.exp(-s - t) / 2  # noqa: E731
    for radius in (0.2, 0.7, 1.3):
        edge = 2 * radius**2
        both = scipy.integrate.dblquad(density, 0, edge, 0, edge)[0]
        one = scipy.integrate.dblquad(density, 0, edge, 0, 60)[0]
        assert semicircle.ginibre_largest_cdf(radius, 2) == pytest.approx(both, rel=1e-9)
        assert semicircle.ginibre_radius_cdf(radius, 2) == pytest.approx(one, rel=1e-9)
    assert semicircle.ginibre_radius_cdf(-0.5, 3) == semicircle.ginibre_largest_cdf(0.0, 3) == 0
    assert semicircle.ginibre_radius_cdf([0.3, 0.6], 400) == pytest.approx(semicircle.circular_radius_cdf([0.3, 0.6]))


@pytest.mark.parametrize("ratio", (0.1, 0.6, 1.0, 2.0))
def test_general_population_mass_moments_and_edges(ratio):
    population, weights = np.asarray([1.0, 4.0]), np.asarray([0.7, 0.3])
    intervals = self_consistent.general_edges(population, weights, ratio)
    angle = (np.arange(3000) + 0.5) * np.pi / 3000
    totals = np.zeros(4)
    for low, high in intervals:
        x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
        density = self_consistent.general_pdf(x, population, weights, ratio)
        totals += (x ** np.arange(4)[:, None] * density * np.sin(angle)).sum(1) * (high - low) / 2 * np.pi / 3000
    exact = [min(1, 1 / ratio), *(self_consistent.general_moment(k, population, weights, ratio) for k in (1, 2, 3))]
    np.testing.assert_allclose(totals, exact, rtol=1e-6)
    outside = np.asarray([intervals[0, 0] - 0.02, intervals[-1, 1] + 0.1])
    np.testing.assert_array_equal(self_consistent.general_pdf(outside[outside > 0], population, weights, ratio), 0)
    assert len(intervals) == (2 if ratio == 0.1 else 1)


@pytest.mark.parametrize("ratio", (0.02, 0.5, 3.0))
@pytest.mark.parametrize("population", (np.linspace(1, 2, 10), np.geomspace(1, 50, 40), np.repeat([1.0, 9.0], 7)))
def test_edges_of_many_and_of_repeated_eigenvalues(population, ratio):
    weights = np.full(len(population), 1 / len(population))
    intervals = self_consistent.general_edges(population, weights, ratio)
    # Straight from the equation: on the support one root is complex, elsewhere none.
    x = np.linspace(0.003, 1.1 * intervals[-1, 1], 250)
    roots = self_consistent._companion(x, population, weights, ratio)
    inside = ((x[:, None] > intervals[:, 0]) & (x[:, None] < intervals[:, 1])).any(1)
    distance = abs(x[:, None] - intervals.ravel()).min(1)
    clear = distance > 1e-3 * x
    np.testing.assert_array_equal((roots.imag > 1e-4 * abs(roots))[clear], inside[clear])
    # Lengths change with the unit and nothing else does.
    small = self_consistent.general_edges(1e-9 * population, weights, ratio)
    np.testing.assert_allclose(small, 1e-9 * intervals, rtol=1e-12)
    density = 1e-9 * self_consistent.general_pdf(1e-9 * x, 1e-9 * population, weights, ratio)
    np.testing.assert_allclose(density, self_consistent.general_pdf(x, population, weights, ratio), atol=1e-6)


@pytest.mark.parametrize("ratio", (0.3, 1.0, 2.5))
def test_effective_ridge_is_the_reciprocal_companion(ratio):
    population, weights = np.asarray([0.5, 3.0]), np.asarray([0.6, 0.4])
    for ridge in (0.01, 0.4, 7.0):
        # The equation of the companion transform by bracketing, and its slope by differences.
        def companion(z):
            return scipy.optimize.brentq(
                lambda v: self_consistent.silverstein_inverse(v, population, weights, ratio) + z, 1e-6, 1e6, xtol=1e-15
            )

        value, slope = self_consistent.effective_ridge(ridge, population, weights, ratio)
        assert value == pytest.approx(1 / companion(ridge), rel=1e-9)
        step = 1e-4 * ridge
        change = 1 / companion(ridge + step) - 1 / companion(ridge - step)
        assert slope == pytest.approx(change / (2 * step), rel=1e-6)
    # A null direction changes what counts as a dimension and nothing else.
    padded = self_consistent.effective_ridge(0.4, [0, 0.5, 3], [0.5, 0.3, 0.2], 2 * ratio)
    np.testing.assert_allclose(padded, self_consistent.effective_ridge(0.4, population, weights, ratio), rtol=1e-13)
    # Without ridge: nothing up to as many dimensions as samples, and beyond the root of a Σ wt/(t + κ) = 1.
    value, _ = self_consistent.effective_ridge([0.0, 1e-14], population, weights, ratio)
    if ratio > 1:
        assert ratio * (weights * population / (population + value[0])).sum() == pytest.approx(1, rel=1e-12)
    else:
        assert value[0] == 0
    assert value[1] == pytest.approx(value[0], abs=1e-6)
    with pytest.raises(ValueError, match="ridge"):
        self_consistent.effective_ridge(-1.0, population, weights, ratio)
    with pytest.raises(ValueError, match="weights"):
        self_consistent.effective_ridge(1.0, population, 2 * weights, ratio)


def test_numbers_of_every_kind():
    one = np.asarray([0.5, 1.0])
    within = [partial(law, size=3) for law in (semicircle.ginibre_radius_cdf, semicircle.ginibre_largest_cdf)]
    for law in (semicircle.semicircle_pdf, semicircle.semicircle_cdf, semicircle.circular_radius_cdf, *within):
        np.testing.assert_array_equal(law([0.5, 1]), law(one))
        assert law(0.5) == law(one)[0]
        assert law(1) == law(np.asarray([1]))[0] == law(one)[1]
    assert semicircle.circular_radius_cdf(-0.5) == 0
    assert semicircle.circular_radius_cdf(1.05) == 1
    assert semicircle.semicircle_stieltjes([1j, 2])[1] == semicircle.semicircle_stieltjes(2)
    assert stieltjes_transform([1, 2], 1j) == stieltjes_transform(np.asarray([1.0, 2.0]), np.asarray(1j))
    assert marchenko_pastur_stieltjes([-1], 0.5)[0] == marchenko_pastur_stieltjes(-1.0, 0.5)
    assert self_consistent.general_pdf(1, [1, 2], [0.5, 0.5], 0.5) > 0
    assert edges.tracy_widom_cdf(-12) == pytest.approx(0, abs=1e-30)
    assert np.all(edges.tracy_widom_cdf(np.linspace(-14, -9, 30)) >= 0)


def test_one_population_eigenvalue_is_marchenko_pastur():
    one = np.asarray([1.7]), np.ones(1)
    for ratio in (0.3, 2.0):
        found = self_consistent.general_edges(*one, ratio)
        np.testing.assert_allclose(found, [marchenko_pastur_edges(ratio, 1.7)], rtol=1e-9)
        x = np.linspace(*found[0], 9)[1:-1]
        np.testing.assert_allclose(
            self_consistent.general_pdf(x, *one, ratio), marchenko_pastur_pdf(x, ratio, 1.7), rtol=1e-9
        )
    with pytest.raises(ValueError, match="half plane"):
        self_consistent.general_stieltjes(np.asarray([1.0]), *one, 0.5)
    with pytest.raises(ValueError, match="add up"):
        self_consistent.general_edges(np.ones(2), np.ones(2), 0.5)


def test_general_population_of_a_drawn_spectrum(key):
    population, weights = np.asarray([1.0, 6.0]), np.asarray([0.5, 0.5])
    x = np.random.default_rng(0).standard_normal((200, 800)) * np.repeat(population, 100)[:, None] ** 0.5
    values = sample_covariance_eigenvalues(x)
    z = np.asarray([1.0 + 0.3j, 5 + 1j])
    predicted = self_consistent.general_stieltjes(z, population, weights, 0.25)
    np.testing.assert_allclose(stieltjes_transform(values, z), predicted, atol=0.02)


def test_free_cumulants_and_convolutions():
    catalan = [semicircle.semicircle_moment(k) for k in range(1, 9)]
    assert free_convolution.free_cumulants(catalan) == [0, 1, 0, 0, 0, 0, 0, 0]
    ratio = Fraction(2, 3)
    law = [marchenko_pastur_moment(k, ratio) for k in range(1, 8)]
    assert free_convolution.free_cumulants(law) == [ratio**k for k in range(7)]
    assert free_convolution.moments_of_free_cumulants(free_convolution.free_cumulants(law)) == law
    half = [Fraction(1, 2)] * 5
    arcsine = [Fraction(math.comb(2 * k, k), 2**k) for k in range(1, 6)]
    assert free_convolution.free_additive_moments(half, half) == arcsine
    # A population times Marchenko–Pastur: the moments of Silverstein's law, m₂ + a m₁² and m₃ + 3a m₁m₂ + a² m₁³.
    people = [Fraction(1, 2) * (1 + 3**k) for k in range(1, 4)]
    found = free_convolution.free_multiplicative_moments(people, law[:3])
    first, second, third = people
    assert found == [first, second + ratio * first**2, third + 3 * ratio * first * second + ratio**2 * first**3]
    with pytest.raises(ValueError, match="means"):
        free_convolution.free_multiplicative_moments([0, 1], [1, 2])
    for combine in (free_convolution.free_additive_moments, free_convolution.free_multiplicative_moments):
        with pytest.raises(ValueError, match="same number of moments, not 2 and 1"):
            combine([1, 2], [1])


def test_subordination():
    z = np.asarray([0.5 + 0.5j, 2 + 0.3j])
    two = free_convolution.free_additive_stieltjes(
        z, lambda w: semicircle.semicircle_stieltjes(w, 1.0), lambda w: semicircle.semicircle_stieltjes(w, 0.5)
    )
    np.testing.assert_allclose(two, semicircle.semicircle_stieltjes(z, 1.5), rtol=1e-10)
    population, weights = np.asarray([1.0, 3.0]), np.asarray([0.4, 0.6])
    product = free_convolution.free_multiplicative_stieltjes(
        z, lambda w: stieltjes_transform(population, w, weights), lambda w: marchenko_pastur_stieltjes(w, 0.5)
    )
    np.testing.assert_allclose(product, self_consistent.general_stieltjes(z, population, weights, 0.5), rtol=1e-10)
    with pytest.raises(ArithmeticError, match="fixed point"):
        free_convolution.free_additive_stieltjes(
            z - 0.2999j, *[lambda w: stieltjes_transform(np.asarray([0.0, 1.0]), w)] * 2, steps=3
        )


def test_tracy_widom_published_values():
    # Bornemann (2010) for F₂(−2); means and variances of both laws from the same tables.
    assert edges.tracy_widom_cdf(-2.0, symmetry=2) == pytest.approx(0.413224142505120, rel=1e-10)
    x = np.linspace(-7, 5, 400)
    for symmetry, centre, spread in ((1, -1.2065335746, 1.6077810346), (2, -1.7710868074, 0.8131947928)):
        density = np.gradient(np.asarray(edges.tracy_widom_cdf(x, symmetry=symmetry)), x)
        mean = np.trapezoid(x * density, x)
        assert mean == pytest.approx(centre, abs=2e-3)
        assert np.trapezoid(x**2 * density, x) - mean**2 == pytest.approx(spread, abs=1e-2)
    with pytest.raises(ValueError, match="symmetry"):
        edges.tracy_widom_cdf(0.0, symmetry=4)


def test_scaling_of_the_smallest_eigenvalue_as_published():
    # Ma (2012) in forty digits; at fixed ratio the width tends to what the density at the edge gives.
    for dimension, samples in ((1, 2), (16, 64), (40, 50)):
        with mpmath.workdps(40):
            wide, narrow = (mpmath.sqrt(mpmath.mpf(2 * count - 1) / 2) for count in (samples, dimension))
            location = (wide - narrow) ** 2
            width = (wide - narrow) * mpmath.cbrt(1 / narrow - 1 / wide)
            centre = mpmath.log(location / samples) + (width / location) ** 2 / 8
            expected = float(centre), float(width / location)
        assert edges.smallest_eigenvalue_scaling(dimension, samples) == pytest.approx(expected, rel=1e-12)
    low, high = marchenko_pastur_edges(0.25)
    rise = (high - low) ** 0.5 / (2 * np.pi * 0.25 * low)
    limit = (np.pi * rise * 10**9) ** (-2 / 3)
    assert low * edges.smallest_eigenvalue_scaling(10**9, 4 * 10**9)[1] == pytest.approx(limit, rel=1e-7)


@pytest.mark.item("J7.5")
def test_smallest_eigenvalue_follows_tracy_widom():
    x = np.random.default_rng(1).standard_normal((2000, 16, 64))
    centre, scale = edges.smallest_eigenvalue_scaling(16, 64)
    ranks = np.sort(edges.tracy_widom_cdf((centre - np.log(sample_covariance_eigenvalues(x)[:, 0])) / scale))
    assert abs(ranks - (np.arange(2000) + 0.5) / 2000).max() < 0.06
    with pytest.raises(ValueError, match="dimension"):
        edges.smallest_eigenvalue_scaling(5, 5)


@pytest.mark.item("L13.6")
def test_hard_edge_density():
    # Edelman's density (1 + √x)/(2√x) e^{−x/2−√x} of n λ_min(XᵀX).
    for x in (0.1, 1.0, 4.0):
        mass = scipy.integrate.quad(lambda r: (1 + r) * np.exp(-(r**2) / 2 - r), 0, x**0.5)[0]
        assert edges.hard_edge_cdf(x) == pytest.approx(mass)
    np.testing.assert_array_equal(edges.hard_edge_cdf([-1, 0]), 0)


def test_spiked_models(key):
    x = spiked.spiked_covariance_data(key, 300, 600, 3.0)[0]
    values, vectors = np.linalg.eigh(x @ x.T / 600)
    assert values[-1] == pytest.approx(float(spiked.spiked_covariance_eigenvalue(3.0, 0.5)), rel=0.1)
    assert vectors[0, -1] ** 2 == pytest.approx(float(spiked.spiked_covariance_overlap(3.0, 0.5)), abs=0.1)
    values, vectors = np.linalg.eigh(spiked.spiked_wigner_matrix(key, 300, 2.0)[0])
    assert values[-1] == pytest.approx(float(spiked.spiked_wigner_eigenvalue(2.0)), rel=0.1)
    assert vectors[:, -1].sum() ** 2 / 300 == pytest.approx(float(spiked.spiked_wigner_overlap(2.0)), abs=0.1)
    assert spiked.spiked_covariance_eigenvalue(0.1, 0.5) == pytest.approx(float(marchenko_pastur_edges(0.5)[1]))
    assert spiked.spiked_wigner_overlap(0.9) == 0
    np.testing.assert_allclose(spiked.spiked_wigner_eigenvalue(np.asarray([0.2, 1.0, 1.2])), [2, 2, 1.2 + 1 / 1.2])
    assert spiked.spiked_covariance_threshold(0.25) == 0.5
    with pytest.raises(ValueError, match="strength"):
        spiked.spiked_wigner_eigenvalue(-1.0)


@pytest.mark.item("J6.2")
def test_bulk_at_the_proportions_of_cifar():
    np.testing.assert_allclose(marchenko_pastur_edges(1000 / 50_000), [0.737, 1.303], atol=5e-4)
    np.testing.assert_allclose(marchenko_pastur_edges(3072 / 50_000), [0.566, 1.557], atol=5e-4)


@pytest.mark.item("J7.2")
def test_pseudo_inverse():
    draw = np.random.default_rng(0)
    for shape in ((4, 6), (6, 4)):
        matrix = draw.standard_normal(shape)
        matrix[:, 0] = matrix[:, 1]
        np.testing.assert_allclose(pseudo_inverse(matrix), np.linalg.pinv(matrix), atol=1e-12)
        limit = pseudo_inverse(matrix @ matrix.T) @ matrix
        np.testing.assert_allclose(ridge_path.ridge_inverse(matrix, 1e-8), limit, atol=1e-5)
    # A small singular value is not a zero one.
    np.testing.assert_allclose(pseudo_inverse(np.diag([1.0, 1e-9, 0.0])), np.diag([1.0, 1e9, 0.0]))


@pytest.mark.item("J7.8", "J7.9")
def test_ridge_path_by_dense_solves():
    draw = np.random.default_rng(2)
    x, beta, ridge = draw.standard_normal((7, 5)), draw.standard_normal(7), np.asarray([0.1, 1.0])
    covariance = x @ x.T / 5
    values, vectors = np.linalg.eigh(covariance)
    seen = beta @ vectors
    direct = [beta @ np.linalg.solve(covariance + z * np.eye(7), beta) for z in ridge]
    np.testing.assert_allclose(ridge_path.bilinear_resolvent(values, seen, ridge), direct, rtol=1e-11)
    np.testing.assert_allclose(ridge_path.ridge_bias(values, seen, ridge), ridge * direct, rtol=1e-11)
    step = 1e-6
    change = ridge_path.ridge_bias(values, seen, ridge + step) - ridge_path.ridge_bias(values, seen, ridge - step)
    np.testing.assert_allclose(ridge_path.ridge_bias_slope(values, seen, ridge), change / (2 * step), rtol=1e-6)
    bound = ridge_path.ridge_bias_slope_bound(values[2], values[-1], ridge, beta @ beta)
    assert np.all(change / (2 * step) <= bound)
    np.testing.assert_allclose(ridge_path.ridge_bias_limit(np.asarray([0.0, 1e-10]), 4.0, 2.0), 1.5, rtol=1e-6)
    # At γ = 1/2 and z = 1: (−3/2 + √(9/4 + 2))/1.
    assert ridge_path.ridge_bias_limit(np.ones(1), 0.5)[0] == pytest.approx(-1.5 + 4.25**0.5)


def test_pivots_find_the_smallest_eigenvalue(key):
    # In one dimension the matrix is a chi-square variable; in three, matrices themselves are drawn beside the pivots.
    count = 20_000
    below = edges.wishart_eigenvalue_below(key, 1, 5, 0.8, count)
    assert below.mean() == pytest.approx(scipy.special.gammainc(2.5, 2.0), abs=5 * 0.5 / count**0.5)
    x = np.random.default_rng(0).standard_normal((count, 3, 7))
    direct = (np.linalg.eigvalsh(x @ np.swapaxes(x, 1, 2) / 7)[:, 0] < 0.15).mean()
    found = edges.wishart_eigenvalue_below(key, 3, 7, 0.15, count).mean()
    assert found == pytest.approx(direct, abs=5 * (2 * direct * (1 - direct) / count) ** 0.5)
    assert not edges.wishart_eigenvalue_below(key, 4, 4, -0.1, 100).any()
    with pytest.raises(ValueError, match="dimension ≤ samples, not 6 and 5"):
        edges.wishart_eigenvalue_below(key, 6, 5, 0.1, 3)


@pytest.mark.parametrize("ratio", [1e-3, 1e-9, 1e-14])
def test_few_features_per_sample_leave_the_population(ratio):
    """The transform is that of the population up to a first order in the ratio, which is known too."""
    population, weights, z = np.array([0.5, 2.0]), np.array([0.4, 0.6]), 0.3 + 0.7j
    plain = weights / (population - z)
    # S = Σ w/(t(1 − a − azS) − z), to first order in a.
    first = (weights * population * (1 + z * plain.sum()) / (population - z) ** 2).sum()
    found = self_consistent.general_stieltjes(z, population, weights, ratio)
    assert abs(found - plain.sum() - ratio * first) < 10 * ratio**2 + 1e-15


def test_intervals_too_narrow_for_floating_point_are_refused():
    with pytest.raises(ValueError, match=r"ratio must lie in \[1e-16, ∞\), got 1e-20"):
        self_consistent.general_edges(np.array([0.5, 2.0]), np.array([0.4, 0.6]), 1e-20)
