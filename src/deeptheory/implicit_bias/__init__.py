"""Implicit bias: where the algorithm goes when the loss does not decide.

- `least_squares`: least squares by gradient descent, step by step in closed form: ½‖Xw − y‖² with more columns than
  rows or fewer.
- `potentials`: norms, entropies and other convex functions that are a geometry for descent.
- `mirror`: mirror descent, steepest descent in any norm, and the interpolator that each selects.
- `path_geometry`: path-SGD, which does not see how hidden units are scaled.
- `auditor`: which solution does an algorithm select, and which second problem does that solution solve?
- `nuclear`: the matrix of least nuclear norm that fits its measurements, and a certificate that it is.
- `paths`: the ℓ1 regularization path, least-angle regression and infinitesimal stagewise descent, breakpoint by
  breakpoint.
- `reparametrization`: gradient flow of w = G(θ): the metric it induces, and its mirror map or what stands in the way.
- `embeddings`: the other way round: a potential given, a parametrization made for it, and how many parameters it takes.
- `early_stopping`: the penalty that a number of steps amounts to.
- `separable`: where gradient descent goes on linearly separable data: the max-margin vector, slowly.
- `assumptions`: what the theorems on separable data ask of a loss of the margin, looked at on a loss.
- `margins`: separability and the largest margin in any ℓₚ norm, with certificates; shares of the loss.
- `steepest`: steepest descent in any norm, with a margin that it proves of itself on the way.
- `boosting`: AdaBoost, and a table of answers on which it misses the largest margin.
- `homogeneous`: normalized margin and first-order residual of homogeneous models.
- `homogeneous_training`: gradient flow and descent on them, with losses far below the smallest number.
- `circular`: linear networks of circular convolutions, and the largest margin for the ℓ1 norm of Fourier coefficients.
- `stationarity`: the conditions of Karush, Kuhn and Tucker at a point, for any constrained problem.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
