"""Two-sample accuracy and sharpness beside cases by hand, a plain loop and exchangeability."""

import numpy as np
import pytest

from deeptheory.generative.sample_quality import sharpness, two_sample_accuracy


@pytest.mark.item("A14.27")
def test_nearest_neighbours_by_hand_and_by_a_loop():
    line = lambda *places: np.array(places)[:, None]  # noqa: E731
    assert two_sample_accuracy(line(0.0, 1.0), line(10.0, 11.0)) == 1
    assert two_sample_accuracy(line(0.0, 10.0), line(1.0, 11.0)) == 0
    assert two_sample_accuracy(line(0.0, 1.0, 3.0), line(3.4, 10.0, 11.0)) == pytest.approx(4 / 6)
    # A copy of the data is caught: every nearest point is the twin in the other sample.
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 2))
    assert two_sample_accuracy(points, points) == 0
    other = 0.5 * rng.standard_normal((40, 2))
    both = np.concatenate([points, other])
    gaps = np.linalg.norm(both[:, None] - both, axis=-1) + np.diag(np.full(80, np.inf))
    own = np.arange(80) < 40
    assert two_sample_accuracy(points, other) == pytest.approx(np.mean(own[gaps.argmin(1)] == own))


def test_samples_of_one_law_are_told_apart_by_chance():
    """The label of the nearest point is a draw from the 2n − 1 others, n − 1 of them of the own sample."""
    rng = np.random.default_rng(1)
    found = [two_sample_accuracy(*rng.standard_exponential((2, 5, 2))) for _ in range(2000)]
    assert abs(np.mean(found) - 4 / 9) < 5 * np.std(found) / 2000**0.5


@pytest.mark.item("A14.21")
def test_sharpness_of_a_dot_a_slope_and_a_blur():
    dot = np.zeros((1, 5, 5))
    dot[0, 2, 2] = 1.0
    assert sharpness(dot)[0] == pytest.approx((4 + 4) / 9)
    slope = np.add.outer(np.arange(4.0), 2 * np.arange(6.0))[None]
    assert sharpness(slope)[0] == 0
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((20, 8, 8))
    blurred = (noise[:, 1:] + noise[:, :-1]) / 2
    assert np.all(sharpness(blurred) < sharpness(noise))
    with pytest.raises(ValueError, match="at least three pixels a side, got 2 by 5"):
        sharpness(np.zeros((1, 2, 5)))
