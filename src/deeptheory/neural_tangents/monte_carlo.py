"""Kernels of a network estimated by drawing it many times.

Reference: `neural_tangents.monte_carlo_kernel_fn` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural
networks in Python.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.finite.tangents import Axes
from deeptheory.kernels.layers.layer import whole
from deeptheory.neural_tangents.batching import batch
from deeptheory.neural_tangents.empirical import NtkImplementation, empirical_kernel_fn
from deeptheory.neural_tangents.requests import Get, is_array

__all__ = ["monte_carlo_kernel_fn"]


def monte_carlo_kernel_fn(
    init_fn: Callable[..., Any],
    apply_fn: Callable[..., Any],
    key: Any,
    n_samples: int | Iterable[int],
    batch_size: int = 0,
    device_count: int = -1,
    store_on_device: bool = True,
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
    vmap_axes: Any = None,
    implementation: NtkImplementation | int = NtkImplementation.JACOBIAN_CONTRACTION,
    _j_rules: bool = True,
    _s_rules: bool = True,
    _fwd: bool | None = None,
) -> Callable[..., Any]:
    """Return `kernel_fn(x1, x2, get, **apply_fn_kwargs)`, the mean of empirical kernels over draws of the network.

    With several `n_samples` it returns a generator of the estimates after so many draws, each using those before.
    """
    if not is_array(key):
        raise TypeError(f"key must be a key of jax.random, got {key!r:.60}")
    single = not isinstance(n_samples, Iterable)
    counts = {whole("n_samples", n) for n in ([n_samples] if single else n_samples)}
    if not counts:
        raise ValueError("n_samples is empty: say after how many draws to estimate")
    empirical = empirical_kernel_fn(
        apply_fn, trace_axes, diagonal_axes, vmap_axes, implementation, _j_rules, _s_rules, _fwd
    )

    def one(x1: Any, x2: Any, get: Get, params: Any, **kwargs: Any) -> Any:
        return empirical(x1, x2, get, params, **kwargs)

    batched = batch(one, batch_size, device_count, store_on_device)

    def estimates(x1: Any, x2: Any, get: Get, kwargs: dict[str, Any]) -> Iterator[Any]:
        total, carried = None, key
        shape = jax.tree.map(lambda x: x.shape, x1)
        for count in range(1, max(counts) + 1):
            carried, fresh = jax.random.split(carried)
            drawing, dropping = jax.random.split(fresh)
            _, params = init_fn(drawing, shape)
            sample = batched(x1, x2, get, params, rng=dropping, **kwargs)
            total = sample if total is None else jax.tree.map(lambda a, b: a + b, total, sample)
            if count in counts:
                yield jax.tree.map(lambda a, n=count: a / n, total)

    def kernel_fn(x1: Any, x2: Any = None, get: Get = None, **apply_fn_kwargs: Any) -> Any:
        found = estimates(x1, x2, get, apply_fn_kwargs)
        return next(found) if single else found

    return kernel_fn


doors(__name__)
