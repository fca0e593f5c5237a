"""The search over samples against enumeration, the exact gap against simulation, Newton's method against SciPy."""

from itertools import pairwise

import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import chi2, norm

from deeptheory.generalization.capacity.paired_samples import (
    logistic_classifier,
    noise_labels,
    one_step_noise_gap,
    uniform_gap,
)
from deeptheory.generalization.capacity.uniform_convergence import (
    conditional_test_error,
    margins,
    one_step_classifier,
    signal_noise_sample,
)


@pytest.mark.item("H9.5")
def test_the_largest_gap_over_all_pairs():
    """Majority votes of a coin of bias 0.7: risk is 0.3 or 0.7, all samples of three tosses are searched."""
    samples = [tuple(int(b) for b in f"{i:03b}") for i in range(8)]
    gap = uniform_gap(
        lambda sample: int(sum(sample) >= 2),
        samples,
        samples,
        risk=lambda vote: 0.3 if vote else 0.7,
        error=lambda vote, sample: float(np.mean(np.array(sample) != vote)),
    )
    assert gap == pytest.approx(0.7)
    with pytest.raises(ValueError, match="tested_on must not be empty"):
        uniform_gap(sum, [(1,)], [], risk=float, error=lambda *_: 0.0)


@pytest.mark.item("H9.5")
def test_nearly_one_where_uniform_convergence_fails(key):
    setting = dict(noise=32.0, signal=2.0)
    sample = signal_noise_sample(key, 20, 8000, **setting)
    pieces = dict(
        risk=lambda h: float(conditional_test_error(h, **setting)),
        error=lambda h, other: float(np.mean(margins(h, other) < 0)),
    )
    assert uniform_gap(one_step_classifier, [sample], [sample.flipped()], **pieces) > 0.97
    assert uniform_gap(one_step_classifier, [sample], [sample], **pieces) < 0.03


@pytest.mark.parametrize(("n", "dimension"), [(12, 1), (30, 4), (100, 20)])
def test_the_exact_gap_by_quadrature(n, dimension):
    def error(r):
        return chi2.pdf(r, dimension) * norm.cdf(-np.sqrt(r / (n - 1)))

    edges = chi2.ppf([0.0, 0.01, 0.5, 0.999999999], dimension)
    mean = sum(quad(error, low, high)[0] for low, high in pairwise(edges))
    assert one_step_noise_gap(n, dimension) == pytest.approx(0.5 - mean, abs=1e-7)


@pytest.mark.item("H9.5")
def test_the_exact_gap_by_simulation(key):
    inputs, labels = noise_labels(key, 40, 10, batch=(4000,))
    assert set(np.unique(labels)) == {-1.0, 1.0}
    weights = np.einsum("tn,tnv->tv", labels, inputs)
    errors = np.mean(labels * np.einsum("tnv,tv->tn", inputs, weights) <= 0, axis=1)
    assert abs(0.5 - errors.mean() - one_step_noise_gap(40, 10)) < 5 * errors.std() / np.sqrt(4000)
    np.testing.assert_allclose(logistic_classifier(inputs[0], labels[0], steps=0), weights[0], rtol=1e-12)


def test_logistic_regression_is_at_its_minimum(key):
    inputs, labels = noise_labels(jax.random.fold_in(key, 1), 120, 6)
    found = minimize(lambda w: np.sum(np.logaddexp(0, -labels * (inputs @ w))), np.zeros(6), tol=1e-10)
    np.testing.assert_allclose(logistic_classifier(inputs, labels), found.x, atol=1e-5)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="at least 2 samples"):
        one_step_noise_gap(1, 3)
