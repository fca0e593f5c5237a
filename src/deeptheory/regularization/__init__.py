"""Regularization, explicit and implicit: what a way of training penalises."""

from deeptheory.regularization.dropout import (
    balanced_factors,
    dropout_masks,
    dropout_objective,
    dropout_optimum,
    dropout_regularizer,
    dropout_shrinkage,
    dropout_strength,
    equalization_defect,
    equalize,
    equalized_factors,
    expected_dropout_regularizer,
    induced_regularizer,
    nuclear_norm,
    nuclear_norm_chain,
    sensing_loss,
    unequalizable_residual,
)

__all__ = [
    "balanced_factors",
    "dropout_masks",
    "dropout_objective",
    "dropout_optimum",
    "dropout_regularizer",
    "dropout_shrinkage",
    "dropout_strength",
    "equalization_defect",
    "equalize",
    "equalized_factors",
    "expected_dropout_regularizer",
    "induced_regularizer",
    "nuclear_norm",
    "nuclear_norm_chain",
    "sensing_loss",
    "unequalizable_residual",
]
