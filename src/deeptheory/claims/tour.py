"""The tour: claims to begin with."""

__all__ = ["TOUR"]

TOUR: tuple[str, ...] = (
    # Regularization by noise, and a theorem that is false as printed.
    "dropout_is_the_squared_nuclear_norm",
    "balanced_factors_can_be_equalized",
    "dropout_rate_selects_the_rank",
    # Random matrices and interpolation.
    "sample_covariance_spectrum",
    "double_descent",
    "misspecified_double_descent",
    # Optimization.
    "edge_of_stability",
    "strongly_convex_contraction",
    "polyak_lojasiewicz_rate",
    "separable_residual_is_bounded",
    "separable_descent_rates",
    "perturbed_descent_escapes",
    "canonical_equation_has_weak_order_one",
    "skewed_noise_costs_half_an_order",
    "recovery_time_follows_the_information_exponent",
    # Wide networks.
    "kernels_of_deep_networks",
    "kernel_stays_put_in_training",
    # Generalization.
    "binary_mnist_table",
    "flipped_noise_classifier",
    "uniform_convergence_is_vacuous",
    # Architectures.
    "orthonormal_tokens_obey_one_equation",
    "colour_refinement_misses_bridges",
    "hand_written_gradient",
    "training_towards_the_bayes_rule",
    "depth_separation",
    # Skills and robustness.
    "worst_error_sets",
    "certificate_coverage",
)
"""The claims that `deeptheory tour` runs: every flagship subject at least once."""
