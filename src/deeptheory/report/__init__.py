"""Figures and pages made from runs. Reads runs, the catalogue and the books; nothing else knows of it."""

from typing import TYPE_CHECKING

from deeptheory.foundations.packages import promised

if TYPE_CHECKING:
    from deeptheory.report.assembly import write as write
    from deeptheory.report.figures import figure as figure
    from deeptheory.report.notebook import run_html as run_html

__getattr__, __dir__, __all__ = promised(__name__, __file__)
