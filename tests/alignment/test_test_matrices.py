import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.alignment.softmax_mixtures import mixture_draws, softmax_loss
from deeptheory.alignment.test_matrices import (
    block_fluctuation,
    gradient_weights,
    hessian_weights,
    population_hessian,
    population_second_moment,
    softmax_hessian,
    softmax_second_moment,
)
from deeptheory.curvature.operators import dense, gradient_noise, hessian

DRAW = np.random.default_rng(0)
MEANS = DRAW.standard_normal((3, 5)) / 2
POINT = DRAW.standard_normal((3, 5))
INPUTS, LABELS = DRAW.standard_normal((40, 5)), DRAW.integers(3, size=40)


def losses(point, batch):
    return jax.vmap(lambda sample: softmax_loss(point, sample))(batch)


@pytest.mark.item("J13.3", "J13.4")
def test_blocks_are_those_of_the_differentiated_loss():
    data = (jnp.asarray(INPUTS), jnp.asarray(LABELS))
    whole = dense(hessian(lambda point, batch: losses(point, batch).mean(), jnp.asarray(POINT), data))
    squares = dense(gradient_noise(losses, jnp.asarray(POINT), data, centred=False))
    blocks, moments = softmax_hessian(POINT, INPUTS), softmax_second_moment(POINT, INPUTS, LABELS)
    assert np.allclose(blocks.swapaxes(1, 2).reshape(15, 15), whole, atol=1e-6)
    assert np.allclose(moments.swapaxes(1, 2).reshape(15, 15), squares, atol=1e-6)


def test_weights_sum_to_zero_over_a_row():
    assert np.allclose(hessian_weights(POINT, INPUTS).sum(-1), 0)
    assert np.allclose(gradient_weights(POINT, INPUTS, LABELS).sum(-1), 0)
    with pytest.raises(ValueError, match="below the number of classes"):
        gradient_weights(POINT, INPUTS, LABELS + 1)


@pytest.mark.item("J13.3")
@pytest.mark.parametrize("precision", [3.0, 40.0])
def test_expected_blocks_are_the_means_of_the_drawn_ones(precision):
    weights, count = np.array([0.2, 0.3, 0.5]), 200_000
    inputs, labels = mixture_draws(jax.random.key(3), MEANS, count=count, precision=precision, weights=weights)
    settings = {"precision": precision, "weights": weights}
    for drawn, expected in (
        (softmax_hessian(POINT, inputs), population_hessian(POINT, MEANS, **settings)),
        (softmax_second_moment(POINT, inputs, labels), population_second_moment(POINT, MEANS, **settings)),
    ):
        assert np.abs(drawn - expected).max() < 8 * np.abs(drawn).max() * 3 / count**0.5


@pytest.mark.item("J13.3")
def test_hessian_and_second_moment_agree_at_the_bayes_point():
    """With x^c = λμ_c, equal norms and weights, the chances are the posterior: the Fisher identity."""
    means = np.eye(4)[:3]
    point = 3.0 * means
    gap = population_hessian(point, means, precision=3.0, nodes=40)
    gap = gap - population_second_moment(point, means, precision=3.0, nodes=40)
    assert np.abs(gap).max() < 2e-6


def test_without_noise_the_blocks_are_sums_over_the_means():
    chances = np.exp(MEANS @ POINT.T)
    chances /= chances.sum(1, keepdims=True)
    found = population_hessian(POINT, MEANS, precision=np.inf)[0, 1]
    assert np.allclose(found, sum(-c[0] * c[1] * np.outer(m, m) for c, m in zip(chances, MEANS, strict=True)) / 3)


@pytest.mark.item("J13.16")
def test_fluctuation_is_the_variance_of_a_single_inputs_block():
    count = 100_000
    inputs, labels = mixture_draws(jax.random.key(5), MEANS, count=count, precision=6.0)
    length = (inputs**2).sum(1) ** 2
    for weights, found in zip(
        (hessian_weights(POINT, inputs), gradient_weights(POINT, inputs, labels)),
        block_fluctuation(POINT, MEANS, precision=6.0),
        strict=True,
    ):
        squares = weights**2 * length[:, None, None]
        blocks = np.einsum("mbc,md,me->bcde", weights, inputs, inputs, optimize=True) / count
        drawn = squares.mean(0) - (blocks**2).sum((-2, -1))
        assert np.all(np.abs(drawn - found) < 6 * squares.std(0) / count**0.5)
