"""Implicit bias: where the algorithm goes when the loss does not decide.

- `least_squares`: least squares by gradient descent, step by step in closed form: ½‖Xw − y‖² with more columns than
  rows or fewer.
- `mirror`: potentials, mirror descent, steepest descent in any norm, and the interpolator that each selects.
- `auditor`: which solution does an algorithm select, and which second problem does that solution solve?
- `paths`: the ℓ1 regularization path, least-angle regression and infinitesimal stagewise descent, breakpoint by
  breakpoint.
- `reparametrization`: gradient flow of w = G(θ): the metric it induces, and its mirror map or what stands in the way.
- `early_stopping`: the penalty that a number of steps amounts to.
- `separable`: where gradient descent goes on linearly separable data: the max-margin vector, slowly.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
