"""One Philox stream for each key: the same everywhere, and no two alike."""

import jax
import numpy as np
import pytest
from scipy.stats import kstest

from deeptheory.foundations.randomness import generator


def test_equal_keys_give_equal_data():
    first, second = (generator(jax.random.key(7)).standard_normal((3, 5)) for _ in range(2))
    assert np.array_equal(first, second)


def test_old_and_new_keys_agree():
    assert generator(jax.random.PRNGKey(7)).random() == generator(jax.random.key(7)).random()


def test_precision_of_jax_does_not_matter():
    draws = []
    for wide in (True, False):
        with jax.enable_x64(wide):
            draws.append(generator(jax.random.key(7)).random(4))
    assert np.array_equal(*draws)


def test_the_stream_is_philox_seeded_with_the_words_of_the_key():
    words = [int(word) for word in np.asarray(jax.random.key_data(jax.random.key(2**40 + 3)))]
    expected = np.random.Generator(np.random.Philox(np.random.SeedSequence(words)))
    assert words == [256, 3]
    assert np.array_equal(generator(jax.random.key(2**40 + 3)).random(4), expected.random(4))


def test_integers_are_the_same_on_every_machine():
    """Pinned, so that data behind recorded verdicts cannot change unnoticed."""
    assert generator(jax.random.key(0)).integers(0, 1000, 6).tolist() == [135, 14, 937, 257, 386, 471]


def test_different_keys_give_unrelated_data():
    keys = [*jax.random.split(jax.random.key(0), 40), *(jax.random.key(seed) for seed in range(40))]
    draws = np.stack([generator(key).standard_normal(400) for key in keys])
    correlations = np.corrcoef(draws)[np.triu_indices(len(keys), 1)]
    # 3,160 correlations of standard deviation 1/20: six of those is beyond the largest by chance.
    assert np.abs(correlations).max() < 6 / 20
    assert kstest(draws.ravel(), "norm").pvalue > 1e-6


@pytest.mark.parametrize("split", [False, True])
def test_first_draws_over_consecutive_seeds_are_uniform(split):
    seeds = range(2000)
    keys = [jax.random.key(seed) for seed in seeds]
    if split:
        keys = list(jax.random.split(jax.random.key(5), 2000))
    assert kstest([generator(key).random() for key in keys], "uniform").pvalue > 1e-6
