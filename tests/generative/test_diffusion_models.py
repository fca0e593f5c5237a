import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from deeptheory.generative.diffusion_models import (
    cosine_schedule,
    denoised,
    denoising_error,
    fit_denoiser,
    gaussian_divergence_after,
    kept_signal,
    noised,
    noised_mixture,
    noising_path,
    reverse_chain,
    score,
    sum_of_gaussians,
)
from deeptheory.generative.mixtures import gaussian_mixture, log_density, sample_mixture

MIXTURE = gaussian_mixture(
    np.array([0.3, 0.7]),
    np.array([[-1.0, 0.5], [1.0, 0.0]]),
    np.array([[[0.5, 0.2], [0.2, 0.3]], [[0.1, 0], [0, 0.4]]]),
)


def test_schedules_keep_what_they_say():
    schedule = cosine_schedule(10, least=0.01)
    kept = kept_signal(schedule)
    assert kept[-1] == pytest.approx(0.01)
    assert kept[4] == pytest.approx(0.01 + 0.99 * 0.5)
    with pytest.raises(ValueError, match="schedule must lie"):
        kept_signal(np.array([0.5, 1.0]))


@pytest.mark.item("A14.23", "A14.24")
def test_steps_and_one_jump_have_one_law():
    draw, start = np.random.default_rng(0), np.tile([[2.0, -1.0]], (40_000, 1))
    schedule = np.array([0.9, 0.6, 0.7])
    path = noising_path(draw, start, schedule)
    jump = noised(draw, start, 0.9 * 0.6 * 0.7)
    for sample in (path[-1], jump):
        np.testing.assert_allclose(sample.mean(0), np.sqrt(0.378) * np.array([2.0, -1.0]), atol=0.03)
        np.testing.assert_allclose(np.cov(sample.T), (1 - 0.378) * np.eye(2), atol=0.03)
    mean, covariance = sum_of_gaussians(np.array([1.0, 2.0]), 0.5, np.array([0.5, -1.0]), 1.5)
    np.testing.assert_allclose(mean, [1.5, 1.0])
    np.testing.assert_allclose(covariance, 2 * np.eye(2))


def test_divergence_from_noise():
    mean, variances, level = np.array([0.5, -1.0]), np.array([0.3, 2.0]), 0.4
    laws = [norm(np.sqrt(level) * m, np.sqrt(level * v + 1 - level)) for m, v in zip(mean, variances, strict=True)]
    parts = [quad(lambda x, p=p: p.pdf(x) * (p.logpdf(x) - norm.logpdf(x)), -12, 12)[0] for p in laws]
    assert gaussian_divergence_after(mean, variances, level) == pytest.approx(sum(parts), rel=1e-8)


def test_score_by_differences():
    points = np.random.default_rng(1).standard_normal((5, 2))
    noisy = noised_mixture(MIXTURE, 0.6)
    step = 1e-5 * np.eye(2)
    slopes = [(log_density(noisy, points + e) - log_density(noisy, points - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(score(MIXTURE, points, 0.6), np.stack(slopes, 1), rtol=1e-6, atol=1e-7)


@pytest.mark.item("A14.25")
def test_no_denoiser_beats_the_exact_one():
    draw, level = np.random.default_rng(2), 0.5
    clean = sample_mixture(draw, MIXTURE, 20_000)
    noisy = noised(draw, clean, level)
    exact = denoising_error(lambda x, a: denoised(MIXTURE, x, a), clean, noisy, level)
    learnt = fit_denoiser(draw, sample_mixture(draw, MIXTURE, 1000), np.array([level]), features=40)
    assert exact < denoising_error(learnt, clean, noisy, level) < 1.15 * exact
    assert exact < 0.95 * denoising_error(lambda x, a: x / np.sqrt(a), clean, noisy, level)
    with pytest.raises(ValueError, match="level must be one of the 1 trained"):
        learnt(noisy, 0.3)


def test_one_gaussian_is_sampled_exactly_by_few_stochastic_steps_in_the_mean():
    # For N(m, I) every conditional law of the chain is the true one but for its variance, and means are exact.
    single = gaussian_mixture(np.ones(1), np.array([[2.0, -1.0]]), np.eye(2)[None])
    draw = np.random.default_rng(3)
    schedule = cosine_schedule(5)
    ends = [
        reverse_chain(
            draw, lambda x, a: denoised(single, x, a), schedule, draw.standard_normal((20_000, 2)), stochastic=s
        )
        for s in (True, False)
    ]
    assert ends[0].shape == (6, 20_000, 2)
    for end in ends:
        np.testing.assert_allclose(end[-1].mean(0), [2.0, -1.0], atol=0.03)


@pytest.mark.item("A14.25")
@pytest.mark.parametrize("stochastic", [True, False])
def test_steps_back_from_one_point_have_the_joint_law_of_the_steps_there(stochastic):
    # Data at one point c: the denoiser knows x_0, so x_{t+1} and x_t are jointly what noising made of them, with
    # covariance √α_t(1 − ᾱ_{t−1}). Without fresh noise they share all their noise.
    point, schedule = np.array([2.0, -1.0]), np.array([0.9, 0.6, 0.7])
    draw = np.random.default_rng(4)
    noise = np.sqrt(0.378) * point + np.sqrt(1 - 0.378) * draw.standard_normal((40_000, 2))
    path = reverse_chain(draw, lambda x, a: np.tile(point, (len(x), 1)), schedule, noise, stochastic=stochastic)
    np.testing.assert_allclose(path[-1], np.tile(point, (40_000, 1)), atol=1e-12)
    for place, (alpha, before) in enumerate([(0.7, 0.54), (0.6, 0.9)]):
        after = alpha * before
        later, earlier = path[place] - np.sqrt(after) * point, path[place + 1] - np.sqrt(before) * point
        shared = np.sqrt(alpha) * (1 - before) if stochastic else np.sqrt((1 - after) * (1 - before))
        np.testing.assert_allclose((earlier**2).mean(), 1 - before, atol=0.01)
        np.testing.assert_allclose((later * earlier).mean(), shared, atol=0.01)
