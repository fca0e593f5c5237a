from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from deeptheory.generative import autoencoders, density_models, flows, likelihoods, mixtures, variational
from deeptheory.generative.finite_generators import point_generator
from deeptheory.networks.mlp import init_mlp

from .ingredients import KEY, LAW, POINTS

FEW = np.array([0.3, 0.3, 0.4])
COUNTS = np.array([[3.0, 1.0, 2.0], [1.0, 4.0, 2.0], [2.0, 2.0, 5.0]])
NETS = {
    "generator": init_mlp(jax.random.key(0), (2, 4, 3), bias_scale=1.0),
    "discriminator": init_mlp(jax.random.key(1), (3, 4, 1), bias_scale=1.0),
}
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
PLANE = np.array([[0.5, -1.0], [1.0, 0.3], [-0.4, 0.8], [0.2, 0.1]])
FLOW = flows.init_flow(KEY, 2, layers=2, hidden=3)
MODEL = autoencoders.init_variational_autoencoder(KEY, 2, latent=1, hidden=3)
TABLE = np.array([[0.1, 0.2, 0.05, 0.05]])
LINE = np.array([0.1, 0.4, -1.2, 0.7, 2.0, -0.3, 0.8])


def _conditioner(z: Any) -> tuple[Any, Any]:
    return 0.3 * z[:, ::-1], z[:, ::-1]


def _denoiser(x: Any, level: float) -> Any:
    return np.sqrt(level) * x


def _normal(x: Any) -> Any:
    return np.asarray(flows.standard_normal_log_density(x))


RECORDS: dict[str, Callable[[], Any]] = {
    "GaussianMixture": lambda: density_models.ring_of_gaussians(3),
    "GaussianFit": lambda: likelihoods.GaussianFit(np.zeros(2), np.eye(2)),
    "LinearGaussian": lambda: variational.LinearGaussian(PLANE, 0.5),
    "CouplingFlow": lambda: FLOW,
    "GaussianNet": lambda: MODEL.decoder,
    "VariationalAutoencoder": lambda: MODEL,
    "AutoregressiveHistogram": lambda: density_models.fit_autoregressive_histogram(PLANE, bins=3),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "adversarial_networks.best_discriminator": {"real": LAW, "synthetic": LAW[::-1]},
    "adversarial_networks.gan_value": {"real": LAW, "synthetic": LAW[::-1], "discriminator": LAW},
    "adversarial_networks.mode_shares": {"points": POINTS, "centres": POINTS[:2], "radius": 0.5},
    "adversarial_networks.modes_covered": {"points": POINTS, "centres": POINTS[:2], "radius": 0.5},
    "adversarial_networks.train_adversarially": {"data": POINTS, "rounds": 2, "batch": 4, **NETS},
    "divergences.best_critic": {"p": LAW, "q": LAW[::-1]},
    "divergences.critic_value": {"p": LAW, "q": LAW[::-1], "critic": LAW},
    "divergences.f_divergence": {"p": LAW, "q": LAW[::-1]},
    "finite_generators.collapsed_law": {"features": np.linspace(-1, 1, 8).reshape(4, 2) ** 3, "law": LAW},
    "finite_generators.feature_advantage": {"features": np.ones((4, 2)), "law": LAW, "other": LAW[::-1]},
    "finite_generators.generated": {"net": point_generator(POINTS), "seeds": np.array([0.2, 0.7])},
    "finite_generators.sample_detector": {"sample": POINTS, "x": POINTS},
    "games.bilinear_step": {"rule": "extragradient"},
    "games.mixed_equilibrium": {"payoffs": COUNTS},
    "games.play": {
        "payoff": lambda x, y: x @ y, "x": np.ones(2), "y": np.ones(2), "rule": "alternating", "steps": 3,
    },
    "probability_metrics.best_lipschitz_critic": {"p": FEW, "q": FEW[::-1], "distances": 1 - np.eye(3)},
    "probability_metrics.integral_metric": {"p": LAW, "q": LAW[::-1]},
    "probability_metrics.kernel_metric": {"p": LAW, "q": LAW[::-1]},
    "probability_metrics.moment_distance": {
        "points": POINTS, "probabilities": FEW, "other_points": POINTS, "other_probabilities": FEW[::-1], "order": 2,
    },
    "probability_metrics.moment_tensor": {"points": POINTS, "probabilities": FEW},
    "probability_metrics.optimal_transport": {"p": FEW, "q": FEW[::-1], "costs": 1 - np.eye(3)},
    "probes.few_label_accuracy": {"features": np.vstack([POINTS, -POINTS]), "labels": SIGNS, "labelled": 4},
    "probes.linear_probe": {"features": np.vstack([POINTS, -POINTS]), "labels": SIGNS},
    "probes.principal_directions": {"points": POINTS, "rank": 2},
    "probes.probe_limit": {"direction": np.ones((1, 3)), "mean": POINTS[0], "covariance": np.eye(3)},
    "probes.shared_directions": {
        "first": np.vstack([POINTS, -POINTS]) + np.eye(6, 3), "second": np.vstack([POINTS, -POINTS]), "rank": 1,
    },
    "supports.birthday_test": {"collisions": 3, "batches": 10, "sample": 12},
    "supports.closest_pairs": {"points": POINTS},
    "supports.near_duplicates": {"drawn": POINTS[None], "tolerance": 0.1},
    "supports.uniform_collision_probability": {"support": 365.0, "sample": 23},
    "word_embeddings.cooccurrences": {"corpus": np.array([0, 1, 2, 0]), "vocabulary": 3},
    "word_embeddings.latent_semantic_indexing": {"table": COUNTS, "rank": 2},
    "word_embeddings.pointwise_mutual_information": {"counts": COUNTS},
    "word_embeddings.skip_gram": {"counts": COUNTS, "rank": 2, "steps": 5},
    "word_embeddings.skip_gram_loss": {"counts": COUNTS, "scores": COUNTS},
    "word_embeddings.term_document_counts": {"documents": [np.array([0, 1]), np.array([2])], "vocabulary": 3},
    "autoencoders.bound_terms": {"points": PLANE, "noise": np.ones((2, 4, 1))},
    "autoencoders.gaussian_encoder_divergence": {"mean": PLANE, "scale": np.full(4, 0.5)},
    "autoencoders.importance_bound": {"points": PLANE, "noise": np.ones((2, 4, 1))},
    "autoencoders.init_variational_autoencoder": {"dimension": 2, "hidden": 3},
    "autoencoders.net_output": {"inputs": PLANE[:, :1]},
    "autoencoders.standard_grid_evidence": {"points": PLANE, "order": 5},
    "autoencoders.train_variational_autoencoder": {"points": PLANE, "steps": 2, "batch": 2},
    "density_models.compare_densities": {
        "truth": _normal, "models": {"itself": _normal}, "train": PLANE, "test": PLANE,
    },
    "density_models.fit_autoregressive_histogram": {"points": PLANE, "bins": 3},
    "density_models.histogram_log_density": {"points": PLANE},
    "density_models.normalised": {"log_density": _normal},
    "density_models.total_mass": {"log_density": _normal, "resolution": 50},
    "diffusion_models.cosine_schedule": {"steps": 4},
    "diffusion_models.denoised": {"points": PLANE},
    "diffusion_models.denoising_error": {"denoiser": _denoiser, "clean": PLANE, "noisy": PLANE},
    "diffusion_models.fit_denoiser": {"points": PLANE, "levels": np.array([0.3, 0.6]), "features": 3},
    "diffusion_models.kept_signal": {"schedule": np.array([0.9, 0.5])},
    "diffusion_models.noising_path": {"points": PLANE, "schedule": np.array([0.9, 0.5])},
    "diffusion_models.reverse_chain": {"denoiser": _denoiser, "schedule": np.array([0.9, 0.5]), "noise": PLANE},
    "diffusion_models.score": {"points": PLANE},
    "flows.change_of_variables": {"function": lambda x: 2 * x, "points": PLANE},
    "flows.coupled": {"z": PLANE, "kept": np.array([1.0, 0.0]), "conditioner": _conditioner},
    "flows.flow_log_density": {"points": PLANE},
    "flows.flow_noise": {"points": PLANE},
    "flows.init_flow": {"dimension": 2, "layers": 2, "hidden": 3},
    "flows.pointwise_convolution": {"images": np.ones((1, 2, 2, 2)), "matrix": np.array([[2.0, 1.0], [0.5, 3.0]])},
    "flows.pointwise_log_determinant": {"matrix": np.array([[2.0, 1.0], [0.5, 3.0]])},
    "flows.quadratic_coupling_log_density": {"points": np.ones((3, 4))},
    "flows.standard_normal_log_density": {"points": PLANE},
    "flows.train_flow": {"points": PLANE, "steps": 2, "batch": 2},
    "flows.uncoupled": {"z": PLANE, "kept": np.array([1.0, 0.0]), "conditioner": _conditioner},
    "likelihoods.bits_per_dimension": {"log_likelihood": -1.0},
    "likelihoods.expected_fit_divergence": {"samples": 20, "dimension": 2},
    "likelihoods.expected_likelihood_gap": {"samples": 20, "dimension": 2},
    "likelihoods.gaussian_fit": {"points": PLANE},
    "likelihoods.gaussian_log_likelihood": {"points": PLANE},
    "likelihoods.isotropic_fit": {"points": PLANE},
    "likelihoods.kolmogorov_distance_to_normal": {"mixture": likelihoods.atoms_mixture(3, 0.1)},
    "mixtures.component_log_densities": {"points": PLANE},
    "mixtures.decoded": {"components": np.array([0, 1, 2])},
    "mixtures.encoded": {"points": PLANE},
    "mixtures.expectation_maximization": {"start": mixtures.gaussian_mixture(
        np.array([0.5, 0.5]), PLANE[:2], np.stack([np.eye(2)] * 2)), "points": PLANE, "steps": 2},
    "mixtures.gaussian_mixture": {
        "weights": np.array([0.5, 0.5]), "means": PLANE[:2], "covariances": np.stack([np.eye(2)] * 2),
    },
    "mixtures.line_mixture_cdf": {"mixture": likelihoods.atoms_mixture(3, 0.1), "at": LINE},
    "mixtures.log_density": {"points": PLANE},
    "mixtures.pearson_mixture": {"points": mixtures.crabs()},
    "mixtures.responsibilities": {"points": PLANE},
    "structures.nonnegative_factors": {"data": np.abs(PLANE), "rank": 2, "steps": 3},
    "structures.orthogonal_dictionary": {"data": PLANE, "nonzeros": 1, "steps": 3},
    "structures.principal_components": {"data": PLANE, "rank": 1},
    "structures.topics": {"counts": np.abs(PLANE), "rank": 2, "steps": 3},
    "variational.best_isotropic_encoder": {"points": PLANE.reshape(2, 4)},
    "variational.gaussian_gradient_estimates": {
        "function": np.square, "slope": lambda z: 2 * z, "noise": np.array([0.1, -0.5]), "deviation": 0.5,
    },
    "variational.isotropic_bound": {"points": PLANE.reshape(2, 4), "means": PLANE[:2], "variance": 0.5},
    "variational.linear_evidence": {"points": PLANE.reshape(2, 4)},
    "variational.linear_posterior": {"points": PLANE.reshape(2, 4)},
    "variational.mean_field_ascent": {"precision": np.diag([1.0, 2.0, 3.0]), "mean": np.ones(3), "sweeps": 3},
    "variational.table_bound": {"joint": TABLE, "law": np.array([[0.25, 0.25, 0.25, 0.25]])},
    "variational.table_evidence": {"joint": TABLE},
    "variational.table_posterior": {"joint": TABLE},
}  # fmt: skip

SIGNED = """
autoencoders.bound_terms, noise
autoencoders.importance_bound, noise
diffusion_models.reverse_chain, noise
variational.gaussian_gradient_estimates, noise
"""

FOUND = """
diffusion_models.fit_denoiser, levels: float32
flows.flow_log_density, points: float32
flows.flow_noise, points: float32
flows.train_flow, points: float32
mixtures.expectation_maximization, steps: million
sample_quality.two_sample_accuracy, second: huge
"""
