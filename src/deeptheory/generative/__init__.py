"""Generative models: mixtures, variational bounds, flows, diffusions and adversarial games."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
