"""Architectures: convolutions, residual and normalised blocks, attention and what is built of them.

- `attention_layers`: attention as a layer: parameter-free, with one shared matrix, with queries, keys and values,
  masked, with many heads.
- `convolutional_networks`: a network from image to probability: filters, ReLU, pooling, a linear layer, a sigmoid.
- `convolutions`: convolutions of signals as integrals, sums, Toeplitz matrices and Fourier transforms.
- `decoding`: what greedy, beam and exact search find in a model of sequences, and the laws that sampling draws from.
- `feature_maps`: convolutions of images: many channels, strides, paddings, and the arithmetic of what comes out.
- `filters`: filters that answer to edges, and how gradient descent finds filters by itself.
- `language_models`: a decoder-only language model in the shape of GPT-2, with a cache of keys and values.
- `listings`: programs printed in lucchi's chapter 10, run as printed and as corrected.
- `masked_language_models`: one encoder block again and again, in the shape of ALBERT, that fills in hidden tokens.
- `normalizers`: batch and layer normalization as layers, with gain, shift and kept statistics.
- `pooling`: neighbourhoods summarized by their largest or mean value.
- `pretrained`: weights from a local safetensors file, under the names of GPT-2.
- `receptive_fields`: what an output sees, how many weights sharing saves, exact tests of equivariance.
- `residual`: the identity, or a projection, plus what is learned; bounds on the singular values of deep stacks.
- `resnets`: convolutional blocks, basic residual blocks, dense blocks, and ResNet9.
- `scalar_chains`: how a step in all layers of a chain of scalar weights couples them.
- `token_training`: the loss of the tokens that are told, and Adam on it in one compiled loop.
- `tokenization`: byte-pair encoding, a vocabulary grown from bytes by merging the most frequent neighbours.
- `transformers`: encoder and decoder blocks, and positional encodings.
- `vision_transformers`: an image cut into patches, each a token.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
