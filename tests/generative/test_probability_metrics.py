"""Transport by two linear programs and by SciPy's line, moments by hand."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import wasserstein_distance

from deeptheory.generative.probability_metrics import (
    best_lipschitz_critic,
    integral_metric,
    kernel_metric,
    moment_distance,
    moment_tensor,
    optimal_transport,
)

DRAW = np.random.default_rng(3)
LINE = np.sort(DRAW.standard_normal(9))
LAWS = DRAW.dirichlet(np.ones(9), size=3)


@pytest.mark.item("A16.4")
def test_transport_on_the_line():
    distances = np.abs(LINE[:, None] - LINE)
    expected = wasserstein_distance(LINE, LINE, LAWS[0], LAWS[1])
    found = optimal_transport(LAWS[0], LAWS[1], distances)
    assert found.cost == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(found.plan.sum(1), LAWS[0], atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(0), LAWS[1], atol=1e-12)
    critic = best_lipschitz_critic(LAWS[0], LAWS[1], distances)
    assert critic.gap == pytest.approx(expected, rel=1e-9)
    assert critic.values @ (LAWS[0] - LAWS[1]) == pytest.approx(expected, rel=1e-9)
    assert np.all(critic.values[:, None] - critic.values <= distances + 1e-9)


@pytest.mark.item("A16.4")
def test_the_discrete_metric_gives_total_variation():
    found = optimal_transport(LAWS[0], LAWS[1], 1.0 - np.eye(9)).cost
    assert found == pytest.approx(np.abs(LAWS[0] - LAWS[1]).sum() / 2, rel=1e-9)
    corners = (np.arange(2**9)[:, None] >> np.arange(9)) & 1
    assert integral_metric(LAWS[0], LAWS[1], corners.astype(float)) == pytest.approx(found, rel=1e-9)


@pytest.mark.item("A16.4")
def test_the_kernel_metric_is_a_supremum_over_the_ball():
    kernel = np.exp(-((LINE[:, None] - LINE) ** 2) / 2)
    gap = LAWS[0] - LAWS[1]
    found = kernel_metric(LAWS[0], LAWS[1], kernel)
    functions = DRAW.standard_normal((2000, 9)) @ kernel  # values of f = Σ a_i k(x_i, ·)
    weights = np.linalg.solve(kernel, functions.T).T
    norms = np.sqrt(np.sum(weights * functions, axis=1))
    assert np.all(np.abs(functions @ gap) / norms <= found * (1 + 1e-9))
    witness = kernel @ gap
    assert witness @ gap / np.sqrt(gap @ kernel @ gap) == pytest.approx(found, rel=1e-12)


@pytest.mark.item("A16.3")
def test_moments_by_hand():
    points = np.array([[1.0, 2.0], [0.0, -1.0]])
    law = np.array([0.25, 0.75])
    np.testing.assert_allclose(moment_tensor(points, law, 1), [0.25, -0.25])
    np.testing.assert_allclose(moment_tensor(points, law, 2), [[0.25, 0.5], [0.5, 1.75]])
    assert moment_tensor(points, law, 5).shape == (2,) * 5
    assert moment_tensor(points, law, 0) == pytest.approx(1.0)
    assert moment_tensor(points, law, 5)[0, 1, 0, 1, 1] == pytest.approx(0.25 * 8)


@pytest.mark.item("A16.3")
def test_three_points_share_five_moments_with_a_gaussian():
    nodes, weights = hermegauss(40)
    three = np.array([[-np.sqrt(3)], [0.0], [np.sqrt(3)]])
    law = np.array([1, 4, 1]) / 6
    gaps = [moment_distance(three, law, nodes[:, None], weights / weights.sum(), k) for k in range(1, 7)]
    np.testing.assert_allclose(gaps, [0, 0, 0, 0, 0, 6], atol=1e-9)
