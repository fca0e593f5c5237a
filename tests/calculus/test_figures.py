"""The nine figures of lucchi chapter 1 as the claims draw them from their runs: what is drawn is right."""

from fractions import Fraction

import numpy as np
import pytest

from deeptheory.claims.calculus.constants import certified_constants
from deeptheory.claims.calculus.matrices import spans_traces_and_orders
from deeptheory.claims.calculus.probability import finite_probability_spaces
from deeptheory.claims.calculus.singular_values import singular_vectors
from deeptheory.claims.calculus.spaces import discs_and_kinds_of_spaces
from deeptheory.claims.calculus.topology import closures_and_covers
from deeptheory.lab.pictures import Graph, Panel, Row, Stack, Table
from deeptheory.report.figures import drawing_of

pytestmark = pytest.mark.item("L1.21")


def parts(picture):
    """The panels, graphs and tables of a picture, in turn."""
    return [part for each in picture.pictures for part in parts(each)] if isinstance(picture, Row | Stack) else [picture]


def drawn(claim, trials=None):
    """The parts of the picture of a run that holds."""
    run = claim.check() if trials is None else claim.check(trials=trials)
    assert run.verdict == "holds"
    return parts(drawing_of(claim.name)(run.evidence))


def named(panel, kind, name):
    """The points of all marks of a kind and a name, one row each."""
    assert isinstance(panel, Panel)
    found = [mark for mark in panel.marks if type(mark).__name__ == kind and mark.name == name]
    return np.concatenate([np.stack(np.broadcast_arrays(np.ravel(m.x), np.ravel(m.y)), 1) for m in found])
