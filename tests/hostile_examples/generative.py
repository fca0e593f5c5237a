from collections.abc import Callable
from typing import Any

import numpy as np
from tests.hostile_examples.ingredients import KEY

from deeptheory.generative import autoencoders, density_models, flows, likelihoods, mixtures, variational

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
