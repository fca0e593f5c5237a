"""Alignment: how stochastic descent turns into the outlier directions of its Hessian."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
