"""Level sets of a function on a grid, as paths."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from deeptheory.report.drawings.values import Rows, finite, rows

__all__ = ["level_sets", "short"]

Point = tuple[float, float]


def level_sets(x: np.ndarray, y: np.ndarray, z: np.ndarray, levels: int | Sequence[float]) -> Rows:
    """The points of all level sets, path by path and in order: every cell is two triangles, which a level crosses once
    or never."""
    heights = finite(z)
    if heights.size == 0:
        return []
    chosen = np.quantile(heights, np.linspace(0, 1, levels + 2)[1:-1]) if isinstance(levels, int) else levels
    paths = [path for level in chosen for path in joined(crossings(z - float(level)))]
    kept = [straightened(path) for path in paths]
    columns, lines = np.concatenate([np.zeros((0, 2)), *kept]).T
    at = dict(x=np.interp(columns, np.arange(len(x)), x), y=np.interp(lines, np.arange(len(y)), y))
    number = np.repeat(np.arange(len(kept)), [len(path) for path in kept])
    return rows(**{name: short(part, 3) for name, part in at.items()}, path=number)


def straightened(path: Sequence[Point], off: float = 0.05) -> np.ndarray:
    """A path without the points that are within a twentieth of a cell of the line between those that are kept."""
    points = np.asarray(path, float)
    kept, open_parts = {0, len(points) - 1}, [(0, len(points) - 1)]
    while open_parts:
        first, last = open_parts.pop()
        between = points[first + 1 : last] - points[first]
        if not len(between):
            continue
        way = points[last] - points[first]
        length = np.hypot(*way)
        cross = np.abs(between[:, 0] * way[1] - between[:, 1] * way[0]) / length if length else np.hypot(*between.T)
        if cross.max() > off:
            middle = first + 1 + int(cross.argmax())
            kept.add(middle)
            open_parts += [(first, middle), (middle, last)]
    return points[sorted(kept)]


def short(values: np.ndarray, digits: int = 4) -> np.ndarray:
    """Numbers to a ten-thousandth of the largest, as fine as they are read; for places a thousandth is fine enough."""
    return np.round(values, digits - int(np.floor(np.log10(finite(np.abs(values)).max(initial=1e-300)))))


def crossings(z: np.ndarray) -> list[tuple[Point, Point]]:
    """Where zero crosses the sides of the triangles of a grid, in steps of the grid."""
    corners = np.stack([*np.meshgrid(*map(np.arange, z.shape[::-1])), z], axis=-1)
    a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]
    triangles = np.concatenate([np.stack(each, axis=2).reshape(-1, 3, 3) for each in ((a, b, c), (a, c, d))])
    above = triangles[..., 2] > 0
    crossed = triangles[np.isfinite(triangles[..., 2]).all(1) & above.any(1) & ~above.all(1)]
    segments = []
    for triangle in crossed:
        ends = []
        for one, other in ((0, 1), (1, 2), (2, 0)):
            first, last = triangle[one], triangle[other]
            if (first[2] > 0) != (last[2] > 0):
                share = first[2] / (first[2] - last[2])
                # Rounded, so that all triangles around a point find the same.
                ends.append(tuple(np.round(first[:2] + share * (last[:2] - first[:2]), 9).tolist()))
        segments.append((ends[0], ends[1]))
    return [segment for segment in segments if segment[0] != segment[1]]


def joined(segments: Sequence[tuple[Point, Point]]) -> list[list[Point]]:
    """Segments as the paths that they make end to end."""
    at = defaultdict(set)
    for place, segment in enumerate(segments):
        for end in segment:
            at[end].add(place)
    left, paths = set(range(len(segments))), []
    # Open paths are begun at an end; what is then left is closed.
    starts = [end for end, those in at.items() if len(those) == 1] + [segment[0] for segment in segments]
    for start in starts:
        path, here = [start], start
        while near := at[here] & left:
            place = min(near)
            left.discard(place)
            one, other = segments[place]
            here = other if here == one else one
            path.append(here)
        if len(path) > 1:
            paths.append(path)
    return paths
