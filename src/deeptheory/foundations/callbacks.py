"""What the host finds out about traced arrays: a NumPy function inside a compiled program.

JAX may run a callback on a thread of its own, which does not know that the caller switched to double precision by
`jax.enable_x64`, and rounds what goes in and out to single precision. So numbers of 64 bits travel as pairs of 32.
Reference: the documentation of `jax.pure_callback`, JAX 2024.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["asked"]


def asked(function: Callable[..., Any], answer: Any, *arrays: Any) -> Any:
    """Return what a NumPy function says of arrays that may be traced; `answer` is a pytree of the shapes and kinds.

    The answer does not move with the arrays: its derivative is zero, for what is decided and not computed. Under
    `vmap` one question after another. The function must not call JAX, and must not raise.
    """
    given = [lax.stop_gradient(jnp.asarray(each)) for each in arrays]
    kinds = [each.dtype for each in given]
    wanted, tree = jax.tree.flatten(answer)

    def host(*packed: Any) -> list:
        found = function(*(_unpacked(np.asarray(each), kind) for each, kind in zip(packed, kinds, strict=True)))
        found = jax.tree.leaves(found)
        return [_packed(np.asarray(each, want.dtype)) for each, want in zip(found, wanted, strict=True)]

    shapes = [jax.ShapeDtypeStruct((*each.shape, 2), np.uint32) if _wide(each.dtype) else each for each in wanted]
    sent = [lax.bitcast_convert_type(each, jnp.uint32) if _wide(each.dtype) else each for each in given]
    found = jax.pure_callback(host, shapes, *sent, vmap_method="sequential")
    back = [
        lax.bitcast_convert_type(each, want.dtype) if _wide(want.dtype) else each
        for each, want in zip(found, wanted, strict=True)
    ]
    return jax.tree.unflatten(tree, back)


def _wide(kind: Any) -> bool:
    return np.dtype(kind).itemsize == 8


def _packed(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint32).reshape(*array.shape, 2) if _wide(array.dtype) else array


def _unpacked(array: np.ndarray, kind: Any) -> np.ndarray:
    return np.frombuffer(array.tobytes(), kind).reshape(array.shape[:-1]) if _wide(kind) else array
