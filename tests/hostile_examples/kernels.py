from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from deeptheory.kernels.finite import features
from deeptheory.kernels.layers import activations, combinators, dense
from deeptheory.kernels.lazy import monitors, signed_network
from deeptheory.kernels.regression import predictions, solvers

from .ingredients import KEY, POINTS, affine, array

TANGENT = {"apply": affine, "parameters": jnp.ones((3, 2)), "x": jnp.asarray(POINTS)}


def linear(x: Any, other: Any = None) -> Any:
    return x @ (x if other is None else other).T


def flattened(x: Any, other: Any = None) -> Any:
    x, other = (each.reshape(len(each), -1) for each in (x, x if other is None else other))
    return x @ other.T


RECORDS: dict[str, Callable[[], Any]] = {
    "Activation": lambda: activations.Relu(),
    "Activity": lambda: monitors.Activity(*(jnp.full(2, v) for v in (0.5, 0.4, 0.2, 0.1))),
    "Eigenbasis": lambda: predictions.diagonalize(array("Float", "n n")),
    "GaussianLaw": lambda: predictions.GaussianLaw(np.zeros(4), array("Float", "n n")),
    "Layer": lambda: combinators.serial(
        dense.Dense(4),
        activations.Relu(),
        dense.Dense(1),
    ),
    "LowRank": lambda: solvers.pivoted_cholesky(np.ones(4), lambda i: np.eye(4)[i], rank=2),
    "RandomFeatures": lambda: features.init_random_features(KEY, inputs=3, count=6),
    "SignedNetwork": lambda: signed_network.SignedNetwork(),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "finite.linearization.padded": {"width": 6},
    "finite.structure.factored_gradients": TANGENT,
    "finite.tangents.functional": {"module": eqx.nn.Linear(3, 2, key=KEY)},
    "finite.tangents.jacobian_kernel": TANGENT,
    "finite.tangents.output_kernel": TANGENT,
    "finite.tangents.tangent_drift":
        {"apply": affine, "before": jnp.ones((3, 2)), "after": jnp.zeros((3, 2)), "x": POINTS},
    "finite.tangents.tangent_kernel": TANGENT,
    "finite.tangents.tangent_product": TANGENT,
    "layers.activations.Elementwise": {"call": jnp.tanh},
    "layers.graphs.padded_graphs":
        {"features": [np.ones((2, 3)), np.ones((4, 3))], "adjacencies": [np.eye(2), np.eye(4)]},
    "layers.positions.Index": {"index": (0, slice(1, 3))},
    "lazy.linear_models.gradient_flow": {"y": np.ones(3)},
    "lazy.linear_models.lazy_certificate": {"jacobian": np.eye(3, 4), "residual": np.full(3, 0.01)},
    "lazy.linear_models.sharp_lazy_bounds": {"smallest": 2.0},
    "lazy.signed_network.flow_to": {"weights": np.ones((4, 3))},
    "lazy.signed_network.jacobian_lipschitz_constant": {"width": 4, "starts": 2, "steps": 3},
    "lazy.signed_network.signed_problem": {"width": 4},
    "lazy.signed_network.signed_weights": {"width": 4},
    "lazy.teachers.power_energy_bound": {"power": 4},
    "lazy.training.train_with_kernel": {"steps": 4},
    "limits.fixed_features.fixed_feature_floor": {"levels": [(1.0, 3), (0.5, 2)], "samples": 2},
    "limits.gaussian_processes.conditional_law": {"given": np.array([0, 2]), "values": np.array([0.5, 0.1])},
    "limits.recursion.limit_kernel": {"x": POINTS},
    "regression.classifier.fit_classifier": {"kernels": (linear,), "labels": np.array([0, 1, 0, 1])},
    "regression.mercer.nystrom": {"kernel": linear},
    "regression.solvers.pivoted_cholesky": {"diagonal": np.ones(4), "row": lambda i: np.eye(4)[i], "rank": 2},
    "regression.solvers.solve_kernel": {"kernel": array("Float", "n n")},
    "regression.tiles.sharded_kernel": {"kernel": flattened, "x": POINTS},
    "regression.tiles.tiled_kernel": {"kernel": flattened, "x": POINTS},
}  # fmt: skip

ELSEWHERE = ("regression.disk.disk_kernel",)
"""tried with nonsense in its own tests: the folder it writes refuses all but the first inputs it saw"""

INNER = (
    "layers.layer",
    "layers.masks",
    "layers.windows",
    "limits.arcs",
    "limits.block",
    "limits.close_pairs",
    "limits.integrals",
    "limits.kernel",
    "limits.quadrature",
    "regression.disk_files",
)

FOUND = """
finite.tangents.jacobian_kernel, other: complex
limits.dense_networks.layerwise_ntk, backward_weights: given
limits.inequalities.random_normal_matrix, basis: given
regression.tiles.sharded_kernel, devices: given
regression.tiles.tiled_kernel, devices: text among them
lazy.linear_models.linearized_path, times: float32
finite.structure.factored_gradients, x: empty
finite.structure.factored_gradients, parameters: words
finite.tangents.tangent_product, parameters: words
limits.dense_networks.fully_connected, hidden_layers: billion
finite.features.train_features, steps: billion
finite.first_layer.train_first_layer, steps: billion
finite.first_layer.train_first_layer, weights: float32
finite.function_space.function_flow, kernel: huge
finite.function_space.kernel_gradient_descent, outputs: float32
finite.tangents.relative_drift, after: longer
layers.positions.ImageResize, method: another word
layers.positions.Index, index: text among them
lazy.lazy_bounds.drift_bound, samples: negative
lazy.linear_models.gradient_flow, times: huge
lazy.linear_models.gradient_flow, times: zeros
lazy.linear_models.gradient_flow, y: longer
limits.inequalities.spectral_matching, one: huge
limits.recursion.limit_kernel, hidden: text among them
limits.recursion.limit_kernel, pattern: text among them
limits.recursion.limit_kernel, x: complex
limits.recursion.limit_kernel, x: words
limits.series.hermite_series, terms: million
regression.solvers.pivoted_cholesky, diagonal: longer
regression.solvers.solve_kernel, kernel: asymmetric
"""
