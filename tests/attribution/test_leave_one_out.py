import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.attribution.leave_one_out import (
    leave_one_out_residuals,
    leave_one_out_ridge,
    leave_one_out_weights,
    retrained,
    ridge_weights,
)


def regression(n=12, d=3, seed=0):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((n, d)), draw.standard_normal(n)


def squares(w, data):
    x, y = data
    return (x @ w - y) ** 2


def logistic(w, data):
    x, y = data
    return jnp.logaddexp(0.0, -y * (x @ w))


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.item("A10.1")
def test_ridge_without_each_point_is_a_fit_without_it(ridge):
    x, y = regression()
    found = leave_one_out_ridge(x, y, ridge=ridge)
    for i in range(len(y)):
        u, v = np.delete(x, i, 0), np.delete(y, i)
        weights = np.linalg.solve(u.T @ u + ridge * np.eye(3), u.T @ v)
        np.testing.assert_allclose(found[i], weights, atol=1e-12)
        assert leave_one_out_residuals(x, y, ridge=ridge)[i] == pytest.approx(y[i] - x[i] @ weights)


@pytest.mark.item("A10.1")
def test_retraining_finds_the_closed_form():
    x, y = regression()
    start = jnp.asarray(ridge_weights(x, y, ridge=0.6))
    found = retrained(squares, start, (x, y), leave_one_out_weights(12), ridge=2 * 0.6 / 12, steps=4)
    np.testing.assert_allclose(found.parameters, leave_one_out_ridge(x, y, ridge=0.6), atol=1e-12)
    assert np.all(found.slopes < 1e-12)


def test_logistic_regression_arrives_from_afar():
    x, y = regression()
    equal = np.full((1, 12), 1 / 12)
    found = retrained(logistic, jnp.full(3, 8.0), (x, np.sign(y)), equal, ridge=0.1)
    assert found.slopes[0] < 1e-12
    w = np.asarray(found.parameters[0])
    slope = -(np.sign(y) / (1 + np.exp(np.sign(y) * (x @ w)))) @ x / 12 + 0.1 * w
    np.testing.assert_allclose(slope, 0, atol=1e-12)


def test_a_spring_keeps_any_start_stationary():
    x, y = regression()
    start = jnp.array([0.3, -2.0, 1.0])
    found = retrained(logistic, start, (x, np.sign(y)), np.full((1, 12), 1 / 12), ridge=0.2, spring=0.5)
    np.testing.assert_allclose(found.parameters[0], start, atol=1e-12)


def test_what_cannot_be_left_out_is_refused():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match="leverage 1"):
        leave_one_out_ridge(x, np.ones(3), ridge=0.0)
    with pytest.raises(ValueError, match="ridge must be positive"):
        leave_one_out_ridge(x[:, [0, 0]], np.ones(3), ridge=0.0)
    with pytest.raises(ValueError, match="one column for each of 3"):
        retrained(squares, jnp.ones(2), (x, np.ones(3)), np.ones((1, 4)))
