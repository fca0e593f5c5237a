"""Calls that every public function accepts, to be spoilt one argument at a time by `test_hostile_values`.

Most follow from the signature: a size 4 for n, a matrix that is symmetric and positive where rows and columns have one
name, 0.5 for a number. What does not follow is in `EXAMPLES`, one line a function.
"""

import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jaxtyping import AbstractArray

ROOMS = ["attention", "data", "diffusions", "generalization", "graphs", "kernels", "networks", "neural_tangents"]
ROOMS += ["optimization", "regularization", "robustness", "skills", "spectra"]
ELSEWHERE = (
    "kernels.disk_kernel",
    "kernels.sharded_kernel",
    "kernels.tiled_kernel",
    "neural_tangents.NtkImplementation",
)
"""tried with nonsense in their own tests: they compute in pieces, write files, or take any model"""
INNER = ("league_door", "league_entries", "league_posteriors", "league_rows")
"""modules of a room that only its others call"""
SIZES = {"d": 3, "p": 3, "m": 5, "nx": 6, "ny": 6}
KEY = jax.random.key(0)
LAYERS = [np.linspace(-0.5, 0.9, 12).reshape(4, 3), np.linspace(0.8, -0.4, 8).reshape(2, 4)]
LAW = np.array([0.2, 0.3, 0.1, 0.4])


def array(kind: str, dimensions: str) -> np.ndarray:
    """An array of numbers in (0, 1); symmetric and positive definite where rows and columns have one name."""
    words = [word for word in dimensions.split() if word[0] not in "*." or word == "*shape"]
    words = ["n"] * (dimensions == "...") + words
    shape = tuple(int(w) if w.isdigit() else SIZES.get(w.rstrip("+1"), 4) + w.endswith("+1") for w in words)
    if kind in ("Int", "UInt"):
        return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    if kind == "Bool":
        return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 == 0
    made = np.linspace(0.1, 0.9, np.prod(shape, dtype=int)).reshape(shape) ** 1.1
    if len(words) > 1 and words[-1] == words[-2]:
        made = np.eye(shape[-1]) + 0.2 * np.ones(shape)
    return made.astype(complex) + 0.1j if kind == "Complex" else made


NAMED: dict[str, Any] = {
    "delta": 0.1,
    "fourth": 3.0, "key": KEY, "samples": 9, "hypotheses": 3, "third": 1.5, "law": LAW, "z": 0.5 + 1j,
    "outcome_law": LAW, "probabilities": LAW, "prior": LAW, "posterior": LAW[::-1], "order": 3,
}  # fmt: skip
"""values that a name has everywhere, unless the table says otherwise"""


def of(module: str) -> Any:
    return importlib.import_module(f"deeptheory.{module}")


RECORDS: dict[str, Callable[[], Any]] = {
    "Activation": lambda: of("kernels").Relu(),
    "Activity": lambda: of("kernels.activity").Activity(*(jnp.full(2, v) for v in (0.5, 0.4, 0.2, 0.1))),
    "Affine": lambda: of("networks").init_glorot(KEY, (3, 1))[0],
    "Colouring": lambda: of("graphs").colour_refinement([nx.path_graph(4)]),
    "Comparison": lambda: of("generalization.comparison_bounds").kl_comparison(),
    "DecisionList": lambda: RULES,
    "Eigenbasis": lambda: of("kernels").diagonalize(array("Float", "n n")),
    "Equivalent": lambda: of("generalization.random_feature_risk").Equivalent(0.1, 0.5, 0.4),
    "FiniteSamples": lambda: of("generalization.mutual_information").enumerate_samples(np.full(2, 0.5), 2),
    "GaussianLaw": lambda: of("kernels").GaussianLaw(np.zeros(4), array("Float", "n n")),
    "GaussianNetwork": lambda: of("generalization.gaussian_posteriors").gaussian_network(KEY, (3, 4, 2), spread=0.1),
    "Layer": lambda: of("kernels").serial(of("kernels").Dense(4), of("kernels").Relu(), of("kernels").Dense(1)),
    "LinearClassifier": lambda: of("generalization.uniform_convergence").one_step_classifier(_signal_and_noise()),
    "LinearOracle": lambda: of("diffusions").three_losses(),
    "LowRank": lambda: of("kernels.solvers").pivoted_cholesky(np.ones(4), lambda i: np.eye(4)[i], rank=2),
    "MLP": lambda: of("networks").init_mlp(KEY, (3, 4, 1)),
    "MarginLoss": lambda: of("optimization").LOGISTIC,
    "MaxMargin": lambda: of("optimization.max_margin").max_margin(POINTS),
    "Method": lambda: of("optimization.gradient_descent").gradient_descent(square, step_size=0.1),
    "NoiseLaw": lambda: of("diffusions").two_point_noise(0.5),
    "PiecewiseAffine": lambda: of("networks").through_points((0, 1), (0, 2), 1, -1),
    "Population": lambda: of("generalization.correlated_risk").Population(np.array([1.0, 2.0]), *[np.full(2, 0.5)] * 2),
    "RandomFeatures": lambda: of("kernels").init_random_features(KEY, inputs=3, count=6),
    "SignalNoiseSample": lambda: _signal_and_noise(),
    "SignedNetwork": lambda: of("kernels").SignedNetwork(),
    "SubExponential": lambda: of("generalization.sub_exponential").SubExponential(1.0, 0.5),
    "SubGamma": lambda: of("generalization.sub_exponential").SubGamma(1.0, 0.5),
    "SumOfMatrices": lambda: of("generalization.matrix_concentration").signed_matrices(array("Float", "2 3 3")),
    "TorusOracle": lambda: of("diffusions").double_well(np.array([1.0, -1.0]), np.full(2, 0.5)),
    "TwoGaussians": lambda: of("networks").crossed_gaussians(),
}
"""a record of each kind that functions ask for"""

POINTS = np.array([[1.0, 0.2, 0.1], [0.5, 1.0, -0.3], [0.8, -0.4, 1.2]])


def square(x: Any) -> Any:
    return (x**2).sum()


def linear(x: Any, other: Any = None) -> Any:
    return x @ (x if other is None else other).T


def affine(parameters: Any, x: Any) -> Any:
    return x @ parameters


def _signal_and_noise() -> Any:
    return of("generalization.uniform_convergence").signal_noise_sample(KEY, 4, 5)


SIMPLE: dict[Any, Any] = {
    float: 0.5, int: 3, Fraction: 3, str: "gaussian", bool: True, complex: 0.5 + 1j, nx.Graph: nx.cycle_graph(4),
    np.ndarray: POINTS, jax.Array: POINTS,
}  # fmt: skip
PLANE = np.array([[0.2, 0.4], [1.0, -0.3], [-0.5, 0.8], [0.6, 0.9]])


def at_one(z: Any) -> Any:
    return 1 / (1 - z)


ONE_OUTPUT = [LAYERS[0], LAYERS[1][:1]]
SEPARATED = {"signed_points": POINTS}
SPECTRUM = {"population": [0.5, 2.0], "weights": [0.4, 0.6]}
TANGENT = {"apply": affine, "parameters": jnp.ones((3, 2)), "x": jnp.asarray(POINTS)}
TRAINED = {"k_train_train": np.eye(3), "y_train": np.array([[1.0], [-1.0], [0.5]])}
TWO_SAMPLES = {
    "channel": np.full((4, 2), 0.5),
    "losses": np.array([[0.1, 0.9], [0.6, 0.2]]),
    "outcome_law": LAW[2:] * 2,
}
RULES = of("generalization.description_length").DecisionList(((1, 0), (-2, 1)), 0)
PIECES = of("networks").tent_layers(2)
AFFINE = of("networks").init_glorot(KEY, (3, 4, 1))
STAX = of("neural_tangents.stax").Dense(1)
TENT = [((Fraction(1), Fraction(0)), (Fraction(-1), Fraction(2)))]

EXAMPLES: dict[str, dict[str, Any]] = {
    "attention.random_tokens": {"shape": (4, 3)},
    "diffusions.weak_error": {"step": 0.25},
    "diffusions.weak_error_on_torus": {"steps": np.array([0.25]), "test": lambda x: np.cos(x[:, 0])},
    "generalization.all_layer_margin.perturbed_outputs": {"perturbations": [np.ones((4, 4)), np.ones((4, 2))]},
    "generalization.correlated_risk.correlated_optimal_risk": {"weights": LAW},
    "generalization.covers.loss_change": {"loss": square},
    "generalization.description_length.decode": {"word": of("generalization.description_length").encode(RULES, 3)},
    "generalization.description_length.kraft_sum": {"words": ["0", "10"]},
    "generalization.description_length.prefix_free": {"words": ["0", "10"]},
    "generalization.gaussian_posteriors.network_outputs": {"matrices": (np.ones((5, 4)), np.ones((2, 6)))},
    "generalization.gaussian_posteriors.sampled_outputs": {"noise": np.ones((4, 6))},
    "generalization.gaussian_posteriors.train_posterior": {
        "loss": lambda outputs, labels: (outputs[:, 0] - labels) ** 2, "epochs": 1, "batch": 2,
    },
    "generalization.growth.radon_labels": {"points": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.2, 0.1]])},
    "generalization.martingales.bounded_differences": {"table": array("Float", "2 2 2"), "variables": 3},
    "generalization.martingales.burkholder_constants": {"power": 2.5},
    "generalization.martingales.stopped_walk": {"stops": lambda time, positions: positions > 1},
    "generalization.martingales.tree_martingale": {"up": np.full(3, 0.5), "down": np.full(3, 0.7)},
    "generalization.matrix_concentration.expected_matrix_norm": {"shape": (2, 3)},
    "generalization.memorization.small_digits": {"classes": (3, 5)},
    "generalization.model_layers.given_layers": {"matrices": LAYERS},
    "generalization.mutual_information.coordinate_information": TWO_SAMPLES,
    "generalization.mutual_information.expected_gap": TWO_SAMPLES,
    "generalization.mutual_information.on_average_stability": TWO_SAMPLES,
    "generalization.mutual_information.sample_information": TWO_SAMPLES,
    "generalization.norm_bounds.frobenius_product_bound": {"layers": ONE_OUTPUT},
    "generalization.norm_bounds.linear_margin_bound": {"weights": ONE_OUTPUT},
    "generalization.norm_bounds.path_norm_bound": {"layers": ONE_OUTPUT},
    "generalization.norms.normalized_margins": {"labels": np.array([0, 1, 0, 1])},
    "generalization.solution_sets.interpolate": {
        "residuals": lambda w: w[:2] ** 2 - 1.0, "jacobian": jax.jacobian(lambda w: w[:2] ** 2 - 1.0),
        "start": np.array([0.5, 2.0, 1.0]),
    },
    "generalization.solution_sets.network_answers": {"weights": np.ones(20)},
    "generalization.stability.coupled_sgd": {"gradient": lambda w, z: w - z, "start": np.ones(4)},
    "generalization.stability.ghost_gaps": {
        "algorithm": lambda data: data.mean(), "loss": lambda w, data: (data - w) ** 2, "atoms": np.array([0.0, 1.0]),
    },
    "generalization.ridgeless.limiting_bias_variance": {"gamma": 0.5},
    "generalization.sub_exponential.independent_sum": {
        "parts": of("generalization.sub_exponential").SubExponential(np.ones(3), np.ones(3))
    },
    "generalization.sub_exponential.maximum_bound": {"count": 3},
    "generalization.vc_bounds.piecewise_linear_dimension": {"weights": 20, "layers": 2},
    "generalization.uniform_gap.uniform_gap": {
        "learn": np.mean, "trained_on": [np.ones(2)], "tested_on": [np.zeros(2)], "risk": float,
        "error": lambda mean, data: float(abs(data - mean).mean()),
    },
    "graphs.computation_tree": {"node": 0},
    "graphs.edge_colours": {"graphs": [nx.path_graph(4)]},
    "graphs.labels_by_colour": {"colours": {"a": 1, "b": 2}, "labels": {"a": 0, "b": 5}},
    "graphs.mixed_colours": {"colours": {"a": 1, "b": 1}, "labels": {"a": 0, "b": 5}},
    "graphs.node_colours": {"graphs": [nx.path_graph(4)]},
    "kernels.Elementwise": {"call": jnp.tanh},
    "kernels.conditional_law": {"given": np.array([0, 2]), "values": np.array([0.5, 0.1])},
    "kernels.continued_kernel": {"kernel": of("kernels").limit_kernel(RECORDS["Layer"](), POINTS)},
    "kernels.factored_gradients": TANGENT,
    "kernels.fit_classifier": {"kernels": (linear,), "labels": np.array([0, 1, 0, 1])},
    "kernels.fixed_feature_floor": {"levels": [(1.0, 3), (0.5, 2)], "samples": 2},
    "kernels.flow_to": {"weights": np.ones((4, 3))},
    "kernels.gradient_flow": {"y": np.ones(3)},
    "kernels.jacobian_kernel": TANGENT,
    "kernels.jacobian_lipschitz_constant": {"width": 4, "starts": 2, "steps": 3},
    "kernels.lazy_certificate": {"jacobian": np.eye(3, 4), "residual": np.full(3, 0.01)},
    "kernels.nystrom": {"kernel": linear},
    "kernels.output_kernel": TANGENT,
    "kernels.padded": {"width": 6},
    "kernels.padded_graphs": {"features": [np.ones((2, 3)), np.ones((4, 3))], "adjacencies": [np.eye(2), np.eye(4)]},
    "kernels.pivoted_cholesky": {"diagonal": np.ones(4), "row": lambda i: np.eye(4)[i], "rank": 2},
    "kernels.power_energy_bound": {"power": 4},
    "kernels.sharp_lazy_bounds": {"smallest": 2.0},
    "kernels.signed_problem": {"width": 4},
    "kernels.signed_weights": {"width": 4},
    "kernels.tangent_drift": {"apply": affine, "before": jnp.ones((3, 2)), "after": jnp.zeros((3, 2)), "x": POINTS},
    "kernels.tangent_kernel": TANGENT,
    "kernels.tangent_product": TANGENT,
    "kernels.train_with_kernel": {"steps": 4},
    "networks.PiecewiseAffine": {"knots": (Fraction(1),), "pieces": tuple(TENT[0])},
    "networks.bayes_logits": {"x": PLANE},
    "networks.fit_sawtooth": {"iterates": 1, "widths": (2,), "starts": 2, "steps": 2},
    "networks.layers_from_arrays": {"weights": [np.ones((2, 1)), np.ones((1, 2))], "biases": [np.ones(2), np.ones(1)]},
    "networks.minimal_shallow_units": {"low": 0, "high": 2},
    "networks.pieces_on_a_grid": {"layers": PIECES, "low": 0, "high": 1},
    "networks.population_cross_entropy": {"model": lambda x: x[..., 0]},
    "networks.network_function": {"layers": PIECES},
    "networks.printed_gradient": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0])},
    "networks.propagate": {"layers": PIECES},
    "networks.relu_nodes": {"layers": PIECES},
    "networks.shallow_layers": {"low": 0, "high": 2},
    "networks.through_points": {"knots": (0, 1), "values": (0, 2)},
    "networks.train_classifier": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0]), "steps": 3},
    "neural_tangents.predict.gp_inference": TRAINED,
    "neural_tangents.predict.gradient_descent": TRAINED | {"loss": lambda f, y: ((f - y) ** 2).sum()},
    "neural_tangents.predict.gradient_descent_mse": TRAINED,
    "neural_tangents.predict.gradient_descent_mse_ensemble": {
        "kernel_fn": STAX[2], "x_train": POINTS, "y_train": np.array([[1.0], [-1.0], [0.5]])
    },
    "neural_tangents.monte_carlo_kernel_fn": {"init_fn": STAX[0], "apply_fn": STAX[1]},
    "neural_tangents.stax.repeat": {"layer": STAX},
    "neural_tangents.stax.Elementwise": {"fn": jnp.tanh},
    "neural_tangents.stax.ImageResize": {"shape": (-1, 4, 4, -1), "method": "linear"},
    "neural_tangents.stax.Index": {"idx": (slice(None), 0)},
    "optimization.descent_with_sharpness": {"function": square, "steps": 4, "every": 2},
    "optimization.gradient_descent_on_margins": {"checkpoints": np.array([0, 2])},
    "optimization.is_second_order_stationary": {"function": square},
    "optimization.margin_rates": SEPARATED,
    "optimization.overlap_chain": {"dimension": 5, "replicas": 3, "max_steps": 10},
    "optimization.polyak_lojasiewicz_constant": {"function": square},
    "optimization.residual_decay": SEPARATED,
    "optimization.residual_forces": SEPARATED | {"log_times": np.array([1.0, 2.0]), "error": np.ones((2, 3))},
    "optimization.residual_limit": SEPARATED,
    "optimization.risk_rate": {"risk": square},
    "optimization.supported_solution": {"design": array("Float", "2 3"), "labels": np.ones(2), "coordinates": (0, 2)},
    "regularization.dropout_shrinkage": {"width": 4},
    "robustness.clopper_pearson_lower": {"successes": 2, "trials": 5},
    "robustness.clopper_pearson_upper": {"successes": 2, "trials": 5},
    "robustness.smoothed_value_and_gradient": {"function": lambda x: x[:, 0]},
    "robustness.votes": {"classifier": lambda x: (x[:, 0] > 0).astype(int)},
    "spectra.effective_ridge": SPECTRUM,
    "spectra.free_additive_moments": {"first": [0, 1, 0], "second": [0, 2, 0]},
    "spectra.free_additive_stieltjes": {"z": np.array([2j]), "first": at_one, "second": at_one},
    "spectra.free_multiplicative_moments": {"first": [1, 2], "second": [1, 3]},
    "spectra.free_multiplicative_stieltjes": {
        "z": np.array([0.5 + 2j]), "first": at_one, "second": at_one,
    },
    "spectra.general_edges": SPECTRUM,
    "spectra.general_moment": SPECTRUM,
    "spectra.general_pdf": SPECTRUM,
    "spectra.general_stieltjes": SPECTRUM,
    "spectra.pseudo_inverse_filter": {"singular": np.array([0.5, 2.0])},
    "spectra.ridge_bias_slope_bound": {"smallest": 0.2, "largest": 2.0},
    "spectra.silverstein_inverse": SPECTRUM | {"v": -0.1},
    "spectra.smallest_eigenvalue_scaling": {"dimension": 3, "samples": 5},
    "spectra.stieltjes_transform": {"points": [0.5, 1.0]},
}  # fmt: skip


def public() -> dict[str, Any]:
    """Every public function and class by room and name; a room without a list of names is a room of modules."""
    found: dict[str, Any] = {}
    for room in ROOMS:
        package = importlib.import_module(f"deeptheory.{room}")
        shelves = {room: package}
        if not hasattr(package, "__all__"):
            names = [each.name for each in pkgutil.iter_modules(package.__path__) if each.name not in INNER]
            shelves = {f"{room}.{name}": importlib.import_module(f"deeptheory.{room}.{name}") for name in names}
        for shelf, module in shelves.items():
            for name in module.__all__:
                thing = getattr(module, name)
                if inspect.ismodule(thing):
                    found |= {f"{shelf}.{name}.{inner}": getattr(thing, inner) for inner in thing.__all__}
                else:
                    found[f"{shelf}.{name}"] = thing
    return {name: thing for name, thing in found.items() if name not in ELSEWHERE}


def example(name: str, thing: Any) -> dict[str, Any]:
    """Arguments that a function accepts: those of the table, the others by its signature."""
    given = EXAMPLES.get(name, {})
    return {
        each: given[each] if each in given else _typical(each, parameter.annotation)
        for each, parameter in inspect.signature(thing).parameters.items()
        if each in given or (parameter.default is parameter.empty and parameter.kind not in (2, 4))
    }


def alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _typical(name: str, annotation: Any) -> Any:
    wanted = [each for part in alternatives(annotation) for each in alternatives(part)]
    title = getattr(get_origin(wanted[0]) or wanted[0], "__name__", "")
    if title in RECORDS or name in NAMED:
        return RECORDS[title]() if title in RECORDS else NAMED[name]
    for hint in wanted:
        if isinstance(hint, type) and issubclass(hint, AbstractArray) and not {float, int} & set(wanted):
            made = array(hint.dtype.__name__, hint.dim_str)
            return jnp.asarray(made) if hint.array_type is jax.Array and len(wanted) == 1 else made
    first = wanted[0]
    origin = get_origin(first) or first
    if first in (int, float, str, bool, complex, Fraction, np.ndarray, jax.Array, nx.Graph):
        return SIMPLE[first]
    if origin is Callable:
        return jnp.tanh
    if origin in (Sequence, tuple, list):
        inner = get_args(first) or (float,)
        if inner[0] is int and len(inner) == 1:
            return (3, 4, 1)
        if getattr(alternatives(inner[0])[0], "dim_str", "") in ("_out _in", "_ _"):
            return LAYERS
        return tuple(
            _typical(name, each) for each in (inner if origin is tuple and ... not in inner else inner[:1] * 2)
        )
    if first is nx.Graph:
        return nx.cycle_graph(4)
    if first is complex:
        return 0.5 + 1j
    if first is bool:
        return True
    return (
        0.5
        if first in (Any, inspect.Parameter.empty)
        else RECORDS[origin.__name__]()
        if origin.__name__ in RECORDS
        else None
    )
