"""Attack: does anything notice when the mathematics behind a claim is made wrong?

The functions of the rooms that a claim enters are changed, one expression at a time (`deeptheory.lab.mutations`), and
the claim is checked again. What it does not notice is tried on the unit tests that speak of that function. A mutant
that neither notices survives: it is explained, or becomes a control.
"""

import functools
import gc
import hashlib
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from deeptheory.lab.entries import FACES, PACKAGE, load
from deeptheory.lab.mutations import Mutant, Ran, Span, mutants
from deeptheory.lab.workers import WorkerDied

if TYPE_CHECKING:
    from deeptheory.lab._claim import Claim
    from deeptheory.lab.outcome import Run

__all__ = ["Attacked", "attacked", "equivalents", "ground"]

PATIENCE = 5.0
"""A mutant is noticed if its check takes so many times as long as the claim's own, and a minute."""

DOORS = tuple(f"foundations/{name}.py" for name in ("entrances", "guards", "shapes", "wishes"))
NOT_MATHEMATICS = (*FACES, "claims", "lab", "data", *DOORS)
"""What is not attacked: packages that compute nothing, data, of which a statement holds whatever they are, and the
doors, which have hostile values of their own."""


UNMOVED, MOVED = "the evidence is as it was", "the evidence moves, and the claim holds"
"""What is said of a mutant that a claim does not notice."""

CLOSELY = 100_000
"""Instructions of one function that are watched one by one while a claim runs; afterwards lines are."""


@dataclass(frozen=True)
class Attacked:
    """What became of one mutant: noticed by the claim, by unit tests, by nothing, or equivalent for a reason."""

    claim: str
    mutant: Mutant
    noticed: str = ""
    how: str = ""
    unmoved: bool = False
    """No number of the evidence changes: the claim does not use what is computed, or uses it where it drops out."""

    @property
    def survives(self) -> bool:
        return not self.noticed

    def record(self) -> dict[str, str | bool]:
        told = {"claim": self.claim, "mutant": str(self.mutant), "noticed": self.noticed, "how": self.how}
        return {**told, "reaches the evidence": not self.unmoved}


def attacked(
    claims: Sequence[str],
    pool: Executor,
    *,
    count: int,
    seed: int = 0,
    tests: Path | None = None,
    known: Sequence[Mapping[str, str]] = (),
) -> Iterator[Attacked]:
    """Yield what becomes of `count` mutants, drawn evenly from the claims and then from what each enters.

    `tests` is a folder of unit tests to try on what a claim does not notice; `known` are equivalent mutants with the
    reason (`equivalents`).
    """
    draw = random.Random(seed)
    names = [claims[place % len(claims)] if count >= len(claims) else draw.choice(claims) for place in range(count)]
    grounds = {name: pool.submit(ground, name) for name in dict.fromkeys(names)}
    drawn: list[tuple[str, Mutant]] = []
    for name in names:
        problem = grounds[name].exception()
        if isinstance(problem, Exception) and not isinstance(problem, WorkerDied):
            kind = "" if type(problem) is ValueError else f"{type(problem).__name__}: "  # a sentence by itself
            told = f"{kind}{problem}".removesuffix(": ")
            raise ValueError(f"{name} is not ready to be attacked: {told}") from None
        if found := grounds[name].result().mutants:
            drawn.append((name, draw.choice(found)))
    running = {}
    for name, mutant in drawn:
        if reason := next((each["reason"] for each in known if _alike(name, mutant, each)), ""):
            yield Attacked(name, mutant, "equivalent", reason)
        else:
            own = grounds[name].result()
            running[pool.submit(tried, name, mutant, 60 + PATIENCE * own.seconds, own.evidence)] = Attacked(
                name, mutant
            )
    unseen = {}
    for future, outcome in running.items():
        problem = future.exception()
        seen, how = (True, f"{type(problem).__name__}: {problem}") if problem else future.result()
        outcome = replace(outcome, noticed="claim" if seen else "", how=how, unmoved=how == UNMOVED)
        if seen or tests is None:
            yield outcome
        else:
            unseen[pool.submit(against_tests, outcome.mutant, tests)] = outcome
    for future, outcome in unseen.items():
        yield replace(outcome, noticed="tests", how=failed) if (failed := future.result()) else outcome


def equivalents(path: Path) -> list[dict[str, str]]:
    """Mutants that are not wrong, from a file: where and the reason; the line and what was changed, if not anything.

    With a claim, of that claim alone: a function that it needs one of, and of which it would be as true of another.
    """
    return json.loads(path.read_text()) if path.exists() else []


def _alike(claim: str, mutant: Mutant, known: Mapping[str, str]) -> bool:
    told = {
        "claim": claim,
        "where": f"{mutant.module.removeprefix('deeptheory.')}.{mutant.function}",
        "line": mutant.text,
        "before": mutant.before,
        "after": mutant.after,
    }
    return all(value == known.get(name, value) for name, value in told.items())


# In a worker ---------------------------------------------------------------------------------------------------------


class Ground(NamedTuple):
    """What a claim stands on: how long a check takes with all its compiling, a digest of its evidence, and the mutants
    of all expressions of the rooms that it runs."""

    seconds: float
    evidence: str
    mutants: list[Mutant]


def ground(name: str) -> Ground:
    """Run a claim and see what it runs."""
    claim = load(name)
    seen: dict[str, dict[CodeType, Watched]] = {}
    _forget()
    start = time.perf_counter()
    with _watching(seen):
        run = claim.check()
    seconds = time.perf_counter() - start
    if not run.as_expected:
        raise ValueError(f"it is {run.verdict} as it stands, and would notice anything: {run.reason}")
    found = []
    for path in sorted(seen):
        module = ".".join(Path(path).relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        spans = [span for code in seen[path].values() for span in code.spans()]
        found += mutants(module, Path(path).read_text(), Ran(spans))
    return Ground(seconds, _digest(run), found)


def tried(name: str, mutant: Mutant, limit: float, evidence: str) -> tuple[bool, str]:
    """Whether a claim notices a mutant, and how; if not, whether it has moved the evidence at all.

    A refutation that would not repeat leaves a claim inconclusive, so the first sign is enough.
    """
    claim = load(name)
    watchdog = threading.Timer(limit, os._exit, (3,))  # a compiled loop that does not end cannot be interrupted
    watchdog.daemon = True
    watchdog.start()
    try:
        with mutated(mutant), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # wrong mathematics overflows, and nobody asked to hear of it
            if sign := _first_sign(claim):
                return True, sign
            run = claim.check()
    except Exception as problem:
        return True, f"{type(problem).__name__}: {problem}"
    finally:
        watchdog.cancel()
    if run.verdict != "holds":
        return True, f"{run.verdict}: {run.reason}"
    return False, UNMOVED if _digest(run) == evidence else MOVED


def _first_sign(claim: "Claim") -> str:
    """What a piece of evidence that does not hold says, without a repetition or a control; empty if all hold."""
    import jax

    from deeptheory.lab.run import key_of, observe, verdicts

    with jax.enable_x64(True):
        judgements = verdicts(observe(claim, key_of(claim.name, 0), claim.settings({}, full=False)))
    found = {name: each for name, each in judgements.items() if each.verdict != "holds"}
    return next((f"{each.verdict}: {name}: {each.reason}" for name, each in found.items()), "")


def _digest(run: "Run") -> str:
    return hashlib.sha256(run.blob).hexdigest()


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """The mutant in the original's place, wherever the function is already held."""
    path = importlib.import_module(mutant.module).__file__ or ""
    code = compile(mutant.applied(Path(path).read_text()), path, "exec")
    wrong = next(each for each in _codes(code) if each.co_qualname == mutant.function)
    held = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType)
        and each.__code__.co_filename == path
        and each.__code__.co_qualname == mutant.function
    ]
    right = [each.__code__ for each in held]
    for each in held:
        each.__code__ = wrong
    _forget()
    try:
        yield
    finally:
        for each, original in zip(held, right, strict=True):
            each.__code__ = original
        _forget()


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _forget() -> None:
    """Drop compiled programs and remembered values, which still hold the other version."""
    import jax

    jax.clear_caches()
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            module = each.__module__ or ""
            if module.startswith("deeptheory.") and not module.startswith("deeptheory.lab"):
                each.cache_clear()


class Watched:
    """The parts of one code object that ran, by the offsets of its instructions; of a long loop only the lines."""

    def __init__(self, code: CodeType) -> None:
        self.code, self.left = code, CLOSELY
        self.offsets, self.lines = set[int](), set[int]()

    def step(self, frame: FrameType, event: str, _: Any) -> Callable:
        if event == "opcode":
            self.offsets.add(frame.f_lasti)
            self.left -= 1
            frame.f_trace_opcodes = self.left > 0
        elif event == "line" and not self.left:
            self.lines.add(frame.f_lineno)
        return self.step

    def spans(self) -> Iterator[tuple[Span, bool]]:
        """Where every instruction stands in the source, and whether it ran; those of functions inside did not, here."""
        for code in _codes(self.code):
            for at, (line, last, start, end) in enumerate(code.co_positions()):
                if line is not None and last is not None and start is not None and end is not None:
                    ran = 2 * at in self.offsets or line in self.lines
                    yield (line, start, last, end), code is self.code and ran


@contextmanager
def _watching(seen: dict[str, dict[CodeType, Watched]]) -> Iterator[None]:
    """Collect what runs of the code of the rooms, by the files it stands in."""
    passed = tuple(str(PACKAGE / each) + ("" if each.endswith(".py") else os.sep) for each in NOT_MATHEMATICS)
    root = str(PACKAGE) + os.sep

    def enter(frame: FrameType, event: str, _: Any) -> Callable | None:
        code = frame.f_code
        if not code.co_filename.startswith(root) or code.co_filename.startswith(passed):
            return None
        here = seen.setdefault(code.co_filename, {})
        if code not in here:
            here[code] = Watched(code)
        frame.f_trace_opcodes = here[code].left > 0
        return here[code].step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


# Unit tests ----------------------------------------------------------------------------------------------------------


def against_tests(mutant: Mutant, folder: Path) -> str:
    """The unit test that fails on a mutant, tried in a copy of the package; empty if none does."""
    told = (mutant.function.split(".")[0], mutant.module)
    leaf = mutant.module.rpartition(".")[2]
    # Private parts are tested by way of the modules of the room that import them.
    room = (PACKAGE / mutant.module.split(".")[1]).rglob("*.py")
    users = [path.stem for path in room if f"from {mutant.module} import" in path.read_text()]
    own = {f"test_{name}.py" for name in (leaf, *users)}
    texts = {path: path.read_text() for path in folder.rglob("test_*.py")}
    files = [path for path, text in texts.items() if path.name in own or any(word in text for word in told)]
    if not files:
        return ""
    # Those most likely to fail first: the module's own, then those that name the function.
    files.sort(key=lambda path: (path.name != f"test_{leaf}.py", told[0] not in texts[path], path))
    with tempfile.TemporaryDirectory() as place:
        copied = Path(place) / PACKAGE.name
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        path = Path(importlib.import_module(mutant.module).__file__ or "")
        (copied / path.relative_to(PACKAGE)).write_text(mutant.applied(path.read_text()))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *map(str, files),
        ]
        first = os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            command, cwd=folder.parent, env={**os.environ, "PYTHONPATH": first}, capture_output=True, text=True
        )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or ["the tests do not end well"])[0] if done.returncode else ""
