"""A layer as three functions: `init_fn`, `apply_fn`, `kernel_fn`."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from deeptheory.kernels import Kernel, Layer, limit_kernel
from deeptheory.kernels.limit import FIELDS


class Triple(NamedTuple):
    """(init_fn, apply_fn, kernel_fn), unpacked as users do."""

    init_fn: Callable[..., Any]
    apply_fn: Callable[..., Any]
    kernel_fn: Callable[..., Any]


def triple(layer: Layer) -> Triple:
    """Return the three functions of a layer."""

    def init_fn(rng: Any, input_shape: Any, **kwargs: Any) -> tuple[Any, Any]:
        return layer.init(rng, _tuples(input_shape))

    def apply_fn(params: Any, inputs: Any, *, rng: Any = None, pattern: Any = None, **kwargs: Any) -> Any:
        _no_masks(kwargs)
        extra = {} if pattern is None else {"pattern": pattern}
        return layer.apply(params, inputs, key=rng, **extra)

    def kernel_fn(
        x1: Any,
        x2: Any = None,
        get: str | tuple[str, ...] | None = None,
        *,
        pattern: Any = None,
        diagonal_spatial: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        _no_masks(kwargs)
        if isinstance(x1, Kernel):
            raise ValueError("kernel_fn takes arrays here: compose networks with serial instead of passing a Kernel")
        want = FIELDS if get is None else (get,) if isinstance(get, str) else tuple(get)
        kernel = limit_kernel(
            layer,
            x1,
            None if x2 is x1 else x2,
            want=want,
            diagonal_spatial=bool(diagonal_spatial),
            pattern=(None, None) if pattern is None else tuple(pattern),
        )
        if get is None:
            return kernel
        if isinstance(get, str):
            return getattr(kernel, get)
        return namedtuple("Analytic", get)(*(getattr(kernel, name) for name in get))

    kernel_fn.layer = layer  # type: ignore[attr-defined]
    return Triple(init_fn, apply_fn, kernel_fn)


def layer_of(given: Any) -> Layer:
    """Return the layer behind a triple."""
    layer = getattr(given[2], "layer", None) if isinstance(given, tuple) and len(given) == 3 else None
    if layer is None:
        raise ValueError(f"expected a layer made by stax, got {given!r}: hand-made triples have no kernel here")
    return layer


def only_default(name: str, **arguments: tuple[Any, Any]) -> None:
    """Refuse an argument that this facade accepts by name and default alone."""
    for argument, (value, default) in arguments.items():
        if value != default and value is not None:
            raise ValueError(
                f"{name}({argument}={value!r}) is not supported: transpose inputs to (batch, positions…, channels)"
            )


def _tuples(shape: Any) -> Any:
    if isinstance(shape, (list, tuple)):
        return tuple(_tuples(each) for each in shape)
    return int(shape)


def _no_masks(kwargs: dict[str, Any]) -> None:
    if kwargs.get("mask_constant") is not None or kwargs.get("mask") is not None:
        raise ValueError("masked inputs are not supported: drop or pad the masked positions before")
