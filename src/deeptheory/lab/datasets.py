"""Evidence as labelled arrays: axes called by the claim's own words, with coordinates, units and descriptions."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deeptheory.formulas import lettered, readable, spelt_out
from deeptheory.lab.evidence import Evidence

if TYPE_CHECKING:
    import xarray

    from deeptheory.lab.outcome import Run

__all__ = ["Labelled", "averaged", "flat", "grouped", "labelled", "tree"]

TRIAL, SIZE = "trial", "size"
DESCRIBED = {
    "predicted": "what the statement predicts",
    "observed": "what was seen",
    "observed_error": "the standard error of the mean over trials",
    "left": "one side of the equality",
    "right": "its other side",
    "quantity": "what is bounded",
    "bound": "what it never exceeds",
    "failures": "how many trials failed",
    "trials": "how many trials there were",
    "at_most": "the probability of failure that is promised at most",
    "count": "how many trials it happened in",
    "ours": "what we compute",
    "printed": "what is printed",
    "differences": "an effect whose mean should be positive",
    "y": "what grows or shrinks along its axis",
    "ranks": "the predicted distribution function at the samples: uniform, if the law is right",
    "scale": "what deviations are measured by",
    "error": "what a solver inside may be off by",
    TRIAL: "independent repetitions",
    SIZE: "sizes along which a limit is approached",
}
RENAMED = {"size": "terms"}
"""How many numbers an identity adds up is no axis."""
NUMBERED = "fiub"


@dataclasses.dataclass
class Labelled:
    """Variables by name, each with the names of its axes; coordinates of axes by name; settings of the evidence."""

    variables: dict[str, tuple[list[str], np.ndarray]]
    coordinates: dict[str, np.ndarray]
    attributes: dict[str, Any]

    def dataset(self, symbols: Mapping[str, str] | None = None) -> "xarray.Dataset":
        """The same as xarray knows it; `symbols` are what the claim says of its letters."""
        import xarray

        said = {symbol.strip("\\ "): readable(meaning) for symbol, meaning in (symbols or {}).items()}
        unit = "ln" if self.attributes.get("log") else "1"
        variables = {
            name: (axes, array, _attributes(name, said, unit)) for name, (axes, array) in self.variables.items()
        }
        coordinates = {name: ([name], array, _attributes(name, said, "1")) for name, array in self.coordinates.items()}
        return xarray.Dataset(variables, coords=coordinates, attrs=self.attributes)


def labelled(piece: Evidence, settings: Mapping[str, Any] | None = None, axis: str = "x") -> Labelled:
    """The arrays of a piece of evidence.

    The points of a rate are called as the setting that lists the same values, or else `axis`.
    """
    kind = type(piece).__name__
    fields = {
        each.name: getattr(piece, each.name)
        for each in dataclasses.fields(piece)
        if each.name not in ("along", "aside", "links", "instance")
    }
    static = {each.name for each in dataclasses.fields(piece) if each.metadata.get("static")}
    arrays = {RENAMED.get(n, n): _plain(v) for n, v in fields.items() if n not in static and v is not None}
    attributes = {n: fields[n] for n in sorted(static) if isinstance(fields[n], (bool, int, float, str))}
    attributes = {"kind": kind, **{n: int(v) if isinstance(v, bool) else v for n, v in attributes.items()}}
    if "x" in arrays:
        points = arrays.pop("x")
        name = _listed(points, settings or {}) or (axis if axis not in ("y", TRIAL) else "x")
        axes = [name, TRIAL][: arrays["y"].ndim]
        return _repeated(Labelled({"y": (axes, arrays["y"])}, {name: points}, attributes), None)
    if kind == "Distribution":
        return Labelled({"ranks": (["sample"], arrays["ranks"])}, {}, attributes)
    if kind == "Counterexample":
        own = {name: _plain(value) for name, value in getattr(piece, "instance", {}).items()}
        return Labelled({name: (_own(name, array), array) for name, array in own.items()}, {}, attributes)
    for link, sides in getattr(piece, "links", {}).items():
        arrays |= {f"{link}: {side}": _plain(value) for side, value in zip(("smaller", "larger"), sides, strict=True)}
    along = dict(getattr(piece, "along", {}))
    found = _over_cells(arrays, along, attributes, sized=kind == "Law" and not fields["exact"])
    return _repeated(found, (settings or {}).get("trials"))


def _over_cells(
    arrays: dict[str, np.ndarray], along: Mapping[str, Any], attributes: dict[str, Any], *, sized: bool
) -> Labelled:
    """Arrays over the cells that `along` labels; trials are a last axis of theirs, sizes the first."""
    coordinates = {SIZE: arrays.pop("sizes")} if sized else {}
    repeated = next((name for name in ("observed", "differences") if name in arrays), None)
    if repeated is not None:
        shape = arrays[repeated].shape[int(sized) : -1]
    else:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values())) if _agree(arrays) else ()
    named = _axes(along, shape, taken={*arrays, TRIAL, *coordinates})
    names = list(named)
    variables: dict[str, tuple[list[str], np.ndarray]] = {}
    for name, array in arrays.items():
        if name == repeated:
            variables[name] = [SIZE] * sized + names + [TRIAL], array
        elif array.ndim == 0 and name in ("scale", "condition", "error", "terms"):
            attributes[name] = array.item()
        elif array.shape == shape[len(shape) - array.ndim :]:
            variables[name] = names[len(names) - array.ndim :], array
        elif array.ndim <= len(shape) and _agree({"": array, "cells": np.empty(shape)}):
            variables[name] = names, np.broadcast_to(array, shape)
        else:
            variables[name] = _own(name, array), array
    for (axis, name), length in zip(named.items(), shape, strict=True):
        if name in along and np.shape(along[name]) == (length,):
            coordinates[axis] = _plain(along[name])
    return Labelled(variables, coordinates, attributes)


def _repeated(found: Labelled, trials: int | None) -> Labelled:
    """Trials counted from 0; a last axis without a name that is as long as there are trials is theirs."""
    for name, (axes, array) in found.variables.items():
        if axes[-1:] == ["entry"] and array.shape[-1] == trials:
            found.variables[name] = [*axes[:-1], TRIAL], array
        if found.variables[name][0][-1:] == [TRIAL]:
            found.coordinates[TRIAL] = np.arange(array.shape[-1])
    return found


def averaged(found: Labelled) -> Labelled:
    """Means over trials in the place of trials, with their errors beside."""
    variables = {}
    for name, (axes, array) in found.variables.items():
        if axes[-1:] == [TRIAL]:
            variables[f"{name}_error"] = axes[:-1], array.std(-1, ddof=1) / np.sqrt(array.shape[-1])
            axes, array = axes[:-1], array.mean(-1)
        variables[name] = axes, array
    return Labelled(variables, found.coordinates, found.attributes)


def tree(
    run: "Run", symbols: Mapping[str, str] | None = None, says: str = "", axes: Mapping[str, str] | None = None
) -> "xarray.DataTree":
    """All evidence of a run: one group a piece; a piece without a name is the tree itself."""
    pieces = {}
    for name, piece in run.evidence.items():
        found = labelled(piece, run.parameters, (axes or {}).get(name, "x")).dataset(symbols)
        pieces[name] = found.assign_attrs(thinned=int(name in run.thinned))
    facts = {"claim": run.claim, "says": readable(says), "verdict": run.verdict, "reason": run.reason, "seed": run.seed}
    return grouped(pieces, facts | {name: str(value) for name, value in run.parameters.items()})


def grouped(pieces: Mapping[str, "xarray.Dataset"], attributes: Mapping[str, Any]) -> "xarray.DataTree":
    """Data sets by name as groups of a tree, the one without a name as its root."""
    import xarray

    root = pieces.get("", xarray.Dataset())
    groups = {f"/{name.replace('/', '∕')}": found for name, found in pieces.items() if name}
    return xarray.DataTree.from_dict({"/": root.assign_attrs({**root.attrs, **attributes}), **groups})


def flat(whole: "xarray.DataTree") -> "xarray.Dataset":
    """A tree as one data set, for files that know neither groups nor letters beyond ours.

    Variables, and axes that are not those of the root, are named by their piece.
    """
    import xarray

    root = whole.to_dataset()
    parts, taken = [root], set(map(str, root.variables))
    for piece, group in whole.children.items():
        part = group.to_dataset(inherit=False)
        names = {}
        for each in (*part.data_vars, *sorted(set(part.dims) - set(root.dims), key=str)):
            name = "_".join(re.findall("[A-Za-z0-9]+", spelt_out(f"{piece} {each}")))
            while name in taken:
                name += "_"
            taken.add(name)
            names[each] = name
        parts.append(part.rename(names).drop_attrs(deep=False))
    return xarray.merge(parts, combine_attrs="override")


def _attributes(name: str, symbols: Mapping[str, str], unit: str) -> dict[str, str]:
    described = symbols.get(name) or symbols.get(name.rstrip("s")) or DESCRIBED.get(name, "")
    return {"long_name": lettered(name), "units": unit, **({"description": described} if described else {})}


def _own(name: str, array: np.ndarray) -> list[str]:
    return [f"{name}_{axis}" for axis in range(array.ndim)]


def _axes(along: Mapping[str, Any], shape: Sequence[int], *, taken: set[str]) -> dict[str, str]:
    """The axes of the cells, in order, by what each is called: as its label is, unless something else is already."""
    labels = list(along)[: len(shape)]
    named = {f"{label} axis" if label in taken else label: label for label in labels}
    rest = len(shape) - len(named)
    return named | ({"entry": ""} if rest == 1 else {f"entry_{place}": "" for place in range(rest)})


def _listed(x: np.ndarray, settings: Mapping[str, Any]) -> str:
    """The setting that lists these values, in the singular; nothing if there is none."""
    values = x.tolist()
    same = (n for n, each in settings.items() if isinstance(each, (list, tuple)) and list(each) == values)
    name = next(same, "")
    return name.removesuffix("s") or name


def _agree(arrays: Mapping[str, np.ndarray]) -> bool:
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        return False
    return True


def _plain(value: Any) -> np.ndarray:
    """An array of numbers, or of words where they are none: fractions, names."""
    array = np.asarray(value)
    return array if array.dtype.kind in NUMBERED else array.astype(str)
