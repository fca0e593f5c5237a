"""Curvature of a loss: Hessian, Gauss–Newton, Fisher and gradient noise of any model, and sharpness along training.

- `density`: how the eigenvalues of a curvature are spread, its trace, its diagonal: estimates from random vectors, with
  errors.
- `edge_of_stability`: the largest Hessian eigenvalue of a loss, and how it moves while gradient descent trains.
- `eigenpairs`: largest and smallest eigenvalues of a curvature with their vectors, each to a stated residual.
- `operators`: second derivatives of a loss as matrices that are never written down: Hessian, Gauss–Newton, Fisher,
  gradient noise.

A curvature is called with a vector, so that other libraries take it as it is: matfree for functions of a matrix, lineax
(`FunctionLinearOperator`) or `jax.scipy.sparse.linalg.cg` for systems (A + λ)x = b. What they do not do is done here:
eigenpairs with restarts and a stop by residual, micro-batches, blocks by layer, error bars.
"""

from deeptheory.curvature.density import (
    diagonal as diagonal,
    spectral_density as spectral_density,
    trace as trace,
)
from deeptheory.curvature.eigenpairs import extreme_eigenpairs as extreme_eigenpairs
from deeptheory.curvature.operators import (
    blocks as blocks,
    fisher as fisher,
    gauss_newton as gauss_newton,
    gradient_noise as gradient_noise,
    hessian as hessian,
)
from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
