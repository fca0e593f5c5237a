"""Propagation: what random weights do to a signal and to its gradient, at finite width and depth.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
