"""Moments of products of random matrices by enumeration of signs, by hand, and by Gaussian integrals."""

from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.propagation.classifiers import softmax_gradient_bounds, softmax_layer_gradients
from deeptheory.propagation.random_products import (
    depth_scale,
    forward_fourth_moment,
    forward_second_moment,
    fourth_moment_after,
    gradient_moment_bound,
    gram_second_moment,
    layer_gradient_moment,
    log_norm_law,
    second_moment_through,
)

SIGNS = np.array(list(product((-1.0, 1.0), repeat=6))).reshape(-1, 2, 3)


@pytest.mark.item("L6.15")
def test_second_moment_by_enumeration():
    random = np.random.default_rng(0)
    left, right = random.standard_normal((4, 2)), random.standard_normal((3, 2))
    exact = np.mean(np.sum((left @ (0.5 * SIGNS) @ right) ** 2, axis=(1, 2)))
    assert second_moment_through(left, right, 0.25) == pytest.approx(exact)


@pytest.mark.item("L6.17")
def test_fourth_moment_by_enumeration():
    xi = np.array([1.0, -0.5, 2.0])
    exact = np.mean(np.sum((0.5 * SIGNS @ xi) ** 2, axis=1) ** 2)
    assert fourth_moment_after(2, 0.25, 1.0, np.sum(xi**2) ** 2, np.sum(xi**4)) == pytest.approx(exact)


@pytest.mark.item("L6.16")
def test_forward_moments_of_chi_squares():
    # ‖Wx‖² = σ²‖x‖²χ²_d, whose moments are d and d(d + 2).
    assert forward_second_moment((7, 3, 5), 0.5, 2.0) == pytest.approx(0.5 * 3 * 0.5 * 5 * 2)
    assert forward_fourth_moment((7, 3, 5), 0.5, 2.0) == pytest.approx(0.25 * 15 * 0.25 * 35 * 4)


@pytest.mark.item("L6.19")
@pytest.mark.parametrize("width", [1, 2, 5])
def test_gram_moments_against_the_closed_form(width):
    for depth in range(5):
        closed = ((width * (width + 2)) ** (depth + 1) - (width * (width - 1)) ** (depth + 1)) / 3 * 0.4 ** (2 * depth)
        assert gram_second_moment((width,) * (depth + 1), 0.4) == pytest.approx(closed)


@pytest.mark.item("L6.19")
def test_gram_moment_of_one_rectangular_matrix():
    # E tr (WᵀW)² of an m × n Gaussian matrix is mn(m + n + 1).
    assert gram_second_moment((4, 3), 1.0) == pytest.approx(12 * 8)


@pytest.mark.item("L6.18")
def test_gradient_moments_of_scalars_by_hand():
    # Two scalars: (w₂(w₂w₁x − y)x)² has mean σ²·E w₂⁴ x⁴ + σ² y²x² = 3σ⁶x⁴ + σ²x²y².
    moment = layer_gradient_moment((1, 1, 1), 1, 0.5, square=2.0, label_square=3.0)
    assert moment == pytest.approx(3 * 0.125 * 4 + 0.5 * 6)
    last = layer_gradient_moment((1, 1, 1), 2, 0.5, square=2.0, label_square=3.0)
    assert last == pytest.approx(0.5 * 3 * 0.25 * 4 + 0.5 * 6)
    with pytest.raises(ValueError, match="layer must lie in"):
        layer_gradient_moment((1, 1, 1), 3, 0.5)


@pytest.mark.item("L6.19")
def test_uneven_gradients_by_sampling():
    random = np.random.default_rng(1)
    widths, variance = (2, 3, 4, 2), 0.3
    x, y = np.array([1.0, -0.5]), np.array([0.7, 0.2])
    one, two, three = (variance**0.5 * random.standard_normal((200_000, b, a)) for a, b in pairwise(widths))
    signal = np.einsum("tij,j->ti", one, x)
    error = np.einsum("tij,tjk,tk->ti", three, two, signal) - y
    seen = np.sum(np.einsum("tji,tj->ti", three, error) ** 2, axis=1) * np.sum(signal**2, axis=1)
    exact = layer_gradient_moment(widths, 2, variance, square=float(x @ x), label_square=float(y @ y))
    assert exact == pytest.approx(seen.mean(), abs=5 * seen.std() / len(seen) ** 0.5)


@pytest.mark.item("L6.19")
def test_the_bound_by_hand():
    assert gradient_moment_bound(2, 3, 0.5, square=2.0, label_square=3.0) == pytest.approx(2 * 4 / 1.5 * 8 + 2 * 6)


@pytest.mark.item("L6.20")
def test_depth_scale_and_typical_length():
    assert depth_scale(4, 0.25) == np.inf
    assert depth_scale(4, 0.25 * np.e) == pytest.approx(1.0)
    # log χ²₂ is log of an exponential of mean two: mean log 2 − γ, variance π²/6.
    law = log_norm_law((5, 2, 2), 1.0)
    assert law.mean == pytest.approx(2 * (np.log(2) - np.euler_gamma))
    assert law.variance == pytest.approx(np.pi**2 / 3)


@pytest.mark.item("L6.21")
def test_softmax_gradients_against_autodiff():
    random = np.random.default_rng(2)
    weights = [random.standard_normal((4, 3)), random.standard_normal((2, 4))]
    x = random.standard_normal(3)
    loss = lambda weights: -jax.nn.log_softmax(weights[1] @ weights[0] @ x)[1]  # noqa: E731
    expected = jax.grad(loss)([jnp.asarray(each) for each in weights])
    ours = softmax_layer_gradients(weights, x, 1)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    bounds = softmax_gradient_bounds(weights, x)
    np.testing.assert_allclose(
        bounds, [2 * np.linalg.norm(weights[1], 2) ** 2 * x @ x, 2 * np.sum((weights[0] @ x) ** 2)]
    )
    with pytest.raises(ValueError, match="label must lie in"):
        softmax_layer_gradients(weights, x, 2)
