"""The `Kernel` of neural-tangents 0.6.5: kernels with their masks and axes."""

from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp

from deeptheory.kernels.limits import kernel
from deeptheory.kernels.limits.block import static


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kernel(kernel.Kernel):
    """Kernels of a network between two sets of inputs, which positions of its outputs are masked, and their axes.

    `cov1` and `cov2` hold every input with itself, or all pairs of a set if not `diagonal_batch`. Position axes are
    never reversed, and no kernel is one of inputs: the two flags are there for those who read them.
    """

    mask1: Any = None
    mask2: Any = None
    diagonal_batch: bool = static(default=True)
    is_reversed: bool = static(default=False)
    is_input: bool = static(default=False)
    batch_axis: int = static(default=0)
    channel_axis: int = static(default=-1)

    def asdict(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def astuple(self) -> tuple[Any, ...]:
        return tuple(self.asdict().values())

    def slice(self, n1_slice: slice, n2_slice: slice) -> Any:
        """Return the kernel between some inputs of both sets."""
        parts = (n1_slice, n2_slice)
        cov1, cov2 = (
            cov if cov is None else cov[part] if self.diagonal_batch else cov[part, part]
            for cov, part in zip((self.cov1, self.cov1 if self.cov2 is None else self.cov2), parts, strict=True)
        )
        masks = [m if m is None else m[p] for m, p in zip((self.mask1, self.mask2), parts, strict=True)]
        counts = [len(range(s[self.batch_axis])[p]) for s, p in zip((self.shape1, self.shape2), parts, strict=True)]
        shapes = [
            (*s[: self.batch_axis], n, *s[self.batch_axis + 1 :])
            for s, n in zip((self.shape1, self.shape2), counts, strict=True)
        ]
        return self.replace(
            nngp=self.nngp if self.nngp is None else self.nngp[n1_slice, n2_slice],
            ntk=self.ntk if self.ntk is None else self.ntk[n1_slice, n2_slice],
            cov1=cov1,
            cov2=cov2,
            mask1=masks[0],
            mask2=masks[1],
            shape1=shapes[0],
            shape2=shapes[1],
            x1_is_x2=self.x1_is_x2 and n1_slice == n2_slice,
        )


NAMES = tuple(each.name for each in fields(Kernel))


def dressed(plain: kernel.Kernel, **more: Any) -> Kernel:
    """Return a kernel as its users know it."""
    known = plain.asdict() if isinstance(plain, Kernel) else {f.name: getattr(plain, f.name) for f in fields(plain)}
    return Kernel(**known | more)


def block_diagonal(kernels: list[Any]) -> Any:
    """Join kernels of independent outputs along the batch: between different ones the covariance is 0."""

    def beside(arrays: list[Any]) -> Any:
        if arrays[0] is None:
            return None
        rows = [sum(a.shape[0] for a in arrays[:i]) for i in range(len(arrays) + 1)]
        columns = [sum(a.shape[1] for a in arrays[:i]) for i in range(len(arrays) + 1)]
        whole = jnp.zeros((rows[-1], columns[-1], *arrays[0].shape[2:]), arrays[0].dtype)
        for i, array in enumerate(arrays):
            whole = whole.at[rows[i] : rows[i + 1], columns[i] : columns[i + 1]].set(array)
        return whole

    def behind(arrays: list[Any]) -> Any:
        return None if arrays[0] is None else jnp.concatenate(arrays)

    first = kernels[0]
    return first.replace(
        nngp=beside([k.nngp for k in kernels]),
        ntk=beside([k.ntk for k in kernels]),
        cov1=behind([k.cov1 for k in kernels]),
        cov2=behind([k.cov2 for k in kernels]),
        shape1=(sum(k.shape1[0] for k in kernels), *first.shape1[1:]),
        shape2=(sum(k.shape2[0] for k in kernels), *first.shape2[1:]),
    )
