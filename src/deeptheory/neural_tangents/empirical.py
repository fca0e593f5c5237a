"""Empirical kernels and expansions of a finite network, with the arguments and defaults of neural-tangents 0.6.5.

`trace_axes` are output axes to be averaged over, `diagonal_axes` those of which only equal entries are kept. Reference:
`neural_tangents.empirical_ntk_fn` and the others of Novak et al. 2020, Neural Tangents: fast and easy infinite neural
networks in Python; Novak, Sohl-Dickstein and Schoenholz 2022, Fast finite width neural tangent kernel.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.guards import numeric
from deeptheory.kernels.finite import tangents
from deeptheory.kernels.finite.tangents import Axes, contract_outputs, jacobian_kernel, tangent_kernel, tangent_product
from deeptheory.neural_tangents.requests import (
    Get,
    answered,
    asked,
    check_inputs,
    is_array,
    on_device,
    split_arguments,
)

__all__ = [
    "NtkImplementation",
    "empirical_kernel_fn",
    "empirical_nngp_fn",
    "empirical_ntk_fn",
    "empirical_ntk_vp_fn",
    "linearize",
    "taylor_expand",
]


class NtkImplementation(IntEnum):
    """Ways to the same numbers, accepted so that calls keep working; here one way serves all."""

    AUTO = 0
    JACOBIAN_CONTRACTION = 1
    NTK_VECTOR_PRODUCTS = 2
    STRUCTURED_DERIVATIVES = 3


def _of_arguments(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of inputs, parameters and the network's arguments for each set of inputs."""
    compiled = eqx.filter_jit(compute)

    def kernel_fn(x1: Any, x2: Any, params: Any, **apply_fn_kwargs: Any) -> Any:
        check_inputs(apply_fn_kwargs, x1=x1, x2=x2)
        x1, x2, params, kwargs = on_device((x1, x2, params, apply_fn_kwargs))
        return compiled(x1, x2, params, *split_arguments(kwargs, x2 is None))

    kernel_fn.__name__ = compute.__name__
    return door(kernel_fn, trusted=("x1", "x2", "params", "apply_fn_kwargs"))


def _by_output(network: Callable[..., Any], params: Any, x: Any, kernel: Callable[[Callable], Any]) -> Any:
    """Apply to each output of a network with several, ignoring covariances between them."""
    shapes = jax.eval_shape(network, params, x)
    leaves, structure = jax.tree.flatten(shapes)
    if len(leaves) == 1 and structure == jax.tree.structure(0):
        return kernel(lambda result: result)
    return jax.tree.unflatten(
        structure, [kernel(lambda result, i=i: jax.tree.leaves(result)[i]) for i in range(len(leaves))]
    )


def empirical_nngp_fn(f: Callable[..., Any], trace_axes: Axes = (-1,), diagonal_axes: Axes = ()) -> Callable[..., Any]:
    """Return `nngp_fn(x1, x2, params, **apply_fn_kwargs)`, one draw f(x1)f(x2)ᵀ of the output covariance."""

    @_of_arguments
    def nngp_fn(x1: Any, x2: Any, params: Any, first: dict[str, Any], second: dict[str, Any]) -> Any:
        left = f(params, x1, **first)
        right = left if x2 is None else f(params, x2, **second)

        def contract(a: Any, b: Any) -> Any:
            return contract_outputs(a, b, rank=a.ndim, trace_axes=trace_axes, diagonal_axes=diagonal_axes)

        return jax.tree.map(contract, left, right)

    return nngp_fn


def empirical_ntk_fn(
    f: Callable[..., Any],
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
    vmap_axes: Any = None,
    implementation: NtkImplementation | int = NtkImplementation.JACOBIAN_CONTRACTION,
    _j_rules: bool = True,
    _s_rules: bool = True,
    _fwd: bool | None = None,
) -> Callable[..., Any]:
    """Return `ntk_fn(x1, x2, params, **apply_fn_kwargs)`, the tangent kernel of the network with these parameters.

    `vmap_axes=0` says that examples do not interact; then weights are contracted layer by layer and no Jacobian is
    formed. Without it the Jacobian of the whole batch is taken.
    """
    if implementation not in tuple(NtkImplementation):
        raise ValueError(f"implementation must be one of 0, 1, 2 and 3, got {implementation!r}")
    if not all(isinstance(axis, int) for axis in jax.tree.leaves(vmap_axes)):
        raise TypeError(f"vmap_axes must be made of whole numbers, got {vmap_axes!r:.60}".replace("\n", " "))
    axes: dict[str, Any] = {"trace_axes": trace_axes, "diagonal_axes": diagonal_axes}

    @_of_arguments
    def ntk_fn(x1: Any, x2: Any, params: Any, first: dict[str, Any], second: dict[str, Any]) -> Any:
        rank = len(jax.tree.leaves(jax.eval_shape(lambda p, x: f(p, x, **first), params, x1))[0].shape)
        axis = _example_axis(vmap_axes, x1, rank)
        if axis is None:
            left, right = _plain(f, first), _plain(f, second)
            inputs, route = (x1, x2), jacobian_kernel
        else:
            mapped = axis[1]
            left, one = _mapped(f, x1, first, axis[0], mapped)
            right, two = (left, None) if x2 is None else _mapped(f, x2, second, axis[0], mapped)
            inputs, route = (one, two), tangent_kernel

        def kernel(pick: Callable) -> Any:
            other = None if x2 is None else lambda p, x: pick(right(p, x))
            return route(lambda p, x: pick(left(p, x)), params, inputs[0], inputs[1], other_apply=other, **axes)

        return _by_output(left, params, inputs[0], kernel)

    return ntk_fn


def _example_axis(vmap_axes: Any, x: Any, rank: int) -> tuple[int, dict[str, int]] | None:
    """Return the input axis of examples and those of keyword arguments, or None where the shortcut does not apply."""
    if vmap_axes is None or not is_array(x):
        return None
    inside, outside, others = vmap_axes if isinstance(vmap_axes, tuple) else (vmap_axes, vmap_axes, {})
    if not isinstance(inside, int) or not isinstance(outside, int) or outside % rank:
        return None
    return inside % x.ndim, dict(others or {})


def _plain(f: Callable, kwargs: dict[str, Any]) -> Callable:
    return lambda p, x: f(p, x, **kwargs)


def _mapped(f: Callable, x: Any, kwargs: dict[str, Any], axis: int, others: dict[str, int]) -> tuple[Callable, Any]:
    """Return the network as a function of inputs and arguments whose first axis is that of examples."""
    bundle = (jnp.moveaxis(x, axis, 0), {name: jnp.moveaxis(kwargs[name], a, 0) for name, a in others.items()})
    rest = {name: value for name, value in kwargs.items() if name not in others}

    def apply(p: Any, inputs: Any) -> Any:
        values, own = inputs
        back = {name: jnp.moveaxis(value, 0, others[name]) for name, value in own.items()}
        return f(p, jnp.moveaxis(values, 0, axis), **rest, **back)

    return apply, bundle


def empirical_kernel_fn(
    f: Callable[..., Any],
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
    vmap_axes: Any = None,
    implementation: NtkImplementation | int = NtkImplementation.JACOBIAN_CONTRACTION,
    _j_rules: bool = True,
    _s_rules: bool = True,
    _fwd: bool | None = None,
) -> Callable[..., Any]:
    """Return `kernel_fn(x1, x2, get, params, **apply_fn_kwargs)` for the empirical "nngp" and "ntk"."""
    functions = {
        "nngp": empirical_nngp_fn(f, trace_axes, diagonal_axes),
        "ntk": empirical_ntk_fn(f, trace_axes, diagonal_axes, vmap_axes, implementation, _j_rules, _s_rules, _fwd),
    }

    def kernel_fn(x1: Any, x2: Any, get: Get, params: Any, **apply_fn_kwargs: Any) -> Any:
        names = asked(get, default=("nngp", "ntk"))
        unknown = set(names) - set(functions)
        if unknown:
            raise ValueError(f"an empirical kernel has nngp and ntk; {', '.join(sorted(unknown))} is neither")
        return answered(get, "EmpiricalKernel", {n: functions[n](x1, x2, params, **apply_fn_kwargs) for n in names})

    return kernel_fn


def empirical_ntk_vp_fn(
    f: Callable[..., Any], x1: Any, x2: Any, params: Any, **apply_fn_kwargs: Any
) -> Callable[[Any], Any]:
    """Return `ntk_vp(v)` = Θ̂(x1, x2)v for v shaped as f(params, x2), without forming kernel or Jacobian."""
    first, second = split_arguments(apply_fn_kwargs, x2 is None)
    other = None if x2 is None else _plain(f, second)
    return tangent_product(_plain(f, first), params, x1, x2, other_apply=other)


def linearize(f: Callable[..., Any], params: Any) -> Callable[..., Any]:
    """Return `f_lin(p, *args, **kwargs)`, the first-order Taylor polynomial of f in its parameters."""
    numeric(params=params)
    return tangents.linearize(f, params)


def taylor_expand(f: Callable[..., Any], params: Any, degree: int) -> Callable[..., Any]:
    """Return `f_poly(p, *args, **kwargs)`, the Taylor polynomial of f in its parameters."""
    numeric(params=params)
    return tangents.taylor_expand(f, params, degree)


doors(__name__, degree="[0, 50]")
