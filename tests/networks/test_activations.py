import jax
import mpmath
import numpy as np
import pytest

from deeptheory.networks.activations import ACTIVATIONS, ridge, ridge_slopes, sigmoid_derivative, sigmoid_polynomial

SMOOTH = {"sigmoid": jax.nn.sigmoid, "tanh": jax.numpy.tanh, "softplus": jax.nn.softplus, "sine": jax.numpy.sin}


@pytest.mark.item("L2.9")
def test_derivatives_of_the_sigmoid_against_mpmath():
    places = np.array([-20.0, -3.0, -0.4, 0.0, 1.7, 12.0])
    for order in range(7):
        with mpmath.workdps(60):
            theirs = [float(mpmath.diff(lambda t: 1 / (1 + mpmath.exp(-t)), mpmath.mpf(z), order)) for z in places]
        np.testing.assert_allclose(sigmoid_derivative(places, order=order), theirs, rtol=1e-11, atol=1e-16)


@pytest.mark.item("L2.9")
def test_polynomials_by_hand():
    assert sigmoid_polynomial(1).tolist() == [0, 1, -1]
    assert sigmoid_polynomial(2).tolist() == [0, 1, -3, 2]
    assert sigmoid_polynomial(3).tolist() == [0, 1, -7, 12, -6]


@pytest.mark.item("L2.9")
def test_identities_of_the_sigmoid():
    z = np.linspace(-15, 15, 61)
    (sigmoid, slope), (tanh, bent) = ACTIVATIONS["sigmoid"], ACTIVATIONS["tanh"]
    with mpmath.workdps(40):
        exact = [[1 / (1 + mpmath.exp(-mpmath.mpf(a))), mpmath.tanh(mpmath.mpf(a))] for a in z]
        slopes = [[float(s * (1 - s)), float(1 - t * t)] for s, t in exact]
        logits = [float(mpmath.log(mpmath.mpf(t) / (1 - mpmath.mpf(t)))) for t in sigmoid(z)]
    np.testing.assert_allclose(np.stack([sigmoid(z), tanh(z)], 1), np.array(exact, float), rtol=1e-15)
    np.testing.assert_allclose(2 * sigmoid(2 * z) - 1, tanh(z), atol=1e-15)
    np.testing.assert_allclose(sigmoid(z) + sigmoid(-z), 1, rtol=1e-15)
    np.testing.assert_allclose(np.stack([slope(z), bent(z)], 1), slopes, rtol=1e-14)
    np.testing.assert_allclose(logits, z, rtol=1e-9)
    assert ACTIVATIONS["threshold"][0](np.array([-0.1, 0.0, 0.1])).tolist() == [0, 1, 1]


@pytest.mark.item("L2.8")
def test_ridges_against_jax_and_along_hyperplanes():
    rng = np.random.default_rng(0)
    x, theta, off = rng.standard_normal((3, 5))
    off -= theta * (off @ theta) / (theta @ theta)
    for name, function in SMOOTH.items():
        value = ridge(x, theta, activation=name)
        assert ridge(x + 3 * off, theta, activation=name) == pytest.approx(float(value), rel=1e-12)
        slope = jax.grad(function)(x @ theta)
        by_input, by_weights = slope * theta, slope * x
        ours = ridge_slopes(x, theta, activation=name)
        np.testing.assert_allclose(ours.by_input, by_input, rtol=1e-12)
        np.testing.assert_allclose(ours.by_weights, by_weights, rtol=1e-12)


def test_a_threshold_has_nothing_to_descend_on():
    slopes = ridge_slopes(np.ones((4, 2)), np.array([0.3, -0.1]), activation="threshold")
    assert not slopes.by_weights.any()
    with pytest.raises(ValueError, match=r"activation must be one of threshold, sign, .* got 'zebra'"):
        ridge(np.ones(2), np.ones(2), activation="zebra")
