"""Architectures: convolutions, residual and normalised blocks, attention and what is built of them.

- `attention_layers`: attention as a layer: parameter-free, with one shared matrix, with queries, keys and values,
  masked, with many heads.
- `decoding`: what greedy, beam and exact search find in a model of sequences, and the laws that sampling draws from.
- `language_models`: a decoder-only language model in the shape of GPT-2, with a cache of keys and values.
- `listings`: programs printed in lucchi's chapter 10, run as printed and as corrected.
- `pretrained`: weights from a local safetensors file, under the names of GPT-2.
- `tokenization`: byte-pair encoding, a vocabulary grown from bytes by merging the most frequent neighbours.
- `transformers`: encoder and decoder blocks, and positional encodings.
- `vision_transformers`: an image cut into patches, each a token.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
