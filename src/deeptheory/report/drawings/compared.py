"""The figure most evidence needs: observed beside predicted, and below it how far apart they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from deeptheory.report.drawings.canvas import (
    BAND,
    OBSERVED,
    PREDICTED,
    SERIES,
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
from deeptheory.report.drawings.values import POINTS, Axis, Rows, axes, entry, rows, spread, thin

__all__ = ["Comparison"]

DOT = {"filled": True, "opacity": 1, "size": 52}
CURVE = 12
"""How many predicted values along a named axis are joined to a line; fewer say nothing of what lies between them."""
COLUMNS = ("observed", "predicted", "low", "high", "band", "unit")


@dataclass(frozen=True)
class Comparison:
    """Observed numbers with their interval, predicted numbers with their band, and the unit of their difference.

    `low` and `high` bound the observation; `band` is what the verdict lets pass. All broadcast to one shape. `title`
    names the values, `limits` are the ends beyond which there are none.
    """

    observed: Any
    predicted: Any
    along: dict[str, Any]
    unit: Any = 1.0
    low: Any = None
    high: Any = None
    band: Any = 0.0
    words: tuple[str, str] = ("observed", "predicted")
    gap: str = "deviation from the prediction"
    percent: bool = True
    title: str = ""
    limits: tuple[float, float] = (-np.inf, np.inf)

    def columns(self) -> dict[str, np.ndarray]:
        shape = np.broadcast_shapes(np.shape(self.observed), np.shape(self.predicted))
        given = {name: getattr(self, name) for name in COLUMNS}
        for end in ("low", "high"):
            given[end] = self.observed if given[end] is None else given[end]
        return {name: np.broadcast_to(np.asarray(value, float), shape) for name, value in given.items()}

    def spec(self, *, deviations: bool = True) -> Spec:
        """One line for a single number; else values along the best axis, over their deviations."""
        columns = self.columns()
        if columns["observed"].size == 1:
            return self.single({name: float(column.ravel()[0]) for name, column in columns.items()})
        records, main, series = self.table(columns)
        if not records:
            return text(["no finite numbers to draw"])
        values = self.values(records, main, series, alone=not deviations)
        return stacked(values, self.gaps(records, main, series)) if deviations else values

    def colours(self, series: list[str], *, legend: bool = True, titled: bool = False) -> tuple[Spec, Spec]:
        """Colours of observation and prediction: by role where there is one series or a crowd, else by series."""
        if 1 < len(series) <= len(SERIES):
            by_series = by_word("series", dict(zip(series, SERIES, strict=False)), legend=legend, titled=titled)
            return by_series, by_series
        roles = dict(zip(self.words, (OBSERVED, PREDICTED), strict=True))
        seen, said = (by_word(role, roles, legend=legend, titled=titled) for role in ("seen", "said"))
        return seen, said

    def tooltips(self, main: Axis | None = None, series: list[str] = []) -> list[Spec]:  # noqa: B006 - only read
        numbers = {"observed": self.words[0], "low": "from", "high": "to", "predicted": self.words[1]}
        place = {} if main is None else {"place" if upright(main) else "place:N": main.name}
        return tips({**place, **({"series:N": "series"} if len(series) > 1 else {}), **numbers})

    def single(self, one: dict[str, float]) -> Spec:
        """One number on a line."""
        least, most = one["predicted"] - one["band"], one["predicted"] + one["band"]
        least, most = max(least, self.limits[0]), min(most, self.limits[1])
        records = rows(**one, least=least, most=most, seen=self.words[0], said=self.words[1])
        if not records:
            return text(["the numbers are not finite"])
        covered = self.within(scale([one["low"], one["high"], one["observed"], least, most], log=False, pad=0.25))
        x = {"scale": covered, "axis": labels(self.title, covered)}
        observed, predicted = self.colours([])
        middle = {"value": 34}
        return panel(
            records,
            mark("rect", {"color": BAND, "opacity": 0.22}, x=number("least", **x), x2={"field": "most"}),
            mark("rule", {"strokeWidth": 2.5}, x=number("predicted", **x), color=predicted, tooltip=self.tooltips()),
            mark("rule", {"strokeWidth": 3, "color": OBSERVED}, x=number("low", **x), x2={"field": "high"}, y=middle),
            mark(
                "point",
                {**DOT, "size": 110},
                x=number("observed", **x),
                y=middle,
                color=observed,
                tooltip=self.tooltips(),
            ),
            height=68,
            movable=False,
        )

    def table(self, columns: dict[str, np.ndarray]) -> tuple[Rows, Axis, list[str]]:
        """Records for the panels, the axis they run along, and the names of the series that share it."""
        shape = columns["observed"].shape
        labelled = axes(shape, self.along)
        best = max(range(len(shape)), key=lambda i: (labelled[i].numeric and shape[i] > 2, shape[i]))
        main, places = labelled[best], list(np.ndindex(shape))
        others = [axis for i, axis in enumerate(labelled) if i != best]
        flat = {name: column.ravel() for name, column in columns.items()}
        unit = np.where(flat["unit"] == 0, 1.0, flat["unit"])
        gap = (flat["observed"] - flat["predicted"]) / unit
        chosen = thin(len(gap), gap, keep=POINTS // 2)
        named = [entry(others, [i for axis, i in enumerate(places[cell]) if axis != best]) for cell in chosen]
        at = [places[cell][best] for cell in chosen]
        along = [main.labels[i] for i in at] if upright(main) else [main.entry(i) for i in at]
        records = rows(
            place=np.asarray(along, float) if upright(main) else np.asarray(along),
            series=np.asarray(named),
            seen=self.words[0],
            said=self.words[1],
            gap=gap[chosen],
            gap_low=((flat["low"] - flat["predicted"]) / unit)[chosen],
            gap_high=((flat["high"] - flat["predicted"]) / unit)[chosen],
            allowed=(flat["band"] / unit)[chosen],
            least=np.maximum(flat["predicted"] - flat["band"], self.limits[0])[chosen],
            most=np.minimum(flat["predicted"] + flat["band"], self.limits[1])[chosen],
            **{name: flat[name][chosen] for name in ("observed", "predicted", "low", "high")},
        )
        return records, main, list(dict.fromkeys(record["series"] for record in records))

    def values(self, records: Rows, main: Axis, series: list[str], *, alone: bool) -> Spec:
        """The panel of values: predictions with their band as a curve or as ticks, observations as dots."""
        shown = [record[name] for record in records for name in ("observed", "predicted")]
        log = spread(shown)
        if log:  # an interval that reaches zero is drawn to the lower edge of a logarithmic axis
            floor = min(shown) / 3
            records = [{**r, "low": max(r["low"], floor), "least": max(r["least"], floor)} for r in records]
        reach = [record[end] for record in records for end in ("low", "high", "least", "most")]
        covered = self.within(scale(shown + reach, log=log))
        standing, along = self.along_axis(main, series, labelled=alone)
        across = "y" if standing else "x"
        axis = {"scale": covered, "axis": labels(self.title, covered)}
        observed, predicted = self.colours(series, titled=standing and bool(self.title))
        tooltip = self.tooltips(main, series)
        detail = {"detail": word("series")}
        layers = []
        joined = standing and main.named and len(main.labels) >= CURVE
        if any(record["allowed"] for record in records):
            kind, style = ("area", {}) if joined else ("rule", {"strokeWidth": 14})
            style = {**style, "color": BAND, "opacity": 0.22}
            layers.append(
                mark(
                    kind, style, **along, **detail, **{across: number("least", **axis), f"{across}2": {"field": "most"}}
                )
            )
        if joined:
            layers.append(
                mark(
                    "line",
                    {"strokeWidth": 2},
                    **along,
                    **detail,
                    **{across: number("predicted", **axis)},
                    color=predicted,
                )
            )
        else:
            # Wider than the dots that may lie on them.
            tick = {"thickness": 3, "size": 18, "orient": "horizontal" if standing else "vertical"}
            layers.append(
                mark("tick", tick, **along, **{across: number("predicted", **axis)}, color=predicted, tooltip=tooltip)
            )
        ends = {across: number("low", **axis), f"{across}2": {"field": "high"}}
        layers.append(mark("rule", {"strokeWidth": 2}, **along, **ends, color=observed))
        layers.append(
            mark("point", DOT, **along, **{across: number("observed", **axis)}, color=observed, tooltip=tooltip)
        )
        return panel(records, *layers, height=self.height(main, series, 240), movable=standing)

    def gaps(self, records: Rows, main: Axis, series: list[str]) -> Spec:
        """The panel of deviations, with the band inside which the verdict calls them nothing."""
        allowed = max(record["allowed"] for record in records)
        ends = [record[end] for record in records for end in ("gap_low", "gap_high")]
        covered = scale([*ends, 1.2 * allowed, -1.2 * allowed], log=False)
        standing, along = self.along_axis(main, series, labelled=True)
        across = "y" if standing else "x"
        axis = {"scale": covered, "axis": labels(self.gap, covered, percent=self.percent, ticks=4)}
        observed, _ = self.colours(series, legend=False)
        layers = [band(across, -allowed, allowed, covered)] if allowed else []
        spans = {across: number("gap_low", **axis), f"{across}2": {"field": "gap_high"}}
        layers += [
            line_at(across, 0.0, covered),
            mark("rule", {"strokeWidth": 2}, **along, **spans, color=observed),
            mark(
                "point",
                DOT,
                **along,
                **{across: number("gap", **axis)},
                color=observed,
                tooltip=self.tooltips(main, series),
            ),
        ]
        return panel(records, *layers, height=self.height(main, series, 110), movable=standing)

    def along_axis(self, main: Axis, series: list[str], *, labelled: bool) -> tuple[bool, Spec]:
        """Numbers run along x; words, which need room, down y. The panel above another leaves the labels to it."""
        if upright(main):
            covered = scale(main.labels, log=main.log, pad=0.03)
            named = labels(main.name, covered, grid=False, whole=main.whole)
            axis = named if labelled else {"title": None, "labels": False, "grid": False}
            return True, {"x": number("place", scale=covered, axis=axis)}
        beside = {"yOffset": word("series", sort=None)} if 1 < len(series) <= len(SERIES) else {}
        return False, {
            "y": word("place", sort=None, title=None, axis={"labelPadding": 10}),
            **beside,
        }

    def within(self, covered: Spec) -> Spec:
        """A scale that ends where the values must."""
        low, high = covered["domain"]
        return {**covered, "domain": [max(low, self.limits[0]), min(high, self.limits[1])]}

    def height(self, main: Axis, series: list[str], standing: int) -> int:
        lines = len(series) if 1 < len(series) <= len(SERIES) else 1
        return standing if upright(main) else (16 * lines + 12) * len(main.labels) + 8


def upright(main: Axis) -> bool:
    """Whether values run along a numeric x axis."""
    return main.numeric and len(main.labels) > 2
