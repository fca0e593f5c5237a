"""Satisfiability and a hidden valley by enumeration."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.optimization.hardness import Haystack, satisfiability_polynomial
from deeptheory.optimization.runs import trajectory

pytestmark = pytest.mark.slow


@pytest.mark.item("A2.4")
def test_the_polynomial_vanishes_exactly_at_satisfying_assignments():
    random, corners = np.random.default_rng(0), np.array(list(itertools.product([0, 1], repeat=5)))
    answers = []
    for count in (8, 18, 30, 40):
        clauses = [
            [
                int(v) * int(s)
                for v, s in zip(random.choice(5, 3, replace=False) + 1, random.choice([-1, 1], 3), strict=True)
            ]
            for _ in range(count)
        ]
        value = jax.jit(jax.vmap(satisfiability_polynomial(clauses)))(jnp.asarray(corners, float))
        satisfied = [all(any((w[abs(x) - 1] == 1) == (x > 0) for x in clause) for clause in clauses) for w in corners]
        assert np.array_equal(np.asarray(value) == 0, satisfied)
        answers.append(any(satisfied))
    assert set(answers) == {True, False}
    # Off the corners it is positive, and gradient descent on an unsatisfiable formula ends above 0.
    every = [[a, 2 * b, 3 * c] for a, b, c in itertools.product([-1, 1], repeat=3)]
    polynomial = satisfiability_polynomial(every)
    points = jnp.asarray(random.uniform(-0.5, 1.5, (2000, 3)))
    assert float(jax.vmap(polynomial)(points).min()) > 0
    runs = jax.jit(jax.vmap(lambda start: trajectory(polynomial, optax.sgd(0.05), start, steps=400).value[-1]))(
        points[:50]
    )
    assert float(jnp.nanmin(runs)) > 1e-3
    # Degree 6: along a line the seventh difference vanishes.
    line = jnp.linspace(0, 1, 8)[:, None] * jnp.array([1.0, -0.7, 0.4])
    differences = np.diff(np.asarray(jax.vmap(polynomial)(line)), n=7)
    assert np.abs(differences).max() < 1e-10 < np.abs(np.diff(np.asarray(jax.vmap(polynomial)(line)), n=6)).max()
    with pytest.raises(ValueError, match="whole numbers other than 0"):
        satisfiability_polynomial([[1, 0]])


@pytest.mark.item("A2.20")
def test_the_valley_of_the_haystack_by_hand():
    """At |x − v|² = 1/32 and r = ¼ the share is a half: Σx − 2·(½)³. From r on nothing is seen of it."""
    valley = Haystack(jnp.array([1.0, 0.0]), radius=0.25, depth=2.0)
    assert float(valley(jnp.array([0.875, 0.125]))) == 1.0 - 0.25
    assert float(valley(jnp.array([0.75, 0.0]))) == 0.75
    np.testing.assert_array_equal(jax.grad(valley)(jnp.array([0.7, 0.05])), [1.0, 1.0])
    # The radius unless told otherwise is 0.4: at half of it a share of a quarter, at 0.41 nothing.
    usual = Haystack(jnp.array([1.0, 0.0]))
    assert float(usual(jnp.array([0.8, 0.0]))) == pytest.approx(0.8 - 5 * 0.75**3, rel=1e-12)
    assert (
        float(usual(jnp.array([0.59, 0.0]))) == pytest.approx(0.59, rel=1e-12)
        and float(usual(jnp.array([0.61, 0.0]))) < 0.61
    )


@pytest.mark.item("A2.20")
def test_the_haystack_shows_its_valley_to_no_other_corner():
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    hidden = corners[11]
    slopes = np.asarray(jax.vmap(jax.grad(Haystack(jnp.asarray(hidden))))(jnp.asarray(corners + 0.1)))
    differs = np.any(np.abs(slopes - 1) > 1e-12, axis=1)
    assert np.flatnonzero(differs).tolist() == [11]
    assert float(Haystack(jnp.asarray(hidden))(jnp.asarray(hidden))) == pytest.approx(hidden.sum() - 5)
