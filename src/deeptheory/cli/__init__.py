"""The command line. Exit status: 0 as expected, 1 a verdict or control is not what it should be, 2 bad input."""

import gc
import os
import sys
from collections.abc import Sequence
from typing import Any

from deeptheory.characters import visible
from deeptheory.cli.interrupts import Insistent

__all__ = ["main"]

INTERRUPTED = 130
RESUMED = ("tour", "check", "sweep", "calibrate")
"""Commands that record each run as it finishes and find it again."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    status, sentence = INTERRUPTED, ""
    interrupt = Insistent()
    try:
        with interrupt:
            status, sentence = _answered(words)
    except BaseException:
        interrupt.__exit__()  # it may have come before the block was entered
        if not interrupt.asked:
            raise
    if interrupt.asked:  # whatever it was turned into on its way
        status, sentence = INTERRUPTED, "stopped"
        if words[:1] and words[0] in RESUMED and "--again" not in words:
            sentence += "; what was finished is kept, and the same command goes on from there"
    elif sentence:
        sentence = f"deeptheory: {sentence}"
    if sentence:
        print(visible(sentence), file=sys.stderr)
    return status


def _answered(words: list[str]) -> tuple[int, str]:
    """Do what was asked: exit status, and what there is to say about bad input."""
    gc.set_threshold(100_000)  # what a lookup reads stays until it ends: nothing is found by going through it
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # typer asks pydantic, which would look for plugins
    # Imported here, where an interrupt finds somebody who listens.
    from typer.main import get_command

    from deeptheory.cli import attacking, authoring, lookup, running, sweeping  # noqa: F401  (they add their commands)
    from deeptheory.cli.app import Refused, app
    from deeptheory.cli.typed import lightly
    from deeptheory.lab.store import StoreError

    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (as long as the process)
    if sys.stdout is None:
        return 2, "standard output is closed"
    try:
        status = lightly(get_command(app))(args=words, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0, ""
    except (Refused, StoreError, ValueError, ImportError) as refusal:
        return 2, str(refusal)
    except MemoryError:
        return 2, "out of memory"
    except BrokenPipeError:
        _unheard()
        return 0, ""
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # into which the framework turns it
            raise
        _unheard()
        return 0, ""
    except OSError as problem:
        _unheard()
        return 2, ": ".join(str(part) for part in (problem.filename, problem.strerror or problem) if part)
    except Exception as problem:
        from deeptheory.lab.workers import WorkerDied  # whose module takes a while to load

        if isinstance(problem, WorkerDied):
            return 2, str(problem)
        if not hasattr(problem, "format_message"):
            raise
        return 2, _missed(problem) or problem.format_message()  # type: ignore[attr-defined]


def _missed(problem: Exception) -> str:
    """What a command wants that was not given, in the words of its help; nothing if it is another problem."""
    param: Any = getattr(problem, "param", None)
    context: Any = getattr(problem, "ctx", None)
    if type(problem).__name__ != "MissingParameter" or param is None or context is None:
        return ""
    opened = f"{max(param.opts, key=len)}: " if param.param_type_name == "option" else ""
    return f"{context.info_name} needs {opened}{param.help}"


def _unheard() -> None:
    """Nobody reads standard output any more, or it is full: what is left for it goes nowhere, without complaint."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
