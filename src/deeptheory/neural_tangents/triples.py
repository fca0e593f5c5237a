"""A layer as three functions: `init_fn`, `apply_fn`, `kernel_fn`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from deeptheory.kernels.layers.layer import Layer
from deeptheory.kernels.limits.recursion import FIELDS, Kernel, continued_kernel, limit_kernel
from deeptheory.neural_tangents.requests import answered, asked


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
        if isinstance(x1, list | tuple) or isinstance(x2, list):
            raise ValueError("a network starts from one array of inputs, not several: fan out after a first layer")
        unknown = set(kwargs) - {"rng", "mask_constant", "mask", "diagonal_batch"}
        if unknown:
            raise ValueError(f"kernel_fn has no argument {', '.join(sorted(unknown))}")
        if kwargs.get("diagonal_batch") is False:
            raise ValueError("cov1 and cov2 hold every input with itself alone; for all pairs take nngp of x1 or of x2")
        if isinstance(x1, Kernel):
            kernel = continued_kernel(layer, x1)
            get = x2 if get is None and (isinstance(x2, (str, tuple))) else get  # kernel_fn(kernel, "ntk")
        else:
            kernel = limit_kernel(
                layer,
                x1,
                None if x2 is x1 else x2,
                want=asked(get, default=FIELDS),
                diagonal_spatial=bool(diagonal_spatial),
                pattern=(None, None) if pattern is None else tuple(pattern),
            )
        if x2 is x1 and kernel.cov2 is None:
            kernel = replace(kernel, cov2=kernel.cov1)
        if get is None:
            return kernel
        return answered(get, "AnalyticKernel", {name: getattr(kernel, name) for name in asked(get, default=FIELDS)})

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
