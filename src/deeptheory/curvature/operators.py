"""Second derivatives of a loss as matrices that are never written down: Hessian, Gauss–Newton, Fisher, gradient noise.

Each is a symmetric matrix over the flat vector of parameters, known by its products with vectors. A product sums over
micro-batches of the data, so that memory grows with the batch and not with the data. Parameters are any pytree: a list
of arrays, an Equinox module (whose leaves that are no floating-point arrays stay as they are).

Reference: arora Secs. 2.6 and 12.1; Pearlmutter 1994 for products with a Hessian, Schraudolph 2002 with the
Gauss–Newton matrix; Martens 2020 for the Fisher matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric

__all__ = ["blocks", "dense", "fisher", "gauss_newton", "gradient_noise", "hessian"]

Vector = Float[Array, " p"]
Loss = Callable[[Any, Any], Float[Array, ""]]


Mean = Callable[[Callable[[Any], Any]], Any]
"""The mean over all examples, of what a function says of a batch"""


class Rule:
    """How a batch acts on a vector: a mean over its examples."""

    def __call__(self, parameters: Any, batch: Any, vector: Any) -> Any:
        """The mean over the examples of a batch, of the product."""
        raise NotImplementedError

    def over(self, mean: Mean, parameters: Any, vector: Any) -> Any:
        """The product, as a mean over all examples."""
        return mean(lambda batch: self(parameters, batch, vector))


class Curvature(eqx.Module):
    """A symmetric matrix at a point of parameter space; `curvature(vector)` is its product with a flat vector.

    parameters: the point, as one flat vector; `at` moves the same matrix to another point without compiling again.
    data: arrays whose first axes are the examples.
    part: the rows and columns that are kept, all of them unless a block was cut out (`blocks`).
    """

    parameters: Vector
    data: Any
    rule: Rule = eqx.field(static=True)
    unravel: Callable[[Vector], Any] = eqx.field(static=True)
    fixed: Any = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    part: tuple[int, int] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.part[1] - self.part[0]

    @property
    def examples(self) -> int:
        """The number of examples that are averaged over."""
        return jax.tree.leaves(self.data)[0].shape[0]

    def at(self, parameters: Any) -> "Curvature":
        """The same matrix at another point: a pytree like the first, or its flat vector."""
        flat = parameters if _is_flat(parameters) else ravel_pytree(eqx.filter(parameters, eqx.is_inexact_array))[0]
        if flat.shape != self.parameters.shape:
            raise ValueError(f"parameters must be {self.parameters.size} numbers as before, got {flat.size}")
        return eqx.tree_at(lambda one: one.parameters, self, flat.astype(self.parameters.dtype))

    def prepared(self) -> Callable[[Vector], Vector]:
        """The product as a function for a loop, all that does not depend on the vector computed once, before it.

        That is the way forward and back through the network at its point, a third of a product. With micro-batches it
        would have to be kept for all the data, and the product stays as it is.
        """
        if self.batch < self.examples:
            return self
        return jax.linearize(self, jnp.zeros(self.size, self.parameters.dtype))[1]

    def __call__(self, vector: Vector) -> Vector:
        """The product with a flat vector, summed over micro-batches."""
        whole = jnp.zeros_like(self.parameters).at[slice(*self.part)].set(vector)
        point, direction = eqx.combine(self.unravel(self.parameters), self.fixed), self.unravel(whole)
        return ravel_pytree(self.rule.over(self._mean, point, direction))[0][slice(*self.part)]

    def _mean(self, of: Callable[[Any], Any]) -> Any:
        """The mean over all examples, from the means of micro-batches."""
        full, rest = divmod(self.examples, self.batch)
        cut = full * self.batch

        def act(batch: Any, weight: int) -> Any:
            return jax.tree.map(lambda mean: weight / self.examples * mean, of(batch))

        if full == 1:
            total = act(jax.tree.map(lambda x: x[:cut], self.data), self.batch)
        else:
            stacked = jax.tree.map(lambda x: x[:cut].reshape(full, self.batch, *x.shape[1:]), self.data)
            shapes = jax.eval_shape(lambda batch: act(batch, self.batch), jax.tree.map(lambda x: x[0], stacked))
            start = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
            add = lambda total, batch: (jax.tree.map(jnp.add, total, act(batch, self.batch)), None)  # noqa: E731
            total = jax.lax.scan(add, start, stacked)[0]
        if rest:
            total = jax.tree.map(jnp.add, total, act(jax.tree.map(lambda x: x[cut:], self.data), rest))
        return total


def _is_flat(parameters: Any) -> bool:
    return eqx.is_inexact_array(parameters) and parameters.ndim == 1


def _curvature(rule: Rule, parameters: Any, data: Any, batch: int | None) -> Curvature:
    moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
    numeric(parameters=moving)
    batched(data=data)
    flat, unravel = ravel_pytree(moving)
    if not flat.size:
        raise ValueError("parameters must hold at least one floating-point array, and hold none")
    data = jax.tree.map(jnp.asarray, data)
    count = jax.tree.leaves(data)[0].shape[0]
    return Curvature(flat, data, rule, unravel, fixed, min(batch or count, count), (0, flat.size))


# Rules are compared by what they are made of, so that the same loss at another point is not compiled again.


@dataclass(frozen=True)
class _Hessian(Rule):
    loss: Loss

    def __call__(self, parameters: Any, batch: Any, vector: Any) -> Any:
        moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
        gradient = jax.grad(lambda moving: self.loss(eqx.combine(moving, fixed), batch))
        return jax.jvp(gradient, (moving,), (vector,))[1]


@dataclass(frozen=True)
class _GaussNewton(Rule):
    model: Callable[[Any, Any], Any]
    loss: Callable[[Any, Any], Float[Array, ""]]

    def __call__(self, parameters: Any, batch: Any, vector: Any) -> Any:
        moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
        inputs, targets = batch

        def outputs(moving: Any) -> Any:
            return self.model(eqx.combine(moving, fixed), inputs)

        answer, change = jax.jvp(outputs, (moving,), (vector,))
        bent = jax.jvp(jax.grad(lambda answer: self.loss(answer, targets)), (answer,), (change,))[1]
        return jax.vjp(outputs, moving)[1](bent)[0]


@dataclass(frozen=True)
class _Fisher(Rule):
    model: Callable[[Any, Any], Array]

    def __call__(self, parameters: Any, batch: Any, vector: Any) -> Any:
        moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)

        def outputs(moving: Any) -> Array:
            return self.model(eqx.combine(moving, fixed), batch)

        logits, change = jax.jvp(outputs, (moving,), (vector,))
        chances = jax.nn.softmax(logits)
        bent = chances * (change - jnp.sum(chances * change, -1, keepdims=True)) / logits.shape[0]
        return jax.vjp(outputs, moving)[1](bent)[0]


@dataclass(frozen=True)
class _SecondMoment(Rule):
    losses: Callable[[Any, Any], Float[Array, " examples"]]

    def __call__(self, parameters: Any, batch: Any, vector: Any) -> Any:
        moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
        along, back = _along(lambda moving: self.losses(eqx.combine(moving, fixed), batch), moving, vector)
        return back(along / along.shape[0])[0]


@dataclass(frozen=True)
class _Covariance(Rule):
    losses: Callable[[Any, Any], Float[Array, " examples"]]

    def over(self, mean: Mean, parameters: Any, vector: Any) -> Any:
        """The mean of g(s − s̄), with the slopes s along the vector: E gs − ḡs̄ would lose a small noise on a large mean.

        The mean of what is left after centring is taken off as well: of large slopes s̄ itself is not exact.
        """
        moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)

        def slopes(batch: Any) -> tuple[Array, Callable]:
            return _along(lambda moving: self.losses(eqx.combine(moving, fixed), batch), moving, vector)

        def product(batch: Any) -> Any:
            along, back = slopes(batch)
            return back((along - middle - left) / along.shape[0])[0]

        middle = mean(lambda batch: jnp.mean(slopes(batch)[0]))
        left = mean(lambda batch: jnp.mean(slopes(batch)[0] - middle))
        return mean(product)


def _along(each: Callable[[Any], Array], moving: Any, vector: Any) -> tuple[Array, Callable]:
    """The slope of every example along a vector, and the way back from weights of examples to a sum of gradients."""
    return jax.jvp(each, (moving,), (vector,))[1], jax.vjp(each, moving)[1]


def hessian(loss: Loss, parameters: Any, data: Any, *, batch: int | None = None) -> Curvature:
    """The Hessian of the mean loss over the data.

    Args:
        loss: (parameters, batch) → the mean loss of a batch; a mean, or the sum over micro-batches would be another.
        parameters: any pytree with floating-point arrays.
        data: arrays, or a pytree of them, with the examples on the first axis; `loss` gets slices of it.
        batch: examples a micro-batch; all at once unless said.

    A product is forward over reverse mode, about the cost of two gradients. Of a network with kinks (ReLU) it is the
    Hessian of the smooth piece that the point lies in.
    """
    return _curvature(_Hessian(loss), parameters, data, batch)


def gauss_newton(
    model: Callable[[Any, Any], Any],
    loss: Callable[[Any, Any], Float[Array, ""]],
    parameters: Any,
    inputs: Any,
    targets: Any,
    *,
    batch: int | None = None,
) -> Curvature:
    """The Gauss–Newton matrix, mean of JᵀSJ with J the outputs' Jacobian and S the Hessian of the loss in them.

    The Hessian without the second derivatives of the model: the same where outputs are linear in the parameters or
    the loss has no slope, positive semidefinite where the loss is convex in the outputs.

    Args:
        model: (parameters, inputs) → outputs with the examples on the first axis.
        loss: (outputs, targets) → the mean loss of a batch.
    """
    return _curvature(_GaussNewton(model, loss), parameters, (inputs, targets), batch)


def fisher(model: Callable[[Any, Any], Array], parameters: Any, inputs: Any, *, batch: int | None = None) -> Curvature:
    """The Fisher information of a classifier: labels are drawn from the softmax of its outputs, not from the data.

    Mean over inputs of Jᵀ(diag p − ppᵀ)J; the same as Gauss–Newton of cross-entropy, whatever the labels. The matrix of
    squared gradients at the data's own labels is another one: `gradient_noise(..., centred=False)`.

    Args:
        model: (parameters, inputs) → logits, examples by classes.
    """
    return _curvature(_Fisher(model), parameters, inputs, batch)


def gradient_noise(
    losses: Callable[[Any, Any], Float[Array, " examples"]],
    parameters: Any,
    data: Any,
    *,
    batch: int | None = None,
    centred: bool = True,
) -> Curvature:
    """The covariance of the gradients of single examples: of one step of SGD with one example drawn at random.

    (1/n)Σgᵢgᵢᵀ − ḡḡᵀ, divided by n and not n − 1, as for a draw from the data themselves; without ḡḡᵀ unless `centred`
    (the empirical Fisher matrix). A mini-batch of b drawn with replacement has 1/b of it.

    Args:
        losses: (parameters, batch) → the loss of every example of the batch.

    Reference: arora Problem 12.1.1.
    """
    rule = _Covariance(losses) if centred else _SecondMoment(losses)
    return _curvature(rule, parameters, data, batch)


def blocks(curvature: Curvature) -> dict[str, Curvature]:
    """The diagonal blocks of a matrix, one a leaf of the parameters, under the path of the leaf.

    How a loss curves when one layer moves and the others stand still. A product costs as much as with the whole.
    """
    found, start = {}, 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(curvature.unravel(curvature.parameters)):
        stop = start + leaf.size
        found[jax.tree_util.keystr(path) or "parameters"] = replace(curvature, part=(start, stop))
        start = stop
    return found


def finite_products(products: Any) -> np.ndarray:
    """What was made of products with a curvature, as numbers of the host; refused where one of them is not finite."""
    found = np.asarray(products, float)
    if not np.isfinite(found).all():
        raise ValueError(
            "curvature must have finite products with vectors, got nan or infinity: at these parameters its loss has "
            "diverged, or has no second derivative"
        )
    return found


@eqx.filter_jit
def dense(curvature: Curvature) -> Float[Array, "p p"]:
    """The matrix written out, a product a row: for some thousand parameters at most, and for tests."""
    return jax.lax.map(curvature.prepared(), jnp.eye(curvature.size, dtype=curvature.parameters.dtype))


doors(__name__, batch="[1, ∞)")
