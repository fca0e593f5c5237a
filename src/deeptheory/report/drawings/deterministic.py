"""Figures of evidence without chance: equalities, inequalities, chains of them, printed tables, counterexamples."""

from fractions import Fraction
from typing import Any

import numpy as np

from deeptheory.lab.evidence import NEVER, Chain, Counterexample, Exact, Identity, Inequality, Printed
from deeptheory.lab.evidence.saying import counted
from deeptheory.report.drawings.canvas import (
    BAND,
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
from deeptheory.report.drawings.values import Names, axes, finite, rows, spread, thin

__all__ = ["chain", "counterexample", "exact", "identity", "inequality", "printed"]

CLOUD = {"filled": True, "size": 28, "color": OBSERVED, "opacity": 0.55}
FORBIDDEN = {"colour": PREDICTED, "opacity": 0.13}
FEW = 3
"""Enumerations of so few different values are counted in words: a figure of them would look empty."""


def exact(piece: Exact, level: float, names: Names) -> Drawn:
    """The two enumerations against each other where they are numbers, else side by side in words."""
    left, right = numeric(piece.left), numeric(piece.right)
    if left is None or right is None or left.shape != right.shape:
        return side_by_side(np.ravel(np.asarray(piece.left)), np.ravel(np.asarray(piece.right)))
    if left.size <= FEW:
        return side_by_side(np.ravel(np.asarray(piece.left)), np.ravel(np.asarray(piece.right)))
    values = np.unique(np.concatenate([left.ravel(), right.ravel()]))
    if len(values) <= FEW:
        told = [f"{value:,.12g}: {times(np.sum(left == value), np.sum(right == value))}" for value in values]
        return Drawn.said(told, f"How often two independent enumerations of {left.size:,} entries have each value.")
    return Drawn(against(left, right, piece.along, names), "Two independent enumerations against each other.")


def times(one: int, other: int) -> str:
    """How often something is counted in two enumerations."""
    return f"{one:,} times in both" if one == other else f"{one:,} times in the one, {other:,} in the other"


def identity(piece: Identity, level: float, names: Names) -> Drawn:
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
        place = {"x": number("number", axis=labels("number compared", ends, grid=False, whole=True), scale=ends)}
        across, height, title = "y", 110, "gap, as a share of what rounding allows"
    gaps = panel(
        records,
        band(across, 1.0, covered["domain"][1], covered, **FORBIDDEN),
        line_at(across, 1.0, covered),
        mark(
            "point",
            {**CLOUD, "size": 70 if left.size == 1 else 28},
            **place,
            **{across: number("share", axis=labels(title, covered, least=True), scale=covered)},
            tooltip=tips({"left": "one side", "right": "the other", "share": "share of the allowed gap"}, ".12~g"),
        ),
        height=height,
        movable=left.size > 1,
    )
    allows = "as a share of what rounding (and any solver inside) allows: in the shaded region they would differ."
    if not np.any(left) or not np.any(right):
        return Drawn(gaps, f"The distance of each number from zero, {allows}")
    shown = against(left, right, piece.along, names)
    caption = f"Two computations of the same numbers; below, the gap between them {allows}"
    return Drawn(stacked(shown, gaps), caption)


def against(left: np.ndarray, right: np.ndarray, along: dict[str, Any], names: Names) -> Spec:
    """Left against right on the diagonal; along their axis where one is named and the numbers are few."""
    if left.size == 1 or (left.ndim == 1 and along and left.size <= 200):
        ways = ("one computation", "the other")
        return Comparison(left, right, along, words=ways, title=names.value).spec(deviations=False)
    one, two = left.ravel(), right.ravel()
    chosen = thin(one.size, one, two, np.abs(one - two))
    covered = scale([*one, *two])
    ends = covered["domain"]
    x = {"scale": covered, "axis": labels(f"{names.value}, computed one way", covered)}
    y = {"scale": covered, "axis": labels(f"{names.value}, the other way", covered)}
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


def inequality(piece: Inequality, level: float, names: Names) -> Drawn:
    """Each quantity against its bound, with the region of violation shaded and the tightest instance ringed."""
    quantity, bound, allowed = np.broadcast_arrays(
        np.asarray(piece.quantity, float), np.asarray(piece.bound, float), piece.allowed()
    )
    # A theorem's bound is the larger side or, where it bounds from below, the smaller.
    words = ("log of the smaller side", "log of the larger side") if piece.log else ("smaller side", "larger side")
    labelled = axes(quantity.shape, piece.along)
    if quantity.size == 1 or (len(labelled) == 1 and piece.along and labelled[0].numeric and quantity.size <= 60):
        shown = Comparison(quantity, bound, piece.along, words=words, title=names.value).spec(deviations=False)
        return Drawn(shown, "The smaller side beside the larger, which it must not exceed.")
    good = np.isfinite(quantity) & np.isfinite(bound)
    never = good & piece.log & (quantity <= NEVER)
    kept = good & ~never if np.any(good & ~never) else good
    if not kept.any():
        return Drawn.said(["the numbers are not finite"], "No finite numbers to draw.")
    caption = (
        f"{counted(int(good.sum()), 'instance')}; a violation would lie in the shaded region. "
        "The ring marks the tightest one."
    )
    seen = cloud(quantity[kept], bound[kept], allowed[kept], words, logarithms=piece.log)
    if visible(seen):
        caption += " The grey strip is what rounding (and any solver inside) allows."
    if omitted := int((good & ~kept).sum()):
        caption += f" Not drawn: {counted(omitted, 'instance')} of probability zero."
    return Drawn(seen, caption)


def visible(spec: Spec) -> bool:
    """Whether the figure of an inequality shows the strip of what rounding allows."""
    return any(layer["mark"].get("color") == BAND for layer in spec["layer"])


def cloud(
    quantity: np.ndarray, bound: np.ndarray, allowed: np.ndarray, words: tuple[str, str], *, logarithms: bool
) -> Spec:
    """Quantities over bounds; over their number where there is one bound for all."""
    log = not logarithms and bool(np.all(bound > 0)) and (spread(bound) or spread(quantity))
    # What is far below every bound, zero included, is drawn at the lower edge of a logarithmic axis.
    shown = np.maximum(quantity, float(bound.min()) * 1e-4) if log else quantity
    smallest = max(np.finfo(float).tiny, 1e-300 * float(np.max(np.abs(quantity))))
    slack = bound + allowed - quantity
    slack = slack if logarithms else slack / np.maximum(np.maximum(np.abs(bound), allowed), smallest)
    tightest, chosen = int(np.argmin(slack)), thin(quantity.size, quantity, bound, slack)
    single = bool(np.ptp(bound) == 0)
    # The order of instances means nothing: by what is allowed for them, the edge of the region is a smooth line.
    place = 1.0 + np.argsort(np.argsort(allowed, kind="stable")) if single else bound
    wide = scale(place, log=log and not single, pad=0.03)
    tall = scale([*shown, float((bound + allowed).max())], log=log)
    left, right = wide["domain"]
    x = number(
        "place", scale=wide, axis=labels("instance" if single else words[1], wide, grid=not single, whole=single)
    )
    y = {"scale": tall, "axis": labels(words[0], tall)}
    tooltip = tips({"quantity": words[0], "bound": words[1]})
    height = tall["domain"][1] - tall["domain"][0]
    seen = allowed > (0.02 * bound if log else 2e-3 * height)
    knots, edge, beyond = strip(place[chosen], bound[chosen], (allowed * seen.any())[chosen], (left, right))
    region = rows(place=knots, edge=edge, beyond=beyond, most=max(tall["domain"][1], float(beyond.max())))

    def records(which: Any) -> list[dict[str, Any]]:
        return rows(place=place[which], shown=shown[which], quantity=quantity[which], bound=bound[which])

    forbidden = {"color": PREDICTED, "opacity": 0.13, "clip": True}
    layers = [mark("area", forbidden, region, x=x, y=number("beyond", **y), y2={"field": "most"})]
    if seen.any():
        rounding = {"color": BAND, "opacity": 0.25, "clip": True}
        layers.append(mark("area", rounding, region, x=x, y=number("edge", **y), y2={"field": "beyond"}))
    return panel(
        records(chosen),
        *layers,
        mark("line", {"color": PREDICTED, "strokeWidth": 1.5, "clip": True}, region, x=x, y=number("edge", **y)),
        mark(
            "point", {"size": 170, "color": INK, "strokeWidth": 1.6}, records([tightest]), x=x, y=number("shown", **y)
        ),
        mark("point", CLOUD, x=x, y=number("shown", **y), tooltip=tooltip),
        height=300,
    )


def strip(
    place: np.ndarray, bound: np.ndarray, allowed: np.ndarray, ends: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where bounds lie, and where violations begin, along a panel: knots from end to end, and both heights there.

    At each instance violations begin above its own bound by what is allowed for it.
    """
    knots, first, where = np.unique(place, return_index=True, return_inverse=True)
    edge, most = bound[first], np.zeros(len(knots))
    np.maximum.at(most, where.ravel(), allowed)
    if not most.any():
        knots, edge, most = (each[[0, -1]] for each in (knots, edge, most))
    flat = np.ptp(bound) == 0
    edge = np.concatenate([edge[:1] if flat else ends[:1], edge, edge[-1:] if flat else ends[1:]])
    knots, most = np.concatenate([ends[:1], knots, ends[1:]]), np.concatenate([most[:1], most, most[-1:]])
    return knots, edge, edge + most


def chain(piece: Chain, level: float, names: Names) -> Drawn:
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
    x = {"scale": covered, "axis": labels("smaller side, as a share of the larger", covered, percent=True)}
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


def printed(piece: Printed, level: float, names: Names) -> Drawn:
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
        title=names.value,
    )
    return Drawn(
        found.spec(), "Values computed here beside the printed ones; the grey band is what rounding in print allows."
    )


def counterexample(piece: Counterexample, level: float, names: Names) -> Drawn:
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
    few = f"Two independent enumerations of {counted(left.size, 'entry')}"
    return Drawn.said(lines, f"{few}, those that differ first." if left.size > FEW else f"{few}.")


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
    return written if len(written) <= 90 else f"{written[:60]}… ({len(written):,} characters)"
