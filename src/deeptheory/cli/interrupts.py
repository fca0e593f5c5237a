"""An interrupt that is heard."""

import signal
import sys
import threading
from types import FrameType
from typing import Any

__all__ = ["Insistent"]

AGAIN = 0.5
"""Seconds between one attempt to be heard and the next."""
SOON = 0.05
"""The same while a module is being imported."""


class Insistent:
    """While this is open, an interrupt raises KeyboardInterrupt again and again until somebody handles it.

    Python drops what is raised in a callback of the garbage collector or in a finalizer, such as JAX has: an interrupt
    that arrives there would be lost, and the command would go on. What is tidied up on the way out is not disturbed,
    unless by a second interrupt. And extension modules may crash on an exception in the middle of their import, so that
    one waits until no import is under way.
    """

    def __init__(self) -> None:
        self.asked = self._ready = False
        self._before: dict[signal.Signals, Any] = {}
        self._complain = sys.unraisablehook

    def __enter__(self) -> "Insistent":
        if threading.current_thread() is threading.main_thread():  # no other may handle signals
            self._before = {each: signal.signal(each, self._interrupt) for each in (signal.SIGINT, signal.SIGALRM)}
            sys.unraisablehook = self._dropped
        self._ready = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = self._complain
        for each, before in self._before.items():
            signal.signal(each, before)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.asked = True
        too_soon = not self._ready or _importing(frame)
        signal.setitimer(signal.ITIMER_REAL, SOON if too_soon else AGAIN)
        heard = signum == signal.SIGALRM and isinstance(sys.exc_info()[1], KeyboardInterrupt)
        if not too_soon and not heard:
            raise KeyboardInterrupt

    def _dropped(self, problem: Any) -> None:
        if not isinstance(problem.exc_value, KeyboardInterrupt):
            self._complain(problem)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
