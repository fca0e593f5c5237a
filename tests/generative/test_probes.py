"""Probes against scikit-free least squares, the Gaussian limit by sampling, and directions by eigenproblems."""

import numpy as np
import pytest
from scipy.linalg import eigh

from deeptheory.generative.probes import (
    classifier_accuracy,
    few_label_accuracy,
    linear_probe,
    principal_directions,
    probe_limit,
    shared_directions,
)

DRAW = np.random.default_rng(0)


@pytest.mark.item("A17.1")
def test_a_probe_is_least_squares_with_an_offset():
    features, labels = DRAW.standard_normal((40, 3)) + 2, np.sign(DRAW.standard_normal(40))
    weights, offset = linear_probe(features, labels, ridge=1e-12)
    design = np.column_stack([features, np.ones(40)])
    np.testing.assert_allclose([*weights, offset], np.linalg.lstsq(design, labels, rcond=None)[0], rtol=1e-6)
    rescaled, _ = linear_probe(1000 * features, labels, ridge=0.1)
    np.testing.assert_allclose(1000 * rescaled, linear_probe(features, labels, ridge=0.1)[0], rtol=1e-9)


@pytest.mark.item("A17.1")
def test_many_labels_reach_the_limit():
    """Classes N(±m, Σ): the accuracy of the best linear classifier, Φ(√(mᵀΣ⁻¹m)), and of a blind coordinate, ½."""
    mean, covariance = np.array([1.0, 0.0]), np.array([[1.0, 0.6], [0.6, 2.0]])
    labels = np.where(np.arange(20_000) % 2, 1.0, -1.0)
    points = DRAW.multivariate_normal([0, 0], covariance, 20_000) + labels[:, None] * mean
    found = few_label_accuracy(DRAW, points, labels, labelled=4000, trials=3).mean()
    assert found == pytest.approx(probe_limit(np.eye(2), mean, covariance), abs=0.015)
    assert probe_limit(np.array([[0.0, 1.0]]), mean, covariance) == 0.5


@pytest.mark.item("A17.1")
def test_the_accuracy_of_one_classifier_by_sampling():
    mean, covariance = np.array([0.5, -0.2]), np.array([[1.0, 0.3], [0.3, 0.5]])
    labels = np.where(np.arange(200_000) % 2, 1.0, -1.0)
    points = DRAW.multivariate_normal([0, 0], covariance, 200_000) + labels[:, None] * mean
    weights, offset = np.array([1.0, -0.4]), 0.3
    counted = np.mean(np.sign(points @ weights + offset) == labels)
    assert classifier_accuracy(weights, offset, mean, covariance) == pytest.approx(counted, abs=0.005)
    best = np.linalg.solve(covariance, mean)
    found = classifier_accuracy(best, 0.0, mean, covariance)
    assert found == pytest.approx(probe_limit(np.eye(2), mean, covariance), rel=1e-12)


def test_directions_by_eigenproblems():
    common = DRAW.standard_normal((500, 1)) @ np.array([[1.0, 2.0, -1.0]])
    first, second = (common + DRAW.standard_normal((500, 3)) * [1, 3, 0.5] for _ in range(2))
    x, y = first - first.mean(0), second - second.mean(0)
    vectors = eigh(x.T @ y + y.T @ x, x.T @ x + y.T @ y)[1]
    found = shared_directions(first, second, 1)[0]
    assert abs(found @ vectors[:, -1]) == pytest.approx(np.linalg.norm(found) * np.linalg.norm(vectors[:, -1]))
    top = np.linalg.eigh(np.cov(first.T))[1][:, -1]
    assert abs(principal_directions(first, 1)[0] @ top) == pytest.approx(1)


def test_labels_are_signs():
    with pytest.raises(ValueError, match="labels must be 1 or -1, with 2 and 2 of each at least"):
        few_label_accuracy(DRAW, np.ones((6, 2)), np.array([1.0, 1, 1, 1, 1, -1]), labelled=4)
