"""The loss of told tokens written out, and the loop of Adam against optax step by step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.architectures.language_models import init_language_model
from deeptheory.architectures.token_training import token_loss, train_on_tokens


def test_the_loss_counts_what_is_told():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((2, 3, 4)), rng.integers(0, 4, (2, 3))
    told = np.array([[True, False, True], [False, False, True]])
    lost = [
        [-np.log(np.exp(v[k]) / np.exp(v).sum()) for v, k in zip(vs, ks, strict=True)]
        for vs, ks in zip(logits, targets, strict=True)
    ]

    def model(_):
        return jnp.asarray(logits)

    assert token_loss(model, targets, targets) == pytest.approx(np.mean(lost))
    assert token_loss(model, targets, targets, told) == pytest.approx(np.array(lost)[told].mean())
    assert token_loss(model, targets, targets, np.zeros((2, 3), bool)) == 0


def test_descent_as_optax_does_it():
    model: Any = init_language_model(jax.random.key(0), vocabulary=3, context=4, width=4, layers=1)
    rng = np.random.default_rng(1)
    inputs, targets, told = rng.integers(0, 3, (4, 2, 4)), rng.integers(0, 3, (4, 2, 4)), rng.random((4, 2, 4)) < 0.5
    found = train_on_tokens(model, inputs, targets, told, rate=0.1)
    optimizer, loss = optax.adam(0.1), jax.jit(jax.value_and_grad(token_loss))
    memory = optimizer.init(model)
    for step in range(4):
        value, slope = loss(model, inputs[step], targets[step], told[step])
        assert found.losses[step] == pytest.approx(float(value), rel=1e-5)
        update, memory = optimizer.update(slope, memory)
        model = optax.apply_updates(model, update)
    for one, other in zip(jax.tree.leaves(found.model), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_an_ensemble_is_its_members():
    models = [init_language_model(jax.random.key(i), vocabulary=3, context=4, width=4, layers=1) for i in range(2)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
    ids = np.random.default_rng(2).integers(0, 3, (5, 2, 4))
    told = np.ones((5, 2, 4), bool)
    found = jax.vmap(lambda model: train_on_tokens(model, ids, ids, told, rate=0.1))(together)
    for place, model in enumerate(models):
        alone = train_on_tokens(model, ids, ids, told, rate=0.1)
        np.testing.assert_allclose(found.losses[place], alone.losses, rtol=1e-5)
