"""Calibration, for authors: how reliably a claim holds and its controls fall over seeds, and what a run costs."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from deeptheory.lab.entries import Entry
from deeptheory.lab.outcome import Run

__all__ = ["calibrated"]


PARTS = ("import", "compile", "run")


def calibrated(runs: Iterable[tuple[Entry, Run]], failures: Iterable[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """One line a claim: how many runs, how many hold, each control's refutations, resolution, seconds by cause.

    `failures` are runs that came to nothing: their `claim`, `seed` and `reason`.
    """
    groups: dict[str, list[Run]] = {}
    failed: dict[str, list[dict[str, Any]]] = {}
    for entry, run in runs:
        groups.setdefault(entry.name, []).append(run)
    for failure in failures:
        failed.setdefault(failure["claim"], []).append({name: failure[name] for name in ("seed", "reason")})
    names = dict.fromkeys([*groups, *failed])
    return [{**_line(name, groups.get(name, [])), "failed": failed.get(name, [])} for name in names]


def _line(name: str, group: list[Run]) -> dict[str, Any]:
    resolutions = [run.resolution for run in group if run.resolution is not None]
    controls = {
        control.name: sum(c.verdict == "refuted" for run in group for c in run.controls if c.name == control.name)
        for run in group[:1]
        for control in run.controls
    }
    timings = [run.timing for run in group] or [{}]
    first = max(timings, key=lambda timing: timing.get("compile", 0.0))
    return {
        "claim": name,
        "runs": len(group),
        "holds": sum(run.verdict == "holds" for run in group),
        "controls": controls,
        "resolution": [min(resolutions, default=None), max(resolutions, default=None)],
        "seconds": {part: float(np.median([timing.get(part, 0.0) for timing in timings])) for part in PARTS},
        "first": {part: first.get(part, 0.0) for part in PARTS},
        "trouble": sorted({run.reason for run in group if run.verdict != "holds"})[:3],
    }
