from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.landscapes.random_landscapes import PeriodicField

from .ingredients import LAYERS, square

EXAMPLES: dict[str, dict[str, Any]] = {
    "convexity.chord_gap": {"function": square, "share": 0.5},
    "convexity.deepest_chord": {"function": square, "shares": 3},
    "convexity.regularity_constants": {"function": square},
    "convexity.tangent_gap": {"function": square},
    "critical_points.find_critical_points": {"function": square, "steps": 3},
    "critical_points.improvement": {"function": square},
    "critical_points.is_direction_of_improvement": {"function": square},
    "critical_points.is_second_order_stationary": {"function": square},
    "critical_points.least_curvature": {"function": square, "steps": 2},
    "critical_points.on_vectors": {"function": square, "example": jnp.ones(3)},
    "critical_points.spectra_at": {"function": square},
    "critical_points.sphere_extremes": {"function": square, "radii": jnp.array([0.5, 1.0])},
    "factorization.aligned": {"factor": np.eye(3, 2), "other": np.eye(3, 2)},
    "linear_flows.flow_factors": {"factors": np.ones((2, 3, 3)), "target": np.eye(3), "steps": 3},
    "linear_flows.mode_curve": {"target": 1.0, "depth": 2, "times": np.array([0.0, 1.0])},
    "matrix_sensing.coordinates_of": {"matrix": np.eye(2)},
    "matrix_sensing.isometry_defect": {"form": np.eye(3)},
    "matrix_sensing.sensed_shift": {"point": np.array([1.0, 0.0]), "matrix": np.diag([2.0, 0.5])},
    "random_landscapes.random_field": {"dimension": 1, "length": 6.0},
    "random_landscapes.torus_critical_points":
        {"field": PeriodicField(jnp.ones((2, 1)), jnp.ones(2), -jnp.ones(2)), "length": 2 * np.pi, "points": 9},
    "tensor_decomposition.online_components":
        {"samples": jnp.ones((2, 4, 3)), "starts": jnp.eye(2, 3), "rates": jnp.full(4, 0.1)},
    "tensor_decomposition.sphere_spectrum": {"function": square, "point": jnp.array([0.6, 0.0, 0.8])},
    "tensor_decomposition.tensor_critical_points": {"components": np.eye(2, 3), "weights": np.ones(2)},
    "linear_networks.best_first_matrix": {"second": np.eye(2), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "linear_networks.best_second_matrix": {"first": np.eye(2, 3), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "linear_networks.bottleneck_critical_points": {"inputs": np.eye(3, 4), "labels": np.eye(2, 4), "width": 1},
    "linear_networks.bottleneck_index": {"eigenvalues": np.array([2.0, 1.0]), "kept": (1,), "width": 1, "inputs": 3},
    "linear_networks.deep_critical_point":
        {"inputs": np.eye(3, 4), "labels": np.eye(2, 4), "kept": (0,), "widths": (3, 2, 2)},
    "linear_networks.end_to_end": {"weights": LAYERS},
    "linear_networks.layer_gradients": {"weights": LAYERS, "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "linear_networks.least_squares_map": {"inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "linear_networks.projected_least_squares": {"later": np.eye(2), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "near_initialization.linearized_shallow": {"activation": jnp.tanh},
    "near_initialization.shallow_gradient": {"activation": jnp.tanh},
    "near_initialization.shallow_output": {"activation": jnp.tanh},
    "plateaus.plateau_time": {"size": 0.1, "signal": 1.0, "depth": 2},
    "single_neuron.secant_correlation": {"activation": jnp.tanh},
    "symmetry.mountain_pass": {"function": square, "images": 5, "steps": 3},
}  # fmt: skip

FOUND = """
critical_points.on_vectors, example: empty
matrix_sensing.isometry_defect, form: float32
linear_flows.flow_factors, factors: float32
linear_networks.best_first_matrix, second: longer
linear_networks.best_second_matrix, inputs: longer
linear_networks.deep_critical_point, labels: longer
linear_networks.deep_critical_point, widths: none of them
linear_networks.layer_gradients, inputs: longer
linear_networks.layer_gradients, labels: longer
linear_networks.projected_least_squares, later: longer
"""

SIGNED = """
tensor_decomposition.online_components, samples
"""
