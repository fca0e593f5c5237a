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
- `margin_losses`: losses of the margin, and what the theorems on separable data ask of them.
- `margins`: separability and the largest margin in three norms, with certificates; shares of the loss.
- `steepest`: steepest descent in any norm, with a margin that it proves of itself on the way.
- `boosting`: AdaBoost, and a table of answers on which it misses the largest margin.
- `homogeneous`: normalized margin and first-order residual of homogeneous models.
- `homogeneous_training`: gradient flow and descent on them, with losses far below the smallest number.
- `circular`: linear networks of circular convolutions, and the largest margin for the ℓ1 norm of Fourier coefficients.
- `stationarity`: the conditions of Karush, Kuhn and Tucker at a point, for any constrained problem.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
