"""The files of a kernel on disk: arrays that have their room from the beginning, and the journal of finished tiles."""

import errno
import fcntl
import io
import os
import shutil
import stat
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ArrayFile", "Journal", "checksum", "refuse_full"]

ZEROS = bytes(2**20)


def checksum(array: np.ndarray) -> str:
    """Return a checksum of an array's numbers.

    It guards against accidents (a disk that forgets, a file copied in part or over another), which CRC-32 misses once
    in four billion; against somebody who forges the journal too nothing would. BLAKE2 takes over three times as long.
    """
    return f"{zlib.crc32(array.tobytes()):08x}"


@dataclass(frozen=True)
class ArrayFile:
    """One array as an npy file."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def header(self) -> bytes:
        written = io.BytesIO()
        described = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(written, described)
        return written.getvalue()

    @property
    def size(self) -> int:
        return len(self.header) + prod(self.shape) * self.dtype.itemsize

    def intact(self) -> bool:
        """Say whether an array of this shape and type is there, whole, in a file that has no second name.

        Two arrays in one file would overwrite each other, and what is written here must not change a copy elsewhere.
        """
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size != self.size:
            return False
        with self.path.open("rb") as file:
            return file.read(len(self.header)) == self.header

    def reserve(self) -> None:
        """Give the array its room on the disk: what is intact stays, anything else becomes zeros."""
        try:
            if self.intact():
                with self.path.open("r+b") as file:  # somebody may have copied it without its zeros
                    _allocate(file.fileno(), self.size)
                return
            draft = self.path.with_name(f"{self.path.name}.draft")
            try:
                with draft.open("wb") as file:
                    file.write(self.header)
                    file.flush()
                    _allocate(file.fileno(), self.size)
                draft.rename(self.path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise _no_room(self.path.parent, self.size) from None
            raise

    def opened(self, mode: Any) -> np.memmap:
        return np.memmap(self.path, self.dtype, mode, offset=len(self.header), shape=self.shape)


def refuse_full(folder: Path, files: Sequence[ArrayFile]) -> None:
    """Refuse arrays for which there is no room before anything is written.

    A memory-mapped file without room for a page that is written to would end the process.
    """
    needed = sum(file.size for file in files if not file.intact())
    if needed > shutil.disk_usage(folder).free:
        raise _no_room(folder, needed)


def _no_room(folder: Path, needed: int) -> OSError:
    free = shutil.disk_usage(folder).free
    said = f"the kernel needs {needed / 1e9:,.3g} GB in {folder}, where {free / 1e9:,.3g} GB are free"
    return OSError(errno.ENOSPC, said)


def _allocate(descriptor: int, size: int) -> None:
    """Give a file its room on the disk; what it holds stays."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    os.lseek(descriptor, 0, os.SEEK_END)  # macOS has no such call: zeros that are written have their room
    while (left := size - os.fstat(descriptor).st_size) > 0:
        os.write(descriptor, ZEROS[:left])


class Journal:
    """The finished tiles of a kernel with their checksums, one a line; the lock of the folder is on this file.

    Any number of processes may read, or one may write. Lines are only ever added: the last one about a tile counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> "Journal":
        self.file = self.path.open("a+b")
        try:
            self._lock(fcntl.LOCK_SH)
        except BaseException:
            self.file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def alone(self) -> None:
        """Keep everybody else out from now on, and begin a line of its own after one that was cut off."""
        self._lock(fcntl.LOCK_EX)
        if self.file.seek(0, os.SEEK_END):
            self.file.seek(-1, os.SEEK_END)
            if self.file.read() != b"\n":
                self.file.write(b"\n")

    def tiles(self) -> dict[tuple[int, int], list[str]]:
        """Return the checksums by corner; a line that was cut off or damaged does not count."""
        self.file.seek(0)
        found = {}
        for line in self.file.read().decode("ascii", "replace").splitlines():
            words = line.split()
            if len(words) > 2:
                with suppress(ValueError):
                    found[int(words[0]), int(words[1])] = words[2:]
        return found

    def add(self, corner: tuple[int, int], sums: Sequence[str]) -> None:
        self.file.write(" ".join([*map(str, corner), *sums, "\n"]).encode())
        self.file.flush()
        os.fsync(self.file.fileno())

    def _lock(self, kind: int) -> None:
        try:
            fcntl.flock(self.file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another process is at work on the kernel in {self.path.parent}: wait for it, or choose another folder"
            ) from None
