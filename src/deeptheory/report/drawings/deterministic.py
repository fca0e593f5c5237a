"""Figures of evidence without chance: equalities, inequalities, chains of them, printed tables, counterexamples."""

from fractions import Fraction
from typing import Any

import numpy as np

from deeptheory.lab.evidence import Chain, Counterexample, Exact, Identity, Inequality, Printed
from deeptheory.report.drawings.canvas import (
    INK,
    OBSERVED,
    PREDICTED,
    Drawn,
    Spec,
    band,
    labels,
    line_at,
    mark,
    number,
    panel,
    scale,
    stacked,
    tips,
    word,
)
from deeptheory.report.drawings.compared import Comparison
from deeptheory.report.drawings.values import axes, finite, rows, spread, thin

__all__ = ["chain", "counterexample", "exact", "identity", "inequality", "printed"]

CLOUD = {"filled": True, "size": 28, "color": OBSERVED, "opacity": 0.55}
FORBIDDEN = {"colour": PREDICTED, "opacity": 0.13}


def exact(piece: Exact, level: float) -> Drawn:
    """The two enumerations against each other where they are numbers, else side by side in words."""
    left, right = numeric(piece.left), numeric(piece.right)
    if left is None or right is None or left.shape != right.shape:
        return side_by_side(np.ravel(np.asarray(piece.left)), np.ravel(np.asarray(piece.right)))
    differ = int(np.sum(left != right))
    ending = f"{differ:,} of {left.size:,} entries differ." if differ else f"all {left.size:,} entries agree."
    return Drawn(against(left, right, piece.along), f"Two independent enumerations; {ending}")


def identity(piece: Identity, level: float) -> Drawn:
    """The two computations against each other, and their gap as a share of what rounding allows."""
    left, right = np.broadcast_arrays(np.asarray(piece.left, float), np.asarray(piece.right, float))
    allowed = np.maximum(np.broadcast_to(np.asarray(piece.allowed(), float), left.shape), np.finfo(float).tiny)
    share = np.clip((np.abs(left - right) / allowed).ravel(), 1e-4, 1e12)
    if not finite(share).size:
        return Drawn.said(["the numbers are not finite"], "No finite numbers to draw.")
    chosen = thin(share.size, share)
    records = rows(
        number=np.arange(share.size)[chosen] + 1,
        share=share[chosen],
        left=left.ravel()[chosen],
        right=right.ravel()[chosen],
    )
    covered = scale([*finite(share), 5e-5, 4.0], log=True, pad=0.0)
    if left.size == 1:
        across, place, height, title = (
            "x",
            {"y": {"value": 20}},
            40,
            "gap between the two, as a share of what rounding allows",
        )
    else:
        ends = {"domain": [0.5, share.size + 0.5], "nice": False}
        place = {"x": number("number", axis=labels("number compared", grid=False), scale=ends)}
        across, height, title = "y", 110, "gap, as a share of what rounding allows"
    gaps = panel(
        records,
        band(across, 1.0, covered["domain"][1], covered, **FORBIDDEN),
        line_at(across, 1.0, covered),
        mark(
            "point",
            {**CLOUD, "size": 70 if left.size == 1 else 28},
            **place,
            **{across: number("share", axis=labels(title, log=covered), scale=covered)},
            tooltip=tips({"left": "one side", "right": "the other", "share": "share of the allowed gap"}, ".12~g"),
        ),
        height=height,
        movable=left.size > 1,
    )
    allows = "as a share of what rounding (and any solver inside) allows: in the shaded region they would differ."
    if not np.any(left) or not np.any(right):
        return Drawn(gaps, f"The distance of each number from zero, {allows}")
    shown = against(left, right, piece.along)
    caption = f"Two computations of the same numbers; below, the gap between them {allows}"
    return Drawn(stacked(shown, gaps), caption)


def against(left: np.ndarray, right: np.ndarray, along: dict[str, Any]) -> Spec:
    """Left against right on the diagonal; along their axis where one is named and the numbers are few."""
    if left.size == 1 or (left.ndim == 1 and along and left.size <= 200):
        return Comparison(left, right, along, words=("one computation", "the other")).spec(deviations=False)
    one, two = left.ravel(), right.ravel()
    chosen = thin(one.size, one, two, np.abs(one - two))
    covered = scale([*one, *two])
    ends = covered["domain"]
    x = {"scale": covered, "axis": labels("one computation", log=covered)}
    y = {"scale": covered, "axis": labels("the other", log=covered)}
    diagonal = mark(
        "line",
        {"color": PREDICTED, "strokeWidth": 1.5},
        rows(one=ends, two=ends),
        x=number("one", **x),
        y=number("two", **y),
    )
    points = mark(
        "point",
        CLOUD,
        x=number("one", **x),
        y=number("two", **y),
        tooltip=tips({"one": "one side", "two": "the other"}, ".12~g"),
    )
    return panel(rows(one=one[chosen], two=two[chosen]), diagonal, points, height=240)


def inequality(piece: Inequality, level: float) -> Drawn:
    """Each quantity against its bound, with the region of violation shaded and the tightest instance ringed."""
    quantity, bound = np.broadcast_arrays(np.asarray(piece.quantity, float), np.asarray(piece.bound, float))
    words = ("log of the quantity", "log of the bound") if piece.log else ("quantity", "bound")
    labelled = axes(quantity.shape, piece.along)
    if quantity.size == 1 or (len(labelled) == 1 and piece.along and labelled[0].numeric and quantity.size <= 60):
        shown = Comparison(quantity, bound, piece.along, words=words).spec(deviations=False)
        return Drawn(shown, "The quantity beside the bound it must not exceed.")
    good = np.isfinite(quantity) & np.isfinite(bound)
    quantity, bound = quantity[good], bound[good]
    if not quantity.size:
        return Drawn.said(["the numbers are not finite"], "No finite numbers to draw.")
    caption = (
        f"{quantity.size:,} instances; a violation would lie in the shaded region. The ring marks the tightest one."
    )
    return Drawn(cloud(quantity, bound, words, logarithms=piece.log), caption)


def cloud(quantity: np.ndarray, bound: np.ndarray, words: tuple[str, str], *, logarithms: bool) -> Spec:
    """Quantities over bounds; over their number where there is one bound for all."""
    log = not logarithms and bool(np.all(bound > 0)) and (spread(bound) or spread(quantity))
    # What is far below every bound, zero included, is drawn at the lower edge of a logarithmic axis.
    shown = np.maximum(quantity, float(bound.min()) * 1e-4) if log else quantity
    smallest = max(np.finfo(float).tiny, 1e-300 * float(np.max(np.abs(quantity))))
    slack = bound - quantity if logarithms else (bound - quantity) / np.maximum(np.abs(bound), smallest)
    tightest, chosen = int(np.argmin(slack)), thin(quantity.size, quantity, bound, slack)
    single = bool(np.ptp(bound) == 0)
    place = np.arange(1.0, quantity.size + 1) if single else bound
    wide = scale(place, log=log and not single, pad=0.03)
    tall = scale([*shown, float(bound.max())], log=log)
    left, right = wide["domain"]
    edge = bound[:2] if single else np.asarray([left, right])
    top = tall["domain"][1]
    x = number("place", scale=wide, axis=labels("instance" if single else words[1], grid=not single, log=wide))
    y = {"scale": tall, "axis": labels(words[0], log=tall)}
    tooltip = tips({"quantity": words[0], "bound": words[1]})
    region = rows(place=[left, right], edge=edge, most=[max(top, float(edge.max()))] * 2)

    def records(which: Any) -> list[dict[str, Any]]:
        return rows(place=place[which], shown=shown[which], quantity=quantity[which], bound=bound[which])

    forbidden = {"color": PREDICTED, "opacity": 0.13, "clip": True}
    return panel(
        records(chosen),
        mark("area", forbidden, region, x=x, y=number("edge", **y), y2={"field": "most"}),
        mark("line", {"color": PREDICTED, "strokeWidth": 1.5, "clip": True}, region, x=x, y=number("edge", **y)),
        mark(
            "point", {"size": 170, "color": INK, "strokeWidth": 1.6}, records([tightest]), x=x, y=number("shown", **y)
        ),
        mark("point", CLOUD, x=x, y=number("shown", **y), tooltip=tooltip),
        height=300,
    )


def chain(piece: Chain, level: float) -> Drawn:
    """How much of its larger side the smaller side of each link reaches, over all instances."""
    strips: list[dict[str, Any]] = []
    best: list[dict[str, Any]] = []
    for name, (small, large) in piece.links.items():
        small, large = np.broadcast_arrays(np.asarray(small, float), np.asarray(large, float))
        unit = np.maximum(np.maximum(np.abs(small), np.abs(large)), np.finfo(float).tiny)
        reached = np.where(large > 0, small / np.where(large > 0, large, 1.0), 1 - (large - small) / unit)
        reached = np.clip(finite(reached), -0.02, 1.5)
        if reached.size:
            chosen = thin(reached.size, reached, keep=max(20, 900 // len(piece.links)))
            strips += rows(link=name, reached=reached[chosen])
            best += rows(link=name, reached=float(reached.max()))
    if not best:
        return Drawn.said(["the numbers are not finite"], "No finite numbers to draw.")
    covered = {"domain": [-0.02, max(1.06, *(each["reached"] for each in best))], "nice": False}
    y = word("link", sort=list(piece.links), axis=None)
    x = {"scale": covered, "axis": labels("smaller side, as a share of the larger", percent=True)}
    drawn = panel(
        best,
        band("x", 1.0, covered["domain"][1], covered, **FORBIDDEN),
        line_at("x", 1.0, covered),
        mark(
            "tick",
            {"color": OBSERVED, "opacity": 0.35, "size": 16, "yOffset": 9},
            strips,
            x=number("reached", **x),
            y=y,
        ),
        mark("text", {"align": "left", "dy": -12, "limit": 520}, x={"value": 2}, y=y, text=word("link")),
        mark(
            "point",
            {**CLOUD, "opacity": 1, "size": 70, "yOffset": 9},
            x=number("reached", **x),
            y=y,
            tooltip=[word("link"), number("reached", format=".4~p", title="at most")],
        ),
        height=54 * len(best),
        movable=False,
    )
    caption = (
        "Each link of the argument: how much of its larger side the smaller one reaches on every instance (the dot is "
        "the tightest); beyond 100 %, in the shaded region, a link would break."
    )
    return Drawn(drawn, caption)


def printed(piece: Printed, level: float) -> Drawn:
    """Our values beside the printed ones, and their difference in units of the last printed digit."""
    half = 0.5 * 10.0**-piece.digits
    found = Comparison(
        piece.ours,
        piece.printed,
        piece.along,
        2 * half,
        band=half + np.asarray(piece.error, float),
        words=("computed here", "printed"),
        gap="difference, in units of the last printed digit",
        percent=False,
    )
    return Drawn(
        found.spec(), "Values computed here beside the printed ones; the grey band is what rounding in print allows."
    )


def counterexample(piece: Counterexample, level: float) -> Drawn:
    """The instance and the two numbers, in words."""
    lines = [f"{name} = {short(value)}" for name, value in piece.instance.items()]
    relation = "exceeds" if piece.violated else "does not exceed"
    lines += [f"{short(piece.quantity)}  {relation}  {short(piece.bound)}", piece.how]
    return Drawn.said(lines, "The instance found, and both sides of the statement on it, computed exactly.")


def side_by_side(left: np.ndarray, right: np.ndarray) -> Drawn:
    """The first entries of two enumerations of words, differing ones first."""
    if left.shape != right.shape:
        return Drawn.said([f"{left.size} entries", f"against {right.size}"], "The two enumerations differ in length.")
    order = np.argsort(left == right, kind="stable")[:10]
    lines = [f"{short(left[i])}  {'=' if left[i] == right[i] else '≠'}  {short(right[i])}" for i in order]
    if left.size > len(lines):
        lines.append(f"… and {left.size - len(lines):,} more")
    return Drawn.said(lines, f"Two independent enumerations of {left.size:,} entries, those that differ first.")


def numeric(values: Any) -> np.ndarray | None:
    """Entries as floating-point numbers for drawing, rationals included; None where they are words."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(float)
    try:
        return np.asarray([float(Fraction(str(each))) for each in array.ravel()]).reshape(array.shape)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def short(value: Any) -> str:
    """A value in at most a line."""
    written = str(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    return written if len(written) <= 90 else written[:87] + "…"
