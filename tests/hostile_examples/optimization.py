from collections.abc import Callable
from typing import Any

import numpy as np
import optax

from deeptheory.optimization import runs

from .ingredients import array, square

RECORDS: dict[str, Callable[[], Any]] = {
    "Iterates": lambda: runs.trajectory(square, optax.sgd(0.1), np.ones(3), steps=3),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "empirical_risk.risk_rate": {"risk": square},
    "escape.coupled_runs": {"function": square, "steps": 3},
    "escape.kicked_variance": {"steps": 3},
    "escape.leaving_times": {"function": square, "steps": 3},
    "escape.slab_share": {"dimension": 3},
    "escape.stuck_share": {"dimension": 3, "gain": 2.0},
    "escape.stuck_width": {"steps": 3},
    "escape.thin_slab_bound": {"dimension": 3},
    "landscapes.polyak_lojasiewicz_constant": {"function": square},
    "promises.audit": {"promise": (np.ones(3), np.full(3, 2.0))},
    "runs.trajectory": {"function": square, "start": np.ones(3), "steps": 3},
    "smoothness.lipschitz_estimates":
        {"function": square, "first": array("Float", "2 3"), "second": array("Float", "2 3") + 1.0},
    "smoothness.power_method": {"function": square, "iterations": 3},
    "smoothness.smoothness_along": {"function": square, "iterations": 3},
    "stochastic.escape_exponent": {"batch": 2},
    "stochastic.mean_square_factor": {"batch": 2},
    "stochastic.batch_stationarity_bound": {"batch": 2, "steps": 3},
    "stochastic.batch_steps": {"batch": 2},
    "stochastic.sgd_stationarity_bound": {"steps": 3},
    "stochastic.sgd_step_size": {"steps": 3},
}  # fmt: skip

FOUND = """
escape.coupled_runs, first: float32
hardness.Haystack, radius: negative
runs.trajectory, start: empty
smoothness.power_method, point: float32
smoothness.smoothness_along, direction: float32
empirical_risk.negative_directions, cutoff: negative
landscapes.Huber, smoothness: negative
landscapes.LogisticRidge, ridge: negative
promises.improve_or_localize, values: float32
"""
