"""Matrix sensing with dropout against enumeration of masks, autodiff and projections."""

import jax
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.regularization import descents, masks, sensing

pytestmark = pytest.mark.slow


def problem(key, d2=4, d1=5, d0=3, n=7):
    draw = generator(key)
    return [draw.standard_normal(shape) for shape in ((d2, d1), (d0, d1), (n, d2, d0), (n,))]


@pytest.mark.item("A11.5")
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9])
def test_dropout_objective_is_loss_plus_regularizer(key, rate):
    left, right, measurements, labels = problem(key)
    enumerated = sensing.dropout_objective(left, right, measurements, labels, rate)
    split = sensing.sensing_loss(left, right, measurements, labels) + masks.dropout_strength(
        rate
    ) * sensing.dropout_regularizer(left, right, measurements)
    np.testing.assert_allclose(enumerated, split, rtol=1e-13)


def test_expected_regularizer_is_a_mean_over_measurements(key):
    # Orthogonal matrices of measurements with Σ Aᵢ ⊗ Aᵢ = identity stand for the Gaussian average exactly.
    left, right, _, _ = problem(key)
    basis = np.eye(12).reshape(12, 4, 3)
    exact = 12 * sensing.dropout_regularizer(left, right, basis)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 12)).reshape(12, -1).T.reshape(-1, 4, 3)
    np.testing.assert_allclose(
        sensing.expected_dropout_regularizer(left, right), sensing.dropout_regularizer(left, right, signs), rtol=1e-12
    )
    assert exact != pytest.approx(sensing.expected_dropout_regularizer(left, right) * 2)


@pytest.mark.item("A11.2")
def test_gradients_are_those_of_autodiff(key):
    given = problem(key)
    expected = jax.grad(sensing.sensing_loss, (0, 1))(*map(jax.numpy.asarray, given))
    for ours, theirs in zip(sensing.sensing_gradients(*given), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.item("A11.2")
def test_loss_of_one_measurement_by_hand():
    loss = sensing.sensing_loss(np.array([[1.0], [2.0]]), np.array([[3.0]]), np.ones((1, 2, 1)), np.array([4.0]))
    assert float(loss) == (4 - (3 + 6)) ** 2


@pytest.mark.item("A11.2")
def test_interpolators_of_any_risk(key):
    draw = generator(key)
    target, measurements = draw.standard_normal((4, 3)), draw.standard_normal((7, 4, 3))
    labels = np.einsum("iab,ab->i", measurements, target)
    least = sensing.nearest_interpolator(measurements, labels, np.zeros((4, 3)))
    expected = np.linalg.lstsq(measurements.reshape(7, 12), labels)[0]
    np.testing.assert_allclose(np.ravel(least), expected, atol=1e-12)
    for far in (1.0, 1e3):
        bad = sensing.nearest_interpolator(measurements, labels, far * draw.standard_normal((4, 3)))
        left, _, right = np.linalg.svd(bad, full_matrices=False)
        value = sensing.sensing_loss(left * _, right.T, measurements, labels)
        assert value < 1e-20 * far**2 + 1e-24
        # The risk over fresh Gaussian measurements is the squared distance.
        assert np.sum((bad - target) ** 2) > 0.1 * far**2


@pytest.mark.item("A11.4")
def test_the_mean_step_of_dropout_descends_loss_plus_penalty(key):
    left, right, measurements, labels = map(jax.numpy.asarray, problem(key))
    rate = 0.4

    def seen(pair, mask):
        return sensing.sensing_loss(pair[0] * mask, pair[1], measurements, labels)

    def explicit(pair):
        penalty = sensing.dropout_regularizer(*pair, measurements)
        return sensing.sensing_loss(*pair, measurements, labels) + rate / (1 - rate) * penalty

    mean = masks.mean_over_masks(lambda mask: jax.grad(seen)((left, right), mask), 5, rate)
    for ours, theirs in zip(mean, jax.grad(explicit)((left, right)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    # One step of the algorithm is a step with one mask: the columns that it drops stay where they are.
    drawn = masks.draw_masks(key, 1, 5, rate)[0]
    (moved, _), values = descents.dropout_descent(key, seen, (left, right), width=5, rate=rate, step=0.01, steps=1)
    np.testing.assert_allclose(moved - left, -0.01 * jax.grad(seen)((left, right), drawn)[0], rtol=1e-10, atol=1e-13)
    assert np.all(np.asarray(moved - left)[:, np.asarray(drawn) == 0] == 0) and np.any(drawn == 0)
    assert float(values[0]) == pytest.approx(float(seen((left, right), drawn)))


@pytest.mark.item("A11.16")
def test_max_norm_projection_is_the_nearest_point_and_holds_during_descent(key):
    draw = generator(key)
    weights = draw.standard_normal((6, 3)) * 2
    projected = np.asarray(descents.max_norm_projection(weights, 1.5))
    assert np.all((projected**2).sum(1) <= 1.5 * (1 + 1e-14))
    np.testing.assert_allclose(descents.max_norm_projection(projected, 1.5), projected, rtol=1e-14)
    inside = (weights**2).sum(1) <= 1.5
    np.testing.assert_array_equal(projected[inside], weights[inside])
    # The nearest point of a ball: no other point of it is nearer, as its variational inequality says.
    others = np.asarray(descents.max_norm_projection(draw.standard_normal((500, 6, 3)).reshape(-1, 3) * 2, 1.5))
    gap = np.einsum("ij,kij->ki", weights - projected, others.reshape(500, 6, 3) - projected)
    assert gap.max() <= 1e-12
    loss = lambda pair, mask: -((pair * mask).sum() ** 2)  # noqa: E731, it pushes outwards
    after = lambda pair: descents.max_norm_projection(pair, 0.5)  # noqa: E731
    end, _ = descents.dropout_descent(key, loss, weights, width=3, rate=0.3, step=0.1, steps=20, after=after)
    np.testing.assert_allclose((np.asarray(end) ** 2).sum(1), 0.5, rtol=1e-12)


@pytest.mark.item("A11.7")
def test_variance_of_the_regularizer_from_fourth_moments():
    """One column each: (uᵀAv)² is ‖u‖²‖v‖² times a χ² of one degree, of variance two; two columns add a covariance."""
    u, v = np.array([[1.0], [2.0]]), np.array([[3.0]])
    assert float(sensing.regularizer_variance(u, v)) == 2 * 45**2
    twice = sensing.regularizer_variance(np.hstack([u, u]), np.hstack([v, v]))
    assert float(twice) == 4 * 2 * 45**2


@pytest.mark.item("A11.39")
def test_sensing_is_a_convolution_with_shared_filters(key):
    left, right, measurements, _ = problem(key)
    outputs, hidden = jax.vmap(sensing.convolutional_sensing, (None, None, 0))(left, right, measurements)
    np.testing.assert_allclose(outputs, np.einsum("iab,ab->i", measurements, left @ right.T), rtol=1e-12)
    # As printed: ⟨Uᵀ, (I ⊗ Vᵀ)Aᵀ⟩, with the rows of A one below the other.
    one = measurements[0]
    stacked = np.kron(np.eye(4), right.T) @ one.ravel()
    assert left.ravel() @ stacked == pytest.approx(float(outputs[0]))
    np.testing.assert_allclose(hidden[0].ravel(), stacked)
    # A filter dropped in all rows at once is dropout of matrix sensing; units dropped one by one are not.
    units = np.sum(np.mean((left * np.asarray(hidden)) ** 2, axis=0))
    filters = np.sum(np.mean((left * np.asarray(hidden)).sum(1) ** 2, axis=0))
    np.testing.assert_allclose(filters, sensing.dropout_regularizer(left, right, measurements), rtol=1e-12)
    assert units != pytest.approx(filters, rel=1e-3)
