import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from deeptheory.alignment.xor_networks import xor_features, xor_limit_blocks, xor_plane_blocks, xor_test_blocks
from deeptheory.dynamics.projections import projected_loss
from deeptheory.dynamics.xor_mixture import CLASSES, LABELS, xor_model

DRAW = np.random.default_rng(0)
WEIGHTS, OVERLAPS = DRAW.standard_normal(4), DRAW.standard_normal((4, 2))


def data(count, size, precision):
    which = DRAW.integers(4, size=count)
    inputs = CLASSES[which] @ np.eye(size)[:2] + DRAW.standard_normal((count, size)) / precision**0.5
    return inputs, LABELS[which]


@pytest.mark.item("J13.10")
def test_blocks_are_those_of_the_differentiated_loss():
    inputs, labels = data(30, 5, 4.0)
    neurons = DRAW.standard_normal((4, 5))
    loss = projected_loss(xor_model(decay=1e-12), np.eye(5)[:2])
    each = jax.vmap(loss, (None, (0, 0)))
    point, batch = (jnp.asarray(neurons), jnp.asarray(WEIGHTS)), (jnp.asarray(inputs), jnp.asarray(labels))
    bend = jax.jit(jax.hessian(lambda point: each(point, batch).mean()))(point)
    slope = jax.jit(jax.jacobian(lambda point: each(point, batch)))(point)
    second, first = xor_test_blocks(WEIGHTS, neurons, inputs, labels)
    assert np.allclose(second[0], bend[1][1], atol=1e-6)
    assert np.allclose(second[1], np.einsum("mi,mj->ij", slope[1], slope[1]) / 30, atol=1e-6)
    assert np.allclose(first[0], np.einsum("idie->ide", bend[0][0]), atol=1e-6)
    assert np.allclose(first[1], np.einsum("mid,mie->ide", slope[0], slope[0]) / 30, atol=1e-6)


@pytest.mark.item("J13.10")
@pytest.mark.parametrize("precision", [2.0, 60.0])
def test_expected_blocks_are_the_means_of_the_drawn_ones(precision):
    count = 200_000
    inputs, labels = data(count, 3, precision)
    second, first = xor_test_blocks(WEIGHTS, np.pad(OVERLAPS, ((0, 0), (0, 1))), inputs, labels)
    found = xor_plane_blocks(WEIGHTS, OVERLAPS, precision=precision)
    for drawn, expected in (
        (second, found.second), (first[..., :2, :2], found.first), (first[..., 2, 2], found.bulk),
    ):  # fmt: skip
        assert np.abs(drawn - expected).max() < 8 * np.abs(drawn).max() * 3 / count**0.5
    assert np.abs(first[..., 2, :2]).max() < 8 * 3 / count**0.5


@pytest.mark.item("J13.16")
def test_one_neuron_without_output_has_the_rectified_gaussians_second_moment():
    """σ′(0) = ¼ and E relu(m + sz)² = (m² + s²)Φ(m/s) + msφ(m/s); a mixture of four."""
    spread, size = 50.0**-0.5, np.hypot(0.6, 0.4)
    middles = CLASSES @ np.array([0.6, 0.4])
    scale = spread * size
    squares = (middles**2 + scale**2) * norm.cdf(middles / scale) + middles * scale * norm.pdf(middles / scale)
    found = xor_plane_blocks(np.zeros(1), np.array([[0.6, 0.4]]), precision=50.0).second
    assert np.allclose(found, squares.mean() / 4, rtol=1e-10)


@pytest.mark.item("J13.13")
def test_the_limit_is_a_sum_over_the_four_centres():
    features = xor_features(OVERLAPS)
    hessian, moment = xor_limit_blocks(WEIGHTS, OVERLAPS)
    for which, (centre, label) in enumerate(zip(CLASSES, LABELS, strict=True)):
        own = np.array([max(0.0, float(each @ centre)) for each in OVERLAPS])
        assert np.allclose(features[which], own)
        chance = expit(WEIGHTS @ own)
        hessian = hessian - chance * (1 - chance) * np.outer(own, own) / 4
        moment = moment - (chance - label) ** 2 * np.outer(own, own) / 4
    assert np.abs([hessian, moment]).max() < 1e-12


def test_blocks_of_hardly_any_noise_are_the_limit_and_of_too_much_are_refused():
    weights, overlaps = np.array([1.0, -0.5]), np.array([[1.0, 0.1], [0.2, 0.9]])
    found = xor_plane_blocks(weights, overlaps, precision=1e16)
    np.testing.assert_allclose(found[0], xor_limit_blocks(weights, overlaps), rtol=1e-6)
    for precision in (1e-4, 1e20):
        with pytest.raises(ValueError, match="precision must lie in"):
            xor_plane_blocks(weights, overlaps, precision=precision)


@pytest.mark.item("J13.16")
@pytest.mark.parametrize("turn", [0.0, 0.11, np.pi / 2, np.pi, 4.0])
def test_kinks_anywhere_between_the_panels_cost_no_digits(turn):
    """A second neuron turns its kink through the sectors: blocks of few nodes are those of many."""
    overlaps = np.array([[0.6, 0.4], [np.cos(turn), np.sin(turn)]])
    few, many = (xor_plane_blocks(np.array([0.5, -0.7]), overlaps, precision=400.0, nodes=n) for n in (16, 48))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    # Along μ the neuron is awake on half of the noise at ±ν, awake at μ and asleep at −μ: its bulk is their mean.
    alone = xor_plane_blocks(np.zeros(2), np.array([[1.0, 0.0], [0.0, 0.0]]), precision=400.0).second[0, 0, 0]
    assert alone == pytest.approx((1 + 1 / 400 + 2 * 0.5 / 400) / 16, rel=1e-10)
