"""Rows of the league against hand calculation; networks that hide what they know are given no false bound."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generalization.league.door import repeated_inputs
from deeptheory.generalization.league.network import found_layers, given_layers, stored_bits
from deeptheory.generalization.league.ranking import rank_bounds
from deeptheory.generalization.networks.norms import absorbed_biases, margins

pytestmark = pytest.mark.slow

DRAW = np.random.default_rng(0)
X, HELD = (DRAW.standard_normal((60, 4)).astype(np.float32) for _ in range(2))
COINS, HELD_COINS = (DRAW.integers(0, 2, 60) for _ in range(2))
DIRECTION = np.array([1.0, -2.0, 0.5, 1.0], np.float32)
NORMS = ["Frobenius product", "path norm", "spectral with stable ranks", "spectral, per sample"]


def linear(rows, *, bias=None):
    rows = jnp.asarray(rows)
    layer = eqx.nn.Linear(rows.shape[1], len(rows), use_bias=bias is not None, key=jax.random.key(0))
    layer = eqx.tree_at(lambda each: each.weight, layer, rows)
    return layer if bias is None else eqx.tree_at(lambda each: each.bias, layer, jnp.asarray(bias))


def truth(inputs):
    return (inputs @ DIRECTION > 0).astype(int)


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
    assert known["PAC-Bayes"].value < 0.3 < table["PAC-Bayes"].value


@pytest.mark.parametrize("kind", [jnp.float16, jnp.float32, jnp.float64])
def test_bits_are_those_of_the_type(kind):
    model = linear(jnp.ones((2, 4), kind), bias=jnp.ones(2, kind))
    assert found_layers(model).bits == 10 * 8 * jnp.dtype(kind).itemsize


def test_bounds_by_norms_read_what_decides_between_two_classes():
    data = (X, truth(X)), (HELD, truth(HELD))
    one = rank_bounds(linear(np.stack([-DIRECTION, DIRECTION])), *data)
    two = rank_bounds(linear(np.stack([0 * DIRECTION, 2 * DIRECTION])), *data)
    for name in ("Frobenius product", "path norm"):
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


def test_given_layers_count_their_own_bits():
    assert given_layers([np.ones((3, 2), np.float32), np.ones((1, 3))]).bits == 6 * 32 + 3 * 64
    assert given_layers([(np.ones((3, 2), np.float32), np.zeros(3, np.float16))]).bits == 6 * 32 + 3 * 16


THREE = DRAW.integers(0, 3, 60)


def three_classes(depth):
    return eqx.nn.MLP(4, 3, 5, depth, key=jax.random.key(depth))


@pytest.mark.parametrize(("depth", "factor"), [(1, 2 * np.sqrt(2) * np.sqrt(2)), (2, 2 * np.sqrt(2) * 2)])
def test_norm_bounds_of_three_classes_and_biases_by_hand(depth, factor):
    model, n = three_classes(depth), 60
    table = rank_bounds(model, (X, THREE), (HELD, THREE))
    pairs = [(np.asarray(layer.weight, float), np.asarray(layer.bias, float)) for layer in model.layers]
    layers = absorbed_biases(*zip(*pairs, strict=True))
    layers[-1] = layers[-1] - layers[-1].mean(axis=0)
    size = np.sqrt(np.mean(np.sum(X.astype(float) ** 2, axis=1)) + 1)
    values = margins(jax.vmap(model)(jnp.asarray(X)), THREE)
    paths = np.ones(5)
    for layer in layers:
        paths = layer**2 @ paths
    norms = {
        "Frobenius product": np.prod([np.linalg.norm(layer) for layer in layers]),
        # One more unit carries the constant, so that six are chosen among in every hidden layer.
        "path norm": np.sqrt(paths.sum()) * 6 ** (depth / 2),
    }
    for name, norm in norms.items():
        tried = []
        for g in (q for q in np.quantile(values, np.linspace(0.05, 0.95, 10)) if q > 0):
            ratio = np.sqrt(paths.sum()) / g if name == "path norm" else norm / g
            power = np.ceil(4 * np.log2(ratio))
            share = 2 * 0.05 / (3 * (abs(power) + 1) * (abs(power) + 2))
            capacity = 2 * factor * size * norm / g / ratio * 2 ** (power / 4) / np.sqrt(n)
            tried.append(np.mean(values <= g) + capacity + 3 * np.sqrt(np.log(2 / share) / (2 * n)))
        assert table[name].valid
        assert table[name].value == pytest.approx(min(tried), rel=1e-4)  # the model itself is in single precision


def test_a_network_with_biases_is_bounded_by_layers_passed_as_pairs():
    model = three_classes(1)
    pairs = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in model.layers]
    found = rank_bounds(model, (X, THREE), (HELD, THREE))
    given = rank_bounds(lambda x: jax.vmap(model)(x), (X, THREE), (HELD, THREE), layers=pairs)
    for entry in found.entries:
        assert given[entry.name].valid == entry.valid
        if entry.value is not None:
            assert given[entry.name].value == pytest.approx(entry.value, rel=1e-3)
    assert given["PAC-Bayes"].valid and given["compression, truncated and rounded"].valid
    # Without the biases the layers are another network.
    bare = rank_bounds(lambda x: jax.vmap(model)(x), (X, THREE), (HELD, THREE), layers=[w for w, _ in pairs])
    assert not bare["Frobenius product"].valid and bare["PAC-Bayes"].value is None


def test_a_function_of_its_parameters_gets_what_it_stores():
    rows = np.stack([-DIRECTION, DIRECTION])

    def call(parameters, inputs):
        return inputs @ parameters["rows"].T

    data = (X, truth(X)), (HELD, truth(HELD))
    table = rank_bounds(call, *data, parameters={"rows": rows})
    same = rank_bounds(linear(rows), *data)
    for name in ("Occam, bits as stored", "compression, truncated and rounded"):
        assert table[name].valid and table[name].value == pytest.approx(same[name].value)
    assert table["Frobenius product"].verdict() == "needs layers"
    # One is drawn layer by layer and one by whole networks: the same law, 20,000 answers.
    assert table["PAC-Bayes"].value == pytest.approx(same["PAC-Bayes"].value, abs=0.02)
    plain = rank_bounds(lambda p, x: np.asarray(x) @ np.asarray(p["rows"]).T, *data, parameters={"rows": rows})
    assert plain["PAC-Bayes"].verdict() == "needs a function that JAX can trace"
    assert plain["compression, truncated and rounded"].value == table["compression, truncated and rounded"].value


def test_functions_see_batches_of_bounded_size():
    seen = []

    def model(inputs):
        seen.append(len(inputs))
        return np.asarray(inputs)[:, :2]

    many = np.tile(X, (100, 1))
    rank_bounds(model, (many, np.tile(COINS, 100)), (HELD, HELD_COINS))
    assert max(seen) == 4096 and sum(seen) == 6060


def test_pixels_in_bytes_do_not_overflow():
    pixels, held = (DRAW.integers(0, 256, (60, 4)).astype(np.uint8) for _ in range(2))
    rows = np.stack([-DIRECTION, DIRECTION])

    def model(inputs):
        return np.asarray(inputs, float) @ rows.T

    whole = rank_bounds(model, (pixels, COINS), (held, COINS), layers=[rows])
    floats = rank_bounds(model, (pixels.astype(float), COINS), (held.astype(float), COINS), layers=[rows])
    assert whole["Frobenius product"].value == pytest.approx(floats["Frobenius product"].value)


def test_a_module_without_layers_has_no_norms():
    class Raw(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            return self.weight @ x

    table = rank_bounds(Raw(jnp.asarray(np.stack([-DIRECTION, DIRECTION]))), (X, COINS), (HELD, HELD_COINS))
    assert table["spectrally normalised"].verdict() == "no linear layers found"
    assert table["Occam, bits as stored"].valid
