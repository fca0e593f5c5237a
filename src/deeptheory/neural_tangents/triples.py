"""A layer as three functions: `init_fn`, `apply_fn`, `kernel_fn`."""

from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, NamedTuple, ParamSpec

import jax
import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.kernels.layers.layer import Layer
from deeptheory.kernels.layers.masks import masked
from deeptheory.neural_tangents.analytic import analytic_kernel, continued, hide, is_kernel, is_masked
from deeptheory.neural_tangents.kernel import NAMES
from deeptheory.neural_tangents.layouts import Axes, each, entrance, settled
from deeptheory.neural_tangents.requests import Get, answered, asked, is_array, tuples
from deeptheory.neural_tangents.wholes import HandMade

Arguments = ParamSpec("Arguments")


class Triple(NamedTuple):
    """(init_fn, apply_fn, kernel_fn), unpacked as users do."""

    init_fn: Callable[..., Any]
    apply_fn: Callable[..., Any]
    kernel_fn: Callable[..., Any]


def named(make: Callable[Arguments, Layer]) -> Callable[Arguments, Triple]:
    """Turn what makes a layer into what makes its three functions, which bear its name.

    What it does is told by the layer of that name in `deeptheory.kernels`, unless it tells it itself.
    """
    make.__doc__ = make.__doc__ or getattr(getattr(kernels, make.__name__, None), "__doc__", None)

    @wraps(make)
    def made(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Triple:
        return triple(make(*args, **kwargs), make.__name__)

    return made


def triple(layer: Layer, name: str) -> Triple:
    """Return the three functions of a layer."""

    def init_fn(rng: Any, input_shape: Any, **kwargs: Any) -> tuple[Any, Any]:
        shape = tuples(input_shape)
        extents = jax.tree.leaves(shape)
        if not isinstance(shape, tuple) or not extents or not all(isinstance(each, Integral) for each in extents):
            raise TypeError(f"input_shape must hold whole numbers, as (-1, 784), got {input_shape!r:.60}")
        if rng is not None and not is_array(rng):
            raise TypeError(f"rng must be a key of jax.random, got {rng!r:.60}")
        axes = entrance(layer, shape)
        inner = each(Axes.shape_inward, shape, axes)
        network, _, after = settled(layer, inner, axes)
        found, parameters = network.init(rng, inner)
        return each(Axes.shape_outward, found, after), parameters

    def apply_fn(
        params: Any, inputs: Any, *, rng: Any = None, mask_constant: Any = None, pattern: Any = None, **kwargs: Any
    ) -> Any:
        inputs = _arrays("inputs", tuples(inputs))
        axes = entrance(layer, jax.tree.map(_shape, inputs, is_leaf=is_masked))
        inputs = each(lambda own, x: jax.tree.map(own.inward, hide(x, mask_constant, own)), inputs, axes)
        network, _, after = settled(layer, jax.tree.map(_shape, inputs, is_leaf=is_masked), axes)
        if any(map(is_masked, jax.tree.leaves(inputs, is_leaf=is_masked))):
            network = masked(network)
        try:
            outputs = network.apply(params, inputs, key=rng, **({} if pattern is None else {"pattern": pattern}))
        except (TypeError, ValueError, IndexError, KeyError, AttributeError):
            _fitting(network, params, jax.tree.map(_shape, inputs, is_leaf=is_masked))
            raise
        return each(lambda own, y: jax.tree.map(own.outward, y), outputs, after)

    def kernel_fn(
        x1: Any,
        x2: Any = None,
        get: Get = None,
        *,
        pattern: Any = None,
        mask_constant: Any = None,
        diagonal_batch: bool | None = None,
        diagonal_spatial: bool | None = None,
        rng: Any = None,
        **kwargs: Any,
    ) -> Any:
        if kwargs:
            raise ValueError(f"kernel_fn has no argument {', '.join(sorted(kwargs))}")
        x1, x2 = tuples(x1), tuples(x2)
        graphs = (None, None) if pattern is None else tuple(pattern)
        if all(map(is_kernel, jax.tree.leaves(x1, is_leaf=is_kernel))):
            get = x2 if get is None and x2 is not None else get  # kernel_fn(kernel, "ntk")
            found = continued(layer, x1, graphs)
        else:
            x1, x2 = _arrays("x1", x1), _arrays("x2", x2)
            names = asked(get, default=NAMES)
            options = {"diagonal_batch": diagonal_batch is not False, "diagonal_spatial": bool(diagonal_spatial)}
            found = analytic_kernel(layer, x1, x2, names, pattern=graphs, mask_constant=mask_constant, **options)
        if get is None:
            return found
        wanted = asked(get, default=NAMES)
        unknown = set(wanted) - set(NAMES)
        if unknown:
            raise ValueError(f"a kernel has {', '.join(NAMES)}; {', '.join(sorted(unknown))} is none of them")

        def answer(kernel: Any) -> Any:
            return answered(get, "AnalyticKernel", {name: getattr(kernel, name) for name in wanted})

        return jax.tree.map(answer, found, is_leaf=is_kernel)

    for function in (init_fn, apply_fn, kernel_fn):
        function.__name__ = name
    kernel_fn.layer = layer  # type: ignore[attr-defined]
    return Triple(init_fn, apply_fn, kernel_fn)


def layer_of(given: Any) -> Layer:
    """Return the layer behind a triple, which may be one made by hand."""
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(callable, given)):
        said = " ".join(f"{given!r:.60}".split())
        raise ValueError(f"a layer is a triple of functions (init_fn, apply_fn, kernel_fn), got {said}")
    return getattr(given[2], "layer", None) or HandMade(*given)


def _arrays(name: str, inputs: Any) -> Any:
    """Return inputs, refusing what is neither an array nor several."""
    leaves = jax.tree.leaves(inputs, is_leaf=is_masked)
    wrong = [leaf for leaf in leaves if not is_array(leaf) and not is_masked(leaf)]
    if wrong:
        raise TypeError(f"{name} must be an array of numbers or several of them, got {wrong[0]!r:.60}")
    return inputs


def _fitting(network: Layer, params: Any, shape: Any) -> None:
    """Refuse parameters of other shapes than `init` gives for such inputs. Asked only of what went wrong: parameters
    with more structure than ours are the user's affair."""
    wanted = jax.eval_shape(lambda key: network.init(key, shape)[1], jax.random.key(0))
    met = jax.tree.map(jnp.shape, jax.tree.leaves(params))
    if jax.tree.structure(params) != jax.tree.structure(wanted) or met != [
        each.shape for each in jax.tree.leaves(wanted)
    ]:
        said = [each.shape for each in jax.tree.leaves(wanted)]
        raise ValueError(f"params do not fit: those of init_fn for inputs {shape} are {said!s:.70}, got {met!s:.70}")


def _shape(x: Any) -> tuple[int, ...]:
    return jnp.shape(x.masked_value if is_masked(x) else x)
