import numpy as np
import pytest

from deeptheory.generative.density_models import (
    compare_densities,
    fit_autoregressive_histogram,
    histogram_log_density,
    normalised,
    ring_of_gaussians,
    sample_histogram,
)
from deeptheory.generative.mixtures import log_density, sample_mixture


@pytest.mark.item("A14.27")
def test_densities_beside_the_truth():
    draw, truth = np.random.default_rng(0), ring_of_gaussians(5, radius=1.5)
    train, test = sample_mixture(draw, truth, 3000), sample_mixture(draw, truth, 3000)
    cells = fit_autoregressive_histogram(train, bins=16)
    models = {
        "truth": lambda x: log_density(truth, x),
        "histogram": lambda x: histogram_log_density(cells, x),
        "no density": lambda x: histogram_log_density(cells, x) + 1,
    }
    table = compare_densities(models["truth"], models, train, test)
    assert table["truth"]["divergence"] == 0
    assert table["histogram"]["divergence"] > 6 * table["histogram"]["error"]
    # Relative to the truth, whose likelihood shows how lucky the points are, the fit is better where it was fitted.
    gains = {part: table["histogram"][part] - table["truth"][part] for part in ("train", "test")}
    assert gains["train"] > gains["test"]
    assert table["no density"]["divergence"] < -6 * table["no density"]["error"]
    assert normalised(models["histogram"], half_width=4.0, resolution=64) == pytest.approx(1, abs=1e-12)
    with pytest.raises(ValueError, match="total mass of log_density must lie"):
        normalised(models["no density"], half_width=4.0, resolution=64)


def test_a_histogram_by_hand():
    points = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    model = fit_autoregressive_histogram(points, bins=2, half_width=1.0, prior=1e-12)
    np.testing.assert_allclose(np.exp(histogram_log_density(model, points)), [0.25, 0.25, 0.5, 0.5], rtol=1e-9)
    assert np.all(histogram_log_density(model, np.array([[2.0, 0.0], [1.0, 0.0], [0.0, -1.1]])) == -np.inf)
    assert np.isfinite(histogram_log_density(model, np.array([[-1.0, -1.0]]))[0])
    samples = sample_histogram(np.random.default_rng(1), model, 20_000)
    assert np.mean((samples[:, 0] < 0) & (samples[:, 1] < 0)) == pytest.approx(0.25, abs=0.02)
    assert np.mean((samples[:, 0] > 0) & (samples[:, 1] > 0)) == pytest.approx(0.5, abs=0.02)
