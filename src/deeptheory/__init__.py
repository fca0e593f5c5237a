"""Deep-learning theory you can run."""

from typing import TYPE_CHECKING

from deeptheory.foundations.packages import promised
from deeptheory.lab.faces import shown_by

if TYPE_CHECKING:
    from deeptheory import (
        alignment as alignment,
        approximation as approximation,
        architectures as architectures,
        attention as attention,
        attribution as attribution,
        calculus as calculus,
        curvature as curvature,
        data as data,
        diffusions as diffusions,
        dynamics as dynamics,
        generalization as generalization,
        generative as generative,
        graphs as graphs,
        implicit_bias as implicit_bias,
        kernels as kernels,
        landscapes as landscapes,
        language as language,
        networks as networks,
        neural_tangents as neural_tangents,
        normalization as normalization,
        optimization as optimization,
        propagation as propagation,
        reasoning as reasoning,
        regularization as regularization,
        robustness as robustness,
        scaling as scaling,
        skills as skills,
        spectra as spectra,
    )
    from deeptheory.api import Runs as Runs, check as check, claim as claim
    from deeptheory.finding import find as find
    from deeptheory.network_bounds import league as league
    from deeptheory.phase_diagrams import phase_diagram as phase_diagram

__version__ = "0.1.0"
# `import deeptheory` costs nothing, and neither do its rooms until they are entered.
__getattr__, __dir__, __all__ = promised(__name__, __file__)
shown_by(figure="deeptheory.report.figures:figure", html="deeptheory.report.notebook:run_html")
