import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.networks.autoencoders import (
    LinearAutoencoder,
    autoencoder_gradient,
    least_autoencoder_loss,
    optimal_autoencoder,
    reconstruction_loss,
    train_autoencoder,
    truncated_svd,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((size, 6)))[0] for size in (6, 20))
    return left * (np.array([3.0, 2.0, 1.2, 1.0, 0.9, 0.8]) * 20**0.5) @ right.T


@pytest.mark.item("L2.4")
def test_gradient_against_jax(data):
    rng = np.random.default_rng(1)
    pair = LinearAutoencoder(rng.standard_normal((2, 6)), rng.standard_normal((6, 2)))

    def loss(encoder, decoder):
        return jnp.mean(jax.vmap(lambda x: jnp.sum((x - decoder @ encoder @ x) ** 2) / 2, 1)(data))

    value, slopes = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(*pair)
    assert reconstruction_loss(*pair, data) == pytest.approx(float(value), rel=1e-13)
    for ours, theirs in zip(autoencoder_gradient(*pair, data), slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.item("L2.6")
def test_truncation_leaves_the_tail_of_the_spectrum(data):
    tail = np.sort(np.linalg.eigvalsh(data @ data.T))[::-1]
    for rank in range(1, 7):
        cut = truncated_svd(data, rank=rank)
        assert np.linalg.matrix_rank(cut) == rank
        assert np.sum((data - cut) ** 2) == pytest.approx(tail[rank:].sum(), abs=1e-10)


@pytest.mark.item("L2.7")
def test_the_best_autoencoder_truncates_and_any_basis_of_its_subspace_does(data):
    encoder, decoder = optimal_autoencoder(data, width=3)
    np.testing.assert_allclose(decoder @ encoder @ data, truncated_svd(data, rank=3), atol=1e-12)
    mixing = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.5]])
    other = reconstruction_loss(mixing @ encoder, decoder @ np.linalg.inv(mixing), data)
    assert other == pytest.approx(least_autoencoder_loss(data, width=3), rel=1e-12)


def test_training_ends_at_the_least_loss(data):
    rng = np.random.default_rng(2)
    start = LinearAutoencoder(0.3 * rng.standard_normal((2, 6)), 0.3 * rng.standard_normal((6, 2)))
    pair, losses = train_autoencoder(start, data, step_size=0.05, steps=800)
    assert np.all(np.diff(losses) <= 1e-12)
    assert losses[-1] == pytest.approx(least_autoencoder_loss(data, width=2), rel=1e-8)
    basis = optimal_autoencoder(data, width=2).decoder
    np.testing.assert_allclose(pair.decoder @ pair.encoder, basis @ basis.T, atol=1e-4)


def test_widths_that_no_bottleneck_has_are_refused(data):
    with pytest.raises(ValueError, match=r"width must lie in \[1, 6\] for data of shape \(6, 20\), got 7"):
        optimal_autoencoder(data, width=7)
    with pytest.raises(ValueError, match="rank must be at most 6"):
        truncated_svd(data, rank=7)
