"""The Marchenko–Pastur law against quadrature, forty digits and drawn spectra."""

import jax
import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from deeptheory.spectra import marchenko_pastur as mp
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

pytestmark = pytest.mark.slow

RATIOS = (0.01, 0.25, 0.9, 1.0, 1.7, 4.0)


def integrate(function, ratio, variance=1.0, upto=None):
    """Integrate against the density, √((λ₊ − x)(x − λ₋))/(2π s² a x), by mapping its square-root ends away."""
    low, high = mp.marchenko_pastur_edges(ratio, variance)
    middle, radius = (low + high) / 2, (high - low) / 2
    end = np.pi if upto is None else np.arccos(np.clip((middle - upto) / radius, -1, 1))

    def integrand(angle):
        # (λ₊ − x)(x − λ₋) = (radius sin)², and x − λ₋ = 2 radius sin²(angle/2).
        x = low + 2 * radius * np.sin(angle / 2) ** 2
        return function(x) * (radius * np.sin(angle)) ** 2 / (2 * np.pi * variance * ratio * x)

    return scipy.integrate.quad(integrand, 0, end, epsabs=1e-12, epsrel=1e-12, limit=200)[0]


@pytest.mark.item("J6.4")
@pytest.mark.parametrize("ratio", RATIOS)
def test_mass_cdf_and_moments_by_quadrature(ratio):
    variance = 1.7
    assert integrate(lambda x: 1.0, ratio, variance) == pytest.approx(min(1, 1 / ratio), abs=1e-11)
    low, high = mp.marchenko_pastur_edges(ratio, variance)
    points = np.linspace(low, high, 9)
    expected = [mp.marchenko_pastur_atom(ratio) + integrate(lambda x: 1.0, ratio, variance, x) for x in points]
    np.testing.assert_allclose(mp.marchenko_pastur_cdf(points, ratio, variance), expected, atol=1e-11)
    for order in range(1, 7):
        assert mp.marchenko_pastur_moment(order, ratio, variance) == pytest.approx(
            integrate(lambda x, k=order: x**k, ratio, variance), rel=1e-11
        )


@pytest.mark.parametrize("ratio", RATIOS)
def test_pdf_is_the_derivative_of_the_cdf(ratio):
    low, high = mp.marchenko_pastur_edges(ratio)
    x = np.linspace(low + 0.05 * (high - low), high, 30, endpoint=False)
    slope = jax.vmap(jax.grad(mp.marchenko_pastur_cdf), (0, None))(x, ratio)
    np.testing.assert_allclose(mp.marchenko_pastur_pdf(x, ratio), slope, rtol=1e-8)
    outside = np.array([-1.0, low - 1e-3, high + 1e-3])
    np.testing.assert_array_equal(mp.marchenko_pastur_pdf(outside, ratio), 0)


@pytest.mark.parametrize("ratio", RATIOS)
def test_quantiles_invert_the_cdf(ratio):
    atom = float(mp.marchenko_pastur_atom(ratio))
    probabilities = atom + (1 - atom) * np.linspace(0.001, 0.999, 41)
    points = mp.marchenko_pastur_quantile(probabilities, ratio, 2.0)
    np.testing.assert_allclose(mp.marchenko_pastur_cdf(points, ratio, 2.0), probabilities, atol=1e-12)
    if atom:
        assert mp.marchenko_pastur_quantile(np.array(atom / 2), ratio) == 0


def exact_cdf(x, ratio):
    """The distribution function to forty digits, in the angle; an independent implementation with arctan2."""
    with mpmath.workdps(40):
        ratio, x = mpmath.mpf(ratio), mpmath.mpf(x)
        cosine = (1 + ratio - x) / (2 * mpmath.sqrt(ratio))
        angle = mpmath.acos(max(min(cosine, mpmath.mpf(1)), mpmath.mpf(-1)))
        root = min(mpmath.sqrt(ratio), 1 / mpmath.sqrt(ratio))
        lag = mpmath.atan2(root * mpmath.sin(angle), 1 - root * mpmath.cos(angle))
        mass = (angle + mpmath.sin(angle) / root - (1 / root**2 - 1) * lag) / mpmath.pi
        return mass * min(mpmath.mpf(1), 1 / ratio), max(mpmath.mpf(0), 1 - 1 / ratio)


@pytest.mark.parametrize("ratio", (0.1, 0.999, 1.0, 4.0))
def test_accuracy_towards_the_edges(ratio):
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    ends = np.geomspace(1e-6, 0.5, 20)
    points = low + (high - low) * np.concatenate([ends, 1 - ends])
    found = np.asarray(mp.marchenko_pastur_cdf(points, ratio))
    exact = [exact_cdf(x, ratio) for x in points]
    np.testing.assert_allclose(found, [float(sum(pair)) for pair in exact], rtol=0, atol=1e-15)
    if ratio < 1:  # near the lower edge the small mass itself is right, up to the rounding of the point's distance
        near = slice(0, 12)
        np.testing.assert_allclose(found[near], [float(mass) for mass, _ in exact[near]], rtol=1e-8)
    atom = max(0.0, 1 - 1 / ratio)
    levels = atom + (1 - atom) * np.concatenate([np.geomspace(1e-12, 0.5, 20), 1 - np.geomspace(1e-12, 0.5, 20)])
    back = [float(sum(exact_cdf(x, ratio))) for x in np.asarray(mp.marchenko_pastur_quantile(levels, ratio))]
    np.testing.assert_allclose(back, levels, rtol=0, atol=2e-15)


def exact_quantile(probability, ratio):
    """Bisection in the angle with fifty digits, for ratios up to one."""
    with mpmath.workdps(50):
        ratio, root = mpmath.mpf(ratio), mpmath.sqrt(mpmath.mpf(ratio))

        def mass(angle):
            lag = mpmath.atan2(root * mpmath.sin(angle), 1 - root * mpmath.cos(angle))
            return (angle + mpmath.sin(angle) / root - (1 / ratio - 1) * lag) / mpmath.pi

        low, high = mpmath.mpf(0), mpmath.pi
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if mass(middle) < probability else (low, middle)
        return float((1 - root) ** 2 + 4 * root * mpmath.sin(low / 2) ** 2)


@pytest.mark.parametrize("ratio", (0.5, 0.99999, 0.999999, 1 - 1e-9, 1.0))
def test_quantiles_near_the_square_case(ratio):
    # The mass turns from the cube of the angle to the angle itself at an angle of 1 − √a, however small that is.
    levels = np.geomspace(1e-14, 0.5, 12)
    exact = [exact_quantile(p, ratio) for p in levels]
    np.testing.assert_allclose(mp.marchenko_pastur_quantile(levels, ratio), exact, rtol=1e-11)


def test_numbers_of_every_kind():
    for law in (mp.marchenko_pastur_pdf, mp.marchenko_pastur_cdf):
        np.testing.assert_array_equal(law(np.array([1, 2]), 0.5), law(np.array([1.0, 2.0]), 0.5))
        np.testing.assert_array_equal(law([1, 2.0], 0.5), law(np.array([1.0, 2.0]), 0.5))
        assert law(1, 0.5) == law(np.int64(1), 0.5) == law(jax.numpy.asarray(1), 0.5) == law(np.array(1.0), 0.5) > 0
    assert mp.marchenko_pastur_quantile([0, 1], 0.25).tolist() == [0.25, 2.25]
    with pytest.raises(ValueError, match="one number"):
        mp._check(np.asarray([0.5, 1.0]), 1.0)


def test_slopes_outside_and_at_the_edges():
    for ratio in (0.25, 1.0, 4.0):
        low, high = map(float, mp.marchenko_pastur_edges(ratio))
        points = np.array([-1.0, 0.0, low, high, high + 1])
        slopes = jax.vmap(jax.grad(mp.marchenko_pastur_cdf), (0, None))(points, ratio)
        np.testing.assert_array_equal(slopes, 0)
    steep = jax.grad(mp.marchenko_pastur_quantile)(0.3, 0.5)
    assert steep == pytest.approx(1 / float(mp.marchenko_pastur_pdf(mp.marchenko_pastur_quantile(0.3, 0.5), 0.5)))


@pytest.mark.parametrize("ratio", RATIOS)
def test_gauss_nodes_give_moments_and_transforms(ratio):
    points, weights = mp.marchenko_pastur_nodes(ratio, 1.3, count=60)
    for order in range(6):
        exact = mp.marchenko_pastur_moment(order, ratio, 1.3)
        assert weights @ points**order == pytest.approx(exact, rel=1e-12)
    transform = marchenko_pastur_stieltjes(-0.5, ratio, 1.3)
    assert weights @ (1 / (points + 0.5)) == pytest.approx(float(transform.real), rel=1e-11)
    assert weights[points == 0].sum() == pytest.approx(float(mp.marchenko_pastur_atom(ratio)), abs=1e-15)
    with pytest.raises(ValueError, match="count"):
        mp.marchenko_pastur_nodes(ratio, count=0)


@pytest.mark.parametrize("z", [-1e9, 1e9, 1e9j])
def test_far_from_the_bulk_the_transform_keeps_its_digits(z):
    moments = [mp.marchenko_pastur_moment(order, 0.4, 1.3) for order in range(3)]
    expected = -sum(moment / z ** (order + 1) for order, moment in enumerate(moments))
    assert complex(marchenko_pastur_stieltjes(z, 0.4, 1.3)) == pytest.approx(expected, rel=1e-14)


def test_cdf_ends_and_small_ratio():
    assert mp.marchenko_pastur_cdf(np.array([-1.0, 0.0, 20.0]), 4.0).tolist() == [0, 0.75, 1]
    # As the ratio falls the law becomes a semicircle around one; the mass below one tends to a half like √a.
    assert mp.marchenko_pastur_cdf(np.array(1.0), 1e-8) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.item("J6.5")
@pytest.mark.parametrize("entries", ("gaussian", "rademacher", "uniform"))
@pytest.mark.parametrize("alpha", (0.5, 2, 4))
def test_spectra_are_rigidly_close_to_the_reciprocal_ratio(key, alpha, entries):
    x = draw_entries(key, (400, int(400 * alpha)), entries)
    values = sample_covariance_eigenvalues(x)
    assert mp.spectral_distance(values, 1 / alpha) < 0.012
    assert mp.spectral_distance(values, alpha) > 0.2
    assert np.mean(values < 1e-9) == max(0, 1 - alpha)
    assert values[-1] == pytest.approx((1 + alpha**-0.5) ** 2, rel=0.05)


def test_eigenvalues_of_wide_and_tall_data_and_distance(key):
    x = draw_entries(key, (3, 6, 4))
    direct = np.linalg.eigvalsh(x @ x.transpose(0, 2, 1) / 4)
    np.testing.assert_allclose(sample_covariance_eigenvalues(x), direct, atol=1e-12)
    values = mp.marchenko_pastur_quantile((np.arange(50) + 0.5) / 50, 0.5)
    assert mp.spectral_distance(np.asarray(values), 0.5) == pytest.approx(0.01)


@pytest.mark.item("J6.5")
@pytest.mark.parametrize("ahead", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_distance_is_two_sided(key, ahead):
    # Eigenvalue i at the quantile (i + ahead)/n: the counting function leads by 1 − ahead and lags by ahead, over n.
    values = np.asarray(mp.marchenko_pastur_quantile((np.arange(40) + ahead) / 40, 0.5, 1.3))
    assert mp.spectral_distance(values, 0.5, 1.3) == pytest.approx(max(ahead, 1 - ahead) / 40, abs=1e-12)
    drawn = np.sort(draw_entries(key, (40,), "uniform") + ahead + 0.7)
    direct = scipy.stats.kstest(drawn, lambda x: np.asarray(mp.marchenko_pastur_cdf(x, 0.5))).statistic
    assert mp.spectral_distance(drawn, 0.5) == pytest.approx(direct, rel=1e-12)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="ratio"):
        mp.marchenko_pastur_edges(0.0)


def test_no_number_and_no_probability_are_refused():
    with pytest.raises(ValueError, match="x must not be nan"):
        mp.marchenko_pastur_cdf(np.nan, 0.5)
    with pytest.raises(ValueError, match=r"probability must lie in \[0, 1\]"):
        mp.marchenko_pastur_quantile(1.5, 0.5)
