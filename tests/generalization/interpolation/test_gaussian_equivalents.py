"""Random features against the fixed point of Mei and Montanari, finite features by dense algebra, and limits."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generalization.interpolation import gaussian_equivalents as rf
from deeptheory.generalization.interpolation.ridgeless import limiting_bias_variance

RELU = rf.Equivalent(1 / (2 * np.pi) ** 0.5, 0.5, (0.25 - 1 / (2 * np.pi)) ** 0.5)


def mei_montanari(equivalent, wide, many, ridge, noise):
    """The risk for ‖β‖² = 1 by the two coupled equations and three polynomials of Mei and Montanari, Thm 2."""
    zeta = (equivalent.linear / equivalent.rest) ** 2
    # Their penalty is Nλ/d.
    height = (many * ridge) ** 0.5 / equivalent.rest
    one, two = 1e-3j, 1e-3j
    for factor in np.append(np.geomspace(1e3, 1, 40), 1.0):
        at = 1j * height * factor
        for _ in range(4000 if factor == 1 else 100):
            shared = 1 - zeta * one * two
            new = wide / (-at - two - zeta * two / shared), many / (-at - one - zeta * one / shared)
            one, two = (one + new[0]) / 2, (two + new[1]) / 2
    x = (one * two).real
    both = -(x**5) * zeta**3 + 3 * x**4 * zeta**2 - 2 * x**3 * zeta**2 - 3 * x**3 * zeta + 2 * x**2 * zeta + x**2
    below = (
        both
        + (wide * many - wide - many + 1) * x**3 * zeta**3
        + (wide + many - 3 * wide * many + 1) * x**2 * zeta**2
        + 3 * wide * many * x * zeta
        - wide * many
    )
    bias = many * x**3 * zeta**2 - many * x**2 * zeta + wide * many * x * zeta - wide * many
    variance = -both + (wide - 1) * x**3 * zeta**3 - (wide + 1) * x**2 * zeta**2
    return (bias + noise * variance) / below


@pytest.mark.parametrize(
    ("wide", "many", "ridge"), [(0.5, 2.0, 0.05), (3.0, 2.0, 0.3), (2.0, 3.0, 2.0), (5.0, 1.0, 0.05)]
)
def test_published_fixed_point(wide, many, ridge):
    found = rf.random_feature_risk(RELU, inputs=1.0, features=wide, samples=many, ridge=ridge, signal=1.0, noise=0.25)
    assert found.risk == pytest.approx(mei_montanari(RELU, wide, many, ridge, 0.25), rel=1e-9)


def test_equivalents_of_activations():
    assert rf.gaussian_equivalent(lambda z: jnp.maximum(z, 0)) == pytest.approx(RELU, rel=1e-12)
    assert rf.gaussian_equivalent(np.sign) == pytest.approx((0, (2 / np.pi) ** 0.5, (1 - 2 / np.pi) ** 0.5), abs=1e-12)
    # z³ has E z·z³ = 3 and E z⁶ = 15.
    assert rf.gaussian_equivalent(lambda z: z**3) == pytest.approx((0, 3, 6**0.5), abs=1e-9)
    assert rf.gaussian_equivalent(lambda z: 2 * z) == pytest.approx((0, 2, 0), abs=1e-12)


@pytest.mark.parametrize("wide", (0.4, 3.0))
def test_population_by_dense_algebra(wide):
    draw = np.random.default_rng(0)
    w = draw.standard_normal((round(500 * wide), 500)) / 500**0.5
    gram = 0.7**2 * w @ w.T + 0.4**2 * np.eye(len(w))
    carried = np.linalg.solve(gram, 0.7 * w)
    people, share, missed = rf.random_feature_population(0.7, 0.4, wide)
    assert share == pytest.approx(np.sum(carried**2) / 500, rel=0.01)
    assert missed == pytest.approx(1 - 0.7 * np.sum(carried * w) / 500, rel=0.01)
    assert people.weights @ people.eigenvalues == pytest.approx(0.7**2 + 0.4**2, rel=1e-12)
    assert people.weights @ people.eigenvalues**2 == pytest.approx(np.sum(gram**2) / len(w), rel=0.01)
    assert people.alignment.sum() == pytest.approx(1)


def test_linear_features():
    linear = rf.Equivalent(0.0, 1.0, 0.0)
    # As many directions as inputs or more: all is reached, and below the threshold it is least squares on the inputs.
    over = rf.random_feature_risk(linear, inputs=1.0, features=2, samples=3, signal=1, noise=0.25)
    assert over.missed == pytest.approx(0, abs=1e-14)
    assert over.risk == pytest.approx(float(limiting_bias_variance(1 / 3, signal=1.0, noise=0.25).risk), rel=1e-10)
    # Fewer: the rest of the signal is noise for least squares on N of them.
    under = rf.random_feature_risk(linear, inputs=1.0, features=0.4, samples=2.0, signal=1.0, noise=0.25)
    assert under.missed == pytest.approx(0.6, rel=1e-12)
    assert under.risk == pytest.approx(0.6 + 0.85 * 0.2 / 0.8, rel=1e-12)


def test_peak_and_bad_input():
    def risk(wide):
        return float(rf.random_feature_risk(RELU, inputs=1.0, features=wide, samples=2.0, signal=1.0, noise=0.1).risk)

    assert risk(2.0) > 1e12
    assert risk(1.9) > risk(1.0) > risk(40.0)
    assert risk(2.1) > risk(3.0) > risk(40.0)
    with pytest.raises(ValueError, match="linear"):
        rf.random_feature_population(0.0, 1.0, 2.0)
