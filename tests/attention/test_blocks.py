"""Blocks against plain loops, the matrix exponential, SciPy's integrators, and what must not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.attention.blocks import (
    Feedforward,
    Heads,
    block_velocity,
    sphere_flow,
    stepped_sphere_flow,
    unnormalized_velocity,
)
from deeptheory.attention.clusters import attention_matrix, interaction_energy, random_tokens, token_velocity

N, D, H = 5, 3, 2


@pytest.fixture
def block(key):
    drawn = np.random.default_rng(3)
    heads = Heads(*drawn.standard_normal((3, H, D, D)))
    layer = Feedforward(drawn.standard_normal((D, 4)), drawn.standard_normal((4, D)), drawn.standard_normal(4))
    return random_tokens(key, N, D), heads, layer


def by_loops(tokens, beta, heads, layer):
    moved = []
    for x in tokens:
        pull = layer.outer @ np.maximum(layer.inner @ x + layer.bias, 0)
        for query, key, value in zip(*heads, strict=True):
            weights = np.array([np.exp(beta * (query @ x) @ (key @ y)) for y in tokens])
            pull = pull + sum(w * (value @ y) for w, y in zip(weights / weights.sum(), tokens, strict=True))
        moved.append(pull - (x @ pull) * x)
    return np.array(moved)


@pytest.mark.item("J14.6")
def test_block_is_the_printed_sum(block):
    tokens, heads, layer = block
    assert np.allclose(block_velocity(tokens, 1.3, heads, layer), by_loops(tokens, 1.3, heads, layer), atol=1e-12)


@pytest.mark.item("J14.6")
def test_identity_matrices_give_plain_self_attention(block):
    tokens, *_ = block
    plain = Heads(*(np.eye(D)[None] for _ in range(3)))
    assert np.allclose(block_velocity(tokens, 2.0, plain), token_velocity(tokens, 2.0), atol=1e-14)


@pytest.mark.item("J14.3")
def test_flow_with_weights_that_depend_on_depth_follows_another_solver(block):
    tokens, heads, layer = block
    times = np.array([0.5, 1.5])

    def turned(t):
        return heads._replace(values=np.cos(t) * heads.values)

    def deep(t, x):
        return block_velocity(x, 1.0, heads._replace(values=jnp.cos(t) * heads.values), layer)

    found = sphere_flow(deep, tokens, times)
    other = solve_ivp(
        lambda t, y: by_loops(y.reshape(N, D), 1.0, turned(t), layer).ravel(),
        (0, 1.5),
        tokens.ravel(),
        method="DOP853",
        t_eval=times,
        rtol=1e-10,
        atol=1e-11,
    ).y.T.reshape(-1, N, D)
    assert np.allclose(found, other, atol=1e-6)
    assert np.allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-14)
    order = np.array([2, 0, 1, 4, 3])
    assert np.allclose(sphere_flow(deep, tokens[order], times), found[:, order], atol=1e-6)


@pytest.mark.item("J14.4")
def test_attention_is_stochastic_and_has_its_limits(block):
    tokens, heads, _ = block
    query, key = heads.queries[0], heads.keys[0]
    rows = np.asarray(attention_matrix(tokens, 1.5, query, key))
    assert np.allclose(rows.sum(-1), 1) and np.all(rows > 0)
    assert np.isclose(np.max(np.abs(np.linalg.eigvals(rows))), 1)
    assert np.allclose(attention_matrix(tokens, 0.0, query, key), 1 / N)
    scores = (tokens @ query.T) @ (tokens @ key.T).T
    assert np.allclose(attention_matrix(tokens, 1e4, query, key), np.eye(N)[scores.argmax(-1)])


def test_unnormalized_flow_is_half_the_gradient_of_the_energy(block):
    tokens, *_ = block
    slope = np.zeros((N, D))
    for i, k in np.ndindex(N, D):
        step = np.zeros((N, D))
        step[i, k] = 1e-5
        slope[i, k] = (interaction_energy(tokens + step, 1.2) - interaction_energy(tokens - step, 1.2)) / 2e-5
    slope -= np.sum(slope * tokens, -1, keepdims=True) * tokens
    assert np.allclose(unnormalized_velocity(tokens, 1.2), slope / 2, atol=1e-8)


def test_tokens_off_the_sphere_are_refused(block):
    tokens, *_ = block
    with pytest.raises(ValueError, match="length"):
        sphere_flow(lambda _, x: x, 2 * tokens, np.ones(1))
    with pytest.raises(ValueError, match="velocity must return the shape"):
        sphere_flow(lambda _, x: x[:1], tokens, np.ones(1))


def test_single_precision_outside_does_not_spoil_the_flow(block):
    tokens, *_ = block
    fine = sphere_flow(lambda _, x: token_velocity(x, 1.0), tokens, np.ones(1))
    with jax.enable_x64(False):
        assert np.allclose(sphere_flow(lambda _, x: token_velocity(x, 1.0), tokens, np.ones(1)), fine, atol=1e-8)


def test_equal_steps_on_the_sphere_are_the_flow_and_carry_derivatives():
    tokens, times = random_tokens(jax.random.key(3), 1, 5, 3)[0], np.array([0.5, 1.5])

    def moving(beta):
        return lambda t, x: (1 + t) * token_velocity(x, beta)

    found = np.asarray(stepped_sphere_flow(moving(2.0), tokens, times, substeps=32))
    np.testing.assert_allclose(found, sphere_flow(moving(2.0), tokens, times), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-12)

    def meeting(beta):
        return jnp.sum(stepped_sphere_flow(moving(beta), tokens, times, substeps=32)[-1, 0] * tokens[1])

    ends = [np.sum(sphere_flow(moving(2 + h), tokens, times)[-1, 0] * np.asarray(tokens[1])) for h in (1e-3, -1e-3)]
    assert jax.jit(jax.grad(meeting))(2.0) == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-4)
    with pytest.raises(ValueError, match="length_of_the_tokens"):
        stepped_sphere_flow(moving(2.0), 2 * tokens, times)
