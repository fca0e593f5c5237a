"""Layers: a finite map each, and the law its covariances follow when channels grow without bound.

- `activations`: activations: elementwise functions, and covariances through their Gaussian integrals.
- `attention`: self-attention in the limit of many heads and channels (Hron et al.
- `combinators`: composition of layers: in a row, side by side, fanned out and in.
- `convolution`: convolutions: weights shared between positions, one set a position, and transposed.
- `dense`: random affine maps of channels: the layer that makes everything Gaussian.
- `graphs`: graph networks for `limit_kernel`: what a node hears, and the network whose tangent kernel is the GNTK.
- `layer`: what a layer is: a finite map and the law its covariances follow when channels grow without bound.
- `masks`: inputs with missing positions: sentences of different lengths, images with holes.
- `normalization`: layer normalization and dropout.
- `pooling`: pooling and flattening: linear maps of positions, without weights.
- `positions`: linear maps of positions that need no weights: contraction with a constant, resizing, indexing, graphs.
- `windows`: sliding windows: paddings, and sums over windows of covariances.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
