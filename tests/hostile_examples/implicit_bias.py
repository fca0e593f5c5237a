from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.foundations import margin_losses
from deeptheory.implicit_bias import homogeneous_training, paths, potentials, separable, steepest

from .ingredients import POINTS, array, square

SEPARATED = {"signed_points": POINTS}
SQUARES = {"margins": lambda w: w**2, "start": np.ones(3), "degree": 2.0}
OUTPUTS = {"margins": lambda w: w, "weights": np.ones(3), "degree": 1.0}
WIDE = {"design": np.array([[1.0, 0.3, -0.5], [0.2, -0.8, 0.6]]), "labels": np.array([0.7, -0.4])}
MEASURED = {"measurements": np.array([[[1.0, 0.3], [0.2, -0.5]], [[0.1, 1.0], [-0.7, 0.2]], [[0.4, 0.0], [0.9, 1.0]]])}
REPARAMETRIZED = {"parametrization": lambda theta: theta**2, "theta": np.array([1.0, 0.5])}
ATOMS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.5, -0.5]])
RIDGES = {"directions": np.array([[1.0, 0.2], [0.1, 1.0], [0.5, -0.5]]), "profile": jnp.cosh}
LAYERS = [np.array([[1.0, -0.5], [0.3, 0.8], [-0.7, 0.2]]), np.array([[0.6, -1.1, 0.4]])]

RECORDS: dict[str, Callable[[], Any]] = {
    "HomogeneousRun": lambda: homogeneous_training.homogeneous_descent(**SQUARES, checkpoints=np.array([0, 3])),
    "MarginLoss": lambda: margin_losses.LOGISTIC,
    "MaxMargin": lambda: separable.max_margin(POINTS),
    "SteepestRun": lambda: steepest.margin_descent(POINTS, np.full(3, 0.5)),
    "PiecewisePath": lambda: paths.l1_path(**WIDE),
    "Potential": lambda: potentials.EUCLIDEAN,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "boosting.adaboost": {"answers": np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), "rounds": 3},
    "boosting.line_search_step": {"edge": 0.5},
    "circular.largest_fourier_margin": SEPARATED,
    "homogeneous.first_order_residual": OUTPUTS,
    "homogeneous.flat_weights": {"margins": lambda w: w, "weights": np.ones(3)},
    "homogeneous.unit_margins": OUTPUTS,
    "homogeneous_training.homogeneous_descent": SQUARES | {"checkpoints": np.array([0, 3])},
    "homogeneous_training.homogeneous_flow": SQUARES | {"lengths": np.array([0.0, 1.0])},
    "assumptions.loss_assumptions": {"loss": lambda u: jnp.logaddexp(0.0, -u)},
    "margins.largest_margin": SEPARATED,
    "stationarity.kkt_residuals": {
        "objective": square, "point": np.ones(3), "multipliers": np.zeros(3), "inequalities": lambda x: x - 1,
    },
    "steepest.margin_certificate": {"width": 1.0},
    "steepest.margin_descent": SEPARATED | {"shares": np.array([0.5, 0.25])},
    "auditor.least_norm": WIDE | {"power": 1.0},
    "auditor.selected": {"loss": square, "start": np.ones(3), "steps": 9},
    "auditor.solves": WIDE | {"point": np.ones(3)},
    "auditor.solves_margin": SEPARATED | {"point": np.ones(3)},
    "nuclear.least_nuclear_norm": MEASURED | {"labels": np.array([1.0, 0.5, -0.3])},
    "nuclear.nuclear_certificate": MEASURED | {"matrix": np.array([[1.0, 0.2], [0.1, -0.4]])},
    "potentials.nuclear_norm": {"rows": 2, "columns": 3},
    "mirror.bregman_projection": WIDE,
    "mirror.dual_multipliers": WIDE,
    "potentials.smooth_norm": {"norm": lambda w: jnp.sqrt(w @ w), "dimension": 3},
    "potentials.squared_norm": {"power": 1.5},
    "embeddings.hessian_curvature": {"value": lambda w: jnp.sum(w**4) + jnp.prod(w), "point": np.array([1.0, 0.7])},
    "embeddings.moment_embedding": {"atoms": ATOMS},
    "embeddings.moment_parametrization": {"atoms": ATOMS},
    "embeddings.moment_potential": {"atoms": ATOMS},
    "embeddings.ridge_embedding": RIDGES,
    "embeddings.ridge_parametrization": RIDGES,
    "embeddings.ridge_potential": RIDGES,
    "path_geometry.path_curvatures": {"layers": LAYERS},
    "path_geometry.rescaled_units": {"layers": LAYERS, "factors": [np.array([2.0, 0.5, 1.5])]},
    "paths.l1_path": WIDE,
    "paths.lars_path": WIDE,
    "paths.stagewise_path": WIDE,
    "reparametrization.dual_point": REPARAMETRIZED | {"dual": np.array([0.1, 0.2]), "steps": 5},
    "reparametrization.induced_metric": REPARAMETRIZED,
    "reparametrization.lie_brackets": REPARAMETRIZED,
    "reparametrization.mirror_flow": {"loss": square, "start": np.ones(3), "times": np.array([0.0, 0.5])},
    "reparametrization.mirror_map": REPARAMETRIZED | {"steps": 5},
    "reparametrization.mirror_violations": {
        "parametrization": lambda theta: theta**2, "potential": square, "thetas": np.array([[1.0, 0.5], [0.7, 2.0]]),
    },
    "reparametrization.products": {"pair": (np.ones(3), np.zeros(3))},
    "reparametrization.reparametrized_flow": REPARAMETRIZED | {"loss": square, "times": np.array([0.0, 0.5])},
    "reparametrization.squares_apart": {"pair": (np.ones(3), np.zeros(3))},
    "least_squares.supported_solution": {"design": array("Float", "2 3"), "labels": np.ones(2), "coordinates": (0, 2)},
    "separable.gradient_descent_on_margins": {"checkpoints": np.array([0, 2])},
    "separable.margin_rates": SEPARATED,
    "separable.residual_decay": SEPARATED,
    "separable.residual_forces": SEPARATED | {"log_times": np.array([1.0, 2.0]), "error": np.ones((2, 3))},
    "separable.residual_limit": SEPARATED,
}  # fmt: skip

FOUND = """
auditor.selected, start: complex
auditor.selected, start: empty
homogeneous.flat_weights, weights: ragged
paths.stagewise_path, design: huge
reparametrization.dual_point, theta: longer
reparametrization.dual_point, dual: longer
separable.stable_step, signed_points: float32
separable.logarithmic_flow, log_times: huge
separable.logarithmic_flow, signed_points: huge
"""
