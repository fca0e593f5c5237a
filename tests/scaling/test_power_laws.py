"""Fits of scaling laws beside SciPy's least squares, on exact data, and their intervals by simulation."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import t as student

from deeptheory.scaling.power_laws import (
    ScalingLaw,
    exponent_interval,
    fit_scaling_law,
    floor_interval,
    loss_at,
    predicted_interval,
)

SIZES = 10.0 ** np.linspace(2, 5, 9)
PAIRS = np.array([(n, d) for n in 10.0 ** np.linspace(6, 9, 5) for d in 10.0 ** np.linspace(8, 11, 5)])
LAW = ScalingLaw(np.array(1.69), np.array([406.4, 410.7]), np.array([0.34, 0.28]))


@pytest.mark.item("A15.11", "H13.6")
def test_exact_losses_give_their_constants_back():
    found = fit_scaling_law(SIZES, 0.7 + 5 * SIZES**-0.4).law
    assert (found.floor, found.coefficients[0], found.exponents[0]) == pytest.approx((0.7, 5, 0.4), rel=1e-8)
    pure = fit_scaling_law(SIZES, 5 * SIZES**-0.4, floor=False).law
    assert (pure.floor, pure.coefficients[0], pure.exponents[0]) == pytest.approx((0, 5, 0.4), rel=1e-10)
    both = fit_scaling_law(PAIRS, loss_at(LAW, *PAIRS.T)).law
    for ours, true in zip(both, LAW, strict=True):
        np.testing.assert_allclose(ours, true, rtol=1e-6)


@pytest.mark.item("A15.11")
@pytest.mark.parametrize("huber", [None, 0.01])
def test_noisy_fits_and_covariances_as_scipy_finds_them(huber):
    rng = np.random.default_rng(0)
    losses = (0.7 + 5 * SIZES**-0.4) * np.exp(0.01 * rng.standard_normal((3, len(SIZES))))
    ours = fit_scaling_law(SIZES, losses, huber=huber)
    for i, row in enumerate(losses):

        def left(theta, row=row):
            return np.log(theta[0] + np.exp(theta[1] - theta[2] * np.log(SIZES))) - np.log(row)

        settings = dict(loss="huber", f_scale=huber) if huber else {}
        theirs = least_squares(left, [0.6, 1.5, 0.5], xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac", **settings)
        law = ours.law
        np.testing.assert_allclose([law.floor[i], law.exponents[i, 0]], theirs.x[[0, 2]], rtol=1e-5)
        assert law.coefficients[i, 0] == pytest.approx(np.exp(theirs.x[1]), rel=1e-4)
        if huber is None:
            jacobian, freedom = theirs.jac, len(SIZES) - 3
            covariance = np.linalg.inv(jacobian.T @ jacobian) * (theirs.fun**2).sum() / freedom
            np.testing.assert_allclose(ours.covariance[i], covariance, rtol=1e-3)
            low, high = exponent_interval(ours)
            wide = student.ppf(0.975, freedom) * np.sqrt(covariance[2, 2])
            assert high[i, 0] - low[i, 0] == pytest.approx(2 * wide, rel=1e-3)


def test_huber_ignores_a_run_that_went_wrong():
    losses = 0.7 + 5 * SIZES**-0.4
    spoilt = np.where(np.arange(len(SIZES)) == 4, 1.3 * losses, losses)
    robust, plain = (fit_scaling_law(SIZES, spoilt, huber=huber).law.exponents[0] for huber in (0.001, None))
    assert abs(robust - 0.4) < 0.02 < abs(plain - 0.4)


@pytest.mark.item("H13.6")
def test_known_errors_give_normal_intervals_of_the_right_width():
    rng = np.random.default_rng(1)
    true, spread = 0.7 + 5 * SIZES**-0.4, 0.003 * SIZES**-0.1
    losses = true + spread * rng.standard_normal((4000, len(SIZES)))
    fit = fit_scaling_law(SIZES, losses, errors=np.broadcast_to(spread, losses.shape))
    assert np.isinf(fit.freedom)
    low, high = predicted_interval(fit, 4e5)
    truth = 0.7 + 5 * 4e5**-0.4
    assert np.mean((low < truth) & (high > truth)) == pytest.approx(0.95, abs=0.02)
    low, high = floor_interval(fit, level=0.8)
    assert np.mean((low < 0.7) & (high > 0.7)) == pytest.approx(0.8, abs=0.035)


@pytest.mark.item("H13.6")
def test_pure_power_law_on_losses_with_a_floor_is_over_optimistic():
    losses = 0.7 + 5 * SIZES**-0.4
    pure = fit_scaling_law(SIZES, losses, floor=False)
    assert pure.law.exponents[0] < 0.25 and predicted_interval(pure, 1e8)[1] < 0.7


@pytest.mark.parametrize(
    ("sizes", "losses", "says"),
    [
        (SIZES[:3], np.array([3.0, 2.0, 1.5]), "more than 3 sizes"),
        (SIZES, -np.ones(9), "losses must be positive"),
        (np.ones(9), np.ones(9), "sizes must differ"),
        (SIZES, 1 + SIZES, "no positive power law"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sizes, losses, says):
    with pytest.raises(ValueError, match=says):
        fit_scaling_law(sizes, losses)
    with pytest.raises(ValueError, match="each of the 2 terms"):
        loss_at(LAW, 1e9)


@pytest.mark.parametrize("unit", [1e-150, 1e-20, 1e20, 1e150])
def test_a_fit_does_not_depend_on_the_unit_of_the_losses(unit):
    sizes = np.geomspace(1e3, 1e8, 8)
    losses = (1 + 3 * sizes**-0.4) * np.exp(0.01 * np.sin(np.arange(8.0)))
    one, other = fit_scaling_law(sizes, losses), fit_scaling_law(sizes, losses * unit)
    np.testing.assert_allclose(other.law.floor / unit, one.law.floor, rtol=1e-8)
    np.testing.assert_allclose(other.law.coefficients / unit, one.law.coefficients, rtol=1e-8)
    np.testing.assert_allclose(other.law.exponents, one.law.exponents, rtol=1e-8)
    np.testing.assert_allclose(other.covariance[1:, 1:], one.covariance[1:, 1:], rtol=1e-6)
    np.testing.assert_allclose(other.covariance[0] / [unit, 1, 1] / unit, one.covariance[0], rtol=1e-6)
