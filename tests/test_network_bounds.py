"""The league of bounds: valid ones are true, the others are flagged, bad input is one sentence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

import deeptheory as dt
from deeptheory.data import digits
from deeptheory.generalization.league.network import found_layers, given_layers
from deeptheory.generalization.league.table import Entry

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    few = digits(train=400, test=300)
    return (few.train_images, few.train_labels), (few.test_images, few.test_labels)


@pytest.fixture(scope="module")
def model():
    return eqx.nn.MLP(196, 10, 8, 1, key=jax.random.key(1))


@pytest.fixture(scope="module")
def table(model, data):
    return dt.league(model, *data, initial=model)


def test_the_errors_are_those_of_the_model(table, model, data):
    (x, y), (held, labels) = data
    assert table.train_error == np.mean(np.argmax(jax.vmap(model)(jnp.asarray(x)), axis=1) != y)
    errors = int(np.sum(np.argmax(jax.vmap(model)(jnp.asarray(held)), axis=1) != labels))
    assert table.test_error == errors / 300
    # The hold-out bound is the risk at which so few errors have probability δ.
    assert binom.cdf(errors, 300, table["hold-out, exact binomial"].value) == pytest.approx(0.05)


def test_valid_bounds_lie_above_the_truth_and_the_rest_is_flagged(table):
    for entry in table.entries:
        if entry.valid:
            assert entry.value >= table.test_error - 0.05
            assert not entry.shown().startswith("(")
        elif entry.value is not None:
            assert entry.unmet
            assert entry.shown().startswith("(")
    assert [e.valid for e in table.entries] == sorted([e.valid for e in table.entries], reverse=True)


def test_an_untrained_model_pays_nothing_to_its_own_prior(table):
    # Posterior around the prior's centre: no divergence, so only confidence and Monte Carlo are paid.
    assert table["PAC-Bayes"].value < table.train_error + 0.1


def test_any_other_model_needs_its_layers(model, data):
    def plain(inputs):
        return np.asarray(jax.vmap(model)(jnp.asarray(inputs)))

    without = dt.league(plain, *data)
    assert without["spectrally normalised"].shown() == "—"
    assert without["spectrally normalised"].verdict() == "needs layers"
    given = dt.league(plain, *data, layers=[(layer.weight, layer.bias) for layer in model.layers])
    found = dt.league(model, *data)
    assert given["spectrally normalised"].value == pytest.approx(found["spectrally normalised"].value, rel=1e-4)
    assert given["Frobenius product"].valid and found["Frobenius product"].valid


def test_convolutions_are_found_and_their_norm_is_not_too_small():
    conv = eqx.nn.Conv2d(2, 3, 3, key=jax.random.key(0))
    found = found_layers(
        eqx.nn.Sequential([conv, eqx.nn.Lambda(jnp.ravel), eqx.nn.Linear(48, 2, key=jax.random.key(1))])
    )
    assert [m.shape for m in found.matrices] == [(3, 18), (2, 48)]
    assert found.convolutions and found.parameters == 3 * 18 + 3 + 96 + 2
    linear = jax.jacobian(lambda x: conv(x) - conv(0 * x))(jnp.zeros((2, 6, 6))).reshape(48, 72)
    assert np.linalg.norm(linear, 2) <= np.linalg.norm(found.matrices[0], 2)


def test_it_shows_itself(table, tmp_path):
    assert "hold-out, exact binomial" in str(table)
    assert "training error" in table._repr_html_()
    page = table.page(tmp_path / "league.html").read_text()
    assert page.count("<h1>") == 1 and "Theory of Deep Learning" in page
    assert page.count('data-label="made of, or not met"') == len([e for e in table.entries if e.unmet or e.detail])
    assert page.count("<svg") == len([e for e in table.entries if e.value is not None])
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    with pytest.raises(ValueError, match="cannot be written"):
        table.page(tmp_path / "missing" / "league.html")
    with pytest.raises(TypeError, match="a page is written to the file that a path names, not None"):
        table.page(None)
    with pytest.raises(KeyError, match="no bound is called"):
        table["nothing"]


def test_the_gap_is_called_an_estimate(table):
    low, high = (float(word) for word in table.summary()[2].split("between ")[1].split(" with")[0].split(" and "))
    assert "an estimate" in table.summary()[2]
    assert low < table.gap < high


def test_slow_leagues_say_how_far_they_are(monkeypatch, capsys):
    from deeptheory import network_bounds

    monkeypatch.setattr(network_bounds, "PATIENCE", -1.0)
    say = network_bounds._Progress()
    for count in range(3):
        say(f"{count} of 3")  # a notebook and a log get a line now and then, not one for each
    say.done()
    assert capsys.readouterr().err == "0 of 3\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    say("1 of 2")
    say.done()
    shown = capsys.readouterr().err
    assert shown.startswith("\r1 of 2") and shown.endswith("\r")


def test_values_just_below_one_are_not_rounded_up():
    entry = Entry("bound", "somewhere", 0.99996, guessing=0.5)
    assert entry.shown() == "> 0.999" and entry.verdict() == "worse than guessing"


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="takes 4 inputs"):
        given_layers([np.ones((3, 2)), np.ones((1, 4))])
    with pytest.raises(ValueError, match="must be a matrix"):
        given_layers([np.ones(3)])
