"""Descent with weight decay and its equivalents, against NumPy loops and exact small cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.normalization.decayed_descent import (
    decayed_descent,
    equivalent_decay,
    equivalent_rates,
    heavy_ball,
    momentum_rates,
    momentum_root,
    unrolled_square_norm,
)
from deeptheory.normalization.equilibrium import effective_rate, equilibrium_norm, norm_step, relaxation_factor
from deeptheory.normalization.spheres import RayleighQuotient

QUOTIENT = RayleighQuotient(jnp.diag(jnp.array([1.0, 2.0, 4.0])))
GRADIENT = jax.grad(QUOTIENT)
START = jnp.array([0.3, 1.0, -0.5])


@pytest.mark.item("A13.10")
def test_a_run_with_batches_on_a_tree_by_hand():
    def gradient(w, batch):
        return {"a": batch * w["a"], "b": w["b"] - batch}

    rates, decays, batches = np.array([0.1, 0.5]), np.array([1.0, 0.2]), np.array([2.0, -1.0])
    path = decayed_descent(gradient, {"a": 1.0, "b": 3.0}, rates=rates, decays=decays, batches=batches)
    # 1·(1 − 0.1) − 0.1·2 = 0.7, then 0.7·(1 − 0.1) + 0.5·0.7 = 0.98
    np.testing.assert_allclose(path["a"], [1.0, 0.7, 0.98], rtol=1e-6)
    # 3·0.9 − 0.1·(3 − 2) = 2.6, then 2.6·0.9 − 0.5·(2.6 + 1) = 0.54
    np.testing.assert_allclose(path["b"], [3.0, 2.6, 0.54], rtol=1e-5)


@pytest.mark.item("A13.11")
def test_rates_that_replace_weight_decay():
    np.testing.assert_allclose(
        equivalent_rates(np.full(4, 0.5), 0.4), 0.5 * 0.8 ** -(2.0 * np.arange(4) + 1), rtol=1e-5
    )
    rates, decays = np.array([0.3, 0.1, 0.4, 0.2]), np.array([0.5, 0.0, 1.0, 0.2])
    decayed = decayed_descent(GRADIENT, START, rates=rates, decays=decays)
    plain = decayed_descent(GRADIENT, START, rates=equivalent_rates(rates, decays), decays=0.0)
    shrunk = np.concatenate([[1.0], np.cumprod(1 - rates * decays)])
    np.testing.assert_allclose(plain * shrunk[:, None], decayed, rtol=1e-4)
    rate, decay = equivalent_decay(0.2, 0.1)
    np.testing.assert_allclose(equivalent_rates(np.full(3, rate), decay), 0.2 * 1.1 ** np.arange(3), rtol=1e-5)


@pytest.mark.item("A13.12")
def test_momentum_without_decay_and_rates_that_replace_it():
    rate, decay, momentum, steps = 0.2, 0.1, 0.6, 12
    w, before, path = np.asarray(START, float), np.asarray(START, float), [np.asarray(START, float)]
    for _ in range(steps):
        moved = w + momentum * (w - before) - rate * (np.asarray(GRADIENT(jnp.asarray(w))) + decay * w)
        w, before = moved, w
        path.append(w)
    ours = heavy_ball(GRADIENT, START, rates=np.full(steps, rate), momentum=momentum, decay=decay)
    np.testing.assert_allclose(ours, path, rtol=1e-4, atol=1e-6)
    root = momentum_root(rate, decay, momentum)
    assert root + momentum / root == pytest.approx(1 + momentum - rate * decay)
    assert root > momentum / root
    rates = momentum_rates(rate, decay, momentum, steps=steps)
    plain = heavy_ball(GRADIENT, START, rates=rates, momentum=momentum, before=root * START, before_rate=rate * root)
    np.testing.assert_allclose(plain * root ** np.arange(steps + 1)[:, None], path, rtol=1e-3, atol=1e-5)
    assert momentum_root(0.5, 0.4, 0.0) == pytest.approx(0.8)


def test_momentum_too_strong_for_its_decay_has_no_real_root():
    with pytest.raises(ValueError, match="rate · decay"):
        momentum_root(1.0, 0.1, 0.9)


@pytest.mark.item("A13.22")
def test_norms_add_up_from_the_gradients():
    rates, decay = np.array([0.3, 0.1, 0.4, 0.2]), 0.5
    path = decayed_descent(GRADIENT, START, rates=rates, decays=decay)
    squares = jnp.sum(jax.vmap(GRADIENT)(path[:-1]) ** 2, 1)
    wanted = np.sum(np.asarray(path)[1:] ** 2, 1)
    np.testing.assert_allclose(
        unrolled_square_norm(float(START @ START), squares, rates=rates, decays=decay), wanted, rtol=1e-5
    )
    unit = path[0] / np.linalg.norm(path[0])
    step = norm_step(START @ START, jnp.sum(GRADIENT(unit) ** 2), rate=0.3, decay=decay)
    assert step == pytest.approx(wanted[0], rel=1e-5)


@pytest.mark.item("A13.25")
def test_the_equilibrium_is_a_fixed_point_with_its_rate_of_approach():
    setting = dict(rate=0.3, decay=0.2)
    norm = equilibrium_norm(5.0, **setting)
    assert norm**4 == pytest.approx(0.3 * 5 / (0.2 * (2 - 0.06)))
    assert norm_step(norm**2, 5.0, **setting) == pytest.approx(norm**2)
    off = norm_step(norm**2 * (1 + 1e-5), 5.0, **setting) / norm**2 - 1
    assert off == pytest.approx(1e-5 * float(relaxation_factor(**setting)), rel=1e-3)
    assert effective_rate(5.0, **setting) == pytest.approx((0.06 * (2 - 0.06) / 5) ** 0.5)
