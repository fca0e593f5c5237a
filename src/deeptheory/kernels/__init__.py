"""Kernels: the limits of wide networks, and the tangent kernels of finite ones."""

from deeptheory.kernels.empirical import (
    KernelTrace,
    TrainingTrace,
    conditional_covariance,
    empirical_ntk,
    kernel_training,
    layerwise_ntk,
    relative_drift,
    train,
    train_with_kernel,
)
from deeptheory.kernels.recursion import LimitKernels, erf_dual, limit_kernels, quadrature_dual, relu_dual

__all__ = [
    "KernelTrace",
    "LimitKernels",
    "TrainingTrace",
    "conditional_covariance",
    "empirical_ntk",
    "erf_dual",
    "kernel_training",
    "layerwise_ntk",
    "limit_kernels",
    "quadrature_dual",
    "relative_drift",
    "relu_dual",
    "train",
    "train_with_kernel",
]
