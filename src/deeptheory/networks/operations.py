"""What one node of a computation graph may do: its value, and the message that it sends to each of its inputs.

A rule says how the message S · ∂u/∂z is computed, and it is written in operations of this same table: handed numbers it
gives a number, handed names of nodes it gives new nodes. So the gradient of a graph is a graph again, and has a
gradient. The Jacobian of a tensor operation is never formed; its rule applies the transpose.

Elementwise operations ask for inputs of one shape (a number written into the graph fits any); `spread` repeats a number
over the shape of a tensor and `total` adds a tensor up, each the transpose of the other. So are `correlate`, a filter
at all places where it fits, and `convolve`, a copy of the filter for every entry, added up.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["OPERATIONS", "Operation"]


class Operation(NamedTuple):
    """A function of the inputs, `value(xp, *inputs)` with xp NumPy or jax.numpy, and a rule for each of its inputs.

    A rule is called as rule(do, message, output, *inputs), where do("multiply", a, b) carries out an operation; None
    says that an input gets no message because the derivative is zero wherever it exists. An operation with one rule and
    `arity` None takes any number of inputs.
    """

    arity: int | None
    value: Callable[..., Any]
    rules: tuple[Callable[..., Any] | None, ...]
    fits: Callable[[list[tuple[int, ...]]], bool] = lambda shapes: len(set(shapes)) < 2
    """whether inputs may have these shapes, those of constants left out"""

    def rule(self, position: int) -> Callable[..., Any] | None:
        """Return the rule for the message to one input."""
        return self.rules[position] if self.arity else self.rules[0]


def _sum(xp: Any, *inputs: Any) -> Any:
    return sum(inputs[1:], start=inputs[0])


def _decay(xp: Any, x: Any) -> Any:
    """e^−|x|, which no x makes too large; of the real part's sign, so that small imaginary steps pass."""
    return xp.exp(xp.where(xp.real(x) > 0, -x, x))


def _sigmoid(xp: Any, x: Any) -> Any:
    decay = _decay(xp, x)
    return xp.where(xp.real(x) > 0, 1.0, decay) / (1 + decay)


def _relu(xp: Any, x: Any) -> Any:
    return xp.where(xp.real(x) > 0, x, 0 * x)


def _heaviside(xp: Any, x: Any) -> Any:
    return xp.where(xp.real(x) > 0, 1.0, 0.0)


def _softmax(xp: Any, x: Any) -> Any:
    raised = xp.exp(x - xp.max(xp.real(x)))
    return raised / xp.sum(raised)


def _log_sum_exp(xp: Any, x: Any) -> Any:
    highest = xp.max(xp.real(x))
    return highest + xp.log(xp.sum(xp.exp(x - highest)))


def _normalized(xp: Any, x: Any) -> Any:
    apart = x - xp.mean(x)
    return apart / xp.sqrt(xp.mean(apart * apart) + DELTA)


def _mean(do: Callable[..., Any], x: Any) -> Any:
    """The mean of all entries, again in all places, in operations of the table."""
    return do("spread", do("divide", do("total", x), do("total", do("spread", 1.0, x))), x)


def _normalized_message(do: Callable[..., Any], s: Any, u: Any, x: Any) -> Any:
    """(s − mean s − u·mean(s·u))/√(v + δ), v the variance of x."""
    variance = _mean(do, do("square", do("subtract", x, _mean(do, x))))
    deviation = do("exp", do("multiply", 0.5, do("log", do("add", variance, DELTA))))
    across = do("subtract", do("subtract", s, _mean(do, s)), do("multiply", u, _mean(do, do("multiply", s, u))))
    return do("divide", across, deviation)


DELTA = 1e-5
"""what `normalize` adds to the variance"""

OPERATIONS: dict[str, Operation] = {
    "copy": Operation(1, lambda xp, x: x, (lambda do, s, u, x: s,)),
    "add": Operation(None, _sum, (lambda do, s, u, *z: s,)),
    "subtract": Operation(
        2, lambda xp, x, y: x - y, (lambda do, s, u, x, y: s, lambda do, s, u, x, y: do("negate", s))
    ),
    "negate": Operation(1, lambda xp, x: -x, (lambda do, s, u, x: do("negate", s),)),
    "multiply": Operation(
        2,
        lambda xp, x, y: x * y,
        (lambda do, s, u, x, y: do("multiply", s, y), lambda do, s, u, x, y: do("multiply", s, x)),
    ),
    "divide": Operation(
        2,
        lambda xp, x, y: x / y,
        (
            lambda do, s, u, x, y: do("divide", s, y),
            lambda do, s, u, x, y: do("negate", do("divide", do("multiply", s, u), y)),
        ),
    ),
    "square": Operation(1, lambda xp, x: x * x, (lambda do, s, u, x: do("multiply", s, do("multiply", 2.0, x)),)),
    "exp": Operation(1, lambda xp, x: xp.exp(x), (lambda do, s, u, x: do("multiply", s, u),)),
    "log": Operation(1, lambda xp, x: xp.log(x), (lambda do, s, u, x: do("divide", s, x),)),
    "sin": Operation(1, lambda xp, x: xp.sin(x), (lambda do, s, u, x: do("multiply", s, do("cos", x)),)),
    "cos": Operation(1, lambda xp, x: xp.cos(x), (lambda do, s, u, x: do("negate", do("multiply", s, do("sin", x))),)),
    "tanh": Operation(
        1,
        lambda xp, x: xp.tanh(x),
        (lambda do, s, u, x: do("multiply", s, do("subtract", 1.0, do("square", u))),),
    ),
    "sigmoid": Operation(
        1,
        _sigmoid,
        (lambda do, s, u, x: do("multiply", s, do("multiply", u, do("sigmoid", do("negate", x)))),),
    ),
    "softplus": Operation(
        1,
        lambda xp, x: _relu(xp, x) + xp.log1p(_decay(xp, x)),
        (lambda do, s, u, x: do("multiply", s, do("sigmoid", x)),),
    ),
    "relu": Operation(1, _relu, (lambda do, s, u, x: do("multiply", s, do("heaviside", x)),)),
    "heaviside": Operation(1, _heaviside, (None,)),
    # Tensors: of two matrices U = WZ the messages are S Zᵀ and Wᵀ S.
    "matmul": Operation(
        2,
        lambda xp, w, z: w @ z,
        (
            lambda do, s, u, w, z: do("matmul", s, do("transpose", z)),
            lambda do, s, u, w, z: do("matmul", do("transpose", w), s),
        ),
        lambda shapes: list(map(len, shapes)) == [2, 2] and shapes[0][1] == shapes[1][0],
    ),
    "transpose": Operation(
        1, lambda xp, x: x.T, (lambda do, s, u, x: do("transpose", s),), lambda shapes: list(map(len, shapes)) == [2]
    ),
    "correlate": Operation(
        2,
        lambda xp, w, z: xp.convolve(z, w[::-1], "valid"),
        (lambda do, s, u, w, z: do("correlate", s, z), lambda do, s, u, w, z: do("convolve", w, s)),
        lambda shapes: list(map(len, shapes)) == [1, 1] and 1 <= shapes[0][0] <= shapes[1][0],
    ),
    "convolve": Operation(
        2,
        lambda xp, w, z: xp.convolve(w, z),
        (lambda do, s, u, w, z: do("correlate", z, s), lambda do, s, u, w, z: do("correlate", w, s)),
        lambda shapes: list(map(len, shapes)) == [1, 1] and min(shapes[0] + shapes[1]) >= 1,
    ),
    "total": Operation(1, lambda xp, x: xp.sum(x), (lambda do, s, u, x: do("spread", s, x),)),
    "spread": Operation(
        2,
        lambda xp, number, like: number + xp.zeros(np.shape(like)),
        (lambda do, s, u, number, like: do("total", s), None),
        lambda shapes: len(shapes) == 1 or (len(shapes) == 2 and shapes[0] == ()),
    ),
    "softmax": Operation(
        1,
        _softmax,
        (lambda do, s, u, x: do("multiply", u, do("subtract", s, do("spread", do("total", do("multiply", s, u)), s))),),
    ),
    "log_sum_exp": Operation(
        1,
        _log_sum_exp,
        (lambda do, s, u, x: do("multiply", do("spread", s, x), do("softmax", x)),),
    ),
    "normalize": Operation(1, _normalized, (_normalized_message,)),
}
"""by name; `softmax`, `log_sum_exp` and `normalize` run over all entries of a tensor"""
