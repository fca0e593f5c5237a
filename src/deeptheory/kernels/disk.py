"""A kernel on disk, tile by tile: an interrupted computation goes on where it stopped."""

import hashlib
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from deeptheory.kernels.tiles import KernelFunction, Progress, computed_tiles, place_tile, tile_corners

MANIFEST, JOURNAL = "manifest.json", "done.txt"


def disk_kernel(
    folder: str | Path,
    kernel: KernelFunction,
    x: Float[Array | np.ndarray, "n ..."],
    other: Float[Array | np.ndarray, "m ..."] | None = None,
    *,
    name: str = "kernel",
    tile: int = 1024,
    pairs: int = 1,
    devices: Any = None,
    progress: Progress | None = None,
) -> Any:
    """Return the kernel as memory-mapped arrays in a folder, computing only tiles that are not there yet.

    The folder holds one npy file for each array of the kernel, a manifest (what was asked: `name`, shapes, types, tile,
    digests of the inputs) and a journal of finished tiles, written after their data. Calling again after an interrupt
    resumes; calling with other inputs, another tile or another name is refused. `name` stands for the kernel function,
    which cannot be compared: change it when the function changes.
    """
    folder = Path(folder)
    columns = len(x) if other is None else len(other)
    symmetric = other is None
    corners = tile_corners(len(x), columns, tile, symmetric=symmetric)
    right = x if other is None else other
    parts = (x[: min(tile, len(x))], None if symmetric else right[: min(tile, columns)])
    shapes = jax.eval_shape(kernel, *parts)
    leaves, structure = jax.tree.flatten_with_path(shapes)
    names = [jax.tree_util.keystr(path, simple=True, separator="-") or "kernel" for path, _ in leaves]
    asked = {
        "name": name,
        "arrays": {
            key: {"shape": [len(x), columns, *leaf.shape[2:]], "dtype": str(leaf.dtype)}
            for key, (_, leaf) in zip(names, leaves, strict=True)
        },
        "tile": tile,
        "pairs": pairs,
        "symmetric": symmetric,
        "inputs": [_digest(x), None if other is None else _digest(other)],
    }
    _claim(folder, asked)
    arrays = {
        key: _array(folder / f"{key}.npy", tuple(entry["shape"]), np.dtype(entry["dtype"]))
        for key, entry in asked["arrays"].items()
    }
    done = _finished(folder / JOURNAL)
    left = [corner for corner in corners if corner not in done]  # the rest of the same order, as tiles.py asks
    count = len(corners) - len(left)
    with (folder / JOURNAL).open("a") as journal:
        for corner, piece in computed_tiles(kernel, x, other, tile=tile, corners=left, devices=devices):
            write = partial(place_tile, corner=corner, symmetric=symmetric, pairs=pairs)
            for key, part in zip(names, jax.tree.leaves(piece), strict=True):
                write(arrays[key], part)
                arrays[key].flush()
            journal.write(f"{corner[0]} {corner[1]}\n")
            journal.flush()
            os.fsync(journal.fileno())
            count += 1
            if progress is not None:
                progress(count, len(corners))
    return jax.tree.unflatten(structure, [arrays[key] for key in names])


def _digest(x: Any) -> str:
    x = np.asarray(x)
    return hashlib.sha256(np.ascontiguousarray(x).tobytes() + str((x.shape, x.dtype)).encode()).hexdigest()


def _claim(folder: Path, asked: dict) -> None:
    """Write the manifest of a new folder, or see that an old one asked for the same."""
    path = folder / MANIFEST
    if path.exists():
        found = json.loads(path.read_text())
        differing = [key for key in asked if found.get(key) != asked[key]]
        if differing:
            raise ValueError(f"{folder} holds another kernel: {', '.join(differing)} differ; choose another folder")
        return
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no kernel; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(asked, indent=1))
    draft.rename(path)


def _array(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> np.memmap:
    if path.exists():
        return np.lib.format.open_memmap(path, mode="r+")
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)


def _finished(path: Path) -> set[tuple[int, int]]:
    """Read the journal; a line cut off by an interrupt does not count."""
    if not path.exists():
        return set()
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return {(int(i), int(j)) for i, j in (line.split() for line in whole.splitlines())}
