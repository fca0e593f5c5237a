import numpy as np
import pytest
import scipy.optimize

from deeptheory.implicit_bias.early_stopping import (
    largest_gap,
    largest_risk_ratio,
    matching_penalty,
    ridge_share,
    stopped_share,
)

RNG = np.random.default_rng(17)


@pytest.mark.item("L11.19")
def test_shares_against_the_recursion_and_the_normal_equations():
    basis = np.linalg.qr(RNG.standard_normal((5, 5)))[0]
    curvatures, best = np.array([0.05, 0.3, 1.0, 2.0, 3.0]), RNG.standard_normal(5)
    hessian, w = basis * curvatures @ basis.T, np.zeros(5)
    for _ in range(7):
        w = w - 0.4 * hessian @ (w - best)
    share = stopped_share(curvatures, step_size=0.4, steps=7)
    np.testing.assert_allclose(basis.T @ w, share * (basis.T @ best), atol=1e-13)
    for penalty in (0.1, 2.0):
        ridge = np.linalg.solve(hessian + penalty * np.eye(5), hessian @ best)
        np.testing.assert_allclose(basis.T @ ridge, ridge_share(curvatures, penalty=penalty) * (basis.T @ best))


@pytest.mark.item("L11.18")
def test_ridge_shrinks_singular_directions():
    design, labels, penalty = RNG.standard_normal((6, 4)), RNG.standard_normal(6), 0.7
    left, singular, _ = np.linalg.svd(design, full_matrices=False)
    stacked = np.vstack([design, np.sqrt(penalty / 2) * np.eye(4)])
    best = np.linalg.lstsq(stacked, np.append(labels, np.zeros(4)))[0]
    fitted = left @ (ridge_share(singular**2, penalty=penalty / 2) * (left.T @ labels))
    np.testing.assert_allclose(design @ best, fitted, atol=1e-13)


def test_the_largest_gap_by_search():
    found = scipy.optimize.minimize_scalar(lambda s: np.exp(-s) - 1 / (1 + s), bounds=(1, 5), method="bounded")
    np.testing.assert_allclose(largest_gap(), (found.x, -found.fun), rtol=1e-4)
    assert matching_penalty(step_size=0.1, steps=20) == 0.5


def test_the_largest_ratio_of_risks_from_filters_and_noise():
    """One direction, weight of variance 1: bias² + variance of both estimators, from their shares of it."""
    noise, steps = 0.3, 200_000
    risk = lambda share, h: (1 - share) ** 2 + share**2 * noise / h  # noqa: E731
    curvatures = noise * np.geomspace(0.01, 100, 4001)
    ridge = risk(ridge_share(curvatures, penalty=noise), curvatures)
    stopped = risk(stopped_share(curvatures, step_size=1 / (noise * steps), steps=steps), curvatures)
    at, ratio = largest_risk_ratio()
    place = np.argmax(stopped / ridge)
    assert stopped[place] / ridge[place] == pytest.approx(ratio, rel=1e-4)
    assert curvatures[place] / noise == pytest.approx(at, rel=0.01)
    # No penalty does better than this one.
    for factor in (0.9, 1.1):
        assert np.all(risk(ridge_share(curvatures, penalty=factor * noise), curvatures) > ridge)
