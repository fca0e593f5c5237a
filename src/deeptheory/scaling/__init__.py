"""Scaling laws: power laws of the loss in parameters, data and compute, fitted with intervals and spent well."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
