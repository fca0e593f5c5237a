"""One execution of a claim: its evidence judged, its refutations repeated, its controls tried."""

import dataclasses
import functools
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab._claim import AssumptionNotMet, Claim, Control, Pieces
from deeptheory.lab.evidence import LEVEL, Evidence, Judgement, Verdict, encode
from deeptheory.lab.evidence.asymptotic import Rate
from deeptheory.lab.evidence.coarseness import weakest
from deeptheory.lab.evidence.saying import every, power
from deeptheory.lab.flags import surroundings as platform
from deeptheory.lab.outcome import ControlResult, Run
from deeptheory.lab.parameters import SEED, control_named, written
from deeptheory.lab.search import landscape, surveyed

__all__ = ["execute", "key_of"]

REPEAT = 4
"""A refutation by statistics counts only if it repeats on a fresh seed with this many times the trials."""

FAILURES = (ArithmeticError, np.linalg.LinAlgError)
"""What a computation that overflows, divides by zero or meets a singular matrix raises: nothing can be said then."""


def key_of(claim: str, seed: int) -> jax.Array:
    """The random key of a claim at a seed: claims do not share randomness."""
    return jax.random.fold_in(jax.random.key(seed), zlib.crc32(claim.encode()))


def execute(
    claim: Claim,
    *,
    seed: int = 0,
    full: bool = False,
    settings: Mapping[str, Any] | None = None,
    control: str | None = None,
    alone: bool = False,
    source: str = "",
) -> Run:
    """Run a claim at a seed: observe, judge, repeat what was refuted, try the controls.

    With `control` named, that rival is run in the claim's place, and its verdict is the run's. `alone` leaves the
    controls out. `settings` may be those of a task, which are all there are and have been checked.
    """
    chosen = claim.settings(settings or {}, full=full)
    changed = {name: value for name, value in chosen.items() if value != claim.parameters[name].own(full)}
    seed = SEED.check(seed)
    rival = None if control is None else named(claim, control)
    start = time.perf_counter()
    with jax.enable_x64(True), compile_seconds() as compiling, naming(claim, changed):
        key = key_of(claim.name, seed)
        pieces, judgements = judged(claim, key, chosen, rival)
        wanted = rival is None and not alone
        tried = tried_controls(claim, key, chosen, pieces) if wanted and pieces else []
    total = time.perf_counter() - start
    verdict, reason, strength, resolution = combined(judgements, tried, pieces=pieces, expects_controls=wanted)
    described, blob = encode(pieces)
    return Run(
        claim=claim.name,
        items={} if rival else {i: item_verdict(served, judgements, verdict) for i, served in claim.items.items()},
        verdict=verdict,
        reason=reason,
        strength=strength,
        resolution=resolution,
        controls=tried,
        seconds=round(total, 3),
        seed=seed,
        parameters=chosen,
        judgements=judgements,
        described=described,
        blob=blob,
        source=source,
        platform=platform(),
        timing={"compile": round(compiling[0], 3), "run": round(total - compiling[0], 3)},
        full=full,
        control=rival.name if rival else None,
    )


@contextmanager
def naming(claim: Claim, changed: Mapping[str, Any]) -> Iterator[None]:
    """Say which claim does not run with which settings that are not its own, where a library only says what it met."""
    try:
        yield
    except (ValueError, TypeError, IndexError, MemoryError) as problem:
        if not changed:
            raise
        said = str(problem) or "out of memory"
        raise ValueError(f"{claim.name} does not run with {written(changed)}: {said}") from problem


# Observing and judging -----------------------------------------------------------------------------------------------


def observe(claim: Claim, key: jax.Array, settings: Mapping[str, Any], control: Control | None = None) -> Pieces:
    """Run the experiment once and return its evidence by name."""
    if claim.over is not None:
        ground = landscape(claim, settings, control)
        evidence: Any = surveyed(ground, generator(key), generations=claim.generations)
    else:
        chosen = {**settings, **(control.settings if control else {})}
        evidence = claim.function(key, **chosen) if claim.takes_key else claim.function(**chosen)
    pieces = evidence if isinstance(evidence, dict) else {"": evidence}
    if not pieces or not all(isinstance(piece, Evidence) for piece in pieces.values()):
        raise TypeError(f"{claim.name} must return evidence, or a dictionary of named evidence")
    if unknown := set(claim.consistency) - set(pieces):
        raise TypeError(f"{claim.name}: consistency= names {sorted(unknown)}, which are not pieces of its evidence")
    return {name: jax.tree.map(plain, piece) for name, piece in pieces.items()}


def plain(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def judged(
    claim: Claim, key: jax.Array, settings: Mapping[str, Any], control: Control | None = None
) -> tuple[Pieces, dict[str, Judgement]]:
    """Observe and judge; a statistical refutation is repeated on fresh randomness before it counts."""
    try:
        pieces = reread(observe(claim, key, settings, control), control, claim)
        judgements = verdicts(pieces)
        if claim.over is not None:
            tried = claim.draws * (claim.generations + 2)
            judgements = {name: searched(judgement, tried) for name, judgement in judgements.items()}
        if any(j.verdict == "refuted" and j.statistical for j in judgements.values()) and claim.takes_key:
            more = dict(settings)
            if "trials" in more:
                ceiling = claim.parameters["trials"].high or np.inf
                more["trials"] = int(min(REPEAT * more["trials"], ceiling))
            again = reread(observe(claim, jax.random.fold_in(key, 1), more, control), control, claim)
            judgements = repeated(judgements, verdicts(again))
    except AssumptionNotMet as unmet:
        return {}, {"": Judgement("inconclusive", f"an assumption is not met: {unmet}", "")}
    except FAILURES as failure:
        return {}, {"": Judgement("inconclusive", f"the computation broke down: {failure}", "")}
    return pieces, judgements


def verdicts(pieces: Pieces) -> dict[str, Judgement]:
    """Judge each piece at its share of the level."""
    return {name: piece.judge(LEVEL / len(pieces)) for name, piece in pieces.items()}


def searched(judgement: Judgement, tried: int) -> Judgement:
    """Say how many instances stand behind a for-all statement that was not violated."""
    if judgement.verdict != "holds":
        return judgement
    return dataclasses.replace(judgement, strength=f"no violation in {tried:,} searched")


def repeated(first: dict[str, Judgement], second: dict[str, Judgement]) -> dict[str, Judgement]:
    """Let a statistical refutation stand only where the repetition refutes too."""
    settled = {}
    for name, judgement in first.items():
        if judgement.verdict == "refuted" and judgement.statistical and second[name].verdict != "refuted":
            judgement = judgement.doubted(f"a refutation did not repeat on fresh randomness: {judgement.reason}")
        settled[name] = judgement
    return settled


def combined(
    judgements: dict[str, Judgement], tried: list[ControlResult], *, pieces: Pieces, expects_controls: bool
) -> tuple[Verdict, str, str, float | None]:
    """One verdict from all pieces and controls: the worst piece decides, then the controls.

    Reason, strength and resolution are all those of one piece: the weakest of those that came to that verdict.
    """
    order: tuple[Verdict, ...] = ("refuted", "inconclusive", "holds")
    verdict: Verdict = min(judgements.values(), key=lambda judged: order.index(judged.verdict)).verdict
    kinds = {name: type(piece).__name__ for name, piece in pieces.items()}
    name = weakest({name: judged for name, judged in judgements.items() if judged.verdict == verdict}, kinds)
    decisive = judgements[name]
    reason = f"{name}: {decisive.reason}" if name else decisive.reason
    if verdict == "holds" and len(judgements) > 1:
        reason = f"{every(len(judgements), 'piece', 'hold')}; the weakest, {reason}"
    if verdict == "holds" and expects_controls:
        problem = "" if tried else "no control was tried"
        for control in tried:
            if control.verdict != "refuted" and not problem:
                problem = f"the control “{control.name}” is not refuted: {control.reason}"
        if problem:
            verdict, reason = "inconclusive", problem
    return verdict, reason, decisive.strength, decisive.resolution


def item_verdict(served: tuple[str, ...], judgements: dict[str, Judgement], verdict: Verdict) -> Verdict:
    """The verdict on one item: that of the pieces which serve it, and never better than the controls allow."""
    own = [judgements[piece].verdict for piece in served if piece in judgements]
    if not own or (verdict == "inconclusive" and all(v == "holds" for v in own)):
        return "inconclusive"
    return "refuted" if "refuted" in own else "inconclusive" if "inconclusive" in own else "holds"


# Controls ------------------------------------------------------------------------------------------------------------


def named(claim: Claim, name: str) -> Control:
    """The control with this name, or the only one that begins with it."""
    found = control_named(claim.name, name, [control.name for control in claim.controls])
    return next(control for control in claim.controls if control.name == found)


def reread(pieces: Pieces, control: Control | None, claim: Claim) -> Pieces:
    """Apply a control that re-reads evidence; the instance space was already searched on its behalf."""
    if control is None or control.transform is None or claim.over is not None:
        return pieces
    if control.of is not None:
        return {control.of: control.transform(pieces[control.of])}
    changed = control.transform(pieces[""] if set(pieces) == {""} else pieces)
    return changed if isinstance(changed, dict) else {"": changed}


def tried_controls(claim: Claim, key: jax.Array, settings: Mapping[str, Any], pieces: Pieces) -> list[ControlResult]:
    """Judge every rival, on the same observation where it only reads it otherwise.

    A refutation by statistics must repeat on fresh randomness, but with as many trials and not with more: nearly every
    control is refuted, so this is paid at every run. Those that only read the observation otherwise share its
    repetition.
    """
    another = jax.random.fold_in(key, 1)
    fresh = functools.cache(lambda: observe(claim, another, settings))

    def control_judged(control: Control, again: bool) -> dict[str, Judgement]:
        if control.transform is not None and claim.over is None:
            judgements = verdicts(reread(fresh() if again else pieces, control, claim))
        else:
            judgements = verdicts(observe(claim, another if again else key, settings, control))
        return {control.of: judgements[control.of]} if control.of in judgements else judgements

    def exponent_judged(name: str, exponent: float, again: bool) -> dict[str, Judgement]:
        rate: Any = (fresh() if again else pieces)[name]
        return {name: dataclasses.replace(rate, exponent=exponent).judge(LEVEL)}

    found = []
    for control in claim.controls:
        verdict, reason = settled(claim, functools.partial(control_judged, control))
        found.append(ControlResult(control.name, verdict, reason, control.erratum))
    for name, piece in pieces.items():
        for exponent in piece.rivals if isinstance(piece, Rate) else ():
            verdict, reason = settled(claim, functools.partial(exponent_judged, name, exponent))
            label = f"{name}: " if name else ""
            found.append(ControlResult(f"{label}exponent {power(exponent)}", verdict, reason))
    return found


def settled(claim: Claim, judge: Callable[[bool], dict[str, Judgement]]) -> tuple[Verdict, str]:
    """The verdict on a rival and its reason; `judge(True)` judges it on fresh randomness."""
    try:
        judgements = judge(False)
        refuted = [judgement for judgement in judgements.values() if judgement.verdict == "refuted"]
        if claim.takes_key and refuted and all(judgement.statistical for judgement in refuted):
            judgements = repeated(judgements, judge(True))
    except AssumptionNotMet as unmet:
        return "inconclusive", f"an assumption is not met: {unmet}"
    except FAILURES as failure:
        return "inconclusive", f"the computation broke down: {failure}"
    order = ("refuted", "inconclusive", "holds")
    worst = min(judgements.values(), key=lambda judged: (order.index(judged.verdict), judged.statistical))
    return worst.verdict, worst.reason


@contextmanager
def compile_seconds() -> Iterator[list[float]]:
    """Count the seconds JAX spends on tracing and compiling while this is open."""
    spent = [0.0]

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        if "/compile/" in event or "compilation_cache/cache_retrieval" in event:
            spent[0] += duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield spent
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
