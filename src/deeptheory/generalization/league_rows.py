"""Rows of the league that read the trained network itself: its bits, its dimension, its norms and margins."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.generalization.all_layer_margin import all_layer_margin_bound, least_all_layer_margins
from deeptheory.generalization.description_length import occam_bound
from deeptheory.generalization.league_entries import Entry
from deeptheory.generalization.model_layers import ModelLayers
from deeptheory.generalization.norm_bounds import (
    frobenius_product_bound,
    handbook_spectral_bound,
    linear_margin_bound,
    neyshabur_bound,
    path_norm_bound,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.norms import margin_loss, margins, row_group_norm
from deeptheory.generalization.vc_bounds import piecewise_linear_dimension, sauer_deviation

__all__ = ["counting_rows", "margin_rows", "same_outputs"]

BALANCED = "layer times c, another over c"
UNITS = f"{BALANCED}; units of the inputs"
ORDER = "order only: constant taken as 1, margin chosen with the data"
DECILES = np.linspace(0.05, 0.95, 10)


def same_outputs(chain: Float[np.ndarray, "n k"] | None, outputs: Float[np.ndarray, "n k"]) -> bool:
    """Whether the layers, one after the other, are the model on these inputs: its answers and, to rounding, outputs."""
    if chain is None or chain.shape != outputs.shape:
        return False
    close = np.allclose(chain, outputs, rtol=1e-3, atol=1e-3 * float(np.max(np.abs(outputs))))
    return close and bool(np.all(np.argmax(chain, axis=1) == np.argmax(outputs, axis=1)))


def counting_rows(
    found: ModelLayers | None, error: float, n: int, classes: int, delta: float, *, complete: bool, chained: bool
) -> list[Entry]:
    """Bounds that count bits and parameters; `complete` says that all of the model was found, `chained` its shape."""
    occam, vc = ("Occam, bits as stored", "arora Thm 5.2.1"), ("VC dimension", "lucchi 8.3")
    if found is None:
        return [Entry(*occam, None, ("needs layers",)), Entry(*vc, None, ("needs layers",))]
    kept = "the values of the parameters"
    partial = () if complete or chained else ("the layers passed may not be all of the model",)
    of = "the network" if complete else "the ReLU network of the layers passed"
    bits = Entry(*occam, float(error + occam_bound(found.bits, n, delta)), partial, of=of, invariant=kept)
    if not found.matrices:
        return [bits, Entry(*vc, None, ("no linear layers found",))]
    if chained and classes == 2 and len(found.matrices) == 1:
        # Half-spaces through the origin shatter as many points as there are inputs, with a bias one more.
        dimension, unmet = found.matrices[0].shape[1] + (found.biases[0] is not None), ()
    else:
        dimension = piecewise_linear_dimension(max(found.parameters, 2), len(found.matrices))
        unmet = (*partial, "order W·L·log W only, constant taken as 1") + (("more than two classes",) * (classes > 2))
    capacity = float(error + sauer_deviation(n, dimension, delta))
    return [bits, Entry(*vc, capacity, unmet, of=of, invariant=kept)]


def margin_rows(
    found: ModelLayers | None, inputs: Any, outputs: Any, labels: Any, delta: float, *, chained: bool
) -> list[Entry]:
    """Margin bounds, each at the decile of the margins where it is smallest."""
    flat = np.asarray(inputs, float).reshape(len(labels), -1)
    size, radius = float(np.sqrt(np.mean(np.sum(flat**2, axis=1)))), float(np.max(np.linalg.norm(flat, axis=1)))
    chain = found.chain(inputs) if found is not None and chained else None
    # Where the layers are the model, their own margins are read: the bounds are then about them and nothing else.
    values = margins(outputs if chain is None else chain, labels)
    tried = [float(g) for g in np.quantile(values, DECILES) if g > 0]
    classes, n = np.shape(outputs)[1], len(labels)
    layers = [] if found is None else found.matrices
    sure: dict[str, Any] = dict(size=size, samples=n, delta=delta)

    def row(
        name: str, where: str, invariant: str, bound: Callable[[float], float], *, missing: str = "", order: bool = True
    ) -> Entry:
        lacking = _lacking(found) or missing or ("" if tried else "no positive margins")
        if lacking:
            return Entry(name, where, None, (lacking,), invariant=invariant)
        unmet = (ORDER,) * order + _unmet(found, chain)
        value = min(margin_loss(values, g) + bound(g) for g in tried)
        return Entry(name, where, float(value), unmet, invariant=invariant)

    two, scalar = ("" if classes == 2 else "needs two classes"), layers
    if layers and not two:
        two = "" if len(layers[-1]) == 2 else "the last layer found does not give the two outputs"
        # The one output that decides between two classes.
        scalar = [*layers[:-1], layers[-1][1:] - layers[-1][:1]]
        two = two if np.any(scalar[-1]) else "the two outputs are the same"
    rows = [
        row(
            "Rademacher, linear class",
            "lucchi Lemma 63",
            "units of the inputs",
            lambda g: linear_margin_bound(scalar, margin=g, **sure),
            missing=two or ("" if len(layers) == 1 else "needs a linear model"),
            order=False,
        ),
        row(
            "Frobenius product",
            "Golowich et al. 2018",
            UNITS,
            lambda g: frobenius_product_bound(scalar, margin=g, **sure),
            missing=two,
            order=False,
        ),
        row(
            "path norm",
            "Neyshabur et al. 2015",
            "a unit's incoming weights times c, outgoing over c; units of the inputs",
            lambda g: path_norm_bound(scalar, margin=g, **sure),
            missing=two or ("" if found is not None and found.in_order else "needs layers in a chain"),
            order=False,
        ),
        row(
            "spectral with stable ranks",
            "arora Thm 5.5.6",
            UNITS,
            lambda g: stable_rank_bound(layers, radius=radius, margin=g, samples=n),
        ),
        row(
            "spectral, per sample",
            "handbook 8.3.2",
            UNITS,
            lambda g: handbook_spectral_bound(layers, size=size, margin=g, samples=n),
        ),
        row(
            "spectrally normalised",
            "handbook 8.3, Bartlett et al. 2017",
            UNITS,
            lambda g: spectrally_normalized_bound(layers, margin=g, **sure),
        ),
        row(
            "PAC-Bayes margin",
            "handbook 8.3, Neyshabur et al. 2018",
            BALANCED,
            lambda g: neyshabur_bound(layers, radius=radius, margin=g, samples=n, delta=delta),
        ),
    ]
    return [*rows, _all_layers(found, chain, flat, labels, values)]


def _lacking(found: ModelLayers | None) -> str:
    """Why norms cannot be read at all."""
    if found is None:
        return "needs layers"
    if not found.matrices:
        return "no linear layers found"
    return "" if all(np.any(matrix) for matrix in found.matrices) else "a layer is zero"


def _unmet(found: ModelLayers | None, chain: Any) -> tuple[str, ...]:
    """Why a bound for bias-free ReLU networks does not speak of this one."""
    assert found is not None
    unmet = ("biases are not zero",) if found.biased else ()
    if chain is not None:
        return unmet
    if found.outside:
        unmet += (f"{found.outside:,} parameters outside the layers found",)
    if found.convolutions:
        return (*unmet, "a convolution is read by its patches; the order of layers is not checked")
    return (*unmet, "the layers with ReLU between do not give the outputs of the model")


def _all_layers(found: ModelLayers | None, chain: Any, inputs: np.ndarray, labels: Any, values: np.ndarray) -> Entry:
    named = ("all-layer margin", "handbook 8.3.3, Wei and Ma 2019")
    if lacking := _lacking(found):
        return Entry(*named, None, (lacking,), invariant=BALANCED)
    assert found is not None
    if chain is None or found.biased:
        return Entry(*named, None, ("needs a ReLU network without biases",), invariant=BALANCED)
    if np.min(values) <= 0:
        return Entry(*named, None, ("needs training error 0",), invariant=BALANCED)
    least = least_all_layer_margins(found.matrices, inputs, labels)
    value = all_layer_margin_bound(least, capacity=sum(row_group_norm(matrix) for matrix in found.matrices))
    return Entry(*named, value, ("order only, constant taken as 1",), invariant="nothing: layers are perturbed as one")
