from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.attribution import influence, inverse_products
from deeptheory.curvature import operators

from .ingredients import KEY, POINTS

TABLE = np.linspace(0.1, 0.9, 8) ** 1.3
MASKS = np.arange(1, 11)[:, None] >> np.arange(4) & 1 > 0
CURVATURE = operators.hessian(lambda w, x: jnp.mean((x @ w) ** 2), np.ones(3), POINTS)
VECTORS = jnp.asarray(np.linspace(0.1, 0.9, 6).reshape(2, 3))
DATA = {"inputs": np.linspace(-1, 1, 12).reshape(6, 2) ** 3 + 0.1 * np.eye(6, 2), "test_inputs": np.eye(3, 2)}
TARGETS = {"targets": np.linspace(0, 1, 6), "test_targets": np.ones(3)}
LABELS = {"labels": np.arange(6) % 2, "test_labels": np.array([0, 1, 1])}
REGRESSION = {"inputs": DATA["inputs"], "targets": TARGETS["targets"], "ridge": 0.5}
TRAINED = {"losses": lambda w, x: (x @ w - 1) ** 2, "parameters": np.ones(3)}
PICTURE = {"x": np.array([0.2, 0.5, 0.9]), "baseline": np.zeros(3)}


def size(masks: Any) -> Any:
    return np.asarray(masks).sum(1) / 4.0


def model(points: Any) -> Any:
    return (points**2).sum(1)


RECORDS: dict[str, Callable[[], Any]] = {
    "Influences": lambda: influence.Influences(jnp.ones((2, 3)), jnp.zeros(2)),
    "Inverted": lambda: inverse_products.Inverted(VECTORS, jnp.zeros(2)),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "axioms.axiom_gaps": {"scheme": lambda table: np.diff(table[[0, 1, 3, 7]]), "table": TABLE, "other": TABLE[::-1]},
    "axioms.equal_split": {"table": TABLE},
    "axioms.null_players": {"table": TABLE},
    "axioms.schemes_obeying": {"players": 3},
    "axioms.symmetric_players": {"table": TABLE},
    "data_values.nearest_neighbour_shapley": DATA | LABELS | {"neighbours": 2},
    "data_values.nearest_neighbour_utility": DATA | LABELS | {"neighbours": 2},
    "data_values.ridge_utility": DATA | TARGETS | {"ridge": 0.5},
    "datamodels.biased_fourier": {"table": TABLE},
    "datamodels.biased_spectrum": {"table": TABLE},
    "datamodels.explained_share": {"table": TABLE},
    "datamodels.fit_datamodel": {"masks": MASKS, "outputs": np.linspace(0, 1, 10) ** 2},
    "datamodels.population_datamodel": {"table": TABLE},
    "influence.gradients": TRAINED | {"data": POINTS},
    "influence.influences": TRAINED | {"train": POINTS, "test": POINTS, "damping": 0.1},
    "influence.influences_by":
        TRAINED | {"inverse": inverse_products.by_factorization, "train": POINTS, "test": POINTS, "damping": 0.1},
    "inverse_products.by_conjugate_gradients": {"curvature": CURVATURE, "vectors": VECTORS, "damping": 0.1},
    "inverse_products.by_factorization": {"curvature": CURVATURE, "vectors": VECTORS, "damping": 0.1},
    "inverse_products.by_neumann_series": {"curvature": CURVATURE, "vectors": VECTORS, "scale": 0.1, "terms": 5},
    "inverse_products.by_sampled_neumann_series":
        {"key": KEY, "curvature": CURVATURE, "vectors": VECTORS, "scale": 0.1, "terms": 5, "sample": 2},
    "inverse_products.neumann_error": {"least": 0.5},
    "leave_one_out.leave_one_out_residuals": REGRESSION,
    "leave_one_out.leave_one_out_ridge": REGRESSION,
    "leave_one_out.retrained": TRAINED | {"data": POINTS, "weights": np.full((2, 3), 1 / 3), "ridge": 0.1, "steps": 3},
    "leave_one_out.ridge_weights": REGRESSION,
    "saliency.feature_game": PICTURE | {"model": model},
    "saliency.gradient_saliency": {"model": model, "x": PICTURE["x"]},
    "saliency.gradient_times_input": PICTURE | {"model": model},
    "saliency.integrated_gradients": PICTURE | {"model": model},
    "saliency.smooth_gradient": {"model": model, "x": PICTURE["x"], "noise": 0.1},
    "shapley.banzhaf_values": {"table": TABLE},
    "shapley.bernoulli_values": {"table": TABLE},
    "shapley.dividends": {"table": TABLE},
    "shapley.game_table": {"utility": size, "players": 4},
    "shapley.players_of": {"table": TABLE},
    "shapley.shapley_by_orders": {"table": TABLE},
    "shapley.shapley_difference": {"table": TABLE, "first": 0, "second": 2},
    "shapley.shapley_from_dividends": {"dividend": TABLE},
    "shapley.shapley_values": {"table": TABLE},
    "shapley_sampling.group_testing_estimate":
        {"utility": size, "players": 4, "samples": 9, "low": 0.0, "high": 1.0},
    "shapley_sampling.group_testing_radius": {"low": 0.0, "high": 1.0},
    "shapley_sampling.group_testing_values": {"table": TABLE},
    "shapley_sampling.permutation_estimate": {"utility": size, "players": 4, "permutations": 9, "largest": 1.0},
    "special_games.can_be_halved": {"numbers": np.array([3, 1, 2])},
    "special_games.partition_vote": {"numbers": np.array([3, 1, 2])},
    "special_games.voting_shapley": {"weights": np.array([3, 1, 2]), "quota": 4},
    "special_games.voting_utility": {"weights": np.array([3, 1, 2, 2]), "quota": 4, "masks": MASKS},
}  # fmt: skip

FOUND = """
influence.gradients, parameters: objects
influence.influences, train: deeper
influence.influences_by, train: deeper
leave_one_out.retrained, parameters: complex
leave_one_out.retrained, parameters: objects
leave_one_out.retrained, parameters: words
shapley_sampling.group_testing_estimate, samples: billion
shapley_sampling.permutation_estimate, permutations: billion
"""
