"""Ridge risks against solved designs, numerical minimisation, integrals over the spectrum and exact small laws."""

import mpmath
import numpy as np
import pytest
import scipy.optimize

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import ridge_risk
from deeptheory.generalization.interpolation.ridgeless import limiting_bias_variance
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_pdf


@pytest.mark.parametrize(("gamma", "ridge"), [(0.4, 0.3), (1.0, 0.05), (2.5, 1.0)])
def test_limiting_risk_is_an_integral_over_the_spectrum(gamma, ridge):
    low, high = (float(edge) for edge in marchenko_pastur_edges(gamma))
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    density = np.asarray(marchenko_pastur_pdf(x, gamma)) * (high - low) / 2 * np.sin(angle) * np.pi / 4000
    atom = max(0.0, 1 - 1 / gamma)
    bias = 2.0 * (atom + np.sum(density * (ridge / (x + ridge)) ** 2))
    variance = 0.3 * gamma * np.sum(density * x / (x + ridge) ** 2)
    found = ridge_risk.limiting_ridge_bias_variance(gamma, ridge, signal=2.0, noise=0.3)
    np.testing.assert_allclose([found.bias, found.variance], [bias, variance], rtol=1e-5)


@pytest.mark.item("H13.4")
@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0])
def test_optimal_ridge_by_numerical_minimisation(gamma):
    def risk(log_ridge):
        found = ridge_risk.limiting_ridge_bias_variance(gamma, np.exp(log_ridge), signal=2.0, noise=0.3)
        return float(found.risk)

    best = scipy.optimize.minimize_scalar(risk, bounds=(-8, 5), method="bounded", options={"xatol": 1e-9})
    assert ridge_risk.optimal_ridge_risk(gamma, signal=2.0, noise=0.3) == pytest.approx(best.fun, rel=1e-9)
    assert ridge_risk.optimal_ridge(gamma, signal=2.0, noise=0.3) == pytest.approx(np.exp(best.x), rel=1e-4)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_vanishing_ridge_is_ridgeless(gamma):
    found = ridge_risk.limiting_ridge_bias_variance(gamma, 1e-7, signal=2.0, noise=0.3)
    np.testing.assert_allclose(found, limiting_bias_variance(gamma, signal=2.0, noise=0.3), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
def test_average_risk_of_a_design(key, shape):
    design = generator(key).standard_normal(shape)
    features = shape[1]
    for penalty in (0.7, features * 0.3 / 2.0):
        inverse = np.linalg.inv(design.T @ design + penalty * np.eye(features))
        operator = inverse @ design.T
        bias = 2.0 / features * np.sum((operator @ design - np.eye(features)) ** 2)
        expected = bias + 0.3 * np.sum(operator**2)
        singular = np.linalg.svd(design, compute_uv=False)
        found = ridge_risk.average_ridge_risk(singular, features, penalty, signal=2.0, noise=0.3)
        assert found == pytest.approx(expected)
    assert found == pytest.approx(0.3 * np.trace(inverse))  # the last penalty is the optimal one


@pytest.mark.item("H13.3")
@pytest.mark.parametrize("features", [5, 12, 60])
def test_mean_norm_of_the_least_interpolant(key, features):
    draw = generator(key)
    beta = np.ones(60) / 60**0.5
    squares = []
    for _ in range(1500):
        x = draw.standard_normal((24, 60))
        y = x @ beta + 0.5 * draw.standard_normal(24)
        squares.append(np.sum(np.linalg.lstsq(x[:, :features], y)[0] ** 2))
    share = features / 60
    expected = ridge_risk.gaussian_norm_square(24, features, inside=share, outside=1 - share, noise=0.25)
    assert abs(np.mean(squares) - expected) < 5 * np.std(squares) / 1500**0.5


@pytest.mark.item("J5.11", "J7.10")
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_double_descent_curve_against_simulated_designs(key, gamma):
    draw = generator(key)
    samples, features = 120, round(120 * gamma)
    errors = []
    for _ in range(40):
        x, beta = draw.standard_normal((samples, features)), draw.standard_normal(features) / features**0.5
        y = x @ beta + 0.5 * draw.standard_normal(samples)
        errors.append(np.sum((np.linalg.lstsq(x, y)[0] - beta) ** 2))
    limit = float(limiting_bias_variance(gamma, signal=1.0, noise=0.25).risk)
    assert abs(np.mean(errors) - limit) < 5 * np.std(errors) / 40**0.5 + limit * 3 / samples


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="ridge"):
        ridge_risk.limiting_ridge_bias_variance(0.5, 0.0, signal=1.0, noise=1.0)


def test_tuned_risk_of_few_columns_keeps_its_digits():
    """s²γ(1 − …) as γ → 0, where the two terms of the printed root agree in all digits."""
    for gamma in (1e-250, 1e-12, 1e-6):
        with mpmath.workdps(600):
            offset = 2 * (1 - 1 / mpmath.mpf(gamma)) - mpmath.mpf(0.3)
            expected = float((offset + mpmath.sqrt(offset**2 + 8 * mpmath.mpf(0.3))) / 2)
        assert ridge_risk.optimal_ridge_risk(gamma, signal=2.0, noise=0.3) == pytest.approx(expected, rel=1e-13)
    assert ridge_risk.optimal_ridge_risk(1.0, signal=1.0, noise=0.0) == 0
