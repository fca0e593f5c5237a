"""Closed forms for linear classifiers beside sampling, numerical optimisation and a convex solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deeptheory.robustness.linear_classifiers import (
    gaussian_error,
    halfspace_radius,
    logistic_adversarial_loss,
    most_robust_weights,
    softmax_radius,
)
from deeptheory.robustness.threats import Threat

RNG = np.random.default_rng(0)
ORDERS = [1, 2, np.inf]


@pytest.mark.item("H2.1")
@pytest.mark.item("L12.2")
def test_the_radius_of_a_half_plane_by_hand():
    """3x + 4y = 5 seen from the origin: at distance 1 in the plane, 5/4 along the second axis, 5/7 along a diagonal."""
    radii = [float(halfspace_radius(np.array([3.0, 4.0]), -5.0, np.zeros(2), order)) for order in ORDERS]
    assert radii == pytest.approx([5 / 4, 1.0, 5 / 7])


@pytest.mark.parametrize("order", ORDERS)
def test_softmax_radii_are_where_corners_of_the_ball_change_their_answer(order):
    """Just inside no corner or random point of the ball has another answer; just outside the worst one has."""
    weights, biases = RNG.standard_normal((4, 3)), RNG.standard_normal(4)
    points = RNG.standard_normal((20, 3))
    labels = np.argmax(points @ weights.T + biases, 1)
    radii = softmax_radius(weights, biases, points, labels, order)
    angles = RNG.standard_normal((20_000, 3))
    corners = np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T.astype(float)
    ways = np.vstack([angles, corners[np.any(corners != 0, 1)]])
    ways /= np.linalg.norm(ways, order, axis=1)[:, None]
    for point, label, radius in zip(points, labels, radii, strict=True):
        answers = [np.argmax((point + s * radius * ways) @ weights.T + biases, 1) for s in (0.999, 1.02)]
        assert np.all(answers[0] == label) and np.any(answers[1] != label)
    wrong = (labels + 1) % 4
    assert np.all(softmax_radius(weights, biases, points, wrong, order) == 0)


@pytest.mark.item("L12.2")
@pytest.mark.item("L12.17")
def test_the_adversarial_loss_is_the_largest_over_the_corners():
    weights, points, signs = RNG.standard_normal(3), RNG.standard_normal((6, 3)), np.array([1.0, -1, 1, -1, 1, -1])
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * 0.4
    losses = np.log1p(np.exp(-signs[:, None] * ((points[:, None] + corners) @ weights + 0.2)))
    np.testing.assert_allclose(
        logistic_adversarial_loss(weights, 0.2, points, signs, Threat(0.4)), losses.max(1), rtol=1e-12
    )
    clean = np.log1p(np.exp(-signs * (points @ weights + 0.2)))
    risks = [logistic_adversarial_loss(weights, 0.2, points, signs, Threat(r)).mean() for r in (0.0, 0.1, 0.3)]
    assert risks[0] == pytest.approx(clean.mean()) and risks[0] < risks[1] < risks[2]


@pytest.mark.item("L12.17")
def test_the_gaussian_error_counts_what_a_shifted_sample_gets_wrong():
    weights, means, deviations = np.array([1.0, -0.5, 0.25]), np.array([0.8, -0.4, 0.1]), np.array([0.5, 1.0, 0.3])
    draws = means + deviations * RNG.standard_normal((200_000, 3))
    for order, worst in (
        (np.inf, 0.2 * np.sign(weights)),
        (2, 0.2 * weights / np.linalg.norm(weights)),
        (1, [0.2, 0, 0]),
    ):
        counted = np.mean((draws - worst) @ weights < 0)
        assert gaussian_error(weights, means, deviations, Threat(0.2, order)) == pytest.approx(counted, abs=0.006)


@pytest.mark.parametrize("radius", [0.0, 0.15, 0.5])
def test_no_weights_are_more_robust_than_thresholded_means(radius):
    means, deviations = np.array([1.0, 0.3, -0.2, 0.1]), np.array([0.7, 1.0, 0.5, 0.2])
    best = gaussian_error(most_robust_weights(means, deviations, radius), means, deviations, Threat(radius))
    tight = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 1500, "maxfev": 1500}
    found, errors = means, []
    for _ in range(4):  # a simplex that has grown flat is set up anew where it stopped
        step = minimize(
            lambda w: gaussian_error(w, means, deviations, Threat(radius)), found, method="Nelder-Mead", options=tight
        )
        found, errors = step.x, [*errors, step.fun]
    assert min(errors) >= best - 1e-12
    assert min(errors) == pytest.approx(best, rel=1e-3)
    with pytest.raises(ValueError, match="radius must be less than the largest mean 1"):
        most_robust_weights(means, deviations, 1.5)
