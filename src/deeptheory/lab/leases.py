"""Leases: who is making which run, so that no two processes make the same one. A lease ends with its process."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["Leases"]


class Leases:
    """Locked files in a folder. The system drops the locks of a process that dies, so nobody waits for the dead."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int | None] = {}

    def take(self, name: str, *, wait: bool = False) -> bool:
        """Whether the lease is ours now; with `wait`, stay until it is."""
        while True:
            with suppress(FileExistsError):
                self._folder.mkdir()
            try:
                descriptor = os.open(self._folder / name, os.O_CREAT, 0o666)
            except FileNotFoundError:
                continue  # another process has just removed the empty folder
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                return False
            except OSError:  # a file system without locks: what is done twice is done in vain, but not wrong
                os.close(descriptor)
                self._held[name] = None
                return True
            if self._stands(name, descriptor):
                self._held[name] = descriptor
                return True
            os.close(descriptor)

    def release(self, name: str) -> None:
        descriptor = self._held.pop(name, None)
        if descriptor is not None:
            (self._folder / name).unlink(missing_ok=True)  # while it is locked, so that nobody else holds it
            os.close(descriptor)

    def close(self) -> None:
        """Release all, and leave nothing behind."""
        for name in list(self._held):
            self.release(name)
        with suppress(OSError):  # not there, or others hold leases
            self._folder.rmdir()

    def _stands(self, name: str, descriptor: int) -> bool:
        """Whether the locked file is still the one of this name: its last holder may have removed it meanwhile."""
        try:
            return os.path.samestat(os.stat(self._folder / name), os.fstat(descriptor))
        except FileNotFoundError:
            return False
