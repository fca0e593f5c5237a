from typing import Any

import numpy as np

from .ingredients import LAYERS

LAWS = {"row_law": np.array([0.2, 0.5, 0.3]), "column_law": np.array([0.6, 0.4])}
WEIGHTED = LAWS | {"matrix": np.array([[1.0, 0.5], [-0.3, 2.0], [0.7, 0.1]])}

EXAMPLES: dict[str, dict[str, Any]] = {
    "shrinkage.dropout_shrinkage": {"singular": np.array([2.0, 1.0, 0.5]), "width": 4},
    "autoencoder.autoencoder_optimum": {"width": 4},
    "autoencoder.least_autoencoder_loss": {"width": 4},
    "autoencoder.turned_pair": {"first": 0, "second": 1},
    "catalogue.dropout_critical_points": {"matrix": np.diag([2.0, 1.0]), "width": 2},
    "catalogue.lifted_curvature": {"rank": 1, "width": 2},
    "catalogue.new_unit_curvature": {"rank": 1, "width": 2},
    "catalogue.lifted": {"weights": np.diag([1.0, 0.0, 0.0]), "matrix": np.diag([2.0, 1.0, 0.5])},
    "completion.completion_conditions": {"entries": 50},
    "completion.completion_terms": {"entries": 50, "larger": 9},
    "completion.weighted": WEIGHTED,
    "completion.weighted_equalized_factors": WEIGHTED | {"width": 4},
    "completion.weighted_optimum": LAWS | {"target": WEIGHTED["matrix"], "width": 4, "rate": 0.3},
    "completion.weighted_trace_norm": WEIGHTED,
    "deep_regression.explicit_dropout_loss": {"weights": LAYERS, "labels": np.ones((4, 2))},
    "deep_regression.regression_loss": {"weights": LAYERS, "labels": np.ones((4, 2))},
    "deep_regression.top_dropout_loss": {"weights": LAYERS, "labels": np.ones((4, 2))},
    "factors.equalized_factors": {"width": 5},
    "factors.induced_regularizer": {"width": 5},
    "descents.dropout_descent":
        {"loss": lambda weights, mask: (weights * mask).sum() ** 2, "start": np.ones(3), "width": 3, "steps": 2},
}  # fmt: skip

FOUND = """
deep_regression.regression_loss, mask: longer
descents.dropout_descent, start: words
descents.dropout_descent, start: complex
"""
