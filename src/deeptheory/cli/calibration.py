"""Calibration, for authors: how reliably a claim holds and its controls fall over seeds, and what a run costs."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from deeptheory.lab.catalogue import Entry
from deeptheory.lab.run import Run

__all__ = ["calibrated"]


def calibrated(runs: Iterable[tuple[Entry, Run]]) -> list[dict[str, Any]]:
    """One line a claim: how many runs, how many hold, each control's refutations, resolution, seconds by cause."""
    groups: dict[str, list[Run]] = {}
    for entry, run in runs:
        groups.setdefault(entry.name, []).append(run)
    return [_line(name, group) for name, group in groups.items()]


def _line(name: str, group: list[Run]) -> dict[str, Any]:
    resolutions = [run.resolution for run in group if run.resolution is not None]
    controls = {
        control.name: sum(c.verdict == "refuted" for run in group for c in run.controls if c.name == control.name)
        for control in group[0].controls
    }
    seconds = {
        part: float(np.median([run.timing.get(part, 0.0) for run in group])) for part in ("import", "compile", "run")
    }
    first = max(group, key=lambda run: run.timing.get("compile", 0.0))
    return {
        "claim": name,
        "runs": len(group),
        "holds": sum(run.verdict == "holds" for run in group),
        "controls": controls,
        "resolution": [min(resolutions, default=None), max(resolutions, default=None)],
        "seconds": seconds,
        "first": {part: first.timing.get(part, 0.0) for part in ("import", "compile", "run")},
        "trouble": sorted({run.reason for run in group if run.verdict != "holds"})[:3],
    }
