"""Finite networks: their tangent kernels, linearizations and random features.

- `features`: kernels of feature maps, the random-feature model, and the Gaussian laws of both before and after
  training.
- `first_layer`: two-layer networks of which the first layer is trained: outputs, gradient, Gram matrix, its limit,
  training.
- `function_space`: training with any loss in function space: the outputs are the state, the kernel is fixed.
- `linearization`: A network beside its own linearization, in the scalings that make it lazy and in those that do not.
- `structure`: gradients of a model in factored form: forward and backward factors of every weight instead of its
  Jacobian.
- `tangents`: empirical kernels of any differentiable model: tangent and output kernel, products, expansions, drift,
  spectrum.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
