import numpy as np
import pytest

from deeptheory.approximation.compositions import composed, composition_error_bound, square_by_tents
from deeptheory.approximation.staircases import hinges


@pytest.mark.item("H1.5")
def test_errors_are_passed_through_the_parts_that_follow():
    assert composition_error_bound(np.array([0.1, 0.2, 0.4]), np.array([9.0, 3.0, 5.0])) == pytest.approx(
        0.1 * 3 * 5 + 0.2 * 5 + 0.4
    )
    x = np.linspace(0, 1, 7)
    np.testing.assert_allclose(composed([np.sin, np.exp], x), np.exp(np.sin(x)))
    line = hinges(lambda z: 2 * z + 1, 3, 0.0, 4.0)
    np.testing.assert_allclose(composed([line, np.cos, line], x), 2 * np.cos(2 * x + 1) + 1, atol=2.1)
    inside = x[np.cos(2 * x + 1) >= 0]
    np.testing.assert_allclose(composed([line, np.cos, line], inside), 2 * np.cos(2 * inside + 1) + 1, atol=1e-12)


@pytest.mark.item("H1.9")
@pytest.mark.parametrize("iterates", [1, 2, 5])
def test_tents_join_points_of_the_parabola(iterates):
    x = np.linspace(0, 1, 1537)
    knots = np.linspace(0, 1, 2**iterates + 1)
    np.testing.assert_allclose(square_by_tents(iterates, x), np.interp(x, knots, knots**2), atol=1e-13)
    assert np.abs(square_by_tents(iterates, x) - x**2).max() == pytest.approx(4.0 ** (-iterates - 1))
    with pytest.raises(ValueError, match="must lie in"):
        square_by_tents(2, np.array([1.5]))
