"""How the runner of neural-tangents' own tests tells a documented difference from a wrong kernel."""

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks" / "neural_tangents_suite.py"
NAME = "tests.stax.elementwise_test.ActivationTest.test_nonlineariy3 (phi=Exp)"


@pytest.fixture(scope="module")
def suite():
    found = importlib.util.spec_from_file_location("neural_tangents_suite", SOURCE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def trace(error, field="nngp"):
    return (
        f"    test_utils.assert_close_matrices(self, k_mc.{field}, k.{field}, 6e-2)\n"
        f"AssertionError: ('Relative ERROR: ', {error}, 'EXPECTED:', ..."
    )


def test_draws_explain_errors_of_their_size_and_no_others(suite):
    for error in (0.061, 0.1, 0.3):
        assert suite.explained(NAME, trace(error)) == "**Draws** of finite networks"
    for wrong in (trace(0.32), trace(1.7e1), trace("nan"), trace(0.061, "ntk"), "AssertionError: 'Relative ERROR'"):
        assert suite.explained(NAME, wrong) is None
    assert suite.explained(NAME.replace("nonlineariy", "rbf"), trace(0.061)) is None


def test_other_differences_are_told_by_what_is_raised(suite):
    raised = "ValueError: row 0 of x1 is zero, and a first layer without biases gives it no variance"
    assert suite.explained("any", raised) == "**Inputs that are zero**"
    assert suite.explained("any", "ValueError: something else") is None
