from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from deeptheory.generalization.capacity import uniform_convergence
from deeptheory.generalization.concentration import matrix_concentration, sub_exponential
from deeptheory.generalization.interpolation import correlated_risk, gaussian_equivalents, nadaraya_watson
from deeptheory.generalization.pac_bayes import comparison_bounds, description_length, gaussian_posteriors, information

from .ingredients import KEY, LAW, LAYERS, array, square

ONE_OUTPUT = [LAYERS[0], LAYERS[1][:1]]
RULES = description_length.DecisionList(((1, 0), (2, 1)), 0)
TWO_SAMPLES = {
    "channel": np.full((4, 2), 0.5),
    "losses": np.array([[0.1, 0.9], [0.6, 0.2]]),
    "outcome_law": LAW[2:] * 2,
}


def signal_and_noise() -> Any:
    return uniform_convergence.signal_noise_sample(KEY, 4, 5)


RECORDS: dict[str, Callable[[], Any]] = {
    "Comparison": lambda: comparison_bounds.kl_comparison(),
    "DecisionList": lambda: RULES,
    "Equivalent": lambda: gaussian_equivalents.Equivalent(0.1, 0.5, 0.4),
    "FiniteSamples": lambda: information.enumerate_samples(np.full(2, 0.5), 2),
    "GaussianNetwork": lambda: gaussian_posteriors.gaussian_network(KEY, (3, 4, 2), spread=0.1),
    "LinearClassifier": lambda: uniform_convergence.one_step_classifier(signal_and_noise()),
    "Population": lambda: correlated_risk.Population(np.array([1.0, 2.0]), *[np.full(2, 0.5)] * 2),
    "SignalNoiseSample": signal_and_noise,
    "SubExponential": lambda: sub_exponential.SubExponential(1.0, 0.5),
    "SubGamma": lambda: sub_exponential.SubGamma(1.0, 0.5),
    "SumOfMatrices": lambda: matrix_concentration.signed_matrices(array("Float", "2 3 3")),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "capacity.covers.loss_change": {"loss": square},
    "capacity.finite_classes.empirical_risk": {"losses": array("Float", "m n")},
    "capacity.growth.radon_labels": {"points": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.2, 0.1]])},
    "capacity.paired_samples.uniform_gap": {
        "learn": np.mean, "trained_on": [np.ones(2)], "tested_on": [np.zeros(2)], "risk": float,
        "error": lambda mean, data: float(abs(data - mean).mean()),
    },
    "capacity.rademacher.sampled_complexity": {"supremum": lambda signs: np.abs(signs).sum(1)},
    "capacity.risks.empirical_minimizers":
        {"losses": array("Float", "3 n"), "counts": np.array([[1, 0, 2, 1], [0, 0, 1, 0]])},
    "capacity.risks.multinomial_chances": {"counts": np.array([[1, 0, 2, 1], [0, 0, 1, 0]]), "law": LAW},
    "capacity.solution_sets.interpolate": {
        "residuals": lambda w: w[:2] ** 2 - 1.0, "jacobian": jax.jacobian(lambda w: w[:2] ** 2 - 1.0),
        "start": np.array([0.5, 2.0, 1.0]),
    },
    "capacity.solution_sets.network_answers": {"weights": np.ones(20)},
    "capacity.stability.coupled_sgd": {"gradient": lambda w, z: w - z.mean(), "start": np.ones(4)},
    "capacity.stability.ghost_gaps": {
        "algorithm": lambda data: data.mean(), "loss": lambda w, data: (data - w) ** 2, "atoms": np.array([0.0, 1.0]),
    },
    "capacity.vc_bounds.piecewise_linear_dimension": {"weights": 20, "layers": 2},
    "concentration.martingales.bounded_differences": {"table": array("Float", "2 2 2"), "variables": 3},
    "concentration.martingales.burkholder_constants": {"power": 2.5},
    "concentration.martingales.stopped_walk": {"stops": lambda time, positions: positions > 1},
    "concentration.martingales.tree_martingale": {"up": np.full(3, 0.5), "down": np.full(3, 0.7)},
    "concentration.matrix_concentration.expected_matrix_norm": {"shape": (2, 3)},
    "concentration.sub_exponential.independent_sum": {
        "parts": sub_exponential.SubExponential(np.ones(3), np.ones(3))
    },
    "concentration.sub_exponential.maximum_bound": {"count": 3},
    "concentration.sub_exponential.orlicz_norm": {"log_moment": lambda s: float(s), "order": 2},
    "concentration.sub_exponential.variance_proxy": {"log_moment": lambda s: float(s**2 / 2), "variance": 1.0},
    "interpolation.correlated_risk.correlated_optimal_risk": {"weights": LAW},
    "interpolation.nadaraya_watson.nadaraya_watson_weights":
        {"kernel": nadaraya_watson.box_kernel, "bandwidth": 0.5},
    "interpolation.ridgeless.limiting_bias_variance": {"gamma": 0.5},
    "networks.all_layer_margin.perturbed_outputs": {"perturbations": [np.ones((4, 4)), np.ones((4, 2))]},
    "networks.memorization.small_digits": {"classes": (3, 5)},
    "networks.norm_bounds.frobenius_product_bound": {"layers": ONE_OUTPUT},
    "networks.norm_bounds.path_norm_bound": {"layers": ONE_OUTPUT},
    "networks.norms.absorbed_biases": {"layers": LAYERS, "biases": [np.ones(4), np.ones(2)]},
    "networks.norms.normalized_margins": {"labels": np.array([0, 1, 0, 1])},
    "pac_bayes.description_length.decode": {"word": description_length.encode(RULES, 3)},
    "pac_bayes.description_length.kraft_sum": {"words": ["0", "10"]},
    "pac_bayes.description_length.prefix_free": {"words": ["0", "10"]},
    "pac_bayes.gaussian_posteriors.network_outputs": {"matrices": (np.ones((5, 4)), np.ones((2, 6)))},
    "pac_bayes.gaussian_posteriors.sampled_outputs": {"noise": np.ones((4, 6))},
    "pac_bayes.gaussian_posteriors.train_posterior": {
        "loss": lambda outputs, labels: (outputs[:, 0] - labels) ** 2, "epochs": 1, "batch": 2,
    },
    "pac_bayes.information.coordinate_information": TWO_SAMPLES,
    "pac_bayes.information.expected_gap": TWO_SAMPLES,
    "pac_bayes.information.on_average_stability": TWO_SAMPLES,
    "pac_bayes.information.sample_information": TWO_SAMPLES,
}  # fmt: skip

SIGNED = ("pac_bayes.gaussian_posteriors.sampled_outputs, noise",)
"""draws of noise, not its size"""

INNER = ("league",)

FOUND = """
networks.norms.normalized_margins, inputs: longer
interpolation.ridgeless.conditional_bias_variance, coefficients: deeper
interpolation.ridgeless.ols_variance, covariance: deeper
capacity.growth.half_space_dichotomies, points: huge
capacity.paired_samples.uniform_gap, trained_on: a set
pac_bayes.description_length.kraft_sum, words: text among them
interpolation.nadaraya_watson.box_kernel, length: complex
capacity.finite_classes.independent_log_tail, deviation: negative
capacity.rademacher.two_sample_threshold_complexity, m: million
capacity.rademacher_bounds.linear_complexity, radius: negative
capacity.solution_sets.null_space, tolerance: negative
capacity.stability.coupled_sgd, start: float32
capacity.stability.coupled_sgd, step_sizes: negated
capacity.stability.escape_distances, steps: billion
capacity.uniform_convergence.signal_noise_sample, samples: billion
concentration.martingales.log_azuma_ranges, widths: negated
concentration.martingales.stopped_walk, steps: million
concentration.martingales.stopped_walk, steps: zero
concentration.sub_exponential.finite_log_moment, probabilities: negated
concentration.sub_exponential.finite_log_moment, probabilities: zeros
concentration.sub_exponential.variance_proxy, variance: negative
interpolation.gaussian_equivalents.random_feature_risk, noise: negative
interpolation.gaussian_equivalents.random_feature_risk, samples: negative
pac_bayes.comparison_bounds.log_moment, samples: million
pac_bayes.description_length.decode, word: another word
pac_bayes.gaussian_posteriors.monte_carlo_errors, passes: million
pac_bayes.information.zero_loss_witness, hypotheses: billion
"""
