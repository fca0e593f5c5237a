from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.dynamics import projections

SAMPLED = {"samples": np.linspace(-1, 1, 15).reshape(5, 3), "loss": lambda x, y: ((x - y) ** 2).sum() ** 2}
STATISTICS = SAMPLED | {"point": np.ones(3), "statistics": lambda x: x[:2] ** 2}
GRAM = {"gram": np.eye(3) + 0.2 * np.ones((3, 3)), "parameters": ()}

RECORDS: dict[str, Callable[[], Any]] = {
    "Projected": lambda: projections.Projected(
        lambda own, hidden, parameters, label: (own.sum() - hidden[0]) ** 2, np.zeros((1, 1)), np.zeros(1)
    ),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "effective.diffusion_paths": {
        "velocity": lambda u: -u, "volatility": lambda u: jnp.eye(2), "start": np.zeros((3, 2)), "times": [0.1, 0.2],
    },
    "effective.effective_dynamics": STATISTICS,
    "effective.localizability": STATISTICS,
    "hitting_times.hitting_survival": {"times": np.array([0, 3]), "dimension": 9},
    "hitting_times.mean_hitting_time": {"dimension": 9},
    "hitting_times.mean_overlap": {"times": np.array([0, 3]), "dimension": 9},
    "noise_scaling.noise_moments": SAMPLED | {"x": np.ones(3), "direction": np.eye(3)[0]},
    "noise_scaling.spherical_gradient": {"loss": SAMPLED["loss"], "x": np.ones(3), "sample": np.zeros(3)},
    "online.online_descent": SAMPLED | {"start": np.ones(3)},
    "online.online_step": {"loss": SAMPLED["loss"], "point": np.ones(3), "sample": np.zeros(3)},
    "projections.gram_matrix": {"weights": np.ones((2, 4)), "hidden": np.eye(4)[:1]},
    "projections.projected_chain": {"gram": GRAM["gram"][None], "parameters": (), "dimension": 9, "steps": 2},
    "projections.projected_loss": {"hidden": np.eye(4)[:1]},
    "projections.projected_step": GRAM | {"which": 0, "normals": np.ones(3), "square": 2.0},
    "projections.projected_velocity": GRAM | {"normals": np.ones((2, 3)), "weights": np.ones(2)},
    "recurrences.growth_recursion": {"order": 3},
    "sphere.overlap_chain": {"dimension": 5, "replicas": 3, "max_steps": 10},
    "spiked_tensors.spiked_tensor_chain": {"dimension": 99, "ratio": 0.1, "times": np.array([0.5, 1.0])},
    "spiked_tensors.spiked_tensor_loss": {"x": np.ones(3), "tensor": np.ones((3, 3))},
    "spiked_tensors.spiked_tensor_samples": {"direction": np.eye(3)[0]},
    "xor_mixture.components_by_exchange": {"neurons": 3},
    "xor_mixture.placement": {"classes": np.array([0, 1, 4])},
    "xor_mixture.xor_loss": {"fields": np.ones(3), "hidden": np.ones(2), "weights": np.ones(3), "label": np.array(1.0)},
    "xor_mixture.xor_population_loss": {"gram": np.eye(4) + 0.1 * np.ones((4, 4))},
}  # fmt: skip

FOUND = """
sphere.overlap_chain, replicas: million
xor_mixture.settled, weights: float32
xor_mixture.xor_population_loss, gram: asymmetric
effective.effective_dynamics, point: deeper
online.exit_probability, step: tiny
online.online_descent, samples: empty
online.online_step, sample: complex
noise_scaling.spherical_gradient, sample: complex
projections.projected_chain, gram: float32
projections.projected_chain, steps: billion
spiked_tensors.spiked_tensor_chain, dimension: billion
spiked_tensors.spiked_tensor_loss, x: longer
hitting_times.mean_hitting_time, level: negative
hitting_times.mean_hitting_time, level: two
single_index.information_exponent, tolerance: negative
sphere.overlap_step, overlap: two
sphere.spherical_sgd, dimension: million
sphere.spherical_sgd, steps: billion
"""

SIGNED = """
effective.effective_dynamics, samples
effective.localizability, samples
noise_scaling.noise_moments, samples
online.online_descent, samples
"""
