"""Any kernel function in batches over any number of devices."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.doors import doors
from deeptheory.kernels.layer import whole
from deeptheory.kernels.limit import Kernel
from deeptheory.kernels.tiles import place_tile, tile_corners
from deeptheory.neural_tangents.requests import is_array, on_device

ROWS, COLUMNS = "cov1", "cov2"


def batch(
    kernel_fn: Callable[..., Any], batch_size: int = 0, device_count: int = -1, store_on_device: bool = True
) -> Callable[..., Any]:
    """Return `kernel_fn` computing tiles of `batch_size` inputs a side, spread over devices, and putting them together.

    `batch_size=0` shares the rows among the devices; `device_count=-1` takes all devices, 0 the default one. Sizes need
    not divide anything; inputs may be trees of arrays. With `x2=None` matrices are computed from their upper triangle.
    `store_on_device=False` returns NumPy arrays. Keyword arguments that are pairs of arrays are cut along with the
    inputs.
    """
    whole("batch_size", batch_size, 0)
    whole("device_count (all devices: -1; the default one: 0)", device_count, -1)
    compiled = eqx.filter_jit(lambda x1, x2, args, kwargs: kernel_fn(x1, x2, *args, **kwargs))

    def batched_kernel_fn(x1: Any, x2: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x1, Kernel):
            raise ValueError("batches are cut from inputs: give arrays to a batched kernel function, not a Kernel")
        devices = jax.local_devices()
        devices = devices if device_count == -1 else devices[: max(device_count, 1)]
        rows_all, columns_all = _length(x1), _length(x1 if x2 is None else x2)
        args, kwargs = on_device((args, kwargs))
        if not batch_size and len(devices) == 1:
            return _stored(compiled(on_device(x1), on_device(x2), args, kwargs), store_on_device)
        right = x1 if x2 is None else x2
        height = batch_size or -(-rows_all // len(devices))
        # One set of inputs is cut into squares, so that tiles on the diagonal know that they are.
        width = height if x2 is None else batch_size or columns_all
        height, width = min(height, rows_all), min(width, columns_all)

        def tile(corner: tuple[int, int], device: Any) -> Any:
            i, j = corner
            rows, columns = slice(i, i + height), slice(j, j + width)
            own = x2 is None and i == j and height == width
            parts = {n: _cut(v, rows, columns, own) for n, v in kwargs.items()}
            pair = _sliced(x1, rows), None if own else _sliced(right, columns)
            left, other, rest, own_kwargs = _moved((*pair, args, parts), device)
            return compiled(left, other, rest, own_kwargs)

        sizes = (rows_all, columns_all), (height, width)
        return _stored(_assembled(tile, *sizes, x2 is None, devices, args, kwargs), store_on_device)

    return batched_kernel_fn


def _length(inputs: Any) -> int:
    """Return the number of inputs in an array, or in a tree of arrays that share it."""
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(inputs)}
    if len(lengths) != 1 or lengths == {()}:
        raise ValueError(f"batches are cut from arrays with one number of inputs, got lengths {sorted(lengths)}")
    return lengths.pop()[0]


def _sliced(inputs: Any, part: slice) -> Any:
    return jax.tree.map(lambda leaf: leaf[part], inputs)


def _moved(tree: Any, device: Any) -> Any:
    return jax.tree.map(lambda a: jax.device_put(a, device) if is_array(a) else a, tree)


def _cut(value: Any, rows: slice, columns: slice, own: bool) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and all(is_array(v) and v.ndim for v in value):
        return (value[0][rows], value[0][rows] if own else value[1][columns])
    return value


def _stored(kernel: Any, on_device: bool) -> Any:
    convert = jnp.asarray if on_device else np.asarray
    return jax.tree.map(convert, kernel)


def _fields(kernel: Any, args: tuple) -> dict[str, Any]:
    """Return a kernel's arrays by name, so that one-sided covariances are known."""
    if isinstance(kernel, Kernel):
        return {name: getattr(kernel, name) for name in ("nngp", "ntk", ROWS, COLUMNS)}
    if hasattr(kernel, "_asdict"):
        return kernel._asdict()
    return {args[0] if args and args[0] in (ROWS, COLUMNS) else "kernel": kernel}


def _pairs(kernel: Any, value: Any) -> int | None:
    """Return how many pairs of axes symmetry exchanges; None where the axes beyond two cannot be told apart."""
    if value.ndim == 2:
        return 1
    if isinstance(kernel, Kernel):
        return 1 if kernel.diagonal_spatial else value.ndim // 2
    return None


def _assembled(
    tile: Callable, size: tuple[int, int], side: tuple[int, int], symmetric: bool, devices: list, args: Any, kwargs: Any
) -> Any:
    first = tile((0, 0), devices[0])
    named = {name: value for name, value in _fields(first, args).items() if value is not None}
    pairs = {name: _pairs(first, value) for name, value in named.items() if name not in (ROWS, COLUMNS)}
    mirrored = symmetric and side[0] == side[1] and None not in pairs.values() and kwargs.get("rng") is None
    corners = tile_corners(*size, *side, symmetric=mirrored)
    lengths = {ROWS: size[:1], COLUMNS: size[1:]}
    whole = {
        name: np.empty((*lengths.get(name, size), *value.shape[1 if name in lengths else 2 :]), value.dtype)
        for name, value in named.items()
        if not (symmetric and name == COLUMNS)
    }
    waiting: deque = deque([((0, 0), first)])
    rest = corners[1:]
    for number in range(len(rest) + 1):
        if number < len(rest):
            waiting.append((rest[number], tile(rest[number], devices[(number + 1) % len(devices)])))
        while len(waiting) >= len(devices) or (waiting and number == len(rest)):
            corner, piece = waiting.popleft()
            for name, value in _fields(piece, args).items():
                if name not in whole:
                    continue
                value = np.asarray(value)
                if name == ROWS:
                    whole[name][corner[0] : corner[0] + len(value)] = value
                elif name == COLUMNS:
                    whole[name][corner[1] : corner[1] + len(value)] = value
                else:
                    place_tile(whole[name], value, corner=corner, symmetric=mirrored, pairs=pairs[name] or 1)
    if isinstance(first, Kernel):
        empty = dict.fromkeys(("nngp", "ntk", ROWS, COLUMNS))
        shapes = {"shape1": (size[0], *first.shape1[1:]), "shape2": (size[1], *first.shape2[1:])}
        return replace(first, **empty | whole, **shapes, x1_is_x2=symmetric)
    return type(first)(**whole) if hasattr(first, "_asdict") else next(iter(whole.values()))


doors(__name__)
