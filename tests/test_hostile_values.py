"""Nonsense at every public door: refused in one sentence of ours, or answered rightly; never nan, never a raw error.

Every argument of every public function is replaced in turn by values that have no meaning there. The calls come from
`hostile_examples`; a new public function whose call does not follow from its signature needs a line in the table of
its room.
"""

import faulthandler
import inspect
import os
import resource
import signal
import traceback
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, get_origin

import jax
import jaxtyping
import numpy as np
import pytest

from deeptheory.foundations.entrances import UNKNOWN
from hostile_examples import (
    EXAMPLES,
    FOUND,
    FREE_TEXT,
    MAY_BE_EMPTY,
    MAY_BE_NAN,
    RECORDS,
    ROOMS,
    SIGNED,
    TABLES,
    alternatives,
    example,
    public,
    typical,
)
from hostile_examples.ingredients import KEY, POINTS

HERE = Path(__file__).resolve().parent
SOURCE = str(HERE.parent / "src" / "deeptheory")
CALLS = str(HERE / "hostile_examples")
SHARE = int(os.environ.get("DEEPTHEORY_HOSTILE", 16))
"""One of so many spoilt calls is made, chosen by its name, and those in FOUND; all with DEEPTHEORY_HOSTILE=1."""
SECONDS = 30
"""of the processor's time, so that a busy machine does not decide"""


class Nonsense:
    def __repr__(self) -> str:
        return "something else"


# Values by what they are for a number, a whole number and an array. Those in `NEVER` are refused whatever the function.
NEVER = {"nan": np.nan, "float32 nan": np.float32("nan"), "text": "0.3", "object": Nonsense(), "a set": {1}}
INFINITE = {"inf": np.inf, "-inf": -np.inf}
NUMBERS = {"negative": -0.7, "zero": 0.0, "tiny": 1e-300, "huge": 1e300, "two": 2, "float32": np.float32(0.25)}
WHOLE = {"negative": -3, "zero": 0, "million": 10**6, "billion": 10**9, "endless": 10**30, "numpy": np.int32(2)}
NOT_WHOLE = {"half": 2.5, "half of numpy": np.float64(1.5), "complex": 1j, "true": True}


def spoilt_arrays(value: np.ndarray, square: bool, real: bool = True) -> Iterator[tuple[str, Any, bool]]:
    """(name, array, whether it must be refused) near an array that is accepted."""
    if np.issubdtype(value.dtype, np.inexact) and value.size:
        for name, number in {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}.items():
            spoilt = np.array(value)
            spoilt.flat[-1] = number
            yield f"{name} inside", spoilt, name == "nan"
        yield "negated", -value, False
        yield "zeros", np.zeros_like(value), False
        yield "huge", value * 1e300, False
        yield "float32", value.astype(np.complex64 if value.dtype.kind == "c" else np.float32), False
        if value.dtype.kind == "f":
            yield "complex", value + 1j, real
    yield "words", np.full(value.shape, "a"), True
    yield "objects", np.full(value.shape, None), True
    yield "a key", KEY, True
    yield "ragged", [[1.0], [1.0, 2.0]], True
    if value.ndim:
        yield "empty", value[:0], True
        yield "longer", np.concatenate([value, value[-1:]]), False
    yield "deeper", value[None, None, None], False
    if square:
        yield "asymmetric", value + np.triu(np.ones_like(value), 1), False


def hostile(name: str, annotation: Any, value: Any) -> Iterator[tuple[str, Any, bool]]:
    """(name, value, whether it must be refused) for one argument; one that may be left out is given."""
    kinds = alternatives(annotation)
    if value is None and annotation is not inspect.Parameter.empty:
        value = POINTS if annotation is Any else typical(name, annotation)
        if not callable(value):  # a function of which only the kind is known takes other arguments
            yield "given", value, False
    if annotation is Any and isinstance(value, np.ndarray | jax.Array) and value.dtype.kind == "f":
        # A list of lists of any lengths is a pytree.
        spoilt = spoilt_arrays(np.asarray(value), square=False)
        yield from ((what, each, refused and what != "ragged") for what, each, refused in spoilt)
    if annotation in (Any, inspect.Parameter.empty) or callable(value) or isinstance(value, str | bool):
        if callable(value):
            wrong = {"text": "tanh"} | ({} if float in kinds else {"number": 3.0})
            wrong |= {} if type(None) in kinds else {"nothing": None}
            yield from ((what, each, True) for what, each in wrong.items())
        elif isinstance(value, bool):
            yield from ((what, each, type(each) not in kinds) for what, each in {"text": "no", "two": 2}.items())
        elif isinstance(value, str):
            yield from ((what, each, True) for what, each in {"number": 3.0, "another word": "zebra"}.items())
        return
    several = any(get_origin(kind) is Iterable for kind in kinds)  # a set is one
    yield from ((what, each, what != "a set" or not several) for what, each in NEVER.items())
    if type(None) not in kinds:
        yield "nothing", None, True
    if isinstance(value, jax.Array) and not jax.numpy.issubdtype(value.dtype, jax.numpy.number):
        yield "seed", 3, True
        return
    if isinstance(value, float | int | complex) and not isinstance(value, bool):
        yield from ((what, each, False) for what, each in INFINITE.items())
        if {float, complex} & set(kinds) or not {int, Fraction} & set(kinds):
            yield from ((what, each, False) for what, each in NUMBERS.items())
        elif Fraction not in kinds:
            yield from ((what, each, False) for what, each in WHOLE.items())
            yield from ((what, each, True) for what, each in NOT_WHOLE.items())
        yield "empty", np.zeros(0), True
        yield "ragged", [[1.0], [1.0, 2.0]], True
    if isinstance(value, np.ndarray | jax.Array):
        square = value.ndim >= 2 and value.shape[-1] == value.shape[-2] and name in SYMMETRIC
        kept = {each.dtype.__name__ for each in kinds if hasattr(each, "dtype")}
        real = not kept & {"Num", "Inexact", "Complex"}
        yield from spoilt_arrays(np.asarray(value), square, real)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        yield "none of them", type(value)(), False
        yield "nan among them", [*value[:-1], np.nan], True
        yield "text among them", [*value[:-1], "a"], not all(isinstance(each, str) for each in value)


POSITIVE = """
bandwidth beta budget cutoff delta density deviation diag_reg divergence gamma hessian_lipschitz horizon lipschitz
momentum noise penalty probability proxy radius ratio ridge samples share sigma smoothness spacing step_size step_sizes
steps strong_convexity tolerance variance width widths
"""
"""arguments that no formula takes below zero"""
SYMMETRIC = ("kernel", "gram", "covariance", "prior_covariance", "other_covariance")


def spoilt_calls(name: str, thing: Any) -> Iterator[tuple[str, dict[str, Any], bool]]:
    call = example(name, thing)
    for parameter in inspect.signature(thing).parameters.values():
        value = call.get(parameter.name, parameter.default)
        if parameter.kind in (2, 4):
            continue
        for what, spoilt, refused in hostile(parameter.name, parameter.annotation, value):
            below = parameter.name in POSITIVE.split() and f"{name}, {parameter.name}" not in SIGNED
            refused &= what != "another word" or f"{name}, {parameter.name}" not in FREE_TEXT
            refused &= what != "empty" or f"{name}, {parameter.name}" not in MAY_BE_EMPTY
            refused |= what == "asymmetric" or (what in ("negative", "negated") and below)
            chosen = zlib.crc32(f"{name} {parameter.name} {what}".encode()) % SHARE == 0
            if chosen or f"{name}, {parameter.name}: {what}" in FOUND:
                yield f"{parameter.name}: {what}", call | {parameter.name: spoilt}, refused


def made(thing: Any, call: dict[str, Any]) -> Any:
    """Call with named arguments, and with the others where a signature has *arguments."""
    parameters = inspect.signature(thing).parameters
    many = [each for each in call if parameters[each].kind == 2]
    if not many:
        return thing(**call)
    before = [value for each, value in call.items() if parameters[each].kind == 1]
    return thing(*before, *call[many[0]], **{e: v for e, v in call.items() if parameters[e].kind == 3})


def fault(
    thing: Any, call: dict[str, Any], refused: bool, *, example: bool = False, may_be_nan: bool = False
) -> str | None:
    """What is wrong with the answer to a call, if anything."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # a library's own loop hears no signal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = jax.block_until_ready(made(thing, call))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if any(frame.filename.startswith(CALLS) for frame in frames):
            return None  # what a user's own function does not take is for that function to say
        where = frames[-1]
        sentence = str(error)
        met = f"{type(error).__name__} at {where.filename}:{where.lineno}: {sentence[:200]}"
        ours = where.filename.startswith(SOURCE) and "raise" in (where.line or "raise")
        if example or type(error) not in (ValueError, TypeError, ArithmeticError) or not ours:
            return met
        return f"not one sentence: {sentence[:300]}" if len(sentence) > 250 or "\n" in sentence else None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    if refused:
        return f"accepted, answer {str(answer)[:80]!r}"
    return None if example or may_be_nan or not has_nan(answer) else "answered with nan"


def has_nan(answer: Any) -> bool:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(answer) if isinstance(leaf, float | complex | np.generic)]
    leaves += [leaf for leaf in jax.tree.leaves(answer) if isinstance(leaf, np.ndarray | jax.Array)]
    return any(leaf.dtype.kind in "fc" and bool(np.isnan(np.asarray(leaf)).any()) for leaf in leaves)


def shelves() -> dict[str, dict[str, Any]]:
    """Public functions and layers by room, those of a room of modules by module. Named tuples are records: what holds
    one is looked into by the function that gets it."""
    found: dict[str, dict[str, Any]] = {}
    for name, thing in public().items():
        record = hasattr(thing, "_fields") or (inspect.isclass(thing) and not is_dataclass(thing))
        if callable(thing) and not record and getattr(thing, "__module__", "").startswith("deeptheory."):
            found.setdefault(name.rpartition(".")[0], {})[name] = thing
    return found


def test_what_the_tables_name_is_there():
    """A line about a function that was renamed would be passed over in silence, and the function with it."""
    assert set(TABLES) <= set(ROOMS)
    known = public()
    named = [*EXAMPLES, *MAY_BE_NAN]
    assert not [name for name in named if name not in known]
    arguments = [line.partition(":")[0].split(", ") for line in (*FOUND, *SIGNED, *FREE_TEXT, *MAY_BE_EMPTY)]
    assert not [pair for pair in arguments if pair[1] not in inspect.signature(known[pair[0]]).parameters]
    for make in RECORDS.values():
        make()


def too_slow(*_: Any) -> None:
    raise TimeoutError(f"no answer within {SECONDS} seconds")


@pytest.mark.slow
@pytest.mark.parametrize("shelf", sorted(shelves()))
def test_nonsense_is_refused_in_a_sentence_or_answered_rightly(shelf):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, too_slow)
    faults = []
    for name, thing in shelves()[shelf].items():
        wrong = fault(thing, example(name, thing), refused=False, example=True)
        if wrong:
            faults.append(f"{name} needs a call that it accepts, a line in EXAMPLES of its room's table: {wrong}")
            continue
        for what, call, refused in spoilt_calls(name, thing):
            wrong = fault(thing, call, refused, may_be_nan=name in MAY_BE_NAN)
            if wrong:
                faults.append(f"{name}, {what}: {wrong}")
    assert not faults, "\n".join(faults)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 2**20
    assert grown < 2, f"{shelf} took {grown:.1f} GB of memory"


@pytest.mark.slow
@pytest.mark.parametrize("shelf", sorted(shelves()))
def test_traced_numbers_are_taken_or_refused_in_a_sentence(shelf, monkeypatch):
    """Under `jit` every number and array of numbers, one at a time, is known by its shape only."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users call it
    faults = []
    for name, thing in shelves()[shelf].items():
        call = example(name, thing)
        for each, value in call.items():
            kind = value.dtype if isinstance(value, np.ndarray | jax.Array) else type(value)
            spread = inspect.signature(thing).parameters[each].kind in (2, 4)
            if inspect.isclass(thing) or spread or not jax.numpy.issubdtype(kind, np.number):
                continue

            met = []

            def traced(unknown, thing=thing, call=call, each=each, met=met):
                try:
                    made = jax.tree.leaves(thing(**call | {each: unknown}))
                except Exception as error:
                    # Outside of `eval_shape` JAX has rewritten where it was raised.
                    met.append((error, traceback.extract_tb(error.__traceback__)[-1]))
                    raise
                return [leaf for leaf in made if isinstance(leaf, np.ndarray | jax.Array)]

            with warnings.catch_warnings(), suppress(Exception):
                warnings.simplefilter("ignore")
                jax.eval_shape(traced, value)
            for wrong, where in met:
                if isinstance(wrong, UNKNOWN):
                    faults.append(f"{name}, {each}: {type(wrong).__name__}")
                elif not (where.filename.startswith(SOURCE) and "raise" in (where.line or "raise")):
                    faults.append(f"{name}, {each}: {type(wrong).__name__} at {where.filename}:{where.lineno}")
                elif "\n" in str(wrong) or len(str(wrong)) > 250:
                    faults.append(f"{name}, {each}: not one sentence: {str(wrong)[:300]}")
    assert not faults, "\n".join(faults)
