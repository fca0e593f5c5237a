from typing import Any

import numpy as np

MEANS = {"parameters": np.eye(3)[:2] + 0.1, "means": np.eye(3)[:2]}
DATA = {"parameters": np.eye(3)[:2], "inputs": np.ones((4, 3)), "labels": np.array([0, 1, 1, 0])}
NETWORK = {"weights": np.array([1.0, -1.0]), "overlaps": np.array([[1.0, 0.2], [0.1, -1.0]])}
SAMPLES = {"start": np.ones(3), "samples": np.linspace(-1, 1, 15).reshape(5, 3)}

EXAMPLES: dict[str, dict[str, Any]] = {
    "overlaps.alignment": {"vectors": np.ones(3), "basis": np.eye(3)[:2]},
    "overlaps.living_error": {"matrix": np.eye(3), "basis": np.eye(3)[:2]},
    "overlaps.outlier_count": {"values": np.array([3.0, 0.1, 0.1])},
    "overlaps.top_eigenspace": {"matrix": np.diag([3.0, 2.0, 1.0]), "count": 2},
    "softmax_mixtures.mixture_draws": {"means": np.eye(3)[:2], "count": 5, "precision": 4.0},
    "softmax_mixtures.population_gradient": MEANS,
    "softmax_mixtures.reduced_coordinates": MEANS,
    "softmax_mixtures.softmax_loss": {"parameters": np.eye(3), "sample": (np.ones(3), np.array(1))},
    "softmax_mixtures.softmax_quadrature": MEANS,
    "softmax_mixtures.softmax_velocity": {"state": (np.eye(2), np.eye(2)), "gram": np.eye(2)},
    "softmax_mixtures.symmetric_solution": {"classes": 3, "decay": 0.1, "nodes": 4},
    "test_matrices.block_fluctuation": MEANS,
    "test_matrices.gradient_weights": DATA,
    "test_matrices.hessian_weights": DATA,
    "test_matrices.population_hessian": MEANS,
    "test_matrices.population_second_moment": MEANS,
    "test_matrices.softmax_hessian": DATA,
    "test_matrices.softmax_second_moment": DATA,
    "test_matrices.weighted_second_moment": {"inputs": np.ones((4, 3)), "weights": np.ones((4, 2))},
    "trajectories.eigenspace_preconditioner": {"second_moment": np.diag([3.0, 2.0, 1.0]), "count": 2},
    "trajectories.ridge_descent": SAMPLES | {"loss": lambda x, y: ((x - y) ** 2).sum()},
    "xor_networks.xor_features": {"overlaps": NETWORK["overlaps"]},
    "xor_networks.xor_limit_blocks": NETWORK,
    "xor_networks.xor_plane_blocks": NETWORK | {"precision": 4.0, "nodes": 4},
    "xor_networks.xor_test_blocks": {
        "weights": NETWORK["weights"], "neurons": np.eye(3)[:2], "inputs": np.ones((4, 3)), "labels": np.ones(4),
    },
}  # fmt: skip

SIGNED = """
trajectories.ridge_descent, samples
"""

FOUND = """
softmax_mixtures.symmetric_solution, decay: tiny
"""
