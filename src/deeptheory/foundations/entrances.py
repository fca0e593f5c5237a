"""Doors: a public function gets what its signature says, or refuses it in one sentence with name, value and wish.

`doors(__name__)`, the last line of a module, puts one before every public function and dataclass in it, `door` before a
method, or a function that another one returns. The signature already states kinds and shapes, so this one place can
enforce them and no function grows longer; what a signature cannot say (a range, symmetry, probabilities) stays a line
of `guards` at the top of the function.

- Numbers and arrays must be finite, whole numbers whole and not negative, arrays not empty; sizes of one name agree.
- Lists become arrays and whole numbers floats where the signature asks for that, so that lists of numbers work.
- An answer that is not a number is refused too: values so large or small that floating point fails give no nan.
- Values under `jit`, `vmap` or `grad` are not known yet and pass; a function that needs them after all says so. A
  call made inside another door is the library's own and pays one look-up. Finiteness is one sum over an array, where
  the array lives; only if that is not finite are the entries looked at. Nothing is copied, one number is waited for,
  and answers on an accelerator are not looked at.
"""

import dis
import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from deeptheory.foundations.wishes import Sizes, Wish, on_host, stated, wish

__all__ = ["door", "doors"]

_within: ContextVar[bool] = ContextVar("_within", default=False)

FAILURES = {
    MemoryError: "they need more memory than there is",
    OverflowError: "a number on the way is too large for floating point",
    ZeroDivisionError: "a number on the way is divided by zero",
    np.linalg.LinAlgError: "a matrix on the way is singular, or its decomposition does not converge",
}
"""what libraries raise where an answer cannot be computed, and what that means"""
UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""what JAX raises where the value of a traced argument is asked for"""
RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])


def doors(
    module: str,
    *,
    infinite: tuple[str, ...] = (),
    empty: tuple[str, ...] = (),
    nan: tuple[str, ...] = (),
    symmetric: tuple[str, ...] = (),
    slices: tuple[str, ...] = (),
    trusted: tuple[str, ...] = (),
    **ranges: str,
) -> None:
    """Put a door before every public function and dataclass of a module.

    `infinite` names the arguments for which ±∞ has a meaning (the end of a distribution, the limit of long times),
    `empty` those that may have no entries, `nan` the functions whose answer may be nan; `symmetric` names the matrices
    that are covariances or kernels, `slices` the pytrees of arrays that hold one slice a step, `trusted` arguments that
    functions look at themselves (nan may mark what is masked in them). Every other keyword is an argument with its
    interval, wherever in the module it occurs: ratio="(0, ∞)", order="[0, 100]"; a function for which another one is
    true says so in its signature, order: Annotated[int, "[1, 20]"]. A whole number is a count, not negative, unless its
    interval says otherwise; one that costs memory or time needs a largest value.
    """
    space = vars(sys.modules[module])
    for name in space.get("__all__") or [name for name in space if not name.startswith("_")]:
        thing = space[name]
        if getattr(thing, "__module__", None) != module:
            continue
        kind = thing.__init__ if inspect.isclass(thing) else thing
        if not callable(thing) or (inspect.isclass(thing) and not is_dataclass(thing)) or not hasattr(kind, "__name__"):
            continue
        named = {"infinite": infinite, "empty": empty, "symmetric": symmetric, "slices": slices}
        entered = _door(kind, name, _wishes(kind, named, trusted, ranges), name in nan)
        if inspect.isclass(thing):
            type.__setattr__(thing, "__init__", entered)
        else:
            space[name] = entered


def door(
    function: Callable,
    *,
    infinite: tuple[str, ...] = (),
    empty: tuple[str, ...] = (),
    nan: bool = False,
    symmetric: tuple[str, ...] = (),
    trusted: tuple[str, ...] = (),
    **ranges: str,
) -> Callable:
    """Return a function behind a door: a method, or one that no module lists because another function returns it.

    The options are those of `doors`; `nan` says that its answer may be nan.
    """
    named = {"infinite": infinite, "empty": empty, "symmetric": symmetric}
    return _door(function, function.__name__, _wishes(function, named, trusted, ranges), nan)


def _wishes(
    function: Callable, named: dict[str, tuple[str, ...]], trusted: tuple[str, ...], ranges: dict[str, str]
) -> dict[str, Wish]:
    """What is wished of every argument but the trusted ones; `named` has the arguments that a flag holds for."""
    wishes = {}
    for each, parameter in inspect.signature(function).parameters.items():
        if each != "self" and each not in trusted:
            usual = "[0, ∞)" if stated(parameter.annotation)[0] in (int, int | None) else ""
            flags = {flag: each in names for flag, names in named.items()}
            wishes[each] = wish(parameter.annotation, **flags, interval=ranges.get(each, usual))
    return wishes


def _door(function: Callable, title: str, wishes: dict[str, Wish], nan: bool) -> Callable:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def entered(*args: Any, **keywords: Any) -> Any:
        if _within.get():
            return function(*args, **keywords)
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as error:
            raise TypeError(f"{title}: {error}") from None
        sizes: Sizes = {}
        for name, value in bound.arguments.items():
            if name in wishes:
                bound.arguments[name] = _granted(signature.parameters[name], wishes[name], value, sizes)
        token = _within.set(True)
        try:
            answer = function(*bound.args, **bound.kwargs)
        except tuple(FAILURES) as error:
            found = isinstance(error, np.linalg.LinAlgError) and _at_fault(bound.arguments)
            why = next(words for kind, words in FAILURES.items() if isinstance(error, kind))
            raise ValueError(found or f"{title} has no answer for these values: {why}") from error
        except Exception as error:
            traced = _traced(bound.arguments)
            called = [] if traced else [name for name, value in bound.arguments.items() if _has_functions(value)]
            if called and isinstance(error, UNKNOWN):
                asked = f"{' and '.join(called)} must be made of JAX's functions and not ask for values"
                raise TypeError(f"{asked}: {title} traces it") from error
            if not traced or not (isinstance(error, UNKNOWN) or _of_a_library(error, bound.arguments)):
                raise  # our own sentence
            outside = "call it outside jit, vmap and grad, or make static what is a size or a switch"
            raise TypeError(f"{title} needs values, and {' and '.join(traced)} is traced: {outside}") from error
        finally:
            _within.reset(token)
        if not nan and answer is not None and _has_nan(answer):
            raise ValueError(f"{title} has no answer for these values: it comes out as nan")
        return answer

    return entered


def _granted(parameter: inspect.Parameter, wanted: Wish, value: Any, sizes: Sizes) -> Any:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return tuple(wanted.grant(parameter.name, each, sizes) for each in value)
    if parameter.kind is parameter.VAR_KEYWORD:
        return {name: wanted.grant(name, each, sizes) for name, each in value.items()}
    if value is parameter.default:
        return value
    return wanted.grant(parameter.name, value, sizes)


def _traced(given: dict[str, Any]) -> list[str]:
    return [name for name, value in given.items() if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))]


def _has_functions(value: Any) -> bool:
    return callable(value) or any(map(callable, jax.tree.leaves(value)))


def _of_a_library(error: Exception, given: dict[str, Any]) -> bool:
    """Whether a library, not our own `raise` nor a function among the arguments, stumbled over what it was given.

    Compiled code leaves no frame: then the last one is ours, and stands at a call or an assignment. Where functions are
    among the arguments, they are what stumbles, unless a size is traced.
    """
    last: Any = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code, here = last.tb_frame.f_code.co_code, last.tb_frame.f_globals.get("__name__", "").startswith("deeptheory.")
    ours = here and code[last.tb_lasti] in RAISES
    return not ours and (not any(map(callable, given.values())) or any(map(_is_traced_size, given.values())))


def _is_traced_size(value: Any) -> bool:
    return isinstance(value, Tracer) and value.ndim == 0 and jax.numpy.issubdtype(value.dtype, jax.numpy.integer)


def _at_fault(given: dict[str, Any]) -> str:
    """Name the matrix among the arguments that has no inverse or no Cholesky factor, where it is one of them."""
    for name, value in given.items():
        if not isinstance(value, np.ndarray | jax.Array) or value.ndim != 2 or not on_host(value):
            continue
        matrix = np.asarray(value)
        sizes = np.linalg.svd(matrix, compute_uv=False)
        if len(set(matrix.shape)) == 1 and np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix)[0] <= 0:
            return f"{name} must be positive definite, got an eigenvalue {np.linalg.eigvalsh(matrix)[0]:.3g}"
        if sizes[-1] <= len(sizes) * np.finfo(float).eps * sizes[0]:
            return f"{name} must have full rank, got singular values from {sizes[-1]:.3g} to {sizes[0]:.3g}"
    return ""


def _has_nan(answer: Any) -> bool:
    """Look for nan in what was computed on the host: ∞ − ∞ in the sum of an array is looked at entry by entry."""
    for leaf in jax.tree.leaves(answer):
        if isinstance(leaf, float | complex | np.inexact):
            if leaf != leaf:
                return True
        elif isinstance(leaf, np.ndarray | jax.Array) and not isinstance(leaf, Tracer) and leaf.dtype.kind in "fc":
            if not on_host(leaf):
                continue
            known = np.asarray(leaf)
            with np.errstate(all="ignore"):
                total = known.sum()
            if total != total and np.isnan(known).any():
                return True
    return False
