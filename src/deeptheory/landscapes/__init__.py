"""Landscapes: critical points found, classified and, where they can be, enumerated with their Morse index.

- `convexity`: convexity and what may stand in for it: gaps of chords and tangents, and the constants of three relaxed
  notions.
- `critical_points`: critical points of any function: found, told apart, classified by the Hessian, and by the
  definition where it fails.
- `factorization`: symmetric matrix factorization, ¼‖M − XXᵀ‖², with its top eigenvector as the case of one column.
- `linear_flows`: gradient flow of deep linear networks: what it conserves, and how the product moves.
- `linear_networks`: linear networks of any depth, squared loss: gradients, normal equations, the critical points of two
  matrices.
- `matrix_sensing`: a matrix seen through measurements: when the landscape of its factor stays kind, and how it moves.
- `near_initialization`: a shallow network near its initial weights: its linearization, and how far it can be from it.
- `obstacles`: the obstacles to descent in their simplest form: a spurious minimum, a saddle, a flat region.
- `plateaus`: how long gradient flow waits at the degenerate saddle of a deep linear network.
- `random_landscapes`: how often a critical point has each index, exactly, for random matrices and Gaussian fields.
- `relu_students`: students of ReLU teachers: the population loss in closed form, whose spurious minima gradient descent
  does reach.
- `single_neuron`: a single neuron, or generalized linear model: its squared loss, what its gradient points to, and a
  convex surrogate.
- `symmetry`: symmetric landscapes: sums of neurons, the orbit of a minimum, its average, and the pass between two
  minima.
- `tensor_decomposition`: orthogonal tensors of order four on the sphere: all critical points, and descent online.
"""

from deeptheory.foundations.packages import submodules
from deeptheory.landscapes.critical_points import (
    find_critical_points as find_critical_points,
    inertia as inertia,
    kind_of_point as kind_of_point,
    least_curvature as least_curvature,
)
from deeptheory.landscapes.factorization import factorization_critical_points as factorization_critical_points
from deeptheory.landscapes.linear_networks import bottleneck_critical_points as bottleneck_critical_points

__getattr__ = submodules(__name__)
