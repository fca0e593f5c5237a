from typing import Any

import jax
import numpy as np

from deeptheory.generative.finite_generators import point_generator
from deeptheory.networks.mlp import init_mlp

from .ingredients import LAW, POINTS

FEW = np.array([0.3, 0.3, 0.4])
COUNTS = np.array([[3.0, 1.0, 2.0], [1.0, 4.0, 2.0], [2.0, 2.0, 5.0]])
NETS = {
    "generator": init_mlp(jax.random.key(0), (2, 4, 3), bias_scale=1.0),
    "discriminator": init_mlp(jax.random.key(1), (3, 4, 1), bias_scale=1.0),
}
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
EXAMPLES: dict[str, dict[str, Any]] = {
    "adversarial_networks.best_discriminator": {"real": LAW, "synthetic": LAW[::-1]},
    "adversarial_networks.gan_value": {"real": LAW, "synthetic": LAW[::-1], "discriminator": LAW},
    "adversarial_networks.modes_covered": {"points": POINTS, "centres": POINTS[:2], "radius": 0.5},
    "adversarial_networks.train_adversarially": {"data": POINTS, "rounds": 2, "batch": 4, **NETS},
    "divergences.best_critic": {"p": LAW, "q": LAW[::-1]},
    "divergences.critic_value": {"p": LAW, "q": LAW[::-1], "critic": LAW},
    "divergences.f_divergence": {"p": LAW, "q": LAW[::-1]},
    "finite_generators.collapsed_law": {"features": np.linspace(-1, 1, 8).reshape(4, 2) ** 3, "law": LAW},
    "finite_generators.feature_advantage": {"features": np.ones((4, 2)), "law": LAW, "other": LAW[::-1]},
    "finite_generators.generated": {"net": point_generator(POINTS), "seeds": np.array([0.2, 0.7])},
    "finite_generators.sample_detector": {"sample": POINTS, "x": POINTS},
    "games.bilinear_step": {"rule": "extragradient"},
    "games.mixed_equilibrium": {"payoffs": COUNTS},
    "games.play": {
        "payoff": lambda x, y: x @ y, "x": np.ones(2), "y": np.ones(2), "rule": "alternating", "steps": 3,
    },
    "probability_metrics.best_lipschitz_critic": {"p": FEW, "q": FEW[::-1], "distances": 1 - np.eye(3)},
    "probability_metrics.integral_metric": {"p": LAW, "q": LAW[::-1]},
    "probability_metrics.kernel_metric": {"p": LAW, "q": LAW[::-1]},
    "probability_metrics.moment_distance": {
        "points": POINTS, "probabilities": FEW, "other_points": POINTS, "other_probabilities": FEW[::-1], "order": 2,
    },
    "probability_metrics.moment_tensor": {"points": POINTS, "probabilities": FEW},
    "probability_metrics.optimal_transport": {"p": FEW, "q": FEW[::-1], "costs": 1 - np.eye(3)},
    "probes.few_label_accuracy": {"features": np.vstack([POINTS, -POINTS]), "labels": SIGNS, "labelled": 4},
    "probes.linear_probe": {"features": np.vstack([POINTS, -POINTS]), "labels": SIGNS},
    "probes.principal_directions": {"points": POINTS, "rank": 2},
    "probes.probe_limit": {"direction": np.ones((1, 3)), "mean": POINTS[0], "covariance": np.eye(3)},
    "probes.shared_directions": {
        "first": np.vstack([POINTS, -POINTS]) + np.eye(6, 3), "second": np.vstack([POINTS, -POINTS]), "rank": 1,
    },
    "supports.birthday_test": {"collisions": 3, "batches": 10, "sample": 12},
    "supports.closest_pairs": {"points": POINTS},
    "supports.near_duplicates": {"drawn": POINTS[None], "tolerance": 0.1},
    "supports.uniform_collision_probability": {"support": 365.0, "sample": 23},
    "word_embeddings.cooccurrences": {"corpus": np.array([0, 1, 2, 0]), "vocabulary": 3},
    "word_embeddings.latent_semantic_indexing": {"table": COUNTS, "rank": 2},
    "word_embeddings.pointwise_mutual_information": {"counts": COUNTS},
    "word_embeddings.skip_gram": {"counts": COUNTS, "rank": 2, "steps": 5},
    "word_embeddings.skip_gram_loss": {"counts": COUNTS, "scores": COUNTS},
    "word_embeddings.term_document_counts": {"documents": [np.array([0, 1]), np.array([2])], "vocabulary": 3},
}  # fmt: skip
