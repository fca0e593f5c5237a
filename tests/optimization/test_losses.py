"""Losses by hand and against SciPy; risks by finite differences; a support vector machine against a solver."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize
import scipy.stats

from deeptheory.foundations.entropies import entropy
from deeptheory.optimization.convex_models import HingeRidge, soft_margin
from deeptheory.optimization.losses import (
    class_error,
    cross_entropy,
    log_loss,
    risk_on,
    squared_loss,
)
from deeptheory.optimization.runs import trajectory

NU, Y = np.array([[0.2, 0.5, 0.3], [0.25, 0.25, 0.5]]), np.array([[0.1, 0.9, 0.0], [0.25, 0.25, 0.5]])


@pytest.mark.item("L5.1")
def test_losses_by_hand_and_by_scipy():
    np.testing.assert_array_equal(class_error(NU, np.array([1, 0])), [0.0, 1.0])
    assert float(class_error(np.array([0.5, 0.5]), 0)) == 1.0  # a tie
    np.testing.assert_allclose(log_loss(NU, np.array([1, 2])), np.log(2))
    np.testing.assert_allclose(squared_loss(NU, Y), [(0.01 + 0.16 + 0.09) / 2, 0.0], rtol=1e-12)
    assert float(squared_loss(3.0, 1.0)) == 2.0
    np.testing.assert_allclose(entropy(Y), scipy.stats.entropy(Y, axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        cross_entropy(NU, Y) - entropy(Y), scipy.stats.entropy(Y, NU, axis=1), rtol=1e-12, atol=1e-16
    )
    # Outside the simplex: y = (0.1, 0.1) against (½, ½).
    low = np.array([0.1, 0.1])
    assert float(cross_entropy(np.full(2, 0.5), low)) == pytest.approx(0.2 * np.log(2))
    assert float(entropy(low)) == pytest.approx(0.2 * np.log(10))
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 2\], got \[1 3\]"):
        log_loss(NU, np.array([1, 3]))
    with pytest.raises(ValueError, match=r"probabilities must .*1.5"):
        cross_entropy(np.array([1.5, 0.5]), low)


@pytest.mark.item("H4.1", "L5.2")
def test_the_risk_of_a_network_by_loops_and_differences():
    random = np.random.default_rng(0)
    x, y = random.standard_normal((7, 2)), random.integers(3, size=7)
    theta = {"in": random.standard_normal((4, 2)), "out": random.standard_normal((3, 4))}

    def model(parameters, one):
        return jax.nn.softmax(parameters["out"] @ jnp.tanh(parameters["in"] @ one))

    def by_hand(inner):
        scores = np.tanh(x @ inner.T) @ theta["out"].T
        chances = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        return -np.log(chances[np.arange(7), y])

    risk = risk_on(model, log_loss, x, y)
    assert float(risk(theta)) == pytest.approx(by_hand(theta["in"]).mean(), rel=1e-12)
    assert float(risk(theta, jnp.array([2, 2, 5]))) == pytest.approx(by_hand(theta["in"])[[2, 2, 5]].mean(), rel=1e-12)
    move = random.standard_normal((4, 2))
    slope = (by_hand(theta["in"] + 1e-5 * move).mean() - by_hand(theta["in"] - 1e-5 * move).mean()) / 2e-5
    assert float(jnp.sum(jax.grad(risk)(theta)["in"] * move)) == pytest.approx(slope, rel=1e-7)
    run = trajectory(risk, optax.sgd(0.1), theta, steps=2, batches=jnp.array([[0, 1], [2, 3]]))
    assert float(run.value[0]) == pytest.approx(by_hand(theta["in"])[:2].mean())
    with pytest.raises(ValueError, match=r"one first axis of examples, got lengths \[6, 7\]"):
        risk_on(model, log_loss, x, y[:6])


@pytest.mark.item("H4.5")
def test_a_support_vector_machine_against_a_quadratic_program():
    random = np.random.default_rng(1)
    x, y = random.standard_normal((15, 3)), np.sign(random.standard_normal(15))
    loss = HingeRidge(jnp.asarray(x), jnp.asarray(y), 0.1)
    found = soft_margin(loss)
    # The primal with slacks ξ ≥ 0, ξ ≥ 1 − y x·w, by a general solver.
    program = scipy.optimize.minimize(
        lambda v: v[3:].mean() + 0.05 * v[:3] @ v[:3],
        np.append(np.zeros(3), np.ones(15)),
        jac=lambda v: np.append(0.1 * v[:3], np.full(15, 1 / 15)),
        bounds=[(None, None)] * 3 + [(0, None)] * 15,
        constraints={"type": "ineq", "fun": lambda v: v[3:] - 1 + y * (x @ v[:3])},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found.weights, program.x[:3], atol=1e-6)
    assert float(loss(found.weights)) == pytest.approx(program.fun, abs=1e-9)
    assert abs(float(found.gap)) < 1e-12 and float(found.duals.min()) >= 0 and float(found.duals.max()) <= 1 / 15
    rough = soft_margin(loss, sweeps=1)
    assert float(loss(rough.weights)) - program.fun <= float(rough.gap)
    # Two examples that point almost the same way, both of margin one: sweeps alone are 3·10⁻⁴ off after so many.
    almost = jnp.array([[1.0, 0.03], [1.0, -0.03]])
    near = soft_margin(HingeRidge(almost, jnp.array([1.0, 1.0]), 0.3))
    np.testing.assert_allclose(almost @ near.weights, 1.0, atol=1e-13)
    # So they are beside a third that is far beyond its margin and one that never reaches it, whose duals are bounds.
    four = jnp.concatenate([almost, jnp.array([[5.0, 2.0], [-0.1, 0.0]])])
    among = soft_margin(HingeRidge(four, jnp.ones(4), 0.15))
    np.testing.assert_allclose(almost @ among.weights, 1.0, atol=1e-13)
    np.testing.assert_allclose(among.duals[2:], [0, 1 / 4], atol=1e-15)
    assert abs(float(among.gap)) < 1e-13
    # Two points, one each side: w = x/‖x‖² has margin one, and the ridge pulls it back if α > 1/2.
    pair = HingeRidge(jnp.array([[1.0], [-1.0]]), jnp.array([1.0, -1.0]), 2.0)
    assert float(soft_margin(pair).weights[0]) == pytest.approx(0.5)
