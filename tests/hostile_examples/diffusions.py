from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.diffusions import (
    coupled_errors,
    diagonal_networks,
    gradient_noise,
    stochastic_equations,
    torus_semigroups,
    valleys,
    weak_order,
)

from .ingredients import square

RECORDS: dict[str, Callable[[], Any]] = {
    "Diagonal": lambda: diagonal_networks.Diagonal(np.ones((2, 3)), np.full((2, 3), 0.5)),
    "Factors": lambda: valleys.Factors(np.array([1.0, 1.1, 1.2]), np.array([0.9, 1.0, 0.8])),
    "ItoEquation": lambda: stochastic_equations.ItoEquation(lambda x: -x, lambda x: jnp.diag(1 + 0 * x)),
    "LinearOracle": lambda: weak_order.three_losses(),
    "NoiseLaw": lambda: weak_order.two_point_noise(0.5),
    "TorusOracle": lambda: torus_semigroups.double_well(np.array([1.0, -1.0]), np.full(2, 0.5)),
}

DIAGONAL = {"given": np.eye(3)[None, :2].repeat(2, 0), "answer": np.ones((2, 2))}

EXAMPLES: dict[str, dict[str, Any]] = {
    "coupled_errors.coupled_weak_errors": {
        "gradients": lambda x: jnp.stack([x, 2 * x - 1]), "start": np.ones(2), "tests": (lambda x: x[0],),
        "rates": np.array([0.25, 0.5]), "runs": 4, "groups": 2, "refinement": 2,
    },
    "coupled_errors.hybrid_paths": {
        "gradients": lambda x: jnp.stack([x, 2 * x - 1]), "start": np.ones(2), "rate": 0.1, "steps": 4, "switch": 2,
        "runs": 3, "refinement": 2,
    },
    "coupled_errors.measured_order": {
        "found": coupled_errors.WeakErrors(
            np.array([0.1, 0.2]), np.array([[1.0], [2.0]]), np.full((2, 1), 0.1), np.ones((2, 1, 3))
        ),
    },
    "diagonal_networks.batch_descent": {**DIAGONAL, "chosen": np.zeros((2, 3, 1), int), "rate": 0.1},
    "diagonal_networks.diagonal_descent": {**DIAGONAL, "rate": 0.1, "steps": 3},
    "diagonal_networks.diagonal_flow": {**DIAGONAL, "time": 1.0},
    "diagonal_networks.label_noise_descent": {**DIAGONAL, "rate": 0.1, "steps": 3},
    "diagonal_networks.scale_decay": {**DIAGONAL, "batch": 2.0, "time": 1.0},
    "distances.dictionary_distance": {"tests": [lambda x: x[:, 0]]},
    "distances.trajectory_distance": {
        "first": np.ones((2, 4, 3)), "second": np.zeros((2, 5, 3)), "tests": [lambda x: x[:, 0]],
    },
    "fluctuations.descent_ends": {
        "gradients": lambda x: jnp.stack([x, 2 * x - 1]), "start": np.ones(2), "rate": 0.1, "batch": 2, "steps": 3,
        "runs": 4,
    },
    "fluctuations.descent_moments": {"rate": 0.1, "batch": 2, "steps": 3},
    "fluctuations.isotropic_moments": {"rate": 0.1, "batch": 2},
    "fluctuations.limiting_scatter": {
        "gradients": lambda x: jnp.stack([x, 2 * x - 1]), "start": np.ones(2), "covariance": None, "substeps": 8,
    },
    "gradient_noise.batch_covariance": {"batch": 3},
    "gradient_noise.linearly_scaled": {"schedule": gradient_noise.Schedule(0.1, 4, 12), "factor": 3},
    "gradient_noise.svag_gradient": {"amplification": 2.0},
    "gradient_noise.svag_moment_factors": {"amplification": 2.0},
    "gradient_noise.svag_weights": {"amplification": 2.0},
    "processes.bridge_refined": {"paths": np.cumsum(np.ones((3, 5)), 1)},
    "processes.quadratic_variation": {"paths": np.cumsum(np.ones((3, 5)), 1)},
    "processes.stable_paths": {"paths": 3, "steps": 4, "index": 1.5},
    "stochastic_equations.canonical_equation": {"gradients": lambda x: jnp.outer(jnp.arange(3.0), x), "batch": 2},
    "stochastic_equations.euler_maruyama": {"start": np.ones(3), "increments": np.full((4, 3), 0.1)},
    "stochastic_equations.generator_of": {"function": square},
    "stochastic_equations.geometric_errors": {"steps": np.array([0.5, 0.25])},
    "stochastic_equations.gibbs_density":
        {"loss": lambda x: x**2, "points": np.linspace(-3, 3, 41), "noise": 1.0, "rate": 1.0},
    "torus_semigroups.weak_error_on_torus": {"steps": np.array([0.25]), "test": lambda x: np.cos(x[:, 0])},
    "valleys.product_descent": {"noise": valleys.label_noise, "rate": 0.1, "steps": 3},
    "weak_order.weak_error": {"step": 0.25},
}  # fmt: skip

FOUND = """
coupled_errors.coupled_weak_errors, start: float32
coupled_errors.coupled_weak_errors, tests: none of them
gradient_noise.svag_gradient, second: longer
processes.compound_poisson_paths, rate: huge
stochastic_equations.euler_maruyama, start: longer
torus_semigroups.weak_error_on_torus, horizon: huge
torus_semigroups.weak_error_on_torus, horizon: negative
torus_semigroups.weak_error_on_torus, noise: negative
torus_semigroups.weak_error_on_torus, steps: negated
valleys.product_descent, steps: million
weak_order.weak_error, step: tiny
"""
