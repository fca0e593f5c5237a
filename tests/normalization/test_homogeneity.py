"""Degrees of homogeneity, against polynomials and networks whose degrees are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.normalization.homogeneity import (
    degree_of_homogeneity,
    euler_degree,
    invariance_defect,
    invariant_leaves,
    scaled,
)
from deeptheory.normalization.normalizers import init_normalized_network

W = jnp.array([0.4, -1.3, 2.0])
FUNCTIONS = {
    "a norm": (jnp.linalg.norm, 1.0),
    "a cubic form": (lambda w: w[0] ** 2 * w[1] - w[2] ** 3, 3.0),
    "a product of a norm and a cubic form": (lambda w: jnp.linalg.norm(w) * w[0] * w[1] * w[2], 4.0),
    "a quotient of equals": (lambda w: w[0] / w[1], 0.0),
    "an inverse square": (lambda w: 1 / (w @ w), -2.0),
    "several outputs": (lambda w: {"a": w**2, "b": jax.nn.relu(w[0] * w)}, 2.0),
}


@pytest.mark.item("A13.3")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_degrees_of_functions_that_one_can_read_off(name):
    function, degree = FUNCTIONS[name]
    for factor in (0.3, 2.0, 7.0):
        assert degree_of_homogeneity(function, W, factor=factor) == pytest.approx(degree, abs=1e-5)
    assert euler_degree(function, W) == pytest.approx(degree, abs=1e-5)


def test_a_sum_of_different_degrees_has_no_degree():
    mixed = lambda w: w[0] + w[1] ** 2  # noqa: E731
    assert abs(degree_of_homogeneity(mixed, W, factor=0.1) - degree_of_homogeneity(mixed, W, factor=5.0)) > 0.1


def test_a_part_of_the_parameters_is_scaled_alone():
    parameters = {"a": jnp.array(2.0), "b": jnp.array(3.0)}
    function = lambda p: p["a"] ** 2 * p["b"] ** 5  # noqa: E731
    assert degree_of_homogeneity(function, parameters, of=lambda name: "a" in name) == pytest.approx(2, abs=1e-5)
    assert euler_degree(function, parameters, of=lambda name: "b" in name) == pytest.approx(5, abs=1e-5)
    assert scaled(parameters, 3.0, of=lambda name: "b" in name) == {"a": 2.0, "b": 9.0}


@pytest.mark.item("A13.6")
def test_scale_invariance_of_quotients_and_of_the_parts_of_a_network(key):
    assert invariance_defect(lambda w: w / jnp.linalg.norm(w), W) < 1e-6
    assert invariance_defect(lambda w: w[0] / (w @ w), W) > 0.5
    network = init_normalized_network(key, (3, 6, 5, 1))
    x = np.linspace(-1, 1, 12).reshape(4, 3)
    assert invariant_leaves(lambda n: n(x), network, tolerance=1e-4) == [".weights[0]", ".weights[1]"]
    first = lambda name: name in (".gains[0]", ".shifts[0]")  # noqa: E731
    assert invariance_defect(lambda n: n(x), network, of=first) < 1e-4
    assert invariance_defect(lambda n: n(x), network, of=lambda name: name == ".gains[0]") > 1e-3


def test_a_factor_of_one_says_nothing():
    with pytest.raises(ValueError, match="other than 1"):
        degree_of_homogeneity(jnp.sum, W, factor=1.0)


@pytest.mark.parametrize("factor", [1e-120, 1e-60, 1e60, 1e120])
def test_the_degree_is_seen_at_far_factors_whose_squares_leave_floating_point(factor):
    assert degree_of_homogeneity(lambda w: w @ w, np.array([0.4, -1.3]), factor=factor) == pytest.approx(2.0)


def test_a_function_that_vanishes_on_the_way_has_no_degree():
    with pytest.raises(ValueError, match=r"f\(cw\)/f\(w\) must be positive and finite, got 0"):
        degree_of_homogeneity(lambda w: w @ w, np.array([0.4, -1.3]), factor=1e-200)
