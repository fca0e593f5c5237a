"""Layers of linear attention against automatic differentiation of least squares, and the step of least risk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.reasoning.in_context import (
    attend,
    best_step,
    gradient_step_layer,
    in_context_predictions,
    prompt,
    risk_after_one_step,
)

DRAW = np.random.default_rng(0)


@pytest.mark.item("H14.1")
def test_layers_are_steps_of_descent_by_automatic_differentiation():
    x, y, queries = DRAW.standard_normal((4, 7, 3)), DRAW.standard_normal((4, 7, 2)), DRAW.standard_normal((4, 5, 3))

    def loss(w, x, y):
        return 0.5 * jnp.mean(jnp.sum((x @ w.T - y) ** 2, -1))

    with jax.enable_x64(True):
        w = np.zeros((4, 2, 3))
        for layers in range(1, 4):
            w = w - 0.2 * np.asarray(jax.vmap(jax.grad(loss))(w, x, y))
            read = in_context_predictions(x, y, queries, step_size=0.2, layers=layers)
            assert np.allclose(read, queries @ w.swapaxes(-1, -2), atol=1e-13)


def test_one_example_by_hand():
    read = in_context_predictions(np.array([[2.0]]), np.array([[3.0]]), np.array([[5.0]]), step_size=0.1)
    assert read[0, 0] == pytest.approx(0.1 * 3 * 2 * 5)


def test_queries_do_not_disturb_each_other():
    tokens = prompt(DRAW.standard_normal((6, 2)), DRAW.standard_normal((6, 1)), DRAW.standard_normal((3, 2)))
    layer = gradient_step_layer(2, 1, 6, 0.4)
    assert np.allclose(attend(layer, tokens, 6)[:7], attend(layer, tokens[:7], 6))
    with pytest.raises(ValueError, match=r"examples must lie in \[1, 9\]"):
        attend(layer, tokens, 10)


def test_the_best_step_has_the_least_risk():
    for d, n, noise in ((1, 1, 0.0), (3, 10, 0.5)):
        best = best_step(d, n, noise=noise)
        risks = [risk_after_one_step(d, n, best + shift, noise=noise) for shift in (-0.01, 0, 0.01)]
        assert min(risks) == risks[1]
        assert risks[1] == pytest.approx(d * (d + 1 + noise) / (n + d + 1 + noise))
