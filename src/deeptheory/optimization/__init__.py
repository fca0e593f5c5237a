"""Optimization: gradient descent and its rates, sharpness, saddles, and the landscapes to try them on."""

from deeptheory.optimization.gradient_descent import (
    DescentState,
    Method,
    convex_gap_bound,
    gradient_descent,
    guaranteed_decrease,
    optimal_quadratic_step,
    polyak_lojasiewicz_factor,
    quadratic_losses,
    stationarity_bound,
    trajectory,
    worst_contraction,
    worst_convex_gap,
    worst_stationarity,
)
from deeptheory.optimization.saddle import (
    PerturbedState,
    improve_or_localize,
    is_second_order_stationary,
    perturbed_gradient_descent,
    uniform_ball,
)
from deeptheory.optimization.sharpness import (
    SharpnessTrace,
    StabilityPhases,
    descent_with_sharpness,
    sharpness,
    stability_phases,
)

__all__ = [
    "DescentState",
    "Method",
    "PerturbedState",
    "SharpnessTrace",
    "StabilityPhases",
    "convex_gap_bound",
    "descent_with_sharpness",
    "gradient_descent",
    "guaranteed_decrease",
    "improve_or_localize",
    "is_second_order_stationary",
    "optimal_quadratic_step",
    "perturbed_gradient_descent",
    "polyak_lojasiewicz_factor",
    "quadratic_losses",
    "sharpness",
    "stability_phases",
    "stationarity_bound",
    "trajectory",
    "uniform_ball",
    "worst_contraction",
    "worst_convex_gap",
    "worst_stationarity",
]
