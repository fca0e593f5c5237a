from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.curvature import density, edge_of_stability, operators

from .ingredients import POINTS, affine, square


def squared_error(parameters: Any, batch: Any) -> Any:
    return ((batch @ parameters) ** 2).mean()


def squared_errors(parameters: Any, batch: Any) -> Any:
    return (batch @ parameters) ** 2


def loss_of_outputs(outputs: Any, targets: Any) -> Any:
    return ((outputs - targets) ** 2).mean()


RECORDS: dict[str, Callable[[], Any]] = {
    "Curvature": lambda: operators.hessian(squared_error, np.ones(3), POINTS),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "density.spectral_quadratures": {"starts": np.ones((2, 3)), "steps": 2},
    "density.spectral_sum":
        {"density": density.SpectralDensity(*[np.ones(3)] * 3, *[np.ones((2, 2)) / 2] * 2, 0.1),
         "function": abs},
    "edge_of_stability.descent_with_sharpness": {"function": square, "steps": 4, "every": 2},
    "edge_of_stability.sharpness": {"function": square},
    "edge_of_stability.stability_phases":
        {"trace": edge_of_stability.SharpnessTrace(
            np.linspace(1, 0, 7), np.array([0.5, 3.0, 5.0, 4.0]), np.ones(2), -1), "every": 2},
    "operators.fisher": {"model": affine, "parameters": np.ones((3, 2)), "inputs": POINTS},
    "operators.gauss_newton":
        {"model": affine, "loss": loss_of_outputs, "parameters": np.ones(3), "inputs": POINTS, "targets": np.ones(3)},
    "operators.gradient_noise": {"losses": squared_errors, "parameters": np.ones(3), "data": POINTS},
    "operators.hessian": {"loss": squared_error, "parameters": np.ones(3), "data": POINTS},
}  # fmt: skip

MAY_BE_NAN = ("edge_of_stability.descent_with_sharpness", "edge_of_stability.stability_phases")
"""the plateau of a run that never came to the edge is not a number, nor is what comes after divergence"""

FOUND = """
density.spectral_density, points: million
density.spectral_density, probes: million
edge_of_stability.descent_with_sharpness, start: float32
edge_of_stability.sharpness, direction: float32
"""
