"""Gradients of a model in factored form: forward and backward factors of every weight instead of its Jacobian.

A weight that enters once, through a matrix product z = hV, has the gradient h ⊗ ∂f/∂z, summed over the positions that
share it; a convolution is such a product, of the patches of its input; a bias that enters once, through a sum
z = a + V, has the gradient ∂f/∂z. One forward and one backward pass with respect to the z give the gradients of all
such weights. The model is any JAX function: its computation is traced, and weights used in other ways keep their
Jacobian.

Reference: Novak, Sohl-Dickstein and Schoenholz 2022, Fast finite width neural tangent kernel; arora (9.13) and (9.14).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric

__all__ = ["Factors", "factored_gradients"]


@partial(jax.tree_util.register_dataclass, data_fields=("forward", "backward"), meta_fields=("layout",))
@dataclass(frozen=True)
class Factors:
    """Gradients of one example's outputs: Σ_p `forward` ⊗ `backward`, or `backward` alone (biases, whole Jacobians).

    `layout` says of which weight, and in which order of its axes: only factors of one layout can be contracted.
    """

    forward: Float[Array, "*n positions c"] | None
    backward: Float[Array, "*n outputs positions s"] | Float[Array, "*n outputs s"]
    layout: tuple

    @property
    def jacobian(self) -> Float[Array, "*n outputs weights"]:
        return self.backward if self.forward is None else whole_jacobian(self.forward, self.backward)


class _Site(NamedTuple):
    """A weight's use: forward factor (positions, c) or None, how to arrange the backward one, the order of axes."""

    forward: Array | None
    arrange: Callable[[Array], Array]
    axes: tuple


@dataclass(frozen=True)
class _Derived:
    """A value that is a parameter up to a constant factor, the order of its axes and repetition along new ones."""

    leaf: int
    axes: tuple[int | None, ...]
    scale: Any = 1.0


@dataclass
class _Trace:
    """What a run of the model found: how each parameter is used, and the perturbed sums and products."""

    taps: dict[int, Array] | None
    uses: dict[int, list[int | None]] = field(default_factory=dict)
    places: dict[int, jax.ShapeDtypeStruct] = field(default_factory=dict)
    sites: dict[int, _Site] = field(default_factory=dict)
    count: int = 0


_CONSTANT, _DATA = "constant", "data"
_INLINED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}


def factored_gradients(
    apply: Callable[[Any, Any], Array], parameters: Any, x: Any
) -> tuple[Float[Array, "n *output"], list[Factors]]:
    """Return the outputs and, weight by weight, the factors of ∂f(xᵢ)/∂θ, for a model whose examples do not interact.

    `apply(parameters, x)` maps inputs with a leading example axis (an array or a tree of arrays) to outputs with a
    leading example axis. The Gram matrix of a factor pair is ⟨h, h′⟩⟨b, b′⟩.
    """
    numeric(parameters=parameters)
    batched(x=x)
    leaves, structure = jax.tree.flatten(jax.tree.map(jnp.asarray, parameters))

    def single(values: Sequence[Array], example: Any) -> Array:
        one = jax.tree.map(lambda a: a[None], example)
        return apply(jax.tree.unflatten(structure, values), one)[0]

    first = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), x)
    closed = jax.make_jaxpr(single)(leaves, first)
    plan = _Trace(None)
    jax.eval_shape(lambda values, e: _run(plan, closed, values, jax.tree.leaves(e)), leaves, first)
    structured = {leaf: uses[0] for leaf, uses in plan.uses.items() if len(uses) == 1 and uses[0] is not None}
    dense = [leaf for leaf in plan.uses if leaf not in structured]

    def factors(example: Any) -> tuple[Array, list[Factors]]:
        def model(taps: dict[int, Array], loose: list[Array]) -> tuple[Array, dict[int, Any]]:
            trace = _Trace(taps)
            values = list(leaves)
            for leaf, value in zip(dense, loose, strict=True):
                values[leaf] = value
            output = _run(trace, closed, values, jax.tree.leaves(example))
            kept.update(trace.sites)
            return output, {number: site.forward for number, site in trace.sites.items()}

        kept: dict[int, _Site] = {}
        zeros = {site: jnp.zeros(plan.places[site].shape, plan.places[site].dtype) for site in structured.values()}
        output, pull, forward = jax.vjp(model, zeros, [leaves[leaf] for leaf in dense], has_aux=True)
        basis = jnp.eye(output.size, dtype=output.dtype).reshape(-1, *output.shape)
        slopes, jacobians = jax.vmap(pull)(basis)
        found = [
            _site_factors(forward[site], kept[site].arrange(slopes[site]), (leaf, *kept[site].axes))
            for leaf, site in structured.items()
        ]
        whole = zip(dense, jacobians, strict=True)
        return output, found + [Factors(None, j.reshape(output.size, -1), (leaf,)) for leaf, j in whole]

    return jax.vmap(factors)(x)


SPARED = 4
"""How many multiplications a Jacobian's entry is worth: to write and read it back takes longer than to multiply it."""


def _site_factors(forward: Array | None, backward: Array, layout: tuple) -> Factors:
    """Keep factors (positions, c) and (outputs, positions, s) where they are cheaper to contract than a Jacobian."""
    if forward is None:
        return Factors(None, backward, layout)
    outputs, positions, size = backward.shape
    channels = forward.shape[1]
    if positions**2 * (channels + outputs * size) < SPARED * outputs * channels * size:
        return Factors(forward, backward, layout)
    return Factors(None, whole_jacobian(forward, backward), layout)


def whole_jacobian(
    forward: Float[Array, "*n positions c"], backward: Float[Array, "*n outputs positions s"]
) -> Float[Array, "*n outputs weights"]:
    """Return the Jacobian Σ_p h_p ⊗ b_p that a pair of factors stands for."""
    product = jnp.einsum("...pc,...kps->...ksc", forward, backward)
    return product.reshape(*product.shape[:-2], -1)


def _run(trace: _Trace, closed: Any, leaves: Sequence[Array], inputs: Sequence[Array]) -> Array:
    tags = [_Derived(i, tuple(range(leaf.ndim))) for i, leaf in enumerate(leaves)] + [_DATA] * len(inputs)
    values, marks = _walk(trace, closed.jaxpr, closed.consts, [*leaves, *inputs], tags)
    _spend(trace, marks)
    return values[0]


def _spend(trace: _Trace, marks: Sequence[Any], site: int | None = None) -> None:
    for mark in marks:
        if isinstance(mark, _Derived):
            trace.uses.setdefault(mark.leaf, []).append(site)


def _walk(trace: _Trace, jaxpr: Any, consts: Sequence[Any], values: Sequence[Any], tags: Sequence[Any]):
    """Evaluate a computation, carrying beside every value what it is made of."""
    known: dict[Any, tuple[Any, Any]] = {}
    known.update({v: (c, _CONSTANT) for v, c in zip(jaxpr.constvars, consts, strict=True)})
    known.update({v: (value, tag) for v, value, tag in zip(jaxpr.invars, values, tags, strict=True)})

    def look(atom: Any) -> tuple[Any, Any]:
        return (atom.val, _CONSTANT) if isinstance(atom, Literal) else known[atom]

    for equation in jaxpr.eqns:
        pairs = [look(atom) for atom in equation.invars]
        arguments, marks = [p[0] for p in pairs], [p[1] for p in pairs]
        name = equation.primitive.name
        if name in _INLINED:
            inner = equation.params[_INLINED[name]]
            results, after = _walk(trace, inner.jaxpr, inner.consts, arguments, marks)
        else:
            results = _evaluate(equation, arguments)
            after = _follow(trace, name, equation.params, arguments, marks, results)
        for variable, value, mark in zip(equation.outvars, results, after, strict=True):
            known[variable] = (value, mark)
    outputs = [look(atom) for atom in jaxpr.outvars]
    return [o[0] for o in outputs], [o[1] for o in outputs]


def _evaluate(equation: Any, arguments: list) -> list:
    options = equation.primitive.get_bind_params(equation.params)
    # Before jax 0.10 functions inside an equation came apart from its options.
    functions, options = ((), options) if isinstance(options, dict) else options
    results = equation.primitive.bind(*functions, *arguments, **options)
    return list(results) if equation.primitive.multiple_results else [results]


def _follow(trace: _Trace, name: str, options: dict, arguments: list, marks: list, results: list) -> list:
    """Say what the results are made of; note a weight's use; add the perturbation where it is a sum or product."""
    derived = [i for i, mark in enumerate(marks) if isinstance(mark, _Derived)]
    if not derived:
        return [_CONSTANT if all(m == _CONSTANT for m in marks) else _DATA] * len(results)
    if len(derived) == 1:
        at = derived[0]
        same = _same_weight(name, options, arguments, marks, at, results[0])
        if same is not None:
            return [same]
        site = _site(name, options, arguments, marks, at)
        if site is not None:
            number, trace.count = trace.count, trace.count + 1
            _spend(trace, marks, number)
            trace.places[number] = jax.ShapeDtypeStruct(results[0].shape, results[0].dtype)
            if trace.taps is not None and number in trace.taps:
                trace.sites[number] = site
                results[0] = results[0] + trace.taps[number]
            return [_DATA]
    _spend(trace, marks)
    return [_DATA] * len(results)


def _same_weight(name: str, options: dict, arguments: list, marks: list, at: int, result: Any) -> _Derived | None:
    """Follow a weight through operations that leave it the same up to scale, order and repetition."""
    weight: _Derived = marks[at]
    if name in ("copy", "copy_p") or (name == "convert_element_type" and result.dtype == arguments[at].dtype):
        return weight
    if name == "neg":
        return _Derived(weight.leaf, weight.axes, -weight.scale)
    if name == "transpose":
        return _Derived(weight.leaf, tuple(weight.axes[a] for a in options["permutation"]), weight.scale)
    if name == "squeeze":
        gone = {d % len(weight.axes) for d in options["dimensions"]}
        return _Derived(weight.leaf, tuple(a for i, a in enumerate(weight.axes) if i not in gone), weight.scale)
    if name == "broadcast_in_dim":
        axes: list[int | None] = [None] * result.ndim
        for source, target in enumerate(options["broadcast_dimensions"]):
            if arguments[at].shape[source] == result.shape[target]:
                axes[target] = weight.axes[source]
        return _Derived(weight.leaf, tuple(axes), weight.scale)
    if name in ("mul", "div") and (name == "mul" or at == 0):
        other = arguments[1 - at]
        if marks[1 - at] == _CONSTANT and jnp.ndim(other) == 0:
            return _Derived(weight.leaf, weight.axes, weight.scale * other if name == "mul" else weight.scale / other)
    return None


def _site(name: str, options: dict, arguments: list, marks: list, at: int) -> _Site | None:
    """Return how a weight is used, where that is a sum, a product or a convolution; None otherwise."""
    weight: _Derived = marks[at]
    if name in ("add", "sub", "add_any"):
        axes, shape = weight.axes, jnp.shape(arguments[at])
        full = jnp.broadcast_shapes(*(jnp.shape(a) for a in arguments))
        offset = len(full) - len(shape)
        repeated = tuple(
            i for i in range(len(full)) if i < offset or axes[i - offset] is None or shape[i - offset] != full[i]
        )

        sign = -1.0 if name == "sub" and at == 1 else 1.0

        def summed(slope: Array) -> Array:
            slope = jnp.sum(slope, tuple(1 + i for i in repeated)) if repeated else slope
            return sign * weight.scale * slope.reshape(slope.shape[0], -1)

        return _Site(None, summed, tuple(axes[i - offset] for i in range(len(full)) if i not in repeated))
    if any(a is None for a in weight.axes):
        return None
    if name == "conv_general_dilated":
        return _convolution(options, arguments, at, weight)
    if name != "dot_general":
        return None
    contracting, batch = options["dimension_numbers"]
    if batch[0] or batch[1]:
        return None
    data = 1 - at
    rest = (a for a in range(len(weight.axes)) if a not in contracting[at])
    order = (*(weight.axes[a] for a in contracting[at]), None, *(weight.axes[a] for a in rest))
    value = arguments[data]
    free = [a for a in range(value.ndim) if a not in contracting[data]]
    positions = prod(value.shape[a] for a in free)
    forward = jnp.transpose(value, (*free, *contracting[data])).reshape(positions, -1)

    def arranged(slope: Array) -> Array:
        # The product lists the left operand's free axes first.
        outputs, rest = slope.shape[0], slope.reshape(slope.shape[0], -1).shape[1] // positions
        if data == 0:
            return slope.reshape(outputs, positions, rest)
        return jnp.swapaxes(slope.reshape(outputs, rest, positions), 1, 2)

    return _Site(weight.scale * forward, arranged, order)


def _convolution(options: dict, arguments: list, at: int, weight: _Derived) -> _Site | None:
    """Return patches of the input (positions, c) and how to arrange slopes; None for grouped channels."""
    if at != 1 or options["feature_group_count"] != 1 or options["batch_group_count"] != 1:
        return None
    numbers = options["dimension_numbers"]
    window = [arguments[1].shape[axis] for axis in numbers.rhs_spec[2:]]
    patches = jax.lax.conv_general_dilated_patches(
        arguments[0],
        window,
        options["window_strides"],
        options["padding"],
        options["lhs_dilation"],
        options["rhs_dilation"],
        numbers,
    )
    channel = numbers.out_spec[1]
    forward = jnp.moveaxis(patches, channel, -1)
    positions = prod(forward.shape[:-1])

    def arranged(slope: Array) -> Array:
        return jnp.moveaxis(slope, 1 + channel, -1).reshape(slope.shape[0], positions, -1)

    order = tuple(weight.axes[axis] for axis in numbers.rhs_spec)
    return _Site(weight.scale * forward.reshape(positions, -1), arranged, order)


doors(__name__)
