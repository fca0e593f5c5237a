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
from typing import Annotated, Any, Union, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import optax
from jaxtyping import AbstractArray

import deeptheory

ABOVE = ("books", "claims", "cli", "lab", "ledger", "report")
ROOMS = [each.name for each in pkgutil.iter_modules(deeptheory.__path__) if each.ispkg and each.name not in ABOVE]
ELSEWHERE = ("kernels.regression.disk.disk_kernel",)
"""tried with nonsense in its own tests: the folder it writes refuses all but the first inputs it saw"""
MAY_BE_NAN = ("curvature.edge_of_stability.stability_phases",)
"""the plateau of a run that never came to the edge is not a number"""
INNER = (
    "foundations.entrances",
    "foundations.flows",
    "foundations.krylov",
    "foundations.guards",
    "foundations.packages",
    "foundations.shapes",
    "foundations.wishes",
    "foundations.hermite.Link",
    "generalization.league",
    "kernels.limits.arcs",
    "kernels.limits.kernel",
    "kernels.limits.block",
    "kernels.limits.close_pairs",
    "kernels.limits.integrals",
    "kernels.limits.quadrature",
    "kernels.layers.layer",
    "kernels.layers.masks",
    "kernels.layers.windows",
    "kernels.regression.disk_files",
    "neural_tangents.",
)
"""modules that only others call, and those of the facade, which hands on what it is given"""
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
    "Activation": lambda: of("kernels.layers.activations").Relu(),
    "Activity": lambda: of("kernels.lazy.monitors").Activity(*(jnp.full(2, v) for v in (0.5, 0.4, 0.2, 0.1))),
    "Affine": lambda: of("networks.from_scratch").init_glorot(KEY, (3, 1))[0],
    "Colouring": lambda: of("graphs.weisfeiler_leman").colour_refinement([nx.path_graph(4)]),
    "Comparison": lambda: of("generalization.pac_bayes.comparison_bounds").kl_comparison(),
    "DecisionList": lambda: RULES,
    "Eigenbasis": lambda: of("kernels.regression.predictions").diagonalize(array("Float", "n n")),
    "Curvature": lambda: of("curvature.operators").hessian(squared_error, np.ones(3), POINTS),
    "Equivalent": lambda: of("generalization.interpolation.gaussian_equivalents").Equivalent(0.1, 0.5, 0.4),
    "FiniteSamples": lambda: of("generalization.pac_bayes.information").enumerate_samples(np.full(2, 0.5), 2),
    "Generator": lambda: np.random.default_rng(0),
    "GaussianLaw": lambda: of("kernels.regression.predictions").GaussianLaw(np.zeros(4), array("Float", "n n")),
    "GaussianNetwork": lambda: of("generalization.pac_bayes.gaussian_posteriors").gaussian_network(
        KEY, (3, 4, 2), spread=0.1
    ),
    "ItoEquation": lambda: of("diffusions.stochastic_equations").ItoEquation(
        lambda x: -x, lambda x: jnp.diag(1 + 0 * x)
    ),
    "Layer": lambda: of("kernels.layers.combinators").serial(
        of("kernels.layers.dense").Dense(4),
        of("kernels.layers.activations").Relu(),
        of("kernels.layers.dense").Dense(1),
    ),
    "LinearClassifier": lambda: of("generalization.capacity.uniform_convergence").one_step_classifier(
        _signal_and_noise()
    ),
    "LinearOracle": lambda: of("diffusions.weak_order").three_losses(),
    "LowRank": lambda: of("kernels.regression.solvers").pivoted_cholesky(np.ones(4), lambda i: np.eye(4)[i], rank=2),
    "MLP": lambda: of("networks.mlp").init_mlp(KEY, (3, 4, 1)),
    "MarginLoss": lambda: of("implicit_bias.separable").LOGISTIC,
    "MaxMargin": lambda: of("implicit_bias.separable").max_margin(POINTS),
    "GradientTransformation": lambda: optax.sgd(0.1),
    "Iterates": lambda: of("optimization.runs").trajectory(square, optax.sgd(0.1), np.ones(3), steps=3),
    "NoiseLaw": lambda: of("diffusions.weak_order").two_point_noise(0.5),
    "Projected": lambda: of("dynamics.projections").Projected(
        lambda own, hidden, parameters, label: (own.sum() - hidden[0]) ** 2, np.zeros((1, 1)), np.zeros(1)
    ),
    "PiecewiseAffine": lambda: of("networks.pieces").through_points((0, 1), (0, 2), 1, -1),
    "Population": lambda: of("generalization.interpolation.correlated_risk").Population(
        np.array([1.0, 2.0]), *[np.full(2, 0.5)] * 2
    ),
    "RandomFeatures": lambda: of("kernels.finite.features").init_random_features(KEY, inputs=3, count=6),
    "SignalNoiseSample": lambda: _signal_and_noise(),
    "SignedNetwork": lambda: of("kernels.lazy.signed_network").SignedNetwork(),
    "SubExponential": lambda: of("generalization.concentration.sub_exponential").SubExponential(1.0, 0.5),
    "SubGamma": lambda: of("generalization.concentration.sub_exponential").SubGamma(1.0, 0.5),
    "SumOfMatrices": lambda: of("generalization.concentration.matrix_concentration").signed_matrices(
        array("Float", "2 3 3")
    ),
    "TorusOracle": lambda: of("diffusions.torus_semigroups").double_well(np.array([1.0, -1.0]), np.full(2, 0.5)),
    "TwoGaussians": lambda: of("networks.from_scratch").crossed_gaussians(),
}
"""a record of each kind that functions ask for"""

POINTS = np.array([[1.0, 0.2, 0.1], [0.5, 1.0, -0.3], [0.8, -0.4, 1.2]])


def square(x: Any) -> Any:
    return (x**2).sum()


def squared_error(parameters: Any, batch: Any) -> Any:
    return ((batch @ parameters) ** 2).mean()


def squared_errors(parameters: Any, batch: Any) -> Any:
    return (batch @ parameters) ** 2


def loss_of_outputs(outputs: Any, targets: Any) -> Any:
    return ((outputs - targets) ** 2).mean()


def linear(x: Any, other: Any = None) -> Any:
    return x @ (x if other is None else other).T


def flattened(x: Any, other: Any = None) -> Any:
    x, other = (each.reshape(len(each), -1) for each in (x, x if other is None else other))
    return x @ other.T


def affine(parameters: Any, x: Any) -> Any:
    return x @ parameters


def _signal_and_noise() -> Any:
    return of("generalization.capacity.uniform_convergence").signal_noise_sample(KEY, 4, 5)


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
RULES = of("generalization.pac_bayes.description_length").DecisionList(((1, 0), (2, 1)), 0)
PIECES = of("networks.tent").tent_layers(2)
AFFINE = of("networks.from_scratch").init_glorot(KEY, (3, 4, 1))
TENT = [((Fraction(1), Fraction(0)), (Fraction(-1), Fraction(2)))]

SAMPLED = {"samples": np.linspace(-1, 1, 15).reshape(5, 3), "loss": lambda x, y: ((x - y) ** 2).sum() ** 2}
STATISTICS = SAMPLED | {"point": np.ones(3), "statistics": lambda x: x[:2] ** 2}
GRAM = {"gram": np.eye(3) + 0.2 * np.ones((3, 3)), "parameters": ()}
HOMOGENEOUS = {"function": square, "parameters": np.ones(3)}

EXAMPLES: dict[str, dict[str, Any]] = {
    "dynamics.effective.diffusion_paths": {
        "velocity": lambda u: -u, "volatility": lambda u: jnp.eye(2), "start": np.zeros((3, 2)), "times": [0.1, 0.2],
    },
    "dynamics.effective.effective_dynamics": STATISTICS,
    "dynamics.effective.localizability": STATISTICS,
    "dynamics.hitting_times.hitting_survival": {"times": np.array([0, 3]), "dimension": 9},
    "dynamics.hitting_times.mean_hitting_time": {"dimension": 9},
    "dynamics.hitting_times.mean_overlap": {"times": np.array([0, 3]), "dimension": 9},
    "dynamics.noise_scaling.noise_moments": SAMPLED | {"x": np.ones(3), "direction": np.eye(3)[0]},
    "dynamics.noise_scaling.spherical_gradient": {"loss": SAMPLED["loss"], "x": np.ones(3), "sample": np.zeros(3)},
    "dynamics.online.flow": {"velocity": lambda u: -u, "start": np.ones(2), "times": np.array([0.5, 1.0])},
    "dynamics.online.online_descent": SAMPLED | {"start": np.ones(3)},
    "dynamics.online.online_step": {"loss": SAMPLED["loss"], "point": np.ones(3), "sample": np.zeros(3)},
    "dynamics.projections.gram_matrix": {"weights": np.ones((2, 4)), "hidden": np.eye(4)[:1]},
    "dynamics.projections.projected_chain":
        {"gram": GRAM["gram"][None], "parameters": (), "dimension": 9, "steps": 2},
    "dynamics.projections.projected_loss": {"hidden": np.eye(4)[:1]},
    "dynamics.projections.projected_step": GRAM | {"which": 0, "normals": np.ones(3), "square": 2.0},
    "dynamics.projections.projected_velocity": GRAM | {"normals": np.ones((2, 3)), "weights": np.ones(2)},
    "dynamics.recurrences.growth_recursion": {"order": 3},
    "dynamics.spiked_tensors.spiked_tensor_chain": {"dimension": 99, "ratio": 0.1, "times": np.array([0.5, 1.0])},
    "dynamics.spiked_tensors.spiked_tensor_loss": {"x": np.ones(3), "tensor": np.ones((3, 3))},
    "dynamics.spiked_tensors.spiked_tensor_samples": {"direction": np.eye(3)[0]},
    "dynamics.xor_mixture.components_by_exchange": {"neurons": 3},
    "dynamics.xor_mixture.placement": {"classes": np.array([0, 1, 4])},
    "dynamics.xor_mixture.xor_loss":
        {"fields": np.ones(3), "hidden": np.ones(2), "weights": np.ones(3), "label": np.array(1.0)},
    "dynamics.xor_mixture.xor_population_loss": {"gram": np.eye(4) + 0.1 * np.ones((4, 4))},
    "generalization.concentration.sub_exponential.variance_proxy":
        {"log_moment": lambda s: float(s**2 / 2), "variance": 1.0},
    "generalization.capacity.risks.multinomial_chances": {"counts": np.array([[1, 0, 2, 1], [0, 0, 1, 0]]), "law": LAW},
    "curvature.edge_of_stability.sharpness": {"function": square},
    "generalization.capacity.finite_classes.empirical_risk": {"losses": array("Float", "m n")},
    "generalization.capacity.rademacher.sampled_complexity": {"supremum": lambda signs: np.abs(signs).sum(1)},
    "generalization.capacity.risks.empirical_minimizers":
        {"losses": array("Float", "3 n"), "counts": np.array([[1, 0, 2, 1], [0, 0, 1, 0]])},
    "generalization.concentration.sub_exponential.orlicz_norm": {"log_moment": lambda s: float(s), "order": 2},
    "generalization.interpolation.nadaraya_watson.nadaraya_watson_weights":
        {"kernel": of("generalization.interpolation.nadaraya_watson").box_kernel, "bandwidth": 0.5},
    "generalization.networks.norms.absorbed_biases": {"layers": LAYERS, "biases": [np.ones(4), np.ones(2)]},
    "attention.clusters.random_tokens": {"shape": (4, 3)},
    "diffusions.distances.dictionary_distance": {"tests": [lambda x: x[:, 0]]},
    "diffusions.distances.trajectory_distance": {
        "first": np.ones((2, 4, 3)), "second": np.zeros((2, 5, 3)), "tests": [lambda x: x[:, 0]],
    },
    "diffusions.gradient_noise.batch_covariance": {"batch": 3},
    "diffusions.gradient_noise.linearly_scaled":
        {"schedule": of("diffusions.gradient_noise").Schedule(0.1, 4, 12), "factor": 3},
    "diffusions.gradient_noise.svag_gradient": {"amplification": 2.0},
    "diffusions.gradient_noise.svag_moment_factors": {"amplification": 2.0},
    "diffusions.gradient_noise.svag_weights": {"amplification": 2.0},
    "diffusions.processes.bridge_refined": {"paths": np.cumsum(np.ones((3, 5)), 1)},
    "diffusions.processes.quadratic_variation": {"paths": np.cumsum(np.ones((3, 5)), 1)},
    "diffusions.stochastic_equations.canonical_equation":
        {"gradients": lambda x: jnp.outer(jnp.arange(3.0), x), "batch": 2},
    "diffusions.stochastic_equations.euler_maruyama": {"start": np.ones(3), "increments": np.full((4, 3), 0.1)},
    "diffusions.stochastic_equations.generator_of": {"function": square},
    "diffusions.stochastic_equations.gibbs_density":
        {"loss": lambda x: x**2, "points": np.linspace(-3, 3, 41), "noise": 1.0, "rate": 1.0},
    "diffusions.stochastic_equations.geometric_errors": {"steps": np.array([0.5, 0.25])},
    "diffusions.weak_order.weak_error": {"step": 0.25},
    "diffusions.torus_semigroups.weak_error_on_torus": {"steps": np.array([0.25]), "test": lambda x: np.cos(x[:, 0])},
    "generalization.networks.all_layer_margin.perturbed_outputs": {"perturbations": [np.ones((4, 4)), np.ones((4, 2))]},
    "generalization.interpolation.correlated_risk.correlated_optimal_risk": {"weights": LAW},
    "generalization.capacity.covers.loss_change": {"loss": square},
    "generalization.pac_bayes.description_length.decode":
        {"word": of("generalization.pac_bayes.description_length").encode(RULES, 3)},
    "generalization.pac_bayes.description_length.kraft_sum": {"words": ["0", "10"]},
    "generalization.pac_bayes.description_length.prefix_free": {"words": ["0", "10"]},
    "generalization.pac_bayes.gaussian_posteriors.network_outputs": {"matrices": (np.ones((5, 4)), np.ones((2, 6)))},
    "generalization.pac_bayes.gaussian_posteriors.sampled_outputs": {"noise": np.ones((4, 6))},
    "generalization.pac_bayes.gaussian_posteriors.train_posterior": {
        "loss": lambda outputs, labels: (outputs[:, 0] - labels) ** 2, "epochs": 1, "batch": 2,
    },
    "generalization.capacity.growth.radon_labels":
        {"points": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.2, 0.1]])},
    "generalization.concentration.martingales.bounded_differences": {"table": array("Float", "2 2 2"), "variables": 3},
    "generalization.concentration.martingales.burkholder_constants": {"power": 2.5},
    "generalization.concentration.martingales.stopped_walk": {"stops": lambda time, positions: positions > 1},
    "generalization.concentration.martingales.tree_martingale": {"up": np.full(3, 0.5), "down": np.full(3, 0.7)},
    "generalization.concentration.matrix_concentration.expected_matrix_norm": {"shape": (2, 3)},
    "generalization.networks.memorization.small_digits": {"classes": (3, 5)},
    "generalization.pac_bayes.information.coordinate_information": TWO_SAMPLES,
    "generalization.pac_bayes.information.expected_gap": TWO_SAMPLES,
    "generalization.pac_bayes.information.on_average_stability": TWO_SAMPLES,
    "generalization.pac_bayes.information.sample_information": TWO_SAMPLES,
    "generalization.networks.norm_bounds.frobenius_product_bound": {"layers": ONE_OUTPUT},
    "generalization.networks.norm_bounds.path_norm_bound": {"layers": ONE_OUTPUT},
    "generalization.networks.norms.normalized_margins": {"labels": np.array([0, 1, 0, 1])},
    "generalization.capacity.solution_sets.interpolate": {
        "residuals": lambda w: w[:2] ** 2 - 1.0, "jacobian": jax.jacobian(lambda w: w[:2] ** 2 - 1.0),
        "start": np.array([0.5, 2.0, 1.0]),
    },
    "generalization.capacity.solution_sets.network_answers": {"weights": np.ones(20)},
    "generalization.capacity.stability.coupled_sgd": {"gradient": lambda w, z: w - z.mean(), "start": np.ones(4)},
    "generalization.capacity.stability.ghost_gaps": {
        "algorithm": lambda data: data.mean(), "loss": lambda w, data: (data - w) ** 2, "atoms": np.array([0.0, 1.0]),
    },
    "generalization.interpolation.ridgeless.limiting_bias_variance": {"gamma": 0.5},
    "generalization.concentration.sub_exponential.independent_sum": {
        "parts": of("generalization.concentration.sub_exponential").SubExponential(np.ones(3), np.ones(3))
    },
    "generalization.concentration.sub_exponential.maximum_bound": {"count": 3},
    "generalization.capacity.vc_bounds.piecewise_linear_dimension": {"weights": 20, "layers": 2},
    "generalization.capacity.paired_samples.uniform_gap": {
        "learn": np.mean, "trained_on": [np.ones(2)], "tested_on": [np.zeros(2)], "risk": float,
        "error": lambda mean, data: float(abs(data - mean).mean()),
    },
    "graphs.weisfeiler_leman.computation_tree": {"node": 0},
    "graphs.weisfeiler_leman.edge_colours": {"graphs": [nx.path_graph(4)]},
    "graphs.weisfeiler_leman.labels_by_colour": {"colours": {"a": 1, "b": 2}, "labels": {"a": 0, "b": 5}},
    "graphs.weisfeiler_leman.mixed_colours": {"colours": {"a": 1, "b": 1}, "labels": {"a": 0, "b": 5}},
    "graphs.weisfeiler_leman.node_colours": {"graphs": [nx.path_graph(4)]},
    "kernels.finite.tangents.functional": {"module": eqx.nn.Linear(3, 2, key=KEY)},
    "kernels.layers.activations.Elementwise": {"call": jnp.tanh},
    "kernels.limits.gaussian_processes.conditional_law": {"given": np.array([0, 2]), "values": np.array([0.5, 0.1])},
    "kernels.finite.structure.factored_gradients": TANGENT,
    "kernels.regression.classifier.fit_classifier": {"kernels": (linear,), "labels": np.array([0, 1, 0, 1])},
    "kernels.limits.fixed_features.fixed_feature_floor": {"levels": [(1.0, 3), (0.5, 2)], "samples": 2},
    "kernels.lazy.signed_network.flow_to": {"weights": np.ones((4, 3))},
    "kernels.lazy.linear_models.gradient_flow": {"y": np.ones(3)},
    "kernels.finite.tangents.jacobian_kernel": TANGENT,
    "kernels.lazy.signed_network.jacobian_lipschitz_constant": {"width": 4, "starts": 2, "steps": 3},
    "kernels.lazy.linear_models.lazy_certificate": {"jacobian": np.eye(3, 4), "residual": np.full(3, 0.01)},
    "kernels.regression.mercer.nystrom": {"kernel": linear},
    "kernels.finite.tangents.output_kernel": TANGENT,
    "kernels.finite.linearization.padded": {"width": 6},
    "kernels.layers.graphs.padded_graphs":
        {"features": [np.ones((2, 3)), np.ones((4, 3))], "adjacencies": [np.eye(2), np.eye(4)]},
    "kernels.limits.recursion.limit_kernel": {"x": POINTS},
    "kernels.regression.tiles.sharded_kernel": {"kernel": flattened, "x": POINTS},
    "kernels.regression.tiles.tiled_kernel": {"kernel": flattened, "x": POINTS},
    "kernels.regression.solvers.pivoted_cholesky": {"diagonal": np.ones(4), "row": lambda i: np.eye(4)[i], "rank": 2},
    "kernels.regression.solvers.solve_kernel": {"kernel": array("Float", "n n")},
    "kernels.layers.positions.Index": {"index": (0, slice(1, 3))},
    "kernels.lazy.teachers.power_energy_bound": {"power": 4},
    "kernels.lazy.linear_models.sharp_lazy_bounds": {"smallest": 2.0},
    "kernels.lazy.signed_network.signed_problem": {"width": 4},
    "kernels.lazy.signed_network.signed_weights": {"width": 4},
    "kernels.finite.tangents.tangent_drift":
        {"apply": affine, "before": jnp.ones((3, 2)), "after": jnp.zeros((3, 2)), "x": POINTS},
    "kernels.finite.tangents.tangent_kernel": TANGENT,
    "kernels.finite.tangents.tangent_product": TANGENT,
    "kernels.lazy.training.train_with_kernel": {"steps": 4},
    "normalization.weight_decay.decayed_descent":
        {"gradient": lambda w: w, "start": np.ones(3), "rates": np.full(4, 0.1), "decays": 0.2},
    "normalization.weight_decay.equivalent_rates": {"rates": np.full(4, 0.1), "decays": 0.2},
    "normalization.weight_decay.heavy_ball":
        {"gradient": lambda w: w, "start": np.ones(3), "rates": np.full(4, 0.1)},
    "normalization.weight_decay.momentum_rates": {"rate": 0.1, "decay": 0.1, "momentum": 0.5},
    "normalization.weight_decay.momentum_root": {"rate": 0.1, "decay": 0.1, "momentum": 0.5},
    "normalization.weight_decay.unrolled_square_norm": {"rates": np.full(4, 0.1), "decays": 0.2},
    "normalization.homogeneity.degree_of_homogeneity": HOMOGENEOUS,
    "normalization.homogeneity.euler_degree": HOMOGENEOUS,
    "normalization.homogeneity.invariance_defect": HOMOGENEOUS,
    "normalization.homogeneity.invariant_leaves": HOMOGENEOUS,
    "normalization.homogeneity.scaled": {"parameters": np.ones(3), "factor": 2.0},
    "normalization.normalizers.NormalizedNetwork": {
        "weights": (LAYERS[0],), "gains": (np.ones(4),), "shifts": (np.ones(4),), "top": LAYERS[1], "normalize": abs,
    },
    "normalization.normalizers.deep_outputs": {
        "weights": np.ones((2, 3, 3)), "top": np.ones((1, 3)), "x": POINTS, "normalize": lambda a: a,
    },
    "normalization.normalizers.group_norm": {"groups": 2},
    "normalization.normalizers.init_normalized_network": {"widths": (3, 4, 1)},
    "normalization.product_models.logistic_minimizer": {"margins": np.array([1.0, 0.5, -0.2])},
    "normalization.product_models.product_descent": {"factors": np.array([0.5, 1.2]), "steps": 3},
    "normalization.spheres.CircleWaves": {"cosines": np.ones(2), "sines": np.ones(2)},
    "normalization.spheres.sphere_smoothness":
        {"function": lambda w: w[0] / jnp.linalg.norm(w), "starts": POINTS, "steps": 3},
    "networks.pieces.PiecewiseAffine": {"knots": (Fraction(1),), "pieces": tuple(TENT[0])},
    "networks.from_scratch.bayes_logits": {"x": PLANE},
    "networks.tent.fit_sawtooth": {"iterates": 1, "widths": (2,), "starts": 2, "steps": 2},
    "networks.pieces.layers_from_arrays":
        {"weights": [np.ones((2, 1)), np.ones((1, 2))], "biases": [np.ones(2), np.ones(1)]},
    "networks.pieces.minimal_shallow_units": {"low": 0, "high": 2},
    "networks.pieces.pieces_on_a_grid": {"layers": PIECES, "low": 0, "high": 1},
    "networks.from_scratch.population_cross_entropy": {"model": lambda x: x[..., 0]},
    "networks.pieces.network_function": {"layers": PIECES},
    "networks.from_scratch.printed_gradient": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0])},
    "networks.pieces.propagate": {"layers": PIECES},
    "networks.pieces.relu_nodes": {"layers": PIECES},
    "networks.pieces.shallow_layers": {"low": 0, "high": 2},
    "networks.pieces.through_points": {"knots": (0, 1), "values": (0, 2)},
    "networks.from_scratch.train_classifier": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0]), "steps": 3},
    "curvature.operators.hessian": {"loss": squared_error, "parameters": np.ones(3), "data": POINTS},
    "curvature.operators.gauss_newton":
        {"model": affine, "loss": loss_of_outputs, "parameters": np.ones(3), "inputs": POINTS, "targets": np.ones(3)},
    "curvature.operators.fisher": {"model": affine, "parameters": np.ones((3, 2)), "inputs": POINTS},
    "curvature.operators.gradient_noise": {"losses": squared_errors, "parameters": np.ones(3), "data": POINTS},
    "curvature.density.spectral_sum":
        {"density": of("curvature.density").SpectralDensity(*[np.ones(3)] * 3, *[np.ones((2, 2)) / 2] * 2, 0.1),
         "function": abs},
    "curvature.edge_of_stability.stability_phases":
        {"losses": np.linspace(1, 0, 7), "sharpness": np.array([0.5, 3.0, 5.0, 4.0]), "every": 2},
    "curvature.edge_of_stability.descent_with_sharpness": {"function": square, "steps": 4, "every": 2},
    "implicit_bias.separable.gradient_descent_on_margins": {"checkpoints": np.array([0, 2])},
    "implicit_bias.separable.margin_rates": SEPARATED,
    "dynamics.sphere.overlap_chain": {"dimension": 5, "replicas": 3, "max_steps": 10},
    "optimization.runs.trajectory": {"function": square, "start": np.ones(3), "steps": 3},
    "optimization.escape.leaving_times": {"function": square, "steps": 3},
    "optimization.escape.coupled_runs": {"function": square, "steps": 3},
    "optimization.escape.stuck_share": {"dimension": 3, "gain": 2.0},
    "optimization.escape.stuck_width": {"steps": 3},
    "optimization.escape.slab_share": {"dimension": 3},
    "optimization.escape.thin_slab_bound": {"dimension": 3},
    "optimization.smoothness.lipschitz_estimates":
        {"function": square, "first": array("Float", "2 3"), "second": array("Float", "2 3") + 1.0},
    "optimization.smoothness.power_method": {"function": square, "iterations": 3},
    "optimization.smoothness.smoothness_along": {"function": square, "iterations": 3},
    "optimization.stochastic.escape_exponent": {"batch": 2},
    "optimization.stochastic.mean_square_factor": {"batch": 2},
    "optimization.escape.kicked_variance": {"steps": 3},
    "optimization.stochastic.batch_stationarity_bound": {"batch": 2, "steps": 3},
    "optimization.stochastic.batch_steps": {"batch": 2},
    "optimization.stochastic.sgd_stationarity_bound": {"steps": 3},
    "optimization.stochastic.sgd_step_size": {"steps": 3},
    "optimization.promises.audit": {"promise": (np.ones(3), np.full(3, 2.0))},
    "landscapes.convexity.chord_gap": {"function": square, "share": 0.5},
    "landscapes.convexity.regularity_constants": {"function": square},
    "landscapes.convexity.tangent_gap": {"function": square},
    "landscapes.critical_points.find_critical_points": {"function": square, "steps": 3},
    "landscapes.critical_points.improvement": {"function": square},
    "landscapes.critical_points.is_direction_of_improvement": {"function": square},
    "landscapes.critical_points.is_second_order_stationary": {"function": square},
    "landscapes.critical_points.least_curvature": {"function": square, "steps": 2},
    "landscapes.critical_points.on_vectors": {"function": square, "example": jnp.ones(3)},
    "landscapes.critical_points.spectra_at": {"function": square},
    "landscapes.critical_points.sphere_extremes": {"function": square, "radii": jnp.array([0.5, 1.0])},
    "landscapes.matrix_sensing.coordinates_of": {"matrix": np.eye(2)},
    "landscapes.matrix_sensing.isometry_defect": {"form": np.eye(3)},
    "landscapes.matrix_sensing.sensed_shift": {"point": np.array([1.0, 0.0]), "matrix": np.diag([2.0, 0.5])},
    "landscapes.tensor_decomposition.online_components":
        {"samples": jnp.ones((2, 4, 3)), "starts": jnp.eye(2, 3), "rates": jnp.full(4, 0.1)},
    "landscapes.tensor_decomposition.sphere_spectrum": {"function": square, "point": jnp.array([0.6, 0.0, 0.8])},
    "landscapes.tensor_decomposition.tensor_critical_points": {"components": np.eye(2, 3), "weights": np.ones(2)},
    "landscapes.random_landscapes.random_field": {"dimension": 1, "length": 6.0},
    "landscapes.random_landscapes.torus_critical_points":
        {"field": of("landscapes.random_landscapes").PeriodicField(jnp.ones((2, 1)), jnp.ones(2), -jnp.ones(2)),
         "length": 6.283185307179586, "points": 9},
    "landscapes.factorization.aligned": {"factor": np.eye(3, 2), "other": np.eye(3, 2)},
    "landscapes.linear_networks.best_first_matrix":
        {"second": np.eye(2), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "landscapes.linear_networks.best_second_matrix":
        {"first": np.eye(2, 3), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "landscapes.linear_networks.bottleneck_critical_points":
        {"inputs": np.eye(3, 4), "labels": np.eye(2, 4), "width": 1},
    "landscapes.linear_networks.bottleneck_index":
        {"eigenvalues": np.array([2.0, 1.0]), "kept": (1,), "width": 1, "inputs": 3},
    "landscapes.linear_networks.deep_critical_point":
        {"inputs": np.eye(3, 4), "labels": np.eye(2, 4), "kept": (0,), "widths": (3, 2, 2)},
    "landscapes.linear_networks.end_to_end": {"weights": LAYERS},
    "landscapes.linear_networks.layer_gradients":
        {"weights": LAYERS, "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "landscapes.linear_networks.least_squares_map": {"inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "landscapes.linear_networks.projected_least_squares":
        {"later": np.eye(2), "inputs": np.eye(3, 4), "labels": np.eye(2, 4)},
    "landscapes.linear_flows.flow_factors": {"factors": np.ones((2, 3, 3)), "target": np.eye(3), "steps": 3},
    "landscapes.linear_flows.mode_curve": {"target": 1.0, "depth": 2, "times": np.array([0.0, 1.0])},
    "landscapes.near_initialization.linearized_shallow": {"activation": jnp.tanh},
    "landscapes.near_initialization.shallow_gradient": {"activation": jnp.tanh},
    "landscapes.near_initialization.shallow_output": {"activation": jnp.tanh},
    "landscapes.plateaus.plateau_time": {"size": 0.1, "signal": 1.0, "depth": 2},
    "landscapes.single_neuron.secant_correlation": {"activation": jnp.tanh},
    "landscapes.symmetry.mountain_pass": {"function": square, "images": 5, "steps": 3},
    "propagation.classifiers.softmax_gradient_bounds": {"weights": LAYERS, "x": np.ones(3)},
    "propagation.classifiers.softmax_layer_gradients": {"weights": LAYERS, "x": np.ones(3), "label": 1},
    "propagation.random_products.forward_fourth_moment": {"widths": (3, 2)},
    "propagation.random_products.forward_second_moment": {"widths": (3, 2)},
    "propagation.random_products.fourth_moment_after": {"fourth": 3.0, "square": 4.0, "fourth_powers": 2.0},
    "propagation.random_products.gram_second_moment": {"widths": (3, 2)},
    "propagation.random_products.layer_gradient_moment": {"widths": (3, 2, 2), "layer": 1},
    "propagation.random_products.log_norm_law": {"widths": (3, 2)},
    "optimization.landscapes.polyak_lojasiewicz_constant": {"function": square},
    "implicit_bias.separable.residual_decay": SEPARATED,
    "implicit_bias.separable.residual_forces":
        SEPARATED | {"log_times": np.array([1.0, 2.0]), "error": np.ones((2, 3))},
    "implicit_bias.separable.residual_limit": SEPARATED,
    "optimization.empirical_risk.risk_rate": {"risk": square},
    "implicit_bias.least_squares.supported_solution":
        {"design": array("Float", "2 3"), "labels": np.ones(2), "coordinates": (0, 2)},
    "regularization.dropout.dropout_shrinkage": {"width": 4},
    "foundations.binomial.clopper_pearson_lower": {"successes": 2, "trials": 5},
    "foundations.binomial.clopper_pearson_upper": {"successes": 2, "trials": 5},
    "robustness.smoothing.smoothed_value_and_gradient": {"function": lambda x: x[:, 0]},
    "robustness.smoothing.votes": {"classifier": lambda x: (x[:, 0] > 0).astype(int)},
    "spectra.self_consistent.effective_ridge": SPECTRUM,
    "spectra.free_convolution.free_additive_moments": {"first": [0, 1, 0], "second": [0, 2, 0]},
    "spectra.free_convolution.free_additive_stieltjes": {"z": np.array([2j]), "first": at_one, "second": at_one},
    "spectra.free_convolution.free_multiplicative_moments": {"first": [1, 2], "second": [1, 3]},
    "spectra.free_convolution.free_multiplicative_stieltjes": {
        "z": np.array([0.5 + 2j]), "first": at_one, "second": at_one,
    },
    "spectra.self_consistent.general_edges": SPECTRUM,
    "spectra.self_consistent.general_moment": SPECTRUM,
    "spectra.self_consistent.general_pdf": SPECTRUM,
    "spectra.self_consistent.general_stieltjes": SPECTRUM,
    "foundations.filters.pseudo_inverse_filter": {"singular": np.array([0.5, 2.0])},
    "spectra.ridge_path.ridge_bias_slope_bound": {"smallest": 0.2, "largest": 2.0},
    "spectra.self_consistent.silverstein_inverse": SPECTRUM | {"v": -0.1},
    "spectra.edges.smallest_eigenvalue_scaling": {"dimension": 3, "samples": 5},
    "spectra.stieltjes.stieltjes_transform": {"points": [0.5, 1.0]},
}  # fmt: skip


FOUND = """
attention.equiangular.equiangular_overlap, times: huge
curvature.edge_of_stability.descent_with_sharpness, start: float32
curvature.edge_of_stability.sharpness, direction: float32
diffusions.torus_semigroups.weak_error_on_torus, horizon: huge
diffusions.torus_semigroups.weak_error_on_torus, horizon: negative
diffusions.torus_semigroups.weak_error_on_torus, noise: negative
diffusions.torus_semigroups.weak_error_on_torus, steps: negated
diffusions.weak_order.weak_error, step: tiny
dynamics.single_index.information_exponent, tolerance: negative
dynamics.hitting_times.mean_hitting_time, level: negative
dynamics.hitting_times.mean_hitting_time, level: two
dynamics.sphere.overlap_step, overlap: two
dynamics.sphere.spherical_sgd, dimension: million
dynamics.sphere.spherical_sgd, steps: billion
foundations.concentration.log_binomial_deviation, deviation: negative
foundations.concentration.log_hoeffding, widths: negated
generalization.capacity.finite_classes.independent_log_tail, deviation: negative
generalization.capacity.rademacher.two_sample_threshold_complexity, m: million
generalization.capacity.rademacher_bounds.linear_complexity, radius: negative
generalization.capacity.solution_sets.null_space, tolerance: negative
generalization.capacity.stability.coupled_sgd, start: float32
generalization.capacity.stability.coupled_sgd, step_sizes: negated
generalization.capacity.stability.escape_distances, steps: billion
generalization.capacity.uniform_convergence.signal_noise_sample, samples: billion
generalization.concentration.martingales.stopped_walk, steps: million
generalization.concentration.martingales.stopped_walk, steps: zero
generalization.concentration.martingales.log_azuma_ranges, widths: negated
generalization.concentration.sub_exponential.finite_log_moment, probabilities: negated
generalization.concentration.sub_exponential.finite_log_moment, probabilities: zeros
generalization.concentration.sub_exponential.variance_proxy, variance: negative
generalization.interpolation.gaussian_equivalents.random_feature_risk, noise: negative
generalization.interpolation.gaussian_equivalents.random_feature_risk, samples: negative
generalization.pac_bayes.comparison_bounds.log_moment, samples: million
generalization.pac_bayes.description_length.decode, word: another word
generalization.pac_bayes.gaussian_posteriors.monte_carlo_errors, passes: million
generalization.pac_bayes.information.zero_loss_witness, hypotheses: billion
implicit_bias.separable.logarithmic_flow, log_times: huge
implicit_bias.separable.logarithmic_flow, signed_points: huge
kernels.finite.features.train_features, steps: billion
kernels.finite.first_layer.train_first_layer, steps: billion
kernels.finite.first_layer.train_first_layer, weights: float32
kernels.finite.function_space.function_flow, kernel: huge
kernels.finite.function_space.kernel_gradient_descent, outputs: float32
kernels.finite.tangents.relative_drift, after: longer
kernels.layers.positions.ImageResize, method: another word
kernels.layers.positions.Index, index: text among them
kernels.lazy.lazy_bounds.drift_bound, samples: negative
kernels.lazy.linear_models.gradient_flow, times: huge
kernels.lazy.linear_models.gradient_flow, times: zeros
kernels.lazy.linear_models.gradient_flow, y: longer
kernels.limits.inequalities.spectral_matching, one: huge
kernels.limits.recursion.limit_kernel, hidden: text among them
kernels.limits.recursion.limit_kernel, pattern: text among them
kernels.limits.recursion.limit_kernel, x: complex
kernels.limits.recursion.limit_kernel, x: words
kernels.limits.series.hermite_series, terms: million
kernels.regression.solvers.pivoted_cholesky, diagonal: longer
kernels.regression.solvers.solve_kernel, kernel: asymmetric
networks.from_scratch.train_classifier, gradient: number
networks.from_scratch.train_classifier, steps: million
optimization.empirical_risk.negative_directions, cutoff: negative
optimization.landscapes.Huber, smoothness: negative
optimization.landscapes.LogisticRidge, ridge: negative
optimization.promises.improve_or_localize, values: float32
robustness.noise_training.two_moons, noise: negative
skills.emergence.exact_concentration, k: negative
"""
"""spoilt calls that once got nonsense, a raw error or no answer: they are always made"""


SIGNED = ("generalization.pac_bayes.gaussian_posteriors.sampled_outputs, noise",)
"""arguments below zero though others of their name are not: draws of noise, not its size"""


def public() -> dict[str, Any]:
    """Every public function and class, by the module that defines it."""
    found: dict[str, Any] = {}
    for room in ROOMS:
        package = importlib.import_module(f"deeptheory.{room}")
        names = [
            room,
            *(
                each.name.removeprefix("deeptheory.")
                for each in pkgutil.walk_packages(package.__path__, f"deeptheory.{room}.")
            ),
        ]
        for shelf in names:
            if shelf.startswith(INNER):
                continue
            module = of(shelf)
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                if not inspect.ismodule(thing):
                    found[f"{shelf}.{name}"] = thing
    return {name: thing for name, thing in found.items() if name not in ELSEWHERE and not name.startswith(INNER)}


def example(name: str, thing: Any) -> dict[str, Any]:
    """Arguments that a function accepts: those of the table, the others by its signature."""
    given = EXAMPLES.get(name, {})
    return {
        each: given[each] if each in given else _typical(each, parameter.annotation)
        for each, parameter in inspect.signature(thing).parameters.items()
        if each in given or (parameter.default is parameter.empty and parameter.kind not in (2, 4))
    }


def alternatives(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
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
