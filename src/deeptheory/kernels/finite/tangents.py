"""Empirical kernels of any differentiable model: tangent and output kernel, products, expansions, drift, spectrum.

`apply(parameters, x)` is the model f, with examples along the first axis of x and of its outputs; `trace_axes` are
output axes to be averaged over, `diagonal_axes` those of which only equal entries are kept.

Reference: Jacot, Gabriel and Hongler 2018; jagannath Def. 8.5; Novak et al. 2020.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.kernels.finite.structure import Factors, factored_gradients

__all__ = [
    "KernelSpectrum",
    "functional",
    "jacobian_kernel",
    "kernel_alignment",
    "kernel_spectrum",
    "linearize",
    "output_kernel",
    "relative_drift",
    "tangent_drift",
    "tangent_kernel",
    "tangent_product",
    "taylor_expand",
]

Apply = Callable[..., Any]
Axes = int | tuple[int, ...] | list[int]


def functional(module: Any, *, single: bool = False) -> tuple[Apply, Any]:
    """Return (apply, parameters) of an Equinox module: its inexact arrays, and the module as a function of them.

    `single` says that the module maps one example, as `equinox.nn` modules do; it is then mapped over a batch.
    """
    import equinox as eqx

    parameters, rest = eqx.partition(module, eqx.is_inexact_array)
    if not jax.tree.leaves(parameters):
        raise ValueError(f"functional needs an Equinox module with parameters, got a {type(module).__name__}")

    def apply(values: Any, x: Any, **options: Any) -> Any:
        model = eqx.combine(values, rest)

        def call(inputs: Any) -> Any:
            return model(inputs, **options)

        return jax.vmap(call)(x) if single else call(x)

    return apply, parameters


def contract_outputs(
    left: Float[Array, "..."], right: Float[Array, "..."], *, rank: int, trace_axes: Axes, diagonal_axes: Axes
) -> Float[Array, "..."]:
    """Contract two arrays of outputs (the first `rank` axes) and parameters (the others) to a kernel.

    Output axes appear twice, side by side: (n, m, k, k′, …); those in `diagonal_axes` once; those in `trace_axes` are
    averaged over.
    """
    traced, diagonal = canonical(trace_axes, rank), canonical(diagonal_axes, rank)
    for axis in (*traced, *diagonal):
        if left.shape[axis] != right.shape[axis]:
            raise ValueError(f"output axis {axis} has {left.shape[axis]} and {right.shape[axis]} entries, not the same")
    summed = (*traced, *range(rank, left.ndim))
    kept = [axis for axis in range(rank) if axis not in traced]
    free = [axis for axis in kept if axis not in diagonal]
    # As matrices, summed axis last: several summed axes would make XLA copy the right operand transposed.
    shapes = [[each.shape[axis] for axis in (*diagonal, *free)] for each in (left, right)]
    matrices = [
        jnp.transpose(each, (*diagonal, *free, *summed)).reshape(*shape[: len(diagonal)], *_matrix(shape, diagonal), -1)
        for each, shape in zip((left, right), shapes, strict=True)
    ]
    batch = tuple(range(len(diagonal)))
    last = (len(diagonal) + 1,)
    product = lax.dot_general(matrices[0], matrices[1], ((last, last), (batch, batch)))
    product = product.reshape(*shapes[0], *shapes[1][len(diagonal) :])
    order: list[int] = []
    for axis in kept:
        if axis in diagonal:
            order.append(diagonal.index(axis))
        else:
            place = len(diagonal) + free.index(axis)
            order += [place, place + len(free)]
    return jnp.transpose(product, order) / _size(left.shape, traced)


def _matrix(shape: list[int], diagonal: tuple[int, ...]) -> tuple[int]:
    return (int(np.prod(shape[len(diagonal) :], dtype=int)),)


def canonical(axes: Axes, rank: int) -> tuple[int, ...]:
    """Return axes as sorted non-negative numbers."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if any(not -rank <= axis < rank for axis in axes):
        raise ValueError(f"axes {axes} are not all axes of outputs of rank {rank}")
    return tuple(sorted({axis % rank for axis in axes}))


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return int(np.prod([shape[axis] for axis in axes], dtype=int)) if axes else 1


def output_kernel(
    apply: Apply,
    parameters: Any,
    x: Any,
    other: Any = None,
    *,
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
) -> Float[Array, "..."]:
    """Return f(x)f(x′)ᵀ: one draw of the covariance of outputs, averaged over the traced axes.

    Shapes are those of `tangent_kernel`: other output axes stand twice, those of `diagonal_axes` once. The mean over
    draws of the parameters is the covariance of outputs, in the limit of width the NNGP kernel. Reference: Lee et al.
    2018.
    """
    numeric(parameters=parameters, x=x, other=other)
    left = apply(parameters, x)
    right = left if other is None else apply(parameters, other)
    return contract_outputs(left, right, rank=left.ndim, trace_axes=trace_axes, diagonal_axes=diagonal_axes)


def tangent_kernel(
    apply: Apply,
    parameters: Any,
    x: Any,
    other: Any = None,
    *,
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
    other_apply: Apply | None = None,
) -> Float[Array, "..."]:
    """Return Θ̂(x, x′) = ∂f(x) ∂f(x′)ᵀ of a model whose examples do not interact (no batch normalization).

    Weights are contracted layer by layer: ⟨h, h′⟩⟨b, b′⟩ for the forward and backward factors of a matrix product, so
    their Jacobian is never formed (`structure`); weights shared by several positions, as in convolutions, by pairs of
    positions where that is cheaper. Cost for a fully connected network of L layers of width N with k
    outputs on n inputs: O(n k L N² + n² k L N), against n² k L N² for Jacobians. The default, the mean over the
    last axis of outputs, is the kernel that the infinitely wide network has; for the dynamics of this very network ask
    for `trace_axes=()`, shape (n, m, k, k). `other_apply` evaluates the second set when it differs (another mask).
    Reference: Novak, Sohl-Dickstein and Schoenholz 2022; arora (9.13) and (9.14).
    """
    _checked_axes(apply, parameters, x, trace_axes, diagonal_axes)
    outputs, left = factored_gradients(apply, parameters, x)
    other_outputs, right = outputs, left
    if other is not None or other_apply is not None:
        other = x if other is None else other
        other_outputs, right = factored_gradients(other_apply or apply, parameters, other)
        if [each.layout for each in left] != [each.layout for each in right]:  # another use of the same weights
            return jacobian_kernel(
                apply, parameters, x, other,
                trace_axes=trace_axes, diagonal_axes=diagonal_axes, other_apply=other_apply,
            )  # fmt: skip
    shapes, axes = (outputs.shape, other_outputs.shape), (trace_axes, diagonal_axes)
    total = jnp.zeros((), outputs.dtype)
    for one, two in zip(left, right, strict=True):
        total = total + _factor_gram(one, two, shapes, axes)
    if not total.ndim:  # no parameter reaches the outputs
        bare = jnp.zeros((*outputs.shape, 0)), jnp.zeros((*other_outputs.shape, 0))
        total = contract_outputs(*bare, rank=outputs.ndim, trace_axes=trace_axes, diagonal_axes=diagonal_axes)
    return total


def _real_inputs(**inputs: Any) -> None:
    """Refuse inputs that are no real numbers, or none; examples may have no features."""
    for name, x in inputs.items():
        leaves = jax.tree.leaves(x)
        if any(map(np.size, leaves)) or not all(np.shape(leaf)[:1] > (0,) for leaf in leaves):
            numeric(**{name: x})


def _checked_axes(apply: Apply, parameters: Any, x: Any, trace_axes: Axes, diagonal_axes: Axes) -> None:
    numeric(parameters=parameters)
    _real_inputs(x=x)
    rank = jax.eval_shape(apply, parameters, x).ndim
    both = set(canonical(trace_axes, rank)) & set(canonical(diagonal_axes, rank))
    if both:
        raise ValueError(f"axes {sorted(both)} are both traced and diagonal; choose one")


def _factor_gram(one: Factors, two: Factors, shapes: Any, axes: tuple[Axes, Axes]) -> Array:
    (rows, *outputs), (columns, *other_outputs) = shapes
    trace_axes, diagonal_axes = axes
    rank = 1 + len(outputs)
    options: dict[str, Any] = {"rank": rank, "trace_axes": trace_axes, "diagonal_axes": diagonal_axes}
    same = 0 in canonical(diagonal_axes, rank)

    def gram(left: Array, right: Array) -> Array:
        left, right = left.reshape(rows, *outputs, -1), right.reshape(-1, *other_outputs, right.shape[-1])
        return contract_outputs(left, right, **options)

    positions = 1 if two.forward is None else two.forward.shape[1]
    alone = 0 in canonical(trace_axes, rank) or (same and positions > 1)  # each example with itself: n Jacobians
    if alone or one.forward is None or two.forward is None:
        return gram(one.jacobian, two.jacobian)
    forward, backward = two.forward.reshape(columns * positions, -1), jnp.swapaxes(two.backward, 1, 2)

    def against_all(h: Array, b: Array) -> Array:
        """Σ_q ⟨h, h′_q⟩⟨b, b′_q⟩ for one position of the first inputs and all of the others."""
        inner = jnp.sum(h * forward, -1) if same else h @ forward.T
        product = gram(b, backward)
        product = product * inner.reshape(*inner.shape, *(1,) * (product.ndim - inner.ndim))
        if positions == 1:
            return product
        return jnp.sum(product.reshape(rows, columns, positions, *product.shape[2:]), 2)

    hs, bs = jnp.swapaxes(one.forward, 0, 1), jnp.moveaxis(one.backward, 2, 0)
    if len(hs) == 1:
        return against_all(hs[0], bs[0])
    start = jnp.zeros_like(jax.eval_shape(against_all, hs[0], bs[0]))
    return lax.scan(lambda total, at: (total + against_all(*at), None), start, (hs, bs))[0]


def jacobian_kernel(
    apply: Apply,
    parameters: Any,
    x: Any,
    other: Any = None,
    *,
    trace_axes: Axes = (-1,),
    diagonal_axes: Axes = (),
    other_apply: Apply | None = None,
) -> Float[Array, "..."]:
    """Return the tangent kernel of any model from its Jacobian, also where examples interact.

    Arguments and shapes are those of `tangent_kernel`. It holds two Jacobians, n·k numbers a parameter: for models with
    batch normalization, and as a check of the other. Reference: jagannath Def. 8.5.
    """
    _real_inputs(other=other)
    _checked_axes(apply, parameters, x, trace_axes, diagonal_axes)

    def jacobian(function: Apply, inputs: Any) -> tuple[int, list[Array]]:
        def output(values: Any) -> Array:
            return function(values, inputs)

        rank = jax.eval_shape(output, parameters).ndim
        return rank, jax.tree.leaves(jax.jacrev(output)(parameters))

    rank, left = jacobian(apply, x)
    right = left
    if other is not None or other_apply is not None:
        right = jacobian(other_apply or apply, x if other is None else other)[1]
    options: dict[str, Any] = {"rank": rank, "trace_axes": trace_axes, "diagonal_axes": diagonal_axes}
    return sum((contract_outputs(a, b, **options) for a, b in zip(left, right, strict=True)), start=jnp.zeros(()))


def tangent_product(
    apply: Apply, parameters: Any, x: Any, other: Any = None, *, other_apply: Apply | None = None
) -> Callable[[Any], Any]:
    """Return v ↦ Θ̂(x, x′)v, for v shaped as f(x′): one backward and one forward pass, nothing stored.

    Without `other` the set x itself; for conjugate gradients on sets whose kernel does not fit. Reference: Novak,
    Sohl-Dickstein and Schoenholz 2022.
    """
    same = other is None and other_apply is None
    other = x if other is None else other
    numeric(parameters=parameters, x=x, other=other)

    def left(values: Any) -> Any:
        return apply(values, x)

    def right(values: Any) -> Any:
        return (other_apply or apply)(values, other)

    def product(v: Any) -> Any:
        pull = jax.vjp(left if same else right, parameters)[1]
        return jax.jvp(left, (parameters,), pull(v))[1]

    return product


def linearize(apply: Apply, parameters: Any) -> Apply:
    """Return f_lin(θ, x) = f(θ₀, x) + ∂f(θ₀, x)(θ − θ₀) (lucchi 7.3, jagannath Ex. 8.1)."""
    return taylor_expand(apply, parameters, 1)


def taylor_expand(apply: Apply, parameters: Any, degree: int) -> Apply:
    """Return the Taylor polynomial of f in its parameters about θ₀.

    Σ_{j ≤ degree} ∂ʲf(θ₀, x)[θ − θ₀, …]/j!, a function of (θ, x) like f; θ₀ are the `parameters` given. Reference:
    lucchi 7.3 for the first degree; Bai and Lee 2020, Beyond linearization, for the second.
    """
    if degree < 0:
        raise ValueError(f"degree must not be negative, got {degree}")

    def expanded(values: Any, *inputs: Any, **options: Any) -> Any:
        step = jax.tree.map(jnp.subtract, values, parameters)

        def tower(order: int) -> Callable[[Any], tuple]:
            """Values of f and its first derivatives in the direction of the step."""
            if not order:
                return lambda at: (apply(at, *inputs, **options),)
            lower = tower(order - 1)

            def higher(at: Any) -> tuple:
                terms, slopes = jax.jvp(lower, (at,), (step,))
                return (*terms, slopes[-1])

            return higher

        terms = tower(degree)(parameters)
        factorial, total = 1.0, terms[0]
        for order, term in enumerate(terms[1:], 1):
            factorial *= order
            total = jax.tree.map(lambda a, b, scale=factorial: a + b / scale, total, term)
        return total

    return expanded


class KernelSpectrum(NamedTuple):
    """Eigenvalues from large to small, the share of the target's energy in each direction, and its running sum."""

    values: Float[Array, " n"]
    energy: Float[Array, " n"]
    cumulative: Float[Array, " n"]


def kernel_spectrum(kernel: Float[AnyArray, "n n"], y: Float[AnyArray, "n *output"]) -> KernelSpectrum:
    """Return the spectrum of a kernel and how the targets lie in it: energy Σ_k (u_i·y_k)²/‖y‖².

    Eigenvalues from large to small; targets of several outputs are pooled. What lies along large eigenvalues is learned
    first. Reference: arora 9.3; Arora, Du, Hu, Li and Wang 2019.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(kernel))
    y = jnp.asarray(y).reshape(len(y), -1)
    energy = jnp.sum((vectors.T @ y) ** 2, 1)[::-1] / jnp.sum(y**2)
    return KernelSpectrum(values[::-1], energy, jnp.cumsum(energy))


def kernel_alignment(
    one: Float[AnyArray, "n n"], two: Float[AnyArray, "n n"], *, centred: bool = False
) -> Float[Array, ""]:
    """Return the cosine ⟨K, K′⟩/(‖K‖‖K′‖) of two kernel matrices; with yyᵀ as K′ the alignment with a target.

    `centred` first takes the mean out of the features, K ← HKH with H = 1 − 11ᵀ/n (Cortes et al. 2012).
    """

    def centre(kernel: Any) -> Array:
        kernel = jnp.asarray(kernel)
        if not centred:
            return kernel
        return kernel - kernel.mean(0, keepdims=True) - kernel.mean(1, keepdims=True) + kernel.mean()

    one, two = centre(one), centre(two)
    return jnp.sum(one * two) / (jnp.linalg.norm(one) * jnp.linalg.norm(two))


def relative_drift(after: Float[AnyArray, "*shape"], before: Float[AnyArray, "*shape"]) -> Float[Array, ""]:
    """Return ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖ in the Frobenius norm. Reference: lucchi Thm 58."""
    return jnp.linalg.norm(jnp.ravel(after - before)) / jnp.linalg.norm(jnp.ravel(before))


def tangent_drift(apply: Apply, before: Any, after: Any, x: Any) -> Float[Array, ""]:
    """Return how far the full kernel on inputs x moves from θ₀ to θ_t: not at all in a linear model (lucchi Thm 58)."""
    shapes = [[jnp.shape(leaf) for leaf in jax.tree.leaves(values)] for values in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"before and after must have parameters of the same shapes, got {shapes[0]} and {shapes[1]}")
    first, last = (tangent_kernel(apply, values, x, trace_axes=()) for values in (before, after))
    return relative_drift(last, first)


doors(__name__, degree="[0, 50]", symmetric=("kernel",))
