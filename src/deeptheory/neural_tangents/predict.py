"""Predictions of training from kernels, under their neural-tangents 0.6.5 names."""

from deeptheory.neural_tangents.ensembles import Gaussian, gp_inference, gradient_descent_mse_ensemble
from deeptheory.neural_tangents.flows import ODEState, gradient_descent
from deeptheory.neural_tangents.squared_loss import gradient_descent_mse, max_learning_rate

__all__ = [
    "Gaussian",
    "ODEState",
    "gp_inference",
    "gradient_descent",
    "gradient_descent_mse",
    "gradient_descent_mse_ensemble",
    "max_learning_rate",
]
