"""Dropout masks against their moments, by enumeration and by drawing; networks with masks against their mean."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.regularization import masks

pytestmark = pytest.mark.slow


@pytest.mark.item("A11.1")
def test_masks_have_mean_one_and_variance_lambda():
    listed, probabilities = masks.dropout_masks(6, 0.3)
    assert probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(probabilities @ listed, 1)
    np.testing.assert_allclose(probabilities @ (listed - 1) ** 2, masks.dropout_strength(0.3))
    assert masks.dropout_strength(0.3) == pytest.approx(3 / 7)


@pytest.mark.item("A11.1")
@pytest.mark.item("L11.15")
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5])
def test_drawn_masks_drop_a_share_and_scale_the_rest(key, rate):
    drawn = np.asarray(masks.draw_masks(key, 200_000, 5, rate))
    assert set(np.unique(drawn)) <= {0.0, 1 / (1 - rate)}
    spread = 4 / 1e6**0.5
    assert np.mean(drawn == 0) == pytest.approx(rate, abs=spread)
    assert drawn.var() == pytest.approx(rate / (1 - rate), abs=5 * spread)
    # Units are dropped independently: no two columns are correlated.
    between = np.cov(drawn.T) - np.diag(np.var(drawn, axis=0, ddof=1))
    assert np.abs(between).max() < 5 * spread


@pytest.mark.item("L11.15")
def test_a_linear_layer_is_its_mean_over_masks_and_a_network_is_not():
    """Keep probabilities 0.8 of inputs and 0.5 of hidden units: the ensemble of all subnetworks, weighted."""
    first, second = np.array([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]]), np.array([2.0, -1.0])
    x = np.array([0.7, -0.4, 1.1])
    mean = masks.mean_over_masks(lambda mask: first @ (mask * x), 3, 0.2)
    np.testing.assert_allclose(mean, first @ x, rtol=1e-14)

    def ensemble(activation):
        hidden = lambda mask: activation(first @ (mask * x))  # noqa: E731
        inner = lambda mask: masks.mean_over_masks(lambda top: second @ (top * hidden(mask)), 2, 0.5)  # noqa: E731
        return masks.mean_over_masks(inner, 3, 0.2)

    np.testing.assert_allclose(ensemble(lambda z: z), second @ first @ x, rtol=1e-14)
    # By hand, over the eight masks of the inputs: kept inputs are 1.25 x.
    by_hand = 0.0
    for a in (0, 1):
        for b in (0, 1):
            for c in (0, 1):
                chance = np.prod([0.8 if kept else 0.2 for kept in (a, b, c)])
                by_hand += chance * second @ np.maximum(first @ (1.25 * np.array([a, b, c]) * x), 0)
    np.testing.assert_allclose(ensemble(jax.nn.relu), by_hand, rtol=1e-13)
    scaled = second @ np.maximum(first @ x, 0)
    # The second unit is on where only the first input is kept, and off in the mean network.
    assert scaled - by_hand == pytest.approx(0.8 * 0.2**2 * 1.25 * 0.3 * 0.7)


def test_means_over_masks_keep_trees():
    mean = masks.mean_over_masks(lambda mask: {"first": mask[0], "square": mask**2}, 2, 0.5)
    assert float(mean["first"]) == 1.0
    np.testing.assert_allclose(mean["square"], jnp.full(2, 2.0))


def test_bad_rates_and_widths_are_named(key):
    with pytest.raises(ValueError, match="rate"):
        masks.dropout_strength(1.0)
    with pytest.raises(ValueError, match="width"):
        masks.dropout_masks(30, 0.5)
    with pytest.raises(ValueError, match="rate"):
        masks.draw_masks(key, 3, 2, 1.0)
