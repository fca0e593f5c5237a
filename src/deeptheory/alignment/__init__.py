"""Alignment: how the directions that stochastic descent follows meet the spectra of Hessians and gradients along the way."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
