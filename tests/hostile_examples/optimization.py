from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

from deeptheory.optimization import convex_models, promises, runs

from .ingredients import array, square

RECORDS: dict[str, Callable[[], Any]] = {
    "HingeRidge": lambda: convex_models.HingeRidge(jnp.ones((4, 3)), jnp.ones(4), 0.5),
    "Iterates": lambda: runs.trajectory(square, optax.sgd(0.1), np.ones(3), steps=3),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "continuous_time.StepPenalty": {"function": square},
    "continuous_time.gradient_flow": {"function": square, "start": np.ones(3), "times": np.array([0.0, 0.5])},
    "convex_models.soft_margin": {"sweeps": 3},
    "empirical_risk.risk_rate": {"risk": square},
    "escape.coupled_runs": {"function": square, "steps": 3},
    "escape.kicked_variance": {"steps": 3},
    "escape.leaving_times": {"function": square, "steps": 3},
    "escape.slab_share": {"dimension": 3},
    "escape.stuck_share": {"dimension": 3, "gain": 2.0},
    "escape.stuck_width": {"steps": 3},
    "escape.thin_slab_bound": {"dimension": 3},
    "landscapes.polyak_lojasiewicz_constant": {"function": square},
    "losses.class_error": {"scores": np.array([0.2, 0.5, 0.3]), "label": 1},
    "losses.cross_entropy": {"probabilities": np.array([0.2, 0.5, 0.3]), "soft_target": np.array([0.1, 0.6, 0.3])},
    "losses.log_loss": {"probabilities": np.array([0.2, 0.5, 0.3]), "label": 1},
    "losses.risk_on":
        {"model": lambda w, x: w @ x, "loss": lambda guess, y: (guess - y) ** 2, "inputs": np.ones((4, 3)),
         "targets": np.ones(4)},
    "methods.variance_amplified": {"function": square, "amplification": 2.0},
    "methods.variance_reduced": {"function": square, "every": 2},
    "noise_moments.sgd_plateau": {"features": np.eye(3), "labels": np.ones(3)},
    "noise_moments.variance_reduced_distances": {"every": 2, "steps": 3},
    "promises.audited_run": {
        "function": square, "method": optax.sgd(0.1), "start": np.ones(3), "steps": 3,
        "promises": {"parabola": lambda run: promises.parabola_promise(run, smoothness=2.0)},
    },
    "promises.potential_promise": {"potential": lambda x, value, memory: value},
    "promises.audit": {"promise": (np.ones(3), np.full(3, 2.0))},
    "quadratic_models.block_diagonal_part": {"matrix": np.eye(3), "sizes": (2, 1)},
    "quadratic_models.model_at": {"function": square},
    "runs.measured_epochs": {
        "function": lambda x, batch: jnp.sum((x - batch) ** 2), "method": optax.sgd(0.1), "start": np.ones(3),
        "batches": np.ones((2, 4, 3)), "measure": jnp.sum,
    },
    "runs.trajectory": {"function": lambda x, *batch: square(x), "start": np.ones(3), "steps": 3},
    "smoothness.curvature_range": {"function": square},
    "smoothness.lipschitz_estimates":
        {"function": square, "first": array("Float", "2 3"), "second": array("Float", "2 3") + 1.0},
    "smoothness.power_method": {"function": square, "iterations": 3},
    "smoothness.smoothness_along": {"function": square, "iterations": 3},
    "stochastic.escape_exponent": {"batch": 2},
    "stochastic.mean_square_factor": {"batch": 2},
    "stochastic.batch_stationarity_bound": {"batch": 2, "steps": 3},
    "stochastic.batch_steps": {"batch": 2},
    "stochastic.best_sgd_step_size": {"steps": 3},
    "stochastic.gradient_variance": {"losses": lambda w: w**2, "point": np.ones(3)},
    "stochastic.sgd_stationarity_bound": {"steps": 3},
    "stochastic.sgd_step_size": {"steps": 3},
}  # fmt: skip

FOUND = """
empirical_risk.negative_directions, cutoff: negative
escape.coupled_runs, first: float32
hardness.Haystack, radius: negative
landscapes.Huber, smoothness: negative
landscapes.LogisticRidge, ridge: negative
losses.class_error, scores: deeper
losses.risk_on, inputs: objects
losses.risk_on, targets: complex
momentum.heavy_ball_offsets, steps: million
promises.improve_or_localize, values: float32
runs.measured_epochs, batches: complex
runs.measured_epochs, batches: empty
runs.trajectory, batches: a key
runs.trajectory, draws: complex
runs.trajectory, draws: words
runs.trajectory, start: empty
smoothness.power_method, point: float32
smoothness.smoothness_along, direction: float32
stochastic.gradient_variance, point: complex
"""

MAY_BE_NAN = ("promises.audited_run", "promises.potential_promise", "runs.measured_epochs")
"""what comes after divergence is not a number"""
