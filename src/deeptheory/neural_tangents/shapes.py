"""Kernels and outputs of any rank as matrices: paired axes taken apart, traced axes set last."""

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from deeptheory.foundations.guards import numeric, symmetric
from deeptheory.foundations.wishes import on_host
from deeptheory.kernels.finite.tangents import Axes, canonical


def matrix(kernel: Any) -> Any:
    """Return a kernel (n, m, h, h′, …) as the matrix of (n h …) against (m h′ …), one number where all is traced."""
    kernel = jnp.asarray(kernel)
    if kernel.ndim % 2:
        raise ValueError(f"a kernel has its axes in pairs, got shape {kernel.shape}")
    kernel = kernel.astype(jnp.result_type(kernel, float))
    rows, columns = range(0, kernel.ndim, 2), range(1, kernel.ndim, 2)
    shape = (prod(kernel.shape[a] for a in rows), prod(kernel.shape[a] for a in columns))
    return jnp.transpose(kernel, (*rows, *columns)).reshape(shape)


def paired(covariance: Any, kept: tuple[int, ...]) -> Any:
    """Return matrices (…, N, N) with N = prod(kept) as kernels (…, n, n, h, h, …)."""
    lead = covariance.shape[:-2]
    count, first = len(kept), len(lead)
    order = [first + a + side * count for a in range(count) for side in (0, 1)]
    return jnp.transpose(covariance.reshape(*lead, *kept, *kept), (*range(first), *order))


def check_symmetric(name: str, kernel: Any) -> None:
    """Refuse a kernel of a set with itself that is not symmetric, or is negative on its diagonal, or not a number."""
    if not isinstance(kernel, Tracer) and on_host(kernel):
        with jax.ensure_compile_time_eval():  # a known kernel may be used inside a compiled function
            flat = np.asarray(matrix(kernel))
        if flat.shape[0] != flat.shape[1]:
            raise ValueError(f"{name} must be a kernel of one set with itself, got shape {tuple(kernel.shape)}")
        if not np.isfinite(flat).all():
            raise ValueError(f"{name} must be finite, got {flat[~np.isfinite(flat)][0]}")
        symmetric(**{name: flat})


class Layout:
    """How targets lie in memory: kept axes, which the kernel has, and traced ones, over which it is the same."""

    def __init__(self, y: Any, trace_axes: Axes) -> None:
        self.rank = y.ndim
        self.traced = canonical(trace_axes, y.ndim)
        self.kept = tuple(y.shape[a] for a in range(y.ndim) if a not in self.traced)
        self.outputs = tuple(y.shape[a] for a in self.traced)

    def check(self, name: str, kernel: Any) -> None:
        """Refuse what is no kernel of the training set with itself."""
        self._fits(name, kernel, self.kept)
        check_symmetric(name, kernel)

    def check_cross(self, name: str, kernel: Any) -> None:
        """Refuse what is no kernel between another set and the training set."""
        rows = np.shape(kernel)[::2]
        self._fits(name, kernel, rows if len(rows) == len(self.kept) else self.kept)

    def check_outputs(self, name: str, outputs: Any, kept: tuple[int, ...]) -> None:
        """Refuse outputs that are neither one for every target nor broadcast to that."""
        wanted = list(kept)
        for axis, extent in zip(self.traced, self.outputs, strict=True):
            wanted.insert(axis, extent)
        try:
            fits = np.broadcast_shapes(np.shape(outputs), wanted) == tuple(wanted)
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{name} must have shape {tuple(wanted)} or be a number, got shape {np.shape(outputs)}")

    def _fits(self, name: str, kernel: Any, rows: tuple[int, ...]) -> None:
        numeric(**{name: kernel})
        wanted = tuple(extent for pair in zip(rows, self.kept, strict=True) for extent in pair)
        if np.shape(kernel) != wanted:
            raise ValueError(
                f"targets with kept axes {self.kept} need a kernel of shape {wanted}, got {np.shape(kernel)} as {name};"
                " trace_axes must be those of the kernel"
            )

    def flat(self, y: Any) -> Any:
        """Return targets as (kept, traced)."""
        moved = jnp.moveaxis(jnp.asarray(y), self.traced, range(-len(self.traced), 0))
        return moved.reshape(prod(moved.shape[: self.rank - len(self.traced)]), -1)

    def shaped(self, flat: Any, kept: tuple[int, ...]) -> Any:
        """Return (…, kept, traced) as outputs (…, *output)."""
        lead = flat.shape[:-2]
        whole = flat.reshape(*lead, *kept, *self.outputs)
        targets = [len(lead) + a for a in self.traced]
        return jnp.moveaxis(whole, range(-len(self.traced), 0), targets) if self.traced else whole
