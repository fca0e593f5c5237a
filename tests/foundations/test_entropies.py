"""Entropies against SciPy, at the edges, and in both libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.special import rel_entr

from deeptheory.foundations.entropies import entropy, finite_kl

Q, P = np.random.default_rng(0).dirichlet(np.ones(5), (2, 7))


def test_finite_laws_against_scipy_and_at_the_edges():
    np.testing.assert_allclose(finite_kl(Q, P), rel_entr(Q, P).sum(-1), rtol=1e-12)
    assert float(finite_kl(np.array([1.0, 0.0]), np.array([0.25, 0.75]))) == pytest.approx(np.log(4), rel=1e-15)
    assert np.isinf(float(finite_kl(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))))
    assert float(finite_kl(P[0], P[0])) == 0.0


def test_entropy_against_scipy_and_at_the_edges():
    np.testing.assert_allclose(entropy(P), scipy.stats.entropy(P, axis=1), rtol=1e-12)
    assert float(entropy(np.array([0.0, 1.0, 0.0]))) == 0.0
    assert float(entropy(np.full(8, 0.125))) == pytest.approx(np.log(8), rel=1e-15)


def test_both_libraries():
    for ours, theirs in ((entropy(P), entropy(jnp.asarray(P))), (finite_kl(Q, P), finite_kl(jnp.asarray(Q), P))):
        assert isinstance(ours, np.ndarray) and isinstance(theirs, jax.Array)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    slope = jax.grad(lambda z: finite_kl(jax.nn.softmax(z), P[0]))(jnp.log(P[0]))
    np.testing.assert_allclose(slope, 0, atol=1e-15)  # least at P itself
