from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.robustness.threats import Threat
from deeptheory.robustness.two_layer_robust import TwoLayer

from .ingredients import POINTS

NETWORK = [(np.array([[1.0, -0.5], [0.3, 0.8]]), np.array([0.1, -0.2])), (np.array([[1.0, 2.0]]), np.zeros(1))]

PLANE = np.array([[0.3, 0.1], [1.2, -0.4], [-0.7, 0.9]])

RANDOM = (np.linspace(-0.4, 0.5, 24).reshape(2, 4, 3), np.ones((2, 4)))

SPHERE = np.sqrt(3) * POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)

TWO_LAYER = TwoLayer(POINTS, np.array([0.1, -0.2, 0.3]), np.array([1.0, -1.0, 0.5]))


def score(x: Any) -> Any:
    return x[:, 0]


def logits(x: Any) -> Any:
    return jnp.stack([x[:, 0], x[:, 1]], axis=1)


def worst(weights: Any, move: Any) -> Any:
    return jnp.sum(weights) * jnp.sum(move)


LAYERS = [(np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.6]]), np.array([0.1, -0.2]))]

EXAMPLES: dict[str, dict[str, Any]] = {
    "adversarial_training.adversarial_risk": {"layers": LAYERS, "steps": 2},
    "adversarial_training.directional_slope": {"loss": worst},
    "adversarial_training.interval_logits": {"layers": LAYERS},
    "adversarial_training.train_adversarially": {"network": logits, "steps": 2, "batch": 2, "attack_steps": 1},
    "adversarial_training.worst_of_many": {"loss": worst},
    "attacks.ascend": {"objective": score, "slopes": None, "start": None, "steps": 2},
    "attacks.difference_slopes": {"objective": score},
    "attacks.fast_gradient_sign": {"network": logits},
    "attacks.fooled": {"network": logits, "inputs": None, "threat": None},
    "attacks.projected_gradient": {"network": logits, "steps": 2, "restarts": 1},
    "attacks.random_slopes": {"objective": score, "dimension": 3, "directions": 2},
    "attacks.targeted_gradient": {"network": logits, "targets": np.array([1, 0, 1, 0]), "steps": 2},
    "isoperimetry.law_of_robustness": {"samples": 4000.0, "dimension": 3.0, "epsilon": 0.5, "delta": 0.1},
    "isoperimetry.log_lipschitz_tail": {"dimension": 3.0},
    "isoperimetry.log_noise_fitting_chance": {"dimension": 3.0},
    "linear_classifiers.most_robust_weights": {"radius": 0.1},
    "lipschitz.exact_lipschitz": {"layers": NETWORK},
    "lipschitz.linear_pieces": {"layers": NETWORK},
    "lipschitz.local_jacobians": {"layers": NETWORK, "x": PLANE},
    "lipschitz.margin_certificate": {"labels": np.array([0, 1, 1]), "outputs": PLANE},
    "lipschitz.relu_outputs": {"layers": NETWORK, "x": PLANE},
    "lipschitz.sampled_lipschitz": {"layers": NETWORK, "x": PLANE},
    "lipschitz.spectral_product": {"layers": NETWORK},
    "masking.expected_slopes": {"objective": lambda x, draw: x[:, 0] * draw[0]},
    "masking.quantise": {"levels": 4},
    "masking.quantised_margin": {"levels": 4, "signs": np.array([1.0, -1.0, 1.0, -1.0])},
    "masking.straight_through": {"transform": jnp.round},
    "minimal_perturbations.attack_radius": {"flips": lambda radii: radii > 0.3, "halvings": 3},
    "minimal_perturbations.nearest_in_polyhedron": {"order": 2.0},
    "minimal_perturbations.relu_radius": {"layers": LAYERS, "order": 2.0, "most": 100},
    "sign_flips.activation_moment": {"activation": "tanh"},
    "sign_flips.gradient_lower_bound": {"gamma": 0.1},
    "sign_flips.mean_squared_gradient": {"activation": "tanh"},
    "sign_flips.moment_condition": {"activation": "tanh"},
    "sign_flips.normal_defect": {"activation": "tanh"},
    "sign_flips.output_cdf": {"activation": "tanh", "width": 30},
    "sign_flips.slope_moment": {"activation": "tanh"},
    "sign_flips.two_layer_gradient": {"networks": RANDOM, "x": np.ones(3), "activation": "tanh"},
    "sign_flips.two_layer_value": {"networks": RANDOM, "x": np.ones(3), "activation": "tanh"},
    "smoothed_attacks.attack_smoothed": {
        "network": logits,
        "draws": np.linspace(-1, 1, 15).reshape(5, 3),
        "radii": np.array([0.1, 0.0, 0.5, 0.2]),
        "steps": 2,
    },
    "smoothing.certify": {"counts": np.array([[9, 2, 1], [1, 8, 3]]), "selection": np.array([[3, 1, 0], [0, 2, 2]])},
    "smoothing.shared_votes": {"network": logits, "draws": np.linspace(-1, 1, 15).reshape(5, 3)},
    "smoothing.smoothed_value_and_gradient": {"function": lambda x: x[:, 0]},
    "smoothing.votes": {"classifier": lambda x: (x[:, 0] > 0).astype(int)},
    "threats.Threat": {"radius": 0.1, "order": 2.0, "low": -1.0, "high": 2.0},
    "threats.dual_order": {"order": 2.0},
    "threats.length": {"order": 2.0},
    "threats.steepest": {"order": 2.0},
    "two_layer_robust.attack_lengths": {"network": TWO_LAYER, "inputs": SPHERE},
    "two_layer_robust.flipping_lengths": {"dimension": 9, "positive": 3, "negative": 2},
    "two_layer_robust.largest_margin_network": {"inputs": 2 * np.eye(4), "labels": np.array([1.0, -1.0, 1.0, 1.0])},
    "two_layer_robust.largest_correlation": {"inputs": SPHERE},
    "two_layer_robust.network_gradients": {"network": TWO_LAYER, "x": SPHERE},
    "two_layer_robust.network_outputs": {"network": TWO_LAYER, "x": SPHERE},
    "two_layer_robust.robust_network": {"inputs": SPHERE, "labels": np.array([1.0, -1.0, 1.0])},
    "two_layer_robust.safe_radius": {"inputs": SPHERE},
    "two_layer_robust.train_two_layer": {
        "inputs": SPHERE,
        "labels": np.array([1.0, -1.0, 1.0]),
        "width": 2,
        "steps": 3,
    },
}

INNER = ("sign_patterns",)

FOUND = """
noise_training.two_moons, noise: negative
adversarial_training.train_adversarially, network: nothing
adversarial_training.train_adversarially, network: text
lipschitz.exact_lipschitz, reach: huge
minimal_perturbations.relu_radius, point: longer
smoothing.certify, delta: negative
"""

RECORDS: dict[str, Callable[[], Any]] = {
    "Threat": lambda: Threat(0.1),
}
