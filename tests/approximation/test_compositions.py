import numpy as np
import pytest

from deeptheory.approximation.compositions import composed, composition_error_bound
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
