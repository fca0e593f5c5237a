"""Rows of the league against hand calculation; networks that hide what they know are given no false bound."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

from deeptheory.generalization.league import rank_bounds
from deeptheory.generalization.league_door import repeated_inputs
from deeptheory.generalization.league_posteriors import TEMPERATURES, described
from deeptheory.generalization.model_layers import found_layers, given_layers, stored_bits

DRAW = np.random.default_rng(0)
X, HELD = (DRAW.standard_normal((60, 4)).astype(np.float32) for _ in range(2))
COINS, HELD_COINS = (DRAW.integers(0, 2, 60) for _ in range(2))
DIRECTION = np.array([1.0, -2.0, 0.5, 1.0], np.float32)
PAC_BAYES = ["kl inverted", "Langford–Seeger", "McAllester", "Catoni"]
NORMS = ["Frobenius product", "path norm", "spectral with stable ranks", "spectral, per sample"]


def linear(rows, *, bias=None):
    rows = jnp.asarray(rows)
    layer = eqx.nn.Linear(rows.shape[1], len(rows), use_bias=bias is not None, key=jax.random.key(0))
    layer = eqx.tree_at(lambda each: each.weight, layer, rows)
    return layer if bias is None else eqx.tree_at(lambda each: each.bias, layer, jnp.asarray(bias))


def truth(inputs):
    return (inputs @ DIRECTION > 0).astype(int)


@pytest.fixture(scope="module")
def separated():
    """A linear network of large margins without training error, its own start: no noise tried changes an answer."""
    far = X[np.abs(X @ DIRECTION) > 0.3]
    model = linear(1e4 * np.stack([-DIRECTION, DIRECTION]))
    return len(far), rank_bounds(model, (far, truth(far)), (HELD, truth(HELD)), initial=model, delta=0.1)


def nearest(inputs):
    return np.eye(2)[COINS[np.argmin(((np.asarray(inputs)[:, None] - X) ** 2).sum(-1), axis=1)]]


class Coded(eqx.Module):
    """The training data as whole numbers, and a layer that does nothing."""

    codes: jax.Array
    labels: jax.Array
    layer: eqx.nn.Linear

    def __call__(self, x):
        place = jnp.argmin(jnp.sum((self.codes / 1e6 - x) ** 2, axis=1))
        return jax.nn.one_hot(self.labels[place], 2) + 0 * self.layer(x)


def test_layers_that_are_not_the_model_bound_nothing():
    table = rank_bounds(nearest, (X, COINS), (HELD, HELD_COINS), layers=[np.ones((2, 4))])
    assert [entry.name for entry in table.entries if entry.valid] == ["hold-out, exact binomial"]
    assert "the layers passed may not be all of the model" in table["Occam, bits as stored"].unmet


def test_layers_that_are_the_model_bound_it():
    rows = np.stack([-DIRECTION, DIRECTION])
    table = rank_bounds(lambda inputs: np.asarray(inputs) @ rows.T, (X, COINS), (HELD, HELD_COINS), layers=[rows])
    entry = table["Occam, bits as stored"]
    assert entry.valid and entry.of == "the ReLU network of the layers passed"
    price = np.sqrt((8 * 32 * np.log(2) + np.log(20)) / 120)
    assert entry.value == pytest.approx(table.train_error + price)


def test_whole_numbers_are_paid_for():
    codes = jnp.asarray(np.round(X * 1e6), jnp.int32)
    model = Coded(codes, jnp.asarray(COINS, jnp.int32), linear(np.ones((2, 4), np.float32)))
    assert stored_bits(model) == 32 * (240 + 60 + 8)
    table = rank_bounds(model, (X, COINS), (HELD, HELD_COINS))
    assert table.train_error == 0
    assert all(entry.value >= 0.5 for entry in table.entries if entry.valid)
    # The same numbers before training are no secret of the data: then noise is all that is paid for.
    known = rank_bounds(model, (X, COINS), (HELD, HELD_COINS), initial=model)
    assert known["PAC-Bayes, kl inverted"].value < 0.3 < table["PAC-Bayes, kl inverted"].value


@pytest.mark.parametrize("kind", [jnp.float16, jnp.float32, jnp.float64])
def test_bits_are_those_of_the_type(kind):
    model = linear(jnp.ones((2, 4), kind), bias=jnp.ones(2, kind))
    assert found_layers(model).bits == 10 * 8 * jnp.dtype(kind).itemsize


def test_a_truncated_matrix_is_the_product_of_what_is_written_down():
    rank = DRAW.standard_normal((8, 1)) @ DRAW.standard_normal((1, 6))
    weight = jnp.asarray(rank + 1e-3 * DRAW.standard_normal((8, 6)), jnp.float16)
    cut, bits = described(weight, 0.1)
    assert bits == 16 * 14 + np.log2(7)
    u, s, v = np.linalg.svd(np.asarray(weight, float))
    factors = (u[:, :1] * s[0]).astype(np.float16), v[:1].astype(np.float16)
    np.testing.assert_array_equal(cut, (factors[0].astype(float) @ factors[1].astype(float)).astype(np.float16))
    assert not np.array_equal(cut, ((u[:, :1] * s[0]) @ v[:1]).astype(np.float16))
    whole, bits = described(weight, 0.0)
    np.testing.assert_array_equal(whole, weight)
    assert bits == 16 * 48 + np.log2(7)


def test_bounds_by_norms_read_what_decides_between_two_classes():
    data = (X, truth(X)), (HELD, truth(HELD))
    one = rank_bounds(linear(np.stack([-DIRECTION, DIRECTION])), *data)
    two = rank_bounds(linear(np.stack([0 * DIRECTION, 2 * DIRECTION])), *data)
    for name in ("Rademacher, linear class", "Frobenius product", "path norm"):
        assert one[name].valid
        assert one[name].value == pytest.approx(two[name].value, rel=1e-5)


def test_the_dimension_of_a_linear_model_is_known():
    data = (X, truth(X)), (HELD, truth(HELD))
    rows = np.stack([-DIRECTION, DIRECTION])
    for model, dimension in ((linear(rows), 4), (linear(rows, bias=np.array([0.1, 0.0], np.float32)), 5)):
        table = rank_bounds(model, *data)
        price = np.sqrt(8 * (dimension * (np.log(120 / dimension) + 1) + np.log(40)) / 60)
        assert table["VC dimension"].valid
        assert table["VC dimension"].value == pytest.approx(table.train_error + price)


def test_pac_bayes_of_a_network_without_errors_by_hand(separated):
    n, table = separated
    assert table.train_error == 0
    risk, share = 1 - np.exp(-np.log(2 / 0.1) / 200), 0.05 / 10

    def inverted(budget):
        return brentq(lambda q: rel_entr(risk, q) + rel_entr(1 - risk, 1 - q) - budget, risk, 1 - 1e-12)

    catoni = [(1 - np.exp(-c * risk - np.log(len(TEMPERATURES) / share) / n)) / (1 - np.exp(-c)) for c in TEMPERATURES]
    expected = [
        inverted(np.log(2 * np.sqrt(n) / share) / n),
        inverted(np.log(n / share) / (n - 1)),
        risk + np.sqrt(np.log(2 * n / share) / (2 * (n - 1))),
        min(catoni),
    ]
    found = [table[f"PAC-Bayes, {name}"].value for name in PAC_BAYES]
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # in single precision


def test_the_table_says_which_network_a_bound_is_for(separated):
    _, table = separated
    assert "of the truncated network" in str(table)
    assert "with noise 0.001 on its weights" in str(table)
    assert max(len(line) for line in str(table).splitlines()) < 130


class Residual(eqx.Module):
    first: eqx.nn.Linear
    last: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __call__(self, x):
        return self.last(self.norm(x + jnp.exp(self.first(x))))


def test_networks_that_are_no_chain_of_relu_layers_are_flagged():
    data = (X, truth(X)), (HELD, truth(HELD))
    one, two = jax.random.split(jax.random.key(3))
    settings = dict(in_size=4, out_size=2, width_size=8, depth=1, use_bias=False, use_final_bias=False, key=one)
    plain = rank_bounds(eqx.nn.MLP(**settings), *data)
    curved = rank_bounds(eqx.nn.MLP(**settings, activation=jnp.tanh), *data)
    other = Residual(
        eqx.nn.Linear(4, 4, use_bias=False, key=one), eqx.nn.Linear(4, 2, use_bias=False, key=two), eqx.nn.LayerNorm(4)
    )
    mixed = rank_bounds(other, *data)
    message = "the layers with ReLU between do not give the outputs of the model"
    for name in NORMS:
        assert message not in plain[name].unmet
        assert message in curved[name].unmet and message in mixed[name].unmet
        assert "8 parameters outside the layers found" in mixed[name].unmet
    assert plain["Frobenius product"].valid and plain["path norm"].valid
    assert not curved["Frobenius product"].valid


class Convolved(eqx.Module):
    first: eqx.nn.Conv1d
    last: eqx.nn.Linear

    def __call__(self, x):
        return self.last(jnp.ravel(self.first(x[None])))


def test_layers_in_no_chain_have_norms_but_no_paths():
    one, two = jax.random.split(jax.random.key(3))
    model = Convolved(eqx.nn.Conv1d(1, 3, 2, key=one), eqx.nn.Linear(9, 2, key=two))
    table = rank_bounds(model, (X.astype(float), COINS), (HELD.astype(float), HELD_COINS))
    assert table["path norm"].verdict() == "needs layers in a chain"
    assert table["Frobenius product"].value is not None and not table["Frobenius product"].valid


def test_test_data_that_were_trained_on_are_no_hold_out():
    model = linear(np.stack([-DIRECTION, DIRECTION]))
    entry = rank_bounds(model, (X, COINS), (X, COINS))["hold-out, exact binomial"]
    assert entry.unmet == ("60 of the test inputs are training inputs",)
    assert repeated_inputs(X, np.concatenate([HELD, X[:3]])) == 3
    # Inputs that are drawn from a few points repeat themselves without being shared.
    points = np.eye(4)[DRAW.integers(0, 4, 100)]
    assert repeated_inputs(points, np.eye(4)) == 0
    pairs = np.concatenate([X, X[:20]])  # half of these occur twice, and one in two test inputs may be known
    assert repeated_inputs(pairs, np.concatenate([HELD[:3], X[:3]])) == 0
    assert repeated_inputs(pairs, X) == 60


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(model=None), "model must be an Equinox model or a function"),
        (dict(model=lambda x: np.full((len(x), 2), np.nan)), "not finite for 60 of the 60"),
        (dict(model=linear(np.ones((2, 5), np.float32))), r"cannot be applied to .* shape \(120, 4\)"),
        (dict(model=lambda x: np.asarray(x)[:, :1]), "at least two classes"),
        (dict(model=linear(np.full((2, 4), np.nan, np.float32))), "parameters that are not finite"),
        (dict(train=X), "train must be a pair"),
        (dict(train=(X, COINS, 1)), "train must be a pair .* 3 things"),
        (dict(train=(X[:1], COINS[:1])), "at least 8 examples, got 1"),
        (dict(test=(HELD[:0], COINS[:0])), "test data must have at least 1"),
        (dict(test=(HELD[:, :3], COINS)), "test inputs"),
        (dict(train=("abc", COINS)), "array of numbers"),
        (dict(delta="a"), "delta must be a number"),
        (dict(delta=float("nan")), "delta must be a number"),
        (dict(layers=[]), "an empty list"),
        (dict(layers="abc"), "a str"),
        (dict(layers=np.eye(2, 4)), "a ndarray"),
        (dict(layers=[linear(np.ones((2, 4)))]), "got a Linear: pass its weight"),
        (dict(layers=[np.zeros((2, 4))]), "not zero"),
        (dict(layers=[np.eye(2, 5)]), "takes 5 inputs but the data have 4"),
        (dict(layers=[np.eye(3, 4)]), "gives 3 outputs but the model 2"),
        (dict(initial=linear(np.ones((2, 5)))), "10 parameters and the trained one 8"),
        (dict(key=3), "key must be a JAX random key"),
        (dict(initial="start"), "initial is for Equinox models"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    settings = dict(model=linear(np.stack([-DIRECTION, DIRECTION])), train=(X, COINS), test=(HELD, HELD_COINS)) | change
    with pytest.raises(ValueError, match=sentence) as found:
        rank_bounds(**settings)
    assert len(str(found.value).splitlines()) == 1


def test_given_layers_count_their_own_bits():
    assert given_layers([np.ones((3, 2), np.float32), np.ones((1, 3))]).bits == 6 * 32 + 3 * 64


def test_a_module_without_layers_has_no_norms():
    class Raw(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            return self.weight @ x

    table = rank_bounds(Raw(jnp.asarray(np.stack([-DIRECTION, DIRECTION]))), (X, COINS), (HELD, HELD_COINS))
    assert table["spectrally normalised"].verdict() == "no linear layers found"
    assert table["Occam, bits as stored"].valid
