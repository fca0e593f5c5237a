"""How tight an inequality is cell by cell: one instance that attains a bound says nothing of the others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deeptheory.lab.evidence.saying import percent

__all__ = ["layered", "stratified"]


def stratified(shares: np.ndarray, along: Mapping[str, Any]) -> dict[str, Any] | None:
    """The median and the smallest tightness over the cells of the first axis; in each the best instance counts.

    The axis is called what `along` calls it, and the slackest cell by its label; without labels a cell is an instance.
    None where there are fewer than two cells to compare.
    """
    if shares.ndim == 0:
        return None
    cells = shares.reshape(len(shares), -1)
    told = ~np.all(np.isnan(cells), axis=1)
    if told.sum() < 2:
        return None
    best = np.nanmax(cells[told], axis=1)
    axis, labels = next(iter(along.items()), ("", ()))
    named = np.shape(labels) == (len(shares),)
    label = np.asarray(labels)[told][np.argmin(best)] if named else ""
    return {
        "by": axis if named else "instance",
        "cells": len(best),
        "median": float(np.median(best)),
        "smallest": float(np.min(best)),
        "where": f"{label:g}" if isinstance(label, (int, float, np.number)) else str(label),
    }


def layered(strata: Mapping[str, Any] | None, tightness: float) -> str:
    """The same in words, to be added to a reason that has named the tightest instance."""
    if strata is None:
        return ""
    if percent(strata["smallest"]) == percent(tightness):
        return f", and at every {strata['by']}" if strata["where"] else ", and on all others"
    if not strata["where"]:
        return f", {percent(strata['median'])} on the median one, {percent(strata['smallest'])} on the slackest"
    slackest = f"{percent(strata['smallest'])} at {strata['by']} {strata['where']}"
    return f"; by {strata['by']} the median is {percent(strata['median'])}, the least {slackest}"
