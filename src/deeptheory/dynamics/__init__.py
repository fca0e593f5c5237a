"""Dynamics in high dimension: few summary statistics follow equations of their own.

- `single_index`: how hard a single-index problem is for online gradient descent: its information exponent and
  what follows from it.
- `sphere`: online gradient descent on the sphere for single-index models: the whole vector, its exact overlap
  chain, and the chain's mean hitting times without sampling.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
