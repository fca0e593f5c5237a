import mpmath
import numpy as np
import pytest

from deeptheory.approximation.barron import (
    barron_constant,
    bump_barron_constant,
    cosine_barron_constant,
    gaussian_barron_bound,
    gaussian_barron_constant,
    grid_barron_constant,
    tent_barron_constant,
)
from deeptheory.approximation.transforms import centred_grid, exponential_transform, gaussian_transform, tent_transform


@pytest.mark.item("L4.3")
@pytest.mark.parametrize(("dimension", "scale"), [(1, 0.3), (2, 1.0), (3, 0.7), (10, 0.4)])
def test_quadrature_meets_the_closed_form(dimension, scale):
    found = barron_constant(lambda rho: gaussian_transform(rho, scale), dimension)
    assert found == pytest.approx(gaussian_barron_constant(dimension, scale), rel=1e-9)


@pytest.mark.item("L4.3")
def test_a_grid_gives_the_same_constant_wherever_the_bump_stands():
    x, y = np.meshgrid(centred_grid(96, 0.15), centred_grid(96, 0.15), indexing="ij")
    for center in ((0.0, 0.0), (0.4, -0.9)):
        values = np.exp(-((x - center[0]) ** 2 + (y - center[1]) ** 2) / (2 * 0.5**2))
        # The modulus has a corner at frequency zero only where ‖ω‖ does: the sum is off by the cube of the step.
        assert grid_barron_constant(values, 0.15) == pytest.approx(bump_barron_constant(2, 0.5), rel=1e-3)


@pytest.mark.item("L4.19")
def test_constants_of_gaussians_in_high_precision():
    mpmath.mp.dps = 16
    for dimension, variance in ((1, 0.1), (10, 0.25), (100, 0.1), (100, 1 / (2 * np.pi)), (100, 0.3)):
        d, v = mpmath.mpf(dimension), mpmath.mpf(variance)
        sphere = 2 * mpmath.pi ** (d / 2) / mpmath.gamma(d / 2)
        by_hand = sphere * mpmath.quad(
            lambda rho, d=d, v=v: rho**d * mpmath.exp(-2 * mpmath.pi**2 * v * rho**2), [0, 1, 2, 4, 8]
        )
        scale = float(np.sqrt(variance))
        assert gaussian_barron_constant(dimension, scale) == pytest.approx(float(by_hand), rel=1e-12)
        assert gaussian_barron_constant(dimension, scale) <= gaussian_barron_bound(dimension, scale)


def test_bound_is_sharp_in_high_dimension():
    shares = [gaussian_barron_constant(d, 0.4) / gaussian_barron_bound(d, 0.4) for d in (1, 10, 100)]
    np.testing.assert_allclose(
        shares, [np.sqrt(2 / np.pi), 1.4142136 * 52.342778 / 24 / np.sqrt(10), 0.997503], rtol=1e-6
    )


@pytest.mark.item("L4.9")
@pytest.mark.parametrize("width", [0.5, 2.0])
def test_truncated_constant_of_the_tent(width):
    for cutoff in (1e-5, 0.3, 2.0, 15.0):
        found = barron_constant(lambda rho: tent_transform(rho, width), 1, cutoff=cutoff)
        assert tent_barron_constant(cutoff, width) == pytest.approx(found, rel=1e-8)


def test_infinite_constants_are_refused():
    with pytest.raises(ValueError, match="does not settle"):
        barron_constant(lambda rho: exponential_transform(rho, 1.0), 1)


def test_cosine_constant_by_hand():
    assert cosine_barron_constant(np.array([2.0, -0.5]), np.array([[3.0, 4.0], [0.0, 2.0]])) == pytest.approx(11.0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("cutoff", [1e4, 1e6, 1e12])
def test_long_intervals_of_frequencies_are_not_stepped_over(scale, cutoff):
    whole = barron_constant(lambda rho: np.exp(-((rho * scale) ** 2) / 2), 2, cutoff=cutoff)
    assert whole * scale**3 == pytest.approx((2 * np.pi) * np.sqrt(np.pi / 2), rel=1e-8)
