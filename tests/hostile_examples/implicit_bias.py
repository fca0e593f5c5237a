from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.implicit_bias import separable

from .ingredients import POINTS, array

SEPARATED = {"signed_points": POINTS}

RECORDS: dict[str, Callable[[], Any]] = {
    "MarginLoss": lambda: separable.LOGISTIC,
    "MaxMargin": lambda: separable.max_margin(POINTS),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "least_squares.supported_solution": {"design": array("Float", "2 3"), "labels": np.ones(2), "coordinates": (0, 2)},
    "separable.gradient_descent_on_margins": {"checkpoints": np.array([0, 2])},
    "separable.margin_rates": SEPARATED,
    "separable.residual_decay": SEPARATED,
    "separable.residual_forces": SEPARATED | {"log_times": np.array([1.0, 2.0]), "error": np.ones((2, 3))},
    "separable.residual_limit": SEPARATED,
}  # fmt: skip

FOUND = """
separable.stable_step, signed_points: float32
separable.logarithmic_flow, log_times: huge
separable.logarithmic_flow, signed_points: huge
"""
