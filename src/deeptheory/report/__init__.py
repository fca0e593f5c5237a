"""Figures and pages made from runs. Reads runs, the catalogue and the books; nothing else knows of it."""

from deeptheory.report.figures import figure

__all__ = ["figure"]
