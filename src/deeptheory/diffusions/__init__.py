"""Diffusions: stochastic gradient descent beside its stochastic differential equation, in exact expectations."""

from deeptheory.diffusions.torus_semigroups import (
    TorusOracle,
    committee_loss,
    committee_machine,
    double_well,
    weak_error_on_torus,
)
from deeptheory.diffusions.weak_order import (
    LinearOracle,
    NoiseLaw,
    diffusion_moments,
    gaussian_noise,
    linear_oracle,
    sgd_moments,
    three_losses,
    two_point_noise,
    weak_error,
)

__all__ = [
    "LinearOracle",
    "NoiseLaw",
    "TorusOracle",
    "committee_loss",
    "committee_machine",
    "diffusion_moments",
    "double_well",
    "gaussian_noise",
    "linear_oracle",
    "sgd_moments",
    "three_losses",
    "two_point_noise",
    "weak_error",
    "weak_error_on_torus",
]
