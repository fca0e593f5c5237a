"""Dynamics in high dimension: few summary statistics follow equations of their own.

- `single_index`: how hard a single-index problem is for online gradient descent: its information exponent and
  what follows from it.
- `online`: one-pass gradient descent for any loss and parameters.
- `effective`: population drift, corrector and volatility of summary statistics, by differentiation; localizability.
- `projections`: losses that see Gaussian data through a few projections: exact chains and limits, free of dimension.
- `spiked_tensors`: a rank-one matrix or tensor under noise: exact chain, ballistic and diffusive limits, fixed points.
- `xor_mixture`: the XOR mixture and a two-layer network: where training ends, and how often it succeeds.
- `sphere`: online gradient descent on the sphere for single-index models: the whole vector, its exact overlap chain.
- `hitting_times`: mean and law of the chain's hitting times, and its mean overlap, without sampling.
- `noise_scaling`: moments of a gradient's noise on the sphere; `recurrences`: sequences that grow by their powers.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
