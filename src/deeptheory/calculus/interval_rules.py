"""Primitives of JAX on intervals, each rounded outward: what `intervals` is made of.

A rule takes the traced equation, the intervals that go in, `steps` (whether a step inside an interval is enclosed, or
nan because the function is not continuous there) and `twin` (whether the two arguments are one variable). Numbers are
double: a sum or product is off by half a unit in the last place, a function of the mathematical library by at most
four. Booleans are intervals too, from what is certain to what is possible. These functions are small and called in
their thousands: tests do not check the types of their arguments each time.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple, no_type_check

import numpy as np
from scipy.special import erf, erfc, expit

__all__ = ["RULES", "Interval", "point", "split"]

EPSILON = np.finfo(float).eps
TINY = 1e-300
"""more than what underflow can lose"""
LIBRARY = 4.0
"""units in the last place by which a function of the mathematical library may be off"""


@no_type_check
class Interval(NamedTuple):
    """Arrays of lower and upper ends."""

    low: Any
    high: Any


@no_type_check
def point(value: Any) -> Interval:
    """The interval of one number."""
    known = np.asarray(value)
    return Interval(known, known)


@no_type_check
def _widened(low: Any, high: Any, units: float = 1.0) -> Interval:
    """Move both ends outward by so many units; a zero stays, as sums and monotone functions give it exactly."""
    if np.asarray(low).dtype.kind != "f":
        return Interval(low, high)
    by_low, by_high = (np.where(np.isinf(x) | (x == 0), 0.0, units * EPSILON * np.abs(x) + TINY) for x in (low, high))
    return Interval(low - by_low, high + by_high)


@no_type_check
def _sum(a: Interval, b: Interval) -> Interval:
    return _widened(a.low + b.low, a.high + b.high)


@no_type_check
def _negative(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


@no_type_check
def _product(a: Interval, b: Interval) -> Interval:
    corners = []
    for x in a:
        for y in b:
            corner = x * y
            # 0·∞ stands for 0 times something large; what underflows to zero is not zero.
            corner = np.where(np.isnan(corner) & ~np.isnan(x) & ~np.isnan(y), 0.0, corner)
            corners.append(np.where((corner == 0) & (x != 0) & (y != 0), np.sign(x) * np.sign(y) * TINY, corner))
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    found = _widened(low, high)
    return Interval(np.where(low >= 0, np.maximum(found.low, 0), found.low), found.high)


@no_type_check
def _inverse(a: Interval, steps: bool) -> Interval:
    """1/x; where zero lies inside everything is possible, where it is an end everything beyond the other end."""
    within, touching = (a.low < 0) & (a.high > 0), (a.low == 0) | (a.high == 0)
    low = np.where(within | (touching & (a.low < 0)), -np.inf, 1 / np.where(a.high == 0, 1.0, a.high))
    high = np.where(within | (touching & (a.high > 0)), np.inf, 1 / np.where(a.low == 0, 1.0, a.low))
    nowhere = np.isnan(a.low) | ((a.low == 0) & (a.high == 0)) | ((within | touching) & (not steps))
    found = _widened(low, high)
    kept = np.where(a.low >= 0, np.maximum(found.low, 0), found.low)
    return Interval(np.where(nowhere, np.nan, kept), np.where(nowhere, np.nan, found.high))


@no_type_check
def _power(a: Interval, exponent: int, steps: bool) -> Interval:
    if exponent < 0:
        return _inverse(_power(a, -exponent, steps), steps)
    low, high = _absolute(a) if exponent % 2 == 0 else a
    # Repeated products: one rounding each.
    found = _widened(low**exponent, high**exponent, float(exponent))
    return Interval(np.where(low >= 0, np.maximum(found.low, 0), found.low), found.high)


@no_type_check
def _absolute(a: Interval) -> Interval:
    across = (a.low < 0) & (a.high > 0)
    return Interval(np.where(across, 0, np.minimum(abs(a.low), abs(a.high))), np.maximum(abs(a.low), abs(a.high)))


@no_type_check
def _increasing(function: Callable, a: Interval, least: float | int = -np.inf, most: float | int = np.inf) -> Interval:
    found = _widened(function(a.low), function(a.high), LIBRARY)
    return Interval(np.maximum(found.low, least), np.minimum(found.high, most))


@no_type_check
def _wave(peak: float, function: Callable, a: Interval) -> Interval:
    """Sine and cosine, whose largest value is at `peak` + 2πk and whose least half a turn further."""
    slack = 1e-15 * (1 + np.abs(a.low) + np.abs(a.high))
    ends = function(a.low), function(a.high)

    def meets(place: float) -> Any:
        turns = [(end - place) / (2 * np.pi) for end in (a.low - slack, a.high + slack)]
        return np.floor(turns[1]) >= np.ceil(turns[0])

    found = _widened(np.minimum(*ends), np.maximum(*ends), LIBRARY)
    low = np.where(meets(peak + np.pi), -1.0, np.maximum(found.low, -1))
    return Interval(low, np.where(meets(peak), 1.0, np.minimum(found.high, 1)))


@no_type_check
def _step(function: Callable, a: Interval, steps: bool) -> Interval:
    low, high = function(a.low), function(a.high)
    unclear = (low != high) & (not steps)
    return Interval(np.where(unclear, np.nan, low), np.where(unclear, np.nan, high))


@no_type_check
def _converted(equation: Any, a: Interval, steps: bool) -> Interval:
    kind = equation.params["new_dtype"]
    if a.low.dtype.kind == "b" and np.dtype(kind).kind != "b":
        return _step(lambda x: np.asarray(x, float), a, steps)
    if np.dtype(kind).kind in "iu" and a.low.dtype.kind == "f":
        return _step(np.trunc, a, steps)
    return Interval(*(np.asarray(each, kind if np.dtype(kind).kind != "f" else float) for each in a))


@no_type_check
def _selected(steps: bool, which: Interval, *cases: Interval) -> Interval:
    if len(cases) != 2:
        raise NotImplementedError(f"function must choose between two cases at a time, got {len(cases)}")
    (low, high), (other_low, other_high) = cases
    chosen, clear = which.low > 0, (which.low > 0) == (which.high > 0)
    low = np.where(clear, np.where(chosen, other_low, low), np.minimum(low, other_low))
    high = np.where(clear, np.where(chosen, other_high, high), np.maximum(high, other_high))
    if steps or low.dtype.kind != "f":
        return Interval(low, high)
    return Interval(np.where(clear, low, np.nan), np.where(clear, high, np.nan))


@no_type_check
def _less(a: Interval, b: Interval, twin: bool) -> Interval:
    certain = a.high < b.low
    return Interval(certain, np.zeros_like(certain) if twin else ~(a.low >= b.high))


@no_type_check
def _equal(a: Interval, b: Interval, twin: bool) -> Interval:
    certain = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    return point(np.ones_like(certain)) if twin else Interval(certain, ~((a.high < b.low) | (b.high < a.low)))


@no_type_check
def _not(a: Interval) -> Interval:
    return Interval(~a.high, ~a.low)


@no_type_check
def _middle(a: Interval) -> tuple[Any, Any]:
    middle = np.where(a.low == a.high, a.low, a.low / 2 + a.high / 2)
    # A little more than the distance to either end, whose subtraction is rounded.
    radius = np.maximum(a.high - middle, middle - a.low) * (1 + 4 * EPSILON) + TINY
    return middle, np.where(a.low == a.high, 0.0, radius)


@no_type_check
def _contracted(equation: Any, a: Interval, b: Interval, twin: bool) -> Interval:
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    if twin and left == right and left_batch == right_batch and np.ndim(a.low) == len(left) + len(left_batch):
        return _added(left, _power(a, 2, True))
    first, second = list(range(np.ndim(a.low))), list(range(100, 100 + np.ndim(b.low)))
    for one, other in [*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)]:
        second[other] = first[one]
    free = [each for each in first if each not in [first[i] for i in (*left, *left_batch)]]
    result = [first[i] for i in left_batch] + free + [each for each in second if each >= 100]
    names = {each: number for number, each in enumerate(dict.fromkeys([*first, *second]))}

    def times(x: Any, y: Any) -> Any:
        return np.einsum(x, [names[i] for i in first], y, [names[i] for i in second], [names[i] for i in result])

    (middle, radius), (other, spread) = _middle(a), _middle(b)
    centre, size = times(middle, other), times(abs(middle) + radius, abs(other) + spread)
    terms = int(np.prod([np.shape(a.low)[i] for i in left], initial=1))
    around = times(radius, abs(other) + spread) + times(abs(middle), spread)
    around = around + (terms + 4) * 2 * EPSILON * size + TINY * (size > 0)
    unknown = np.isinf(size)  # ∞ − ∞ would be nan, which means undefined
    return Interval(np.where(unknown, -np.inf, centre - around), np.where(unknown, np.inf, centre + around))


@no_type_check
def _added(axes: Any, a: Interval) -> Interval:
    terms = int(np.prod([np.shape(a.low)[i] for i in axes], initial=1))
    low, high = a.low.sum(axes), a.high.sum(axes)
    off = [(terms + 1) * EPSILON * np.abs(each).sum(axes) for each in a]
    off = [np.where(np.isinf(each), 0.0, each) for each in off]
    found = low - off[0]
    return Interval(np.where((a.low >= 0).all(axes), np.maximum(found, 0), found), high + off[1])


@no_type_check
def _spread(equation: Any, x: Any) -> Any:
    shape, kept = equation.params["shape"], equation.params["broadcast_dimensions"]
    sizes = [np.shape(x)[kept.index(axis)] if axis in kept else 1 for axis in range(len(shape))]
    return np.broadcast_to(np.reshape(x, sizes), shape)


def _cut(equation: Any, x: Any) -> Any:
    starts, ends, strides = (equation.params[each] for each in ("start_indices", "limit_indices", "strides"))
    return x[tuple(map(slice, starts, ends, strides or (1,) * len(starts)))]


@no_type_check
def _by_parts(move: Callable, equation: Any, *given: Interval, **_: Any) -> Interval:
    """What only moves numbers, or is monotone in each without rounding, is done to lower and upper ends."""
    return Interval(move(equation, *(each.low for each in given)), move(equation, *(each.high for each in given)))


def _counted(equation: Any, **_: Any) -> Interval:
    shape, axis = equation.params["shape"], equation.params["dimension"]
    ranks = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return point(np.broadcast_to(ranks, shape).astype(equation.params["dtype"]))


def _looked_up(equation: Any, *given: Interval, **_: Any) -> Interval:
    """Entries at places that are known, as JAX finds them."""
    if any((each.low != each.high).any() for each in given[1:]):
        raise NotImplementedError("function must look up entries at places that do not depend on its input")
    ends = zip(*given, strict=True)
    return Interval(*(np.asarray(equation.primitive.bind(*each, **equation.params)) for each in ends))


def _multiplied(axes: Any, a: Interval) -> Interval:
    for axis in sorted(axes, reverse=True):
        factors = [Interval(*pair) for pair in zip(*(np.moveaxis(each, axis, 0) for each in a), strict=True)]
        a = reduce(_product, factors)
    return a


def _running(axis: int, backwards: bool, a: Interval) -> Interval:
    """Partial sums, each rounded at most as often as there are terms."""
    turned = [np.flip(each, axis) if backwards else each for each in a]
    low, high = (np.cumsum(each, axis) for each in turned)
    off = [np.shape(low)[axis] * EPSILON * np.cumsum(np.abs(each), axis) for each in turned]
    return Interval(*(np.flip(each, axis) if backwards else each for each in (low - off[0], high + off[1])))


def split(equation: Any, a: Interval) -> list[Interval]:
    """Cut arrays into pieces, the one primitive here with several results."""
    places = np.cumsum(equation.params["sizes"])[:-1]
    pieces = (np.split(each, places, equation.params["axis"]) for each in a)
    return [Interval(*pair) for pair in zip(*pieces, strict=True)]


MOVES: dict[str, Callable] = {
    "reshape": lambda e, x: np.reshape(x, e.params["new_sizes"]),
    "transpose": lambda e, x: np.transpose(x, e.params["permutation"]),
    "squeeze": lambda e, x: np.squeeze(x, tuple(e.params["dimensions"])),
    "rev": lambda e, x: np.flip(x, e.params["dimensions"]),
    "concatenate": lambda e, *x: np.concatenate(x, e.params["dimension"]),
    "broadcast_in_dim": _spread,
    "slice": _cut,
    "copy": lambda e, x: x,
    "stop_gradient": lambda e, x: x,
    "reduce_max": lambda e, x: x.max(e.params["axes"]),
    "reduce_min": lambda e, x: x.min(e.params["axes"]),
    "reduce_and": lambda e, x: x.all(e.params["axes"]),
    "reduce_or": lambda e, x: x.any(e.params["axes"]),
    "max": lambda e, x, y: np.maximum(x, y),
    "min": lambda e, x, y: np.minimum(x, y),
    "and": lambda e, x, y: x & y,
    "or": lambda e, x, y: x | y,
    "clamp": lambda e, a, x, b: np.minimum(np.maximum(x, a), b),
}
INCREASING: dict[str, tuple[Any, ...]] = {
    "exp": (np.exp, 0), "exp2": (np.exp2, 0), "expm1": (np.expm1, -1), "log": (np.log,), "log1p": (np.log1p,),
    "sqrt": (np.sqrt, 0), "cbrt": (np.cbrt,), "tanh": (np.tanh, -1, 1), "logistic": (expit, 0, 1), "erf": (erf, -1, 1),
    "sinh": (np.sinh,), "asinh": (np.arcsinh,), "atan": (np.arctan,), "asin": (np.arcsin,), "atanh": (np.arctanh,),
}  # fmt: skip
"""functions, with the least and the largest value they have"""
STEPS: dict[str, Callable] = {"sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": np.round}

RULES: dict[str, Callable[..., Interval]] = {
    **{name: partial(_by_parts, move) for name, move in MOVES.items()},
    **{
        name: lambda e, a, *, _function=function, **_: _increasing(_function[0], a, *_function[1:])
        for name, function in INCREASING.items()
    },
    **{name: lambda e, a, *, steps, _step_=step, **_: _step(_step_, a, steps) for name, step in STEPS.items()},
    "gather": _looked_up,
    "dynamic_slice": _looked_up,
    "pad": lambda e, *given, **_: _by_parts(lambda e, *x: np.asarray(e.primitive.bind(*x, **e.params)), e, *given),
    "add": lambda e, a, b, **_: _sum(a, b),
    "add_any": lambda e, a, b, **_: _sum(a, b),
    "sub": lambda e, a, b, **_: _sum(a, _negative(b)),
    "neg": lambda e, a, **_: _negative(a),
    "mul": lambda e, a, b, *, twin, **_: _power(a, 2, True) if twin else _product(a, b),
    "div": lambda e, a, b, *, steps, **_: _product(a, _inverse(b, steps)),
    "square": lambda e, a, **_: _power(a, 2, True),
    "one_minus_square": lambda e, a, **_: _sum(point(1.0), _negative(_power(a, 2, True))),
    "integer_pow": lambda e, a, *, steps, **_: _power(a, e.params["y"], steps),
    "pow": lambda e, a, b, **_: _increasing(np.exp, _product(b, _increasing(np.log, a)), 0),
    "rsqrt": lambda e, a, *, steps, **_: _inverse(_increasing(np.sqrt, a, 0), steps),
    "abs": lambda e, a, **_: _absolute(a),
    "erfc": lambda e, a, **_: _negative(_increasing(lambda x: -erfc(x), a)),
    "acos": lambda e, a, **_: _negative(_increasing(lambda x: -np.arccos(x), a)),
    "cosh": lambda e, a, **_: _increasing(np.cosh, _absolute(a), 1),
    "cos": lambda e, a, **_: _wave(0.0, np.cos, a),
    "sin": lambda e, a, **_: _wave(np.pi / 2, np.sin, a),
    "dot_general": lambda e, a, b, *, twin, **_: _contracted(e, a, b, twin),
    "reduce_prod": lambda e, a, **_: _multiplied(e.params["axes"], a),
    "cumsum": lambda e, a, **_: _running(e.params["axis"], e.params["reverse"], a),
    "reduce_sum": lambda e, a, **_: _added(e.params["axes"], a),
    "convert_element_type": lambda e, a, *, steps, **_: _converted(e, a, steps),
    "select_n": lambda e, *given, steps, **_: _selected(steps, *given),
    "lt": lambda e, a, b, *, twin, **_: _less(a, b, twin),
    "gt": lambda e, a, b, *, twin, **_: _less(b, a, twin),
    "ge": lambda e, a, b, *, twin, **_: _not(_less(a, b, twin)),
    "le": lambda e, a, b, *, twin, **_: _not(_less(b, a, twin)),
    "eq": lambda e, a, b, *, twin, **_: _equal(a, b, twin),
    "ne": lambda e, a, b, *, twin, **_: _not(_equal(a, b, twin)),
    "not": lambda e, a, **_: _not(a),
    "is_finite": lambda e, a, **_: Interval(np.isfinite(a.low) & np.isfinite(a.high), ~np.isinf(a.low + a.high)),
    "iota": _counted,
}  # fmt: skip
"""by the primitive's name"""
