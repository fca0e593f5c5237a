"""Cross-entropies against automatic derivatives, by hand, and in both libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.cross_entropy import (
    binary_cross_entropy,
    label_cross_entropy,
    of_label,
    softmax_cross_entropy,
    softmax_jacobian,
)

LOGITS = np.array([[0.3, -1.2, 2.0, 0.1], [4.0, 3.5, -2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
SHARES = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
LABELS = np.array([1, 3, 0])


@pytest.mark.item("L2.10")
@pytest.mark.item("L12.1")
def test_it_is_minus_the_logarithm_of_the_probability_and_its_slope_the_residual():
    losses = label_cross_entropy(LOGITS, LABELS)
    np.testing.assert_allclose(losses, -np.log(SHARES[np.arange(3), LABELS]), rtol=1e-13)
    np.testing.assert_allclose(label_cross_entropy(LOGITS + 7.5, LABELS), losses, rtol=1e-12)
    np.testing.assert_allclose(softmax_cross_entropy(LOGITS, np.eye(4)[LABELS]), losses, rtol=1e-12)
    slope = jax.grad(lambda z: jnp.sum(label_cross_entropy(z, LABELS)))(jnp.asarray(LOGITS))
    np.testing.assert_allclose(slope, SHARES - np.eye(4)[LABELS], atol=1e-14)
    # Far from zero the exponentials would overflow: log(e^800 + 1) − 800 is 0, and 800 for the other label.
    np.testing.assert_allclose(
        label_cross_entropy(np.array([[800.0, 0.0]] * 2), np.array([0, 1])), [0, 800], atol=1e-12
    )


@pytest.mark.item("L2.10")
def test_soft_targets_weigh_the_labels():
    target = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 0.0], [0.2, 0.1, 0.0, 0.2]])
    each = np.stack([label_cross_entropy(LOGITS, j) for j in range(4)], 1)
    np.testing.assert_allclose(softmax_cross_entropy(LOGITS, target), (target * each).sum(1), rtol=1e-12)
    large = np.array([1000.0, 998.0, -1000.0])
    assert softmax_cross_entropy(large, np.eye(3)[1]) == pytest.approx(2 + np.log1p(np.exp(-2)), rel=1e-12)


@pytest.mark.item("L2.10", "L2.11")
def test_the_jacobian_of_softmax_is_the_hessian_of_the_loss_and_a_covariance():
    z = jnp.asarray(LOGITS[0])
    np.testing.assert_allclose(softmax_jacobian(SHARES)[0], jax.jacobian(jax.nn.softmax)(z), atol=1e-15)
    for label in (0, 2):
        curved = jax.hessian(lambda z, label=label: label_cross_entropy(z, label))(z)
        np.testing.assert_allclose(softmax_jacobian(SHARES[0]), curved, rtol=1e-12, atol=1e-15)
    apart = np.eye(4) - SHARES[0]
    np.testing.assert_allclose(softmax_jacobian(SHARES[0]), (SHARES[0] * apart.T) @ apart, atol=1e-15)
    assert np.linalg.eigvalsh(softmax_jacobian(SHARES[0]))[0] == pytest.approx(0, abs=1e-15)


@pytest.mark.item("L2.14")
def test_the_binary_loss_is_softmax_with_two_classes():
    z, y = np.array([-2.0, 0.1, 3.0, 900.0]), np.array([1.0, 0.0, 0.25, 0.0])
    pair, target = np.stack([z, 0 * z], -1), np.stack([y, 1 - y], -1)
    np.testing.assert_allclose(binary_cross_entropy(z, y), softmax_cross_entropy(pair, target), rtol=1e-13)


def test_both_libraries_and_any_leading_axes():
    logits, labels = np.stack([LOGITS, -LOGITS]), np.stack([LABELS, LABELS[::-1]])
    traced = jax.jit(label_cross_entropy)(logits, labels)
    ours = label_cross_entropy(logits, labels)
    assert isinstance(ours, np.ndarray) and isinstance(label_cross_entropy(jnp.asarray(logits), labels), jax.Array)
    np.testing.assert_allclose(ours, traced, rtol=1e-12)
    one_by_one = [label_cross_entropy(z, int(y)) for z, y in zip(logits.reshape(6, 4), labels.ravel(), strict=True)]
    np.testing.assert_allclose(ours.ravel(), one_by_one, rtol=1e-12)
    assert label_cross_entropy(jnp.float32(logits), labels).dtype == jnp.float32
    np.testing.assert_array_equal(of_label(logits, 2), logits[..., 2])


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 3\], got \[1 4 0\]"):
        label_cross_entropy(LOGITS, np.array([1, 4, 0]))
    with pytest.raises(ValueError, match="labels must"):
        of_label(jnp.asarray(LOGITS), np.array([1, -1, 0]))
