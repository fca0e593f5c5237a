"""Paths of Lévy processes: what is exact of them, and their first moments."""

import numpy as np
import pytest
from scipy import stats

from deeptheory.diffusions import processes


def test_paths_start_at_zero_and_have_their_times():
    random = np.random.default_rng(0)
    for paths in (
        processes.wiener_paths(random, 3, steps=5),
        processes.gamma_paths(random, 3, steps=5),
        processes.compound_poisson_paths(random, 3, steps=5, rate=2.0),
        processes.stable_paths(random, 3, steps=5, index=1.5),
    ):
        assert paths.shape == (3, 6)
        assert np.all(paths[:, 0] == 0)


@pytest.mark.item("A12.8")
def test_refinement_keeps_the_path_and_gives_brownian_motion():
    random = np.random.default_rng(1)
    coarse = processes.wiener_paths(random, 40_000, steps=2, horizon=3.0)
    fine = processes.bridge_refined(random, coarse, horizon=3.0)
    np.testing.assert_array_equal(fine[:, ::2], coarse)
    times = np.linspace(0, 3, 5)
    seen = fine.T @ fine / len(fine)
    # Five standard errors of a covariance of at most three.
    np.testing.assert_allclose(seen, np.minimum.outer(times, times), atol=5 * 3 * np.sqrt(2 / 40_000))


@pytest.mark.item("A12.7")
def test_cumulants_grow_in_proportion_to_time():
    random = np.random.default_rng(2)
    gamma = processes.gamma_paths(random, 60_000, steps=4, rate=3.0, horizon=2.0)
    np.testing.assert_allclose(gamma.mean(0), 3.0 * np.linspace(0, 2, 5), atol=0.06)
    np.testing.assert_allclose(gamma.var(0), 3.0 * np.linspace(0, 2, 5), atol=0.3)
    jumps = processes.compound_poisson_paths(random, 60_000, steps=4, rate=3.0, horizon=2.0)
    np.testing.assert_allclose(jumps.var(0), 3.0 * np.linspace(0, 2, 5), atol=0.3)


@pytest.mark.item("A12.7")
@pytest.mark.parametrize("index", [0.5, 1.0, 1.5, 2.0])
def test_stable_motion_has_its_law_at_every_time(index):
    """Against SciPy's distribution function, by inversion of the characteristic function."""
    paths = processes.stable_paths(np.random.default_rng(3), 40_000, steps=3, index=index, horizon=6.0)
    places = np.array([-3.0, -0.4, 0.7, 2.0])
    below = stats.levy_stable.cdf(places, index, 0.0)
    for column, time in ((1, 2.0), (3, 6.0)):
        seen = (paths[:, column, None] < time ** (1 / index) * places).mean(0)
        assert np.all(np.abs(seen - below) < 5 * np.sqrt(below * (1 - below) / 40_000))


def test_quadratic_variation_by_hand():
    np.testing.assert_allclose(processes.quadratic_variation(np.array([[0.0, 1.0, -1.0]])), [5.0])
