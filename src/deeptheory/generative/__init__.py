"""Generative models: mixtures, variational bounds, flows, diffusions and adversarial games, with their densities exact where they have one."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
