"""A thin facade in the vocabulary of neural-tangents 0.6.5, over the kernels of this library."""

from deeptheory.neural_tangents import predict, stax
from deeptheory.neural_tangents.batching import batch
from deeptheory.neural_tangents.empirical import (
    NtkImplementation,
    empirical_kernel_fn,
    empirical_nngp_fn,
    empirical_ntk_fn,
    empirical_ntk_vp_fn,
    linearize,
    taylor_expand,
)
from deeptheory.neural_tangents.kernel import Kernel
from deeptheory.neural_tangents.monte_carlo import monte_carlo_kernel_fn

__all__ = [
    "Kernel",
    "NtkImplementation",
    "batch",
    "empirical_kernel_fn",
    "empirical_nngp_fn",
    "empirical_ntk_fn",
    "empirical_ntk_vp_fn",
    "linearize",
    "monte_carlo_kernel_fn",
    "predict",
    "stax",
    "taylor_expand",
]
