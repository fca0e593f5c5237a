"""VC bounds: inversion of their tails, their order, what they refuse."""

import numpy as np
import pytest

from deeptheory.generalization.capacity.growth import sauer_power, sauer_sum
from deeptheory.generalization.capacity.vc_bounds import (
    growth_deviation,
    log_growth_tail,
    log_sauer,
    piecewise_linear_dimension,
    samples_for,
    sauer_deviation,
    vc_deviation,
    vc_dimension_deviation,
)


def test_the_deviation_is_where_the_tail_is_delta():
    assert log_growth_tail(growth_deviation(300, 7.0, 0.05), 300, 7.0) == pytest.approx(np.log(0.05))


def test_forms_with_the_dimension_by_their_numbers():
    # h = 3, n = 200, δ = 0.05, worked out by hand with a pocket calculator's logarithms.
    assert sauer_deviation(200, 3, 0.05) == pytest.approx(2 * np.sqrt(2 * (3 * 5.892852 + 3.688879) / 200), rel=1e-6)
    printed = 2 * np.sqrt(2 * (3 * 6.991465 + 3.688879) / 200)
    assert vc_dimension_deviation(200, 3, 0.05) == pytest.approx(printed, rel=1e-6)
    explicit = np.sqrt(8 / 200 * (3 * 5.892852 + 4.382027))
    assert vc_deviation(200, 3, 0.05) == pytest.approx(explicit, rel=1e-6)


def test_sauer_in_logarithms_lies_above_the_sum():
    for n, h in [(3, 5), (5, 5), (9, 4), (100, 7)]:
        assert np.log(sauer_sum(n, h)) <= log_sauer(n, h) + 1e-12
    assert log_sauer(4, 6) == pytest.approx(np.log(16))
    assert log_sauer(100, 7) == pytest.approx(np.log(sauer_power(100, 7)))


def test_samples_for_a_gap():
    for gap, h in ((0.1, 10), (0.3, 1), (0.2, 3), (0.3, 100)):
        n = samples_for(gap, h, 0.05)
        assert sauer_deviation(n, h, 0.05) <= gap < sauer_deviation(n - 1, h, 0.05)
    n = samples_for(0.1, 10, 0.05)
    assert samples_for(0.1, 20, 0.05) > 1.8 * n


def test_dimension_of_networks():
    assert piecewise_linear_dimension(1024, 3) == 1024 * 3 * 10


@pytest.mark.parametrize(
    "call",
    [lambda: vc_deviation(3, 4, 0.1), lambda: growth_deviation(0, 1.0, 0.1), lambda: growth_deviation(5, 1.0, 0.0)],
)
def test_outside_their_range_they_refuse(call):
    with pytest.raises(ValueError, match="got"):
        call()
