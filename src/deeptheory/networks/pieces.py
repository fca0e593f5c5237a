"""Affine pieces of one-input ReLU networks, counted exactly: breakpoints are propagated as rational numbers.

A ReLU network with one input is a continuous piecewise affine function. Layer by layer, a breakpoint appears only
where a pre-activation crosses zero, and with rational weights that point is rational; so piece counts, values and L¹
distances are exact. Floats are rationals too: a trained network is counted as it stands, without a tolerance.

Reference: lucchi 4.2.1; Telgarsky 2016, Benefits of depth in neural networks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import merge
from itertools import pairwise
from math import prod

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "Layer",
    "PiecewiseAffine",
    "affine_combination",
    "integral",
    "l1_distance",
    "layers_from_arrays",
    "minimal_shallow_units",
    "network_function",
    "network_piece_bound",
    "node_piece_bound",
    "pieces_on_a_grid",
    "propagate",
    "relu_nodes",
    "shallow_layers",
    "through_points",
]

Rational = int | float | np.integer | Fraction


def _exact(x: Rational) -> Fraction:
    # A NumPy integer would stay inside the Fraction and overflow there.
    return Fraction(x.item() if isinstance(x, np.generic) else x)


@dataclass(frozen=True)
class PiecewiseAffine:
    """A continuous function of one variable, x ↦ slope·x + intercept between neighbouring knots (lucchi 4.2.1).

    There is one more piece than knots. Neighbouring pieces always differ: `PiecewiseAffine.joined` drops the knots
    at which nothing changes, so that `len(f.pieces)` is δ_A(f), the least number of affine pieces.
    """

    knots: tuple[Fraction, ...]
    pieces: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def joined(cls, knots: Iterable[Fraction], pieces: Iterable[tuple[Fraction, Fraction]]) -> "PiecewiseAffine":
        """Build the function from pieces in order, joining neighbours that continue one another."""
        pieces = iter(pieces)
        kept_knots, kept = [], [next(pieces)]
        for knot, piece in zip(knots, pieces, strict=True):
            if piece != kept[-1]:
                kept_knots.append(knot)
                kept.append(piece)
        return cls(tuple(kept_knots), tuple(kept))

    @classmethod
    def line(cls, slope: Rational, intercept: Rational = 0) -> "PiecewiseAffine":
        """Return x ↦ slope·x + intercept."""
        return cls((), ((_exact(slope), _exact(intercept)),))

    def __call__(self, x: Rational) -> Fraction:
        slope, intercept = self.pieces[bisect_left(self.knots, x)]
        return slope * _exact(x) + intercept

    def relu(self) -> "PiecewiseAffine":
        """Return max(0, f): each piece that crosses zero inside its interval is cut in two there."""
        knots, pieces = [], []
        ends = (None, *self.knots, None)
        for (slope, intercept), (left, right) in zip(self.pieces, pairwise(ends), strict=True):
            if left is not None:
                knots.append(left)
            zero = -intercept / slope if slope else None
            inside = zero is not None and (left is None or left < zero) and (right is None or zero < right)
            if inside:
                knots.append(zero)
                pieces += [(slope, intercept), _NOTHING] if slope < 0 else [_NOTHING, (slope, intercept)]
            else:
                pieces.append((slope, intercept) if _sign_between(slope, intercept, left, right) > 0 else _NOTHING)
        return PiecewiseAffine.joined(knots, pieces)

    def count_on(self, low: Rational, high: Rational) -> int:
        """Return the number of affine pieces that meet the open interval (low, high)."""
        _check_interval(low, high)
        return 1 + sum(bool(low < knot < high) for knot in self.knots)


_NOTHING = (Fraction(0), Fraction(0))


def through_points(
    knots: Sequence[Rational], values: Sequence[Rational], left_slope: Rational, right_slope: Rational
) -> PiecewiseAffine:
    """Return the continuous function with these values at the knots and these slopes beyond the outer two."""
    points = [(_exact(x), _exact(y)) for x, y in zip(knots, values, strict=True)]
    if any(not here[0] < there[0] for here, there in pairwise(points)):
        raise ValueError(f"knots must increase, got {tuple(knots)}")
    inner = [(there[1] - here[1]) / (there[0] - here[0]) for here, there in pairwise(points)]
    slopes = [_exact(left_slope), *inner, _exact(right_slope)]
    anchors = [points[0], *points]
    pieces = [(slope, y - slope * x) for slope, (x, y) in zip(slopes, anchors, strict=True)]
    return PiecewiseAffine.joined([x for x, _ in points], pieces)


def _sign_between(slope: Fraction, intercept: Fraction, left: Fraction | None, right: Fraction | None) -> int:
    # Sign of a piece that does not change sign on its interval, read off at one inner point.
    if left is None and right is None:
        x = Fraction(0)
    elif left is None:
        x = right - 1  # pyright: ignore[reportOptionalOperand]
    elif right is None:
        x = left + 1
    else:
        x = (left + right) / 2
    value = slope * x + intercept
    return (value > 0) - (value < 0)


def _check_interval(low: Rational, high: Rational) -> None:
    if not low < high:
        raise ValueError(f"the interval needs low < high, got low={low} and high={high}")


def affine_combination(
    coefficients: Sequence[Rational], functions: Sequence[PiecewiseAffine], constant: Rational = 0
) -> PiecewiseAffine:
    """Return Σ cᵢ fᵢ + constant; its knots lie among the knots of the fᵢ (lucchi Prop. 31.2)."""
    coefficients = [_exact(c) for c in coefficients]
    if len(coefficients) != len(functions):
        raise ValueError(f"{len(coefficients)} coefficients were given for {len(functions)} functions")
    active = [(c, f) for c, f in zip(coefficients, functions, strict=True) if c]
    slope = sum((c * f.pieces[0][0] for c, f in active), Fraction(0))
    intercept = sum((c * f.pieces[0][1] for c, f in active), _exact(constant))
    knots, pieces = [], [(slope, intercept)]
    # Sweeping the merged knots with running sums costs one pass over all pieces.
    changes = [
        [
            (knot, c * (after[0] - before[0]), c * (after[1] - before[1]))
            for knot, (before, after) in zip(f.knots, pairwise(f.pieces), strict=True)
        ]
        for c, f in active
    ]
    for knot, slope_change, intercept_change in merge(*changes):
        slope, intercept = slope + slope_change, intercept + intercept_change
        if knots and knots[-1] == knot:
            pieces[-1] = (slope, intercept)
        else:
            knots.append(knot)
            pieces.append((slope, intercept))
    return PiecewiseAffine.joined(knots, pieces)


@dataclass(frozen=True)
class Layer:
    """One affine map, weights · input + biases, followed by the ReLU if `rectified`."""

    weights: tuple[tuple[Rational, ...], ...]
    biases: tuple[Rational, ...]
    rectified: bool = True


def layers_from_arrays(weights: Sequence[AnyArray], biases: Sequence[AnyArray]) -> list[Layer]:
    """Return the ReLU network with these weight matrices (rows are nodes) and biases; its last layer is linear."""
    return [
        Layer(tuple(map(tuple, np.asarray(w).tolist())), tuple(np.asarray(b).tolist()), rectified=depth < len(weights))
        for depth, (w, b) in enumerate(zip(weights, biases, strict=True), start=1)
    ]


def propagate(layers: Sequence[Layer]) -> list[list[PiecewiseAffine]]:
    """Return every node of every layer of a one-input network as an exact function of the input (lucchi 4.2.1)."""
    nodes, everything = [PiecewiseAffine.line(1)], []
    for depth, layer in enumerate(layers):
        if any(len(row) != len(nodes) for row in layer.weights):
            raise ValueError(f"layer {depth} needs rows of {len(nodes)} weights, one for each node before it")
        if len(layer.biases) != len(layer.weights):
            raise ValueError(f"layer {depth} has {len(layer.weights)} rows of weights but {len(layer.biases)} biases")
        sums = [affine_combination(w, nodes, b) for w, b in zip(layer.weights, layer.biases, strict=True)]
        nodes = [f.relu() for f in sums] if layer.rectified else sums
        everything.append(nodes)
    return everything


def network_function(layers: Sequence[Layer]) -> PiecewiseAffine:
    """Return the one output of a one-input network as an exact piecewise affine function."""
    (output,) = propagate(layers)[-1]
    return output


def pieces_on_a_grid(layers: Sequence[Layer], low: Rational, high: Rational, *, cells: int) -> int:
    """Return the number of pieces seen in second differences of the network's values on an even grid.

    A knot bends one or two neighbouring differences, so runs of them are counted; knots closer than three cells are
    seen as one, and bends below 1e-9 of the largest value not at all. In floating point, meant as an oracle for
    `propagate` where values on the grid are exact.
    """
    _check_interval(low, high)
    hidden = np.linspace(float(low), float(high), cells + 1)[None, :]
    for layer in layers:
        hidden = np.array(layer.weights, float) @ hidden + np.array(layer.biases, float)[:, None]
        hidden = np.maximum(hidden, 0) if layer.rectified else hidden
    return pieces_of_values(hidden[0])


def pieces_of_values(values: Float[np.ndarray, " n"]) -> int:
    """Return the number of pieces seen in the second differences of values on an even grid; see `pieces_on_a_grid`."""
    bends = np.abs(np.diff(values, 2)) > 1e-9 * np.abs(values).max()
    return 1 + int(bends[0]) + int(np.sum(bends[1:] & ~bends[:-1]))


def relu_nodes(layers: Sequence[Layer]) -> int:
    """Return the number of ReLUs of a network."""
    return sum(len(layer.biases) for layer in layers if layer.rectified)


def shallow_layers(f: PiecewiseAffine, low: Rational, high: Rational) -> list[Layer]:
    """Return a one-hidden-layer network equal to f on [low, high], with one unit per piece of f there.

    One unit at `low` carries the first slope, one at each inner knot the change of slope.
    """
    _check_interval(low, high)
    inner = [knot for knot in f.knots if low < knot < high]
    slopes = [_slope_after(f, _exact(low)), *(_slope_after(f, knot) for knot in inner)]
    weights = (slopes[0], *(after - before for before, after in pairwise(slopes)))
    knots = (_exact(low), *inner)
    hidden = Layer(((1,),) * len(knots), tuple(-knot for knot in knots))
    return [hidden, Layer((weights,), (f(low),), rectified=False)]


def minimal_shallow_units(f: PiecewiseAffine, low: Rational, high: Rational) -> int:
    """Return the least number of units with which a one-hidden-layer ReLU network can equal f on [low, high].

    Each inner knot needs a unit of its own, so f with p pieces needs at least p − 1 (handbook 1.2.2). These alone
    suffice only if the first slope is minus the sum of some of the changes of slope, those of the units that face
    left; otherwise one more unit carries it. For the iterates of the tent map it never is, so they need 2ⁿ. `low` <
    `high` are the ends of the interval.
    """
    _check_interval(low, high)
    slopes = [_slope_after(f, _exact(low)), *(_slope_after(f, knot) for knot in f.knots if low < knot < high)]
    reached = {Fraction(0)}
    for before, after in pairwise(slopes):
        reached |= {total + after - before for total in reached}
    return len(slopes) - 1 if -slopes[0] in reached else len(slopes)


def _slope_after(f: PiecewiseAffine, x: Fraction) -> Fraction:
    return f.pieces[bisect_right(f.knots, x)][0]


def l1_distance(f: PiecewiseAffine, g: PiecewiseAffine, low: Rational = 0, high: Rational = 1) -> Fraction:
    """Return ∫|f − g| over [low, high], exactly."""
    _check_interval(low, high)
    positive = affine_combination((1, -1), (f, g)).relu()
    negative = affine_combination((-1, 1), (f, g)).relu()
    return integral(positive, low, high) + integral(negative, low, high)


def integral(f: PiecewiseAffine, low: Rational = 0, high: Rational = 1) -> Fraction:
    """Return ∫f over [low, high], exactly: the trapezoidal rule between knots."""
    _check_interval(low, high)
    points = [_exact(low), *(knot for knot in f.knots if low < knot < high), _exact(high)]
    values = [f(x) for x in points]
    spans = zip(pairwise(points), pairwise(values), strict=True)
    return sum(((right - left) * (start + end) for (left, right), (start, end) in spans), Fraction(0)) / 2


def node_piece_bound(widths: Sequence[int], layer: int) -> int:
    """Return 2^i ∏_{j<i} m_j, a bound on the pieces of any node of ReLU layer i = `layer` ≥ 1 (lucchi Lemma 32)."""
    if not 1 <= layer <= len(widths):
        raise ValueError(f"layer must lie between 1 and {len(widths)}, got {layer}")
    return 2**layer * prod(widths[: layer - 1])


def network_piece_bound(nodes: int, layers: int) -> Fraction:
    """Return (2m/L)^L, a bound on the pieces above L ReLU layers of m nodes in all (lucchi Lemma 32).

    It grows with L as long as L ≤ 2m/e, so it bounds shallower networks too in that range.
    """
    if nodes < layers or layers < 1:
        raise ValueError(f"need nodes ≥ layers ≥ 1, got nodes={nodes} and layers={layers}")
    return Fraction(2 * nodes, layers) ** layers


doors(__name__, layer="[0, 1e4]", layers="[1, 1e4]", cells="[2, 1e6]")
