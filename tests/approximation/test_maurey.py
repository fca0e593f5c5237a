from itertools import product

import jax
import numpy as np
import pytest

from deeptheory.approximation.maurey import (
    greedy_draws,
    jordan_decomposition,
    maurey_bounds,
    maurey_error,
    sampled_errors,
    signed_maurey_error,
    signed_vectors,
)

RNG = np.random.default_rng(0)
VECTORS, LAW = RNG.standard_normal((4, 3)), np.array([0.5, 0.2, 0.3, 0.0])


def enumerated(vectors, law, samples):
    """The mean squared error over all sequences of draws, with their probabilities."""
    mean = law @ vectors
    return sum(
        np.prod(law[list(each)]) * np.sum((mean - vectors[list(each)].mean(0)) ** 2)
        for each in product(range(len(law)), repeat=samples)
    )


@pytest.mark.item("L4.20")
@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_error_is_that_of_all_sequences(samples):
    expected = enumerated(VECTORS, LAW, samples)
    assert maurey_error(VECTORS, LAW, samples) == pytest.approx(expected, rel=1e-12)
    mean_square, largest = maurey_bounds(VECTORS, LAW, samples)
    assert expected < mean_square < largest


def test_bounds_leave_out_what_is_never_drawn():
    vectors = np.array([[3.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    assert maurey_bounds(vectors, np.array([0.25, 0.75, 0.0]), 2) == pytest.approx(((9 / 4 + 3 / 4) / 2, 4.5))


@pytest.mark.item("L4.6")
def test_greedy_draws_are_within_the_mean_at_every_length():
    for _ in range(20):
        vectors, law = RNG.standard_normal((6, 4)), RNG.dirichlet(np.ones(6))
        chosen = greedy_draws(vectors, law, 12)
        for k in range(1, 13):
            missed = np.sum((law @ vectors - vectors[chosen[:k]].mean(0)) ** 2)
            assert missed <= maurey_error(vectors, law, k) * (1 + 1e-12)


def test_greedy_draws_take_no_vector_of_probability_zero():
    vectors = np.array([[1.0], [-1.0], [0.0]])
    assert sorted(greedy_draws(vectors, np.array([0.5, 0.5, 0.0]), 2)) == [0, 1]


def test_sampled_errors_have_the_exact_mean():
    errors = sampled_errors(jax.random.key(0), VECTORS, LAW, 7, trials=40_000)
    assert abs(errors.mean() - maurey_error(VECTORS, LAW, 7)) < 5 * errors.std() / 200


@pytest.mark.item("L4.7")
def test_signed_draws_mean_the_signed_sum():
    features, weights = RNG.standard_normal((5, 4)), np.array([1.0, -2.0, 0.0, 0.5, -0.25])
    positive, negative, mass = jordan_decomposition(weights)
    assert mass == 3.75 and not np.any(positive * negative)
    np.testing.assert_allclose(positive - negative, weights)
    vectors, law = signed_vectors(features, weights)
    np.testing.assert_allclose(law @ vectors, weights @ features, atol=1e-14)
    measure = np.array([0.1, 0.2, 0.3, 0.4])
    error, bound = signed_maurey_error(features, weights, 2, measure=measure)
    assert error == pytest.approx(enumerated(vectors * np.sqrt(measure), law, 2), rel=1e-12)
    used = weights != 0
    assert bound == pytest.approx(3.75**2 * np.max(features[used] ** 2 @ measure) / 2)


@pytest.mark.item("L4.7")
def test_sine_as_thresholds_has_mass_four_and_error_of_seven_and_a_half():
    cells = 2000
    b = (np.arange(cells) + 0.5) / cells
    features = (b[None, :] >= b[:, None]) - 0.5 * np.eye(cells)  # a cell is half on at its own threshold
    error, _ = signed_maurey_error(features, 2 * np.pi * np.cos(2 * np.pi * b) / cells, 3)
    assert error == pytest.approx(7.5 / 3, rel=1e-3)


def test_a_law_that_does_not_sum_to_one_is_refused():
    with pytest.raises(ValueError, match="sum to 1"):
        maurey_error(VECTORS, 2 * LAW, 3)


@pytest.mark.parametrize("unit", [2.0**-990, 2.0**660])  # powers of two: ties stay ties
def test_greedy_draws_do_not_depend_on_the_unit(unit):
    vectors, law = np.array([[1.1, 0.3], [0.2, 2.7], [-1.9, 1.3]]), np.array([0.5, 0.2, 0.3])
    np.testing.assert_array_equal(greedy_draws(unit * vectors, law, 12), greedy_draws(vectors, law, 12))
