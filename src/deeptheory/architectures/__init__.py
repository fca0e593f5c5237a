"""Architectures: convolutions, residual and normalised blocks, attention and what is built of them.

- `convolutional_networks`: a network from image to probability: filters, ReLU, pooling, a linear layer, a sigmoid.
- `convolutions`: convolutions of signals as integrals, sums, Toeplitz matrices and Fourier transforms.
- `feature_maps`: convolutions of images: many channels, strides, paddings, and the arithmetic of what comes out.
- `filters`: filters that answer to edges, and how gradient descent finds filters by itself.
- `normalizers`: batch and layer normalization as layers, with gain, shift and kept statistics.
- `pooling`: neighbourhoods summarized by their largest or mean value.
- `receptive_fields`: what an output sees, how many weights sharing saves, exact tests of equivariance.
- `residual`: the identity, or a projection, plus what is learned; bounds on the singular values of deep stacks.
- `resnets`: convolutional blocks, basic residual blocks, dense blocks, and ResNet9.
- `scalar_chains`: how a step in all layers of a chain of scalar weights couples them.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
