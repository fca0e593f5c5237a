"""Kernels and outputs of any rank as matrices: paired axes taken apart, traced axes set last."""

from math import prod
from typing import Any

import jax.numpy as jnp

from deeptheory.kernels.finite.tangents import Axes, canonical


def matrix(kernel: Any) -> Any:
    """Return a kernel (n, m, h, h′, …) as the matrix of (n h …) against (m h′ …)."""
    kernel = jnp.asarray(kernel)
    if kernel.ndim % 2:
        raise ValueError(f"a kernel has its axes in pairs, got shape {kernel.shape}")
    rows, columns = range(0, kernel.ndim, 2), range(1, kernel.ndim, 2)
    shape = (prod(kernel.shape[a] for a in rows), prod(kernel.shape[a] for a in columns))
    return jnp.transpose(kernel, (*rows, *columns)).reshape(shape)


def paired(covariance: Any, kept: tuple[int, ...]) -> Any:
    """Return matrices (…, N, N) with N = prod(kept) as kernels (…, n, n, h, h, …)."""
    lead = covariance.shape[:-2]
    count, first = len(kept), len(lead)
    order = [first + a + side * count for a in range(count) for side in (0, 1)]
    return jnp.transpose(covariance.reshape(*lead, *kept, *kept), (*range(first), *order))


class Layout:
    """How targets lie in memory: kept axes, which the kernel has, and traced ones, over which it is the same."""

    def __init__(self, y: Any, trace_axes: Axes) -> None:
        self.rank = y.ndim
        self.traced = canonical(trace_axes, y.ndim)
        self.kept = tuple(y.shape[a] for a in range(y.ndim) if a not in self.traced)
        self.outputs = tuple(y.shape[a] for a in self.traced)

    def check(self, kernel: Any) -> None:
        wanted = tuple(extent for extent in self.kept for _ in range(2))
        if tuple(kernel.shape) != wanted:
            raise ValueError(
                f"targets with kept axes {self.kept} need a kernel of shape {wanted}, got {tuple(kernel.shape)};"
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
