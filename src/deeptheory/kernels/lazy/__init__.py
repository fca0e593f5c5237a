"""Lazy training: how far wide networks move, and what they learn meanwhile.

- `monitors`: how fast weights and activations of a wide network can move: the monitors of jagannath Lemma 8.8 and
  their bounds.
- `lazy_bounds`: how near a wide two-layer network stays to its limit kernel: concentration, movement, drift,
  eigenvalues.
- `linear_models`: lazy training: gradient flow that fits the data before its parameters, or its tangent kernel, have
  moved.
- `signed_network`: the two-layer network of jagannath 9.1: smooth activation, fixed signs, first layer trained; its
  lazy constants.
- `teachers`: what the tangent kernel of the first layer learns: label energies of teachers, noise, and what they
  promise.
- `training`: gradient descent on squared loss in full, all layers trained, and how far the tangent kernel moves
  meanwhile.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
