"""A kernel on disk, tile by tile: an interrupted computation goes on where it stopped, and damage is mended."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jax
import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import whole
from deeptheory.kernels.regression.disk_files import ArrayFile, Journal, checksum, refuse_full
from deeptheory.kernels.regression.tiles import (
    KernelFunction,
    Progress,
    computed_tiles,
    mirrored,
    own_entries,
    place_tile,
    tile_corners,
    try_suspects,
)

__all__ = ["disk_kernel"]

MANIFEST, JOURNAL = "manifest.json", "done.txt"
DRAFT = "manifest.draft"


def disk_kernel(
    folder: str | Path,
    kernel: KernelFunction,
    x: Float[AnyArray, "n ..."],
    other: Float[AnyArray, "m ..."] | None = None,
    *,
    name: str = "kernel",
    tile: int = 1024,
    pairs: int = 1,
    devices: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return the kernel as memory-mapped arrays in a folder, computing only tiles that are not there yet.

    The folder holds one npy file for each array of the kernel, with room for all of it from the beginning, a manifest
    (what was asked: `name`, shapes, types, tile, digests of the inputs) and a journal of finished tiles with their
    checksums, written after their data. Calling again after an interrupt resumes; calling with other inputs, another
    tile or another name is refused, and so is a second process while one is writing. `name` stands for the kernel
    function, which cannot be compared: change it when the function changes.

    Every call reads what is there once (about a gigabyte a second) and computes tiles anew whose numbers are not those
    that were written. The arrays are read-only: copy what you want to change.
    """
    folder, symmetric = Path(folder), other is None
    right = x if other is None else other
    whole("pairs", pairs)
    if x.shape[1:] != right.shape[1:]:
        raise ValueError(f"x and other must be inputs of one shape, got {x.shape[1:]} and {right.shape[1:]}")
    corners = tile_corners(len(x), len(right), tile, symmetric=symmetric)
    try_suspects(kernel, x=x, other=other)
    height, width = min(tile, len(x)), min(tile, len(right))
    leaves, structure = jax.tree.flatten_with_path(
        jax.eval_shape(kernel, x[:height], None if symmetric else right[:width])
    )
    for _, leaf in leaves:
        if leaf.shape[:2] != (height, width):
            raise ValueError(f"kernel must return arrays of shape ({height}, {width}, …) here, got {leaf.shape}")
    names = _names([path for path, _ in leaves])
    files = [
        ArrayFile(folder / f"{key}.npy", (len(x), len(right), *leaf.shape[2:]), leaf.dtype)
        for key, (_, leaf) in zip(names, leaves, strict=True)
    ]
    asked = {
        "name": name,
        "arrays": {
            key: {"shape": list(file.shape), "dtype": str(file.dtype)} for key, file in zip(names, files, strict=True)
        },
        "tile": tile,
        "pairs": pairs,
        "symmetric": symmetric,
        "inputs": [_digest(x), None if other is None else _digest(other)],
    }

    def checksums(arrays: Sequence[np.ndarray], corner: tuple[int, int]) -> list[str]:
        """Of a tile in each array and, if it has one, of its mirror image turned back."""
        rows, columns = own_entries(corner, height, width)
        found = [checksum(array[rows, columns]) for array in arrays]
        if symmetric and corner[0] != corner[1]:
            found += [checksum(mirrored(array[columns, rows], pairs)) for array in arrays]
        return found

    _refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with Journal(folder / JOURNAL) as journal:
        new = not _claimed(folder, asked)
        done: set[tuple[int, int]] = set()
        if not new and all(file.intact() for file in files):
            arrays, recorded = [file.opened("r") for file in files], journal.tiles()
            done = {corner for corner in corners if recorded.get(corner) == checksums(arrays, corner)}
        left = [corner for corner in corners if corner not in done]
        if left:
            journal.alone()
            refuse_full(folder, files)
            if new:
                _claim(folder, asked)
            for file in files:
                file.reserve()
            arrays = [file.opened("r+") for file in files]
            for corner, piece in computed_tiles(kernel, x, other, tile=tile, corners=left, devices=devices):
                for array, part in zip(arrays, jax.tree.leaves(piece), strict=True):
                    place_tile(array, part, corner=corner, symmetric=symmetric, pairs=pairs)
                    array.flush()
                journal.add(corner, checksums(arrays, corner))
                done.add(corner)
                if progress is not None:
                    progress(len(done), len(corners))
    return jax.tree.unflatten(structure, [file.opened("r") for file in files])


def _names(paths: list[Any]) -> list[str]:
    """Name the arrays after their places in the kernel, so that each name is that of a file in the folder."""
    names = [quote(jax.tree_util.keystr(path, simple=True, separator="-"), safe="") or "kernel" for path in paths]
    if len({name.casefold() for name in names}) < len(names):  # some file systems do not tell a from A
        raise ValueError(f"the arrays of a kernel on disk need names that differ as files, got {', '.join(names)}")
    return names


def _digest(x: Any) -> str:
    x = np.asarray(x)
    return hashlib.sha256(np.ascontiguousarray(x).tobytes() + str((x.shape, x.dtype)).encode()).hexdigest()


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; a kernel needs a folder of its own")
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if MANIFEST not in found and found - {JOURNAL, DRAFT}:
        raise ValueError(f"{folder} is not empty and holds no kernel; choose another folder")


def _claimed(folder: Path, asked: dict) -> bool:
    """Say whether the folder holds the kernel that is asked for, and refuse one that holds another."""
    path = folder / MANIFEST
    if not path.exists():
        return False
    try:
        found = dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{path} is damaged; choose another folder, or remove this one") from None
    differing = [key for key in asked if found.get(key) != asked[key]]
    if differing:
        raise ValueError(f"{folder} holds another kernel: {', '.join(differing)} differ; choose another folder")
    return True


def _claim(folder: Path, asked: dict) -> None:
    draft = folder / DRAFT
    draft.write_text(json.dumps(asked, indent=1))
    draft.rename(folder / MANIFEST)


# The answer is not looked at for nan: that would read all of it once more, and it may be larger than memory.
doors(__name__, nan=("disk_kernel",), tile="[1, ∞)", pairs="[1, 32]")
