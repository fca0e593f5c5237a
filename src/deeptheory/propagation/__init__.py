"""Propagation: what random weights do to a signal and to its gradients, at finite width and depth.

- `classifiers`: deep linear networks that end in a softmax: their layer gradients and a bound that holds weight by
  weight.
- `random_products`: products of random matrices: exact moments of a signal and of the gradients, at any widths, depth
  and variance.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
