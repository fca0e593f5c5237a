"""Interval arithmetic on JAX functions: what a function can return on a box, for certain.

A function is traced to its primitives, and each of them is given intervals in place of numbers: the answer encloses
all values on the box, and rounding errors too, because every result is rounded outward. Derivatives are functions like
others: the enclosure of `jax.grad(f)` is an enclosure of the gradient. Many boxes are enclosed in one pass.

What is enclosed is the function of real numbers. An undefined value (the logarithm of a negative number) is nan. A
step (sign, floor, a branch that depends on the input) has as enclosure all that its branches can be; with `steps=False`
it is nan instead, so that what is not nan is continuous on the box.

Reference: Moore, Interval Analysis (1966).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal
from jaxtyping import Array, Float

from deeptheory.calculus.interval_rules import RULES, Interval, point, split
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["Enclosure", "enclosure", "enclosures"]

Function = Callable[[Float[Array, "d"]], Float[Array, "..."]]


EPSILON = np.finfo(float).eps


class Enclosure(NamedTuple):
    """The least and largest value, entry by entry, that a function may have: no value lies outside."""

    low: Float[np.ndarray, "..."]
    high: Float[np.ndarray, "..."]


def enclosure(function: Function, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"]) -> Enclosure:
    """Enclose all values of a JAX function on the box from `low` to `high`.

    The width of the enclosure exceeds that of the range by an amount of the order of the box's width, because a
    variable that occurs twice is treated like two: x − x on [0, 1] gives [−1, 1]. Cut the box, as `certified` does. A
    primitive without a rule is refused by its name.

    Reference: Moore, Interval Analysis (1966); lucchi Def. 3.
    """
    inside(low, np.inf, "[)", high=high)
    return Enclosure(*(each[0] for each in enclosures(function, low[None], high[None])))


def enclosures(
    function: Function, lows: Float[np.ndarray, "k d"], highs: Float[np.ndarray, "k d"], *, steps: bool = True
) -> Enclosure:
    """Enclose all values of a JAX function on each of k boxes; the boxes are the first axis of the answer.

    With `steps=False` an entry is nan wherever the function is not shown to be continuous on the box.
    """
    return compiled(function, lows.shape)(lows, highs, steps)


def compiled(function: Function, shape: tuple[int, ...]) -> Callable[[Any, Any, bool], Enclosure]:
    """Trace a function once for k × d boxes; the answer maps their lower and upper ends, and `steps`, to enclosures."""
    with jax.enable_x64(True):
        traced = jax.make_jaxpr(jax.vmap(function))(np.zeros(shape))
    if len(traced.jaxpr.outvars) != 1:
        raise TypeError(f"function must return one array, got {len(traced.jaxpr.outvars)}")

    def enclosed(lows: Any, highs: Any, steps: bool) -> Enclosure:
        with np.errstate(all="ignore"):
            [found] = _evaluated(traced.jaxpr, traced.consts, [Interval(lows, highs)], steps)
        return Enclosure(np.array(found.low, float), np.array(found.high, float))

    return enclosed


def mean_value_form(function: Function, shape: tuple[int, ...]) -> Callable[[Any, Any], Enclosure]:
    """Enclose a function on many boxes by itself and by f(c) + f′(box)·(box − c), and take what both allow.

    The second is closer on small boxes, by one order of their width; it is valid where f is continuous.
    """
    plain, slope = compiled(function, shape), compiled(jax.jacfwd(function), shape)

    def enclosed(lows: Any, highs: Any) -> Enclosure:
        kept, middles = plain(lows, highs, False), lows / 2 + highs / 2
        # Where there is no step the two enclosures are one.
        natural = plain(lows, highs, True) if np.isnan(kept.low).any() else kept
        if (lows == highs).all():
            return natural
        centre, rise = plain(middles, middles, True), slope(lows, highs, True)
        steep = np.maximum(np.abs(rise.low), np.abs(rise.high))
        reach = np.maximum(highs - middles, middles - lows).reshape(len(lows), *[1] * (steep.ndim - 2), -1)
        with np.errstate(all="ignore"):
            change = (steep * reach).sum(-1) * (1 + 4 * shape[1] * EPSILON)
            pair = np.maximum(natural.low, centre.low - change), np.minimum(natural.high, centre.high + change)
        use = np.isfinite(change) & ~np.isnan(kept.low) & np.isfinite(centre.low) & np.isfinite(centre.high)
        return Enclosure(*(np.where(use, better, old) for better, old in zip(pair, natural, strict=True)))

    return enclosed


def _evaluated(jaxpr: Any, constants: Any, inputs: Any, steps: bool) -> list[Interval]:
    """Run through a jaxpr with intervals in place of numbers."""
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(point, constants), *inputs], strict=True))

    def read(variable: Any) -> Interval:
        return point(variable.val) if isinstance(variable, Literal) else known[variable]

    for equation in jaxpr.eqns:
        given, name = [read(each) for each in equation.invars], equation.primitive.name
        inner = equation.params.get("call_jaxpr", equation.params.get("jaxpr"))
        if name == "scan":
            found = _repeated(equation, given, steps)
        elif name == "split":
            found = split(equation, *given)
        elif name in RULES:
            # A variable that meets itself is one, not two: x·x is a square, and x is not below x.
            twin = len(given) == 2 and equation.invars[0] is equation.invars[1]
            found = [RULES[name](equation, *given, steps=steps, twin=twin)]
        elif inner is not None:
            found = _evaluated(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), given, steps)
        else:
            raise NotImplementedError(f"function must be made of primitives with a rule for intervals, got {name}")
        known.update(zip(equation.outvars, found, strict=True))
    return [read(each) for each in jaxpr.outvars]


def _repeated(equation: Any, given: list[Interval], steps: bool) -> list[Interval]:
    """A loop of known length, step by step."""
    parameters, body = equation.params, equation.params["jaxpr"]
    # What is handed over row by row has one axis more outside than inside; how many there are JAX says in its own way
    # in every version.
    rowwise, collected = (
        sum(outer.aval.ndim > inner.ndim for outer, inner in zip(variables, within, strict=True))
        for variables, within in ((equation.invars, body.in_avals), (equation.outvars, body.out_avals))
    )
    count = len(equation.outvars) - collected
    first = len(given) - rowwise
    constants, carry, rows = given[: first - count], given[first - count : first], given[first:]
    turns = range(parameters["length"])
    results = []
    for turn in reversed(turns) if parameters["reverse"] else turns:
        row = [Interval(each.low[turn], each.high[turn]) for each in rows]
        found = _evaluated(body.jaxpr, body.consts, [*constants, *carry, *row], steps)
        carry = found[:count]
        results.append(found[count:])
    ordered = results[::-1] if parameters["reverse"] else results
    return [*carry, *(Interval(*map(np.stack, zip(*each, strict=True))) for each in zip(*ordered, strict=True))]


doors(__name__, nan=("enclosures",))
