"""Alignment: how the directions that stochastic descent follows meet the spectra of Hessians and gradients.

- `overlaps`: how far vectors and matrices live in a subspace, leading eigenspaces, outliers of a spectrum.
- `softmax_mixtures`: softmax regression on a mixture of Gaussian classes: draws, loss, exact expectations, dynamics.
- `test_matrices`: blocks of Hessian and second moment of the gradient for softmax, on test data and in expectation.
- `trajectories`: online descent with a ridge penalty; steps adapted to the gradients' leading eigenspace.
- `xor_networks`: the same blocks for a two-layer network on the XOR mixture, layer by layer.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
