"""Kernels of many inputs in tiles: symmetry used, tiles spread over devices, or rows sharded.

A kernel function here is `kernel(x, other)` with `other=None` for x against itself, returning an array of shape
(n, m, …) or a dictionary of such arrays.

Reference: Novak et al. 2020, who compute kernels in batches and on several devices.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import whole as counted

__all__ = ["sharded_kernel", "tiled_kernel"]

KernelFunction = Callable[[Any, Any], Any]
Progress = Callable[[int, int], None]
Inputs = Float[AnyArray, "n ..."]


def tile_corners(
    rows: int, columns: int, height: int, width: int | None = None, *, symmetric: bool
) -> list[tuple[int, int]]:
    """Return the corners of equal tiles, square unless `width` is given, that cover a matrix or its upper triangle.

    The last tile of a row or column is moved back to end with the data, so that one compiled shape serves all. Rows
    come in order, so a tile that overlaps the diagonal is overwritten by the diagonal tile after it: whoever writes
    tiles in this order keeps the diagonal that was computed as a diagonal.
    """
    if height < 1:
        raise ValueError(f"a tile has at least 1 input a side, got {height}")
    if rows < 1 or columns < 1:
        raise ValueError(f"a kernel has at least 1 input a side, got {rows} and {columns}")
    height, width = min(height, rows), min(width or height, columns)
    return [
        (min(i, rows - height), min(j, columns - width))
        for i in range(0, rows, height)
        for j in range(i if symmetric else 0, columns, width)
    ]


def try_suspects(kernel: KernelFunction, **sets: Any) -> None:
    """Refuse what the kernel function refuses of the first zero and the first non-finite input of every set.

    Compiled it cannot look at values, so it is called on those two before.
    """
    for name, inputs in sets.items():
        if inputs is None:
            continue
        rows = np.asarray(inputs).reshape(len(inputs), -1)
        for suspect in (~rows.any(1), ~np.isfinite(rows).all(1)):
            for row in np.flatnonzero(suspect)[:1]:
                one = inputs[row : row + 1]
                try:
                    kernel(one, one)
                except ValueError as refusal:
                    raise ValueError(f"row {row} of {name} is refused by the kernel function: {refusal}") from None


def computed_tiles(
    kernel: KernelFunction,
    x: Inputs,
    other: Float[AnyArray, "m ..."] | None,
    *,
    tile: int,
    corners: Sequence[tuple[int, int]],
    devices: Sequence[Any] | None = None,
) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield (corner, tile on the host) for every corner, one tile under way on each device."""
    devices = jax.devices()[:1] if devices is None else list(devices)
    right = x if other is None else other
    height, width = min(tile, len(x)), min(tile, len(right))
    function = jax.jit(kernel)
    waiting: deque = deque()

    def fetch() -> tuple[tuple[int, int], Any]:
        corner, result = waiting.popleft()
        return corner, jax.tree.map(np.asarray, result)

    for number, (i, j) in enumerate(corners):
        place = partial(jax.device_put, device=devices[number % len(devices)])
        diagonal = other is None and i == j
        rows = place(x[i : i + height])
        waiting.append(((i, j), function(rows, None if diagonal else place(right[j : j + width]))))
        if len(waiting) >= len(devices):
            yield fetch()
    while waiting:
        yield fetch()


def own_entries(corner: tuple[int, int], height: int, width: int) -> tuple[slice, slice]:
    """Return the rows and columns of the whole that belong to a tile: all but those that the tile before it has too.

    The entries of all tiles together are the whole, each once, and the diagonal belongs to tiles on the diagonal.
    """
    i, j = corner  # a multiple of the side, but for a last tile that was moved back
    return slice(i + -i % height, i + height), slice(j + -j % width, j + width)


def mirrored(tile: np.ndarray, pairs: int) -> np.ndarray:
    """Exchange the two sides of a tile whose first axes are `pairs` pairs (n, m, h, h′, …)."""
    if 2 * pairs > tile.ndim:
        raise ValueError(f"pairs must be at most {tile.ndim // 2} for a kernel with {tile.ndim} axes, got {pairs}")
    order = list(range(tile.ndim))
    for pair in range(pairs):
        order[2 * pair], order[2 * pair + 1] = 2 * pair + 1, 2 * pair
    return tile.transpose(order)


def tiled_kernel(
    kernel: KernelFunction,
    x: Inputs,
    other: Float[AnyArray, "m ..."] | None = None,
    *,
    tile: int = 1024,
    pairs: int = 1,
    devices: Sequence[jax.Device] | None = None,  # pyright: ignore[reportInvalidTypeForm]
    progress: Progress | None = None,
) -> Any:
    """Return the kernel of all pairs on the host, holding the result and a tile for each device, no more.

    With `other` left out only the upper triangle is computed and tiles on the diagonal see one set of inputs. Tiles go
    round the devices (`jax.devices()` for all; the first alone by default). `pairs` counts the pairs of axes that are
    exchanged by symmetry: 1 for (n, m), 3 for images with both positions, (n, m, h, h′, w, w′).
    `progress(done, all)` is called after each tile.
    """
    counted("pairs", pairs)
    columns = len(x) if other is None else len(other)
    corners = tile_corners(len(x), columns, tile, symmetric=other is None)
    try_suspects(kernel, x=x, other=other)
    whole: Any = None
    for done, ((i, j), piece) in enumerate(
        computed_tiles(kernel, x, other, tile=tile, corners=corners, devices=devices), 1
    ):
        if whole is None:
            whole = jax.tree.map(lambda p: np.empty((len(x), columns, *p.shape[2:]), p.dtype), piece)
        jax.tree.map(partial(place_tile, corner=(i, j), symmetric=other is None, pairs=pairs), whole, piece)
        if progress is not None:
            progress(done, len(corners))
    return whole


def place_tile(
    whole: np.ndarray, piece: np.ndarray, *, corner: tuple[int, int], symmetric: bool, pairs: int = 1
) -> None:
    """Write the entries that belong to a tile and, by symmetry, their mirror image."""
    i, j = corner
    rows, columns = own_entries(corner, *piece.shape[:2])
    own = piece[rows.start - i :, columns.start - j :]
    if symmetric and i != j:
        whole[columns, rows] = mirrored(own, pairs)
    whole[rows, columns] = own


def sharded_kernel(
    kernel: KernelFunction,
    x: Inputs,
    other: Float[AnyArray, "m ..."] | None = None,
    *,
    devices: Sequence[jax.Device] | None = None,  # pyright: ignore[reportInvalidTypeForm]
) -> Any:
    """Return the kernel as one array whose rows lie on several devices, each computing its own: nothing is gathered.

    Symmetry is not used (it would send tiles between devices). Rows that the devices cannot share evenly are filled up
    with copies of the last and cut off at the end. Entries that pair an input with itself are computed as any other;
    where they must be exact use `tiled_kernel`.
    """
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    try_suspects(kernel, x=x, other=other)
    devices = jax.devices() if devices is None else list(devices)
    mesh = Mesh(np.array(devices), ("rows",))
    right = x if other is None else other
    spread = jax.shard_map(kernel, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"), check_vma=False)
    missing = -len(x) % len(devices)
    filled = jnp.concatenate([jnp.asarray(x), jnp.repeat(jnp.asarray(x[-1:]), missing, 0)]) if missing else x
    left = jax.device_put(jnp.asarray(filled), NamedSharding(mesh, P("rows")))
    found = jax.jit(spread)(left, jax.device_put(jnp.asarray(right), NamedSharding(mesh, P())))
    return jax.tree.map(lambda each: each[: len(x)], found) if missing else found


doors(__name__, tile="[1, ∞)", pairs="[1, 32]")
