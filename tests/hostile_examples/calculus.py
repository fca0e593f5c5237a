from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from .ingredients import array, square

BOX: dict[str, Any] = {"function": square, "low": np.zeros(2), "high": np.ones(2)}
SEGMENT: dict[str, Any] = {"function": square, "x": np.ones(2), "y": np.array([0.5, -1.0])}
OPENS = [(), (0,), (0, 1)]
FAIR = {"a": Fraction(1, 2), "b": Fraction(1, 2)}

EXAMPLES: dict[str, dict[str, Any]] = {
    "certified.curvature_bounds": BOX | {"boxes": 8},
    "certified.lipschitz_constant": BOX | {"boxes": 8},
    "certified.maximum": BOX | {"boxes": 8},
    "certified.regularity": BOX | {"boxes": 8},
    "certified.smoothness_constant": BOX | {"boxes": 8},
    "derivatives.chain_rule_jacobian": {"outer": jnp.tanh, "inner": jnp.sin},
    "derivatives.difference_hessian_product": {"function": square},
    "derivatives.difference_jacobian": {"function": square},
    "derivatives.directional_derivative": {"function": square},
    "derivatives.gradient_check": {"function": square, "gradient": lambda x: 2 * x},
    "expectations.empirical_tail_integral": {"samples": array("Float", "n")},
    "expectations.expectation_by_density": {"density": lambda x: 1.0, "low": 0.0, "high": 1.0},
    "expectations.expectation_by_tail": {"tail": lambda t: float(np.exp(-t))},
    "expectations.gaussian_product_rule": {"axes": 2, "nodes": 3},
    "expectations.gaussian_expectation": {
        "function": lambda x: x, "mean": np.zeros(2), "covariance": np.eye(2), "nodes": 3,
    },
    "expectations.probability_by_density": {"density": lambda x: 1.0, "low": 0.0, "high": 1.0},
    "intervals.enclosure": BOX,
    "intervals.enclosures": {"function": square, "lows": np.zeros((1, 2)), "highs": np.ones((1, 2))},
    "matrices.spectrum": {"matrix": np.array([[2.0, 1.0], [1.0, 2.0]])},
    "mean_values.gradient_change": SEGMENT,
    "mean_values.mean_value_points": SEGMENT,
    "mean_values.mean_value_surplus": SEGMENT,
    "mean_values.segment_integral": SEGMENT,
    "mean_values.weighted_curvature": SEGMENT,
    "operator_norms.operator_norm": {"p": 3.0},
    "operator_norms.vector_norm": {"vectors": array("Float", "n d"), "p": 3.0},
    "probability_spaces.atoms": {"outcomes": (1, 2, 3), "generators": [(1,)]},
    "probability_spaces.event_probability": {"masses": FAIR, "event": ("a",)},
    "probability_spaces.is_measurable": {"variable": str, "outcomes": (1, 2), "events": [(), (1, 2)]},
    "probability_spaces.is_sigma_algebra": {"outcomes": (1, 2), "events": [(), (1, 2)]},
    "probability_spaces.push_forward": {"masses": FAIR, "variable": str},
    "probability_spaces.sigma_algebra": {"outcomes": (1, 2, 3), "generators": [(1,)]},
    "taylor.crossings": {"function": lambda t: t - 0.3},
    "taylor.derivative": {"function": jnp.sin, "order": 2},
    "taylor.integral_remainder": {"function": jnp.sin, "at": 0.3},
    "taylor.lagrange_points": {"function": jnp.sin, "at": 0.3, "x": 0.8, "order": 1},
    "taylor.remainder_bound": {"function": jnp.sin, "at": 0.3, "x": 0.8, "order": 1},
    "taylor.taylor_coefficients": {"function": jnp.sin, "at": 0.3, "order": 2},
    "taylor.taylor_remainder": {"function": jnp.sin, "at": 0.3, "order": 2},
    "topology.closure": {"subset": (0,), "opens": OPENS},
    "topology.finite_subcover": {"intervals": [(-1.0, 0.6), (0.5, 2.0)], "low": 0.0, "high": 1.0},
    "topology.interior": {"subset": (0,), "opens": OPENS},
    "topology.is_dense": {"subset": (0,), "opens": OPENS},
    "topology.is_topology": {"points": (0, 1), "opens": OPENS},
    "topology.limit_points": {"subset": (0,), "opens": OPENS},
    "topology.simplest_rational": {"low": 0.3, "high": 0.4},
    "topology.topologies": {"size": 2},
}  # fmt: skip

INNER = ("interval_rules",)

FOUND = """
polynomials_by_roots.order_threshold, side: another word
"""
