"""Infinite-width kernels of a network as users write it: axes, masks and layers made by hand settled at the door."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import jax
import jax.numpy as jnp

from deeptheory.kernels.layers.layer import Demand, Layer
from deeptheory.kernels.layers.masks import MaskedArray, hidden_after
from deeptheory.kernels.limits import kernel as plain
from deeptheory.kernels.limits.kernel import FIELDS, continued_kernel
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.neural_tangents.kernel import dressed
from deeptheory.neural_tangents.layouts import Axes, each, entrance, settled
from deeptheory.neural_tangents.wholes import Sides, has_whole, through


def is_kernel(tree: Any) -> bool:
    return isinstance(tree, plain.Kernel)


def is_masked(tree: Any) -> bool:
    return isinstance(tree, MaskedArray)


def analytic_kernel(
    layer: Layer,
    x1: Any,
    x2: Any,
    names: tuple[str, ...],
    *,
    pattern: Sides,
    mask_constant: Any,
    diagonal_batch: bool,
    diagonal_spatial: bool,
) -> Any:
    """Return the kernels of a network between two sets of inputs, arrays or as many as it takes, nested in tuples."""
    twice, x2 = x2 is x1, None if x2 is x1 or not jax.tree.leaves(x2) else x2
    axes = entrance(layer, jax.tree.map(jnp.shape, x1))
    (left, first), (right, second) = (_seen(x, mask_constant, axes) for x in (x1, x2))
    network, _, after = settled(layer, jax.tree.map(jnp.shape, left), axes)
    want = tuple(name for name in FIELDS if name in names) or ("nngp",)
    if has_whole(network):  # such layers take all of a kernel, without the tangent where it is not asked for
        want = tuple(name for name in FIELDS if name != "ntk" or name in want)
    if diagonal_spatial:
        _refuse_mixing(network)

    def start(beginning: Layer) -> Any:
        both: dict[str, Any] = {"pattern": pattern, "hidden": (first, second)}
        return limit_kernel(beginning, left, right, want=want, diagonal_spatial=diagonal_spatial, **both)

    found = through(network, start, pattern=pattern, hidden=(first, second))
    found = _outward(network, found, after, (first, second))
    if twice:
        found = _each(lambda k: k if k.cov2 is not None else k.replace(cov2=k.cov1), found)
    if diagonal_batch or not {"cov1", "cov2"} & {*want}:
        return found
    for name, x, graph in (("cov1", x1, pattern[0]), ("cov2", x2, pattern[1])):
        if x is not None:
            rest: dict[str, Any] = {"mask_constant": mask_constant, "diagonal_spatial": diagonal_spatial}
            own = analytic_kernel(layer, x, None, ("nngp",), pattern=(graph, None), diagonal_batch=True, **rest)
            found = _each(lambda k, o, n=name: k.replace(diagonal_batch=False, **{n: o.nngp}), found, own)
    return found


def continued(layer: Layer, kernels: Any, pattern: Sides) -> Any:
    """Return kernels after more layers."""
    kernels = _each(dressed, kernels)
    axes = _each(lambda k: Axes(k.batch_axis, k.channel_axis % len(k.shape1)), kernels)
    hidden = [_each(lambda k, n=n: _hidden(k, n), kernels) for n in ("mask1", "mask2")]
    hidden = (hidden[0] if jax.tree.leaves(hidden[0]) else None, hidden[1] if jax.tree.leaves(hidden[1]) else None)
    kernels = _each(_inward, kernels)
    network, _, after = settled(layer, _each(lambda k: k.shape1, kernels), axes)

    def start(beginning: Layer) -> Any:
        return continued_kernel(beginning, kernels, pattern=pattern, hidden=hidden)

    return _outward(network, through(network, start, pattern=pattern, hidden=hidden), after, hidden)


def hide(x: Any, constant: Any, axes: Axes) -> Any:
    """Return inputs with those entries masked that equal a constant, which may be NaN."""
    if is_masked(x) or constant is None:
        return x
    x = jnp.asarray(x)
    hidden = (x == constant) | (jnp.isnan(x) & jnp.isnan(constant))
    return MaskedArray(jnp.where(hidden, 0, x), jnp.all(hidden, axes.channel, keepdims=True))


def _each(function: Callable[..., Any], *trees: Any) -> Any:
    return jax.tree.map(function, *trees, is_leaf=is_kernel)


def _seen(x: Any, constant: Any, axes: Any) -> tuple[Any, Any]:
    """Return inputs as (batch, positions…, channels), and which of their positions are masked, if any may be."""
    if x is None:
        return None, None
    inputs = each(lambda own, part: jax.tree.map(own.inward, hide(part, constant, own)), x, axes)
    if constant is None:
        return inputs, None
    values = jax.tree.map(lambda part: part.masked_value, inputs, is_leaf=is_masked)
    return values, jax.tree.map(lambda part: part.mask[..., 0], inputs, is_leaf=is_masked)


def _refuse_mixing(network: Layer) -> None:
    demand = network.demand(Demand(False, True, False))
    if demand.full or demand.full_variances:
        raise ValueError(
            "diagonal_spatial=True keeps covariances of equal positions alone, and layers of this network mix "
            "different ones: leave it out"
        )


def _hidden(kernel: Any, name: str) -> Any:
    mask = getattr(kernel, name)
    return None if mask is None else Axes(kernel.batch_axis, kernel.channel_axis % mask.ndim).inward(mask)[..., 0]


def _inward(kernel: Any) -> plain.Kernel:
    """Return a kernel whose shapes are (batch, positions…, channels) and that holds every input with itself alone."""
    axes = Axes(kernel.batch_axis, kernel.channel_axis % len(kernel.shape1))
    known: dict[str, Any] = {field.name: getattr(kernel, field.name) for field in fields(plain.Kernel)}
    for name in () if kernel.diagonal_batch else ("cov1", "cov2"):
        if known[name] is not None:
            known[name] = jnp.moveaxis(jnp.diagonal(known[name]), -1, 0)
    shapes: dict[str, Any] = {name: axes.shape_inward(known[name]) for name in ("shape1", "shape2")}
    return plain.Kernel(**known | shapes)


def _outward(network: Layer, found: Any, axes: Any, hidden: Sides) -> Any:
    """Return kernels with shapes, axes and masks of outputs as users see them."""
    masks = [None if side is None else hidden_after(network, side) for side in hidden]

    def outward(kernel: Any, own: Any, *masks: Any) -> Any:
        if isinstance(own, Axes):
            seen = [None if mask is None else own.outward(mask[..., None]) for mask in masks]
            shapes = {name: own.shape_outward(getattr(kernel, name)) for name in ("shape1", "shape2")}
            places = {"batch_axis": own.batch, "channel_axis": own.channel}
            return dressed(kernel, mask1=seen[0], mask2=seen[1], **shapes, **places)
        sides = [(None,) * len(own) if mask is None else mask for mask in masks]
        return tuple(map(outward, kernel, own, *sides))

    return outward(found, axes, *masks)
