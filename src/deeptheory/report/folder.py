"""A folder of pages, written whole or not at all, and never over somebody else's files."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["MARKER", "refuse_unfit", "replaced"]

MARKER = ".deeptheory-report"
"""The file by which a folder is known to be a report, and may be replaced by a newer one."""


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill; once filled it takes the place of `folder`. If that fails nothing has changed."""
    # Resolved before anything is made: a link keeps pointing where it did, and "." has a name and a parent.
    folder = Path(folder).expanduser().resolve()
    refuse_foreign(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        filling = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as problem:
        raise ValueError(f"{folder} cannot be written to: {problem.strerror}") from None
    try:
        yield filling
        (filling / MARKER).write_text("Pages made by deeptheory; a new report replaces this folder.\n")
        filling.chmod(0o777 & ~umask())
        swap(filling, folder)
    except OSError as problem:
        raise ValueError(f"{folder} cannot be written to: {problem.strerror or problem}") from None
    finally:
        shutil.rmtree(filling, ignore_errors=True)


def refuse_unfit(folder: Path) -> None:
    """Raise, before anything is made for it, where a folder of pages could not be written."""
    folder = Path(folder).expanduser().resolve()
    refuse_foreign(folder)
    nearest = next(each for each in folder.parents if each.exists())
    if not nearest.is_dir():
        raise ValueError(f"{folder} cannot be written to: {nearest} is no folder")
    try:
        tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=nearest).cleanup()  # permissions do not tell all
    except OSError as problem:
        raise ValueError(f"{folder} cannot be written to: {problem.strerror}") from None


def refuse_foreign(folder: Path) -> None:
    """Raise unless the folder is missing, empty, or a report of ours."""
    try:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file; a report needs a folder of its own")
        if folder.is_dir() and not (folder / MARKER).exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} holds other files; name a new or empty folder, or an earlier report")
    except OSError as problem:
        raise ValueError(f"{folder} cannot be read: {problem.strerror}") from None


def swap(new: Path, place: Path) -> None:
    """Put a folder in the place of another; if that fails, what was there is put back."""
    if not place.exists():
        new.rename(place)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent)) / "old"
    try:
        place.rename(old)
        try:
            new.rename(place)
        except OSError:
            old.rename(place)
            raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)


def umask() -> int:
    """What this process takes away from the permissions of new files."""
    current = os.umask(0)
    os.umask(current)
    return current
