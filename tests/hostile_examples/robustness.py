from typing import Any

import numpy as np
from tests.hostile_examples.ingredients import POINTS

from deeptheory.robustness.two_layer_robust import TwoLayer

NETWORK = [(np.array([[1.0, -0.5], [0.3, 0.8]]), np.array([0.1, -0.2])), (np.array([[1.0, 2.0]]), np.zeros(1))]
PLANE = np.array([[0.3, 0.1], [1.2, -0.4], [-0.7, 0.9]])
RANDOM = (np.linspace(-0.4, 0.5, 24).reshape(2, 4, 3), np.ones((2, 4)))
SPHERE = np.sqrt(3) * POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
TWO_LAYER = TwoLayer(POINTS, np.array([0.1, -0.2, 0.3]), np.array([1.0, -1.0, 0.5]))

EXAMPLES: dict[str, dict[str, Any]] = {
    "isoperimetry.law_of_robustness": {"samples": 4000.0, "dimension": 3.0, "epsilon": 0.5, "delta": 0.1},
    "isoperimetry.log_lipschitz_tail": {"dimension": 3.0},
    "isoperimetry.log_noise_fitting_chance": {"dimension": 3.0},
    "lipschitz.exact_lipschitz": {"layers": NETWORK},
    "lipschitz.linear_pieces": {"layers": NETWORK},
    "lipschitz.local_jacobians": {"layers": NETWORK, "x": PLANE},
    "lipschitz.margin_certificate": {"labels": np.array([0, 1, 1]), "outputs": PLANE},
    "lipschitz.relu_outputs": {"layers": NETWORK, "x": PLANE},
    "lipschitz.sampled_lipschitz": {"layers": NETWORK, "x": PLANE},
    "lipschitz.spectral_product": {"layers": NETWORK},
    "sign_flips.activation_moment": {"activation": "tanh"},
    "sign_flips.gradient_lower_bound": {"gamma": 0.1},
    "sign_flips.mean_squared_gradient": {"activation": "tanh"},
    "sign_flips.moment_condition": {"activation": "tanh"},
    "sign_flips.normal_defect": {"activation": "tanh"},
    "sign_flips.output_cdf": {"activation": "tanh", "width": 30},
    "sign_flips.slope_moment": {"activation": "tanh"},
    "sign_flips.two_layer_gradient": {"networks": RANDOM, "x": np.ones(3), "activation": "tanh"},
    "sign_flips.two_layer_value": {"networks": RANDOM, "x": np.ones(3), "activation": "tanh"},
    "smoothing.smoothed_value_and_gradient": {"function": lambda x: x[:, 0]},
    "smoothing.votes": {"classifier": lambda x: (x[:, 0] > 0).astype(int)},
    "two_layer_robust.attack_lengths": {"network": TWO_LAYER, "inputs": SPHERE},
    "two_layer_robust.largest_correlation": {"inputs": SPHERE},
    "two_layer_robust.network_gradients": {"network": TWO_LAYER, "x": SPHERE},
    "two_layer_robust.network_outputs": {"network": TWO_LAYER, "x": SPHERE},
    "two_layer_robust.robust_network": {"inputs": SPHERE, "labels": np.array([1.0, -1.0, 1.0])},
    "two_layer_robust.safe_radius": {"inputs": SPHERE},
    "two_layer_robust.train_two_layer": {
        "inputs": SPHERE, "labels": np.array([1.0, -1.0, 1.0]), "width": 2, "steps": 3
    },
}  # fmt: skip

FOUND = """
noise_training.two_moons, noise: negative
"""
