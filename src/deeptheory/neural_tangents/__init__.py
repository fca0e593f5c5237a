"""A thin facade in the vocabulary of neural-tangents 0.6.5, over the kernels of this library."""

from deeptheory.neural_tangents import stax

__all__ = ["stax"]
