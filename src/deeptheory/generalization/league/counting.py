"""Rows of the league that count: errors on held-out data, bits, dimension."""

from deeptheory.foundations.binomial import clopper_pearson_upper
from deeptheory.generalization.capacity.finite_classes import union_deviation
from deeptheory.generalization.capacity.vc_bounds import piecewise_linear_dimension, sauer_deviation
from deeptheory.generalization.league.network import ModelLayers, Network
from deeptheory.generalization.league.table import Entry
from deeptheory.generalization.pac_bayes.description_length import occam_bound

__all__ = ["counting_rows", "held_out_row", "one_function_row"]

PREDICTIONS = "anything that keeps the predictions"
VALUES = "the values of the parameters"


def held_out_row(errors: int, count: int, repeated: int, delta: float) -> Entry:
    """The exact binomial limit from examples that training has not seen."""
    unmet = (f"{repeated:,} of the test inputs are training inputs",) if repeated else ()
    value = float(clopper_pearson_upper(errors, count, delta))
    detail = (f"{errors:,} errors among {count:,}",)
    return Entry(
        "hold-out, exact binomial", "arora Ch. 1, exact tail", value, unmet, invariant=PREDICTIONS, detail=detail
    )


def one_function_row(error: float, n: int, delta: float) -> Entry:
    """What the training error would prove of a network that it had not chosen."""
    value = float(error + union_deviation(n, 1, delta, sides=1))
    unmet = ("the network was chosen with these data",)
    return Entry("Hoeffding, one function", "lucchi 8.1", value, unmet, invariant=PREDICTIONS)


def counting_rows(
    network: Network, found: ModelLayers | None, error: float, n: int, classes: int, delta: float, *, chained: bool
) -> list[Entry]:
    """Bounds that count bits and parameters; `chained` says that the layers found are the whole model."""
    occam, vc = ("Occam, bits as stored", "arora Thm 5.2.1"), ("VC dimension", "lucchi 8.3")
    complete = network.tree is not None
    partial = () if complete or chained else ("the layers passed may not be all of the model",)
    if found is None and not complete:
        bits = Entry(*occam, None, ("needs parameters or layers",))
    else:
        stored = network.bits if found is None else found.bits
        bits = Entry(*occam, float(error + occam_bound(stored, n, delta)), partial, of=network.of, invariant=VALUES)
    if found is None or not found.matrices:
        return [bits, Entry(*vc, None, ("needs layers" if found is None else "no linear layers found",))]
    if chained and classes == 2 and len(found.matrices) == 1:
        # Half-spaces through the origin shatter as many points as there are inputs, with a bias one more.
        dimension, unmet = found.matrices[0].shape[1] + found.biased, ()
    else:
        dimension = piecewise_linear_dimension(max(found.parameters, 2), len(found.matrices))
        unmet = (*partial, "order W·L·log W only, constant taken as 1") + (("more than two classes",) * (classes > 2))
    capacity = float(error + sauer_deviation(n, dimension, delta))
    return [bits, Entry(*vc, capacity, unmet, of=network.of, invariant=VALUES)]
