"""Figures of evidence with chance in it: means, failure rates, shares, distributions, trends."""

from typing import Any

import numpy as np

from deeptheory.lab.evidence import Chance, Distribution, Law, Share, Trend, intervals
from deeptheory.lab.evidence.saying import power
from deeptheory.report.drawings.canvas import (
    BAND,
    INK,
    OBSERVED,
    PREDICTED,
    SERIES,
    Drawn,
    Spec,
    band,
    by_word,
    labels,
    line_at,
    mark,
    number,
    panel,
    scale,
    stacked,
    text,
    tips,
    word,
)
from deeptheory.report.drawings.compared import DOT, Comparison
from deeptheory.report.drawings.values import Names, axes, entry, finite, rows, thin

__all__ = ["chance", "distribution", "law", "share", "trend"]

LINES = 6
"""How many extrapolations one panel shows."""


def law(piece: Law, level: float, names: Names) -> Drawn:
    """Observed means with the interval of the verdict beside the predicted ones; limits with their extrapolation."""
    observed = np.asarray(piece.observed, float)
    if observed.ndim == 0 or observed.shape[-1] < 2:
        return Drawn.said(["a mean needs more than one trial"], "Too few trials to draw.")
    middle, width, _ = piece.estimate(level)
    predicted = np.broadcast_to(np.asarray(piece.predicted, float), np.shape(middle))
    unit = np.abs(
        predicted if piece.scale is None else np.broadcast_to(np.asarray(piece.scale, float), np.shape(middle))
    )
    found = Comparison(
        middle,
        predicted,
        piece.along,
        unit,
        low=middle - width,
        high=middle + width,
        band=piece.resolution * unit,
        title=names.value,
    )
    percent = f"{100 * piece.resolution:g} %"
    caption = (
        "Dots: the observed mean, with the interval the verdict is taken from. Lines or ticks: the prediction; "
        f"the grey band is the prediction within {percent}."
    )
    if piece.exact or piece.sizes is None:
        return Drawn(found.spec(), caption)
    lines = extrapolation(piece, level, predicted, unit)
    approach = (
        "Deviation of the observed mean from the limit at each size; the fitted line is read off at the left edge, "
        f"where sizes are infinite, and must end in the grey band (within {percent})."
    )
    if np.size(middle) == 1:
        return Drawn(lines, approach)
    return Drawn(stacked(found.spec(), lines), f"{caption} Below: {approach[0].lower()}{approach[1:]}")


def extrapolation(piece: Law, level: float, predicted: np.ndarray, unit: np.ndarray) -> Spec:
    """Deviations at each size against size^-order, with the fitted line that leads to the infinite size."""
    observed, sizes, order = (
        np.asarray(piece.observed, float),
        np.asarray(piece.sizes, float),
        float(piece.order or 1.0),
    )
    shape = observed.shape[1:-1]
    cells = int(np.prod(shape))
    means, errors, _ = intervals.mean(observed.reshape(len(sizes), cells, -1), 0.05)
    freedom = len(sizes) * (observed.shape[-1] - 1)
    fit = intervals.line(sizes**-order, means, errors, level=level / cells, freedom=freedom)
    predicted, unit = predicted.ravel(), np.where(unit == 0, 1.0, unit).ravel()
    chosen = thin(cells, (fit.intercept - predicted) / unit, keep=LINES)
    labelled, places = axes(shape, piece.along), list(np.ndindex(shape))
    names = [entry(labelled, places[i]) or "observed" for i in chosen]

    def gap(values: np.ndarray) -> np.ndarray:
        return ((values - predicted) / unit)[..., chosen]

    far = float(sizes.min()) ** -order
    ends = gap(fit.intercept), (fit.intercept_width / unit)[chosen]
    points = rows(
        at=np.repeat(sizes**-order, len(chosen)),
        size=np.repeat(sizes, len(chosen)),
        series=np.tile(names, len(sizes)),
        gap=gap(means),
        low=gap(means - 2 * errors),
        high=gap(means + 2 * errors),
    )
    # Beside each other at the left edge, where all would stand at zero.
    aside = 0.025 * far * (np.arange(len(chosen)) - (len(chosen) - 1) / 2)
    limits = rows(at=aside, series=np.asarray(names), gap=ends[0], low=ends[0] - ends[1], high=ends[0] + ends[1])
    fitted = rows(
        at=np.repeat([0.0, far], len(chosen)),
        series=np.tile(names, 2),
        gap=np.concatenate([ends[0], gap(fit.intercept + fit.slope * far)]),
    )
    if not points or not limits:
        return text(["the numbers are not finite"])
    reach = [record[end] for record in points + limits for end in ("low", "high")]
    covered = scale([*reach, -1.2 * piece.resolution, 1.2 * piece.resolution], log=False)
    title = {1.0: "1/size", 0.5: "1/√size", 2.0: "1/size²"}.get(order, f"size to the power −{power(order)}")
    along = scale([aside.min(), aside.max(), far], log=False, pad=0.04)
    x = number("at", axis=labels(title, along, grid=False), scale=along)
    axis = {"scale": covered, "axis": labels("deviation from the limit", covered, percent=True)}
    few = len(names) <= len(SERIES) and len(names) > 1
    colour = by_word(
        "series", dict(zip(names, SERIES if few else (OBSERVED,) * len(names), strict=False)), legend=few, titled=True
    )
    tooltip = [*tips({"series:N": "series", "size": "size"}), number("gap", title="deviation", format=".3~p")]
    spans = {"y": number("low", **axis), "y2": {"field": "high"}}
    return panel(
        points,
        band("y", -piece.resolution, piece.resolution, covered),
        line_at("y", 0.0, covered),
        mark("line", {"strokeWidth": 1.2, "strokeDash": [5, 3]}, fitted, x=x, y=number("gap", **axis), color=colour),
        mark("rule", {"strokeWidth": 3}, limits, x=x, **spans, color=colour),
        mark(
            "point",
            {**DOT, "size": 80},
            limits,
            x=x,
            y=number("gap", **axis),
            color=colour,
            tooltip=[tooltip[0], tooltip[-1]],
        ),
        mark("rule", {"strokeWidth": 1.5}, x=x, **spans, color=colour),
        mark("point", {"size": 46, "strokeWidth": 2}, x=x, y=number("gap", **axis), color=colour, tooltip=tooltip),
        height=200,
    )


def chance(piece: Chance, level: float, names: Names) -> Drawn:
    """Failure rates with exact binomial limits against what was promised."""
    failures, at_most = np.broadcast_arrays(np.asarray(piece.failures, float), np.asarray(piece.at_most, float))
    low, high = intervals.binomial(failures, np.asarray(piece.trials), level / max(failures.size, 1))
    found = Comparison(
        failures / np.asarray(piece.trials, float),
        at_most,
        piece.along,
        at_most,
        low=low,
        high=high,
        band=(piece.factor - 1) * at_most,
        words=("failure rate", "promised at most"),
        title=names.value,
        limits=(0.0, 1.0),
        gap="failure rate against the promise, in parts of it",
    )
    caption = (
        "Rate of failure, with exact binomial limits, against the promised probability; the claim holds when the "
        f"interval ends inside the grey band (up to {piece.factor:g} times the promise)."
    )
    return Drawn(found.spec(), caption)


def share(piece: Share, level: float, names: Names) -> Drawn:
    """Observed shares with exact binomial limits beside predicted probabilities."""
    count, predicted = np.broadcast_arrays(np.asarray(piece.count, float), np.asarray(piece.predicted, float))
    low, high = intervals.binomial(count, np.asarray(piece.trials), level / max(count.size, 1))
    unit = 1 - predicted if piece.of_failures else predicted
    found = Comparison(
        count / np.asarray(piece.trials, float),
        predicted,
        piece.along,
        unit,
        low=low,
        high=high,
        band=piece.resolution * unit,
        words=("observed share", "predicted probability"),
        title=names.value,
        limits=(0.0, 1.0),
    )
    caption = (
        "Dots: the share of trials, with exact binomial limits. Lines or ticks: the predicted probability; "
        f"the grey band is the prediction within {100 * piece.resolution:g} %."
    )
    return Drawn(found.spec(), caption)


def distribution(piece: Distribution, level: float, names: Names) -> Drawn:
    """The empirical distribution of the ranks against the uniform one, and their difference, with the DKW band."""
    ranks = np.sort(finite(piece.ranks))
    if not len(ranks):
        return Drawn.said(["the numbers are not finite"], "No finite numbers to draw.")
    allowed = float(np.sqrt(np.log(2 / level) / (2 * len(ranks))))
    steps = (np.arange(len(ranks)) + 0.5) / len(ranks)
    chosen = thin(len(ranks), steps - ranks, keep=400)
    seen = rows(rank=ranks[chosen], share=steps[chosen], gap=(steps - ranks)[chosen], word="observed")
    law = rows(
        rank=[0.0, 1.0], share=[0.0, 1.0], least=[-allowed, 1 - allowed], most=[allowed, 1 + allowed], word="predicted"
    )
    whole = {"domain": [0, 1]}
    x = number("rank", axis={"labels": False, "title": None, "grid": False}, scale=whole)
    y = {"axis": labels("share of samples below", whole), "scale": whole}
    colour = by_word("word", {"observed": OBSERVED, "predicted": PREDICTED}, titled=True)
    top = panel(
        seen,
        mark(
            "area",
            {"color": BAND, "opacity": 0.22, "clip": True},
            law,
            x=x,
            y=number("least", **y),
            y2={"field": "most"},
        ),
        mark("line", {"strokeWidth": 2}, law, x=x, y=number("share", **y), color=colour),
        mark("line", {"strokeWidth": 2, "interpolate": "step-after"}, x=x, y=number("share", **y), color=colour),
        height=240,
    )
    covered = scale([*(steps - ranks), 1.2 * allowed, -1.2 * allowed], log=False)
    below = panel(
        seen,
        band("y", -allowed, allowed, covered),
        line_at("y", 0.0, covered),
        mark(
            "line",
            {"strokeWidth": 1.5, "color": OBSERVED},
            x=number("rank", axis=labels("predicted share of samples below", whole, grid=False), scale=whole),
            y=number("gap", axis=labels("observed minus predicted", covered, ticks=4), scale=covered),
        ),
        height=110,
    )
    caption = (
        f"Share of {len(ranks):,} samples below each predicted quantile; the diagonal is the predicted law, the grey "
        "band what chance alone allows (Dvoretzky–Kiefer–Wolfowitz)."
    )
    return Drawn(stacked(top, below), caption)


def trend(piece: Trend, level: float, names: Names) -> Drawn:
    """Mean paired differences with their interval against zero, over the differences themselves."""
    differences = np.atleast_1d(np.asarray(piece.differences, float))
    shape, trials = differences.shape[:-1], differences.shape[-1]
    if trials < 2:
        return Drawn.said(["a trend needs more than one difference"], "Too few differences to draw.")
    middle, _, width = (np.ravel(each) for each in intervals.mean(differences, level / max(int(np.prod(shape)), 1)))
    labelled = axes(shape, piece.along)
    places = [entry(labelled, place) or "effect" for place in np.ndindex(shape)]
    flat = differences.reshape(len(places), trials)
    chosen = thin(trials, keep=max(8, min(200, 900 // len(places))))
    raw = rows(row=np.repeat(places, len(chosen)), difference=flat[:, chosen])
    means = rows(row=np.asarray(places), mean=middle, low=middle - width, high=middle + width)
    covered = scale([*flat[:, chosen].ravel(), 0.0], log=False)
    y = word("row", sort=None, title=None, axis={"labelPadding": 10} if len(places) > 1 else None)
    x: dict[str, Any] = {"scale": covered, "axis": labels("paired difference", covered)}
    drawn = panel(
        means,
        mark("tick", {"color": BAND, "opacity": 0.5, "size": 16}, raw, x=number("difference", **x), y=y),
        line_at("x", 0.0, covered),
        mark("rule", {"color": OBSERVED, "strokeWidth": 6}, x=number("low", **x), x2={"field": "high"}, y=y),
        mark(
            "point",
            {**DOT, "color": INK, "size": 14},
            x=number("mean", **x),
            y=y,
            tooltip=tips({"mean": "mean", "low": "from", "high": "to"}),
        ),
        height=40 * len(places) + 10,
        movable=False,
    )
    caption = "Paired differences (grey), their mean and its interval, which must lie right of zero."
    return Drawn(drawn, caption)
