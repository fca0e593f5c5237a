"""Rows of the league by norms and margins. Biases are absorbed: one more input that is always 1."""

from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.generalization.league.network import ModelLayers
from deeptheory.generalization.league.table import Entry
from deeptheory.generalization.networks.all_layer_margin import all_layer_margin_bound, least_all_layer_margins
from deeptheory.generalization.networks.norm_bounds import (
    deciding,
    frobenius_product_bound,
    handbook_spectral_bound,
    neyshabur_bound,
    path_norm_bound,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.networks.norms import absorbed_biases, margin_loss, margins, row_group_norm

__all__ = ["margin_rows"]

BALANCED = "layer times c, another over c"
UNITS = f"{BALANCED}; units of the inputs"
ORDER = "order only: constant taken as 1, margin chosen with the data"
DECILES = np.linspace(0.05, 0.95, 10)


def margin_rows(
    found: ModelLayers | None, chain: Any, inputs: Any, outputs: Any, labels: Any, delta: float
) -> list[Entry]:
    """Margin bounds, each at the decile of the margins where it is smallest; `chain` are the outputs of the layers.

    It is None where they are not the model.
    """
    flat = np.asarray(inputs, np.result_type(inputs.dtype, np.float32)).reshape(len(labels), -1)
    layers = [] if found is None else found.matrices
    if found is not None and found.biased and found.in_order and not _lacking(found):
        layers, flat = absorbed_biases(found.matrices, found.biases), np.column_stack([flat, np.ones_like(flat[:, :1])])
    squares = np.sum(np.square(flat), axis=1, dtype=float)
    size, radius = float(np.sqrt(np.mean(squares))), float(np.sqrt(np.max(squares)))
    # Where the layers are the model, their own margins are read: the bounds are then about them and nothing else.
    values = margins(outputs if chain is None else chain, labels)
    tried = [float(g) for g in np.unique(np.quantile(values, DECILES)) if g > 0]
    n = len(labels)
    sure: dict[str, Any] = dict(size=size, samples=n, delta=delta)
    # One more input that is always 1 has a unit of its own.
    units = BALANCED if found is not None and found.biased else UNITS

    def row(
        name: str, where: str, invariant: str, bound: Callable[[float], float], *, missing: str = "", order: bool = True
    ) -> Entry:
        lacking = _lacking(found) or missing or ("" if tried else "no positive margins")
        if lacking:
            return Entry(name, where, None, (lacking,), invariant=invariant)
        unmet = (ORDER,) * order + _unmet(found, chain)
        value, margin = min((margin_loss(values, g) + bound(g), g) for g in tried)
        detail = f"margin {margin:.3g}, not reached by {margin_loss(values, margin):.1%} of the examples"
        return Entry(name, where, float(value), unmet, invariant=invariant, detail=(detail,) * (not order))

    same = "" if not layers or np.any(deciding(layers)[-1]) else "all outputs are the same"
    rows = [
        row(
            "Frobenius product",
            "Golowich et al. 2018, Maurer 2016",
            units,
            lambda g: frobenius_product_bound(layers, margin=g, **sure),
            missing=same,
            order=False,
        ),
        row(
            "path norm",
            "Neyshabur et al. 2015, Maurer 2016",
            "a unit's incoming weights times c, outgoing over c",
            lambda g: path_norm_bound(layers, margin=g, **sure),
            missing=same or ("" if found is not None and found.in_order else "needs layers in a chain"),
            order=False,
        ),
        row(
            "spectral with stable ranks",
            "arora Thm 5.5.6",
            units,
            lambda g: stable_rank_bound(layers, radius=radius, margin=g, samples=n),
        ),
        row(
            "spectral, per sample",
            "handbook 8.3.2",
            units,
            lambda g: handbook_spectral_bound(layers, size=size, margin=g, samples=n),
        ),
        row(
            "spectrally normalised",
            "handbook 8.3, Bartlett et al. 2017",
            units,
            lambda g: spectrally_normalized_bound(layers, margin=g, **sure),
        ),
        row(
            "PAC-Bayes margin",
            "handbook 8.3, Neyshabur et al. 2018",
            BALANCED,
            lambda g: neyshabur_bound(layers, radius=radius, margin=g, samples=n, delta=delta),
        ),
    ]
    return [*rows, _all_layers(found, layers, chain, flat, labels, values)]


def _lacking(found: ModelLayers | None) -> str:
    """Why norms cannot be read at all."""
    if found is None:
        return "needs layers"
    if not found.matrices:
        return "no linear layers found"
    return "" if all(np.any(matrix) for matrix in found.matrices) else "a layer is zero"


def _unmet(found: ModelLayers | None, chain: Any) -> tuple[str, ...]:
    """Why a bound for ReLU networks does not speak of this one."""
    if chain is not None:
        return ()
    assert found is not None
    unmet = (f"{found.outside:,} parameters outside the layers found",) if found.outside else ()
    if found.convolutions:
        return (*unmet, "a convolution is read by its patches; biases and the order of layers are not")
    return (*unmet, "the layers with ReLU between do not give the outputs of the model")


def _all_layers(
    found: ModelLayers | None, layers: list[Any], chain: Any, inputs: np.ndarray, labels: Any, values: np.ndarray
) -> Entry:
    named = ("all-layer margin", "handbook 8.3.3, Wei and Ma 2019")
    if lacking := _lacking(found):
        return Entry(*named, None, (lacking,), invariant=BALANCED)
    if chain is None:
        return Entry(*named, None, ("needs a ReLU network",), invariant=BALANCED)
    if np.min(values) <= 0:
        return Entry(*named, None, ("needs training error 0",), invariant=BALANCED)
    least = least_all_layer_margins(layers, inputs, labels)
    value = all_layer_margin_bound(least, capacity=sum(row_group_norm(matrix) for matrix in layers))
    return Entry(*named, value, ("order only, constant taken as 1",), invariant="nothing: layers are perturbed as one")
