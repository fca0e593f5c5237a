import numpy as np
import pytest

from deeptheory.approximation.cosines import cosine_network, cosine_product
from deeptheory.approximation.shallow import ShallowNetwork

RNG = np.random.default_rng(0)


@pytest.mark.item("L3.14")
def test_products_of_cosine_networks_are_cosine_networks():
    one, other = (
        ShallowNetwork(RNG.normal(size=(m, 3)), RNG.normal(size=m), RNG.normal(size=m), np.cos) for m in (2, 5)
    )
    x = RNG.normal(size=(30, 3))
    whole = cosine_product(one, other)
    assert whole.units == 2 * 2 * 5
    np.testing.assert_allclose(whole(x), one(x) * other(x), atol=1e-12)
    with pytest.raises(ValueError, match="must have the activation"):
        cosine_product(one, ShallowNetwork(one.weights, one.biases, one.output, np.tanh))


def test_fejers_mean_of_a_cosine_by_hand():
    # cos(2πt) among frequencies below n = 5 keeps the share 1 − 2/5; a product of two keeps the product of shares.
    low, high = np.array([-1.0]), np.array([3.0])
    x = np.linspace(-1, 3, 50)[:, None]
    t = (x[:, 0] + 1) / 4
    network = cosine_network(lambda x: np.cos(np.pi * 2 * (x[..., 0] + 1) / 4) + 7, 5, low, high)
    np.testing.assert_allclose(network(x), 7 + 0.6 * np.cos(2 * np.pi * t), atol=1e-12)
    square = RNG.uniform(size=(40, 2))
    network = cosine_network(
        lambda x: np.cos(np.pi * x[..., 0]) * np.cos(3 * np.pi * x[..., 1]), 4, np.zeros(2), np.ones(2)
    )
    expected = 3 / 4 * 1 / 4 * np.cos(np.pi * square[:, 0]) * np.cos(3 * np.pi * square[:, 1])
    np.testing.assert_allclose(network(square), expected, atol=1e-12)
    assert network.units == (7**2 + 1) // 2
