"""Any kernel function in batches over any number of devices.

Reference: `neural_tangents.batch` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in
Python.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.entrances import door, doors
from deeptheory.kernels.layers.layer import whole
from deeptheory.kernels.limits.kernel import Kernel
from deeptheory.kernels.limits.recursion import checked_inputs
from deeptheory.kernels.regression.tiles import place_tile, tile_corners
from deeptheory.neural_tangents.requests import check_inputs, is_array, on_device

__all__ = ["batch"]

ROWS, COLUMNS, MASKS = "cov1", "cov2", ("mask1", "mask2")


def batch(
    kernel_fn: Callable[..., Any], batch_size: int = 0, device_count: int = -1, store_on_device: bool = True
) -> Callable[..., Any]:
    """Return `kernel_fn` computing tiles of `batch_size` inputs a side, spread over devices, and putting them together.

    `batch_size=0` shares the rows among the devices; `device_count=-1` takes all devices, 0 the default one. Sizes need
    not divide anything; inputs may be trees of arrays, or kernels to go on with. With `x2=None` matrices are computed
    from their upper triangle. `store_on_device=False` returns NumPy arrays. Keyword arguments that are pairs of arrays
    are cut along with the inputs. Tiles are put together on the host: inside a compiled function the kernel is computed
    in one piece.
    """
    whole("batch_size", batch_size, 0)
    whole("device_count (all devices: -1; the default one: 0)", device_count, -1)

    @eqx.filter_jit
    def compiled(x1: Any, x2: Any, twice: bool, args: Any, kwargs: Any) -> Any:
        return kernel_fn(x1, x1 if twice else x2, *args, **kwargs)  # one set given twice would become two

    def batched_kernel_fn(x1: Any, x2: Any = None, *args: Any, **kwargs: Any) -> Any:
        devices = jax.local_devices()
        devices = devices if device_count == -1 else devices[: max(device_count, 1)]
        if (layer := getattr(kernel_fn, "layer", None)) is not None:  # compiled it cannot look at values
            for name, inputs in (("x1", x1), ("x2", x2)):
                if is_array(inputs):
                    checked_inputs(layer, inputs, name, masked="mask_constant" in kwargs)
        check_inputs(kwargs, x1=x1, x2=x2)
        args, kwargs = on_device((args, kwargs))
        twice = x2 is x1
        x2 = None if twice else x2
        if _traced((x1, x2, args, kwargs)):
            return compiled(x1, x2, twice, args, kwargs)
        if not batch_size and len(devices) == 1:
            return _stored(compiled(on_device(x1), on_device(x2), twice, args, kwargs), store_on_device)
        given = [leaf for leaf in jax.tree.leaves(x1, is_leaf=_is_kernel) if _is_kernel(leaf)]
        right = x1 if x2 is None else x2
        symmetric = given[0].x1_is_x2 if given else x2 is None
        rows_all, columns_all = given[0].nngp.shape[:2] if given else (_length(x1), _length(right))
        height = batch_size or -(-rows_all // len(devices))
        # One set of inputs is cut into squares, so that tiles on the diagonal know that they are.
        width = height if symmetric else batch_size or columns_all
        height, width = min(height, rows_all), min(width, columns_all)

        def tile(corner: tuple[int, int], device: Any) -> Any:
            i, j = corner
            rows, columns = slice(i, i + height), slice(j, j + width)
            own = symmetric and i == j and height == width
            parts = {n: _cut(v, rows, columns, own) for n, v in kwargs.items()}
            pair = _sliced(x1, rows), None if own else _sliced(right, columns)
            if given:
                pair = jax.tree.map(lambda kernel: kernel.slice(rows, columns), x1, is_leaf=_is_kernel), None
            left, other, rest, own_kwargs = _moved((*pair, args, parts), device)
            return compiled(left, other, own and twice, rest, own_kwargs)

        sizes = (rows_all, columns_all), (height, width)
        return _stored(_assembled(tile, *sizes, symmetric, twice, devices, args, kwargs), store_on_device)

    return door(batched_kernel_fn, trusted=("x1", "x2", "args", "kwargs"))


def _traced(tree: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def _length(inputs: Any) -> int:
    """Return the number of inputs in an array, or in a tree of arrays that share it."""
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(inputs)}
    if len(lengths) != 1 or lengths == {()}:
        raise ValueError(f"batches are cut from arrays with one number of inputs, got lengths {sorted(lengths)}")
    return lengths.pop()[0]


def _sliced(inputs: Any, part: slice) -> Any:
    return jax.tree.map(lambda leaf: leaf if _is_kernel(leaf) else leaf[part], inputs, is_leaf=_is_kernel)


def _is_kernel(tree: Any) -> bool:
    return isinstance(tree, Kernel)


def _moved(tree: Any, device: Any) -> Any:
    return jax.tree.map(lambda a: jax.device_put(a, device) if is_array(a) else a, tree)


def _cut(value: Any, rows: slice, columns: slice, own: bool) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and all(is_array(v) and v.ndim for v in value):
        return (value[0][rows], value[0][rows] if own else value[1][columns])
    return value


def _stored(kernel: Any, on_device: bool) -> Any:
    convert = jnp.asarray if on_device else np.asarray
    return jax.tree.map(convert, kernel)


def _fields(result: Any, args: tuple) -> dict[tuple[int, Any], Any]:
    """Return the arrays of a result by output and name, so that one-sided covariances are known."""
    found = {}
    for i, (path, part) in enumerate(jax.tree_util.tree_flatten_with_path(result, is_leaf=_is_kernel)[0]):
        if _is_kernel(part):
            own = {name: getattr(part, name) for name in ("nngp", "ntk", ROWS, COLUMNS)}
            found |= {(i, name): value for name, value in own.items() if value is not None}
        else:
            names = [step.name for step in path if hasattr(step, "name")]  # of several fields that were asked for
            names += [each.lower() for each in args[:1] if isinstance(each, str)]
            found[i, names[0] if names else None] = part
    return found


def _pairs(kernel: Any, value: Any) -> int | None:
    """Return how many pairs of axes symmetry exchanges; None where the axes beyond two cannot be told apart."""
    if value.ndim == 2:
        return 1
    if _is_kernel(kernel):
        return 1 if kernel.diagonal_spatial else value.ndim // 2
    return None


def _assembled(
    tile: Callable,
    size: tuple[int, int],
    side: tuple[int, int],
    symmetric: bool,
    twice: bool,
    devices: list,
    args: Any,
    kwargs: Any,
) -> Any:
    first = tile((0, 0), devices[0])
    outputs, structure = jax.tree.flatten(first, is_leaf=_is_kernel)
    named = _fields(first, args)
    pairs = {key: _pairs(outputs[key[0]], value) for key, value in named.items() if key[1] not in (ROWS, COLUMNS)}
    mirrored = symmetric and side[0] == side[1] and None not in pairs.values() and kwargs.get("rng") is None
    corners = tile_corners(*size, *side, symmetric=mirrored)
    lengths = {ROWS: size[:1], COLUMNS: size[1:]}
    whole = {
        key: np.empty((*lengths.get(key[1], size), *value.shape[1 if key[1] in lengths else 2 :]), value.dtype)
        for key, value in named.items()
        if twice or not (symmetric and key[1] == COLUMNS)
    }
    waiting: deque = deque([((0, 0), first)])
    rest = corners[1:]
    for number in range(len(rest) + 1):
        if number < len(rest):
            waiting.append((rest[number], tile(rest[number], devices[(number + 1) % len(devices)])))
        while len(waiting) >= len(devices) or (waiting and number == len(rest)):
            corner, piece = waiting.popleft()
            for key, value in _fields(piece, args).items():
                if key not in whole:
                    continue
                value = np.asarray(value)
                if key[1] == ROWS:
                    whole[key][corner[0] : corner[0] + len(value)] = value
                elif key[1] == COLUMNS:
                    whole[key][corner[1] : corner[1] + len(value)] = value
                else:
                    place_tile(whole[key], value, corner=corner, symmetric=mirrored, pairs=pairs[key] or 1)

    def rebuilt(i: int, output: Any) -> Any:
        arrays = {name: value for (number, name), value in whole.items() if number == i}
        if not _is_kernel(output):
            return next(iter(arrays.values()), None)
        none = dict.fromkeys(name for name in ("nngp", "ntk", ROWS, COLUMNS, *MASKS) if hasattr(output, name))
        shapes = {"shape1": (size[0], *output.shape1[1:]), "shape2": (size[1], *output.shape2[1:])}
        return output.replace(**none | arrays, **shapes, x1_is_x2=symmetric)

    return jax.tree.unflatten(structure, [rebuilt(i, output) for i, output in enumerate(outputs)])


doors(__name__, device_count="[-1, ∞)")
