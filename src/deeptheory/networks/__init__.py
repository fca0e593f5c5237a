"""Networks: what they compute, how they are differentiated, and how many pieces they have.

- `activations`: units φ(x·θ): activations with slopes, ridge functions, the derivatives of the sigmoid.
- `autoencoders`: linear autoencoders: loss, gradient, and the best one, which truncates the data's SVD.
- `computation_graphs`: graphs without cycles: what every node computes, in which layer, and what moves when one is
  clamped.
- `from_scratch`: A ReLU classifier written out in NumPy, with its gradient by hand, and the best rule for two
  Gaussian classes.
- `linear_maps`: linear and affine layers: superposition, the matrix of a map, deep linear networks as one layer.
- `logit_losses`: slopes in closed form of softmax with cross-entropy, and the sigmoid perceptron with squared loss.
- `mlp`: fully connected network in tangent-kernel parametrisation: standard normal weights, scales in the forward
  pass.
- `operations`: what one node of a graph may do, and the message that it sends to each of its inputs.
- `pieces`: affine pieces of one-input ReLU networks, counted exactly: breakpoints are propagated as rational numbers.
- `recurrences`: shared weights and time: tied leaves, networks with loops unrolled, backpropagation through time.
- `reverse_mode`: backpropagation as messages that can be watched, beside slower ways, with their costs; the gradient as
  a graph, and products with the Hessian.
- `rings`: two rings around each other, and coordinates in which a straight line parts them.
- `tent`: the tent map and its iterates: few nodes in depth, exponentially many pieces, far from every shallow
  network.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
