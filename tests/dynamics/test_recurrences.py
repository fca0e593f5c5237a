import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.dynamics.recurrences import bihari_lasalle_bound, blow_up_time, gronwall_bound, growth_recursion


def by_hand(a, b, order, steps):
    path = [a]
    for _ in range(steps):
        path.append(a + b * sum(m ** (order - 1) for m in path))
    return path


@pytest.mark.parametrize("order", [2, 3, 5])
def test_recursion_is_its_sum_written_out(order):
    for steps in (0, 1, 7):
        assert growth_recursion(0.4, 0.3, order=order, steps=steps) == pytest.approx(
            by_hand(0.4, 0.3, order, steps)[-1]
        )


def test_gronwall_is_attained():
    assert gronwall_bound(0.4, 0.3, steps=7) == pytest.approx(by_hand(0.4, 0.3, 2, 7)[-1])


def test_blow_up_is_that_of_the_differential_equation():
    time = blow_up_time(0.5, 0.2, order=4)
    path = solve_ivp(lambda t, m: 0.2 * m**3, (0, 0.99 * time), [0.5], rtol=1e-10, atol=1e-12).y[0, -1]
    assert path == pytest.approx(0.5 * 0.01**-0.5, rel=1e-5)


@pytest.mark.item("J11.18")
@pytest.mark.parametrize("order", [3, 4, 6])
def test_bound_lies_below_the_sequence_and_near_it_for_small_rates(order):
    for a, b, steps in ((1.0, 0.5, 1), (0.3, 0.1, 20), (0.2, 1e-3, 40)):
        last = by_hand(a, b, order, steps)[-1]
        bound = bihari_lasalle_bound(a, b, order=order, steps=steps, cap=last)
        assert bound <= last * (1 + 1e-12)
        if b < 0.01:
            assert bound == pytest.approx(last, rel=1e-3)
    # By hand, k = 4, a = b = ½, η = 2: c = (1 + 4/2)⁻³ = 1/27, and 1 − 2·c·½·¼·9 = 11/12.
    assert bihari_lasalle_bound(0.5, 0.5, order=4, steps=9, cap=2.0) == pytest.approx(0.5 * (11 / 12) ** -0.5)
    # As printed for k = 3: a = 1, b = ½ gives 2 after one step, where the sequence has 1.5.
    assert by_hand(1.0, 0.5, 3, 1)[-1] == 1.5 < 1 / (1 - 0.5)


def test_bounds_run_under_vmap():
    rates = np.array([0.01, 0.1])
    ours = jax.vmap(lambda b: bihari_lasalle_bound(0.3, b, order=3, steps=2, cap=0.5))(rates)
    np.testing.assert_allclose(ours, [bihari_lasalle_bound(0.3, b, order=3, steps=2, cap=0.5) for b in rates])
