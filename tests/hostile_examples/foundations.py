from typing import Any

import numpy as np

EXAMPLES: dict[str, dict[str, Any]] = {
    "activations.relu": {"z": np.ones(3)},
    "activations.sigmoid": {"z": np.ones(3)},
    "activations.slope_of": {"function": np.tanh},
    "activations.threshold": {"z": np.ones(3)},
    "binomial.clopper_pearson_lower": {"successes": 2, "trials": 5},
    "binomial.clopper_pearson_upper": {"successes": 2, "trials": 5},
    "cross_entropy.label_cross_entropy": {"logits": np.eye(3), "labels": np.array([0, 2, 1])},
    "cross_entropy.of_label": {"values": np.eye(3), "labels": np.array([0, 2, 1])},
    "cross_entropy.softmax_cross_entropy": {"logits": np.eye(3), "target": np.full((3, 3), 1 / 3)},
    "cross_entropy.softmax_jacobian": {"probabilities": np.array([0.2, 0.5, 0.3])},
    "filters.pseudo_inverse_filter": {"singular": np.array([0.5, 2.0])},
}  # fmt: skip

INNER = (
    "arrays",
    "callbacks",
    "entrances",
    "flows",
    "guards",
    "hermite.Link",
    "krylov",
    "packages",
    "shapes",
    "training",
    "wishes",
)

FOUND = """
cross_entropy.binary_cross_entropy, logits: two
entropies.entropy, law: huge
entropies.finite_kl, prior: deeper
concentration.log_binomial_deviation, deviation: negative
concentration.log_hoeffding, widths: negated
"""
