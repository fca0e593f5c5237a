"""Approximation: what networks can represent, with how many neurons, and with which certainty."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
