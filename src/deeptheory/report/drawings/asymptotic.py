"""Figures of evidence about growth: rates, limits, bounded quantities."""

from typing import Any

import numpy as np

from deeptheory.lab.evidence import Bounded, Limit, Rate, intervals
from deeptheory.lab.evidence.asymptotic import local_exponents
from deeptheory.lab.evidence.saying import power
from deeptheory.report.drawings.canvas import (
    OBSERVED,
    PREDICTED,
    RIVAL,
    Drawn,
    Spec,
    band,
    by_word,
    labels,
    mark,
    number,
    panel,
    scale,
    stacked,
    text,
    tips,
    word,
)
from deeptheory.report.drawings.compared import DOT
from deeptheory.report.drawings.values import Names, finite, rows, spread

__all__ = ["bounded", "limit", "rate"]

JOINED = {"color": OBSERVED, "strokeWidth": 1.5, "point": {"filled": True, "size": 45, "color": OBSERVED}}
DASHES = ([6, 3], [2, 2], [8, 3, 2, 3], [4, 4])


def rate(piece: Rate, level: float, names: Names) -> Drawn:
    """Log–log values with the predicted slope and its rivals, over the local exponents."""
    rivals = [float(each) for each in piece.rivals]
    drawn = exponents(piece.x, piece.y, float(piece.exponent), rivals, piece.resolution, level, names)
    rival = "; dashed, the slopes of its rivals" if rivals else ""
    caption = (
        f"Observed values against {names.x} on logarithmic axes, with a line of the predicted slope "
        f"{power(piece.exponent)} through the last{rival}. Below: the exponent between neighbouring points, and the "
        f"band of ±{piece.resolution:g} around the prediction."
    )
    return Drawn(drawn, caption)


def limit(piece: Limit, level: float, names: Names) -> Drawn:
    """Log–log distances with the slope they must at least have, over the local exponents."""
    names = names._replace(x="size") if names.x == Names().x else names
    drawn = exponents(piece.x, piece.y, -float(piece.order), [], piece.resolution, level, names, one_sided=True)
    caption = (
        "Distances on logarithmic axes; they must fall at least like the line, size to the power "
        f"−{power(piece.order)}. Below: the exponent between neighbouring points, which must end in the grey region."
    )
    return Drawn(drawn, caption)


def summarised(y: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half-width at each point; no width without trials."""
    y = np.asarray(y, float)
    if y.ndim < 2 or y.shape[1] < 2:
        return np.ravel(y), np.zeros(y.size)
    middle, _, width = intervals.mean(y, level / len(y))
    return middle, width


def exponents(
    x: Any,
    y: Any,
    exponent: float,
    rivals: list[float],
    resolution: float,
    level: float,
    names: Names,
    *,
    one_sided: bool = False,
) -> Spec:
    """The two panels that rates and limits share."""
    x = np.asarray(x, float)
    middle, width = summarised(y, level)
    good = (x > 0) & (middle > 0) & np.isfinite(middle) & np.isfinite(width)
    x, middle, width = x[good], middle[good], width[good]
    if len(x) < 2:
        return text(["an exponent needs positive numbers at two points or more"])
    slopes = {"predicted": exponent} | {f"exponent {power(rival)}".replace("-", "−"): rival for rival in rivals}
    colours = {"observed": OBSERVED, "predicted": PREDICTED} | {name: RIVAL for name in list(slopes)[1:]}
    dashes = {"domain": list(colours), "range": [[1, 0], [1, 0], *(DASHES * 3)[: len(rivals)]]}
    dashed = word("word", scale=dashes, title=None, legend={"symbolType": "stroke", "symbolSize": 300})
    plain = {**dashed, "legend": None}
    ends = np.asarray([x[0], x[-1]])
    guides = rows(
        x=np.tile(ends, len(slopes)),
        y=np.concatenate([middle[-1] * (ends / x[-1]) ** slope for slope in slopes.values()]),
        word=np.repeat(list(slopes), 2),
    )
    low = np.maximum(middle - width, middle / 3)
    across = {"scale": scale(x, log=True, pad=0.03)}
    tall = scale([*low, *(middle + width), *finite([guide["y"] for guide in guides])], log=True)
    above = number("x", axis={"labels": False, "title": None, "grid": False}, **across)
    top = panel(
        rows(x=x, y=middle, low=low, high=middle + width, word="observed"),
        mark(
            "line",
            {"strokeWidth": 2, "clip": True},
            guides,
            x=above,
            y=number("y", scale=tall),
            color=by_word("word", colours, titled=True),
            strokeDash=dashed,
        ),
        mark("rule", {"color": OBSERVED, "strokeWidth": 2}, x=above, y=number("low", scale=tall), y2={"field": "high"}),
        mark(
            "point",
            {**DOT, "size": 60},
            x=above,
            y=number("y", scale=tall, axis=labels(names.value, tall)),
            color=by_word("word", colours, titled=True),
            tooltip=tips({"x": names.x, "y": names.value}),
        ),
        height=260,
    )
    local = local_exponents(x, middle)
    floor = min(exponent - resolution, float(local.min())) - 0.2
    shown = scale(
        [*local, *([floor] if one_sided else [exponent - resolution]), exponent + resolution, *rivals], log=False
    )
    least = shown["domain"][0] if one_sided else exponent - resolution
    rules = rows(slope=list(slopes.values()), word=list(slopes))
    vertical = number("slope", scale=shown, axis=labels("exponent between neighbours", shown, ticks=4))
    below = panel(
        rows(x=np.sqrt(x[1:] * x[:-1]), slope=local),
        band("y", least, exponent + resolution, shown),
        mark(
            "rule",
            {"strokeWidth": 1.5},
            rules,
            y=vertical,
            color=by_word("word", colours, legend=False),
            strokeDash=plain,
        ),
        mark(
            "line",
            JOINED,
            x=number("x", axis=labels(names.x, across["scale"], grid=False), **across),
            y=vertical,
            tooltip=tips({"slope": "local exponent"}),
        ),
        height=120,
    )
    return stacked(top, below)


def bounded(piece: Bounded, level: float, names: Names) -> Drawn:
    """The values along x, and how fast their successive differences shrink."""
    x = np.asarray(piece.x, float)
    middle, width = summarised(piece.y, level)
    log, noisy = spread(x), np.ndim(piece.y) == 2
    steps = np.abs(np.diff(middle))
    kept = np.isfinite(steps) & (steps > 0)
    alone = noisy or not kept.any()
    across = {"scale": scale(x, log=log, pad=0.03)}
    labelled = labels(names.x, across["scale"], grid=False)
    place = number("x", axis=labelled if alone else {"labels": False, "title": None, "grid": False}, **across)
    covered = scale([*(middle - width), *(middle + width), 0.0], log=False)
    value = {"scale": covered, "axis": labels(names.value, covered)}
    tooltip = tips({"x": names.x, "y": names.value})
    top = panel(
        rows(x=x, y=middle, low=middle - width, high=middle + width),
        mark("rule", {"color": OBSERVED, "strokeWidth": 2}, x=place, y=number("low", **value), y2={"field": "high"}),
        mark("line", JOINED, x=place, y=number("y", **value), tooltip=tooltip),
        height=220,
    )
    if noisy:
        limit = f"{100 * piece.resolution:g} % an e-fold of x"
        return Drawn(top, f"Values with their intervals; those of a bounded quantity have no trend beyond {limit}.")
    if alone:
        return Drawn(top, "Values that stay the same to rounding.")
    heights = scale(steps[kept], log=True)
    guide = rows(x=x[1:], y=steps[kept][0] * 0.7 ** np.arange(len(steps)))
    vertical = number("y", scale=heights, axis=labels("successive differences", heights))
    across_below = number("x", axis=labelled, **across)
    below = panel(
        rows(x=x[1:][kept], y=steps[kept]),
        mark("line", {"color": PREDICTED, "strokeWidth": 1.5, "clip": True}, guide, x=across_below, y=vertical),
        mark("line", JOINED, x=across_below, y=vertical, tooltip=tooltip),
        height=120,
    )
    caption = (
        "Values as x grows, and below their successive differences: for a bounded quantity they must shrink at least "
        "as fast as the line (a factor 0.7 a step); those of a logarithm would not shrink."
    )
    return Drawn(stacked(top, below), caption)
