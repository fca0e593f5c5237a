"""The door of the league: what it does not accept is refused in one sentence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generalization.league.ranking import rank_bounds

DRAW = np.random.default_rng(0)
X, HELD = (DRAW.standard_normal((60, 4)).astype(np.float32) for _ in range(2))
COINS = DRAW.integers(0, 2, 60)


def linear(rows):
    rows = jnp.asarray(rows, jnp.float32)
    layer = eqx.nn.Linear(rows.shape[1], len(rows), use_bias=False, key=jax.random.key(0))
    return eqx.tree_at(lambda each: each.weight, layer, rows)


def times(parameters, inputs):
    return inputs @ parameters


def foreign(module):
    """A callable of a class that another library would define there."""
    return type("Module", (), {"__module__": module, "__call__": lambda self, x: x})()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(model=None), "model must be an Equinox model or a function"),
        (dict(model=foreign("torch.nn.modules.module")), r"lambda x: module\(torch.tensor"),
        (dict(model=foreign("flax.linen.module")), r"league\(module.apply, …, parameters=variables\)"),
        (dict(model=lambda x: np.full((len(x), 2), np.nan)), "not finite for 120 of the 120"),
        (dict(model=linear(np.ones((2, 5)))), r"cannot be applied to inputs of shape \(4,\)"),
        (dict(model=lambda x: 1 / 0), "cannot be applied .*: division by zero"),
        (dict(model=lambda x: np.asarray(x)[:, :1]), r"at least two classes, got shape \(120, 1\); a single score"),
        (dict(model=lambda x: np.asarray(x)[:3]), r"at least two classes, got shape \(3, 4\)"),
        (dict(model=linear(np.full((2, 4), np.nan))), "parameters that are not finite"),
        (dict(train=X), "train must be a pair"),
        (dict(train=(X, COINS, 1)), "train must be a pair .* 3 things"),
        (dict(train=(X[:1], COINS[:1])), "at least 8 examples, got 1"),
        (dict(train=(X[:0], COINS[:0])), "at least 8 examples, got 0"),
        (dict(train=(X[:3], COINS)), "3 inputs and 60 labels"),
        (dict(train=(X, COINS + 0.5)), r"whole numbers from 0, .*, got float64 numbers such as"),
        (dict(train=(X, COINS - 1)), "whole numbers from 0, .*, got -1"),
        (dict(train=(X, np.eye(2, dtype=int)[COINS])), r"whole numbers from 0, .* shape \(60, 2\)"),
        (dict(train=(X, 2 * COINS)), "labels go up to 2 but there are 2 outputs"),
        (dict(train=(X + np.inf, COINS)), "train inputs contain numbers that are not finite"),
        (dict(test=(HELD[:0], COINS[:0])), "test data must have at least 1"),
        (dict(test=(HELD[:, :3], COINS)), "test inputs"),
        (dict(train=("abc", COINS)), "array of numbers"),
        (dict(delta=0.0), "delta must be a number strictly between 0 and 1, got 0.0"),
        (dict(delta=1), "delta must be a number strictly between 0 and 1, got 1"),
        (dict(delta="a"), "delta must be a number"),
        (dict(delta=float("nan")), "delta must be finite, got nan"),
        (dict(layers=[]), "an empty list"),
        (dict(layers="abc"), "a str"),
        (dict(layers=np.eye(2, 4)), "a ndarray"),
        (dict(layers=[linear(np.ones((2, 4)))]), "got a Linear: pass its weight"),
        (dict(layers=[np.zeros((2, 4))]), "not zero"),
        (dict(layers=[np.ones(4)]), r"layer 0 must be a matrix of finite numbers, got shape \(4,\)"),
        (dict(layers=[np.eye(2, 5)]), "takes 5 inputs but the data have 4"),
        (dict(layers=[np.eye(3, 4)]), "gives 3 outputs but the model 2"),
        (dict(layers=[np.eye(3, 4), np.eye(2, 5)]), "layer 1 takes 5 inputs but layer 0 gives 3"),
        (dict(layers=[(np.eye(2, 4), np.ones(3))]), r"bias of layer 0 must be 2 finite numbers, got shape \(3,\)"),
        (dict(initial=linear(np.ones((2, 5)))), "10 parameters and the trained one 8"),
        (dict(initial="start"), "initial must be the same Equinox model"),
        (dict(model=lambda x: x[:, :2], initial=[np.eye(2, 4)]), "initial needs the trained parameters"),
        (dict(model=times, parameters=np.ones((4, 2)), initial=np.ones((4, 3))), "12 parameters and the trained one 8"),
        (dict(model=times, parameters=np.full((4, 2), np.nan)), "parameters must be finite, got nan"),
        (dict(parameters=[1.0]), "an Equinox model holds its own"),
        (dict(key=3), "key must be one JAX random key, got 3"),
        (dict(key=jnp.ones(3)), r"key must be one JAX random key, got Array\(\[1., 1., 1.\]"),
        (dict(key=jax.random.split(jax.random.key(0))), "key must be one JAX random key"),
        (dict(model=lambda x: x[:, :2] + 1j), "the model must give real numbers, got complex"),
        (dict(layers=[(np.eye(2, 4), np.ones(2), 1)]), "layer 0 must be a matrix"),
        (dict(train=(X + 1j, COINS)), "the train inputs must be real numbers, got an array of complex"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    settings = (
        dict(model=linear(np.array([[1, -2, 0.5, 1], [-1, 2, 0, 1]])), train=(X, COINS), test=(HELD, COINS)) | change
    )
    with pytest.raises(ValueError, match=sentence) as found:
        rank_bounds(**settings)
    assert len(str(found.value).splitlines()) == 1
