"""Reasoning: in-context learning, chains of thought and their verifiers, as programs one can run."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
