"""Architectures: convolutions, residual and normalised blocks, attention and what is built of them."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
