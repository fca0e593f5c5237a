"""Published laws in decimals, the best allocation by numerical search."""

from decimal import Decimal

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from deeptheory.scaling.chinchilla import (
    BESIROGLU,
    HOFFMANN,
    KAPLAN_DATA,
    KAPLAN_PARAMETERS,
    compute_for_reduction,
    frontier_exponents,
    kaplan_loss,
    optimal_allocation,
)
from deeptheory.scaling.power_laws import ScalingLaw, loss_at


@pytest.mark.item("A15.9", "H13.5")
def test_laws_in_decimal_arithmetic():
    n, d = Decimal(70) * 10**9, Decimal("1.4") * 10**12
    printed = Decimal("1.69") + Decimal("406.4") / n ** Decimal("0.34") + Decimal("410.7") / d ** Decimal("0.28")
    assert loss_at(HOFFMANN, 70e9, 1.4e12) == pytest.approx(float(printed), rel=1e-12)
    assert float(printed) == pytest.approx(1.937, abs=1e-3)
    assert loss_at(KAPLAN_PARAMETERS, 2e9) / loss_at(KAPLAN_PARAMETERS, 1e9) == pytest.approx(2**-0.076)
    assert kaplan_loss(1e9, np.inf) == pytest.approx(loss_at(KAPLAN_PARAMETERS, 1e9), rel=1e-12)
    assert kaplan_loss(np.inf, 1e10) == pytest.approx(loss_at(KAPLAN_DATA, 1e10), rel=1e-12)


@pytest.mark.item("A15.10", "H13.7")
@pytest.mark.parametrize("law", [HOFFMANN, BESIROGLU])
def test_best_allocation_by_search(law):
    for compute in (1e18, 5.76e23):
        found = minimize_scalar(
            lambda u, c=compute: loss_at(law, np.exp(u), c / 6 / np.exp(u)), bounds=(10, 40), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        best = optimal_allocation(law, compute)
        assert best.loss == pytest.approx(found.fun, rel=1e-12) and np.log(best.parameters) == pytest.approx(
            found.x, abs=1e-5
        )
        assert 6 * best.parameters * best.tokens == pytest.approx(compute)
        assert best.loss == pytest.approx(loss_at(law, best.parameters, best.tokens), rel=1e-14)
        more = optimal_allocation(law, compute * compute_for_reduction(law, 2.0))
        assert (best.loss - law.floor) / (more.loss - law.floor) == pytest.approx(2, rel=1e-9)


@pytest.mark.item("H13.7")
def test_the_two_fits_disagree_on_tokens_a_parameter():
    budget = 6 * 70e9 * 1.4e12
    ratios = [
        each.tokens / each.parameters for each in (optimal_allocation(law, budget) for law in (HOFFMANN, BESIROGLU))
    ]
    assert 80 < ratios[0] < 110 and 15 < ratios[1] < 30
    assert frontier_exponents(HOFFMANN) == pytest.approx((0.4516, 0.5484, 0.1535), abs=1e-4)
    assert frontier_exponents(BESIROGLU)[0] == pytest.approx(0.512, abs=2e-3)
    assert 10 ** frontier_exponents(HOFFMANN)[2] == pytest.approx(1.424, abs=1e-3)
    with pytest.raises(ValueError, match="two terms"):
        optimal_allocation(ScalingLaw(np.array(1.0), np.array([1.0]), np.array([0.3])), 1e20)


def test_kaplans_joint_law_at_the_smallest_sizes():
    assert kaplan_loss(1e-300, 1e10) == pytest.approx(10 ** (0.076 * (np.log10(8.8e13) + 300)), rel=1e-12)
