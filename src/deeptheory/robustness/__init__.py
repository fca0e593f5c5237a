"""Robustness: what a classifier keeps when its input is moved, and how that can be certified."""

from deeptheory.robustness.gaussian_ball import (
    ball_marginal_cdf,
    ball_marginal_total_variation,
    ball_total_variation,
    gaussian_length_moments,
)
from deeptheory.robustness.noise_training import certified_accuracy, fit_on_noisy_copies, two_moons
from deeptheory.robustness.smoothing import (
    Certificate,
    boundary_distance,
    certificate_failure_probability,
    certified_radius,
    certify,
    clopper_pearson_lower,
    clopper_pearson_upper,
    gaussian_draws,
    gaussian_grid,
    halfspace_probability,
    smoothed_field,
    smoothed_probability_bound,
    smoothed_value_and_gradient,
    votes,
    worst_profile,
)

__all__ = [
    "Certificate",
    "ball_marginal_cdf",
    "ball_marginal_total_variation",
    "ball_total_variation",
    "boundary_distance",
    "certificate_failure_probability",
    "certified_accuracy",
    "certified_radius",
    "certify",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "fit_on_noisy_copies",
    "gaussian_draws",
    "gaussian_grid",
    "gaussian_length_moments",
    "halfspace_probability",
    "smoothed_field",
    "smoothed_probability_bound",
    "smoothed_value_and_gradient",
    "two_moons",
    "votes",
    "worst_profile",
]
