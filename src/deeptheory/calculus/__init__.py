"""Calculus: the tools of the trade, with bounds that are certain."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
