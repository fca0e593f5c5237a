"""The network with noise: answers drawn layer by layer follow the law of whole networks, and the bound by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr, rel_entr

from deeptheory.generalization.league.network import Network, equinox_network, found_layers
from deeptheory.generalization.league.noise import (
    SCALES,
    TEMPERATURES,
    Noisy,
    chain_with_noise,
    chosen_levels,
    noise_row,
    tree_with_noise,
)

pytestmark = pytest.mark.slow

DRAW = np.random.default_rng(0)
X = DRAW.standard_normal((50, 4)).astype(np.float32)
LABELS = DRAW.integers(0, 3, 50)


def silent(answers):
    pass


def test_answers_by_layers_follow_the_law_of_whole_networks():
    model = eqx.nn.MLP(4, 3, 6, 2, key=jax.random.key(1))
    chain = found_layers(model)
    scales = np.array([0.3, 0.1, 0.5])
    by_layers = chain_with_noise(np.random.default_rng(1), chain, None, X, LABELS, silent)
    drawn, wrong = np.random.default_rng(2), []
    for _ in range(2000):
        hidden = X
        for place, (matrix, bias) in enumerate(zip(chain.matrices, chain.biases, strict=True)):
            noisy = matrix + scales[place] * drawn.standard_normal(matrix.shape)
            shift = bias + scales[place] * drawn.standard_normal(bias.shape)
            hidden = (np.maximum(hidden, 0) if place else hidden) @ noisy.T + shift
        wrong.append(np.mean(hidden.argmax(axis=1) != LABELS))
    error = np.std(wrong) / np.sqrt(2000) + 0.5 / np.sqrt(100_000)
    assert by_layers.errors(scales, 100_000) == pytest.approx(np.mean(wrong), abs=5 * error)
    squares = [np.sum(a**2) + np.sum(b**2) for a, b in zip(chain.matrices, chain.biases, strict=True)]
    np.testing.assert_allclose(by_layers.squares, squares)
    np.testing.assert_allclose(chain_with_noise(drawn, chain, chain, X, LABELS, silent).squares, 0)


def test_whole_networks_err_as_often_as_a_normal_number_is_negative():
    """One input 1, outputs 0 and w with noise s on both: an error has probability Φ(−w/√2s)."""
    network = Network(lambda tree, x: x * tree, jnp.asarray([[0.0, 0.5]], jnp.float32))
    noisy = tree_with_noise(np.random.default_rng(0), network, jnp.ones((8, 1)), np.ones(8, int), silent)
    chance = ndtr(-0.5 / (np.sqrt(2) * 0.4))
    assert noisy.answers == 20_000
    assert noisy.errors(np.array([0.4]), 20_000) == pytest.approx(chance, abs=5 * np.sqrt(chance / 20_000))
    assert noisy.squares == pytest.approx([0.25])


def test_a_network_without_errors_by_hand():
    """A linear network of large margins, its own start: no noise tried changes an answer."""
    rows = 1e4 * np.array([[-1.0, 2, 0.5, 1], [1, -2, -0.5, -1]], np.float32)
    model = eqx.tree_at(
        lambda layer: layer.weight, eqx.nn.Linear(4, 2, use_bias=False, key=jax.random.key(0)), jnp.asarray(rows)
    )
    far = X[np.abs(X @ rows[0]) > 3e3]
    labels, n, chain = np.argmax(far @ rows.T, axis=1), len(far), found_layers(model)
    network = equinox_network(model, model)
    known = Network(network.call, model, model, chain, chain)
    entry = noise_row(known, far, labels, 0.1, None)
    answers = n * min(int(np.ceil(100_000 / n)), 500)
    risk, share = 1 - np.exp(-np.log(20) / answers), 0.1 / 4 / len(SCALES)

    def inverted(budget):
        return brentq(lambda q: rel_entr(risk, q) + rel_entr(1 - risk, 1 - q) - budget, risk, 1 - 1e-12)

    catoni = [(1 - np.exp(-c * risk - np.log(len(TEMPERATURES) / share) / n)) / (1 - np.exp(-c)) for c in TEMPERATURES]
    forms = {
        "kl inverted": inverted(np.log(2 * np.sqrt(n) / share) / n),
        "Catoni": min(catoni),
        "Langford–Seeger": inverted(np.log(n / share) / (n - 1)),
        "McAllester": risk + np.sqrt(np.log(2 * n / share) / (2 * (n - 1))),
    }
    assert entry.value == pytest.approx(min(forms.values()), rel=1e-6)  # in single precision
    assert min(forms, key=lambda form: forms[form]) in ("kl inverted", "Catoni")
    assert entry.detail[-1] == "by form: " + ", ".join(f"{form} {value:.3f}" for form, value in forms.items())
    assert entry.detail[1] == f"training error with it 0.0000, at most {risk:.4f} by {answers:,} answers"
    assert entry.detail[2] == "divergence 0 nats, 0.000 an example"


def test_no_levels_are_tried_twice():
    """The best of two draws at the same levels would be the luckier one."""
    tried = []

    def errors(scales, answers):
        tried.append(tuple(scales))
        return 0.4 * float(np.mean(scales) / SCALES[-1])

    def budget(levels):
        return float(np.sum(0.01 / SCALES[list(levels)]))

    best = chosen_levels(Noisy(np.ones(2), errors, 1000, 100), budget)
    assert len(tried) == len(set(tried)) > len(SCALES)
    assert tuple(SCALES[list(best)]) in tried


def test_layers_have_noise_of_their_own_where_that_helps():
    """The first layer large and the second small: the same noise on both would drown one or cost the other."""
    model = eqx.nn.MLP(4, 2, 8, 1, use_bias=False, use_final_bias=False, key=jax.random.key(0))
    weights = [30 * model.layers[0].weight, model.layers[1].weight / 30]
    model = eqx.tree_at(lambda each: [layer.weight for layer in each.layers], model, weights)
    many = DRAW.standard_normal((3000, 4)).astype(np.float32)
    labels = np.asarray(jnp.argmax(jax.vmap(model)(jnp.asarray(many)), axis=1))
    network, chain = equinox_network(model, None), found_layers(model)
    apart = noise_row(Network(network.call, model, None, chain), many, labels, 0.05, None)
    together = noise_row(network, jnp.asarray(many), labels, 0.05, None)
    assert apart.value < together.value - 0.02
    assert apart.detail[0].endswith("on the layers in turn")
