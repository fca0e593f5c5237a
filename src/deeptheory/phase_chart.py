"""A phase diagram with a chart of its own: a curve over one setting, shades over two, one panel for each of a third."""

from typing import Any, Literal

import numpy as np
import xarray

from deeptheory.charts import offline

__all__ = ["PhaseDiagram"]

CELLS = 20_000
"""Cells that a chart shows."""
WIDTH, HEIGHT = 420, 280


class PhaseDiagram(xarray.Dataset):
    """Labelled arrays over a grid of settings and seeds; `chart()` draws them."""

    __slots__ = ()

    def chart(self, value: str | None = None) -> Any:
        """Draw the mean over seeds of a value, with two standard errors where it is a curve; an Altair chart.

        The first setting runs to the right, the second upwards, a third has a panel for each of its values. Settings
        with one value are left out: `diagram.sel(width=64).chart()` draws a slice.
        """
        import altair as alt

        name = value if value is not None else str(next(iter(self.data_vars)))
        if name not in list(self.data_vars):
            raise ValueError(f"there is no value {name!r}; the diagram has {', '.join(map(str, self.data_vars))}")
        found = self[name]
        own = [str(axis) for axis in found.dims if axis not in self.coords]
        if own:
            raise ValueError(
                f"{name} has axes of its own, {', '.join(own)}: choose from them with isel, or average them"
            )
        if found.dtype.kind == "c":
            raise ValueError(f"{name} has complex values, of which a chart shows none: draw their abs, real or imag")
        settings = [str(axis) for axis in found.dims if axis != "seed" and found.sizes[axis] > 1]
        if not 1 <= len(settings) <= 3:
            said = ", ".join(settings) or "none"
            raise ValueError(f"a chart shows 1 to 3 settings with several values, not {len(settings)} ({said})")
        for axis in settings:
            if self[axis].dtype.kind in "fc" and not (np.isrealobj(self[axis]) and np.isfinite(self[axis]).all()):
                raise ValueError(f"the axis {axis} has values that a chart has no place for: choose others with sel")
        table = self._cells(name, settings)
        if len(table) > CELLS:
            raise ValueError(f"a chart shows at most {CELLS:,} cells, not {len(table):,}: choose some with sel or isel")
        base = alt.Chart(alt.InlineData(values=table)).properties(width=WIDTH, height=HEIGHT)
        if len(settings) == 1:
            return offline(self._curve(base, settings[0], name))
        return offline(self._shades(base, settings, name))

    def _cells(self, name: str, settings: list[str]) -> list[dict[str, Any]]:
        """One row a cell: its settings, the mean over seeds, and two standard errors below and above."""
        found = self[name].squeeze([axis for axis in self[name].dims if axis not in (*settings, "seed")], drop=True)
        values = found.transpose(*settings, ...).values
        values = values.reshape(*(found.sizes[axis] for axis in settings), -1).astype(float)
        seeds = values.shape[-1]
        error = values.std(-1, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.zeros(values.shape[:-1])
        rows = []
        for place in np.ndindex(values.shape[:-1]):
            mean = float(values[place].mean())
            at = {axis: found[axis].values[i].item() for axis, i in zip(settings, place, strict=True)}
            ends = {"low": mean - 2 * float(error[place]), "high": mean + 2 * float(error[place])}
            # What is not finite is left out of the drawing, where it would be drawn as zero.
            rows.append(
                at | ({"mean": mean, **ends} if np.isfinite(mean) else {"mean": None, "low": None, "high": None})
            )
        return rows

    def _curve(self, base: Any, axis: str, name: str) -> Any:
        import altair as alt

        kind, scale = _scaled(self[axis].values)
        x = alt.X(f"{axis}:{kind}", scale=alt.Scale(type=scale, zero=False)) if kind == "Q" else alt.X(f"{axis}:N")
        line = base.mark_line(point=True).encode(
            x,
            alt.Y("mean:Q", title=self._title(name), scale=alt.Scale(zero=False)),
            tooltip=[f"{axis}:{kind}", "mean:Q", "low:Q", "high:Q"],
        )
        if self[name].sizes.get("seed", 1) < 2:
            return line
        return alt.layer(
            base.mark_area(opacity=0.25).encode(x, alt.Y("low:Q", title=self._title(name)), alt.Y2("high:Q")), line
        )

    def _shades(self, base: Any, settings: list[str], name: str) -> Any:
        import altair as alt

        across, up, *panels = settings
        shaded = base.mark_rect().encode(
            alt.X(f"{across}:O", axis=self._labels(across)),
            alt.Y(f"{up}:O", sort="descending", axis=self._labels(up)),
            alt.Color("mean:Q", title=self._title(name), scale=alt.Scale(scheme="viridis")),
            tooltip=[*(f"{axis}:O" for axis in settings), "mean:Q"],
        )
        return shaded.facet(column=f"{panels[0]}:O") if panels else shaded

    def _title(self, name: str) -> str:
        """What is drawn of a value: the value itself, or its mean over the seeds."""
        seeds = self[name].sizes.get("seed", 1)
        return name if seeds == 1 else f"{name}, mean of {seeds} seeds"

    def _labels(self, axis: str) -> Any:
        """Numbers to three digits, and no more of them than there is room for."""
        import altair as alt

        rounded: dict[str, Any] = {"labelExpr": "format(datum.value, '.3~g')"} if self[axis].dtype.kind in "fiu" else {}
        return alt.Axis(labelAngle=0, labelOverlap=True, **rounded)


def _scaled(values: np.ndarray) -> tuple[str, Literal["linear", "log"]]:
    """Whether an axis is of numbers, and whether they grow by a factor rather than by a step."""
    if values.dtype.kind not in "fiu":
        return "N", "linear"
    if values.min() <= 0 or len(values) < 3:
        return "Q", "linear"
    ordered = np.sort(values.astype(float))
    steps, factors = np.diff(ordered), np.diff(np.log(ordered))
    return "Q", "log" if factors.std() / factors.mean() < steps.std() / steps.mean() else "linear"
