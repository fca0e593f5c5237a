"""Divergences against SciPy, closed forms for Gaussians on a fine grid, and a search over critics."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from deeptheory.generative.divergences import GENERATORS, best_critic, critic_value, f_divergence

P, Q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.2, 0.3, 0.4])
KINDS = list(GENERATORS)


@pytest.mark.item("A16.1")
def test_each_divergence_by_another_route():
    assert f_divergence(P, Q) == pytest.approx(rel_entr(P, Q).sum(), rel=1e-14)
    assert f_divergence(P, Q, "reverse kl") == pytest.approx(rel_entr(Q, P).sum(), rel=1e-14)
    assert f_divergence(P, Q, "jensen-shannon") == pytest.approx(jensenshannon(P, Q) ** 2, rel=1e-12)
    assert f_divergence(P, Q, "chi square") == pytest.approx(np.sum(P**2 / Q) - 1, rel=1e-14)
    assert f_divergence(P, Q, "hellinger") == pytest.approx(1 - np.sum(np.sqrt(P * Q)), rel=1e-14)
    assert f_divergence(P, Q, "total variation") == pytest.approx(0.5, rel=1e-14)


@pytest.mark.item("A16.1")
def test_gaussians_by_quadrature():
    """The sum over fine cells is the integral: ½(s² − 1 + m²) − log s for N(m, s²) from N(0, 1)."""
    grid = np.linspace(-12, 12, 24_001)
    shift, spread = 0.7, 1.3
    p, q = np.exp(-(((grid - shift) / spread) ** 2) / 2), np.exp(-(grid**2) / 2)
    p, q = p / p.sum(), q / q.sum()
    assert f_divergence(p, q) == pytest.approx((spread**2 - 1 + shift**2) / 2 - np.log(spread), rel=1e-9)
    overlap = np.sqrt(2 * spread / (1 + spread**2)) * np.exp(-(shift**2) / (4 * (1 + spread**2)))
    assert f_divergence(p, q, "hellinger") == pytest.approx(1 - overlap, rel=1e-9)
    gap = quad(
        lambda x: abs(np.exp(-((x - shift) ** 2) / 2 / spread**2) / spread - np.exp(-(x**2) / 2)), -12, 12, limit=400
    )
    assert f_divergence(p, q, "total variation") == pytest.approx(gap[0] / 2 / np.sqrt(2 * np.pi), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_mass_where_the_other_law_has_none(kind):
    """The limit of a vanishing share, taken numerically."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.4, 0.6])
    small = 1e-9
    near = f_divergence((p + small) / (1 + 3 * small), (q + small) / (1 + 3 * small), kind)
    exact = f_divergence(p, q, kind)
    assert (np.isinf(exact) and near > 5) or exact == pytest.approx(near, abs=1e-4)


@pytest.mark.item("A16.1")
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_critic_attains_and_no_other_exceeds(kind):
    value = f_divergence(P, Q, kind)
    assert critic_value(P, Q, best_critic(P, Q, kind), kind) == pytest.approx(value, rel=1e-12)
    nearby = best_critic(P, Q, kind) + 0.02 * np.random.default_rng(0).standard_normal((200, 4))
    assert np.all(critic_value(P, Q, nearby, kind) <= value + 1e-14)
    if kind in ("kl", "chi square"):
        found = minimize(lambda t: -critic_value(P, Q, t, kind), np.zeros(4), tol=1e-12)
        assert -found.fun == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_conjugates_by_a_search(kind):
    t = np.concatenate([np.linspace(0, 1, 20_001)[1:], np.geomspace(1, 1e6, 200_001)])
    slope = np.array([-1.5, -0.4, 0.2])
    if kind == "reverse kl":
        slope = slope[:2]
    with np.errstate(divide="ignore"):
        searched = np.max(slope[:, None] * t - GENERATORS[kind].value(t), axis=1)
    np.testing.assert_allclose(GENERATORS[kind].conjugate(slope), searched, atol=1e-4)


def test_what_is_no_law_is_refused():
    with pytest.raises(ValueError, match="p must be probabilities that add up to one, got a sum of 2"):
        f_divergence(np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match=r"q must lie in \[0, 1.00001\], got"):
        f_divergence(np.array([0.5, 0.5]), np.array([1.5, -0.5]))
    with pytest.raises(ValueError, match="must be positive everywhere"):
        best_critic(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
