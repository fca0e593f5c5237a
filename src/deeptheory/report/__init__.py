"""Figures and pages made from runs. Reads runs, the catalogue and the books; nothing else knows of it."""

from deeptheory.report.assembly import write
from deeptheory.report.figures import figure
from deeptheory.report.notebook import run_html

__all__ = ["figure", "run_html", "write"]
