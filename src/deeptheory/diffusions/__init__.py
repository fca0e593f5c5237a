"""Diffusions: stochastic gradient descent beside its stochastic differential equation, in exact expectations.

- `torus_semigroups`: expectations of stochastic gradient descent and of its diffusion for parameters on a torus, to
  rounding.
- `weak_order`: how close stochastic gradient descent stays to its diffusion on quadratic losses, in exact moments, no
  sampling.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
