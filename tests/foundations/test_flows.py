"""Flows against their closed form; and an end to those that never come to one."""

import numpy as np
import pytest

from deeptheory.foundations import flows
from deeptheory.foundations.flows import followed


@pytest.mark.parametrize("method", ["LSODA", "DOP853"])
def test_a_flow_is_that_of_its_closed_form(method):
    times = np.array([1.0, 1.5, 4.0])
    found = followed(lambda t, y: -y / t, 1.0, np.array([2.0, -1.0]), times, method=method, tolerance=1e-10)
    assert np.allclose(found, np.outer(1 / times, [2.0, -1.0]), rtol=1e-8)


def test_the_first_time_may_be_the_only_one():
    assert np.array_equal(
        followed(lambda t, y: y, 0.0, np.ones(2), np.zeros(1), method="LSODA", tolerance=1e-9), [[1, 1]]
    )


@pytest.mark.parametrize("times", [[-1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, np.inf], [np.nan]])
def test_times_increase(times):
    with pytest.raises(ValueError, match="times must be finite and increase from 0 on, got"):
        followed(lambda t, y: y, 0.0, np.ones(1), np.array(times), method="LSODA", tolerance=1e-9)


def test_a_flow_that_is_too_stiff_for_its_method_ends(monkeypatch):
    monkeypatch.setattr(flows, "EVALUATIONS", 500)
    with pytest.raises(ArithmeticError, match="the flow is too stiff or too long to be followed beyond time"):
        followed(lambda t, y: -1e9 * (y - t), 0.0, np.ones(1), np.array([1.0]), method="DOP853", tolerance=1e-9)
