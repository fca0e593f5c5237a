from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.attribution.influence import gradients, influences, influences_by, removal_effects
from deeptheory.attribution.inverse_products import (
    by_conjugate_gradients,
    by_factorization,
    by_neumann_series,
    by_sampled_neumann_series,
    neumann_error,
)
from deeptheory.attribution.leave_one_out import leave_one_out_ridge, retrained
from deeptheory.curvature.operators import hessian


def squares(w, data):
    x, y = data
    return (x @ w - y) ** 2 / 2


def network(layers, data):
    x, y = data
    return (jnp.tanh(x @ layers["in"]) @ layers["out"] - y) ** 2 / 2


def drawn(n, d=3, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((n, d))
    return x, x @ np.linspace(1, -1, d) + draw.standard_normal(n)


@pytest.mark.item("A10.2", "A10.3")
def test_least_squares_by_hand():
    """H = XᵀX/n, ∇ℓ = residual·x: with one coordinate everything is a number."""
    x, y, u, v = np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array([[3.0]]), np.array([0.0])
    w = jnp.array([3 / 5])
    found = influences_by(by_factorization, squares, w, (x, y), (u, v))
    residuals = np.array([3 / 5 - 1, 6 / 5 - 1])
    np.testing.assert_allclose(found.values, -(9 / 5 * 3) * residuals * [1, 2] / (5 / 2) * np.ones((1, 2)), rtol=1e-14)


@pytest.mark.item("A10.3")
def test_removal_from_a_large_regression_is_as_predicted():
    x, y = drawn(4000)
    test = drawn(5, seed=1)
    w = np.linalg.lstsq(x, y, rcond=None)[0]
    predicted = removal_effects(influences(squares, jnp.asarray(w), (x, y), test))
    without = leave_one_out_ridge(x, y, ridge=0.0)
    u, v = test
    change = ((without @ u.T - v) ** 2 - (u @ w - v) ** 2).T / 2
    np.testing.assert_allclose(predicted, change, atol=0.01 * np.abs(change).max())


@pytest.mark.item("A10.4")
def test_damped_influence_of_a_network_is_training_held_back():
    """At a point that is no minimum, against finite differences of training with a spring."""
    x, y = drawn(20)
    draw = np.random.default_rng(5)
    layers = {"in": jnp.asarray(draw.standard_normal((3, 2))), "out": jnp.asarray(draw.standard_normal(2))}
    test = drawn(4, seed=1)
    curvature = np.linalg.eigvalsh(np.asarray(jax.hessian(lambda f: network(unflat(f), (x, y)).mean())(flat(layers))))
    assert curvature[0] < -0.05
    damping = 1.5
    found = influences(network, layers, (x, y), test, damping=damping).values
    step = 1e-5
    weights = np.full((2, 20), 1 / 20) + step * np.array([[1.0], [-1.0]]) * (np.arange(20) == 7)
    ends = retrained(network, layers, (x, y), weights, spring=damping).parameters
    losses = [network(unflat(end), test) for end in ends]
    np.testing.assert_allclose(found[:, 7], (losses[0] - losses[1]) / (2 * step), rtol=1e-6)


def flat(layers):
    return jnp.concatenate([layers["in"].ravel(), layers["out"]])


def unflat(vector):
    return {"in": vector[:6].reshape(3, 2), "out": vector[6:]}


def curved():
    x, y = drawn(30)
    return hessian(lambda w, data: squares(w, data).mean(), jnp.zeros(3), (x, y)), x


@pytest.mark.item("A10.7")
def test_all_ways_to_the_inverse_agree_with_a_solve():
    curvature, x = curved()
    matrix = x.T @ x / 30 + 0.1 * np.eye(3)
    vectors = jnp.asarray(np.random.default_rng(2).standard_normal((5, 3)))
    exact = np.linalg.solve(matrix, vectors.T).T
    scale = 1 / np.linalg.eigvalsh(matrix)[-1]
    for way in (
        by_factorization,
        by_conjugate_gradients,
        partial(by_neumann_series, scale=scale, terms=400),
    ):
        found = way(curvature, vectors, damping=0.1)
        np.testing.assert_allclose(found.vectors, exact, rtol=1e-6)
        assert np.all(found.residuals < 1e-7)


@pytest.mark.item("A10.5", "A10.6")
def test_a_truncated_series_is_off_by_what_is_said():
    assert [round(neumann_error(0.05, r), 4) for r in (1, 5, 50)] == [19.0, 15.4756, 1.5389]
    curvature, x = curved()
    values, basis = np.linalg.eigh(x.T @ x / 30)
    scale = 0.9 / values[-1]
    for terms in (0, 1, 7):
        found = by_neumann_series(curvature, jnp.asarray(basis.T), scale=scale, terms=terms).vectors
        gap = np.linalg.inv(x.T @ x / 30) - basis @ found
        assert np.linalg.eigvalsh(gap)[-1] == pytest.approx(neumann_error(values[0], terms, scale=scale))


def test_vectors_that_depend_on_each_other_are_solved_for_too():
    curvature, x = curved()
    vectors = jnp.asarray(np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.0, 0.0, 0.0]]))
    exact = np.linalg.solve(x.T @ x / 30, vectors.T).T
    np.testing.assert_allclose(by_conjugate_gradients(curvature, vectors).vectors, exact, atol=1e-8)


def spread(values, seed=0):
    """A curvature with these eigenvalues, as a loss ½θᵀAθ, and A itself."""
    draw = np.random.default_rng(seed)
    turn = np.linalg.qr(draw.standard_normal((len(values), len(values))))[0]
    matrix = (turn * values) @ turn.T

    def loss(w, data):
        return jnp.mean(data) * w @ jnp.asarray(matrix) @ w / 2

    return hessian(loss, jnp.zeros(len(values)), np.ones(3)), matrix


@pytest.mark.parametrize("count", [1, 7, 40, 200])
def test_blocks_of_any_width_reach_their_tolerance(count):
    """Fewer vectors than parameters, nearly as many, and more than one block takes; eigenvalues over five decades."""
    curvature, matrix = spread(np.geomspace(1e-2, 1e3, 60))
    vectors = np.random.default_rng(1).standard_normal((count, 60)) * np.geomspace(1e-6, 1e6, count)[:, None]
    found = by_conjugate_gradients(curvature, jnp.asarray(vectors), tolerance=1e-9)
    left = np.linalg.norm(vectors - found.vectors @ matrix, axis=1) / np.linalg.norm(vectors, axis=1)
    assert np.all(left < 2e-9)
    np.testing.assert_allclose(found.residuals, left, atol=1e-11)


def test_vectors_that_are_done_do_not_hold_up_the_others():
    """Eigenvectors are done after one step, a sum of many is not; nor do copies and nearly equal vectors do harm."""
    values = np.geomspace(0.1, 10, 30)
    curvature, matrix = spread(values)
    axes = np.linalg.eigh(matrix)[1].T
    mixed = axes.sum(0)
    vectors = np.stack([axes[3], mixed, axes[20], mixed, mixed + 1e-9 * axes[5], np.zeros(30)])
    exact = np.linalg.solve(matrix, vectors.T).T
    found = by_conjugate_gradients(curvature, jnp.asarray(vectors), tolerance=1e-10)
    np.testing.assert_allclose(found.vectors, exact, atol=1e-8)
    one = by_conjugate_gradients(curvature, jnp.asarray(vectors), tolerance=1e-10, steps=1).residuals
    assert np.all(one[jnp.array([0, 2])] < 1e-10)
    assert np.all(one[jnp.array([1, 3, 4])] > 1e-3)


def test_too_few_steps_are_told_by_the_residuals():
    curvature, matrix = spread(np.geomspace(1e-3, 1e3, 50))
    vectors = np.random.default_rng(3).standard_normal((2, 50))
    found = by_conjugate_gradients(curvature, jnp.asarray(vectors), steps=3)
    left = np.linalg.norm(vectors - found.vectors @ matrix, axis=1) / np.linalg.norm(vectors, axis=1)
    assert np.all(left > 1e-3)
    np.testing.assert_allclose(found.residuals, left, rtol=1e-9)


def test_samples_of_the_data_give_the_partial_sum_on_average():
    curvature, _ = curved()
    vectors = jnp.ones((1, 3))
    keys = jax.random.split(jax.random.key(0), 4000)
    runs = jax.vmap(
        lambda key: by_sampled_neumann_series(key, curvature, vectors, scale=0.1, terms=4, sample=5).vectors[0]
    )(keys)
    exact = by_neumann_series(curvature, vectors, scale=0.1, terms=4).vectors[0]
    errors = np.std(runs, 0) / len(keys) ** 0.5
    assert np.all(np.abs(np.mean(runs, 0) - exact) < 5 * errors)
    assert np.all(errors < 0.01 * np.abs(exact))


def test_gradients_are_those_of_single_examples():
    x, y = drawn(6)
    w = jnp.array([0.5, 1.0, -1.0])
    np.testing.assert_allclose(gradients(squares, w, (x, y)), (x @ w - y)[:, None] * x, rtol=1e-13)
