"""The command line. Exit status: 0 as expected, 1 a verdict or control is not what it should be, 2 bad input."""

import os
import sys
from collections.abc import Sequence

from deeptheory.cli import lookup, running
from deeptheory.cli.app import Refused, app
from deeptheory.lab.store import StoreError
from deeptheory.what import Unknown

__all__ = ["app", "lookup", "main", "running"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:  # the framework has turned an interrupt into this
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except (Refused, Unknown, StoreError, ValueError, ImportError) as refusal:
        sentence = str(refusal)
    except KeyboardInterrupt:
        print("stopped; what was finished is kept, and the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as problem:
        if not hasattr(problem, "format_message"):
            raise
        sentence = problem.format_message()  # type: ignore[attr-defined]
    print(f"deeptheory: {sentence}", file=sys.stderr)
    return 2
