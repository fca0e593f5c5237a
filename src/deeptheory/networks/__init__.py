"""Networks: what they compute, how they are differentiated, and how many pieces they have.

- `from_scratch`: A ReLU classifier written out in NumPy, with its gradient by hand, and the best rule for two
  Gaussian classes.
- `mlp`: fully connected network in tangent-kernel parametrisation: standard normal weights, scales in the forward
  pass.
- `pieces`: affine pieces of one-input ReLU networks, counted exactly: breakpoints are propagated as rational numbers.
- `tent`: the tent map and its iterates: few nodes in depth, exponentially many pieces, far from every shallow
  network.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
