"""Implicit bias: where the algorithm goes when the loss does not decide.

- `least_squares`: least squares by gradient descent, step by step in closed form: ½‖Xw − y‖² with more columns than
  rows or fewer.
- `separable`: where gradient descent goes on linearly separable data: the max-margin vector, slowly.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
