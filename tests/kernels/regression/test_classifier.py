"""The tangent-kernel classifier against refitting without each input, and against other classifiers on digits."""

import mpmath
import numpy as np
import pytest

from deeptheory.data import digits
from deeptheory.kernels.finite.features import rbf_kernel
from deeptheory.kernels.regression.classifier import fit_classifier, leave_one_out, tangent_classifier

pytestmark = pytest.mark.slow


@pytest.mark.item("A9.25")
def test_leaving_out_is_refitting_without_each_input():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    kernel = x @ x.T + 0.5 * np.exp(x @ x.T / 8)
    found = leave_one_out(kernel, y, ridge=0.3)
    for i in range(9):
        others = np.delete(np.arange(9), i)
        dual = np.linalg.solve(kernel[np.ix_(others, others)] + 0.3 * np.eye(8), y[others])
        np.testing.assert_allclose(found[i], kernel[i, others] @ dual, rtol=1e-9)


@pytest.mark.item("A9.25")
def test_digits_against_ridge_by_hand_and_against_other_classifiers():
    kept = digits(train=400, test=400)
    x, test = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (kept.train_images, kept.test_images))
    fitted = tangent_classifier(x, kept.train_labels, depths=(1, 3))
    wrong = np.mean(fitted.predict(test) != kept.test_labels)
    # By hand: the recursion of the chosen depth in NumPy, one linear system.
    both = np.concatenate([x, test])
    covariance = tangent = np.clip(both @ both.T, -1, 1)
    for _ in range((1, 3)[fitted.choice]):
        angle = np.arccos(np.clip(covariance, -1, 1))
        covariance, slope = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi, (np.pi - angle) / np.pi
        tangent = covariance + tangent * slope
    targets = np.eye(10)[kept.train_labels] - 0.1
    scores = tangent[400:, :400] @ np.linalg.solve(tangent[:400, :400] + fitted.ridge * np.eye(400), targets)
    assert np.mean(np.argmax(scores, axis=1) != fitted.predict(test)) < 0.005
    nearest = kept.train_labels[np.argmax(test @ x.T, axis=1)]
    linear = fit_classifier([lambda a, b: np.asarray(a) @ np.asarray(b).T], x, kept.train_labels).predict(test)
    assert wrong < np.mean(nearest != kept.test_labels) + 0.02
    assert wrong < np.mean(linear != kept.test_labels)
    assert abs(wrong - fitted.left_out_error) < 0.06
    gaussian = fit_classifier([lambda a, b: rbf_kernel(a, b, scale=0.7)], x, kept.train_labels).predict(test)
    assert wrong < np.mean(gaussian != kept.test_labels) + 0.03


def test_inputs_at_which_nothing_can_be_said_have_no_class():
    """The largest of several nan is the first: an input of nan, or one where the kernel is nan, would get a class."""
    x, labels = np.array([[1.0, 0.0], [0.5, 1.0], [2.0, 1.0], [1.0, 2.0]]), np.array([0, 1, 0, 1])
    fitted = fit_classifier([lambda a, b: np.sqrt(a) @ np.sqrt(b).T], x, labels)
    with pytest.raises(ValueError, match=r"x must be finite, got nan at \[0, 1\]"):
        fitted.predict(np.array([[1.0, np.nan]]))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="not at row 1 of x"):
        fitted.predict(np.array([[1.0, 1.0], [1.0, -1.0]]))
    with pytest.raises(ValueError, match="2 columns"):
        fitted.predict(np.ones((2, 3)))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        tangent_classifier(np.eye(3), np.zeros(3, int))


@pytest.mark.parametrize("ridge", [0.0, 1e-12, 1.0, 1e8, 1e16, 1e300])
def test_leaving_out_at_all_ridges_against_solving_anew(ridge):
    """In fifty digits; at large ridges y_i − α_i/Q_ii has none left."""
    draw = np.random.default_rng(3)
    x, y = draw.standard_normal((6, 4)), draw.standard_normal(6)
    kernel = x @ x.T + 0.1 * np.eye(6)
    with mpmath.workdps(50):
        expected = []
        for i in range(6):
            rest = np.arange(6) != i
            system = mpmath.matrix(kernel[rest][:, rest].tolist()) + mpmath.mpf(ridge) * mpmath.eye(5)
            weights = mpmath.lu_solve(system, mpmath.matrix(y[rest].tolist()))
            expected.append(float(sum(k * w for k, w in zip(kernel[i, rest].tolist(), weights, strict=True))))
    np.testing.assert_allclose(leave_one_out(kernel, y, ridge=ridge), expected, rtol=1e-11)


def test_leaving_out_needs_a_ridge_where_inputs_repeat():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"least eigenvalue of kernel \+ ridge must be positive"):
        leave_one_out(x @ x.T, np.ones(3), ridge=0.0)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be finite at all inputs"):
        fit_classifier([lambda one, two: np.full((3, 3), np.inf)], x, np.array([0, 1, 0]))
