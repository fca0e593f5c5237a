"""Distances between functions: measured on grids, bounded between the points, and the least in a linear span.

Reference: lucchi Sec. 3.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.activations import relu, threshold
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["BestInSpan", "best_in_span", "certified_error", "grid_points", "measured_error", "sampled"]

NORMS = ("sup", "L1", "L2")
"""of functions on a box; L1 and L2 by the mean over the box, so that L1 ≤ L2 ≤ sup"""
GOLDEN = (np.sqrt(5) - 1) / 2
"""the share of a cell by which places within cells move on: no multiple of it is near a whole number for long"""


def sampled(f: Callable[..., Any], x: Float[np.ndarray, "*n"], *, coordinates: bool = False) -> np.ndarray:
    """Return f(x) as real numbers, one for each point; refuse anything else.

    With `coordinates` the last axis of x holds the coordinates of a point, without it every number is a point.
    """
    values = np.asarray(f(x))
    if values.dtype.kind not in "biuf":
        raise TypeError(f"f must give real numbers, got {values.dtype}")
    wanted = x.shape[:-1] if coordinates else x.shape
    if values.shape != wanted:
        raise ValueError(f"f must give one number a point, of shape {wanted}, got values of shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"f must be finite, got {values[~np.isfinite(values)][0]} at {x[~np.isfinite(values)][0]}")
    return values.astype(float)


def grid_points(
    low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"], points: int, *, ends: bool = True
) -> Float[np.ndarray, "n d"]:
    """Return the points of a regular grid in a box, `points` along each side: with the ends, or the middles of cells.

    Middles are for integrals: a mean over them is the midpoint rule.
    """
    _check_box(low, high)
    affordable(grid=(points,) * len(low) + (len(low),))
    along = np.linspace(0, 1, points) if ends else (np.arange(points) + 0.5) / points
    return low + (high - low) * _mesh([along] * len(low))


def measured_error(
    f: Callable[..., Any],
    g: Callable[..., Any],
    low: Float[np.ndarray, " d"],
    high: Float[np.ndarray, " d"],
    *,
    norm: str = "sup",
    points: int = 1025,
) -> float:
    """Return ‖f − g‖ on a box, measured on a grid of `points` a side (lucchi Sec. 3.1).

    sup is the largest |f − g| at the grid points, corners included, and at one more point in each cell: it is never too
    large, and too small by what f − g can do between them. L1 and L2 are means of |f − g| and its square over two
    points of each cell, mirrored at its middle, divided by the volume, so that L1 ≤ L2 ≤ sup in the limit. Within its
    cell the place differs from cell to cell by the golden ratio: what has the rhythm of the grid, such as a wave that
    vanishes at all its points, is seen. Nothing is known between the points: see `certified_error`.
    Both functions take points of shape (n, d). If one of them says where it breaks (`knots`, an array for each
    coordinate, as the networks of this room do), the grid is cut there too, and sup looks at both sides of each knot:
    jumps and thin edges are seen whatever the grid.
    """
    _check_norm(norm)
    _check_box(low, high)
    knots = [getattr(each, "knots", None) or [np.zeros(0)] * len(low) for each in (f, g)]
    axes = []
    for j in range(len(low)):
        breaks = np.concatenate([each[j] for each in knots])
        breaks = breaks[(low[j] < breaks) & (breaks < high[j])]
        beside = np.nextafter(breaks, -np.inf) if norm == "sup" else breaks
        axes.append(np.unique(np.concatenate([np.linspace(low[j], high[j], points), breaks, beside])))
    affordable(grid=(*map(len, axes), len(low)))

    def gap(x: np.ndarray) -> np.ndarray:
        return np.abs(sampled(f, x, coordinates=True) - sampled(g, x, coordinates=True))

    if norm == "sup":
        return float(max(gap(_mesh(axes)).max(), gap(_mesh([_within(each, 1) for each in axes])).max()))
    shares = _mesh([np.diff(each) / (each[-1] - each[0]) for each in axes]).prod(-1)
    seen = np.stack([gap(_mesh([_within(each, side) for each in axes])) for side in (-1, 1)])
    return float(shares @ seen.mean(0) if norm == "L1" else np.sqrt(shares @ (seen**2).mean(0)))


def _within(edges: np.ndarray, side: int) -> np.ndarray:
    """One point in each cell, on one side of its middle or at the mirror image; equidistributed over the cells."""
    along = 2 * (np.arange(1, len(edges)) * GOLDEN % 1) - 1
    return (edges[1:] + edges[:-1]) / 2 + side * along * np.diff(edges) / 2


def _mesh(axes: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))


def _check_norm(norm: str) -> None:
    if norm not in NORMS:
        raise ValueError(f"norm must be sup, L1 or L2, got {norm!r}")


def _check_box(low: np.ndarray, high: np.ndarray) -> None:
    if not np.all(low < high):
        raise ValueError(f"low must lie below high in every coordinate, got {low} and {high}")


def certified_error(
    network: ShallowNetwork,
    f: Callable[..., Any],
    lipschitz: float,
    low: float,
    high: float,
    *,
    norm: str = "sup",
    cells: int = 4096,
) -> float:
    """Return an upper bound on ‖network − f‖ on [low, high], for thresholds or ReLUs of one input, between points too.

    Such a network is affine between its knots −bᵢ/wᵢ. On a cell between two neighbouring points (all knots are among
    them) it has some slope s, and f changes by at most ρ = `lipschitz` a unit of length; if the errors at the ends of
    the cell are e and e′ then none inside exceeds (e + e′)/2 + (|s| + ρ)·length/2. In sup the largest of these bounds
    is returned, in L1 their mean over the interval, in L2 the root of that of their squares. The network's rounding is
    allowed for, that of f is not; ρ is your word. f takes an array of numbers.
    The activation must be `relu` or `threshold` of `deeptheory.foundations.activations` themselves: what another
    function does between its values is not known. For smooth activations and several inputs see
    `calculus.certified.maximum`, or `requirements.neurons_needed` with `certain=True`. The bound is ours.
    """
    _check_norm(norm)
    if network.knots is None:
        raise ValueError(f"network must have one input, got {network.weights.shape[1]}")
    if not low < high:
        raise ValueError(f"low must lie below high, got {low} and {high}")
    if network.activation is not relu and network.activation is not threshold:
        raise ValueError(
            "network must be made of the `relu` or `threshold` of deeptheory.foundations.activations, thresholds or "
            f"ReLUs that are known to be affine between their knots, got {network.activation!r}"
        )
    knots = network.knots[0]
    points = np.unique(np.concatenate([np.linspace(low, high, cells + 1), knots[(knots > low) & (knots < high)]]))
    length = np.diff(points)
    # Two inner points of each cell give the affine function on it, whatever happens at the knots.
    third, other = (network((points[:-1] + share * length)[:, None]) for share in (1 / 3, 2 / 3))
    target = sampled(f, points)
    left, right = np.abs(2 * third - other - target[:-1]), np.abs(2 * other - third - target[1:])
    inside = (left + right) / 2 + (3 * np.abs(other - third) + lipschitz * length) / 2
    # A sum of N terms is off by at most N·ε/2 times the sum of their sizes; six such sums enter, and the affine maps.
    largest = np.abs(network.weights[:, 0]) * max(abs(low), abs(high)) + np.abs(network.biases) + 1
    inside += 4 * (network.units + 4) * np.finfo(float).eps * float(np.abs(network.output) @ largest)
    if norm == "sup":
        return float(inside.max())
    shares = length / (high - low)
    return float(shares @ inside if norm == "L1" else np.sqrt(shares @ inside**2))


@dataclass(frozen=True)
class BestInSpan:
    """The combination of features that comes nearest to a target, and how near."""

    coefficients: Float[np.ndarray, " m"]
    error: float


def best_in_span(
    features: Float[np.ndarray, "n m"], target: Float[np.ndarray, " n"], *, norm: str = "sup"
) -> BestInSpan:
    """Return the combination of columns that is nearest to a target over n points: approx-err(f, span) of lucchi 3.1.

    In sup and L1 by a linear program, in L2 by least squares; L1 and L2 are means over the points. Combinations that
    rounding cannot tell from zero are left out. On finitely many
    points the error is a lower bound on that over the whole domain in sup, and the same if the points at which the
    error is largest are among them.
    """
    _check_norm(norm)
    # An orthonormal basis of the span: features that are nearly the same trouble linear programs.
    left, sizes, right = np.linalg.svd(features, full_matrices=False)
    kept = sizes > max(features.shape) * np.finfo(float).eps * sizes[0]
    basis = left[:, kept] * np.sqrt(len(left))
    unit = np.abs(target).max() or 1.0  # linear programs have tolerances of their own
    target = target / unit
    found = basis.T @ target / len(left) if norm == "L2" else _program(basis, target, norm)
    gap = np.abs(basis @ found - target)
    error = gap.max() if norm == "sup" else gap.mean() if norm == "L1" else np.sqrt(np.mean(gap**2))
    return BestInSpan((found / sizes[kept] * unit) @ right[kept] * np.sqrt(len(left)), float(unit * error))


def _program(basis: np.ndarray, target: np.ndarray, norm: str) -> np.ndarray:
    """Minimise the largest slack, or their sum, with |basis·c − target| ≤ slack."""
    n, m = basis.shape
    affordable(program=(2 * n, m + (1 if norm == "sup" else n)))
    slack = np.ones((n, 1)) if norm == "sup" else np.eye(n)
    table = np.block([[basis, -slack], [-basis, -slack]])
    cost = np.concatenate([np.zeros(m), np.ones(slack.shape[1]) / slack.shape[1]])
    free, least = [(None, None)] * m, [(0, None)] * slack.shape[1]
    answer = linprog(cost, A_ub=table, b_ub=np.concatenate([target, -target]), bounds=free + least, method="highs")
    if not answer.success:
        raise ValueError(f"the linear program of the best combination has no solution: {answer.message}")
    return answer.x[:m]


doors(__name__, points="[2, 10000000]", cells="[1, 10000000]", lipschitz="[0, ∞)")
