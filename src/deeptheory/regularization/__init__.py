"""Regularization, explicit and implicit: what a way of training penalises.

- `dropout`: dropout in matrix sensing: what it penalises, the factors that make the penalty least, the optimum it
  selects.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
