"""Attention: what self-attention layers compute, and how tokens move through them.

- `clusters`: tokens of a self-attention layer as particles on the sphere, and how they cluster.
- `equiangular`: equiangular tokens under self-attention: the whole flow closes on their one common overlap, solved in
  closed form.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
